"""Backoff of files that failed in background runs."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable

from commonplace.types import MemoryFile

__all__ = ["FileBackoff"]

_FIRST_WAIT_S = 2.0
_LONGEST_WAIT_S = 300.0


class FileBackoff:
    """Exponential backoff of files that could not be indexed: unreadable, or without vectors.

    They are skipped for a while, longer with each failure. A file that changes is read at once: its
    new content is to be found.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._seen: dict[str, tuple[int, int, str]] = {}
        self._failed: dict[str, tuple[int, int, str]] = {}
        self._wait_s = _FIRST_WAIT_S
        self._again_at = 0.0

    def begin(self) -> None:
        """Begin a run: files whose wait is over are tried again."""
        self._seen = {}
        if self._clock() >= self._again_at:
            self._failed = {}

    def skips(self, file: MemoryFile) -> bool:
        """Return whether a file that would be read is skipped in this run."""
        state = (file.size, file.mtime_ns, file.stamp)
        if self._failed.get(file.path) == state:
            return True
        self._seen[file.path] = state
        return False

    def end(self, failed: Iterable[str]) -> None:
        """End a run that did something, and note the files that failed."""
        tried = {path: self._seen[path] for path in failed if path in self._seen}
        if not tried and not self._failed:
            self._wait_s = _FIRST_WAIT_S
        elif tried and not self._failed:
            self._again_at = self._clock() + self._wait_s
            self._wait_s = min(_LONGEST_WAIT_S, 2 * self._wait_s)
        self._failed |= tried
