"""A workspace on the disk, for tests of what is indexed and found in it."""

from __future__ import annotations

import contextlib
import os
import sqlite3
import time
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from commonplace.errors import SettingsError
from commonplace.memory import Memory
from commonplace.settings import Settings
from commonplace.store.registry import open_store
from commonplace.vectors.arrays import unpack
from support import postgres
from support.engines import index_at
from support.fakes import clock

MEMORY = """# Long term

## Network
- The VPN listens on port 51820.
- The printer is called Gutenberg.

## People
- Ann prefers tea.
"""
LOG = """# 2026-11-20

- Met Ann about the printer.
- Moved the VPN to another port.
"""


CHUNKS = Settings.openclaw()
LINES = Settings()


class Notes:
    """A workspace on the disk, its index beside it, and the memories opened on them."""

    def __init__(self, folder: Path, *, create: bool = True, engine: str = "sqlite"):
        self.root = folder / "notes"
        self.engine = engine
        self.index = self.index_at("index.sqlite")
        if not create:
            return
        self.write("MEMORY.md", MEMORY)
        self.write("memory/2026-11-20.md", LOG)

    def write(self, path, text):
        """Write a file as if it had been there for long."""
        file = self.root / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(text if isinstance(text, bytes) else text.encode())
        self.age(path)

    def age(self, path, seconds=1000.0):
        then = time.time() - seconds
        os.utime(self.root / path, (then, then))

    def open(self, embedder=None, settings=CHUNKS, index=None, *, fresh=False):
        """Open the notes; nothing runs in the background, unless they are to be kept fresh."""
        if not fresh:
            sync = replace(settings.sync, on_open=False, on_search=False)
            settings = replace(settings, sync=sync)
        options = {"settings": settings, "embedder": embedder, "now": clock()}
        try:
            return Memory.open(self.root, index=index or self.index, **options)
        except SettingsError as error:
            if "needs an index engine with" in str(error):
                pytest.skip(str(error))
            raise

    def index_at(self, name):
        """Where another index of the same engine is."""
        return index_at(self.engine, self.root.parent, name)

    @property
    def state(self):
        """The state file of the notes."""
        with self.open() as memory:
            return memory.state.database

    def store(self, index=None):
        """Open an index as an engine, to be closed."""
        return contextlib.closing(open_store(index or self.index))

    def cached_texts(self):
        """How many texts the vector cache has vectors of."""
        if self.engine == "memory":
            with self.store() as store:
                return len(store._state.cache)
        if self.engine == postgres.NAME:
            return postgres.rows(self.index, "SELECT count(*) FROM vector_cache")[0][0]
        if self.engine != "sqlite":
            pytest.skip(f"the cache of the engine {self.engine} is counted by its own tests")
        with contextlib.closing(sqlite3.connect(self.index)) as db:
            return db.execute("SELECT count(*) FROM embedding_cache").fetchone()[0]

    def chunks(self, index=None):
        """All chunks of an index, in the order of the files."""
        with self.store(index) as store, store.snapshot() as snapshot:
            # Those of no file, too, which an engine should not have left behind.
            if self.engine == "memory":
                seqs = list(store._state.rows)
            elif self.engine == postgres.NAME:
                found = postgres.rows(index or self.index, "SELECT seq FROM {chunks}")
                seqs = [seq for (seq,) in found]
            elif self.engine == "sqlite":
                with contextlib.closing(sqlite3.connect(index or self.index)) as db:
                    seqs = [seq for (seq,) in db.execute("SELECT seq FROM chunks")]
            else:
                seqs = [place.seq for path in snapshot.files() for place in snapshot.places(path)]
            found = snapshot.chunks(seqs).values()
        return sorted(found, key=lambda chunk: (chunk.path, chunk.start_line, chunk.id))

    def rows(self, index=None):
        """What an index holds, but for what differs from run to run."""
        chunks = [
            (
                row.id,
                row.path,
                row.source,
                row.start_line,
                row.end_line,
                row.hash,
                row.day,
                row.text,
            )
            for row in self.chunks(index)
        ]
        with self.store(index) as store, store.snapshot() as snapshot:
            files = {
                path: (
                    record.hash,
                    record.size,
                    record.pending,
                    [(chunk, Vectors(embedded)) for chunk, embedded in snapshot.chunks_of(path)],
                )
                for path, record in snapshot.files().items()
            }
        return chunks, files


def find(memory, query):
    """Search with no bar: by the reference's measure, words alone count little in few files."""
    return memory.search(query, max_results=10, min_score=0)


def paths(hits):
    """Where hits stand."""
    return [hit.path for hit in hits]


class Vectors:
    """The vectors of a chunk; equal to others that are as near as packed lines let them be."""

    def __init__(self, embedded):
        self.matrix = None
        if embedded is not None:
            lines = unpack(embedded.lines or b"", len(embedded.vector))
            self.matrix = np.stack([embedded.vector, *lines])

    def __eq__(self, other):
        if self.matrix is None or other.matrix is None:
            return self.matrix is other.matrix
        same = self.matrix.shape == other.matrix.shape
        return same and np.allclose(self.matrix, other.matrix, atol=0.02)

    __hash__ = None


@contextlib.contextmanager
def unprivileged():
    """Take the identity of an unprivileged user: root may do anything."""
    if os.geteuid() != 0:
        yield
        return
    os.setresuid(65534, 65534, 0)
    try:
        yield
    finally:
        os.setresuid(0, 0, 0)


def eventually(condition, *, deadline_s=30.0):
    """Wait for a condition; False when it did not come about in time."""
    until = time.monotonic() + deadline_s
    while not condition():
        if time.monotonic() > until:
            return False
        time.sleep(0.02)
    return True
