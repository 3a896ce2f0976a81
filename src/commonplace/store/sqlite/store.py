"""The index in a SQLite file: the `Store` protocol over the tables of `migrations`."""

from __future__ import annotations

import contextlib
import dataclasses
import json
import os
import threading
import time
import uuid
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

import apsw

from commonplace.errors import IndexDamagedError, IndexReadOnlyError, StoreError
from commonplace.store.base import IndexedFile, IndexIdentity, Store
from commonplace.store.sqlite import vector_cache
from commonplace.store.sqlite.connection import (
    ConnectionPool,
    open_connection,
    transaction,
    translated,
    vector_extension,
)
from commonplace.store.sqlite.schema import MIGRATIONS, create_words, merge_words, migrate
from commonplace.store.sqlite.snapshot import SqliteSnapshot
from commonplace.store.sqlite.writer import Writer, get_meta, set_meta, vec0_in_step
from commonplace.vectors.codec import ChunkVectors

if TYPE_CHECKING:
    from commonplace.store.sqlite.resident_vectors import ResidentVectors

__all__ = ["SqliteSnapshot", "SqliteStore", "move_damaged_aside"]

_SIDE_FILES = ("-wal", "-shm", "-journal")
_WRITER_CACHE_KIB = 16 * 1024
"""Page cache of the writer: a batch of chunks with its vectors, and the words they merge into."""
_MAX_REMEMBERED = 20_000
"""Entries of each kind that are remembered."""


def move_damaged_aside(path: Path) -> Path:
    """Move an index that cannot be read, and what SQLite keeps beside it, out of the way."""
    stamp = time.strftime("%Y%m%d-%H%M%S", time.gmtime())
    aside = path.with_name(f"{path.name}.damaged-{stamp}-{uuid.uuid4().hex[:6]}")
    for suffix in ("", *_SIDE_FILES):
        with contextlib.suppress(FileNotFoundError):
            os.replace(f"{path}{suffix}", f"{aside}{suffix}")
    return aside


class SqliteStore:
    """An index file. Any number of threads and processes may use it at once."""

    def __init__(self, path: Path, *, writable: bool = True) -> None:
        self.path = path
        self._pool = ConnectionPool(path, read_only=not writable)
        self._write_lock = threading.RLock()
        self._resident: ResidentVectors | None = None
        self._resident_lock = threading.Lock()
        self._scans = 0
        self._remembered: dict[str, tuple[object, dict[Any, Any]]] = {}
        self._identity: IndexIdentity | None = None
        self._writer = open_connection(path, read_only=not writable, cache_kib=_WRITER_CACHE_KIB)
        try:
            with translated(path):
                self._writable = not self._writer.readonly("main")
                if self._writable:
                    migrate(self._writer)
            self._identity = self.identity
        except BaseException:
            self.close()
            raise

    @classmethod
    def open(cls, path: Path) -> Self:
        """Open or create an index file; one that cannot be written is opened for reading.

        Raises:
            IndexDamagedError: It is no database.
            StoreError: It cannot be opened at all.
        """
        try:
            return cls(path)
        except IndexDamagedError:
            raise
        except StoreError:
            may_write = os.access(path, os.W_OK) and os.access(path.parent, os.W_OK)
            if may_write or not path.is_file():
                raise
            return cls(path, writable=False)

    @property
    def writable(self) -> bool:
        """Whether the index can be changed."""
        return self._writable

    @property
    def engines(self) -> Mapping[str, str]:
        """What compares ``vectors`` and what finds ``words``."""
        library, version = vector_extension()
        vectors = f"numpy, sqlite-vec {version}" if library else f"numpy (without {version})"
        return {"vectors": vectors, "words": f"FTS5 in SQLite {apsw.sqlite_lib_version()}"}

    @property
    def identity(self) -> IndexIdentity | None:
        """What the index was built with; None for a new one."""
        with translated(self.path), self._pool.borrowed() as connection:
            if _has_tables(connection):
                self._identity = SqliteSnapshot(self, connection).identity
            return self._identity

    @property
    def cached_identity(self) -> IndexIdentity | None:
        """The identity when it was last looked at or set; no query."""
        return self._identity

    def set_identity(self, identity: IndexIdentity) -> None:
        """Say what the index is built with; see `Store.set_identity`."""
        with self.writing() as connection, transaction(connection):
            before = SqliteSnapshot(self, connection).identity
            if before is None:
                create_words(connection, identity.tokenizer)
                set_meta(connection, "generation", uuid.uuid4().hex)
            elif not before.fits(identity):
                raise StoreError(
                    f"the index {self.path} was built otherwise ({before}); "
                    "build another one and let it take this one's place."
                )
            vec0_in_step(connection, identity.dimension)
            set_meta(connection, "identity", json.dumps(dataclasses.asdict(identity)))
        self._identity = identity

    @property
    def complete(self) -> bool:
        """Whether an index run ever came to its end."""
        with translated(self.path), self._pool.borrowed() as connection:
            return _has_tables(connection) and get_meta(connection, "complete") == "1"

    def mark_complete(self) -> None:
        """Say that an index run came to its end."""
        with self.writing() as connection, transaction(connection):
            if get_meta(connection, "identity") is not None:
                merge_words(connection)
            set_meta(connection, "complete", "1")

    @contextlib.contextmanager
    def snapshot(self) -> Iterator[SqliteSnapshot]:
        """Open one consistent state of the index."""
        with translated(self.path), self._pool.borrowed() as connection:
            if not self._writable and (wrong := _unreadable(connection)):
                raise self._read_only(f"{wrong} and")
            connection.execute("BEGIN")
            try:
                yield SqliteSnapshot(self, connection)
            finally:
                with contextlib.suppress(apsw.Error):
                    connection.execute("ROLLBACK")

    def write(self, files: Sequence[IndexedFile], removed: Sequence[str] = ()) -> tuple[str, ...]:
        """Replace and remove files in one transaction; see `Store.write`."""
        with self.writing() as connection, transaction(connection):
            identity = SqliteSnapshot(self, connection).identity
            if identity is None:
                raise StoreError(f"the index {self.path} has no identity; set_identity(...) first.")
            writer = Writer(connection, identity)
            # Vectors of a model that this process has not heard of yet are not mixed with its own.
            known = self._identity is None or self._identity.fits(identity)
            mine = [file for file in files if known and writer.is_current(file)]
            replaced = [file for file in mine if file.chunks is not None]
            whole = [file.record.path for file in replaced if file.keep_before is None]
            writer.remove([*removed, *whole])
            for file in replaced:
                if file.keep_before is not None:
                    writer.cut_off(file.record.path, file.keep_before)
            writer.insert(mine)
        self._identity = identity
        written = {id(file) for file in mine}
        return tuple(file.record.path for file in files if id(file) not in written)

    def keep(self, vectors: Mapping[str, ChunkVectors], *, drop: Iterable[str] = ()) -> None:
        """Put vectors of texts in the cache, and drop others; see `Store.keep`."""
        with self.writing() as connection, transaction(connection):
            identity = SqliteSnapshot(self, connection).identity
            if identity is not None and identity.model and identity.dimension:
                vector_cache.keep(connection, identity, vectors, drop)

    def replace_with(self, other: Store, *, keep_cache: int) -> None:
        """Take over everything from another SQLite store, in one step for readers.

        The other's pages are copied over this file's in a single write transaction: readers in any
        process go on with the old state until it commits, and no open file is ever renamed.
        """
        if not isinstance(other, SqliteStore):
            raise TypeError("a SQLite index can only take over another SQLite index")
        with other.writing() as source:
            vector_cache.take_over(source, self.path, keep_cache)
            with transaction(source):
                set_meta(source, "generation", uuid.uuid4().hex)
            with self.writing() as target:
                with target.backup("main", source, "main") as backup:
                    backup.step(-1)  # waits for other writers; nobody has to wait for readers
                with contextlib.suppress(apsw.BusyError):
                    target.wal_checkpoint()
        self._identity = other.identity

    def trim_vector_cache(self, max_entries: int) -> None:
        """Drop the oldest cached vectors beyond a number."""
        with self.writing() as connection:
            if vector_cache.size(connection) > max_entries:
                with transaction(connection):
                    vector_cache.trim(connection, max_entries)

    def check(self) -> None:
        """Read the whole file.

        Raises:
            IndexDamagedError: It is corrupt.
        """
        with translated(self.path), self._pool.borrowed() as connection:
            answer = connection.pragma("quick_check")
        if answer != "ok":
            raise IndexDamagedError(f"the index {self.path} is damaged ({answer}).")

    def check_words(self) -> None:
        """Hold the index of words against the chunks; one that cannot be written is taken as it is.

        Raises:
            IndexDamagedError: They differ.
        """
        if self._writable:
            with self.writing() as connection:
                connection.execute(
                    "INSERT INTO chunks_fts (chunks_fts, rank) VALUES ('integrity-check', 1)"
                )

    def keep_vectors_of(self, path: Path, *, keep: int) -> None:
        """Take over the vectors of another index into the cache, and trim it to a number."""
        with self.writing() as connection:
            vector_cache.take_over(connection, path, keep)

    def close(self) -> None:
        """Close all connections and let go of the vectors."""
        self._pool.close()
        with self._write_lock:
            self._writer.close()
        self._resident = None

    @contextlib.contextmanager
    def writing(self) -> Iterator[apsw.Connection]:
        """Hold the one connection that writes; no other thread has it meanwhile."""
        if not self._writable:
            raise self._read_only("")
        with self._write_lock, translated(self.path):
            yield self._writer

    def _read_only(self, why: str) -> IndexReadOnlyError:
        return IndexReadOnlyError(
            f"the index {self.path} {why} cannot be written. Give yourself write access to the "
            "file and its folder, or set COMMONPLACE_STATE_DIR to a folder of yours."
        )

    # -- what readers share ----------------------------------------------------------------------

    def resident_vectors(self, *, cold: Callable[[], bool]) -> ResidentVectors | None:
        """Return the matrix; None for the first of all scans, if it may go to sqlite-vec.

        A process that searches once, as the command line does, need not read all vectors.
        """
        with self._resident_lock:
            self._scans += 1
            if self._resident is None and self._scans == 1 and cold():
                return None
            if self._resident is None:
                from commonplace.store.sqlite.resident_vectors import ResidentVectors

                self._resident = ResidentVectors()
            return self._resident

    def remembered(self, kind: str, state: object) -> dict[Any, Any]:
        """Return what was looked up of a kind in a state of the index, to read and to add to."""
        known, found = self._remembered.get(kind, (None, {}))
        if known != state or len(found) > _MAX_REMEMBERED:
            found = {}
            self._remembered[kind] = (state, found)
        return found


def _has_tables(connection: apsw.Connection) -> bool:
    """Tell whether the file was ever written: one that is empty and read-only has no tables."""
    return bool(connection.pragma("user_version"))


def _unreadable(connection: apsw.Connection) -> str | None:
    """Say why a file that cannot be brought up to date cannot be read; None if it can."""
    version = connection.pragma("user_version")
    if version == len(MIGRATIONS):
        return None
    return "was written by another version of Commonplace" if version else "is empty"
