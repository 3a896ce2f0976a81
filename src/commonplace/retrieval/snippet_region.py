"""Snippet region: the lines around a window, within which its snippet is cut."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

from commonplace.retrieval.passages import SPEAKER
from commonplace.retrieval.query import SNIPPET_CHARS
from commonplace.text.quotation import SHORTENED

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from commonplace.retrieval.passages import Passage, PassageTable
    from commonplace.retrieval.snippets import Window
    from commonplace.store.base import Snapshot
    from commonplace.types import Chunk

__all__ = ["Above", "Cut", "Region", "above_windows", "region_around", "speaker_before"]

_LINES_ABOVE = (25, 200)
"""Lines above a passage among which the items are looked for that it lies in, first and at most."""
_BEGINS_WITHIN = re.compile(r"[\r\n]*[ \t]+\S")
"""Beginning of a text whose first line is indented."""
_COLON = re.compile(r":[*_]* ")
_SPEAKER_CHARS = 80
"""Characters at the beginning of a line that are looked at for the name of a speaker, at most."""


class Region(NamedTuple):
    """Text around a window; offsets are those of the text of all passages.

    Attributes:
        lines: Lines of the file, the first one from the beginning of the window's chunk, or above
            it where that begins within a list item.
        start: Offset of the first line; those above the chunk count as if they were in the text.
        context: What the first line needs from above it.
        after: Offset that the snippet may begin at: the end of the snippet before.
        until: Offset that it may end at: the beginning of the next snippet.
    """

    lines: Sequence[str]
    start: int
    context: str
    after: int
    until: int


class Above(NamedTuple):
    """Lines of the file right above a passage, and what the first of them needs from above it."""

    lines: tuple[str, ...]
    context: str


class Cut(NamedTuple):
    """Boundaries of a snippet in the text of all passages, and its context."""

    start: int
    end: int
    context: str = ""


def speaker_before(table: PassageTable, unit: int) -> str:
    """Return how the line begins that a unit is a part of, where that names who speaks: "Ann: …".

    What the first line of a chunk begins with is not known: the chunk may begin within it.
    """
    start, passage = int(table.start[unit]), table.passage_of(unit)
    line = max(table.text.rfind("\n", passage.start, start) + 1, passage.start)
    first = int(table.passage.searchsorted(table.passage[unit]))
    if line == passage.start and table.chunk_of(first).ordinal:
        return ""
    said = table.text[line : min(line + _SPEAKER_CHARS, start)].lstrip(" \t>")
    name = SPEAKER.match(said)
    colon = _COLON.match(said, name.end()) if name else None
    return said[: colon.end() - 1] + SHORTENED if colon else ""


def above_windows(
    snapshot: Snapshot, table: PassageTable, windows: Iterable[Window]
) -> dict[int, Above]:
    """Return the lines above those passages that begin within a list item, by passage.

    Of the passages of windows alone, and where the window may lie in that item: few do.
    """
    found: dict[int, Above] = {}
    for window in windows:
        number, passage = int(table.passage[window.first]), table.passage_of(window.first)
        if number in found or passage.first_line == 1:
            continue
        if not _BEGINS_WITHIN.match(table.text, passage.start):
            continue
        if _BEGINS_WITHIN.match(table.text, int(table.start[window.first])):
            found[number] = _lines_above(snapshot, passage)
    return found


def _lines_above(snapshot: Snapshot, passage: Passage) -> Above:
    """Return the lines above a passage, as many as it takes to have one that is not indented."""
    above = Above((), "")
    for count in _LINES_ABOVE:
        first, last = max(1, passage.first_line - count), passage.first_line - 1
        chunks = snapshot.chunks_of(passage.path, from_line=first, to_line=last)
        above = _joined([chunk for chunk, _ in chunks], passage)
        if first == 1 or any(line[:1].strip() for line in above.lines):
            break
    return above


def _joined(chunks: Sequence[Chunk], passage: Passage) -> Above:
    """Return the lines of chunks, which may overlap, from the last gap up to a passage.

    Nothing is above a passage that begins within a line.
    """
    lines: list[str] = []
    behind, context = 0, ""
    for chunk in chunks:
        own = chunk.text.split("\n")[chunk.start_line - chunk.end_line - 1 :]  # labels may be above
        if chunk.start_line > behind:
            lines, context = [], chunk.context
        elif chunk.start_line < behind:
            own = own[behind - chunk.start_line :]
        lines += own
        behind = max(behind, chunk.end_line + 1)
    common = lines[len(lines) - max(0, behind - passage.first_line) :]
    own_first = passage.parts[0].split("\n", 1)[0]
    if behind < passage.first_line or (common and common[0] != own_first):
        return Above((), "")
    return Above(tuple(lines[: len(lines) - len(common)]), context)


def region_around(
    table: PassageTable,
    unit: int,
    packed: Cut,
    between: tuple[int, int],
    above: Mapping[int, Above],
) -> Region:
    """Return the lines around a window.

    Args:
        table: Units of all passages.
        unit: First unit of the window.
        packed: The window as it was packed.
        between: End of the snippet before, and beginning of the next one.
        above: Lines above passages.
    """
    passage, chunk = table.passage_of(unit), table.chunk_of(unit)
    stop, context = table.end_of(unit), chunk.context
    start = packed.start
    for _ in range(table.line_of(packed.start, passage) - chunk.start_line):
        start = table.text.rfind("\n", passage.start, start)
    start = max(table.text.rfind("\n", passage.start, start) + 1, passage.start)
    number = int(table.passage[unit])
    if start > passage.start and _BEGINS_WITHIN.match(table.text, start):
        start = passage.start  # the items that the chunk begins in are further up
        context = table.chunk_of(int(table.passage.searchsorted(number))).context
    hidden = table.hidden[:unit].nonzero()[0]
    if len(hidden):  # the line of a note's labels, which is never shown
        start = max(start, int(table.end[hidden[-1]]) + 1)
    reach = table.text.find("\n", packed.end + SNIPPET_CHARS, stop)
    lines = table.text[start : stop if reach < 0 else reach].split("\n")
    after, until = max(between[0], passage.start), min(between[1], stop)
    held = above.get(number)
    if held is not None and start == passage.start:
        lines, context = [*held.lines, *lines], held.context
        start -= sum(len(line) + 1 for line in held.lines)
    return Region(lines, start, context, after, until)
