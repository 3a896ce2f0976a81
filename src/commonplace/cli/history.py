"""The ``history`` and ``blame`` commands: what notes were, and where their lines came from."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Any

import click

from commonplace.cli.changes import note_label, version_payload
from commonplace.cli.completion import complete_note
from commonplace.cli.options import Options, json_option, pass_options
from commonplace.cli.output import print_json, print_text, warn
from commonplace.display import one_line, origin_label
from commonplace.errors import CommonplaceError
from commonplace.text.lookalikes import shown_path

if TYPE_CHECKING:
    from commonplace.types import BlameLine, Origin, Version

__all__ = ["blame", "history"]

_OF_OTHERS = ("found", "created", "changed", "gone")
"""Changes by other programs, whose author is not known."""


@click.command()
@click.argument("path", required=False, shell_complete=complete_note)
@click.option(
    "--limit", type=click.IntRange(min=1), default=50, metavar="N", help="Show N changes at most."
)
@json_option
@pass_options
def history(options: Options, path: str | None, *, limit: int, as_json: bool) -> None:
    """Show the changes of the note PATH, or of all notes, newest first.

    Those that other programs made are among them, as index runs met them.
    """
    with options.open_memory() as memory:
        # A move is one line of the two that it is in the history.
        versions = memory.history(path, limit=limit if as_json else 2 * limit)
    if as_json:
        print_json({"versions": [version_payload(version) for version in versions]})
    elif versions:
        left = {(version.id, version.moved_from) for version in versions}
        shown = [version for version in versions if (version.id, version.path) not in left]
        print_text(_aligned([_version_cells(version) for version in shown[:limit]]))
    else:
        warn(f"no changes of {path} are known" if path else "no changes are known yet")


@click.command()
@click.argument("path", shell_complete=complete_note)
@json_option
@pass_options
def blame(options: Options, path: str, *, as_json: bool) -> None:
    """Show which change each line of the note PATH came with, and whose it is."""
    with options.open_memory() as memory:
        lines = memory.blame(path)
        if not lines:
            memory.get(path)  # says why a note that is there cannot be read
    if not lines:
        raise CommonplaceError(
            f"{path} is not there, or is empty; 'commonplace search' and 'commonplace history' "
            "show the paths that there are."
        )
    if as_json:
        print_json({"path": path, "lines": [_blame_payload(line) for line in lines]})
    else:
        print_text(_aligned([_blame_cells(line) for line in lines]))


def _version_cells(version: Version) -> list[str]:
    moved = f"{shown_path(version.moved_from)} -> " if version.moved_from else ""
    when = version.when.astimezone().strftime("%Y-%m-%d %H:%M")
    author = "" if version.change in _OF_OTHERS else _author(version.origin)
    path = f"{moved}{note_label(version)}"
    return [str(version.id), when, version.change, author, path]


def _blame_cells(line: BlameLine) -> list[str]:
    version = line.version
    when = version.when.astimezone().strftime("%Y-%m-%d") if version else ""
    number = str(version.id) if version else ""
    return [str(line.line), number, when, _author(line.origin), one_line(line.text)]


def _blame_payload(line: BlameLine) -> dict[str, Any]:
    version = version_payload(line.version) if line.version else None
    return dataclasses.asdict(line) | {"version": version}


def _author(origin: Origin | None) -> str:
    return (origin_label(origin) if origin else "") or "user"


def _aligned(rows: list[list[str]]) -> str:
    """Return rows of cells as lines with columns; the first column is numbers."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    lines = []
    for first, *cells in rows:
        padded = [cell.ljust(width) for cell, width in zip(cells, widths[1:], strict=True)]
        lines.append("  ".join([first.rjust(widths[0]), *padded]).rstrip())
    return "\n".join(lines)
