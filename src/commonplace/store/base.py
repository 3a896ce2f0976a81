"""What an index engine does: the `Store` protocol and the values that cross it.

An engine keeps chunks, finds them by words and by vectors, and hands them back. It converts its own
ranks and distances to scores (higher is better) at this border; it does not merge, weigh or decay:
that is `commonplace.retrieval`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

from commonplace.types import Chunk, Source

if TYPE_CHECKING:
    from commonplace.text.analysis import Term
    from commonplace.vectors import Vector
    from commonplace.vectors.codec import ChunkVectors

__all__ = [
    "FileRecord",
    "IndexIdentity",
    "IndexedChunk",
    "IndexedFile",
    "RowFilter",
    "Snapshot",
    "Store",
    "StoredChunk",
    "Totals",
]


@dataclass(frozen=True, slots=True)
class IndexIdentity:
    """What shapes an index. An index of another identity is rebuilt.

    Attributes:
        schema: Version of what the indexer writes.
        chunking: The chunking settings, as a text.
        tokenizer: How words are indexed.
        grain: Whether lines have vectors of their own.
        rules: Whose rules of discovery apply.
        provider: Who makes the vectors; None without vectors.
        model: The embedding model; None without vectors.
        endpoint: Key of the endpoint and its options.
        dimension: Length of a vector; None until the first one is known.
    """

    schema: int
    chunking: str
    tokenizer: str
    grain: str
    rules: str
    provider: str | None = None
    model: str | None = None
    endpoint: str = ""
    dimension: int | None = None

    @property
    def vectors_key(self) -> tuple[str, str, str]:
        """Whose vectors they are, and of what: the key that the cache files them under."""
        return self.provider or "", self.model or "", f"{self.endpoint}/{self.grain}"

    def fits(self, other: IndexIdentity) -> bool:
        """Tell whether an index of this identity can go on as one of another.

        A dimension that is not known yet fits any. An index goes on without an embedder, and what
        was indexed without one is completed by the first one that comes.
        """
        if replace(self, **_VECTORS_OPEN) != replace(other, **_VECTORS_OPEN):
            return False
        if self.model is None or other.model is None:
            return True
        same = self.vectors_key == other.vectors_key
        return same and (
            None in (self.dimension, other.dimension) or self.dimension == other.dimension
        )


_VECTORS_OPEN: dict[str, Any] = {
    "provider": None,
    "model": None,
    "endpoint": "",
    "dimension": None,
}


@dataclass(frozen=True, slots=True)
class FileRecord:
    """What the index knows of a file.

    Attributes:
        path: As search shows it.
        source: Where the text comes from.
        hash: SHA-256 of the text.
        size: Bytes on disk when it was read.
        mtime_ns: Time of the last change when it was read.
        indexed_ns: When it was read.
        day: Proleptic ordinal of the dated log's day; None for an evergreen file.
        pending: Why the file has to be indexed again although it has not changed (its vectors are
            missing); None when nothing is missing.
        note: What was odd about the file when it was read; None when nothing was.
        progress: How far a file that grows was read, as its reader notes it; None for any other.
    """

    path: str
    source: Source
    hash: str
    size: int
    mtime_ns: int
    indexed_ns: int
    day: int | None = None
    pending: str | None = None
    note: str | None = None
    progress: str | None = None


@dataclass(frozen=True, slots=True)
class IndexedChunk:
    """A chunk to be written.

    Attributes:
        id: Its name.
        chunk: What it says, and where.
        embedded: Its vectors; None for none.
        day: Proleptic ordinal of its file's day; None for an evergreen file.
        units: Where its lines begin and end, as `commonplace.text.chunking` packs it.
    """

    id: str
    chunk: Chunk
    embedded: ChunkVectors | None = None
    day: int | None = None
    units: bytes = b""


@dataclass(frozen=True, slots=True)
class IndexedFile:
    """A file to be written, with all its chunks, or with those of its end.

    Attributes:
        record: The file's new record.
        chunks: Its chunks; None where only the record is new (the text is the same).
        replaces: `FileRecord.indexed_ns` of the record that this one was planned against; None for
            a file that was not in the index. When somebody else wrote the file meanwhile, theirs
            stays.
        keep_before: Chunks in the index that begin before this line stay, and `chunks` come behind
            them; None where `chunks` are all there are.
    """

    record: FileRecord
    chunks: Sequence[IndexedChunk] | None
    replaces: int | None = None
    keep_before: int | None = None


class StoredChunk(NamedTuple):
    """A chunk as it is in the index.

    `units` are as in `IndexedChunk`; `lines` are packed, for a query to unpack all at once.
    """

    seq: int
    id: str
    path: str
    source: Source
    start_line: int
    end_line: int
    hash: str
    text: str
    heading: str
    day: int | None
    units: bytes
    lines: bytes | None


@dataclass(frozen=True, slots=True)
class Totals:
    """How much is in an index."""

    files: int
    chunks: int
    vectors: int


@dataclass(frozen=True, slots=True)
class RowFilter:
    """Which chunks may answer. Days are proleptic ordinals, both included."""

    sources: frozenset[Source] | None = None
    after: int | None = None
    before: int | None = None

    @property
    def only_source(self) -> Source | None:
        """The one source that passes; None when more do, or none."""
        return next(iter(self.sources)) if self.sources and len(self.sources) == 1 else None

    @property
    def is_open(self) -> bool:
        """Whether every chunk passes."""
        return self.sources is None and self.after is None and self.before is None


class Snapshot(Protocol):
    """One state of an index, read consistently."""

    @property
    def identity(self) -> IndexIdentity | None:
        """What the index was built with; None for a new one."""

    def files(self) -> dict[str, FileRecord]:
        """Return all files by path."""

    def file(self, path: str) -> FileRecord | None:
        """Return one file's record."""

    def totals(self) -> Totals:
        """Count what is there."""

    def chunk_count(self, source: Source | None = None) -> int:
        """Count the chunks, of one source or of all, at once."""

    def frequencies(self, words: Iterable[Term], source: Source | None = None) -> dict[Term, int]:
        """Count, for each word, the chunks that hold it, of one source or of all."""

    def match(
        self, words: Sequence[Term], *, every: bool, limit: int, rows: RowFilter
    ) -> list[tuple[int, float]]:
        """Return ``(seq, bm25)`` of the chunks that hold any (or every) word, best first.

        BM25 is as FTS5 computes it (k1 1.2, b 0.75), with the sign turned: higher is better. A
        word that the tokenizer cuts is a phrase. Equal ones go by seq.
        """

    def nearest(
        self, query: Vector, limit: int, rows: RowFilter, *, exact: bool = True
    ) -> list[tuple[int, float]]:
        """Return the ``(seq, dot product)`` of the chunks nearest to a vector, best first.

        With a query of length 1 that is the cosine. A vector that is not as long as the index's
        finds nothing.

        Args:
            query: The vector.
            limit: How many, at most.
            rows: Which of them.
            exact: Whether none of the nearest may be missed. If not, an engine may take a shorter
                way that misses a few of the last ones.
        """

    def mean_line(self, source: Source | None = None) -> Vector | None:
        """Return the mean of the lines' vectors, of one source or of all; None without any."""

    def chunks(self, seqs: Sequence[int]) -> dict[int, StoredChunk]:
        """Fetch chunks; one that is gone is left out."""

    def chunks_of(
        self, path: str, *, from_line: int | None = None
    ) -> list[tuple[Chunk, ChunkVectors | None]]:
        """Fetch the chunks of a file with their vectors, in order.

        Args:
            path: The file.
            from_line: Leave out those that begin before it.
        """

    def cached_dimension(self, identity: IndexIdentity) -> int | None:
        """Return how long a model's vectors are, in the index or the cache; None for none."""

    def embedded(self, hashes: Sequence[str], identity: IndexIdentity) -> dict[str, ChunkVectors]:
        """Fetch the vectors that a model made of chunk texts, from the chunks or the cache."""


class Store(Protocol):
    """An index engine."""

    @property
    def engines(self) -> Mapping[str, str]:
        """What compares ``vectors`` and what finds ``words``."""

    @property
    def identity(self) -> IndexIdentity | None:
        """What the index was built with; None for a new one."""

    def set_identity(self, identity: IndexIdentity) -> None:
        """Say what the index is built with, or complete what was open.

        Raises:
            StoreError: The index was built otherwise.
        """

    @property
    def complete(self) -> bool:
        """Whether an index run ever came to its end."""

    def mark_complete(self) -> None:
        """Say that an index run came to its end."""

    def snapshot(self) -> AbstractContextManager[Snapshot]:
        """Open one consistent state of the index."""

    def write(self, files: Sequence[IndexedFile], removed: Sequence[str] = ()) -> tuple[str, ...]:
        """Replace and remove files in one transaction.

        The vectors of chunks that leave the index go to the cache.

        Returns:
            Paths that somebody else wrote meanwhile, and that were left alone. So are those whose
            vectors do not fit the index any more.

        Raises:
            StoreError: Nothing was changed.
        """

    def keep(self, vectors: Mapping[str, ChunkVectors], *, drop: Iterable[str] = ()) -> None:
        """Put vectors of texts that are not indexed yet in the cache; drop those of others.

        Args:
            vectors: By the hash of the chunk's text.
            drop: Hashes of texts whose vectors are indexed by now.
        """

    def replace_with(self, other: Store, *, keep_cache: int) -> None:
        """Take over everything from another store of the same kind, in one step for readers.

        The vectors of both stay findable through the cache, up to `keep_cache` texts.
        """

    def trim_vector_cache(self, max_entries: int) -> None:
        """Drop the oldest cached vectors beyond a number."""

    def close(self) -> None:
        """Let go of files and memory."""
