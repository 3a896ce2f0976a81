"""Applying a plan: files are read, cut, embedded, and written a batch at a time."""

from __future__ import annotations

import functools
import hashlib
import itertools
import logging
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from commonplace.chunking.chunks import chunk_id, split_oversized
from commonplace.chunking.lines import line_units, pack_units, unit_texts
from commonplace.chunking.markdown import chunk_markdown
from commonplace.embeddings.encoder import Embedded as Answered
from commonplace.embeddings.encoder import EmbeddingRun, Encoder
from commonplace.errors import EmbedderError
from commonplace.indexing.diff import IndexPlan
from commonplace.indexing.keeping import OpenChunks
from commonplace.settings import Settings
from commonplace.store.base import (
    Embedded,
    FileRecord,
    IndexedChunk,
    IndexedFile,
    IndexIdentity,
    Store,
)
from commonplace.transcripts.parts import SessionPart, read_parts
from commonplace.transcripts.progress import SessionProgress
from commonplace.types import Chunk, IndexReport, MemoryFile
from commonplace.workspace.io import UnreadableFileError, read_text

if TYPE_CHECKING:
    from concurrent.futures import Future

    from commonplace.store.base import Vector

    _Again = tuple[MemoryFile, FileRecord | None, str]
    """A file to be read once more, its record, and why."""

__all__ = ["DimensionChangedError", "Indexer", "Progress", "text_hash"]

logger = logging.getLogger(__name__)

Progress = Callable[[int, int, str], None]
"""Called with how many files are done, how many there are, and the path of the last one."""

_BATCH_CHUNKS = 256
"""Chunks that are read and embedded together."""
_WRITE_CHUNKS = 2048
"""Chunks that are written in one transaction: each leaves a segment of words to be merged."""
_WRITE_AFTER_S = 1.0
"""What was embedded for so long is written, however little it is."""
_BATCH_FILES = 1024
_MAX_CHUNK_BYTES = 8000
"""A text above it is cut, as the reference does: no provider takes more than 8,192 tokens."""
_MAX_LINES_LEARNT = 50_000
"""Lines whose vectors are taken from what a run replaces; about 1 KiB each."""
_TRIES = 3
_LATER = "found by keywords only until the next run"
_LINES_BYTES = 32 * 2**20
"""Vectors of lines that are remembered while a run lasts, besides."""


class DimensionChangedError(Exception):
    """The embedder gives vectors of another length than the index holds: it has to be rebuilt."""


@dataclass(slots=True)
class _File:
    """A file that was read and cut; without chunks where the index has its text already.

    A session file may come in parts: `part` is this one, and `known` is whether the file was in the
    index before the first of them.
    """

    file: MemoryFile
    before: FileRecord | None
    record: FileRecord
    chunks: list[Chunk] | None
    embedded: list[Embedded | None] = field(default_factory=list)
    part: SessionPart | None = None
    known: bool = False

    @property
    def more(self) -> bool:
        """Whether another part of the file follows."""
        return self.part is not None and self.part.more

    @property
    def days(self) -> list[int | None]:
        """The day of each chunk."""
        if self.part is not None:
            return [day for _, day in self.part.chunks]
        return [self.record.day] * len(self.chunks or ())


@dataclass(slots=True)
class _Counts:
    added: int = 0
    updated: int = 0
    unchanged: int = 0
    embedded: int = 0
    cached: int = 0
    failed: list[tuple[str, str]] = field(default_factory=list)


class Indexer:
    """Writes files of a workspace into a store, in one run.

    Args:
        store: Where to.
        encoder: Who makes the vectors; None for none.
        settings: How files are cut and what is embedded.
        sources: Other indexes whose vectors may be taken over, such as the one being replaced.
        check: Called between the steps of a run; what it raises ends the run there, and what was
            written so far stays.
        absent: Why there is no encoder, where there is none.
    """

    def __init__(
        self,
        store: Store,
        *,
        encoder: Encoder | None,
        settings: Settings,
        sources: Sequence[Store] = (),
        check: Callable[[], object] = lambda: None,
        absent: str = "it was indexed without an embedder",
    ) -> None:
        self._store = store
        self._check = check
        self._absent = absent
        self._encoder = encoder
        self._settings = settings
        self._whole_chunks = settings.search.grain == "chunks"
        self._sources = [store, *sources]
        self._identity = store.identity
        # The end of a batch waits for its last requests: over a network, fewer ends are better.
        is_remote = encoder is not None and not encoder.is_local
        self._batch_chunks = 2 * _BATCH_CHUNKS if is_remote else _BATCH_CHUNKS
        self._embedding = EmbeddingRun(encoder) if encoder else None
        self._problem: EmbedderError | None = None
        """Why a part of the batch has no vectors."""
        self._passing: dict[str, MemoryFile] = {}
        """Files that lack vectors for a reason that may pass."""
        self._kept: list[str] = []
        """Chunks whose vectors are in the cache until their files are written."""
        self._is_again = False
        self._has_warned = False
        self._lines: dict[str, Vector] | None = None
        self._latest: list[dict[str, Embedded]] = [{}, {}]
        """The vectors of what is being written, and of what waits: neither can be looked up yet."""
        self._counts = _Counts()
        # Asked for when a chunk's lines are embedded, and again when the chunk is written.
        self._units = functools.lru_cache(maxsize=3 * _WRITE_CHUNKS)(line_units)

    def run(self, plan: IndexPlan, *, progress: Progress | None = None) -> IndexReport:
        """Apply a plan; a file that cannot be indexed is reported and never stops the others.

        Raises:
            DimensionChangedError: See there; what was written so far stays.
            StoreError: The index cannot be written.
        """
        started = time.monotonic()
        self._counts = counts = _Counts(unchanged=plan.unchanged)
        again = self._apply(plan, progress)
        for _ in range(_TRIES):  # files that somebody else wrote, from an older state of them
            again = self._apply(IndexPlan(tuple(again), (), 0), None)
        self._embed_what_failed()
        if plan.removed:
            # Last, so that a renamed file finds its vectors under the old name.
            self._store.write((), plan.removed)
        with self._store.reading() as reader:
            chunks = reader.chunk_count()
        return IndexReport(
            added=counts.added,
            updated=counts.updated,
            removed=len(plan.removed),
            unchanged=counts.unchanged,
            chunks=chunks,
            embedded=counts.embedded,
            cached=counts.cached,
            failed=tuple(dict.fromkeys(counts.failed)),
            seconds=time.monotonic() - started,
        )

    def lacking(self, plan: IndexPlan) -> dict[str, list[str]]:
        """Return the texts of the chunks of a plan that have no vectors yet, by the chunk's hash.

        Nothing is written. What is odd about files is told by the run that follows.
        """
        parts: dict[str, list[str]] = {}
        for _, _, batch in self._batches(plan):
            self._learn_lines(plan)
            wanted = {chunk.hash: chunk.text for item in batch for chunk in item.chunks or ()}
            known = self._known(list(wanted))
            parts |= {key: self._texts(text) for key, text in wanted.items() if key not in known}
        self._counts = _Counts()
        return parts

    def missing(self, parts: dict[str, list[str]]) -> list[str]:
        """Return the texts of chunks that have no vectors, each of them once."""
        learnt = self._lines or {}
        texts = dict.fromkeys(text for lines in parts.values() for text in lines)
        return [text for text in texts if text not in learnt]

    def take(self, parts: dict[str, list[str]], answers: Iterable[Answered]) -> int:
        """Put what was embedded ahead of a run in the cache; return how many texts that were."""
        learnt = self._lines or {}
        vectors = {
            text: learnt[text] for lines in parts.values() for text in lines if text in learnt
        }
        open_chunks = OpenChunks(parts, vectors)
        count = 0
        for answer in answers:
            self._learn_dimension(answer.vectors.shape[1])
            vectors |= zip(answer.texts, answer.vectors, strict=True)
            count += len(answer.texts)
            self._keep(open_chunks.closed_by(answer.texts), vectors)
        return count

    @property
    def failure(self) -> EmbedderError | None:
        """Why the embedder was given up during the run; None when it was not."""
        return self._embedding.failure if self._embedding else None

    def _embed_what_failed(self) -> None:
        """Ask once more, at the end of a run, for what failed for a reason that may have passed."""
        failed, self._passing = self._passing, {}
        if not failed or self._embedding is None or self._embedding.is_hopeless:
            return
        self._embedding.try_again()
        self._counts.failed = [
            one for one in self._counts.failed if one[0] not in failed or _LATER not in one[1]
        ]
        records = ((file, self._record(path)) for path, file in failed.items())
        read = tuple((file, record, "lacks vectors") for file, record in records)
        cached = self._counts.cached
        self._is_again = True
        try:
            self._apply(IndexPlan(read, (), 0), None)
        finally:
            self._is_again = False
            self._counts.cached = cached

    def _apply(self, plan: IndexPlan, progress: Progress | None) -> list[_Again]:
        """Read, embed and write; return what has to be done again.

        While some batches are written, which is SQLite's work, the next ones are read and embedded.
        """
        if not plan.read:
            return []
        from concurrent.futures import ThreadPoolExecutor

        again: list[_Again] = []
        waiting: list[_File] = []
        since = time.monotonic()
        with ThreadPoolExecutor(max_workers=1) as writer:
            written: Callable[[], list[_Again]] = list
            for done, path, batch in self._batches(plan):
                if any(item.chunks is not None for item in batch):
                    self._learn_lines(plan)
                    self._embed(batch)
                waiting += batch
                # Two parts of one file are never written at once: see `_batches`.
                more = bool(batch) and batch[-1].more
                if more or done == len(plan.read) or _is_due(waiting, since):
                    again += written()
                    self._latest = [self._latest[1], {}]
                    writing = writer.submit(self._write, waiting)
                    written = functools.partial(self._settle, waiting, writing)
                    waiting, since = [], time.monotonic()
                if progress is not None:
                    progress(done, len(plan.read), path)
            again += written()
            return list({item[0].path: item for item in again}.values())

    # -- reading -------------------------------------------------------------------------------

    def _batches(self, plan: IndexPlan) -> Iterator[tuple[int, str, list[_File]]]:
        """Yield how many files of the plan are read, the last one, and what is to be written."""
        batch: list[_File] = []
        chunks = 0
        for done, (file, before, _) in enumerate(plan.read):
            self._check()
            for item in self._items(file, before):
                batch.append(item)
                chunks += len(item.chunks or ())
                full = chunks >= self._batch_chunks or len(batch) >= _BATCH_FILES
                # A part is written before the next one of its file, which goes on from its record.
                if item.more or (full and done + 1 < len(plan.read)):
                    yield done + (not item.more), file.path, batch
                    batch, chunks = [], 0
                    self._check()
        yield len(plan.read), plan.read[-1][0].path, batch

    def _items(self, file: MemoryFile, before: FileRecord | None) -> Iterator[_File]:
        if file.source == "sessions":
            yield from self._parts(file, before)
        elif (item := self._read(file, before)) is not None:
            yield item

    def _parts(self, file: MemoryFile, before: FileRecord | None) -> Iterator[_File]:
        """Read what is new in a session file, a part after the other."""
        known = before is not None
        parts = read_parts(
            file.absolute,
            SessionProgress.of(before),
            settings=self._settings,
            day=file.date.toordinal() if file.date else None,
            completes=self._encoder is not None,
            max_bytes=_MAX_CHUNK_BYTES,
        )
        try:
            for part in parts:
                item = self._part(file, before, part, known=known)
                yield item
                before = item.record
        except FileNotFoundError:
            return  # it vanished between the walk and now; the next run removes its rows
        except UnreadableFileError as error:
            self._counts.failed.append((file.path, str(error)))

    def _part(
        self, file: MemoryFile, before: FileRecord | None, part: SessionPart, *, known: bool
    ) -> _File:
        if part.note and not part.more:
            self._counts.failed.append((file.path, part.note))
        progress, pending = part.progress, None
        left_day = before.day if before and part.keep_before is not None else None
        left = SessionProgress.of(before)
        later = left and left.lacking and part.start.line > left.lacking.line
        if before and left and (progress.lacking or later):
            # What an earlier run, or an earlier part of this one, left without vectors.
            progress, pending = replace(progress, lacking=left.lacking), before.pending
        record = FileRecord(
            path=file.path,
            source=file.source,
            hash=part.hash,
            size=part.size,
            mtime_ns=part.mtime_ns,
            indexed_ns=time.time_ns(),
            day=next((day for _, day in reversed(part.chunks) if day), left_day),
            pending=pending,
            note=part.note,
            progress=progress.note(),
        )
        same = before is not None and before.hash == record.hash and not (known and before.pending)
        chunks = None if same else [chunk for chunk, _ in part.chunks]
        return _File(file, before, record, chunks, part=part, known=known)

    def _read(self, file: MemoryFile, before: FileRecord | None) -> _File | None:
        """Read and cut a file; None when that is not possible."""
        indexed_ns = time.time_ns()
        try:
            read = read_text(file.absolute)
        except FileNotFoundError:
            return None  # it vanished between the walk and now; the next run removes its rows
        except UnreadableFileError as error:
            self._counts.failed.append((file.path, str(error)))
            return None
        if read.note:
            self._counts.failed.append((file.path, read.note))
        record = FileRecord(
            path=file.path,
            source=file.source,
            hash=text_hash(read.text),
            size=read.size,
            mtime_ns=read.mtime_ns,
            indexed_ns=indexed_ns,
            day=file.date.toordinal() if file.date else None,
            note=read.note,
        )
        known = before is not None
        if before and before.hash == record.hash and not before.pending:
            return _File(file, before, record, None, known=known)
        return _File(file, before, record, self._cut(read.text), known=known)

    def _cut(self, text: str) -> list[Chunk]:
        chunks = chunk_markdown(text, self._settings.chunking)
        return split_oversized([c for c in chunks if c.text.strip()], _MAX_CHUNK_BYTES)

    # -- vectors -------------------------------------------------------------------------------

    def _embed(self, batch: list[_File]) -> None:
        """Give each chunk of a batch its vectors: from the index, the cache, or the embedder."""
        embedded_before = self._counts.embedded
        wanted = {chunk.hash: chunk.text for item in batch for chunk in item.chunks or ()}
        latest = self._latest[0] | self._latest[1]
        vectors = {key: latest[key] for key in wanted if key in latest}
        vectors |= self._known([key for key in wanted if key not in vectors])
        at_hand = {text for key in vectors for text in self._texts(wanted[key])}
        self._counts.cached += len(at_hand)
        missing = {key: text for key, text in wanted.items() if key not in vectors}
        made, lacking, problem = self._made(missing)
        vectors |= made
        whole = {key: found for key, found in vectors.items() if key not in lacking}
        self._latest[1].update(whole)
        gained = self._counts.embedded > embedded_before
        for item in batch:
            if item.chunks is None:
                continue
            item.embedded = [vectors.get(chunk.hash) for chunk in item.chunks]
            if any(chunk.hash in lacking for chunk in item.chunks):
                self._leave_pending(item, problem, gained=gained)

    def _leave_pending(self, item: _File, problem: str | None, *, gained: bool) -> None:
        item.record = replace(item.record, pending=f"has no vectors yet: {problem}")
        if item.part is not None and (progress := SessionProgress.of(item.record)):
            lacking = progress.lacking or item.part.start
            item.record = replace(item.record, progress=replace(progress, lacking=lacking).note())
        if self._encoder is not None:
            self._counts.failed.append((item.file.path, f"{_LATER}: {problem}"))
            if self._problem is not None and self._problem.temporary:
                self._passing[item.file.path] = item.file
        if item.before and item.before.hash == item.record.hash and not gained:
            item.chunks = None  # its rows are as good as these

    def _known(self, hashes: list[str]) -> dict[str, Embedded]:
        """Look up the vectors of chunk texts."""
        identity = self._identity
        known: dict[str, Embedded] = {}
        if identity is None:
            return known
        if identity.dimension is None and self._encoder is not None:
            identity = replace(identity, dimension=self._encoder.dimension)
        for source in self._sources:
            missing = [key for key in hashes if key not in known]
            if missing:
                with source.reading() as reader:
                    known |= reader.embedded(missing, identity)
        return {key: embedded for key, embedded in known.items() if _is_whole(embedded)}

    def _made(self, missing: dict[str, str]) -> tuple[dict[str, Embedded], set[str], str | None]:
        """Embed chunk texts, as far as the embedder answers.

        Returns:
            The vectors; which chunks lack all or some of theirs; and why they do.
        """
        parts = {key: self._texts(text) for key, text in missing.items()}
        texts = dict.fromkeys(text for lines in parts.values() for text in lines)
        learnt = self._lines or {}
        vectors = {text: learnt[text] for text in texts if text in learnt}
        self._counts.cached += len(vectors)
        problem = self._call_for([text for text in texts if text not in vectors], vectors, parts)
        lacking = {key for key, lines in parts.items() if not all(map(vectors.__contains__, lines))}
        some = {key: lines for key, lines in parts.items() if any(map(vectors.__contains__, lines))}
        return (self._combined(some, vectors) if some else {}), lacking, problem

    def _call_for(
        self, texts: list[str], vectors: dict[str, Vector], parts: dict[str, list[str]]
    ) -> str | None:
        """Embed texts into `vectors`, as far as the embedder answers; return why not all of them.

        What a service has made is kept at once: it was paid for.
        """
        if self._embedding is None:
            return self._absent
        keeps = not self._embedding.encoder.is_local
        open_chunks = OpenChunks(parts, vectors) if keeps else None
        problem: EmbedderError | None = None
        for answer in self._embedding.send(texts):
            self._check()
            if answer.error is not None:
                if problem is None or answer.error.temporary > problem.temporary:
                    problem = answer.error
                continue
            self._learn_dimension(answer.vectors.shape[1])
            vectors |= zip(answer.texts, answer.vectors, strict=True)
            self._counts.embedded += len(answer.texts)
            if open_chunks is not None:
                self._keep(open_chunks.closed_by(answer.texts), vectors)
        self._remember(vectors)
        self._problem = problem
        if problem is not None and not self._has_warned:
            self._has_warned = True
            logger.warning("indexing goes on without some vectors for now: %s", problem)
        return None if problem is None else str(problem)

    def _keep(self, whole: dict[str, list[str]], vectors: dict[str, Vector]) -> None:
        """Put the vectors of chunks in the cache until their files are written."""
        if whole:
            some = {text: vectors[text] for lines in whole.values() for text in lines}
            self._store.keep(self._combined(whole, some))
            self._kept += whole

    def _remember(self, vectors: dict[str, Vector]) -> None:
        """Remember the vectors of lines for the rest of the run: many lines occur again."""
        if self._whole_chunks or self._lines is None or not vectors:
            return
        size = 4 * len(next(iter(vectors.values())))
        room = _LINES_BYTES // size - len(self._lines)
        if room > 0:
            self._lines.update(itertools.islice(vectors.items(), room))

    def _learn_dimension(self, dimension: int) -> None:
        assert self._identity is not None
        if self._identity.dimension is None:
            self._identity = replace(self._identity, dimension=dimension)
            self._store.set_identity(self._identity)
        elif self._identity.dimension != dimension:
            raise DimensionChangedError

    def _texts(self, text: str) -> list[str]:
        """The texts of a chunk that are embedded: its lines, or the whole of it."""
        if self._whole_chunks:
            return [text]
        return unit_texts(text, self._units(text))

    def _combined(
        self, parts: dict[str, list[str]], vectors: dict[str, Vector]
    ) -> dict[str, Embedded]:
        """The vectors of chunks; with lines as the grain, a chunk's is the mean of its lines'."""
        import numpy as np

        if self._whole_chunks:
            return {key: Embedded(vectors[lines[0]]) for key, lines in parts.items()}
        # All chunks at once; a line that has no vector yet is near to nothing.
        nothing = np.zeros_like(next(iter(vectors.values())))
        every = [line for lines in parts.values() for line in lines]
        rows = [vectors.get(line, nothing) for line in every]
        matrix = np.concatenate(rows).reshape(len(rows), -1)
        weights = np.array([len(line) for line in every], dtype=np.float32)
        ends = list(itertools.accumulate(len(lines) for lines in parts.values()))
        spans = list(zip([0, *ends], ends, strict=False))
        means = np.array([weights[start:end] @ matrix[start:end] for start, end in spans])
        norms = np.linalg.norm(means, axis=1, keepdims=True)
        means /= np.where(norms > 0, norms, 1.0)
        made = zip(parts, means, spans, strict=True)
        return {key: Embedded(mean, matrix[start:end]) for key, mean, (start, end) in made}

    def _learn_lines(self, plan: IndexPlan) -> None:
        """Remember, once, the lines' vectors of all that the plan replaces: most lines stay.

        All of it before the first file is written: a text may move from any file to any other.
        """
        if self._lines is not None:
            return
        self._lines = {}
        if self._whole_chunks or not _has_vectors(self._identity):
            return
        places = [
            (file.path, _end_of(before)) for file, before, _ in plan.read if before is not None
        ]
        with self._store.reading() as reader:
            for path, line in [*places, *((path, None) for path in plan.removed)]:
                for chunk, embedded in reader.chunks_of(path, from_line=line):
                    self._learn_lines_of(chunk, embedded)
                if len(self._lines) > _MAX_LINES_LEARNT:
                    break

    def _learn_lines_of(self, chunk: Chunk, embedded: Embedded | None) -> None:
        texts = self._texts(chunk.text)
        if embedded and embedded.lines is not None and len(texts) == len(embedded.lines):
            assert self._lines is not None
            made = zip(texts, embedded.lines, strict=True)
            self._lines.update((text, vector) for text, vector in made if vector.any())

    # -- writing -------------------------------------------------------------------------------

    def _write(self, batch: list[_File]) -> set[str]:
        """Write a batch; return the paths that somebody else wrote meanwhile."""
        model = (self._identity and self._identity.model) or "fts-only"
        files = [
            IndexedFile(
                item.record,
                None if item.chunks is None else self._rows(item, model),
                item.before.indexed_ns if item.before else None,
                item.part.keep_before if item.part else None,
            )
            for item in batch
        ]
        return set(self._store.write(files)) if files else set()

    def _settle(self, batch: list[_File], writing: Future[set[str]]) -> list[_Again]:
        """Wait for a batch to be written; return what somebody else wrote an older state of."""
        skipped = writing.result()
        if self._kept:
            self._drop_kept([item for item in batch if item.file.path not in skipped])
        again = []
        for item in batch:
            if item.file.path not in skipped:
                self._count(item)
            elif (now := self._record(item.file.path)) and now.indexed_ns >= item.record.indexed_ns:
                self._counts.unchanged += 1
            else:
                again.append((item.file, now, "was written by somebody else"))
        return again

    def _drop_kept(self, written: list[_File]) -> None:
        indexed = {chunk.hash for item in written for chunk in item.chunks or ()}
        self._store.keep({}, drop=[key for key in self._kept if key in indexed])
        self._kept = [key for key in self._kept if key not in indexed]

    def _rows(self, item: _File, model: str) -> list[IndexedChunk]:
        """The rows of a file; parts of one line with the same text are one row."""
        record = item.record
        rows: dict[str, IndexedChunk] = {}
        embedded = item.embedded or [None] * len(item.chunks or ())
        days = item.days if item.chunks else []
        for chunk, vectors, day in zip(item.chunks or (), embedded, days, strict=True):
            row_id = chunk_id(record.source, record.path, chunk, model)
            units = b"" if self._whole_chunks else pack_units(self._units(chunk.text))
            rows.setdefault(row_id, IndexedChunk(row_id, chunk, vectors, day, units))
        return list(rows.values())

    def _count(self, item: _File) -> None:
        if item.more or self._is_again:
            return  # what is tried again was counted before
        if not item.known:
            self._counts.added += 1
        elif item.chunks is None:
            self._counts.unchanged += 1
        else:
            self._counts.updated += 1

    def _record(self, path: str) -> FileRecord | None:
        with self._store.reading() as reader:
            return reader.file(path)


def _is_due(waiting: Sequence[_File], since: float) -> bool:
    """Tell whether what waits to be written is much, or old, or a file of which more follows."""
    return (
        time.monotonic() - since > _WRITE_AFTER_S
        or len(waiting) >= _BATCH_FILES
        or waiting[-1].more
        or sum(len(item.chunks or ()) for item in waiting) >= _WRITE_CHUNKS
    )


def _has_vectors(identity: IndexIdentity | None) -> bool:
    return identity is not None and bool(identity.dimension)


def _end_of(record: FileRecord) -> int | None:
    """Return the line from which on a run replaces a file's chunks; None for all of them."""
    progress = SessionProgress.of(record)
    return progress.tail.line if progress else None


def _is_whole(embedded: Embedded) -> bool:
    """Tell whether each line has a vector; see `Indexer._combined`."""
    return embedded.lines is None or bool(embedded.lines.any(axis=1).all())


def text_hash(text: str) -> str:
    """Name a text: SHA-256 of it in UTF-8."""
    return hashlib.sha256(text.encode("utf-8", "replace")).hexdigest()
