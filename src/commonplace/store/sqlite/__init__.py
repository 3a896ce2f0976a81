"""SQLite engine: one file, FTS5 for terms, sqlite-vec and a resident matrix for vectors."""

from __future__ import annotations

from typing import TYPE_CHECKING

from commonplace.errors import StoreError

if TYPE_CHECKING:
    from commonplace.store.sqlite.store import SqliteStore

__all__ = ["open_store"]


def open_store(url: str) -> SqliteStore:
    """Open the SQLite index of a URL; see `commonplace.store.registry.open_store`."""
    from commonplace.store.registry import sqlite_path
    from commonplace.store.sqlite.store import SqliteStore

    path = sqlite_path(url)
    if path is None:
        raise StoreError(f"{url!r} is no SQLite index; sqlite:///PATH was expected.")
    return SqliteStore(path)
