"""Vectors: types, the codec of line vectors, products of rows."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Vector = NDArray[np.float32]
    """Embedding of one text: ``(d,)``, of length 1."""
    Matrix = NDArray[np.float32]
    """Embeddings of several texts: ``(n, d)``, rows of length 1."""
