"""Sending texts to an embedder: packed into requests, several at once, tried again, given up."""

from __future__ import annotations

import contextlib
import contextvars
import heapq
import logging
import queue
import random
import threading
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from commonplace.embeddings.base import RequestLimits
from commonplace.embeddings.faults import Fault

__all__ = ["RETRY", "Answer", "Requests", "Retry", "Service", "pack", "shared_service"]

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Retry:
    """When a request that may be answered later is sent again.

    Attributes:
        tries: How often it is sent at most, the first time included.
        first_wait_s: The wait after the first failure; it doubles with each further one.
        longest_wait_s: Where it stops to grow.
        jitter: Share of the wait that is added at random, so that not all come back at once.
        longest_asked_s: How much of a wait that the service asks for is granted.
    """

    tries: int = 3
    first_wait_s: float = 0.5
    longest_wait_s: float = 8.0
    jitter: float = 0.2
    longest_asked_s: float = 60.0

    def wait_s(self, failures: int, fault: Fault) -> float:
        """Return how long to wait after so many failures of a request."""
        if fault.retry_after_s is not None:
            return min(fault.retry_after_s, self.longest_asked_s)
        wait = min(self.first_wait_s * 2.0 ** (failures - 1), self.longest_wait_s)
        return wait * (1 + self.jitter * random.random())


RETRY = Retry()
"""As the reference: 500 ms, doubling up to 8 s, with a jitter of a fifth; three tries."""


class Service:
    """What this process has learned of a service; shared by all who send to it.

    Args:
        clock: Seconds of a clock that never goes back.
        sleep: Waits for seconds.
    """

    def __init__(
        self,
        *,
        clock: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        self.clock = clock
        self.sleep = sleep
        self._lock = threading.Lock()
        self._free_at = 0.0
        self._max_texts: int | None = None
        self._max_bytes: int | None = None
        self._too_long: int | None = None

    @property
    def free_in_s(self) -> float:
        """How long the service wants to be left alone."""
        return max(0.0, self._free_at - self.clock())

    def cool_down(self, seconds: float) -> None:
        """Leave the service alone, all of its requests."""
        with self._lock:
            self._free_at = max(self._free_at, self.clock() + seconds)

    def limits(self, given: RequestLimits) -> RequestLimits:
        """Return limits, lowered to what was learned."""
        return replace(
            given,
            max_texts=min(given.max_texts, self._max_texts or given.max_texts),
            max_bytes=min(given.max_bytes, self._max_bytes or given.max_bytes),
        )

    def learn_too_large(self, texts: Sequence[str], *, counts_texts: bool) -> None:
        """Remember that so many texts, or so many bytes, were too large for one request."""
        with self._lock:
            if counts_texts:
                half = max(1, len(texts) // 2)
                self._max_texts = min(half, self._max_texts or half)
            else:
                half = max(1, sum(map(_size, texts)) // 2)
                self._max_bytes = min(half, self._max_bytes or half)

    def learn_too_long(self, text: str) -> None:
        """Remember that a text was too long by itself."""
        with self._lock:
            size = _size(text)
            self._too_long = min(size, self._too_long or size)

    def shortened(self, text: str) -> str:
        """Return what is sent of a text: its beginning, where it is as long as what was refused."""
        if self._too_long is None or _size(text) < self._too_long:
            return text
        return _beginning(text, self._too_long // 2)


_SERVICES: dict[tuple[str, ...], Service] = {}
_SERVICES_LOCK = threading.Lock()


def shared_service(*key: str) -> Service:
    """Return the service of that name; the same one to all in this process."""
    with _SERVICES_LOCK:
        return _SERVICES.setdefault(key, Service())


def pack(texts: Iterable[str], limits: RequestLimits) -> Iterator[list[str]]:
    """Cut texts into requests, in order; a text above the limit of bytes travels alone."""
    packed: list[str] = []
    total = 0
    for text in texts:
        size = _size(text)
        if packed and (len(packed) >= limits.max_texts or total + size > limits.max_bytes):
            yield packed
            packed, total = [], 0
        packed.append(text)
        total += size
    if packed:
        yield packed


@dataclass(frozen=True, slots=True)
class Answer:
    """What came of one request: its texts, and what the embedder made of them or why it did not."""

    texts: list[str]
    vectors: Any = None
    error: Exception | None = None
    fault: Fault | None = None


@dataclass(order=True, slots=True)
class _Request:
    ready_at: float
    number: int
    texts: list[str] = field(compare=False)
    sent: list[str] = field(compare=False)
    failures: int = field(default=0, compare=False)


_GIVE_UP_AFTER = 3
"""Requests that fail for good one after another before the rest is not even sent."""
_SHORTEST_SENT = 256
"""Bytes below which a text that is too long is not shortened any more."""


class Requests:
    """The requests of one run.

    Args:
        call: Sends one request and returns one vector for each text, or raises.
        judge: Says what an exception means.
        limits: What a request carries, and how many are under way.
        service: What is known of the service.
        retry: When a request is sent again.
        inline: Whether requests are made in the calling thread, with no waits: nothing but this
            process is asked.
        timeout_s: When a request is given up whose client does not come back at all.
    """

    def __init__(
        self,
        call: Callable[[list[str]], Any],
        *,
        judge: Callable[[BaseException], Fault],
        limits: RequestLimits,
        service: Service,
        retry: Retry = RETRY,
        inline: bool = False,
        timeout_s: float = 600.0,
    ) -> None:
        self._call = call
        self._judge = judge
        self._limits = limits
        self._service = service
        self._retry = replace(retry, tries=1) if inline else retry
        self._inline = inline
        self._timeout_s = timeout_s
        self._numbers = 0
        self._failures = 0
        self._patience = _GIVE_UP_AFTER
        self.given_up: Answer | None = None
        """The last failure, when the rest is not sent any more."""

    def send(self, texts: Iterable[str]) -> Iterator[Answer]:
        """Send texts; yield what comes of each request as soon as it is known."""
        if self._inline:
            workers: _Inline | _Threads = _Inline(self._call)
        else:
            workers = _Threads(self._call, self._limits.concurrency, self._timeout_s)
        fresh = deque(self._packed(texts))
        waiting: list[_Request] = []
        with contextlib.closing(workers):
            while fresh or waiting or workers.busy:
                if self.given_up is not None:
                    yield from self._unsent([*fresh, *waiting])
                    fresh, waiting = deque(), []
                self._begin(workers, fresh, waiting)
                done = workers.next(self._until_next(workers, waiting))
                if done is not None:
                    yield from self._settled(*done, fresh, waiting)

    def forgive(self) -> None:
        """Send again after all; the first failure ends it."""
        self.given_up, self._failures, self._patience = None, 0, 1

    # -- what is sent next -----------------------------------------------------------------------

    def _packed(self, texts: Iterable[str]) -> Iterator[_Request]:
        for packed in pack(texts, self._service.limits(self._limits)):
            self._numbers += 1
            sent = [self._service.shortened(text) for text in packed]
            yield _Request(0.0, self._numbers, packed, sent)

    def _begin(
        self, workers: _Inline | _Threads, fresh: deque[_Request], waiting: list[_Request]
    ) -> None:
        """Start requests while there is room for them, those that failed before the others."""
        if self._service.free_in_s:
            return
        while workers.has_room:
            if waiting and waiting[0].ready_at <= self._service.clock():
                workers.start(heapq.heappop(waiting))
            elif fresh:
                workers.start(fresh.popleft())
            else:
                return

    def _until_next(self, workers: _Inline | _Threads, waiting: list[_Request]) -> float | None:
        """Wait until a request can be started, where none is under way; else say how long."""
        pause = self._service.free_in_s
        if waiting:
            pause = max(pause, waiting[0].ready_at - self._service.clock())
        if workers.busy:
            return pause if pause > 0 else None
        if pause > 0:
            self._service.sleep(pause)
        return 0.0

    # -- what comes back -------------------------------------------------------------------------

    def _settled(
        self,
        request: _Request,
        vectors: Any,
        error: BaseException | None,
        fresh: deque[_Request],
        waiting: list[_Request],
    ) -> Iterator[Answer]:
        if error is None:
            self._failures, self._patience = 0, _GIVE_UP_AFTER
            yield Answer(request.texts, vectors)
            return
        if not isinstance(error, Exception):
            raise error
        fault = self._judge(error)
        if fault.kind == "too_large" and self._lessened(request, fault, fresh):
            return
        if fault.kind == "transient":
            request.failures += 1
            wait = self._retry.wait_s(request.failures, fault)
            if fault.slows_all and not self._inline:
                self._service.cool_down(wait)
            if request.failures < self._retry.tries:
                logger.info("a request is sent again in %.1f s: %s", wait, fault.message)
                request.ready_at = self._service.clock() + wait
                heapq.heappush(waiting, request)
                return
        answer = Answer(request.texts, None, error, fault)
        self._failures += 1
        if fault.kind in ("refused", "quota") or self._failures >= self._patience:
            self.given_up = answer
        yield answer

    def _lessened(self, request: _Request, fault: Fault, fresh: deque[_Request]) -> bool:
        """Send less at once from now on; False when a request cannot be made smaller."""
        if len(request.texts) > 1:
            self._service.learn_too_large(request.sent, counts_texts=fault.counts_texts)
            middle = len(request.texts) // 2
            rest = [text for one in fresh for text in one.texts]
            fresh.clear()
            # Both halves by themselves: what was too large may be of neither kind that is learned.
            fresh.extend(self._packed(request.texts[:middle]))
            fresh.extend(self._packed(request.texts[middle:]))
            fresh.extend(self._packed(rest))
            return True
        if _size(request.sent[0]) < 2 * _SHORTEST_SENT:
            return False
        self._service.learn_too_long(request.sent[0])
        request.sent = [_beginning(request.sent[0], _size(request.sent[0]) // 2)]
        logger.warning("a text is too long for the embedder; its beginning stands for it")
        fresh.appendleft(request)
        return True

    def _unsent(self, requests: list[_Request]) -> Iterator[Answer]:
        assert self.given_up is not None
        for request in requests:
            yield replace(self.given_up, texts=request.texts)


_Done = tuple[_Request, Any, BaseException | None]


class _Inline:
    """Makes a request in the calling thread."""

    def __init__(self, call: Callable[[list[str]], Any]) -> None:
        self._call = call
        self._request: _Request | None = None

    @property
    def busy(self) -> bool:
        return self._request is not None

    @property
    def has_room(self) -> bool:
        return self._request is None

    def start(self, request: _Request) -> None:
        self._request = request

    def next(self, _timeout_s: float | None) -> _Done | None:
        request, self._request = self._request, None
        if request is None:
            return None
        try:
            return request, self._call(request.sent), None
        except Exception as error:  # noqa: BLE001 - it is judged by whoever asked
            return request, None, error

    def close(self) -> None:
        pass


class _Threads:
    """Makes requests in threads that end with it, but for one whose call never comes back."""

    def __init__(self, call: Callable[[list[str]], Any], count: int, timeout_s: float) -> None:
        self._call = call
        self._count = count
        self._timeout_s = timeout_s
        self._todo: queue.SimpleQueue[_Request | None] = queue.SimpleQueue()
        self._done: queue.SimpleQueue[_Done] = queue.SimpleQueue()
        self._under_way: dict[int, tuple[_Request, float]] = {}
        self._at_work = 0
        self._started = 0

    @property
    def busy(self) -> bool:
        return bool(self._under_way)

    @property
    def has_room(self) -> bool:
        return len(self._under_way) < self._count

    def start(self, request: _Request) -> None:
        self._under_way[request.number] = request, time.monotonic() + self._timeout_s
        if self._at_work < len(self._under_way):
            self._at_work += 1
            self._started += 1
            context = contextvars.copy_context()
            threading.Thread(
                target=context.run, args=(self._work,), name="commonplace-embed", daemon=True
            ).start()
        self._todo.put(request)

    def next(self, timeout_s: float | None) -> _Done | None:
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
        for _ in range(self._started):
            self._todo.put(None)

    def _given_up(self) -> _Done | None:
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
                done: _Done = request, self._call(request.sent), None
            except BaseException as error:  # noqa: BLE001 - told to whoever asked
                done = request, None, error
            self._done.put(done)


def _size(text: str) -> int:
    return len(text) if text.isascii() else len(text.encode("utf-8", "replace"))


def _beginning(text: str, size: int) -> str:
    """Return the beginning of a text, of so many bytes at most."""
    return text.encode("utf-8", "replace")[: max(1, size)].decode("utf-8", "ignore")
