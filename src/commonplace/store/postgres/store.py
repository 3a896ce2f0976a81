"""PostgreSQL engine: the `Store` protocol over the tables of one schema."""

from __future__ import annotations

import contextlib
import dataclasses
import json
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal

from commonplace.errors import IndexReadOnlyError, StoreError
from commonplace.store.base import HealthCheck, LeaseName, Rebuild, Recovery
from commonplace.store.postgres import vector_cache
from commonplace.store.postgres.address import Address
from commonplace.store.postgres.bulk_load import finish_load
from commonplace.store.postgres.database import Database
from commonplace.store.postgres.failures import (
    CLOSED,
    ConnectionLostError,
    IndexGoneError,
    TransientError,
)
from commonplace.store.postgres.hosts import PostgresHosts
from commonplace.store.postgres.installation import Installation, install, is_begun
from commonplace.store.postgres.publication import PostgresPublication
from commonplace.store.postgres.published_rows import publish_files
from commonplace.store.postgres.reader_cache import ReaderCache
from commonplace.store.postgres.schema import Role, Tables
from commonplace.store.postgres.snapshot import PostgresSnapshot
from commonplace.store.postgres.state import IndexState, state_query
from commonplace.store.postgres.vector_index import make_index
from commonplace.store.postgres.writer import Writer
from commonplace.store.records import IndexedFile, IndexIdentity
from commonplace.vectors.arrays import ChunkVectors

if TYPE_CHECKING:
    from commonplace.store.postgres.database import Connection

__all__ = ["PostgresStore"]

_ATTEMPTS = 5
"""Attempts to open a snapshot while rebuilds are committed."""


class _NoIdentityError(StoreError):
    """The index that was written to is new: another session deleted it meanwhile."""


class PostgresStore:
    """Index engine: one schema of a PostgreSQL database, with pgvector.

    The schema is created at the first use. Threads, processes and hosts may share it.

    Args:
        address: Where it is.
        role: Which of the schema's indexes.
        database: Connections that another store of the same address opened.
    """

    capabilities = frozenset({"exact-fts5-bm25", "hosts", "publication", "windows"})

    def __init__(
        self, address: Address, *, role: Role = "live", database: Database | None = None
    ) -> None:
        self._address = address
        self._role: Role = role
        self._owned = database is None
        self.database = database or Database(address)
        self._opening, self._closed = threading.Lock(), False
        self._installed: Installation | None = None
        self._identity: IndexIdentity | None = None
        self._complete = False
        self._generation: int | None = None
        self._cache = ReaderCache(address.resident_bytes)
        self.hosts, self.publication = PostgresHosts(self), PostgresPublication(self)

    @property
    def location(self) -> str:
        """The URL without credentials."""
        return self._address.location

    @property
    def access(self) -> Literal["read-write", "read-only"]:
        """Whether the index can be written: not on a replica, nor without rights."""
        return "read-only" if self.read_only_reason else "read-write"

    @property
    def read_only_reason(self) -> str:
        """Why the index cannot be written; empty where it can."""
        return self._installation().reason or self.hosts.fence

    @property
    def engines(self) -> Mapping[str, str]:
        """What compares ``vectors`` and what finds ``words``, for people."""
        found = self._installation()
        with self.snapshot() as snapshot:
            way = snapshot.vector_search().way
        return {
            "vectors": f"{way}, pgvector {found.pgvector}",
            "words": f"tsvector in PostgreSQL {found.server}",
        }

    def exists(self) -> bool:
        """Return whether an index was begun there; creates nothing."""
        return is_begun(self.database, self._role)

    @property
    def identity(self) -> IndexIdentity | None:
        """Identity of the index, as it is now; None for a new one."""
        with self.snapshot() as snapshot:
            return snapshot.identity

    @property
    def cached_identity(self) -> IndexIdentity | None:
        """Identity when it was last read or set, without a query."""
        self._check_open()
        return self._identity

    def note_identity(self, identity: IndexIdentity | None) -> None:
        """Note an identity that the index got otherwise, as by the commit of a rebuild."""
        self._identity, self._complete = identity, False

    def set_identity(self, identity: IndexIdentity) -> None:
        """Set the identity of a new index, or complete the one there is; see `Store`."""

        def change(connection: Connection) -> None:
            before = self.locked(connection)
            if before.identity is not None and not before.identity.fits(identity):
                raise StoreError(
                    f"the index {self.location} was built otherwise ({before.identity}); build "
                    "another one and let it take this one's place."
                )
            connection.execute(
                "UPDATE indexes SET identity = %s, version = version + 1 WHERE generation = %s",
                (json.dumps(dataclasses.asdict(identity)), before.generation),
            )

        self.write_transaction(change)
        self._identity = identity

    @property
    def complete(self) -> bool:
        """Whether an index run ever came to its end."""
        if not self._complete:
            with self.snapshot():
                pass
        return self._complete

    def mark_complete(self) -> None:
        """Note that an index run came to its end, and finish what waited for it; see `Store`."""
        self.write_transaction(lambda connection: finish_load(connection, self.locked(connection)))
        make_index(self, concurrently=self._role == "live")
        self._complete = True

    # -- reading and writing ---------------------------------------------------------------------

    @contextlib.contextmanager
    def snapshot(self) -> Iterator[PostgresSnapshot]:
        """Open one consistent state of the index: a read transaction.

        It locks the tables of its generation against being dropped. Which they are is known from
        the snapshot before; where that has changed, the transaction begins once more.
        """
        self._installation()
        with contextlib.ExitStack() as stack:
            for _ in range(_ATTEMPTS):
                generation = self._generation
                try:
                    opened = stack.enter_context(self._begun(generation))
                except IndexGoneError:
                    if generation is None:
                        raise
                    self._generation = None
                    continue
                connection, state = opened
                self._generation = state.generation
                if state.generation == generation:
                    self._identity, self._complete = state.identity, state.complete
                    yield PostgresSnapshot(connection, state, self._cache)
                    return
                stack.close()
        raise StoreError(f"the index {self.location} is rebuilt over and over; try again.")

    @contextlib.contextmanager
    def _begun(self, generation: int | None) -> Iterator[tuple[Connection, IndexState]]:
        query = state_query(self._role)
        if generation is not None:
            tables = ", ".join(Tables.of(generation))
            query = f"LOCK TABLE {tables} IN ACCESS SHARE MODE; {query}"
        with self.database.snapshot(query) as (connection, rows):
            yield connection, self._state(rows)

    def _state(self, rows: Sequence[tuple[Any, ...]]) -> IndexState:
        if not rows:
            raise IndexGoneError(f"the index {self.location} is gone. Index again.")
        return IndexState.from_rows(rows, self.location)

    def locked(self, connection: Connection) -> IndexState:
        """Lock the index against other writers, inside a transaction; return its state."""
        # What other tables hold is as of before the wait: the sums are read again behind it.
        query = f"{state_query(self._role)} FOR UPDATE OF i"
        return self._state(connection.execute(query).fetchall())

    def write_transaction(self, change: Callable[[Connection], Any]) -> Any:
        """Run a change in a transaction; see `Database.write`."""
        self.check_writable()
        return self.database.write(change)

    def write(self, files: Sequence[IndexedFile], removed: Sequence[str] = ()) -> tuple[str, ...]:
        """Replace and remove files in one transaction; see `Store`."""

        def change(connection: Connection) -> tuple[IndexIdentity, list[IndexedFile]]:
            state = self.locked(connection)
            identity = state.identity
            if identity is None:
                raise _NoIdentityError(
                    f"the index {self.location} has no identity; set_identity(...) first."
                )
            writer = Writer(connection, state)
            # Another host may have switched the model: its vectors and ours are not mixed.
            known = self._identity is None or self._identity.fits(identity)
            mine = writer.current(files) if known else []
            gone = list(removed)
            if self._role == "live":
                mine, gone = publish_files(connection, mine, gone)
            writer.replace(mine, gone)
            return identity, mine

        self._identity, mine = self.write_transaction(change)
        written = {id(item) for item in mine}
        return tuple(item.record.path for item in files if id(item) not in written)

    def cache_vectors(
        self, vectors: Mapping[str, ChunkVectors], *, drop: Iterable[str] = ()
    ) -> None:
        """Put vectors of texts in the vector cache, and drop others; see `Store`."""
        dropped = list(drop)

        def change(connection: Connection) -> None:
            identity = self.locked(connection).identity
            if identity is not None and identity.model and identity.dimension:
                vector_cache.put(connection, identity, vectors, dropped)

        self.write_transaction(change)

    def trim_vector_cache(self, max_entries: int) -> None:
        """Drop the cached vectors written longest ago, beyond a number of texts."""
        self.write_transaction(lambda connection: vector_cache.trim(connection, max_entries))

    # -- coordination, rebuild, recovery ---------------------------------------------------------

    @contextlib.contextmanager
    def lease(
        self,
        name: LeaseName,
        *,
        timeout_s: float,
        check: Callable[[], object] = lambda: None,
    ) -> Iterator[None]:
        """Hold a lease, an advisory lock of a transaction that is open meanwhile; see `Store`."""
        from commonplace.store.postgres.leases import held

        self.check_writable()
        with held(self.database, name, timeout_s=timeout_s, check=check):
            yield

    def lease_holder(self) -> str | None:
        """Return the owner of the ``run`` lease; None when it is free."""
        from commonplace.store.postgres.leases import holder

        found = holder(self.database, "run")
        return found and found.owner

    def check_writable(self) -> None:
        """Raise `IndexReadOnlyError` where the index cannot be written."""
        if reason := self.read_only_reason:
            raise IndexReadOnlyError(
                f"the index {self.location} cannot be written: {reason}. It answers as it is."
            )

    def begin_rebuild(self, identity: IndexIdentity, *, restart: bool, keep_cache: int) -> Rebuild:
        """Begin or resume a shadow index; see `Store`."""
        from commonplace.store.postgres.rebuild import PostgresRebuild

        shadow = PostgresStore(self._address, role="shadow", database=self.database)
        shadow._installed = self._installation()
        return PostgresRebuild.begin(self, shadow, identity, restart=restart, keep_cache=keep_cache)

    def recover(self, error: StoreError, *, certain: bool) -> Recovery | None:
        """Connect again after a lost connection, and create what was dropped; see `Store`."""
        del certain
        if isinstance(error, ConnectionLostError):
            if self._installed is None:
                return None  # it was never reached: the address may be wrong
            self.database.forget_idle()
            return Recovery() if self.database.is_back() else None
        if isinstance(error, IndexGoneError):
            self._forget()
        is_mended = isinstance(error, (IndexGoneError, TransientError, _NoIdentityError))
        return Recovery() if is_mended else None

    def purge(self) -> bool:
        """Rewrite the tables without deleted texts; see `Store`."""
        from commonplace.store.postgres.maintenance import purge

        return purge(self)

    def health_checks(self) -> Iterable[HealthCheck]:
        """Return the checks of the server, the extension and the rights."""
        from commonplace.store.postgres.maintenance import health_checks

        return health_checks(self)

    def suspend(self) -> None:
        """Close the idle connections and release the vectors, until the next use."""
        self._cache.clear()
        self.database.forget_idle()

    def close(self) -> None:
        """Close all connections and release the vectors for good."""
        self._closed = True
        self.hosts.close()
        self._cache.clear()
        if self._owned:
            self.database.close()

    def _check_open(self) -> None:
        if self._closed:
            raise StoreError(CLOSED)

    def _installation(self) -> Installation:
        """Return what was found on the server; at the first use, create what is missing."""
        self._check_open()
        with self._opening:
            if self._installed is None:
                self._installed = install(self.database)
            return self._installed

    def _forget(self) -> None:
        """Look at the server again at the next use."""
        self._installed = self._identity = self._generation = None
        self._complete = False
        self._cache.clear()
