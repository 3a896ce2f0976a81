"""The tables of the index, step by step. A step is never changed once it was released."""

from __future__ import annotations

import apsw

from commonplace.errors import StoreError
from commonplace.store.sqlite.connection import transaction
from commonplace.text.analysis import FTS5_TOKENIZE

__all__ = ["MIGRATIONS", "create_vec0", "create_words", "merge_words", "migrate"]

_PENDING_BYTES = 64 * 1024 * 1024
"""What FTS5 gathers in memory, at most, before it writes a segment: more than a transaction has."""
_AUTOMERGE = 4
"""Segments of about one size that FTS5 merges into the next; its own default."""

_APPLICATION_ID = 0x636F6D6D
"""Says in the file's header whose it is: "comm"."""

MIGRATIONS: tuple[tuple[str, ...], ...] = (
    (
        f"PRAGMA application_id = {_APPLICATION_ID}",
        "CREATE TABLE meta (key TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID",
        # Times are in nanoseconds, days are proleptic ordinals.
        """CREATE TABLE files (
            path TEXT PRIMARY KEY, source TEXT NOT NULL, hash TEXT NOT NULL, size INTEGER NOT NULL,
            mtime_ns INTEGER NOT NULL, indexed_ns INTEGER NOT NULL, day INTEGER,
            pending TEXT, note TEXT) WITHOUT ROWID""",
        # AUTOINCREMENT: a reader that knows the chunks up to a seq asks for those behind it.
        """CREATE TABLE chunks (
            seq INTEGER PRIMARY KEY AUTOINCREMENT, id TEXT NOT NULL, path TEXT NOT NULL,
            source TEXT NOT NULL, start_line INTEGER NOT NULL, end_line INTEGER NOT NULL,
            hash TEXT NOT NULL, model TEXT NOT NULL, heading TEXT NOT NULL, day INTEGER,
            grams TEXT NOT NULL, units BLOB NOT NULL, text TEXT NOT NULL)""",
        "CREATE INDEX chunks_path ON chunks (path)",
        # A quarter of a hash finds it too; whole ones, which come in no order, cost writes a tenth.
        "CREATE INDEX chunks_hash ON chunks (substr(hash, 1, 16))",
        # Apart from the texts, and with what filters look at: all vectors are read in one sweep.
        """CREATE TABLE vectors (
            seq INTEGER PRIMARY KEY REFERENCES chunks ON DELETE CASCADE,
            source TEXT NOT NULL, day INTEGER, embedding BLOB NOT NULL)""",
        """CREATE TABLE line_vectors (
            seq INTEGER PRIMARY KEY REFERENCES chunks ON DELETE CASCADE, data BLOB NOT NULL)""",
        # One row: how many lines have vectors, and their sum as float64.
        "CREATE TABLE line_sum (n INTEGER NOT NULL, total BLOB NOT NULL)",
        # What readers have to forget.
        "CREATE TABLE dropped (n INTEGER PRIMARY KEY AUTOINCREMENT, seq INTEGER NOT NULL)",
        # The vectors of texts that have left the index, by what made them.
        """CREATE TABLE embedding_cache (
            provider TEXT NOT NULL, model TEXT NOT NULL, endpoint TEXT NOT NULL, hash TEXT NOT NULL,
            dimension INTEGER NOT NULL, embedding BLOB NOT NULL, lines BLOB,
            updated_ns INTEGER NOT NULL,
            PRIMARY KEY (provider, model, endpoint, dimension, hash)) WITHOUT ROWID""",
        "CREATE INDEX embedding_cache_age ON embedding_cache (updated_ns)",
    ),
    (
        "ALTER TABLE files ADD COLUMN progress TEXT",
        # Of sessions alone: whether there are any is asked at every search.
        "CREATE INDEX files_of_sessions ON files (source) WHERE source = 'sessions'",
    ),
    (
        # What is common in sessions says nothing about the notes: each has books of its own.
        "CREATE INDEX chunks_of_sessions ON chunks (source) WHERE source = 'sessions'",
        """INSERT OR REPLACE INTO meta
            SELECT 'chunks of sessions', count(*) FROM chunks WHERE source = 'sessions'""",
        "ALTER TABLE line_sum ADD COLUMN source TEXT NOT NULL DEFAULT 'memory'",
    ),
    (
        # With the text: a search reads both, of a few chunks, and waits for each page.
        "ALTER TABLE chunks ADD COLUMN lines BLOB",
        "UPDATE chunks SET lines = (SELECT data FROM line_vectors AS of WHERE of.seq = chunks.seq)",
        "DROP TABLE line_vectors",
        "DROP INDEX files_of_sessions",  # the books say whether there are any
        # With rowids: without, each row's vectors take a page of their own.
        "ALTER TABLE embedding_cache RENAME TO cache_without_rowids",
        """CREATE TABLE embedding_cache (
            provider TEXT NOT NULL, model TEXT NOT NULL, endpoint TEXT NOT NULL, hash TEXT NOT NULL,
            dimension INTEGER NOT NULL, embedding BLOB NOT NULL, lines BLOB,
            updated_ns INTEGER NOT NULL,
            PRIMARY KEY (provider, model, endpoint, dimension, hash))""",
        "INSERT INTO embedding_cache SELECT * FROM cache_without_rowids",
        "DROP TABLE cache_without_rowids",
        "CREATE INDEX embedding_cache_age ON embedding_cache (updated_ns)",
    ),
)


def migrate(connection: apsw.Connection) -> None:
    """Bring the tables to the newest version, in one transaction.

    Raises:
        StoreError: The file is another program's, or was written by a newer version of this one.
    """
    if _version(connection) == len(MIGRATIONS):
        return
    with transaction(connection):
        for statements in MIGRATIONS[_version(connection) :]:
            for statement in statements:
                connection.execute(statement)
        connection.pragma("user_version", len(MIGRATIONS))


def _version(connection: apsw.Connection) -> int:
    version = int(connection.pragma("user_version"))
    is_new = not version and not connection.execute("SELECT count(*) FROM sqlite_schema").get
    if not is_new and connection.pragma("application_id") != _APPLICATION_ID:
        raise StoreError(
            f"{connection.filename} is a database of another program, not an index. "
            "Choose another index_path."
        )
    if version > len(MIGRATIONS):
        raise StoreError(
            f"the index {connection.filename} was written by a newer version of Commonplace. "
            "Upgrade, or delete it: it is rebuilt from the Markdown files."
        )
    return version


def create_words(connection: apsw.Connection, tokenizer: str) -> None:
    """Create the word index over the chunks; inside a transaction.

    It reads its text from the chunks. There are no triggers that keep it: FTS5 writes a segment of
    its own for each statement that a trigger runs, which is three times as slow as one for all.
    Until the first run ends, segments are not merged as they come, but once, by `merge_words`.
    """
    connection.execute(
        "CREATE VIRTUAL TABLE chunks_fts USING fts5(text, grams, content='chunks', "
        f"content_rowid='seq', tokenize='{FTS5_TOKENIZE[tokenizer]}')"
    )
    _configure_words(connection, "hashsize", _PENDING_BYTES)
    _configure_words(connection, "automerge", 0)


def merge_words(connection: apsw.Connection) -> None:
    """Merge the segments of the word index into one: a word is then found with one look.

    From then on FTS5 merges what is added as it comes.
    """
    connection.execute("INSERT INTO chunks_fts (chunks_fts) VALUES ('optimize')")
    _configure_words(connection, "automerge", _AUTOMERGE)


def _configure_words(connection: apsw.Connection, option: str, value: int) -> None:
    connection.execute("INSERT INTO chunks_fts (chunks_fts, rank) VALUES (?, ?)", (option, value))


def create_vec0(connection: apsw.Connection, dimension: int) -> None:
    """Create sqlite-vec's table from the vectors that are there; inside a transaction."""
    connection.execute("DROP TABLE IF EXISTS chunks_vec")
    connection.execute(
        "CREATE VIRTUAL TABLE chunks_vec USING vec0("
        f"seq INTEGER PRIMARY KEY, embedding FLOAT[{dimension}] distance_metric=cosine)"
    )
    connection.execute("INSERT INTO chunks_vec (seq, embedding) SELECT seq, embedding FROM vectors")
