"""How both of a workspace's SQLite files, the index and the state, are written."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Iterator

import apsw

__all__ = ["log_ahead", "transaction"]

_RETRY_S = 0.005


def log_ahead(connection: apsw.Connection, *, timeout_ms: int) -> None:
    """Turn on WAL; SQLite does not wait by itself when another process does so just now.

    Raises:
        apsw.BusyError: Somebody else held the file for all that time.
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


@contextlib.contextmanager
def transaction(connection: apsw.Connection) -> Iterator[None]:
    """Write in one transaction: all of it, or, when anything is raised, nothing."""
    connection.execute("BEGIN IMMEDIATE")
    try:
        yield
        connection.execute("COMMIT")
    except BaseException:
        if connection.in_transaction:
            connection.execute("ROLLBACK")
        raise
