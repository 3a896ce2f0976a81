"""Folders that QMD indexes as its collections, and the way from its paths to the memory's."""

from __future__ import annotations

import fnmatch
import os
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from commonplace.errors import SettingsError
from commonplace.workspace.paths import WorkspacePaths

__all__ = ["QmdFolder", "folders_of", "is_known", "path_of"]

_WHOLE = "**/*.md"
_SKIPPED = {"node_modules", ".git", ".cache", "vendor", "dist", "build"}
"""Folders that QMD leaves out, besides all whose names begin with a dot."""


class QmdFolder(NamedTuple):
    """A collection of QMD.

    Attributes:
        name: QMD's name of it.
        folder: Absolute path.
        mask: Glob of its files.
        prefix: What its files' paths begin with in the memory: empty, or with a slash at its end.
    """

    name: str
    folder: str
    mask: str
    prefix: str


def folders_of(workspace: WorkspacePaths, chosen: Iterable[str]) -> tuple[QmdFolder, ...]:
    """Return the collections of a memory.

    Args:
        workspace: The memory's files.
        chosen: Files and folders of it, by their paths; none for all of the memory.

    Raises:
        SettingsError: One of them is not of the memory.
    """
    roots = workspace.searched_roots
    root = str(workspace.root)
    named = [os.path.normpath(os.path.join(root, os.path.expanduser(path))) for path in chosen]
    for given, path in zip(chosen, named, strict=True):
        inside = any(path == it or path.startswith(it + os.sep) for it in roots)
        if not inside and not (os.path.dirname(path) == root and path.endswith(".md")):
            raise SettingsError(
                f"qmd.collections holds {given!r}, which is not of the memory; give files and "
                "folders of it, such as 'MEMORY.md' and 'memory/work'."
            )
    files = [os.path.join(root, name) for name in workspace.long_term_names()]
    return tuple(_folders(workspace, named or [*files, *roots]))


def _folders(workspace: WorkspacePaths, paths: Iterable[str]) -> Iterator[QmdFolder]:
    for number, path in enumerate(dict.fromkeys(paths), 1):
        is_file = path.endswith(".md") and not os.path.isdir(path)
        folder, mask = os.path.split(path) if is_file else (path, _WHOLE)
        shown = workspace.display_path(folder)
        prefix = "" if shown in (".", "") or folder == str(workspace.root) else f"{shown}/"
        name = f"{number}-{os.path.basename(path).lower().removesuffix('.md') or 'notes'}"
        plain = "".join(char if char.isascii() and char.isalnum() else "-" for char in name)
        yield QmdFolder(plain, folder, mask, prefix)


def path_of(folders: Iterable[QmdFolder], collection: str, file: str) -> str | None:
    """Return the memory's path of a file of a collection; None for no collection of these."""
    return next((it.prefix + file for it in folders if it.name == collection), None)


def is_known(folders: Iterable[QmdFolder], path: str) -> bool:
    """Return whether a file of the memory is one that QMD reads."""
    for folder in folders:
        if path.startswith(folder.prefix):
            inside = path.removeprefix(folder.prefix)
            if folder.mask != _WHOLE:
                if fnmatch.fnmatchcase(inside, folder.mask):
                    return True
            elif not any(part.startswith(".") or part in _SKIPPED for part in inside.split("/")):
                return True
    return False
