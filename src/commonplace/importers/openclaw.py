"""OpenClaw: the notes of a workspace, ``MEMORY.md`` and those below ``memory/``."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from commonplace.importers.export_file import Export
from commonplace.importers.note import ImportedNote, Skipped, file_note

__all__ = ["openclaw_folder", "openclaw_notes"]

_FILES = ("MEMORY.md", "memory.md", "USER.md", "memory/**/*.md")


def openclaw_folder() -> Path:
    """Return the workspace that OpenClaw has by default."""
    return Path.home() / ".openclaw" / "workspace"


def openclaw_notes(export: Export) -> Iterator[ImportedNote | Skipped]:
    """Yield the notes of a workspace."""
    for file in export.files(*_FILES, named="MEMORY.md or memory/*.md"):
        text = export.text(file)
        path = file.name.removeprefix("memory/")
        yield Skipped("too large") if text is None else file_note(path, text)
