"""Vector cache: embeddings of texts that left the index, by the hash of the text and the model."""

from __future__ import annotations

import json
import time
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import apsw

from commonplace.store.records import IndexIdentity
from commonplace.store.sqlite.checksums import VECTORS, sound_vectors, vectors_checksum
from commonplace.store.sqlite.connection import load_identity, transaction
from commonplace.vectors.arrays import ChunkVectors

__all__ = [
    "copy_from",
    "dimension_of",
    "drop_unsound",
    "get",
    "insert_vectors",
    "put",
    "trim",
    "unsound_rows",
]


def get(
    connection: apsw.Connection, identity: IndexIdentity, hashes: Sequence[str], *, in_chunks: bool
) -> list[tuple[str, bytes, bytes | None]]:
    """Return hash, vector and packed lines of the texts that a model has embedded.

    Args:
        connection: Reads the index.
        identity: Names the model and its dimension.
        hashes: Hashes of the texts.
        in_chunks: Whether the chunks of the index have vectors of that model, too.
    """
    wanted = json.dumps(list(hashes))
    rows: list[Any] = connection.execute(
        """SELECT hash, embedding, lines, checksum FROM json_each(?) JOIN embedding_cache
        ON hash = value AND provider = ? AND model = ? AND endpoint = ? AND dimension = ?""",
        (wanted, *identity.vectors_key, identity.dimension),
    ).fetchall()
    found = [tuple(data) for *data, checksum in rows if vectors_checksum(*data[1:]) == checksum]
    if in_chunks:
        found += sound_vectors(
            connection.execute(
                f"""SELECT {VECTORS} FROM json_each(?)
                JOIN chunk_places ON substr(hash, 1, 16) = substr(value, 1, 16) AND hash = value
                JOIN chunk_texts USING (seq) JOIN vectors USING (seq)""",
                (wanted,),
            )
        )
    return found


def dimension_of(connection: apsw.Connection, identity: IndexIdentity) -> int | None:
    """Return the dimension of a model's cached vectors; None without any."""
    found: int | None = connection.execute(
        """SELECT dimension FROM embedding_cache
        WHERE provider = ? AND model = ? AND endpoint = ? ORDER BY updated_ns DESC LIMIT 1""",
        identity.vectors_key,
    ).get
    return found


def put(
    connection: apsw.Connection,
    identity: IndexIdentity,
    vectors: Mapping[str, ChunkVectors],
    drop: Iterable[str],
) -> None:
    """Put vectors of texts in the cache and drop others; inside a transaction."""
    insert_vectors(
        connection,
        identity,
        (
            (key, made.vector.tobytes(), made.lines)
            for key, made in vectors.items()
            if len(made.vector) == identity.dimension
        ),
    )
    connection.execute(
        """DELETE FROM embedding_cache WHERE provider = ? AND model = ? AND endpoint = ?
        AND dimension = ? AND hash IN (SELECT value FROM json_each(?))""",
        (*identity.vectors_key, identity.dimension, json.dumps(list(drop))),
    )


def insert_vectors(
    connection: apsw.Connection,
    identity: IndexIdentity,
    vectors: Iterable[tuple[str, bytes, bytes | None]],
) -> None:
    """Put the vectors and packed lines of texts in the cache, by hash; inside a transaction."""
    for_identity, now = (*identity.vectors_key, identity.dimension), time.time_ns()
    connection.executemany(
        """INSERT OR REPLACE INTO embedding_cache (provider, model, endpoint, dimension, hash,
        embedding, lines, updated_ns, checksum) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)""",
        (
            (*for_identity, text_hash, embedding, lines, now, vectors_checksum(embedding, lines))
            for text_hash, embedding, lines in vectors
        ),
    )


def trim(connection: apsw.Connection, max_entries: int) -> None:
    """Drop the oldest entries beyond a number; inside a transaction."""
    connection.execute(
        """DELETE FROM embedding_cache WHERE (provider, model, endpoint, dimension, hash) IN (
            SELECT provider, model, endpoint, dimension, hash FROM embedding_cache
            ORDER BY updated_ns DESC LIMIT -1 OFFSET ?)""",
        (max_entries,),
    )


def unsound_rows(connection: apsw.Connection, database: str = "main") -> list[int]:
    """Return the entries that are not as they were written, by their rows."""
    rows = connection.execute(
        f"SELECT rowid, checksum, embedding, lines FROM {database}.embedding_cache"
    )
    return [row for row, checksum, *data in rows if vectors_checksum(*data) != checksum]


def drop_unsound(connection: apsw.Connection) -> None:
    """Drop the entries that are not as they were written; inside a transaction."""
    connection.execute(
        "DELETE FROM embedding_cache WHERE rowid IN (SELECT value FROM json_each(?))",
        (json.dumps(unsound_rows(connection)),),
    )


def copy_from(connection: apsw.Connection, previous: Path, keep: int) -> None:
    """Fill the cache from another index: its cache, and its chunks' own vectors."""
    connection.execute("ATTACH DATABASE ? AS previous", (str(previous),))
    try:
        with transaction(connection):
            _copy(connection, str(previous), keep)
            trim(connection, keep)
    finally:
        connection.execute("DETACH DATABASE previous")


def _copy(connection: apsw.Connection, name: str, keep: int) -> None:
    unsound = json.dumps(unsound_rows(connection, "previous"))
    connection.execute(
        "INSERT OR IGNORE INTO embedding_cache SELECT * FROM previous.embedding_cache "
        "WHERE rowid NOT IN (SELECT value FROM json_each(?))",
        (unsound,),
    )
    meta = dict(connection.execute("SELECT key, value FROM previous.meta"))
    identity = load_identity(meta, name)
    if identity and identity.model and identity.dimension:
        found = connection.execute(
            f"""SELECT {VECTORS} FROM previous.chunk_places
            JOIN previous.chunk_texts USING (seq) JOIN previous.vectors USING (seq)
            ORDER BY seq DESC LIMIT ?""",
            (keep,),
        )
        insert_vectors(connection, identity, sound_vectors(found))
