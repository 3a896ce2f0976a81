"""The ``get`` command."""

from __future__ import annotations

import difflib
from pathlib import PurePosixPath
from typing import TYPE_CHECKING

import click

from commonplace.cli.completion import complete_note
from commonplace.cli.options import Options, json_option, pass_options
from commonplace.cli.output import print_json, print_text, warn
from commonplace.errors import CommonplaceError, PathNotAllowedError
from commonplace.tools import get_answer

if TYPE_CHECKING:
    from commonplace.memory import Memory

__all__ = ["get"]


@click.command()
@click.argument("path", shell_complete=complete_note)
@click.option(
    "--from", "from_line", type=click.IntRange(min=1), metavar="N", help="Begin with line N."
)
@click.option("--lines", type=click.IntRange(min=1), metavar="N", help="Show N lines.")
@json_option
@pass_options
def get(
    options: Options, path: str, *, from_line: int | None, lines: int | None, as_json: bool
) -> None:
    """Show a file of the memory, or some of its lines; PATH may be a citation, MEMORY.md#L3-L4."""
    from commonplace.history.citations import cited_lines

    path, from_line, lines = cited_lines(path, from_line, lines)
    with options.open_memory() as memory:
        if as_json:
            arguments = {"path": path, "from": from_line, "lines": lines}
            print_json(get_answer(memory, arguments))
            return
        try:
            excerpt = memory.get(path, from_line=from_line, lines=lines)
        except PathNotAllowedError as error:
            if (near := _nearest_note(memory, path)) is None:
                raise
            raise PathNotAllowedError(f"{error} Did you mean {near}?") from error
        if excerpt.status == "not_found":
            place = memory.index_location if options.url else options.workspace
            near = _nearest_note(memory, excerpt.path)
            hint = f"did you mean {near}?" if near else "'commonplace search' shows what there is."
            raise CommonplaceError(f"there is no file {excerpt.path} in {place}; {hint}")
    if excerpt.lines:
        print_text(excerpt.text)
    elif from_line and from_line > 1:
        warn(f"{excerpt.path} ends before line {from_line}")


def _nearest_note(memory: Memory, path: str) -> str | None:
    """Return the note whose name holds a text, else the one that is spelled most like it."""
    names = {PurePosixPath(name).stem.casefold(): name for name in memory.paths()}
    asked = PurePosixPath(path).stem.casefold()
    held = [stem for stem in sorted(names) if asked and asked in stem]
    near = held[-1:] or difflib.get_close_matches(asked, names, n=1)
    return names[near[0]] if near else None
