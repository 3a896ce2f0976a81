"""A third engine, written from the docstrings of `commonplace.store.base` alone: ``toy:///PATH``.

It keeps its rows with the standard library's sqlite3, without FTS5 and without vector search. A
rebuild is a generation number and its commit one UPDATE, as in an engine over a database server.
"""

import json
import math
import os
import sqlite3
import time
from contextlib import contextmanager, suppress
from dataclasses import asdict, replace
from functools import cache, cached_property
from pathlib import Path

import numpy as np

from commonplace.errors import IndexBusyError, IndexDamagedError, IndexReadOnlyError, StoreError
from commonplace.store.base import HealthCheck, Recovery
from commonplace.store.records import (
    FileFilter,
    FileRecord,
    IndexIdentity,
    StoredChunk,
    Totals,
)
from commonplace.text.analysis import Analyzer
from commonplace.text.unspaced_scripts import glued_words, grams_text
from commonplace.types import Chunk, ChunkPlace
from commonplace.vectors.arrays import ChunkVectors, unpack

_SCHEMA = """
CREATE TABLE IF NOT EXISTS indexes (
    generation INTEGER PRIMARY KEY AUTOINCREMENT, live INTEGER, identity TEXT, complete INTEGER
);
CREATE TABLE IF NOT EXISTS files (
    generation INTEGER, path TEXT, record TEXT, PRIMARY KEY (generation, path)
);
CREATE TABLE IF NOT EXISTS chunks (
    seq INTEGER PRIMARY KEY AUTOINCREMENT, generation INTEGER, id TEXT, path TEXT, source TEXT,
    start_line INTEGER, end_line INTEGER, hash TEXT, text TEXT, heading TEXT, context TEXT,
    day INTEGER, units BLOB, lines BLOB, ordinal INTEGER, vector BLOB, terms TEXT,
    glued TEXT, grams TEXT
);
CREATE INDEX IF NOT EXISTS chunks_of_files ON chunks (generation, path, ordinal);
CREATE TABLE IF NOT EXISTS cache (
    written INTEGER PRIMARY KEY AUTOINCREMENT, key TEXT, hash TEXT, vector BLOB, lines BLOB,
    UNIQUE (key, hash)
);
CREATE TABLE IF NOT EXISTS owners (lease TEXT PRIMARY KEY, owner TEXT);
INSERT INTO indexes (live, identity, complete)
    SELECT 1, NULL, 0 WHERE NOT EXISTS (SELECT * FROM indexes WHERE live);
"""
_STORED = ", ".join(StoredChunk._fields)
_POLL_S = 0.01
_BUSY_S = 5.0
_READ_ONLY = (sqlite3.SQLITE_READONLY, sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_PERM)
_DAMAGED = (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB)
_BUSY = (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED)

analyzer = cache(Analyzer)


def open_store(url):
    """Open the index of a URL, ``toy:///PATH``."""
    return ToyStore(Path(url.split("://", 1)[1]))


class _NoIdentityError(StoreError):
    """The index was deleted since it was opened, or never begun."""


class ToySnapshot:
    """One generation, read in one transaction."""

    def __init__(self, connection, generation, files=FileFilter()):  # noqa: B008
        self._connection = connection
        self._run = connection.execute
        self._generation = generation
        self._within = files

    def within(self, files):
        return ToySnapshot(self._connection, self._generation, files)

    def expired(self, at_ms):
        files = self.files().values()
        return frozenset(
            file.path for file in files if file.expires_ms is not None and file.expires_ms <= at_ms
        )

    def metadata(self, paths):
        files = self.files()
        found = {path: files[path].metadata for path in paths if path in files}
        return {path: text for path, text in found.items() if text is not None}

    @cached_property
    def _analyzer(self):
        return analyzer(self.identity.tokenizer)

    @property
    def identity(self):
        (text,) = self._one("SELECT identity FROM indexes WHERE generation = ?")
        return IndexIdentity(**json.loads(text)) if text else None

    def files(self):
        rows = self._all("SELECT path, record FROM files WHERE generation = ?")
        return {
            path: FileRecord(**json.loads(record))
            for path, record in rows
            if self._within.passes(path)
        }

    def file(self, path):
        if not self._within.passes(path):
            return None
        row = self._one("SELECT record FROM files WHERE generation = ? AND path = ?", path)
        return FileRecord(**json.loads(row[0])) if row else None

    def totals(self):
        vectors = [vector for (vector,) in self._rows("vector")]
        return Totals(len(self.files()), len(vectors), len(vectors) - vectors.count(None))

    def chunk_count(self, source=None):
        return len(self._rows("seq", source))

    def frequencies(self, words, source=None):
        texts = self._rows("terms, glued, grams", source)
        return {word: sum(bool(self._count(word, *text)) for text in texts) for word in words}

    def match(self, words, *, every, limit, rows):
        words = [word for word in words if word.text.strip()]
        texts = self._every("seq, source, day, terms, glued, grams")
        inside = {seq for (seq,) in self._rows("seq")}
        lengths = [len(" ".join(held).split()) for _, _, _, *held in texts]
        average = sum(lengths) / max(len(lengths), 1)
        counts = [[self._count(word, *text[3:]) for word in words] for text in texts]
        holding = [sum(map(bool, column)) for column in zip(*counts, strict=True)]
        rarity = [math.log1p((len(texts) - n + 0.5) / (n + 0.5)) for n in holding]
        found = []
        for (seq, source, day, *_), length, held in zip(texts, lengths, counts, strict=True):
            holds = words and (all if every else any)(held)
            if holds and seq in inside and _passes(rows, source, day):
                norm = 1.2 * (0.25 + 0.75 * length / average)
                weighed = zip(held, rarity, strict=True)
                found.append((seq, sum(idf * n * 2.2 / (n + norm) for n, idf in weighed)))
        return sorted(found, key=lambda row: (-row[1], row[0]))[:limit]

    def nearest(self, query, limit, rows, *, exact=True):
        chunks = self._rows("seq, source, day, vector")
        scored = [
            (seq, float(_floats(vector) @ query))
            for seq, source, day, vector in chunks
            if vector and len(vector) == 4 * len(query) and _passes(rows, source, day)
        ]
        return sorted(scored, key=lambda row: (-row[1], row[0]))[:limit]

    def mean_line(self, source=None):
        identity = self.identity
        packs = [lines for (lines,) in self._rows("lines", source) if lines]
        if not packs or identity is None or identity.dimension is None:
            return None
        return unpack(b"".join(packs), identity.dimension).mean(axis=0)

    def chunks(self, seqs):
        sql = f"SELECT {_STORED} FROM chunks WHERE generation = ? AND seq = ?"
        rows = (self._one(sql, seq) for seq in seqs)
        found = (StoredChunk(*row) for row in rows if row)
        return {chunk.seq: chunk for chunk in found if self._within.passes(chunk.path)}

    def versions(self, seqs):
        return {seq: seq for seq in seqs}

    def chunks_of(self, path, *, from_line=None, to_line=None):
        if not self._within.passes(path):
            return []
        rows = self._all(
            "SELECT start_line, end_line, text, hash, heading, context, vector, lines FROM chunks"
            " WHERE generation = ? AND path = ? AND start_line BETWEEN ? AND ? ORDER BY ordinal",
            path,
            from_line or 0,
            1 << 40 if to_line is None else to_line,
        )
        return [(Chunk(*row[:6]), _vectors(*row[6:])) for row in rows]

    def places(self, path):
        if not self._within.passes(path):
            return []
        rows = self._all(
            "SELECT start_line, end_line, hash, heading, context, seq FROM chunks"
            " WHERE generation = ? AND path = ? ORDER BY ordinal",
            path,
        )
        return [ChunkPlace(*row) for row in rows]

    def cached_dimension(self, identity):
        if identity.model is None:
            return None
        mine = self.identity
        if mine and mine.vectors_key == identity.vectors_key and mine.dimension:
            return mine.dimension
        row = self._run(
            "SELECT vector FROM cache WHERE key = ? ORDER BY written DESC", (_key(identity),)
        ).fetchone()
        return len(row[0]) // 4 if row else None

    def vectors_of(self, hashes, identity):
        if identity.model is None or identity.dimension is None:
            return {}
        found = {}
        mine = self.identity
        in_chunks = mine is not None and mine.vectors_key == identity.vectors_key
        for text_hash in hashes:
            row = in_chunks and self._one(
                "SELECT vector, lines FROM chunks"
                " WHERE generation = ? AND hash = ? AND vector IS NOT NULL",
                text_hash,
            )
            row = (
                row
                or self._run(
                    "SELECT vector, lines FROM cache WHERE key = ? AND hash = ?",
                    (_key(identity), text_hash),
                ).fetchone()
            )
            if row and len(row[0]) == 4 * identity.dimension:
                found[text_hash] = _vectors(*row)
        return found

    def _count(self, word, terms, glued, grams):
        cut = self._analyzer
        if word.initial:
            first = cut.terms(word.text)
            return int(bool(first) and terms.split()[: len(first)] == first)
        if word.prefix:
            (prefix,) = cut.terms(word.term)
            return sum(term.startswith(prefix) for term in f"{terms} {glued}".split())
        if not word.gram:
            phrase = cut.terms(word.text)
            return sum(_occurrences(phrase, held.split()) for held in (terms, glued))
        if len(word.text) == 1:
            return sum(gram.startswith(word.text) for gram in grams.split())
        return _occurrences(cut.terms(word.text), grams.split())

    def _rows(self, columns, source=None):
        found = self._every(f"path, {columns}", source)
        return [row for path, *row in found if self._within.passes(path)]

    def _every(self, columns, source=None):
        sql = f"SELECT {columns} FROM chunks WHERE generation = ?"
        if source is None:
            return self._all(f"{sql} ORDER BY seq")
        return self._all(f"{sql} AND source = ? ORDER BY seq", source)

    def _one(self, sql, *values):
        return self._run(sql, (self._generation, *values)).fetchone()

    def _all(self, sql, *values):
        return self._run(sql, (self._generation, *values)).fetchall()


class ToyStore:
    """An index in a file of the standard library's sqlite3, or one generation of it."""

    def __init__(self, path, generation=None):
        self._path = path
        self._generation = generation  # None: the one that is live
        self._closed = False
        self._identity = None

    location = property(lambda self: str(self._path))
    engines = {"vectors": "numpy", "words": "a loop"}  # noqa: RUF012
    capabilities = frozenset()
    cached_identity = property(lambda self: self._identity)

    @property
    def access(self):
        beside = self._path if self._path.exists() else self._path.parent
        return "read-write" if os.access(beside, os.W_OK) else "read-only"

    def exists(self):
        self._check_open()
        return self._path.exists()

    @property
    def identity(self):
        with self.snapshot() as snapshot:
            self._identity = snapshot.identity
        return self._identity

    def set_identity(self, identity):
        with self._writing() as (run, generation):
            now = ToySnapshot(run.__self__, generation).identity
            if now is not None:
                if not now.fits(identity):
                    raise StoreError(f"{self.location} holds an index of {now}, not {identity}.")
                if now.model is not None:
                    dimension = now.dimension or (identity.dimension if identity.model else None)
                    identity = replace(now, dimension=dimension)
            run(
                "UPDATE indexes SET identity = ? WHERE generation = ?",
                (json.dumps(asdict(identity)), generation),
            )
        self._identity = identity

    @property
    def complete(self):
        with self._reading() as (run, generation):
            sql = "SELECT complete FROM indexes WHERE generation = ?"
            return bool(run(sql, (generation,)).fetchone()[0])

    def mark_complete(self):
        with self._writing() as (run, generation):
            run("UPDATE indexes SET complete = 1 WHERE generation = ?", (generation,))

    @contextmanager
    def snapshot(self):
        with self._reading() as (run, generation):
            yield ToySnapshot(run.__self__, generation)

    def write(self, files, removed=()):
        with self._writing() as (run, generation):
            now = ToySnapshot(run.__self__, generation)
            if now.identity is None:
                raise _NoIdentityError(f"{self.location} has no identity: set_identity first.")
            if self._identity is not None and not self._identity.fits(now.identity):
                return tuple(file.record.path for file in files)
            for path in removed:
                self._remove(now, run, generation, path)
                run("DELETE FROM files WHERE generation = ? AND path = ?", (generation, path))
            written = [self._write_file(now, run, generation, file) for file in files]
        return tuple(
            file.record.path for file, done in zip(files, written, strict=True) if not done
        )

    def cache_vectors(self, vectors, *, drop=()):
        with self._writing() as (run, generation):
            identity = ToySnapshot(run.__self__, generation).identity
            if identity is None or identity.model is None:
                return
            for text_hash, made in vectors.items():
                if identity.dimension == len(made.vector):
                    _cache(run, identity, text_hash, _blob(made.vector), made.lines)
            for text_hash in drop:
                run("DELETE FROM cache WHERE key = ? AND hash = ?", (_key(identity), text_hash))

    def purge(self):
        self.trim_vector_cache(0)
        return True

    def trim_vector_cache(self, max_entries):
        with self._writing() as (run, _):
            _trim(run, max_entries)

    @contextmanager
    def lease(self, name, *, timeout_s, check=lambda: None):
        self._check_open()
        with _failures_of(self), suppress(FileExistsError):
            self._path.parent.mkdir(parents=True, exist_ok=True)
        with _failures_of(self):
            lock = sqlite3.connect(f"{self._path}.{name}", isolation_level=None, timeout=0)
        try:
            deadline = time.monotonic() + timeout_s
            while not _locked(self, lock):
                check()
                if time.monotonic() >= deadline:
                    raise IndexBusyError(f"{self.location}: another owner holds the {name} lease.")
                time.sleep(_POLL_S)
            self._note_owner(name, f"process {os.getpid()}")
            yield
        finally:
            lock.close()

    def lease_holder(self):
        with suppress(IndexBusyError), self.lease("run", timeout_s=0):
            return None
        with self._reading() as (run, _):
            row = run("SELECT owner FROM owners WHERE lease = 'run'").fetchone()
        return row[0] if row else None

    def begin_rebuild(self, identity, *, restart, keep_cache):
        with self._writing() as (run, _):
            rows = run("SELECT generation, identity FROM indexes WHERE NOT live").fetchall()
            resumed = None
            for generation, text in rows:
                was = IndexIdentity(**json.loads(text))
                same = was.fits(identity) and was.vectors_key == identity.vectors_key
                if same and not restart and resumed is None:
                    resumed = generation
                else:
                    _delete_generation(run, generation)
            _trim(run, keep_cache)
            if resumed is None:
                text = json.dumps(asdict(identity))
                sql = "INSERT INTO indexes (live, identity, complete) VALUES (0, ?, 0)"
                resumed = run(sql, (text,)).lastrowid
        return ToyRebuild(self, resumed)

    def recover(self, error, *, certain):
        if isinstance(error, _NoIdentityError):
            return Recovery()
        if not isinstance(error, IndexDamagedError) or self._closed:
            return None
        if not certain and self._check_file() == "ok":
            return Recovery()
        aside = Path(f"{self._path}.damaged")
        try:
            self._path.replace(aside)
            for end in ("-wal", "-shm"):
                Path(f"{self._path}{end}").unlink(missing_ok=True)
        except OSError:
            return None
        return Recovery(f"The index {self._path} was damaged; it is built again ({aside}).")

    def health_checks(self):
        return [HealthCheck("toy file", self._check_file)]

    def suspend(self):
        """Every use opens the file by itself."""

    def close(self):
        self._closed = True

    def _check_file(self):
        try:
            with self._reading() as (run, _):
                return str(run("PRAGMA quick_check").fetchone()[0])
        except IndexDamagedError as error:
            return f"failed: {error}"

    def _write_file(self, now, run, generation, file):
        record = file.record
        known = now.file(record.path)
        if (known and known.indexed_ns) != file.replaces:
            return False
        identity = now.identity
        for row in file.chunks or ():
            if row.embedded and len(row.embedded.vector) != identity.dimension:
                return False
        run(
            "INSERT OR REPLACE INTO files VALUES (?, ?, ?)",
            (generation, record.path, json.dumps(asdict(record))),
        )
        if file.chunks is None:
            return True
        self._remove(now, run, generation, record.path, file.keep_before or 0)
        kept = len(now.chunks_of(record.path))
        cut = analyzer(identity.tokenizer)
        for ordinal, row in enumerate(file.chunks, kept):
            chunk, made = row.chunk, row.embedded
            values = {
                "generation": generation,
                "id": row.id,
                "path": record.path,
                "source": record.source,
                "start_line": chunk.start_line,
                "end_line": chunk.end_line,
                "hash": chunk.hash,
                "text": chunk.text,
                "heading": chunk.heading,
                "context": chunk.context,
                "day": row.day,
                "units": row.units,
                "lines": made.lines if made else None,
                "ordinal": ordinal,
                "vector": _blob(made.vector) if made else None,
                "terms": " ".join(cut.terms(chunk.text)),
                "glued": " ".join(cut.terms(glued_words(chunk.text, identity.tokenizer))),
                "grams": " ".join(cut.terms(grams_text(chunk.text, identity.tokenizer))),
            }
            marks = ", ".join("?" * len(values))
            sql = f"INSERT INTO chunks ({', '.join(values)}) VALUES ({marks})"
            run(sql, tuple(values.values()))
        return True

    def _remove(self, now, run, generation, path, from_line=0):
        for chunk, made in now.chunks_of(path, from_line=from_line):
            if made:
                _cache(run, now.identity, chunk.hash, _blob(made.vector), made.lines)
        run(
            "DELETE FROM chunks WHERE generation = ? AND path = ? AND start_line >= ?",
            (generation, path, from_line),
        )

    def _note_owner(self, name, owner):
        with self._writing() as (run, _):
            run("INSERT OR REPLACE INTO owners VALUES (?, ?)", (name, owner))

    @contextmanager
    def _reading(self):
        with self._connected() as connection:
            connection.execute("BEGIN")
            yield connection.execute, self._generation_of(connection)

    @contextmanager
    def _writing(self):
        with self._connected() as connection:
            connection.execute("BEGIN IMMEDIATE")
            yield connection.execute, self._generation_of(connection)
            connection.execute("COMMIT")

    def _generation_of(self, connection):
        if self._generation is not None:
            return self._generation
        return connection.execute("SELECT generation FROM indexes WHERE live").fetchone()[0]

    @contextmanager
    def _connected(self):
        self._check_open()
        with _failures_of(self):
            self._path.parent.mkdir(parents=True, exist_ok=True)
            connection = sqlite3.connect(self._path, isolation_level=None, timeout=_BUSY_S)
            try:
                connection.execute("PRAGMA synchronous = off")
                if not connection.execute("PRAGMA user_version").fetchone()[0]:
                    connection.execute("PRAGMA journal_mode = wal")
                    connection.executescript(f"BEGIN IMMEDIATE; {_SCHEMA} COMMIT")
                    connection.execute("PRAGMA user_version = 1")
                yield connection
            finally:
                connection.close()  # rolls back what was not committed

    def _check_open(self):
        if self._closed:
            raise StoreError(f"the index {self.location} is closed.")


class ToyRebuild:
    """A generation that is not live yet."""

    def __init__(self, store, generation):
        self._main = store
        self._generation = generation
        self.store = ToyStore(store._path, generation)

    def commit(self, *, keep_cache):
        with self._main._writing() as (run, live):
            run("UPDATE indexes SET live = (generation = ?)", (self._generation,))
            _delete_generation(run, live)
            _trim(run, keep_cache)
        self._main._identity = self.store.identity
        self.close()

    def abandon(self, *, keep_cache):
        with self._main._writing() as (run, _):
            _delete_generation(run, self._generation)
            _trim(run, keep_cache)
        self.close()

    def close(self):
        self.store.close()


def _delete_generation(run, generation):
    identity = ToySnapshot(run.__self__, generation).identity
    sql = "SELECT hash, vector, lines FROM chunks WHERE generation = ? AND vector IS NOT NULL"
    for row in run(sql, (generation,)).fetchall():
        _cache(run, identity, *row)
    for table in ("indexes", "files", "chunks"):
        run(f"DELETE FROM {table} WHERE generation = ?", (generation,))


def _cache(run, identity, text_hash, vector, lines):
    run(
        "INSERT OR REPLACE INTO cache (key, hash, vector, lines) VALUES (?, ?, ?, ?)",
        (_key(identity), text_hash, vector, lines),
    )


def _trim(run, max_entries):
    run(
        "DELETE FROM cache WHERE written NOT IN"
        " (SELECT written FROM cache ORDER BY written DESC LIMIT ?)",
        (max_entries,),
    )


def _key(identity):
    return json.dumps(identity.vectors_key)


def _passes(rows, source, day):
    if rows.sources is not None and source not in rows.sources:
        return False
    if rows.after is None and rows.before is None:
        return True
    return day is not None and (rows.after or 0) <= day <= (rows.before or math.inf)


def _occurrences(phrase, held):
    starts = range(len(held) - len(phrase) + 1) if phrase else ()
    return sum(held[at : at + len(phrase)] == phrase for at in starts)


def _blob(vector):
    return np.asarray(vector, dtype=np.float32).tobytes()


def _floats(blob):
    return np.frombuffer(blob, dtype=np.float32)


def _vectors(vector, lines):
    return ChunkVectors(_floats(vector), lines) if vector else None


def _locked(store, lock):
    try:
        with _failures_of(store):
            lock.execute("BEGIN EXCLUSIVE")
    except IndexBusyError:
        return False
    return True


@contextmanager
def _failures_of(store):
    try:
        yield
    except (sqlite3.Error, OSError) as error:
        code = getattr(error, "sqlite_errorcode", 0) & 0xFF
        if isinstance(error, OSError) or code in _READ_ONLY:
            kind = IndexReadOnlyError
        else:
            kind = dict.fromkeys(_DAMAGED, IndexDamagedError) | dict.fromkeys(_BUSY, IndexBusyError)
            kind = kind.get(code, StoreError)
        raise kind(f"the index {store.location}: {error}") from error
