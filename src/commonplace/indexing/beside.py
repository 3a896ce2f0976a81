"""The file that an index is rebuilt into, beside the one that goes on answering."""

from __future__ import annotations

import contextlib
import os
from pathlib import Path

from commonplace.errors import StoreError
from commonplace.store.base import IndexIdentity
from commonplace.store.sqlite.store import SqliteStore

__all__ = ["begin", "delete_index", "give_up", "is_loss", "paths"]


def begin(path: Path, identity: IndexIdentity, *, heir: SqliteStore, keep: int) -> SqliteStore:
    """Open a file to rebuild into; one that a crash left is gone on with if it is alike.

    Args:
        path: The file.
        identity: What it is built with.
        heir: Whose cache takes the vectors of one that is not alike.
        keep: How many that cache may hold.
    """
    with contextlib.suppress(StoreError):
        left = SqliteStore(path)
        held = left.identity
        if held and held.vectors_key == identity.vectors_key and held.fits(identity):
            return left
        left.close()
    give_up(path, heir=heir, keep=keep)
    new = SqliteStore(path)
    new.set_identity(identity)
    return new


def give_up(path: Path, *, heir: SqliteStore, keep: int) -> None:
    """Delete what is left of a rebuild; the vectors that were made for it go to a cache."""
    if keep and path.exists():
        with contextlib.suppress(StoreError):
            SqliteStore(path).close()  # an older version's tables are brought up to date
            heir.keep_vectors_of(path, keep=keep)
    delete_index(path)


def is_loss(old: SqliteStore, new: SqliteStore) -> bool:
    """Tell whether an index that lacks vectors would take the place of one that has its own."""
    held, made = old.identity, new.identity
    if held is None or made is None or held.fits(made):
        return False
    with old.snapshot() as snapshot:
        return bool(snapshot.totals().vectors)


def paths(store: SqliteStore) -> set[str]:
    """Return the paths of the files in an index."""
    with store.snapshot() as snapshot:
        return set(snapshot.files())


def delete_index(path: Path) -> None:
    """Delete an index file and what SQLite keeps beside it."""
    for suffix in ("", "-wal", "-shm", "-journal"):
        with contextlib.suppress(FileNotFoundError):
            os.unlink(f"{path}{suffix}")
