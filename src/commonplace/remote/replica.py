"""Replica of the published history: in memory, brought up to date as it is asked for.

A host without the folder reads the history by the same classes as the host that has it: the rows of
the database go to a private history file in memory. Changes that wait in the inbox are among its
versions, with numbers from `WAITING_FROM` on, until the host with the folder has made them.
"""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from commonplace.errors import StateError
from commonplace.history.database import CHANGES, HistoryFile, milliseconds
from commonplace.history.known_texts import KnownTexts
from commonplace.history.ledger import OriginLedger, note_id, origin_id
from commonplace.history.shared_origins import import_origins
from commonplace.history.versions import State, VersionLog
from commonplace.store.publication import InboxChange, InboxStep, Numbers, PublishedVersion
from commonplace.types import Origin

if TYPE_CHECKING:
    import apsw

    from commonplace.store.publication import Publication

__all__ = ["WAITING_FROM", "HistoryReplica", "PublishedVersionLog"]

WAITING_FROM = 1_000_000_000_000
"""First number of the changes that wait in the inbox: behind every version of a history."""
STEPS = 1_000
"""Numbers between two changes of the inbox."""


class _ReplicaFile(HistoryFile):
    """History file in memory, whose readers and writers take turns: it has no write-ahead log."""

    def __init__(self) -> None:
        super().__init__(None)
        self._turn = threading.RLock()
        self._writing: apsw.Connection | None = None

    @contextlib.contextmanager
    def transaction(self, *, durable: bool = True) -> Iterator[apsw.Connection]:
        with self._turn, super().transaction(durable=durable) as connection:
            self._writing = connection
            try:
                yield connection
            finally:
                self._writing = None

    def rows(self, statement: str, values: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
        with self._turn:
            if self._writing is not None:  # by this thread
                return list(self._writing.execute(statement, values))
            return super().rows(statement, values)


class HistoryReplica:
    """Replica of the published origins and versions.

    Args:
        publication: What is published.

    Attributes:
        file: The history file in memory.
        ledger: Origins of lines.
        log: Versions.
    """

    def __init__(self, publication: Publication) -> None:
        self.file = _ReplicaFile()
        self.ledger = OriginLedger(self.file)
        self.log = PublishedVersionLog(self)
        self._publication = publication
        self._held = Numbers()
        self._last_version = 0
        self._waiting: dict[int, InboxStep] = {}
        self._whole: set[str] = set()
        """Notes whose texts of the past are here."""
        self._lock = threading.RLock()

    # -- origins ---------------------------------------------------------------------------------

    def refresh_origins(self) -> Numbers:
        """Bring the origins up to date; return what changes with each change of the history."""
        with self._lock:
            now = self._publication.numbers()
            if now.origins != self._held.origins:
                found = self._publication.origins_since(self._held.origins)
                with self.file.transaction() as connection:
                    for path, origins in found.items():
                        import_origins(self.ledger, connection, path, origins)
                self._held = self._held._replace(origins=now.origins)
            return now

    # -- versions --------------------------------------------------------------------------------

    def refresh_versions(self) -> None:
        """Bring the versions up to date, those that wait in the inbox included."""
        with self._lock:
            now = self._publication.numbers()
            if now == self._held._replace(origins=now.origins):
                return
            is_rewritten = now.rewrites != self._held.rewrites
            last = 0 if is_rewritten else self._last_version
            versions = self._publication.versions_since(last)
            waiting = self._publication.waiting()
            with self.file.transaction() as connection:
                if is_rewritten:
                    self._whole.clear()
                    connection.execute("DELETE FROM version")
                    connection.execute("DELETE FROM change_group")
                connection.execute("DELETE FROM version WHERE id >= ?", (WAITING_FROM,))
                for version in versions:
                    self._add(connection, version)
                    self._whole.discard(version.path)
                self._add_waiting(connection, waiting)
            self._last_version = versions[-1].id if versions else last
            self._held = now._replace(origins=self._held.origins)

    def _add(self, connection: apsw.Connection, version: PublishedVersion) -> None:
        origin = None
        if version.author is not None:
            author: Any = version.author
            origin = origin_id(connection, Origin(author, version.session, version.tool))
        connection.execute(
            "INSERT OR REPLACE INTO version (id, batch, note, moved_from, at, change, origin, "
            "size, hash, base, body) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
            (
                *(version.id, version.batch, note_id(connection, version.path)),
                version.moved_from and note_id(connection, version.moved_from),
                *(version.at_ms, version.change, origin, version.size, version.hash),
                *(version.base, version.body),
            ),
        )
        if version.group is not None:
            row = version.id, version.group
            connection.execute("INSERT OR REPLACE INTO change_group VALUES (?, ?)", row)

    def _add_waiting(self, connection: apsw.Connection, changes: Sequence[InboxChange]) -> None:
        """Add the versions that the changes of the inbox will have, without their texts."""
        self._waiting.clear()
        row = WAITING_FROM
        groups: dict[str, int] = {}
        for change in changes:
            batch = row = max(row, WAITING_FROM + STEPS * change.id)
            group = groups.setdefault(change.group, batch) if change.group else None
            for step in change.steps:
                for found in _versions_of(change, step, batch=batch, row=row):
                    version = found._replace(group=group)
                    self._add(connection, version)
                    self._waiting[version.id] = step
                    row = version.id + 1

    def load_texts(self, path: str) -> None:
        """Fetch the texts of a note's versions, once."""
        with self._lock:
            if path in self._whole:
                return
            bodies = self._publication.bodies(path)
            with self.file.transaction() as connection:
                for row, body in bodies.items():
                    connection.execute("UPDATE version SET body = ? WHERE id = ?", (body, row))
            self._whole.add(path)

    def known_texts(self) -> KnownTexts:
        """Return all that is published of the past."""
        self.refresh_origins()
        self.refresh_versions()
        for (path,) in self.file.rows("SELECT path FROM note"):
            self.load_texts(path)
        with self.file.transaction() as connection:
            return KnownTexts.of(connection)

    def waiting_step(self, row: int) -> InboxStep | None:
        """Return the step of the inbox that a version is of; None for one of the history."""
        return self._waiting.get(row)


class PublishedVersionLog(VersionLog):
    """Versions of all notes, as they are published; texts are fetched as they are asked for."""

    def __init__(self, replica: HistoryReplica) -> None:
        super().__init__(replica.file)
        self._replica = replica

    def text(self, state: State) -> bytes:
        """Return the bytes that a note had; see `VersionLog`."""
        step = self._replica.waiting_step(state.id)
        if step is None:
            self._replica.load_texts(state.version.path)
            return super().text(state)
        if not state.exists:
            return b""
        if step.kind == "replace":
            return step.data or b""
        base = self._text_with(step.path, step.before_hash, before=state.id)
        return base + step.data if step.kind == "append" and step.data else base

    def _text_with(self, path: str, known: str, *, before: int) -> bytes:
        """Return the newest text of a note with a hash, before a row."""
        if not known:
            return b""
        for state in self.states_of(path, before=before):
            if state.version.hash == known:
                return self.text(state)
        raise StateError(
            f"the text of {path} before a change that waits is not published. It is again when the "
            "host with the folder has applied the change (commonplace serve)."
        )


def _versions_of(
    change: InboxChange, step: InboxStep, *, batch: int, row: int
) -> Iterator[PublishedVersion]:
    """Yield the versions that a step will have: a move, one under each path."""
    origin = change.origin
    moves = step.target is not None
    for path in filter(None, (step.path, step.target)):
        is_there = bool(step.after_hash) and not (moves and path == step.path)
        yield PublishedVersion(
            id=row,
            batch=batch,
            group=None,
            path=path,
            moved_from=step.path if path == step.target else None,
            at_ms=milliseconds(change.when),
            change=CHANGES.index(change.change),
            author=origin.author if origin else None,
            session=origin.session if origin else None,
            tool=origin.tool if origin else None,
            size=step.after_size if is_there else 0,
            hash=bytes.fromhex(step.after_hash) if is_there else None,
            base=None,
            body=None,
        )
        row += 1
