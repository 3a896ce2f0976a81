"""What the pictures show, as plain values: no plotting library is needed for them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import date
from typing import TYPE_CHECKING

from commonplace.explorer.similar import LEAST, similar_groups
from commonplace.types import citation

if TYPE_CHECKING:
    from commonplace.memory import Memory
    from commonplace.store.base import Embedded, FileRecord, Reader
    from commonplace.types import Chunk, SearchResult, SearchResults

__all__ = [
    "STAGES",
    "ChunkPoint",
    "DayRow",
    "DecayRow",
    "RepeatGroup",
    "RepeatedLine",
    "StageTrack",
    "chunk_points",
    "days_written",
    "decay_rows",
    "left_at",
    "repeat_groups",
    "stage_tracks",
]

STAGES = ("merge", "decay", "MMR")
"""What the stages of a ranking add: both lists merged; age; variety."""


@dataclass(frozen=True, slots=True)
class StageTrack:
    """A candidate's way through the stages of a ranking.

    Attributes:
        citation: Where it stands, as the last stage that had it shows it.
        ranks: Its rank after each of `STAGES`, from 1; None where it was not among the candidates.
        scores: Its score after each, 0..1.
    """

    citation: str
    ranks: tuple[int | None, ...]
    scores: tuple[float | None, ...]


@dataclass(frozen=True, slots=True)
class DecayRow:
    """A file's age and what it leaves.

    Attributes:
        path: The file.
        day: Its date; None for a file that does not age.
        age_days: Days since then; None for a file that does not age.
        left: What age leaves, 0..1; see `left_at`.
        chunks: How many chunks it has.
    """

    path: str
    day: date | None
    age_days: float | None
    left: float
    chunks: int


@dataclass(frozen=True, slots=True)
class ChunkPoint:
    """A chunk's place on the map.

    Attributes:
        citation: Where the chunk stands.
        path: Its file.
        age_days: Days since the file's date; None for a file that does not age.
        x: Along the direction in which the vectors differ most.
        y: Along the next one.
        ranks: The ranks of the query's results that lie in it; empty for none.
    """

    citation: str
    path: str
    age_days: float | None
    x: float
    y: float
    ranks: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class DayRow:
    """What was written on a day: lines that are not empty, in how many files."""

    day: date
    lines: int
    files: int


@dataclass(frozen=True, slots=True)
class RepeatedLine:
    """One of the lines that say the same."""

    citation: str
    day: date | None
    text: str


@dataclass(frozen=True, slots=True)
class RepeatGroup:
    """Lines that say the same, the oldest first, undated ones last.

    `likeness` is the share of words that the least alike of them has in common with the one it is
    most like, 0..1.
    """

    likeness: float
    lines: tuple[RepeatedLine, ...]


def stage_tracks(memory: Memory, query: str, *, candidates: int = 12) -> list[StageTrack]:
    """Follow a query's best candidates from stage to stage, in the order of the last one.

    The query is asked once for each stage, with the later ones turned off. Windows of lines may
    shift by some lines on the way: those of a file that overlap are the same candidate.

    Args:
        memory: Whose index is asked.
        query: The question.
        candidates: How many are looked at in each stage.
    """
    asked = memory.settings.search
    switches = ((False, False), (asked.decay, False), (asked.decay, asked.mmr))
    answers = [
        memory.with_search(decay=decay, mmr=mmr).search(query, max_results=candidates, min_score=0)
        for decay, mmr in switches
    ]
    tracks = _joined(answers)
    return sorted(tracks, key=_last_order)


def decay_rows(memory: Memory) -> list[DecayRow]:
    """List the files with their ages and what those leave, newest first, ageless ones last."""
    today = memory.now().date()
    with memory.reading() as reader:
        records = list(reader.files().values())
        counts = {record.path: len(reader.chunks_of(record.path)) for record in records}
    ages = {record.path: _age(record.day, today) for record in records}
    left = dict(zip(ages, left_at(memory, [age or 0.0 for age in ages.values()]), strict=True))
    rows = [
        DecayRow(r.path, _day(r.day), ages[r.path], left[r.path], counts[r.path]) for r in records
    ]
    return sorted(rows, key=lambda row: (row.age_days is None, row.age_days or 0.0, row.path))


def left_at(
    memory: Memory, ages: Sequence[float], *, half_life_days: float | None = None
) -> list[float]:
    """Return what ages leave, 0..1, by the memory's settings or another half-life.

    With `SearchSettings.grain` ``lines`` it is what is left of the evidence of a line that a note
    of today says again; with ``chunks``, what is left of a chunk's score.
    """
    from commonplace.retrieval.decay import decay_factor

    settings = memory.settings.search
    if not settings.decay:
        return [1.0] * len(ages)
    half_life = half_life_days or settings.half_life_days
    if settings.grain == "chunks":
        return [decay_factor(age, half_life) for age in ages]
    return _restated(memory, ages, half_life)


def chunk_points(memory: Memory, *, query: str | None = None) -> list[ChunkPoint]:
    """Lay the chunks out in two dimensions: the first two principal components of their vectors.

    Chunks without a vector are left out. The same index gives the same picture.

    Args:
        memory: Whose chunks.
        query: A question, whose results are marked with their ranks.
    """
    from commonplace.explorer.layout import principal_components

    today = memory.now().date()
    with memory.reading() as reader:
        found = [
            (record, chunk, embedded.vector)
            for record, chunk, embedded in _chunks(reader)
            if embedded is not None
        ]
    if not found:
        return []
    places = principal_components([vector for _, _, vector in found])
    hits = memory.search(query) if query else []
    ranks = _ranks(hits, [(record.path, chunk) for record, chunk, _ in found])
    return [
        ChunkPoint(
            citation(record.path, chunk.start_line, chunk.end_line),
            record.path,
            _age(record.day, today),
            float(places[at, 0]),
            float(places[at, 1]),
            tuple(ranks.get(at, ())),
        )
        for at, (record, chunk, _) in enumerate(found)
    ]


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
    """Find the lines that say nearly the same, the most frequent first.

    Headings and lines of fewer than four words are left out.

    Args:
        memory: Whose lines.
        least: The share of words that two lines have in common (Jaccard), 0.5 to 1.
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


def _joined(answers: Sequence[SearchResults]) -> list[StageTrack]:
    """Find the candidates again from one stage's answer to the next."""
    tracks: list[dict[int, tuple[int, SearchResult]]] = []
    for stage, answer in enumerate(answers):
        for rank, result in enumerate(answer, start=1):
            known = [track for track in tracks if stage not in track]
            best = max(known, key=lambda track: _overlap(_latest(track), result), default=None)
            if best is None or not _overlap(_latest(best), result):
                best = {}
                tracks.append(best)
            best[stage] = (rank, result)
    stages = range(len(answers))
    return [
        StageTrack(
            _latest(track).citation,
            tuple(track[stage][0] if stage in track else None for stage in stages),
            tuple(track[stage][1].score if stage in track else None for stage in stages),
        )
        for track in tracks
    ]


def _latest(track: dict[int, tuple[int, SearchResult]]) -> SearchResult:
    return track[max(track)][1]


def _overlap(one: SearchResult, other: SearchResult) -> int:
    """Count the lines that two results have in common."""
    if one.path != other.path:
        return 0
    return max(0, min(one.end_line, other.end_line) - max(one.start_line, other.start_line) + 1)


def _last_order(track: StageTrack) -> tuple[float, ...]:
    return tuple(float("inf") if rank is None else rank for rank in reversed(track.ranks))


def _restated(memory: Memory, ages: Sequence[float], half_life: float) -> list[float]:
    """Ask the ranking itself what a line loses to one of today that says the same."""
    import math
    from dataclasses import replace

    import numpy as np

    from commonplace.retrieval.repeats import repeats

    settings = replace(memory.settings.search, half_life_days=half_life)
    today = memory.now().date().toordinal()
    left: dict[int, float] = {}
    for age in {round(age) for age in ages}:
        days = np.array([today, today - age], dtype=np.int64)
        alike = np.array([[0, 1], [1, 0]], dtype=np.float32)
        lost, _ = repeats(alike, days, settings, fades=True)
        left[age] = math.exp(-float(lost[1]))
    return [left[round(age)] for age in ages]


def _ranks(
    hits: Sequence[SearchResult], chunks: Sequence[tuple[str, Chunk]]
) -> dict[int, list[int]]:
    """Find, for each result, the chunk that shows the most of its lines."""
    ranks: dict[int, list[int]] = {}
    for rank, hit in enumerate(hits, start=1):
        of_file = [
            (_shared(hit, chunk), -at)
            for at, (path, chunk) in enumerate(chunks)
            if path == hit.path
        ]
        most, at = max(of_file, default=(0, 0))
        if most:
            ranks.setdefault(-at, []).append(rank)
    return ranks


def _shared(hit: SearchResult, chunk: Chunk) -> int:
    return min(hit.end_line, chunk.end_line) - max(hit.start_line, chunk.start_line) + 1


def _chunks(reader: Reader) -> Iterator[tuple[FileRecord, Chunk, Embedded | None]]:
    for path, record in sorted(reader.files().items()):
        for chunk, embedded in reader.chunks_of(path):
            yield record, chunk, embedded


def _lines(memory: Memory) -> list[tuple[FileRecord, int, str]]:
    """List the lines that are not empty, each once, with their files and numbers."""
    lines: dict[tuple[str, int], tuple[FileRecord, int, str]] = {}
    with memory.reading() as reader:
        for record, chunk, _ in _chunks(reader):
            if record.source != "memory":
                continue
            for number, line in enumerate(chunk.text.split("\n"), start=chunk.start_line):
                if text := line.strip():
                    lines.setdefault((record.path, number), (record, number, text))
    return list(lines.values())


def _age(day: int | None, today: date) -> float | None:
    return None if day is None else float(max(0, today.toordinal() - day))


def _day(day: int | None) -> date | None:
    return None if day is None else date.fromordinal(day)
