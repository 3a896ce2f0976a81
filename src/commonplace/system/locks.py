"""Locks among processes that a crash cannot leave behind: the operating system drops them."""

from __future__ import annotations

import contextlib
import os
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

__all__ = ["FileLease", "lock_descriptor"]

_POLL_S = 0.01

if sys.platform == "win32":  # pragma: no cover - exercised on Windows only
    import msvcrt

    # Windows locks are mandatory: a byte far behind any file's end keeps readers and editors free.
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


def _wait(descriptor: int, timeout_s: float, check: Callable[[], object] = lambda: None) -> bool:
    deadline = time.monotonic() + timeout_s
    while not _try_lock(descriptor):
        if time.monotonic() >= deadline:
            return False
        check()
        time.sleep(_POLL_S)
    return True


@contextlib.contextmanager
def lock_descriptor(descriptor: int, *, timeout_s: float = 30.0) -> Iterator[None]:
    """Hold an exclusive lock on an open file, among processes and threads alike.

    Raises:
        TimeoutError: Somebody else held it for `timeout_s` seconds.
    """
    if not _wait(descriptor, timeout_s):
        raise TimeoutError(f"the file stayed locked for {timeout_s:g} s")
    try:
        yield
    finally:
        _unlock(descriptor)


class FileLease:
    """The right to be the one that does something, held through a lock file.

    The file names the owner's process for people to read; the lock itself is the operating
    system's and ends with the process, however it ends.
    """

    def __init__(self, path: Path) -> None:
        self.path = path

    @contextlib.contextmanager
    def held(
        self, *, timeout_s: float, check: Callable[[], object] = lambda: None
    ) -> Iterator[bool]:
        """Wait for the lease; yield whether it was got within `timeout_s` seconds.

        Args:
            timeout_s: How long, at most.
            check: Called while it is waited for; what it raises ends that.
        """
        descriptor = os.open(self.path, os.O_RDWR | os.O_CREAT, 0o600)
        try:
            if not _wait(descriptor, timeout_s, check):
                yield False
                return
            try:
                os.ftruncate(descriptor, 0)
                os.write(descriptor, f"{os.getpid()}\n".encode("ascii"))
                yield True
            finally:
                _unlock(descriptor)
        finally:
            os.close(descriptor)

    def owner(self) -> int | None:
        """Return the process that holds or last held the lease."""
        try:
            return int(self.path.read_text(encoding="ascii").strip())
        except (OSError, ValueError):
            return None

    def holder(self) -> int | None:
        """Return the process that holds the lease at this moment; None when nobody does."""
        try:
            descriptor = os.open(self.path, os.O_RDWR)
        except OSError:
            return None
        try:
            if _try_lock(descriptor):
                _unlock(descriptor)
                return None
            return self.owner()
        finally:
            os.close(descriptor)
