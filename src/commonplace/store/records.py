"""Records of an index: the values that are written to a store and read from it."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, NamedTuple

from commonplace.renderers import brief
from commonplace.store.path_patterns import matches_any, path_pattern
from commonplace.types import Chunk, Source

if TYPE_CHECKING:
    from commonplace.store.publication import PublishedNote
    from commonplace.vectors.arrays import ChunkVectors

__all__ = [
    "ChunkWindow",
    "FileFilter",
    "FileRecord",
    "Hits",
    "IndexIdentity",
    "IndexedChunk",
    "IndexedFile",
    "RowFilter",
    "StoredChunk",
    "Totals",
    "checked_patterns",
]

Hits = list[tuple[int, float]]
"""``(seq, score)`` of chunks, best first."""


@dataclass(frozen=True, slots=True)
class IndexIdentity:
    """Identity of an index: the settings and the model that shape it. Another one means a rebuild.

    Attributes:
        schema: Version of what the indexer writes.
        chunking: The chunking settings, as a text.
        tokenizer: Name of the `Analyzer` that cuts texts into terms.
        unit: Embedded unit, ``line`` or ``chunk``.
        profile: Name of the profile, whose rules cut and date the files.
        provider: Who makes the vectors; None without vectors.
        model: The embedding model; None without vectors.
        endpoint: Key of the endpoint and its options.
        dimension: Length of a vector; None until the first one is known.
    """

    schema: int
    chunking: str
    tokenizer: str
    unit: str
    profile: str
    provider: str | None = None
    model: str | None = None
    endpoint: str = ""
    dimension: int | None = None

    @property
    def vectors_key(self) -> tuple[str, str, str]:
        """Key of the vector cache: provider, model, and endpoint with the embedded unit."""
        return self.provider or "", self.model or "", f"{self.endpoint}/{self.unit}"

    def fits(self, other: IndexIdentity) -> bool:
        """Return whether an index of this identity serves another one without a rebuild.

        An unknown dimension fits any. An identity without a model fits every model: keyword search
        keeps an index as it is, and the first embedder completes one that has no vectors.
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
    """Record of an indexed file.

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
        metadata: Front matter of the file as a JSON object; None without any.
        expires_ms: First moment at which the file is expired, in milliseconds since the epoch;
            None for a file that does not expire.
        stamp: `MemoryFile.stamp` when it was read.
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
    metadata: str | None = None
    expires_ms: int | None = None
    stamp: str = ""


@dataclass(frozen=True, slots=True)
class IndexedChunk:
    """A chunk to be written.

    Attributes:
        id: Its name.
        chunk: What it says, and where.
        embedded: Its vectors; None for none.
        day: Proleptic ordinal of its file's day; None for an evergreen file.
        units: Where its lines begin and end, as `commonplace.text.line_units` packs it.
    """

    id: str
    chunk: Chunk
    embedded: ChunkVectors | None = None
    day: int | None = None
    units: bytes = b""


@dataclass(frozen=True, slots=True)
class ChunkWindow:
    """Window of a file whose chunks are replaced; those before stay, and those behind it move.

    Attributes:
        first: Ordinal of its first chunk.
        after: Ordinal of the first chunk behind it.
        lines: Number of lines by which the chunks behind it move.
        ids: New ids of the chunks behind it, in order; empty where they move by no line.
    """

    first: int
    after: int
    lines: int = 0
    ids: Sequence[str] = ()


@dataclass(frozen=True, slots=True)
class IndexedFile:
    """A file to be written, with all its chunks, or with those of its end or of a window.

    Attributes:
        record: The file's new record.
        chunks: Its chunks; None where only the record is new (the text is the same).
        replaces: `FileRecord.indexed_ns` of the record that this one was planned against; None for
            a file that was not in the index. When another writer changed the record meanwhile, its
            version stays (optimistic concurrency).
        keep_before: Chunks in the index that begin before this line stay, and `chunks` follow them;
            None where `chunks` are all chunks of the file, or those of a window.
        window: Chunks in the index that `chunks` replace, for a store with the capability
            ``"windows"``; None for all of the file.
        note: The note itself, for a store with the capability ``"publication"``.
    """

    record: FileRecord
    chunks: Sequence[IndexedChunk] | None
    replaces: int | None = None
    keep_before: int | None = None
    window: ChunkWindow | None = None
    note: PublishedNote | None = None


class StoredChunk(NamedTuple):
    """A chunk as it is in the index.

    Attributes:
        seq: Number of the chunk, unique in the index; `Snapshot.match`, `nearest` and `chunks` use
            it.
        id: Its name, as in `IndexedChunk`.
        path: Its file.
        source: Source of its file.
        start_line: First line in the file, from 1.
        end_line: Last line, included.
        hash: Hash of the text.
        text: The text.
        heading: Headings above it, as in `Chunk`.
        context: Table header or opening fence above it, as in `Chunk`.
        day: Proleptic ordinal of its day; None for an evergreen file.
        units: As in `IndexedChunk`.
        lines: Packed vectors of its lines (`commonplace.vectors.arrays`); None without any.
        ordinal: Place among the chunks of its file. Chunks that follow each other there have
            ordinals that differ by 1.
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
    context: str
    day: int | None
    units: bytes
    lines: bytes | None
    ordinal: int


@dataclass(frozen=True, slots=True)
class Totals:
    """Counts of the files, chunks and vectors in an index."""

    files: int
    chunks: int
    vectors: int


@dataclass(frozen=True, slots=True)
class RowFilter:
    """Filter of chunks by source and day. Days are proleptic ordinals, both included.

    With `after` or `before`, a chunk without a day does not pass. An empty set of sources lets no
    chunk pass.
    """

    sources: frozenset[Source] | None = None
    after: int | None = None
    before: int | None = None

    def passes(self, source: Source, day: int | None) -> bool:
        """Return whether a chunk of this source and day passes."""
        if self.sources is not None and source not in self.sources:
            return False
        if day is None:
            return self.after is None and self.before is None
        return (self.after is None or day >= self.after) and (
            self.before is None or day <= self.before
        )


@dataclass(frozen=True, slots=True)
class FileFilter:
    """Filter of files by their paths.

    Attributes:
        patterns: Files, folders and globs, of which a path matches one; None for all paths. A
            pattern with ``*``, ``?`` or ``[…]`` is a glob and matches whole paths: ``*`` and ``?``
            stay within a folder, ``**`` does not, and ``**/`` is any number of folders. Any other
            one is a file, or a folder with all below it, with or without a slash at its end.
        hidden: Paths that do not pass.
    """

    patterns: tuple[str, ...] | None = None
    hidden: frozenset[str] = frozenset()

    def passes(self, path: str) -> bool:
        """Return whether a file passes."""
        if path in self.hidden:
            return False
        return self.patterns is None or matches_any(self.patterns, path)


def checked_patterns(paths: Collection[str]) -> tuple[str, ...]:
    """Return the patterns of a `FileFilter`, checked.

    Args:
        paths: Files, folders and globs, as a caller gave them.

    Raises:
        ValueError: They are one text instead of several, or one of them can match no file.
    """
    is_some = isinstance(paths, Iterable) and not isinstance(paths, str)
    if not is_some or not all(isinstance(path, str) for path in paths):
        raise ValueError(
            f"paths is {brief.repr(paths)}; it takes a list of files, folders or globs, such as "
            "['memory/work/']."
        )
    patterns = tuple(path.strip().removeprefix("./") for path in paths)
    for pattern in patterns:
        try:
            path_pattern(pattern)
        except re.error as error:
            raise ValueError(f"paths holds {pattern!r}, which is no glob: {error}.") from error
        if not pattern or pattern.startswith(("/", "~")) or "\\" in pattern:
            raise ValueError(
                f"paths holds {pattern!r}; paths are relative to the workspace and have forward "
                "slashes, as search shows them: 'MEMORY.md', 'memory/work/', 'memory/**/2026-*.md'."
            )
    return patterns
