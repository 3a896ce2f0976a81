"""Transactions of SQLite: one writer at a time, with a write-ahead log, and no forks meanwhile."""

from __future__ import annotations

import contextlib
import itertools
import time
from collections.abc import Iterator

import apsw

from commonplace.system import forks
from commonplace.system.waits import busy_handler

__all__ = ["enable_wal", "overwrite_free_pages", "transaction"]

_RETRY_S = 0.005


def enable_wal(connection: apsw.Connection, *, timeout_s: float) -> None:
    """Enable write-ahead logging; SQLite's own busy timeout does not apply to this pragma.

    Raises:
        apsw.BusyError: Another process held the file all that time.
    """
    waits = busy_handler(timeout_s)
    for tries in itertools.count():
        try:
            with forks.gate:
                connection.pragma("journal_mode", "wal")
                return
        except apsw.BusyError:
            if not waits(tries):
                raise


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
    with forks.gate:
        connection.execute("BEGIN IMMEDIATE")
        try:
            yield
            connection.execute("COMMIT")
        except BaseException:
            if connection.in_transaction:
                connection.execute("ROLLBACK")
            raise
