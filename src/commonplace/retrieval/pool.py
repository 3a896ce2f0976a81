"""The candidates' lines, laid out as arrays: what every finer score is computed over.

Chunks that overlap or touch are joined into one passage, so that a line stands once and between its
real neighbours, whichever chunks it was found in.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from commonplace.chunking.lines import line_units, pack_units
from commonplace.store.base import StoredChunk
from commonplace.store.packing import packed_size, unpack
from commonplace.types import Source

if TYPE_CHECKING:
    from commonplace.store.base import Matrix

__all__ = ["LinePool", "Passage", "build_pool"]


@dataclass(slots=True)
class Passage:
    """Consecutive lines of one file, as far as the candidates hold them."""

    path: str
    source: Source
    day: int | None
    first_line: int
    lines: list[str]
    chars: int
    """Length of the text: the lines joined by newlines."""
    last_seq: int
    """The chunk that brought the last lines."""

    @property
    def next_line(self) -> int:
        """The number of the line behind the last."""
        return self.first_line + len(self.lines)

    @property
    def text(self) -> str:
        """The lines as they stand in the file."""
        return "\n".join(self.lines)


@dataclass(frozen=True, slots=True)
class LinePool:
    """The units (lines, or parts of long lines) of all candidates, in the order of their files.

    Arrays have one row a unit.

    Attributes:
        passages: What the units are of.
        texts: The units' texts.
        passage: Index of the unit's passage.
        start: First character of the unit in the passage's text.
        end: Character behind its last.
        chunks: The candidates, in the order of their files.
        chunk: Index of the candidate that brought the unit.
        days: Proleptic ordinal of the unit's day; 0 for an evergreen file.
        vectors: ``(units, d)``; rows of zeros where there is no vector; None without any.
    """

    passages: list[Passage]
    texts: list[str]
    passage: NDArray[np.int64]
    start: NDArray[np.int64]
    end: NDArray[np.int64]
    chunks: list[StoredChunk]
    chunk: NDArray[np.int64]
    days: NDArray[np.int64]
    vectors: Matrix | None

    def __len__(self) -> int:
        return len(self.texts)


def build_pool(chunks: Iterable[StoredChunk], *, dimension: int | None) -> LinePool:
    """Lay out the lines of chunks; overlapping chunks of a file are joined.

    Args:
        chunks: The candidates.
        dimension: Length of the lines' vectors; None where they are of no use.
    """
    ordered = sorted(chunks, key=lambda chunk: (chunk.path, chunk.start_line, chunk.seq))
    passages: list[Passage] = []
    texts: list[str] = []
    kept: list[NDArray[np.int32]] = []
    vectors: list[bytes] = []
    places: list[tuple[int, int, int, int]] = []
    for index, chunk in enumerate(ordered):
        held = _join(passages, chunk)
        shift = passages[-1].chars - len(chunk.text)  # both end with the same character
        units = _units(chunk)
        first = int(units[:, 2].searchsorted(held, side="right"))
        new = _from(units[first:], held)
        texts += [chunk.text[start:end] for _, start, end in new.tolist()]
        kept.append(new)
        if dimension:
            vectors.append(_packed_vectors(chunk, len(units), first, dimension))
        places.append((len(passages) - 1, shift, index, chunk.day or 0))
    rows = np.repeat(
        np.array(places, dtype=np.int64).reshape(-1, 4), [len(units) for units in kept], axis=0
    )
    lines = np.concatenate(kept) if kept else np.zeros((0, 3), dtype=np.int32)
    return LinePool(
        passages, texts, rows[:, 0], lines[:, 1] + rows[:, 1], lines[:, 2] + rows[:, 1], ordered,
        rows[:, 2], rows[:, 3], _unpacked(vectors, dimension),
    )  # fmt: skip


def _units(chunk: StoredChunk) -> NDArray[np.int32]:
    """Return the units of a chunk: line, start, end; of an index of whole chunks, make them."""
    packed = chunk.units or pack_units(line_units(chunk.text))
    return np.frombuffer(packed, dtype="<i4").reshape(-1, 3)


def _from(units: NDArray[np.int32], held: int) -> NDArray[np.int32]:
    """Let the first unit begin behind what is held: the lines it joins may be cut by a chunk."""
    if len(units) and units[0, 1] < held:
        units = units.copy()
        units[0, 1] = held
    return units


def _join(passages: list[Passage], chunk: StoredChunk) -> int:
    """Add a chunk to the last passage, or begin a new one.

    Returns:
        How many of the chunk's characters were there, the newline behind them included.
    """
    lines = chunk.text.split("\n")
    if passages and _continues(passages[-1], chunk, lines):
        passage = passages[-1]
        old = min(passage.next_line - chunk.start_line, len(lines))
        passage.lines += lines[old:]
        passage.chars += sum(len(line) + 1 for line in lines[old:])
        passage.last_seq = chunk.seq
        return sum(len(line) + 1 for line in lines[:old])
    passages.append(
        Passage(
            chunk.path, chunk.source, chunk.day, chunk.start_line, lines, len(chunk.text), chunk.seq
        )
    )
    return 0


def _continues(passage: Passage, chunk: StoredChunk, lines: list[str]) -> bool:
    """Tell whether a chunk begins in a passage or right behind it, with the same lines.

    Where a long line was cut, two chunks hold different parts of the line of one number. A passage
    may end with such a part: only the chunk that follows in the file is right behind it.
    """
    if (passage.path, passage.day) != (chunk.path, chunk.day):
        return False  # a session's days are told apart
    if chunk.start_line > passage.next_line:
        return False
    if chunk.start_line == passage.next_line:
        return chunk.seq == passage.last_seq + 1
    at = chunk.start_line - passage.first_line
    return passage.lines[at : at + len(lines)] == lines[: len(passage.lines) - at]


def _packed_vectors(chunk: StoredChunk, count: int, first: int, dimension: int) -> bytes:
    """Return the vectors of a chunk's units from `first` on; zeros where there are none."""
    row = packed_size(dimension)
    if chunk.lines is not None and len(chunk.lines) == count * row:
        return chunk.lines[first * row :]
    return bytes((count - first) * row)


def _unpacked(vectors: list[bytes], dimension: int | None) -> Matrix | None:
    packed = b"".join(vectors)
    return unpack(packed, dimension) if dimension and packed.lstrip(b"\0") else None
