"""Recovery and health checks of the SQLite engine."""

from __future__ import annotations

import contextlib
import glob
import logging
import os
import shutil
import time
import uuid
import zlib
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import apsw

from commonplace.errors import IndexDamagedError
from commonplace.store.base import HealthCheck, Recovery
from commonplace.store.records import RowFilter
from commonplace.store.sqlite.checksums import place_checksum, row_checksum
from commonplace.store.sqlite.connection import (
    IndexFile,
    damaged,
    translated,
)
from commonplace.store.sqlite.schema import (
    EarlierVersionError,
    check_words,
    get_meta,
    merge_words,
    table_version,
)
from commonplace.store.sqlite.vector_cache import drop_unsound, unsound_rows
from commonplace.store.sqlite.vector_extension import (
    check_vec0,
    load_vector_extension,
    vec0_usable,
    vector_extension,
)
from commonplace.system.transactions import overwrite_free_pages, transaction
from commonplace.system.waits import WRITER_WAIT_S
from commonplace.text.analysis import Term

if TYPE_CHECKING:
    from commonplace.store.sqlite.store import SqliteStore

__all__ = [
    "check_pages",
    "delete_index",
    "health_checks",
    "move_aside",
    "purge",
    "replace_damaged",
    "shadow_path",
]

logger = logging.getLogger(__name__)

_SIDE_FILES = ("-wal", "-shm", "-journal")
_LEAST_FREE = 3
"""Disk space for a rebuild, in index sizes: the shadow index, and the logs of both."""


def replace_damaged(store: SqliteStore, error: Exception, *, certain: bool) -> Recovery:
    """Move a damaged or an earlier version's index aside, unless another process replaced it.

    Args:
        store: The store of the index.
        error: What was found.
        certain: Whether it counts as damaged even if a check of the file finds nothing.
    """
    path = store.path
    if not certain and not _is_damaged(path):
        return Recovery()
    with store.lease("run", timeout_s=WRITER_WAIT_S):
        if not certain and not _is_damaged(path):
            return Recovery()
        is_earlier = isinstance(error, EarlierVersionError)
        aside = move_aside(path, "earlier" if is_earlier else "damaged")
    state = "written by an earlier version of Commonplace" if is_earlier else "damaged"
    warning = (
        f"the index {path} was {state} and is rebuilt from the Markdown; the "
        f"{'old' if is_earlier else 'damaged'} file is kept as {aside.name}."
    )
    logger.warning("%s (%s)", warning, error)
    return Recovery(warning)


def delete_index(path: Path) -> None:
    """Delete an index file and the files that SQLite keeps beside it."""
    for suffix in ("", *_SIDE_FILES):
        with contextlib.suppress(FileNotFoundError):
            os.unlink(f"{path}{suffix}")


def shadow_path(index: Path) -> Path:
    """Return the path of the shadow index of an index file."""
    return index.with_name(index.name + ".rebuild")


def purge(store: SqliteStore) -> bool:
    """Overwrite what deleted texts left in the index file and beside it; see `Store.purge`."""
    path = store.path
    delete_index(shadow_path(path))
    for label in ("damaged", "earlier"):
        for copy in path.parent.glob(f"{glob.escape(path.name)}.{label}-*"):
            copy.unlink(missing_ok=True)
    if not store.exists():
        return True
    with store.writing() as connection:
        connection.pragma("secure_delete", True)
        with transaction(connection):
            connection.execute("DELETE FROM embedding_cache")
            if store.cached_identity is not None or store.identity is not None:
                merge_words(connection)  # deleted words are in segments until they are merged
        return overwrite_free_pages(connection)


def health_checks(store: SqliteStore, file: IndexFile) -> Iterable[HealthCheck]:
    """Return the checks of ``status --deep``: extension, words, file, folder."""
    yield HealthCheck("sqlite-vec", _check_extension)
    yield HealthCheck("words", lambda: _check_words(store))
    yield HealthCheck("index file", lambda: _check_file(file))
    yield HealthCheck("vector cache", lambda: _check_cache(file), lambda: _mend_cache(store))
    yield HealthCheck("index folder", lambda: _check_folder(store))


def _is_damaged(path: Path) -> bool:
    try:
        with contextlib.closing(IndexFile.open(path)) as file:
            check_pages(file)
    except IndexDamagedError:
        return True
    return False


def check_pages(file: IndexFile) -> None:
    """Read the whole file, and compare the checksums of its rows.

    Raises:
        IndexDamagedError: It is corrupt, or has the tables of an earlier version.
    """
    with translated(file.path), file.pool.borrowed() as connection:
        answer = connection.pragma("quick_check")
        if answer != "ok":
            raise damaged(file.path, answer)
        if table_version(connection):
            _check_rows(connection)


def _check_rows(connection: apsw.Connection) -> None:
    texts = connection.execute(
        "SELECT checksum, seq, heading, context, text, units, lines FROM chunks"
    )
    for checksum, seq, *values in texts:
        if row_checksum(*values) != checksum:
            raise damaged(connection.filename, f"chunk {seq} is not as it was written")
    vectors = connection.execute(
        "SELECT checksum, seq, embedding, vectors.source IS place.source AND vectors.day IS "
        "place.day FROM vectors JOIN chunk_places AS place USING (seq)"
    )
    for checksum, seq, embedding, is_of_place in vectors:
        if zlib.crc32(embedding) != checksum or not is_of_place:
            raise damaged(connection.filename, f"vector {seq} is not as it was written")
    places = connection.execute(
        "SELECT place_checksum, seq, id, path, source, hash, start_line, end_line, day, ordinal "
        "FROM chunk_places"
    )
    for checksum, seq, name, path, source, text_hash, start, end, day, ordinal in places:
        kind = path, source, text_hash
        if place_checksum(name, kind, (start, end), day, ordinal) != checksum:
            raise damaged(connection.filename, f"the place of chunk {seq} is not as it was written")
    if get_meta(connection, "identity"):
        check_words(connection)
    if vec0_usable(connection):
        check_vec0(connection)


def move_aside(path: Path, label: Literal["damaged", "earlier"]) -> Path:
    """Rename an index and the files that SQLite keeps beside it; return the new path."""
    stamp = time.strftime("%Y%m%d-%H%M%S", time.gmtime())
    aside = path.with_name(f"{path.name}.{label}-{stamp}-{uuid.uuid4().hex[:6]}")
    for suffix in ("", *_SIDE_FILES):
        with contextlib.suppress(FileNotFoundError):
            os.replace(f"{path}{suffix}", f"{aside}{suffix}")
    return aside


def _check_extension() -> str:
    library, version = vector_extension()
    if library is None:
        return f"failed: {version}; numpy compares the vectors instead, as fast once they are read"
    with contextlib.closing(apsw.Connection(":memory:")) as connection:
        if not load_vector_extension(connection):
            return (
                f"failed: {library} cannot be loaded; numpy compares the vectors instead, as fast "
                "once they are read. 'pip install --force-reinstall sqlite-vec' brings it back"
            )
    return f"ok: {version}"


def _check_words(store: SqliteStore) -> str:
    """Compare the FTS5 index with the chunks; a read-only index is only queried."""
    if store.cached_identity is None and store.identity is None:
        return "not tried: nothing is indexed yet"
    if store.access == "read-write":
        with store.writing() as connection:
            connection.execute(
                "INSERT INTO chunks_fts (chunks_fts, rank) VALUES ('integrity-check', 1)"
            )
    with store.snapshot() as snapshot:
        snapshot.match([Term("word", "word")], every=False, limit=1, rows=RowFilter())
        return f"ok: {snapshot.totals().chunks} chunks"


def _check_file(file: IndexFile) -> str:
    check_pages(file)
    return f"ok: {file.path.stat().st_size / 2**20:.1f} MiB"


def _check_cache(file: IndexFile) -> str:
    """Compare the cached vectors with their checksums: bad ones are not used, and need no rebuild.

    Raises:
        IndexDamagedError: It cannot be read.
    """
    with translated(file.path), file.pool.borrowed() as connection:
        bad = len(unsound_rows(connection))
        if bad:
            return (
                f"failed: {bad} cached vectors are not as they were written; they are not used. "
                "'commonplace verify --repair' drops them"
            )
        return f"ok: {connection.execute('SELECT count(*) FROM embedding_cache').get} vectors"


def _mend_cache(store: SqliteStore) -> None:
    with store.writing() as connection, transaction(connection):
        drop_unsound(connection)


def _check_folder(store: SqliteStore) -> str:
    """Check that the index can be written and rebuilt."""
    path = store.path
    if not os.access(path.parent, os.W_OK) or store.access == "read-only":
        return (
            f"failed: {path.parent} or the index in it cannot be written: what is new is not "
            "found. Give yourself write access, or set COMMONPLACE_STATE_DIR to a folder of yours"
        )
    free, wanted = shutil.disk_usage(path.parent).free, _LEAST_FREE * path.stat().st_size
    if free < wanted:
        return (
            f"failed: {free / 2**20:.0f} MiB are free, and a rebuild may need "
            f"{wanted / 2**20:.0f} MiB; make room on the disk of {path.parent}"
        )
    holder = store.lease_holder()
    return f"ok: writable, {f'{holder} is indexing' if holder else 'no process is indexing'}"
