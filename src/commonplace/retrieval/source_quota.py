"""Source quota: the characters of an answer are shared out between notes and sessions.

Transcripts are long and repeat themselves: in one ranking they would take the notes' places, both
among the candidates and in the answer. So each source is ranked by itself, and both rankings share
the answer by the scores of their best results.
"""

from __future__ import annotations

from dataclasses import replace

from commonplace.retrieval.snippets import within_budget
from commonplace.types import SearchResult

__all__ = ["merge_sources"]

_SHARE = 3
"""Sessions take one part of so many from the notes, at most."""
_WEAK = 0.03
"""Score below which a result takes no place of a better one of the other source."""
_WEAK_NOTES = 0.5
"""Notes whose best score is below this share of the sessions' get a third of the answer."""


def merge_sources(
    notes: list[SearchResult], sessions: list[SearchResult], *, max_chars: int
) -> list[SearchResult]:
    """Merge the rankings of notes and of sessions.

    Sessions get the characters that notes leave, behind them. Where sessions answer better than the
    notes do, they get a third of all, the first places included: two notes come before the first
    session, four before the second. Where the notes answer far worse, the notes get the third. A
    result that moves behind others is scored no higher than they are. What hardly answers gets the
    characters that are left.

    Args:
        notes: Results from notes, best first.
        sessions: Results from sessions, best first.
        max_chars: Characters of all snippets, at most.
    """
    if not notes or not sessions:
        return notes or sessions
    weak = [found for found in (*notes, *sessions) if found.score < _WEAK]
    if 0 < len(weak) < len(notes) + len(sessions):
        strong = ([found for found in hits if found.score >= _WEAK] for hits in (notes, sessions))
        merged = merge_sources(*strong, max_chars=max_chars)
        weak.sort(key=lambda result: -result.score)
        return [*merged, *within_budget(weak, max_chars - _chars(merged))]
    strength = notes[0].score / max(sessions[0].score, 1e-12)
    left, third = max_chars - _chars(notes), max_chars // _SHARE
    if strength < _WEAK_NOTES:
        sessions = within_budget(sessions, max(left, max_chars - third))
    elif strength < 1:
        sessions = within_budget(sessions, max(left, third))
        sessions = _capped(sessions, notes, every=_SHARE - 1)
    else:
        sessions = _capped(within_budget(sessions, left), notes, every=len(notes))
    merged = [*within_budget(notes, max_chars - _chars(sessions)), *sessions]
    return sorted(merged, key=lambda result: (-result.score, result.path, result.start_line))


def _chars(results: list[SearchResult]) -> int:
    return sum(result.chars for result in results)


def _capped(
    sessions: list[SearchResult], notes: list[SearchResult], *, every: int
) -> list[SearchResult]:
    """Cap the score of each session by that of the last note that comes before it."""
    last = len(notes) - 1
    return [
        replace(found, score=min(found.score, notes[min(number * every - 1, last)].score))
        for number, found in enumerate(sessions, start=1)
    ]
