"""Retention: the oldest texts of the history go, by age and by size; never a note's newest text."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any

from commonplace.history.bodies import make_whole
from commonplace.history.database import CHANGES, milliseconds
from commonplace.history.ledger import lowest, stored_origin

if TYPE_CHECKING:
    import apsw

    from commonplace.history.database import HistoryFile
    from commonplace.settings import HistorySettings

__all__ = ["is_too_large", "prune"]

_DELETED_DAYS = 30
"""Days for which the last text of a deleted note stays, whatever the settings are."""
_EASE = 0.9
"""Share of the size limit that pruning goes down to, so that it does not run again at once."""


def prune(file: HistoryFile, settings: HistorySettings, now: datetime) -> None:
    """Remove the oldest texts beyond the limits.

    The caller holds the lease of changes. The version that is then a note's oldest one counts as
    what was there when history began.
    """
    with file.transaction(durable=False) as connection:
        old = _too_old(connection, settings, now)
        for note, row in _too_large(connection, settings, now, without=old).items():
            _cut(connection, note, row)
        connection.execute(
            """DELETE FROM change_group WHERE id NOT IN (
                SELECT change_group.id FROM change_group JOIN version ON version.id = version)"""
        )


def is_too_large(file: HistoryFile, settings: HistorySettings) -> bool:
    """Return whether the file is larger than the texts may be; reads none of them."""
    sql = "SELECT (page_count - freelist_count) * page_size FROM pragma_page_count, "
    rows = file.rows(sql + "pragma_freelist_count, pragma_page_size")
    return bool(settings.max_bytes and rows and rows[0][0] > settings.max_bytes)


def _too_old(
    connection: apsw.Connection, settings: HistorySettings, now: datetime
) -> dict[int, int]:
    """Return, by note, the first row to keep of those whose texts were changed too long ago."""
    if not settings.max_days:
        return {}
    limit = milliseconds(now - timedelta(days=settings.max_days))
    return {note: row for note, row, at, _ in _droppable(connection, now) if at < limit}


def _too_large(
    connection: apsw.Connection,
    settings: HistorySettings,
    now: datetime,
    *,
    without: dict[int, int],
) -> dict[int, int]:
    """Return, by note, the first row to keep so that all texts fit the size."""
    found = dict(without)
    droppable = list(_droppable(connection, now))
    size = int(connection.execute("SELECT coalesce(sum(length(body)), 0) FROM version").get)
    size -= sum(freed for note, row, _, freed in droppable if row <= without.get(note, 0))
    if not settings.max_bytes or size <= settings.max_bytes:
        return found
    for note, row, _, freed in sorted(droppable, key=lambda one: one[1]):
        if size <= settings.max_bytes * _EASE:
            break
        if row > found.get(note, 0):
            found[note] = row
            size -= freed
    return found


def _droppable(connection: apsw.Connection, now: datetime) -> Iterator[tuple[int, int, int, int]]:
    """Yield the note, the next row, its time, and the size of each text that may be removed.

    A text is of the past from the time of the next version on. The row that follows the last text
    of a deleted note is that of the deletion, and both go together.
    """
    kept = milliseconds(now - timedelta(days=_DELETED_DAYS))
    rows: list[tuple[Any, ...]] = connection.execute(
        """SELECT note, id, at, hash IS NULL, length(body),
            lead(id) OVER later, lead(at) OVER later, lead(hash IS NULL) OVER later
        FROM version WINDOW later AS (PARTITION BY note ORDER BY id)"""
    ).fetchall()
    protected = set()
    for note, row, at, is_gone, size, next_row, next_at, next_is_gone in rows:
        if next_is_gone and next_at >= kept:
            protected.add(note)
        if note in protected:
            continue
        if next_row is not None:
            yield note, next_row, next_at, size or 0
        elif is_gone and at < kept:
            yield note, row + 1, at, 0


def _cut(connection: apsw.Connection, note: int, row: int) -> None:
    """Remove the versions of a note before a row, which becomes its first."""
    based: list[tuple[Any, ...]] = connection.execute(
        "SELECT id FROM version WHERE note = ?1 AND id >= ?2 AND base < ?2", (note, row)
    ).fetchall()
    for (other,) in based:
        make_whole(connection, other)
    first = connection.execute(
        "SELECT id, body NOT NULL FROM version WHERE note = ? AND id >= ? ORDER BY id LIMIT 1",
        (note, row),
    ).fetchone()
    origin = None if first is None else _least_trusted(connection, note, first[0])
    connection.execute("DELETE FROM version WHERE note = ? AND id < ?", (note, row))
    if first is not None and first[1]:
        connection.execute(
            "UPDATE version SET change = ?, origin = coalesce(?, origin) WHERE id = ?",
            (CHANGES.index("found"), origin, first[0]),
        )


def _least_trusted(connection: apsw.Connection, note: int, row: int) -> int | None:
    """Return the least trusted origin of a note's versions up to one; None for users' alone.

    What they brought is in the text that stays as the first one: it is no user's by itself.
    """
    found: list[tuple[Any, ...]] = connection.execute(
        "SELECT DISTINCT origin.id, author, session, tool FROM version JOIN origin "
        "ON origin.id = origin WHERE note = ? AND version.id <= ?",
        (note, row),
    ).fetchall()
    rows = {stored_origin(*origin): number for number, *origin in found}
    least = lowest(rows)
    return None if least.author == "user" else rows[least]
