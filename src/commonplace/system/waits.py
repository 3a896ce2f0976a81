"""Bounded waits: all that one call waits for other writers is half a minute together.

A call waits for several locks, one after the other: of a note, of the history, of the index. Each
lock has a limit of its own; the deadline of the call stands above them.
"""

from __future__ import annotations

import contextlib
import contextvars
import math
import time
from collections.abc import Callable, Iterator

__all__ = ["WRITER_WAIT_S", "bounded_waits", "busy_handler", "is_wait_over", "seconds_to_wait"]

WRITER_WAIT_S = 30.0
"""Seconds that a call which writes waits for other writers, all its locks together."""
STEP_WAIT_S = 1.0
"""Seconds that each lock is waited for even so: what is half made is brought to its end."""

_POLL_S = 0.002
_deadline = contextvars.ContextVar("deadline", default=math.inf)


@contextlib.contextmanager
def bounded_waits() -> Iterator[None]:
    """Let all waits of a block have one deadline; within such a block, the one that it has."""
    token = _deadline.set(min(_deadline.get(), time.monotonic() + WRITER_WAIT_S))
    try:
        yield
    finally:
        _deadline.reset(token)


def seconds_to_wait(limit_s: float) -> float:
    """Return how long a lock may be waited for, which by itself may be for `limit_s` seconds."""
    return min(limit_s, max(STEP_WAIT_S, _deadline.get() - time.monotonic()))


def is_wait_over() -> bool:
    """Return whether the call has waited for as long as it may."""
    return time.monotonic() >= _deadline.get()


def busy_handler(limit_s: float) -> Callable[[int], bool]:
    """Return a busy handler for a connection of SQLite: it waits like all other locks."""
    until = 0.0

    def wait(tries: int) -> bool:
        nonlocal until
        now = time.monotonic()
        if tries == 0:
            until = now + seconds_to_wait(limit_s)
        if now >= until:
            return False
        time.sleep(min(_POLL_S, until - now))
        return True

    return wait
