"""Which files failed in the background, so that not every look tries them again."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable

from commonplace.types import MemoryFile

__all__ = ["FileBackoff"]

_FIRST_WAIT_S = 2.0
_LONGEST_WAIT_S = 300.0


class FileBackoff:
    """Files that could not be indexed as they should: unreadable ones, ones without vectors.

    They are left alone for a while, longer with each failure, unless they change meanwhile: what
    is new in them is to be found, whatever became of the attempt before.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._seen: dict[str, tuple[int, int]] = {}
        self._failed: dict[str, tuple[int, int]] = {}
        self._wait_s = _FIRST_WAIT_S
        self._again_at = 0.0

    def begin(self) -> None:
        """Begin a run."""
        self._seen = {}
        if self._clock() >= self._again_at:
            self._failed = {}

    def leaves(self, file: MemoryFile) -> bool:
        """Tell whether a file that would be read is left alone in this run."""
        state = (file.size, file.mtime_ns)
        if self._failed.get(file.path) == state:
            return True
        self._seen[file.path] = state
        return False

    def end(self, failed: Iterable[str]) -> None:
        """End a run that did something; tell which of the files failed."""
        tried = {path: self._seen[path] for path in failed if path in self._seen}
        if not tried and not self._failed:
            self._wait_s = _FIRST_WAIT_S
        elif tried and not self._failed:
            self._again_at = self._clock() + self._wait_s
            self._wait_s = min(_LONGEST_WAIT_S, 2 * self._wait_s)
        self._failed |= tried

    def forget(self) -> None:
        """Leave nothing alone any more."""
        self._failed = {}
        self._wait_s = _FIRST_WAIT_S
