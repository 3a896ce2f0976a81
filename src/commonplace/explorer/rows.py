"""Rows behind the figures, as plain values; no plotting library is imported."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import date
from typing import TYPE_CHECKING

from commonplace.explorer.file_ages import (
    AGE_SPANS,
    NO_DATE,
    DecayRow,
    age_span,
    decay_rows,
    kept_part,
    left_at,
)
from commonplace.explorer.line_map import LineMap, MapGroup, MapPoint, line_map
from commonplace.explorer.near_duplicates import LEAST, similar_groups
from commonplace.explorer.stage_tracks import STAGES, StageTrack, stage_tracks
from commonplace.text.front_matter import label_line
from commonplace.types import citation

if TYPE_CHECKING:
    from commonplace.memory import Memory
    from commonplace.store.base import Snapshot
    from commonplace.store.records import FileRecord
    from commonplace.types import Chunk
    from commonplace.vectors.arrays import ChunkVectors

__all__ = [
    "AGE_SPANS",
    "NO_DATE",
    "STAGES",
    "DayRow",
    "DecayRow",
    "LineMap",
    "MapGroup",
    "MapPoint",
    "RepeatGroup",
    "RepeatedLine",
    "StageTrack",
    "age_span",
    "days_written",
    "decay_rows",
    "kept_part",
    "left_at",
    "line_map",
    "repeat_groups",
    "stage_tracks",
]


@dataclass(frozen=True, slots=True)
class DayRow:
    """Number of lines, without blank ones, and of files that were written on a day."""

    day: date
    lines: int
    files: int


@dataclass(frozen=True, slots=True)
class RepeatedLine:
    """Line of a group of repeats."""

    citation: str
    day: date | None
    text: str


@dataclass(frozen=True, slots=True)
class RepeatGroup:
    """Lines that repeat each other, the oldest first, undated ones last.

    `likeness` is the smallest Jaccard similarity by which a line joined the group, 0..1.
    """

    likeness: float
    lines: tuple[RepeatedLine, ...]


def days_written(memory: Memory) -> list[DayRow]:
    """Count the lines of each day's logs, the earliest day first."""
    written: dict[int, list[str]] = {}
    for record, _, _ in _lines(memory):
        if record.day is not None:
            written.setdefault(record.day, []).append(record.path)
    return [
        DayRow(date.fromordinal(day), len(paths), len(set(paths)))
        for day, paths in sorted(written.items())
    ]


def repeat_groups(memory: Memory, *, least: float = 0.7) -> list[RepeatGroup]:
    """Find groups of near-duplicate lines, the largest first.

    Headings and lines of fewer than four words are skipped.

    Args:
        memory: Memory with the lines.
        least: Minimum Jaccard similarity of the words of two lines, 0.5 to 1.
    """
    if not LEAST <= least <= 1.0:
        raise ValueError(f"least is {least}; it must be between {LEAST} and 1.")
    lines = [line for line in _lines(memory) if not line[2].startswith("#")]
    groups = [
        RepeatGroup(
            group.likeness,
            tuple(
                RepeatedLine(citation(record.path, number, number), _day(record.day), text)
                for record, number, text in sorted(
                    (lines[at] for at in group.members),
                    key=lambda line: (line[0].day is None, line[0].day or 0, line[0].path, line[1]),
                )
            ),
        )
        for group in similar_groups([text for _, _, text in lines], least=least)
    ]
    return sorted(groups, key=lambda group: (-len(group.lines), group.lines[0].citation))


def _chunks(snapshot: Snapshot) -> Iterator[tuple[FileRecord, Chunk, ChunkVectors | None]]:
    for path, record in sorted(snapshot.files().items()):
        for chunk, embedded in snapshot.chunks_of(path):
            yield record, chunk, embedded


def _lines(memory: Memory) -> list[tuple[FileRecord, int, str]]:
    """Return the lines without blank ones, each once, with their files and numbers."""
    lines: dict[tuple[str, int], tuple[FileRecord, int, str]] = {}
    with memory.snapshot() as snapshot:
        for record, chunk, _ in _chunks(snapshot):
            if record.source != "memory":
                continue
            labels = label_line(json.loads(record.metadata)) if record.metadata else ""
            for number, line in enumerate(chunk.text.split("\n"), start=chunk.start_line):
                if (text := line.strip()) and text != labels:  # which are no line of the file
                    lines.setdefault((record.path, number), (record, number, text))
    return list(lines.values())


def _day(day: int | None) -> date | None:
    return None if day is None else date.fromordinal(day)
