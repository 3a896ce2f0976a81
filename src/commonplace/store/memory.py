"""The `Store` protocol in plain dictionaries: what the other engines are compared with.

Everything is looked at each time it is asked for; nothing is kept on disk.
"""

from __future__ import annotations

import contextlib
import math
import threading
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from commonplace.errors import StoreError
from commonplace.store.base import (
    FileRecord,
    IndexedChunk,
    IndexedFile,
    IndexIdentity,
    RowFilter,
    Store,
    StoredChunk,
    Totals,
)
from commonplace.text.analysis import Analyzer, Term, grams_text
from commonplace.types import Chunk, Source
from commonplace.vectors.codec import ChunkVectors, sum_packed

if TYPE_CHECKING:
    from commonplace.vectors import Vector

__all__ = ["MemorySnapshot", "MemoryStore"]

_K1 = 1.2
_B = 0.75
_MIN_IDF = 1e-6

_CacheKey = tuple[tuple[str, str, str], int, str]
"""Whose vectors, how long, and the hash of the text."""


@dataclass(frozen=True, slots=True)
class _Row:
    path: str
    item: IndexedChunk
    text: list[str]
    grams: list[str]


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
        length = len(self.terms)
        return sum(self._is_at(held[at : at + length]) for at in range(len(held) - length + 1))

    def _is_at(self, terms: list[str]) -> bool:
        if self.prefix:
            return terms[:-1] == self.terms[:-1] and terms[-1].startswith(self.terms[-1])
        return terms == self.terms


class MemoryStore:
    """An index in memory, as simple as can be."""

    def __init__(self) -> None:
        self._state = _State()
        self._lock = threading.RLock()

    @property
    def engines(self) -> Mapping[str, str]:
        """What compares ``vectors`` and what finds ``words``."""
        return {"vectors": "numpy", "words": "plain Python"}

    @property
    def identity(self) -> IndexIdentity | None:
        """What the index was built with; None for a new one."""
        return self._state.identity

    def set_identity(self, identity: IndexIdentity) -> None:
        """Say what the index is built with; see `Store.set_identity`."""
        with self._lock:
            before = self._state.identity
            if before is not None and not before.fits(identity):
                raise StoreError(f"the index was built otherwise ({before}).")
            self._state = replace(self._state, identity=identity)

    @property
    def complete(self) -> bool:
        """Whether an index run ever came to its end."""
        return self._state.complete

    def mark_complete(self) -> None:
        """Say that an index run came to its end."""
        with self._lock:
            self._state = replace(self._state, complete=True)

    @contextlib.contextmanager
    def snapshot(self) -> Iterator[MemorySnapshot]:
        """Open one consistent state of the index."""
        yield MemorySnapshot(self._state)

    def write(self, files: Sequence[IndexedFile], removed: Sequence[str] = ()) -> tuple[str, ...]:
        """Replace and remove files in one step; see `Store.write`."""
        with self._lock:
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

    def keep(self, vectors: Mapping[str, ChunkVectors], *, drop: Iterable[str] = ()) -> None:
        """Put vectors of texts in the cache, and drop others; see `Store.keep`."""
        with self._lock:
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

    def replace_with(self, other: Store, *, keep_cache: int) -> None:
        """Take over everything from another store in memory."""
        if not isinstance(other, MemoryStore):
            raise TypeError("an index in memory can only take over another one in memory")
        with self._lock:
            old, new = self._state, other._state.copy()  # noqa: SLF001 - one of its own kind
            cached = old.cache | new.cache
            for seq in sorted(old.rows):
                _to_cache(cached, old, seq)
            new.cache.clear()
            new.cache.update(_newest(cached, keep_cache))
            self._state = new

    def trim_vector_cache(self, max_entries: int) -> None:
        """Drop the oldest cached vectors beyond a number."""
        with self._lock:
            cache = _newest(self._state.cache, max_entries)
            self._state = replace(self._state, cache=cache)

    def close(self) -> None:
        """Let go of everything."""
        self._state = _State()


class MemorySnapshot:
    """One state of an index in memory."""

    def __init__(self, state: _State) -> None:
        self._state = state
        tokenizer = state.identity.tokenizer if state.identity else "porter"
        self._analyzer = Analyzer(tokenizer)

    @property
    def identity(self) -> IndexIdentity | None:
        """What the index was built with; None for a new one."""
        return self._state.identity

    def files(self) -> dict[str, FileRecord]:
        """Return all files by path."""
        return dict(self._state.files)

    def file(self, path: str) -> FileRecord | None:
        """Return one file's record."""
        return self._state.files.get(path)

    def totals(self) -> Totals:
        """Count what is there."""
        vectors = sum(row.item.embedded is not None for row in self._state.rows.values())
        return Totals(len(self._state.files), len(self._state.rows), vectors)

    def chunk_count(self, source: Source | None = None) -> int:
        """Count the chunks, of one source or of all."""
        return len(self._rows(source))

    def frequencies(self, words: Iterable[Term], source: Source | None = None) -> dict[Term, int]:
        """Count, for each word, the chunks that hold it, of one source or of all."""
        return {word: self._holding(self._phrase(word), source) for word in words}

    def _holding(self, phrase: _Phrase, source: Source | None = None) -> int:
        return sum(phrase.count(row) > 0 for row in self._rows(source))

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
        weights = [self._idf(phrase) for phrase in phrases]
        enough = all if every else any
        hits = []
        for seq, row in self._passing(rows):
            counts = [phrase.count(row) for phrase in phrases]
            if counts and enough(counts):
                hits.append((seq, self._bm25(row, counts, weights)))
        return sorted(hits, key=_best_first)[: max(0, limit)]

    def _idf(self, phrase: _Phrase) -> float:
        total, holding = len(self._state.rows), self._holding(phrase)
        return max(_MIN_IDF, math.log((total - holding + 0.5) / (holding + 0.5)))

    def _bm25(self, row: _Row, counts: list[int], weights: list[float]) -> float:
        rows = self._state.rows.values()
        average = sum(len(row.text) + len(row.grams) for row in rows) / len(rows)
        length = (len(row.text) + len(row.grams)) / average
        return sum(
            idf * count * (_K1 + 1) / (count + _K1 * (1 - _B + _B * length))
            for idf, count in zip(weights, counts, strict=True)
        )

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
        )

    def chunks_of(
        self, path: str, *, from_line: int | None = None
    ) -> list[tuple[Chunk, ChunkVectors | None]]:
        """Fetch the chunks of a file with their vectors, in order."""
        items = [row.item for row in self._state.rows.values() if row.path == path]
        first = from_line or 1
        return [(item.chunk, item.embedded) for item in items if item.chunk.start_line >= first]

    def cached_dimension(self, identity: IndexIdentity) -> int | None:
        """Return how long a model's vectors are, in the index or the cache; None for none."""
        mine = self.identity
        if mine and mine.dimension and mine.vectors_key == identity.vectors_key:
            return mine.dimension
        made = (length for key, length, _ in self._state.cache if key == identity.vectors_key)
        return next(made, None)

    def embedded(self, hashes: Sequence[str], identity: IndexIdentity) -> dict[str, ChunkVectors]:
        """Fetch the vectors that a model made of chunk texts, from the chunks or the cache."""
        known = dict(self._state.cache)
        for seq in self._state.rows:
            _to_cache(known, self._state, seq)
        if not identity.model or not identity.dimension:
            return {}
        keys = {key: (identity.vectors_key, identity.dimension, key) for key in hashes}
        return {text_hash: known[key] for text_hash, key in keys.items() if key in known}


def _best_first(hit: tuple[int, float]) -> tuple[float, int]:
    return -hit[1], hit[0]


def _is_current(state: _State, file: IndexedFile) -> bool:
    """Tell whether a file was planned against the record and the vectors that are there."""
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
    analyzer = Analyzer(state.identity.tokenizer)
    seq = state.last_seq
    for item in file.chunks or ():
        seq += 1
        grams = grams_text(item.chunk.text, state.identity.tokenizer)
        terms = analyzer.terms(item.chunk.text), analyzer.terms(grams)
        state.rows[seq] = _Row(file.record.path, item, *terms)
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
