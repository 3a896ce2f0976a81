"""Vector search of the PostgreSQL engine: by the resident matrix, by the server, or by HNSW."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from commonplace.store.postgres.conditions import row_conditions
from commonplace.store.postgres.schema import UNLISTED
from commonplace.store.postgres.state import IndexState
from commonplace.store.postgres.vector_codec import matrix_from, vector_text
from commonplace.store.postgres.vector_index import (
    indexed_expression,
    nearest_by_index,
    vector_bytes,
)
from commonplace.store.records import Hits, RowFilter
from commonplace.store.resident_vectors import NO_DAY, SOURCE_NUMBERS, VectorRows

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from commonplace.store.postgres.database import Connection
    from commonplace.store.postgres.reader_cache import ReaderCache
    from commonplace.vectors import Vector

__all__ = ["PostgresVectorTable", "VectorSearch"]

_ROWS_A_FETCH = 2048
_FEW = 10_000
"""Chunks of some files that are compared one by one, where the vectors are on the server."""


class PostgresVectorTable:
    """Vectors of one snapshot; see `VectorTable`."""

    def __init__(self, connection: Connection, state: IndexState) -> None:
        self._connection = connection
        self._tables = state.tables

    def _rows(self, statement: str, *values: Any) -> list[Any]:
        return self._connection.cursor(binary=True).execute(statement, values).fetchall()

    def count(self, *, after: int) -> int:
        """Return the number of vectors behind a seq."""
        sql = f"SELECT count(*) FROM {self._tables.vectors} WHERE seq > %s"
        return int(self._rows(sql, after)[0][0])

    def blocks(self, *, after: int) -> Iterator[VectorRows]:
        """Read the vectors behind a seq."""
        sql = (
            f"SELECT seq, source, coalesce(day, {NO_DAY}), embedding FROM {self._tables.vectors} "
            f"WHERE seq > %s ORDER BY seq LIMIT {_ROWS_A_FETCH}"
        )
        while found := self._rows(sql, after):
            seqs, sources, days, embeddings = zip(*found, strict=True)
            yield VectorRows(
                matrix_from(embeddings),
                np.array(seqs, dtype=np.int64),
                np.array([SOURCE_NUMBERS[source] for source in sources], dtype=np.int8),
                np.array(days, dtype=np.int32),
            )
            after = seqs[-1]

    def dropped(self, *, after: int) -> Sequence[tuple[int, int]] | None:
        """Return the deletions behind a version; None where the list begins later."""
        sql = f"SELECT version, seq FROM {self._tables.dropped} WHERE version > %s"
        found = self._rows(sql, after)
        return None if any(seq == UNLISTED for _, seq in found) else found


class VectorSearch:
    """Search of the nearest chunks in one snapshot."""

    def __init__(self, connection: Connection, state: IndexState, cache: ReaderCache) -> None:
        self._connection = connection
        self._state = state
        self._cache = cache

    def nearest(
        self,
        query: Vector,
        limit: int,
        rows: RowFilter,
        condition: tuple[str, list[Any]],
        *,
        among: NDArray[np.int64] | None,
        exact: bool,
    ) -> Hits:
        """Return the ``(seq, dot product)`` of the nearest chunks, best first.

        Args:
            query: The vector.
            limit: How many.
            rows: Filter of the chunks.
            condition: The filter as SQL, with that of the files, and its values.
            among: Chunks that may be found, ascending; None for all.
            exact: Whether each vector is compared.
        """
        resident = self._cache.resident(vector_bytes(self._state))
        if resident is not None:
            table = PostgresVectorTable(self._connection, self._state)
            found = resident.nearest(
                table, self._moment, query, limit, rows, exact=exact, among=among
            )
            if found is not None:
                return found
        if among is not None and len(among) <= _FEW:
            where, values = row_conditions(rows)
            few = "seq = ANY(%s::bigint[])" + (where and f" AND {where}")
            return self._by_scan(query, limit, few, [among.tolist(), *values])
        expression = None if exact else self.indexed()
        if expression is not None:
            found = nearest_by_index(
                self._connection, self._state, expression, query, limit, condition
            )
            if len(found) == limit or not condition[0]:
                return found
        return self._by_scan(query, limit, *condition)

    def follow(self) -> None:
        """Bring the resident matrix up to date with the snapshot, where there is one."""
        resident = self._cache.held
        if resident is not None and not self._cache.is_too_large(vector_bytes(self._state)):
            resident.follow(PostgresVectorTable(self._connection, self._state), self._moment)

    @property
    def _moment(self) -> tuple[str, int, int]:
        return str(self._state.generation), self._state.last_seq, self._state.version

    @property
    def way(self) -> str:
        """How vectors are compared, for people."""
        if not self._cache.is_too_large(vector_bytes(self._state)):
            return "numpy"
        return "HNSW" if self.indexed() else "one by one on the server, without HNSW index"

    def indexed(self) -> str | None:
        """Return what the HNSW index is over; None where there is none, or none is needed."""
        if not self._cache.is_too_large(vector_bytes(self._state)):
            return None
        known = self._cache.of("vector index", self._state.key)
        if "over" not in known:
            known["over"] = indexed_expression(self._connection, self._state)
        expression: str | None = known["over"]
        return expression

    def _by_scan(self, query: Vector, limit: int, where: str, values: Sequence[Any]) -> Hits:
        """Let the server compare each vector."""
        text = vector_text(query)
        found = self._connection.cursor(binary=True).execute(
            f"SELECT seq, -(embedding <#> %s::vector) AS product FROM {self._state.tables.vectors} "
            f"{where and f'WHERE {where}'} ORDER BY product DESC, seq LIMIT %s",
            (text, *values, limit),
        )
        return [(seq, score) for seq, score in found.fetchall()]
