"""Notes and sessions in one answer: what was said never pushes what was written down out of it.

Transcripts are long and say everything several times: in one ranking, the mass of them would take
the notes' places among the candidates, and in the answer. So each source is ranked by itself, as
if the other were not there, and the answer's places are shared out by what the two are worth.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from commonplace.retrieval.query import Query
from commonplace.store.base import Reader
from commonplace.types import SearchResult, Source

__all__ = ["balanced"]

_SHARE = 3
"""Sessions take one of so many places from the notes, at most, and only the last ones."""
_NOTHING_TO_SAY = 0.5
"""Notes that are worth less than this share of what sessions are leave them all but their share."""


def balanced(
    reader: Reader, query: Query, rank: Callable[[Query], list[SearchResult]]
) -> list[SearchResult]:
    """Rank notes and sessions, each by themselves, and share out the places of the answer.

    Sessions get the places that notes leave. Where they answer better than the notes do, they get a
    third of all places; where the notes have next to nothing to say, all but a third.

    Args:
        reader: The index.
        query: What is asked.
        rank: Answers a query.
    """
    wanted = query.rows.sources
    if not reader.holds("sessions"):
        if wanted is None or "memory" not in wanted:
            return rank(query)
        return rank(replace(query, rows=replace(query.rows, sources=None)))  # no need to filter
    if wanted is not None and len(wanted) < 2:
        return rank(query)
    notes, sessions = (rank(_only(query, source)) for source in ("memory", "sessions"))
    places = _places_of_sessions(notes, sessions, query.limit)
    shared = [*notes[: query.limit - min(places, len(sessions))], *sessions[:places]]
    return sorted(shared, key=lambda result: (-result.score, result.path, result.start_line))


def _only(query: Query, source: Source) -> Query:
    return replace(query, rows=replace(query.rows, sources=frozenset((source,))))


def _places_of_sessions(
    notes: list[SearchResult], sessions: list[SearchResult], limit: int
) -> int:
    left = limit - len(notes)
    if not notes or not sessions or sessions[0].score <= notes[0].score:
        return left
    third = limit // _SHARE
    if notes[0].score < _NOTHING_TO_SAY * sessions[0].score:
        return max(left, limit - max(third, 1))
    return max(left, third)
