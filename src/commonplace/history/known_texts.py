"""Known texts: what a history keeps when another host, with a history of its own, has forgotten.

What was forgotten is published to no host, as that would keep it. A history keeps the lines that
the published one has, which is rid of it; what it alone has of the past goes, too.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from commonplace.history.bodies import read_bodies, rewrite_bodies
from commonplace.history.edits import FileCodec
from commonplace.history.lines import line_key

if TYPE_CHECKING:
    import apsw

__all__ = ["KnownTexts", "keep_known", "remove_unused_names"]


@dataclass(frozen=True, slots=True)
class KnownTexts:
    """Texts of a history.

    Attributes:
        paths: Its notes.
        lines: Lines of all their versions.
        sessions: Conversations that it names.
    """

    paths: frozenset[str]
    lines: frozenset[str]
    sessions: frozenset[str]

    @classmethod
    def of(cls, connection: apsw.Connection) -> KnownTexts:
        """Read the texts of a history.

        Args:
            connection: Connection in a transaction.
        """
        rows: list[Any] = connection.execute(
            "SELECT id, path FROM note WHERE id IN (SELECT note FROM version)"
        ).fetchall()
        paths: dict[int, str] = dict(rows)
        texts = (text for note in paths for _, text in read_bodies(connection, note))
        lines = frozenset(line for text in texts for line in _lines(text))
        sessions = connection.execute("SELECT session FROM origin WHERE session NOT NULL")
        return cls(frozenset(paths.values()), lines, frozenset(row[0] for row in sessions))


def keep_known(
    connection: apsw.Connection, known: KnownTexts, *, read: Callable[[str], bytes | None]
) -> None:
    """Remove from a history what another one does not have: lines, notes, conversations' names.

    Origins stay of the lines that a note has now: without one, a line would pass for a user's.

    Args:
        connection: Connection in a transaction.
        known: Texts of the other one.
        read: Returns the bytes of a note; None where there is none.
    """

    def kept(path: str, data: bytes) -> bytes | None:
        if path not in known.paths:
            return None
        lines = FileCodec.of(data).decode(data).split("\n")
        left = [line for line in lines if line.rstrip("\r") in known.lines]
        return data if len(left) == len(lines) else FileCodec.of(data).encode("\n".join(left))

    execute = connection.execute
    rewrite_bodies(connection, kept)
    paths = json.dumps(sorted(known.paths))
    gone = "(SELECT id FROM note WHERE path NOT IN (SELECT value FROM json_each(?)))"
    execute(f"DELETE FROM version WHERE note IN {gone}", (paths,))
    execute(f"UPDATE version SET moved_from = NULL WHERE moved_from IN {gone}", (paths,))
    execute("DELETE FROM change_group WHERE version NOT IN (SELECT id FROM version)")
    keys = set(map(line_key, known.lines))
    notes: list[tuple[Any, ...]] = execute(
        "SELECT DISTINCT id, path FROM note JOIN line_origin ON note = id"
    ).fetchall()
    for note, path in notes:
        held = keys | set(map(line_key, _lines(read(path) or b"")))
        rows = execute("SELECT hash FROM line_origin WHERE note = ?", (note,)).fetchall()
        for (key,) in rows:
            if key not in held:
                execute("DELETE FROM line_origin WHERE note = ? AND hash = ?", (note, key))
    execute(
        "UPDATE origin SET session = NULL WHERE session NOT IN (SELECT value FROM json_each(?))",
        (json.dumps(sorted(known.sessions)),),
    )
    execute("DELETE FROM pending WHERE done")
    remove_unused_names(connection)


def remove_unused_names(connection: apsw.Connection) -> None:
    """Remove the origins and the notes that nothing in a history names."""
    connection.execute(
        "DELETE FROM origin WHERE id NOT IN (SELECT origin FROM line_origin UNION "
        "SELECT origin FROM version WHERE origin NOT NULL)"
    )
    connection.execute(
        "DELETE FROM note WHERE id NOT IN (SELECT note FROM line_origin UNION "
        "SELECT note FROM version UNION "
        "SELECT moved_from FROM version WHERE moved_from NOT NULL)"
    )


def _lines(data: bytes) -> Iterable[str]:
    return (line.rstrip("\r") for line in FileCodec.of(data).decode(data).split("\n"))
