"""Sign sketch: one bit a dimension, to select the vectors that are compared with a query.

Reading all vectors dominates a search, and evicts everything else from the processor's caches. A
sketch holds, of each vector, its distance from the mean and its sign in each dimension: a 30th of
the bytes, compared with a few instructions a row. The nearest rows are nearly always among the
selected ones (``tests/benchmarks/nearest.py`` prints the share that is missed); their exact
products are then compared.
(Signs of directions: Charikar, STOC 2002. Lengths kept, and more than a sign of the query: Gao &
Long, SIGMOD 2024.)
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any

import numpy as np

from commonplace.vectors.arrays import row_squares

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from commonplace.vectors import Matrix, Vector

    Words = NDArray[np.uint64]

__all__ = ["SignSketch"]

_BLOCK = 16_384
"""Rows compared at once: they fit in the processor's cache."""
_SPLIT_FROM = 1 << 18
"""Rows from which on two threads share the comparison: below, starting one costs as much."""
_SKETCHED_AT_ONCE = 512
"""Rows sketched at once: a small buffer is enough."""
_bitwise_count: Any = getattr(np, "bitwise_count", None)  # numpy 2.0 brought it


class SignSketch:
    """Sketch of the rows of a matrix, relative to their mean.

    Memory: a bit a dimension and 4 bytes a row.

    Args:
        matrix: ``(n, d)``; it is not kept.
    """

    can_be_made = _bitwise_count is not None

    def __init__(self, matrix: Matrix) -> None:
        rows, dimension = matrix.shape
        mean = matrix.mean(axis=0)
        # A row is a word of 64 dimensions, so that each step runs along neighbours in memory.
        self._signs: Words = np.empty((-(-dimension // 64), rows), dtype=np.uint64)
        self._lengths = np.empty(rows, dtype=np.float32)
        for start in range(0, rows, _SKETCHED_AT_ONCE):
            block = slice(start, start + _SKETCHED_AT_ONCE)
            centred = matrix[block] - mean
            self._signs[:, block] = _packed(centred > 0).T
            self._lengths[block] = np.sqrt(row_squares(centred))
        shares = 2 if rows >= _SPLIT_FROM else 1
        self._buffers = [_Buffers(len(self._signs), min(rows, _BLOCK)) for _ in range(shares)]

    @property
    def nbytes(self) -> int:
        """Bytes that it takes."""
        own = self._signs.nbytes + self._lengths.nbytes
        return own + sum(buffers.nbytes for buffers in self._buffers)

    def estimates(self, query: Vector) -> NDArray[np.float32]:
        """Estimate the dot product of each row with a query, on a scale of their own: ``(n,)``.

        It is for one thread at a time.

        Args:
            query: ``(d,)``, seen from anywhere: what it adds to all rows alike tells none apart.
        """
        squares = np.square(query)
        is_strong = squares > squares.mean()
        against, strong = _packed(np.array((query <= 0, is_strong)))[:, :, None]
        half = (len(query) + 2 * np.count_nonzero(is_strong)) / 2
        rows = len(self._lengths)
        estimates = np.empty(rows, dtype=np.float32)

        def compare(start: int, stop: int, buffers: _Buffers) -> None:
            for first in range(start, stop, _BLOCK):
                block = slice(first, min(first + _BLOCK, stop))
                agreement = buffers.agreement(self._signs[:, block], against, strong)
                np.subtract(agreement, half, out=estimates[block], dtype=np.float32)
                estimates[block] *= self._lengths[block]

        mine, *others = self._buffers
        if not others:
            compare(0, rows, mine)
            return estimates
        middle = rows // 2
        with ThreadPoolExecutor(1) as pool:
            try:
                other_half = pool.submit(compare, middle, rows, others[0])
            except RuntimeError:  # no thread can be started
                compare(0, rows, mine)
            else:
                compare(0, middle, mine)
                other_half.result()
        return estimates


class _Buffers:
    """Memory in which one thread compares the words of a block of rows."""

    def __init__(self, words: int, rows: int) -> None:
        self._agreeing = np.empty((words, rows), dtype=np.uint64)
        self._counts = np.empty((words, rows), dtype=np.uint8)
        self._strong_counts = np.empty_like(self._counts)
        self.nbytes = self._agreeing.nbytes + self._counts.nbytes + self._strong_counts.nbytes

    def agreement(self, signs: Words, against: Words, strong: Words) -> NDArray[np.uint16]:
        """Count the dimensions in which rows are with the query's side: ``(n,)``."""
        rows = signs.shape[1]
        agreeing = np.bitwise_xor(signs, against, out=self._agreeing[:, :rows])
        counts = _bitwise_count(agreeing, out=self._counts[:, :rows])
        # Where the query is strong, beyond its root mean square, a side counts three times: of a
        # word 192 at most, so that octets hold it.
        np.bitwise_and(agreeing, strong, out=agreeing)
        strong_counts = _bitwise_count(agreeing, out=self._strong_counts[:, :rows])
        counts += strong_counts
        counts += strong_counts
        agreement: NDArray[np.uint16] = counts.sum(axis=0, dtype=np.uint16)
        return agreement


def _packed(bits: NDArray[np.bool_]) -> Words:
    """Put the bits of each row into words: ``(n, d)`` becomes ``(n, d / 64)``, rounded up."""
    octets = np.packbits(bits, axis=1)
    missing = -octets.shape[1] % 8
    if missing:
        octets = np.pad(octets, ((0, 0), (0, missing)))
    words: Words = octets.view(np.uint64)
    return words
