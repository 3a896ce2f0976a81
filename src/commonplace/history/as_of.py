"""Index as of a time: today's index without the files that were others then, and their old texts.

The old texts are indexed in a file of their own, which is kept while the memory is open: the first
search of a time pays for it, and the next ones do not.
"""

from __future__ import annotations

import contextlib
import shutil
import threading
import time
from collections.abc import Iterator
from datetime import date, datetime
from pathlib import Path
from typing import TYPE_CHECKING

from commonplace.indexing.pipeline import IndexPipeline
from commonplace.indexing.planner import IndexPlan
from commonplace.store.registry import open_store
from commonplace.store.union import SnapshotUnion
from commonplace.system.files import make_private_folder
from commonplace.types import MemoryFile
from commonplace.workspace.file_text import FileText, decode_text

if TYPE_CHECKING:
    from commonplace.embeddings.client import EmbeddingClient
    from commonplace.history.versions import State, VersionLog
    from commonplace.profiles import Profile
    from commonplace.store.base import Snapshot, Store
    from commonplace.store.records import IndexIdentity
    from commonplace.workspace.discovery import Workspace

__all__ = ["PastIndex"]

_PREFIX = "past-"
_LEFT_S = 24 * 3600
"""Age from which on a folder of old texts counts as left by a process that was killed."""


class PastIndex:
    """Index of a workspace as it was at a time.

    Args:
        log: The versions.
        workspace: Dates the files.
        store: Today's index, whose vectors are used where texts are the same.
        profile: Rules by which files are read and cut.
        folder: Where a folder for the old texts is made.
    """

    def __init__(
        self, log: VersionLog, workspace: Workspace, store: Store, *, profile: Profile, folder: Path
    ) -> None:
        self._log = log
        self._workspace = workspace
        self._today = store
        self._profile = profile
        self._folder = folder
        self._lock = threading.Lock()
        self._store: Store | None = None
        self._place: Path | None = None
        self._held: dict[str, int] = {}
        """Rows of the versions that are indexed, by path."""
        self._known: tuple[object, tuple[dict[str, State | None], frozenset[str]]] | None = None
        """What differs at a time, by the time and the state of the history."""

    @contextlib.contextmanager
    def snapshot(
        self,
        today: Snapshot,
        moment: datetime,
        *,
        client: EmbeddingClient | None,
        history_state: object,
    ) -> Iterator[Snapshot]:
        """Open the index as of a time.

        Args:
            today: Today's index.
            moment: The time.
            client: Embeds old lines that have no vectors; None leaves them without.
            history_state: Changes with each write to the history.
        """
        past, hidden = self._differing(moment, today, history_state)
        texts = {path: state for path, state in past.items() if state is not None}
        identity = today.identity
        if not texts or identity is None:
            with open_store("memory://").snapshot() as nothing:
                yield SnapshotUnion(today, nothing, hidden=hidden)
            return
        with contextlib.ExitStack() as stack:
            with self._lock:
                store = self._indexed(texts, identity, client)
                old = stack.enter_context(store.snapshot())
            yield SnapshotUnion(today, old, hidden=hidden)

    def close(self) -> None:
        """Remove the old texts."""
        with self._lock:
            self._close()

    def purge(self) -> None:
        """Remove all old texts, those that other processes have indexed, too."""
        with self._lock:
            self._close()
            self._known = None
            for folder in self._folder.glob(f"{_PREFIX}*"):
                shutil.rmtree(folder, ignore_errors=True)

    def _close(self) -> None:
        if self._store is not None:
            self._store.close()
        if self._place is not None:
            shutil.rmtree(self._place, ignore_errors=True)
        self._store, self._place, self._held = None, None, {}

    # -- what was different ----------------------------------------------------------------------

    def _differing(
        self, moment: datetime, today: Snapshot, history_state: object
    ) -> tuple[dict[str, State | None], frozenset[str]]:
        """Return the states of the notes that were others then, and the paths hidden of today's.

        The state of a note that was not there is None.
        """
        key = moment, history_state
        if self._known is not None and self._known[0] == key:
            return self._known[1]
        found: dict[str, State | None] = {}
        for path in self._log.changed_since(moment):
            states = self._log.states_of(path)
            then = self.state_at(path, states, moment)
            if then is None or then.version.hash != states[0].version.hash:
                found[path] = then if then is not None and then.exists else None
        # The history meets a file before the index does.
        day, date_of = self._day(moment), self._workspace.rules.date_of
        later = {path for path in self._log.hashes() if (date_of(path) or day) > day}
        later |= {path for path, file in today.files().items() if (file.day or 0) > day.toordinal()}
        known = found, frozenset({*found, *later})
        self._known = (key, known) if history_state is not None else None
        return known

    def _day(self, moment: datetime) -> date:
        return moment.astimezone(self._profile.note_zone).date()

    def state_at(self, path: str, states: list[State], moment: datetime) -> State | None:
        """Return the state of a note at a time; None where it was not there.

        A note that was there when its history began counts as having been so before. A log counts
        by its day: what was appended to it counts as written on that day.

        Args:
            path: The note.
            states: Its states, newest first.
            moment: The time.
        """
        day = self._workspace.rules.date_of(path)
        at = next((n for n, one in enumerate(states) if one.version.when <= moment), None)
        if day is not None:
            if day > self._day(moment):
                return None
            at = len(states) - 1 if at is None else at
            while at > 0 and states[at].exists and self._only_appended(states[at], states[at - 1]):
                at -= 1
        elif at is None:
            at = len(states) - 1
            if states[at].version.change != "found":
                return None
        return states[at]

    def _only_appended(self, state: State, later: State) -> bool:
        if later.version.size <= state.version.size or not later.exists:
            return False
        return self._log.text(later).startswith(self._log.text(state))

    # -- old texts -------------------------------------------------------------------------------

    def _indexed(
        self, texts: dict[str, State], identity: IndexIdentity, client: EmbeddingClient | None
    ) -> Store:
        """Bring the index of old texts up to the states that are wanted."""
        if self._store is not None and self._store.identity != identity:
            self._close()
        if self._store is None:
            self._place = self._new_folder()
            self._store = open_store(self._place / "index.sqlite")
            self._store.set_identity(identity)
        wanted = {path: state.id for path, state in texts.items()}
        gone = [path for path in self._held if path not in wanted]
        new = [path for path, row in wanted.items() if self._held.get(path) != row]
        if not new and not gone:
            return self._store
        data = {path: self._log.text(texts[path]) for path in new}
        with self._store.snapshot() as snapshot:
            read = tuple(
                (self._file(path, data[path]), snapshot.file(path), "is of the past")
                for path in new
            )
            records = [snapshot.file(path) for path in gone]
        pipeline = IndexPipeline(
            self._store,
            client=client,
            profile=self._profile,
            unit=self._workspace.settings.search.unit,
            sources=(self._today,),
            read=lambda file: _file_text(data[file.path]),
        )
        pipeline.run(IndexPlan(read, tuple(record for record in records if record), 0))
        if not self._store.complete:
            self._store.mark_complete()
        self._held = wanted
        return self._store

    def _new_folder(self) -> Path:
        """Make a folder for the old texts; those that killed processes left go."""
        import tempfile

        make_private_folder(self._folder)
        for left in self._folder.glob(f"{_PREFIX}*"):
            if time.time() - left.stat().st_mtime > _LEFT_S:
                shutil.rmtree(left, ignore_errors=True)
        return Path(tempfile.mkdtemp(prefix=_PREFIX, dir=self._folder))

    def _file(self, path: str, data: bytes) -> MemoryFile:
        date = self._workspace.rules.date_of(path)
        return MemoryFile(path, self._workspace.root / path, "memory", len(data), 0, date)


def _file_text(data: bytes) -> FileText:
    text, note = decode_text(data)
    return FileText(text, len(data), 0, note)
