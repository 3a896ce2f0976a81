"""Maintenance of the PostgreSQL engine: purging and health checks."""

from __future__ import annotations

import threading
from collections.abc import Iterable
from typing import TYPE_CHECKING

from psycopg import errors

from commonplace.errors import StoreError
from commonplace.store.base import HealthCheck
from commonplace.store.postgres.installation import drop_generation
from commonplace.store.postgres.rebuild import drop_retired
from commonplace.store.records import RowFilter
from commonplace.text.analysis import Term

if TYPE_CHECKING:
    from commonplace.store.postgres.database import Connection
    from commonplace.store.postgres.store import PostgresStore

__all__ = ["health_checks", "purge"]

_REWRITTEN = (
    ("files_{g}", "files_{g}_pkey"),
    ("chunks_{g}", "chunks_{g}_pkey"),
    ("words_{g}", "words_{g}_pkey"),
    ("vectors_{g}", "vectors_{g}_pkey"),
    ("terms_{g}", "terms_{g}_pkey"),
    ("notes", "notes_pkey"),
    ("versions", "versions_pkey"),
    ("inbox", "inbox_pkey"),
    ("inbox_steps", "inbox_steps_pkey"),
)
"""Tables that hold texts or vectors of deleted chunks, and the index that orders them."""
_LOCK_TIMEOUT_MS = 2000
_NOTICE_S = 5


def purge(store: PostgresStore) -> bool:
    """Rewrite the tables, so that their files no longer hold deleted texts; see `Store.purge`.

    What the server keeps for its recovery, its write-ahead log and its backups, is its own.
    """
    if not store.exists():
        return True

    def change(connection: Connection) -> bool:
        connection.execute(f"SET LOCAL lock_timeout = {_LOCK_TIMEOUT_MS}")
        connection.execute("TRUNCATE vector_cache")
        state = store.locked(connection)
        unused = connection.execute(
            "SELECT generation FROM indexes WHERE role IS DISTINCT FROM 'live'"
        ).fetchall()
        dropped = [drop_generation(connection, generation) for (generation,) in unused]
        if not all(dropped):
            return False
        # A term that is in no chunk any more is a word of a deleted text.
        connection.execute(f"DELETE FROM terms_{state.generation} WHERE n <= 0")
        for table, index in _REWRITTEN:
            names = table.format(g=state.generation), index.format(g=state.generation)
            connection.execute("CLUSTER {} USING {}".format(*names))
        return not _older_readers(connection)

    try:
        purged: bool = store.write_transaction(change)
    except StoreError as error:
        if isinstance(error.__cause__, errors.LockNotAvailable):
            return False
        raise
    return purged and drop_retired(store)


def _older_readers(connection: Connection) -> bool:
    """Return whether a session reads a state from before: its rows were kept for it."""
    row = connection.execute(
        "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() "
        "AND backend_xmin IS NOT NULL AND pid <> pg_backend_pid()"
    ).fetchone()
    return bool(row and row[0])


def health_checks(store: PostgresStore) -> Iterable[HealthCheck]:
    """Return the checks of ``status --deep``."""
    yield HealthCheck("server", lambda: _check_server(store))
    yield HealthCheck("words", lambda: _check_words(store))
    yield HealthCheck("notices", lambda: _check_notices(store))


def _check_server(store: PostgresStore) -> str:
    reason = store.read_only_reason
    if reason:
        return f"failed: {reason}: what is new is not found"
    holder = store.lease_holder()
    found = f"{store.engines['words']}, {store.engines['vectors']}"
    return f"ok: {found}, {f'{holder} is indexing' if holder else 'no process is indexing'}"


def _check_words(store: PostgresStore) -> str:
    """Compare the sums of the index with its rows."""
    with store.snapshot() as snapshot:
        if snapshot.identity is None:
            return "not tried: nothing is indexed yet"
        snapshot.match([Term("word", "word")], every=False, limit=1, rows=RowFilter())
        counted, held = snapshot.counted_rows(), snapshot.chunk_count()
    if counted != held:
        return f"failed: {counted} chunks have terms, {held} were written; index with --force"
    return f"ok: {held} chunks"


def _check_notices(store: PostgresStore) -> str:
    """Find out how a reader here would notice what others write."""
    heard = threading.Event()
    with store.hosts.followed(heard.set):
        if not heard.wait(_NOTICE_S):
            return f"failed: nothing was heard of the server for {_NOTICE_S} s"
        return f"ok: {store.hosts.freshness}"
