"""Who makes requests: the calling thread, or a few threads of their own."""

from __future__ import annotations

import contextvars
import queue
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

__all__ = ["InlineWorkers", "Request", "ThreadWorkers"]


@dataclass(order=True, slots=True)
class Request:
    """Texts that are sent together.

    Attributes:
        ready_at: When it may be sent, by the clock of its service.
        number: Tells requests apart.
        texts: What is asked for.
        sent: What is sent: the texts, or their beginnings.
        failures: How often it failed.
    """

    ready_at: float
    number: int
    texts: list[str] = field(compare=False)
    sent: list[str] = field(compare=False)
    failures: int = field(default=0, compare=False)


Done = tuple[Request, Any, BaseException | None]


class InlineWorkers:
    """Makes a request in the calling thread."""

    def __init__(self, call: Callable[[list[str]], Any]) -> None:
        self._call = call
        self._request: Request | None = None

    @property
    def busy(self) -> bool:
        """Whether a request is under way."""
        return self._request is not None

    @property
    def has_room(self) -> bool:
        """Whether another request may be started."""
        return self._request is None

    def start(self, request: Request) -> None:
        """Begin a request."""
        self._request = request

    def next(self, _timeout_s: float | None) -> Done | None:
        """Make the request that was begun."""
        request, self._request = self._request, None
        if request is None:
            return None
        try:
            return request, self._call(request.sent), None
        except Exception as error:  # noqa: BLE001 - it is judged by whoever asked
            return request, None, error

    def close(self) -> None:
        """End."""


class ThreadWorkers:
    """Makes requests in threads that end with it, but for one whose call never comes back."""

    def __init__(self, call: Callable[[list[str]], Any], count: int, timeout_s: float) -> None:
        self._call = call
        self._count = count
        self._timeout_s = timeout_s
        self._todo: queue.SimpleQueue[Request | None] = queue.SimpleQueue()
        self._done: queue.SimpleQueue[Done] = queue.SimpleQueue()
        self._under_way: dict[int, tuple[Request, float]] = {}
        self._at_work = 0
        self._started = 0

    @property
    def busy(self) -> bool:
        """Whether a request is under way."""
        return bool(self._under_way)

    @property
    def has_room(self) -> bool:
        """Whether another request may be started."""
        return len(self._under_way) < self._count

    def start(self, request: Request) -> None:
        """Begin a request."""
        self._under_way[request.number] = request, time.monotonic() + self._timeout_s
        if self._at_work < len(self._under_way):
            self._at_work += 1
            self._started += 1
            context = contextvars.copy_context()
            threading.Thread(
                target=context.run, args=(self._work,), name="commonplace-embed", daemon=True
            ).start()
        self._todo.put(request)

    def next(self, timeout_s: float | None) -> Done | None:
        """Wait for a request to end; None when none did in time."""
        first_end = min((end for _, end in self._under_way.values()), default=0.0)
        left = max(0.0, first_end - time.monotonic())
        wait = left if timeout_s is None else min(left, timeout_s)
        try:
            request, vectors, error = self._done.get(timeout=wait)
        except queue.Empty:
            return self._given_up()
        if self._under_way.pop(request.number, None) is None:
            return None  # it was given up before
        return request, vectors, error

    def close(self) -> None:
        """End; what is under way is not waited for."""
        for _ in range(self._started):
            self._todo.put(None)

    def _given_up(self) -> Done | None:
        for request, end in self._under_way.values():
            if end <= time.monotonic():
                del self._under_way[request.number]
                self._at_work -= 1  # its thread may never come back
                error = TimeoutError(f"it did not answer within {self._timeout_s:g} s")
                return request, None, error
        return None

    def _work(self) -> None:
        while (request := self._todo.get()) is not None:
            try:
                done: Done = request, self._call(request.sent), None
            except BaseException as error:  # noqa: BLE001 - told to whoever asked
                done = request, None, error
            self._done.put(done)
