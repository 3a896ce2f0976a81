"""Layout of the map: groups of similar vectors as discs, with a place for each vector.

Positions are in pixels of the map. Every vector has a place of its own, so that a map of ten
thousand lines has no blob.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from commonplace.vectors import Matrix

    Points = NDArray[np.float64]
    Numbers = NDArray[np.int64]

__all__ = [
    "Discs",
    "centred",
    "disc_layout",
    "group_vectors",
    "kept_neighbours",
    "list_layout",
    "spread",
]

_ROUNDS = 12
"""Rounds of k-means, at most: on texts, few vectors move after that."""
_MOST_GROUPS = 36
_GROUP_GROWTH = 2.0
"""The number of groups is the square root of the number of vectors, divided by this."""
_GOLDEN_ANGLE = 2.399963
_SPACING = 0.62
"""Distance of neighbours in a disc, as a multiple of the root of the area of one vector."""
_RING = 24
"""Vectors of a ring, which are ordered by their direction."""
_PUSHES = 300
_PULL = 0.012
"""Part of the way to the middle that discs move in a round."""
_LABEL_ROOM = 15.0
_ROW = 30.0
_LEAST_VARIANCE = 1e-12
_EXACT = 64
"""Vectors or dimensions up to which all principal axes are computed."""
_SUBSPACE = 8
_PASSES = 12
_NEIGHBOURS = 10
_SAMPLED = 200
"""Vectors whose neighbours are compared: more change the share by a hundredth."""


class Discs(NamedTuple):
    """Layout of the groups.

    Attributes:
        points: ``(n, 2)``, a place for each vector.
        centres: ``(groups, 2)``.
        radii: Radius of each disc.
    """

    points: Points
    centres: Points
    radii: NDArray[np.float64]


def centred(vectors: Sequence[Any]) -> Matrix:
    """Return the differences of vectors from their mean as unit vectors; zeros for none."""
    matrix = np.asarray(vectors, dtype=np.float32)
    matrix = matrix - matrix.mean(axis=0)
    lengths = np.linalg.norm(matrix, axis=1, keepdims=True)
    unit: Matrix = np.divide(matrix, lengths, out=np.zeros_like(matrix), where=lengths > 1e-6)
    return unit


def group_vectors(unit: Matrix) -> Numbers:
    """Return the group of each vector: spherical k-means, the largest group first.

    The first centres are chosen far apart (Gonzalez, 1985): equal vectors give equal groups.
    """
    count = int(np.clip(round(len(unit) ** 0.5 / _GROUP_GROWTH), 1, _MOST_GROUPS))
    centres = _far_apart(unit, count)
    groups = np.zeros(len(unit), dtype=np.int64)
    for _ in range(_ROUNDS):
        nearest = (unit @ centres.T).argmax(axis=1)
        if (nearest == groups).all():
            break
        groups = nearest
        for group in np.unique(groups).tolist():
            mean = unit[groups == group].mean(axis=0)
            centres[group] = mean / max(float(np.linalg.norm(mean)), 1e-6)
    sizes = np.bincount(groups, minlength=count)
    order = np.argsort(-sizes, kind="stable")
    rank: Numbers = np.argsort(order, kind="stable")
    return rank[groups]


def disc_layout(unit: Matrix, groups: Numbers, *, width: float, height: float) -> Discs:
    """Place each group as a disc near those like it, and its vectors within.

    In a disc, vectors like the group's mean are in the middle, and those of one direction lie on
    one side.

    Args:
        unit: Unit vectors.
        groups: Group of each vector, from 0.
        width: Width of the map.
        height: Height of the map.
    """
    sizes = np.bincount(groups)
    means = np.array([unit[groups == group].mean(axis=0) for group in range(len(sizes))])
    area = 0.34 * width * height / len(unit)  # discs and the gaps between them fill the rest
    step = min(_SPACING * area**0.5, 16.0)
    radii = step * np.sqrt(sizes + 1.0)
    places = principal_components(means) * (1, height / width)
    largest = max(float(np.abs(places).max()), 1e-9)
    centres = spread(places / largest * 0.5 * width, radii + _LABEL_ROOM, flat=height / width)
    points = np.empty((len(unit), 2))
    for group, size in enumerate(sizes.tolist()):
        members = np.flatnonzero(groups == group)
        points[members] = centres[group] + step * _in_disc(unit[members], size)
    return Discs(points, centres, radii)


def list_layout(groups: Numbers, *, width: float) -> Discs:
    """Place few vectors as lists, a column for each group, so that their texts fit beside them."""
    sizes = np.bincount(groups)
    points = np.empty((len(groups), 2))
    centres = np.column_stack((width / len(sizes) * np.arange(len(sizes)) + 10.0, 0.0 * sizes))
    for group, size in enumerate(sizes.tolist()):
        rows = centres[group, 1] + _ROW * (1.0 + np.arange(size))
        points[groups == group] = np.column_stack((np.full(size, centres[group, 0]), rows))
    return Discs(points, centres, np.zeros(len(sizes)))


def principal_components(vectors: Matrix) -> Points:
    """Project vectors on their first two principal components: ``(n, 2)``.

    The greatest weight of each axis is made positive, so that equal vectors give equal points.
    """
    matrix = vectors - vectors.mean(axis=0)
    with np.errstate(invalid="ignore"):  # some BLAS builds raise it over padding
        if min(matrix.shape) > _EXACT:
            axes = _leading_axes(matrix)
        elif matrix.shape[0] < matrix.shape[1]:  # the smaller of the two products has the same axes
            variances, rows = np.linalg.eigh(matrix @ matrix.T)
            axes = matrix.T @ rows / np.sqrt(np.maximum(variances, _LEAST_VARIANCE))
        else:
            _, axes = np.linalg.eigh(matrix.T @ matrix)
        axes = axes[:, ::-1][:, :2]  # eigh sorts by ascending variance
        greatest = np.abs(axes).argmax(axis=0)
        axes = axes * np.copysign(1, axes[greatest, np.arange(axes.shape[1])])
        projected = matrix @ axes
    points = np.zeros((len(matrix), 2))
    points[:, : projected.shape[1]] = projected
    return points


def _leading_axes(matrix: Matrix) -> Matrix:
    """Return the leading principal axes as columns, by ascending variance: subspace iteration.

    It takes a hundredth of the time of all axes (Halko, Martinsson & Tropp, SIAM Review 2011).
    """
    random = np.random.default_rng(0)
    axes: Matrix = random.standard_normal((matrix.shape[1], _SUBSPACE)).astype(matrix.dtype)
    for _ in range(_PASSES):
        axes, _ = np.linalg.qr(matrix.T @ (matrix @ axes))
    _, turned = np.linalg.eigh((matrix @ axes).T @ (matrix @ axes))
    leading: Matrix = axes @ turned
    return leading


def spread(points: Points, radii: NDArray[np.float64], *, flat: float = 1.0) -> Points:
    """Push discs away from each other until no two overlap, and all towards the middle.

    Args:
        points: Centres of the discs.
        radii: Their radii.
        flat: Height of the whole, as a share of its width.
    """
    places = points.astype(np.float64, copy=True)
    turns = _GOLDEN_ANGLE * np.arange(len(places))  # equal places get different directions
    places += 1e-3 * np.column_stack((np.cos(turns), np.sin(turns)))
    apart = radii[:, None] + radii[None, :]
    for turn in range(_PUSHES):
        if turn < _PUSHES // 2:
            places *= (1.0 - _PULL * flat, 1.0 - _PULL / flat)
        between = places[:, None] - places[None, :]
        distance = np.linalg.norm(between, axis=2)
        np.fill_diagonal(distance, np.inf)
        lacking = np.maximum(0.0, apart - distance)
        if turn >= _PUSHES // 2 and not lacking.any():
            break
        places += 0.5 * (between / distance[..., None] * lacking[..., None]).sum(axis=1)
    return places


def kept_neighbours(unit: Matrix, groups: Numbers, points: Points) -> tuple[float, float]:
    """Return how much of what is near stays near: in the same group, and on the plane.

    Both are shares of the ten nearest vectors, the mean over at most 200 vectors.
    """
    count = min(_NEIGHBOURS, len(unit) - 1)
    if count < 1:
        return 1.0, 1.0
    together, near = [], []
    sample = np.unique(np.linspace(0, len(unit) - 1, _SAMPLED).astype(int))
    for at, likeness in zip(sample.tolist(), unit[sample] @ unit.T, strict=True):
        distance = ((points - points[at]) ** 2).sum(axis=1)
        likeness[at], distance[at] = -np.inf, np.inf
        nearest = np.argpartition(-likeness, count - 1)[:count]
        together.append(float((groups[nearest] == groups[at]).mean()))
        shown = np.argpartition(distance, count - 1)[:count]
        near.append(len(np.intersect1d(nearest, shown)) / count)
    return float(np.mean(together)), float(np.mean(near))


def _far_apart(unit: Matrix, count: int) -> Matrix:
    """Return vectors far from each other; those that are far from all others come late."""
    chosen = [int((unit @ unit.mean(axis=0)).argmax())]
    nearest = unit @ unit[chosen[0]]
    while len(chosen) < count:
        # The farthest is often an outlier: the one at the tenth of the distances is not.
        order = np.argsort(nearest, kind="stable")
        chosen.append(int(order[len(order) // 10]))
        nearest = np.maximum(nearest, unit @ unit[chosen[-1]])
    centres: Matrix = unit[chosen].copy()
    return centres


def _in_disc(unit: Matrix, size: int) -> Points:
    """Return places in a disc, spacing 1: rings by likeness to the mean, ordered by direction."""
    slots = np.sqrt(np.arange(size) + 0.5)
    angles = _GOLDEN_ANGLE * np.arange(size) % (2 * np.pi)
    mean = unit.mean(axis=0)
    order = np.argsort(-(unit @ mean), kind="stable")
    direction = principal_components(unit)
    turns = np.arctan2(direction[:, 1], direction[:, 0]) % (2 * np.pi)
    places = np.empty((size, 2))
    for start in range(0, size, _RING):
        ring = np.arange(start, min(start + _RING, size))
        by_angle = ring[np.argsort(angles[ring], kind="stable")]
        by_turn = order[ring][np.argsort(turns[order[ring]], kind="stable")]
        places[by_turn, 0] = slots[by_angle] * np.cos(angles[by_angle])
        places[by_turn, 1] = slots[by_angle] * np.sin(angles[by_angle])
    return places
