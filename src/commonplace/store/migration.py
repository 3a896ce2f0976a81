"""Migration of an index to another engine: chunks and vectors are copied, none is embedded again.

The copy is made beside what the target holds, compared with the source row by row, and then takes
its place in one step. A migration that was interrupted goes on where it ended.
"""

from __future__ import annotations

import contextlib
import os
import re
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from commonplace.errors import IndexDamagedError, StoreError
from commonplace.settings import CacheSettings
from commonplace.store.base import Snapshot, Store
from commonplace.store.publication import publication_of
from commonplace.store.records import FileRecord, IndexedChunk, IndexedFile, IndexIdentity, Totals
from commonplace.store.registry import open_store
from commonplace.text.analysis import Term

__all__ = ["MigrationReport", "migrate"]

Progress = Callable[[int, int, str], None]
"""Called with the files done, the files to do, and the path of the last one; each file is done
twice: copied and compared."""

_WRITE_CHUNKS = 2048
"""Chunks that are written in one transaction."""
_LEASE_S = 10.0
_SWAP_S = 3600.0
_WORDS_COMPARED = 64
"""Words whose document frequencies are compared."""


@dataclass(frozen=True, slots=True)
class MigrationReport:
    """Result of a migration.

    Attributes:
        source: Where the index is that was read, without credentials; it is as it was.
        target: Where the same index is now, without credentials.
        files: Files in it.
        chunks: Chunks in it.
        vectors: Chunks of them that have vectors.
        copied: Chunks that were copied now; fewer where an interrupted migration went on.
        seconds: How long it took.
    """

    source: str
    target: str
    files: int
    chunks: int
    vectors: int
    copied: int
    seconds: float


def migrate(
    source: str | os.PathLike[str],
    target: str | os.PathLike[str],
    *,
    replace: bool = False,
    keep_cache: int = CacheSettings().max_entries,
    progress: Progress | None = None,
) -> MigrationReport:
    """Copy a complete index to another engine, and compare the two.

    Notes, history and state are not part of an index and stay where they are. So do the cached
    vectors of texts that are in no note any more.

    Args:
        source: Path or URL of the index, as `commonplace.Memory.open` takes it; it is only read.
        target: Path or URL of the index to be made.
        replace: Whether an index that the target holds is replaced; its vectors go to the cache.
        keep_cache: Texts whose vectors the target's cache may hold.
        progress: Called after each file, with the files done and to do; each is done twice.

    Raises:
        StoreError: Nothing was completely indexed at the source; the target holds an index, or is
            being written; changes of hosts without the folder wait in one of the two; one cannot be
            opened; or they were not equal in the end. The target is then what it was before.
    """
    with (
        contextlib.closing(open_store(source)) as read,
        contextlib.closing(open_store(target)) as written,
    ):
        return _Migration(read, written, progress or (lambda *_: None)).run(
            replace=replace, keep_cache=keep_cache
        )


class _DifferentError(StoreError):
    """The copy is not what was copied."""


class _Migration:
    def __init__(self, source: Store, target: Store, progress: Progress) -> None:
        self._source = source
        self._target = target
        self._progress = progress

    def run(self, *, replace: bool, keep_cache: int) -> MigrationReport:
        started = time.monotonic()
        self._check_source()
        target = self._target
        with target.lease("run", timeout_s=_LEASE_S), self._source.snapshot() as snapshot:
            identity, records = snapshot.identity, snapshot.files()
            assert identity is not None
            held = target.identity
            if held is not None and not replace:
                raise self._not_empty(held, identity)
            _check_inbox(self._source)
            _check_inbox(target)
            rebuild = target.begin_rebuild(identity, restart=False, keep_cache=keep_cache)
            with contextlib.closing(rebuild):
                shadow = rebuild.store
                try:
                    copied = self._copy(snapshot, shadow, records)
                    shadow.mark_complete()
                    totals = self._compare(snapshot, shadow, records)
                except (_DifferentError, IndexDamagedError):
                    rebuild.abandon(keep_cache=0)  # the next attempt copies all again
                    raise
                with target.lease("swap", timeout_s=_SWAP_S):
                    rebuild.commit(keep_cache=keep_cache)
        seconds = time.monotonic() - started
        return MigrationReport(
            self._source.location,
            target.location,
            totals.files,
            totals.chunks,
            totals.vectors,
            copied,
            seconds,
        )

    def _check_source(self) -> None:
        source, target = self._source.location, self._target.location
        if source == target:
            raise StoreError(f"the index {source} was to be migrated to itself; name another one.")
        if target.startswith("memory://"):
            raise StoreError(
                "an index in memory is gone with its process; migrate to a file (sqlite:///PATH) "
                "or a server (postgresql://...)."
            )
        if not self._source.exists() or self._source.identity is None:
            raise StoreError(
                f"there is no index at {source}; run 'commonplace index', or name the index that "
                "is to be read."
            )
        if not self._source.complete:
            raise StoreError(
                f"the index {source} was never completed; run 'commonplace index', then migrate."
            )

    def _not_empty(self, held: IndexIdentity, identity: IndexIdentity) -> StoreError:
        with self._target.snapshot() as snapshot:
            chunks = snapshot.totals().chunks
        kind = "the same settings and model" if held.fits(identity) else _other(held, identity)
        return StoreError(
            f"the target {self._target.location} holds an index of {chunks:,} chunks already, with "
            f"{kind}. Replace it (--replace), or name a target that is new."
        )

    def _copy(self, snapshot: Snapshot, shadow: Store, records: Mapping[str, FileRecord]) -> int:
        """Write what the shadow index does not hold yet; return the number of chunks."""
        with shadow.snapshot() as before:
            held = before.files()
        if gone := sorted(held.keys() - records.keys()):
            shadow.write((), removed=gone)
        # In the order in which they were indexed: among equals, what is newer comes first.
        ordered = sorted(records.values(), key=lambda record: (record.indexed_ns, record.path))
        batch: list[IndexedFile] = []
        copied = waiting = 0
        for done, record in enumerate(ordered, 1):
            known = held.get(record.path)
            if known != record:
                chunks = _chunks(snapshot, record.path)
                replaces = None if known is None else known.indexed_ns
                batch.append(IndexedFile(record, chunks, replaces))
                waiting += len(chunks)
            if batch and (waiting >= _WRITE_CHUNKS or done == len(ordered)):
                _write(shadow, batch)
                copied += waiting
                batch, waiting = [], 0
            self._progress(done, 2 * len(ordered), record.path)
        return copied

    def _compare(
        self, snapshot: Snapshot, shadow: Store, records: Mapping[str, FileRecord]
    ) -> Totals:
        """Compare both indexes, each file, chunk and vector; return the number of them."""
        with shadow.snapshot() as copy:
            totals = snapshot.totals()
            _expect("totals", totals, copy.totals())
            _expect("files", dict(records), copy.files())
            words: dict[str, None] = {}
            for done, path in enumerate(records, 1):
                ours = _chunks(snapshot, path)
                _expect(path, list(map(_values, ours)), list(map(_values, _chunks(copy, path))))
                if ours and len(words) < _WORDS_COMPARED:
                    words |= dict.fromkeys(re.findall(r"\w+", ours[0].chunk.text)[:2])
                self._progress(len(records) + done, 2 * len(records), path)
            terms = [Term(word, word) for word in words]
            _expect("words", snapshot.frequencies(terms), copy.frequencies(terms))
        return totals


def _check_inbox(store: Store) -> None:
    """Raise where changes of hosts without the folder wait in a database: it alone has them."""
    publication = publication_of(store)
    waiting = 0 if publication is None else publication.inbox().waiting
    if waiting:
        raise StoreError(
            f"{waiting:,} changes of hosts without the folder wait in {store.location}. Run "
            "'commonplace serve' with that index until 'commonplace status' has none, then migrate."
        )


def _other(held: IndexIdentity, wanted: IndexIdentity) -> str:
    """Return what distinguishes an identity from another one."""
    names = [name for name in held.__slots__ if getattr(held, name) != getattr(wanted, name)]
    said = [f"{name} {getattr(held, name)!r} (here {getattr(wanted, name)!r})" for name in names]
    return ", ".join(said)


def _chunks(snapshot: Snapshot, path: str) -> list[IndexedChunk]:
    """Return the chunks of a file as they are written."""
    places = snapshot.places(path)
    stored = snapshot.chunks([place.seq for place in places])
    chunks = snapshot.chunks_of(path)
    return [
        IndexedChunk(stored[place.seq].id, chunk, made, stored[place.seq].day,
                     stored[place.seq].units)
        for place, (chunk, made) in zip(places, chunks, strict=True)
    ]  # fmt: skip


def _values(item: IndexedChunk) -> tuple[object, ...]:
    """Return all of a chunk, for comparing it."""
    made = item.embedded
    vectors = None if made is None else (made.vector.tobytes(), made.lines)
    return item.id, item.chunk, item.day, item.units, vectors


def _write(shadow: Store, files: Sequence[IndexedFile]) -> None:
    if skipped := shadow.write(files):
        raise StoreError(
            f"{shadow.location} was written by another process meanwhile ({skipped[0]}). Migrate "
            "again: it goes on where it ended."
        )


def _expect(what: str, wanted: object, found: object) -> None:
    if wanted != found:
        raise _DifferentError(
            f"the copy of the index differs from its source ({what}), so it was not put in place. "
            "Migrate again; if it stays so, index the notes into the target instead."
        )
