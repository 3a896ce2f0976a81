"""Worker threads that make requests, so that a call that hangs keeps no caller waiting."""

from __future__ import annotations

import contextvars
import queue
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

__all__ = ["Request", "RequestOutcome", "ThreadWorkers"]


@dataclass(order=True, slots=True)
class Request:
    """Texts that are sent together.

    Attributes:
        ready_at: When it may be sent, by the clock of its service.
        number: Unique in its queue.
        texts: The texts whose vectors are wanted.
        sent: The texts as they are sent: whole, or truncated.
        failures: How many attempts have failed.
    """

    ready_at: float
    number: int
    texts: list[str] = field(compare=False)
    sent: list[str] = field(compare=False)
    failures: int = field(default=0, compare=False)


RequestOutcome = tuple[Request, Any, BaseException | None]
"""A request, its vectors, and the exception in their place."""


class ThreadWorkers:
    """Daemon threads that make requests; they end with it, but for one whose call hangs.

    Args:
        call: Makes a request.
        count: Requests under way at once, at most.
    """

    def __init__(self, call: Callable[[list[str]], Any], count: int) -> None:
        self._call = call
        self._count = count
        self._todo: queue.SimpleQueue[Request | None] = queue.SimpleQueue()
        self._done: queue.SimpleQueue[RequestOutcome] = queue.SimpleQueue()
        self._under_way: dict[int, tuple[Request, float, float]] = {}
        """Each request, its timeout and when that ends."""
        self._available = 0
        self._started = 0

    @property
    def busy(self) -> bool:
        """Whether a request is under way."""
        return bool(self._under_way)

    @property
    def has_room(self) -> bool:
        """Whether another request may be started."""
        return len(self._under_way) < self._count

    def start(self, request: Request, timeout_s: float) -> None:
        """Start a request, which counts as failed when it takes longer than its timeout."""
        self._under_way[request.number] = request, timeout_s, time.monotonic() + timeout_s
        if self._available < len(self._under_way):
            self._available += 1
            self._started += 1
            context = contextvars.copy_context()
            threading.Thread(
                target=context.run, args=(self._work,), name="commonplace-embed", daemon=True
            ).start()
        self._todo.put(request)

    def next(self, wait_s: float) -> RequestOutcome | None:
        """Wait for a request to end; None when none did in time."""
        first_end = min((end for _, _, end in self._under_way.values()), default=0.0)
        left = max(0.0, first_end - time.monotonic())
        try:
            request, vectors, error = self._done.get(timeout=min(left, wait_s))
        except queue.Empty:
            return self._timed_out()
        if self._under_way.pop(request.number, None) is None:
            return None  # it has timed out before
        return request, vectors, error

    def close(self) -> None:
        """End the threads without waiting for requests that are under way."""
        for _ in range(self._started):
            self._todo.put(None)

    def _timed_out(self) -> RequestOutcome | None:
        for request, timeout_s, end in self._under_way.values():
            if end <= time.monotonic():
                del self._under_way[request.number]
                self._available -= 1  # its thread may hang for ever
                return request, None, TimeoutError(f"no answer within {timeout_s:.1f} s")
        return None

    def _work(self) -> None:
        while (request := self._todo.get()) is not None:
            try:
                outcome: RequestOutcome = request, self._call(request.sent), None
            except BaseException as error:  # noqa: BLE001 - raised by the reader of the outcome
                outcome = request, None, error
            self._done.put(outcome)
