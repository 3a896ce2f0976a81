"""Lifetimes of items (time to live): when each expires, in a database beside the index.

The file of an item says how long it lives; the moment is here, because a read renews it and must
not change the file. Without the database, an item lives from the last change of its file.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from commonplace.system.database import DatabaseFile, DatabaseFormat

__all__ = ["Lifetimes"]

_PART = 500


class _LifetimeFile(DatabaseFile):
    format = DatabaseFormat(
        name="file of lifetimes",
        application_id=0x636F6C74,  # "colt", Commonplace's lifetimes
        version=1,
        schema=(
            # `renewed` is in seconds since the epoch.
            """CREATE TABLE IF NOT EXISTS item (
                path TEXT PRIMARY KEY, renewed REAL NOT NULL) WITHOUT ROWID""",
        ),
    )


class Lifetimes:
    """When the items of a workspace that live for a while were used last.

    Args:
        path: The database; it is made when the first such item is put.
    """

    def __init__(self, path: Path) -> None:
        self._file = _LifetimeFile(path)

    def renewed(self, paths: Iterable[str]) -> dict[str, float]:
        """Return when items were put or renewed, in seconds since the epoch; some are missing."""
        wanted = list(paths)
        found: dict[str, float] = {}
        for at in range(0, len(wanted), _PART):
            part = tuple(wanted[at : at + _PART])
            marks = ", ".join("?" * len(part))
            found |= dict(
                self._file.rows(f"SELECT path, renewed FROM item WHERE path IN ({marks})", part)
            )
        return found

    def renew(self, paths: Iterable[str], now: float) -> None:
        """Let items live from now on."""
        with self._file.transaction() as connection:
            connection.executemany(
                "INSERT OR REPLACE INTO item (path, renewed) VALUES (?, ?)",
                [(path, now) for path in paths],
            )

    def forget(self, paths: Iterable[str]) -> None:
        """Forget items that are gone, or live for ever now."""
        with self._file.transaction() as connection:
            connection.executemany("DELETE FROM item WHERE path = ?", [(path,) for path in paths])

    def paths(self) -> list[str]:
        """Return all items that live for a while."""
        return [row[0] for row in self._file.rows("SELECT path FROM item")]
