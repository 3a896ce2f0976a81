"""Vector cache: embeddings of texts that left the index, by the hash of the text and the model."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from commonplace.store.postgres.vector_codec import vector_text
from commonplace.store.records import IndexIdentity
from commonplace.vectors.arrays import ChunkVectors

if TYPE_CHECKING:
    from commonplace.store.postgres.database import Connection
    from commonplace.store.postgres.state import IndexState

__all__ = ["put", "put_chunks", "trim"]

_REPLACE = (
    "ON CONFLICT (hash, provider, model, endpoint, dimension) DO UPDATE SET embedding = "
    "excluded.embedding, lines = excluded.lines, written = excluded.written"
)


def put(
    connection: Connection,
    identity: IndexIdentity,
    vectors: Mapping[str, ChunkVectors],
    drop: Sequence[str],
) -> None:
    """Put vectors of texts in the cache and drop others; inside a transaction."""
    model = (*identity.vectors_key, identity.dimension)
    rows = [
        (*model, key, vector_text(made.vector), made.lines)
        for key, made in vectors.items()
        if len(made.vector) == identity.dimension
    ]
    if rows:
        with connection.cursor() as cursor:
            cursor.executemany(
                "INSERT INTO vector_cache VALUES (%s, %s, %s, %s, %s, %s::vector, %s, "
                f"nextval('vector_cache_written')) {_REPLACE}",
                rows,
            )
    if drop:
        connection.execute(
            "DELETE FROM vector_cache WHERE (provider, model, endpoint, dimension) = "
            "(%s, %s, %s, %s) AND hash = ANY(%s::text[])",
            (*model, list(drop)),
        )


def put_chunks(connection: Connection, state: IndexState, seqs: Sequence[int] | None) -> None:
    """Put the vectors of chunks in the cache, as if their texts left the index now.

    Args:
        connection: Inside a transaction.
        state: The index of the chunks.
        seqs: The chunks; None for all.
    """
    identity, tables = state.identity, state.tables
    if identity is None or not identity.model or not identity.dimension:
        return
    where, values = ("", []) if seqs is None else ("WHERE seq = ANY(%s)", [list(seqs)])
    connection.execute(
        f"""INSERT INTO vector_cache
        SELECT %s, %s, %s, %s, hash, embedding, lines, nextval('vector_cache_written') FROM (
            SELECT hash, embedding, lines FROM (
                SELECT DISTINCT ON (hash) seq, hash, embedding, lines FROM {tables.chunks}
                JOIN (SELECT seq, embedding FROM {tables.vectors}) AS vector USING (seq)
                {where} ORDER BY hash, seq DESC) AS newest
            ORDER BY seq) AS made {_REPLACE}""",
        (*identity.vectors_key, identity.dimension, *values),
    )


def trim(connection: Connection, max_entries: int) -> None:
    """Drop the oldest entries beyond a number; inside a transaction."""
    connection.execute(
        "DELETE FROM vector_cache WHERE written <= (SELECT written FROM vector_cache "
        "ORDER BY written DESC OFFSET %s LIMIT 1)",
        (max(0, max_entries),),
    )
