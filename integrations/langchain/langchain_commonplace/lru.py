"""A small memory of what was seen last."""

from __future__ import annotations

import threading
from collections import OrderedDict
from typing import Generic, TypeVar

__all__ = ["LRUCache"]

_T = TypeVar("_T")


class LRUCache(Generic[_T]):
    """A dict that forgets what was not set for longest; it may be shared by threads."""

    def __init__(self, size: int = 1_000) -> None:
        self._size = size
        self._items: OrderedDict[str, _T] = OrderedDict()
        self._lock = threading.Lock()

    def get(self, key: str) -> _T | None:
        """Return what was set last, or None."""
        return self._items.get(key)

    def set(self, key: str, value: _T) -> None:
        """Set a value."""
        with self._lock:
            self._items[key] = value
            self._items.move_to_end(key)
            if len(self._items) > self._size:
                self._items.popitem(last=False)

    def pop(self, key: str) -> _T | None:
        """Take a value out."""
        with self._lock:
            return self._items.pop(key, None)
