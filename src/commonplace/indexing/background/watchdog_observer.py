"""The folders that the platform watches for us, kept in step with those that are there."""

from __future__ import annotations

import contextlib
import errno
import logging
import os
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from watchdog.events import FileSystemEvent, FileSystemEventHandler
    from watchdog.observers.api import BaseObserver, ObservedWatch

    Identity = tuple[int, int] | None
    """Device and number of a folder; None when it is not there."""

__all__ = ["WatchdogObserver"]

_EXHAUSTED = {
    errno.EMFILE: "this process or user has no more open files, or no more of"
    " fs.inotify.max_user_instances",
    errno.ENFILE: "the machine has no more open files",
    errno.ENOMEM: "the machine has no memory for more watches",
    errno.ENOSPC: "this user has no more of fs.inotify.max_user_watches",
}
"""What a platform has run out of, by the error's number."""


class WatchdogObserver:
    """What is watched now. Not for several threads at once.

    Args:
        changed: Called by watchdog's thread with each event.
    """

    def __init__(self, changed: Callable[[FileSystemEvent], None]) -> None:
        self._changed = changed
        self._observer: BaseObserver | None = None
        self._watched: dict[Path, tuple[bool, Identity, ObservedWatch]] = {}
        self.problem: str | None = None
        """Why not everything can be watched; None while everything is."""

    def __len__(self) -> int:
        return len(self._watched)

    def differ_from(self, wanted: Mapping[Path, bool]) -> bool:
        """Tell whether other folders are watched: some came, went, or were exchanged."""
        there = {folder for folder in wanted if _identity(folder) is not None}
        return there != set(self._watched) or any(
            self._is_stale(folder, recursive=wanted[folder]) for folder in there
        )

    def renew(self, wanted: Mapping[Path, bool], *, whole: bool) -> None:
        """Watch these folders, and those below where the value is true.

        Args:
            wanted: Folders to watch; a missing one is skipped.
            whole: Whether to replace the watches of whole trees as well: watchdog loses track of
                folders that are moved into, out of or within a tree.
        """
        self.problem = None
        stale = [
            folder
            for folder, (recursive, _, _) in self._watched.items()
            if folder not in wanted
            or (whole and recursive)
            or self._is_stale(folder, recursive=wanted[folder])
        ]
        try:
            for folder in stale:
                self._unwatch(folder)
            for folder in wanted.keys() - self._watched.keys():
                self._watch(folder, recursive=wanted[folder])
            if stale or whole:
                self._try_one_more()
        except OSError as error:
            self.problem = _EXHAUSTED.get(error.errno or 0, str(error))
        except RecursionError:  # watchdog walks them before Python 3.12 with a recursive `os.walk`
            self.problem = "the folders are nested too deep"

    def stop(self) -> None:
        """Release all watches and stop the observer."""
        observer, self._observer = self._observer, None
        self._watched.clear()
        if observer is not None:
            with _without_complaints():
                observer.stop()
                if observer.is_alive():
                    observer.join()

    def _is_stale(self, folder: Path, *, recursive: bool) -> bool:
        watched = self._watched.get(folder)
        if watched is None or watched[:2] != (recursive, _identity(folder)):
            return True
        # watchdog lets go of a folder that was deleted, and of its successor of the same number.
        assert self._observer is not None
        return not any(
            emitter.is_alive() and emitter.watch == watched[2]
            for emitter in self._observer.emitters
        )

    def _watch(self, folder: Path, *, recursive: bool) -> None:
        identity = _identity(folder)
        if identity is None:
            return
        try:
            watch = self._schedule(folder, recursive=recursive)
        except (FileNotFoundError, NotADirectoryError, PermissionError):
            return  # it vanished, or is not ours to read: the next look at the folders sees
        self._watched[folder] = recursive, identity, watch

    def _unwatch(self, folder: Path) -> None:
        watch = self._watched.pop(folder)[2]
        assert self._observer is not None
        with contextlib.suppress(KeyError, OSError):
            self._observer.unschedule(watch)

    def _schedule(self, folder: Path, *, recursive: bool) -> ObservedWatch:
        if self._observer is None:
            self._observer = _started_observer()
        kinds = _kinds_of_events()
        return self._observer.schedule(
            self._handler(), str(folder), recursive=recursive, event_filter=kinds
        )

    def _handler(self) -> FileSystemEventHandler:
        from watchdog.events import FileSystemEventHandler

        changed = self._changed

        class Handler(FileSystemEventHandler):
            def on_any_event(self, event: FileSystemEvent) -> None:
                changed(event)

        return Handler()

    def _try_one_more(self) -> None:
        """Notice that watches have run out: watchdog leaves out folders without a word then."""
        if sys.platform != "linux":
            return
        try:
            folder = tempfile.mkdtemp(prefix="commonplace-watch-")
        except OSError:
            return  # there is nowhere to try it
        try:
            watch = self._schedule(Path(folder), recursive=False)
            assert self._observer is not None
            self._observer.unschedule(watch)
        finally:
            with contextlib.suppress(OSError):
                os.rmdir(folder)


@contextlib.contextmanager
def _without_complaints() -> Iterator[None]:
    """Drop what watchdog logs as an error when a thread notices late that it was stopped."""
    logger = logging.getLogger("watchdog.observers.inotify")

    def is_other(record: logging.LogRecord) -> bool:
        return "when the thread is inactive" not in record.getMessage()

    logger.addFilter(is_other)
    try:
        yield
    finally:
        logger.removeFilter(is_other)


def _started_observer() -> BaseObserver:
    from watchdog.observers import Observer

    observer: Any = Observer()
    try:
        observer.start()
    except BaseException:
        observer.stop()
        raise
    return observer  # type: ignore[no-any-return]


def _kinds_of_events() -> list[type[FileSystemEvent]]:
    """Leave out what reading causes: an index run reads every file."""
    from watchdog import events

    return [
        events.FileCreatedEvent,
        events.FileModifiedEvent,
        events.FileMovedEvent,
        events.FileDeletedEvent,
        events.DirCreatedEvent,
        events.DirMovedEvent,
        events.DirDeletedEvent,
    ]


def _identity(folder: Path) -> Identity:
    try:
        info = os.stat(folder)
    except OSError:
        return None
    return info.st_dev, info.st_ino
