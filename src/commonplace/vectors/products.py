"""Products of a matrix with a vector, row by row on one processor.

BLAS distributes such a product over all processors, and waits for the busiest. Its kernels read
several rows at a time, which is slow while they are not in the cache. Row by row is as fast on an
idle machine, and many times faster on a busy one.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from commonplace.vectors import Matrix, Vector

__all__ = ["row_products", "row_squares"]

_product: Any = getattr(np, "vecdot", np.dot)  # numpy 2.0 brought vecdot


def row_products(
    matrix: Matrix, vector: Vector, *, out: NDArray[np.float32] | None = None
) -> NDArray[np.float32]:
    """Return the dot product of each row with a vector: ``(n,)``."""
    products: NDArray[np.float32] = _product(matrix, vector, out=out)
    return products


def row_squares(matrix: Matrix) -> NDArray[np.float32]:
    """Return the dot product of each row with itself: ``(n,)``."""
    if _product is np.dot:
        squares: NDArray[np.float32] = np.einsum("ij,ij->i", matrix, matrix)
    else:
        squares = _product(matrix, matrix)
    return squares
