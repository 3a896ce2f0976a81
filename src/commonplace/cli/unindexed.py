"""Markdown that stands in the workspace's folder and is not part of the memory, and what to do."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from commonplace.workspace.discovery import Workspace

__all__ = ["notes_elsewhere"]

_MOST_ENTRIES = 20_000
"""Entries of folders that are looked at: the workspace may be somebody's whole home folder."""
_NOT_NOTES = frozenset({"node_modules", "__pycache__", "site-packages"})


def notes_elsewhere(workspace: Workspace) -> str | None:
    """Say how much Markdown in the folder is not part of the memory, and how it joins.

    Returns:
        A sentence without a full stop; None when there is no such file. Hidden folders are not
        looked into.
    """
    known = {str(file.absolute) for file in workspace.scan().files}
    count = sum(path not in known for path in _markdown_below(str(workspace.root)))
    if not count:
        return None
    files = f"{count} Markdown file{'s are' if count > 1 else ' is'}"
    return (
        f"{files} in {workspace.root} but not in its memory, which is MEMORY.md and memory/; "
        'to have them found, write extra_paths = ["."] into a settings file (--settings FILE), '
        "or name another folder with -w"
    )


def _markdown_below(root: str) -> Iterator[str]:
    waiting, looked_at = [root], 0
    while waiting and looked_at < _MOST_ENTRIES:
        try:
            with os.scandir(waiting.pop()) as entries:
                for entry in entries:
                    looked_at += 1
                    if entry.is_dir(follow_symlinks=False):
                        if not (entry.name.startswith(".") or entry.name in _NOT_NOTES):
                            waiting.append(entry.path)
                    elif entry.name.endswith(".md") and entry.is_file(follow_symlinks=False):
                        yield entry.path
        except OSError:
            continue  # what cannot be read cannot be recommended
