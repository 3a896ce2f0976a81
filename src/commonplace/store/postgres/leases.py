"""Leases of the PostgreSQL engine: advisory locks, held by a transaction that is open meanwhile.

A lock of a transaction ends with it, and the transaction with its connection, so a lease ends with
its process. The server probes a silent connection, so that a lease ends with its host, too.
"""

from __future__ import annotations

import contextlib
import os
import socket
import time
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

import psycopg
from psycopg import sql

from commonplace.errors import IndexBusyError
from commonplace.store.base import LeaseName

if TYPE_CHECKING:
    from commonplace.store.postgres.database import Connection, Database

__all__ = ["held", "holder"]

_POLL_S = 0.05
_SETTINGS = (
    "SET LOCAL idle_in_transaction_session_timeout = 0; SET LOCAL tcp_keepalives_idle = 3; "
    "SET LOCAL tcp_keepalives_interval = 2; SET LOCAL tcp_keepalives_count = 2"
)
"""A lease of a host that was cut off ends after 7 seconds."""


@contextlib.contextmanager
def held(
    database: Database, name: LeaseName, *, timeout_s: float, check: Callable[[], object]
) -> Iterator[None]:
    """Hold a lease while the block runs; see `Store.lease`."""
    deadline = time.monotonic() + timeout_s
    with database.borrowed() as connection:
        try:
            while not _acquired(database, connection, name):
                if time.monotonic() >= deadline:
                    owner = _holder(database, connection, name) or "another session"
                    raise IndexBusyError(
                        f"{owner} has held the index {database.address.location} for {timeout_s:g} "
                        "s. Wait for it, or stop it."
                    )
                check()
                time.sleep(min(_POLL_S, max(0.0, deadline - time.monotonic())))
            yield
        finally:
            # Where the connection is gone, the server has released the lock.
            with contextlib.suppress(psycopg.Error):
                if not connection.closed:
                    connection.execute("ROLLBACK")


def _acquired(database: Database, connection: Connection, name: LeaseName) -> bool:
    """Try to acquire a lease: if so, the transaction stays open."""
    owner = f"commonplace {name}: process {os.getpid()} on {socket.gethostname()}"
    # In one simple query: the portal of a parametrised one would keep its snapshot, and with it
    # the rows that are deleted meanwhile, as long as the lease is held.
    cursor = connection.execute(
        f"BEGIN; {_SETTINGS}; SET LOCAL application_name = {sql.quote(owner[:63])}; "
        f"SELECT pg_try_advisory_xact_lock({database.address.lock_key(name)})"
    )
    while cursor.nextset():
        pass
    row = cursor.fetchone()
    if row is not None and row[0]:
        return True
    connection.execute("ROLLBACK")
    return False


def holder(database: Database, name: LeaseName) -> str | None:
    """Return the owner of a lease, such as ``process 4711 on host``; None when it is free."""
    with database.borrowed() as connection:
        return _holder(database, connection, name)


def _holder(database: Database, connection: Connection, name: LeaseName) -> str | None:
    key = database.address.lock_key(name) & (2**64 - 1)
    row = connection.execute(
        """SELECT coalesce(application_name, ''), pid FROM pg_locks
        LEFT JOIN pg_stat_activity USING (pid)
        WHERE locktype = 'advisory' AND granted AND objsubid = 1
        AND classid::bigint = %s AND objid::bigint = %s
        AND pg_locks.database = (SELECT oid FROM pg_database WHERE datname = current_database())""",
        (key >> 32, key & (2**32 - 1)),
    ).fetchone()
    if row is None:
        return None
    said, pid = row  # another role's name of itself is hidden from this one
    return said.partition(": ")[2] or f"session {pid} of the server"
