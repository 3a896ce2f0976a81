"""Scheduler of background index runs: requests from anywhere, served by one thread."""

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
from commonplace.indexing.pipeline import Progress
from commonplace.indexing.service import IndexService
from commonplace.settings import SyncSettings
from commonplace.types import IndexReport

__all__ = ["Listener", "Reason", "Scheduler"]

logger = logging.getLogger(__name__)

Reason = Literal["open", "search", "watch", "interval"]
Listener = Callable[[IndexReport], object]
"""Called by the indexing thread with the report of a background run."""

_OPEN_DELAY_S = 0.25
"""Delay of the run after opening: an explicit run, or closing early, makes it superfluous."""
_SEARCH_GAP_S = 1.0
_SEARCH_SHARE = 30
"""Scans after searches are this many times as far apart as they are long: 3 % of the time."""
_GAP_SHARE = 10
"""The same for all other scans: files that change without an end cost a tenth of the time."""
_LONGEST_WAIT_S = 300.0
_LONGEST_BUSY_WAIT_S = 5.0
_LONGEST_GONE_S = 2.0


@dataclass(frozen=True, slots=True)
class _Request:
    """Request for a run.

    Attributes:
        due: Time of the run, on the monotonic clock.
        reasons: What asked for it.
        skip: Paths to skip, as they are still being written.
    """

    due: float
    reasons: frozenset[Reason]
    skip: frozenset[str]

    def merged(self, other: _Request) -> _Request:
        """Return one request that serves both."""
        return _Request(
            min(self.due, other.due), self.reasons | other.reasons, self.skip & other.skip
        )


class Scheduler:
    """Scheduler of the background runs of one memory, one at a time.

    The thread starts with the first request and ends with the last. It raises nothing: a failure is
    logged, noted in `IndexService.problem`, and retried with exponential backoff.

    Args:
        index: The index that is brought up to date.
        settings: Which events ask for a run.
    """

    def __init__(self, index: IndexService, settings: SyncSettings) -> None:
        self._index = index
        self._settings = settings
        self._wake = threading.Condition()
        self._thread: threading.Thread | None = None
        self._stopped = False
        self._pending: _Request | None = None
        self._running: tuple[Reason, ...] = ()
        self._cooldown_until = 0.0
        self._next_search_scan = 0.0
        self._last_scan_s = 0.0
        self._failures = 0
        self._busy_s = 0.0
        self._file_backoff: FileBackoff | None = None
        self._waiting: list[list[IndexReport]] = []
        self._listeners: list[Listener] = []

    # -- requests --------------------------------------------------------------------------------

    def opened(self) -> None:
        """Request the runs that the settings want of a memory that was just opened."""
        if self._settings.on_open and self._index.store.exists():
            self.request("open", delay_s=_OPEN_DELAY_S)
        self._request_interval()

    def searched(self) -> None:
        """Request a scan after a search, unless the last one was a moment ago."""
        if self._settings.on_search and time.monotonic() >= self._next_search_scan:
            self._next_search_scan = float("inf")  # until that scan is over
            self.request("search")

    def request(self, reason: Reason, *, delay_s: float = 0.0, skip: Collection[str] = ()) -> None:
        """Request a run; it is merged with one that is pending.

        Args:
            reason: What asks for it.
            delay_s: Seconds it may wait (debounce).
            skip: Paths to skip, as they are still being written.
        """
        asked = _Request(time.monotonic() + delay_s, frozenset((reason,)), frozenset(skip))
        with self._wake:
            if self._stopped:
                return
            self._pending = self._pending.merged(asked) if self._pending else asked
            if self._thread is None or not self._thread.is_alive():
                self._thread = threading.Thread(
                    target=self._work, name="commonplace-index", daemon=True
                )
                self._thread.start()
            self._wake.notify_all()

    def run_now(self, *, force: bool = False, progress: Progress | None = None) -> IndexReport:
        """Run at once, in this thread: wait for a background run in flight, and report both.

        Pending requests are served by this run, too.
        """
        background: list[IndexReport] = []
        with self._wake:
            self._waiting.append(background)
            served, self._pending = self._pending, None
        try:
            report = self._index.run(force=force, progress=progress)
        except BaseException:
            if served is not None:
                for reason in served.reasons:
                    self.request(reason, skip=served.skip)
            raise
        finally:
            with self._wake:
                # By identity: two lists without a report are equal.
                self._waiting = [one for one in self._waiting if one is not background]
                # This run has served the scan that a search asked for.
                self._next_search_scan = min(self._next_search_scan, time.monotonic())
        self._file_backoff = None
        self._index.problem = None
        self._request_interval()
        return _both(background, report)

    @contextlib.contextmanager
    def listening(self, listener: Listener | None) -> Iterator[None]:
        """Notify a listener of the runs, while the block runs."""
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
        """What asked for the run in flight; empty when there is none."""
        return self._running

    @property
    def last_scan_s(self) -> float:
        """Duration of the last scan of the workspace, in seconds."""
        return self._last_scan_s

    def pause(self) -> None:
        """Drop what is pending; the thread ends, and the next request starts another."""
        with self._wake:
            self._pending = None
            self._next_search_scan = 0.0
            self._wake.notify_all()

    def stop(self) -> None:
        """Cancel: the thread ends at its next step, and later requests are ignored."""
        with self._wake:
            self._stopped = True  # first: a cancelled run is no failure
            self._pending = None
            self._wake.notify_all()
        self._index.stop()

    def join(self, timeout_s: float) -> None:
        """Wait for the thread to end, after `stop`; a request to an embedder may hold it."""
        thread = self._thread
        # A signal may have come while the thread was being started.
        if thread is None or not thread.is_alive() or thread is threading.current_thread():
            return
        thread.join(max(0.0, timeout_s))

    # -- the thread ------------------------------------------------------------------------------

    def _work(self) -> None:
        while (request := self._next()) is not None:
            self._run(request)

    def _next(self) -> _Request | None:
        """Wait until the next request is due, and return it; None when there is none."""
        with self._wake:
            while self._pending is not None and not self._stopped:
                wait_s = max(self._pending.due, self._cooldown_until) - time.monotonic()
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
        except Exception as error:  # noqa: BLE001 - the thread has no caller
            self._fail(request, error)
        else:
            self._succeed(report, seconds=time.monotonic() - started)
        finally:
            self._running = ()
            took = self._last_scan_s
            self._next_search_scan = time.monotonic() + max(_SEARCH_GAP_S, _SEARCH_SHARE * took)

    def _refresh(self, request: _Request) -> IndexReport | None:
        backoff = self._file_backoff = self._file_backoff or FileBackoff()
        backoff.begin()
        report = self._index.refresh(
            skip=lambda file: file.path in request.skip or backoff.skips(file),
            first=not request.reasons <= {"open", "search"},
            rebuild="open" in request.reasons,
            look="watch" not in request.reasons,
        )
        if report is not None:
            backoff.end(path for path, _ in report.failed)
        return report

    def _succeed(self, report: IndexReport | None, *, seconds: float) -> None:
        self._index.problem = None
        self._failures = 0
        self._busy_s = 0.0
        self._last_scan_s = seconds - (report.seconds if report else 0.0)
        self._cooldown_until = time.monotonic() + _GAP_SHARE * self._last_scan_s
        self._request_interval()
        if report is not None:
            self._notify(report)

    def _notify(self, report: IndexReport) -> None:
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
        """Retry when the process that holds the lease may be done (exponential backoff)."""
        logger.debug("the index run is retried later: %s", error)
        self._busy_s = min(_LONGEST_BUSY_WAIT_S, max(0.2, 2 * self._busy_s))
        self._again(request, self._busy_s)

    def _fail(self, request: _Request, error: Exception) -> None:
        if self._stopped or not threading.main_thread().is_alive():
            return  # it was cancelled
        self._failures += 1
        text = str(error) or type(error).__name__
        if not isinstance(error, CommonplaceError):
            logger.error("a background index run failed", exc_info=error)
        elif text != self._index.problem:
            logger.warning("a background index run failed: %s", text)
        self._index.problem = text
        # A missing folder may be back at any moment, and the check is cheap.
        longest = _LONGEST_GONE_S if isinstance(error, WorkspaceNotFoundError) else _LONGEST_WAIT_S
        self._again(request, min(longest, 2.0**self._failures))

    def _again(self, request: _Request, wait_s: float) -> None:
        self._cooldown_until = time.monotonic() + wait_s
        for reason in request.reasons:
            self.request(reason, delay_s=wait_s, skip=request.skip)

    def _request_interval(self) -> None:
        if self._settings.interval_minutes:
            self.request("interval", delay_s=60 * self._settings.interval_minutes)


def _both(background: list[IndexReport], last: IndexReport) -> IndexReport:
    """Merge the reports of runs that followed each other."""
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
