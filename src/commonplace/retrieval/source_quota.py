"""Notes and sessions in one answer: what was said never pushes what was written down out of it.

Transcripts are long and say everything several times: in one ranking, the mass of them would take
the notes' places among the candidates, and in the answer. So each source is ranked by itself, as
if the other were not there, and the answer's places are shared out by what the two are worth.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from commonplace.retrieval.query import Query
from commonplace.store.base import Snapshot
from commonplace.types import SearchResult, Source

__all__ = ["merge_sources"]

_SHARE = 3
"""Sessions take one of so many places from the notes, at most."""
_NOTHING_TO_SAY = 0.5
"""Notes that are worth less than this share of what sessions are have next to nothing to say."""


def merge_sources(
    snapshot: Snapshot, query: Query, rank: Callable[[Query], list[SearchResult]]
) -> list[SearchResult]:
    """Rank notes and sessions, each by themselves, and share out the places of the answer.

    Sessions get the places that notes leave, behind them. Where they answer better than the notes
    do, they get a third of all places, and of the first ones, too: two notes come before the first
    session, four before the second. Where the notes have next to nothing to say, the notes get the
    third. What is moved behind others is worth no more than they are.

    Args:
        snapshot: The index.
        query: What is asked.
        rank: Answers a query.
    """
    wanted = query.rows.sources
    if not snapshot.chunk_count("sessions"):
        if wanted is None or "memory" not in wanted:
            return rank(query)
        return rank(replace(query, rows=replace(query.rows, sources=None)))  # no need to filter
    if wanted is not None and len(wanted) < 2:
        return rank(query)
    notes, sessions = (rank(_only(query, source)) for source in ("memory", "sessions"))
    return _shared(notes, sessions, query.limit) if notes and sessions else notes or sessions


def _only(query: Query, source: Source) -> Query:
    return replace(query, rows=replace(query.rows, sources=frozenset((source,))))


def _shared(
    notes: list[SearchResult], sessions: list[SearchResult], limit: int
) -> list[SearchResult]:
    """Share out the places between two rankings, neither of them empty."""
    worth = notes[0].score / max(sessions[0].score, 1e-12)
    left, third = limit - len(notes), limit // _SHARE
    if worth < _NOTHING_TO_SAY:
        places = max(left, limit - third)
    elif worth < 1:
        places = max(left, third)
        sessions = _behind(sessions[:places], notes, every=_SHARE - 1)
    else:
        places = left
        sessions = _behind(sessions[:places], notes, every=len(notes))
    sessions = sessions[:places]
    both = [*notes[: limit - len(sessions)], *sessions]
    return sorted(both, key=lambda found: (-found.score, found.path, found.start_line))


def _behind(
    sessions: list[SearchResult], notes: list[SearchResult], *, every: int
) -> list[SearchResult]:
    """Let no session be worth more than as many notes as are to come before it."""
    last = len(notes) - 1
    return [
        replace(found, score=min(found.score, notes[min(number * every - 1, last)].score))
        for number, found in enumerate(sessions, start=1)
    ]
