"""Snapshot of the SQLite engine: every query that reads the index."""

from __future__ import annotations

import json
import math
from collections.abc import Collection, Iterable, Sequence
from typing import TYPE_CHECKING, Any

import apsw

from commonplace.store.records import FileRecord, IndexIdentity, RowFilter, StoredChunk, Totals
from commonplace.store.sqlite import checksums, schema, vector_cache, vector_extension
from commonplace.store.sqlite.connection import IndexFile, damaged, load_identity
from commonplace.text.analysis import Term
from commonplace.text.unspaced_scripts import UNSPACED
from commonplace.types import Chunk, ChunkPlace, Source
from commonplace.vectors.arrays import ChunkVectors

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from commonplace.store.records import FileFilter
    from commonplace.vectors import Vector

__all__ = ["FROM_LINE", "SqliteSnapshot", "hit_condition", "match_expression", "row_conditions"]

_COMMON = 100
"""Document frequency from which on a term's count is cached while the index grows."""
_SAMPLED = 300
"""Chunks of a term that are counted. Of a commoner term so many at both ends of the index tell how
frequent it is, for an idf needs no more: to count them all takes longer than the search."""
_ALIKE = 1.5
"""Ratio of the frequencies at both ends up to which a term counts as spread evenly."""
_MOST_COUNTED = 32_768
"""Chunks that are counted, at most, of a term that is not."""
_OF = "SELECT rowid FROM chunks_fts WHERE chunks_fts MATCH ?"
_COUNT_OF = f"SELECT count(*) FROM ({_OF})"
_FIRST_OF = f"SELECT count(*), max(rowid) FROM ({_OF} ORDER BY rowid LIMIT ?)"
_NTH_OF = f"{_OF} ORDER BY rowid LIMIT 1 OFFSET {_SAMPLED - 1}"  # to count takes twice as long
_NTH_LAST_OF = f"{_OF} ORDER BY rowid DESC LIMIT 1 OFFSET {_SAMPLED - 1}"
_MAX_VEC0_LIMIT = 4096
_STORED = ", ".join(StoredChunk._fields)
_PLACE = ", ".join(ChunkPlace._fields)
FROM_LINE = """path = ?1 AND ordinal > coalesce((SELECT ordinal FROM chunk_places
    WHERE path = ?1 AND start_line < ?2 ORDER BY ordinal DESC LIMIT 1), -1)"""
"""Condition on the chunks of a file that begin at a line or behind it; read from its end."""

_STATE = (
    "SELECT key, value FROM meta UNION ALL "
    "SELECT 'last ' || name, seq FROM sqlite_sequence WHERE name IN ('chunk_places', 'dropped')"
)
"""Notes of the index on itself, with the last numbers of its chunks and deletions."""


class SqliteSnapshot:
    """One state of the index file: a connection inside a read transaction."""

    def __init__(self, file: IndexFile, connection: apsw.Connection) -> None:
        self._file = file
        self._connection = connection
        found: dict[str, Any] = dict(connection.execute(_STATE))
        # The last chunk and the last deletion identify a state.
        last = found.pop("last chunk_places", 0), found.pop("last dropped", 0)
        self._state: tuple[str, int, int] = (found.get("generation", ""), *last)
        self._meta: dict[str, str] = found
        self._identity = load_identity(self._meta, connection.filename)
        self._hits: set[int] = set()
        """Chunks that this state has, for searches of it found them."""

    @property
    def identity(self) -> IndexIdentity | None:
        """Identity of the index; None for a new one."""
        return self._identity

    def within(self, files: FileFilter) -> SqliteSnapshot:
        """Return this state with the files alone that pass a filter."""
        from commonplace.store.sqlite.filtered_snapshot import FilteredSnapshot

        return FilteredSnapshot(self._file, self._connection, files)

    def expired(self, at_ms: int) -> frozenset[str]:
        """Return the paths of the files that are expired, by the index of those that expire."""
        rows = self._connection.execute("SELECT path FROM files WHERE expires_ms <= ?", (at_ms,))
        return frozenset(path for (path,) in rows)

    def files(self) -> dict[str, FileRecord]:
        """Return all files by path."""
        return {row[0]: FileRecord(*row) for row in self._connection.execute("SELECT * FROM files")}

    def file(self, path: str) -> FileRecord | None:
        """Return one file's record."""
        rows = self._connection.execute("SELECT * FROM files WHERE path = ?", (path,))
        return next((FileRecord(*row) for row in rows), None)

    def metadata(self, paths: Collection[str]) -> dict[str, str]:
        """Return the front matter of those of some files that have any."""
        # Cached until the index changes: with the text of a file, its chunks are written again.
        known = self._file.cached("metadata", self._state)
        new = [path for path in paths if path not in known]
        if new:
            among = f"path IN ({', '.join('?' * len(new))})"
            known.update(
                self._connection.execute(f"SELECT path, metadata FROM files WHERE {among}", new)
            )
        return {path: known[path] for path in paths if known.get(path)}

    def totals(self) -> Totals:
        """Count files, chunks and vectors."""
        counts = self._connection.execute(
            "SELECT (SELECT count(*) FROM files), (SELECT count(*) FROM chunk_places), "
            "(SELECT count(*) FROM vectors)"
        ).get
        return Totals(*counts)

    def chunk_count(self, source: Source | None = None) -> int:
        """Return the number of chunks, of one source or of all, from the counts in `meta`."""
        total, said = (int(self._meta.get(key, 0)) for key in ("chunks", "chunks of sessions"))
        return total if source is None else said if source == "sessions" else total - said

    def frequencies(self, words: Iterable[Term], source: Source | None = None) -> dict[Term, int]:
        """Return the document frequency of each term, in one source or in all.

        Counts are cached until the index changes. Those of common terms only weigh terms and choose
        no rows, so they stay cached while the index grows by less than a tenth; of very common ones
        they are estimated by the first and the last chunks.
        """
        of = f" in {source}" if source else ""
        common = self._file.cached(f"common{of}", (self._state[0], self._size(source)))
        exact = self._file.cached(f"exact{of}", self._state)
        expressions = {word: match_expression([word], every=True) or "" for word in words}
        different = dict.fromkeys(expressions.values())
        new = [it for it in different if it and it not in common and it not in exact]
        for expression, count in zip(new, self._count(new, source), strict=True):
            (common if count >= _COMMON else exact)[expression] = count
        return {word: common.get(it, exact.get(it, 0)) for word, it in expressions.items()}

    def _count(self, expressions: list[str], source: Source | None) -> list[int]:
        if not expressions or self._identity is None:
            return [0] * len(expressions)
        self._file.compare_words(self._connection)
        if source is None:
            return [self._estimate(expression) for expression in expressions]
        held = "chunks_fts WHERE chunks_fts MATCH value"
        wanted = (
            f"SELECT count(*) FROM {held} AND EXISTS (SELECT 1 FROM chunk_places INDEXED BY "
            "chunks_of_sessions WHERE source = 'sessions' AND seq = chunks_fts.rowid)"
        )
        if source == "memory":
            wanted = f"(SELECT count(*) FROM {held}) - ({wanted})"
        counts = f"SELECT min(({wanted}), ?2) FROM json_each(?1)"
        values = json.dumps(expressions), self.chunk_count(source)
        return [count for (count,) in self._connection.execute(counts, values)]

    def _estimate(self, expression: str) -> int:
        """Count a term's chunks; those of a common one are estimated by the first and the last."""
        most = self.chunk_count()
        last = self._connection.execute(_NTH_OF, (expression,)).get
        if last is None:
            count: int = self._connection.execute(_COUNT_OF, (expression,)).get
            return min(count, most)
        first = self._connection.execute(_NTH_LAST_OF, (expression,)).get
        seqs = self._state[1]
        begin, end = _SAMPLED / last, _SAMPLED / (seqs + 1 - first)
        if max(begin, end) > _ALIKE * min(begin, end):  # the chunks of one folder, perhaps
            count, last = self._connection.execute(_FIRST_OF, (expression, _MOST_COUNTED)).get
            begin = end = count / (seqs if count < _MOST_COUNTED else last)
        return min(int(seqs * (begin + end) / 2), most)

    def _size(self, source: Source | None) -> int:
        """Return the number of chunks in steps of a tenth."""
        return int(10 * math.log(self.chunk_count(source) + 1))

    def match(
        self, words: Sequence[Term], *, every: bool, limit: int, rows: RowFilter
    ) -> list[tuple[int, float]]:
        """Return ``(seq, bm25)`` of the chunks that hold any (or every) term, best first."""
        expression = match_expression(words, every=every)
        if expression is None or limit < 1 or self._identity is None:
            return []
        self._file.compare_words(self._connection)
        where, values = self._conditions(rows)
        hits = self._connection.execute(
            # The column `rank` is the same, and takes longer.
            "SELECT rowid, -bm25(chunks_fts) AS score FROM chunks_fts WHERE chunks_fts MATCH ?"
            + (f" AND {hit_condition(where)}" if where else "")
            + " ORDER BY score DESC, rowid LIMIT ?",
            (expression, *values, limit),
        )
        return self._noted(list(hits))

    def nearest(
        self, query: Vector, limit: int, rows: RowFilter, *, exact: bool = True
    ) -> list[tuple[int, float]]:
        """Return the ``(seq, dot product)`` of the chunks nearest to a vector, best first."""
        if self._identity is None or self._identity.dimension != len(query) or limit < 1:
            return []
        among, connection = self._seqs_among(), self._connection
        is_plain = rows == RowFilter() and among is None and limit <= _MAX_VEC0_LIMIT
        can_be_cold = is_plain and bool(query.any())
        resident = self._file.resident_vectors(
            cold=lambda: can_be_cold and vector_extension.vec0_usable(connection)
        )
        if resident is None:
            return self._noted(vector_extension.nearest_by_vec0(connection, query, limit))
        from commonplace.store.sqlite.vector_table import SqliteVectorTable

        table, state = SqliteVectorTable(connection), self._state
        found = resident.nearest(table, state, query, limit, rows, exact=exact, among=among)
        if found is None:
            where, values = self._conditions(rows, "vectors")
            found = schema.nearest_by_scan(connection, query, limit, where=where, values=values)
        return self._noted(found)

    def _conditions(self, rows: RowFilter, _table: str = "chunks") -> tuple[str, list[Any]]:
        """Return the condition on the rows of `chunks` or `vectors` that may be found."""
        return row_conditions(rows)

    def _seqs_among(self) -> NDArray[np.int64] | None:
        """Return the chunks that may be found, ascending; None for all."""
        return None

    def mean_line(self, source: Source | None = None) -> Vector | None:
        """Return the mean of the lines' vectors, of one source or of all; None without any."""
        means = self._file.cached("mean line", self._state)
        if source not in means:
            means[source] = schema.mean_of_lines(self._connection, source)
        mean: Vector | None = means[source]
        return mean

    def chunks(self, seqs: Sequence[int]) -> dict[int, StoredChunk]:
        """Return chunks by seq; one that is gone is left out.

        Raises:
            IndexDamagedError: One is not as it was written, or is missing though it was a hit.
        """
        columns = f"{_STORED}, place_checksum, checksum"
        sql = f"SELECT {columns} FROM chunks WHERE seq IN ({', '.join('?' * len(seqs))})"
        rows: list[Any] = self._connection.execute(sql, list(seqs)).fetchall()
        found = {}
        for row in rows:
            found[row[0]] = it = StoredChunk._make(row[:-2])
            texts = it.heading, it.context, it.text, it.units, it.lines
            kind, at = (it.path, it.source, it.hash), (it.start_line, it.end_line)
            now = checksums.place_checksum(it.id, kind, at, it.day, it.ordinal)
            if (now, checksums.row_checksum(*texts)) != row[-2:]:
                raise damaged(self._connection.filename, f"chunk {it.seq} is not as it was written")
        if missing := self._hits.intersection(seqs) - found.keys():
            raise damaged(self._connection.filename, f"chunk {min(missing)} is missing")
        return found

    def _noted(self, hits: list[tuple[int, float]]) -> list[tuple[int, float]]:
        self._hits.update(seq for seq, _ in hits)
        return hits

    def versions(self, seqs: Sequence[int]) -> dict[int, int]:
        """Return the version of each chunk: SQLite numbers the rows in the order of writes."""
        return {seq: seq for seq in seqs}

    def chunks_of(
        self, path: str, *, from_line: int | None = None, to_line: int | None = None
    ) -> list[tuple[Chunk, ChunkVectors | None]]:
        """Return the chunks of a file with their vectors, in order."""
        rows = self._connection.execute(
            f"""SELECT start_line, end_line, text, hash, heading, context, embedding, lines
            FROM chunks LEFT JOIN vectors USING (seq)
            WHERE {FROM_LINE} AND start_line <= ifnull(?3, start_line) ORDER BY ordinal""",
            (path, from_line or 1, to_line),
        )
        return [(Chunk(*row[:6]), _embedded(row[6], row[7])) for row in rows]

    def places(self, path: str) -> list[ChunkPlace]:
        """Return the places of a file's chunks, in order."""
        sql = f"SELECT {_PLACE} FROM chunk_places WHERE path = ? ORDER BY ordinal"
        return list(map(ChunkPlace._make, self._connection.execute(sql, (path,))))

    def cached_dimension(self, identity: IndexIdentity) -> int | None:
        """Return the dimension of a model's vectors in the index or the cache; None for none."""
        mine = self._identity
        if mine and mine.dimension and mine.vectors_key == identity.vectors_key:
            return mine.dimension
        return vector_cache.dimension_of(self._connection, identity)

    def vectors_of(self, hashes: Sequence[str], identity: IndexIdentity) -> dict[str, ChunkVectors]:
        """Return the vectors that a model made of chunk texts, from the chunks or the cache."""
        if not hashes or not identity.model or not identity.dimension:
            return {}
        key, mine = (identity.vectors_key, identity.dimension), self._identity
        in_chunks = mine is not None and (mine.vectors_key, mine.dimension) == key
        found = vector_cache.get(self._connection, identity, hashes, in_chunks=in_chunks)
        return {key: made for key, *vectors in found if (made := _embedded(*vectors))}


def _embedded(embedding: bytes | None, lines: bytes | None) -> ChunkVectors | None:
    if embedding is None:
        return None
    import numpy as np

    return ChunkVectors(np.frombuffer(embedding, dtype="<f4"), lines)


def match_expression(words: Sequence[Term], *, every: bool) -> str | None:
    """Return an FTS5 expression that matches any (or every) word; None without words.

    Each word is quoted, so that operators, columns and wildcards are plain text.
    """
    parts = [_phrase(word) for word in words if word.text.strip()]
    return (" AND " if every else " OR ").join(parts) or None


def _phrase(word: Term) -> str:
    text = word.term if word.prefix else word.text
    if not text.isalnum():
        text = text.replace('"', " ").replace("\0", " ")
        text = text.encode("utf-8", "replace").decode()
    # A single character begins every pair that it stands first in.
    prefix = " *" if word.prefix or (word.gram and len(text) == 1) else ""
    if word.gram:
        return f'{{grams}} : "{text}"{prefix}'
    if word.initial:
        return f'{{text}} : ^ "{text}"{prefix}'
    # Words that touch an unspaced script stand with the grams.
    return ("{text} : " if UNSPACED.search(text) else "") + f'"{text}"{prefix}'


def hit_condition(where: str) -> str:
    """Return the condition on the chunk of a hit of FTS5.

    A chunk that is lost passes, so that it is missed when it is read. (With IN, FTS5 would search
    once for every row that passes.)
    """
    passes = f"SELECT ifnull({where}, 0) FROM chunk_places WHERE seq = chunks_fts.rowid"
    return f"ifnull(({passes}), 1)"


def row_conditions(rows: RowFilter) -> tuple[str, list[Any]]:
    """Return a filter as SQL over `source` and `day` ("" when every row passes), and its values."""
    conditions: list[str] = []
    values: list[Any] = []
    if rows.sources is not None:
        conditions.append(f"source IN ({', '.join('?' * len(rows.sources))})")
        values += sorted(rows.sources)
    if rows.after is not None:
        conditions.append("day >= ?")
        values.append(rows.after)
    if rows.before is not None:
        conditions.append("day <= ?")
        values.append(rows.before)
    return " AND ".join(conditions), values
