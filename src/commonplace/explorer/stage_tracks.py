"""Tracks of a query's candidates through the stages of a ranking."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from commonplace.display.facts import best_text
from commonplace.types import USER, Origin

if TYPE_CHECKING:
    from commonplace.memory import Memory
    from commonplace.types import SearchResult, SearchResults

__all__ = ["STAGES", "StageTrack", "stage_tracks"]

STAGES = ("merge", "decay", "MMR")
"""Stages of a ranking: both lists merged, decay by age, diversity."""


@dataclass(frozen=True, slots=True)
class StageTrack:
    """Ranks and scores of a candidate after each stage of a ranking.

    Attributes:
        citation: Citation of the candidate in the last stage that kept it.
        ranks: Rank after each of `STAGES`, from 1; None where it was not among the candidates.
        scores: Score after each of `STAGES`, 0..1.
        line: Line of the candidate that answers.
        origin: Origin of the least trusted line of the candidate.
    """

    citation: str
    ranks: tuple[int | None, ...]
    scores: tuple[float | None, ...]
    line: str = ""
    origin: Origin = USER


def stage_tracks(memory: Memory, query: str, *, candidates: int = 12) -> list[StageTrack]:
    """Return the tracks of a query's best candidates, in the order of the last stage.

    The query runs once for each stage, with the later stages turned off. Snippets may shift by some
    lines between stages: overlapping snippets of a file are the same candidate.

    Args:
        memory: Memory to search.
        query: Question.
        candidates: Number of candidates in each stage.
    """
    asked = memory.settings.search
    switches = ((False, False), (asked.decay, False), (asked.decay, asked.mmr))
    answers = [
        memory.with_search_settings(decay=decay, mmr=mmr).search(
            query, max_results=candidates, min_score=0
        )
        for decay, mmr in switches
    ]
    tracks = _joined(answers)
    return sorted(tracks, key=_last_order)


def _joined(answers: Sequence[SearchResults]) -> list[StageTrack]:
    """Match the candidates of consecutive answers by their overlap."""
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
            best_text(_latest(track)),
            _latest(track).origin,
        )
        for track in tracks
    ]


def _latest(track: dict[int, tuple[int, SearchResult]]) -> SearchResult:
    return track[max(track)][1]


def _overlap(one: SearchResult, other: SearchResult) -> int:
    """Return the number of lines that two results have in common."""
    if one.path != other.path:
        return 0
    return max(0, min(one.end_line, other.end_line) - max(one.start_line, other.start_line) + 1)


def _last_order(track: StageTrack) -> tuple[float, ...]:
    return tuple(float("inf") if rank is None else rank for rank in reversed(track.ranks))
