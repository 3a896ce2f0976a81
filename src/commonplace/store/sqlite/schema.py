"""Schema of the index file: its tables, its FTS5 index and the checksums of that.

FTS5 reads its tables itself, so no row of them can be compared as a search reads it. It never
changes a page within a segment, so a segment has a checksum, compared before a process's first
search, and a change costs what it writes.
"""

from __future__ import annotations

import contextlib
import heapq
import zlib
from collections.abc import Iterator
from typing import TYPE_CHECKING

import apsw

from commonplace.errors import IndexDamagedError, StoreError
from commonplace.store.sqlite.checksums import sum_checksum
from commonplace.store.sqlite.connection import damaged, transaction
from commonplace.store.sqlite.filtered_rank import token_count
from commonplace.text.analysis import FTS5_TOKENIZE

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    import numpy as np
    from numpy.typing import NDArray

    from commonplace.types import Source
    from commonplace.vectors import Vector

__all__ = [
    "SCHEMA",
    "SCHEMA_VERSION",
    "EarlierVersionError",
    "check_words",
    "create_tables",
    "create_words",
    "get_meta",
    "mean_of_lines",
    "merge_words",
    "nearest_by_scan",
    "note_words",
    "set_meta",
    "sums_of_lines",
    "table_version",
    "unreadable_reason",
]

_PENDING_BYTES = 64 * 1024 * 1024
"""What FTS5 gathers in memory, at most, before it writes a segment: more than a transaction has."""
_AUTOMERGE = 4
"""Segments of about one size that FTS5 merges into the next; its own default."""

_SEGMENT_BITS, _PAGE_BITS = 37, 31
"""FTS5 numbers its blocks by segment, kind and page: these bits are of the latter two, and of the
page alone. Segment 0 has the list of the others, and the counts that BM25 needs."""

_ENDS = f"""WITH RECURSIVE
    firsts (id) AS (SELECT min(id) FROM chunks_fts_data UNION ALL SELECT (
        SELECT min(id) FROM chunks_fts_data AS next
        WHERE next.id >= ((firsts.id >> {_SEGMENT_BITS}) + 1) << {_SEGMENT_BITS}
    ) FROM firsts WHERE id IS NOT NULL),
    ends AS (SELECT id AS first, (
        SELECT max(id) FROM chunks_fts_data AS page
        WHERE page.id < ((firsts.id >> {_SEGMENT_BITS}) << {_SEGMENT_BITS}) + (1 << {_PAGE_BITS})
    ) AS last_page, (
        SELECT max(id) FROM chunks_fts_data AS any
        WHERE any.id < ((firsts.id >> {_SEGMENT_BITS}) + 1) << {_SEGMENT_BITS}
    ) AS last FROM firsts WHERE id IS NOT NULL)
SELECT first, last_page, last, (SELECT block FROM chunks_fts_data WHERE id = first),
    (SELECT block FROM chunks_fts_data WHERE id = last_page) FROM ends"""
"""First block, last page and last block of each segment, and what the first two hold."""

_OTHER_WORDS = "the words are not as they were written"
_UNFINISHED = bytes(range(0x80, 0x100))
"""Bytes of FTS5's numbers that others follow."""

_APPLICATION_ID = 0x636F6D6D
"""Says in the file's header whose it is: "comm"."""

SCHEMA = (
    f"PRAGMA application_id = {_APPLICATION_ID}",
    "CREATE TABLE meta (key TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID",
    # Times are in nanoseconds, days are proleptic ordinals.
    """CREATE TABLE files (
        path TEXT PRIMARY KEY, source TEXT NOT NULL, hash TEXT NOT NULL, size INTEGER NOT NULL,
        mtime_ns INTEGER NOT NULL, indexed_ns INTEGER NOT NULL, day INTEGER,
        pending TEXT, note TEXT, progress TEXT, metadata TEXT, expires_ms INTEGER,
        stamp TEXT NOT NULL)
        WITHOUT ROWID""",
    # Each search asks for the files that are expired, and next to no file ever expires.
    "CREATE INDEX files_expiring ON files (expires_ms) WHERE expires_ms IS NOT NULL",
    # AUTOINCREMENT: seqs only grow, so a process that read the chunks up to a seq reads on from it.
    # Apart from the texts: an edit in a long file moves the places of all chunks behind it.
    """CREATE TABLE chunk_places (
        seq INTEGER PRIMARY KEY AUTOINCREMENT, id TEXT NOT NULL, path TEXT NOT NULL,
        source TEXT NOT NULL, start_line INTEGER NOT NULL, end_line INTEGER NOT NULL,
        hash TEXT NOT NULL, model TEXT NOT NULL, heading TEXT NOT NULL, context TEXT NOT NULL,
        day INTEGER, ordinal INTEGER NOT NULL, place_checksum INTEGER NOT NULL)""",
    "CREATE INDEX chunks_in_order ON chunk_places (path, ordinal)",
    # A quarter of a hash is enough to find it; whole ones come in no order and cost writes a tenth.
    "CREATE INDEX chunks_hash ON chunk_places (substr(hash, 1, 16))",
    # Document frequencies are counted for notes and sessions apart.
    "CREATE INDEX chunks_of_sessions ON chunk_places (source) WHERE source = 'sessions'",
    # `lines` stands with the text: a search reads both, of a few chunks, and waits for each page.
    # Checksums are those of `checksums`, compared whenever a row is read.
    """CREATE TABLE chunk_texts (
        seq INTEGER PRIMARY KEY REFERENCES chunk_places ON DELETE CASCADE,
        checksum INTEGER NOT NULL, grams TEXT NOT NULL, units BLOB NOT NULL, text TEXT NOT NULL,
        lines BLOB)""",
    "CREATE VIEW chunks AS SELECT * FROM chunk_places JOIN chunk_texts USING (seq)",
    # Apart from the texts, with the columns of filters: all vectors are read in one sweep.
    """CREATE TABLE vectors (
        seq INTEGER PRIMARY KEY REFERENCES chunk_places ON DELETE CASCADE,
        source TEXT NOT NULL, day INTEGER, checksum INTEGER NOT NULL, embedding BLOB NOT NULL)""",
    # A row a source: how many lines have vectors, and their sum as float64.
    """CREATE TABLE line_sum (
        n INTEGER NOT NULL, total BLOB NOT NULL, source TEXT NOT NULL,
        checksum INTEGER NOT NULL)""",
    # Deleted chunks: resident vectors of other processes drop them.
    "CREATE TABLE dropped (n INTEGER PRIMARY KEY AUTOINCREMENT, seq INTEGER NOT NULL)",
    # Vectors of texts that left the index, by what made them. With rowids: in a table WITHOUT
    # ROWID, each row's vectors take an overflow page of their own.
    """CREATE TABLE embedding_cache (
        provider TEXT NOT NULL, model TEXT NOT NULL, endpoint TEXT NOT NULL, hash TEXT NOT NULL,
        dimension INTEGER NOT NULL, embedding BLOB NOT NULL, lines BLOB,
        updated_ns INTEGER NOT NULL, checksum INTEGER NOT NULL,
        PRIMARY KEY (provider, model, endpoint, dimension, hash))""",
    "CREATE INDEX embedding_cache_age ON embedding_cache (updated_ns)",
    # FTS5's segments: where each begins and ends, and the checksum of all between.
    """CREATE TABLE word_segments (
        segment INTEGER PRIMARY KEY, ends TEXT NOT NULL, checksum INTEGER NOT NULL)""",
)
SCHEMA_VERSION = 13
"""``PRAGMA user_version`` of these tables; versions 1 to 12 were never released."""


class EarlierVersionError(IndexDamagedError):
    """Index with the tables of an earlier version: it is replaced as a damaged one is."""


def create_tables(connection: apsw.Connection) -> None:
    """Create the tables of a new index file, in one transaction.

    Raises:
        EarlierVersionError: The index has the tables of an earlier version.
        StoreError: The file is another program's, or was written by a later version of this one.
    """
    if table_version(connection) == SCHEMA_VERSION:
        return
    with transaction(connection):
        version = table_version(connection)
        if not version:
            for statement in SCHEMA:
                connection.execute(statement)
            connection.pragma("user_version", SCHEMA_VERSION)


def table_version(connection: apsw.Connection) -> int:
    """Return the version of the tables, 0 for a new file; raise where they are not of this one."""
    version = int(connection.pragma("user_version"))
    is_new = not version and not connection.execute("SELECT count(*) FROM sqlite_schema").get
    if not is_new and connection.pragma("application_id") != _APPLICATION_ID:
        raise StoreError(
            f"{connection.filename} is a database of another program, not an index. "
            "Choose another index."
        )
    if version > SCHEMA_VERSION:
        raise StoreError(
            f"the index {connection.filename} was written by a newer version of Commonplace. "
            "Upgrade, or delete it: it is rebuilt from the Markdown files."
        )
    if 0 < version < SCHEMA_VERSION:
        raise EarlierVersionError(
            f"the index {connection.filename} was written by an earlier version of Commonplace "
            f"(tables {version}, {SCHEMA_VERSION} expected). It can be deleted: it is rebuilt from "
            "the Markdown files."
        )
    return version


def get_meta(connection: apsw.Connection, key: str) -> str | None:
    """Return what the index notes about itself."""
    value = connection.execute("SELECT value FROM meta WHERE key = ?", (key,)).get
    return None if value is None else str(value)


def set_meta(connection: apsw.Connection, key: str, value: str) -> None:
    """Note something about the index; inside a transaction."""
    connection.execute("INSERT OR REPLACE INTO meta VALUES (?, ?)", (key, value))


def create_words(connection: apsw.Connection, tokenizer: str) -> None:
    """Create the word index over the chunks; inside a transaction.

    It reads its text from the chunks. There are no triggers that keep it: FTS5 writes a segment of
    its own for each statement that a trigger runs, which is three times as slow as one for all.
    Until the first run ends, segments are not merged as they come, but once, by `merge_words`.
    """
    connection.execute(
        "CREATE VIRTUAL TABLE chunks_fts USING fts5(text, grams, content='chunk_texts', "
        f"""content_rowid='seq', tokenize="{FTS5_TOKENIZE[tokenizer]}")"""
    )
    _configure_words(connection, "hashsize", _PENDING_BYTES)
    _configure_words(connection, "automerge", 0)
    note_words(connection)


def merge_words(connection: apsw.Connection) -> None:
    """Merge the segments of the word index into one: a word is then found with one look.

    From then on FTS5 merges what is added as it comes.
    """
    connection.execute("INSERT INTO chunks_fts (chunks_fts) VALUES ('optimize')")
    _configure_words(connection, "automerge", _AUTOMERGE)
    note_words(connection)


def _configure_words(connection: apsw.Connection, option: str, value: int) -> None:
    connection.execute("INSERT INTO chunks_fts (chunks_fts, rank) VALUES (?, ?)", (option, value))


def note_words(connection: apsw.Connection) -> None:
    """Note the checksums of the segments that FTS5 changed; at the end of a transaction."""
    connection.execute("INSERT INTO chunks_fts (chunks_fts) VALUES ('flush')")
    noted = dict(connection.execute("SELECT segment, ends FROM word_segments"))
    with _blocks_are_bytes(connection):
        found = dict(_segments(connection))
        changed = [
            (segment, ends, _segment_checksum(connection, segment))
            for segment, ends in found.items()
            if noted.get(segment) != ends
        ]
    connection.executemany(
        "DELETE FROM word_segments WHERE segment = ?", [(it,) for it in noted.keys() - found.keys()]
    )
    connection.executemany("INSERT OR REPLACE INTO word_segments VALUES (?, ?, ?)", changed)


def check_words(connection: apsw.Connection) -> None:
    """Compare what FTS5 stores of the words with its checksums.

    Raises:
        IndexDamagedError: It is not as it was written.
    """
    noted = dict(connection.execute("SELECT segment, checksum FROM word_segments"))
    sizes = [size for (size,) in connection.execute("SELECT sz FROM chunks_fts_docsize")]
    counts = connection.execute("SELECT block FROM chunks_fts_data WHERE id = 1").get
    with _blocks_are_bytes(connection):
        found = {it: _segment_checksum(connection, it) for it, _ in _segments(connection)}
        # FTS5 counts the rows and their tokens, and keeps two numbers of tokens for each row.
        packed = b"".join(sizes)
        numbers = len(packed.translate(None, delete=_UNFINISHED))
        tokens = token_count([counts]) - len(sizes)
    if found != noted or numbers != 2 * len(sizes) or tokens != token_count([packed]):
        raise damaged(connection.filename, _OTHER_WORDS)


@contextlib.contextmanager
def _blocks_are_bytes(connection: apsw.Connection) -> Iterator[None]:
    try:
        yield
    except TypeError as error:  # damage made something else of them
        raise damaged(connection.filename, _OTHER_WORDS) from error


def _segments(connection: apsw.Connection) -> Iterator[tuple[int, str]]:
    """Yield FTS5's segments, each with what differs once it has changed: its ends.

    Pages are added behind a segment's last, or taken off before its first, of which a part may go.
    """
    for first, last_page, last, *blocks in connection.execute(_ENDS):
        checksum = zlib.crc32(b"".join(blocks))
        yield first >> _SEGMENT_BITS, f"{first} {last_page} {last} {checksum}"


def _segment_checksum(connection: apsw.Connection, segment: int) -> int:
    checksum = 0
    for blocks, values in (
        (
            "SELECT id, block FROM chunks_fts_data WHERE id >= ? AND id < ?",
            (segment << _SEGMENT_BITS, (segment + 1) << _SEGMENT_BITS),
        ),
        ("SELECT pgno, term FROM chunks_fts_idx WHERE segid = ?", (segment,)),
    ):
        for number, data in connection.execute(blocks, values):
            checksum = zlib.crc32(data, zlib.crc32(b"%d" % number, checksum))
    return checksum


def nearest_by_scan(
    connection: apsw.Connection, query: Vector, limit: int, *, where: str, values: Sequence[Any]
) -> list[tuple[int, float]]:
    """Return the ``(seq, dot product)`` of the nearest chunks, compared as they are read."""
    import numpy as np

    among = f" WHERE {where}" if where else ""
    found = connection.execute(f"SELECT embedding, seq FROM vectors{among}", values)
    scores = ((float(np.frombuffer(blob, dtype="<f4") @ query), -seq) for blob, seq in found)
    return [(-seq, score) for score, seq in heapq.nlargest(limit, scores)]


def sums_of_lines(connection: apsw.Connection) -> dict[Source, tuple[int, NDArray[np.float64]]]:
    """Return how many lines of each source have vectors, and their sum as float64."""
    import numpy as np

    found: dict[Source, tuple[int, Any]] = {}
    for count, total, source, checksum in connection.execute("SELECT * FROM line_sum"):
        if sum_checksum(source, count, total) != checksum:
            raise damaged(connection.filename, "the sum of the vectors is not as it was written")
        found[source] = count, np.frombuffer(total, dtype="<f8")
    return found


def mean_of_lines(connection: apsw.Connection, source: Source | None) -> Vector | None:
    """Return the mean of the lines' vectors, of one source or of all; None without any."""
    sums = [own for of, own in sums_of_lines(connection).items() if source in (None, of) and own[0]]
    if not sums:
        return None
    import numpy as np

    total = np.sum([total for _, total in sums], axis=0)
    mean: Vector = (total / sum(count for count, _ in sums)).astype(np.float32)
    mean.flags.writeable = False  # every search shares it
    return mean


def unreadable_reason(connection: apsw.Connection) -> str | None:
    """Return why a read-only file cannot be read; None if it can."""
    version = connection.pragma("user_version")
    if version == SCHEMA_VERSION:
        return None
    return "was written by another version of Commonplace" if version else "is empty"
