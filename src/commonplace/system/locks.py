"""Advisory file locks among processes: the operating system releases them, also after a crash."""

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
    """Hold an exclusive lock on an open file, among processes and threads.

    Raises:
        TimeoutError: Another process or thread held the lock for `timeout_s` seconds.
    """
    if not _wait(descriptor, timeout_s):
        raise TimeoutError(f"the file stayed locked for {timeout_s:g} s")
    try:
        yield
    finally:
        _unlock(descriptor)


class FileLease:
    """Lease on a task, held by one process at a time through a lock file.

    The file contains the holder's process id, for messages. The lock itself belongs to the
    operating system, which releases it at the end of the process, also after a crash.
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
        """Return the id of the process that holds the lease, or held it last."""
        try:
            return int(self.path.read_text(encoding="ascii").strip())
        except (OSError, ValueError):
            return None

    def holder(self) -> int | None:
        """Return the id of the process that holds the lease now; None when it is free."""
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
