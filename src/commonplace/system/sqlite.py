"""SQLite: write-ahead logging and transactions, for the index and the state database."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Iterator

import apsw

__all__ = ["enable_wal", "overwrite_free_pages", "transaction"]

_RETRY_S = 0.005


def enable_wal(connection: apsw.Connection, *, timeout_ms: int) -> None:
    """Enable write-ahead logging, and retry while another process does the same.

    SQLite's own busy timeout does not apply to this pragma.

    Raises:
        apsw.BusyError: Another process held the file all that time.
    """
    deadline = time.monotonic() + timeout_ms / 1000
    while True:
        try:
            connection.pragma("journal_mode", "wal")
        except apsw.BusyError:
            if time.monotonic() > deadline:
                raise
            time.sleep(_RETRY_S)
        else:
            return


def overwrite_free_pages(connection: apsw.Connection, *, timeout_s: float = 5.0) -> bool:
    """Rewrite a database without what was deleted from it, and truncate its log.

    Returns:
        Whether nothing is left: False while another connection reads an older state from the log.
    """
    deadline = time.monotonic() + timeout_s
    while True:
        try:
            connection.execute("VACUUM")
            connection.wal_checkpoint(mode=apsw.SQLITE_CHECKPOINT_TRUNCATE)
        except (apsw.BusyError, apsw.LockedError):
            if time.monotonic() > deadline:
                return False
            time.sleep(_RETRY_S)
        else:
            return True


@contextlib.contextmanager
def transaction(connection: apsw.Connection) -> Iterator[None]:
    """Run a block in one write transaction; an exception rolls all of it back."""
    connection.execute("BEGIN IMMEDIATE")
    try:
        yield
        connection.execute("COMMIT")
    except BaseException:
        if connection.in_transaction:
            connection.execute("ROLLBACK")
        raise
