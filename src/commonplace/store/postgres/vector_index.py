"""Vector index of the PostgreSQL engine: HNSW, where vectors are more than a reader should hold.

Up to `Address.resident_bytes` each reader holds all vectors, which is exact, and faster. Beyond it
they stay on the server. A query's direction is seen from the mean of all vectors, from which the
vectors all lie to one side; a graph over vectors that are seen from their own mean finds more of
the nearest (of 24 among 20,000 docstrings .996 instead of .973). It compares halves of floats; what
it returns is compared exactly.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from psycopg import sql

from commonplace.errors import StoreError
from commonplace.store.postgres.state import IndexState
from commonplace.store.postgres.vector_codec import vector_text

if TYPE_CHECKING:
    from commonplace.store.postgres.database import Connection, Database
    from commonplace.store.postgres.store import PostgresStore
    from commonplace.store.records import Hits
    from commonplace.vectors import Vector

__all__ = ["indexed_expression", "make_index", "nearest_by_index", "vector_bytes"]

logger = logging.getLogger(__name__)

_MAX_DIMENSION = 4000
"""Numbers of a vector that pgvector indexes as halves."""
_COMPARED = 400
"""Chunks that the graph returns to be compared exactly, at least (``hnsw.ef_search``)."""
_COMPARED_A_HIT = 8
_SHARE = 2000
"""One chunk in this many is compared besides: in a larger graph more are nearly as near."""
_MOST_COMPARED = 1000
"""What pgvector allows."""
_DECIMALS = 4
"""Decimals of the mean: where vectors are seen from needs no more, and its text is short."""
_BUILD_MEMORY = "1GB"
"""Where the graph outgrows it, building takes several times as long."""


def vector_bytes(state: IndexState) -> int:
    """Return the bytes that a reader's matrix of all vectors takes."""
    dimension = state.identity.dimension if state.identity else None
    return 4 * (dimension or 0) * state.of_source(None).vectors


def indexed_expression(connection: Connection, state: IndexState) -> str | None:
    """Return what the HNSW index of a generation is over, as SQL; None without a finished one."""
    row = connection.execute(
        "SELECT pg_get_expr(indexprs, indrelid) FROM pg_index WHERE indisvalid "
        "AND indexrelid = to_regclass(%s)",
        (_name(state),),
    ).fetchone()
    return None if row is None else str(row[0])


def nearest_by_index(
    connection: Connection,
    state: IndexState,
    expression: str,
    query: Vector,
    limit: int,
    condition: tuple[str, Sequence[Any]],
) -> Hits:
    """Return the ``(seq, dot product)`` of chunks near to a vector, best first.

    Args:
        connection: Inside the snapshot's transaction.
        state: The index.
        expression: As `indexed_expression` returned it.
        query: The vector.
        limit: How many.
        condition: Filter of the rows as SQL, and its values. Of a filter that few rows pass, fewer
            are found than there are.
    """
    share = state.of_source(None).vectors // _SHARE
    compared = min(_MOST_COMPARED, max(_COMPARED, _COMPARED_A_HIT * limit) + share)
    connection.execute(
        f"SET LOCAL hnsw.ef_search = {compared}; SET LOCAL hnsw.iterative_scan = relaxed_order"
    )
    where, values = condition
    text = vector_text(query)
    found = connection.cursor(binary=True).execute(
        f"SELECT seq, -(embedding <#> %s::vector) AS product FROM (SELECT seq, embedding "
        f"FROM {state.tables.vectors} {where and f'WHERE {where}'} "
        f"ORDER BY ({expression}) <#> %s::halfvec LIMIT {max(compared, limit)}) AS near "
        "ORDER BY product DESC, seq LIMIT %s",
        (text, *values, text, limit),
    )
    return [(seq, score) for seq, score in found.fetchall()]


def make_index(store: PostgresStore, *, concurrently: bool) -> None:
    """Make the HNSW index where it is wanted and missing; the caller holds the ``run`` lease.

    A failure is logged: searches find the same without it, slowly.

    Args:
        store: The index.
        concurrently: Whether writes go on meanwhile. It waits for all older transactions, so none
            may be open in this thread.
    """

    def wanted(connection: Connection) -> IndexState | None:
        state = store.locked(connection)
        is_large = vector_bytes(state) > store.database.address.resident_bytes
        fits = state.identity is not None and (state.identity.dimension or 0) <= _MAX_DIMENSION
        return state if is_large and fits and not indexed_expression(connection, state) else None

    try:
        state = store.write_transaction(wanted)
        if state is not None:
            _build(store.database, state, "CONCURRENTLY" if concurrently else "")
            store.write_transaction(lambda connection: _note(connection, state))
    except StoreError as error:
        logger.warning("no HNSW index was made, vectors are compared one by one: %s", error)


def _build(database: Database, state: IndexState, how: str) -> None:
    """Make the index, in statements that are transactions of their own."""
    schema = sql.Identifier(database.address.schema).as_string()
    table = f"{schema}.{state.tables.vectors}"
    with database.borrowed() as connection:
        (types, mean), *_ = connection.execute(
            f"SELECT quote_ident(nspname), (SELECT avg(embedding)::text FROM {table}) "
            "FROM pg_extension JOIN pg_namespace n ON n.oid = extnamespace WHERE extname = 'vector'"
        ).fetchall()
        centre = [round(float(number), _DECIMALS) for number in mean.strip("[]").split(",")]
        seen = f"(embedding OPERATOR({types}.-) '{centre}'::{types}.vector)"
        halves = f"{types}.halfvec({len(centre)})"
        connection.execute(f"DROP INDEX IF EXISTS {schema}.{_name(state)}")  # of a crash
        connection.execute(
            f"CREATE INDEX {how} IF NOT EXISTS {state.tables.vectors}_day ON {table} (day) "
            "WHERE day IS NOT NULL"
        )
        connection.execute(f"SET maintenance_work_mem = '{_BUILD_MEMORY}'")
        try:
            connection.execute(
                f"CREATE INDEX {how} {_name(state)} ON {table} "
                f"USING hnsw (({seen}::{halves}) {types}.halfvec_ip_ops)"
            )
        finally:
            connection.execute("RESET maintenance_work_mem")


def _note(connection: Connection, state: IndexState) -> None:
    """Let readers look for the index again: what they know is of one version."""
    connection.execute(
        "UPDATE indexes SET version = version + 1 WHERE generation = %s", (state.generation,)
    )


def _name(state: IndexState) -> str:
    return f"{state.tables.vectors}_near"
