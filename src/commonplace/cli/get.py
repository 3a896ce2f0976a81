"""The ``get`` command."""

from __future__ import annotations

import click

from commonplace.cli.completion import complete_note
from commonplace.cli.options import Options, json_option, pass_options
from commonplace.cli.output import print_json, print_text, warn
from commonplace.errors import CommonplaceError
from commonplace.tools import get_answer

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
        excerpt = memory.get(path, from_line=from_line, lines=lines)
        place = memory.index_location if options.url else options.workspace
    if excerpt.status == "not_found":
        raise CommonplaceError(
            f"there is no file {excerpt.path} in {place}. "
            "'commonplace search' shows the paths that there are."
        )
    if excerpt.lines:
        print_text(excerpt.text)
    elif from_line and from_line > 1:
        warn(f"{excerpt.path} ends before line {from_line}")
