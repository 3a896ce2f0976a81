"""Reader cache: what the snapshots of one process share between their states."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from commonplace.store.resident_vectors import ResidentVectors

__all__ = ["ReaderCache"]

_MAX_CACHED = 20_000
"""Entries of each kind of lookups that are cached."""


class ReaderCache:
    """Lookups of one state of the index, and the resident vectors.

    Args:
        resident_bytes: Bytes of vectors that may be resident.
    """

    def __init__(self, resident_bytes: int) -> None:
        self._resident_bytes = resident_bytes
        self._lookups: dict[str, tuple[object, dict[Any, Any]]] = {}
        self._resident: ResidentVectors | None = None
        self._scans = 0
        self._lock = threading.Lock()

    def of(self, kind: str, state: object) -> dict[Any, Any]:
        """Return the cache of one kind of lookups in one state of the index."""
        known, found = self._lookups.get(kind, (None, {}))
        if known != state or len(found) > _MAX_CACHED:
            found = {}
            self._lookups[kind] = (state, found)
        return found

    def is_too_large(self, vector_bytes: int) -> bool:
        """Return whether vectors of so many bytes stay on the server."""
        return vector_bytes > self._resident_bytes

    def resident(self, vector_bytes: int) -> ResidentVectors | None:
        """Return the matrix of all vectors; None where they are too large, and for a first search.

        A process that searches once, as the command line does, need not read all vectors: the
        server compares them instead.

        Args:
            vector_bytes: Bytes of all vectors.
        """
        with self._lock:
            self._scans += 1
            if self.is_too_large(vector_bytes):
                self._resident = None
            elif self._resident is None and self._scans > 1:
                from commonplace.store.resident_vectors import ResidentVectors

                self._resident = ResidentVectors()
            return self._resident

    @property
    def held(self) -> ResidentVectors | None:
        """The matrix where there is one; asking for it is no search."""
        return self._resident

    def clear(self) -> None:
        """Release everything."""
        with self._lock:
            self._lookups, self._resident, self._scans = {}, None, 0
