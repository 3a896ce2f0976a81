"""Leases of the PostgreSQL engine: advisory locks, held by a transaction that is open meanwhile.

A lock of a transaction ends with it, and the transaction with its connection, so a lease ends with
its process. The server probes a silent connection, so that a lease ends with its host, too.

The leadership among the hosts that serve one memory is a lease, too: the transaction is open for
days then, which holds back nothing, as it has neither a snapshot nor a number.
"""

from __future__ import annotations

import contextlib
import math
import os
import socket
import time
from collections.abc import Callable, Iterator
from datetime import datetime
from typing import TYPE_CHECKING, Literal, NamedTuple

import psycopg
from psycopg import sql

from commonplace.errors import IndexBusyError
from commonplace.store.base import LeaseName
from commonplace.store.postgres.failures import translated
from commonplace.store.postgres.notifications import WATCHED

if TYPE_CHECKING:
    from commonplace.store.postgres.database import Connection, Database

__all__ = ["Holder", "held", "holder", "leading"]

_Name = LeaseName | Literal["lead"]

_POLL_S = 0.05
_LEAD_POLL_S = 1.0
_TRANSACTION_TIMEOUT_SINCE = 170000
_SETTINGS = (
    "SET LOCAL idle_in_transaction_session_timeout = 0; SET LOCAL tcp_keepalives_idle = 3; "
    "SET LOCAL tcp_keepalives_interval = 2; SET LOCAL tcp_keepalives_count = 2"
)
"""A lease of a host that was cut off ends after 7 seconds."""


class Holder(NamedTuple):
    """Holder of a lease.

    Attributes:
        owner: Its process, such as ``process 4711 on host``.
        since: Time since when it holds the lease; None where the role may not know.
    """

    owner: str
    since: datetime | None


@contextlib.contextmanager
def held(
    database: Database, name: LeaseName, *, timeout_s: float, check: Callable[[], object]
) -> Iterator[None]:
    """Hold a lease while the block runs; see `Store.lease`."""
    deadline = time.monotonic() + timeout_s
    with database.borrowed() as connection:
        with _held(database, connection, name, deadline, check, _POLL_S) as acquired:
            if acquired:
                yield
                return
        found = _holder(database, connection, name)
        raise IndexBusyError(
            f"{found.owner if found else 'another session'} has held the index "
            f"{database.address.location} for {timeout_s:g} s. Wait for it, or stop it."
        )


@contextlib.contextmanager
def leading(database: Database, *, check: Callable[[], object]) -> Iterator[Callable[[], object]]:
    """Wait for the leadership, and lead while the block runs; see `Hosts.leading`."""
    location = database.address.location
    with (
        contextlib.closing(database.connect(WATCHED)) as connection,
        translated(location),
        _held(database, connection, "lead", math.inf, check, _LEAD_POLL_S),
    ):

        def check_held() -> None:
            with translated(location):
                connection.execute("SELECT 1")

        yield check_held


@contextlib.contextmanager
def _held(
    database: Database,
    connection: Connection,
    name: _Name,
    deadline: float,
    check: Callable[[], object],
    poll_s: float,
) -> Iterator[bool]:
    """Wait for a lease until a time; hold it, if it was acquired, while the block runs."""
    try:
        while not (acquired := _acquired(database, connection, name)):
            if time.monotonic() >= deadline:
                break
            check()
            time.sleep(min(poll_s, max(0.0, deadline - time.monotonic())))
        yield acquired
    finally:
        # Where the connection is gone, the server has released the lock.
        with contextlib.suppress(psycopg.Error):
            if not connection.closed:
                connection.execute("ROLLBACK")


def _acquired(database: Database, connection: Connection, name: _Name) -> bool:
    """Try to acquire a lease: if so, the transaction stays open."""
    owner = f"commonplace {name}: process {os.getpid()} on {socket.gethostname()}"
    settings = _SETTINGS
    if connection.info.server_version >= _TRANSACTION_TIMEOUT_SINCE:
        settings += "; SET LOCAL transaction_timeout = 0"
    # In one simple query: the portal of a parametrised one would keep its snapshot, and with it
    # the rows that are deleted meanwhile, as long as the lease is held.
    cursor = connection.execute(
        f"BEGIN; {settings}; SET LOCAL application_name = {sql.quote(owner[:63])}; "
        f"SELECT pg_try_advisory_xact_lock({database.address.lock_key(name)})"
    )
    while cursor.nextset():
        pass
    row = cursor.fetchone()
    if row is not None and row[0]:
        return True
    connection.execute("ROLLBACK")
    return False


def holder(database: Database, name: _Name) -> Holder | None:
    """Return the holder of a lease; None when it is free."""
    with database.borrowed() as connection:
        return _holder(database, connection, name)


def _holder(database: Database, connection: Connection, name: _Name) -> Holder | None:
    key = database.address.lock_key(name) & (2**64 - 1)
    row = connection.execute(
        """SELECT coalesce(application_name, ''), pid, xact_start FROM pg_locks
        LEFT JOIN pg_stat_activity USING (pid)
        WHERE locktype = 'advisory' AND granted AND objsubid = 1
        AND classid::bigint = %s AND objid::bigint = %s
        AND pg_locks.database = (SELECT oid FROM pg_database WHERE datname = current_database())""",
        (key >> 32, key & (2**32 - 1)),
    ).fetchone()
    if row is None:
        return None
    said, pid, since = row  # another role's name of itself is hidden from this one
    return Holder(said.partition(": ")[2] or f"session {pid} of the server", since)
