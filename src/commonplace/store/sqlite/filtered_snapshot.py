"""Filtered snapshot of the SQLite engine: one state, with some of its files alone."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from commonplace.store.records import FileFilter, FileRecord, RowFilter, StoredChunk, Totals
from commonplace.store.sqlite.filtered_rank import FilteredRank, token_count
from commonplace.store.sqlite.snapshot import (
    SqliteSnapshot,
    hit_condition,
    match_expression,
    row_conditions,
)
from commonplace.types import Chunk, ChunkPlace, Source
from commonplace.vectors.arrays import ChunkVectors, sum_packed

if TYPE_CHECKING:
    import apsw
    from numpy.typing import NDArray

    from commonplace.store.sqlite.connection import IndexFile
    from commonplace.text.analysis import Term
    from commonplace.vectors import Vector

__all__ = ["FilteredSnapshot"]

_FILTERS = 16
"""Filters whose selections are cached, at most."""
_MEAN_CHUNKS = 2048
"""Chunks whose lines make up the mean line, at most: in 0.1 s, once for a state of the index."""

_PLACEHOLDERS = 100
"""Paths that a statement lists, at most; more of them are one JSON text, which is slower."""


class FilteredSnapshot(SqliteSnapshot):
    """One state of the index file, as if it held only the files that pass a filter.

    What the filter selects is looked up once for a state of the index, and then cached.
    """

    def __init__(self, file: IndexFile, connection: apsw.Connection, files: FileFilter) -> None:
        super().__init__(file, connection)
        self._files = files
        known = file.cached("within", self._state)
        if len(known) >= _FILTERS and files not in known:
            known.clear()
        self._known: dict[Any, Any] = known.setdefault(files, {})
        self._condition, self._paths = self._selected()

    def _selected(self) -> tuple[str, list[str]]:
        """Return the SQL condition on a path, and its values: the shorter list of the two."""
        if "paths" not in self._known:
            paths = [path for (path,) in self._connection.execute("SELECT path FROM files")]
            passing = {path for path in paths if self._files.passes(path)}
            some = len(passing) <= len(paths) - len(passing)
            listed = sorted(passing if some else set(paths) - passing)
            condition = "path IN" if some else "path NOT IN"
            if len(listed) <= _PLACEHOLDERS:
                selected = f"{condition} ({', '.join('?' * len(listed))})", listed
            else:
                in_json = f"{condition} (SELECT value FROM json_each(?))"
                selected = in_json, [json.dumps(listed)]
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
        chunks, vectors = self._connection.execute(
            "SELECT count(*), count(embedding) FROM chunk_places LEFT JOIN vectors USING (seq) "
            f"WHERE {self._condition}",
            self._paths,
        ).get
        return Totals(len(self.files()), chunks, vectors)

    def chunk_count(self, source: Source | None = None) -> int:
        """Return the number of chunks, of one source or of all."""
        key = "chunks", source
        if key not in self._known:
            where, values = self._conditions(_of_source(source))
            sql = f"SELECT count(*) FROM chunk_places WHERE {where}"
            self._known[key] = self._connection.execute(sql, values).get
        return int(self._known[key])

    def frequencies(self, words: Iterable[Term], source: Source | None = None) -> dict[Term, int]:
        """Return the document frequency of each term, in one source or in all."""
        expressions = {word: match_expression([word], every=True) for word in words}
        wanted = {expression for expression in expressions.values() if expression}
        new = [it for it in wanted if ("frequency", source, it) not in self._known]
        if new and self._identity is not None:
            self._file.compare_words(self._connection)
            where, values = self._conditions(_of_source(source))
            found = self._connection.execute(
                "SELECT value, (SELECT count(*) FROM chunks_fts WHERE chunks_fts MATCH value AND "
                f"EXISTS (SELECT 1 FROM chunk_places WHERE seq = chunks_fts.rowid AND {where})) "
                "FROM json_each(?)",
                (*values, json.dumps(new)),
            )
            self._known |= {("frequency", source, it): count for it, count in found}
        return {
            word: self._known.get(("frequency", source, it), 0) for word, it in expressions.items()
        }

    def match(
        self, words: Sequence[Term], *, every: bool, limit: int, rows: RowFilter
    ) -> list[tuple[int, float]]:
        """Return ``(seq, bm25)`` of the chunks that hold any (or every) term, best first."""
        expression = match_expression(words, every=every)
        if self._files.patterns is None or expression is None:
            return super().match(words, every=every, limit=limit, rows=rows)
        if limit < 1 or not self.chunk_count():
            return []
        phrases = [word for word in words if word.text.strip()]
        counts = self.frequencies(phrases)
        rank = FilteredRank(
            [counts[word] for word in phrases], rows=self.chunk_count(), tokens=self._tokens()
        )
        self._connection.register_fts5_function("rank_within", rank)
        where, values = self._conditions(rows)
        hits = self._connection.execute(
            "SELECT rowid, rank_within(chunks_fts) AS found FROM chunks_fts WHERE chunks_fts MATCH "
            f"? AND {hit_condition(where)} ORDER BY found DESC, rowid LIMIT ?",
            (expression, *values, limit),
        )
        return self._noted(list(hits))

    def _tokens(self) -> int:
        """Return the number of tokens in all chunks."""
        if "tokens" not in self._known:
            sizes = self._connection.execute(
                "SELECT sz FROM chunks_fts_docsize JOIN chunks ON seq = chunks_fts_docsize.id "
                f"WHERE {self._condition}",
                self._paths,
            )
            self._known["tokens"] = token_count(size for (size,) in sizes)
        return int(self._known["tokens"])

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
        rows = self._connection.execute(
            f"SELECT seq FROM chunk_places WHERE {where} ORDER BY seq", values
        ).fetchall()
        some = json.dumps([seq for (seq,) in rows[::step]])
        found = self._connection.execute(
            "SELECT lines FROM json_each(?) JOIN chunk_texts ON seq = value AND lines IS NOT NULL",
            (some,),
        )
        lines = [data for (data,) in found]
        if not lines or self._identity is None or not self._identity.dimension:
            return None
        count, total = sum_packed(lines, self._identity.dimension)
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

    def _conditions(self, rows: RowFilter, table: str = "chunks") -> tuple[str, list[Any]]:
        where, values = row_conditions(rows)
        mine = self._condition
        if table == "vectors":
            mine = f"seq IN (SELECT seq FROM chunk_places WHERE {mine})"
        return " AND ".join(filter(None, (mine, where))), [*self._paths, *values]

    def _seqs_among(self) -> NDArray[np.int64] | None:
        if "seqs" not in self._known:
            rows = self._connection.execute(
                f"SELECT seq FROM chunk_places WHERE {self._condition} ORDER BY seq", self._paths
            )
            self._known["seqs"] = np.array([seq for (seq,) in rows], dtype=np.int64)
        seqs: NDArray[np.int64] = self._known["seqs"]
        return seqs


def _of_source(source: Source | None) -> RowFilter:
    return RowFilter(None if source is None else frozenset((source,)))
