"""Notifications of an index (LISTEN and NOTIFY): each write wakes the readers that follow it.

A notice says the generation and the version of the index, and never a text. Where the server cannot
notify, the version is looked at instead.
"""

from __future__ import annotations

import contextlib
import logging
import os
import selectors
import socket
import threading
import time
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

from psycopg import errors, sql

from commonplace.errors import StoreError
from commonplace.store.postgres.failures import translated

if TYPE_CHECKING:
    from commonplace.store.postgres.database import Connection, Database

__all__ = ["WATCHED", "Notifications", "notice"]

logger = logging.getLogger(__name__)

Changed = Callable[[], object]
"""Called by the listening thread after writes; one call may stand for several of them."""

WATCHED = {
    "keepalives_idle": 3,
    "keepalives_interval": 2,
    "keepalives_count": 2,
    "tcp_user_timeout": 7000,
}
"""Settings of a connection that waits: a server that is cut off is noticed after 7 seconds."""
_POLL_S = 0.5
_PROBE = "probe "
_PROBE_S = 2.0
"""Seconds in which the connection must hear a notice that another one sends."""
_FIRST_RETRY_S, _LAST_RETRY_S = 0.2, 5.0
_CLOSING_S = 2.0


def notice(generation: int, version: int) -> str:
    """Return the payload of a write's notice."""
    return f"{generation} {version}"


class Notifications:
    """Notifications of one index in this process: one thread and one connection, while followed.

    Args:
        database: Connections to the database of the index.
    """

    def __init__(self, database: Database) -> None:
        self._database = database
        self._followers: list[Changed] = []
        self._listener: _Listener | None = None
        self._lock = threading.Lock()

    @property
    def way(self) -> str:
        """How writes of others are noticed, for people; empty while nothing follows them."""
        listener = self._listener
        return "" if listener is None else listener.way

    @contextlib.contextmanager
    def followed(self, changed: Changed) -> Iterator[None]:
        """Have a function called at the beginning, and after writes, while the block runs."""
        with self._lock:
            self._followers.append(changed)
            if self._listener is None:
                self._listener = _Listener(self._database, self._changed)
                self._listener.start()
            else:
                self._listener.wake()
        try:
            yield
        finally:
            with self._lock:
                self._followers.remove(changed)
                is_last = not self._followers
            if is_last:
                self.close()

    def close(self) -> None:
        """End the thread, whatever follows."""
        with self._lock:
            listener, self._listener = self._listener, None
        if listener is not None:
            listener.stop()

    def _changed(self) -> None:
        for changed in tuple(self._followers):
            try:
                changed()
            except StoreError as error:  # the server may be away: the thread connects again
                logger.debug("a write could not be followed: %s", error)
            except Exception:
                logger.exception("a write could not be followed")


class _Listener(threading.Thread):
    """Thread that listens until it is stopped, and connects again when the server was away."""

    def __init__(self, database: Database, changed: Changed) -> None:
        super().__init__(name="commonplace-listen", daemon=True)
        self._database = database
        self._changed = changed
        self._stopped = False
        self._bell, self._ear = socket.socketpair()
        self._retry_s = _FIRST_RETRY_S
        self.way = "connecting"

    def wake(self) -> None:
        """Have the function called as if there had been a write."""
        with contextlib.suppress(OSError):
            self._bell.send(b"\0")

    def stop(self) -> None:
        """End the thread, and wait for it."""
        self._stopped = True
        self.wake()
        if self is not threading.current_thread():
            self.join(_CLOSING_S)

    def run(self) -> None:
        """Listen; this is the thread's."""
        owner = os.getpid()
        try:
            while not self._stopped:
                try:
                    self._listen()
                except StoreError as error:
                    self.way = "connecting"
                    logger.debug("listening is tried again: %s", error)
                    self._database.forget_idle()  # when one is lost, the others are, too
                    self._wait(None, self._retry_s)
                    self._retry_s = min(_LAST_RETRY_S, 2 * self._retry_s)
        except Exception:
            logger.exception("listening to the index ended")
        finally:
            if os.getpid() == owner:
                self._bell.close()
                self._ear.close()

    def _listen(self) -> None:
        database = self._database
        with (
            contextlib.closing(database.connect(WATCHED)) as connection,
            translated(database.address.location),
        ):
            problem = self._problem(connection)
            if problem is None:
                self._follow(connection)
        if problem is not None:
            self._poll(problem)

    def _follow(self, connection: Connection) -> None:
        self.way, self._retry_s = "notifications", _FIRST_RETRY_S
        self._changed()  # what was written while nothing listened
        while not self._stopped:
            was_woken = self._wait(connection, None)
            if any(not it.startswith(_PROBE) for it in _received(connection)) or was_woken:
                self._changed()

    def _poll(self, problem: str) -> None:
        """Look at the version now and then; the connection is another's meanwhile."""
        self.way = f"polling every {_POLL_S:g} s: {problem}"
        known = None
        while not self._stopped:
            with self._database.snapshot("SELECT generation, version FROM indexes") as (_, found):
                now = sorted(found)
            self._retry_s = _FIRST_RETRY_S
            if now != known:
                known = now
                self._changed()
            if self._wait(None, _POLL_S):
                known = None

    def _problem(self, connection: Connection) -> str | None:
        """Begin to listen; return why notices do not arrive, None where they do.

        Behind a pooler in transaction mode LISTEN succeeds, and what it asks for goes elsewhere: so
        another connection sends a notice, which must be heard.
        """
        channel = self._database.address.channel
        try:
            connection.execute(sql.SQL("LISTEN {}").format(sql.Identifier(channel)))
        except errors.ReadOnlySqlTransaction:
            return "the server is a read-only replica"
        probe = f"{_PROBE}{os.getpid()} {id(self)} {time.monotonic_ns()}"
        with self._database.borrowed() as other:
            other.execute("SELECT pg_notify(%s, %s)", (channel, probe))
        until = time.monotonic() + _PROBE_S
        while (left_s := until - time.monotonic()) > 0 and not self._stopped:
            self._wait(connection, left_s)
            if probe in _received(connection):
                return None
        connection.execute("UNLISTEN *")
        return "notices do not pass the connection pooler"

    def _wait(self, connection: Connection | None, timeout_s: float | None) -> bool:
        """Wait for the connection or the bell, at most so long; return whether it rang."""
        with selectors.DefaultSelector() as selector:
            selector.register(self._ear, selectors.EVENT_READ)
            if connection is not None:
                selector.register(connection.fileno(), selectors.EVENT_READ)
            ready = [key.fileobj for key, _ in selector.select(timeout_s)]
        if self._ear not in ready:
            return False
        self._ear.recv(4096)
        return True


def _received(connection: Connection) -> list[str]:
    """Return the payloads of the notices that have arrived.

    Raises:
        psycopg.OperationalError: The connection was lost.
    """
    connection.pgconn.consume_input()
    found = []
    while (one := connection.pgconn.notifies()) is not None:
        found.append(one.extra.decode("utf-8", "replace"))
    return found
