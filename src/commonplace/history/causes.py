"""Cause of a change: its kind, its author, and the change group that it is a step of.

A group with a name is open until it is finished: where its process died, the next group of the name
continues it under its number.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    import apsw

    from commonplace.history.database import HistoryFile
    from commonplace.types import Change, Origin

__all__ = ["Cause", "GroupId", "find_group", "finish_group", "record_group"]


@dataclass(slots=True)
class GroupId:
    """Number that the steps of a change group share; the first step gives it."""

    value: int | None = None
    name: str | None = None


class Cause(NamedTuple):
    """What versions are recorded with, besides their texts.

    Attributes:
        change: Kind of the change.
        origin: Author of the change; None for a user.
        group: Change group that the change is a step of.
    """

    change: Change
    origin: Origin | None = None
    group: GroupId | None = None


def find_group(file: HistoryFile, name: str) -> int | None:
    """Return the number of the open group of a name; None where there is none."""
    rows = file.rows("SELECT id FROM open_group WHERE name = ?", (name,))
    return rows[0][0] if rows else None


def record_group(connection: apsw.Connection, name: str, group: int) -> None:
    """Record that a group is open; in the transaction of its first change."""
    connection.execute("INSERT OR REPLACE INTO open_group VALUES (?, ?)", (name, group))


def finish_group(file: HistoryFile, group: int) -> None:
    """Record that nothing continues a group."""
    if file.rows("SELECT 1 FROM open_group WHERE id = ?", (group,)):
        with file.transaction() as connection:
            connection.execute("DELETE FROM open_group WHERE id = ?", (group,))
