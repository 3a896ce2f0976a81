"""The candidates' lines, laid out as arrays: what every finer score is computed over.

Chunks that overlap or touch are joined into one passage, so that a line stands once and between its
real neighbours, whichever chunks it was found in. All passages make up one text, which is searched
in one go.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from commonplace.store.base import StoredChunk
from commonplace.text.embedding_units import line_units, pack_units
from commonplace.types import Source
from commonplace.vectors.codec import packed_size, unpack

if TYPE_CHECKING:
    from commonplace.vectors import Matrix

    Numbers = NDArray[np.int64]

__all__ = ["Passage", "PassageTable", "build_pool"]


@dataclass(slots=True)
class Passage:
    """Consecutive lines of one file and day, as far as the candidates hold them."""

    path: str
    source: Source
    day: int | None
    first_line: int
    start: int
    """Where it begins in the text of all passages."""
    next_line: int
    """The number of the line behind the last."""
    last_seq: int
    """The chunk that brought the last lines."""
    parts: list[str]
    """What the chunks brought; together, joined by newlines, the text."""


@dataclass(frozen=True, slots=True)
class PassageTable:
    """The units (lines, or parts of long lines) of all candidates, in the order of their files.

    Arrays have one row a unit.

    Attributes:
        text: The text of all passages, joined by newlines.
        passages: What the units are of.
        passage: Index of the unit's passage.
        start: First character of the unit in the text.
        end: Character behind its last.
        chunks: The candidates, in the order of their files.
        chunk: Index of the candidate that brought the unit.
        days: Proleptic ordinal of the unit's day; 0 for an evergreen file.
        vectors: ``(units, d)``; rows of zeros where there is no vector; None without any.
    """

    text: str
    passages: list[Passage]
    passage: Numbers
    start: Numbers
    end: Numbers
    chunks: list[StoredChunk]
    chunk: Numbers
    days: Numbers
    vectors: Matrix | None

    def __len__(self) -> int:
        return len(self.start)

    def text_of(self, unit: int) -> str:
        """Return the text of a unit."""
        return self.text[self.start[unit] : self.end[unit]]


def build_pool(chunks: Iterable[StoredChunk], *, dimension: int | None) -> PassageTable:
    """Lay out the lines of chunks; overlapping chunks of a file are joined.

    Args:
        chunks: The candidates.
        dimension: Length of the lines' vectors; None where they are of no use.
    """
    ordered = sorted(chunks, key=lambda chunk: (chunk.path, chunk.start_line, chunk.seq))
    packed = [chunk.units or pack_units(line_units(chunk.text)) for chunk in ordered]
    counts = [len(units) // _UNIT_BYTES for units in packed]
    units = np.frombuffer(b"".join(packed), dtype="<i4").reshape(-1, 3)[:, 1:].astype(np.int64)
    layout = _Layout()
    places = [layout.add(chunk) for chunk in ordered]
    rows = np.repeat(np.array(places, dtype=np.int64).reshape(-1, 4), counts, axis=0)
    chunk = np.repeat(np.arange(len(ordered)), counts)
    vectors = _unpacked(ordered, counts, dimension)
    held = rows[:, 2]
    if held.any():
        # What a chunk shares with the one before stands once; a line that it joins may be cut.
        new = units[:, 1] > held
        units, rows, chunk, held = units[new], rows[new], chunk[new], held[new]
        vectors = None if vectors is None else vectors[new]
        np.maximum(units[:, 0], held, out=units[:, 0])
    units += rows[:, 1:2]
    return PassageTable(
        "\n".join(layout.parts), layout.passages, rows[:, 0], units[:, 0], units[:, 1], ordered,
        chunk, rows[:, 3], vectors,
    )  # fmt: skip


_UNIT_BYTES = 12


@dataclass(slots=True)
class _Layout:
    """Passages as they grow, chunk by chunk in the order of their files."""

    passages: list[Passage] = field(default_factory=list)
    parts: list[str] = field(default_factory=list)
    end: int = 0
    """Where the text ends, with a newline behind it."""

    def add(self, chunk: StoredChunk) -> tuple[int, int, int, int]:
        """Add a chunk to the last passage, or begin a new one.

        Returns:
            The passage; where the chunk begins in the text; how many of its characters were there
            already, the newline behind them included; and its day.
        """
        last = self.passages[-1] if self.passages else None
        held, text = 0, chunk.text
        if last is not None and _may_continue(last, chunk):
            lines = text.split("\n")
            if _continues(last, chunk, lines):
                old = min(last.next_line - chunk.start_line, len(lines))
                held = sum(len(line) + 1 for line in lines[:old])
                self._grow(last, chunk, lines[old:])
                return len(self.passages) - 1, self._start_of(text), held, chunk.day or 0
        self.passages.append(
            Passage(
                chunk.path, chunk.source, chunk.day, chunk.start_line, self.end,
                chunk.start_line + text.count("\n") + 1, chunk.seq, [text],
            )
        )  # fmt: skip
        self._append(text)
        return len(self.passages) - 1, self._start_of(text), 0, chunk.day or 0

    def _grow(self, passage: Passage, chunk: StoredChunk, lines: list[str]) -> None:
        passage.last_seq = chunk.seq
        passage.next_line += len(lines)
        if lines:
            passage.parts.append("\n".join(lines))
            self._append(passage.parts[-1])

    def _append(self, text: str) -> None:
        self.parts.append(text)
        self.end += len(text) + 1

    def _start_of(self, text: str) -> int:
        """A chunk that was just added ends where everything ends."""
        return self.end - 1 - len(text)


def _may_continue(passage: Passage, chunk: StoredChunk) -> bool:
    """Tell whether a chunk begins in a passage or right behind it, on the same day."""
    same = passage.path == chunk.path and passage.day == chunk.day
    return same and chunk.start_line <= passage.next_line


def _continues(passage: Passage, chunk: StoredChunk, lines: list[str]) -> bool:
    """Tell whether a chunk that begins in a passage or right behind it has the same lines.

    Where a long line was cut, two chunks hold different parts of the line of one number. A passage
    may end with such a part: only the chunk that follows in the file is right behind it.
    """
    if chunk.start_line == passage.next_line:
        return chunk.seq == passage.last_seq + 1
    at = chunk.start_line - passage.first_line
    there = "\n".join(passage.parts).split("\n")
    return there[at : at + len(lines)] == lines[: len(there) - at]


def _unpacked(chunks: list[StoredChunk], counts: list[int], dimension: int | None) -> Matrix | None:
    """Return the vectors of all units, zeros where there are none; None without any."""
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
