"""Lines that say the same: the newest, or the best, stands for the others.

This is where decay and diversity work. An old day is no worse than a new one; but of two lines that
say the same, the older has been restated or superseded, and a repeat tells nothing new. So age and
similarity only count against a line for which there is another one.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from commonplace.retrieval.mmr import tokenize_all_scripts

if TYPE_CHECKING:
    from collections.abc import Sequence

    from commonplace.settings import SearchSettings
    from commonplace.vectors import Matrix, Vector

    Floats = NDArray[np.float32]

__all__ = ["likeness_of_texts", "likeness_of_vectors", "repeats"]

_SUPERSEDED = 4.0
"""Nats that a line of long ago loses to the same one of today."""
_REPEATED = 7.0
"""Nats that a repeat loses at an `mmr_lambda` of 0."""
_LIKE_VECTORS = (0.7, 0.9)
"""Centred cosines between which two lines go from different to the same."""
_LIKE_WORDS = (0.4, 0.8)
"""The same for the share of words that two lines have in common (Jaccard)."""


def likeness_of_vectors(vectors: Matrix, mean: Vector, scales: Floats) -> Floats:
    """Tell how far each two lines say the same, 0..1, by their vectors: ``(n, n)``.

    Args:
        vectors: ``(n, d)``.
        mean: What all lines have in common.
        scales: What makes each vector, less the mean, one of length 1. 0 for a line without a
            vector, which is like no other.
    """
    centred = vectors - mean
    centred *= scales[:, None]
    return _ramp(centred @ centred.T, _LIKE_VECTORS)


def likeness_of_texts(texts: Sequence[str]) -> Floats:
    """Tell how far each two lines say the same, 0..1, by their words: ``(n, n)``."""
    tokens = [tokenize_all_scripts(text) for text in texts]
    columns = {token: at for at, token in enumerate(dict.fromkeys(t for s in tokens for t in s))}
    held = np.zeros((len(texts), len(columns)), dtype=np.float32)
    for row, some in enumerate(tokens):
        held[row, [columns[token] for token in some]] = 1.0
    common = held @ held.T
    sizes = held.sum(axis=1)
    union = sizes[:, None] + sizes[None, :] - common
    return _ramp(common / np.maximum(union, 1.0), _LIKE_WORDS)


def repeats(
    likeness: Floats, days: NDArray[np.int64], settings: SearchSettings, *, fades: bool
) -> tuple[Floats, Floats]:
    """Return what each line loses, in nats, to age and to repetition; the greater one counts.

    Args:
        likeness: ``(n, n)``, lines in the order of their scores, best first.
        days: Proleptic ordinals; 0 for an evergreen file, which neither ages nor supersedes.
        settings: Decay, half-life, MMR and its lambda.
        fades: Whether age counts at all for this question.
    """
    dated = (days[:, None] > 0) & (days[None, :] > 0)
    older_by = np.where(dated, days[None, :] - days[:, None], 0)  # days that the row is older
    decays = settings.decay and fades
    faded = np.zeros(len(days), dtype=np.float32)
    if decays:
        worn = 1.0 - np.exp2(-np.maximum(older_by, 0) / settings.half_life_days)
        faded = (_SUPERSEDED * (likeness * worn).max(axis=1, initial=0.0)).astype(np.float32)
    repeated = np.zeros(len(days), dtype=np.float32)
    if settings.mmr:
        # The other line is preferred: the newer one, or, of one day, the one with more evidence.
        better = np.tri(len(days), k=-1, dtype=np.bool_)
        preferred = np.where(older_by == 0, better, older_by > 0) if decays else better
        loss = _REPEATED * (1.0 - settings.mmr_lambda)
        repeated = (loss * (likeness * preferred).max(axis=1, initial=0.0)).astype(np.float32)
    return faded, repeated


def _ramp(values: Floats, between: tuple[float, float]) -> Floats:
    low, high = between
    np.fill_diagonal(values, 0.0)
    if values.max(initial=0.0) <= low:
        return np.zeros_like(values)
    ramp: Floats = np.clip((values - low) / (high - low), 0.0, 1.0).astype(np.float32)
    return ramp
