"""What a process learns of a service while it sends to it, and when it sends again."""

from __future__ import annotations

import random
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from commonplace.embeddings.base import RequestLimits
from commonplace.embeddings.failures import Failure

__all__ = ["RETRY", "STEP_S", "RetryPolicy", "ServiceState", "beginning", "shared_service", "size"]

STEP_S = 0.1
"""How soon whoever waits for a service notices that nobody wants the answer any more."""


@dataclass(frozen=True, slots=True)
class RetryPolicy:
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

    def wait_s(self, failures: int, fault: Failure) -> float:
        """Return how long to wait after so many failures of a request."""
        if fault.retry_after_s is not None:
            return min(fault.retry_after_s, self.longest_asked_s)
        wait = min(self.first_wait_s * 2.0 ** (failures - 1), self.longest_wait_s)
        return wait * (1 + self.jitter * random.random())


RETRY = RetryPolicy()
"""As the reference: 500 ms, doubling up to 8 s, with a jitter of a fifth; three tries."""


@dataclass(slots=True)
class Cooldown:
    """Until when an endpoint is left alone, whatever its models."""

    until: float = 0.0


class ServiceState:
    """What this process has learned of a model's service; shared by all who send to it.

    Args:
        rest: That of the endpoint.
        clock: Seconds of a clock that never goes back.
        sleep: Waits for seconds.
    """

    def __init__(
        self,
        rest: Cooldown | None = None,
        *,
        clock: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        self.clock = clock
        self.sleep = sleep
        self._lock = threading.Lock()
        self._rest = rest or Cooldown()
        self._max_texts: int | None = None
        self._max_bytes: int | None = None
        self._too_long: int | None = None

    @property
    def free_in_s(self) -> float:
        """How long the service wants to be left alone."""
        return max(0.0, self._rest.until - self.clock())

    def wait(self, seconds: float, check: Callable[[], object]) -> None:
        """Wait in short steps; what `check` raises between them ends it."""
        until = self.clock() + seconds
        while (left := until - self.clock()) > 0:
            check()
            self.sleep(min(left, STEP_S))
        check()

    def cool_down(self, seconds: float) -> None:
        """Leave the service alone, all of its requests."""
        with self._lock:
            self._rest.until = max(self._rest.until, self.clock() + seconds)

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
                half = max(1, sum(map(size, texts)) // 2)
                self._max_bytes = min(half, self._max_bytes or half)

    def learn_too_long(self, text: str) -> None:
        """Remember that a text was too long by itself."""
        with self._lock:
            self._too_long = min(size(text), self._too_long or size(text))

    def shortened(self, text: str) -> str:
        """Return what is sent of a text: its beginning, where it is as long as what was refused."""
        if self._too_long is None or size(text) < self._too_long:
            return text
        return beginning(text, self._too_long // 2)


_RESTS: dict[tuple[str, str], Cooldown] = {}
_SERVICES: dict[tuple[str, str, str], ServiceState] = {}
_SERVICES_LOCK = threading.Lock()


def shared_service(provider: str, endpoint: str, model: str) -> ServiceState:
    """Return what is known of a model's service; the same to all in this process."""
    with _SERVICES_LOCK:
        rest = _RESTS.setdefault((provider, endpoint), Cooldown())
        return _SERVICES.setdefault((provider, endpoint, model), ServiceState(rest))


def size(text: str) -> int:
    """Return the bytes of a text in UTF-8."""
    return len(text) if text.isascii() else len(text.encode("utf-8", "replace"))


def beginning(text: str, max_bytes: int) -> str:
    """Return the beginning of a text, of so many bytes at most."""
    return text.encode("utf-8", "replace")[: max(1, max_bytes)].decode("utf-8", "ignore")
