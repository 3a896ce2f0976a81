"""One-time leases: locks on the rows of a database, by files whose names are used only once."""

from __future__ import annotations

import contextlib
import os
import time
import uuid
from collections.abc import Iterator
from pathlib import Path

from commonplace.errors import StateError
from commonplace.system.files import make_private_folder
from commonplace.system.locks import FileLease

__all__ = ["OneTimeLeases"]

_SWEEP_AFTER_S = 3600.0
"""Age after which the lock file of a dead lease is deleted, even if no row names it."""


class OneTimeLeases:
    """Leases of the rows of a database.

    Args:
        path: Database file, beside which the lock files are; None for a database in memory.
    """

    def __init__(self, path: Path | None) -> None:
        self._path = path
        self._held: dict[str, int] = {}
        """Process of each lease that is held; a forked child holds none."""

    @contextlib.contextmanager
    def acquire(self) -> Iterator[str]:
        """Hold a new lease while the block runs; yield its id.

        Raises:
            StateError: The state folder cannot be written.
        """
        lease = uuid.uuid4().hex
        with contextlib.ExitStack() as stack:
            stack.callback(self._held.pop, lease, None)
            self._held[lease] = os.getpid()
            if self._path is not None:
                _sweep(self._path)
                _lock(stack, _lock_path(self._path, lease))
            yield lease

    def is_alive(self, lease: str) -> bool:
        """Return whether a lease is held; delete the lock file of a dead one."""
        if self._held.get(lease) == os.getpid():
            return True
        return self._path is not None and _is_locked(_lock_path(self._path, lease))


def _lock_path(path: Path, lease: str) -> Path:
    return path.with_name(f"{path.name}.{lease}.lease")


def _lock(stack: contextlib.ExitStack, path: Path) -> None:
    try:
        make_private_folder(path.parent)
        owner = os.getpid()
        # Also after the file is closed: Windows deletes no open file.
        stack.callback(_unlink, path, owner)
        stack.enter_context(FileLease(path).held(timeout_s=0))
        stack.callback(_unlink, path, owner)
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
                _unlink(path, os.getpid())
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


def _unlink(path: Path, owner: int) -> None:
    """Delete the lock file of a process; not in a child of it."""
    if os.getpid() == owner:
        with contextlib.suppress(OSError):
            path.unlink()
