"""Resident vectors: the matrix of all chunks' vectors, kept in step with the index.

A full scan is a matrix-vector product; of many vectors, a sketch first selects candidates. The
matrix is read once and then follows the index: new chunks have higher seqs than all before, and
deleted ones are listed by the engine.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from commonplace.store.records import Hits, RowFilter
from commonplace.types import Source
from commonplace.vectors.arrays import row_products
from commonplace.vectors.sign_sketch import SignSketch

if TYPE_CHECKING:
    from commonplace.vectors import Vector

__all__ = [
    "NO_DAY",
    "ROWS_AT_ONCE",
    "SOURCE_NUMBERS",
    "ResidentVectors",
    "VectorRows",
    "VectorTable",
]

SOURCE_NUMBERS: dict[Source, int] = {"memory": 0, "sessions": 1}
"""Number of each source in `VectorRows.sources`."""
NO_DAY = 0
"""Number in `VectorRows.days` of a chunk without a day."""
_ALIVE = np.iinfo(np.int64).max
_MIN_TAIL = 1024
ROWS_AT_ONCE = 256
"""Rows that are read or compared together: they fit in the processor's cache."""
_BLOCK = 32
"""Scores of a block, at most: partial selection compares the maxima of blocks first."""
_MANY = 1024
"""Scores from which on partial selection is faster than a sort."""
_SKETCHED_FROM = 8 * 1024 * 1024
"""Bytes of vectors from which on a sketch is faster than all products."""
_COMPARED = 3072
"""Numbers compared exactly for each wanted row, where a sketch selects: the fewer dimensions there
are, the less exact it is, so the more rows are compared."""
_LEAST_COMPARED = 4
"""Rows compared exactly for each wanted row, at least."""
_SHARE = 100
"""One in this many rows is compared besides: in a larger index more rows are nearly as near."""
_WORTH_CHOOSING = 8
"""Cost of comparing a single row, relative to one of a contiguous block."""
_EMPTY = np.empty((0, 0), dtype=np.float32)


class _Moment(NamedTuple):
    """Version of the index in a snapshot. Within a generation, both numbers only grow."""

    generation: str
    last_seq: int
    last_dropped: int


class VectorRows(NamedTuple):
    """Vectors and the columns of filters, by ascending seq."""

    matrix: NDArray[np.float32]
    seqs: NDArray[np.int64]
    sources: NDArray[np.int8]
    days: NDArray[np.int32]


class VectorTable(Protocol):
    """Vectors of one snapshot, as its engine reads them."""

    def count(self, *, after: int) -> int:
        """Return the number of vectors behind a seq."""

    def blocks(self, *, after: int) -> Iterator[VectorRows]:
        """Read the vectors behind a seq, in blocks of about `ROWS_AT_ONCE` rows."""

    def dropped(self, *, after: int) -> Sequence[tuple[int, int]] | None:
        """Return ``(n, seq)`` of the deletions behind a number; None where some are not listed."""


class ResidentVectors:
    """Matrix of all vectors of one index, shared by the threads of a process.

    Memory: 4 bytes and a bit a dimension and 21 bytes a chunk, plus at most a quarter of that for
    what came after the matrix was read.
    """

    def __init__(self) -> None:
        self._lock = threading.RLock()
        self._forget()

    def nearest(
        self,
        table: VectorTable,
        state: tuple[str, int, int],
        query: Vector,
        limit: int,
        rows: RowFilter,
        *,
        exact: bool,
        among: NDArray[np.int64] | None = None,
    ) -> Hits | None:
        """Return the ``(seq, dot product)`` of the nearest chunks of a snapshot, best first.

        None for a snapshot that is older than the matrix: it has rows that the matrix has not.

        Args:
            table: Reads the snapshot.
            state: Its generation, its last chunk and its last deletion.
            query: The vector.
            limit: How many.
            rows: Which of them.
            exact: Whether each vector is compared, however many there are.
            among: Chunks of the snapshot that may be found, ascending; None for all.
        """
        moment = _Moment(*state)
        with self._lock:
            self.follow(table, state)
            behind = self._since is None or moment < self._since
            if not behind:
                count = int(self._seqs.searchsorted(moment.last_seq, side="right"))
                passing = self._passing(rows, count, moment, among)
                wanted = count if exact else _enough(limit, count, len(query))
                among = self._worth_comparing(query, wanted, count, passing)
                scores = self._products(query, count, among)
                seqs = self._seqs[:count] if among is None else self._seqs[among]
        return None if behind else _best(seqs, scores, limit)

    @property
    def nbytes(self) -> int:
        """Bytes that the matrix and its sketch take."""
        parts = (self._base, self._tail, self._sketch)
        return sum(part.nbytes for part in parts if part is not None)

    def _worth_comparing(
        self, query: Vector, wanted: int, count: int, passing: NDArray[np.bool_] | None
    ) -> NDArray[np.int64] | None:
        """Return the rows whose products are needed, ascending; None for all of the `count`.

        Args:
            query: The vector.
            wanted: How many rows of the matrix, about, when a sketch chooses them.
            count: Rows of the snapshot.
            passing: Which of them a filter lets through; None for all.
        """
        if passing is not None and np.count_nonzero(passing) <= wanted:
            return passing.nonzero()[0]
        if self._sketch is None or _WORTH_CHOOSING * wanted > count:
            return None if passing is None else passing.nonzero()[0]
        sketched = min(count, len(self._base))  # rows read later are compared in any case
        estimates = self._sketch.estimates(query)[:sketched]
        if passing is None:
            chosen = _highest(estimates, wanted)
            later = np.arange(sketched, count)
        else:
            rows = passing.nonzero()[0]
            before, later = np.split(rows, [rows.searchsorted(sketched)])
            chosen = before[_highest(estimates[before], wanted)]
        return np.concatenate((chosen, later)) if len(later) else chosen

    def _products(
        self, query: Vector, count: int, among: NDArray[np.int64] | None
    ) -> NDArray[np.float32]:
        """Return the products of some rows, or of all of the `count`."""
        base, tail = self._base[:count], self._tail[: max(0, count - len(self._base))]
        if among is not None and not len(tail):
            return _of_rows(base, among, query)
        if among is not None:
            split = int(among.searchsorted(len(base)))
            of_base = _of_rows(base, among[:split], query)
            of_tail = _of_rows(tail, among[split:] - len(base), query)
            return np.concatenate((of_base, of_tail))
        scores = np.empty(count, dtype=np.float32)
        for part, start in ((base, 0), (tail, len(base))):
            if len(part):
                row_products(part, query, out=scores[start : start + len(part)])
        return scores

    def _passing(
        self, rows: RowFilter, count: int, moment: _Moment, among: NDArray[np.int64] | None
    ) -> NDArray[np.bool_] | None:
        """Return the rows of a snapshot that pass a filter; None for all."""
        if rows == RowFilter() and self._all_alive and among is None:
            return None
        passing = self._dropped[:count] > moment.last_dropped
        if among is not None:
            chosen = np.zeros(count, dtype=np.bool_)
            # A chunk without a vector has no row: the next one's is not it.
            places = self._seqs[:count].searchsorted(among)
            held = places < count
            held[held] = self._seqs[places[held]] == among[held]
            chosen[places[held]] = True
            passing &= chosen
        days = self._days[:count]
        if rows.sources is not None:
            wanted = [SOURCE_NUMBERS[source] for source in rows.sources]
            passing &= np.isin(self._sources[:count], wanted)
        if rows.after is not None:
            passing &= (days != NO_DAY) & (days >= rows.after)
        if rows.before is not None:
            passing &= (days != NO_DAY) & (days <= rows.before)
        return passing

    def _forget(self) -> None:
        self._moment: _Moment | None = None
        self._since: _Moment | None = None
        self._base = _EMPTY
        self._tail = _EMPTY
        self._sketch: SignSketch | None = None
        self._seqs: NDArray[np.int64] = np.empty(0, dtype=np.int64)
        self._sources: NDArray[np.int8] = np.empty(0, dtype=np.int8)
        self._days: NDArray[np.int32] = np.empty(0, dtype=np.int32)
        self._dropped: NDArray[np.int64] = np.empty(0, dtype=np.int64)
        """Number of each row's deletion, as `_Moment.last_dropped` counts."""
        self._all_alive = True

    def follow(self, table: VectorTable, state: tuple[str, int, int]) -> None:
        """Read the changes of the index since the newest snapshot so far; see `nearest`."""
        moment = _Moment(*state)
        with self._lock:
            known = self._moment
            if known is None or known.generation != moment.generation:
                self._read_all(table, moment)
            elif moment > known:
                if self._drop(table.dropped(after=known.last_dropped)):
                    self._append(table, moment)
                else:
                    self._read_all(table, moment)

    def _read_all(self, table: VectorTable, moment: _Moment) -> None:
        self._forget()  # first, so that the memory is not held twice
        rows = _read(table, after=0)
        self._base = rows.matrix
        if rows.matrix.nbytes >= _SKETCHED_FROM and SignSketch.can_be_made:
            self._sketch = SignSketch(rows.matrix)
        self._extend(rows)
        self._moment = self._since = moment

    def _append(self, table: VectorTable, moment: _Moment) -> None:
        alive = np.count_nonzero(self._dropped == _ALIVE)
        last = int(self._seqs[-1]) if len(self._seqs) else 0
        used = len(self._seqs) - len(self._base)
        room = max(_MIN_TAIL, len(self._base) // 4) - used
        if alive < 0.75 * len(self._dropped) or table.count(after=last) > room:
            self._read_all(table, moment)
            return
        new = _read(table, after=last)
        if count := len(new.seqs):
            self._make_room(used, used + count, new.matrix.shape[1])
            self._tail[used : used + count] = new.matrix
            self._extend(new)
        self._moment = moment

    def _make_room(self, used: int, needed: int, dimension: int) -> None:
        if needed > len(self._tail):
            grown = np.empty((max(256, 2 * needed), dimension), dtype=np.float32)
            if used:
                grown[:used] = self._tail[:used]
            self._tail = grown

    def _extend(self, rows: VectorRows) -> None:
        """Append the columns of new rows, whose vectors are in place."""
        self._seqs = np.concatenate((self._seqs, rows.seqs))
        self._sources = np.concatenate((self._sources, rows.sources))
        self._days = np.concatenate((self._days, rows.days))
        alive = np.full(len(rows.seqs), _ALIVE, dtype=np.int64)
        self._dropped = np.concatenate((self._dropped, alive))

    def _drop(self, found: Sequence[tuple[int, int]] | None) -> bool:
        """Note deletions; return whether all of them are known."""
        if found and len(self._seqs):
            numbers, seqs = np.array(found, dtype=np.int64).T
            rows = np.searchsorted(self._seqs, seqs).clip(max=len(self._seqs) - 1)
            held = self._seqs[rows] == seqs
            self._dropped[rows[held]] = numbers[held]
            self._all_alive &= not held.any()
        return found is not None


def _enough(limit: int, count: int, dimension: int) -> int:
    """Return the number of candidates that a sketch selects, so that the nearest are among them."""
    return limit * max(_COMPARED // dimension, _LEAST_COMPARED) + count // _SHARE


def _of_rows(
    matrix: NDArray[np.float32], rows: NDArray[np.int64], query: Vector
) -> NDArray[np.float32]:
    """Return the products of some rows; for many of them the whole matrix is multiplied."""
    if not len(rows):
        return np.empty(0, dtype=np.float32)
    if _WORTH_CHOOSING * len(rows) > len(matrix):
        return row_products(matrix, query)[rows]
    products = np.empty(len(rows), dtype=np.float32)
    for start in range(0, len(rows), ROWS_AT_ONCE):
        block = slice(start, start + ROWS_AT_ONCE)
        row_products(matrix.take(rows[block], axis=0), query, out=products[block])
    return products


def _best(seqs: NDArray[np.int64], scores: NDArray[np.float32], limit: int) -> Hits:
    if len(scores) > _MANY:
        among = _highest(scores, limit)
        seqs, scores = seqs[among], scores[among]
    best = (-scores).argsort(kind="stable")[:limit]  # equal ones go by seq
    return list(zip(seqs[best].tolist(), scores[best].tolist(), strict=True))


def _highest(scores: NDArray[np.float32], count: int) -> NDArray[np.int64]:
    """Return the rows of at least `count` highest scores, ascending (partial selection)."""
    rows = len(scores)
    size = min(_BLOCK, rows // (4 * count))
    if size < 2:
        return np.arange(rows)
    # The count-th highest maximum of the blocks is a lower bound of the count-th highest score.
    blocks = rows // size
    heads = scores[: size * blocks].reshape(size, blocks).max(axis=0)
    reaching = scores >= np.partition(heads, blocks - count)[blocks - count]
    highest: NDArray[np.int64] = reaching.nonzero()[0]
    return highest


def _read(table: VectorTable, *, after: int) -> VectorRows:
    """Read the rows behind a seq, in parts, so that little memory is held twice."""
    count = table.count(after=after)
    rows = VectorRows(
        _EMPTY,
        np.empty(count, dtype=np.int64),
        np.empty(count, dtype=np.int8),
        np.empty(count, dtype=np.int32),
    )
    start = 0
    for some in table.blocks(after=after):
        if start == 0:
            rows = rows._replace(matrix=np.empty((count, some.matrix.shape[1]), dtype=np.float32))
        part = slice(start, start + len(some.seqs))
        rows.matrix[part], rows.seqs[part] = some.matrix, some.seqs
        rows.sources[part], rows.days[part] = some.sources, some.days
        start = part.stop
    return rows
