"""Retry policy for requests to a service: backoff, rate-limit cooldown, circuit breaker.

Documents and queries share it. What differs is the deadline: a query has one (`requests`).
"""

from __future__ import annotations

import random
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass

from commonplace.embeddings.failures import Failure

__all__ = [
    "DEFAULT_POLICY",
    "STEP_S",
    "CircuitBreaker",
    "RetryPolicy",
    "ServiceState",
    "shared_service",
]

STEP_S = 0.1
"""How often a wait for a service calls its `check`."""


@dataclass(frozen=True, slots=True)
class RetryPolicy:
    """Retry policy: exponential backoff with jitter, Retry-After, circuit breaker.

    Attributes:
        max_attempts: How often a request is sent at most, the first time included.
        first_backoff_s: Wait after the first failed attempt; it doubles with each further one.
        max_backoff_s: Limit of that growth.
        jitter: Share of the backoff that is added at random, so that clients do not retry in step.
        max_retry_after_s: How much of the Retry-After that a service asks for is granted.
        breaker_failures: Consecutive failed attempts, of any requests, from which on all requests
            to the service wait for the backoff.
        query_pause_s: How long no query is sent after a failed one; see `CircuitBreaker`.
    """

    max_attempts: int = 3
    first_backoff_s: float = 0.5
    max_backoff_s: float = 8.0
    jitter: float = 0.2
    max_retry_after_s: float = 60.0
    breaker_failures: int = 4
    query_pause_s: float = 30.0

    def backoff_s(self, attempts: int, failure: Failure) -> float:
        """Return the wait before the next attempt, after so many failed ones of a request."""
        if failure.retry_after_s is not None:
            return min(failure.retry_after_s, self.max_retry_after_s)
        backoff = min(self.first_backoff_s * 2.0 ** (attempts - 1), self.max_backoff_s)
        return backoff * (1 + self.jitter * random.random())


DEFAULT_POLICY = RetryPolicy()
"""Three attempts, 500 ms doubling up to 8 s, a jitter of a fifth: OpenClaw's numbers."""


class ServiceState:
    """State of a service in this process: its cooldown, and its consecutive failures.

    All requests to one endpoint share it, whatever their thread, memory or model.

    Args:
        clock: Seconds of a monotonic clock.
        sleep: Waits for seconds.
    """

    def __init__(
        self,
        *,
        clock: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        self.clock = clock
        self._sleep = sleep
        self._lock = threading.Lock()
        self._cooldown_until = 0.0
        self._failures = 0

    @property
    def cooldown_left_s(self) -> float:
        """Seconds until the rate-limit cooldown ends; no request is sent before."""
        return max(0.0, self._cooldown_until - self.clock())

    def cool_down(self, seconds: float) -> None:
        """Hold back all requests to the service for some seconds."""
        with self._lock:
            self._cooldown_until = max(self._cooldown_until, self.clock() + seconds)

    def end_cooldown(self) -> None:
        """Let requests through again."""
        self._cooldown_until = 0.0

    def wait(self, seconds: float, check: Callable[[], object]) -> None:
        """Wait in short steps; what `check` raises between them ends the wait."""
        until = self.clock() + seconds
        while (left := until - self.clock()) > 0:
            check()
            self._sleep(min(left, STEP_S))
        check()

    def record_success(self) -> None:
        """Record an answer: the failures before it are no longer consecutive."""
        self._failures = 0

    def record_failure(self, failure: Failure, attempts: int, policy: RetryPolicy) -> float | None:
        """Record a failed attempt, and cool down where the failure concerns all requests.

        Args:
            failure: The failure.
            attempts: How many attempts of the request have failed, this one included.
            policy: The retry policy.

        Returns:
            The backoff before the next attempt; None when the request is not retried.
        """
        if failure.kind != "transient":
            return None
        backoff = policy.backoff_s(attempts, failure)
        with self._lock:
            self._failures += 1
            breaks = self._failures >= policy.breaker_failures
        if failure.slows_all or breaks:
            self.cool_down(backoff)
        return backoff if attempts < policy.max_attempts else None


_SERVICES: dict[tuple[str, str], ServiceState] = {}


def shared_service(provider: str, endpoint: str) -> ServiceState:
    """Return the state of a provider's endpoint, the same one everywhere in this process."""
    return _SERVICES.setdefault((provider, endpoint), ServiceState())


class CircuitBreaker:
    """Circuit breaker of a client's queries: after a failed one, none is sent for a while.

    So searches fall back to keywords at once and not after a deadline each. An answer to any other
    request of the client closes the circuit. Each client has its own, for its own key.

    Args:
        pause_s: How long the circuit stays open.
    """

    def __init__(self, pause_s: float) -> None:
        self._pause_s = pause_s
        self._open_until = 0.0
        self._reason = ""

    def check(self, now: float) -> None:
        """Raise while the circuit is open.

        Raises:
            TimeoutError: With the last failure and the seconds that are left.
        """
        left = self._open_until - now
        if left > 0:
            raise TimeoutError(f"{self._reason.rstrip('.')}; it is asked again in {left:.0f} s")

    def record_failure(self, failure: Failure, now: float) -> None:
        """Open the circuit, unless the query was wrong by itself."""
        if failure.kind in ("transient", "quota", "refused"):
            self._reason = failure.message
            self._open_until = now + self._pause_s

    def record_success(self) -> None:
        """Close the circuit."""
        self._open_until = 0.0
