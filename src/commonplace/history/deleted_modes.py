"""Modes of deleted files: an undo gives a note the permission bits that it had."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import apsw

    from commonplace.history.database import HistoryFile

__all__ = ["deleted_mode", "keep_deleted_mode"]

_PRIVATE = 0o600
"""Of a file whose mode is not known: it may have been its owner's alone."""


def keep_deleted_mode(connection: apsw.Connection, version: int, mode: int | None) -> None:
    """Keep the mode of a file that a version deletes."""
    connection.execute("INSERT INTO deleted_mode VALUES (?, ?)", (version, mode))


def deleted_mode(file: HistoryFile, path: str, *, before: int = 1 << 62) -> int:
    """Return the mode of a note's file before its deletion, if that is its newest version.

    Of one that another program deleted, no mode is known.

    Args:
        file: The history.
        path: The note.
        before: Leave out the version with this row and later ones.
    """
    rows = file.rows(
        """SELECT mode FROM deleted_mode WHERE version = (
            SELECT max(version.id) FROM version JOIN note ON note.id = note
            WHERE path = ? AND version.id < ?)""",
        (path, before),
    )
    return next((mode for (mode,) in rows if isinstance(mode, int)), _PRIVATE)
