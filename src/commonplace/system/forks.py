"""Forks: a child process of `os.fork` begins again, without its parent's threads and connections.

A thread that held a lock in the parent never releases it in the child, be it one of SQLite: a fork
waits for the transactions of other threads, and for their reads. A connection may not be used, or
closed, by another process than the one that opened it.
"""

from __future__ import annotations

import functools
import os
import queue
import sys
import threading
import time
import weakref
from collections.abc import Callable, Iterator
from types import FrameType
from typing import TYPE_CHECKING, Any, Protocol

import apsw

__all__ = ["ReopenedInChild", "gate", "renewed_in_child"]

_WAIT_S = 5.0
"""How long a fork waits for other threads."""
_PERMITS = 64
_POLL_S = 0.001


class _Renewed(Protocol):
    def renew(self) -> None:
        """Begin again, in a child process; nothing of the parent's is closed."""


_OBJECTS: weakref.WeakSet[_Renewed] = weakref.WeakSet()
_LEFT: list[object] = []
"""What is the parent's: it is not freed, since that would close its connections."""
_reopening = threading.RLock()


class _Permits:
    """Counting semaphore of single steps of the interpreter.

    An interrupt (Ctrl-C) within a `threading.Semaphore` may leave its lock taken, for ever.
    """

    def __init__(self, count: int) -> None:
        self._free: queue.SimpleQueue[None] = queue.SimpleQueue()
        self.release(count)

    def acquire(self, timeout: float | None = None) -> bool:
        """Take a permit; False where none is free in time."""
        try:
            self._free.get(timeout=timeout)
        except queue.Empty:
            return False
        return True

    def release(self, count: int = 1) -> None:
        """Give permits back."""
        for _ in range(count):
            self._free.put(None)


class _ForkGate:
    """Semaphore that forks take whole; re-entrant, so that a thread holds one permit at most.

    A fork closes the door first: else threads that end one transaction and begin the next would
    take their permits again before it does, for as long as it waits.
    """

    def __init__(self) -> None:
        self.permits = _Permits(_PERMITS)
        self.door = threading.Lock()
        self._thread = threading.local()

    @property
    def held(self) -> int:
        """Permits of this thread: 0 or 1."""
        return int(getattr(self._thread, "depth", 0) > 0)

    def __enter__(self) -> None:
        if not self.held:
            with self.door:
                self.permits.acquire()
            self._thread.depth = 0
        self._thread.depth += 1

    def __exit__(self, *_: object) -> None:
        self._thread.depth -= 1
        if not self._thread.depth:
            self.permits.release()


gate = _ForkGate()
"""Held while SQLite opens, closes, or begins and ends a transaction: no process is forked then."""
_taken = 0
_closed = False
"""Whether a fork has closed the door."""
_switch_s = 0.005
_one_fork = threading.Lock()
"""Held from before a fork until it is done, or has failed."""
_forking: int | None = None
"""Thread that holds it."""


def renewed_in_child(instance: _Renewed) -> None:
    """Have the `renew` of an object called in child processes."""
    _OBJECTS.add(instance)


class ReopenedInChild:
    """Object that a child process opens again, at its first use there."""

    def reopened_by(self, reopen: Callable[[], object]) -> None:
        """Set what opens the object again: a function that returns another one like it."""
        self._reopen = reopen
        renewed_in_child(self)

    def stays_closed(self) -> None:
        """Have a child take the object as it is: it is closed."""
        _OBJECTS.discard(self)

    def renew(self) -> None:
        """Leave all that the object has to the parent."""
        _LEFT.append(self.__dict__)
        self.__dict__ = {"_of_parent": self._reopen}

    if not TYPE_CHECKING:

        def __getattr__(self, name: str) -> Any:
            """Return an attribute that is not there: in a child, none is until the first use."""
            with _reopening:
                if (reopen := self.__dict__.pop("_of_parent", None)) is not None:
                    self.__dict__.update(reopen().__dict__)
            return self.__getattribute__(name)


def _wait_for_threads() -> None:
    """Wait for transactions, reads and imports of other threads: a child would wait for ever."""
    global _closed, _forking, _switch_s, _taken
    deadline = time.monotonic() + _WAIT_S
    if not _one_fork.acquire(timeout=_WAIT_S):
        return
    # Read first: an interrupt may end this function anywhere, and the fork goes on.
    _switch_s, _forking = sys.getswitchinterval(), threading.get_ident()
    wanted = _PERMITS - gate.held
    _closed = gate.door.acquire(timeout=max(0.0, deadline - time.monotonic()))
    while _taken < wanted and gate.permits.acquire(timeout=max(0.0, deadline - time.monotonic())):
        _taken += 1
    while True:  # these last, for one may begin while the permits are waited for
        sys.setswitchinterval(_WAIT_S)  # no other thread runs between the look and the fork
        if not any(map(_is_inside, _other_frames())) or time.monotonic() >= deadline:
            break
        sys.setswitchinterval(_switch_s)
        time.sleep(_POLL_S)


def _release() -> None:
    """Let other threads go on, after a fork or after one that failed."""
    global _closed, _forking, _taken
    if _forking != threading.get_ident():
        return  # another thread forks
    sys.setswitchinterval(_switch_s)
    if _taken:
        gate.permits.release(_taken)
    if _closed:
        gate.door.release()
    _taken, _closed, _forking = 0, False, None
    _one_fork.release()


def _other_frames() -> list[FrameType]:
    """Return what the other threads are in: the innermost frame of each."""
    own = threading.get_ident()
    return [frame for thread, frame in sys._current_frames().items() if thread != own]  # noqa: SLF001


def _is_inside(frame: FrameType | None) -> bool:
    """Return whether a thread uses SQLite, or imports a module: each may hold a lock then."""
    name = str(frame.f_globals.get("__name__")) if frame is not None else ""
    # The gate is not held for a read, which would make each one slower. The page cache has a mutex.
    if name.startswith(_READING) and name not in _WAITING:
        return True
    while frame is not None and frame.f_code.co_filename != _IMPORT_FILE:
        frame = frame.f_back
    return frame is not None


_IMPORT_FILE = "<frozen importlib._bootstrap>"
_PACKAGE = __name__.partition(".")[0]
_READING = (f"{_PACKAGE}.store.sqlite.", f"{_PACKAGE}.text.analysis")
_WAITING = {f"{_READING[0]}connection", f"{_READING[0]}store"}
"""Modules in which threads wait for each other; they read with the gate held."""


def _renew_all() -> None:
    global _closed, _forking, _one_fork, _reopening, _taken, gate
    sys.setswitchinterval(_switch_s)
    _reopening, _taken, gate = threading.RLock(), 0, _ForkGate()
    _closed, _forking, _one_fork = False, None, threading.Lock()
    for value in _class_attributes():
        if isinstance(value, functools.cached_property) and hasattr(value, "lock"):
            value.lock = threading.RLock()  # Python 3.11: one for all instances
    for instance in list(_OBJECTS):
        instance.renew()


def _class_attributes() -> Iterator[object]:
    for module in _modules():
        for kind in list(vars(module).values()):
            if isinstance(kind, type) and kind.__module__.startswith(_PACKAGE):
                yield from vars(kind).values()


def _modules() -> list[object]:
    return [one for name, one in list(sys.modules.items()) if name.startswith(_PACKAGE)]


if hasattr(os, "register_at_fork"):  # not on Windows
    # The mutex of the statistics is taken at each allocation, outside transactions, too: a thread
    # that holds it while a process is forked would keep the child waiting for ever.
    if not apsw.connections():  # else another library uses APSW already
        apsw.shutdown()
        apsw.config(apsw.SQLITE_CONFIG_MEMSTATUS, False)
        apsw.initialize()
    os.register_at_fork(
        before=_wait_for_threads, after_in_parent=_release, after_in_child=_renew_all
    )
