"""Watching the files: an index run is asked for when those that changed have come to rest."""

from __future__ import annotations

import fnmatch
import logging
import os
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from commonplace.indexing.background.debouncer import Debouncer
from commonplace.indexing.background.scheduler import Scheduler
from commonplace.indexing.background.watchdog_observer import WatchdogObserver
from commonplace.workspace.discovery import Workspace

if TYPE_CHECKING:
    from watchdog.events import FileSystemEvent

__all__ = ["Watcher"]

logger = logging.getLogger(__name__)

_GATHER_S = 0.1
"""Events of so long are taken together."""
_LEAST_QUIET_S = 0.02
_FOLDERS_EVERY_S = 2.0
"""How often it is seen to that the folders that are watched are those that are there."""
_NET_EVERY_S = 60.0
_NET_SHARE = 500
"""A full scan runs once a minute regardless of events, or after 500 times the duration of the last
scan where that is longer."""
_POLL_EVERY_S = 10.0
_POLL_SHARE = 50


class Watcher(threading.Thread):
    """Watches a workspace until it is stopped.

    A run is asked for at the start, after each burst of changes, and now and then in any case.

    Args:
        workspace: Workspace with the files.
        scheduler: Scheduler that runs the index.
        warn: Called once with the first problem that users should know.
    """

    def __init__(
        self, workspace: Workspace, scheduler: Scheduler, warn: Callable[[str], None]
    ) -> None:
        super().__init__(name="commonplace-watch", daemon=True)
        sync = workspace.settings.sync
        self._workspace = workspace
        self._scheduler = scheduler
        self._warn = warn
        self._polls = not sync.on_search and not sync.interval_minutes
        self._settling = Debouncer(max(_LEAST_QUIET_S, sync.debounce_ms / 1000))
        self._gather_s = min(_GATHER_S, sync.debounce_ms / 4000)
        self._watches = WatchdogObserver(self._note)
        self._wake = threading.Condition()
        self._stopped = False
        self._events: set[str] = set()
        self._moved_folders = False
        self._next_folders = self._next_look = self._next_retry = 0.0
        self._has_warned = False

    @property
    def problem(self) -> str | None:
        """Why not everything can be watched; None while everything is."""
        return self._watches.problem

    def stop(self) -> None:
        """Let the thread end at its next step."""
        with self._wake:
            self._stopped = True
            self._wake.notify_all()

    def run(self) -> None:
        """Watch; this is the thread's."""
        try:
            self._renew(whole=True)
            while not self._stopped:
                self._round()
        except Exception:
            logger.exception("watching the files ended")
        finally:
            self._watches.stop()

    def _round(self) -> None:
        now = time.monotonic()
        self._take_events(now)
        if now >= self._next_folders:
            self._next_folders = now + _FOLDERS_EVERY_S
            if self._watches.differ_from(self._wanted()):
                self._renew(whole=False)
                self._settling.touch(str(self._workspace.root), now)
        if self._settling.settled(now) or now >= self._next_look:
            self._ask(now)
        self._sleep(min(self._next_folders, self._next_look, self._settling.due or now + 3600))

    # -- events ----------------------------------------------------------------------------------

    def _note(self, event: FileSystemEvent) -> None:
        """Take an event down; called by watchdog's threads."""
        paths = [os.fsdecode(path) for path in (event.src_path, event.dest_path) if path]
        paths = [path for path in paths if event.is_directory or self._is_of_the_memory(path)]
        if not paths:
            return
        with self._wake:
            if not self._events:
                self._wake.notify_all()
            self._events.update(paths)
            self._moved_folders |= event.is_directory

    def _is_of_the_memory(self, path: str) -> bool:
        """Tell notes and transcripts from the rest, such as an index that lies among them."""
        sessions = self._workspace.settings.sessions
        return path.endswith(".md") or (
            sessions.enabled
            and any(fnmatch.fnmatch(path, f"*{pattern}") for pattern in sessions.patterns)
        )

    def _take_events(self, now: float) -> None:
        with self._wake:
            events, self._events = self._events, set()
        for path in events:
            self._settling.touch(path, now)

    def _sleep(self, until: float) -> None:
        with self._wake:
            if not self._stopped and not self._events:
                self._wake.wait(max(0.0, until - time.monotonic()))
            if not self._stopped and self._events:
                self._wake.wait(self._gather_s)

    # -- what is done ----------------------------------------------------------------------------

    def _ask(self, now: float) -> None:
        is_retry = self.problem is not None and now >= self._next_retry
        if self._moved_folders or is_retry:
            self._moved_folders = False
            self._renew(whole=True)
        restless = [self._workspace.display_path(path) for path in self._settling.restless]
        # Now and then everything is indexed, also what never comes to rest.
        is_net = now >= self._next_look
        self._scheduler.request("watch", skip=() if is_net else restless)
        self._next_look = now + self._look_every_s()

    def _look_every_s(self) -> float:
        if self.problem and self._polls:
            return max(_POLL_EVERY_S, _POLL_SHARE * self._scheduler.last_scan_s)
        return max(_NET_EVERY_S, _NET_SHARE * self._scheduler.last_scan_s)

    def _renew(self, *, whole: bool) -> None:
        self._watches.renew(self._wanted(), whole=whole)
        if self.problem is None:
            return
        self._next_retry = time.monotonic() + _NET_EVERY_S
        if not self._has_warned:
            self._has_warned = True
            how = "by looking every few seconds" if self._polls else "by searches and the interval"
            self._warn(
                f"not all files can be watched: {self.problem}. Changes are noticed {how} "
                "instead. Raise that limit, or end programs that watch files."
            )

    def _wanted(self) -> dict[Path, bool]:
        try:
            return self._workspace.watched_folders()
        except OSError:
            return {}  # a folder above cannot be read just now
