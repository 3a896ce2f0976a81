"""Published workspace: the notes of a memory whose folder another host has."""

from __future__ import annotations

import io
import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO

from commonplace.errors import WorkspaceNotFoundError
from commonplace.remote.new_paths import check_new_path
from commonplace.types import MemoryFile
from commonplace.workspace.discovery import Scan, Workspace
from commonplace.workspace.file_text import FileText, decode_text
from commonplace.workspace.paths import (
    USER_NAME,
    DiscoveryRules,
    is_normal,
    is_session_path,
)

if TYPE_CHECKING:
    from commonplace.settings import Settings
    from commonplace.store.publication import Publication, PublishedNote
    from commonplace.store.records import FileRecord

__all__ = ["PublishedWorkspace"]

_NAMES_S = 1.0
"""Seconds for which the names of the long-term files are remembered."""
_LONG_TERM = ("MEMORY.md", "memory.md", USER_NAME)


class PublishedWorkspace(Workspace):
    """Workspace without a folder: its files are the published notes.

    Args:
        root: Name of the folder, for keys and messages; it need not exist.
        publication: The notes.
        records: Returns the indexed files by path.
        settings: As of a folder; extra paths are those of the host that has it.
        rules: The profile's rules.
    """

    def __init__(
        self,
        root: Path,
        publication: Publication,
        *,
        records: Callable[[], dict[str, FileRecord]],
        settings: Settings,
        rules: DiscoveryRules,
    ) -> None:
        self._use(root, settings, rules)
        self._publication = publication
        self._records = records
        self._names: tuple[float, frozenset[str]] = 0.0, frozenset()

    def __repr__(self) -> str:
        return f"PublishedWorkspace({str(self.root)!r})"

    @property
    def missing_extra_paths(self) -> tuple[str, ...]:
        """Extra paths that do not exist: the host that has the folder tells."""
        return ()

    def check_there(self) -> None:
        """Check nothing: the notes are as near as the index."""

    def require(self, what: str) -> None:
        """Refuse what works on files."""
        raise WorkspaceNotFoundError(
            f"{what} needs the folder of the notes, which another host has. Open it there, with "
            "Memory.open(...)."
        )

    def unwritable(self, path: str) -> str | None:
        """Return None: the database tells when a note is written."""
        return None

    def locate(self, path: str) -> Path:
        """Return the name that a note has as a path; see `WorkspacePaths`."""
        name = self.plain_name(path)
        if name in _LONG_TERM or self.note(name) is not None:
            return self.root / name
        if is_session_path(name) or not is_normal(name) or self.is_left_out(name):
            raise self._refusal(path)
        return super().locate(path)

    def check_new(self, path: str) -> None:
        """Check the path of a note that is not there yet; see `check_new_path`."""
        check_new_path(path, self._records())

    def note(self, path: str) -> PublishedNote | None:
        """Return what is published of a file; None for one that is not there."""
        if "\0" in path:
            return None
        return self._publication.notes([path]).get(path)

    def read(self, path: str) -> FileText:
        """Read a note; see `WorkspacePaths`."""
        name = self.plain_name(path)
        note = self.note(name)
        if note is None:
            self.locate(path)
            raise FileNotFoundError(name)
        text, warning = decode_text(note.data)
        return FileText(text, len(note.data), 0, warning, note.data)

    def open(self, path: str) -> BinaryIO:
        """Open a note; see `WorkspacePaths`."""
        return io.BytesIO(self.read(path).data)

    def exists(self, path: str) -> bool:
        """Return whether there is a note of this path."""
        return self.note(self.plain_name(path)) is not None

    def stat(self, path: str) -> MemoryFile | None:
        """Return a note by the path of a search result; None when it does not exist."""
        note = self.note(self.plain_name(path))
        return None if note is None else self.file(note.path, len(note.data))

    def scan(self) -> Scan:
        """Return the notes and session files that are indexed."""
        records = self._records().values()
        return Scan(tuple(self._file_of(record) for record in records), ())

    def file(self, path: str, size: int) -> MemoryFile:
        """Describe a note."""
        return MemoryFile(path, self.root / path, "memory", size, 0, self.rules.date_of(path))

    def _file_of(self, record: FileRecord) -> MemoryFile:
        file = self.file(record.path, record.size)
        if record.source == "memory":
            return file
        return MemoryFile(*(file.path, file.absolute, record.source, file.size), 0, None)

    def long_term_names(self) -> tuple[str, ...]:
        """Return MEMORY.md, or memory.md only in its absence, and USER.md where it exists."""
        if self.rules.both_long_term_files:
            return _LONG_TERM[:2]
        at, names = self._names
        if time.monotonic() - at > _NAMES_S:
            names = frozenset(self._publication.notes(_LONG_TERM))
            self._names = time.monotonic(), names
        is_small = "memory.md" in names and "MEMORY.md" not in names
        user = (USER_NAME,) if USER_NAME in names and self.rules.knows_user_file else ()
        return ("memory.md" if is_small else "MEMORY.md", *user)
