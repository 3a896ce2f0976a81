"""Database files of SQLite: durable, for what the Markdown does not hold.

Each use has a connection to itself, so that all threads and processes can share the file. Commits
are durable when they return (``synchronous = full``). A damaged file is moved aside, never deleted.
"""

from __future__ import annotations

import contextlib
import os
import threading
import uuid
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any, ClassVar, NamedTuple

import apsw

from commonplace.errors import StateError
from commonplace.system import forks
from commonplace.system.files import create_private, link_new, refuse_linked_logs
from commonplace.system.transactions import enable_wal, overwrite_free_pages, transaction
from commonplace.system.waits import busy_handler

__all__ = [
    "DatabaseFile",
    "DatabaseFormat",
]

_BUSY_TIMEOUT_S = 10.0
_DAMAGE = (apsw.NotADBError, apsw.CorruptError, apsw.SQLError)
"""Errors of a damaged file; its tables may be there under other names."""
_UNWRITABLE = (apsw.ReadOnlyError, apsw.CantOpenError, apsw.FullError, apsw.IOError)
"""Errors of opening a file that may still be read: its disk is full, or cannot be written."""

_REPLACED: list[apsw.Connection] = []
"""Connections to files that were replaced: closing one would delete the new file's log."""


class DatabaseFormat(NamedTuple):
    """Format of a database file.

    Attributes:
        name: What messages call the file, such as "state file".
        application_id: Number in the file's header that says whose it is.
        version: ``PRAGMA user_version`` of the tables.
        schema: Statements that create the tables, or make those of an earlier version into them.
        repair: Statements that remove what refers to rows that were lost with a damaged page.
        functions: Functions of one value that the statements call, by name.
    """

    name: str
    application_id: int
    version: int
    schema: tuple[str, ...]
    repair: tuple[str, ...] = ()
    functions: Mapping[str, Callable[..., Any]] = MappingProxyType({})


class _Opened(NamedTuple):
    """An open connection, and the file that it is to."""

    connection: apsw.Connection
    key: tuple[int, ...] | None


class DatabaseFile:
    """Database file of one format, which subclasses name; without a path, a private one in memory.

    Each verb raises a `StateError` where the file cannot be opened, read or written.
    """

    format: ClassVar[DatabaseFormat]
    stays_open: ClassVar[bool] = False
    """Whether a connection stays open from the first write on, until `close`, for the uses that
    follow: closing the last one copies the write-ahead log, and the first commit of a new one syncs
    the folder; each takes longer than a small change."""

    def __init__(self, path: Path | None) -> None:
        self.path = path
        self._lock = threading.Lock()
        forks.renewed_in_child(self)
        self._kept: _Opened | None = None
        self._is_closed = False
        self._damage: str | None = None
        if path is None:
            self._target = f"file:/commonplace-{uuid.uuid4().hex}?vfs=memdb"
            # The database lives as long as one connection.
            self._kept = _Opened(self._open(), self._key())
        else:
            self._target = str(path)

    def renew(self) -> None:
        """Begin again in a forked process; its parent's connection is of another key."""
        self._lock = threading.Lock()

    @contextlib.contextmanager
    def kept_open(self) -> Iterator[None]:
        """Keep a connection open during a block: closing the last one runs a checkpoint."""
        with self._translated(), forks.gate:
            opened = _Opened(self._opened(), self._key())
        try:
            yield
        finally:
            with contextlib.suppress(apsw.Error):
                self._end(opened)

    @contextlib.contextmanager
    def transaction(self, *, durable: bool = True) -> Iterator[apsw.Connection]:
        """Run a block in one write transaction; an exception rolls it back.

        Args:
            durable: Whether it survives a power failure from its end on; if not, it survives the
                end of the process.
        """
        with (
            self._translated(),
            forks.gate,
            self._borrowed(stays_open=self.stays_open) as connection,
        ):
            connection.pragma("synchronous", "full" if durable else "normal")
            with transaction(connection):
                yield connection

    def overwrite_free_pages(self) -> bool:
        """Rewrite the file without what was deleted from it; False while a reader prevents it."""
        if self.path is not None and not os.path.exists(self.path):
            return True
        with self._translated(), forks.gate, self._borrowed() as connection:
            return overwrite_free_pages(connection)

    def rows(self, statement: str, values: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
        """Return the rows of a query; none when the file does not exist."""
        if self.path is not None and not os.path.exists(self.path):
            return []
        with self._translated():
            try:
                return self._rows(statement, values)
            except _DAMAGE as error:
                self._replace_damaged(error)
                return self._rows(statement, values)

    def _rows(self, statement: str, values: tuple[Any, ...]) -> list[tuple[Any, ...]]:
        with forks.gate, self._borrowed(read_only=True) as connection:
            return list(connection.execute(statement, values))

    def close(self, *, for_good: bool = False) -> None:
        """Close the connection that stayed open; the file can be used again.

        Args:
            for_good: Whether no connection stays open from now on: what comes late closes its own.
        """
        self._is_closed = self._is_closed or for_good
        if self.path is not None and (opened := self._taken()) is not None:
            self._end(opened)

    def take_damage(self) -> str | None:
        """Return what was found of a damaged file that a use has replaced, once; None for none."""
        damage, self._damage = self._damage, None
        return damage

    @contextlib.contextmanager
    def _borrowed(
        self, *, stays_open: bool = False, read_only: bool = False
    ) -> Iterator[apsw.Connection]:
        """Borrow the connection that stays open, or another while a thread has that one.

        Args:
            stays_open: Whether one that is opened for this stays open.
            read_only: Whether a file that cannot be written is opened for reading.
        """
        opened = self._taken()
        if opened is not None and not self._is_usable(opened):
            self._end(opened)
            opened = None
        stays_open = stays_open or opened is not None
        if opened is None:
            key = self._key()
            try:
                connection = self._opened()
            except (*_UNWRITABLE, PermissionError):
                if not read_only:
                    raise
                connection, stays_open = self._opened_read_only(), False
            opened = _Opened(connection, key or self._key())
        try:
            yield opened.connection
        except apsw.Error:
            stays_open = self.path is None  # the next one tells whether the file is damaged
            raise
        finally:
            with self._lock:
                if stays_open and self._kept is None and not (self._is_closed and self.path):
                    self._kept, opened = opened, None
            if opened is not None:
                self._end(opened)

    def _taken(self) -> _Opened | None:
        """Take the connection that stays open; None while another thread has it."""
        with self._lock:
            opened, self._kept = self._kept, None
        return opened

    def _is_usable(self, opened: _Opened) -> bool:
        """Return whether the file is still the same, and of this version."""
        with contextlib.suppress(apsw.Error):
            version = opened.connection.pragma("user_version")
            return opened.key == self._key() and bool(version == self.format.version)
        return False

    def _end(self, opened: _Opened) -> None:
        """Close a connection, unless its file was replaced."""
        if opened.key == self._key():
            with forks.gate:
                opened.connection.close()
        else:
            _REPLACED.append(opened.connection)

    def _key(self) -> tuple[int, ...] | None:
        """Return what tells the file from another one of the same name, and from a fork's."""
        if self.path is None:
            return (os.getpid(),)
        try:
            info = os.stat(self.path)
        except OSError:
            return None
        return os.getpid(), info.st_dev, info.st_ino

    def _opened(self) -> apsw.Connection:
        try:
            return self._open()
        except _DAMAGE as error:
            self._replace_damaged(error)
            return self._open()

    def _replace_damaged(self, error: Exception) -> None:
        """Begin a new file with what can be read of a damaged one, which is kept aside."""
        if self.path is None:
            raise error
        from commonplace.system.salvage import replace_damaged

        self.close()
        replace_damaged(self, error)
        self._damage = str(error)

    def _opened_read_only(self) -> apsw.Connection:
        """Open a file that cannot be written, or whose folder cannot."""
        assert self.path is not None
        uri, flags = self.path.as_uri(), apsw.SQLITE_OPEN_READONLY | apsw.SQLITE_OPEN_URI
        connection = apsw.Connection(f"{uri}?mode=ro", flags=flags)
        try:
            connection.pragma("schema_version")
        except _UNWRITABLE:
            # Another process has no shared memory there, and none can be created.
            connection.close()
            connection = apsw.Connection(f"{uri}?immutable=1", flags=flags)
        if connection.pragma("user_version") == self.format.version:
            self._add_functions(connection)
            return connection
        connection.close()
        raise apsw.ReadOnlyError("it was written by another version")

    def _open(self) -> apsw.Connection:
        if self.path is not None:
            if not os.path.lexists(self.path):
                self._create(self.path)
            create_private(self.path)
            refuse_linked_logs(self.path)
            if not os.path.getsize(self.path):
                raise apsw.NotADBError("it is empty")
        flags = apsw.SQLITE_OPEN_READWRITE | apsw.SQLITE_OPEN_CREATE | apsw.SQLITE_OPEN_URI
        connection = apsw.Connection(self._target, flags=flags)
        try:
            connection.set_busy_handler(busy_handler(_BUSY_TIMEOUT_S))
            if self.path is not None:
                enable_wal(connection, timeout_s=_BUSY_TIMEOUT_S)
            connection.pragma("synchronous", "full")
            connection.pragma("fullfsync", True)  # macOS
            connection.pragma("secure_delete", True)  # conversations do not stay in free pages
            self._create_tables(connection)
        except BaseException:
            connection.close()
            raise
        return connection

    def _create(self, path: Path) -> None:
        """Create the file with its tables under another name: one that is empty was truncated."""
        new = path.with_name(f"{path.name}.new-{uuid.uuid4().hex}")
        create_private(new)
        try:
            with contextlib.closing(apsw.Connection(str(new))) as connection:
                connection.pragma("journal_mode", "memory")
                connection.pragma("synchronous", "full")
                connection.pragma("fullfsync", True)
                self._create_tables(connection)
            with contextlib.suppress(FileExistsError):  # another process was faster
                link_new(new, path)
        finally:
            new.unlink(missing_ok=True)

    def _create_tables(self, connection: apsw.Connection) -> None:
        name, application_id, version, schema, *_ = self.format
        self._add_functions(connection)
        if connection.pragma("user_version") == version:
            return
        with transaction(connection):
            found = connection.pragma("user_version")
            if found == version:
                return  # another process created them in the meantime
            if found > version:
                raise StateError(
                    f"the {name} {connection.filename} was written by a newer version of "
                    "Commonplace. Upgrade; do not delete it: what it holds is nowhere else."
                )
            connection.pragma("application_id", application_id)
            for statement in schema:
                connection.execute(statement)
            connection.pragma("user_version", version)

    def _add_functions(self, connection: apsw.Connection) -> None:
        for name, function in self.format.functions.items():
            connection.create_scalar_function(name, function, 1, deterministic=True)

    @contextlib.contextmanager
    def _translated(self) -> Iterator[None]:
        try:
            yield
        except _DAMAGE as error:
            with contextlib.suppress(apsw.Error, OSError):
                self._replace_damaged(error)
            raise StateError(
                f"the {self.format.name} {self.path} was damaged ({error}); what could be read of "
                "it is in a new file, and it is kept beside that. Nothing was written: try again."
            ) from error
        except (apsw.Error, OSError, UnicodeDecodeError) as error:
            raise StateError(
                f"the {self.format.name} {self.path or '(in memory)'} failed "
                f"({type(error).__name__}: {error}). Check the disk and its free space, and that "
                "the folder is yours to write, or set COMMONPLACE_STATE_DIR to a folder of yours."
            ) from error
