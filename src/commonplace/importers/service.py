"""Import service: writes the conversations of an export as notes, in one group of changes."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from commonplace.importers.export_file import ReadProgress, entries
from commonplace.importers.sources import SOURCES, Source
from commonplace.types import Origin
from commonplace.workspace.file_text import MAX_FILE_BYTES

if TYPE_CHECKING:
    from commonplace.importers.conversation import Conversation
    from commonplace.memory import Memory

__all__ = ["ImportReport", "import_notes"]

_STEP_NOTES = 50
_STEP_CHARS = 2_000_000
"""Notes, and characters, that are written in one step."""


@dataclass(slots=True)
class ImportReport:
    """Result of an import; counts are of notes.

    Attributes:
        added: New ones.
        updated: Ones of which the export has more now.
        unchanged: Ones that are there as the export has them.
        edited: Ones that were changed since their import, and are left as they are.
        skipped: Entries of the export without a conversation in them.
        id: Number of the change, as `Memory.undo` takes it; None where nothing was written.
    """

    added: int = 0
    updated: int = 0
    unchanged: int = 0
    edited: int = 0
    skipped: int = 0
    id: int | None = None


def import_notes(
    memory: Memory,
    source: str,
    path: Path,
    *,
    dry_run: bool = False,
    progress: ReadProgress | None = None,
) -> ImportReport:
    """Import the conversations of an export as notes below ``memory/imports/SOURCE/``.

    It can be repeated, with the same export or a later one: a conversation has one note. One that
    was interrupted is continued by the next.

    Args:
        memory: The memory.
        source: A name of `SOURCES`.
        path: File, folder or ZIP archive of the export.
        dry_run: Only count what would be written.
        progress: Called with bytes read, their total, and the name of the file.

    Raises:
        ImportSourceError: The export cannot be read; what was read before is imported.
        ConflictError: A note was changed by another program meanwhile.
    """
    run = _Import(memory, source, SOURCES[source], dry_run=dry_run)
    try:
        for entry in entries(path, run.source.pattern, progress):
            run.add(run.source.conversation(entry))
    finally:
        run.write()
    return run.report


@dataclass
class _Import:
    """One import: notes that are to be written, and the report."""

    memory: Memory
    name: str
    source: Source
    dry_run: bool
    report: ImportReport = field(default_factory=ImportReport)

    def __post_init__(self) -> None:
        self._group = self.memory.change_group(
            "import", origin=Origin("tool", tool=f"import {self.name}")
        )
        self._folder = f"memory/imports/{self.name}/"
        # The mark is the end of a name: a conversation that was renamed keeps its note.
        self._known = {path[-15:-3]: path for path in self.memory.paths(self._folder)}
        self._texts: dict[str, str] = {}
        self._versions: dict[str, str] = {}

    def add(self, conversation: Conversation | None) -> None:
        """Add a conversation to what is written next."""
        text = "" if conversation is None else conversation.text(self.source.label)
        if conversation is None or not text or len(text.encode()) > MAX_FILE_BYTES:
            self.report.skipped += 1
            return
        day = conversation.when.astimezone(self.memory.now().tzinfo).date().isoformat()
        path = self._known.setdefault(conversation.mark, self._folder + conversation.file_name(day))
        note = self.memory.get(path)
        if note.status == "ok" and note.text == text:
            self.report.unchanged += 1
        elif note.status == "ok" and not self._is_imported(path, note.version):
            self.report.edited += 1
        else:
            self.report.added += note.status != "ok"
            self.report.updated += note.status == "ok"
            self._texts[path] = text
            self._versions[path] = note.version
            if len(self._texts) >= _STEP_NOTES or sum(map(len, self._texts.values())) > _STEP_CHARS:
                self.write()

    def write(self) -> None:
        """Write what was added since the last step."""
        if self._texts and not self.dry_run:
            self._group.write(self._texts, if_version=self._versions)
            self.report.id = self._group.id
        self._texts, self._versions = {}, {}

    def _is_imported(self, path: str, version: str) -> bool:
        """Return whether a note is as an import left it."""
        last = self.memory.history(path, limit=1)
        return bool(last) and last[0].change == "import" and last[0].hash == version
