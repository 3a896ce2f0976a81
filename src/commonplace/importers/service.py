"""Import service: writes the notes of an export, in one group of changes."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING
from unicodedata import normalize

from commonplace.errors import ImportSourceError
from commonplace.importers.export_file import Export, ReadProgress
from commonplace.importers.note import ImportedNote, Skipped, entry_mark
from commonplace.importers.sources import SOURCES
from commonplace.types import Origin
from commonplace.workspace.file_text import MAX_FILE_BYTES

if TYPE_CHECKING:
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
        edited: Ones that were changed or deleted since their import, and are left as they are.
        skipped: Entries and files of the export that are not imported, by the reason.
        id: Number of the change, as `Memory.undo` takes it; None where nothing was written.
    """

    added: int = 0
    updated: int = 0
    unchanged: int = 0
    edited: int = 0
    skipped: Counter[str] = field(default_factory=Counter)
    id: int | None = None


def import_notes(
    memory: Memory,
    source: str,
    path: Path | None = None,
    *,
    dry_run: bool = False,
    progress: ReadProgress | None = None,
) -> ImportReport:
    """Import the memory of another tool as notes below ``memory/imports/SOURCE/``.

    It can be repeated, with the same export or a later one: an entry has one note. One that was
    interrupted is continued by the next, under the same number.

    Args:
        memory: The memory.
        source: A name of `SOURCES`.
        path: File, folder or ZIP archive of the export; None for where the tool keeps it.
        dry_run: Only count what would be written.
        progress: Called with bytes read, their total, and the name of the file.

    Raises:
        ImportSourceError: The export cannot be read; the message says what was imported.
        ConflictError: A note was changed by another program meanwhile.
    """
    reader = SOURCES[source]
    run = _Import(memory, source, dry_run=dry_run)
    with Export(path or reader.folder(), progress=progress) as export:
        try:
            for note in reader.notes(export, memory.workspace.root):
                run.add(note)
        except ImportSourceError as error:
            run.write()
            raise ImportSourceError(f"{error} {run.written}") from error
        except BaseException:
            run.write()
            raise
    run.finish()
    return run.report


@dataclass
class _Import:
    """One import: notes that are to be written, and the report."""

    memory: Memory
    name: str
    dry_run: bool
    report: ImportReport = field(default_factory=ImportReport)

    def __post_init__(self) -> None:
        tool = f"import {self.name}"
        self._group = self.memory.change_group(
            "import", origin=Origin("tool", tool=tool), name=tool
        )
        self._folder = f"memory/imports/{self.name}/"
        # The mark is the end of a name: an entry that was renamed keeps its note.
        paths = self.memory.paths(self._folder)
        self._known = {mark: path for path in paths if (mark := entry_mark(path))}
        self._spellings: dict[str, str] = {}
        for path in paths:
            self._clashes(path)
        self._notes: dict[str, ImportedNote] = {}
        self._versions: dict[str, str] = {}
        self._has_written = False

    def add(self, note: ImportedNote | Skipped) -> None:
        """Add a note to what is written next."""
        if isinstance(note, Skipped):
            self.report.skipped[note.reason] += 1
        elif len(note.text.encode()) > MAX_FILE_BYTES:
            self.report.skipped["too large"] += 1
        elif self.memory.settings.mask_personal:
            self._add(note.without_personal_numbers())
        else:
            self._add(note)

    def _add(self, note: ImportedNote) -> None:
        path = self._folder + note.place(self.memory.now().tzinfo)
        if note.key:
            path = self._known.setdefault(note.mark, path)
        if self._clashes(path):
            self.report.skipped["under names that differ in case only"] += 1
            return
        there = self.memory.get(path)
        text = there.text if there.status == "ok" else None
        if path in self._notes:  # the export has it twice
            self._notes[path] = note
        elif text == note.text:
            self.report.unchanged += 1
        elif self._is_edited(path, there.version):
            self.report.edited += 1
        else:
            self.report.added += text is None
            self.report.updated += text is not None
            self._notes[path] = note
            self._versions[path] = there.version
            chars = sum(len(one.text) for one in self._notes.values())
            if len(self._notes) >= _STEP_NOTES or chars > _STEP_CHARS:
                self.write()

    def write(self) -> None:
        """Write what was added since the last step."""
        if self._notes and not self.dry_run:
            self._group.write(
                {path: note.text for path, note in self._notes.items()},
                if_version=self._versions,
                untrusted={path: note.outside for path, note in self._notes.items()},
            )
            self._has_written = True
        self._notes, self._versions = {}, {}

    def finish(self) -> None:
        """Write the last step, and end the group of changes."""
        self.write()
        if not self.dry_run:
            self._group.finish()
            if self.memory.settings.history.enabled:
                self.report.id = self._group.id

    @property
    def written(self) -> str:
        """What an import that breaks off has written, as a sentence."""
        if not self._has_written:
            return "Nothing was written."
        said = "What was before it is imported: the next import goes on from there"
        if not self.memory.settings.history.enabled:
            return f"{said}."
        return f"{said}, and 'commonplace undo {self._group.id}' takes it back."

    def _clashes(self, path: str) -> bool:
        """Return whether a path differs from another one in case or Unicode form only."""
        parts = path.split("/")
        names = ["/".join(parts[:end]) for end in range(1, len(parts) + 1)]
        folded = {normalize("NFC", normalize("NFD", name).casefold()): name for name in names}
        if any(self._spellings.get(key, name) != name for key, name in folded.items()):
            return True
        self._spellings |= folded
        return False

    def _is_edited(self, path: str, version: str) -> bool:
        """Return whether a note is not as an import, or its undoing, left it."""
        last = self.memory.history(path, limit=1)
        if not last:  # without a history nothing tells who wrote it
            return bool(version)
        return last[0].change not in ("import", "undo") or last[0].hash != version
