"""Forgetting: what a user wants gone leaves the notes and all that was kept of it.

The plan is journaled before anything goes, so that the next open finishes what was interrupted. It
leaves the journal with the last texts, before the files are rewritten without their free pages.
"""

from __future__ import annotations

import contextlib
import logging
import time
from collections import Counter
from collections.abc import Iterator
from typing import TYPE_CHECKING

from commonplace.errors import CommonplaceError, IndexBusyError, StateError
from commonplace.history.bodies import rewrite_bodies
from commonplace.history.causes import Cause
from commonplace.history.conversations import forget_in_journal, forget_in_sessions
from commonplace.history.edits import FileCodec
from commonplace.history.forget_plan import FileEdit, ForgetPlan
from commonplace.history.forget_planner import ForgetPlanner
from commonplace.history.forgotten_text import ForgottenText
from commonplace.history.known_texts import remove_unused_names
from commonplace.history.lines import line_key
from commonplace.history.note_changes import Mutation
from commonplace.history.unreachable import unreachable_copies
from commonplace.qmd.index_updates import delete_indexes
from commonplace.system.files import make_private_folder
from commonplace.system.locks import FileLease
from commonplace.system.salvage import damaged_copies
from commonplace.system.state import StateFile
from commonplace.types import ForgetReceipt
from commonplace.workspace.replacement import read_file

if TYPE_CHECKING:
    import apsw

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
        given = [value for value in (path, citation, text, session) if value is not None]
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
        if dry_run:
            removed = self._carry_out(plan, forgotten, dry_run=True)
            return ForgetReceipt(removed, dry_run=True, places=plan.places)
        with self._lease(_LEASE_TIMEOUT_S) as acquired:
            if not acquired:
                raise StateError(
                    "another process is forgetting something; nothing was changed. Try again."
                )
            sql = "INSERT INTO forgetting (plan) VALUES (?)"
            with self._history.transaction() as connection:
                connection.execute(sql, (plan.to_json(),))
            removed = self._carry_out(plan, forgotten, wait_s=_INBOX_TIMEOUT_S)
            left = self._overwrite(wait_s=_INBOX_TIMEOUT_S)
            unreachable = [*left, *self._unreachable(forgotten)]
        self._notes.shown.clear()
        return ForgetReceipt(removed, tuple(unreachable))

    def resume(self) -> None:
        """Finish what a process that died left, unless another process is at it."""
        with contextlib.suppress(OSError, StateError):
            if not self._history.rows("SELECT 1 FROM forgetting LIMIT 1"):
                return
            with self._lease(0) as acquired:
                if acquired:
                    self._resume()

    def _resume(self) -> None:
        try:
            for (text,) in self._history.rows("SELECT plan FROM forgetting ORDER BY id"):
                if text:
                    plan = ForgetPlan.from_json(text)
                    self._carry_out(plan, self._forgotten(plan))
            self._overwrite()
        except CommonplaceError as error:
            logger.warning("something is not forgotten yet; the next open tries again: %s", error)

    @contextlib.contextmanager
    def _lease(self, timeout_s: float) -> Iterator[bool]:
        assert self._history.path is not None
        path = self._history.path.with_name(f"{self._history.path.name}.forget")
        try:
            make_private_folder(path.parent)
            with FileLease(path).held(timeout_s=timeout_s) as acquired:
                yield acquired
        except OSError as error:
            raise StateError(
                f"the state folder {path.parent} cannot be written ({error.strerror or error}); "
                "nothing was forgotten. Give yourself write access to it."
            ) from error

    # -- steps -------------------------------------------------------------------------------------

    def _carry_out(
        self,
        plan: ForgetPlan,
        forgotten: ForgottenText,
        *,
        dry_run: bool = False,
        wait_s: float = 0.0,
    ) -> dict[str, int]:
        """Remove all that the plan names, wherever it is; return the numbers by kind."""
        removed: Counter[str] = Counter()
        removed["lines"] = plan.line_count
        removed["notes"] = sum(edit.deletes for edit in plan.files.values())
        removed["chunks"] = self._chunk_count(plan)
        if not dry_run:
            self._change_files(plan)
            # Changes since the plan were computed from the notes before: they are merged, or
            # refused. What waits yet, `_overwrite` waits for, and reports.
            self._index.runner.publisher.settle(timeout_s=wait_s)
            self._index.runner.publisher.forget(forgotten.is_in)
        removed += forget_in_sessions(
            self._state.sessions, forgotten, session=plan.session, dry_run=dry_run
        )
        removed += forget_in_journal(
            self._journal,
            forgotten,
            workspace=str(self._workspace.root),
            session=plan.session,
            dry_run=dry_run,
        )
        with contextlib.suppress(_DryRunError), self._history.transaction() as connection:
            removed["versions"] = self._forget_versions(connection, plan, forgotten)
            if dry_run:
                raise _DryRunError
            connection.execute("UPDATE forgetting SET plan = ''")
        return {kind: count for kind, count in removed.items() if count}

    def _forgotten(self, plan: ForgetPlan) -> ForgottenText:
        """Return what is looked for elsewhere: nothing that a note holds that stays."""
        forgotten = ForgottenText(plan.texts, plan.phrase)
        for path, data in self._planner.contents().items():
            edit = plan.files.get(path)
            left = edit.apply(data) if edit is not None else data
            if left is not None:
                forgotten.spare(FileCodec.of(left).decode(left))
        return forgotten

    def _chunk_count(self, plan: ForgetPlan) -> int:
        store = self._index.store
        if not store.exists():
            return 0
        with store.snapshot() as snapshot:
            return sum(
                any(line in chunk.text for line in edit.removed)
                for path, edit in plan.files.items()
                for chunk, _ in snapshot.chunks_of(path)
            )

    def _change_files(self, plan: ForgetPlan) -> None:
        mutations = [Mutation(path, edit.apply) for path, edit in sorted(plan.files.items())]
        if mutations:
            self._notes.apply(mutations, Cause("forget"))

    def _forget_versions(
        self, connection: apsw.Connection, plan: ForgetPlan, forgotten: ForgottenText
    ) -> int:
        """Remove texts, origins and names from the history; return the number of versions."""
        keys = {
            path: {key for line in edit.removed if (key := line_key(line)) is not None}
            for path, edit in plan.files.items()
        }
        execute = connection.execute
        if plan.session is not None:  # lines that were edited since have an origin, too
            for path, key in execute(_LINES_OF_SESSION, (plan.session,)):
                keys.setdefault(path, set()).add(key)

        def scrubbed(path: str, data: bytes) -> bytes | None:
            if path in plan.paths:
                return None
            codec = FileCodec.of(data)
            gone = keys.get(path, set())
            lines = codec.decode(data).split("\n")
            kept = [
                line
                for line in lines
                if not forgotten.is_in(line) and (not gone or line_key(line) not in gone)
            ]
            return data if len(kept) == len(lines) else codec.encode("\n".join(kept))

        note = "(SELECT id FROM note WHERE path = ?)"
        for path in plan.paths:  # what remains of a change group is all of it
            of_note = f"SELECT id FROM version WHERE note = {note}"
            execute(f"DELETE FROM change_group WHERE version IN ({of_note})", (path,))
        count = rewrite_bodies(connection, scrubbed)
        for path in plan.paths:
            execute(f"DELETE FROM version WHERE note = {note}", (path,))
            execute(f"DELETE FROM line_origin WHERE note = {note}", (path,))
            execute(f"UPDATE version SET moved_from = NULL WHERE moved_from = {note}", (path,))
        for path, edit in plan.files.items():
            self._forget_origins(connection, path, edit)
        if plan.session is not None:
            sql = "SELECT id FROM origin WHERE session = ?"
            execute(f"UPDATE version SET origin = NULL WHERE origin IN ({sql})", (plan.session,))
            execute(f"DELETE FROM line_origin WHERE origin IN ({sql})", (plan.session,))
            execute("DELETE FROM exposed_session WHERE session = ?", (plan.session,))
        execute("DELETE FROM pending WHERE done")
        remove_unused_names(connection)
        return count

    def _forget_origins(self, connection: apsw.Connection, path: str, edit: FileEdit) -> None:
        data = read_file(self._workspace.locate(path)) or b""
        left = set(map(line_key, FileCodec.of(data).decode(data).split("\n")))
        for key in set(map(line_key, edit.removed)) - left - {None}:
            connection.execute(
                "DELETE FROM line_origin WHERE hash = ? AND note = "
                "(SELECT id FROM note WHERE path = ?)",
                (key, path),
            )

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
            with self._history.transaction() as connection:
                connection.execute("DELETE FROM forgetting WHERE plan = ''")
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

    def _unreachable(self, forgotten: ForgottenText) -> list[str]:
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
        )
        return [*map(_HISTORY.format, others), *found]


_LINES_OF_SESSION = """SELECT path, hash FROM line_origin JOIN note ON note.id = note
    JOIN origin ON origin.id = origin WHERE session = ?"""
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
