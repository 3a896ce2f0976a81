"""LRU cache: least recently set values are evicted."""

from __future__ import annotations

import threading
from collections import OrderedDict
from typing import Generic, TypeVar

__all__ = ["LRUCache"]

_T = TypeVar("_T")


class LRUCache(Generic[_T]):
    """Bounded mapping that evicts the value whose last `set` is longest ago; safe for threads."""

    def __init__(self, size: int = 1_000) -> None:
        self._size = size
        self._items: OrderedDict[str, _T] = OrderedDict()
        self._lock = threading.Lock()

    def get(self, key: str) -> _T | None:
        """Return the value of a key, or None."""
        return self._items.get(key)

    def set(self, key: str, value: _T) -> None:
        """Set a value, and evict the oldest one if the cache is full."""
        with self._lock:
            self._items[key] = value
            self._items.move_to_end(key)
            if len(self._items) > self._size:
                self._items.popitem(last=False)

    def pop(self, key: str) -> _T | None:
        """Remove a key and return its value, or None."""
        with self._lock:
            return self._items.pop(key, None)
