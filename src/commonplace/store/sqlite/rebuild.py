"""Rebuild of the SQLite engine: a shadow index file beside the one that answers."""

from __future__ import annotations

import contextlib
import uuid
from typing import TYPE_CHECKING

import apsw

from commonplace.errors import StoreError
from commonplace.store.records import IndexIdentity
from commonplace.store.sqlite import vector_cache
from commonplace.store.sqlite.connection import transaction
from commonplace.store.sqlite.recovery import delete_index
from commonplace.store.sqlite.schema import set_meta

if TYPE_CHECKING:
    from commonplace.store.sqlite.store import SqliteStore

__all__ = ["SqliteRebuild"]


class SqliteRebuild:
    """Shadow index ``<index>.rebuild``; see `Rebuild`.

    Args:
        target: The index that answers until `commit`.
        shadow: The index that is being filled.
    """

    def __init__(self, target: SqliteStore, shadow: SqliteStore) -> None:
        self._target = target
        self.store = shadow

    @classmethod
    def begin(
        cls,
        target: SqliteStore,
        shadow: SqliteStore,
        identity: IndexIdentity,
        *,
        restart: bool,
        keep_cache: int,
    ) -> SqliteRebuild:
        """Resume the shadow index that a crash left, if it fits, or begin a new one."""
        rebuild = cls(target, shadow)
        if restart or not rebuild._fits(identity):
            rebuild.abandon(keep_cache=keep_cache)
            shadow.set_identity(identity)
        return rebuild

    def commit(self, *, keep_cache: int) -> None:
        """Copy the shadow index's pages over the target's, in one write transaction.

        Readers of every process see the old state until it commits, and no open file is renamed.
        """
        with self.store.writing() as source:
            vector_cache.copy_from(source, self._target.path, keep_cache)
            with transaction(source):
                set_meta(source, "generation", uuid.uuid4().hex)
            with self._target.writing() as target:
                with target.backup("main", source, "main") as backup:
                    backup.step(-1)  # waits for other writers; readers keep their state
                with contextlib.suppress(apsw.BusyError):
                    target.wal_checkpoint()
        self._target.note_identity(self.store.identity)
        self._delete()

    def abandon(self, *, keep_cache: int) -> None:
        """Delete the shadow index; its vectors go to the target's cache."""
        if keep_cache and self.store.exists():
            with contextlib.suppress(StoreError):
                self.store.identity  # noqa: B018 - creates missing tables, which are copied from
                with self._target.writing() as connection:
                    vector_cache.copy_from(connection, self.store.path, keep_cache)
        self._delete()

    def close(self) -> None:
        """Release the shadow index; it stays to be resumed."""
        self.store.close()

    def _fits(self, identity: IndexIdentity) -> bool:
        """Return whether the shadow index holds what an index of this identity would."""
        if not self.store.exists():
            return False
        try:
            held = self.store.identity
        except StoreError:
            return False
        return bool(held and held.vectors_key == identity.vectors_key and held.fits(identity))

    def _delete(self) -> None:
        self.store.release()
        delete_index(self.store.path)
