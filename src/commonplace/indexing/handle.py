"""The index file in this process: opened when needed, leased for writing, replaced when damaged."""

from __future__ import annotations

import contextlib
import logging
import os
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TypeVar

from commonplace.errors import (
    IndexBusyError,
    IndexDamagedError,
    IndexReadOnlyError,
    StoreError,
)
from commonplace.store.sqlite.store import SqliteStore, move_damaged_aside
from commonplace.system.locks import FileLease

__all__ = ["RUN", "RUN_TIMEOUT_S", "SWAP", "IndexHandle"]

logger = logging.getLogger(__name__)

RUN = ".lock"
"""Lock file of index runs: one at a time among all processes."""
SWAP = ".swap"
"""Lock file for what must not happen at once: one file is indexed, or the index is exchanged."""
RUN_TIMEOUT_S = 3600.0
"""How long `Memory.index` and a first search wait for another process that indexes."""
_CLOSED = "the memory is closed; open it again with Memory.open(...)."
_T = TypeVar("_T")


class IndexHandle:
    """An index file that may be deleted, replaced or damaged while it is used."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.warnings: list[str] = []
        self.opening = threading.RLock()
        """Held while the file, or what depends on it, is opened, exchanged or closed."""
        self._store: SqliteStore | None = None
        self._file_key: tuple[int, int] | None = None
        self._stopped = self._closed = False

    @property
    def store(self) -> SqliteStore:
        """The index, opened when it is first needed.

        Raises:
            IndexDamagedError: It is no index; see `recovering`.
            StoreError: It cannot be opened or created.
        """
        with self.opening:
            self.check_open()
            if self._store is None:
                self._store = self._open_store()
            return self._store

    def check_open(self) -> None:
        """Go on, unless `close` was called meanwhile.

        Raises:
            StoreError: It was.
        """
        if self._closed:
            raise StoreError(_CLOSED)

    @property
    def closed(self) -> bool:
        """Whether `close` was called."""
        return self._closed

    def check_running(self) -> None:
        """Go on with an index run, unless `stop` or `close` was called meanwhile.

        Raises:
            StoreError: It was.
        """
        if self._stopped:
            raise StoreError(_CLOSED)

    def stop(self) -> None:
        """Let index runs end at their next step."""
        self._stopped = True

    def close(self) -> None:
        """Let go of the index."""
        self._stopped = self._closed = True
        with self.opening:
            if self._store is not None:
                self._store.close()
                self._store = None

    def recovering(self, call: Callable[[], _T]) -> _T:
        """Call something that uses the index; again, with a new one, when it is damaged or gone."""
        self._notice_other_file()
        for certain in (False, True):
            try:
                return call()
            except IndexDamagedError as error:
                self._replace_damaged(error, certain=certain)
        return call()

    @contextlib.contextmanager
    def lease(
        self,
        suffix: str = RUN,
        *,
        timeout_s: float = RUN_TIMEOUT_S,
        check: Callable[[], object] = lambda: None,
    ) -> Iterator[None]:
        """Hold the right to write the index; `check` is called while it is waited for.

        Raises:
            IndexBusyError: Somebody else held it for `timeout_s` seconds.
            IndexReadOnlyError: The lock file cannot be written.
        """
        self._make_folder()
        lease = self._file_lease(suffix)
        with contextlib.ExitStack() as stack:
            try:
                got = stack.enter_context(lease.held(timeout_s=timeout_s, check=check))
            except OSError as error:
                raise IndexReadOnlyError(
                    f"the index {self.path} cannot be locked ({error.strerror or error}). Give "
                    "yourself write access to its folder, or set COMMONPLACE_STATE_DIR to a folder "
                    "of yours."
                ) from error
            if not got:
                raise IndexBusyError(
                    f"process {lease.owner()} has held the index {self.path} for {timeout_s:g} s. "
                    "Wait for it, or stop it."
                )
            yield

    def runner(self) -> int | None:
        """Return the process that is indexing at this moment; None when nobody is."""
        return self._file_lease(RUN).holder()

    # -- how -------------------------------------------------------------------------------------

    def _file_lease(self, suffix: str) -> FileLease:
        return FileLease(self.path.with_name(self.path.name + suffix))

    def _make_folder(self) -> None:
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        except OSError as error:
            raise StoreError(
                f"the index folder {self.path.parent} cannot be created ({error.strerror}). "
                "Set COMMONPLACE_STATE_DIR, or index_path, to a folder of yours."
            ) from error

    def _open_store(self) -> SqliteStore:
        self._make_folder()
        if self.path.is_dir():
            raise StoreError(f"the index path {self.path} is a folder; a file name was expected.")
        store = SqliteStore.open(self.path)
        self._file_key = _file_key(self.path)
        return store

    def _notice_other_file(self) -> None:
        """Let go of an index that somebody has deleted or replaced since it was opened."""
        with self.opening:
            if self._store is not None and _file_key(self.path) != self._file_key:
                self._let_go()

    def _let_go(self) -> None:
        """Open the index anew at the next use.

        Threads that are still using it finish with it, but for Windows, where a file that is open
        cannot be moved.
        """
        with self.opening:
            if self._store is not None and sys.platform == "win32":
                self._store.close()
            self._store = None

    def _replace_damaged(self, error: IndexDamagedError, *, certain: bool) -> None:
        """Move a damaged index aside, unless somebody else has done so meanwhile.

        Args:
            error: What was found.
            certain: Whether it is damaged even if a look through the file finds nothing.
        """
        self._let_go()
        if not certain and not self._is_damaged():
            return
        with self.lease():
            if certain or self._is_damaged():
                aside = move_damaged_aside(self.path)
                warning = (
                    f"the index {self.path} was damaged and is rebuilt from the Markdown; "
                    f"the damaged file is kept as {aside.name}."
                )
                logger.warning("%s (%s)", warning, error)
                self.warnings.append(warning)

    def _is_damaged(self) -> bool:
        try:
            with contextlib.closing(SqliteStore.open(self.path)) as store:
                store.check()
        except IndexDamagedError:
            return True
        return False


def _file_key(path: Path) -> tuple[int, int] | None:
    """Tell files apart that stood at a path one after the other."""
    try:
        info = os.stat(path)
    except OSError:
        return None
    return info.st_dev, info.st_ino
