"""Layout of points: projection on a plane, and spacing of marks that would overlap."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from commonplace.vectors import Vector

    Points = NDArray[np.float64]

__all__ = ["principal_components", "spread"]

_MOST_ROUNDS = 200
_LEAST_VARIANCE = 1e-12


def principal_components(vectors: Sequence[Vector]) -> Points:
    """Project vectors on their first two principal components: ``(n, 2)``.

    The greatest weight of each axis is made positive, so that equal vectors give equal points.
    """
    matrix = np.asarray(vectors, dtype=np.float32)
    centred = matrix - matrix.mean(axis=0)
    with np.errstate(invalid="ignore"):  # some BLAS builds raise it over padding
        if matrix.shape[0] < matrix.shape[1]:  # the smaller of the two products has the same axes
            variances, rows = np.linalg.eigh(centred @ centred.T)
            components = centred.T @ rows / np.sqrt(np.maximum(variances, _LEAST_VARIANCE))
        else:
            _, components = np.linalg.eigh(centred.T @ centred)
        axes = components[:, ::-1][:, :2]  # eigh sorts by ascending variance
        projected = centred @ (axes * _signs(axes))
    points = np.zeros((len(matrix), 2))
    points[:, : projected.shape[1]] = projected
    return points


def spread(points: Points, *, apart: float) -> Points:
    """Push points away from each other until each two are `apart`, for at most 200 rounds."""
    places = points.astype(np.float64, copy=True)
    turns = 2.4 * np.arange(len(places))  # the golden angle: all starting directions differ
    places += 1e-3 * apart * np.column_stack((np.cos(turns), np.sin(turns)))
    for _ in range(_MOST_ROUNDS):
        between = places[:, None] - places[None, :]
        distance = np.linalg.norm(between, axis=2)
        np.fill_diagonal(distance, np.inf)
        lacking = np.maximum(0.0, apart - distance)
        if not lacking.any():
            break
        places += 0.5 * (between / distance[..., None] * lacking[..., None]).sum(axis=1)
    return places


def _signs(axes: NDArray[np.float32]) -> NDArray[np.float32]:
    """Return, for each column, the sign of its entry of greatest magnitude."""
    greatest = np.abs(axes).argmax(axis=0)
    signs: NDArray[np.float32] = np.copysign(1, axes[greatest, np.arange(axes.shape[1])])
    return signs
