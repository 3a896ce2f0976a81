"""Metrics of retrieval, as functions of plain values."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Sequence

from commonplace.evaluation.questions import Evidence
from commonplace.types import SearchResult

__all__ = ["area_under_roc", "first_rank", "mean", "shows", "within_chars"]


def shows(result: SearchResult, place: Evidence, text: str) -> bool:
    r"""Return whether a snippet shows a whole line; its first and last line may be truncated.

    Args:
        result: Result with the snippet.
        place: Path and number of the line.
        text: Text of the line, without a line break; a trailing ``\r`` is ignored.
    """
    index = place.line - result.start_line
    if result.path != place.path or index < 0:
        return False
    lines = result.snippet.split("\n")
    return index < len(lines) and lines[index].rstrip("\r") == text.rstrip("\r")


def first_rank(results: Iterable[SearchResult], lines: dict[Evidence, str]) -> int | None:
    """Return the rank, from 1, of the first result that shows any of the lines."""
    for rank, result in enumerate(results, start=1):
        if any(shows(result, place, text) for place, text in lines.items()):
            return rank
    return None


def within_chars(results: Sequence[SearchResult], *, chars: int) -> Sequence[SearchResult]:
    """Return the first results whose snippets together have at most so many characters."""
    room = chars
    for number, result in enumerate(results):
        room -= len(result.snippet)
        if room < 0:
            return results[:number]
    return results


def area_under_roc(own: Sequence[float], foreign: Sequence[float]) -> float:
    """Return the AUROC of own against foreign scores: ties count half; 0 without scores."""
    if not own or not foreign:
        return 0.0
    below = sorted(foreign)
    wins = sum((bisect_left(below, score) + bisect_right(below, score)) / 2 for score in own)
    return wins / (len(own) * len(foreign))


def mean(values: Sequence[float]) -> float:
    """Return the mean; 0 of no values."""
    return sum(values) / len(values) if values else 0.0
