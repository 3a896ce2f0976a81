"""Supervisor of the background threads of a memory: the scheduler's and the watcher's."""

from __future__ import annotations

import atexit
import contextlib
import os
import threading
import time
import weakref
from collections.abc import Iterator
from typing import TYPE_CHECKING

from commonplace.indexing.background.scheduler import Listener, Scheduler
from commonplace.indexing.service import IndexService
from commonplace.store.hosts import hosts_of
from commonplace.workspace.discovery import Workspace

if TYPE_CHECKING:
    from commonplace.indexing.background.watcher import Watcher

__all__ = ["BackgroundSupervisor"]

_CLOSING_S = 0.9
"""How long `stop` waits for the threads: only a request to an embedder can take longer."""


class BackgroundSupervisor:
    """Supervisor of one memory's scheduler, and of its watcher while one is wanted.

    While the files are watched, the writes of other hosts are followed, too.
    """

    def __init__(self, workspace: Workspace, index: IndexService) -> None:
        self.scheduler = Scheduler(index, workspace.settings.sync)
        self.watcher: Watcher | None = None
        self._workspace = workspace
        self._index = index
        self._watching = 0
        self._following = contextlib.ExitStack()
        self._lock = threading.RLock()
        _LIVING.add(self)

    def __del__(self) -> None:
        """Stop the threads of a memory that was not closed: they do not refer to this object."""
        self.stop(wait=False)

    def opened(self) -> None:
        """Start what the settings want of a memory whose index was just opened."""
        self.scheduler.opened()
        if self._workspace.settings.sync.watch:
            self._watch()

    def pause(self) -> None:
        """Drop what is pending, and end the threads until the next `opened`."""
        if self._workspace.settings.sync.watch:
            self._unwatch()
        self.scheduler.pause()

    @contextlib.contextmanager
    def watching(self, listener: Listener | None) -> Iterator[None]:
        """Watch the files while the block runs, and notify a listener of the runs."""
        with self.scheduler.listening(listener):
            self._watch()
            try:
                yield
            finally:
                self._unwatch()

    def stop(self, *, wait: bool = True) -> None:
        """Stop everything.

        Args:
            wait: Whether to wait for the threads, for less than a second.
        """
        watcher = self.watcher
        if watcher is not None:
            watcher.stop()
        self.scheduler.stop()
        if not wait:
            return
        until = time.monotonic() + _CLOSING_S
        # A signal may have come while the thread was being started.
        if watcher is not None and watcher.is_alive():
            watcher.join(_CLOSING_S)
        self.scheduler.join(until - time.monotonic())

    def _watch(self) -> None:
        with self._lock:
            self._index.check_running()
            self._watching += 1
            if self.watcher is None or not self.watcher.is_alive():
                from commonplace.indexing.background.watcher import Watcher

                notice = self._index.notices.append
                self.watcher = Watcher(self._workspace, self.scheduler, notice)
                self.watcher.start()
                if (hosts := hosts_of(self._index.store)) is not None:
                    self._following.enter_context(hosts.followed())

    def _unwatch(self) -> None:
        with self._lock:
            self._watching -= 1
            if self._watching:
                return
            watcher, self.watcher = self.watcher, None
        self._following.close()
        if watcher is not None:
            watcher.stop()
            watcher.join(_CLOSING_S)


_LIVING: weakref.WeakSet[BackgroundSupervisor] = weakref.WeakSet()


if hasattr(os, "register_at_fork"):  # not on Windows
    os.register_at_fork(after_in_child=_LIVING.clear)  # the threads are the parent's


@atexit.register
def _stop_all() -> None:
    """Stop all threads before the interpreter shuts down."""
    living = tuple(_LIVING)
    for background in living:
        background.stop(wait=False)
    for background in living:
        background.stop()
