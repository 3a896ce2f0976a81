"""Filtered snapshot of the PostgreSQL engine: one state, with some of its files alone."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from commonplace.store.postgres.conditions import row_conditions
from commonplace.store.postgres.snapshot import PostgresSnapshot
from commonplace.store.records import FileFilter, FileRecord, RowFilter, StoredChunk, Totals
from commonplace.types import Chunk, ChunkPlace, Source
from commonplace.vectors.arrays import ChunkVectors, sum_packed

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from commonplace.store.postgres.database import Connection
    from commonplace.store.postgres.reader_cache import ReaderCache
    from commonplace.store.postgres.state import IndexState
    from commonplace.store.postgres.terms import Phrase
    from commonplace.vectors import Vector

__all__ = ["FilteredSnapshot"]

_FILTERS = 16
"""Filters whose selections are cached, at most."""
_MEAN_CHUNKS = 2048
"""Chunks whose lines make up the mean line, at most."""


class FilteredSnapshot(PostgresSnapshot):
    """One state of the index, as if it held only the files that pass a filter.

    What the filter selects is looked up once for a state of the index, and then cached.
    """

    def __init__(
        self, connection: Connection, state: IndexState, cache: ReaderCache, files: FileFilter
    ) -> None:
        super().__init__(connection, state, cache)
        self._files = files
        known = cache.of("within", state.key)
        if len(known) >= _FILTERS and files not in known:
            known.clear()
        self._known: dict[Any, Any] = known.setdefault(files, {})
        self._condition, self._paths = self._selected()

    def _selected(self) -> tuple[str, list[str]]:
        """Return the SQL condition on a path, and its values: the shorter list of the two."""
        if "paths" not in self._known:
            paths = [path for (path,) in self._rows(f"SELECT path FROM {self._tables.files}")]
            passing = {path for path in paths if self._files.passes(path)}
            if len(passing) <= len(paths) - len(passing):
                selected = "path = ANY(%s::text[])", sorted(passing)
            else:
                selected = "path <> ALL(%s::text[])", sorted(set(paths) - passing)
            self._known["paths"] = selected
        condition, values = self._known["paths"]
        return condition, values

    def expired(self, at_ms: int) -> frozenset[str]:
        """Return the paths of the files that are expired."""
        return frozenset(filter(self._files.passes, super().expired(at_ms)))

    def files(self) -> dict[str, FileRecord]:
        """Return the files by path."""
        return {path: file for path, file in super().files().items() if self._files.passes(path)}

    def file(self, path: str) -> FileRecord | None:
        """Return one file's record."""
        return super().file(path) if self._files.passes(path) else None

    def metadata(self, paths: Collection[str]) -> dict[str, str]:
        """Return the front matter of those of some files that have any."""
        return super().metadata([path for path in paths if self._files.passes(path)])

    def totals(self) -> Totals:
        """Count files, chunks and vectors."""
        sql = f"SELECT count(*) FROM {self._tables.vectors} WHERE {self._condition}"
        ((vectors,),) = self._rows(sql, self._paths)
        return Totals(len(self.files()), self.chunk_count(), vectors)

    def chunk_count(self, source: Source | None = None) -> int:
        """Return the number of chunks, of one source or of all."""
        return self._sizes(source)[0]

    def _sizes(self, source: Source | None) -> tuple[int, int]:
        """Return the number of chunks and of their terms."""
        key = "sizes", source
        if key not in self._known:
            where, values = self._conditions(_of_source(source))
            sql = f"SELECT count(*), coalesce(sum(length), 0)::bigint FROM {self._tables.words}"
            (self._known[key],) = self._rows(f"{sql} WHERE {where}", *values)
        chunks, terms = self._known[key]
        return chunks, terms

    def _frequencies(self, phrases: Sequence[Phrase], source: Source | None) -> list[int]:
        known = self._known.setdefault(("frequencies", source), {})
        if new := [it for it in dict.fromkeys(phrases) if it.possible and it not in known]:
            condition = self._conditions(_of_source(source))
            known.update(zip(new, self._counted(new, *condition), strict=True))
        return [known.get(it, 0) for it in phrases]

    def _weighed_by(self, phrases: Sequence[Phrase]) -> tuple[int, int, list[int]]:
        if self._files.patterns is None:  # weights may be of all files
            sums = self._state.of_source(None)
            return sums.chunks, sums.terms, super()._frequencies(phrases, None)
        return *self._sizes(None), self._frequencies(phrases, None)

    def mean_line(self, source: Source | None = None) -> Vector | None:
        """Return the mean of the lines' vectors; of a part of the chunks where there are many."""
        key = "mean line", source
        if key not in self._known:
            self._known[key] = self._mean_of_some(source)
        mean: Vector | None = self._known[key]
        return mean

    def _mean_of_some(self, source: Source | None) -> Vector | None:
        where, values = self._conditions(_of_source(source))
        step = 1 + self.chunk_count(source) // _MEAN_CHUNKS
        found = self._rows(
            f"SELECT lines FROM {self._tables.chunks} JOIN (SELECT seq, row_number() OVER "
            f"(ORDER BY seq) AS n FROM {self._tables.words} WHERE {where}) AS numbered USING (seq) "
            "WHERE n %% %s = 1 %% %s AND lines IS NOT NULL",
            *values,
            step,
            step,
        )
        lines = [data for (data,) in found]
        identity = self._state.identity
        if not lines or identity is None or not identity.dimension:
            return None
        count, total = sum_packed(lines, identity.dimension)
        mean: Vector = (total / count).astype(np.float32)
        mean.flags.writeable = False  # every search shares it
        return mean

    def chunks(self, seqs: Sequence[int]) -> dict[int, StoredChunk]:
        """Return chunks by seq; one that is gone, or of another file, is left out."""
        found = super().chunks(seqs).items()
        return {seq: chunk for seq, chunk in found if self._files.passes(chunk.path)}

    def chunks_of(
        self, path: str, *, from_line: int | None = None, to_line: int | None = None
    ) -> list[tuple[Chunk, ChunkVectors | None]]:
        """Return the chunks of a file with their vectors, in order."""
        passes = self._files.passes(path)
        return super().chunks_of(path, from_line=from_line, to_line=to_line) if passes else []

    def places(self, path: str) -> list[ChunkPlace]:
        """Return the places of a file's chunks, in order."""
        return super().places(path) if self._files.passes(path) else []

    def _conditions(self, rows: RowFilter) -> tuple[str, list[Any]]:
        where, values = row_conditions(rows)
        return " AND ".join(filter(None, (self._condition, where))), [self._paths, *values]

    def _seqs_among(self) -> NDArray[np.int64] | None:
        if "seqs" not in self._known:
            sql = f"SELECT seq FROM {self._tables.words} WHERE {self._condition} ORDER BY seq"
            rows = self._rows(sql, self._paths)
            self._known["seqs"] = np.array([seq for (seq,) in rows], dtype=np.int64)
        seqs: NDArray[np.int64] = self._known["seqs"]
        return seqs


def _of_source(source: Source | None) -> RowFilter:
    return RowFilter(None if source is None else frozenset((source,)))
