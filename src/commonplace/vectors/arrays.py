"""Arrays of vectors: the int8 codec of line vectors, dot products row by row, and cosines.

The codec quantizes to one byte a dimension and one scale a line. The error is below half a percent,
and an index has a quarter of the size. Line vectors are read for a query's candidates only, and
compared among them.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from commonplace.vectors import Matrix, Vector

__all__ = [
    "ChunkVectors",
    "Nearness",
    "nearness",
    "pack_all",
    "packed_size",
    "products_of_pairs",
    "row_products",
    "row_squares",
    "sum_packed",
    "unpack",
]

_LEVELS = 127
_AT_ONCE = 32
"""Chunks whose lines are processed together: they fit in the processor's cache."""
_BLAS_THREADS_FROM = 64**3
"""Multiplications from which OpenBLAS, the first of all, uses threads for matrix products."""


@dataclass(frozen=True, slots=True)
class ChunkVectors:
    """The vectors of a chunk.

    Attributes:
        vector: Its own.
        lines: Those of its lines, as `pack_all` packs them; None for none.
    """

    vector: Vector
    lines: bytes | None = None


def pack_all(matrices: Sequence[Matrix]) -> list[bytes]:
    """Pack ``(n, d)`` vectors into ``n * (d + 4)`` bytes each."""
    parts: list[bytes] = []
    for start in range(0, len(matrices), _AT_ONCE):
        parts += _pack_some(matrices[start : start + _AT_ONCE])
    return parts


def _pack_some(matrices: Sequence[Matrix]) -> list[bytes]:
    import numpy as np

    stacked = np.concatenate(matrices, dtype=np.float32)
    greatest = np.maximum(stacked.max(axis=1, initial=0.0), -stacked.min(axis=1, initial=0.0))
    packed = np.empty(len(stacked), dtype=_rows(stacked.shape[1]))
    scale = np.where(greatest > 0, greatest / _LEVELS, 1.0).astype(np.float32)
    packed["scale"] = scale
    stacked /= scale[:, None]
    packed["levels"] = np.rint(stacked, out=stacked).astype(np.int8)
    data, row = packed.tobytes(), packed.itemsize
    ends = [row * count for count in accumulate(map(len, matrices))]
    return [data[start:end] for start, end in zip([0, *ends], ends, strict=False)]


def packed_size(dimension: int) -> int:
    """Return the bytes of one packed vector."""
    return dimension + 4


def unpack(data: bytes, dimension: int) -> Matrix:
    """Return the vectors of a pack, or of several in a row: float32, nearly unit rows."""
    import numpy as np

    packed = np.frombuffer(data, dtype=_rows(dimension))
    matrix: Matrix = packed["levels"].astype(np.float32)
    matrix *= packed["scale"][:, None]
    return matrix


def sum_packed(packed: Sequence[bytes], dimension: int) -> tuple[int, NDArray[np.float64]]:
    """Return the number of vectors in many packs, and their sum."""
    import numpy as np

    count = 0
    total = np.zeros(dimension)
    for start in range(0, len(packed), _AT_ONCE):
        rows = np.frombuffer(b"".join(packed[start : start + _AT_ONCE]), dtype=_rows(dimension))
        count += len(rows)
        total += rows["scale"] @ rows["levels"].astype(np.float32)
    return count, total


@functools.lru_cache(maxsize=16)
def _rows(dimension: int) -> np.dtype[np.void]:
    import numpy as np

    return np.dtype([("scale", "<f4"), ("levels", "i1", (dimension,))])


def row_products(
    matrix: Matrix, vector: Vector, *, out: NDArray[np.float32] | None = None
) -> NDArray[np.float32]:
    """Return the dot product of each row with a vector, ``(n,)``, on one processor.

    BLAS distributes such a product over all processors and waits for the busiest. Its kernels read
    several rows at a time, which is slow while they are not in the cache. Row by row is as fast on
    an idle machine, and many times faster on a busy one.
    """
    import numpy as np

    product: Any = getattr(np, "vecdot", np.dot)  # numpy 2.0 brought vecdot
    products: NDArray[np.float32] = product(matrix, vector, out=out)
    return products


def products_of_pairs(matrix: Matrix) -> NDArray[np.float32]:
    """Return the dot product of each two rows, ``(n, n)``, on one processor, for some dozen rows.

    BLAS distributes the product over all processors, whose threads then spin for a while: that
    takes many times what it saves, and other programs wait. It leaves small blocks alone.
    """
    import numpy as np

    rows, dimension = matrix.shape
    products = np.empty((rows, rows), dtype=np.float32)
    start = 0
    while start < rows:
        # Two rows at least: for one, BLAS has another routine, which distributes sooner.
        stop = start + max(2, _BLAS_THREADS_FROM // max(1, dimension * (rows - start)))
        block = np.matmul(matrix[start:stop], matrix[start:].T, out=products[start:stop, start:])
        products[start:, start:stop] = block.T
        start = stop
    return products


def row_squares(matrix: Matrix) -> NDArray[np.float32]:
    """Return the dot product of each row with itself, ``(n,)``, on one processor."""
    import numpy as np

    vecdot: Any = getattr(np, "vecdot", None)
    if vecdot is None:
        vecdot = functools.partial(np.einsum, "ij,ij->i")
    squares: NDArray[np.float32] = vecdot(matrix, matrix)
    return squares


class Nearness(NamedTuple):
    """Cosines of lines with a query; arrays have one row a line, 0 for a line without a vector.

    Attributes:
        cosines: Plain cosines.
        centred: Cosines after the mean of all lines was subtracted.
        scales: Factors that make the centred vectors unit vectors.
    """

    cosines: Vector
    centred: Vector
    scales: Vector


def nearness(vectors: Matrix, query: Vector, mean: Vector) -> Nearness:
    """Compare the vectors of lines, ``(n, d)``, with a query's; `mean` is that of all lines."""
    import numpy as np

    direction = query - mean
    to_mean, ahead = row_products(vectors, mean), row_products(vectors, direction)
    squares = row_squares(vectors)
    lengths = np.sqrt(np.maximum(squares - 2 * to_mean + mean @ mean, 1e-12))
    scales = np.where(squares > 0, 1 / lengths, 0).astype(np.float32)
    centred = (ahead - mean @ direction) * scales / max(float(np.sqrt(direction @ direction)), 1e-6)
    return Nearness(ahead + to_mean, centred.astype(np.float32), scales)
