"""Mutations of published notes: a change goes to the inbox, the notes and the index in one step.

It is durable, and found by every host, when the transaction ends; the host with the folder makes it
in the Markdown later.
"""

from __future__ import annotations

import contextlib
import dataclasses
import functools
import socket
import uuid
from collections.abc import Callable, Iterable, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, NamedTuple, cast

from commonplace.errors import ConflictError, IndexReadOnlyError, WorkspaceReadOnlyError
from commonplace.history.note_changes import texts_of_change
from commonplace.history.shared_origins import exported_origins
from commonplace.history.versions import State, VersionLog, content_hash
from commonplace.indexing.pipeline import IndexPipeline
from commonplace.indexing.planner import IndexPlan
from commonplace.remote.replica import STEPS, WAITING_FROM, HistoryReplica
from commonplace.store.publication import (
    InboxChange,
    InboxStep,
    NoteChangedError,
    PublishedNote,
    StepKind,
)
from commonplace.types import Change, Version
from commonplace.workspace.file_text import FileText, NoteBytes, decode_text, utf16_encoding

if TYPE_CHECKING:
    import apsw

    from commonplace.embeddings.client import EmbeddingClient
    from commonplace.history.causes import Cause
    from commonplace.history.note_changes import Mutation
    from commonplace.profiles import Profile
    from commonplace.remote.workspace import PublishedWorkspace
    from commonplace.store.base import Store
    from commonplace.store.publication import Publication
    from commonplace.store.records import IndexedFile, IndexIdentity
    from commonplace.types import MemoryFile

__all__ = ["DatabaseMutator"]

_TRIES = 20
"""Times that a change is computed, because another host changed the note meanwhile."""
_FREE_TRIES = 2
_TURN_S = 60.0


class _NotKeptError(Exception):
    """Ends a transaction whose changes are not kept."""


class _Step(NamedTuple):
    """Change of one note, and its bytes before and after."""

    mutation: Mutation
    before: bytes | None
    after: bytes | None

    @property
    def is_change(self) -> bool:
        return self.before != self.after or self.mutation.target is not None

    def for_inbox(self, change: Change) -> InboxStep:
        """Return the step of a kind of change as it waits in the inbox.

        An edit that adds lines at the end is no append: it was made in a place of the note.
        """
        before, after, target = self.before, self.after, self.mutation.target
        kind: StepKind = "replace"
        data, kept = after, before
        if target is not None:
            kind, data = "move", None
        elif after is None:
            kind, data = "delete", None
        elif change == "append" and after.startswith(before or b""):
            kind, data = "append", after[len(before or b"") :]
            kept = before[:2] if before and utf16_encoding(before) else None
        return InboxStep(
            *(self.mutation.path, kind, _hash(before)),
            kept if kind in ("append", "replace") else None,
            *(data, _hash(after), len(after or b"")),
            target,
            tuple(sorted(self.mutation.untrusted)),
        )


class _Draft:
    """Store that keeps what a pipeline writes, and reads another one."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self.files: list[IndexedFile] = []

    def __getattr__(self, name: str) -> object:
        return getattr(self._store, name)

    def write(self, files: Sequence[IndexedFile]) -> tuple[str, ...]:
        self.files += files
        return ()


class DatabaseMutator:
    """Makes changes of published notes; the part of `Mutator` that `NoteService` uses.

    Args:
        store: The index.
        publication: The notes beside it.
        workspace: Describes notes.
        replica: The history.
        profile: Rules by which notes are read and cut.
        client: Returns the client that embeds for an index; None leaves new lines without vectors
            until the host with the folder makes them.
        now: Returns the time.
        elsewhere: Returns the notes in which a line stands.

    Attributes:
        log: The versions.
        ledger: The origins of lines.
        replaced: Always empty: a change is indexed as it is made.
    """

    def __init__(
        self,
        store: Store,
        publication: Publication,
        workspace: PublishedWorkspace,
        replica: HistoryReplica,
        *,
        profile: Profile,
        client: Callable[[IndexIdentity], EmbeddingClient | None],
        now: Callable[[], datetime],
        elsewhere: Callable[[str], Iterable[str]],
    ) -> None:
        self.log: VersionLog = replica.log
        self.ledger = replica.ledger
        self.replaced: dict[str, bytes] = {}
        self._replica = replica
        self._store = store
        self._publication = publication
        self._workspace = workspace
        self._profile = profile
        self._client = client
        self._now = now
        self._elsewhere = elsewhere
        self._groups: dict[int, str] = {}
        """Keys of the change groups that were begun here, by their numbers."""

    def apply(self, mutations: Sequence[Mutation], cause: Cause) -> list[State]:
        """Change notes, all or none of them; return their new states.

        Raises:
            ConflictError: Other hosts changed a note over and over.
            WorkspaceReadOnlyError: The role may not write; nothing was changed.
            StoreError: The database failed; nothing was changed.
        """
        with contextlib.ExitStack() as turn:
            for tries in range(_TRIES):
                if tries == _FREE_TRIES:
                    # Hosts that change one note take turns then, instead of overtaking each other.
                    turn.enter_context(self._store.lease("change", timeout_s=_TURN_S))
                with contextlib.suppress(NoteChangedError):
                    return self._apply_once(mutations, cause)
        raise ConflictError(
            f"{mutations[0].path} is being changed by other hosts; nothing was written. Read it "
            "again.",
            version=_hash(self._planned(mutations[0]).before),
        )

    def _apply_once(self, mutations: Sequence[Mutation], cause: Cause) -> list[State]:
        steps = [self._planned(mutation) for mutation in mutations]
        changes = [step for step in steps if step.is_change]
        at = self._now()
        group = cause.group
        key = "" if group is None else self._groups.get(group.value or 0) or uuid.uuid4().hex
        try:
            number = self._submit(changes, cause, at, key) if changes else 0
        except IndexReadOnlyError as error:
            raise WorkspaceReadOnlyError(
                f"{mutations[0].path} cannot be written: {error} Nothing was changed."
            ) from error
        if group is not None and group.value is None and number:
            group.value = WAITING_FROM + STEPS * number
            self._groups[group.value] = key
        return [_state(step, cause, number, at) for step in steps]

    def _planned(self, mutation: Mutation) -> _Step:
        note = self._workspace.note(mutation.path)
        # Behind the note: the origins are of its text, or newer, and are published with the change.
        self._replica.refresh_origins()
        before = None if note is None else NoteBytes(note.data)
        after = mutation.compute(before)
        if after is not None:
            after = before if after == before else NoteBytes(after)
            if mutation.target is not None or before is None:
                self._workspace.check_new(mutation.target or mutation.path)
        return _Step(mutation, before, after)

    def _submit(self, steps: Sequence[_Step], cause: Cause, at: datetime, group: str) -> int:
        texts = {step.mutation.target or step.mutation.path: step.after for step in steps}
        present = {path: data for path, data in texts.items() if data is not None}
        gone = [path for path, data in texts.items() if data is None]
        gone += [step.mutation.path for step in steps if step.mutation.target is not None]
        files = self._indexed(present)
        notes = []
        origins = self._origins(steps, cause, present)
        for file in files:
            path, data = file.record.path, present[file.record.path]
            known = _hash(data), file.record.hash
            notes.append(PublishedNote(path, "memory", data, *known, origins.get(path)))
        change = InboxChange(
            change=cause.change,
            when=at,
            origin=cause.origin,
            steps=tuple(step.for_inbox(cause.change) for step in steps),
            host=socket.gethostname(),
            group=group,
        )
        return self._publication.submit(change, notes, files, gone)

    def _origins(
        self, steps: Sequence[_Step], cause: Cause, texts: Iterable[str]
    ) -> dict[str, str]:
        """Return the origins of the lines of notes after a change.

        The replica learns them with every other host, once the change is made: it may fail yet.
        """
        file, origins = self._replica.file, dict[str, str]()
        with contextlib.suppress(_NotKeptError), file.transaction() as connection:
            for step in steps:
                self._attribute(connection, step, cause)
            origins = exported_origins(file, texts)
            raise _NotKeptError
        return origins

    def _attribute(self, connection: apsw.Connection, step: _Step, cause: Cause) -> None:
        path, target = step.mutation.path, step.mutation.target
        if target is not None:
            self.ledger.copy(connection, path, target)
        elif cause.change != "undo" and cause.origin is not None:
            before, after = texts_of_change(path, step.before, step.after)
            self.ledger.attribute(
                *(connection, path, before, after, cause.origin),
                untrusted=step.mutation.untrusted,
                elsewhere=functools.partial(self._others, path),
            )

    def _others(self, path: str, line: str) -> set[str]:
        """Return the other notes in which a line stands."""
        return set(self._elsewhere(line)) - {path}

    def _indexed(self, texts: dict[str, bytes]) -> list[IndexedFile]:
        """Return the rows of the index for new texts of notes."""
        if not texts:
            return []
        identity = self._store.identity
        if identity is None:
            raise NoteChangedError(next(iter(texts)))
        draft = _Draft(self._store)
        store = cast("Store", draft)
        with self._store.snapshot() as snapshot:
            read = tuple(
                (self._workspace.file(path, len(data)), snapshot.file(path), "was written")
                for path, data in texts.items()
            )
        IndexPipeline(
            store,
            client=self._client(identity),
            profile=self._profile,
            unit=self._workspace.settings.search.unit,
            absent="the host that wrote it has no embedder",
            read=lambda file: _file_text(file, texts[file.path]),
        ).run(IndexPlan(read, (), 0))
        if len(draft.files) != len(texts):
            raise NoteChangedError(next(iter(texts)))
        return [_unread(file) for file in draft.files]


def _unread(file: IndexedFile) -> IndexedFile:
    """Return a file whose record is of no state of the folder's: its host reads the note again.

    The number of the record is one behind the last one: clocks of hosts differ.
    """
    record = dataclasses.replace(
        file.record, mtime_ns=0, stamp="", indexed_ns=(file.replaces or 0) + 1
    )
    return dataclasses.replace(file, record=record)


def _file_text(file: MemoryFile, data: bytes) -> FileText:
    text, note = decode_text(data)
    return FileText(text, file.size, 0, note, data)


def _state(step: _Step, cause: Cause, number: int, at: datetime) -> State:
    """Return the state of a note after a change that waits in the inbox."""
    row = WAITING_FROM + STEPS * number if step.is_change and number else 0
    path = step.mutation.target or step.mutation.path
    version = Version(
        *(row, path, at, cause.change if row else "found", cause.origin if row else None),
        size=len(step.after or b""),
        hash=_hash(step.after),
        moved_from=step.mutation.path if step.mutation.target else None,
    )
    return State(row, row, version)


def _hash(data: bytes | None) -> str:
    return "" if data is None else content_hash(data)
