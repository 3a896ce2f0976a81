"""State database: what cannot be derived from the Markdown; beside the index, never rebuilt.

Each use opens its own connection, so that all threads and processes can share the file. Commits
are durable when they return (``synchronous = full``).
"""

from __future__ import annotations

import contextlib
import logging
import os
import time
import uuid
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import apsw

from commonplace.errors import StateError
from commonplace.system.locks import FileLease
from commonplace.system.sqlite import enable_wal, transaction

__all__ = ["SCHEMA", "StateFile", "StateLocation"]

logger = logging.getLogger(__name__)

_APPLICATION_ID = 0x636F7374
"""Application id in the file's header: "cost", Commonplace's state."""
_BUSY_TIMEOUT_MS = 10_000
_REPAIR_TIMEOUT_S = 10.0
_SCHEMA_VERSION = 2
"""``PRAGMA user_version`` of these tables; version 1 had some of them, and was never released."""

SCHEMA = (
    f"PRAGMA application_id = {_APPLICATION_ID}",
    # Flush journal: messages that leave the context window, until their notes are written.
    """CREATE TABLE IF NOT EXISTS flush_entries (
        id INTEGER PRIMARY KEY AUTOINCREMENT, workspace TEXT NOT NULL, thread TEXT NOT NULL,
        reason TEXT NOT NULL, moment TEXT NOT NULL, tokens INTEGER NOT NULL,
        messages TEXT NOT NULL, replies TEXT NOT NULL DEFAULT '[]',
        attempts INTEGER NOT NULL DEFAULT 0, error TEXT, owner TEXT)""",
    # Hashes of all messages that are, or were, in an entry of the journal.
    """CREATE TABLE IF NOT EXISTS flush_marks (
        workspace TEXT NOT NULL, thread TEXT NOT NULL, hash BLOB NOT NULL,
        PRIMARY KEY (workspace, thread, hash)) WITHOUT ROWID""",
    # Pending jobs of batch APIs: prefixes of the texts' hashes, in order, time of submission
    # (seconds since the epoch), number of attempts.
    """CREATE TABLE IF NOT EXISTS embedding_jobs (
        provider TEXT NOT NULL, model TEXT NOT NULL, endpoint TEXT NOT NULL, job TEXT NOT NULL,
        texts BLOB NOT NULL, submitted REAL NOT NULL, tries INTEGER NOT NULL,
        PRIMARY KEY (provider, model, endpoint, job)) WITHOUT ROWID""",
)
"""Statements that create the tables; each changes nothing where its table is there."""


@dataclass(frozen=True, slots=True)
class StateLocation:
    """Paths of a workspace's state, which no rebuild of the index touches.

    Attributes:
        database: The state database: the flush journal, and the jobs of batch APIs.
        sessions: The folder of session files; it may not exist.
        owner: Name of the index that the state belongs to: a folder may hold several.
    """

    database: Path
    sessions: Path
    owner: str


class StateFile:
    """The state database of a workspace; without a path, a private one in memory."""

    def __init__(self, path: Path | None) -> None:
        self.path = path
        self._kept: apsw.Connection | None = None
        if path is None:
            self._target = f"file:/commonplace-{uuid.uuid4().hex}?vfs=memdb"
            self._kept = self._open()  # the database lives as long as one connection
        else:
            self._target = str(path)

    @contextlib.contextmanager
    def kept_open(self) -> Iterator[None]:
        """Keep a connection open during a block: closing the last one runs a checkpoint.

        Raises:
            StateError: The file cannot be opened.
        """
        with self._translated():
            connection = self._opened()
        try:
            yield
        finally:
            with contextlib.suppress(apsw.Error):
                connection.close()

    @contextlib.contextmanager
    def transaction(self) -> Iterator[apsw.Connection]:
        """Run a block in one write transaction, durable at its end; an exception rolls it back.

        Raises:
            StateError: The file cannot be opened or written.
        """
        with self._translated():
            connection = self._opened()
            try:
                with transaction(connection):
                    yield connection
            finally:
                connection.close()

    def rows(self, statement: str, values: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
        """Return the rows of a query; none when the file does not exist.

        Raises:
            StateError: The file cannot be read.
        """
        if self.path is not None and not os.path.exists(self.path):
            return []
        with self._translated():
            connection = self._opened()
            try:
                return list(connection.execute(statement, values))
            finally:
                connection.close()

    def _opened(self) -> apsw.Connection:
        try:
            return self._open()
        except (apsw.NotADBError, apsw.CorruptError) as error:
            self._move_damaged_aside(error)
            return self._open()

    def _open(self) -> apsw.Connection:
        if self.path is not None:
            _create_private(self.path)
        flags = apsw.SQLITE_OPEN_READWRITE | apsw.SQLITE_OPEN_CREATE | apsw.SQLITE_OPEN_URI
        connection = apsw.Connection(self._target, flags=flags)
        try:
            connection.set_busy_timeout(_BUSY_TIMEOUT_MS)
            if self.path is not None:
                enable_wal(connection, timeout_ms=_BUSY_TIMEOUT_MS)
            connection.pragma("synchronous", "full")
            connection.pragma("secure_delete", True)  # conversations do not stay in free pages
            _create_tables(connection)
        except BaseException:
            connection.close()
            raise
        return connection

    def _move_damaged_aside(self, error: Exception) -> None:
        if self.path is None:
            raise error
        lease = FileLease(self.path.with_name(self.path.name + ".repair"))
        with lease.held(timeout_s=_REPAIR_TIMEOUT_S) as got:
            if not got:
                raise error
            try:
                self._open().close()  # another process has replaced it already
            except (apsw.NotADBError, apsw.CorruptError):
                aside = f"{self.path}.damaged-{time.time_ns()}"
                for suffix in ("-wal", "-shm"):
                    with contextlib.suppress(FileNotFoundError):
                        os.replace(f"{self.path}{suffix}", f"{aside}{suffix}")
                os.replace(self.path, aside)
                logger.warning(
                    "the state file %s is damaged (%s); it is kept as %s, and a new one is begun",
                    self.path,
                    error,
                    aside,
                )

    @contextlib.contextmanager
    def _translated(self) -> Iterator[None]:
        try:
            yield
        except (apsw.Error, OSError) as error:
            raise StateError(
                f"the state file {self.path or '(in memory)'} failed "
                f"({type(error).__name__}: {error}). Check the disk and its free space, and that "
                "the folder is yours to write, or set COMMONPLACE_STATE_DIR to a folder of yours."
            ) from error


def _create_private(path: Path) -> None:
    """Create the file readable by its owner only: it contains conversations."""
    path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    if not path.exists():
        os.close(os.open(path, os.O_RDWR | os.O_CREAT, 0o600))


def _create_tables(connection: apsw.Connection) -> None:
    if connection.pragma("user_version") == _SCHEMA_VERSION:
        return
    with transaction(connection):
        if connection.pragma("user_version") > _SCHEMA_VERSION:
            raise StateError(
                f"the state file {connection.filename} was written by a newer version of "
                "Commonplace. Upgrade; do not delete it: it may hold what was not written down yet."
            )
        for statement in SCHEMA:
            connection.execute(statement)
        connection.pragma("user_version", _SCHEMA_VERSION)
