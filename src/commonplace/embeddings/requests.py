"""Sending texts to an embedder: packed into requests, several at once, tried again, given up."""

from __future__ import annotations

import contextlib
import heapq
import logging
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Any

from commonplace.embeddings.base import RequestLimits
from commonplace.embeddings.failures import Failure
from commonplace.embeddings.retry import RETRY, STEP_S, RetryPolicy, ServiceState, beginning, size
from commonplace.embeddings.workers import InlineWorkers, Request, ThreadWorkers

__all__ = ["Answer", "RequestQueue", "pack"]

logger = logging.getLogger(__name__)


def pack(texts: Iterable[str], limits: RequestLimits) -> Iterator[list[str]]:
    """Cut texts into requests, in order; a text above the limit of bytes travels alone."""
    packed: list[str] = []
    total = 0
    for text in texts:
        more = size(text)
        if packed and (len(packed) >= limits.max_texts or total + more > limits.max_bytes):
            yield packed
            packed, total = [], 0
        packed.append(text)
        total += more
    if packed:
        yield packed


@dataclass(frozen=True, slots=True)
class Answer:
    """What came of one request: its texts, and what the embedder made of them or why it did not."""

    texts: list[str]
    vectors: Any = None
    error: Exception | None = None
    fault: Failure | None = None


_GIVE_UP_AFTER = 3
"""Requests that fail for good one after another before the rest is not even sent."""
_DOWN_AFTER = 4
"""Failures one after another, of any requests, after which all wait: it is not bad luck."""
_SHORTEST_SENT = 256
"""Bytes below which a text that is too long is not shortened any more."""


class RequestQueue:
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
        check: Called every tenth of a second while requests are waited for; what it raises ends
            them.
    """

    def __init__(
        self,
        call: Callable[[list[str]], Any],
        *,
        classify: Callable[[BaseException], Failure],
        limits: RequestLimits,
        service: ServiceState,
        retry: RetryPolicy = RETRY,
        inline: bool = False,
        timeout_s: float = 600.0,
        check: Callable[[], object] = lambda: None,
    ) -> None:
        self._call = call
        self._judge = classify
        self._limits = limits
        self._service = service
        self._retry = replace(retry, tries=1) if inline else retry
        self._inline = inline
        self._timeout_s = timeout_s
        self._check = check
        self._numbers = 0
        self._failures = 0
        self._attempts_failed = 0
        self._has_answered = False
        self._patience = _GIVE_UP_AFTER
        self.given_up: Answer | None = None
        """The last failure, when the rest is not sent any more."""

    def send(self, texts: Iterable[str]) -> Iterator[Answer]:
        """Send texts; yield what comes of each request as soon as it is known."""
        if self._inline:
            workers: InlineWorkers | ThreadWorkers = InlineWorkers(self._call)
        else:
            workers = ThreadWorkers(self._call, self._limits.concurrency, self._timeout_s)
        fresh = deque(self._packed(texts))
        waiting: list[Request] = []
        with contextlib.closing(workers):
            while fresh or waiting or workers.busy:
                if self.given_up is not None:
                    yield from self._unsent([*fresh, *waiting])
                    fresh, waiting = deque(), []
                self._begin(workers, fresh, waiting)
                done = workers.next(self._until_next(workers, waiting))
                self._check()
                if done is not None:
                    yield from self._settled(*done, fresh, waiting)

    def forgive(self) -> None:
        """Send again after all; the first failure ends it."""
        self.given_up, self._failures, self._patience = None, 0, 1

    # -- what is sent next -----------------------------------------------------------------------

    def _packed(self, texts: Iterable[str]) -> Iterator[Request]:
        for packed in pack(texts, self._service.limits(self._limits)):
            self._numbers += 1
            sent = [self._service.shortened(text) for text in packed]
            yield Request(0.0, self._numbers, packed, sent)

    def _begin(
        self, workers: InlineWorkers | ThreadWorkers, fresh: deque[Request], waiting: list[Request]
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

    def _until_next(self, workers: InlineWorkers | ThreadWorkers, waiting: list[Request]) -> float:
        """Wait until a request can be started, where none is under way; else say how long.

        Never longer than what is noticed late: see `STEP_S`.
        """
        pause = self._service.free_in_s
        if waiting:
            pause = max(pause, waiting[0].ready_at - self._service.clock())
        if workers.busy:
            return min(pause, STEP_S) if pause > 0 else STEP_S
        if pause > 0:
            self._service.wait(pause, self._check)
        return 0.0

    # -- what comes back -------------------------------------------------------------------------

    def _settled(
        self,
        request: Request,
        vectors: Any,
        error: BaseException | None,
        fresh: deque[Request],
        waiting: list[Request],
    ) -> Iterator[Answer]:
        if error is None:
            self._failures, self._attempts_failed, self._patience = 0, 0, _GIVE_UP_AFTER
            self._has_answered = True
            yield Answer(request.texts, vectors)
            return
        if not isinstance(error, Exception):
            raise error
        fault = self._judge(error)
        if fault.kind == "too_large" and self._lessened(request, fault, fresh):
            return
        if fault.kind == "permanent" and len(request.texts) > 1 and self._has_answered:
            # One text may be what is not taken; the others shall not suffer for it.
            middle = len(request.texts) // 2
            halves = (request.texts[:middle], request.texts[middle:])
            fresh.extendleft(one for half in reversed(halves) for one in self._packed(half))
            return
        if fault.kind == "transient":
            request.failures += 1
            self._attempts_failed += 1
            wait = self._retry.wait_s(request.failures, fault)
            if not self._inline and (fault.slows_all or self._attempts_failed >= _DOWN_AFTER):
                self._service.cool_down(wait)
            if request.failures < self._retry.tries and not self._hangs(fault):
                logger.info("a request is sent again in %.1f s: %s", wait, fault.message)
                request.ready_at = self._service.clock() + wait
                heapq.heappush(waiting, request)
                return
        answer = Answer(request.texts, None, error, fault)
        self._failures += 1
        given_up = fault.kind in ("refused", "quota") or self._hangs(fault)
        if given_up or self._failures >= self._patience:
            self.given_up = answer
        yield answer

    def _hangs(self, fault: Failure) -> bool:
        """Whether nothing was ever answered: nobody waits for that three times a minute long."""
        return fault.timed_out and not self._has_answered

    def _lessened(self, request: Request, fault: Failure, fresh: deque[Request]) -> bool:
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
        if size(request.sent[0]) < 2 * _SHORTEST_SENT:
            return False
        self._service.learn_too_long(request.sent[0])
        request.sent = [beginning(request.sent[0], size(request.sent[0]) // 2)]
        logger.warning("a text is too long for the embedder; its beginning stands for it")
        fresh.appendleft(request)
        return True

    def _unsent(self, requests: list[Request]) -> Iterator[Answer]:
        assert self.given_up is not None
        for request in requests:
            yield replace(self.given_up, texts=request.texts)
