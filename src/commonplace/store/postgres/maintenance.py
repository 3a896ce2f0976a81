"""Maintenance of the PostgreSQL engine: purging and health checks."""

from __future__ import annotations

import functools
import threading
import time
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
_OLDER_SESSIONS_S = 5
"""Seconds for which the ends of older transactions are waited for."""
_RETRY_S = 0.02
_NOTICE_S = 5
_ARE_ENDED = """SELECT pg_snapshot_xmin(pg_current_snapshot()) > %(xid)s::xid8 AND NOT EXISTS (
    SELECT 1 FROM (
        SELECT backend_xmin FROM pg_stat_activity
        WHERE (datname = current_database() OR backend_type = 'walsender')
        AND pid NOT IN (SELECT pid FROM pg_stat_progress_vacuum)
        UNION ALL SELECT xmin FROM pg_replication_slots
    ) AS held (xmin) WHERE age(xmin) >= age(%(xid)s::xid8::xid))"""
"""SQL for whether each transaction sees what was committed by one, and by those before it."""


def purge(store: PostgresStore) -> bool:
    """Rewrite the tables, so that their files no longer hold deleted texts; see `Store.purge`.

    Rows stay in a table that is rewritten while a transaction may still see them, and where that
    rewrites it which deletes them: so they are deleted in one of their own, before.

    What the server keeps for its recovery, its write-ahead log and its backups, is its own.
    """
    if not store.exists():
        return True
    try:
        xid: str | None = store.write_transaction(functools.partial(_delete_unused, store))
        if xid is None or not _is_seen_by_all(store, xid):
            return False
        store.write_transaction(functools.partial(_rewrite, store))
    except StoreError as error:
        if isinstance(error.__cause__, errors.LockNotAvailable):
            return False
        raise
    return drop_retired(store)


def _delete_unused(store: PostgresStore, connection: Connection) -> str | None:
    """Delete what no chunk has any more; return the transaction's id, None while it is read."""
    connection.execute(f"SET LOCAL lock_timeout = {_LOCK_TIMEOUT_MS}")
    connection.execute("TRUNCATE vector_cache")
    state = store.locked(connection)
    unused = connection.execute(
        "SELECT generation FROM indexes WHERE role IS DISTINCT FROM 'live'"
    ).fetchall()
    dropped = [drop_generation(connection, generation) for (generation,) in unused]
    if not all(dropped):
        return None
    # A term that is in no chunk any more is a word of a deleted text.
    connection.execute(f"DELETE FROM terms_{state.generation} WHERE n <= 0")
    ((xid,),) = connection.execute("SELECT pg_current_xact_id()::text")
    return str(xid)


def _is_seen_by_all(store: PostgresStore, xid: str) -> bool:
    """Wait until no transaction is older than one; False where one does not end."""
    deadline = time.monotonic() + _OLDER_SESSIONS_S
    while True:
        with store.database.borrowed() as connection:
            ((ended,),) = connection.execute(_ARE_ENDED, {"xid": xid})
        if ended or time.monotonic() > deadline:
            return bool(ended)
        time.sleep(_RETRY_S)


def _rewrite(store: PostgresStore, connection: Connection) -> None:
    connection.execute(f"SET LOCAL lock_timeout = {_LOCK_TIMEOUT_MS}")
    state = store.locked(connection)
    for table, index in _REWRITTEN:
        names = table.format(g=state.generation), index.format(g=state.generation)
        connection.execute("CLUSTER {} USING {}".format(*names))
        connection.execute(f"ANALYZE {names[0]}")  # its samples hold paths that are gone


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
