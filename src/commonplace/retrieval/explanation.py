"""Explanation of results: what every stage gave to a window, for ``explain=True``."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, date
from typing import TYPE_CHECKING

from commonplace.retrieval.decay import age_days
from commonplace.retrieval.line_features import coverage, window_part
from commonplace.types import Explanation, Supersession, citation

if TYPE_CHECKING:
    from commonplace.retrieval.line_features import LineScores
    from commonplace.retrieval.query import AnalyzedQuery, Evidence
    from commonplace.retrieval.snippets import Window

__all__ = ["explanations"]


def explanations(windows: list[Window], evidence: Evidence) -> Iterator[Explanation]:
    """Yield what every stage gave to each window."""
    lines = evidence.lines
    fused = [float(lines.fused[window.rows].sum()) for window in windows]
    most = max([*fused, 1e-12])
    for window, alone in zip(windows, fused, strict=True):
        before = evidence.confidence * window_part(alone / most)
        explanation = _explanation(window, lines, evidence.analyzed, fused=before)
        if evidence.precedences:
            explanation = replace(explanation, supersessions=_supersessions(window, evidence))
        yield explanation


def _explanation(
    window: Window, lines: LineScores, analyzed: AnalyzedQuery, *, fused: float
) -> Explanation:
    rows = window.rows
    best = window.first + int(lines.share[rows].argmax())
    number = int(lines.table.days[window.first])
    day = date.fromordinal(number) if number else None
    # Days begin at the local midnight: the clock is read as if it showed UTC.
    now = analyzed.query.now.replace(tzinfo=UTC)
    held = lines.present[rows].max(axis=0).tolist()
    return Explanation(
        vector=_nearest(lines, rows),
        keyword=coverage(lines, analyzed, rows) or None,
        fused=fused,
        age_days=age_days(day, now) if day else None,
        decay=math.exp(-float(lines.faded[best])),
        mmr=None if lines.repeated is None else math.exp(-float(lines.repeated[best])),
        terms=tuple(
            word.term for word, is_held in zip(analyzed.terms.known, held, strict=True) if is_held
        ),
        rerank=window.rerank,
        day=day.isoformat() if day else None,
    )


def _supersessions(window: Window, evidence: Evidence) -> tuple[Supersession, ...]:
    """Return the lines that stand back for others where the window shows one of both."""
    table, shown = evidence.lines.table, range(window.first, window.last + 1)

    def cited(row: int) -> str:
        passage = table.passage_of(row)
        line = table.line_of(int(table.start[row]), passage)
        return citation(passage.path, line, line)

    return tuple(
        Supersession(cited(first), cited(behind), reason)
        for first, behind, reason in evidence.precedences
        if first in shown or behind in shown
    )


def _nearest(lines: LineScores, rows: slice) -> float | None:
    near = lines.near
    if near is None or not near.scales[rows].any():
        return None
    return float(near.cosines[rows].max())
