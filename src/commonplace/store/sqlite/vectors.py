"""The chunks' vectors in memory, and how they keep up with the file.

A full scan is a matrix-vector product. The matrix is read once and then follows the index: new
chunks have higher numbers than all before, and what was deleted is listed in a table of its own.
"""

from __future__ import annotations

import heapq
import threading
from itertools import islice
from typing import TYPE_CHECKING, NamedTuple

import apsw
import numpy as np
from numpy.typing import NDArray

from commonplace.store.base import RowFilter
from commonplace.store.products import row_products
from commonplace.store.sqlite.fts import row_conditions

if TYPE_CHECKING:
    from commonplace.store.base import Vector

__all__ = ["ResidentVectors", "scan"]

_SOURCES = {"memory": 0, "sessions": 1}
_NO_DAY = 0
_ALIVE = np.iinfo(np.int64).max
_MIN_TAIL = 1024
_ROWS_AT_ONCE = 256
_BLOCK = 32
_EMPTY = np.empty((0, 0), dtype=np.float32)

Hits = list[tuple[int, float]]


class _Moment(NamedTuple):
    """How far a snapshot of the file has come. Within a generation, both numbers only grow."""

    generation: str
    last_seq: int
    last_dropped: int


class _Rows(NamedTuple):
    """Vectors and what filters look at, by ascending seq."""

    matrix: NDArray[np.float32]
    seqs: NDArray[np.int64]
    sources: NDArray[np.int8]
    days: NDArray[np.int32]


class ResidentVectors:
    """All vectors of one index file, shared by the threads of a process.

    Memory: 4 bytes a dimension and 21 bytes a chunk, plus at most a quarter of that for what came
    after the matrix was read.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._forget()

    def nearest(
        self,
        connection: apsw.Connection,
        state: tuple[str, int, int],
        query: Vector,
        limit: int,
        rows: RowFilter,
    ) -> Hits:
        """Return the ``(seq, dot product)`` of the nearest chunks of a snapshot, best first.

        Args:
            connection: Reads the snapshot.
            state: Its generation, its last chunk and its last deletion.
            query: The vector.
            limit: How many.
            rows: Which of them.
        """
        moment = _Moment(*state)
        with self._lock:
            self._follow(connection, moment)
            behind = self._since is None or moment < self._since
            if not behind:
                count = int(np.searchsorted(self._seqs, moment.last_seq, side="right"))
                scores = self._products(query, count)
                passing = self._passing(rows, count, moment)
                seqs = self._seqs[:count]
        # A reader that began before the matrix was last read sees rows that are not in it.
        if behind:
            return scan(connection, query, limit, rows)
        return _best(seqs, scores, passing, limit)

    @property
    def nbytes(self) -> int:
        """Bytes that the matrix takes."""
        return self._base.nbytes + self._tail.nbytes

    def _products(self, query: Vector, count: int) -> NDArray[np.float32]:
        base, tail = self._base[:count], self._tail[: max(0, count - len(self._base))]
        scores = np.empty(count, dtype=np.float32)
        if len(base):
            row_products(base, query, out=scores[: len(base)])
        if len(tail):
            row_products(tail, query, out=scores[len(base) :])
        return scores

    def _passing(self, rows: RowFilter, count: int, moment: _Moment) -> NDArray[np.bool_] | None:
        """Say which rows of a snapshot a filter lets through; None for all."""
        if rows.is_open and self._all_alive:
            return None
        passing = self._dropped[:count] > moment.last_dropped
        days = self._days[:count]
        if rows.sources is not None:
            wanted = [_SOURCES[source] for source in rows.sources]
            passing &= np.isin(self._sources[:count], wanted)
        if rows.after is not None:
            passing &= (days != _NO_DAY) & (days >= rows.after)
        if rows.before is not None:
            passing &= (days != _NO_DAY) & (days <= rows.before)
        return passing

    def _forget(self) -> None:
        self._moment: _Moment | None = None
        self._since: _Moment | None = None
        self._base = _EMPTY
        self._tail = _EMPTY
        self._seqs: NDArray[np.int64] = np.empty(0, dtype=np.int64)
        self._sources: NDArray[np.int8] = np.empty(0, dtype=np.int8)
        self._days: NDArray[np.int32] = np.empty(0, dtype=np.int32)
        self._dropped: NDArray[np.int64] = np.empty(0, dtype=np.int64)
        """When a row was dropped, as `_Moment.last_dropped` counts."""
        self._all_alive = True

    def _follow(self, connection: apsw.Connection, moment: _Moment) -> None:
        """Take over what has changed in the file since the newest snapshot that was seen."""
        known = self._moment
        if known is None or known.generation != moment.generation:
            self._read_all(connection, moment)
        elif moment > known:
            self._drop(connection, known)
            self._append(connection, moment)

    def _read_all(self, connection: apsw.Connection, moment: _Moment) -> None:
        self._forget()  # first, so that nothing is held twice
        rows = _read(connection, after=0)
        self._base = rows.matrix
        self._extend(rows)
        self._moment = self._since = moment

    def _append(self, connection: apsw.Connection, moment: _Moment) -> None:
        alive = np.count_nonzero(self._dropped == _ALIVE)
        last = int(self._seqs[-1]) if len(self._seqs) else 0
        used = len(self._seqs) - len(self._base)
        room = max(_MIN_TAIL, len(self._base) // 4) - used
        if alive < 0.75 * len(self._dropped) or _count(connection, after=last) > room:
            self._read_all(connection, moment)
            return
        new = _read(connection, after=last)
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

    def _extend(self, rows: _Rows) -> None:
        """Add all of new rows but their vectors, which are in place."""
        self._seqs = np.concatenate((self._seqs, rows.seqs))
        self._sources = np.concatenate((self._sources, rows.sources))
        self._days = np.concatenate((self._days, rows.days))
        alive = np.full(len(rows.seqs), _ALIVE, dtype=np.int64)
        self._dropped = np.concatenate((self._dropped, alive))

    def _drop(self, connection: apsw.Connection, known: _Moment) -> None:
        found = connection.execute(
            "SELECT n, seq FROM dropped WHERE n > ?", (known.last_dropped,)
        ).fetchall()
        if not found or not len(self._seqs):
            return
        numbers, seqs = np.array(found, dtype=np.int64).T
        rows = np.searchsorted(self._seqs, seqs).clip(max=len(self._seqs) - 1)
        held = self._seqs[rows] == seqs
        self._dropped[rows[held]] = numbers[held]
        self._all_alive &= not held.any()


def scan(connection: apsw.Connection, query: Vector, limit: int, rows: RowFilter) -> Hits:
    """Compare the vectors of a snapshot one by one, in no memory to speak of."""
    where, values = row_conditions(rows)
    found = connection.execute(
        "SELECT embedding, seq FROM vectors" + (f" WHERE {where}" if where else ""), values
    )
    scores = ((float(np.frombuffer(blob, dtype="<f4") @ query), -seq) for blob, seq in found)
    return [(-seq, score) for score, seq in heapq.nlargest(limit, scores)]


def _best(
    seqs: NDArray[np.int64],
    scores: NDArray[np.float32],
    passing: NDArray[np.bool_] | None,
    limit: int,
) -> Hits:
    if passing is not None:
        rows = np.flatnonzero(passing)
        seqs, scores = seqs[rows], scores[rows]
    best = np.flatnonzero(scores >= _bar(scores, limit))
    best = best[np.argsort(-scores[best], kind="stable")[:limit]]  # equal ones go by seq
    return list(zip(seqs[best].tolist(), scores[best].tolist(), strict=True))


def _bar(scores: NDArray[np.float32], limit: int) -> float:
    """Return a score that `limit` rows reach, and few more: so many blocks have a row that does."""
    if limit >= len(scores):
        return -np.inf
    blocks = len(scores) // _BLOCK
    if blocks >= limit:
        scores = scores[: blocks * _BLOCK].reshape(_BLOCK, blocks).max(axis=0)
    return float(np.partition(scores, len(scores) - limit)[len(scores) - limit])


def _count(connection: apsw.Connection, *, after: int) -> int:
    return int(connection.execute("SELECT count(*) FROM vectors WHERE seq > ?", (after,)).get)


def _read(connection: apsw.Connection, *, after: int) -> _Rows:
    """Read rows behind a seq, some at a time: next to nothing is held twice."""
    count = _count(connection, after=after)
    found = connection.execute(
        "SELECT seq, source, coalesce(day, ?), embedding FROM vectors WHERE seq > ? ORDER BY seq",
        (_NO_DAY, after),
    )
    rows = _Rows(
        _EMPTY,
        np.empty(count, dtype=np.int64),
        np.empty(count, dtype=np.int8),
        np.empty(count, dtype=np.int32),
    )
    for start in range(0, count, _ROWS_AT_ONCE):
        seqs, sources, days, blobs = zip(*islice(found, _ROWS_AT_ONCE), strict=True)
        some = np.frombuffer(b"".join(blobs), dtype="<f4").reshape(len(seqs), -1)
        if start == 0:
            rows = rows._replace(matrix=np.empty((count, some.shape[1]), dtype=np.float32))
        part = slice(start, start + len(seqs))
        rows.matrix[part] = some
        rows.seqs[part] = seqs
        rows.sources[part] = [_SOURCES[source] for source in sources]
        rows.days[part] = days
    return rows
