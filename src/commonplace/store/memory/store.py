"""Memory engine: the `Store` protocol in plain dictionaries, the reference of the contract."""

from __future__ import annotations

import contextlib
import os
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Literal

from commonplace.errors import IndexBusyError, StoreError
from commonplace.store.base import HealthCheck, LeaseName, Recovery
from commonplace.store.memory.snapshot import (
    CacheKey,
    IndexState,
    MemorySnapshot,
    StateRow,
    add_to_cache,
    analyzer_for,
)
from commonplace.store.records import ChunkWindow, IndexedFile, IndexIdentity
from commonplace.text.unspaced_scripts import glued_words, grams_text
from commonplace.vectors.arrays import ChunkVectors

__all__ = ["MemoryRebuild", "MemoryStore"]

_POLL_S = 0.01


class MemoryStore:
    """Index engine in plain dictionaries, gone with its process: the reference of the contract.

    Each query reads every chunk: exact, and slow beyond some thousand of them.
    """

    capabilities = frozenset({"exact-fts5-bm25", "windows"})
    location = "memory://"
    access: Literal["read-write", "read-only"] = "read-write"

    def __init__(self) -> None:
        self._state = IndexState()
        self._lock = threading.RLock()
        self._leases: dict[LeaseName, threading.Lock] = {
            "run": threading.Lock(),
            "swap": threading.Lock(),
        }
        self._unfinished: MemoryStore | None = None
        self._closed = False

    @property
    def engines(self) -> Mapping[str, str]:
        """What compares ``vectors`` and what finds ``words``, for people."""
        return {"vectors": "numpy", "words": "plain Python"}

    def exists(self) -> bool:
        """Return whether an index was begun."""
        return self._state.identity is not None

    @property
    def identity(self) -> IndexIdentity | None:
        """Identity of the index; None for a new one."""
        self._check_open()
        return self._state.identity

    @property
    def cached_identity(self) -> IndexIdentity | None:
        """The same: no query is needed."""
        return self.identity

    def set_identity(self, identity: IndexIdentity) -> None:
        """Set the identity of a new index, or complete the one there is; see `Store`."""
        with self._writing():
            before = self._state.identity
            if before is not None and not before.fits(identity):
                raise StoreError(f"the index was built otherwise ({before}).")
            self._state = replace(self._state, identity=identity)

    @property
    def complete(self) -> bool:
        """Whether an index run ever came to its end."""
        self._check_open()
        return self._state.complete

    def mark_complete(self) -> None:
        """Note that an index run came to its end."""
        with self._writing():
            self._state = replace(self._state, complete=True)

    @contextlib.contextmanager
    def snapshot(self) -> Iterator[MemorySnapshot]:
        """Open one consistent state of the index."""
        self._check_open()
        yield MemorySnapshot(self._state)

    def write(self, files: Sequence[IndexedFile], removed: Sequence[str] = ()) -> tuple[str, ...]:
        """Replace and remove files in one step; see `Store`."""
        with self._writing():
            state = self._state.copy()
            if state.identity is None:
                raise StoreError("the index has no identity; set_identity(...) first.")
            mine = [file for file in files if _is_current(state, file)]
            for path in removed:
                _remove(state, path)
            for file in mine:
                if file.chunks is not None and file.window is not None:
                    _replace_window(state, file, file.window)
                elif file.chunks is not None:
                    _remove(state, file.record.path, from_line=file.keep_before or 1)
            for file in mine:
                state = _insert(state, file)
            self._state = state
        written = {id(file) for file in mine}
        return tuple(file.record.path for file in files if id(file) not in written)

    def cache_vectors(
        self, vectors: Mapping[str, ChunkVectors], *, drop: Iterable[str] = ()
    ) -> None:
        """Put vectors of texts in the vector cache, and drop others; see `Store`."""
        with self._writing():
            state = self._state.copy()
            identity = state.identity
            if identity is None or not identity.model or not identity.dimension:
                return
            for key, made in vectors.items():
                if len(made.vector) == identity.dimension:
                    state.cache[identity.vectors_key, identity.dimension, key] = made
            for key in drop:
                state.cache.pop((identity.vectors_key, identity.dimension, key), None)
            self._state = state

    def purge(self) -> bool:
        """Drop the cached vectors: nothing else is left of deleted texts; see `Store`."""
        self.trim_vector_cache(0)
        return True

    def trim_vector_cache(self, max_entries: int) -> None:
        """Drop the cached vectors written longest ago, beyond a number of texts."""
        with self._writing():
            cache = _newest(self._state.cache, max_entries)
            self._state = replace(self._state, cache=cache)

    @contextlib.contextmanager
    def lease(
        self,
        name: LeaseName,
        *,
        timeout_s: float,
        check: Callable[[], object] = lambda: None,
    ) -> Iterator[None]:
        """Hold a lease among the threads of this process; see `Store`."""
        self._check_open()
        deadline = time.monotonic() + timeout_s
        lock = self._leases[name]
        while not lock.acquire(timeout=min(_POLL_S, max(0.0, deadline - time.monotonic()))):
            if time.monotonic() >= deadline:
                raise IndexBusyError(
                    f"another thread has held the index in memory for {timeout_s:g} s."
                )
            check()
        try:
            yield
        finally:
            lock.release()

    def lease_holder(self) -> str | None:
        """Return this process while one of its threads holds the ``run`` lease."""
        return f"process {os.getpid()}" if self._leases["run"].locked() else None

    def begin_rebuild(
        self, identity: IndexIdentity, *, restart: bool, keep_cache: int
    ) -> MemoryRebuild:
        """Begin or resume a shadow index; see `Store`."""
        left = self._unfinished
        if left is not None:
            held = left.identity
            fits = held and held.vectors_key == identity.vectors_key and held.fits(identity)
            if restart or not fits:
                MemoryRebuild(self, left).abandon(keep_cache=keep_cache)
        if self._unfinished is None:
            self._unfinished = MemoryStore()
            self._unfinished.set_identity(identity)
        return MemoryRebuild(self, self._unfinished)

    def recover(self, error: StoreError, *, certain: bool) -> Recovery | None:
        """Return None: nothing can be damaged."""
        del error, certain
        return None

    def health_checks(self) -> Iterable[HealthCheck]:
        """Return no checks."""
        return ()

    def suspend(self) -> None:
        """Release nothing: the index is nowhere else."""

    def close(self) -> None:
        """Release everything; the index is gone."""
        self._closed = True
        self._state = IndexState()

    def end_rebuild(self, shadow: MemoryStore, *, commit: bool, keep_cache: int) -> None:
        """Swap a shadow index in, or drop it; the vectors of both stay in the cache."""
        with self._lock:
            old, made = self._state, shadow._state
            cache = old.cache | made.cache
            gone = old if commit else made
            for seq in sorted(gone.rows):
                add_to_cache(cache, gone, seq)
            self._state = replace(made if commit else old, cache=_newest(cache, keep_cache))
            self._unfinished = None

    @contextlib.contextmanager
    def _writing(self) -> Iterator[None]:
        with self._lock:
            self._check_open()
            yield

    def _check_open(self) -> None:
        if self._closed:
            raise StoreError("the memory is closed; open it again with Memory.open(...).")


class MemoryRebuild:
    """Shadow index in memory; see `Rebuild`."""

    def __init__(self, target: MemoryStore, shadow: MemoryStore) -> None:
        self._target = target
        self.store = shadow

    def commit(self, *, keep_cache: int) -> None:
        """Swap the shadow index in."""
        self._target.end_rebuild(self.store, commit=True, keep_cache=keep_cache)

    def abandon(self, *, keep_cache: int) -> None:
        """Drop the shadow index; its vectors go to the target's cache."""
        self._target.end_rebuild(self.store, commit=False, keep_cache=keep_cache)

    def close(self) -> None:
        """Leave the shadow index to be resumed."""


def _is_current(state: IndexState, file: IndexedFile) -> bool:
    """Return whether a file was planned against the record and the vectors that are there."""
    record = state.files.get(file.record.path)
    dimension = state.identity.dimension if state.identity else None
    embedded = [item.embedded for item in file.chunks or () if item.embedded]
    return (record.indexed_ns if record else None) == file.replaces and all(
        len(vectors.vector) == dimension for vectors in embedded
    )


def _remove(state: IndexState, path: str, *, from_line: int = 1) -> None:
    rows = [(seq, row) for seq, row in state.rows.items() if row.path == path]
    for seq in [seq for seq, row in rows if row.item.chunk.start_line >= from_line]:
        add_to_cache(state.cache, state, seq)
        del state.rows[seq]
    state.files.pop(path, None)


def _replace_window(state: IndexState, file: IndexedFile, window: ChunkWindow) -> None:
    """Remove the chunks of a window, and move those behind it."""
    more = len(file.chunks or ()) - (window.after - window.first)
    for seq, row in list(state.rows.items()):
        if row.path != file.record.path or row.ordinal < window.first:
            continue
        if row.ordinal < window.after:
            add_to_cache(state.cache, state, seq)
            del state.rows[seq]
            continue
        item = row.item
        if window.lines:
            start, end = item.chunk.start_line + window.lines, item.chunk.end_line + window.lines
            chunk = replace(item.chunk, start_line=start, end_line=end)
            item = replace(item, chunk=chunk, id=window.ids[row.ordinal - window.after])
        state.rows[seq] = replace(row, ordinal=row.ordinal + more, item=item)


def _insert(state: IndexState, file: IndexedFile) -> IndexState:
    assert state.identity is not None
    analyzer = analyzer_for(state.identity.tokenizer)
    seq = state.last_seq
    path = file.record.path
    kept = [row.ordinal for row in state.rows.values() if row.path == path]
    first = file.window.first if file.window else max(kept, default=-1) + 1
    tokenizer = state.identity.tokenizer
    for ordinal, item in enumerate(file.chunks or (), first):
        seq += 1
        text = item.chunk.text
        texts = text, glued_words(text, tokenizer), grams_text(text, tokenizer)
        state.rows[seq] = StateRow(path, ordinal, item, *map(analyzer.terms, texts))
    state.files[file.record.path] = file.record
    return replace(state, last_seq=seq)


def _newest(cache: dict[CacheKey, ChunkVectors], count: int) -> dict[CacheKey, ChunkVectors]:
    return dict(list(cache.items())[max(0, len(cache) - count) :])
