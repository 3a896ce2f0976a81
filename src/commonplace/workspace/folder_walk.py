"""Walk over folders, however deep they are nested: `os.walk` recurses before Python 3.12."""

from __future__ import annotations

import os
from collections.abc import Collection, Iterator
from pathlib import Path

from commonplace.workspace.paths import list_folder

__all__ = ["walk_folders"]


def walk_folders(
    top: str | Path,
    *,
    skipped: Collection[str] = (),
    problems: list[tuple[str, str]] | None = None,
) -> Iterator[tuple[str, list[str]]]:
    """Yield each folder with the sorted names of its regular files; links are not followed.

    Args:
        top: First folder; it may be missing.
        skipped: Names of folders to leave out.
        problems: Is given ``(path, reason)`` of each folder that cannot be read.
    """
    waiting = [os.fspath(top)]
    while waiting:
        folder = waiting.pop()
        names = []
        try:
            for entry in list_folder(folder):
                if entry.is_dir(follow_symlinks=False):
                    waiting += [entry.path] * (entry.name not in skipped)
                elif entry.is_file(follow_symlinks=False):
                    names.append(entry.name)
        except OSError as error:
            if problems is not None:
                problems.append((folder, error.strerror or str(error)))
            continue
        yield folder, names[::-1]
