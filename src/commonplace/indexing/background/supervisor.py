"""What a memory does in the background, and how all of it ends."""

from __future__ import annotations

import atexit
import contextlib
import threading
import time
import weakref
from collections.abc import Iterator
from typing import TYPE_CHECKING

from commonplace.indexing.background.scheduler import Listener, Scheduler
from commonplace.indexing.service import IndexService
from commonplace.workspace.discovery import Workspace

if TYPE_CHECKING:
    from commonplace.indexing.background.watcher import Watcher

__all__ = ["BackgroundSupervisor"]

_CLOSING_S = 0.9
"""How long `stop` waits for the threads: only a call to an embedder can take longer."""


class BackgroundSupervisor:
    """The scheduler of one memory, and a watcher while somebody wants one."""

    def __init__(self, workspace: Workspace, keeper: IndexService) -> None:
        self.scheduler = Scheduler(keeper, workspace.settings.sync)
        self.watcher: Watcher | None = None
        self._workspace = workspace
        self._keeper = keeper
        self._watching = 0
        self._lock = threading.RLock()
        _LIVING.add(self)

    def __del__(self) -> None:
        """End with a memory that nobody has closed; the threads know nothing of this object."""
        self.stop(wait=False)

    @property
    def warnings(self) -> tuple[str, ...]:
        """What users should know about the index and how it is kept, a sentence each."""
        problem = self.scheduler.problem
        told = [f"The index could not be brought up to date: {problem}"] if problem else []
        return (*self._keeper.warnings, *told)

    def opened(self) -> None:
        """Begin what the settings want of a memory that was just opened."""
        self.scheduler.opened()
        if self._workspace.settings.sync.watch:
            self._watch()

    @contextlib.contextmanager
    def watching(self, listener: Listener | None) -> Iterator[None]:
        """Watch the files while the block runs, and tell of the runs."""
        with self.scheduler.told(listener):
            self._watch()
            try:
                yield
            finally:
                self._unwatch()

    def stop(self, *, wait: bool = True) -> None:
        """End everything.

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
        if watcher is not None:
            watcher.join(_CLOSING_S)
        self.scheduler.join(until - time.monotonic())

    def _watch(self) -> None:
        with self._lock:
            self._keeper.handle.check_running()
            self._watching += 1
            if self.watcher is None or not self.watcher.is_alive():
                from commonplace.indexing.background.watcher import Watcher

                warn = self._keeper.warnings.append
                self.watcher = Watcher(self._workspace, self.scheduler, warn)
                self.watcher.start()

    def _unwatch(self) -> None:
        with self._lock:
            self._watching -= 1
            if self._watching:
                return
            watcher, self.watcher = self.watcher, None
        if watcher is not None:
            watcher.stop()
            watcher.join(_CLOSING_S)


_LIVING: weakref.WeakSet[BackgroundSupervisor] = weakref.WeakSet()


@atexit.register
def _stop_all() -> None:
    """Let no thread be at work while the interpreter is taken down."""
    living = tuple(_LIVING)
    for background in living:
        background.stop(wait=False)
    for background in living:
        background.stop()
