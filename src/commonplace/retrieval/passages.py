"""Passage table: the lines of the candidate chunks, laid out as arrays.

Chunks that overlap or touch are joined into one passage, so that each line occurs once and between
its real neighbours. All passages make up one text, which is searched in one pass.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from operator import attrgetter
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from commonplace.store.records import StoredChunk
from commonplace.text.blocks import find_blocks
from commonplace.text.chunking import read_outline
from commonplace.text.line_units import line_units, pack_units
from commonplace.types import Source
from commonplace.vectors.arrays import packed_size, unpack

if TYPE_CHECKING:
    from commonplace.vectors import Matrix

    Numbers = NDArray[np.int64]

__all__ = [
    "PADDING",
    "SPEAKER",
    "LineNeighbours",
    "Passage",
    "PassageTable",
    "holds",
    "is_long_term",
    "passage_table",
    "rows_said_by",
    "table_headers",
]

PADDING = 4
"""Neighbours of a line on each side, at most."""


@dataclass(slots=True)
class Passage:
    """Consecutive lines of one file and day that the candidates hold."""

    path: str
    source: Source
    day: int | None
    first_line: int
    start: int
    """Offset of its first character in the text of all passages."""
    next_line: int
    """Number of the line behind the last."""
    last_ordinal: int
    """Place of the chunk that brought the last lines among the chunks of its file."""
    parts: list[str]
    """Texts of the chunks; joined by newlines, they are the passage's text."""


@dataclass(frozen=True, slots=True)
class PassageTable:
    """Table of the units (lines, or parts of long lines) of all candidates, in file order.

    Arrays have one row a unit.

    Attributes:
        text: The text of all passages, joined by newlines.
        passages: The passages.
        passage: Index of the unit's passage.
        start: First character of the unit in the text.
        end: Character behind its last.
        chunks: The candidates, in file order.
        chunk: Index of the candidate that brought the unit.
        days: Proleptic ordinal of the unit's day; 0 for an evergreen file.
        headings: Index of the last heading at or above the unit in its passage; -1 without one.
        signs: The characters of the text as numbers.
        vectors: ``(units, d)``; rows of zeros where there is no vector; None without any.
        hidden: Whether the unit is found but not shown: the labels of a note.
    """

    text: str
    passages: list[Passage]
    passage: Numbers
    start: Numbers
    end: Numbers
    chunks: list[StoredChunk]
    chunk: Numbers
    days: Numbers
    headings: Numbers
    signs: NDArray[Any]
    vectors: Matrix | None
    hidden: NDArray[np.bool_]

    def __len__(self) -> int:
        return len(self.start)

    def passage_of(self, unit: int) -> Passage:
        """Return the passage of a unit."""
        return self.passages[int(self.passage[unit])]

    def chunk_of(self, unit: int) -> StoredChunk:
        """Return the candidate that brought a unit."""
        return self.chunks[int(self.chunk[unit])]

    def heading_of(self, unit: int, line: int) -> str:
        """Return the headings above a line of the chunk that brought a unit.

        A chunk holds only those above its own first line.
        """
        chunk = self.chunk_of(unit)
        if chunk.text.find("#", chunk.text.find("\n")) < 0:
            return chunk.heading
        above = chunk.text.split("\n")[: line - chunk.start_line + 1]
        blocks = find_blocks(above, chunk.context)
        own = read_outline(above, blocks).path_at(len(above) - 1)
        return chunk.heading if chunk.heading.endswith(own) else own

    def line_of(self, offset: int, passage: Passage) -> int:
        """Return the number in its file of the line that an offset of the text is in."""
        return passage.first_line + self.text.count("\n", passage.start, offset)

    def end_of(self, unit: int) -> int:
        """Return the offset behind the last character of a unit's passage."""
        number = int(self.passage[unit])
        behind = self.passages[number + 1 : number + 2]
        return behind[0].start - 1 if behind else len(self.text)

    def text_of(self, unit: int) -> str:
        """Return the text of a unit."""
        return self.text[self.start[unit] : self.end[unit]]


def holds(text: str, mark: str) -> bool:
    """Return ``mark in text``: a search for one sign is fast, and most texts have none of it."""
    return mark[0] in text and mark in text


def is_long_term(path: str) -> bool:
    """Return whether a note is the long-term memory, of which each heading is a subject."""
    return path.rpartition("/")[2].casefold() == "memory.md"


def passage_table(chunks: Iterable[StoredChunk], *, dimension: int | None) -> PassageTable:
    """Return the table of the lines of chunks; overlapping chunks of a file are joined.

    Args:
        chunks: The candidates.
        dimension: Length of the lines' vectors; None leaves the vectors out.
    """
    ordered = sorted(chunks, key=attrgetter("path", "start_line", "ordinal"))
    packed = [chunk.units or pack_units(line_units(chunk.text)) for chunk in ordered]
    counts = [len(units) // _UNIT_BYTES for units in packed]
    units = np.frombuffer(b"".join(packed), dtype="<i4").reshape(-1, 3).astype(np.int64)
    hidden, units = units[:, 0] < 0, units[:, 1:]
    layout = _Layout()
    places = [layout.add(chunk) for chunk in ordered]
    rows = np.repeat(np.array(places, dtype=np.int64).reshape(-1, 4), counts, axis=0)
    chunk = np.repeat(np.arange(len(ordered)), counts)
    vectors = _unpacked(ordered, counts, dimension)
    held = rows[:, 2]
    if held.any():
        # Units of the overlap with the chunk before are dropped; one that reaches out is cut.
        new = units[:, 1] > held
        units, rows, chunk, held = units[new], rows[new], chunk[new], held[new]
        hidden = hidden[new]
        vectors = None if vectors is None else vectors[new]
        np.maximum(units[:, 0], held, out=units[:, 0])
    units += rows[:, 1:2]
    text = "\n".join(layout.parts)
    signs = _signs(text)
    passage, start, end = rows[:, 0], units[:, 0], units[:, 1]
    return PassageTable(
        text, layout.passages, passage, start, end, ordered, chunk, rows[:, 3],
        _headings(text, signs, passage, start, end), signs, vectors, hidden,
    )  # fmt: skip


_UNIT_BYTES = 12
SPEAKER = re.compile(r"[\W_]*([^\W\d_][\w'.-]*(?: [^\W\d_][\w'.-]*)?)[*_]*")
"""What is before the colon of a line that a speaker says."""
_HEADING = re.compile(r"#{1,6}(?:[^\S\n][^\n]*)?\Z")
"""A unit of one line that is a heading; a chunk that begins with one holds more."""


def _signs(text: str) -> NDArray[Any]:
    if text.isascii():
        return np.frombuffer(text.encode("ascii"), dtype=np.uint8)
    return np.frombuffer(text.encode("utf-32-le", "surrogatepass"), dtype="<u4")


def _headings(
    text: str, signs: NDArray[Any], passage: Numbers, start: Numbers, end: Numbers
) -> Numbers:
    """Return the last heading at or above each unit in its passage; -1 without one."""
    marked = (signs[start] == ord("#")).nonzero()[0]
    spans = zip(marked.tolist(), start[marked].tolist(), end[marked].tolist(), strict=True)
    found = [unit for unit, first, behind in spans if _HEADING.match(text, first, behind)]
    above = np.full(len(start), -1)
    above[found] = found
    np.maximum.accumulate(above, out=above)
    above[(above >= 0) & (passage[above] != passage)] = -1
    return above


def table_headers(table: PassageTable, is_row: NDArray[np.bool_]) -> Numbers:
    """Return the header above each row of a Markdown table in its passage; -1 without one.

    Args:
        table: The units.
        is_row: Which of them are rows.
    """
    # A delimiter row, which is no unit, is between a header and the first row.
    is_header = is_row & np.append(table.start[1:] > table.end[:-1] + 1, False)
    headers = np.maximum.accumulate(np.where(is_header, np.arange(len(table)), -1))
    headers[(headers >= 0) & (table.passage[headers] != table.passage)] = -1
    return headers


def rows_said_by(table: PassageTable, names: frozenset[str]) -> Numbers:
    """Return the units of lines that begin with one of some names, in lower case: "Ann: …"."""
    start, text = table.start, table.text
    colons = np.append((table.signs == ord(":")).nonzero()[0], len(text))
    colon = colons[colons.searchsorted(start)]
    begins = (start == 0) | (table.signs[start - 1] == ord("\n"))  # else of the line before
    marked = (begins & (colon < table.end)).nonzero()[0]
    spans = zip(start[marked].tolist(), colon[marked].tolist(), strict=True)
    heads = [text[first:behind] for first, behind in spans]
    named = {head: match[1] for head in set(heads) if (match := SPEAKER.fullmatch(head))}
    said = {head for head, name in named.items() if not names.isdisjoint(name.lower().split())}
    is_said = np.zeros(len(start), dtype=np.bool_)
    is_said[marked] = [head in said for head in heads]
    lines = np.maximum.accumulate(np.where(begins, np.arange(len(start)), 0))
    return is_said[lines].nonzero()[0]


@dataclass(slots=True)
class _Layout:
    """Builder of passages, chunk by chunk in file order."""

    passages: list[Passage] = field(default_factory=list)
    parts: list[str] = field(default_factory=list)
    end: int = 0
    """Length of the text, a newline behind it included."""

    def add(self, chunk: StoredChunk) -> tuple[int, int, int, int]:
        """Add a chunk to the last passage, or begin a new one.

        Returns:
            The passage; the offset of the chunk in the text; how many of its characters the text
            already held, the newline behind them included; and its day.
        """
        passages, text, day = self.passages, chunk.text, chunk.day or 0
        if passages and _may_continue(passages[-1], chunk):
            lines = text.split("\n")
            if _continues(passages[-1], chunk, lines):
                old = min(passages[-1].next_line - chunk.start_line, len(lines))
                self._grow(passages[-1], chunk, lines[old:])
                # The chunk ends where the text ends.
                start = self.end - 1 - len(text)
                return len(passages) - 1, start, sum(len(line) + 1 for line in lines[:old]), day
        start, behind = self.end, chunk.start_line + text.count("\n") + 1
        passages.append(
            Passage(
                chunk.path, chunk.source, chunk.day, chunk.start_line, start, behind,
                chunk.ordinal, [text],
            )
        )  # fmt: skip
        self._append(text)
        return len(passages) - 1, start, 0, day

    def _grow(self, passage: Passage, chunk: StoredChunk, lines: list[str]) -> None:
        passage.last_ordinal = chunk.ordinal
        passage.next_line += len(lines)
        if lines:
            passage.parts.append("\n".join(lines))
            self._append(passage.parts[-1])

    def _append(self, text: str) -> None:
        self.parts.append(text)
        self.end += len(text) + 1


def _may_continue(passage: Passage, chunk: StoredChunk) -> bool:
    """Return whether a chunk begins in a passage or right behind it, on the same day."""
    return (
        passage.path == chunk.path
        and passage.day == chunk.day
        and chunk.start_line <= passage.next_line
    )


def _continues(passage: Passage, chunk: StoredChunk, lines: list[str]) -> bool:
    """Return whether a chunk that begins in a passage or right behind it has the same lines.

    Two chunks hold different parts of one line number where a long line was cut. A passage may end
    with such a part, so only the next chunk of the file continues it.
    """
    if chunk.start_line == passage.next_line:
        return chunk.ordinal == passage.last_ordinal + 1
    at = chunk.start_line - passage.first_line
    there = "\n".join(passage.parts).split("\n")
    return there[at : at + len(lines)] == lines[: len(there) - at]


def _unpacked(chunks: list[StoredChunk], counts: list[int], dimension: int | None) -> Matrix | None:
    """Return the vectors of all units, zeros where one is missing; None without any."""
    if not dimension:
        return None
    row = packed_size(dimension)
    fits = [
        chunk.lines is not None and len(chunk.lines) == count * row
        for chunk, count in zip(chunks, counts, strict=True)
    ]
    if not any(fits):
        return None
    packed = [
        chunk.lines if fit and chunk.lines is not None else bytes(count * row)
        for chunk, count, fit in zip(chunks, counts, fits, strict=True)
    ]
    return unpack(b"".join(packed), dimension)


class LineNeighbours:
    """Lines with padding between their passages, so that a shift reaches a line's neighbours.

    Args:
        passage: The passage of each line, ascending.
    """

    def __init__(self, passage: NDArray[np.int64]) -> None:
        self._places = np.arange(len(passage)) + PADDING * (passage + 1)
        self._size = int(self._places[-1]) + PADDING + 1 if len(passage) else 0

    def spread(self, values: NDArray[np.float32]) -> NDArray[np.float32]:
        """Lay out values of lines, with zeros between passages."""
        grid = np.zeros((self._size, *values.shape[1:]), dtype=np.float32)
        grid[self._places] = values
        return grid

    def gather(self, values: NDArray[np.float32]) -> NDArray[np.float32]:
        """Return the lines' values, from a layout without the padding before the first one."""
        lines: NDArray[np.float32] = values[self._places - PADDING]
        return lines
