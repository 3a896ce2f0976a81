"""Index engines: the `Store`, `Snapshot` and `Rebuild` protocols.

An engine stores chunks, finds them by terms and by vectors, and returns them. It converts its own
ranks and distances to scores (higher is better) at this border. It does not merge, weigh or decay:
that is `commonplace.retrieval`. What an engine must promise stands in these docstrings, and
``tests/store/test_contract.py`` checks it.

A new engine is a class with the members of `Store`, opened by a function ``open_store(url: str) ->
Store`` that `commonplace.store.registry` or the entry-point group ``commonplace.stores`` names.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Literal, NamedTuple, Protocol, Self

from commonplace.store.records import (
    FileFilter,
    FileRecord,
    IndexedFile,
    IndexIdentity,
    RowFilter,
    StoredChunk,
    Totals,
)
from commonplace.types import Chunk, ChunkPlace, Source

if TYPE_CHECKING:
    from commonplace.errors import StoreError
    from commonplace.text.analysis import Term
    from commonplace.vectors import Vector
    from commonplace.vectors.arrays import ChunkVectors

__all__ = ["HealthCheck", "LeaseName", "Rebuild", "Recovery", "Snapshot", "Store"]

LeaseName = Literal["run", "swap", "inbox", "change"]
"""``run``: one index run at a time among all processes. ``swap``: a rebuild is committed, or one
file is indexed by itself, never both at once. ``inbox``: one process applies what other hosts wrote
(see `commonplace.store.publication`); ``change``: hosts that change one note at once take turns."""


class Recovery(NamedTuple):
    """Outcome of a recovery: a sentence for users where something was replaced, and None else."""

    warning: str | None = None


class HealthCheck(NamedTuple):
    """One check of an engine's health, as ``status --deep`` runs it.

    Attributes:
        name: What is checked, in a word or two.
        run: Runs the check and returns the outcome, which begins with ``ok``, ``not tried`` or
            ``failed``; it may raise a `CommonplaceError` instead of ``failed``.
        mend: Mends what it found, without a rebuild.
    """

    name: str
    run: Callable[[], str]
    mend: Callable[[], object] | None = None


class Snapshot(Protocol):
    """One state of an index, read consistently: later writes do not show in it."""

    @property
    def identity(self) -> IndexIdentity | None:
        """Identity of the index; None for a new one."""

    def within(self, files: FileFilter) -> Self:
        """Return the same state as if it held only the files that pass a filter.

        The others count nowhere: not in frequencies, nor in the mean of the lines (of some thousand
        chunks at least). Vectors by text (`vectors_of`) and the weights in `match` may be of all.
        """

    def expired(self, at_ms: int) -> frozenset[str]:
        """Return the files whose `FileRecord.expires_ms` has come; each search asks for it."""

    def files(self) -> dict[str, FileRecord]:
        """Return all files by path."""

    def file(self, path: str) -> FileRecord | None:
        """Return the record of one file; None for one that is not indexed."""

    def metadata(self, paths: Collection[str]) -> dict[str, str]:
        """Return `FileRecord.metadata` of those of some files that have any."""

    def totals(self) -> Totals:
        """Count files, chunks and vectors."""

    def chunk_count(self, source: Source | None = None) -> int:
        """Return the number of chunks, of one source or of all; each search asks for it."""

    def frequencies(self, words: Iterable[Term], source: Source | None = None) -> dict[Term, int]:
        """Return the document frequency of each term: the chunks that hold it, if few; else about.

        Args:
            words: Terms of a query. A term is held as `match` says.
            source: Count in the chunks of one source; in all by default.
        """

    def match(
        self, words: Sequence[Term], *, every: bool, limit: int, rows: RowFilter
    ) -> list[tuple[int, float]]:
        """Return ``(seq, score)`` of the chunks that hold any (or every) term, best first.

        The ranking is deterministic: the same index and query give the same list; equal scores go
        by seq. Scores are comparable within one list only; BM25 is expected (rare terms count
        more, long chunks less). With the capability ``"exact-fts5-bm25"`` they are BM25 exactly as
        FTS5 computes it (k1 1.2, b 0.75), with the sign turned.

        A chunk holds a term when `text.analysis.Analyzer.terms` of the identity's tokenizer
        cuts its text, or its `text.unspaced_scripts.glued_words`, into the terms of ``Term.text``,
        one behind the other. A term that it cuts into none is in no chunk. A gram (``Term.gram``)
        is looked for among the terms of `text.unspaced_scripts.grams_text`; one of one character is
        the prefix of any. An initial term (``Term.initial``) has to be the first of the chunk's
        text; it is never a gram. Of a prefix (``Term.prefix``), ``Term.term`` is cut instead, and
        the last of its terms is the prefix of any.

        Args:
            words: Terms of the query, of any text; those of nothing but white space are skipped.
                Without a term the list is empty.
            every: Whether a chunk must hold all of them.
            limit: Length of the list, at most.
            rows: Filter of the chunks.
        """

    def nearest(
        self, query: Vector, limit: int, rows: RowFilter, *, exact: bool = True
    ) -> list[tuple[int, float]]:
        """Return ``(seq, dot product)`` of the chunks nearest to a vector, best first.

        With a query of length 1 the product is the cosine. Equal ones go by seq. A vector whose
        length differs from the index's dimension finds nothing.

        Args:
            query: The vector.
            limit: Length of the list, at most.
            rows: Filter of the chunks.
            exact: Whether every vector must be compared. If not, an approximate search that misses
                a few of the last ones will do.
        """

    def mean_line(self, source: Source | None = None) -> Vector | None:
        """Return the mean of the vectors of lines, of one source or of all; None without any."""

    def chunks(self, seqs: Sequence[int]) -> dict[int, StoredChunk]:
        """Return chunks by seq; one that is gone is left out."""

    def versions(self, seqs: Sequence[int]) -> dict[int, int]:
        """Return versions that grow with each write, of a search's hits: reads no texts."""

    def chunks_of(
        self, path: str, *, from_line: int | None = None, to_line: int | None = None
    ) -> list[tuple[Chunk, ChunkVectors | None]]:
        """Return the chunks of a file that begin between two lines, with their vectors."""

    def places(self, path: str) -> list[ChunkPlace]:
        """Return the places of a file's chunks, in order; an index there is the ordinal."""

    def cached_dimension(self, identity: IndexIdentity) -> int | None:
        """Return the dimension of a model's vectors in the index or the cache; None for none."""

    def vectors_of(self, hashes: Sequence[str], identity: IndexIdentity) -> dict[str, ChunkVectors]:
        """Return the vectors that a model made of chunk texts, from the chunks or the cache.

        Args:
            hashes: Hashes of the texts.
            identity: The model: its `vectors_key` and dimension; without either, nothing is found.
        """


class Store(Protocol):
    """The index of one workspace, whatever holds it.

    Constructing a store opens and creates nothing; the first use does. Reading an index that was
    not begun finds it empty. Threads share one store, and processes share its index.
    """

    @property
    def location(self) -> str:
        """Where the index is, for messages; without credentials."""

    @property
    def access(self) -> Literal["read-write", "read-only"]:
        """Whether the index can be written. One that cannot still answers."""

    @property
    def engines(self) -> Mapping[str, str]:
        """What compares ``vectors`` and what finds ``words``, for people."""

    @property
    def capabilities(self) -> frozenset[str]:
        """Promises, such as ``"windows"`` (`IndexedFile.window`) or ``"exact-fts5-bm25"``."""

    def exists(self) -> bool:
        """Return whether an index was begun there; opens and creates nothing.

        An index is begun by its first `set_identity` at the latest.
        """

    @property
    def identity(self) -> IndexIdentity | None:
        """Identity of the index, as it is now; None for a new one."""

    @property
    def cached_identity(self) -> IndexIdentity | None:
        """Identity when it was last read or set by this store, without a query; None if never."""

    def set_identity(self, identity: IndexIdentity) -> None:
        """Set the identity of a new index, or complete the open parts of the one there is.

        Open are a model and a dimension of None; what is known already is given again.

        Raises:
            StoreError: The index has an identity that the new one does not fit.
        """

    @property
    def complete(self) -> bool:
        """Whether an index run ever came to its end."""

    def mark_complete(self) -> None:
        """Note that an index run came to its end: one that wrote something, or the first."""

    def snapshot(self) -> AbstractContextManager[Snapshot]:
        """Open one consistent state of the index, for one thread."""

    def write(self, files: Sequence[IndexedFile], removed: Sequence[str] = ()) -> tuple[str, ...]:
        """Replace and remove files in one transaction.

        The vectors of chunks that leave the index go to the cache. Writes are optimistic: a file
        whose record differs from `IndexedFile.replaces` was written by another writer, and stays.
        So do all files when another process has rebuilt the index, and `cached_identity` does not
        fit the identity that it has now.

        Args:
            files: Files to insert or replace.
            removed: Paths of files to remove.

        Returns:
            Paths that were skipped: those that another writer changed meanwhile, and those whose
            vectors do not have the index's dimension.

        Raises:
            StoreError: The index has no identity (`set_identity` comes first), or the write failed.
                Nothing was changed.
        """

    def cache_vectors(
        self, vectors: Mapping[str, ChunkVectors], *, drop: Iterable[str] = ()
    ) -> None:
        """Put vectors of texts that are not indexed yet in the vector cache; drop others.

        Args:
            vectors: By the hash of the chunk's text; made by the identity's model. Those of another
                dimension are skipped; all are while the identity has no model or no dimension, or
                the index no identity.
            drop: Hashes of texts whose vectors are indexed by now.
        """

    def trim_vector_cache(self, max_entries: int) -> None:
        """Drop the cached vectors written longest ago, beyond a number of texts."""

    def lease(
        self, name: LeaseName, *, timeout_s: float, check: Callable[[], object] = ...
    ) -> AbstractContextManager[None]:
        """Hold a lease: a lock among threads and processes that ends with its process.

        It is not reentrant: a thread that holds it waits for itself. They are independent.

        Args:
            name: Which of them.
            timeout_s: Seconds to wait for it.
            check: Called while waiting; what it raises ends the wait.

        Raises:
            IndexBusyError: Another owner held it for `timeout_s` seconds.
            IndexReadOnlyError: The index cannot be locked, so it cannot be written either.
        """

    def lease_holder(self) -> str | None:
        """Return the owner of the ``run`` lease, such as ``process 4711``; None when it is free."""

    def begin_rebuild(self, identity: IndexIdentity, *, restart: bool, keep_cache: int) -> Rebuild:
        """Begin a shadow index that takes this one's place when it is complete.

        The caller holds the ``run`` lease, and the ``swap`` lease while it commits.

        A rebuild that a crash or a failure left unfinished is resumed if its identity fits and has
        the same `vectors_key`; another one is abandoned.

        Args:
            identity: Identity of the new index.
            restart: Abandon an unfinished rebuild in any case.
            keep_cache: Texts whose vectors this index's cache may hold.
        """

    def recover(self, error: StoreError, *, certain: bool) -> Recovery | None:
        """Recover from an error of a verb, so that the verb can be tried again.

        After an `IndexDamagedError` the index is checked; a damaged one is moved out of the way,
        and the next use begins a new one. An index that was deleted or replaced meanwhile is
        reopened: an error that comes of it, such as `write` without an identity, is recovered from.

        Args:
            error: The error.
            certain: Whether it is damage even if the check finds nothing.

        Returns:
            The recovery; None for every other error, such as a full disk or a closed store.
        """

    def purge(self) -> bool:
        """Overwrite what deleted texts left behind, in caches, shadow and damaged indexes, too.

        The caller holds the ``run`` lease. False while a reader of an older state prevents it.
        """

    def health_checks(self) -> Iterable[HealthCheck]:
        """Return the engine's own checks for ``status --deep``."""

    def suspend(self) -> None:
        """Release connections and memory, while nothing uses them; the next use opens again."""

    def close(self) -> None:
        """Release connections and memory. Every later use but `close` raises `StoreError`."""


class Rebuild(Protocol):
    """A shadow index: written to beside the one that answers, then swapped in."""

    @property
    def store(self) -> Store:
        """The shadow index, written to like any other."""

    def commit(self, *, keep_cache: int) -> None:
        """Swap the shadow index in, in one step for the readers of every process.

        Open snapshots keep their state; vectors of both, of up to `keep_cache` texts, stay in
        the cache; `Store.cached_identity` is the new one. Raises `InboxWaitsError` if changes wait.
        """

    def abandon(self, *, keep_cache: int) -> None:
        """Delete the shadow index; its vectors go to the cache, up to `keep_cache` texts."""

    def close(self) -> None:
        """Release it. One that was neither committed nor abandoned is resumed by the next."""
