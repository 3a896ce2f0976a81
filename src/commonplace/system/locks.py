"""File locks: exclusive among processes and threads, and held by one process at a time.

The operating system releases a lock at the end of the process that took it, also after a crash. A
process that is forked holds none of its parent's.
"""

from __future__ import annotations

import contextlib
import errno
import os
import stat
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

from commonplace.system.waits import WRITER_WAIT_S, seconds_to_wait

__all__ = ["FileLease", "lock_descriptor"]

_LOCK_BYTES = 32
"""Bytes that a lock file has at most: the id of a process."""

_POLL_S = 0.002

if sys.platform == "win32":  # pragma: no cover - exercised on Windows only
    import msvcrt

    # Windows locks are mandatory: locking a byte far behind the end does not block other readers.
    _BYTE = 0x7FFF_FFFF

    def _try_lock(descriptor: int) -> bool:
        position = os.lseek(descriptor, 0, os.SEEK_CUR)
        try:
            os.lseek(descriptor, _BYTE, os.SEEK_SET)
            msvcrt.locking(descriptor, msvcrt.LK_NBLCK, 1)
        except OSError:
            return False
        finally:
            os.lseek(descriptor, position, os.SEEK_SET)
        return True

    def _unlock(descriptor: int) -> None:
        position = os.lseek(descriptor, 0, os.SEEK_CUR)
        os.lseek(descriptor, _BYTE, os.SEEK_SET)
        msvcrt.locking(descriptor, msvcrt.LK_UNLCK, 1)
        os.lseek(descriptor, position, os.SEEK_SET)

else:
    import fcntl

    def _try_lock(descriptor: int) -> bool:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        return True

    def _unlock(descriptor: int) -> None:
        fcntl.flock(descriptor, fcntl.LOCK_UN)


_LOCKABLE: set[int] = set()
"""Descriptors that this process locks, or waits to lock."""


def _forget_locks() -> None:
    """Close the parent's descriptors in a child, which else would keep its locks."""
    for descriptor in _LOCKABLE:
        with contextlib.suppress(OSError):
            os.close(descriptor)
    _LOCKABLE.clear()


if hasattr(os, "register_at_fork"):  # not on Windows
    os.register_at_fork(after_in_child=_forget_locks)


@contextlib.contextmanager
def _lockable(descriptor: int) -> Iterator[None]:
    """Note that this process may lock a descriptor during the block, and unlock it then."""
    owner = os.getpid()
    _LOCKABLE.add(descriptor)
    try:
        yield
    finally:
        if os.getpid() == owner:
            _LOCKABLE.discard(descriptor)
            with contextlib.suppress(OSError):  # Windows: it was not locked
                _unlock(descriptor)


def _wait(descriptor: int, timeout_s: float, check: Callable[[], object] = lambda: None) -> bool:
    deadline = time.monotonic() + seconds_to_wait(timeout_s)
    while not _try_lock(descriptor):
        if time.monotonic() >= deadline:
            return False
        check()
        time.sleep(_POLL_S)
    return True


@contextlib.contextmanager
def lock_descriptor(descriptor: int, *, timeout_s: float = WRITER_WAIT_S) -> Iterator[None]:
    """Hold an exclusive lock on an open file, among processes and threads.

    Raises:
        TimeoutError: Another process or thread held the lock for `timeout_s` seconds.
    """
    with _lockable(descriptor):
        if not _wait(descriptor, timeout_s):
            raise TimeoutError(f"the file stayed locked for {timeout_s:g} s")
        yield


class FileLease:
    """Lease on a task, held by one process at a time through a lock file.

    The file contains the holder's process id, for messages.
    """

    def __init__(self, path: Path) -> None:
        self.path = path

    @contextlib.contextmanager
    def held(
        self, *, timeout_s: float, check: Callable[[], object] = lambda: None
    ) -> Iterator[bool]:
        """Wait for the lease; yield whether it was acquired within `timeout_s` seconds.

        Args:
            timeout_s: Maximum wait.
            check: Called while waiting; an exception that it raises ends the wait.
        """
        descriptor, owner = _open_lock(self.path, os.O_CREAT), os.getpid()
        try:
            with _lockable(descriptor):
                acquired = _wait(descriptor, timeout_s, check)
                if acquired:
                    _write_owner(descriptor)
                yield acquired
        finally:
            if os.getpid() == owner:  # a forked child has closed it
                os.close(descriptor)

    def owner(self) -> int | None:
        """Return the id of the process that holds the lease, or held it last."""
        with contextlib.suppress(OSError, ValueError):
            descriptor = _open_lock(self.path)
            try:
                return int(os.read(descriptor, _LOCK_BYTES))
            finally:
                os.close(descriptor)
        return None

    def holder(self) -> int | None:
        """Return the id of the process that holds the lease now; None when it is free."""
        try:
            descriptor = _open_lock(self.path)
        except OSError:
            return None
        try:
            if _try_lock(descriptor):
                _unlock(descriptor)
                return None
            return self.owner()
        finally:
            os.close(descriptor)


def _open_lock(path: Path, flags: int = 0) -> int:
    """Open a lock file.

    Raises:
        OSError: It cannot be opened, or is a link or no lock file, which stays as it is.
    """
    descriptor = os.open(path, os.O_RDWR | flags | getattr(os, "O_NOFOLLOW", 0), 0o600)
    try:
        info = os.fstat(descriptor)
        found = os.read(descriptor, _LOCK_BYTES + 1).strip() if os.name != "nt" else b""
        if not stat.S_ISREG(info.st_mode) or (found and not found.isdigit()):
            raise OSError(errno.EEXIST, "it is no lock file: move it away", os.fspath(path))
        os.lseek(descriptor, 0, os.SEEK_SET)
    except BaseException:
        os.close(descriptor)
        raise
    return descriptor


def _write_owner(descriptor: int) -> None:
    """Write the process's id into a lock file, unless that is another file, too."""
    if os.fstat(descriptor).st_nlink <= 1:
        # Of a fixed length: a file that is truncated first is written to the disk when it closes.
        # A full disk withholds no lock: the id only names the owner in messages.
        with contextlib.suppress(OSError):
            os.write(descriptor, f"{os.getpid():<{_LOCK_BYTES - 1}}\n".encode("ascii"))
