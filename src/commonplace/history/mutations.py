"""Mutations of notes: changes of files that are journaled, atomic, durable and kept as versions.

A mutation holds the workspace's lease, so that a row of the journal that it finds was left by a
process that died. Its steps: both texts go to the history, with a row of the journal; the file is
swapped; the row is marked as done. What is interrupted between them, `recovery` settles.
"""

from __future__ import annotations

import contextlib
import logging
import uuid
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING

from commonplace.errors import ConflictError, StateError, WorkspaceError, WorkspaceReadOnlyError
from commonplace.history.bodies import is_kept, remove_batch
from commonplace.history.causes import Cause
from commonplace.history.deleted_modes import deleted_mode, keep_deleted_mode
from commonplace.history.note_changes import InboxEntry, Mutation, texts_of_change, unkept_state
from commonplace.history.recovery import digest, recover
from commonplace.history.versions import State, content_hash
from commonplace.system.files import make_private_folder
from commonplace.system.locks import FileLease
from commonplace.system.waits import WRITER_WAIT_S, is_wait_over
from commonplace.workspace.file_text import NoteBytes, UnreadableFileError, read_data
from commonplace.workspace.replacement import ChangedMeanwhileError, FileChange

if TYPE_CHECKING:
    import apsw

    from commonplace.history.ledger import OriginLedger
    from commonplace.history.versions import VersionLog

__all__ = ["Mutator"]

logger = logging.getLogger(__name__)

_MADE = "UPDATE pending SET done = 1 WHERE version = ? AND NOT done"

_TRIES = 20
"""Times that a change is computed again because another program changed the file meanwhile."""


@dataclass(frozen=True, slots=True)
class _Step:
    """File that is changed, and its new state."""

    mutation: Mutation
    file: FileChange
    state: State | None = None

    @property
    def is_change(self) -> bool:
        return self.file.before != self.file.after or self.file.target is not None


class Mutator:
    """Makes changes of notes, one at a time among all processes of a workspace.

    Args:
        log: The versions.
        ledger: The origins of lines.
        root: Folder of the workspace.
        enabled: Whether texts are kept after the change.
        now: Returns the time.
        elsewhere: Returns the notes in which a line stands.

    Attributes:
        replaced: Bytes before the last change, by path, until the change is indexed.
    """

    def __init__(
        self,
        log: VersionLog,
        ledger: OriginLedger,
        root: Path,
        *,
        enabled: bool,
        now: Callable[[], datetime],
        elsewhere: Callable[[str], Iterable[str]],
    ) -> None:
        self.log = log
        self.ledger = ledger
        self.replaced: dict[str, bytes] = {}
        self._elsewhere = elsewhere
        self._root = root
        self._enabled = enabled
        self._now = now

    def apply(
        self, mutations: Sequence[Mutation], cause: Cause, *, inbox: InboxEntry | None = None
    ) -> list[State]:
        """Change notes, all or none of them; return their new states.

        A file that another program changes meanwhile is read and computed again.

        Args:
            mutations: The changes; what `Mutation.compute` raises ends all of them.
            cause: Kind and author of the change.
            inbox: Entry of a change that a host without the folder made. One that was made already
                is not made again: the list of states is empty then.

        Raises:
            ConflictError: A file did not stay as it was read for long enough.
            WorkspaceReadOnlyError: A file cannot be written; nothing was changed.
            StateError: The history cannot be written; nothing was changed.
        """
        found: bytes | None = None
        with self.exclusive():
            # After the recovery: it may take a change back that is journaled as applied.
            if inbox is not None and self.is_applied(inbox.key):
                return []
            for _ in range(_TRIES):
                try:
                    return self._apply(mutations, cause, inbox)
                except ChangedMeanwhileError as error:
                    found = error.texts[-1]
                    if is_wait_over():
                        break
        raise ConflictError(
            f"{mutations[0].path} is being changed by another program; nothing was written. "
            "Read it again.",
            version="" if found is None else content_hash(found),
        )

    def is_applied(self, inbox_key: str) -> bool:
        """Return whether a change of a host without the folder was made; after `exclusive`."""
        return bool(self.log.file.rows("SELECT 1 FROM applied WHERE key = ?", (inbox_key,)))

    def recover(self) -> None:
        """Settle what a process that died left in the journal, unless another process is at it."""
        with contextlib.suppress(StateError, WorkspaceError, OSError):
            if self.log.file.rows("SELECT 1 FROM pending LIMIT 1"):
                with self.exclusive(timeout_s=0), self.log.file.transaction() as connection:
                    connection.execute("DELETE FROM pending WHERE done")

    @contextlib.contextmanager
    def exclusive(self, *, timeout_s: float = WRITER_WAIT_S) -> Iterator[None]:
        """Hold the lease of changes; what a process that died left behind is settled first.

        Raises:
            WorkspaceReadOnlyError: Another process held it for too long.
            StateError: The history cannot be locked or written.
        """
        path = self.log.file.path
        assert path is not None
        with contextlib.ExitStack() as stack:
            try:
                make_private_folder(path.parent)
                lease = FileLease(path.with_name(f"{path.name}.lock"))
                acquired = stack.enter_context(lease.held(timeout_s=timeout_s))
            except OSError as error:
                raise StateError(
                    f"the history {path} cannot be locked ({error.strerror or error}); nothing was "
                    "changed. Give yourself write access to its folder, or set "
                    "COMMONPLACE_STATE_DIR to a folder of yours."
                ) from error
            if not acquired:
                raise WorkspaceReadOnlyError(
                    f"process {lease.owner()} kept the notes locked; nothing was written. "
                    "Try again."
                )
            self._recover()
            self.ledger.is_sound()  # before a text of unknown lines is taken for a user's
            yield

    def _recover(self) -> None:
        try:
            recover(self.log, self._root, self._now())
        except OSError as error:
            if isinstance(error, WorkspaceError):
                raise
            raise WorkspaceReadOnlyError(
                "a change that was interrupted cannot be settled "
                f"({error.strerror or error}: {error.filename}); nothing was written. Give "
                "yourself write access to the folder; links are not followed."
            ) from error

    # -- steps -----------------------------------------------------------------------------------

    def _apply(
        self, mutations: Sequence[Mutation], cause: Cause, inbox: InboxEntry | None
    ) -> list[State]:
        planned = [self._planned(mutation, cause) for mutation in mutations]
        steps = self._begin(planned, cause, inbox)
        changes = [step for step in steps if step.is_change]
        applied: list[_Step] = []
        try:
            for step in changes:
                step.file.apply()
                applied.append(step)
            self._finish(changes, cause, inbox)
        except KeyboardInterrupt:  # it may have come between any two steps
            with contextlib.suppress(StateError, OSError):
                self._recover()
            raise
        except BaseException as error:
            self._take_back(applied, changes, error)
            if isinstance(error, OSError) and not isinstance(error, WorkspaceError):
                raise WorkspaceReadOnlyError(
                    f"cannot write {step.mutation.path}: {error.strerror or error}. Nothing was "
                    "changed; check the folder's permissions and the free space."
                ) from error
            raise
        for step in changes:
            if step.file.before is not None and step.file.after is not None:
                self.replaced[step.mutation.path] = step.file.before
            with contextlib.suppress(OSError):  # the next change does it
                step.file.clean_up()
        return [step.state for step in steps if step.state is not None]

    def _planned(self, mutation: Mutation, cause: Cause) -> _Step:
        place = self.place(mutation.path)
        before: bytes | None = None
        mode: int | None = None
        links = 0
        try:
            with contextlib.suppress(FileNotFoundError):
                before, info = read_data(place)
                mode, links = info.st_mode, info.st_nlink
        except UnreadableFileError as error:
            raise WorkspaceError(f"{mutation.path}: {error}. Nothing was written.") from error
        if mutation.target is None and links > 1:
            said = "%s has another name on the disk, a hard link, which keeps the text of before"
            logger.warning(said, mutation.path)
        target = self.place(mutation.target) if mutation.target else None
        temporary = place.with_name(f".commonplace-{uuid.uuid4().hex[:16]}.tmp")
        after = mutation.compute(before)
        if after is not None:
            after = before if after == before else NoteBytes(after)
        if before is None and cause.change == "undo":
            mode = deleted_mode(self.log.file, mutation.path)
        return _Step(mutation, FileChange(place, before, after, temporary, target, mode))

    def _begin(self, steps: Sequence[_Step], cause: Cause, inbox: InboxEntry | None) -> list[_Step]:
        """Journal the changes, with the texts of before; return the steps with their states."""
        at = self._now()
        begun: list[_Step] = []
        batch: int | None = None
        with self.log.file.transaction() as connection:
            connection.execute("DELETE FROM pending WHERE done")
            for step in steps:
                path, file = step.mutation.path, step.file
                met = self.log.meet(connection, path, file.before, at=at) if self._enabled else None
                if not step.is_change:
                    begun.append(replace(step, state=met or unkept_state(path, file.before, at)))
                    continue
                made = at if inbox is None else inbox.when
                made = max(made, met.version.when) if met and inbox else made
                state = self._add(connection, step, cause, at=made, batch=batch)
                batch = state.batch
                self._attribute(connection, step, cause)
                connection.execute(
                    "INSERT INTO pending (version, path, target, temporary, before, after) "
                    "VALUES (?, ?, ?, ?, ?, ?)",
                    (
                        *(batch, path, step.mutation.target, file.temporary.name),
                        *(digest(file.before), digest(file.after)),
                    ),
                )
                begun.append(replace(step, state=state))
            _note_applied(connection, inbox, batch)
        return begun

    def _attribute(self, connection: apsw.Connection, step: _Step, cause: Cause) -> None:
        """Record where the new lines come from; those that an undo brings back are known."""
        path, file = step.mutation.path, step.file
        if step.mutation.target is not None:
            self.ledger.copy(connection, path, step.mutation.target)
        elif cause.change != "undo" and cause.origin is not None:
            before, after = texts_of_change(path, file.before, file.after)
            self.ledger.attribute(
                *(connection, path, before, after, cause.origin),
                untrusted=step.mutation.untrusted,
                elsewhere=lambda line: set(self._elsewhere(line)) - {path},
            )

    def _add(
        self,
        connection: apsw.Connection,
        step: _Step,
        cause: Cause,
        *,
        at: datetime,
        batch: int | None,
    ) -> State:
        """Add the versions of a step; return the state of the note under its new path."""
        path, target = step.mutation.path, step.mutation.target
        text = None if target else step.file.after
        add, given, before = self.log.add, cause._asdict(), step.file.before
        state = add(connection, path, text, at=at, batch=batch, before=before, **given)
        if text is None:
            keep_deleted_mode(connection, state.id, step.file.mode)
        if target is None:
            return state
        moved = step.file.before
        return add(connection, target, moved, at=at, batch=state.batch, moved_from=path, **given)

    def _finish(self, steps: Sequence[_Step], cause: Cause, inbox: InboxEntry | None) -> None:
        """Mark the changes as done: their versions count from now on."""
        if not steps or steps[0].state is None:
            return
        batch = steps[0].state.batch
        # Not synced: recovery finds by the file itself that the change was made.
        with self.log.file.transaction(durable=False) as connection:
            connection.execute(_MADE, (batch,))
            if not connection.changes():  # another process took this one for dead
                new: int | None = None
                for step in steps:
                    if step.state and not is_kept(connection, step.state.id):
                        new = self._add(connection, step, cause, at=self._now(), batch=new).batch
                _note_applied(connection, inbox, new or batch)
            if not self._enabled:
                remove_batch(connection, batch)

    def _take_back(
        self, applied: Sequence[_Step], steps: Sequence[_Step], error: BaseException
    ) -> None:
        """Undo the steps after a failure; rows that cannot be removed now are settled later."""
        for step in reversed(applied):
            with contextlib.suppress(OSError):
                step.file.take_back()
        if not steps or steps[0].state is None:
            return
        batch = steps[0].state.batch
        with contextlib.suppress(StateError, OSError):
            with self.log.file.transaction() as connection:
                remove_batch(connection, batch)
                connection.execute("DELETE FROM applied WHERE version = ?", (batch,))
                connection.execute(_MADE, (batch,))
                if isinstance(error, ChangedMeanwhileError) and self._enabled:
                    failed = steps[len(applied)]
                    for text in error.texts:
                        self.log.meet(connection, failed.mutation.path, text, at=self._now())
            for step in steps:
                step.file.clean_up()

    def place(self, path: str) -> Path:
        """Return the file of a note."""
        return self._root.joinpath(*path.split("/"))


def _note_applied(connection: apsw.Connection, inbox: InboxEntry | None, batch: int | None) -> None:
    if inbox is not None:
        connection.execute("INSERT OR REPLACE INTO applied VALUES (?, ?)", (inbox.key, batch))
