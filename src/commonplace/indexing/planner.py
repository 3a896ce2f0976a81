"""Index plan: the difference between the disk and the index, as a pure function."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from commonplace.store.records import FileRecord
from commonplace.transcripts.cursor import UnreadContent
from commonplace.types import MemoryFile
from commonplace.workspace.discovery import Scan
from commonplace.workspace.file_text import file_stamp

__all__ = ["IndexPlan", "is_current", "is_of", "plan_index", "was_indexed_since"]

UnreadIn = Callable[[MemoryFile, FileRecord, bool], UnreadContent | None]
"""Returns the new content of a session file, which may have changed or not; None without any."""

_SETTLING_NS = 3_000_000_000
"""A file that changed this shortly before it was read may have changed again within one tick of the
file system's clock (two seconds on some): it is read again before size and time count."""


@dataclass(frozen=True, slots=True)
class IndexPlan:
    """Plan of an index run.

    Attributes:
        read: ``(file, its record, reason)`` of each file that must be read; the record is None for
            a new file.
        removed: Records of the files that are in the index and no longer on the disk.
        unchanged: Number of files that need not be read.
        waiting: ``(path, reason)`` of each session file with too little new content to read it.
    """

    read: tuple[tuple[MemoryFile, FileRecord | None, str], ...]
    removed: tuple[FileRecord, ...]
    unchanged: int
    waiting: tuple[tuple[str, str], ...] = ()

    @property
    def is_empty(self) -> bool:
        """Whether there is nothing to do."""
        return not self.read and not self.removed

    def without(self, skip: Callable[[MemoryFile], bool]) -> IndexPlan:
        """Return the plan without the files to skip; they are not counted."""
        return replace(self, read=tuple(item for item in self.read if not skip(item[0])))


def plan_index(
    scan: Scan,
    known: Mapping[str, FileRecord],
    *,
    embeds: bool = False,
    unread: UnreadIn = lambda _file, _record, changed: (
        UnreadContent("changed on disk") if changed else None
    ),
) -> IndexPlan:
    """Compare a walk over the disk with the files of an index.

    Args:
        scan: The files on the disk.
        known: The files in the index, by path.
        embeds: Whether there is an embedder: files whose vectors are missing are then read again.
        unread: Examines session files for new content.
    """
    read = []
    waiting = []
    present = set()
    for file in scan.files:
        present.add(file.path)
        record = known.get(file.path)
        why = _why(file, record, embeds=embeds)
        if record and file.source == "sessions" and (not why or why != record.pending):
            new = unread(file, record, bool(why))
            why = new.why if new else None
            if new and new.waits:
                waiting.append((file.path, new.why))
                continue
        if why:
            read.append((file, record, why))
    unseen = [path for path, _ in scan.problems]
    removed = [
        record
        for path, record in known.items()
        if path not in present and not _is_under(path, unseen)
    ]
    unchanged = len(scan.files) - len(read)
    return IndexPlan(tuple(read), tuple(removed), unchanged, tuple(waiting))


def is_of(record: FileRecord, file: MemoryFile) -> bool:
    """Return whether a record is of a file as it is now."""
    return (file.size, file.mtime_ns, file.stamp) == (record.size, record.mtime_ns, record.stamp)


def was_indexed_since(written_ns: int, file: MemoryFile | None, record: FileRecord | None) -> bool:
    """Return whether a file was indexed after a time, as it is now: a clock may be set back."""
    if record is None or file is None:
        return False
    return record.indexed_ns > written_ns and is_of(record, file)


def is_current(record: FileRecord, place: Path) -> bool:
    """Return whether a record is of what is on the disk: times of records are of several clocks."""
    try:
        info = os.lstat(place)
    except OSError:
        return False
    found = info.st_size, info.st_mtime_ns, file_stamp(info)
    return found == (record.size, record.mtime_ns, record.stamp)


def _why(file: MemoryFile, record: FileRecord | None, *, embeds: bool) -> str | None:
    if record is None:
        return "new"
    if not is_of(record, file):
        return "changed on disk"
    if record.pending and embeds:
        return record.pending
    if abs(record.indexed_ns - record.mtime_ns) < _SETTLING_NS:
        return "changed shortly before it was read"
    return None


def _is_under(path: str, folders: list[str]) -> bool:
    """Return whether a path could not be examined: its absence then means nothing."""
    return any(path == folder or path.startswith(folder + "/") for folder in folders)
