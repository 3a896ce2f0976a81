"""Unindexed notes: Markdown in the folder of a memory that is not part of it."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from commonplace.workspace.discovery import Workspace

__all__ = ["unindexed_notes_hint"]

_MOST_ENTRIES = 20_000
"""Maximum of directory entries to examine: the workspace may be a whole home folder."""
_NOT_NOTES = frozenset({"node_modules", "__pycache__", "site-packages"})


def unindexed_notes_hint(workspace: Workspace) -> str | None:
    """Return how much Markdown in the folder is not part of the memory, and how to add it.

    Returns:
        A sentence without a full stop; None when there is no such file. Hidden folders are skipped.
    """
    known = {str(file.absolute) for file in workspace.scan().files}
    count = sum(path not in known for path in _markdown_below(str(workspace.root)))
    if not count:
        return None
    files = f"{count} Markdown file{'s are' if count > 1 else ' is'}"
    return (
        f"{files} in {workspace.root} but not in its memory, which is MEMORY.md and memory/; "
        'to have them found, set extra_paths = ["."] (Settings(extra_paths=["."]), or a settings '
        "file), or name another folder"
    )


def _markdown_below(root: str) -> Iterator[str]:
    folders, examined = [root], 0
    while folders and examined < _MOST_ENTRIES:
        try:
            with os.scandir(folders.pop()) as entries:
                for entry in entries:
                    examined += 1
                    if entry.is_dir(follow_symlinks=False):
                        if not (entry.name.startswith(".") or entry.name in _NOT_NOTES):
                            folders.append(entry.path)
                    elif entry.name.endswith(".md") and entry.is_file(follow_symlinks=False):
                        yield entry.path
        except OSError:
            continue  # an unreadable folder cannot be indexed either
