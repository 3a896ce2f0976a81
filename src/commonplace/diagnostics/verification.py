"""Verification: the index is compared with the files, and everything that is kept is read."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import TYPE_CHECKING

from commonplace.errors import CommonplaceError, IndexDamagedError, StateError, StoreError
from commonplace.flush.journal import Journal
from commonplace.flush.messages import DAMAGE, ENTRY_COLUMNS, parse_entry
from commonplace.history.integrity import damaged_versions, remove_damaged_versions
from commonplace.indexing.document_reader import DocumentReader
from commonplace.system.salvage import replace_damaged
from commonplace.system.state import StateFile
from commonplace.types import VerifyReport
from commonplace.vectors.arrays import packed_size
from commonplace.workspace.file_text import read_text

if TYPE_CHECKING:
    from commonplace.history.database import HistoryFile
    from commonplace.indexing.service import IndexService
    from commonplace.profiles import Profile
    from commonplace.store.base import Snapshot
    from commonplace.store.records import FileRecord
    from commonplace.system.database import DatabaseFile
    from commonplace.types import Chunk, MemoryFile
    from commonplace.vectors.arrays import ChunkVectors
    from commonplace.workspace.discovery import Workspace

    Stored = list[tuple[Chunk, ChunkVectors | None]]

__all__ = ["Verifier"]

_UNLIKE = "the index does not hold what the file says"
_STALE = "it has changed since it was indexed"
_PARTS = ("index", "journal", "history")
"""Names of what is checked besides files."""

Problem = tuple[str, str]
"""A file or a part, and what is wrong with it."""


class Verifier:
    """Check of one memory: its index, its journal and its history.

    Args:
        workspace: The files.
        index: The index.
        profile: Rules by which files are read and cut.
        state: The state file, with the flush journal.
        history: The history file.
        reindex: Brings the index up to date; rebuilds it when called with True.
    """

    def __init__(
        self,
        workspace: Workspace,
        index: IndexService,
        *,
        profile: Profile,
        state: StateFile,
        history: HistoryFile,
        reindex: Callable[[bool], object],
    ) -> None:
        self._workspace = workspace
        self._store = index.store
        self._profile = profile
        self._state = state
        self._history = history
        self._reindex = reindex
        self._report = VerifyReport(files=0, chunks=0, entries=0, versions=0)

    def run(self, *, repair: bool) -> VerifyReport:
        """Check everything; mend it and check again where `repair`."""
        problems = tuple(self._problems())
        if problems and repair:
            found, problems = problems, self._repaired(problems)
            mended = tuple(problem for problem in found if problem not in problems)
            return replace(self._report, problems=problems, repaired=mended)
        return replace(self._report, problems=problems)

    def _problems(self) -> Iterator[Problem]:
        yield from self._of_index()
        yield from self._of_database("journal", self._state, self._entries)
        yield from self._of_database("history", self._history, self._versions)

    # -- index -----------------------------------------------------------------------------------

    def _of_index(self) -> Iterator[Problem]:
        try:
            if not self._store.exists() or not self._store.complete:
                yield "index", "the workspace was never completely indexed"
                return
            for check in self._store.health_checks():
                if check.name in ("words", "index file"):
                    check.run()
            yield from self._of_files()
        except StoreError as error:
            yield "index", str(error)

    def _of_files(self) -> Iterator[Problem]:
        scan = self._workspace.scan()
        yield from scan.problems
        with self._store.snapshot() as snapshot:
            known = snapshot.files()
            totals = snapshot.totals()
            self._report = replace(self._report, files=totals.files, chunks=totals.chunks)
            if snapshot.chunk_count() != totals.chunks:
                yield "index", f"it counts {snapshot.chunk_count()} chunks and has {totals.chunks}"
            for file in scan.files:
                record = known.pop(file.path, None)
                why = _STALE if record is None else self._wrong(snapshot, file, record)
                # A file may be written while it is read: the second look is at the index of now.
                if why and (why := self._wrong_now(file)):
                    yield file.path, why
        yield from ((path, "the index holds a file that is gone") for path in known)

    def _wrong_now(self, file: MemoryFile) -> str | None:
        with self._store.snapshot() as snapshot:
            record = snapshot.file(file.path)
            return _STALE if record is None else self._wrong(snapshot, file, record)

    def _wrong(self, snapshot: Snapshot, file: MemoryFile, record: FileRecord) -> str | None:
        """Return what is wrong with the chunks of a file; None for nothing."""
        stored = snapshot.chunks_of(file.path)
        identity = snapshot.identity
        if identity is None or not all(_has_shape(it, identity.dimension) for _, it in stored):
            return "its vectors in the index are damaged"
        before = record.size, record.mtime_ns, record.stamp
        changed = (file.size, file.mtime_ns, file.stamp) != before
        if changed and file.source == "sessions":
            return None  # the next run reads on where the last one stopped
        read = self._read(file)
        if read is None:
            return None
        text, chunks = read
        if text != record.hash:
            return _STALE if changed else f"{_STALE}, and kept its size and its times"
        same = [_as_indexed(chunk) for chunk, _ in stored] == [*map(_as_indexed, chunks)]
        return None if same else _UNLIKE

    def _read(self, file: MemoryFile) -> tuple[str, list[Chunk]] | None:
        """Read a file as a new one; return the hash of its text and its chunks."""
        reader = DocumentReader(
            self._profile,
            completes=False,
            report=lambda _path, _reason: None,
            read=lambda it: read_text(it.absolute),
            store=self._store,
        )
        found: list[Chunk] = []
        text = None
        for document in reader.read(file, None):
            keep = document.part.keep_before if document.part else None
            found = [chunk for chunk in found if keep is not None and chunk.start_line < keep]
            found += document.chunks or ()
            text = document.record.hash
        return None if text is None else (text, found)

    # -- journal and history ---------------------------------------------------------------------

    def _of_database(
        self, name: str, file: DatabaseFile, check: Callable[[], Iterator[Problem]]
    ) -> Iterator[Problem]:
        try:
            answers = [answer for (answer,) in file.rows("PRAGMA integrity_check(1)")]
            if answers not in ([], ["ok"]):
                yield name, f"its file is damaged ({answers[0]})"
            else:
                yield from check()
        except StateError as error:
            yield name, str(error)

    def _entries(self) -> Iterator[Problem]:
        rows = self._state.rows(f"SELECT id, {ENTRY_COLUMNS} FROM flush_entries")
        self._report = replace(self._report, entries=len(rows))
        for number, *row in rows:
            try:
                parse_entry(number, row)
            except DAMAGE as error:
                yield "journal", f"entry {number} cannot be read ({error})"

    def _versions(self) -> Iterator[Problem]:
        count = sum(n for (n,) in self._history.rows("SELECT count(*) FROM version"))
        self._report = replace(self._report, versions=count)
        for row, path in damaged_versions(self._history):
            yield "history", f"the text of version {row} of {path} is not the one that was kept"

    # -- repair ----------------------------------------------------------------------------------

    def _repaired(self, problems: tuple[Problem, ...]) -> tuple[Problem, ...]:
        """Mend what was found; return what is still wrong, or could not be mended."""
        wrong = {part for part, _ in problems}
        failed: list[Problem] = []
        for part, mend in (
            ("index", self._mend_index),
            ("journal", self._mend_journal),
            ("history", self._mend_history),
        ):
            if part in wrong or (part == "index" and wrong.difference(_PARTS)):
                try:
                    mend(problems)
                except CommonplaceError as error:
                    failed.append((part, f"it could not be mended: {error}"))
        return (*self._problems(), *failed)

    def _mend_index(self, problems: tuple[Problem, ...]) -> None:
        files = {why for part, why in problems if part not in _PARTS}
        is_damaged = any(part == "index" for part, _ in problems)
        if (is_damaged or "damaged" in " ".join(files)) and self._store.exists():
            error = IndexDamagedError(f"the index {self._store.location} did not stand a check.")
            self._store.recover(error, certain=True)
        self._reindex(bool(files - {_STALE}))

    def _mend_journal(self, problems: tuple[Problem, ...]) -> None:
        if any(part == "journal" and "entry" not in why for part, why in problems):
            _salvage(self._state)
        journal = Journal(self._state.path, workspace=str(self._workspace.root))
        with journal.lease() as lease:
            for number in journal.pending():
                journal.claim(number, lease=lease)
            journal.release(lease)

    def _mend_history(self, problems: tuple[Problem, ...]) -> None:
        if any(part == "history" and "version" not in why for part, why in problems):
            _salvage(self._history)
        if damaged := damaged_versions(self._history):
            remove_damaged_versions(self._history, [row for row, _ in damaged])


def _salvage(file: DatabaseFile) -> None:
    file.close()
    replace_damaged(file, StateError("it did not stand a check"))


def _as_indexed(chunk: Chunk) -> Chunk:
    return replace(chunk, labelled=False)


def _has_shape(embedded: ChunkVectors | None, dimension: int | None) -> bool:
    """Return whether vectors have the index's dimension, whole lines and finite numbers."""
    if embedded is None:
        return True
    squared = float(embedded.vector @ embedded.vector)
    whole = not dimension or not len(embedded.lines or b"") % packed_size(dimension)
    return len(embedded.vector) == dimension and whole and math.isfinite(squared)
