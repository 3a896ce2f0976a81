"""Session files as OpenClaw 2026.3.24 indexes them (SPEC.md, section 11): one text each."""

from __future__ import annotations

import hashlib
import os
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from commonplace.settings import Settings
from commonplace.text.chunking import split_oversized
from commonplace.transcripts.cursor import ReadCursor, fingerprint, rules_key
from commonplace.transcripts.incremental import SessionPart
from commonplace.transcripts.rendering import LinePosition, SessionReader
from commonplace.workspace.file_text import open_file

if TYPE_CHECKING:
    from commonplace.compat.openclaw.profile import OpenClawProfile

__all__ = ["read_whole"]


def read_whole(
    path: Path, profile: OpenClawProfile, *, settings: Settings, max_bytes: int
) -> SessionPart:
    """Read a session file as one part: chunks span days and gaps, and have the file's lines.

    Args:
        path: The session file.
        profile: The rules.
        settings: The settings that the read cursor is valid for.
        max_bytes: Maximum length of a chunk in UTF-8.

    Raises:
        FileNotFoundError: The file is gone.
        UnreadableFileError: It cannot be read.
    """
    start = LinePosition()
    with open_file(path) as file:
        info = os.fstat(file.fileno())
        reader = SessionReader(file, start=start, size=info.st_size, rules=profile.transcripts)
        lines = list(reader.lines())
        cursor = ReadCursor(
            rules_key(settings),
            reader.offset,
            fingerprint(file, reader.offset),
            info.st_mtime_ns,
            start,
            invalid_line=reader.invalid_line,
        )
    numbers = [line.line for line in lines]
    text = "\n".join(line.text for line in lines)
    placed = [
        replace(
            chunk,
            start_line=numbers[chunk.start_line - 1],
            end_line=numbers[chunk.end_line - 1],
        )
        for chunk in profile.chunk(text)
    ]
    hashed = f"{text}\n{','.join(map(str, numbers))}"
    return SessionPart(
        [(piece, None) for piece in split_oversized(placed, max_bytes)],
        start,
        None,
        cursor,
        more=False,
        hash=hashlib.sha256(hashed.encode()).hexdigest(),
        size=info.st_size,
        mtime_ns=info.st_mtime_ns,
    )
