"""Integrity of the history: versions whose text is not the one that was kept, found and removed."""

from __future__ import annotations

import hashlib
import time
import zlib
from collections.abc import Iterator
from typing import TYPE_CHECKING

from commonplace.history.deltas import decompress, from_delta

if TYPE_CHECKING:
    from commonplace.history.database import HistoryFile

__all__ = ["damaged_versions", "remove_damaged_versions"]

_DAMAGE = (zlib.error, IndexError, TypeError, ValueError, OverflowError, MemoryError)
"""What damaged differences raise."""


def damaged_versions(file: HistoryFile) -> list[tuple[int, str]]:
    """Return the row and the note of each version whose text cannot be put together."""
    notes = file.rows("SELECT id, path FROM note")
    return [(row, path) for note, path in notes for row in _damaged(file, note)]


def _damaged(file: HistoryFile, note: int) -> Iterator[int]:
    rows = file.rows(
        "SELECT id, base, body, hash FROM version WHERE note = ? AND body NOT NULL ORDER BY id",
        (note,),
    )
    before: tuple[int | None, bytes] = None, b""
    for row, base, body, digest in rows:
        try:
            text = decompress(body) if base is None else from_delta(body, before[1])
        except _DAMAGE:
            text = b""
        if base not in (None, before[0]) or hashlib.sha256(text).digest() != digest:
            yield row
        else:
            before = row, text


def remove_damaged_versions(file: HistoryFile, rows: list[int]) -> str:
    """Remove versions that cannot be read; return the name of a copy of the file as it was."""
    assert file.path is not None
    copy = file.path.with_name(f"{file.path.name}.damaged-{time.time_ns()}")
    with file.kept_open():
        file.rows("VACUUM INTO ?", (str(copy),))
        with file.transaction() as connection:
            connection.executemany("DELETE FROM version WHERE id = ?", [(row,) for row in rows])
    copy.chmod(0o600)
    return copy.name
