"""Who works at the journal: owners of entries, told apart by locks that end with their process."""

from __future__ import annotations

import contextlib
import time
import uuid
from collections.abc import Iterator
from pathlib import Path

from commonplace.errors import StateError
from commonplace.system.locks import FileLease

__all__ = ["JournalLeases"]

_SWEEP_AFTER_S = 3600.0
"""Age at which a lock file that nobody asked about is looked at."""


class JournalLeases:
    """Who may own entries: each is a lock file whose name is never used again.

    Args:
        path: The state file, beside which the lock files are; None for one in memory.
    """

    def __init__(self, path: Path | None) -> None:
        self._path = path
        self._here: set[str] = set()

    @contextlib.contextmanager
    def one(self) -> Iterator[str]:
        """Be one, under the name that is yielded."""
        name = uuid.uuid4().hex
        with contextlib.ExitStack() as stack:
            stack.callback(self._here.discard, name)
            self._here.add(name)
            if self._path is not None:
                self._sweep()
                self._lock(stack, self._lock_path(name))
            yield name

    def is_alive(self, name: str) -> bool:
        """Tell whether an owner is still at work; a dead one's lock file is cleared away."""
        if name in self._here:
            return True
        if self._path is None:
            return False
        path = self._lock_path(name)
        if not path.exists():
            return False
        try:
            with FileLease(path).held(timeout_s=0) as got:
                if got:
                    _unlink(path)
                return not got
        except OSError:
            return False

    def _lock(self, stack: contextlib.ExitStack, path: Path) -> None:
        try:
            path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            stack.callback(_unlink, path)  # for Windows, where no open file can be deleted
            stack.enter_context(FileLease(path).held(timeout_s=0))
            stack.callback(_unlink, path)
        except OSError as error:
            raise StateError(
                f"the state folder {path.parent} cannot be written ({error.strerror or error}). "
                "Set COMMONPLACE_STATE_DIR to a folder of yours."
            ) from error

    def _lock_path(self, name: str) -> Path:
        path = self._path or Path()
        return path.with_name(f"{path.name}.{name}.owner")

    def _sweep(self) -> None:
        """Clear away what owners left that were killed before they owned anything."""
        path = self._path or Path()
        oldest = time.time() - _SWEEP_AFTER_S
        for left in path.parent.glob(f"{path.name}.*.owner"):
            with contextlib.suppress(OSError):
                if left.stat().st_mtime < oldest:
                    self.is_alive(left.name.split(".")[-2])


def _unlink(path: Path) -> None:
    with contextlib.suppress(OSError):
        path.unlink()
