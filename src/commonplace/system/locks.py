"""Advisory file locks among processes: the operating system releases them, also after a crash."""

from __future__ import annotations

import contextlib
import os
import sys
import time
import uuid
from collections.abc import Callable, Iterator
from pathlib import Path

from commonplace.errors import StateError

__all__ = ["FileLease", "OneTimeLeases", "lock_descriptor"]

_POLL_S = 0.01
_SWEEP_AFTER_S = 3600.0
"""Age after which the lock file of a dead one-time lease is deleted, even if no row names it."""

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


class OneTimeLeases:
    """Leases of the rows of a database: lock files whose names are used only once.

    Args:
        path: Database file, beside which the lock files are; None for a database in memory.
    """

    def __init__(self, path: Path | None) -> None:
        self._path = path
        self._held: set[str] = set()

    @contextlib.contextmanager
    def acquire(self) -> Iterator[str]:
        """Hold a new lease while the block runs; yield its id.

        Raises:
            StateError: The state folder cannot be written.
        """
        lease = uuid.uuid4().hex
        with contextlib.ExitStack() as stack:
            stack.callback(self._held.discard, lease)
            self._held.add(lease)
            if self._path is not None:
                _sweep(self._path)
                _lock(stack, _lock_path(self._path, lease))
            yield lease

    def is_alive(self, lease: str) -> bool:
        """Return whether a lease is held; delete the lock file of a dead one."""
        if lease in self._held:
            return True
        return self._path is not None and _is_locked(_lock_path(self._path, lease))


def _lock_path(path: Path, lease: str) -> Path:
    return path.with_name(f"{path.name}.{lease}.lease")


def _lock(stack: contextlib.ExitStack, path: Path) -> None:
    try:
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        stack.callback(_unlink, path)  # after the file is closed: Windows deletes no open file
        stack.enter_context(FileLease(path).held(timeout_s=0))
        stack.callback(_unlink, path)
    except OSError as error:
        raise StateError(
            f"the state folder {path.parent} cannot be written ({error.strerror or error}). "
            "Set COMMONPLACE_STATE_DIR to a folder of yours."
        ) from error


def _is_locked(path: Path) -> bool:
    """Return whether a process holds a lock file; delete the file if none does."""
    if not path.exists():
        return False
    try:
        with FileLease(path).held(timeout_s=0) as acquired:
            if acquired:
                _unlink(path)
            return not acquired
    except OSError:
        return False


def _sweep(path: Path) -> None:
    """Delete old lock files of processes that were killed before they claimed an entry."""
    oldest = time.time() - _SWEEP_AFTER_S
    for left in path.parent.glob(f"{path.name}.*.lease"):
        with contextlib.suppress(OSError):
            if left.stat().st_mtime < oldest:
                _is_locked(left)


def _unlink(path: Path) -> None:
    with contextlib.suppress(OSError):
        path.unlink()
