"""Asking while somebody waits: a deadline, and no second wait for what has just failed."""

from __future__ import annotations

import contextvars
import queue
import threading
import time
from collections.abc import Callable
from typing import Any

from commonplace.embeddings.failures import Failure
from commonplace.embeddings.retry import RETRY, RetryPolicy, ServiceState

__all__ = ["QueryClient"]

_SILENT_S = 30.0
"""How long a provider that has failed a query is not asked for another one."""
_MAX_HUNG = 4
"""Calls that nobody waits for any more, and that have not come back, before no more are made."""


class QueryClient:
    """Makes calls in threads of their own and does not wait for them beyond a deadline.

    Args:
        judge: Says what an exception means.
        deadline_s: How long a call is waited for, tries included.
        service: What is known of the service.
        retry: When a call is made again.
    """

    def __init__(
        self,
        *,
        classify: Callable[[BaseException], Failure],
        deadline_s: float,
        service: ServiceState,
        retry: RetryPolicy = RETRY,
    ) -> None:
        self._judge = classify
        self._deadline_s = deadline_s
        self._service = service
        self._retry = retry
        self._lock = threading.Lock()
        self._hung = 0
        self._silent_until = 0.0
        self._last = ""
        self._is_closed = False

    def ask(self, call: Callable[[], Any]) -> Any:
        """Make a call; raise what it raised.

        Raises:
            TimeoutError: There is no answer yet, or none was asked for, shortly after a failure or
                after `close`.
        """
        self._check_silence()
        end = self._service.clock() + self._deadline_s
        failures = 0
        while True:
            self._wait_for_service(end)
            try:
                answer = self._within(call, end - self._service.clock())
            except Exception as error:
                failures += 1
                fault = self._judge(error)
                if not self._may_retry(fault, failures, end):
                    self._be_silent_after(fault)
                    raise
            else:
                return answer

    def close(self) -> None:
        """Make an end of waits for another try."""
        self._is_closed = True

    def answered(self) -> None:
        """Hear that the provider has answered somebody else: it may be asked again."""
        self._silent_until = 0.0

    def _check_silence(self) -> None:
        left = self._silent_until - self._service.clock()
        if left > 0:
            raise TimeoutError(f"{self._last.rstrip('.')}; it is asked again in {left:.0f} s")

    def _check_open(self) -> None:
        if self._is_closed:
            raise TimeoutError("the memory was closed meanwhile")

    def _wait_for_service(self, end: float) -> None:
        pause = self._service.free_in_s
        if pause and self._service.clock() + pause >= end:
            raise TimeoutError(f"it asks to be left alone for {pause:.0f} s")
        if pause:
            self._service.wait(pause, self._check_open)

    def _may_retry(self, fault: Failure, failures: int, end: float) -> bool:
        """Wait for another try, where there is time for one."""
        if fault.kind != "transient" or failures >= self._retry.tries:
            return False
        wait = self._retry.wait_s(failures, fault)
        if fault.slows_all:
            self._service.cool_down(wait)
        if self._service.clock() + wait >= end:
            return False
        self._service.wait(wait, self._check_open)
        return True

    def _be_silent_after(self, fault: Failure) -> None:
        if fault.kind in ("transient", "quota", "refused"):
            self._last = fault.message
            self._silent_until = self._service.clock() + _SILENT_S

    def _within(self, call: Callable[[], Any], seconds: float) -> Any:
        """Wait for a call; a thread whose call never comes back ends with the process."""
        with self._lock:
            if self._hung >= _MAX_HUNG:
                raise TimeoutError(f"{self._hung} earlier queries still have no answer")
            self._hung += 1
        done: queue.SimpleQueue[tuple[Any, BaseException | None]] = queue.SimpleQueue()
        context = contextvars.copy_context()
        threading.Thread(
            target=context.run, args=(self._work, call, done), name="commonplace-query", daemon=True
        ).start()
        started = time.monotonic()
        try:
            answer, error = done.get(timeout=max(0.0, seconds))
        except queue.Empty:
            waited = time.monotonic() - started
            raise TimeoutError(f"no answer within {waited:.1f} s") from None
        if error is not None:
            raise error
        return answer

    def _work(
        self,
        call: Callable[[], Any],
        done: queue.SimpleQueue[tuple[Any, BaseException | None]],
    ) -> None:
        try:
            outcome: tuple[Any, BaseException | None] = call(), None
        except BaseException as error:  # noqa: BLE001 - raised where the answer is waited for
            outcome = None, error
        with self._lock:
            self._hung -= 1
        done.put(outcome)
