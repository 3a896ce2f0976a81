"""Metrics of retrieval, as functions of plain values."""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Sequence

from commonplace.evaluation.questions import Evidence, LocatedEvidence
from commonplace.types import SearchResult

__all__ = ["are_shown", "area_under_roc", "first_rank", "mean", "within_chars"]


def are_shown(
    results: Sequence[SearchResult], evidence: Iterable[LocatedEvidence]
) -> tuple[Evidence, ...]:
    """Return the evidence of which the snippets of its file show the whole.

    Snippets that touch count as one: between them is nothing but white space.
    """
    return tuple(found.place for found in evidence if _is_shown(results, found))


def first_rank(results: Sequence[SearchResult], evidence: Sequence[LocatedEvidence]) -> int | None:
    """Return the rank, from 1, of the first result with which any of the evidence is shown."""
    for rank in range(1, len(results) + 1):
        if are_shown(results[:rank], evidence):
            return rank
    return None


def within_chars(results: Sequence[SearchResult], *, chars: int) -> Sequence[SearchResult]:
    """Return the first results whose snippets and contexts have at most so many characters."""
    room = chars
    for number, result in enumerate(results):
        room -= result.chars
        if room < 0:
            return results[:number]
    return results


def _is_shown(results: Sequence[SearchResult], found: LocatedEvidence) -> bool:
    place, text, file = found
    of_file = [result for result in results if result.path == place.path]
    if not of_file:
        return False
    starts = [0, *(match.end() for match in re.finditer("\n", file))]
    shown = sorted(filter(None, (_span(result, file, starts) for result in of_file)))
    if place.line is not None:
        start = starts[place.line - 1]
        return _covered(file, start, start + len(text), shown)
    return any(
        _covered(file, match.start(), match.start() + len(text), shown)
        for match in re.finditer(f"(?={re.escape(text)})", file)
    )


def _span(result: SearchResult, file: str, starts: Sequence[int]) -> tuple[int, int] | None:
    """Return where the snippet of a result stands in its file."""
    snippet = result.snippet.replace("\r\n", "\n").removesuffix("\r")
    if result.start_line > len(starts):
        return None
    end = starts[result.end_line] if result.end_line < len(starts) else len(file)
    at = file.find(snippet, starts[result.start_line - 1], end)
    return (at, at + len(snippet)) if at >= 0 else None


def _covered(file: str, start: int, end: int, shown: Iterable[tuple[int, int]]) -> bool:
    """Return whether spans, ascending, cover a part of a file but for white space."""
    for first, behind in shown:
        if first > start and file[start : min(first, end)].strip():
            return False
        start = max(start, behind)
        if start >= end:
            return True
    return not file[start:end].strip()


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
