"""Several lists into one: by their scores, or, where those cannot be compared, by their ranks."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from commonplace.settings import SearchSettings

__all__ = ["fused_ranking", "normalized_weights", "weighted_score"]

_RRF_K = 10
"""Rank offset of reciprocal rank fusion (Cormack, Clarke & Büttcher, SIGIR 2009). Less than their
60: the heads of the lists must stay ahead of what both hold far down."""


def normalized_weights(settings: SearchSettings) -> tuple[float, float]:
    """Return the weights of vectors and words, scaled to sum to 1."""
    total = settings.vector_weight + settings.text_weight
    return settings.vector_weight / total, settings.text_weight / total


def weighted_score(
    vector: float | None, keyword: float | None, weights: tuple[float, float]
) -> float:
    """Merge two scores; one that is missing counts as 0."""
    return weights[0] * (vector or 0.0) + weights[1] * (keyword or 0.0)


def fused_ranking(lists: Iterable[Sequence[tuple[int, float]]], *, limit: int) -> list[int]:
    """Return the best of several ``(seq, score)`` lists, each best first, by reciprocal ranks."""
    scores: dict[int, float] = {}
    for hits in lists:
        for rank, (seq, _) in enumerate(hits):
            scores[seq] = scores.get(seq, 0.0) + 1.0 / (_RRF_K + rank)
    return sorted(sorted(scores), key=scores.__getitem__, reverse=True)[:limit]  # equal: by seq
