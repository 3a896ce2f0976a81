"""Version log: the texts that notes had, and the changes that they came with."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import replace
from datetime import datetime
from typing import TYPE_CHECKING, Any, NamedTuple

from commonplace.errors import ConflictError
from commonplace.history.bodies import make_body, read_body
from commonplace.history.causes import GroupId, record_group
from commonplace.history.database import CHANGES, change_of, milliseconds, moment_of
from commonplace.history.ledger import note_id, origin_id, stored_origin
from commonplace.types import Change, Origin, Version
from commonplace.workspace.file_text import GrownBytes, digest_of

if TYPE_CHECKING:
    import apsw

    from commonplace.history.database import HistoryFile

__all__ = ["State", "VersionLog", "content_hash"]

_MAX_ROWS = 1 << 62
"""More rows than there are; SQLite takes no number of more than 63 bits."""
_RECENT = 20
"""Versions of a note in which a text is looked for that another process may have met."""

_SETTLED = "batch NOT IN (SELECT version FROM pending WHERE NOT done)"
"""Condition on versions: not those of a change that is being made."""
_COLUMNS = """version.id, batch, change_group.id, note.path, origin_note.path, at, change, author,
    session, tool, size, hash"""
_JOINED = """version JOIN note ON note.id = version.note
    LEFT JOIN change_group ON change_group.version = version.id
    LEFT JOIN note AS origin_note ON origin_note.id = version.moved_from
    LEFT JOIN origin ON origin.id = version.origin"""


class State(NamedTuple):
    """State of a note after a change.

    Attributes:
        id: Row of the version.
        batch: Row of the first version of the same step; `Version.id` is that of the first version
            of the change group, where there is one.
        version: The change.
    """

    id: int
    batch: int
    version: Version

    @property
    def exists(self) -> bool:
        """Whether there was a note."""
        return bool(self.version.hash)


class VersionLog:
    """Log of the versions of all notes of a workspace.

    What writes takes the connection of a transaction of the history file.
    """

    def __init__(self, file: HistoryFile) -> None:
        self.file = file

    # -- reading ---------------------------------------------------------------------------------

    def history(self, path: str | None, *, limit: int) -> list[Version]:
        """Return the versions of a note, or of all, newest first; a move goes on with the old path.

        Among all versions, a change group is one: its first one.

        Args:
            path: The note; None for all.
            limit: Number of versions, at most.
        """
        if path is None:
            groups = self.file.rows(
                """SELECT min(version), count(DISTINCT note) FROM change_group
                JOIN version ON version.id = version GROUP BY change_group.id"""
            )
            notes = dict(groups)
            sql = f"SELECT {_COLUMNS} FROM {_JOINED} WHERE {_SETTLED} AND (change_group.id IS NULL "
            sql += "OR version.id IN (SELECT value FROM json_each(?))) ORDER BY version.id DESC"
            most = min(limit, _MAX_ROWS)
            states = self._states(f"{sql} LIMIT ?", (json.dumps(list(notes)), most))
            return [replace(one.version, notes=notes.get(one.id, 1)) for one in states]
        found = {state.id: state for state in self.states_of(path)}
        waiting = list(found.values())
        for state in waiting:  # it grows
            if (earlier := state.version.moved_from) is not None:
                states = self.states_of(earlier, before=state.id)
                waiting += [one for one in states if one.id not in found]
                found |= {one.id: one for one in states}
        newest = sorted(found.values(), key=lambda state: -state.id)[:limit]
        return [state.version for state in newest]

    def states_of(self, path: str, *, before: int | None = None) -> list[State]:
        """Return the states of a note, newest first.

        Args:
            path: The note.
            before: Leave out the row of this id and later ones.
        """
        return self._states(
            f"SELECT {_COLUMNS} FROM {_JOINED} WHERE note.path = ? AND version.id < ? "
            f"AND {_SETTLED} ORDER BY version.id DESC",
            (path, _MAX_ROWS if before is None else before),
        )

    def batch(self, version_id: int, *, settled: bool = True) -> list[State]:
        """Return the states of one step, which a move has for several notes."""
        # Two conditions, each with its index: most changes are of one note, named by their row.
        sql = f"SELECT {_COLUMNS} FROM {_JOINED} WHERE (version.id = ?1 OR (batch = ?1 AND "
        sql += "batch <> version.id)) AND batch = ?1"
        return self._states(
            f"{sql} AND {_SETTLED} ORDER BY version.id"
            if settled
            else f"{sql} ORDER BY version.id",
            (version_id,),
        )

    def group(self, version_id: int) -> list[State]:
        """Return the states of all steps of a change group, in their order; none for another id.

        Raises:
            ConflictError: A version of it was pruned.
        """
        rows = self.file.rows(
            """SELECT note.path FROM change_group LEFT JOIN version ON version.id = version
            LEFT JOIN note ON note.id = note WHERE change_group.id = ?""",
            (version_id,),
        )
        if (None,) in rows:
            raise ConflictError(
                f"version {version_id} cannot be taken back: the history does not hold all of it "
                "any more (history.max_days, history.max_bytes). Nothing was changed.",
                version="",
            )
        return self._states(
            f"SELECT {_COLUMNS} FROM {_JOINED} WHERE change_group.id = ? AND {_SETTLED} "
            "ORDER BY version.id",
            (version_id,),
        )

    def before(self, state: State) -> State | None:
        """Return the state of the same note before a change; None for its first."""
        states = self._states(
            f"SELECT {_COLUMNS} FROM {_JOINED} WHERE note.path = ? AND version.id < ? "
            "ORDER BY version.id DESC LIMIT 1",
            (state.version.path, state.id),
        )
        return states[0] if states else None

    def changed_since(self, moment: datetime) -> list[str]:
        """Return the paths of the notes with a version later than a moment."""
        rows = self.file.rows(
            f"""SELECT path FROM note WHERE id IN (
                SELECT note FROM version WHERE at > ? AND {_SETTLED})""",
            (milliseconds(moment),),
        )
        return [path for (path,) in rows]

    def hashes(self, paths: Sequence[str] | None = None) -> dict[str, str]:
        """Return the newest hash of notes that were ever met; empty for one that is gone.

        Args:
            paths: The notes; None for all.
        """
        given = "path IN (SELECT value FROM json_each(?))"
        rows = self.file.rows(
            f"""SELECT path, lower(hex((
                SELECT hash FROM version WHERE note = note.id AND {_SETTLED}
                ORDER BY id DESC LIMIT 1))) FROM note
            WHERE EXISTS (SELECT 1 FROM version WHERE note = note.id)
            AND {"?" if paths is None else given}""",
            (1 if paths is None else json.dumps(paths),),
        )
        return dict(rows)

    def text(self, state: State) -> bytes:
        """Return the bytes that a note had; none for a note that was gone.

        Raises:
            StateError: The history is damaged: the text is not the one that was kept.
        """
        return read_body(self.file.rows, state.id)

    # -- writing ---------------------------------------------------------------------------------

    def add(
        self,
        connection: apsw.Connection,
        path: str,
        text: bytes | GrownBytes | None,
        *,
        change: Change,
        at: datetime,
        origin: Origin | None = None,
        batch: int | None = None,
        group: GroupId | None = None,
        moved_from: str | None = None,
        before: bytes | None = None,
    ) -> State:
        """Add the state of a note after a change.

        Args:
            connection: Connection in a transaction.
            path: The note.
            text: Bytes of the file; None where it is gone.
            change: Kind of the change.
            at: Time of the change.
            origin: Author of the change.
            batch: Id of the batch that the change belongs to; None begins one.
            group: Id of the change group that it belongs to, which the first one gives.
            moved_from: Path that the note had before.
            before: Bytes that the file had before, where they are at hand.
        """
        execute = connection.execute
        note = note_id(connection, path)
        known = b"" if text is None else digest_of(text)
        base, body = make_body(connection, note, text, before=before)
        ms = milliseconds(at)
        values = (
            *(batch or 0, note, moved_from and note_id(connection, moved_from), ms),
            *(CHANGES.index(change), origin and origin_id(connection, origin), len(text or b"")),
            *(None if text is None else known, base, body),
        )
        columns = "batch, note, moved_from, at, change, origin, size, hash, base, body"
        execute(f"INSERT INTO version ({columns}) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)", values)
        row = connection.last_insert_rowid()
        if batch is None:
            execute("UPDATE version SET batch = id WHERE id = ?", (row,))
        number = batch or row
        if group is not None:
            number = group.value or row
            if group.value is None and group.name is not None:
                record_group(connection, group.name, row)
            group.value = number
            execute("INSERT INTO change_group VALUES (?, ?)", (row, number))
        return State(
            row,
            batch or row,
            Version(
                *(number, path, moment_of(row, ms), change, origin),
                size=len(text or b""),
                hash=known.hex(),
                moved_from=moved_from,
            ),
        )

    def is_recent(self, connection: apsw.Connection, path: str, known: str) -> bool:
        """Return whether one of the last versions of a note has a hash."""
        sql = "SELECT hash FROM version JOIN note ON note.id = note WHERE path = ? "
        rows = connection.execute(f"{sql} ORDER BY version.id DESC LIMIT {_RECENT}", (path,))
        return bytes.fromhex(known) in [digest for (digest,) in rows]

    def meet(
        self,
        connection: apsw.Connection,
        path: str,
        text: bytes | GrownBytes | None,
        *,
        at: datetime,
    ) -> State | None:
        """Add a text that another program wrote, unless it is the newest one; inside a transaction.

        Args:
            connection: Of the history database.
            path: The note.
            text: Bytes of the file; None where it is gone.
            at: Time of the change.

        Returns:
            The newest state; None for a note that was never there.
        """
        latest = self.latest(connection, path)
        if (latest.version.hash if latest else "") == ("" if text is None else content_hash(text)):
            return latest
        change: Change = "changed"
        if latest is None:
            began = connection.execute("SELECT count(*) FROM began").get
            change = "created" if began else "found"
        elif text is None:
            change = "gone"
        elif not latest.exists:
            change = "created"
        return self.add(connection, path, text, change=change, at=at)

    def paths_with(
        self, connection: apsw.Connection, hashes: Iterable[str]
    ) -> list[tuple[str, str]]:
        """Return the notes that have, or had, a text of some hashes, with the hash."""
        wanted = json.dumps([known.upper() for known in hashes])
        rows: Iterable[Any] = connection.execute(
            "SELECT DISTINCT path, hex(hash) FROM version JOIN note ON note.id = note "
            "WHERE hex(hash) IN (SELECT value FROM json_each(?))",
            (wanted,),
        ).fetchall()
        return [(path, known.lower()) for path, known in rows]

    def latest(self, connection: apsw.Connection, path: str) -> State | None:
        """Return the newest state of a note; None for one that was never met."""
        rows = connection.execute(
            f"SELECT {_COLUMNS} FROM {_JOINED} WHERE note.path = ? ORDER BY version.id DESC "
            "LIMIT 1",
            (path,),
        )
        return next(map(_state, rows), None)

    # -- how -------------------------------------------------------------------------------------

    def _states(self, sql: str, values: Sequence[Any]) -> list[State]:
        return [_state(row) for row in self.file.rows(sql, tuple(values))]


def content_hash(data: bytes | GrownBytes) -> str:
    """Return the hash of a file's bytes, as `if_version` takes it."""
    return digest_of(data).hex()


def _state(row: tuple[Any, ...]) -> State:
    number, batch, group, path, moved_from, at, change, author, session, tool, size, known = row
    return State(
        number,
        batch,
        Version(
            id=group or batch,
            path=path,
            when=moment_of(number, at),
            change=change_of(number, change),
            origin=stored_origin(author, session, tool) if author else None,
            size=size,
            hash=known.hex() if known else "",
            moved_from=moved_from,
        ),
    )
