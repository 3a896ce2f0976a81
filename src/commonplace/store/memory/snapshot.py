"""Snapshot of the memory engine: one state in plain dictionaries, and its queries."""

from __future__ import annotations

import functools
import math
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from commonplace.store.records import (
    FileFilter,
    FileRecord,
    IndexedChunk,
    IndexIdentity,
    RowFilter,
    StoredChunk,
    Totals,
)
from commonplace.text.analysis import Analyzer, Term
from commonplace.types import Chunk, ChunkPlace, Source
from commonplace.vectors.arrays import ChunkVectors, sum_packed

if TYPE_CHECKING:
    from commonplace.vectors import Vector

__all__ = ["CacheKey", "IndexState", "MemorySnapshot", "StateRow", "add_to_cache", "analyzer_for"]

_K1 = 1.2
_B = 0.75
_MIN_IDF = 1e-6

CacheKey = tuple[tuple[str, str, str], int, str]
"""Whose vectors, how long, and the hash of the text."""


@dataclass(frozen=True, slots=True)
class StateRow:
    """A chunk with the terms of its text, of its words beside unspaced scripts, and its grams."""

    path: str
    ordinal: int
    item: IndexedChunk
    text: list[str]
    glued: list[str]
    grams: list[str]

    @property
    def length(self) -> int:
        """Number of terms."""
        return len(self.text) + len(self.glued) + len(self.grams)


@dataclass(frozen=True, slots=True)
class IndexState:
    """State of an index: a write makes a new one, snapshots keep theirs."""

    identity: IndexIdentity | None = None
    complete: bool = False
    last_seq: int = 0
    files: dict[str, FileRecord] = field(default_factory=dict)
    rows: dict[int, StateRow] = field(default_factory=dict)
    cache: dict[CacheKey, ChunkVectors] = field(default_factory=dict)
    """Oldest first."""

    def copy(self) -> IndexState:
        """Return a state that can be changed: the values stay shared."""
        return replace(self, files=dict(self.files), rows=dict(self.rows), cache=dict(self.cache))


@dataclass(frozen=True, slots=True)
class _Phrase:
    """Phrase of terms that follow each other; the last one may be the prefix of a term."""

    terms: list[str]
    gram: bool
    prefix: bool
    initial: bool

    def count(self, row: StateRow) -> int:
        if not self.terms:
            return 0  # nothing but signs
        if self.initial:
            return int(self._is_at(row.text[: len(self.terms)]))
        if self.gram:
            return self._count_in(row.grams)
        return self._count_in(row.text) + (self._count_in(row.glued) if row.glued else 0)

    def _count_in(self, held: list[str]) -> int:
        if len(self.terms) == 1 and not self.prefix:
            return held.count(self.terms[0])
        length = len(self.terms)
        return sum(self._is_at(held[at : at + length]) for at in range(len(held) - length + 1))

    def _is_at(self, terms: list[str]) -> bool:
        if self.prefix:
            return terms[:-1] == self.terms[:-1] and terms[-1].startswith(self.terms[-1])
        return terms == self.terms


analyzer_for = functools.cache(Analyzer)


class MemorySnapshot:
    """One state of an index in memory."""

    def __init__(self, state: IndexState, files: FileFilter | None = None) -> None:
        self._state = state
        self._passes = (files or FileFilter()).passes
        tokenizer = state.identity.tokenizer if state.identity else "porter"
        self._analyzer = analyzer_for(tokenizer)

    @property
    def identity(self) -> IndexIdentity | None:
        """Identity of the index; None for a new one."""
        return self._state.identity

    def within(self, files: FileFilter) -> MemorySnapshot:
        """Return this state with the files alone that pass a filter."""
        return MemorySnapshot(self._state, files)

    def expired(self, at_ms: int) -> frozenset[str]:
        """Return the paths of the files that are expired."""
        files = self.files().values()
        return frozenset(file.path for file in files if (file.expires_ms or at_ms + 1) <= at_ms)

    def files(self) -> dict[str, FileRecord]:
        """Return all files by path."""
        return {path: file for path, file in self._state.files.items() if self._passes(path)}

    def file(self, path: str) -> FileRecord | None:
        """Return one file's record."""
        return self._state.files.get(path) if self._passes(path) else None

    def metadata(self, paths: Collection[str]) -> dict[str, str]:
        """Return the front matter of those of some files that have any."""
        records = filter(None, map(self.file, paths))
        return {record.path: record.metadata for record in records if record.metadata is not None}

    def totals(self) -> Totals:
        """Count files, chunks and vectors."""
        rows = self._rows(None)
        vectors = sum(row.item.embedded is not None for row in rows)
        return Totals(len(self.files()), len(rows), vectors)

    def chunk_count(self, source: Source | None = None) -> int:
        """Count the chunks, of one source or of all."""
        return len(self._rows(source))

    def frequencies(self, words: Iterable[Term], source: Source | None = None) -> dict[Term, int]:
        """Return the document frequency of each term, in one source or in all."""
        rows, phrases = self._rows(source), {word: self._phrase(word) for word in words}
        return {
            word: sum(phrase.count(row) > 0 for row in rows) for word, phrase in phrases.items()
        }

    def _rows(self, source: Source | None) -> list[StateRow]:
        files = self.files()
        rows = self._state.rows.values()
        return [
            row for row in rows if row.path in files and source in (None, files[row.path].source)
        ]

    def _phrase(self, word: Term) -> _Phrase:
        # A single character begins every pair that it stands first in.
        is_prefix = word.prefix or (word.gram and len(word.text) == 1)
        terms = self._analyzer.terms(word.term if word.prefix else word.text)
        return _Phrase(terms, word.gram, is_prefix, word.initial)

    def match(
        self, words: Sequence[Term], *, every: bool, limit: int, rows: RowFilter
    ) -> list[tuple[int, float]]:
        """Return ``(seq, bm25)`` of the chunks that hold any (or every) word, best first."""
        phrases = [self._phrase(word) for word in words if word.text.strip()]
        if not phrases:
            return []
        held = {seq: row for seq, row in self._state.rows.items() if self._passes(row.path)}
        if not held:
            return []
        counts = {seq: [phrase.count(row) for phrase in phrases] for seq, row in held.items()}
        weights = [_idf(len(held), column) for column in zip(*counts.values(), strict=True)]
        average = sum(row.length for row in held.values()) / len(held)
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

    def _passing(self, rows: RowFilter) -> Iterator[tuple[int, StateRow]]:
        for seq, row in self._state.rows.items():
            source, day = self._state.files[row.path].source, row.item.day
            if self._passes(row.path) and rows.passes(source, day):
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
        rows = self._state.rows
        return {
            seq: self._stored(seq) for seq in seqs if seq in rows and self._passes(rows[seq].path)
        }

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
            context=item.chunk.context,
            day=item.day,
            units=item.units,
            lines=item.embedded.lines if item.embedded else None,
            ordinal=row.ordinal,
        )

    def versions(self, seqs: Sequence[int]) -> dict[int, int]:
        """Return the version of each chunk: numbers ascend with each write."""
        return {seq: seq for seq in seqs}

    def chunks_of(
        self, path: str, *, from_line: int | None = None, to_line: int | None = None
    ) -> list[tuple[Chunk, ChunkVectors | None]]:
        """Fetch the chunks of a file with their vectors, in order."""
        first, last = from_line or 1, math.inf if to_line is None else to_line
        items = (row.item for _, row in self._rows_of(path))
        return [
            (item.chunk, item.embedded) for item in items if first <= item.chunk.start_line <= last
        ]

    def places(self, path: str) -> list[ChunkPlace]:
        """Return the places of a file's chunks, in order."""
        return [
            ChunkPlace(it.start_line, it.end_line, it.hash, it.heading, it.context, seq)
            for seq, it in ((seq, row.item.chunk) for seq, row in self._rows_of(path))
        ]

    def _rows_of(self, path: str) -> list[tuple[int, StateRow]]:
        rows = self._state.rows.items() if self._passes(path) else ()
        found = [(seq, row) for seq, row in rows if row.path == path]
        return sorted(found, key=lambda item: item[1].ordinal)

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
        known: dict[CacheKey, ChunkVectors] = {}
        wanted = set(hashes)
        for seq, row in self._state.rows.items():
            if row.item.chunk.hash in wanted:
                add_to_cache(known, self._state, seq)
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


def add_to_cache(cache: dict[CacheKey, ChunkVectors], state: IndexState, seq: int) -> None:
    """Put the vectors of a chunk into a vector cache, as the entry written last."""
    item, identity = state.rows[seq].item, state.identity
    if item.embedded is not None and identity and identity.model and identity.dimension:
        key = identity.vectors_key, identity.dimension, item.chunk.hash
        cache.pop(key, None)
        cache[key] = item.embedded
