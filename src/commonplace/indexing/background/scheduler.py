"""When the index is brought up to date: requests from anywhere, answered by one thread."""

from __future__ import annotations

import contextlib
import logging
import threading
import time
from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass, replace
from typing import Literal

from commonplace.errors import CommonplaceError, IndexBusyError, WorkspaceNotFoundError
from commonplace.indexing.background.file_backoff import FileBackoff
from commonplace.indexing.service import IndexService
from commonplace.settings import SyncSettings
from commonplace.types import IndexReport

__all__ = ["Listener", "Reason", "Scheduler"]

logger = logging.getLogger(__name__)

Reason = Literal["open", "search", "watch", "interval"]
Listener = Callable[[IndexReport], object]
"""Called by the thread that indexes, with what a background run did."""

_OPEN_DELAY_S = 0.25
"""Between opening and the warm run: whoever indexes at once, or is done at once, is faster."""
_SEARCH_GAP_S = 1.0
_SEARCH_SHARE = 30
"""Looks for searches are this many times as far apart as they are long: 3 % of the time."""
_GAP_SHARE = 10
"""All others are: files that change without an end cost a tenth of the time."""
_LONGEST_WAIT_S = 300.0
_LONGEST_BUSY_WAIT_S = 5.0
_LONGEST_GONE_S = 2.0


@dataclass(frozen=True, slots=True)
class _Request:
    """A run that was asked for.

    Attributes:
        due: When, on the monotonic clock.
        reasons: By whom.
        skip: Paths to leave alone, as they are still being written.
    """

    due: float
    reasons: frozenset[Reason]
    skip: frozenset[str]

    def with_another(self, other: _Request) -> _Request:
        """Return one request for both."""
        return _Request(
            min(self.due, other.due), self.reasons | other.reasons, self.skip & other.skip
        )


class Scheduler:
    """Runs in the background, one at a time, of one memory.

    The thread starts with the first request and ends when there is nothing more to do. It raises
    nothing: what went wrong is logged, told by `problem`, and tried again after growing waits.

    Args:
        keeper: Whose index is brought up to date.
        settings: What asks for a run.
    """

    def __init__(self, keeper: IndexService, settings: SyncSettings) -> None:
        self._keeper = keeper
        self._settings = settings
        self._wake = threading.Condition()
        self._thread: threading.Thread | None = None
        self._stopped = False
        self._pending: _Request | None = None
        self._running: tuple[Reason, ...] = ()
        self._rest_until = 0.0
        self._next_search_look = 0.0
        self._look_s = 0.0
        self._failures = 0
        self._busy_s = 0.0
        self._attempts = FileBackoff()
        self._waiting: list[list[IndexReport]] = []
        self._listeners: list[Listener] = []
        self.problem: str | None = None
        """Why the last background run failed; None when it did not."""

    # -- who asks --------------------------------------------------------------------------------

    def opened(self) -> None:
        """Ask for what the settings want of a memory that was just opened."""
        if self._settings.on_open and self._keeper.path.exists():
            self.request("open", delay_s=_OPEN_DELAY_S)
        self._ask_for_the_next_interval()

    def searched(self) -> None:
        """Ask for a look after a search; nearly always there is nothing to ask for yet."""
        if self._settings.on_search and time.monotonic() >= self._next_search_look:
            self._next_search_look = float("inf")  # until that look is over
            self.request("search")

    def request(self, reason: Reason, *, delay_s: float = 0.0, skip: Collection[str] = ()) -> None:
        """Ask for a run; one that is waiting already serves both.

        Args:
            reason: Who asks.
            delay_s: How long it may wait.
            skip: Paths to leave alone, as they are still being written.
        """
        asked = _Request(time.monotonic() + delay_s, frozenset((reason,)), frozenset(skip))
        with self._wake:
            if self._stopped:
                return
            self._pending = self._pending.with_another(asked) if self._pending else asked
            if self._thread is None or not self._thread.is_alive():
                self._thread = threading.Thread(
                    target=self._work, name="commonplace-index", daemon=True
                )
                self._thread.start()
            self._wake.notify_all()

    def run_now(self, call: Callable[[], IndexReport]) -> IndexReport:
        """Index at once, in this thread; a background run in flight is waited for and counted.

        What is waiting in the background is done by this run, too.
        """
        background: list[IndexReport] = []
        with self._wake:
            self._waiting.append(background)
            served, self._pending = self._pending, None
        try:
            report = call()
        except BaseException:
            if served is not None:
                for reason in served.reasons:
                    self.request(reason, skip=served.skip)
            raise
        finally:
            with self._wake:
                self._waiting.remove(background)
                # A look for a search that was waiting is done.
                self._next_search_look = min(self._next_search_look, time.monotonic())
        self._attempts.forget()
        self.problem = None
        self._ask_for_the_next_interval()
        return _both(background, report)

    @contextlib.contextmanager
    def told(self, listener: Listener | None) -> Iterator[None]:
        """Tell somebody of the runs, while the block runs."""
        if listener is None:
            yield
            return
        self._listeners.append(listener)
        try:
            yield
        finally:
            self._listeners.remove(listener)

    @property
    def running(self) -> tuple[Reason, ...]:
        """Who asked for the run that is in flight; empty when there is none."""
        return self._running

    @property
    def last_scan_s(self) -> float:
        """Seconds that the last look at everything took."""
        return self._look_s

    def stop(self) -> None:
        """Let the thread end at its next step; nothing can be asked for afterwards."""
        with self._wake:
            self._stopped = True  # first: a run that is cut short is no failure
            self._pending = None
            self._wake.notify_all()
        self._keeper.handle.stop()

    def join(self, timeout_s: float) -> None:
        """Wait for the thread to end, after `stop`; it may be in the middle of an embedder."""
        thread = self._thread
        if thread is not None and thread is not threading.current_thread():
            thread.join(max(0.0, timeout_s))

    # -- the thread ------------------------------------------------------------------------------

    def _work(self) -> None:
        while (request := self._next()) is not None:
            self._run(request)

    def _next(self) -> _Request | None:
        """Wait for the next request to be due; None when there is none."""
        with self._wake:
            while self._pending is not None and not self._stopped:
                wait_s = max(self._pending.due, self._rest_until) - time.monotonic()
                if wait_s <= 0:
                    request, self._pending = self._pending, None
                    self._running = tuple(sorted(request.reasons))
                    return request
                self._wake.wait(wait_s)
            self._thread = None
            return None

    def _run(self, request: _Request) -> None:
        started = time.monotonic()
        try:
            report = self._refresh(request)
        except IndexBusyError as error:
            self._wait_for_others(request, error)
        except Exception as error:  # noqa: BLE001 - a thread of its own has nobody above it
            self._fail(request, error)
        else:
            self._succeed(report, seconds=time.monotonic() - started)
        finally:
            self._running = ()
            took = self._look_s
            self._next_search_look = time.monotonic() + max(_SEARCH_GAP_S, _SEARCH_SHARE * took)

    def _refresh(self, request: _Request) -> IndexReport | None:
        self._attempts.begin()
        report = self._keeper.refresh(
            leave=lambda file: file.path in request.skip or self._attempts.leaves(file),
            first=not request.reasons <= {"open", "search"},
            rebuild="open" in request.reasons,
            look="watch" not in request.reasons,
        )
        if report is not None:
            self._attempts.end(path for path, _ in report.failed)
        return report

    def _succeed(self, report: IndexReport | None, *, seconds: float) -> None:
        self.problem = None
        self._failures = 0
        self._busy_s = 0.0
        self._look_s = seconds - (report.seconds if report else 0.0)
        self._rest_until = time.monotonic() + _GAP_SHARE * self._look_s
        self._ask_for_the_next_interval()
        if report is not None:
            self._tell(report)

    def _tell(self, report: IndexReport) -> None:
        with self._wake:
            for background in self._waiting:
                background.append(report)
        if not (report.added or report.updated or report.removed or report.embedded):
            return
        logger.info("indexed in the background: %s", report)
        for listener in tuple(self._listeners):
            try:
                listener(report)
            except Exception:
                logger.exception("a listener failed")

    def _wait_for_others(self, request: _Request, error: Exception) -> None:
        """Look again when the process that indexes may be done; until then, read on."""
        logger.debug("the index is looked at again later: %s", error)
        self._busy_s = min(_LONGEST_BUSY_WAIT_S, max(0.2, 2 * self._busy_s))
        self._again(request, self._busy_s)

    def _fail(self, request: _Request, error: Exception) -> None:
        if self._stopped or not threading.main_thread().is_alive():
            return  # it was cut short
        self._failures += 1
        text = str(error) or type(error).__name__
        if not isinstance(error, CommonplaceError):
            logger.error("a background index run failed", exc_info=error)
        elif text != self.problem:
            logger.warning("a background index run failed: %s", text)
        self.problem = text
        # Whether the folder is back, one look tells.
        longest = _LONGEST_GONE_S if isinstance(error, WorkspaceNotFoundError) else _LONGEST_WAIT_S
        self._again(request, min(longest, 2.0**self._failures))

    def _again(self, request: _Request, wait_s: float) -> None:
        self._rest_until = time.monotonic() + wait_s
        for reason in request.reasons:
            self.request(reason, delay_s=wait_s, skip=request.skip)

    def _ask_for_the_next_interval(self) -> None:
        if self._settings.interval_minutes:
            self.request("interval", delay_s=60 * self._settings.interval_minutes)


def _both(background: list[IndexReport], last: IndexReport) -> IndexReport:
    """Report runs that came one after the other as one."""
    if not background:
        return last
    every = [*background, last]
    added, updated = sum(run.added for run in every), sum(run.updated for run in every)
    present = last.added + last.updated + last.unchanged
    return replace(
        last,
        added=added,
        updated=updated,
        removed=sum(run.removed for run in every),
        unchanged=max(0, present - added - updated),
        embedded=sum(run.embedded for run in every),
        cached=sum(run.cached for run in every),
        seconds=sum(run.seconds for run in every),
    )
