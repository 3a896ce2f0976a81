"""Snapshot of the PostgreSQL engine: every query that reads the index."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from typing import TYPE_CHECKING, Any

from commonplace.store.postgres import terms as term_math
from commonplace.store.postgres.conditions import row_conditions
from commonplace.store.postgres.state import IndexState
from commonplace.store.postgres.terms import Phrase, phrases_of
from commonplace.store.records import FileRecord, IndexIdentity, RowFilter, StoredChunk, Totals
from commonplace.text.analysis import Term
from commonplace.types import Chunk, ChunkPlace, Source
from commonplace.vectors.arrays import ChunkVectors

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from commonplace.store.postgres.database import Connection
    from commonplace.store.postgres.reader_cache import ReaderCache
    from commonplace.store.postgres.term_search import TermSearch
    from commonplace.store.postgres.vector_search import VectorSearch
    from commonplace.store.records import FileFilter, Hits
    from commonplace.vectors import Vector

__all__ = ["PostgresSnapshot"]

_STORED = ", ".join(StoredChunk._fields)
_PLACE = ", ".join(ChunkPlace._fields)
_RECORD = (
    "path, source, hash, size, mtime_ns, indexed_ns, day, pending, note, progress, metadata, "
    "expires_ms, stamp"
)


class PostgresSnapshot:
    """One state of the index: a connection inside a read transaction."""

    def __init__(self, connection: Connection, state: IndexState, cache: ReaderCache) -> None:
        self._connection = connection
        self._state = state
        self._cache = cache
        self._tables = state.tables
        self._terms_counted = not state.loading

    @property
    def identity(self) -> IndexIdentity | None:
        """Identity of the index; None for a new one."""
        return self._state.identity

    def within(self, files: FileFilter) -> PostgresSnapshot:
        """Return this state with the files alone that pass a filter."""
        from commonplace.store.postgres.filtered_snapshot import FilteredSnapshot

        return FilteredSnapshot(self._connection, self._state, self._cache, files)

    def _rows(self, statement: str, *values: Any) -> list[Any]:
        cursor = self._connection.cursor(binary=True)
        return cursor.execute(statement, values or None).fetchall()

    def expired(self, at_ms: int) -> frozenset[str]:
        """Return the paths of the files that are expired, by the index of those that expire."""
        sql = f"SELECT path FROM {self._tables.files} WHERE expires_ms <= %s"
        return frozenset(path for (path,) in self._rows(sql, at_ms))

    def files(self) -> dict[str, FileRecord]:
        """Return all files by path."""
        rows = self._rows(f"SELECT {_RECORD} FROM {self._tables.files}")
        return {row[0]: FileRecord(*row) for row in rows}

    def file(self, path: str) -> FileRecord | None:
        """Return one file's record."""
        rows = self._rows(f"SELECT {_RECORD} FROM {self._tables.files} WHERE path = %s", path)
        return next((FileRecord(*row) for row in rows), None)

    def metadata(self, paths: Collection[str]) -> dict[str, str]:
        """Return the front matter of those of some files that have any."""
        known = self._cache.of("metadata", self._state.key)
        new = [path for path in paths if path not in known]
        if new:
            sql = f"SELECT path, metadata FROM {self._tables.files} WHERE path = ANY(%s)"
            known.update(dict.fromkeys(new) | dict(self._rows(sql, new)))
        return {path: known[path] for path in paths if known.get(path)}

    def totals(self) -> Totals:
        """Count files, chunks and vectors."""
        ((files,),) = self._rows(f"SELECT count(*) FROM {self._tables.files}")
        sums = self._state.of_source(None)
        return Totals(files, sums.chunks, sums.vectors)

    def chunk_count(self, source: Source | None = None) -> int:
        """Return the number of chunks, of one source or of all, from the index's books."""
        return self._state.of_source(source).chunks

    def counted_rows(self) -> int:
        """Count the chunks that have terms, row by row."""
        ((count,),) = self._rows(f"SELECT count(*) FROM {self._tables.words}")
        return int(count)

    # -- terms -----------------------------------------------------------------------------------

    def frequencies(self, words: Iterable[Term], source: Source | None = None) -> dict[Term, int]:
        """Return the document frequency of each term, in one source or in all."""
        listed = list(words)
        phrases = self._phrases(listed)
        return dict(zip(listed, self._frequencies(phrases, source), strict=True))

    def _phrases(self, words: Sequence[Term]) -> list[Phrase]:
        identity = self._state.identity
        return (
            [Phrase(())] * len(words) if identity is None else phrases_of(words, identity.tokenizer)
        )

    def _frequencies(self, phrases: Sequence[Phrase], source: Source | None) -> list[int]:
        known = self._cache.of(f"frequencies {source}", self._state.key)
        new = {it for it in phrases if it.possible and it not in known}
        counted = {it.single: it for it in new if it.single is not None and self._terms_counted}
        if counted:
            of = "" if source is None else " AND source = %s"
            found = self._rows(
                f"SELECT term, sum(n)::bigint FROM {self._tables.terms} "
                f"WHERE term = ANY(%s){of} GROUP BY term",
                list(counted),
                *([source] if source else []),
            )
            known.update(dict.fromkeys(counted.values(), 0))
            known.update((counted[term], count) for term, count in found)
        if others := [it for it in new if it not in known]:
            rows = RowFilter(None if source is None else frozenset((source,)))
            known.update(zip(others, self._counted(others, *row_conditions(rows)), strict=True))
        return [known.get(it, 0) for it in phrases]

    def _counted(self, phrases: Sequence[Phrase], where: str, values: Sequence[Any]) -> list[int]:
        """Count the chunks that hold each phrase, of those that pass a condition."""
        found = self._rows(
            f"SELECT (SELECT count(*) FROM {self._tables.words} WHERE terms @@ it.query::tsquery"
            f"{where and f' AND {where}'}) "
            "FROM unnest(%s::text[]) WITH ORDINALITY AS it(query, n) ORDER BY it.n",
            *values,
            [phrase.query for phrase in phrases],
        )
        counts = [count for (count,) in found]
        for at, it in enumerate(phrases):
            if it.initial:
                counts[at] = len(self._term_search().found([it], where, values, every=True)[0])
        return counts

    def match(self, words: Sequence[Term], *, every: bool, limit: int, rows: RowFilter) -> Hits:
        """Return ``(seq, bm25)`` of the chunks that hold any (or every) term, best first."""
        phrases = self._phrases([word for word in words if word.text.strip()])
        wanted = [phrase for phrase in phrases if phrase.possible]
        if limit < 1 or not wanted or (every and len(wanted) < len(phrases)):
            return []
        condition = self._conditions(rows)
        seqs, lengths, counts = self._term_search().found(wanted, *condition, every=every)
        if not len(seqs):
            return []
        import numpy as np

        total, tokens, holding = self._weighed_by(wanted)
        weights = [term_math.idf(total, count) for count in holding]
        scores = term_math.bm25(counts, weights, lengths, tokens / total)
        best = np.lexsort((seqs, -scores))[:limit]
        return list(zip(seqs[best].tolist(), scores[best].tolist(), strict=True))

    def _weighed_by(self, phrases: Sequence[Phrase]) -> tuple[int, int, list[int]]:
        """Return the number of chunks, of their terms, and each phrase's document frequency."""
        sums = self._state.of_source(None)
        return sums.chunks, sums.terms, self._frequencies(phrases, None)

    def _term_search(self) -> TermSearch:
        from commonplace.store.postgres.term_search import TermSearch

        return TermSearch(self._rows, self._state, self._cache)

    # -- vectors ---------------------------------------------------------------------------------

    def nearest(self, query: Vector, limit: int, rows: RowFilter, *, exact: bool = True) -> Hits:
        """Return the ``(seq, dot product)`` of the chunks nearest to a vector, best first."""
        identity = self._state.identity
        if identity is None or identity.dimension != len(query) or limit < 1:
            return []
        among = self._seqs_among()
        condition = self._conditions(rows)
        return self.vector_search().nearest(query, limit, rows, condition, among=among, exact=exact)

    def vector_search(self) -> VectorSearch:
        """Return the search of the nearest chunks."""
        from commonplace.store.postgres.vector_search import VectorSearch

        return VectorSearch(self._connection, self._state, self._cache)

    def _conditions(self, rows: RowFilter) -> tuple[str, list[Any]]:
        """Return the condition on the rows of words or vectors that may be found."""
        return row_conditions(rows)

    def _seqs_among(self) -> NDArray[np.int64] | None:
        """Return the chunks that may be found, ascending; None for all."""
        return None

    def mean_line(self, source: Source | None = None) -> Vector | None:
        """Return the mean of the vectors of lines, of one source or of all; None without any."""
        means = self._cache.of("mean line", self._state.key)
        if source not in means:
            means[source] = self._mean_line(source)
        mean: Vector | None = means[source]
        return mean

    def _mean_line(self, source: Source | None) -> Vector | None:
        rows = self._rows(
            "SELECT lines, total, source FROM books WHERE generation = %s AND lines > 0",
            self._state.generation,
        )
        sums = [(count, total) for count, total, of in rows if source in (None, of)]
        if not sums:
            return None
        import numpy as np

        total = np.sum([np.frombuffer(data, dtype="<f8") for _, data in sums], axis=0)
        mean: Vector = (total / sum(count for count, _ in sums)).astype(np.float32)
        mean.flags.writeable = False  # every search shares it
        return mean

    # -- chunks ----------------------------------------------------------------------------------

    def chunks(self, seqs: Sequence[int]) -> dict[int, StoredChunk]:
        """Return chunks by seq; one that is gone is left out."""
        sql = f"SELECT {_STORED} FROM {self._tables.chunks} WHERE seq = ANY(%s::bigint[])"
        rows = self._rows(sql, list(seqs))
        return {row[0]: StoredChunk._make(row) for row in rows}

    def versions(self, seqs: Sequence[int]) -> dict[int, int]:
        """Return the version of each chunk: seqs ascend with each write."""
        return {seq: seq for seq in seqs}

    def chunks_of(
        self, path: str, *, from_line: int | None = None, to_line: int | None = None
    ) -> list[tuple[Chunk, ChunkVectors | None]]:
        """Return the chunks of a file with their vectors, in order."""
        chunks, vectors = self._tables.chunks, self._tables.vectors
        rows = self._rows(
            f"""SELECT start_line, end_line, text, hash, heading, context, embedding, lines
            FROM {chunks} AS chunk LEFT JOIN {vectors} USING (seq)
            WHERE chunk.path = %s AND start_line BETWEEN %s AND %s ORDER BY ordinal""",
            path,
            from_line or 1,
            2**31 - 1 if to_line is None else to_line,
        )
        return [(Chunk(*row[:6]), _embedded(row[6], row[7])) for row in rows]

    def places(self, path: str) -> list[ChunkPlace]:
        """Return the places of a file's chunks, in order."""
        sql = f"SELECT {_PLACE} FROM {self._tables.chunks} WHERE path = %s ORDER BY ordinal"
        return list(map(ChunkPlace._make, self._rows(sql, path)))

    def cached_dimension(self, identity: IndexIdentity) -> int | None:
        """Return the dimension of a model's vectors in the index or the cache; None for none."""
        mine = self._state.identity
        if mine and mine.dimension and mine.vectors_key == identity.vectors_key:
            return mine.dimension
        rows = self._rows(
            "SELECT dimension FROM vector_cache WHERE (provider, model, endpoint) = (%s, %s, %s) "
            "ORDER BY written DESC LIMIT 1",
            *identity.vectors_key,
        )
        return next((dimension for (dimension,) in rows), None)

    def vectors_of(self, hashes: Sequence[str], identity: IndexIdentity) -> dict[str, ChunkVectors]:
        """Return the vectors that a model made of chunk texts, from the chunks or the cache."""
        if not hashes or not identity.model or not identity.dimension:
            return {}
        wanted, key = list(hashes), (*identity.vectors_key, identity.dimension)
        rows = self._rows(
            "SELECT hash, embedding, lines FROM vector_cache WHERE hash = ANY(%s::text[]) "
            "AND (provider, model, endpoint, dimension) = (%s, %s, %s, %s)",
            wanted,
            *key,
        )
        mine = self._state.identity
        if mine and (*mine.vectors_key, mine.dimension) == key:
            rows += self._rows(
                f"SELECT hash, embedding, lines FROM {self._tables.chunks} "
                f"JOIN {self._tables.vectors} USING (seq) WHERE left(hash, 16) = ANY(%s::text[]) "
                "AND hash = ANY(%s::text[])",
                [text_hash[:16] for text_hash in wanted],
                wanted,
            )
        made = {text_hash: _embedded(data, lines) for text_hash, data, lines in rows}
        return {text_hash: vectors for text_hash, vectors in made.items() if vectors}


def _embedded(data: bytes | None, lines: bytes | None) -> ChunkVectors | None:
    if data is None:
        return None
    from commonplace.store.postgres.vector_codec import vector_from

    return ChunkVectors(vector_from(data), lines)
