"""Sources of imports by name: the reader of each tool's export."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from commonplace.importers.chatgpt import chatgpt_notes
from commonplace.importers.claude import claude_notes
from commonplace.importers.claude_code import claude_code_folder, claude_code_notes
from commonplace.importers.export_file import Export
from commonplace.importers.memory_stores import langmem_notes, mem0_notes
from commonplace.importers.note import ImportedNote, Skipped
from commonplace.importers.obsidian import obsidian_notes

__all__ = ["SOURCES", "Source"]


@dataclass(frozen=True, slots=True)
class Source:
    """Tool whose memory can be imported.

    Attributes:
        notes: Yields the notes of an export, and what is left out; takes the memory's folder, too.
        folder: Returns the place of the export where none is given.
    """

    notes: Callable[[Export, Path], Iterator[ImportedNote | Skipped]]
    folder: Callable[[], Path] = Path


SOURCES: Mapping[str, Source] = {
    "chatgpt": Source(lambda export, _: chatgpt_notes(export)),
    "claude": Source(lambda export, _: claude_notes(export)),
    "claude-code": Source(
        lambda export, workspace: claude_code_notes(export, workspace=workspace),
        claude_code_folder,
    ),
    "langmem": Source(lambda export, _: langmem_notes(export)),
    "mem0": Source(lambda export, _: mem0_notes(export)),
    "obsidian": Source(lambda export, workspace: obsidian_notes(export, workspace=workspace)),
}
"""Sources by name."""
