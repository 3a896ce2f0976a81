"""Request queue of an embedder: packs texts, sends requests, retries them, splits large ones."""

from __future__ import annotations

import contextlib
import heapq
import logging
import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

from commonplace.embeddings.base import ModelName, RequestLimits
from commonplace.embeddings.failures import Failure
from commonplace.embeddings.retry import STEP_S, RetryPolicy, ServiceState
from commonplace.embeddings.workers import Request, RequestOutcome, ThreadWorkers

__all__ = ["Answer", "RequestQueue", "RequestSizer", "pack", "shared_sizer"]

logger = logging.getLogger(__name__)

_MAX_FAILURES = 3
"""Consecutive requests without success from which on the rest is not sent."""
_MIN_SENT_BYTES = 256
"""A text that is too long is not truncated below this."""


@dataclass(frozen=True, slots=True)
class Answer:
    """Outcome of a request: its texts and their vectors, or the error in their place."""

    texts: list[str]
    vectors: Any = None
    error: Exception | None = None
    failure: Failure | None = None


def pack(texts: Iterable[str], limits: RequestLimits) -> Iterator[list[str]]:
    """Pack texts into requests, in order; a text above the limit of bytes travels alone."""
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


class RequestSizer:
    """Request size that a model's service takes, learned from what it refuses."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._max_texts: int | None = None
        self._max_bytes: int | None = None
        self._too_long: int | None = None

    def limits(self, given: RequestLimits) -> RequestLimits:
        """Return limits, lowered to what was learned."""
        return replace(
            given,
            max_texts=min(given.max_texts, self._max_texts or given.max_texts),
            max_bytes=min(given.max_bytes, self._max_bytes or given.max_bytes),
        )

    def truncated(self, text: str) -> str:
        """Return a text, or its beginning where a text of its length was refused."""
        if self._too_long is None or _size(text) < self._too_long:
            return text
        return _beginning(text, self._too_long // 2)

    def learn_too_large(self, texts: Sequence[str], *, counts_texts: bool) -> None:
        """Halve the texts of a request, or its bytes, after one that was too large."""
        with self._lock:
            if counts_texts:
                half = max(1, len(texts) // 2)
                self._max_texts = min(half, self._max_texts or half)
            else:
                half = max(1, sum(map(_size, texts)) // 2)
                self._max_bytes = min(half, self._max_bytes or half)

    def learn_too_long(self, text: str) -> None:
        """Remember the length of a text that was too long by itself."""
        with self._lock:
            self._too_long = min(_size(text), self._too_long or _size(text))


_SIZERS: dict[ModelName, RequestSizer] = {}


def shared_sizer(name: ModelName) -> RequestSizer:
    """Return the sizer of a model, the same one everywhere in this process."""
    return _SIZERS.setdefault(name, RequestSizer())


class RequestQueue:
    """Request queue of one run; one `send` at a time.

    Args:
        call: Sends one request and returns one vector for each text, or raises.
        classify: Classifies an exception.
        limits: Size of a request, and how many are under way at once.
        sizer: Learned limits.
        policy: When a request is sent again.
        service: State of the service. None for an embedder in this process: its requests are made
            in the calling thread, without waits and retries.
        timeout_s: Seconds after which a request counts as failed though its client still hangs.
        deadline_s: Seconds that a `send` may take: no wait ends beyond them. None is no deadline.
        check: Called every tenth of a second of a wait; what it raises ends the run.
    """

    def __init__(
        self,
        call: Callable[[list[str]], Any],
        *,
        classify: Callable[[BaseException], Failure],
        limits: RequestLimits,
        sizer: RequestSizer,
        policy: RetryPolicy,
        service: ServiceState | None,
        timeout_s: float = 600.0,
        deadline_s: float | None = None,
        check: Callable[[], object] = lambda: None,
    ) -> None:
        self._call = call
        self._classify = classify
        self._limits = limits
        self._sizer = sizer
        self._policy = policy
        self._service = service
        self._timeout_s = timeout_s
        self._deadline_s = deadline_s
        self._deadline: float | None = None
        self._check = check
        self._fresh: deque[Request] = deque()
        self._waiting: list[Request] = []
        """Heap of the requests that are sent again, the soonest first."""
        self._numbers = 0
        self._failures = 0
        self._max_failures = _MAX_FAILURES
        self._has_answered = False
        self.stopped_by: Answer | None = None
        """The last failure, once the rest is not sent any more."""

    def send(self, texts: Iterable[str]) -> Iterator[Answer]:
        """Send texts; yield the answer to each request as soon as it is known, in any order.

        Raises:
            TimeoutError: The cooldown of the service ends after the deadline.
        """
        self._deadline = None if self._deadline_s is None else self._now() + self._deadline_s
        self._fresh, self._waiting = deque(self._packed(texts)), []
        workers = self._workers()
        with contextlib.closing(workers):
            while self._fresh or self._waiting or workers.busy:
                if self.stopped_by is not None:
                    yield from self._unsent(self.stopped_by)
                self._start(workers)
                outcome = workers.next(self._wait_s(workers))
                self._check()
                if outcome is not None:
                    yield from self._settle(*outcome)

    def resume(self) -> None:
        """Send again after a stop; the next failure stops the queue again."""
        self.stopped_by, self._failures, self._max_failures = None, 0, 1

    # -- sending ---------------------------------------------------------------------------------

    def _packed(self, texts: Iterable[str]) -> Iterator[Request]:
        for packed in pack(texts, self._sizer.limits(self._limits)):
            self._numbers += 1
            sent = [self._sizer.truncated(text) for text in packed]
            yield Request(0.0, self._numbers, packed, sent)

    def _workers(self) -> _InlineWorker | ThreadWorkers:
        if self._service is None:
            return _InlineWorker(self._call)
        return ThreadWorkers(self._call, self._limits.concurrency)

    def _start(self, workers: _InlineWorker | ThreadWorkers) -> None:
        """Start requests while there is room for them, retries first."""
        if self._service is not None and self._service.cooldown_left_s:
            return
        while workers.has_room and (request := self._next_request()) is not None:
            workers.start(request, self._time_left_s())

    def _next_request(self) -> Request | None:
        if self._waiting and self._waiting[0].ready_at <= self._now():
            return heapq.heappop(self._waiting)
        return self._fresh.popleft() if self._fresh else None

    def _time_left_s(self) -> float:
        if self._deadline is None:
            return self._timeout_s
        return max(0.0, min(self._timeout_s, self._deadline - self._now()))

    def _wait_s(self, workers: _InlineWorker | ThreadWorkers) -> float:
        """Return how long to wait for an outcome; where none is due, first wait for a start."""
        if self._service is None:
            return 0.0
        pause = self._service.cooldown_left_s
        if self._waiting:
            pause = max(pause, self._waiting[0].ready_at - self._now())
        if workers.busy:
            return min(pause, STEP_S) if pause > 0 else STEP_S
        if pause > 0:
            if not self._is_in_time(pause):
                raise TimeoutError(f"its rate limit allows no request for {pause:.0f} s")
            self._service.wait(pause, self._check)
        return 0.0

    def _is_in_time(self, wait_s: float) -> bool:
        return self._deadline is None or self._now() + wait_s < self._deadline

    def _now(self) -> float:
        return self._service.clock() if self._service is not None else 0.0

    # -- outcomes --------------------------------------------------------------------------------

    def _settle(
        self, request: Request, vectors: Any, error: BaseException | None
    ) -> Iterator[Answer]:
        if error is None:
            self._failures, self._max_failures, self._has_answered = 0, _MAX_FAILURES, True
            if self._service is not None:
                self._service.record_success()
            yield Answer(request.texts, vectors)
            return
        if not isinstance(error, Exception):
            raise error
        failure = self._classify(error)
        if not (self._split(request, failure) or self._retry(request, failure)):
            yield self._fail(Answer(request.texts, None, error, failure))

    def _split(self, request: Request, failure: Failure) -> bool:
        """Send a request in parts, where that may help."""
        if failure.kind == "too_large":
            return self._shrink(request, failure)
        if failure.kind == "permanent" and len(request.texts) > 1 and self._has_answered:
            # A single text may be refused; its halves keep the others from failing with it.
            self._fresh.extendleft(reversed(self._halves(request)))
            return True
        return False

    def _halves(self, request: Request) -> list[Request]:
        middle = len(request.texts) // 2
        halves = request.texts[:middle], request.texts[middle:]
        return [part for half in halves for part in self._packed(half)]

    def _shrink(self, request: Request, failure: Failure) -> bool:
        """Send less at once from now on; False when a request cannot be made smaller."""
        if len(request.texts) > 1:
            self._sizer.learn_too_large(request.sent, counts_texts=failure.counts_texts)
            rest = [text for one in self._fresh for text in one.texts]
            # Halved at any rate: what was too large may be of neither kind that is learned.
            self._fresh = deque([*self._halves(request), *self._packed(rest)])
            return True
        size = _size(request.sent[0])
        if size < 2 * _MIN_SENT_BYTES:
            return False
        self._sizer.learn_too_long(request.sent[0])
        request.sent = [_beginning(request.sent[0], size // 2)]
        logger.warning("a text is too long for the embedder and was truncated to its beginning")
        self._fresh.appendleft(request)
        return True

    def _retry(self, request: Request, failure: Failure) -> bool:
        """Send a request again after a backoff, where the policy says so."""
        if self._service is None:
            return False
        request.failures += 1
        backoff = self._service.record_failure(failure, request.failures, self._policy)
        if backoff is None or self._hangs(failure) or not self._is_in_time(backoff):
            return False
        logger.info("a request is retried in %.1f s: %s", backoff, failure.message)
        request.ready_at = self._now() + backoff
        heapq.heappush(self._waiting, request)
        return True

    def _fail(self, answer: Answer) -> Answer:
        failure = answer.failure
        assert failure is not None
        self._failures += 1
        for_good = failure.kind in ("refused", "quota") or self._hangs(failure)
        if for_good or self._failures >= self._max_failures:
            self.stopped_by = answer
        return answer

    def _hangs(self, failure: Failure) -> bool:
        """Whether the service never answered: three timeouts in a row would take minutes."""
        return failure.timed_out and not self._has_answered and self._deadline is None

    def _unsent(self, last: Answer) -> Iterator[Answer]:
        requests = [*self._fresh, *self._waiting]
        self._fresh, self._waiting = deque(), []
        for request in requests:
            yield replace(last, texts=request.texts)


class _InlineWorker:
    """Worker that makes a request in the calling thread."""

    def __init__(self, call: Callable[[list[str]], Any]) -> None:
        self._call = call
        self._request: Request | None = None

    @property
    def busy(self) -> bool:
        return self._request is not None

    @property
    def has_room(self) -> bool:
        return self._request is None

    def start(self, request: Request, _timeout_s: float) -> None:
        self._request = request

    def next(self, _wait_s: float) -> RequestOutcome | None:
        request, self._request = self._request, None
        if request is None:
            return None
        try:
            return request, self._call(request.sent), None
        except Exception as error:  # noqa: BLE001 - classified by the queue
            return request, None, error

    def close(self) -> None:
        """Release nothing."""


def _size(text: str) -> int:
    """Return the bytes of a text in UTF-8."""
    return len(text) if text.isascii() else len(text.encode("utf-8", "replace"))


def _beginning(text: str, max_bytes: int) -> str:
    """Return the beginning of a text, of so many bytes at most."""
    return text.encode("utf-8", "replace")[: max(1, max_bytes)].decode("utf-8", "ignore")
