"""Rebuild of the PostgreSQL engine: tables of a new generation beside those that answer."""

from __future__ import annotations

from typing import TYPE_CHECKING

from commonplace.store.postgres import vector_cache
from commonplace.store.postgres.installation import add_generation, drop_generation
from commonplace.store.postgres.notifications import notice
from commonplace.store.postgres.published_rows import inbox_waits
from commonplace.store.publication import InboxWaitsError
from commonplace.store.records import IndexIdentity

if TYPE_CHECKING:
    from commonplace.store.postgres.database import Connection
    from commonplace.store.postgres.store import PostgresStore

__all__ = ["PostgresRebuild", "drop_retired"]


class PostgresRebuild:
    """Shadow index in tables of its own; see `Rebuild`.

    Args:
        target: The index that answers until `commit`.
        shadow: The index that is being filled.
    """

    def __init__(self, target: PostgresStore, shadow: PostgresStore) -> None:
        self._target = target
        self.store = shadow

    @classmethod
    def begin(
        cls,
        target: PostgresStore,
        shadow: PostgresStore,
        identity: IndexIdentity,
        *,
        restart: bool,
        keep_cache: int,
    ) -> PostgresRebuild:
        """Resume the shadow index that a crash left, if it fits, or begin a new one."""
        rebuild = cls(target, shadow)
        held = shadow.identity if shadow.exists() else None
        fits = held and held.vectors_key == identity.vectors_key and held.fits(identity)
        if restart or not fits:
            rebuild.abandon(keep_cache=keep_cache)
            target.write_transaction(lambda connection: add_generation(connection, "shadow"))
            shadow.set_identity(identity)
        drop_retired(target)
        return rebuild

    def commit(self, *, keep_cache: int) -> None:
        """Make the shadow index the one that answers, by one UPDATE.

        Readers of every process keep the tables of their state until they are done with them.

        Raises:
            InboxWaitsError: A change waits in the inbox: only the index that answers has it.
        """

        def change(connection: Connection) -> None:
            old, new = self._target.locked(connection), self.store.locked(connection)
            if inbox_waits(connection):
                raise InboxWaitsError(
                    f"changes of hosts without the folder wait at {self._target.location}; the "
                    "index stays as it is. Run 'commonplace index' where the folder is, and try "
                    "again."
                )
            vector_cache.put_chunks(connection, old, None)
            vector_cache.trim(connection, keep_cache)
            for generation, role in ((old.generation, None), (new.generation, "live")):
                connection.execute(
                    "UPDATE indexes SET role = %s WHERE generation = %s", (role, generation)
                )
            payload = notice(new.generation, new.version)
            connection.execute("SELECT pg_notify(current_schema(), %s)", (payload,))

        identity = self.store.identity
        self._target.write_transaction(change)
        self._target.note_identity(identity)
        drop_retired(self._target)

    def abandon(self, *, keep_cache: int) -> None:
        """Drop the shadow index; its vectors go to the cache."""

        def change(connection: Connection) -> None:
            if not connection.execute("SELECT 1 FROM indexes WHERE role = 'shadow'").fetchone():
                return
            state = self.store.locked(connection)
            vector_cache.put_chunks(connection, state, None)
            vector_cache.trim(connection, keep_cache)
            connection.execute(
                "UPDATE indexes SET role = NULL WHERE generation = %s", (state.generation,)
            )

        self._target.write_transaction(change)
        drop_retired(self._target)

    def close(self) -> None:
        """Release the shadow index; it stays to be resumed."""
        self.store.close()


def drop_retired(store: PostgresStore) -> bool:
    """Drop the tables of indexes that answer no longer; False where a reader holds some."""

    def change(connection: Connection) -> bool:
        found = connection.execute(
            "SELECT generation FROM indexes WHERE role IS NULL FOR UPDATE SKIP LOCKED"
        ).fetchall()
        dropped = [drop_generation(connection, generation) for (generation,) in found]
        return all(dropped)

    done: bool = store.write_transaction(change)
    return done
