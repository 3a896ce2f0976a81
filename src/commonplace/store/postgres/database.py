"""Database of an index in PostgreSQL: its connections, transactions and caches.

Nothing depends on a session: each transaction sets what it needs, statements are not prepared, and
locks end with their transaction. So connections may come from PgBouncer in transaction mode.
"""

from __future__ import annotations

import contextlib
import selectors
import threading
import time
import weakref
from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, TypeVar

import psycopg
from psycopg import sql

from commonplace.errors import StoreError
from commonplace.store.postgres.address import Address
from commonplace.store.postgres.failures import (
    CLOSED,
    ConnectionLostError,
    TransientError,
    connect_error,
    translated,
)
from commonplace.store.postgres.text_codec import ADAPTERS

if TYPE_CHECKING:
    Connection = psycopg.Connection[tuple[Any, ...]]

__all__ = ["Database"]

_T = TypeVar("_T")

_APPLICATION = "commonplace"
_CONNECT_TIMEOUT_S = 10
_MAX_IDLE = 4
"""Connections that wait for the next use, at most."""
_ATTEMPTS = 5
"""Attempts of a transaction that met a deadlock or lost its connection before it was committed."""
_RESTART_S = 5
"""Seconds for which a search waits for a server that restarts."""
_ASK_S = 60
"""Seconds for which a server is asked about a commit that it did not answer."""
_SNAPSHOT = "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY"


class Database:
    """Connections to the database of an index; any number of threads may use it at once.

    Attributes:
        address: Where it is.
        leases: Connections by which each thread holds its leases, by their names.
    """

    def __init__(self, address: Address) -> None:
        self.address = address
        self.leases = threading.local()
        self._search_path = sql.Identifier(address.schema).as_string()
        self._idle: list[Connection] = []
        # What is dropped without being closed leaves no session on the server.
        weakref.finalize(self, _close_all, self._idle)
        self._lock = threading.Lock()
        self._closed = False

    def connect(self, defaults: Mapping[str, Any] | None = None) -> Connection:
        """Open a connection of one's own.

        Args:
            defaults: Settings of libpq that hold where the address says nothing else.
        """
        settings = {
            "connect_timeout": _CONNECT_TIMEOUT_S,
            "application_name": _APPLICATION,
            **(defaults or {}),
            **self.address.settings,
            "client_encoding": "UTF8",
        }
        try:
            connection = psycopg.connect(
                autocommit=True, prepare_threshold=None, context=_Context, **settings
            )
        except psycopg.Error as error:
            # Not chained: some drivers' errors repeat the settings, and with them the password.
            raise connect_error(error, self.address.location) from None
        # A pooler hands out sessions that listen for others; the driver would keep their notices.
        connection.add_notify_handler(lambda _: None)
        return connection

    @contextlib.contextmanager
    def borrowed(self) -> Iterator[Connection]:
        """Borrow a connection; one that ends in a transaction, or broken, is closed."""
        connection = self._idle_one() or self.connect()
        try:
            with translated(self.address.location):
                yield connection
        finally:
            self._give_back(connection)

    def _idle_one(self) -> Connection | None:
        """Return an idle connection that the server has not ended meanwhile."""
        with self._lock:
            if self._closed:
                raise StoreError(CLOSED)
            while self._idle:
                connection = self._idle.pop()
                if _is_quiet(connection):
                    return connection
                connection.close()
        return None

    def _give_back(self, connection: Connection) -> None:
        is_clean = connection.info.transaction_status == psycopg.pq.TransactionStatus.IDLE
        with self._lock:
            if is_clean and not self._closed and len(self._idle) < _MAX_IDLE:
                self._idle.append(connection)
                return
        connection.close()

    @contextlib.contextmanager
    def snapshot(self, begin: str) -> Iterator[tuple[Connection, list[tuple[Any, ...]]]]:
        """Open a read transaction: one round trip, which also answers a first query.

        Args:
            begin: Statements behind the transaction's own beginning; the last one is the query.
        """
        with self.borrowed() as connection:
            try:
                cursor = connection.execute(f"{_SNAPSHOT}; {self.local}; {begin}")
                while cursor.nextset():
                    pass
                yield connection, cursor.fetchall()
            finally:
                _roll_back(connection)

    def write(self, change: Callable[[Connection], _T]) -> _T:
        """Run a change in a transaction; again after a deadlock, or a connection lost before it.

        A server that restarts is waited for.

        When the connection is lost during the commit, the server is asked whether the transaction
        was committed: a change is never made twice.

        Raises:
            ConnectionLostError: The server cannot be reached; nothing was changed.
            StoreError: The change failed, and nothing was changed; or the server was lost during
                the commit and stayed away, which the message says.
        """
        for attempt in range(_ATTEMPTS):
            try:
                return self._write_once(change)
            except TransientError:
                if attempt == _ATTEMPTS - 1:
                    raise
            except ConnectionLostError:
                if attempt == _ATTEMPTS - 1 or not self.is_back():
                    raise
        raise AssertionError

    def _write_once(self, change: Callable[[Connection], _T]) -> _T:
        with self.borrowed() as connection:
            try:
                cursor = connection.execute(
                    f"BEGIN; {self.local}; SELECT pg_current_xact_id()::text"
                )
                while cursor.nextset():
                    pass
                ((xid,),) = cursor.fetchall()
                answer = change(connection)
            except BaseException:
                _roll_back(connection)
                raise
            try:
                connection.execute("COMMIT")
            except psycopg.OperationalError:
                if not self._was_committed(xid):
                    raise
            return answer

    def _was_committed(self, xid: str) -> bool:
        """Ask the server about a transaction whose commit was not answered.

        Raises:
            StoreError: The server did not answer for `_ASK_S` seconds.
        """
        until = time.monotonic() + _ASK_S
        while time.monotonic() < until:
            # Behind a restart the answer is the same; a server that is away is waited for.
            with contextlib.suppress(ConnectionLostError, psycopg.OperationalError):
                with contextlib.closing(self.connect()) as connection:
                    row = connection.execute("SELECT pg_xact_status(%s::xid8)", (xid,)).fetchone()
                if row is None or row[0] != "in progress":
                    return row is not None and row[0] == "committed"
            time.sleep(0.1)
        raise StoreError(
            f"the connection of the index {self.address.location} was lost while a change was "
            f"committed, and the server did not answer for {_ASK_S} s: the change was made or not. "
            "Look before you repeat it."
        )

    @property
    def local(self) -> str:
        """Statements that set what a transaction needs, until its end."""
        return f"SET LOCAL search_path = {self._search_path}; SET LOCAL jit = off"

    def search_schema(self, schema: str) -> None:
        """Search a schema behind the index's own: that of the extension."""
        schemas = (self.address.schema, schema)
        self._search_path = ", ".join(sql.Identifier(name).as_string() for name in schemas)

    def is_back(self) -> bool:
        """Return whether the server can be reached; wait for one that restarts."""
        for _ in range(_RESTART_S):
            try:
                self.connect().close()
            except ConnectionLostError:
                time.sleep(1)
            else:
                return True
        return False

    def forget_idle(self) -> None:
        """Close the idle connections: after one was lost, the others are, too."""
        with self._lock:
            _close_all(self._idle)

    def close(self) -> None:
        """Close the idle connections; borrowed ones are closed when they are returned."""
        self._closed = True
        self.forget_idle()


def _close_all(connections: list[Connection]) -> None:
    while connections:
        connections.pop().close()


def _is_quiet(connection: Connection) -> bool:
    """Return whether the server has said nothing since the last answer, such as a farewell."""
    with selectors.DefaultSelector() as selector:
        selector.register(connection.fileno(), selectors.EVENT_READ)
        return not selector.select(0)


class _Context:
    """Adaptation context of the connections."""

    adapters = ADAPTERS
    connection = None


def _roll_back(connection: Connection) -> None:
    with contextlib.suppress(psycopg.Error):
        if not connection.closed:
            connection.execute("ROLLBACK")
