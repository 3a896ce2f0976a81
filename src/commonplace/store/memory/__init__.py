"""Memory engine: an index in plain dictionaries, gone with its process."""

from __future__ import annotations

from typing import TYPE_CHECKING

from commonplace.errors import StoreError

if TYPE_CHECKING:
    from commonplace.store.memory.store import MemoryStore

__all__ = ["open_store"]


def open_store(url: str) -> MemoryStore:
    """Open an index in memory: each call a new one; see `commonplace.store.registry`."""
    if url.removeprefix("memory://"):
        raise StoreError(f"the index {url!r} has a name; an index in memory is just memory://.")
    from commonplace.store.memory.store import MemoryStore

    return MemoryStore()
