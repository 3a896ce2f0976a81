"""Forgetting: what a user wants gone leaves the notes and all that was kept of it.

The plan is journaled before anything goes, so that the next open finishes what was interrupted. It
leaves the journal with the last texts, before the files are rewritten without their free pages.
"""

from __future__ import annotations

import contextlib
import functools
import logging
import time
from collections import Counter
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

from commonplace.errors import CommonplaceError, IndexBusyError, StateError
from commonplace.history.causes import Cause
from commonplace.history.conversations import forget_in_journal, forget_in_sessions
from commonplace.history.edits import FileCodec
from commonplace.history.forget_in_index import chunk_count, forget_unread_files
from commonplace.history.forget_journal import ForgetJournal, unfinished
from commonplace.history.forget_plan import ForgetPlan
from commonplace.history.forget_planner import ForgetPlanner
from commonplace.history.forgotten_text import ForgottenText
from commonplace.history.note_changes import Mutation
from commonplace.history.unreachable import (
    imported,
    linked,
    named,
    unreachable_copies,
    unread,
)
from commonplace.history.version_removal import forget_in_versions
from commonplace.qmd.index_updates import delete_indexes
from commonplace.system.files import make_private_folder
from commonplace.system.locks import FileLease
from commonplace.system.salvage import damaged_copies
from commonplace.system.state import StateFile
from commonplace.types import ForgetReceipt, checked_text
from commonplace.workspace.replacement import read_file

if TYPE_CHECKING:
    from commonplace.history.as_of import PastIndex
    from commonplace.history.service import NoteService
    from commonplace.indexing.service import IndexService
    from commonplace.system.state import StateLocation
    from commonplace.workspace.discovery import Workspace

__all__ = ["Forgetter"]

logger = logging.getLogger(__name__)

_LEASE_TIMEOUT_S = 60.0
_RUN_TIMEOUT_S = 60.0
_RETRY_S = 0.05
_INBOX_TIMEOUT_S = 30.0
"""Seconds to wait for the leader to make the changes of hosts without the folder."""


class _DryRunError(Exception):
    """Ends a transaction that only counted."""


class Forgetter:
    """Forgets lines, notes and conversations.

    Args:
        notes: Changes the notes, and has their history.
        workspace: The files.
        index: The index.
        state: Where the journal of flushes and the session files are.
        past: The index of old texts.
    """

    def __init__(
        self,
        notes: NoteService,
        workspace: Workspace,
        index: IndexService,
        state: StateLocation,
        past: PastIndex,
    ) -> None:
        self._notes = notes
        self._workspace = workspace
        self._index = index
        self._state = state
        self._past = past
        self._planner = ForgetPlanner(notes, workspace, index.store)
        self._history = notes.log.file
        self._plans = ForgetJournal(notes.log.file)
        self._journal = StateFile(state.database)
        self._qmd_home = state.qmd

    def forget(
        self,
        *,
        path: str | None,
        citation: str | None,
        text: str | None,
        session: str | None,
        dry_run: bool,
    ) -> ForgetReceipt:
        """Forget one of a note, cited lines, all lines that hold a text, or a conversation."""
        values = {"path": path, "citation": citation, "text": text, "session": session}
        given = [checked_text(name, it) for name, it in values.items() if it is not None]
        if len(given) != 1 or not given[0].strip():
            raise ValueError("give one of path, citation, text and session, and not an empty one.")
        # What hosts without the folder wrote is in the notes then, and found there.
        if not dry_run and not self._index.runner.publisher.settle(timeout_s=_INBOX_TIMEOUT_S):
            raise StateError(
                "changes of hosts without the folder wait, and may hold what is to be forgotten; "
                "nothing was changed. Try again when 'commonplace serve' has made them, or stop it."
            )
        plan = self._planner.plan(path=path, citation=citation, text=text, session=session)
        forgotten = self._forgotten(plan)
        removed = self._counts(plan)
        links = linked(self._workspace, sorted(plan.files))
        links += [*named(self._workspace, self._state.sessions, plan.phrase), *imported(plan.paths)]
        problems = list(self._planner.unread.items())
        if dry_run:
            removed += self._forget_elsewhere(plan, forgotten, problems)
            left = [*unread(problems), *links]
            return ForgetReceipt(dict(+removed), tuple(left), True, plan.places)
        with self._lease(_LEASE_TIMEOUT_S) as acquired:
            if not acquired:
                raise StateError(
                    "another process is forgetting something; nothing was changed. Try again."
                )
            number = self._plans.add(plan)
            try:
                self._change_files(plan)
            except (CommonplaceError, OSError) as error:
                if self._is_begun(plan) or not self._plans.drop(number):
                    raise unfinished(error) from error
                raise
            try:
                wait_s = _INBOX_TIMEOUT_S
                removed += self._forget_elsewhere(
                    plan, forgotten, problems, number=number, wait_s=wait_s
                )
                left = [*self._overwrite(wait_s=wait_s), *unread(problems), *links]
                left += self._unreachable(forgotten, found_any=bool(+removed))
            except (CommonplaceError, OSError) as error:
                raise unfinished(error) from error
        return ForgetReceipt(dict(+removed), tuple(left))

    def resume(self) -> None:
        """Finish what a process that died left, unless another process is at it."""
        with contextlib.suppress(OSError, StateError):
            if not self._history.is_forgetting:
                return
            with self._lease(0) as acquired:
                if acquired:
                    self._resume()

    def _resume(self) -> None:
        steps: list[Callable[[], object]] = [
            functools.partial(self._finish, number, text)
            for number, text in self._plans.plans()
            if text
        ]
        for step in (*steps, self._overwrite):
            try:
                step()
            except Exception as error:  # whatever it is, it must not close the memory for good
                known = isinstance(error, CommonplaceError | OSError)
                said = "something is not forgotten yet; the next open tries again: %s"
                logger.warning(said, error, exc_info=not known)

    def _finish(self, number: int, text: str) -> None:
        plan = ForgetPlan.from_json(text)
        forgotten = self._forgotten(plan)
        problems = list(self._planner.unread.items())
        self._change_files(plan)
        self._forget_elsewhere(plan, forgotten, problems, number=number)
        for said in unread(problems):
            logger.warning("what was to be forgotten may be left: %s", said)

    @contextlib.contextmanager
    def _lease(self, timeout_s: float) -> Iterator[bool]:
        assert self._history.path is not None
        path = self._history.path.with_name(f"{self._history.path.name}.forget")
        with contextlib.ExitStack() as stack:
            try:
                make_private_folder(path.parent)
                acquired = stack.enter_context(FileLease(path).held(timeout_s=timeout_s))
            except OSError as error:
                raise StateError(
                    f"the state folder {path.parent} cannot be written "
                    f"({error.strerror or error}); nothing was forgotten. Give yourself write "
                    "access to it."
                ) from error
            yield acquired

    # -- steps -------------------------------------------------------------------------------------

    def _is_begun(self, plan: ForgetPlan) -> bool:
        """Return whether a note is without what the plan takes from it: all are then, or none."""
        for path, edit in plan.files.items():
            with contextlib.suppress(OSError):
                data = read_file(self._workspace.locate(path))
                if data is None or edit.apply(data) == data:
                    return True
        return False

    def _counts(self, plan: ForgetPlan) -> Counter[str]:
        """Return what the plan removes from the notes and the index; before they are changed."""
        return Counter(
            lines=plan.line_count,
            notes=sum(edit.deletes for edit in plan.files.values()),
            chunks=chunk_count(self._index.store, plan),
        )

    def _forget_elsewhere(
        self,
        plan: ForgetPlan,
        forgotten: ForgottenText,
        problems: list[tuple[str, str]],
        *,
        number: int | None = None,
        wait_s: float = 0.0,
    ) -> Counter[str]:
        """Remove all that the plan names but from the notes; return the numbers by kind.

        Args:
            plan: The plan.
            forgotten: The text.
            problems: Is given ``(path, reason)`` of what cannot be read.
            number: Row of the plan in the journal; None to count only.
            wait_s: Seconds to wait for changes of hosts without the folder.
        """
        dry_run = number is None
        if not dry_run:
            # Changes since the plan were computed from the notes before: they are merged, or
            # refused. What waits yet, `_overwrite` waits for, and reports.
            self._index.runner.publisher.settle(timeout_s=wait_s)
            self._index.runner.publisher.forget(forgotten.is_in)
        removed: Counter[str] = Counter()
        removed["chunks"] = forget_unread_files(
            self._index.store, self._workspace, forgotten, dry_run=dry_run
        )
        removed += forget_in_sessions(
            self._state.sessions,
            forgotten,
            session=plan.session,
            dry_run=dry_run,
            problems=problems,
        )
        removed += forget_in_journal(
            self._journal,
            forgotten,
            workspace=str(self._workspace.root),
            session=plan.session,
            dry_run=dry_run,
        )
        with contextlib.suppress(_DryRunError), self._history.transaction() as connection:
            removed["versions"] = forget_in_versions(
                connection, plan, forgotten, locate=self._workspace.locate
            )
            if number is None:
                raise _DryRunError
            self._plans.mark_done(connection, number)
        return removed

    def _forgotten(self, plan: ForgetPlan) -> ForgottenText:
        """Return what is looked for elsewhere: nothing that a note holds that stays."""
        forgotten = ForgottenText(plan.texts, plan.phrase)
        for path, data in self._planner.contents().items():
            edit = plan.files.get(path)
            left = edit.apply(data) if edit is not None else data
            if left is not None:
                forgotten.spare(FileCodec.of(left).decode(left))
        return forgotten

    def _change_files(self, plan: ForgetPlan) -> None:
        mutations = [Mutation(path, edit.apply) for path, edit in sorted(plan.files.items())]
        if mutations:
            self._notes.apply(mutations, Cause("forget"))
        self._notes.shown.clear()

    def _overwrite(self, *, wait_s: float = 0.0) -> list[str]:
        """Bring the index up to date, and rewrite all files without their free pages."""
        left: list[str] = []
        self._past.purge()
        delete_indexes(self._qmd_home)  # the next update makes it again
        store = self._index.store
        if store.exists() and store.access == "read-write":
            if not self._index.runner.publisher.settle(timeout_s=wait_s):
                left.append(_INBOX.format(file=store.location))
            self._refresh()
            self._index.runner.publisher.publish_forgetting()
            with store.lease("run", timeout_s=_RUN_TIMEOUT_S):
                is_pure = store.purge()
            if not is_pure:
                left.append(_READER.format(file=store.location))
        elif store.exists():
            left.append(f"The index {store.location} cannot be written; it still has the text.")
        for file in (self._history, self._journal):
            for copy in damaged_copies(file):
                copy.unlink(missing_ok=True)
            if not file.overwrite_free_pages():
                left.append(_READER.format(file=file.path))
        if not left:
            self._plans.drop_done()
        return left

    def _refresh(self) -> None:
        """Bring the index up to date; wait for another process that is indexing."""
        deadline = time.monotonic() + _RUN_TIMEOUT_S
        while True:
            try:
                self._index.refresh(first=False)
            except IndexBusyError:
                if time.monotonic() > deadline:
                    raise
                time.sleep(_RETRY_S)
            else:
                return

    def _unreachable(self, forgotten: ForgottenText, *, found_any: bool) -> list[str]:
        jobs = self._journal.rows("SELECT DISTINCT provider FROM embedding_jobs")
        store = self._index.store
        others = (
            self._index.runner.publisher.other_histories()
            if store.exists() and store.access == "read-write"
            else []
        )
        found = unreachable_copies(
            self._workspace,
            forgotten.runs,
            notes=self._planner.contents(),
            providers=[name for (name,) in jobs],
            own=[store.location, str(self._history.path), str(self._journal.path)],
            found_any=found_any,
        )
        return [*map(_HISTORY.format, others), *found]


_INBOX = (
    "Changes of hosts without the folder wait in {file}, and may hold the text. Forget it again "
    "when 'commonplace serve' has made them."
)
_HISTORY = (
    "{} keeps a history of its own, which drops it when that host next indexes. Its session files "
    "and its journal of flushes are its own: run 'commonplace forget' there, too."
)
_READER = (
    "Another process reads an earlier state of {file}; the next open of this memory overwrites it."
)
