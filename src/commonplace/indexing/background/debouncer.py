"""Debouncer of changed files: a file is indexed once its size and time stop changing."""

from __future__ import annotations

import os
from collections.abc import Callable

__all__ = ["Debouncer", "signature"]

Signature = tuple[int, int] | None
"""Size and time of a file; None when it is not there."""


def signature(path: str) -> Signature:
    """Look at a file."""
    try:
        info = os.stat(path, follow_symlinks=False)
    except OSError:
        return None
    return info.st_size, info.st_mtime_ns


class Debouncer:
    """Files that changed, until size and time have stayed the same for a while.

    Args:
        quiet_s: For how long.
        look: How a file looks now.
    """

    def __init__(self, quiet_s: float, *, look: Callable[[str], Signature] = signature) -> None:
        self._quiet_s = quiet_s
        self._look = look
        self._restless: dict[str, tuple[float, Signature]] = {}

    @property
    def restless(self) -> tuple[str, ...]:
        """Files that have not come to rest."""
        return tuple(self._restless)

    @property
    def due(self) -> float | None:
        """When to ask `settled` again, on the caller's clock; None when nothing is restless."""
        since = min((since for since, _ in self._restless.values()), default=None)
        return None if since is None else since + self._quiet_s

    def touch(self, path: str, now: float) -> None:
        """Say that a file changed."""
        self._restless[path] = (now, self._look(path))

    def settled(self, now: float) -> tuple[str, ...]:
        """Return the files that have come to rest since they were touched, and forget them."""
        quiet = [path for path, (since, _) in self._restless.items() if self._is_over(since, now)]
        for path in quiet:
            before, after = self._restless[path][1], self._look(path)
            if before != after:  # it changed without a word
                self._restless[path] = (now, after)
        resting = tuple(path for path in quiet if self._is_over(self._restless[path][0], now))
        for path in resting:
            del self._restless[path]
        return resting

    def _is_over(self, since: float, now: float) -> bool:
        return now >= since + self._quiet_s
