"""Connections of the SQLite engine: opening, pooling, and the translation of SQLite's errors."""

from __future__ import annotations

import contextlib
import functools
import json
import os
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

import apsw

from commonplace.errors import (
    IndexBusyError,
    IndexDamagedError,
    IndexReadOnlyError,
    StoreError,
)
from commonplace.store.records import IndexIdentity
from commonplace.system import forks
from commonplace.system.files import create_private, refuse_linked_logs
from commonplace.system.transactions import enable_wal, transaction
from commonplace.system.waits import WRITER_WAIT_S, busy_handler, seconds_to_wait

if TYPE_CHECKING:
    from commonplace.store.resident_vectors import ResidentVectors

__all__ = [
    "CLOSED",
    "ConnectionPool",
    "IndexFile",
    "damaged",
    "has_tables",
    "load_identity",
    "open_connection",
    "transaction",
    "translated",
]

_WRITER_CACHE_KIB = 48 * 1024
"""Page cache while writing: a batch of chunks with its vectors, and the words they merge into. With
16 MiB pages leave it before they are full, and a first index writes a seventh more."""
_MAX_CACHED = 20_000
"""Entries of each kind of lookups that are cached."""
_CACHE_KIB = 4096
"""Page cache of a connection: the working set of a search, not a copy of the file."""

_PAGE_BYTES = 16_384
"""Ten vectors fill such a page; SQLite's 4 KiB leave a quarter empty, and writes cost double."""

_LOG_BYTES = 32 * 1024 * 1024
"""Size of the log at which it is copied into the index: pages that many batches touch go once."""

CLOSED = "the memory is closed; open it again with Memory.open(...)."


def open_connection(path: Path, *, read_only: bool = False) -> apsw.Connection:
    """Open the index file, with sqlite-vec where it can be loaded.

    Raises:
        StoreError: The file cannot be opened, is no database, or cannot be written.
    """
    # The module of the extension keeps a table of vectors, too, over a connection.
    from commonplace.store.sqlite.vector_extension import load_vector_extension

    with translated(path), forks.gate:
        if not read_only:
            _create(path)
        connection = _open_for_reading(path) if read_only else apsw.Connection(str(path))
        try:
            connection.set_busy_handler(busy_handler(WRITER_WAIT_S))
            if not read_only:
                connection.pragma("page_size", _PAGE_BYTES)
                enable_wal(connection, timeout_s=WRITER_WAIT_S)
                connection.pragma("synchronous", "normal")
                connection.pragma("wal_autocheckpoint", _LOG_BYTES // _PAGE_BYTES)
                connection.pragma("journal_size_limit", _LOG_BYTES)
            connection.pragma("cache_size", -_CACHE_KIB)
            connection.pragma("foreign_keys", True)
            load_vector_extension(connection)
        except BaseException:
            connection.close()
            raise
    return connection


def _create(path: Path) -> None:
    try:
        create_private(path)
        refuse_linked_logs(path)
    except OSError as error:
        raise apsw.CantOpenError(error.strerror or str(error)) from error


def _open_for_reading(path: Path) -> apsw.Connection:
    uri = path.absolute().as_uri()
    flags = apsw.SQLITE_OPEN_READONLY | apsw.SQLITE_OPEN_URI
    connection = apsw.Connection(f"{uri}?mode=ro", flags=flags)
    try:
        connection.pragma("schema_version")
    except (apsw.CantOpenError, apsw.ReadOnlyError):
        # A read-only folder has no shared memory of another process, and none can be created in it:
        # the file is opened as immutable.
        connection.close()
        return apsw.Connection(f"{uri}?immutable=1", flags=flags)
    except BaseException:
        connection.close()
        raise
    return connection


def has_tables(connection: apsw.Connection) -> bool:
    """Return whether the file has tables: one that is empty and read-only has none."""
    with forks.gate:
        return bool(connection.pragma("user_version"))


@contextlib.contextmanager
def translated(path: Path) -> Iterator[None]:
    """Translate SQLite's errors into `StoreError`, each with its remedy."""
    try:
        yield
    except apsw.ConnectionClosedError as error:
        raise StoreError(CLOSED) from error
    except (apsw.NotADBError, apsw.CorruptError, UnicodeDecodeError) as error:
        raise damaged(path, error) from error
    except (apsw.BusyError, apsw.LockedError) as error:
        raise IndexBusyError(
            f"the index {path} was held by another writer for too long. Try again when it is done."
        ) from error
    except (apsw.ReadOnlyError, apsw.PermissionsError) as error:
        raise IndexReadOnlyError(
            f"the index {path} cannot be written ({error}). Give yourself write access to the "
            "file and its folder, or set COMMONPLACE_STATE_DIR to a folder of yours."
        ) from error
    except apsw.FullError as error:
        raise StoreError(
            f"the disk of the index {path} is full. Free some space and index again; "
            "what was indexed before is still there."
        ) from error
    except apsw.CantOpenError as error:
        raise StoreError(
            f"the index {path} cannot be opened ({error}). Check that its folder exists and is "
            "yours to write, or set COMMONPLACE_STATE_DIR to a folder of yours."
        ) from error
    except apsw.IOError as error:
        raise StoreError(
            f"the disk failed under the index {path} ({error}). Check the disk and its free space."
        ) from error
    except apsw.Error as error:
        kind = IndexDamagedError if _means_damage(error) else StoreError
        raise kind(
            f"the index {path} failed ({type(error).__name__}: {error}). "
            "It can be deleted: it is rebuilt from the Markdown files."
        ) from error


def damaged(path: Path | str, why: object) -> IndexDamagedError:
    """Return the error of a damaged index, with its remedy."""
    remedy = "It can be deleted: it is rebuilt from the Markdown files."
    return IndexDamagedError(f"the index {path} is damaged ({why}). {remedy}")


def load_identity(meta: dict[str, str], name: str) -> IndexIdentity | None:
    """Return the identity from the index's notes on itself; None for a new index."""
    text = meta.get("identity")
    try:
        return None if text is None else _identity(text)
    except (TypeError, ValueError) as error:
        raise damaged(name, f"it does not say what it was built with: {error}") from error


@functools.lru_cache(maxsize=16)
def _identity(text: str) -> IndexIdentity:
    return IndexIdentity(**json.loads(text))


def _means_damage(error: apsw.Error) -> bool:
    """Return whether an error means a missing table, or pages that sqlite-vec cannot read."""
    signs = ("no such table", "vectors blob")
    return isinstance(error, apsw.SQLError) and any(sign in str(error) for sign in signs)


class ConnectionPool:
    """Connection pool: it grows to the number of concurrent users, one of them the writer."""

    def __init__(self, path: Path, *, read_only: bool = False) -> None:
        self._path = path
        self._read_only = read_only
        self._idle: list[apsw.Connection] = []
        self._lock = threading.Lock()
        self._closed = False

    @contextlib.contextmanager
    def borrowed(self) -> Iterator[apsw.Connection]:
        """Borrow a connection; it is returned to the pool, or closed when the pool is closed.

        The one that was returned last is lent first: an index that one thread at a time uses has
        one connection, and thus three open files.
        """
        with self._lock:
            if self._closed:
                raise StoreError(CLOSED)
            connection = self._idle.pop() if self._idle else None
        if connection is None:
            connection = open_connection(self._path, read_only=self._read_only)
        try:
            yield connection
        finally:
            with self._lock:
                if self._closed:
                    with forks.gate:
                        connection.close()
                else:
                    self._idle.append(connection)

    def close(self) -> None:
        """Close the idle connections; borrowed ones are closed when they are returned."""
        with self._lock:
            self._closed = True
            with forks.gate:
                for connection in self._idle:
                    connection.close()
            self._idle.clear()


class IndexFile:
    """An open index file: its connections, and the caches that its snapshots share.

    Args:
        path: The file; it is created where it is missing.
        writable: Whether it is opened for writing.

    Raises:
        IndexDamagedError: It is no database.
        StoreError: It cannot be opened.
    """

    def __init__(self, path: Path, *, writable: bool = True) -> None:
        self.path = path
        self.pool = ConnectionPool(path, read_only=not writable)
        self._write_lock = threading.RLock()
        self.identity: IndexIdentity | None = None
        """Identity when it was last read or set."""
        self.complete = False
        """Whether an index run is known to have ended: an index stays complete."""
        self._words_compared = False
        self._resident: ResidentVectors | None = None
        self._resident_lock = threading.Lock()
        self._scans = 0
        self._cached: dict[str, tuple[object, dict[Any, Any]]] = {}
        try:
            with self.pool.borrowed() as connection, translated(path):
                self.writable = not connection.readonly("main")
        except BaseException:
            self.close()
            raise
        self._inode = _inode(path)

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

    @contextlib.contextmanager
    def writing(self) -> Iterator[apsw.Connection]:
        """Borrow a connection as the writer, which one thread is at a time."""
        if not self._write_lock.acquire(timeout=seconds_to_wait(WRITER_WAIT_S)):
            raise apsw.BusyError("another thread writes")
        try:
            with self.pool.borrowed() as connection:
                with forks.gate:
                    connection.pragma("cache_size", -_WRITER_CACHE_KIB)
                try:
                    yield connection
                finally:
                    with forks.gate:
                        connection.pragma("cache_size", -_CACHE_KIB)
        finally:
            self._write_lock.release()

    def is_current(self) -> bool:
        """Return whether the path still names this file: it may have been deleted or replaced."""
        return _inode(self.path) == self._inode

    def resident_vectors(self, *, cold: Callable[[], bool]) -> ResidentVectors | None:
        """Return the matrix of all vectors; None for a process's first scan, where `cold` allows.

        A process that searches once, as the command line does, need not read all vectors:
        sqlite-vec scans the file instead.
        """
        with self._resident_lock:
            self._scans += 1
            if self._resident is None and self._scans == 1 and cold():
                return None
            if self._resident is None:
                from commonplace.store.resident_vectors import ResidentVectors

                self._resident = ResidentVectors()
            return self._resident

    def compare_words(self, connection: apsw.Connection) -> None:
        """Compare the words with their checksums, before this process's first search.

        Raises:
            IndexDamagedError: They are not as they were written.
        """
        if not self._words_compared:
            from commonplace.store.sqlite.schema import check_words

            check_words(connection)
            self._words_compared = True

    def cached(self, kind: str, state: object) -> dict[Any, Any]:
        """Return the cache of one kind of lookups in one state of the index."""
        known, found = self._cached.get(kind, (None, {}))
        if known != state or len(found) > _MAX_CACHED:
            found = {}
            self._cached[kind] = (state, found)
        return found

    def close(self) -> None:
        """Close all connections and release the vectors."""
        with self._write_lock:
            self.pool.close()
        self._resident = None


def _inode(path: Path) -> tuple[int, int] | None:
    try:
        info = os.stat(path)
    except OSError:
        return None
    return info.st_dev, info.st_ino
