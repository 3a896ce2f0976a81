"""Where points go: many dimensions on a plane, and marks that do not cover each other."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from commonplace.vectors import Vector

    Points = NDArray[np.float64]

__all__ = ["principal_components", "spread"]

_EXTRA = 8
_ROUNDS = 8
_PUSHES = 200


def principal_components(vectors: Sequence[Vector]) -> Points:
    """Project vectors on the two directions in which they differ most: ``(n, 2)``.

    A randomized range finder with power iterations (Halko, Martinsson & Tropp, SIAM Review 2011)
    from a fixed start: the same vectors give the same points, whose axes point to where the
    greatest weight is positive.
    """
    matrix = np.asarray(vectors, dtype=np.float32)
    centred = matrix - matrix.mean(axis=0)
    width = min(2 + _EXTRA, *centred.shape)
    block = np.random.default_rng(0).standard_normal((centred.shape[1], width), dtype=np.float32)
    with np.errstate(invalid="ignore"):  # some BLAS builds raise it over padding
        for _ in range(_ROUNDS):
            block, _ = np.linalg.qr(centred.T @ (centred @ block))
        _, _, rotation = np.linalg.svd(centred @ block, full_matrices=False)
        axes = (rotation @ block.T)[:2]
        places = centred @ (axes * _signs(axes)).T
    points = np.zeros((len(matrix), 2))
    points[:, : places.shape[1]] = places
    return points


def spread(points: Points, *, apart: float) -> Points:
    """Push points away from each other until each two are `apart`, as far as that goes."""
    places = points.astype(np.float64, copy=True)
    turns = 2.4 * np.arange(len(places))  # the golden angle: no two start in one direction
    places += 1e-3 * apart * np.column_stack((np.cos(turns), np.sin(turns)))
    for _ in range(_PUSHES):
        between = places[:, None] - places[None, :]
        distance = np.linalg.norm(between, axis=2)
        np.fill_diagonal(distance, np.inf)
        lacking = np.maximum(0.0, apart - distance)
        if not lacking.any():
            break
        places += 0.5 * (between / distance[..., None] * lacking[..., None]).sum(axis=1)
    return places


def _signs(axes: NDArray[np.float32]) -> NDArray[np.float32]:
    greatest = np.abs(axes).argmax(axis=1)
    signs = np.sign(axes[np.arange(len(axes)), greatest])
    turned: NDArray[np.float32] = np.where(signs == 0, 1, signs)[:, None].astype(np.float32)
    return turned
