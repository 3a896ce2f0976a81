"""Small files to put into a store, the same ones each time."""

from __future__ import annotations

import contextlib
import hashlib
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from commonplace.store.base import Store
from commonplace.store.records import (
    FileRecord,
    IndexedChunk,
    IndexedFile,
    IndexIdentity,
    RowFilter,
)
from commonplace.text.analysis import Term
from commonplace.types import Chunk, Source
from commonplace.vectors.arrays import ChunkVectors, pack_all

DIMENSION = 8
ALL = RowFilter()
IDENTITY = IndexIdentity(
    schema=1,
    chunking="400/80",
    tokenizer="porter",
    unit="line",
    profile="default",
    provider="fake",
    model="letters",
    dimension=DIMENSION,
)


def sha256(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "replace")).hexdigest()


def unit_rows(seed: str, count: int, dimension: int = DIMENSION) -> Any:
    rng = np.random.default_rng(int(sha256(seed)[:12], 16))
    rows = rng.standard_normal((count, dimension)).astype(np.float32)
    return rows / np.linalg.norm(rows, axis=1, keepdims=True)


def vector_of(text: str, dimension: int = DIMENSION) -> Any:
    return unit_rows(text, 1, dimension)[0]


def embedded(text: str, dimension: int = DIMENSION) -> ChunkVectors:
    count = text.count("\n") + 1
    (lines,) = pack_all([unit_rows("lines" + text, count, dimension)])
    return ChunkVectors(vector_of(text, dimension), lines)


def a_file(
    path: str,
    *texts: str,
    source: Source = "memory",
    day: int | None = None,
    vectors: bool = True,
    dimension: int = DIMENSION,
    version: int = 1,
    replaces: int | None = None,
) -> IndexedFile:
    record = FileRecord(path, source, sha256("".join(texts)), 10, 20 + version, version, day)
    chunks = [
        IndexedChunk(
            sha256(f"{path}{at}{text}"),
            Chunk(at + 1, at + 1 + text.count("\n"), text, sha256(text), "Top > Sub"),
            embedded(text, dimension) if vectors else None,
            day,
            units=sha256(text).encode(),
        )
        for at, text in enumerate(texts)
    ]
    return IndexedFile(record, chunks, replaces)


def filled(store: Store, *files: IndexedFile, identity: IndexIdentity = IDENTITY) -> Store:
    store.set_identity(identity)
    assert store.write(files) == ()
    return store


def words(*texts: str) -> list[Term]:
    return [Term(text, text) for text in texts]


def texts_found(store: Store, seqs: Sequence[tuple[int, float]]) -> list[str]:
    with store.snapshot() as snapshot:
        chunks = snapshot.chunks([seq for seq, _ in seqs])
    return [chunks[seq].text for seq, _ in seqs]


def matching(
    store: Store, *texts: str, every: bool = False, rows: RowFilter = ALL, limit: int = 100
) -> list[str]:
    with store.snapshot() as snapshot:
        hits = snapshot.match(words(*texts), every=every, limit=limit, rows=rows)
    return texts_found(store, hits)


def nearest(store: Store, query: Any, *, rows: RowFilter = ALL, limit: int = 100) -> list[str]:
    with store.snapshot() as snapshot:
        hits = snapshot.nearest(query, limit, rows)
    return texts_found(store, hits)


def contents(store: Store, *, query: Any = None) -> Any:
    """All that a store says about itself, for comparing it with another one."""
    query = vector_of("query") if query is None else query
    with store.snapshot() as snapshot:
        files = snapshot.files()
        hits = snapshot.nearest(query, 10_000, ALL)
        found = snapshot.chunks([seq for seq, _ in hits])
        return {
            "files": files,
            "totals": (snapshot.totals(), snapshot.chunk_count()),
            "chunks": {path: [chunk for chunk, _ in snapshot.chunks_of(path)] for path in files},
            "nearest": [(found[seq].id, round(score, 4)) for seq, score in hits if seq in found],
            "gone": [seq for seq, _ in hits if seq not in found],
        }


def record_only(file: IndexedFile, *, version: int, replaces: int) -> IndexedFile:
    return IndexedFile(replace(file.record, indexed_ns=version), None, replaces)


def rebuilt(
    store: Store,
    *files: IndexedFile,
    identity: IndexIdentity = IDENTITY,
    keep_cache: int = 100,
) -> None:
    """Replace all that a store holds, by a rebuild."""
    rebuild = store.begin_rebuild(identity, restart=True, keep_cache=keep_cache)
    with contextlib.closing(rebuild):
        filled(rebuild.store, *files, identity=identity)
        rebuild.commit(keep_cache=keep_cache)
