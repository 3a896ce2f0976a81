"""Memory engine: the `Store` protocol in plain dictionaries, the reference of the contract."""

from __future__ import annotations

import contextlib
import functools
import math
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Literal

from commonplace.errors import IndexBusyError, StoreError
from commonplace.store.base import HealthCheck, LeaseName, Recovery
from commonplace.store.records import (
    FileRecord,
    IndexedChunk,
    IndexedFile,
    IndexIdentity,
    RowFilter,
    StoredChunk,
    Totals,
)
from commonplace.text.analysis import Analyzer, Term, grams_text
from commonplace.types import Chunk, Source
from commonplace.vectors.arrays import ChunkVectors, sum_packed

if TYPE_CHECKING:
    from commonplace.vectors import Vector

__all__ = ["MemoryRebuild", "MemorySnapshot", "MemoryStore", "open_store"]

_K1 = 1.2
_B = 0.75
_MIN_IDF = 1e-6
_POLL_S = 0.01

_CacheKey = tuple[tuple[str, str, str], int, str]
"""Whose vectors, how long, and the hash of the text."""


@dataclass(frozen=True, slots=True)
class _Row:
    path: str
    ordinal: int
    item: IndexedChunk
    text: list[str]
    grams: list[str]

    @property
    def length(self) -> int:
        """Number of terms."""
        return len(self.text) + len(self.grams)


@dataclass(frozen=True, slots=True)
class _State:
    """All that an index holds. A write makes a new one, readers keep the one they began with."""

    identity: IndexIdentity | None = None
    complete: bool = False
    last_seq: int = 0
    files: dict[str, FileRecord] = field(default_factory=dict)
    rows: dict[int, _Row] = field(default_factory=dict)
    cache: dict[_CacheKey, ChunkVectors] = field(default_factory=dict)
    """Oldest first."""

    def copy(self) -> _State:
        return replace(self, files=dict(self.files), rows=dict(self.rows), cache=dict(self.cache))


@dataclass(frozen=True, slots=True)
class _Phrase:
    """Terms that follow each other; the last one may be the beginning of a term."""

    terms: list[str]
    gram: bool
    prefix: bool

    def count(self, row: _Row) -> int:
        if not self.terms:
            return 0  # nothing but signs
        held = row.grams if self.gram else row.text
        if len(self.terms) == 1 and not self.prefix:
            return held.count(self.terms[0])
        length = len(self.terms)
        return sum(self._is_at(held[at : at + length]) for at in range(len(held) - length + 1))

    def _is_at(self, terms: list[str]) -> bool:
        if self.prefix:
            return terms[:-1] == self.terms[:-1] and terms[-1].startswith(self.terms[-1])
        return terms == self.terms


_analyzer = functools.cache(Analyzer)


def open_store(url: str) -> MemoryStore:
    """Open an index in memory: each call a new one; see `commonplace.store.registry`."""
    if url.removeprefix("memory://"):
        raise StoreError(f"the index {url!r} has a name; an index in memory is just memory://.")
    return MemoryStore()


class MemoryStore:
    """Index engine in plain dictionaries, gone with its process: the reference of the contract.

    Each query reads every chunk: exact, and slow beyond some thousand of them.
    """

    capabilities = frozenset({"exact-fts5-bm25"})
    location = "memory://"
    access: Literal["read-write", "read-only"] = "read-write"

    def __init__(self) -> None:
        self._state = _State()
        self._lock = threading.RLock()
        self._leases: dict[LeaseName, threading.Lock] = {
            "run": threading.Lock(),
            "swap": threading.Lock(),
        }
        self._unfinished: MemoryStore | None = None
        self._closed = False

    @property
    def engines(self) -> Mapping[str, str]:
        """What compares ``vectors`` and what finds ``words``, for people."""
        return {"vectors": "numpy", "words": "plain Python"}

    def exists(self) -> bool:
        """Return whether an index was begun."""
        return self._state.identity is not None

    @property
    def identity(self) -> IndexIdentity | None:
        """Identity of the index; None for a new one."""
        self._check_open()
        return self._state.identity

    @property
    def cached_identity(self) -> IndexIdentity | None:
        """The same: no query is needed."""
        return self.identity

    def set_identity(self, identity: IndexIdentity) -> None:
        """Set the identity of a new index, or complete the one there is; see `Store`."""
        with self._writing():
            before = self._state.identity
            if before is not None and not before.fits(identity):
                raise StoreError(f"the index was built otherwise ({before}).")
            self._state = replace(self._state, identity=identity)

    @property
    def complete(self) -> bool:
        """Whether an index run ever came to its end."""
        self._check_open()
        return self._state.complete

    def mark_complete(self) -> None:
        """Note that an index run came to its end."""
        with self._writing():
            self._state = replace(self._state, complete=True)

    @contextlib.contextmanager
    def snapshot(self) -> Iterator[MemorySnapshot]:
        """Open one consistent state of the index."""
        self._check_open()
        yield MemorySnapshot(self._state)

    def write(self, files: Sequence[IndexedFile], removed: Sequence[str] = ()) -> tuple[str, ...]:
        """Replace and remove files in one step; see `Store`."""
        with self._writing():
            state = self._state.copy()
            if state.identity is None:
                raise StoreError("the index has no identity; set_identity(...) first.")
            mine = [file for file in files if _is_current(state, file)]
            for path in removed:
                _remove(state, path)
            for file in mine:
                if file.chunks is not None:
                    _remove(state, file.record.path, from_line=file.keep_before or 1)
            for file in mine:
                state = _insert(state, file)
            self._state = state
        written = {id(file) for file in mine}
        return tuple(file.record.path for file in files if id(file) not in written)

    def cache_vectors(
        self, vectors: Mapping[str, ChunkVectors], *, drop: Iterable[str] = ()
    ) -> None:
        """Put vectors of texts in the vector cache, and drop others; see `Store`."""
        with self._writing():
            state = self._state.copy()
            identity = state.identity
            if identity is None or not identity.model or not identity.dimension:
                return
            for key, made in vectors.items():
                if len(made.vector) == identity.dimension:
                    state.cache[identity.vectors_key, identity.dimension, key] = made
            for key in drop:
                state.cache.pop((identity.vectors_key, identity.dimension, key), None)
            self._state = state

    def trim_vector_cache(self, max_entries: int) -> None:
        """Drop the cached vectors written longest ago, beyond a number of texts."""
        with self._writing():
            cache = _newest(self._state.cache, max_entries)
            self._state = replace(self._state, cache=cache)

    @contextlib.contextmanager
    def lease(
        self,
        name: LeaseName,
        *,
        timeout_s: float,
        check: Callable[[], object] = lambda: None,
    ) -> Iterator[None]:
        """Hold a lease among the threads of this process; see `Store`."""
        self._check_open()
        deadline = time.monotonic() + timeout_s
        lock = self._leases[name]
        while not lock.acquire(timeout=min(_POLL_S, max(0.0, deadline - time.monotonic()))):
            if time.monotonic() >= deadline:
                raise IndexBusyError(
                    f"another thread has held the index in memory for {timeout_s:g} s."
                )
            check()
        try:
            yield
        finally:
            lock.release()

    def lease_holder(self) -> str | None:
        """Return this process while one of its threads indexes."""
        return "this process" if self._leases["run"].locked() else None

    def begin_rebuild(
        self, identity: IndexIdentity, *, restart: bool, keep_cache: int
    ) -> MemoryRebuild:
        """Begin or resume a shadow index; see `Store`."""
        left = self._unfinished
        if left is not None:
            held = left.identity
            fits = held and held.vectors_key == identity.vectors_key and held.fits(identity)
            if restart or not fits:
                MemoryRebuild(self, left).abandon(keep_cache=keep_cache)
        if self._unfinished is None:
            self._unfinished = MemoryStore()
            self._unfinished.set_identity(identity)
        return MemoryRebuild(self, self._unfinished)

    def recover(self, error: StoreError, *, certain: bool) -> Recovery | None:
        """Return None: nothing can be damaged."""
        del error, certain
        return None

    def health_checks(self) -> Iterable[HealthCheck]:
        """Return no checks."""
        return ()

    def close(self) -> None:
        """Release everything; the index is gone."""
        self._closed = True
        self._state = _State()

    def end_rebuild(self, shadow: MemoryStore, *, commit: bool, keep_cache: int) -> None:
        """Swap a shadow index in, or drop it; the vectors of both stay in the cache."""
        with self._lock:
            old, made = self._state, shadow._state
            cache = old.cache | made.cache
            gone = old if commit else made
            for seq in sorted(gone.rows):
                _to_cache(cache, gone, seq)
            self._state = replace(made if commit else old, cache=_newest(cache, keep_cache))
            self._unfinished = None

    @contextlib.contextmanager
    def _writing(self) -> Iterator[None]:
        with self._lock:
            self._check_open()
            yield

    def _check_open(self) -> None:
        if self._closed:
            raise StoreError("the memory is closed; open it again with Memory.open(...).")


class MemoryRebuild:
    """Shadow index in memory; see `Rebuild`."""

    def __init__(self, target: MemoryStore, shadow: MemoryStore) -> None:
        self._target = target
        self.store = shadow

    def commit(self, *, keep_cache: int) -> None:
        """Swap the shadow index in."""
        self._target.end_rebuild(self.store, commit=True, keep_cache=keep_cache)

    def abandon(self, *, keep_cache: int) -> None:
        """Drop the shadow index; its vectors go to the target's cache."""
        self._target.end_rebuild(self.store, commit=False, keep_cache=keep_cache)

    def close(self) -> None:
        """Leave the shadow index to be resumed."""


class MemorySnapshot:
    """One state of an index in memory."""

    def __init__(self, state: _State) -> None:
        self._state = state
        tokenizer = state.identity.tokenizer if state.identity else "porter"
        self._analyzer = _analyzer(tokenizer)

    @property
    def identity(self) -> IndexIdentity | None:
        """Identity of the index; None for a new one."""
        return self._state.identity

    def files(self) -> dict[str, FileRecord]:
        """Return all files by path."""
        return dict(self._state.files)

    def file(self, path: str) -> FileRecord | None:
        """Return one file's record."""
        return self._state.files.get(path)

    def totals(self) -> Totals:
        """Count files, chunks and vectors."""
        vectors = sum(row.item.embedded is not None for row in self._state.rows.values())
        return Totals(len(self._state.files), len(self._state.rows), vectors)

    def chunk_count(self, source: Source | None = None) -> int:
        """Count the chunks, of one source or of all."""
        return len(self._rows(source))

    def frequencies(self, words: Iterable[Term], source: Source | None = None) -> dict[Term, int]:
        """Return the document frequency of each term, in one source or in all."""
        rows, phrases = self._rows(source), {word: self._phrase(word) for word in words}
        return {
            word: sum(phrase.count(row) > 0 for row in rows) for word, phrase in phrases.items()
        }

    def _rows(self, source: Source | None) -> list[_Row]:
        files = self._state.files
        rows = self._state.rows.values()
        return [row for row in rows if source in (None, files[row.path].source)]

    def _phrase(self, word: Term) -> _Phrase:
        # A single character begins every pair that it stands first in.
        prefix = word.gram and len(word.text) == 1
        return _Phrase(self._analyzer.terms(word.text), word.gram, prefix)

    def match(
        self, words: Sequence[Term], *, every: bool, limit: int, rows: RowFilter
    ) -> list[tuple[int, float]]:
        """Return ``(seq, bm25)`` of the chunks that hold any (or every) word, best first."""
        phrases = [self._phrase(word) for word in words if word.text.strip()]
        if not phrases:
            return []
        held = self._state.rows
        counts = {seq: [phrase.count(row) for phrase in phrases] for seq, row in held.items()}
        weights = [_idf(len(held), column) for column in zip(*counts.values(), strict=True)]
        average = sum(row.length for row in held.values()) / max(1, len(held))
        enough = all if every else any
        hits = [
            (seq, _bm25(counts[seq], weights, row.length / average))
            for seq, row in self._passing(rows)
            if enough(counts[seq])
        ]
        return sorted(hits, key=_best_first)[: max(0, limit)]

    def nearest(
        self, query: Vector, limit: int, rows: RowFilter, *, exact: bool = True
    ) -> list[tuple[int, float]]:
        """Return the ``(seq, dot product)`` of the chunks nearest to a vector, best first."""
        del exact  # it always is
        if self.identity is None or self.identity.dimension != len(query):
            return []
        hits = [
            (seq, float(row.item.embedded.vector @ query))
            for seq, row in self._passing(rows)
            if row.item.embedded is not None
        ]
        return sorted(hits, key=_best_first)[: max(0, limit)]

    def _passing(self, rows: RowFilter) -> Iterator[tuple[int, _Row]]:
        for seq, row in self._state.rows.items():
            source, day = self._state.files[row.path].source, row.item.day
            if (
                (rows.sources is None or source in rows.sources)
                and (rows.after is None or (day is not None and day >= rows.after))
                and (rows.before is None or (day is not None and day <= rows.before))
            ):
                yield seq, row

    def mean_line(self, source: Source | None = None) -> Vector | None:
        """Return the mean of the lines' vectors, of one source or of all; None without any."""
        import numpy as np

        embedded = [row.item.embedded for row in self._rows(source)]
        lines = [vectors.lines for vectors in embedded if vectors and vectors.lines]
        if self.identity is None or not self.identity.dimension or not lines:
            return None
        count, total = sum_packed(lines, self.identity.dimension)
        mean: Vector = (total / count).astype(np.float32)
        return mean

    def chunks(self, seqs: Sequence[int]) -> dict[int, StoredChunk]:
        """Fetch chunks; one that is gone is left out."""
        return {seq: self._stored(seq) for seq in seqs if seq in self._state.rows}

    def _stored(self, seq: int) -> StoredChunk:
        row = self._state.rows[seq]
        file, item = self._state.files[row.path], row.item
        return StoredChunk(
            seq=seq,
            id=item.id,
            path=row.path,
            source=file.source,
            start_line=item.chunk.start_line,
            end_line=item.chunk.end_line,
            hash=item.chunk.hash,
            text=item.chunk.text,
            heading=item.chunk.heading,
            day=item.day,
            units=item.units,
            lines=item.embedded.lines if item.embedded else None,
            ordinal=row.ordinal,
            version=seq,
        )

    def chunks_of(
        self, path: str, *, from_line: int | None = None
    ) -> list[tuple[Chunk, ChunkVectors | None]]:
        """Fetch the chunks of a file with their vectors, in order."""
        items = [row.item for row in self._state.rows.values() if row.path == path]
        first = from_line or 1
        return [(item.chunk, item.embedded) for item in items if item.chunk.start_line >= first]

    def cached_dimension(self, identity: IndexIdentity) -> int | None:
        """Return the dimension of a model's vectors in the index or the cache; None for none."""
        mine = self.identity
        if mine and mine.dimension and mine.vectors_key == identity.vectors_key:
            return mine.dimension
        made = (length for key, length, _ in self._state.cache if key == identity.vectors_key)
        return next(made, None)

    def vectors_of(self, hashes: Sequence[str], identity: IndexIdentity) -> dict[str, ChunkVectors]:
        """Return the vectors that a model made of chunk texts, from the chunks or the cache."""
        if not identity.model or not identity.dimension:
            return {}
        known: dict[_CacheKey, ChunkVectors] = {}
        wanted = set(hashes)
        for seq, row in self._state.rows.items():
            if row.item.chunk.hash in wanted:
                _to_cache(known, self._state, seq)
        known |= self._state.cache
        keys = {key: (identity.vectors_key, identity.dimension, key) for key in hashes}
        return {text_hash: known[key] for text_hash, key in keys.items() if key in known}


def _idf(total: int, counts: Sequence[int]) -> float:
    holding = sum(count > 0 for count in counts)
    return max(_MIN_IDF, math.log((total - holding + 0.5) / (holding + 0.5)))


def _bm25(counts: Sequence[int], weights: Sequence[float], length: float) -> float:
    return sum(
        idf * count * (_K1 + 1) / (count + _K1 * (1 - _B + _B * length))
        for idf, count in zip(weights, counts, strict=True)
    )


def _best_first(hit: tuple[int, float]) -> tuple[float, int]:
    return -hit[1], hit[0]


def _is_current(state: _State, file: IndexedFile) -> bool:
    """Return whether a file was planned against the record and the vectors that are there."""
    record = state.files.get(file.record.path)
    dimension = state.identity.dimension if state.identity else None
    embedded = [item.embedded for item in file.chunks or () if item.embedded]
    return (record.indexed_ns if record else None) == file.replaces and all(
        len(vectors.vector) == dimension for vectors in embedded
    )


def _remove(state: _State, path: str, *, from_line: int = 1) -> None:
    rows = [(seq, row) for seq, row in state.rows.items() if row.path == path]
    for seq in [seq for seq, row in rows if row.item.chunk.start_line >= from_line]:
        _to_cache(state.cache, state, seq)
        del state.rows[seq]
    state.files.pop(path, None)


def _insert(state: _State, file: IndexedFile) -> _State:
    assert state.identity is not None
    analyzer = _analyzer(state.identity.tokenizer)
    seq = state.last_seq
    path = file.record.path
    kept = [row.ordinal for row in state.rows.values() if row.path == path]
    for ordinal, item in enumerate(file.chunks or (), max(kept, default=-1) + 1):
        seq += 1
        grams = grams_text(item.chunk.text, state.identity.tokenizer)
        terms = analyzer.terms(item.chunk.text), analyzer.terms(grams)
        state.rows[seq] = _Row(path, ordinal, item, *terms)
    state.files[file.record.path] = file.record
    return replace(state, last_seq=seq)


def _to_cache(cache: dict[_CacheKey, ChunkVectors], state: _State, seq: int) -> None:
    item, identity = state.rows[seq].item, state.identity
    if item.embedded is not None and identity and identity.model and identity.dimension:
        key = identity.vectors_key, identity.dimension, item.chunk.hash
        cache.pop(key, None)
        cache[key] = item.embedded


def _newest(cache: dict[_CacheKey, ChunkVectors], count: int) -> dict[_CacheKey, ChunkVectors]:
    return dict(list(cache.items())[max(0, len(cache) - count) :])
