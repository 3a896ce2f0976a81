"""A bit a dimension: which vectors of many are worth to be compared with a query.

Reading all vectors is what a search waits for, and what it reads throws everything else out of the
processor's caches. A sketch keeps, of each vector, on which side of the mean it lies in each
dimension: a 32nd of the bytes, compared with a few instructions a row. The rows that agree most
with the query hold next to all of the nearest ones; their exact products tell which.
(Charikar, STOC 2002; that the query keeps more than its signs: RaBitQ, SIGMOD 2024.)
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from commonplace.store.base import Matrix, Vector

    Words = NDArray[np.uint64]

__all__ = ["Sketch"]

_BLOCK = 4_096
"""Rows at once: what is in work stays in the cache."""
_MANY = 384
"""Dimensions from which on signs say enough; with fewer, the query's strong ones count more."""
_bitwise_count: Any = getattr(np, "bitwise_count", None)  # numpy 2.0 brought it


class Sketch:
    """The signs of all vectors of a matrix, seen from their mean.

    Memory: a bit a dimension and row.

    Args:
        matrix: ``(n, d)``; it is not kept.
    """

    can_be_made = _bitwise_count is not None

    def __init__(self, matrix: Matrix) -> None:
        rows, dimension = matrix.shape
        mean = matrix.mean(axis=0)
        # A row is a word of 64 dimensions, so that each step runs along neighbours in memory.
        self._signs: Words = np.empty((-(-dimension // 64), rows), dtype=np.uint64)
        for start in range(0, rows, _BLOCK):
            block = slice(start, start + _BLOCK)
            self._signs[:, block] = _packed(matrix[block] > mean).T
        self._agreeing = np.empty((len(self._signs), min(rows, _BLOCK)), dtype=np.uint64)
        self._counts = np.empty(self._agreeing.shape, dtype=np.uint8)

    @property
    def nbytes(self) -> int:
        """Bytes that it takes."""
        return self._signs.nbytes + self._agreeing.nbytes + self._counts.nbytes

    def likeness(self, query: Vector) -> NDArray[np.uint16]:
        """Return in how many dimensions each row is on the same side as a query: ``(n,)``.

        It is for one thread at a time.

        Args:
            query: ``(d,)``, seen from anywhere: what it adds to all rows alike tells none apart.
        """
        against = _packed(query[None] <= 0).T
        strong = None
        if len(query) < _MANY:
            squares = np.square(query)
            strong = _packed(squares[None] > squares.mean()).T
        rows = self._signs.shape[1]
        likeness = np.empty(rows, dtype=np.uint16)
        for start in range(0, rows, _BLOCK):
            stop = min(start + _BLOCK, rows)
            agreeing = self._agreeing[:, : stop - start]
            np.bitwise_xor(self._signs[:, start:stop], against, out=agreeing)
            self._count(agreeing, out=likeness[start:stop])
            if strong is not None:  # those count three times
                np.bitwise_and(agreeing, strong, out=agreeing)
                likeness[start:stop] += 2 * self._count(agreeing)
        return likeness

    def _count(self, words: Words, out: NDArray[np.uint16] | None = None) -> NDArray[np.uint16]:
        """Count the bits of each row."""
        counts = _bitwise_count(words, out=self._counts[:, : words.shape[1]])
        summed: NDArray[np.uint16] = counts.sum(axis=0, dtype=np.uint16, out=out)
        return summed


def _packed(bits: NDArray[np.bool_]) -> Words:
    """Put the bits of each row into words: ``(n, d)`` becomes ``(n, d / 64)``, rounded up."""
    octets = np.packbits(bits, axis=1)
    missing = -octets.shape[1] % 8
    if missing:
        octets = np.pad(octets, ((0, 0), (0, missing)))
    words: Words = octets.view(np.uint64)
    return words
