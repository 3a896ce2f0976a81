"""Commands that change notes: ``edit``, ``correct``, ``rm``, ``mv``, ``undo``.

On a terminal each shows the difference that it made, and how to take it back.
"""

from __future__ import annotations

import dataclasses
import difflib
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

import click

from commonplace.cli.completion import complete_note
from commonplace.cli.options import TEXT, Options, json_option, pass_options, text_or_stdin
from commonplace.cli.output import on_terminal, print_json, print_rich, print_text
from commonplace.display import printable
from commonplace.errors import CommonplaceError
from commonplace.text.lookalikes import shown_path

if TYPE_CHECKING:
    from rich.text import Text

    from commonplace.memory import Memory
    from commonplace.types import Version

__all__ = ["correct", "edit", "mv", "note_label", "rm", "undo", "version_payload"]

_STYLES = {"+": "green", "-": "red", "@": "cyan"}
_EVERY_VERSION = 1 << 31

# Passages of notes often begin with a dash: "- The VPN ..." is no option.
_TAKES_ITEMS = {"ignore_unknown_options": True, "help_option_names": ["--help"]}


@click.command(context_settings=_TAKES_ITEMS)
@click.argument("path", shell_complete=complete_note)
@click.argument("old", type=TEXT)
@click.argument("new", type=TEXT)
@json_option
@pass_options
def edit(options: Options, path: str, old: str, new: str, *, as_json: bool) -> None:
    """Replace OLD, which occurs once in the note PATH, by NEW ("-": standard input)."""
    text = text_or_stdin(new)
    if new == "-" and not text:
        raise CommonplaceError("standard input is empty; to delete OLD, give '' as NEW.")
    if new == "-" and not old.endswith("\n"):  # as from `echo`
        text = text.removesuffix("\n")
    _change(options, lambda memory: memory.edit(path, old, text), paths=[path], as_json=as_json)


@click.command(context_settings=_TAKES_ITEMS)
@click.argument("citation", shell_complete=complete_note)
@click.argument("text", type=TEXT)
@json_option
@pass_options
def correct(options: Options, citation: str, text: str, *, as_json: bool) -> None:
    """Strike the lines of CITATION through and write TEXT to today's log.

    CITATION is as search shows it: MEMORY.md#L3 or memory/2026-11-20.md#L3-L4. Each of the two
    links to the other. TEXT "-" is read from standard input.
    """
    right = text_or_stdin(text)
    path = citation.partition("#")[0]
    _change(options, lambda memory: memory.correct(citation, right), paths=[path], as_json=as_json)


@click.command()
@click.argument("path", shell_complete=complete_note)
@json_option
@pass_options
def rm(options: Options, path: str, *, as_json: bool) -> None:
    """Delete the note PATH; its text stays in the history."""
    _change(options, lambda memory: memory.delete(path), paths=[path], as_json=as_json)


@click.command()
@click.argument("path", shell_complete=complete_note)
@click.argument("to")
@json_option
@pass_options
def mv(options: Options, path: str, to: str, *, as_json: bool) -> None:
    """Move the note PATH to the path TO, where there is no note."""
    _change(options, lambda memory: memory.move(path, to), paths=[path, to], as_json=as_json)


@click.command()
@click.argument("version", type=int)
@json_option
@pass_options
def undo(options: Options, version: int, *, as_json: bool) -> None:
    """Take the change VERSION back, which 'commonplace history' numbers.

    Changes of other lines since then stay. What this undoes can be undone as well.
    """
    _change(options, lambda memory: memory.undo(version), undone=version, as_json=as_json)


def version_payload(version: Version) -> dict[str, Any]:
    """Return a version as JSON values."""
    return dataclasses.asdict(version) | {"when": version.when.isoformat()}


def _change(
    options: Options,
    change: Callable[[Memory], Version],
    *,
    paths: list[str] | None = None,
    undone: int | None = None,
    as_json: bool,
) -> None:
    """Change notes, and show what that changed.

    Args:
        options: Options of the command line.
        change: Changes the memory.
        paths: Notes that it may change, besides today's log.
        undone: Version that it takes back, whose notes it may change.
        as_json: Whether the version is printed as JSON.
    """
    with options.open_memory() as memory:
        shows = on_terminal() and not as_json
        before = _texts(memory, _touched(memory, paths, undone)) if shows else {}
        try:
            version = change(memory)
        except CommonplaceError:
            raise
        except ValueError as error:
            raise CommonplaceError(str(error)) from error
        differs = version.notes == 1 and version.moved_from is None  # a moved text is the same
        after = _texts(memory, [*before, version.path]) if shows and differs else {}
        is_kept = memory.settings.history.enabled
    if as_json:
        print_json(version_payload(version))
    elif shows:
        print_rich(*_difference(before, after), _summary(version, is_kept=is_kept))
    else:
        number = f"  version {version.id}" if is_kept else ""
        print_text(f"{note_label(version)}  {version.change}{number}")


def note_label(version: Version) -> str:
    """Return the note that a change was made to, and the number of the others of its group."""
    others = version.notes - 1
    more = f" and {others:,} other{'s' * (others > 1)}" if others else ""
    return f"{shown_path(version.path)}{more}"


def _touched(memory: Memory, paths: list[str] | None, undone: int | None) -> list[str]:
    """Return the notes that a change may change."""
    if undone is None:
        return [*(paths or ()), f"memory/{memory.now().date().isoformat()}.md"]
    found = [one for one in memory.history(limit=_EVERY_VERSION) if one.id == undone]
    return [path for one in found for path in (one.path, one.moved_from) if path and one.notes == 1]


def _texts(memory: Memory, paths: list[str]) -> dict[str, list[str]]:
    """Return the lines of notes by path; none for a note that is not there."""
    found = {}
    for path in paths:
        try:
            found[path] = memory.get(path).text.splitlines()
        except CommonplaceError:  # the change reports it
            found[path] = []
    return found


def _difference(before: dict[str, list[str]], after: dict[str, list[str]]) -> Iterator[Text]:
    """Return the difference of notes as lines in colour."""
    from rich.text import Text

    for path, lines in after.items():
        old = before.get(path, [])
        for line in difflib.unified_diff(old, lines, path, path, n=2, lineterm=""):
            style = "bold" if line.startswith(("---", "+++")) else _STYLES.get(line[:1], "")
            yield Text(printable(line).rstrip("\n"), style=style)


def _summary(version: Version, *, is_kept: bool) -> Text:
    """Return what was changed, and how to take it back where a history is kept."""
    from rich.text import Text

    if version.moved_from:
        done = f"{shown_path(version.moved_from)} is {shown_path(version.path)} now"
    else:
        done = f"{version.change} of {note_label(version)}"
    undo = f"; 'commonplace undo {version.id}' takes it back" if is_kept else ""
    return Text(done + undo, style="dim")
