"""Integrity of the history: versions that are not as they were written, found and removed."""

from __future__ import annotations

import hashlib
import time
import zlib
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from commonplace.history.database import CHANGES, VERSION_SUMS, milliseconds
from commonplace.history.deltas import decompress, from_delta

if TYPE_CHECKING:
    from commonplace.history.database import HistoryFile

__all__ = ["accept_versions", "altered_notes", "damaged_versions", "remove_damaged_versions"]

_DAMAGE = (zlib.error, IndexError, TypeError, ValueError, OverflowError, MemoryError)
"""What damaged differences raise."""
_LAST_MS = milliseconds(datetime(9999, 1, 1, tzinfo=UTC))


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


def altered_notes(file: HistoryFile) -> list[str]:
    """Return the notes of which times, kinds or other numbers of versions are not as written."""
    held = "SELECT note, versions, total FROM version_sum WHERE versions"
    sums = {*file.rows(VERSION_SUMS)} ^ {*file.rows(held)}
    paths = dict(file.rows("SELECT id, path FROM note"))
    return sorted({paths.get(note, f"note {note}") for note, *_ in sums})


def accept_versions(file: HistoryFile) -> None:
    """Sum up the versions as they are; a kind that is none is ``changed``, a time one before."""
    before = "(SELECT max(at) FROM version AS one WHERE one.id < version.id AND "
    with file.transaction() as connection:
        connection.execute(
            "UPDATE version SET change = ? WHERE typeof(change) <> 'integer' "
            f"OR change NOT BETWEEN 0 AND {len(CHANGES) - 1}",
            (CHANGES.index("changed"),),
        )
        possible = f"typeof(one.at) = 'integer' AND one.at BETWEEN 0 AND {_LAST_MS})"
        connection.execute(
            f"UPDATE version SET at = ifnull({before}{possible}, 0) "
            f"WHERE typeof(at) <> 'integer' OR at NOT BETWEEN 0 AND {_LAST_MS}"
        )
        connection.execute("DELETE FROM version_sum")
        connection.execute(f"INSERT INTO version_sum {VERSION_SUMS}")


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
