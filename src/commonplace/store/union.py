"""Union of two snapshots: files of one index and files of another, searched as if they were one."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from dataclasses import replace
from itertools import chain, zip_longest
from typing import TYPE_CHECKING

from commonplace.store.records import FileFilter, Totals

if TYPE_CHECKING:
    from commonplace.store.base import Snapshot
    from commonplace.store.records import (
        FileRecord,
        IndexIdentity,
        RowFilter,
        StoredChunk,
    )
    from commonplace.text.analysis import Term
    from commonplace.types import Chunk, ChunkPlace, Source
    from commonplace.vectors import Vector
    from commonplace.vectors.arrays import ChunkVectors

__all__ = ["SnapshotUnion"]

_OFFSET = 1 << 40
"""Added to the seqs of the second snapshot: no index has as many chunks."""


class SnapshotUnion:
    """Union of two snapshots of the same identity.

    Args:
        first: The one whose identity, mean line and vectors by text are used.
        second: The other one; its chunks count as written before those of the first.
        hidden: Files of the first one that are left out, so that no file is in both.
        files: Filter of the files of both.
    """

    def __init__(
        self,
        first: Snapshot,
        second: Snapshot,
        *,
        hidden: frozenset[str],
        files: FileFilter | None = None,
    ) -> None:
        files = files or FileFilter()
        self._whole = first, second
        self._hidden = hidden
        self._first = first.within(replace(files, hidden=files.hidden | hidden))
        self._second = second.within(files)

    @property
    def identity(self) -> IndexIdentity | None:
        """Identity of both indexes."""
        return self._first.identity

    def within(self, files: FileFilter) -> SnapshotUnion:
        """Return the union of both with the files alone that pass a filter."""
        return SnapshotUnion(*self._whole, hidden=self._hidden, files=files)

    def expired(self, at_ms: int) -> frozenset[str]:
        """Return the paths of the files that are expired."""
        return self._first.expired(at_ms) | self._second.expired(at_ms)

    def files(self) -> dict[str, FileRecord]:
        """Return all files by path."""
        return self._first.files() | self._second.files()

    def file(self, path: str) -> FileRecord | None:
        """Return one file's record."""
        return self._second.file(path) or self._first.file(path)

    def metadata(self, paths: Collection[str]) -> dict[str, str]:
        """Return the front matter of those of some files that have any."""
        return self._first.metadata(paths) | self._second.metadata(paths)

    def totals(self) -> Totals:
        """Count files, chunks and vectors."""
        one, other = self._first.totals(), self._second.totals()
        return Totals(
            one.files + other.files, one.chunks + other.chunks, one.vectors + other.vectors
        )

    def chunk_count(self, source: Source | None = None) -> int:
        """Count the chunks, of one source or of all."""
        return self._first.chunk_count(source) + self._second.chunk_count(source)

    def frequencies(self, words: Iterable[Term], source: Source | None = None) -> dict[Term, int]:
        """Return the document frequency of each term, in one source or in all."""
        terms = list(words)
        found = Counter(self._first.frequencies(terms, source))
        found.update(self._second.frequencies(terms, source))
        return dict(found)

    def match(
        self, words: Sequence[Term], *, every: bool, limit: int, rows: RowFilter
    ) -> list[tuple[int, float]]:
        """Return the chunks that hold any (or every) term: the best of each index in turn.

        Scores of two lists cannot be compared, so that ranks take their place.
        """
        one = self._first.match(words, every=every, limit=limit, rows=rows)
        other = self._second.match(words, every=every, limit=limit, rows=rows)
        if not other:
            return one
        pairs = zip_longest(one, _shifted(other))
        merged = [hit for hit in chain.from_iterable(pairs) if hit is not None]
        return [(seq, 1 / rank) for rank, (seq, _) in enumerate(merged[:limit], 1)]

    def nearest(
        self, query: Vector, limit: int, rows: RowFilter, *, exact: bool = True
    ) -> list[tuple[int, float]]:
        """Return the ``(seq, dot product)`` of the chunks nearest to a vector, best first."""
        one = self._first.nearest(query, limit, rows, exact=exact)
        other = _shifted(self._second.nearest(query, limit, rows, exact=exact))
        return sorted((*one, *other), key=lambda hit: (-hit[1], hit[0]))[:limit]

    def mean_line(self, source: Source | None = None) -> Vector | None:
        """Return the mean of the vectors of the first index's lines, else of the second's."""
        mean = self._first.mean_line(source)
        return self._second.mean_line(source) if mean is None else mean

    def chunks(self, seqs: Sequence[int]) -> dict[int, StoredChunk]:
        """Return chunks by seq."""
        own, shifted = _apart(seqs)
        found = dict(self._first.chunks(own))
        for seq, chunk in self._second.chunks(shifted).items():
            found[seq + _OFFSET] = chunk._replace(seq=seq + _OFFSET)
        return found

    def versions(self, seqs: Sequence[int]) -> dict[int, int]:
        """Return the version of each chunk."""
        own, shifted = _apart(seqs)
        older = self._second.versions(shifted)
        return self._first.versions(own) | {
            seq + _OFFSET: version - _OFFSET for seq, version in older.items()
        }

    def chunks_of(
        self, path: str, *, from_line: int | None = None, to_line: int | None = None
    ) -> list[tuple[Chunk, ChunkVectors | None]]:
        """Return the chunks of a file that begin between two lines, with their vectors."""
        holder = self._second if self._second.file(path) else self._first
        return holder.chunks_of(path, from_line=from_line, to_line=to_line)

    def places(self, path: str) -> list[ChunkPlace]:
        """Return the places of a file's chunks, in order."""
        if self._second.file(path):
            return [it._replace(seq=it.seq + _OFFSET) for it in self._second.places(path)]
        return self._first.places(path)

    def cached_dimension(self, identity: IndexIdentity) -> int | None:
        """Return the dimension of a model's vectors in the first index or its cache."""
        return self._first.cached_dimension(identity)

    def vectors_of(self, hashes: Sequence[str], identity: IndexIdentity) -> dict[str, ChunkVectors]:
        """Return the vectors that a model made of chunk texts, from both."""
        return self._second.vectors_of(hashes, identity) | self._first.vectors_of(hashes, identity)


def _shifted(hits: Iterable[tuple[int, float]]) -> list[tuple[int, float]]:
    return [(seq + _OFFSET, score) for seq, score in hits]


def _apart(seqs: Sequence[int]) -> tuple[list[int], list[int]]:
    """Return the seqs of the first snapshot, and those of the second as it has them."""
    own = [seq for seq in seqs if seq < _OFFSET]
    return own, [seq - _OFFSET for seq in seqs if seq >= _OFFSET]
