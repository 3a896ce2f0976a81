"""Text recorder: the texts that other programs wrote go to the history as index runs meet them."""

from __future__ import annotations

import functools
import hashlib
import logging
import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from datetime import date, datetime
from typing import TYPE_CHECKING, NamedTuple

from commonplace.errors import StateError, WorkspaceError
from commonplace.history.retention import is_too_large, prune
from commonplace.history.shared_origins import exported_origins
from commonplace.history.versions import content_hash
from commonplace.workspace.file_text import (
    GrownBytes,
    UnreadableFileError,
    file_state,
    read_text,
)

if TYPE_CHECKING:
    import apsw

    from commonplace.history.mutations import Mutator
    from commonplace.indexing.grown_note import GrownNote
    from commonplace.indexing.read_document import ReadDocument
    from commonplace.settings import HistorySettings
    from commonplace.types import MemoryFile, Origin
    from commonplace.workspace.discovery import Scan
    from commonplace.workspace.notes import Appended

__all__ = ["TextRecorder"]

logger = logging.getLogger(__name__)

_BATCH_BYTES = 8 * 1024 * 1024
"""Bytes of texts that were never met, and are read together."""


class _Met(NamedTuple):
    """Text of a file as it was read, and the state of the file then."""

    file: MemoryFile
    data: bytes | GrownBytes
    state: tuple[int, int, str]


class TextRecorder:
    """Recorder of the texts of notes; a history that cannot be written never ends a run.

    Args:
        mutator: Holds the lease of changes, and the versions.
        settings: What is kept.
        now: Returns the time.

    Attributes:
        appended: What was appended to notes and is not recorded yet, with its origin, by path.
    """

    def __init__(
        self, mutator: Mutator, settings: HistorySettings, *, now: Callable[[], datetime]
    ) -> None:
        self.appended: dict[str, tuple[Origin | None, Appended]] = {}
        self._mutator = mutator
        self._log = mutator.log
        self._settings = settings
        self._pruned: date | None = None
        self._now = now

    @functools.cached_property
    def grown(self) -> GrownNote:
        """The last long note that was appended to."""
        # Not loaded with the module: it loads numpy, which opening a memory does without.
        from commonplace.indexing.grown_note import GrownNote

        return GrownNote()

    def appended_to(self, path: str) -> Appended | None:
        """Return what this process appended to a note, and has not recorded yet; None for none."""
        _, appended = self.appended.get(path, (None, None))
        return appended

    def take_former(self, path: str) -> bytes | None:
        """Return, once, the bytes that a note had before this process changed it, or None."""
        appended = self.appended_to(path)
        return appended.before if appended else self._mutator.replaced.pop(path, None)

    def record(self, documents: Sequence[ReadDocument]) -> None:
        """Record texts that are about to be indexed."""
        met = [
            _Met(item.file, item.data, (item.record.size, item.record.mtime_ns, item.record.stamp))
            for item in documents
            if item.chunks is not None and item.file.source == "memory"
        ]
        with _reported():
            self._record(met)

    def exported_origins(self, paths: Sequence[str]) -> dict[str, str]:
        """Return the origins of the lines of notes, for hosts without the folder."""
        return exported_origins(self._log.file, paths)

    def record_append(self, path: str) -> None:
        """Record an append to a note that was not indexed, whatever became of the note since."""
        appended = self.appended.pop(path, None)  # another thread may have recorded it
        if appended is None or not self._settings.enabled:
            return
        log = self._log.file
        with (
            _reported(),
            self._mutator.exclusive(),
            log.transaction(durable=False) as connection,
        ):
            self._record_append(connection, path, *appended, at=self._now())

    def record_files(self, files: Sequence[MemoryFile]) -> None:
        """Record the texts of files as they are."""
        with _reported():
            self._record(list(self._read(files)))

    def reconcile(self, scan: Scan) -> None:
        """Record files that are gone, and files that were never met."""
        if not self._settings.enabled:
            return
        with _reported():
            known = self._log.hashes()
            files = [file for file in scan.files if file.source == "memory"]
            present = {file.path for file in files}
            unseen = [path for path, _ in scan.problems]
            gone = [
                path
                for path, exists in known.items()
                if exists and path not in present and not _is_under(path, unseen)
            ]
            if gone:
                self._record_gone(gone)
            batch: list[_Met] = []
            for met in self._read([file for file in files if file.path not in known]):
                batch.append(met)
                if sum(len(one.data) for one in batch) > _BATCH_BYTES:
                    self._record(batch)
                    batch = []
            self._record(batch)
            self._begin()
            self._prune()

    def _prune(self) -> None:
        """Remove old texts once a day, and whenever there are too many."""
        file, now = self._log.file, self._now()
        if self._pruned != now.date() or is_too_large(file, self._settings):
            self._pruned = now.date()
            with self._mutator.exclusive():
                prune(file, self._settings, now)

    def _begin(self) -> None:
        """Note that each note has its first version now."""
        if not self._log.file.rows("SELECT 1 FROM began"):
            with self._log.file.transaction(durable=False) as connection:
                connection.execute("INSERT INTO began VALUES (?)", (int(self._now().timestamp()),))

    def _record(self, met: Sequence[_Met]) -> None:
        if not (met and self._settings.enabled):
            return
        known = self._log.hashes([one.file.path for one in met])
        new = [
            one
            for one in met
            # An append may have been overwritten before it was met.
            if one.file.path in self.appended or known.get(one.file.path) != content_hash(one.data)
        ]
        if not new:
            return
        unmet = [one for one in new if not known.get(one.file.path)]
        if unmet and self._mutator.ledger.is_empty():  # which may mend it, in its own transaction
            unmet = []
        with self._mutator.exclusive(), self._log.file.transaction(durable=False) as connection:
            at = self._now()
            self._keep_origins(connection, unmet)
            for one in new:
                path = one.file.path
                if appended := self.appended.pop(path, None):
                    self._record_append(connection, path, *appended, met=one.data, at=at)
                if _state(one.file) == one.state:  # else the next run meets what it is now
                    self._log.meet(connection, path, one.data, at=at)

    def _record_append(
        self,
        connection: apsw.Connection,
        path: str,
        origin: Origin | None,
        appended: Appended,
        *,
        at: datetime,
        met: bytes | GrownBytes = b"",
    ) -> None:
        """Record an append, unless another process has met its text already.

        `met` is what the note has now: mostly the text behind the append, and hashed already.
        """
        before, added, _ = appended
        after: bytes | GrownBytes
        if isinstance(met, GrownBytes) and met.before is before and met.added is added:
            after, digest = met, met.before_digest.hex()
        else:
            grown = GrownBytes(before, hashlib.sha256(before), added)
            after = met if isinstance(met, bytes) and grown.is_equal(met) else grown
            digest = grown.before_digest.hex() if before else ""
        latest = self._log.latest(connection, path)
        if (latest.version.hash if latest else "") != digest:
            if self._log.is_recent(connection, path, content_hash(after)):
                return
            self._log.meet(connection, path, before or None, at=at)
        self._log.add(connection, path, after, change="append", at=at, origin=origin, before=before)

    def _keep_origins(self, connection: apsw.Connection, met: Sequence[_Met]) -> None:
        """Record where the lines of notes come from that another program copied or renamed."""
        if not met:
            return
        hashes = [(content_hash(one.data), one.file.path) for one in met]
        for path, known in self._log.paths_with(connection, dict(hashes)):
            for target in (target for found, target in hashes if found == known):
                self._mutator.ledger.copy(connection, path, target)

    def _record_gone(self, paths: Sequence[str]) -> None:
        with self._mutator.exclusive(), self._log.file.transaction(durable=False) as connection:
            for path in paths:
                if not os.path.lexists(self._mutator.place(path)):
                    self._log.meet(connection, path, None, at=self._now())

    def _read(self, files: Sequence[MemoryFile]) -> Iterator[_Met]:
        for file in files:
            try:
                read = read_text(file.absolute)
            except (FileNotFoundError, UnreadableFileError):
                continue  # the run reports it
            yield _Met(file, read.data, (read.size, read.mtime_ns, read.stamp))


def _state(file: MemoryFile) -> tuple[int, int, str] | None:
    try:
        info = os.lstat(file.absolute)
    except OSError:
        return None
    return file_state(info)


def _is_under(path: str, folders: Sequence[str]) -> bool:
    """Return whether a path could not be examined: its absence then means nothing."""
    return any(path == folder or path.startswith(f"{folder}/") for folder in folders)


@contextmanager
def _reported() -> Iterator[None]:
    try:
        yield
    except (StateError, WorkspaceError) as error:
        logger.warning("texts of notes could not be kept: %s", error)
