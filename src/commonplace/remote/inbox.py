"""Inbox: the changes that hosts without the folder have made, applied to the Markdown.

A change is applied exactly once and in order: its key goes to the history file in the transaction
that journals the change, so that a process that dies between the file and the acknowledgement finds
it there. A host with another history finds the file as the inbox announces it. Where the note was
changed in the folder meanwhile, the change is merged by lines; one that touches the same lines is
refused and kept, and the note stays as the folder has it.
"""

from __future__ import annotations

import contextlib
import functools
import logging
import os
from typing import TYPE_CHECKING

from commonplace.errors import (
    ConflictError,
    IndexBusyError,
    PathNotAllowedError,
    StateError,
    WorkspaceError,
    WorkspaceReadOnlyError,
)
from commonplace.history.causes import Cause, GroupId, find_group
from commonplace.history.edits import FileCodec, appended_bytes
from commonplace.history.merge import OverlapError, merge
from commonplace.history.mutations import Mutator
from commonplace.history.note_changes import InboxEntry, Mutation
from commonplace.history.versions import content_hash
from commonplace.system.waits import bounded_waits
from commonplace.types import citation
from commonplace.workspace.paths import log_date, log_path

if TYPE_CHECKING:
    from commonplace.history.service import NoteService
    from commonplace.store.base import Store
    from commonplace.store.publication import InboxChange, InboxStep, Publication

__all__ = ["InboxApplier"]

logger = logging.getLogger(__name__)

_BATCH = 100
"""Changes that are read together."""
_TURN_S = 10.0
"""Seconds to wait for another process that applies the inbox."""


class _RefusedError(Exception):
    """A change that cannot be made in the folder; the text says why."""


class InboxApplier:
    """Applies the inbox of one memory to its folder.

    Args:
        store: The index, whose lease keeps others from applying meanwhile.
        publication: The inbox.
        notes: The notes.
        mutator: Changes them.
    """

    def __init__(
        self, store: Store, publication: Publication, notes: NoteService, mutator: Mutator
    ) -> None:
        self._store = store
        self._publication = publication
        self._notes = notes
        self._mutator = mutator
        self._problem = ""
        """What kept the last change from being made, which is logged once."""

    def apply(self) -> list[str]:
        """Apply what waits; return the paths of the notes that may differ from the index now.

        A change that cannot be made now, as on a full disk, waits, and so do those behind it.

        Raises:
            StoreError: The inbox cannot be read or written.
        """
        changed: list[str] = []
        try:
            with self._store.lease("inbox", timeout_s=_TURN_S), bounded_waits():
                while waiting := self._publication.waiting(limit=_BATCH):
                    for change in waiting:
                        self._apply(change)
                        changed += change.paths
        except IndexBusyError:
            logger.debug("another process applies the changes of other hosts")
        except (ConflictError, StateError, WorkspaceError) as error:
            if str(error) != self._problem:
                self._problem = str(error)
                logger.warning("changes of hosts without the folder wait: %s", error)
        else:
            self._problem = ""
        return list(dict.fromkeys(changed))

    def _apply(self, change: InboxChange) -> None:
        """Make a change in the folder, unless it was made, and acknowledge it; or refuse it."""
        try:
            self._make(change)
        except (_RefusedError, PathNotAllowedError) as error:
            reason = str(error)
            said = "a change of %s by %s cannot be made in the folder: %s"
            logger.warning(said, ", ".join(change.paths), change.host or "another host", reason)
            self._publication.refuse(change, reason)
        else:
            self._publication.acknowledge(change)

    def _make(self, change: InboxChange) -> None:
        notes = self._notes
        steps = [step for step in change.steps if not self._is_moved(step)]
        with contextlib.ExitStack() as stack:
            for step in steps:
                path = notes.note_path(step.target or step.path)
                if step.target not in (None, path):
                    raise _RefusedError(f"{step.target!r} is not the path of a note; {path!r} is.")
                if step.kind != "delete":
                    stack.enter_context(notes.folder_of(path))
            mutations = [
                Mutation(
                    notes.note_path(step.path),
                    functools.partial(self._announced, change, step),
                    step.target,
                    frozenset(step.untrusted),
                )
                for step in steps
            ]
            cause = Cause(change.change, change.origin, self._group(change))
            try:
                self._mutator.apply(mutations, cause, inbox=InboxEntry(change.key, change.when))
            except (WorkspaceReadOnlyError, PathNotAllowedError, ConflictError):
                raise
            except WorkspaceError as error:  # a file that cannot be read now nor later
                raise _RefusedError(str(error)) from error
        for mutation in mutations:
            self._mutator.replaced.pop(mutation.path, None)

    def _group(self, change: InboxChange) -> GroupId | None:
        """Return the change group that a change is a step of; its first step here gives it."""
        if not change.group:
            return None
        name = f"inbox {change.group}"
        return GroupId(find_group(self._mutator.log.file, name), name)

    def _announced(self, change: InboxChange, step: InboxStep, disk: bytes | None) -> bytes | None:
        """Return the bytes of a note after a step; announce them where the step cannot know them.

        Where the host is killed behind the file, it is all that one with another history can know.
        """
        if disk is not None and step.made_hash == content_hash(disk[: step.made_size]):
            return disk
        made = self._made(step, disk)
        if made is not None and made != disk and step.target is None:
            known = content_hash(made)
            if known != step.after_hash:
                ordinal = change.steps.index(step)
                self._publication.announce(change, ordinal, known, len(made))
        return made

    def _made(self, step: InboxStep, disk: bytes | None) -> bytes | None:
        """Return the bytes of a note after a step, from those that it has in the folder.

        Raises:
            _RefusedError: The change does not fit what the folder has.
        """
        if step.kind == "append":
            return _appended(step, disk)
        if step.kind == "delete":
            if disk is not None and content_hash(disk) != step.before_hash:
                raise _RefusedError(f"{step.path} was changed in the folder before it was deleted.")
            return None
        if step.target is None:
            return _replaced(step, disk)
        if disk is None:
            raise _RefusedError(f"{step.path} is not in the folder any more; it was to be moved.")
        if os.path.lexists(self._mutator.place(step.target)):
            raise _RefusedError(f"{step.target} is in the folder already; {step.path} stays.")
        return disk

    def _is_moved(self, step: InboxStep) -> bool:
        """Return whether another host with the same folder has moved a note already."""
        if step.target is None:
            return False
        return not self._hash_of(step.path) and self._hash_of(step.target) == step.before_hash

    def _hash_of(self, path: str) -> str:
        read = self._notes.read(path)
        return "" if read is None else content_hash(read.data)


def _replaced(step: InboxStep, disk: bytes | None) -> bytes | None:
    known = "" if disk is None else content_hash(disk)
    if known == step.before_hash or disk == step.data:
        return step.data
    if disk is None:
        raise _RefusedError(f"{step.path} is not in the folder any more; it was to be changed.")
    if not step.before_hash:
        raise _RefusedError(f"{step.path} is in the folder already, with another text.")
    try:
        return merge(step.before or b"", step.data or b"", disk)
    except OverlapError as error:
        place = citation(step.path, error.line, error.line)
        raise _RefusedError(
            f"{step.path} was changed in the folder in the same lines ({place}). Read it again, "
            "and make the change again."
        ) from error


def _appended(step: InboxStep, disk: bytes | None) -> bytes | None:
    data = step.data or b""
    if step.before_hash == ("" if disk is None else content_hash(disk)):
        return (disk or b"") + data
    if disk is not None and content_hash(disk[: step.after_size]) == step.after_hash:
        return disk  # a host with the same folder and another history has made it
    day = log_date(step.path)
    title = day.isoformat() if day and step.path == log_path(day) else None
    mark = step.before or b""
    text = FileCodec.of(mark + data).decode(mark + data)
    # The heading of a day that it began is in the folder already, or is made there.
    text = text.removeprefix(f"# {title}\n") if title else text
    return appended_bytes(disk, text, title=title)
