"""Obsidian: the notes of a vault, as they are: front matter, links, embeds.

Obsidian's own folder and other hidden ones are left out; attachments stay in the vault, and the
report has their number.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from commonplace.errors import ImportSourceError
from commonplace.importers.export_file import Export
from commonplace.importers.note import ImportedNote, Skipped, file_note

__all__ = ["obsidian_notes"]


def obsidian_notes(export: Export, *, workspace: Path) -> Iterator[ImportedNote | Skipped]:
    """Yield a note for each Markdown file of a vault.

    Raises:
        ImportSourceError: It is the memory's own folder, or is in it; or it is a file of another
            kind.
    """
    vault = export.path.resolve()
    if vault == workspace or workspace in vault.parents:
        raise ImportSourceError(
            f"{export.path} is in the memory's own folder, where notes are found without an import."
            " Name another vault, or another folder by -w."
        )
    if export.path.is_file() and not export.is_archive and not _is_note(export.path.name):
        raise ImportSourceError(
            f"{export.path} is no vault; expected is its folder, a ZIP archive of it, or a note."
        )
    for file in export.tree(without=workspace):
        if not _is_note(file.name):
            export.pass_over(file)
            yield Skipped("attachments, which stay where they are")
        elif (text := export.text(file)) is None:
            yield Skipped("too large")
        else:
            yield file_note(f"{file.name[:-3]}.md", text)


def _is_note(name: str) -> bool:
    return name.lower().endswith(".md")
