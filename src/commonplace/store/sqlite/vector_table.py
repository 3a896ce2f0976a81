"""Vector table of the SQLite engine: the rows that resident vectors are read from."""

from __future__ import annotations

import zlib
from collections.abc import Iterator, Sequence
from itertools import islice
from typing import Any

import apsw
import numpy as np

from commonplace.store.resident_vectors import NO_DAY, ROWS_AT_ONCE, SOURCE_NUMBERS, VectorRows
from commonplace.store.sqlite.connection import damaged

__all__ = ["SqliteVectorTable"]


class SqliteVectorTable:
    """Vectors of one snapshot; see `VectorTable`."""

    def __init__(self, connection: apsw.Connection) -> None:
        self._connection = connection

    def count(self, *, after: int) -> int:
        """Return the number of vectors behind a seq."""
        sql = "SELECT count(*) FROM vectors WHERE seq > ?"
        return int(self._connection.execute(sql, (after,)).get)

    def blocks(self, *, after: int) -> Iterator[VectorRows]:
        """Read the vectors behind a seq, and compare their checksums."""
        found = self._connection.execute(
            "SELECT seq, source, coalesce(day, ?), checksum, embedding FROM vectors "
            "WHERE seq > ? ORDER BY seq",
            (NO_DAY, after),
        )
        while some := list(islice(found, ROWS_AT_ONCE)):
            yield self._rows(some)

    def _rows(self, some: list[Any]) -> VectorRows:
        seqs, sources, days, checksums, blobs = zip(*some, strict=True)
        if tuple(map(zlib.crc32, blobs)) != checksums or not set(sources) <= SOURCE_NUMBERS.keys():
            raise damaged(self._connection.filename, "a vector is not as it was written")
        return VectorRows(
            np.frombuffer(b"".join(blobs), dtype="<f4").reshape(len(seqs), -1),
            np.array(seqs, dtype=np.int64),
            np.array([SOURCE_NUMBERS[source] for source in sources], dtype=np.int8),
            np.array(days, dtype=np.int32),
        )

    def dropped(self, *, after: int) -> Sequence[tuple[int, int]]:
        """Return the deletions behind a number."""
        found: list[Any] = self._connection.execute(
            "SELECT n, seq FROM dropped WHERE n > ?", (after,)
        ).fetchall()
        return found
