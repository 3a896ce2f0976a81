"""Index pipeline: files are read, embedded and written, a batch at a time."""

from __future__ import annotations

import contextvars
import functools
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Literal

from commonplace.embeddings.client import EmbeddingClient
from commonplace.errors import EmbedderError
from commonplace.indexing.chunk_embedder import ChunkEmbedder, EmbeddedBatch
from commonplace.indexing.document_reader import DocumentReader, TextRecorder
from commonplace.indexing.planner import IndexPlan, is_current
from commonplace.indexing.published_files import with_notes
from commonplace.indexing.read_document import ReadDocument
from commonplace.store.base import Store
from commonplace.store.records import FileRecord, IndexedFile
from commonplace.transcripts.cursor import ReadCursor
from commonplace.types import IndexReport, MemoryFile
from commonplace.workspace.file_text import FileText, read_text

if TYPE_CHECKING:
    from concurrent.futures import Future

    from commonplace.profiles import Profile
    from commonplace.workspace.discovery import Scan

    _Again = tuple[MemoryFile, FileRecord | None, str]
    """A file to be read again, its record, and the reason."""

__all__ = ["IndexPipeline", "Progress"]

Progress = Callable[[int, int, str], None]
"""Called with the files done, the files to do, and the path of the last one."""

_BATCH_CHUNKS = 256
"""Chunks that are read and embedded together."""
_WRITE_CHUNKS = 2048
"""Chunks that are written in one transaction: each leaves an FTS5 segment to be merged."""
_IDLE = 4
"""Divisor of `_WRITE_CHUNKS` for a transaction that begins while nothing is being written."""
_WRITE_AFTER_S = 1.0
"""Chunks that were embedded this long ago are written, however few they are."""
_BATCH_FILES = 1024
_TRIES = 3
_LATER = "found by keywords only until the next run"


@dataclass(slots=True)
class _Counts:
    added: int = 0
    updated: int = 0
    unchanged: int = 0
    embedded: int = 0
    cached: int = 0
    failed: list[tuple[str, str]] = field(default_factory=list)


class IndexPipeline:
    """Pipeline of one run: reads files of a workspace, embeds their chunks, writes them to a store.

    Args:
        store: The index.
        client: Embeds the chunks; None leaves them without vectors.
        profile: Rules by which files are read and cut.
        unit: Embedded unit, ``line`` or ``chunk``.
        sources: Other indexes whose vectors may be taken over, such as the one being replaced.
        check: Called between the steps of a run; what it raises ends the run, and what was written
            so far stays.
        absent: The reason, where there is no client.
        recorder: Keeps the texts.
        read: Reads a note; from the disk by default.

    Attributes:
        vectors: Embeds the chunks.
    """

    def __init__(
        self,
        store: Store,
        *,
        client: EmbeddingClient | None,
        profile: Profile,
        unit: Literal["line", "chunk"],
        sources: Sequence[Store] = (),
        check: Callable[[], object] = lambda: None,
        absent: str = "it was indexed without an embedder",
        recorder: TextRecorder | None = None,
        read: Callable[[MemoryFile], FileText] = lambda file: read_text(file.absolute),
    ) -> None:
        self._store = store
        self._recorder = recorder
        self._check = check
        self._client = client
        self._reader = DocumentReader(
            profile,
            completes=client is not None,
            report=self._failed,
            read=read,
            store=store,
            recorder=recorder,
        )
        self.vectors = ChunkEmbedder(
            store,
            client=client,
            whole_chunks=unit == "chunk",
            sources=sources,
            check=check,
            absent=absent,
        )
        # The end of a batch waits for its last requests: over a network, fewer ends are faster.
        is_remote = client is not None and not client.is_local
        self._batch_chunks = 2 * _BATCH_CHUNKS if is_remote else _BATCH_CHUNKS
        self._passing: dict[str, MemoryFile] = {}
        """Files that lack vectors for a temporary reason."""
        self._is_again = False
        self._counts = _Counts()

    def run(self, plan: IndexPlan, *, progress: Progress | None = None) -> IndexReport:
        """Apply a plan; a file that cannot be indexed is reported and never stops the others.

        Raises:
            DimensionChangedError: See there; what was written so far stays.
            StoreError: The index cannot be written.
        """
        started = time.monotonic()
        self._counts = counts = _Counts(unchanged=plan.unchanged)
        again = self._apply(plan, progress)
        for _ in range(_TRIES):  # files that another writer indexed from an older state of them
            again = self._apply(IndexPlan(tuple(again), (), 0), None)
        self._embed_what_failed()
        # Last, so that a renamed file finds its vectors under the old name; 64 at a time.
        removed = sum(
            self._remove(plan.removed[at : at + 64]) for at in range(0, len(plan.removed), 64)
        )
        with self._store.snapshot() as snapshot:
            chunks = snapshot.chunk_count()
        return IndexReport(
            added=counts.added,
            updated=counts.updated,
            removed=removed,
            unchanged=counts.unchanged,
            chunks=chunks,
            embedded=counts.embedded,
            cached=counts.cached,
            failed=tuple(dict.fromkeys(counts.failed)),
            seconds=time.monotonic() - started,
        )

    def _remove(self, records: Sequence[FileRecord]) -> int:
        """Remove files, but for those that another writer has indexed since the plan was made."""
        with self._store.snapshot() as snapshot:
            gone = [one.path for one in records if snapshot.file(one.path) == one]
        self._store.write((), gone)
        return len(gone)

    def record_scan(self, scan: Scan) -> None:
        """Note, at the end of a run, which files are gone, and keep texts that were never met."""
        if self._recorder is not None:
            self._recorder.reconcile(scan)

    def lacking(self, plan: IndexPlan) -> dict[str, list[str]]:
        """Return the texts of the chunks of a plan that have no vectors yet, by the chunk's hash.

        Nothing is written. Problems of files are reported by the run that follows.
        """
        parts: dict[str, list[str]] = {}
        for _, _, batch in self._batches(plan):
            self.vectors.reuse_lines(plan, batch)
            parts |= self.vectors.lacking(_texts(batch))
        self._counts = _Counts()
        return parts

    @property
    def failure(self) -> EmbedderError | None:
        """Failure that ended embedding during the run; None without one."""
        return self.vectors.failure

    def _embed_what_failed(self) -> None:
        """Retry, at the end of a run, the files whose embedding failed for a temporary reason."""
        failed, self._passing = self._passing, {}
        if not failed or not self.vectors.retry():
            return
        self._counts.failed = [
            one for one in self._counts.failed if one[0] not in failed or _LATER not in one[1]
        ]
        records = ((file, self._record(path)) for path, file in failed.items())
        read = tuple((file, record, "lacks vectors") for file, record in records)
        self._is_again = True
        try:
            self._apply(IndexPlan(read, (), 0), None)
        finally:
            self._is_again = False

    def _apply(self, plan: IndexPlan, progress: Progress | None) -> list[_Again]:
        """Read, embed and, in a thread meanwhile, write; return what has to be repeated."""
        if not plan.read:
            return []
        from commonplace.indexing.executors import executor_for

        again: list[_Again] = []
        waiting: list[ReadDocument] = []
        since = time.monotonic()
        with executor_for(len(plan.read)) as writer:
            run = contextvars.copy_context().run
            writing: Future[set[str]] = writer.submit(set)
            written: Callable[[], list[_Again]] = list
            for done, path, batch in self._batches(plan):
                if any(item.chunks is not None for item in batch):
                    self.vectors.reuse_lines(plan, batch)
                    self._embed(batch)
                waiting += batch
                # Two parts of one file are never written at once: see `_batches`.
                more = bool(batch) and batch[-1].more
                enough = _WRITE_CHUNKS // _IDLE if writing.done() else _WRITE_CHUNKS
                if more or done == len(plan.read) or _is_due(waiting, since, chunks=enough):
                    again += written()
                    self.vectors.begin_writing()
                    writing = writer.submit(run, self._write, waiting, self._planned(waiting))
                    written = functools.partial(self._settle, waiting, writing)
                    waiting, since = [], time.monotonic()
                if progress is not None:
                    progress(done, len(plan.read), path)
            again += written()
            return list({item[0].path: item for item in again}.values())

    def _batches(self, plan: IndexPlan) -> Iterator[tuple[int, str, list[ReadDocument]]]:
        """Yield the number of files read so far, the last one's path, and a batch to be written."""
        batch: list[ReadDocument] = []
        chunks = 0
        for done, (file, before, _) in enumerate(plan.read):
            self._check()
            for item in self._reader.read(file, before):
                batch.append(item)
                chunks += len(item.chunks or ())
                full = chunks >= self._batch_chunks or len(batch) >= _BATCH_FILES
                # A part is written before the next one of its file, which goes on from its record.
                if item.more or (full and done + 1 < len(plan.read)):
                    yield done + (not item.more), file.path, batch
                    batch, chunks = [], 0
                    self._check()
        yield len(plan.read), plan.read[-1][0].path, batch

    # -- vectors -------------------------------------------------------------------------------

    def _embed(self, batch: list[ReadDocument]) -> None:
        embedded = self.vectors.embed(_texts(batch))
        self._counts.embedded += embedded.embedded
        if not self._is_again:
            self._counts.cached += embedded.cached
        for item in batch:
            if item.chunks is None:
                continue
            item.embedded = [embedded.vectors.get(chunk.hash) for chunk in item.chunks]
            if any(chunk.hash in embedded.lacking for chunk in item.chunks):
                self._leave_pending(item, embedded)

    def _leave_pending(self, item: ReadDocument, embedded: EmbeddedBatch) -> None:
        item.record = replace(item.record, pending=f"has no vectors yet: {embedded.problem}")
        if item.part is not None and (cursor := ReadCursor.from_record(item.record)):
            first = cursor.first_unembedded or item.part.start
            cursor = replace(cursor, first_unembedded=first)
            item.record = replace(item.record, progress=cursor.to_json())
        if self._client is not None:
            self._failed(item.file.path, f"{_LATER}: {embedded.problem}")
            if embedded.temporary:
                self._passing[item.file.path] = item.file
        if item.before and item.before.hash == item.record.hash and not embedded.embedded:
            item.chunks = None  # the rows in the index are the same

    def _failed(self, path: str, why: str) -> None:
        self._counts.failed.append((path, why))

    # -- writing -------------------------------------------------------------------------------

    def _write(self, batch: list[ReadDocument], files: list[IndexedFile]) -> set[str]:
        """Write files; return the paths that another writer changed meanwhile."""
        if self._recorder is not None:
            self._recorder.record(batch)  # first: a file that is indexed is not read again
            if "publication" in self._store.capabilities:
                files = with_notes(batch, files, self._recorder)
        return set(self._store.write(files)) if files else set()

    def _planned(self, batch: list[ReadDocument]) -> list[IndexedFile]:
        """Return the files of a batch with their rows."""
        model = self.vectors.model or "fts-only"
        return [
            IndexedFile(
                item.record,
                None if item.chunks is None else item.rows(model, self.vectors.packed_units),
                item.before.indexed_ns if item.before else None,
                item.part.keep_before if item.part else None,
                item.window(model),
            )
            for item in batch
        ]

    def _settle(self, batch: list[ReadDocument], writing: Future[set[str]]) -> list[_Again]:
        """Wait for a batch to be written; return the files of which an older state was written."""
        skipped = writing.result()
        written = (item for item in batch if item.file.path not in skipped)
        self.vectors.drop_kept(chunk.hash for item in written for chunk in item.chunks or ())
        again = []
        for item in batch:
            if item.file.path not in skipped:
                self._count(item)
            elif (now := self._record(item.file.path)) and is_current(now, item.file.absolute):
                self._counts.unchanged += 1
            else:
                again.append((item.file, now, "was written by another process"))
        return again

    def _count(self, item: ReadDocument) -> None:
        if item.more or self._is_again:
            return  # a retry was counted before
        if not item.known:
            self._counts.added += 1
        elif item.chunks is None:
            self._counts.unchanged += 1
        else:
            self._counts.updated += 1

    def _record(self, path: str) -> FileRecord | None:
        with self._store.snapshot() as snapshot:
            return snapshot.file(path)


def _texts(batch: Iterable[ReadDocument]) -> dict[str, str]:
    return {chunk.hash: chunk.text for item in batch for chunk in item.chunks or ()}


def _is_due(waiting: Sequence[ReadDocument], since: float, *, chunks: int) -> bool:
    """Return whether a batch is to be written: it is large, or old, or more of its file follows."""
    return (
        time.monotonic() - since > _WRITE_AFTER_S
        or len(waiting) >= _BATCH_FILES
        or waiting[-1].more
        or sum(len(item.chunks or ()) for item in waiting) >= chunks
    )
