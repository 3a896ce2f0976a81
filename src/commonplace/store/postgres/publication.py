"""Published notes of the PostgreSQL engine: notes, versions and the inbox, beside the index."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any, Literal

from psycopg import sql

from commonplace.store.postgres.state import IndexState, state_query
from commonplace.store.postgres.writer import Writer
from commonplace.store.publication import (
    InboxChange,
    InboxState,
    InboxStep,
    NoteChangedError,
    Numbers,
    PublishedNote,
    PublishedVersion,
    VersionSums,
)
from commonplace.store.records import IndexedFile
from commonplace.types import Origin, Source

if TYPE_CHECKING:
    from commonplace.store.postgres.database import Connection
    from commonplace.store.postgres.store import PostgresStore

__all__ = ["PostgresPublication", "publish_files", "waiting_paths"]

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_VERSION_COLUMNS = (
    "id, batch, of_group, path, moved_from, at_ms, change, author, session, tool, size, hash, base"
)
_MAX_REFUSED = 20
"""Refused changes that the state of the inbox names."""
_BATCH = 1_000


class PostgresPublication:
    """Published notes of one index; see `Publication`."""

    def __init__(self, store: PostgresStore) -> None:
        self._store = store

    def _read(self, statement: str, *values: Any) -> list[Any]:
        with self._store.database.snapshot("SELECT 1") as (connection, _):
            return _rows(connection, statement, *values)

    def numbers(self) -> Numbers:
        """Return the numbers of what is published now."""
        # Each search asks: one round trip, without a transaction.
        table = sql.Identifier(self._store.database.address.schema, "published").as_string()
        with self._store.database.borrowed() as connection:
            rows = connection.execute(f"SELECT kind, number FROM {table}").fetchall()
        return Numbers(**dict(rows))

    # -- what every host reads -------------------------------------------------------------------

    def notes(self, paths: Collection[str]) -> dict[str, PublishedNote]:
        """Return notes by path."""
        rows = self._read(
            "SELECT path, source, data, hash, indexed, origins FROM notes "
            "WHERE path = ANY(%s::text[])",
            list(paths),
        )
        return {row[0]: PublishedNote(*row) for row in rows}

    def origins_since(self, number: int) -> dict[str, str | None]:
        """Return the origins of the notes whose origins changed behind a number."""
        return dict(self._read("SELECT path, origins FROM notes WHERE changed > %s", number))

    def versions_since(self, row: int) -> list[PublishedVersion]:
        """Return the versions behind a row, in order, without their bodies."""
        rows = self._read(
            f"SELECT {_VERSION_COLUMNS}, NULL FROM versions WHERE id > %s ORDER BY id", row
        )
        return [PublishedVersion(*found) for found in rows]

    def bodies(self, path: str) -> dict[int, bytes]:
        """Return the bodies of a note's versions, by their rows."""
        return dict(
            self._read("SELECT id, body FROM versions WHERE path = %s AND body IS NOT NULL", path)
        )

    def waiting(self, *, after: int = 0, limit: int | None = None) -> list[InboxChange]:
        """Return the changes that are not applied yet, in their order."""
        rows = self._read(
            """SELECT c.id, c.key::text, c.at_ms, c.change, c.author, c.session, c.tool, c.host,
                s.path, s.kind, s.before_hash, s.before, s.data, s.after_hash, s.after_size,
                s.target, s.untrusted
            FROM (SELECT * FROM inbox WHERE refused IS NULL AND id > %s ORDER BY id LIMIT %s) c
            JOIN inbox_steps s USING (id) ORDER BY c.id, s.ordinal""",
            after,
            limit,
        )
        steps: dict[int, list[InboxStep]] = {}
        heads: dict[int, Sequence[Any]] = {}
        for row in rows:
            heads[row[0]] = row[1:8]
            steps.setdefault(row[0], []).append(_step(row[8:]))
        return [
            InboxChange(
                change=change,
                when=_EPOCH + timedelta(milliseconds=at_ms),
                origin=Origin(author, session, tool) if author else None,
                steps=tuple(steps[number]),
                host=host,
                id=number,
                key=key,
            )
            for number, (key, at_ms, change, author, session, tool, host) in heads.items()
        ]

    def inbox(self) -> InboxState:
        """Return the state of the inbox."""
        ((waiting, since),) = self._read(
            "SELECT count(*), min(at_ms) FROM inbox WHERE refused IS NULL"
        )
        refused = self._read(
            """SELECT (SELECT string_agg(path, ', ' ORDER BY ordinal) FROM inbox_steps s
                WHERE s.id = c.id), refused FROM inbox c
            WHERE refused IS NOT NULL ORDER BY id DESC LIMIT %s""",
            _MAX_REFUSED,
        )
        return InboxState(
            waiting,
            None if since is None else _EPOCH + timedelta(milliseconds=since),
            tuple((path or "", reason) for path, reason in refused),
        )

    # -- what hosts without the folder write -----------------------------------------------------

    def submit(
        self,
        change: InboxChange,
        notes: Sequence[PublishedNote],
        files: Sequence[IndexedFile],
        gone: Sequence[str],
    ) -> int:
        """Put a change into the inbox, and make it in the notes and in the index."""

        def submitted(connection: Connection) -> int:
            state = self._store.locked(connection)
            known = self._store.cached_identity
            if state.identity is None or not (known is None or known.fits(state.identity)):
                raise NoteChangedError(change.paths[0])
            _check_unchanged(connection, change)
            writer = Writer(connection, state)
            if len(writer.current(files)) != len(files):
                raise NoteChangedError(change.paths[0])
            writer.replace(files, gone)
            _put_notes(connection, notes)
            _remove_notes(connection, gone)
            return _insert(connection, change)

        number: int = self._store.write_transaction(submitted)
        return number

    # -- what the host with the folder does ------------------------------------------------------

    def acknowledge(self, change: InboxChange) -> None:
        """Remove a change that was applied to the folder."""

        def acknowledged(connection: Connection) -> None:
            _bump(connection, "inbox")
            connection.execute("DELETE FROM inbox WHERE id = %s", (change.id,))

        self._store.write_transaction(acknowledged)

    def refuse(self, change: InboxChange, reason: str) -> None:
        """Keep a change that cannot be applied, with the reason."""

        def refused(connection: Connection) -> None:
            _bump(connection, "inbox")
            statement = "UPDATE inbox SET refused = %s WHERE id = %s"
            connection.execute(statement, (reason, change.id))

        self._store.write_transaction(refused)

    def lacking(self) -> dict[str, Source]:
        """Return the indexed files whose text is not published; see `Publication`."""
        with self._store.database.snapshot(state_query("live")) as (connection, rows):
            files = IndexState.from_rows(rows, self._store.location).tables.files
            found: dict[str, Source] = dict(
                _rows(
                    connection,
                    f"""SELECT path, f.source FROM {files} f LEFT JOIN notes n USING (path)
                    WHERE n.indexed IS DISTINCT FROM f.hash AND {_NOT_WAITING}""",
                )
            )
            orphans = _rows(
                connection,
                f"""SELECT path FROM notes WHERE NOT EXISTS (
                    SELECT 1 FROM {files} f WHERE f.path = notes.path) AND {_NOT_WAITING}""",
            )
        if orphans:
            self._store.write_transaction(
                lambda connection: self._remove_orphans(connection, [path for (path,) in orphans])
            )
        return found

    def _remove_orphans(self, connection: Connection, paths: Sequence[str]) -> None:
        state = self._store.locked(connection)
        held = {*_held_hashes(connection, state.tables.files, paths)}
        held |= waiting_paths(connection, paths)
        _remove_notes(connection, [path for path in paths if path not in held])

    def put_notes(self, notes: Sequence[PublishedNote]) -> None:
        """Publish notes whose text the index has, unless a change of them waits."""

        def put(connection: Connection) -> None:
            state = self._store.locked(connection)
            paths = [note.path for note in notes]
            waiting = waiting_paths(connection, paths)
            held = _held_hashes(connection, state.tables.files, paths)
            _put_notes(
                connection,
                [
                    note
                    for note in notes
                    if note.path not in waiting and held.get(note.path) == note.indexed
                ],
            )

        self._store.write_transaction(put)

    def version_sums(self) -> VersionSums:
        """Return the sums of the published versions."""
        (row,) = self._read(
            "SELECT count(*), coalesce(max(id), 0), coalesce(sum(base), 0)::bigint, "
            "coalesce(sum(size), 0)::bigint, coalesce(sum(length(body)), 0)::bigint FROM versions"
        )
        return VersionSums(*row)

    def version_marks(self) -> Mapping[int, tuple[bytes | None, int | None, int]]:
        """Return hash, base and length of the body of each published version."""
        rows = self._read("SELECT id, hash, base, coalesce(length(body), 0) FROM versions")
        return {row: (known, base, length) for row, known, base, length in rows}

    def put_versions(
        self, versions: Sequence[PublishedVersion], *, removed: Sequence[int] = ()
    ) -> None:
        """Publish versions, in place of those of the same rows, and remove others."""

        def put(connection: Connection) -> None:
            _bump(connection, "versions")
            ids = [*removed, *(version.id for version in versions)]
            deleted = connection.execute(
                "DELETE FROM versions WHERE id = ANY(%s::bigint[])", (ids,)
            ).rowcount
            if deleted:
                _bump(connection, "rewrites")
            marks = ", ".join(["%s"] * len(PublishedVersion._fields))
            with connection.cursor() as cursor:
                for at in range(0, len(versions), _BATCH):
                    cursor.executemany(
                        f"INSERT INTO versions ({_VERSION_COLUMNS}, body) VALUES ({marks})",
                        versions[at : at + _BATCH],
                    )

        self._store.write_transaction(put)


# -- parts of write transactions -------------------------------------------------------------------

_NOT_WAITING = """NOT EXISTS (SELECT 1 FROM inbox_steps s JOIN inbox c USING (id)
    WHERE c.refused IS NULL AND path IN (s.path, s.target))"""


def waiting_paths(connection: Connection, paths: Collection[str]) -> set[str]:
    """Return those of some notes of which a change waits; under the lock of the index's row."""
    rows = _rows(
        connection,
        """SELECT s.path, s.target FROM inbox_steps s JOIN inbox c USING (id)
        WHERE c.refused IS NULL AND (s.path = ANY(%s::text[]) OR s.target = ANY(%s::text[]))""",
        list(paths),
        list(paths),
    )
    return {path for row in rows for path in row if path is not None}


def publish_files(
    connection: Connection, files: Iterable[IndexedFile], removed: Sequence[str]
) -> None:
    """Publish the notes among files that were written, and remove those of others."""
    _remove_notes(connection, removed)
    _put_notes(connection, [file.note for file in files if file.note is not None])


def _put_notes(connection: Connection, notes: Sequence[PublishedNote]) -> None:
    if not notes:
        return
    held = dict(
        _rows(
            connection,
            "SELECT path, origins FROM notes WHERE path = ANY(%s::text[])",
            [note.path for note in notes],
        )
    )
    number = 0
    if any(note.origins != held.get(note.path) for note in notes):
        number = _bump(connection, "origins")
    for note in notes:
        is_new = note.origins != held.get(note.path)
        connection.execute(
            """INSERT INTO notes AS n VALUES (%s, %s, %s::bytea, %s, %s, %s, %s)
            ON CONFLICT (path) DO UPDATE SET source = excluded.source, data = excluded.data,
            hash = excluded.hash, indexed = excluded.indexed, origins = excluded.origins,
            changed = greatest(n.changed, excluded.changed)""",
            (
                *(note.path, note.source, bytes(note.data), note.hash, note.indexed),
                *(note.origins, number if is_new else 0),
            ),
        )


def _remove_notes(connection: Connection, paths: Sequence[str]) -> None:
    if paths:
        connection.execute("DELETE FROM notes WHERE path = ANY(%s::text[])", (list(paths),))


def _check_unchanged(connection: Connection, change: InboxChange) -> None:
    """Raise where a note is not what a change was computed from."""
    held = dict(
        _rows(
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


def _insert(connection: Connection, change: InboxChange) -> int:
    _bump(connection, "inbox")
    origin = change.origin
    at_ms = (change.when - _EPOCH) // timedelta(milliseconds=1)
    ((number,),) = _rows(
        connection,
        "INSERT INTO inbox (at_ms, change, author, session, tool, host) "
        "VALUES (%s, %s, %s, %s, %s, %s) RETURNING id",
        *(at_ms, change.change),
        *((origin.author, origin.session, origin.tool) if origin else (None, None, None)),
        change.host,
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


def _step(row: Sequence[Any]) -> InboxStep:
    path, kind, before_hash, before, data, after_hash, after_size, target, untrusted = row
    return InboxStep(
        *(path, kind, before_hash, before, data),
        after_hash=after_hash,
        after_size=after_size,
        target=target,
        untrusted=tuple(untrusted),
    )


def _bytes(data: bytes | None) -> bytes | None:
    return None if data is None else bytes(data)


def _bump(connection: Connection, kind: Literal["origins", "versions", "rewrites", "inbox"]) -> int:
    statement = "UPDATE published SET number = number + 1 WHERE kind = %s RETURNING number"
    ((number,),) = _rows(connection, statement, kind)
    return int(number)


def _held_hashes(connection: Connection, files: str, paths: Sequence[str]) -> dict[str, str]:
    statement = f"SELECT path, hash FROM {files} WHERE path = ANY(%s::text[])"
    return dict(_rows(connection, statement, list(paths)))


def _rows(connection: Connection, statement: str, *values: Any) -> list[Any]:
    return connection.cursor(binary=True).execute(statement, values).fetchall()
