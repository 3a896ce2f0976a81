"""Folder of the notes that Anthropic's memory tool sees as ``/memories``."""

from __future__ import annotations

import contextlib
import os
import posixpath
from collections.abc import Iterator
from typing import TYPE_CHECKING

from anthropic.tools import ToolError

from commonplace.workspace.paths import crosses_link, is_link_entry

if TYPE_CHECKING:
    from pathlib import Path

    from commonplace.workspace.discovery import Workspace

__all__ = ["FOLDER", "ROOT", "NoteFolder", "note_name"]

ROOT = "/memories"
"""Folder as the model names it."""
FOLDER = "memory"
"""Folder as the workspace names it."""
_DEPTH = 2
"""Levels of folders that are listed."""


class NoteFolder:
    """Folder ``memory/`` of a workspace: what in it are notes, and what is not.

    Args:
        workspace: The workspace.
    """

    def __init__(self, workspace: Workspace) -> None:
        self._workspace = workspace
        self._root = workspace.root

    def place(self, name: str) -> Path:
        """Return the place of a path on the disk; a `ToolError` where a link leads there."""
        if crosses_link(self._root, name.split("/")):
            raise ToolError(f"Path {ROOT}{name.removeprefix(FOLDER)} crosses a symbolic link")
        return self._root / name

    def is_folder(self, name: str) -> bool:
        """Return whether a path is a folder's; the one of all notes may not exist yet."""
        place = self.place(name)
        return place.is_dir() or (name == FOLDER and not os.path.lexists(place))

    def is_note(self, name: str) -> bool:
        """Return whether a path is that of a note which is there."""
        return name.endswith(".md") and self.place(name).is_file()

    def listing(self, name: str, path: str) -> str:
        """Return the notes and folders of a folder, with their sizes, as the SDK words it."""
        place = self.place(name)
        size = _size(place.stat().st_size if place.exists() else 0)
        entries = [f"{size}\t{path}", *self._entries(place, path, depth=1)]
        return (
            f"Here're the files and directories up to {_DEPTH} levels deep in {path}, excluding "
            "hidden items:\n" + "\n".join(entries)
        )

    def _entries(self, folder: Path, path: str, *, depth: int) -> Iterator[str]:
        with contextlib.suppress(OSError), os.scandir(folder) as found:
            for entry in sorted(found, key=lambda one: one.name):
                info = entry.stat(follow_symlinks=False)
                if entry.name.startswith(".") or is_link_entry(info):
                    continue
                shown = f"{path}/{entry.name}"
                if entry.is_dir():
                    yield f"{_size(info.st_size)}\t{shown}/"
                    if depth < _DEPTH:
                        yield from self._entries(folder / entry.name, shown, depth=depth + 1)
                elif entry.name.endswith(".md"):
                    yield f"{_size(info.st_size)}\t{shown}"

    def notes_of(self, name: str, path: str) -> list[str]:
        """Return the notes of a folder; a `ToolError` where it holds anything else."""
        notes = []
        for folder, folders, files in os.walk(self._root / name):
            for entry in (*folders, *files):
                place = os.path.join(folder, entry)
                is_note = entry in files and entry.endswith(".md")
                if is_link_entry(os.lstat(place)) or not (is_note or entry in folders):
                    raise ToolError(
                        f"{path} holds {entry}, which is no note; nothing was changed. "
                        "Name its notes one by one."
                    )
                if is_note:
                    notes.append(self._workspace.display_path(place))
        return sorted(notes)

    def remove_folders(self, name: str, *, to: str | None = None) -> None:
        """Remove a folder of folders, all of them empty; or move it to another path."""
        root = self._root
        for folder, _, _ in os.walk(root / name, topdown=False):
            below = os.path.relpath(folder, root / name)
            if to is not None:
                os.makedirs(os.path.normpath(root / to / below), exist_ok=True)
            os.rmdir(folder)


def note_name(path: str) -> str:
    """Return the workspace path of a path below ``/memories``."""
    if not path.startswith(ROOT):
        raise ToolError(f"Path must start with {ROOT}, got: {path}")
    inside = posixpath.normpath(posixpath.join(FOLDER, path.removeprefix(ROOT).lstrip("/")))
    if inside != FOLDER and not inside.startswith(f"{FOLDER}/"):
        raise ToolError(f"Path {path} would escape {ROOT} directory")
    return inside


def _size(size: int) -> str:
    """Return a number of bytes as the SDK's tool shows it."""
    power = min((max(size, 1).bit_length() - 1) // 10, 3)
    value = size / 1024**power
    return f"{value:.0f}{'BKMG'[power]}" if value == int(value) else f"{value:.1f}{'BKMG'[power]}"
