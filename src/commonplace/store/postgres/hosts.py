"""Hosts of the PostgreSQL engine: notices of writes, the leadership, the status of the server."""

from __future__ import annotations

import contextlib
import logging
import threading
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

from commonplace.errors import StoreError
from commonplace.store.postgres.leases import holder, leading
from commonplace.store.postgres.notifications import Notifications
from commonplace.types import ServerStatus

if TYPE_CHECKING:
    from commonplace.store.postgres.store import PostgresStore

__all__ = ["PostgresHosts"]

logger = logging.getLogger(__name__)

_CONNECTIONS = """SELECT count(*) FROM pg_stat_activity WHERE datname = current_database()
    AND (application_name LIKE 'commonplace%%' OR application_name = %s)"""
# Tables of a generation are added up: those of a rebuild take room, too.
_SIZES = r"""SELECT regexp_replace(relname, '_\d+$', '') AS kind,
    sum(pg_total_relation_size(pg_class.oid))::bigint
    FROM pg_class JOIN pg_namespace n ON n.oid = relnamespace
    WHERE nspname = %s AND relkind = 'r' GROUP BY kind ORDER BY kind"""


_HEARTBEAT_S = 1.0
_FENCE = "this process serves the memory, and does not lead now"


class PostgresHosts:
    """Hosts that share one memory in PostgreSQL; see `Hosts`.

    Args:
        store: The index.

    Attributes:
        fence: Why this process may not write now; empty where it may.
    """

    def __init__(self, store: PostgresStore) -> None:
        self._store = store
        self.fence = ""
        self._leads = False
        self._notifications = Notifications(store.database)

    @property
    def freshness(self) -> str:
        """How writes of others are noticed, for people; empty while nothing follows them."""
        return self._notifications.way

    @contextlib.contextmanager
    def followed(self, changed: Callable[[], object] = lambda: None) -> Iterator[None]:
        """Follow the writes of every host while the block runs; see `Hosts`."""

        def follow() -> None:
            with self._store.snapshot() as snapshot:
                snapshot.vector_search().follow()
            changed()

        with self._notifications.followed(follow):
            yield

    @contextlib.contextmanager
    def leading(
        self,
        *,
        check: Callable[[], object] = lambda: None,
        lost: Callable[[], object] = lambda: None,
    ) -> Iterator[None]:
        """Wait for the leadership, and hold it while the block runs; see `Hosts`."""
        if not self.fence:
            self._store.check_writable()
        self.fence = _FENCE
        ended = threading.Event()

        def watch_over(check_held: Callable[[], object]) -> None:
            while not ended.wait(_HEARTBEAT_S):
                try:
                    check_held()
                except StoreError as error:
                    logger.debug("the leadership was lost: %s", error)
                    self.fence, self._leads = _FENCE, False
                    lost()
                    return

        with leading(self._store.database, check=check) as check_held:
            heart = threading.Thread(
                target=watch_over, args=(check_held,), name="commonplace-lead", daemon=True
            )
            self.fence, self._leads = "", True
            heart.start()
            try:
                yield
            finally:
                self.fence, self._leads = _FENCE, False
                ended.set()
                heart.join()

    def is_led_by_another(self) -> bool:
        """Return whether another process leads; see `Hosts`."""
        return not self._leads and holder(self._store.database, "lead") is not None

    def status(self) -> ServerStatus:
        """Return what the server knows of the memory and its hosts."""
        database, address = self._store.database, self._store.database.address
        leader = holder(database, "lead")
        with database.borrowed() as connection:
            application = address.settings.get("application_name")
            ((connections,),) = connection.execute(_CONNECTIONS, (application,)).fetchall()
            sizes = connection.execute(_SIZES, (address.schema,)).fetchall()
        return ServerStatus(
            leader=leader.owner if leader else None,
            leading_since=leader.since if leader else None,
            connections=connections,
            table_bytes=dict(sizes),
            freshness=self.freshness,
        )

    def close(self) -> None:
        """End the thread that follows the writes."""
        self._notifications.close()
