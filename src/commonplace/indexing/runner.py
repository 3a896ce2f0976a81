"""Index runs: a store is brought up to date, or built anew beside the one that is there."""

from __future__ import annotations

import contextlib
import functools
import json
import logging
from collections.abc import Callable
from dataclasses import asdict, replace
from typing import TYPE_CHECKING

from commonplace.embeddings.client import EmbeddingClient
from commonplace.errors import EmbedderError
from commonplace.indexing import beside, cost_estimate
from commonplace.indexing.chunk_embedder import DimensionChangedError
from commonplace.indexing.embedder_selector import EmbedderSelector
from commonplace.indexing.handle import RUN_TIMEOUT_S, SWAP, IndexHandle
from commonplace.indexing.pipeline import IndexPipeline, Progress
from commonplace.indexing.planner import IndexPlan, plan_index
from commonplace.settings import Settings
from commonplace.store.base import IndexIdentity
from commonplace.store.sqlite.store import SqliteStore
from commonplace.transcripts.cursor import unread_content
from commonplace.types import IndexReport, MemoryFile
from commonplace.workspace.discovery import Workspace

if TYPE_CHECKING:
    from commonplace.embeddings.batch_jobs.job_queue import BatchJobQueue

__all__ = ["IndexRunner", "Leave", "Problems"]

logger = logging.getLogger(__name__)

_SCHEMA = 1
"""Version of what the indexer writes: raise it when chunks or vectors are made another way."""
_AT_WORK = "the vendor's batch interface is still at work"

Leave = Callable[[MemoryFile], bool]
"""Says of a file that would be read that it is left alone."""
Outcome = tuple[IndexReport, EmbedderError | None]
"""What a run did, and why the embedder was given up in it, if it was."""
Problems = tuple[tuple[str, str], ...]
"""``(path, reason)`` of what could not be looked at."""


class _UnfinishedError(Exception):
    """Vectors are missing while an index is built; the old one says more than the new one.

    The embedder has failed, or, without a failure, jobs of the vendor's are under way.
    """

    def __init__(self, report: IndexReport, failure: EmbedderError | None) -> None:
        super().__init__(_AT_WORK if failure is None else str(failure))
        self.report = report
        self.failure = failure


class IndexRunner:
    """Brings the index of one workspace up to date, or builds it anew.

    Runs are one at a time among processes; among threads, whoever calls sees to that.

    Args:
        handle: The index.
        workspace: Whose files are indexed.
        settings: How.
        embedders: Who makes the vectors.
    """

    def __init__(
        self,
        handle: IndexHandle,
        workspace: Workspace,
        *,
        settings: Settings,
        embedders: EmbedderSelector,
    ) -> None:
        self._handle = handle
        self._workspace = workspace
        self._settings = settings
        self._embedders = embedders
        self._chunking = json.dumps(asdict(settings.chunking), sort_keys=True)

    # -- what a run goes by ----------------------------------------------------------------------

    @property
    def wanted_identity(self) -> IndexIdentity:
        """What an index of these settings and this embedder is built with."""
        encoder = self.encoder
        name = encoder.name if encoder else None
        return IndexIdentity(
            schema=_SCHEMA,
            chunking=self._chunking,
            tokenizer=self._settings.search.tokenizer,
            grain=self._settings.search.grain,
            rules=self._settings.compatibility,
            provider=name.provider if name else None,
            model=name.model if name else None,
            endpoint=name.endpoint if name else "",
            dimension=encoder.dimension if encoder else None,
        )

    @property
    def encoder(self) -> EmbeddingClient | None:
        """Who makes the vectors; None for keyword search."""
        return self._embedders.choice.client

    def fits(self, store: SqliteStore) -> bool:
        """Whether an index goes on with these settings and this embedder; else it is rebuilt."""
        identity = store.identity
        return identity is not None and identity.fits(self.wanted_identity)

    def plan(
        self, store: SqliteStore, encoder: EmbeddingClient | None
    ) -> tuple[IndexPlan, Problems]:
        """Compare the disk with an index; also return what could not be looked at.

        Args:
            store: The index.
            encoder: Who would make the vectors that are missing; None leaves them missing.
        """
        scan = self._workspace.scan()
        with store.snapshot() as snapshot:
            known = snapshot.files()
        new = functools.partial(unread_content, settings=self._settings)
        plan = plan_index(scan, known, embeds=encoder is not None, unread=new)
        return plan, scan.problems

    def batch(self, encoder: EmbeddingClient | None) -> BatchJobQueue | None:
        """The vendor's batch interface, where there is one and it is wanted."""
        from commonplace.embeddings.batch_jobs.job_queue import BatchJobQueue

        return BatchJobQueue.of(
            encoder,
            self._settings.embedding,
            self._handle.path.with_name("state.sqlite"),
            index=self._handle.path.name,
            check=self._handle.check_running,
        )

    def indexer(
        self,
        store: SqliteStore,
        encoder: EmbeddingClient | None,
        *sources: SqliteStore,
        absent: str = "it was indexed without an embedder",
    ) -> IndexPipeline:
        """Make an indexer that ends with the memory; see `IndexPipeline`."""
        return IndexPipeline(
            store,
            encoder=encoder,
            settings=self._settings,
            sources=sources,
            check=self._handle.check_running,
            absent=absent,
        )

    # -- a run -----------------------------------------------------------------------------------

    def run(
        self,
        *,
        force: bool = False,
        progress: Progress | None = None,
        leave: Leave = lambda _: False,
        rebuild: bool = True,
        wait_s: float = RUN_TIMEOUT_S,
    ) -> IndexReport:
        """Bring the index up to date; once more, with the fallback, when the embedder fails.

        Args:
            force: Build it anew, whatever it is like.
            progress: Called with what is done and what there is to do.
            leave: Says which new and changed files are left alone.
            rebuild: Whether an index that does not fit is built anew; else what is new is found
                by its words.
            wait_s: How long another process that indexes is waited for.

        Raises:
            IndexBusyError: Another process is indexing.
            StoreError: The index cannot be written.
        """
        with self._handle.lease(timeout_s=wait_s, check=self._handle.check_running):
            store = self._handle.store
            report, failure = self._run_in(
                store, force=force, progress=progress, leave=leave, rebuild=rebuild
            )
            if failure is not None and self._use_fallback(store, failure):
                report, _ = self._run_in(store, progress=progress, leave=leave)
            return report

    def _run_in(
        self,
        store: SqliteStore,
        *,
        force: bool = False,
        progress: Progress | None,
        leave: Leave,
        rebuild: bool = True,
    ) -> Outcome:
        self._probe_dimension(store)
        if store.identity is None:
            store.set_identity(self.wanted_identity)
        fits = self.fits(store)
        if force or (rebuild and not fits):
            return self._rebuild(store, force=force, progress=progress)
        if fits:
            self._adopt_model(store)
        encoder = self.encoder if fits else None
        plan, problems = self.plan(store, encoder)
        plan = plan.without(leave)
        indexer = self.indexer(store, encoder)
        try:
            taken, waits = self._embed_ahead(indexer, encoder, plan, progress)
            if waits:
                plan = self.plan(store, None)[0].without(leave)
                indexer = self.indexer(store, None, absent=_AT_WORK)
            report = indexer.run(plan, progress=progress)
        except DimensionChangedError:
            return self._rebuild(store, force=force, progress=progress)
        if not store.complete:
            store.mark_complete()
        store.trim_vector_cache(self._cache_entries)
        report = _with_taken(report, taken)
        return replace(report, failed=(*problems, *report.failed)), indexer.failure

    def _embed_ahead(
        self,
        indexer: IndexPipeline,
        encoder: EmbeddingClient | None,
        plan: IndexPlan,
        progress: Progress | None,
        *,
        jobs: bool = True,
    ) -> tuple[int, bool]:
        """Tell what a long run costs; let the vendor's batch interface do it, where it may.

        A run that was forced waits for nobody: it has no `jobs`.

        Returns:
            How many texts it has embedded, and whether it is still at work: the run then leaves
            the vectors to a later one.
        """
        if encoder is None or encoder.is_local:
            return 0, False
        batch = self.batch(encoder) if jobs else None
        if batch is not None and batch.is_busy():
            return 0, True
        waiting = batch is not None and batch.has_jobs
        if not waiting and not cost_estimate.is_long(plan, encoder):
            return 0, False
        parts = indexer.lacking(plan)
        texts = indexer.vectors.missing(parts)
        if not waiting:
            cost_estimate.announce(texts, encoder, progress)
        if batch is None:
            return 0, False
        return indexer.vectors.take(parts, batch.fetch(texts)), batch.has_jobs

    def _use_fallback(self, store: SqliteStore, failure: EmbedderError) -> bool:
        """Go on with the fallback when waiting is no use, or there is nothing to wait with."""
        with store.snapshot() as snapshot:
            has_vectors = bool(snapshot.totals().vectors)
        if failure.temporary and has_vectors:
            return False
        used = self._embedders.use_fallback(failure)
        if used:
            self._handle.warnings.append(self._embedders.choice.reason)
        return used

    def _adopt_model(self, store: SqliteStore) -> None:
        """Name the model of an index that was begun without one."""
        identity = store.identity
        wanted = self.wanted_identity
        if identity and identity.model is None and wanted.model is not None:
            store.set_identity(wanted)

    def _probe_dimension(self, store: SqliteStore) -> None:
        """Learn the embedder's dimension where the index has one to compare it with."""
        encoder, identity = self.encoder, store.identity
        if encoder is None or identity is None or not identity.dimension or encoder.dimension:
            return
        with contextlib.suppress(EmbedderError):  # it is reported when texts are embedded
            encoder.embed_query("dimension")

    # -- a new index ----------------------------------------------------------------------------

    def _rebuild(self, store: SqliteStore, *, force: bool, progress: Progress | None) -> Outcome:
        """Build a new index beside the old one, which goes on answering, then put it in place.

        When the embedder fails meanwhile, the old one stays, and the next run goes on beside it.
        """
        path = self._handle.path.with_name(self._handle.path.name + ".rebuild")
        if force:
            beside.give_up(path, heir=store, keep=self._cache_entries)
        identity = self._identity_after(store)
        try:
            with contextlib.closing(
                beside.begin(path, identity, heir=store, keep=self._cache_entries)
            ) as new:
                outcome = self._fill(new, store, force=force, progress=progress)
        except DimensionChangedError:  # what a crash left there holds other vectors
            beside.delete_index(path)
            return self._rebuild(store, force=force, progress=progress)
        except _UnfinishedError as left:
            return self._keep_up(store, left)
        beside.delete_index(path)
        return outcome

    def _keep_up(self, store: SqliteStore, left: _UnfinishedError) -> Outcome:
        """Bring the index that stays up to date, with its own embedder where that can be had."""
        own = self._embedders.of_index(store.identity)[0]
        same_grain = store.identity and store.identity.grain == self.wanted_identity.grain
        encoder = own if same_grain else None
        plan, problems = self.plan(store, encoder)
        try:
            report = self.indexer(store, encoder).run(plan)
        except DimensionChangedError:
            report = self.indexer(store, None).run(self.plan(store, None)[0])
        logger.info("the index stays as it was built for now: %s", left)
        failed = (*problems, *report.failed, *left.report.failed)
        embedded = left.report.embedded + report.embedded
        report = replace(report, failed=tuple(dict.fromkeys(failed)), embedded=embedded)
        return report, left.failure

    def _identity_after(self, store: SqliteStore) -> IndexIdentity:
        """What a rebuilt index is built with: without an embedder, vectors that are there stay."""
        held, wanted = store.identity, self.wanted_identity
        if self.encoder is not None or held is None:
            return wanted
        return replace(
            wanted,
            provider=held.provider,
            model=held.model,
            endpoint=held.endpoint,
            dimension=held.dimension,
        )

    def _fill(
        self, new: SqliteStore, store: SqliteStore, *, force: bool, progress: Progress | None
    ) -> Outcome:
        """Index everything into a new file and let it take the place of the old one."""
        encoder = self.encoder
        sources = [store] if self._settings.cache.enabled or encoder is None else []
        indexer = self.indexer(new, encoder, *sources)
        before = beside.paths(store)
        plan, problems = self.plan(new, encoder)
        taken, waits = self._embed_ahead(indexer, encoder, plan, progress, jobs=not force)
        if waits:
            raise _UnfinishedError(IndexReport(embedded=taken), None)
        report = _with_taken(indexer.run(plan, progress=progress), taken)
        if indexer.failure is not None and beside.is_loss(store, new):
            raise _UnfinishedError(report, indexer.failure)
        failure = indexer.failure
        if encoder is not None and not encoder.is_local:
            indexer = self.indexer(new, None, *sources)  # nobody waits for a service meanwhile
            encoder = None
        # What was appended meanwhile is in the old index only; from here on appends wait.
        with self._handle.lease(SWAP, check=self._handle.check_running):
            late = indexer.run(self.plan(new, encoder)[0])
            after = beside.paths(new)
            new.mark_complete()
            store.replace_with(new, keep_cache=self._cache_entries)
        report = IndexReport(
            added=len(after - before),
            updated=len(after & before),
            removed=len(before - after),
            chunks=late.chunks,
            embedded=report.embedded + late.embedded,
            cached=report.cached + late.cached,
            failed=tuple(dict.fromkeys((*problems, *report.failed, *late.failed))),
            seconds=report.seconds + late.seconds,
        )
        return report, failure

    @property
    def _cache_entries(self) -> int:
        return self._settings.cache.max_entries if self._settings.cache.enabled else 0


def _with_taken(report: IndexReport, taken: int) -> IndexReport:
    """Report what was embedded ahead of a run, and was in the cache when it came, as embedded."""
    cached = max(0, report.cached - taken)
    return replace(report, embedded=report.embedded + taken, cached=cached)
