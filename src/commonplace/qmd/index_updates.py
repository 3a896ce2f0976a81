"""Updates of QMD's index: its collections, its texts and, where asked for, its vectors."""

from __future__ import annotations

import contextlib
import json
import logging
import os
import subprocess
import threading
import time
from pathlib import Path
from typing import Any, NamedTuple

from commonplace.qmd.folders import QmdFolder
from commonplace.qmd.program import QmdError, QmdProgram, end_process
from commonplace.system.locks import FileLease

__all__ = ["QmdIndex", "QmdState", "delete_indexes"]

logger = logging.getLogger(__name__)

_STATE = "commonplace.json"
_UPDATE_TIMEOUT_S = 120.0
"""Seconds of one command of an update, as in OpenClaw."""
_RETRY_S = 300.0
"""Seconds after a failed update before a search begins another one."""


class QmdState(NamedTuple):
    """State of QMD's index, as the last update left it.

    Attributes:
        collections: Its collections, as the folders that they were made of; a folder that was not
            there has none.
        updated_ns: When that update began.
        note: What it could not do; None when nothing failed.
    """

    collections: tuple[QmdFolder, ...]
    updated_ns: int
    note: str | None = None


class QmdIndex:
    """QMD's index of a memory."""

    def __init__(
        self, program: QmdProgram, folders: tuple[QmdFolder, ...], *, vectors: bool, minutes: float
    ) -> None:
        """Nothing is made before the first update.

        Args:
            program: QMD.
            folders: The collections.
            vectors: Whether texts are embedded, too.
            minutes: Age from which on `update_in_background` does something; 0 for none.
        """
        self.folders = folders
        self.failure: str | None = None
        """Why the last update of this process failed; None when it did not."""
        self._program = program
        self._vectors = vectors
        self._minutes = minutes
        self._process: subprocess.Popen[bytes] | None = None
        self._thread: threading.Thread | None = None
        self._closed = threading.Event()
        self._retry_at = 0.0

    @property
    def state(self) -> QmdState | None:
        """State of the index; None for one that was never made, or of other collections."""
        state = self._saved()
        return state if state is not None and set(state.collections) <= set(self.folders) else None

    @property
    def is_updating(self) -> bool:
        """Whether this process updates it in the background."""
        return self._thread is not None and self._thread.is_alive()

    def update(self) -> None:
        """Bring the index up to date, unless another process is at it.

        Raises:
            QmdError: It failed; QMD has what it had.
        """
        self._closed.clear()
        self._update_alone()

    def _update_alone(self) -> None:
        self._program.make_home()
        with FileLease(self._program.home / "update.lock").held(timeout_s=0) as acquired:
            if acquired:
                try:
                    self._update()
                except (QmdError, OSError) as error:
                    self.failure = str(error)
                    raise QmdError(self.failure) from error
                self.failure = None

    def update_in_background(self) -> bool:
        """Begin an update if one is due; return whether one runs."""
        state, now = self.state, time.monotonic()
        age_s = (time.time_ns() - state.updated_ns) / 1e9 if state else float("inf")
        if self.is_updating:
            return True
        if not self._minutes or age_s < 60 * self._minutes or now < self._retry_at:
            return False
        self._closed.clear()
        self._retry_at = now + _RETRY_S
        self._thread = threading.Thread(target=self._run, name="qmd-update", daemon=True)
        try:
            self._thread.start()
        except RuntimeError:  # the process is at its limit of threads, or ends
            self._thread = None
            return False
        return True

    def close(self) -> None:
        """End an update that runs in the background; the next one goes on from there."""
        self._closed.set()
        if self._process is not None:
            end_process(self._process)
        if self._thread is not None and self._thread is not threading.current_thread():
            self._thread.join(timeout=0.5)

    def _run(self) -> None:
        try:
            self._update_alone()
        except (QmdError, OSError) as error:  # the lock file, too, may be unwritable
            if not self._closed.is_set():
                logger.warning("QMD's index could not be brought up to date: %s", error)

    def _update(self) -> None:
        began, saved = time.time_ns(), self._saved()
        held = saved.collections if saved else ()
        made = [folder for folder in self.folders if os.path.isdir(folder.folder)]
        for gone in set(held) - set(made):
            with contextlib.suppress(QmdError):  # it may be gone already
                self._command("collection", "remove", gone.name)
        for new in made:
            if new not in held:
                self._add(new)
        self._command("update")
        note = None
        if self._vectors:
            try:
                self._command("embed")
            except QmdError as error:
                note = f"QMD has no vectors of the newest texts: {error}"
        text = json.dumps([made, began, note])
        new_file = self._program.home / f"{_STATE}.new"
        new_file.write_text(text, encoding="utf-8")
        new_file.replace(self._program.home / _STATE)

    def _add(self, folder: QmdFolder) -> None:
        arguments = (folder.folder, "--name", folder.name, "--mask", folder.mask)
        try:
            self._command("collection", "add", *arguments)
        except QmdError:
            # One of the name may be left of an update that was ended, or of another folder.
            self._command("collection", "remove", folder.name)
            self._command("collection", "add", *arguments)

    def _command(self, *arguments: str) -> None:
        if self._closed.is_set():
            raise QmdError("the memory was closed")
        try:
            self._program.run(*arguments, timeout_s=_UPDATE_TIMEOUT_S, started=self._started)
        finally:
            self._process = None

    def _started(self, process: subprocess.Popen[bytes]) -> None:
        self._process = process

    def _saved(self) -> QmdState | None:
        try:
            saved: Any = json.loads((self._program.home / _STATE).read_text(encoding="utf-8"))
            collections, updated_ns, note = saved
            return QmdState(tuple(QmdFolder(*it) for it in collections), int(updated_ns), note)
        except (OSError, ValueError, TypeError):
            return None


def delete_indexes(home: Path) -> bool:
    """Delete QMD's indexes of a memory, which hold its texts; models and configuration stay.

    Returns:
        Whether there was one.
    """
    (home / _STATE).unlink(missing_ok=True)
    found = list((home / "cache" / "qmd").glob("*.sqlite*"))
    for path in found:
        path.unlink(missing_ok=True)
    return bool(found)
