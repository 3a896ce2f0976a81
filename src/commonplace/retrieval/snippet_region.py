"""Snippet region: the lines around a window, within which its snippet is cut."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from commonplace.retrieval.query import SNIPPET_CHARS

if TYPE_CHECKING:
    from collections.abc import Sequence

    from commonplace.retrieval.passages import PassageTable

__all__ = ["Cut", "Region", "region_around"]


class Region(NamedTuple):
    """Text around a window; offsets are those of the text of all passages.

    Attributes:
        lines: Lines of the file, the first one from the beginning of the window's chunk.
        start: Offset of the first line.
        context: What the first line needs from above it.
        after: Offset that the snippet may begin at: the end of the snippet before.
        until: Offset that it may end at: the beginning of the next snippet.
    """

    lines: Sequence[str]
    start: int
    context: str
    after: int
    until: int


class Cut(NamedTuple):
    """Boundaries of a snippet in the text of all passages, and its context."""

    start: int
    end: int
    context: str = ""


def region_around(table: PassageTable, unit: int, packed: Cut, *, after: int, until: int) -> Region:
    """Return the lines around a window.

    Args:
        table: Units of all passages.
        unit: First unit of the window.
        packed: The window as it was packed.
        after: End of the snippet before.
        until: Beginning of the next snippet.
    """
    passage, chunk = table.passage_of(unit), table.chunk_of(unit)
    stop = table.end_of(unit)
    start = packed.start
    for _ in range(table.line_of(packed.start, passage) - chunk.start_line):
        start = table.text.rfind("\n", passage.start, start)
    start = max(table.text.rfind("\n", passage.start, start) + 1, passage.start)
    hidden = table.hidden[:unit].nonzero()[0]
    if len(hidden):  # the line of a note's labels, which is never shown
        start = max(start, int(table.end[hidden[-1]]) + 1)
    reach = table.text.find("\n", packed.end + SNIPPET_CHARS, stop)
    lines = table.text[start : stop if reach < 0 else reach].split("\n")
    return Region(lines, start, chunk.context, max(after, passage.start), min(until, stop))
