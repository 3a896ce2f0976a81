"""Writer of the SQLite engine: the changes of one write transaction, in bulk."""

from __future__ import annotations

import dataclasses
import json
import uuid
import zlib
from collections.abc import Iterable, Sequence
from operator import attrgetter
from typing import TYPE_CHECKING, Any

import apsw

from commonplace.store.records import ChunkWindow, FileRecord, IndexedFile, IndexIdentity
from commonplace.store.sqlite.checksums import (
    MOVED_LINE,
    MOVED_ORDINAL,
    VECTORS,
    name_checksum,
    place_checksum,
    row_checksum,
    sound_vectors,
    sum_checksum,
)
from commonplace.store.sqlite.schema import get_meta, set_meta, sums_of_lines
from commonplace.store.sqlite.snapshot import FROM_LINE
from commonplace.store.sqlite.vector_cache import insert_vectors
from commonplace.store.sqlite.vector_extension import change_vec0_checksum, vec0_in_step
from commonplace.text.unspaced_scripts import glued_words, grams_text
from commonplace.types import Source
from commonplace.vectors.arrays import sum_packed

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

__all__ = ["Writer"]

_MAX_DROPPED = 100_000
"""Deletions that are listed for resident vectors; beyond them, all vectors are read again."""

_ROWS_A_STATEMENT = 64
"""Rows of one INSERT statement. SQLite releases the interpreter's lock while a statement runs: with
a statement a row, each would wait for the thread that reads the next files to release it."""

_SOURCES: tuple[Source, ...] = ("memory", "sessions")

_record_values = attrgetter(*(field.name for field in dataclasses.fields(FileRecord)))
_RECORD_FIELDS = len(dataclasses.fields(FileRecord))


class Writer:
    """The changes of one transaction."""

    def __init__(self, connection: apsw.Connection, identity: IndexIdentity) -> None:
        self._connection = connection
        self._identity = identity
        self._vec0 = vec0_in_step(connection, identity.dimension)

    def is_current(self, file: IndexedFile) -> bool:
        """Return whether a file was planned against the record and the dimension of the index."""
        found = self._connection.execute(
            "SELECT indexed_ns FROM files WHERE path = ?", (file.record.path,)
        ).get
        embedded = [chunk.embedded for chunk in file.chunks or () if chunk.embedded]
        return found == file.replaces and all(
            len(vectors.vector) == self._identity.dimension for vectors in embedded
        )

    def remove(self, paths: Sequence[str]) -> None:
        """Remove files; the vectors of their chunks go to the cache."""
        wanted = json.dumps(list(paths))
        found = self._connection.execute(
            "SELECT seq FROM chunk_places WHERE path IN (SELECT value FROM json_each(?))", (wanted,)
        )
        if seqs := [seq for (seq,) in found]:
            self._remove_chunks(seqs)
        self._connection.execute(
            "DELETE FROM files WHERE path IN (SELECT value FROM json_each(?))", (wanted,)
        )

    def remove_part(self, file: IndexedFile) -> None:
        """Remove the chunks of a file's window, or of its end; move those behind the window."""
        path, window = file.record.path, file.window
        values: tuple[Any, ...]
        if window is None:
            where, values = FROM_LINE, (path, file.keep_before or 1)
        else:
            where = "path = ? AND ordinal >= ? AND ordinal < ?"
            values = (path, window.first, window.after)
        found = self._connection.execute(f"SELECT seq FROM chunk_places WHERE {where}", values)
        if seqs := [seq for (seq,) in found]:
            self._remove_chunks(seqs)
        if window is not None:
            more = len(file.chunks or ()) - (window.after - window.first)
            self._move(path, window, more)

    def _move(self, path: str, window: ChunkWindow, more: int) -> None:
        """Move the chunks behind a window by its lines, and by a number of chunks."""
        behind = "FROM chunk_places WHERE path = ?1 AND ordinal >= ?2 ORDER BY ordinal"
        if window.lines:
            found: Iterable[Any] = self._connection.execute(
                f"SELECT seq, id {behind}", (path, window.after)
            )
            moved = [
                (window.lines, name, seq, name_checksum(name) - name_checksum(before))
                for name, (seq, before) in zip(window.ids, [*found], strict=True)
            ]
            self._connection.executemany(
                "UPDATE chunk_places SET start_line = start_line + ?1, end_line = end_line + ?1, "
                f"id = ?2, place_checksum = place_checksum + ?4 + ?1 * {MOVED_LINE} WHERE seq = ?3",
                moved,
            )
        if more:
            self._connection.execute(
                f"UPDATE chunk_places SET ordinal = ordinal + ?3, place_checksum = place_checksum "
                f"+ ?3 * {MOVED_ORDINAL} WHERE seq IN (SELECT seq {behind})",
                (path, window.after, more),
            )

    def _remove_chunks(self, seqs: list[int]) -> None:
        gone = (json.dumps(seqs),)
        execute = self._connection.execute
        self._to_cache(seqs)
        if self._identity.dimension:
            for source in self._sources_held():
                found = execute(
                    """SELECT lines FROM json_each(?)
                    CROSS JOIN chunk_places AS place ON place.seq = value AND +source = ?
                    JOIN chunk_texts USING (seq) WHERE lines IS NOT NULL""",
                    (*gone, source),
                )
                lines = [data for (data,) in found]
                count, total = sum_packed(lines, self._identity.dimension)
                self._add_lines(source, -count, -total)
        execute(
            """INSERT INTO chunks_fts (chunks_fts, rowid, text, grams)
            SELECT 'delete', seq, text, grams FROM json_each(?) JOIN chunk_texts ON seq = value""",
            gone,
        )
        if self._vec0:
            found = execute(
                "SELECT seq, embedding FROM json_each(?) JOIN vectors ON seq = value", gone
            )
            removed: list[Any] = found.fetchall()
            change_vec0_checksum(self._connection, removed=removed)
            # With IN, sqlite-vec would scan its whole table.
            self._connection.executemany(
                "DELETE FROM chunks_vec WHERE seq = ?", [(seq,) for seq in seqs]
            )
        execute("INSERT INTO dropped (seq) SELECT value FROM json_each(?)", gone)
        said = execute(
            # By seq: with the index of sessions, SQLite would look at all of them.
            "SELECT count(*) FROM json_each(?) CROSS JOIN chunk_places ON seq = value "
            "WHERE +source = 'sessions'",
            gone,
        ).get
        execute("DELETE FROM chunk_places WHERE seq IN (SELECT value FROM json_each(?))", gone)
        self._count_chunks(-len(seqs), of_sessions=-int(said))
        self._forget_drops()

    def _sources_held(self) -> tuple[Source, ...]:
        has_sessions = int(get_meta(self._connection, "chunks of sessions") or 0)
        return _SOURCES if has_sessions else ("memory",)

    def _to_cache(self, seqs: list[int]) -> None:
        identity = self._identity
        if identity.model and identity.dimension:
            found = self._connection.execute(
                f"""SELECT {VECTORS} FROM json_each(?)
                JOIN chunk_places AS place ON place.seq = value
                JOIN chunk_texts USING (seq) JOIN vectors USING (seq)""",
                (json.dumps(seqs),),
            )
            insert_vectors(self._connection, identity, sound_vectors(found))

    def insert(self, files: Sequence[IndexedFile]) -> None:
        """Insert files, or their records alone where the chunks stay."""
        ordinals = {id(file): self._first_ordinal(file) for file in files}
        self._connection.executemany(
            f"INSERT OR REPLACE INTO files VALUES ({', '.join('?' * _RECORD_FIELDS)})",
            [_record_values(file.record) for file in files],
        )
        first = 1 + int(
            self._connection.execute(
                "SELECT coalesce((SELECT seq FROM sqlite_sequence WHERE name = 'chunk_places'), 0)"
            ).get
        )
        rows = [
            (file, item, ordinal)
            for file in files
            for ordinal, item in enumerate(file.chunks or (), ordinals[id(file)])
        ]
        model = self._identity.model or "fts-only"
        places: list[tuple[Any, ...]] = []
        texts: list[tuple[Any, ...]] = []
        vectors: list[tuple[Any, ...]] = []
        for seq, (file, item, ordinal) in enumerate(rows, first):
            chunk, source = item.chunk, file.record.source
            kind = file.record.path, source, chunk.hash
            at = chunk.start_line, chunk.end_line
            place = place_checksum(item.id, kind, at, item.day, ordinal)
            tokenizer = self._identity.tokenizer
            apart = glued_words(chunk.text, tokenizer), grams_text(chunk.text, tokenizer)
            grams = " ".join(filter(None, apart))
            places.append(
                (seq, item.id, file.record.path, source, chunk.start_line, chunk.end_line,
                 chunk.hash, model, chunk.heading, chunk.context, item.day, ordinal, place)
            )  # fmt: skip
            lines = item.embedded.lines if item.embedded else None
            checksum = row_checksum(chunk.heading, chunk.context, chunk.text, item.units, lines)
            texts.append((seq, checksum, grams, item.units, chunk.text, lines))
            if item.embedded is not None:
                data = item.embedded.vector.tobytes()
                vectors.append((seq, source, item.day, zlib.crc32(data), data))
        self._insert_rows("chunk_places", places)
        self._insert_texts(first, texts)
        said = sum(place[3] == "sessions" for place in places)
        self._count_chunks(len(places), of_sessions=said)
        self._insert_vectors(vectors)
        for wanted in _SOURCES:
            of_source = [item.embedded for file, item, _ in rows if file.record.source == wanted]
            packed = [embedded.lines for embedded in of_source if embedded and embedded.lines]
            if packed and self._identity.dimension:
                self._add_lines(wanted, *sum_packed(packed, self._identity.dimension))

    def _first_ordinal(self, file: IndexedFile) -> int:
        """Return the ordinal that the first of the chunks to be written gets."""
        if file.window is not None or file.keep_before is None:
            return file.window.first if file.window else 0
        sql = "SELECT ordinal FROM chunk_places WHERE path = ? ORDER BY ordinal DESC LIMIT 1"
        last = self._connection.execute(sql, (file.record.path,)).get
        return 0 if last is None else int(last) + 1

    def _insert_texts(self, first: int, texts: list[tuple[Any, ...]]) -> None:
        self._insert_rows("chunk_texts", texts)
        self._connection.execute(
            "INSERT INTO chunks_fts (rowid, text, grams) "
            "SELECT seq, text, grams FROM chunk_texts WHERE seq >= ?",
            (first,),
        )

    def _insert_vectors(self, vectors: list[tuple[Any, ...]]) -> None:
        self._insert_rows("vectors", vectors)
        if self._vec0:
            rows = [(seq, embedding) for seq, *_, embedding in vectors]
            self._insert_rows("chunks_vec (seq, embedding)", rows)
            change_vec0_checksum(self._connection, added=rows)

    def _insert_rows(self, table: str, rows: list[tuple[Any, ...]]) -> None:
        """Insert rows of values for all columns of a table, or for those named behind it."""
        for at in range(0, len(rows), _ROWS_A_STATEMENT):
            some = rows[at : at + _ROWS_A_STATEMENT]
            row = f"({', '.join('?' * len(some[0]))})"
            self._connection.execute(
                f"INSERT INTO {table} VALUES {', '.join([row] * len(some))}",
                [value for values in some for value in values],
            )

    def _add_lines(self, source: Source, count: int, total: NDArray[np.float64]) -> None:
        """Add to the sum of the lines' vectors, from which `SqliteSnapshot.mean_line` divides."""
        if not count:
            return
        before = sums_of_lines(self._connection).get(source)
        if before is not None:
            count, total = count + before[0], total + before[1]
        packed = total.tobytes()
        row = count, packed, source, sum_checksum(source, count, packed)
        self._connection.execute("DELETE FROM line_sum WHERE source = ?", (source,))
        self._connection.execute("INSERT INTO line_sum VALUES (?, ?, ?, ?)", row)

    def _count_chunks(self, more: int, *, of_sessions: int) -> None:
        for key, change in (("chunks", more), ("chunks of sessions", of_sessions)):
            if change:
                count = int(get_meta(self._connection, key) or 0) + change
                set_meta(self._connection, key, str(count))

    def _forget_drops(self) -> None:
        """Clear the list of deletions, and begin a new generation, when the list is too long."""
        if self._connection.execute("SELECT count(*) FROM dropped").get > _MAX_DROPPED:
            self._connection.execute("DELETE FROM dropped")
            set_meta(self._connection, "generation", uuid.uuid4().hex)
