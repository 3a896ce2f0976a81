"""Rows of what is published: the parts of transactions on notes, versions and the inbox."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any, Literal

from commonplace.store.publication import (
    InboxChange,
    InboxStep,
    NoteChangedError,
    PublishedNote,
)
from commonplace.store.records import IndexedFile

if TYPE_CHECKING:
    from commonplace.store.postgres.database import Connection
    from commonplace.store.postgres.state import IndexState

__all__ = [
    "EPOCH",
    "NOT_WAITING",
    "bump",
    "check_unchanged",
    "held_hashes",
    "inbox_waits",
    "insert_change",
    "publish_files",
    "put_notes",
    "remove_change",
    "remove_notes",
    "rows_of",
    "step_of",
    "waiting_paths",
]

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)

NOT_WAITING = """NOT EXISTS (SELECT 1 FROM inbox_steps s JOIN inbox c USING (id)
    WHERE c.refused IS NULL AND path IN (s.path, s.target))"""


def waiting_paths(connection: Connection, paths: Collection[str]) -> set[str]:
    """Return those of some notes of which a change waits; under the lock of the index's row."""
    rows = rows_of(
        connection,
        """SELECT s.path, s.target FROM inbox_steps s JOIN inbox c USING (id)
        WHERE c.refused IS NULL AND (s.path = ANY(%s::text[]) OR s.target = ANY(%s::text[]))""",
        list(paths),
        list(paths),
    )
    return {path for row in rows for path in row if path is not None}


def inbox_waits(connection: Connection) -> bool:
    """Return whether a change waits; under the lock of the index's row."""
    ((waits,),) = rows_of(connection, "SELECT EXISTS (SELECT 1 FROM inbox WHERE refused IS NULL)")
    return bool(waits)


def publish_files(
    connection: Connection, files: Iterable[IndexedFile], removed: Iterable[str]
) -> tuple[list[IndexedFile], list[str]]:
    """Publish the notes of files, and remove others, but for those of which a change waits.

    Returns:
        The files to write, and the paths of those to remove: what waits stays as it is.
    """
    files, removed = list(files), list(removed)
    waiting = waiting_paths(connection, [*removed, *(file.record.path for file in files)])
    written = [file for file in files if file.record.path not in waiting]
    gone = [path for path in removed if path not in waiting]
    remove_notes(connection, gone)
    put_notes(connection, [file.note for file in written if file.note is not None])
    return written, gone


def put_notes(connection: Connection, notes: Sequence[PublishedNote]) -> None:
    """Publish notes, in place of those of the same paths."""
    if not notes:
        return
    held = dict(
        rows_of(
            connection,
            "SELECT path, origins FROM notes WHERE path = ANY(%s::text[])",
            [note.path for note in notes],
        )
    )
    changed = [note.origins != held.get(note.path) for note in notes]
    number = bump(connection, "origins") if any(changed) else 0
    connection.execute(
        """INSERT INTO notes AS n SELECT * FROM unnest(%s::text[], %s::text[], %s::bytea[],
            %s::text[], %s::text[], %s::text[], %s::bigint[])
        ON CONFLICT (path) DO UPDATE SET source = excluded.source, data = excluded.data,
        hash = excluded.hash, indexed = excluded.indexed, origins = excluded.origins,
        changed = greatest(n.changed, excluded.changed)""",
        (
            [note.path for note in notes],
            [note.source for note in notes],
            [bytes(note.data) for note in notes],
            [note.hash for note in notes],
            [note.indexed for note in notes],
            [note.origins for note in notes],
            [number if is_new else 0 for is_new in changed],
        ),
    )


def remove_notes(connection: Connection, paths: Sequence[str]) -> None:
    """Remove notes by their paths."""
    if paths:
        connection.execute("DELETE FROM notes WHERE path = ANY(%s::text[])", (list(paths),))


def check_unchanged(connection: Connection, change: InboxChange) -> None:
    """Raise where a note is not what a change was computed from."""
    held = dict(
        rows_of(
            connection,
            "SELECT path, hash FROM notes WHERE path = ANY(%s::text[])",
            list(change.paths),
        )
    )
    for step in change.steps:
        if held.get(step.path, "") != step.before_hash:
            raise NoteChangedError(step.path)
        if step.target is not None and step.target in held:
            raise NoteChangedError(step.target)


def insert_change(connection: Connection, change: InboxChange) -> int:
    """Put a change into the inbox; return its number."""
    bump(connection, "inbox")
    origin = change.origin
    at_ms = (change.when - EPOCH) // timedelta(milliseconds=1)
    ((number,),) = rows_of(
        connection,
        "INSERT INTO inbox (at_ms, change, author, session, tool, host, of_group) "
        "VALUES (%s, %s, %s, %s, %s, %s, %s) RETURNING id",
        *(at_ms, change.change),
        *((origin.author, origin.session, origin.tool) if origin else (None, None, None)),
        *(change.host, change.group),
    )
    for ordinal, step in enumerate(change.steps):
        connection.execute(
            "INSERT INTO inbox_steps VALUES (%s, %s, %s, %s, %s, %s::bytea, %s::bytea, %s, %s, "
            "%s, %s::text[])",
            (
                *(number, ordinal, step.path, step.kind, step.before_hash),
                *(_bytes(step.before), _bytes(step.data), step.after_hash, step.after_size),
                *(step.target, list(step.untrusted)),
            ),
        )
    return int(number)


def remove_change(connection: Connection, state: IndexState, change: InboxChange) -> None:
    """Remove a change that was applied from the inbox; under the lock of the index's row."""
    bump(connection, "inbox")
    connection.execute("DELETE FROM inbox WHERE id = %s", (change.id,))
    # Another host may have read the files before the change was in them: the records that it
    # planned against are not those of now, so that it reads again.
    connection.execute(
        f"UPDATE {state.tables.files} SET indexed_ns = indexed_ns + 1 WHERE path = ANY(%s::text[])",
        (list(change.paths),),
    )


def step_of(row: Sequence[Any]) -> InboxStep:
    """Return the step of a row of the inbox."""
    return replace(InboxStep(*row), untrusted=tuple(row[8]))


def _bytes(data: bytes | None) -> bytes | None:
    return None if data is None else bytes(data)


def bump(connection: Connection, kind: Literal["origins", "versions", "rewrites", "inbox"]) -> int:
    """Count a change of a kind; return its number."""
    statement = "UPDATE published SET number = number + 1 WHERE kind = %s RETURNING number"
    ((number,),) = rows_of(connection, statement, kind)
    return int(number)


def held_hashes(connection: Connection, files: str, paths: Sequence[str]) -> dict[str, str]:
    """Return the hashes of the texts that an index has, by path."""
    statement = f"SELECT path, hash FROM {files} WHERE path = ANY(%s::text[])"
    return dict(rows_of(connection, statement, list(paths)))


def rows_of(connection: Connection, statement: str, *values: Any) -> list[Any]:
    """Return the rows of a query."""
    return connection.cursor(binary=True).execute(statement, values).fetchall()
