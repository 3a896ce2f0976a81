"""Verification: the index is compared with the files, and everything that is kept is read."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from typing import TYPE_CHECKING, Literal, NamedTuple

from commonplace.errors import CommonplaceError, IndexDamagedError, StateError, StoreError
from commonplace.flush.entries import DAMAGE, ENTRY_COLUMNS, parse_entry
from commonplace.flush.journal import Journal
from commonplace.history.integrity import (
    accept_versions,
    altered_notes,
    damaged_versions,
    remove_damaged_versions,
)
from commonplace.indexing.document_reader import DocumentReader
from commonplace.system.salvage import replace_damaged
from commonplace.system.state import StateFile
from commonplace.types import VerifyReport
from commonplace.vectors.arrays import packed_size
from commonplace.workspace.file_text import read_text

if TYPE_CHECKING:
    from commonplace.history.database import HistoryFile
    from commonplace.history.ledger_check import LedgerCheck
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

_Kind = Literal["unread", "stale", "unlike", "unindexed", "damaged", "row"]
"""Kind of a problem, by which it is mended: a file that cannot be read, has changed, or is not what
the index says; an index that was never completed; a part that is damaged, or a row of it."""


class _Problem(NamedTuple):
    """What is wrong, with a file or with a part: ``index``, ``journal`` or ``history``."""

    part: str
    why: str
    kind: _Kind

    @property
    def reported(self) -> tuple[str, str]:
        return self.part, self.why


class Verifier:
    """Check of one memory: its index, its journal and its history.

    Args:
        workspace: The files.
        index: The index.
        profile: Rules by which files are read and cut.
        state: The state file, with the flush journal.
        history: The history file.
        origins: Check of the origins in it.
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
        origins: LedgerCheck,
        reindex: Callable[[bool], object],
    ) -> None:
        self._workspace = workspace
        self._store = index.store
        self._profile = profile
        self._state = state
        self._history = history
        self._origins = origins
        self._reindex = reindex
        self._report = VerifyReport(files=0, chunks=0, entries=0, versions=0)

    def run(self, *, repair: bool) -> VerifyReport:
        """Check everything; mend it and check again where `repair`."""
        found = list(self._problems())
        left = self._repaired(found) if found and repair else found
        problems = tuple(problem.reported for problem in left)
        mended = tuple(problem.reported for problem in found if problem.reported not in problems)
        return replace(self._report, problems=problems, repaired=mended)

    def _problems(self) -> Iterator[_Problem]:
        yield from self._of_index()
        yield from self._of_database("journal", self._state, self._entries)
        yield from self._of_database("history", self._history, self._versions)

    # -- index -----------------------------------------------------------------------------------

    def _of_index(self) -> Iterator[_Problem]:
        try:
            if not self._store.exists() or not self._store.complete:
                why = "the workspace was never completely indexed"
                yield _Problem("index", why, "unindexed")
                return
            for check in self._store.health_checks():
                if check.name in ("words", "index file", "vector cache"):
                    outcome = check.run()
                    if check.mend and outcome.startswith("failed"):
                        yield _Problem("index", outcome.removeprefix("failed: "), "row")
            yield from self._of_files()
        except StoreError as error:
            yield _Problem("index", str(error), "damaged")

    def _of_files(self) -> Iterator[_Problem]:
        scan = self._workspace.scan()
        yield from (_Problem(path, why, "unread") for path, why in scan.problems)
        with self._store.snapshot() as snapshot:
            known = snapshot.files()
            totals = snapshot.totals()
            snapshot.mean_line()  # compares its checksum
            self._report = replace(self._report, files=totals.files, chunks=totals.chunks)
            if snapshot.chunk_count() != totals.chunks:
                why = f"it counts {snapshot.chunk_count()} chunks and has {totals.chunks}"
                yield _Problem("index", why, "damaged")
            for file in scan.files:
                record = known.pop(file.path, None)
                # A file may be written while it is read: the second look is at the index of now.
                if self._wrong(snapshot, file, record) and (wrong := self._wrong_now(file)):
                    yield wrong
        unread = tuple(f"{path}/" for path, _ in scan.problems)  # folders are among them
        gone = "the index holds a file that is gone"
        for path in known:
            if not f"{path}/".startswith(unread):
                yield _Problem(path, gone, "stale")

    def _wrong_now(self, file: MemoryFile) -> _Problem | None:
        with self._store.snapshot() as snapshot:
            return self._wrong(snapshot, file, snapshot.file(file.path))

    def _wrong(
        self, snapshot: Snapshot, file: MemoryFile, record: FileRecord | None
    ) -> _Problem | None:
        """Return what is wrong with the chunks of a file; None for nothing."""
        if record is None:
            read = self._read(file)
            if isinstance(read, str):
                return _Problem(file.path, read, "unread")
            return _Problem(file.path, _STALE, "stale")
        stored = snapshot.chunks_of(file.path)
        identity = snapshot.identity
        if identity is None or not all(_has_shape(it, identity.dimension) for _, it in stored):
            return _Problem(file.path, "its vectors in the index are damaged", "damaged")
        before = record.size, record.mtime_ns, record.stamp
        changed = (file.size, file.mtime_ns, file.stamp) != before
        if changed and file.source == "sessions":
            return None  # the next run reads on where the last one stopped
        read = self._read(file)
        if isinstance(read, str):
            return _Problem(file.path, read, "unread")
        if read is None:
            return None
        now, chunks = read
        if now.hash != record.hash:
            if changed:
                return _Problem(file.path, _STALE, "stale")
            why = f"{_STALE}, and kept its size and its times"
            return _Problem(file.path, why, "unlike")
        same = _as_indexed(chunk for chunk, _ in stored) == _as_indexed(chunks)
        same = same and (file.source == "sessions" or _said_of(record) == _said_of(now))
        return None if same else _Problem(file.path, _UNLIKE, "unlike")

    def _read(self, file: MemoryFile) -> tuple[FileRecord, list[Chunk]] | str | None:
        """Read a file as a new one; return its record and its chunks, or why it cannot be read."""
        reasons: list[str] = []
        reader = DocumentReader(
            self._profile,
            completes=False,
            report=lambda _path, reason: reasons.append(reason),
            read=lambda it: read_text(it.absolute),
            store=self._store,
        )
        found: list[Chunk] = []
        record = None
        for document in reader.read(file, None):
            keep = document.part.keep_before if document.part else None
            found = [chunk for chunk in found if keep is not None and chunk.start_line < keep]
            found += document.chunks or ()
            record = document.record
        return next(iter(reasons), None) if record is None else (record, found)

    # -- journal and history ---------------------------------------------------------------------

    def _of_database(
        self, name: str, file: DatabaseFile, check: Callable[[], Iterator[_Problem]]
    ) -> Iterator[_Problem]:
        try:
            answers = [answer for (answer,) in file.rows("PRAGMA integrity_check(1)")]
            if answers not in ([], ["ok"]):
                yield _Problem(name, f"its file is damaged ({answers[0]})", "damaged")
            else:
                yield from check()
        except StateError as error:
            file.take_damage()  # it is this one
            yield _Problem(name, str(error), "damaged")
        if damage := file.take_damage():  # found by the open before, or by a look at it
            why = f"its file was damaged ({damage}); what could be read of it is in a new one"
            yield _Problem(name, why, "row")

    def _entries(self) -> Iterator[_Problem]:
        rows = self._state.rows(f"SELECT id, {ENTRY_COLUMNS} FROM flush_entries")
        self._report = replace(self._report, entries=len(rows))
        for number, *row in rows:
            try:
                parse_entry(number, row)
            except DAMAGE as error:
                yield _Problem("journal", f"entry {number} cannot be read ({error})", "row")

    def _versions(self) -> Iterator[_Problem]:
        count = sum(n for (n,) in self._history.rows("SELECT count(*) FROM version"))
        self._report = replace(self._report, versions=count)
        for row, path in damaged_versions(self._history):
            why = f"the text of version {row} of {path} is not the one that was kept"
            yield _Problem("history", why, "row")
        for path in altered_notes(self._history):
            why = f"times or kinds of versions of {path} are not as they were written"
            yield _Problem("history", f"{why}; they can only be taken as they are", "row")
        if damage := self._origins.damage():
            yield _Problem("history", f"the origins of lines are damaged: {damage.why}", "row")

    # -- repair ----------------------------------------------------------------------------------

    def _repaired(self, problems: list[_Problem]) -> list[_Problem]:
        """Mend what was found; return what is still wrong, or could not be mended."""
        kinds: dict[str, set[_Kind]] = {}
        for part, _, kind in problems:
            kinds.setdefault(part if part in ("journal", "history") else "index", set()).add(kind)
        failed: list[_Problem] = []
        mends = self._mend_index, self._mend_journal, self._mend_history
        for part, mend in zip(("index", "journal", "history"), mends, strict=True):
            if part in kinds:
                try:
                    mend(kinds[part])
                except CommonplaceError as error:
                    failed.append(_Problem(part, f"it could not be mended: {error}", "damaged"))
        return [*self._problems(), *failed]

    def _mend_index(self, kinds: set[_Kind]) -> None:
        if "damaged" in kinds and self._store.exists():
            error = IndexDamagedError(f"the index {self._store.location} did not stand a check.")
            self._store.recover(error, certain=True)
        elif "row" in kinds:
            for check in self._store.health_checks():
                if check.mend:
                    check.mend()
        self._reindex("unlike" in kinds)

    def _mend_journal(self, kinds: set[_Kind]) -> None:
        if "damaged" in kinds:
            _salvage(self._state)
        journal = Journal(self._state.path, workspace=str(self._workspace.root))
        with journal.lease() as lease:
            journal.adopt_damaged()
            for number in journal.pending():
                journal.claim(number, lease=lease)
            journal.release(lease)

    def _mend_history(self, kinds: set[_Kind]) -> None:
        if "damaged" in kinds:
            _salvage(self._history)
        if damaged := damaged_versions(self._history):
            remove_damaged_versions(self._history, [row for row, _ in damaged])
        if altered_notes(self._history):
            accept_versions(self._history)
        if damage := self._origins.damage():
            self._origins.mend(damage)


def _salvage(file: DatabaseFile) -> None:
    file.close()
    replace_damaged(file, StateError("it did not stand a check"))


def _said_of(record: FileRecord) -> tuple[object, ...]:
    """Return what a record says of a note, whenever it is read."""
    return record.source, record.day, record.note, record.metadata, record.expires_ms


def _as_indexed(chunks: Iterable[Chunk]) -> list[Chunk]:
    """Return chunks as an index has them: parts of one line with the same text are one row."""
    return list(dict.fromkeys(replace(chunk, labelled=False) for chunk in chunks))


def _has_shape(embedded: ChunkVectors | None, dimension: int | None) -> bool:
    """Return whether vectors have the index's dimension, whole lines and finite numbers."""
    if embedded is None:
        return True
    squared = float(embedded.vector @ embedded.vector)
    whole = not dimension or not len(embedded.lines or b"") % packed_size(dimension)
    return len(embedded.vector) == dimension and whole and math.isfinite(squared)
