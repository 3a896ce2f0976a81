"""What an answer is worth as a whole, so that scores of different questions can be compared."""

from __future__ import annotations

import math

__all__ = ["confidence"]

_BIAS, _COVERAGE, _COSINE = -6.75, 3.75, 11.0
_BIAS_WORDS_ONLY, _COVERAGE_WORDS_ONLY = -2.75, 7.0


def confidence(coverage: float, cosine: float | None) -> float:
    """Estimate how likely the notes hold what was asked, 0..1.

    Args:
        coverage: Share of the query's words, by idf, that one snippet holds. Words that stand
            nowhere in the notes count against it.
        cosine: Of the nearest line, as it is; None without vectors.
    """
    if cosine is None:
        return _logistic(_BIAS_WORDS_ONLY + _COVERAGE_WORDS_ONLY * coverage)
    return _logistic(_BIAS + _COVERAGE * coverage + _COSINE * cosine)


def _logistic(value: float) -> float:
    return 1 / (1 + math.exp(-max(-60.0, min(60.0, value))))
