"""Privacy of files: which of them are the user's alone, decided by what a file is.

That is the long-term files, session files, notes of sessions, and whatever is one of these under
another name.
"""

from __future__ import annotations

import io
import os
import re
from typing import BinaryIO

from commonplace.workspace.discovery import Workspace
from commonplace.workspace.file_text import UnreadableFileError, decode_text
from commonplace.workspace.paths import WorkspacePaths, is_session_path

__all__ = ["is_private"]

_SESSION_NOTE = re.compile(r"\s*# Session: [^\n]*\s+- \*\*Session Key\*\*:")
"""Head of the note that a session leaves."""
_HEAD_BYTES = 4_096


def is_private(workspace: Workspace, path: str, *, missing: bool = False) -> bool:
    """Return whether a file is the user's alone; True for one that cannot be read.

    Args:
        workspace: The folder.
        path: Path as search shows it.
        missing: Answer for a file that does not exist.

    Raises:
        PathNotAllowedError: The path is not one of the memory's files.
    """
    name = WorkspacePaths.plain_name(path)
    if name.lower() in ("memory.md", "user.md") or is_session_path(name):
        return True
    try:
        with workspace.open(name) as file:
            # A hard link has a name of its own, and the file's number.
            if _is_long_term(workspace, file):
                return True
            text, _ = decode_text(file.read(_HEAD_BYTES))
    except FileNotFoundError:
        return missing
    except UnreadableFileError:
        return True
    return bool(_SESSION_NOTE.match(text.lstrip("\ufeff")))


def _is_long_term(workspace: Workspace, file: BinaryIO) -> bool:
    try:
        info = os.fstat(file.fileno())
    except io.UnsupportedOperation:  # it is in no folder
        return False
    if info.st_nlink < 2:
        return False
    for name in workspace.long_term_names():
        try:
            if os.path.samestat(os.lstat(workspace.root / name), info):
                return True
        except OSError:
            continue
    return False
