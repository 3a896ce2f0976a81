"""Leases of the PostgreSQL engine: advisory locks, held by a transaction that is open meanwhile.

A lock of a transaction ends with it, and the transaction with its connection, so a lease ends with
its process. The server probes a silent connection, so that a lease ends with its host, too.

A thread holds its leases by one connection, each in a savepoint of its own: a small pool, as that
of PgBouncer, would be used up by a few that wait for each other.

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
_BEGIN = (
    "BEGIN; SET LOCAL idle_in_transaction_session_timeout = 0; SET LOCAL tcp_keepalives_idle = 3; "
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
    with _connection(database, name) as (connection, begin, end):
        with _held(database, connection, name, (begin, end), deadline, check) as acquired:
            if acquired:
                yield
                return
        found = _holder(database, connection, name)
        raise IndexBusyError(
            f"{found.owner if found else 'another session'} has held the index "
            f"{database.address.location} for {timeout_s:g} s. Wait for it, or stop it."
        )


@contextlib.contextmanager
def _connection(database: Database, name: LeaseName) -> Iterator[tuple[Connection, str, str]]:
    """Yield a connection for a lease, and the statements that begin and end what holds it."""
    held: dict[str, Connection] = vars(database.leases)
    is_again = name in held  # a session would be given what it has
    with contextlib.ExitStack() as stack:
        if held and not is_again:
            stack.enter_context(translated(database.address.location))
            connection = next(iter(held.values()))
            begin, end = "SAVEPOINT lease", "ROLLBACK TO lease; RELEASE lease"
        else:
            connection = stack.enter_context(database.borrowed())
            begin, end = _begin(connection), "ROLLBACK"
        if not is_again:
            held[name] = connection
            stack.callback(held.pop, name)
        yield connection, begin, end


@contextlib.contextmanager
def leading(database: Database, *, check: Callable[[], object]) -> Iterator[Callable[[], object]]:
    """Wait for the leadership, and lead while the block runs; see `Hosts.leading`."""
    location = database.address.location
    with (
        contextlib.closing(database.connect(WATCHED)) as connection,
        translated(location),
        _held(
            *(database, connection, "lead", (_begin(connection), "ROLLBACK")),
            *(math.inf, check, _LEAD_POLL_S),
        ),
    ):

        def check_held() -> None:
            with translated(location):
                connection.execute("SELECT 1")

        yield check_held


def _begin(connection: Connection) -> str:
    is_limited = connection.info.server_version >= _TRANSACTION_TIMEOUT_SINCE
    return _BEGIN + ("; SET LOCAL transaction_timeout = 0" if is_limited else "")


@contextlib.contextmanager
def _held(
    database: Database,
    connection: Connection,
    name: _Name,
    limits: tuple[str, str],
    deadline: float,
    check: Callable[[], object],
    poll_s: float = _POLL_S,
) -> Iterator[bool]:
    """Wait for a lease until a time; hold it, if it was acquired, while the block runs.

    Args:
        database: Database of the connection.
        connection: Holds the lease.
        name: The lease.
        limits: Statements that begin and end what the lease ends with.
        deadline: Time of the monotonic clock.
        check: Called while waiting.
        poll_s: Seconds between two tries.
    """
    begin, end = limits
    owner = f"commonplace {name}: process {os.getpid()} on {socket.gethostname()}"
    acquire = (
        # In one simple query: the portal of a parametrised one would keep its snapshot, and with it
        # the rows that are deleted meanwhile, as long as the lease is held.
        f"{begin}; SET LOCAL application_name = {sql.quote(owner[:63])}; "
        f"SELECT pg_try_advisory_xact_lock({database.address.lock_key(name)})"
    )
    while True:
        with _ended(connection, end):
            if _is_true(connection, acquire):
                yield True
                return
        if time.monotonic() >= deadline:
            break
        check()
        time.sleep(min(poll_s, max(0.0, deadline - time.monotonic())))
    yield False


@contextlib.contextmanager
def _ended(connection: Connection, end: str) -> Iterator[None]:
    """Run some statements behind a block; where the connection is gone, the server has."""
    try:
        yield
    finally:
        with contextlib.suppress(psycopg.Error):
            if not connection.closed:
                connection.execute(end)


def _is_true(connection: Connection, statements: str) -> bool:
    """Return what the last of some statements answers."""
    cursor = connection.execute(statements)
    while cursor.nextset():
        pass
    row = cursor.fetchone()
    return row is not None and bool(row[0])


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
