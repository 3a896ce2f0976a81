"""Map of lines: groups of similar lines, their words, and a place on the plane for each line."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from commonplace.text.line_units import line_units
from commonplace.text.printable import one_line
from commonplace.text.stopwords import ENGLISH
from commonplace.types import citation
from commonplace.vectors.arrays import unpack

if TYPE_CHECKING:
    from commonplace.memory import Memory
    from commonplace.types import SearchResult
    from commonplace.vectors import Vector
    from commonplace.vectors.arrays import ChunkVectors

__all__ = ["LISTED", "LineMap", "MapGroup", "MapPoint", "line_map"]

_WORD = re.compile(r"[^\W\d_]{3,24}")
LISTED = 16
"""So few lines are listed by their groups."""
_LABEL_WORDS = 3
_LEAST_LINES = 2
"""Lines of a group that must hold a word of its label."""


@dataclass(frozen=True, slots=True)
class MapPoint:
    """Line on the map.

    Attributes:
        citation: Citation of the line; of the chunk, where chunks are embedded as a whole.
        path: File of the line.
        text: The line.
        age_days: Days since the file's date; None for a file that does not age.
        group: Number of its group, from 0.
        x: Place on the plane, in pixels.
        y: Place on the plane, in pixels.
        rank: Rank of the query's result that the line answers; None for none.
    """

    citation: str
    path: str
    text: str
    age_days: float | None
    group: int
    x: float
    y: float
    rank: int | None = None


@dataclass(frozen=True, slots=True)
class MapGroup:
    """Group of similar lines.

    Attributes:
        words: Words that set it apart from the others; empty where it has none.
        lines: Number of its lines.
        x: Centre of its disc.
        y: Centre of its disc.
        radius: Radius of its disc.
    """

    words: tuple[str, ...]
    lines: int
    x: float
    y: float
    radius: float


@dataclass(frozen=True, slots=True)
class LineMap:
    """Lines and their groups, the largest group first.

    Attributes:
        points: Lines.
        groups: Groups.
        together: Share of a line's ten nearest lines that are in its group.
        near: Share of a line's ten nearest lines that are its ten nearest on the plane, too.
    """

    points: tuple[MapPoint, ...]
    groups: tuple[MapGroup, ...]
    together: float
    near: float


class _Line(NamedTuple):
    path: str
    first: int
    last: int
    text: str
    day: int | None
    vector: Vector


def line_map(
    memory: Memory, *, query: str | None = None, width: float = 900.0, height: float = 620.0
) -> LineMap:
    """Return the map of the lines of notes; headings, and lines without a vector, are skipped.

    The same index gives the same map.

    Args:
        memory: Memory with the lines.
        query: Question whose results give the ranks of the points.
        width: Width of the map, in pixels.
        height: Height of the map, in pixels.
    """
    lines = list(_lines(memory))
    if not lines:
        return LineMap((), (), 1.0, 1.0)
    from commonplace.explorer import layout

    unit = layout.centred([line.vector for line in lines])
    groups = layout.group_vectors(unit)
    if len(lines) <= LISTED:
        discs = layout.list_layout(groups, width=width)
    else:
        discs = layout.disc_layout(unit, groups, width=width, height=height)
    together, near = layout.kept_neighbours(unit, groups, discs.points)
    numbers = groups.tolist()
    ranks = _ranks(memory.search(query) if query else (), lines)
    today = memory.now().date().toordinal()
    return LineMap(
        tuple(
            MapPoint(
                citation(line.path, line.first, line.last), line.path, line.text,
                None if line.day is None else float(max(0, today - line.day)),
                group, round(x, 1), round(y, 1), ranks.get(at),
            )
            for at, (line, group, (x, y)) in enumerate(
                zip(lines, numbers, discs.points.tolist(), strict=True)
            )
        ),
        tuple(
            MapGroup(words, numbers.count(group), *(round(value, 1) for value in (x, y, radius)))
            for group, (words, (x, y), radius) in enumerate(
                zip(
                    group_words([line.text for line in lines], numbers),
                    discs.centres.tolist(), discs.radii.tolist(), strict=True,
                )
            )
        ),
        together,
        near,
    )  # fmt: skip


def group_words(texts: Sequence[str], groups: Sequence[int]) -> list[tuple[str, ...]]:
    """Return the words of each group that are frequent in it and rare elsewhere (c-TF-IDF)."""
    count = max(groups) + 1
    spelled: dict[str, Counter[str]] = {}
    held: list[Counter[str]] = [Counter() for _ in range(count)]
    for text, group in zip(texts, groups, strict=True):
        words = {word.casefold(): word for word in _WORD.findall(text)}
        for folded, word in words.items():
            if folded not in ENGLISH:
                held[group][folded] += 1
                spelled.setdefault(folded, Counter())[word] += 1
    overall = sum(held, Counter[str]())
    mean = overall.total() / count
    found = []
    for lines in held:
        weights = {
            word: number * math.log(1 + mean / overall[word]) ** 2
            for word, number in lines.items()
            if number >= _LEAST_LINES
        }
        best = sorted(weights, key=lambda word: (-weights[word], word))[:_LABEL_WORDS]
        found.append(tuple(spelled[word].most_common(1)[0][0] for word in best))
    return found


def _lines(memory: Memory) -> Iterator[_Line]:
    with memory.snapshot() as snapshot:
        for path, record in sorted(snapshot.files().items()):
            if record.source != "memory":
                continue
            behind = 0  # of overlapping chunks, each line counts once
            for chunk, embedded in snapshot.chunks_of(path):
                if embedded is None:
                    continue
                last = behind
                for first, text, vector in _units(chunk.text, embedded):
                    number = chunk.start_line + first
                    if number > behind and not text.startswith("#"):
                        end = number + text.count("\n")
                        yield _Line(path, number, end, one_line(text), record.day, vector)
                        last = max(last, end)
                behind = last


def _units(text: str, embedded: ChunkVectors) -> Iterator[tuple[int, str, Vector]]:
    """Yield the first line, the text and the vector of each unit of a chunk."""
    units = line_units(text)
    matrix = None if embedded.lines is None else unpack(embedded.lines, len(embedded.vector))
    if matrix is None or len(matrix) != len(units):
        yield 0, text, embedded.vector
        return
    for (first, start, end), vector in zip(units, matrix, strict=True):
        yield first, text[start:end], vector


def _ranks(hits: Sequence[SearchResult], lines: Sequence[_Line]) -> dict[int, int]:
    """Return the rank of the first result that each line answers."""
    ranks: dict[int, int] = {}
    for rank, hit in enumerate(hits, start=1):
        best = hit.best_line or hit.start_line
        near = [
            (min(abs(line.first - best), abs(line.last - best)), at)
            for at, line in enumerate(lines)
            if line.path == hit.path and line.first <= hit.end_line and line.last >= hit.start_line
        ]
        if near:
            ranks.setdefault(min(near)[1], rank)
    return ranks
