"""Turns of the threads of one process that index: a lock whose waits end with the memory."""

from __future__ import annotations

import contextlib
import math
import threading
import time
from collections.abc import Callable, Iterator

from commonplace.errors import IndexBusyError

__all__ = ["Turns"]

_CLOSING_S = 0.1
"""How soon a thread that waits notices that the memory is closed."""


class Turns:
    """Turns that are taken one at a time.

    Args:
        check: Called while a thread waits, and before its turn; what it raises ends the wait.
    """

    def __init__(self, check: Callable[[], object]) -> None:
        self._lock = threading.Lock()
        self._check = check

    @contextlib.contextmanager
    def taken(self, *, timeout_s: float = math.inf) -> Iterator[None]:
        """Wait for a turn, and take it.

        Raises:
            IndexBusyError: Another thread took longer than `timeout_s` seconds.
        """
        until = time.monotonic() + timeout_s
        while not self._lock.acquire(timeout=_CLOSING_S):
            self._check()
            if time.monotonic() > until:
                raise IndexBusyError(
                    f"another thread has indexed for {timeout_s:g} s. Try again when it is done."
                )
        try:
            self._check()
            yield
        finally:
            self._lock.release()
