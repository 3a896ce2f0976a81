"""Comparison of two results: why one comes before the other."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

from commonplace.display import (
    best_text,
    html_box,
    html_table,
    matched_words,
    supersession_note,
)
from commonplace.text.lookalikes import shown_path

if TYPE_CHECKING:
    from commonplace.types import Explanation, SearchResult

__all__ = ["Comparison", "compare_results"]

_FACTS = {
    "meaning": ("vector", "its best line is nearer to the question in meaning"),
    "words": ("keyword", "it has more of the question's words"),
    "together": ("fused", "its lines around, headings and form fit better"),
    "age": ("decay", "the other one is older than a line that restates or corrects it"),
    "repetition": ("mmr", "the other one repeats a better line"),
}
"""Name of each fact with its field of `Explanation`, and what it means to have more of it."""
_LEAST = 0.005
"""Difference that two figures of two decimals show."""


@dataclass(frozen=True, slots=True)
class Comparison:
    """Two results side by side.

    Attributes:
        this: Result that comes first.
        that: Result that comes behind it.
        reason: Why, in a sentence.
        rows: Name of each fact, and its value for both; facts that are equal are left out.
    """

    this: SearchResult
    that: SearchResult
    reason: str
    rows: tuple[tuple[str, str, str], ...]

    def _repr_html_(self) -> str:
        head = ("", shown_path(self.this.citation), shown_path(self.that.citation))
        lines = ("line", best_text(self.this), best_text(self.that))
        return html_box(
            html_table([("why", self.reason)]), html_table([lines, *self.rows], head=head)
        )


def compare_results(result: SearchResult, compared: SearchResult) -> Comparison:
    """Compare two results of a search with ``explain=True``, the better one first.

    Raises:
        ValueError: A result has no explanation.
    """
    this, that = sorted((result, compared), key=lambda one: -one.score)
    ours, theirs = this.explanation, that.explanation
    if ours is None or theirs is None:
        raise ValueError("the results have no explanation: search with explain=True.")
    rows = [("score", f"{this.score:.2f}", f"{that.score:.2f}")]
    for name, (field, _) in _FACTS.items():
        values = getattr(ours, field), getattr(theirs, field)
        if values[0] is not values[1] and abs(_number(values[0]) - _number(values[1])) >= _LEAST:
            one, other = ("–" if value is None else f"{value:.2f}" for value in values)
            rows.append((name, one, other))
    rows.append(("words found", _words(this, ours), _words(that, theirs)))
    if ours.age_days != theirs.age_days:
        rows.append(("days old", _days(ours), _days(theirs)))
    return Comparison(this, that, _reason(this, that, ours, theirs), tuple(rows))


def _reason(this: SearchResult, that: SearchResult, ours: Explanation, theirs: Explanation) -> str:
    for pair in (*ours.supersessions, *theirs.supersessions):
        if _holds(this, pair.first) and _holds(that, pair.behind):
            return f"{supersession_note(pair)}."
    if this.score - that.score < _LEAST:
        return "Both fit as well: the order is that of their paths and lines."
    gains = {
        "age": math.log(max(ours.decay, 1e-9) / max(theirs.decay, 1e-9)),
        "repetition": math.log(max(_number(ours.mmr, 1), 1e-9) / max(_number(theirs.mmr, 1), 1e-9)),
        "together": math.log(max(ours.fused, 1e-9) / max(theirs.fused, 1e-9)),
    }
    best = max(gains, key=lambda name: gains[name])
    if best == "together":
        near = {
            "meaning": _number(ours.vector) - _number(theirs.vector),
            "words": _number(ours.keyword) - _number(theirs.keyword),
        }
        nearest = max(near, key=lambda name: near[name])
        best = nearest if near[nearest] >= _LEAST else best
    return f"{shown_path(this.citation)} comes first: {_FACTS[best][1]}."


def _holds(result: SearchResult, place: str) -> bool:
    path, _, line = place.rpartition("#L")
    return path == result.path and result.start_line <= int(line) <= result.end_line


def _words(result: SearchResult, explanation: Explanation) -> str:
    return ", ".join(matched_words(result.snippet, terms=explanation.terms)) or "none"


def _number(value: float | None, missing: float = 0.0) -> float:
    return missing if value is None else value


def _days(explanation: Explanation) -> str:
    return "–" if explanation.age_days is None else f"{int(explanation.age_days)}"
