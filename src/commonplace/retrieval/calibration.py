"""Calibration: the confidence of an answer, so that scores of different questions compare.

How well the best windows cover the question gives the answer's confidence, and each window's share
of the evidence gives its part of it.
"""

from __future__ import annotations

import math
from dataclasses import replace
from datetime import UTC, date
from typing import TYPE_CHECKING

from commonplace.retrieval.decay import age_days
from commonplace.retrieval.snippets import Window, snippet_result
from commonplace.text.time_expressions import closeness
from commonplace.types import Explanation, SearchResult

if TYPE_CHECKING:
    from collections.abc import Iterator

    from commonplace.retrieval.candidates import AnalyzedQuery
    from commonplace.retrieval.line_features import LineScores

__all__ = ["confidence", "window_results"]

_BIAS, _COVERAGE, _COSINE = -6.75, 3.75, 11.0
_BIAS_WORDS_ONLY, _COVERAGE_WORDS_ONLY = -2.75, 7.0
_LEAST_SHARE = 0.5
"""Part of the confidence that a window with next to no evidence keeps. `min_score` then cuts off
whole answers rather than the ends of good ones."""
_COVERING = 6
"""Windows among which the one that covers the question best is looked for."""


def window_results(
    windows: list[Window], lines: LineScores, analyzed: AnalyzedQuery, *, explain: bool
) -> list[SearchResult]:
    """Return the results of windows, best first, those below `min_score` left out."""
    if not windows:
        return []
    coverage = [_coverage(lines, analyzed, window) for window in windows]
    answer = _answer_confidence(windows, coverage, lines, analyzed)
    results = []
    for window in windows:
        # Rounded, so that sums that differ by the order of additions are equal.
        score = round(answer * _part(window.mass / windows[0].mass), 6)
        if score >= analyzed.query.min_score:
            results.append(snippet_result(window, lines.table, score))
    if explain:
        explanations = _explanations(windows, lines, analyzed, coverage=coverage, answer=answer)
        results = [
            replace(result, explanation=explanation)
            for result, explanation in zip(results, explanations, strict=False)
        ]
    return sorted(results, key=lambda result: (-result.score, result.path, result.start_line))


def confidence(coverage: float, cosine: float | None) -> float:
    """Estimate the probability, 0..1, that the notes hold what was asked.

    Args:
        coverage: Share of the query's terms, by idf, that one snippet holds. Terms that do not
            occur in the notes count against it.
        cosine: Cosine of the nearest line; None without vectors.
    """
    if cosine is None:
        return _logistic(_BIAS_WORDS_ONLY + _COVERAGE_WORDS_ONLY * coverage)
    return _logistic(_BIAS + _COVERAGE * coverage + _COSINE * cosine)


def _logistic(value: float) -> float:
    return 1 / (1 + math.exp(-max(-60.0, min(60.0, value))))


def _answer_confidence(
    windows: list[Window], coverage: list[float], lines: LineScores, analyzed: AnalyzedQuery
) -> float:
    nearest = None if lines.near is None else float(lines.near.cosines.max())
    answer = confidence(max(coverage[:_COVERING]), nearest)
    if analyzed.only_days is not None:  # then the days are what the answer has to cover
        days = lines.table.days[[window.first for window in windows[:_COVERING]]]
        closest = float(closeness(days, analyzed.only_days).max())
        answer = max(answer, confidence(closest, None))
    return answer


def _part(share: float) -> float:
    """Return a window's part of the confidence, by its share of the best window's evidence."""
    return _LEAST_SHARE + (1 - _LEAST_SHARE) * math.sqrt(min(1.0, share))


def _coverage(lines: LineScores, analyzed: AnalyzedQuery, window: Window) -> float:
    """Return the share of the query's terms, by idf, that a window holds."""
    terms = analyzed.terms
    if not terms.known:
        return 0.0
    return float(lines.present[window.rows].max(axis=0) @ terms.weights) / terms.total


def _explanations(
    windows: list[Window],
    lines: LineScores,
    analyzed: AnalyzedQuery,
    *,
    coverage: list[float],
    answer: float,
) -> Iterator[Explanation]:
    fused = [float(lines.fused[window.rows].sum()) for window in windows]
    most = max(*fused, 1e-12)
    for window, covered, alone in zip(windows, coverage, fused, strict=True):
        before = answer * _part(alone / most)
        yield _explanation(window, lines, analyzed, keyword=covered, fused=before)


def _explanation(
    window: Window, lines: LineScores, analyzed: AnalyzedQuery, *, keyword: float, fused: float
) -> Explanation:
    rows = window.rows
    best = window.first + int(lines.share[rows].argmax())
    day = int(lines.table.days[window.first])
    # Days begin at the local midnight: the clock is read as if it showed UTC.
    now = analyzed.query.now.replace(tzinfo=UTC)
    held = lines.present[rows].max(axis=0).tolist()
    return Explanation(
        vector=_nearest(lines, rows),
        keyword=keyword or None,
        fused=fused,
        age_days=age_days(date.fromordinal(day), now) if day else None,
        decay=math.exp(-float(lines.faded[best])),
        mmr=None if lines.repeated is None else math.exp(-float(lines.repeated[best])),
        terms=tuple(
            word.term for word, is_held in zip(analyzed.terms.known, held, strict=True) if is_held
        ),
    )


def _nearest(lines: LineScores, rows: slice) -> float | None:
    near = lines.near
    if near is None or not near.scales[rows].any():
        return None
    return float(near.cosines[rows].max())
