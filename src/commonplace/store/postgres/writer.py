"""Writer of the PostgreSQL engine: the changes of one write transaction, in bulk.

A writer holds the row of its index from the beginning of its transaction to the end. So there is
one at a time: seqs ascend in the order of commits, sums are exact, and no two writers deadlock.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from operator import attrgetter
from typing import TYPE_CHECKING, Any

from commonplace.store.postgres import vector_cache
from commonplace.store.postgres.bulk_load import begin_load
from commonplace.store.postgres.notifications import notice
from commonplace.store.postgres.schema import UNLISTED
from commonplace.store.postgres.state import IndexState
from commonplace.store.postgres.terms import analyzer_for, term_vector
from commonplace.store.postgres.vector_codec import packed
from commonplace.store.records import ChunkWindow, FileRecord, IndexedFile
from commonplace.text.unspaced_scripts import glued_words, grams_text
from commonplace.types import Source
from commonplace.vectors.arrays import sum_packed

if TYPE_CHECKING:
    from commonplace.store.postgres.database import Connection

__all__ = ["Writer"]

_SOURCES: tuple[Source, ...] = ("memory", "sessions")
_RECORD_COLUMNS = tuple(field.name for field in dataclasses.fields(FileRecord))
_record_values = attrgetter(*_RECORD_COLUMNS)
_RECORD_TYPES = (
    "text", "text", "text", "int8", "int8", "int8", "int4", "text", "text", "text", "text", "int8",
    "text",
)  # fmt: skip
_CHUNK_TYPES = (
    "int8", "text", "text", "text", "int4", "int4", "text", "text", "text", "text", "int4", "bytea",
    "bytea", "int4",
)  # fmt: skip
# tsvectors and vectors are handed over as the bytes of their binary formats.
_WORD_TYPES = "int8", "text", "text", "int4", "int4", "bytea"
_VECTOR_TYPES = "int8", "text", "text", "int4", "bytea"


_MAX_DROPPED = 100_000
"""Deletions that stay listed for resident vectors."""
_PRUNE_EVERY = 256
"""Writes between two prunings of the list."""


class Writer:
    """The changes of one transaction, on the index whose row it holds.

    Args:
        connection: Connection inside the transaction.
        state: State of the index.
    """

    def __init__(self, connection: Connection, state: IndexState) -> None:
        self._connection = connection
        self._state = state
        self._tables = state.tables
        self._version = state.version + 1
        self._last_seq = state.last_seq
        self._sums = {source: _Change() for source in _SOURCES}
        self._is_loading = state.loading

    def _rows(self, statement: str, *values: Any) -> list[Any]:
        cursor = self._connection.cursor(binary=True).execute(statement, values)
        return cursor.fetchall() if cursor.description else []

    def current(self, files: Sequence[IndexedFile]) -> list[IndexedFile]:
        """Return the files that were planned against the records and the dimension there are."""
        paths = [file.record.path for file in files]
        sql = f"SELECT path, indexed_ns FROM {self._tables.files} WHERE path = ANY(%s::text[])"
        held = dict(self._rows(sql, paths))
        dimension = self._state.identity.dimension if self._state.identity else None
        return [
            file
            for file in files
            if held.get(file.record.path) == file.replaces
            and all(
                len(chunk.embedded.vector) == dimension
                for chunk in file.chunks or ()
                if chunk.embedded
            )
        ]

    def replace(self, files: Sequence[IndexedFile], removed: Sequence[str]) -> None:
        """Replace files, or parts of them, and remove others; all that a transaction writes."""
        replaced = [file for file in files if file.chunks is not None]
        parts = [file for file in replaced if file.window or file.keep_before is not None]
        whole = [file.record.path for file in replaced if file not in parts]
        self.remove([*removed, *whole])
        for file in parts:
            self.remove_part(file)
        self.insert(files)
        self.finish()

    def remove(self, paths: Sequence[str]) -> None:
        """Remove files; the vectors of their chunks go to the cache."""
        if paths:
            self._remove_chunks("path = ANY(%s::text[])", list(paths))
            self._rows(
                f"DELETE FROM {self._tables.files} WHERE path = ANY(%s::text[])", list(paths)
            )

    def remove_part(self, file: IndexedFile) -> None:
        """Remove the chunks of a file's window, or of its end; move those behind the window."""
        path, window = file.record.path, file.window
        if window is None:
            self._remove_chunks("path = %s AND start_line >= %s", path, file.keep_before or 1)
            return
        self._remove_chunks(
            "path = %s AND ordinal >= %s AND ordinal < %s", path, window.first, window.after
        )
        self._move(path, window, len(file.chunks or ()) - (window.after - window.first))

    def _move(self, path: str, window: ChunkWindow, more: int) -> None:
        """Move the chunks behind a window by its lines, and by a number of chunks."""
        if not window.lines and not more:
            return
        ids = list(window.ids) if window.lines else []
        self._rows(
            f"""UPDATE {self._tables.chunks} AS chunk SET start_line = start_line + %s,
            end_line = end_line + %s, ordinal = ordinal + %s,
            id = coalesce((%s::text[])[chunk.ordinal - %s + 1], id)
            WHERE path = %s AND ordinal >= %s""",
            window.lines, window.lines, more, ids, window.after, path, window.after,
        )  # fmt: skip

    def _remove_chunks(self, where: str, *values: Any) -> None:
        """Remove chunks, with all that was derived from them."""
        found = self._rows(
            f"SELECT seq, source, lines FROM {self._tables.chunks} WHERE {where}", *values
        )
        if not found:
            return
        seqs = [seq for seq, _, _ in found]
        vector_cache.put_chunks(self._connection, self._state, seqs)
        for source, change in self._sums.items():
            change.add_lines([lines for _, of, lines in found if of == source], self._dimension, -1)
        self._count_terms("-", seqs)
        tables = self._tables
        gone = self._rows(
            f"""WITH chunk AS (DELETE FROM {tables.chunks} WHERE seq = ANY(%s)),
            word AS (DELETE FROM {tables.words} WHERE seq = ANY(%s) RETURNING source, length),
            vector AS (DELETE FROM {tables.vectors} WHERE seq = ANY(%s) RETURNING source),
            listed AS (INSERT INTO {tables.dropped} SELECT %s, unnest(%s::bigint[]))
            SELECT source, count(*), sum(length)::bigint, (SELECT count(*) FROM vector
                WHERE vector.source = word.source) FROM word GROUP BY source""",
            seqs, seqs, seqs, self._version, seqs,
        )  # fmt: skip
        for source, chunks, terms, vectors in gone:
            change = self._sums[source]
            change.chunks -= chunks
            change.terms -= terms
            change.vectors -= vectors

    @property
    def _dimension(self) -> int:
        identity = self._state.identity
        return (identity.dimension if identity else None) or 0

    def _count_terms(self, sign: str, seqs: Sequence[int]) -> None:
        """Add the terms of chunks to the document frequencies, or subtract them."""
        if self._is_loading:
            return
        terms = self._tables.terms
        self._rows(
            f"""INSERT INTO {terms} AS held
            SELECT lexeme, source, {sign}count(*) FROM {self._tables.words},
                unnest(tsvector_to_array(terms)) AS lexeme
            WHERE seq = ANY(%s) GROUP BY lexeme, source
            ON CONFLICT (term, source) DO UPDATE SET n = held.n + excluded.n""",
            list(seqs),
        )

    def insert(self, files: Sequence[IndexedFile]) -> None:
        """Insert files, or their records alone where the chunks stay."""
        self._insert_records([file.record for file in files])
        chunks: list[tuple[Any, ...]] = []
        words: list[tuple[Any, ...]] = []
        vectors: list[tuple[Any, ...]] = []
        tokenizer = self._state.identity.tokenizer if self._state.identity else ""
        analyzer = analyzer_for(tokenizer)
        for file in files:
            path, source, sums = (
                file.record.path,
                file.record.source,
                self._sums[file.record.source],
            )
            for ordinal, item in enumerate(file.chunks or (), self._first_ordinal(file)):
                chunk, seq = item.chunk, self._last_seq + 1
                self._last_seq = seq
                lines = item.embedded.lines if item.embedded else None
                chunks.append(
                    (seq, item.id, path, source, chunk.start_line, chunk.end_line, chunk.hash,
                     chunk.text, chunk.heading, chunk.context, item.day, item.units, lines, ordinal)
                )  # fmt: skip
                texts = (
                    chunk.text,
                    glued_words(chunk.text, tokenizer),
                    grams_text(chunk.text, tokenizer),
                )
                terms = [*map(analyzer.terms, texts)]
                length = sum(map(len, terms))
                words.append((seq, path, source, item.day, length, term_vector(*terms)))
                sums.chunks += 1
                sums.terms += length
                if item.embedded is not None:
                    vectors.append((seq, path, source, item.day, packed(item.embedded.vector)))
                    sums.vectors += 1
        self._is_loading = begin_load(self._connection, self._state, len(chunks))
        for source, sums in self._sums.items():
            sums.add_lines([row[12] for row in chunks if row[3] == source], self._dimension, 1)
        self._copy(self._tables.chunks, _CHUNK_TYPES, chunks)
        self._copy(self._tables.words, _WORD_TYPES, words)
        self._copy(self._tables.vectors, _VECTOR_TYPES, vectors)
        if chunks:
            self._count_terms("", [row[0] for row in chunks])

    def _insert_records(self, records: Sequence[FileRecord]) -> None:
        paths = [record.path for record in records]
        self._rows(f"DELETE FROM {self._tables.files} WHERE path = ANY(%s::text[])", paths)
        self._copy(self._tables.files, _RECORD_TYPES, list(map(_record_values, records)))

    def _first_ordinal(self, file: IndexedFile) -> int:
        """Return the ordinal that the first of the chunks to be written gets."""
        if file.window is not None or file.keep_before is None:
            return file.window.first if file.window else 0
        sql = f"SELECT coalesce(max(ordinal), -1) + 1 FROM {self._tables.chunks} WHERE path = %s"
        ((ordinal,),) = self._rows(sql, file.record.path)
        return int(ordinal)

    def _copy(self, table: str, types: Sequence[str], rows: Sequence[tuple[Any, ...]]) -> None:
        if not rows:
            return
        with (
            self._connection.cursor() as cursor,
            cursor.copy(f"COPY {table} FROM STDIN (FORMAT BINARY)") as copy,
        ):
            copy.set_types(types)
            for row in rows:
                copy.write_row(row)

    def finish(self) -> None:
        """Write the sums and the version of the index, and notify those that follow it."""
        for source, change in self._sums.items():
            if change.any:
                self._add_to_books(source, change)
        self._rows(
            "UPDATE indexes SET version = %s, last_seq = %s WHERE generation = %s "
            "RETURNING pg_notify(current_schema(), %s)",
            self._version, self._last_seq, self._state.generation,
            notice(self._state.generation, self._version),
        )  # fmt: skip

        if self._version % _PRUNE_EVERY == 0:
            self._prune_dropped()

    def _prune_dropped(self) -> None:
        """Keep the newest deletions listed; a reader that is further behind reads all vectors."""
        dropped = self._tables.dropped
        self._rows(
            f"""WITH last AS (
                SELECT version FROM {dropped} ORDER BY version DESC OFFSET %s LIMIT 1),
            gone AS (DELETE FROM {dropped} USING last WHERE {dropped}.version <= last.version)
            INSERT INTO {dropped} SELECT version, {UNLISTED} FROM last""",
            _MAX_DROPPED,
        )

    def _add_to_books(self, source: Source, change: _Change) -> None:
        import numpy as np

        found = self._rows(
            "SELECT total FROM books WHERE generation = %s AND source = %s",
            self._state.generation,
            source,
        )
        total = change.total
        for (held,) in found:
            if held is not None:
                before = np.frombuffer(held, dtype="<f8")
                total = before if total is None else before + total
        self._rows(
            """INSERT INTO books AS b VALUES (%s, %s, %s, %s, %s, %s, %s)
            ON CONFLICT (generation, source) DO UPDATE SET chunks = b.chunks + excluded.chunks,
            terms = b.terms + excluded.terms, vectors = b.vectors + excluded.vectors,
            lines = b.lines + excluded.lines, total = excluded.total""",
            self._state.generation, source, change.chunks, change.terms, change.vectors,
            change.lines, None if total is None else total.tobytes(),
        )  # fmt: skip


class _Change:
    """Change of the sums of one source."""

    def __init__(self) -> None:
        self.chunks = self.terms = self.vectors = self.lines = 0
        self.total: Any = None

    @property
    def any(self) -> bool:
        return (
            bool(self.chunks or self.terms or self.vectors or self.lines) or self.total is not None
        )

    def add_lines(self, packs: Sequence[bytes | None], dimension: int, sign: int) -> None:
        held = [data for data in packs if data]
        if not held or not dimension:
            return
        count, total = sum_packed(held, dimension)
        self.lines += sign * count
        self.total = sign * total if self.total is None else self.total + sign * total
