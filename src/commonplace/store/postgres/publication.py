"""Published notes of the PostgreSQL engine: notes, versions and the inbox, beside the index."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from datetime import timedelta
from typing import TYPE_CHECKING, Any

from psycopg import sql

from commonplace.store.postgres.published_rows import (
    EPOCH,
    NOT_WAITING,
    bump,
    check_unchanged,
    held_hashes,
    insert_change,
    put_notes,
    remove_change,
    remove_notes,
    rows_of,
    step_of,
    waiting_paths,
)
from commonplace.store.postgres.state import IndexState, state_query
from commonplace.store.postgres.writer import Writer
from commonplace.store.publication import (
    ForgottenError,
    InboxChange,
    InboxState,
    InboxStep,
    NoteChangedError,
    Numbers,
    PublishedHistory,
    PublishedNote,
    PublishedVersion,
    VersionSums,
)
from commonplace.store.records import IndexedFile
from commonplace.types import Origin, Source

if TYPE_CHECKING:
    from commonplace.store.postgres.database import Connection
    from commonplace.store.postgres.store import PostgresStore

__all__ = ["PostgresPublication"]

_VERSION_COLUMNS = (
    "id, batch, of_group, path, moved_from, at_ms, change, author, session, tool, size, hash, base"
)
_VERSION_TYPES = (
    "int8", "int8", "int8", "text", "text", "int8", "int4", "text", "text", "text", "int8", "bytea",
    "int8", "bytea",
)  # fmt: skip
_SUMS = """SELECT count(*), coalesce(max(id), 0), coalesce(sum(base), 0)::bigint,
    coalesce(sum(size), 0)::bigint, coalesce(sum(length(body)), 0)::bigint FROM versions"""
_FORGETS = "SELECT number FROM published WHERE kind = 'forgets'"
# A time: an index that is begun again does not count from the beginning.
_COUNT_FORGETTING = """UPDATE published SET number = greatest(number + 1,
    (extract(epoch FROM clock_timestamp()) * 1000)::bigint)
    WHERE kind = 'forgets' RETURNING number"""
_MAX_REFUSED = 20
"""Refused changes that the state of the inbox names."""


class PostgresPublication:
    """Published notes of one index; see `Publication`."""

    def __init__(self, store: PostgresStore) -> None:
        self._store = store

    def _read(self, statement: str, *values: Any) -> list[Any]:
        with self._store.database.snapshot("SELECT 1") as (connection, _):
            return rows_of(connection, statement, *values)

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
        return self._changes("refused IS NULL AND id > %s ORDER BY id LIMIT %s", after, limit)

    def refused(self) -> list[InboxChange]:
        """Return the changes that were refused."""
        return self._changes("refused IS NOT NULL")

    def _changes(self, where: str, *values: Any) -> list[InboxChange]:
        rows = self._read(
            f"""SELECT c.id, c.key::text, c.at_ms, c.change, c.author, c.session, c.tool, c.host,
                c.of_group, s.path, s.kind, s.before_hash, s.before, s.data, s.after_hash,
                s.after_size, s.target, s.untrusted, s.made_hash, s.made_size
            FROM (SELECT * FROM inbox WHERE {where}) c
            JOIN inbox_steps s USING (id) ORDER BY c.id, s.ordinal""",
            *values,
        )
        steps: dict[int, list[InboxStep]] = {}
        heads: dict[int, Sequence[Any]] = {}
        for row in rows:
            heads[row[0]] = row[1:9]
            steps.setdefault(row[0], []).append(step_of(row[9:]))
        return [
            InboxChange(
                change=change,
                when=EPOCH + timedelta(milliseconds=at_ms),
                origin=Origin(author, session, tool) if author else None,
                steps=tuple(steps[number]),
                host=host,
                group=group,
                id=number,
                key=key,
            )
            for number, (key, at_ms, change, author, session, tool, host, group) in heads.items()
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
            None if since is None else EPOCH + timedelta(milliseconds=since),
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
            check_unchanged(connection, change)
            writer = Writer(connection, state)
            if len(writer.current(files)) != len(files):
                raise NoteChangedError(change.paths[0])
            writer.replace(files, gone)
            put_notes(connection, notes)
            remove_notes(connection, gone)
            return insert_change(connection, change)

        number: int = self._store.write_transaction(submitted)
        return number

    # -- what the host with the folder does ------------------------------------------------------

    def acknowledge(self, change: InboxChange) -> None:
        """Remove a change that was applied to the folder."""
        self._store.write_transaction(
            lambda connection: remove_change(connection, self._store.locked(connection), change)
        )

    def announce(self, change: InboxChange, ordinal: int, made_hash: str, made_size: int) -> None:
        """Note the file that a step is about to make."""
        statement = (
            "UPDATE inbox_steps SET made_hash = %s, made_size = %s WHERE id = %s AND ordinal = %s"
        )
        values = made_hash, made_size, change.id, ordinal
        self._store.write_transaction(lambda connection: connection.execute(statement, values))

    def refuse(self, change: InboxChange, reason: str) -> None:
        """Keep a change that cannot be applied, with the reason."""

        def refused(connection: Connection) -> None:
            bump(connection, "inbox")
            statement = "UPDATE inbox SET refused = %s WHERE id = %s"
            connection.execute(statement, (reason, change.id))

        self._store.write_transaction(refused)

    def lacking(self) -> dict[str, Source]:
        """Return the indexed files whose text is not published; see `Publication`."""
        with self._store.database.snapshot(state_query("live")) as (connection, rows):
            files = IndexState.from_rows(rows, self._store.location).tables.files
            found: dict[str, Source] = dict(
                rows_of(
                    connection,
                    f"""SELECT path, f.source FROM {files} f LEFT JOIN notes n USING (path)
                    WHERE n.indexed IS DISTINCT FROM f.hash AND {NOT_WAITING}""",
                )
            )
            orphans = rows_of(
                connection,
                f"""SELECT path FROM notes WHERE NOT EXISTS (
                    SELECT 1 FROM {files} f WHERE f.path = notes.path) AND {NOT_WAITING}""",
            )
        if orphans:
            self._store.write_transaction(
                lambda connection: self._remove_orphans(connection, [path for (path,) in orphans])
            )
        return found

    def _remove_orphans(self, connection: Connection, paths: Sequence[str]) -> None:
        state = self._store.locked(connection)
        held = {*held_hashes(connection, state.tables.files, paths)}
        held |= waiting_paths(connection, paths)
        remove_notes(connection, [path for path in paths if path not in held])

    def put_notes(self, notes: Sequence[PublishedNote]) -> None:
        """Publish notes whose text the index has, unless a change of them waits."""

        def put(connection: Connection) -> None:
            state = self._store.locked(connection)
            paths = [note.path for note in notes]
            waiting = waiting_paths(connection, paths)
            held = held_hashes(connection, state.tables.files, paths)
            put_notes(
                connection,
                [
                    note
                    for note in notes
                    if note.path not in waiting and held.get(note.path) == note.indexed
                ],
            )

        self._store.write_transaction(put)

    def put_origins(self, origins: Mapping[str, str | None]) -> None:
        """Publish origins of the lines of notes, unless a change of them waits."""

        def put(connection: Connection) -> None:
            self._store.locked(connection)
            waiting = waiting_paths(connection, list(origins))
            paths = [path for path in origins if path not in waiting]
            connection.execute(
                """UPDATE notes SET origins = new.origins, changed = %s
                FROM unnest(%s::text[], %s::text[]) AS new (path, origins)
                WHERE notes.path = new.path AND notes.origins IS DISTINCT FROM new.origins""",
                (bump(connection, "origins"), paths, [origins[path] for path in paths]),
            )

        self._store.write_transaction(put)

    def version_sums(self) -> VersionSums:
        """Return the sums of the published versions."""
        return VersionSums(*self._read(_SUMS)[0])

    def version_marks(self) -> Mapping[int, tuple[bytes | None, int | None, int]]:
        """Return hash, base and length of the body of each published version."""
        rows = self._read("SELECT id, hash, base, coalesce(length(body), 0) FROM versions")
        return {row: (known, base, length) for row, known, base, length in rows}

    def put_versions(
        self, versions: Sequence[PublishedVersion], *, removed: Sequence[int] = (), forgets: int
    ) -> None:
        """Publish versions, in place of those of the same rows, and remove others."""

        def put(connection: Connection) -> None:
            bump(connection, "versions")  # from here on, nothing is counted as forgotten
            ((number,),) = rows_of(connection, _FORGETS)
            if number > forgets:
                raise ForgottenError(
                    f"another host has forgotten something at {self._store.location}; the next "
                    "index run publishes the history without it."
                )
            ids = [*removed, *(version.id for version in versions)]
            deleted = connection.execute(
                "DELETE FROM versions WHERE id = ANY(%s::bigint[])", (ids,)
            ).rowcount
            if deleted:
                bump(connection, "rewrites")
            if not versions:
                return
            statement = f"COPY versions ({_VERSION_COLUMNS}, body) FROM STDIN (FORMAT BINARY)"
            with connection.cursor() as cursor, cursor.copy(statement) as copy:
                copy.set_types(_VERSION_TYPES)
                for version in versions:
                    copy.write_row(version)

        self._store.write_transaction(put)

    # -- histories of several hosts --------------------------------------------------------------

    def histories(self) -> list[PublishedHistory]:
        """Return the histories that are published in turns, one a host."""
        rows = self._read("SELECT key, host, forgets FROM histories ORDER BY host, key")
        return [PublishedHistory(*row) for row in rows]

    def note_history(self, history: PublishedHistory) -> None:
        """Note a history, or the forgetting that it has followed."""
        self._store.write_transaction(
            lambda connection: connection.execute(
                "INSERT INTO histories VALUES (%s, %s, %s) ON CONFLICT (key) DO UPDATE SET "
                "host = excluded.host, forgets = excluded.forgets",
                history,
            )
        )

    def count_forgetting(self, sums: VersionSums) -> int | None:
        """Have every other history keep no more than the published one."""

        def count(connection: Connection) -> int | None:
            bump(connection, "versions")  # from here on, no history is published
            if VersionSums(*rows_of(connection, _SUMS)[0]) != sums:
                return None
            ((number,),) = rows_of(connection, _COUNT_FORGETTING)
            return int(number)

        number: int | None = self._store.write_transaction(count)
        return number
