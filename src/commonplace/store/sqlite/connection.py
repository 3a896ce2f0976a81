"""Connections to the index file: how they are opened, pooled, and how their errors read."""

from __future__ import annotations

import contextlib
import functools
import re
import threading
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path

import apsw

from commonplace.errors import (
    IndexBusyError,
    IndexDamagedError,
    IndexReadOnlyError,
    StoreError,
)
from commonplace.system.sqlite import enable_wal, transaction

__all__ = [
    "BUSY_TIMEOUT_MS",
    "ConnectionPool",
    "has_vec0",
    "open_connection",
    "transaction",
    "translated",
    "vector_extension",
]

BUSY_TIMEOUT_MS = 30_000
"""How long a writer waits for another process before it gives up."""

_CACHE_KIB = 4096
"""Page cache of a connection: the working set of a search, not a copy of the file."""

_PAGE_BYTES = 16_384
"""Ten vectors fill such a page; SQLite's 4 KiB leave a quarter empty, and writes cost double."""

_LOG_BYTES = 32 * 1024 * 1024
"""Size of the log at which it is copied into the index: pages that many batches touch go once."""

_CLOSED = "the memory is closed; open it again with Memory.open(...)."


@functools.cache
def vector_extension() -> tuple[str | None, str]:
    """Find sqlite-vec: its library's path and version, or None and why it is not there.

    Its Python module is not imported: that loads numpy, and by way of a submodule, which fails for
    whoever begins to import numpy in another thread at that moment.
    """
    spec = find_spec("sqlite_vec")
    if spec is None or spec.origin is None:
        return None, "sqlite-vec is not installed"
    module = Path(spec.origin)
    version = re.search(r'__version__ = "(.+?)"', module.read_text(encoding="utf-8"))
    return str(module.with_name("vec0")), version[1] if version else ""


def open_connection(
    path: Path, *, read_only: bool = False, cache_kib: int = _CACHE_KIB
) -> apsw.Connection:
    """Open the index file, with sqlite-vec where it can be loaded.

    Raises:
        StoreError: The file cannot be opened, is no database, or cannot be written.
    """
    with translated(path):
        connection = _open_for_reading(path) if read_only else apsw.Connection(str(path))
        try:
            connection.set_busy_timeout(BUSY_TIMEOUT_MS)
            if not read_only:
                connection.pragma("page_size", _PAGE_BYTES)
                enable_wal(connection, timeout_ms=BUSY_TIMEOUT_MS)
                connection.pragma("synchronous", "normal")
                connection.pragma("wal_autocheckpoint", _LOG_BYTES // _PAGE_BYTES)
                connection.pragma("journal_size_limit", _LOG_BYTES)
            connection.pragma("cache_size", -cache_kib)
            connection.pragma("foreign_keys", True)
            load_vector_extension(connection)
        except BaseException:
            connection.close()
            raise
    return connection


def _open_for_reading(path: Path) -> apsw.Connection:
    uri = path.absolute().as_uri()
    flags = apsw.SQLITE_OPEN_READONLY | apsw.SQLITE_OPEN_URI
    connection = apsw.Connection(f"{uri}?mode=ro", flags=flags)
    try:
        connection.pragma("schema_version")
    except (apsw.CantOpenError, apsw.ReadOnlyError):
        # Where no other process is at work, SQLite has no shared memory to join and no folder to
        # make it in: the file is taken as it is.
        connection.close()
        return apsw.Connection(f"{uri}?immutable=1", flags=flags)
    except BaseException:
        connection.close()
        raise
    return connection


def load_vector_extension(connection: apsw.Connection) -> bool:
    """Load sqlite-vec into a connection; False where this platform cannot."""
    library, _ = vector_extension()
    if library is None:
        return False
    try:
        connection.enable_load_extension(True)
        connection.load_extension(library)
        connection.enable_load_extension(False)
    except (apsw.Error, AttributeError):
        return False
    return True


def has_vec0(connection: apsw.Connection) -> bool:
    """Tell whether sqlite-vec is loaded into a connection."""
    found = connection.execute("SELECT count(*) FROM pragma_module_list WHERE name = 'vec0'").get
    return bool(found)


@contextlib.contextmanager
def translated(path: Path) -> Iterator[None]:
    """Turn SQLite's errors into ours, with what to do about them."""
    try:
        yield
    except apsw.ConnectionClosedError as error:
        raise StoreError(_CLOSED) from error
    except (apsw.NotADBError, apsw.CorruptError, UnicodeDecodeError) as error:
        raise IndexDamagedError(
            f"the index {path} is damaged ({error}). It can be deleted: it is rebuilt from the "
            "Markdown files."
        ) from error
    except (apsw.BusyError, apsw.LockedError) as error:
        raise IndexBusyError(
            f"the index {path} was held by another process for {BUSY_TIMEOUT_MS // 1000} s. "
            "Try again when it is done."
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
        kind = IndexDamagedError if _tells_damage(error) else StoreError
        raise kind(
            f"the index {path} failed ({type(error).__name__}: {error}). "
            "It can be deleted: it is rebuilt from the Markdown files."
        ) from error


def _tells_damage(error: apsw.Error) -> bool:
    """Tell whether a table is gone, or sqlite-vec cannot read its pages."""
    signs = ("no such table", "vectors blob")
    return isinstance(error, apsw.SQLError) and any(sign in str(error) for sign in signs)


class ConnectionPool:
    """Readers' connections: as many as are reading at once, kept for the next ones."""

    def __init__(self, path: Path, *, read_only: bool = False) -> None:
        self._path = path
        self._read_only = read_only
        self._idle: list[apsw.Connection] = []
        self._lock = threading.Lock()
        self._closed = False

    @contextlib.contextmanager
    def borrowed(self) -> Iterator[apsw.Connection]:
        """Lend a connection; it goes back afterwards, and away when the pool has been closed."""
        with self._lock:
            if self._closed:
                raise StoreError(_CLOSED)
            connection = self._idle.pop() if self._idle else None
        if connection is None:
            connection = open_connection(self._path, read_only=self._read_only)
        try:
            yield connection
        finally:
            with self._lock:
                if self._closed:
                    connection.close()
                else:
                    self._idle.append(connection)

    def close(self) -> None:
        """Close the idle connections; borrowed ones close when they come back."""
        with self._lock:
            self._closed = True
            for connection in self._idle:
                connection.close()
            self._idle.clear()
