"""Snippets: windows of lines are scored and cut out.

How well the best windows cover the
question gives the confidence of the answer, so that scores of different questions compare, and each
window's share of the evidence gives its part of it.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, date
from typing import TYPE_CHECKING, NamedTuple

from commonplace.retrieval.decay import age_days
from commonplace.retrieval.packing import within_budget
from commonplace.retrieval.query import SNIPPET_CHARS
from commonplace.text.chunking import read_outline
from commonplace.text.time_expressions import closeness
from commonplace.types import Explanation, SearchResult

if TYPE_CHECKING:
    from commonplace.retrieval.candidates import AnalyzedQuery
    from commonplace.retrieval.line_features import LineScores
    from commonplace.retrieval.packing import Window
    from commonplace.retrieval.passages import PassageTable
    from commonplace.store.records import StoredChunk

__all__ = ["Evidence", "answer_confidence", "confidence", "snippet_text", "window_results"]

_BIAS, _COVERAGE, _COSINE = -6.75, 3.75, 11.0
_BIAS_WORDS_ONLY, _COVERAGE_WORDS_ONLY = -2.75, 7.0
_LEAST_SHARE = 0.5
"""Part of the confidence that a window with next to no evidence keeps. `min_score` then cuts off
whole answers rather than the ends of good ones."""
_DIGITS = 6
"""Decimals of a score."""
_COVERING = 6
"""Windows among which the one that covers the question best is looked for."""


class Evidence(NamedTuple):
    """Windows that may answer a query.

    Attributes:
        windows: The windows, best first.
        lines: The lines that they are made of.
        analyzed: The query.
        confidence: Confidence of the answer as a whole.
    """

    windows: list[Window]
    lines: LineScores
    analyzed: AnalyzedQuery
    confidence: float


# -- confidence ------------------------------------------------------------------------------------


def answer_confidence(windows: list[Window], lines: LineScores, analyzed: AnalyzedQuery) -> float:
    """Return the confidence of an answer: how well its best windows cover the question."""
    best = windows[:_COVERING]
    if not best:
        return 0.0
    nearest = None if lines.near is None else float(lines.near.cosines.max())
    answer = confidence(max(_coverage(lines, analyzed, window) for window in best), nearest)
    if analyzed.only_days is not None:  # then the days are what the answer has to cover
        days = lines.table.days[[window.first for window in best]]
        closest = float(closeness(days, analyzed.only_days).max())
        answer = max(answer, confidence(closest, None))
    return answer


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


def _coverage(lines: LineScores, analyzed: AnalyzedQuery, window: Window) -> float:
    """Return the share of the query's terms, by idf, that a window holds."""
    terms = analyzed.terms
    if not terms.known:
        return 0.0
    return float(lines.present[window.rows].max(axis=0) @ terms.weights) / terms.total


# -- results ---------------------------------------------------------------------------------------


def window_results(evidence: Evidence, *, explain: bool) -> list[SearchResult]:
    """Return the results of the best windows, those below `min_score` left out."""
    query, table = evidence.analyzed.query, evidence.lines.table
    windows = evidence.windows
    longest = min(SNIPPET_CHARS, query.max_chars)
    found = (
        _result(window, table, score, longest=longest)
        for window, score in zip(windows, _scores(windows, evidence.confidence), strict=True)
        if score >= query.min_score
    )
    results = within_budget(found, query.max_chars)
    if explain:
        results = [
            replace(result, explanation=explanation)
            for result, explanation in zip(results, _explanations(windows, evidence), strict=False)
        ]
    return sorted(results, key=lambda result: (-result.score, result.path, result.start_line))


def _scores(windows: list[Window], answer: float) -> list[float]:
    """Return the score of each window; a reranked order is strictly descending."""
    scores: list[float] = []
    for window in windows:
        # Rounded, so that sums that differ by the order of additions are equal.
        score = round(answer * _part(window.mass / windows[0].mass), _DIGITS)
        if scores and windows[0].rerank is not None:
            score = max(0.0, min(score, round(scores[-1] - 10**-_DIGITS, _DIGITS)))
        scores.append(score)
    return scores


def _part(share: float) -> float:
    """Return a window's part of the confidence, by its share of the best window's evidence."""
    return _LEAST_SHARE + (1 - _LEAST_SHARE) * math.sqrt(min(1.0, share))


def _result(window: Window, table: PassageTable, score: float, *, longest: int) -> SearchResult:
    """Cut the snippet of a window out of its passage."""
    passage = table.passages[int(table.passage[window.first])]
    snippet = snippet_text(window, table)[:longest]
    first_line = passage.first_line + table.text.count(
        "\n", passage.start, int(table.start[window.first])
    )
    return SearchResult(
        path=passage.path,
        snippet=snippet,
        start_line=first_line,
        end_line=first_line + snippet.count("\n"),
        score=score,
        source=passage.source,
        heading=_heading(table.chunks[int(table.chunk[window.first])], first_line),
    )


def snippet_text(window: Window, table: PassageTable) -> str:
    """Return the text of a window; a unit that is longer than a snippet is cut."""
    start = int(table.start[window.first])
    return table.text[start : min(int(table.end[window.last]), start + SNIPPET_CHARS)]


def _heading(chunk: StoredChunk, line: int) -> str:
    """Return the headings above a line; a chunk holds only those above its own first line."""
    if "#" not in chunk.text[chunk.text.find("\n") :]:
        return chunk.heading
    above = chunk.text.split("\n")[: line - chunk.start_line + 1]
    own = read_outline(above).path_at(len(above) - 1)
    return chunk.heading if chunk.heading.endswith(own) else own


def _explanations(windows: list[Window], evidence: Evidence) -> Iterator[Explanation]:
    lines = evidence.lines
    fused = [float(lines.fused[window.rows].sum()) for window in windows]
    most = max([*fused, 1e-12])
    for window, alone in zip(windows, fused, strict=True):
        before = evidence.confidence * _part(alone / most)
        yield _explanation(window, lines, evidence.analyzed, fused=before)


def _explanation(
    window: Window, lines: LineScores, analyzed: AnalyzedQuery, *, fused: float
) -> Explanation:
    rows = window.rows
    best = window.first + int(lines.share[rows].argmax())
    day = int(lines.table.days[window.first])
    # Days begin at the local midnight: the clock is read as if it showed UTC.
    now = analyzed.query.now.replace(tzinfo=UTC)
    held = lines.present[rows].max(axis=0).tolist()
    return Explanation(
        vector=_nearest(lines, rows),
        keyword=_coverage(lines, analyzed, window) or None,
        fused=fused,
        age_days=age_days(date.fromordinal(day), now) if day else None,
        decay=math.exp(-float(lines.faded[best])),
        mmr=None if lines.repeated is None else math.exp(-float(lines.repeated[best])),
        terms=tuple(
            word.term for word, is_held in zip(analyzed.terms.known, held, strict=True) if is_held
        ),
        rerank=window.rerank,
    )


def _nearest(lines: LineScores, rows: slice) -> float | None:
    near = lines.near
    if near is None or not near.scales[rows].any():
        return None
    return float(near.cosines[rows].max())
