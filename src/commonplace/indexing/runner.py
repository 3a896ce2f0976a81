"""Index runs: the index is brought up to date, one run at a time among all processes."""

from __future__ import annotations

import contextlib
import functools
import json
from collections.abc import Callable, Iterable
from dataclasses import asdict, replace
from datetime import datetime
from typing import TYPE_CHECKING, Protocol

from commonplace.embeddings.client import EmbeddingClient
from commonplace.errors import EmbedderError
from commonplace.indexing import cost_estimate
from commonplace.indexing.chunk_embedder import DimensionChangedError
from commonplace.indexing.document_reader import TextRecorder
from commonplace.indexing.embedder_selector import EmbedderSelector
from commonplace.indexing.pipeline import IndexPipeline, Progress
from commonplace.indexing.planner import IndexPlan, plan_index
from commonplace.indexing.published_files import NoPublisher, RunPublisher
from commonplace.settings import Settings
from commonplace.store.base import Store
from commonplace.store.records import IndexIdentity
from commonplace.system.state import StateLocation
from commonplace.transcripts.cursor import unread_content
from commonplace.types import IndexReport, MemoryFile
from commonplace.workspace.discovery import Scan, Workspace

if TYPE_CHECKING:
    from commonplace.embeddings.batch_jobs.job_queue import BatchJobQueue
    from commonplace.profiles import Profile

__all__ = ["IndexRunner", "Outcome", "Problems", "Skip", "Sweeper"]

_SCHEMA = 9
"""Version of what the indexer writes: raise it when chunks, terms or vectors change."""
RUN_TIMEOUT_S = 3600.0
"""How long `Memory.index` and a first search wait for another process that indexes."""

Skip = Callable[[MemoryFile], bool]
"""Returns whether a file that would be read is skipped."""
Outcome = tuple[IndexReport, EmbedderError | None]
"""Report of a run, and the failure that ended embedding in it, if any."""
Problems = tuple[tuple[str, str], ...]
"""``(path, reason)`` of files that could not be examined."""


class Sweeper(Protocol):
    """What deletes the notes that are expired; see `commonplace.history.expiry`."""

    now: Callable[[], datetime]
    """Returns the time."""

    def sweep(self, paths: Iterable[str]) -> list[tuple[str, str]]:
        """Delete notes; return ``(path, reason)`` of those that could not be deleted."""


class IndexRunner:
    """Runs index updates of one workspace, and rebuilds where the index does not fit.

    Runs take turns among processes by a lease; among threads, the caller sees to that.

    Args:
        workspace: The files to index.
        store: The index.
        settings: How files are cut and embedded.
        profile: Rules by which files are read and cut.
        selector: Selects the embedding client.
        state: Where the jobs of batch APIs are noted.
        check: Called between the steps of a run; what it raises ends the run.
        recorder: Keeps the texts that runs read.

    Attributes:
        sweeper: Deletes expired notes at the end of a run; None leaves them.
        publisher: Publishes what a run has indexed, for hosts without the folder.
    """

    def __init__(
        self,
        workspace: Workspace,
        store: Store,
        *,
        settings: Settings,
        profile: Profile,
        selector: EmbedderSelector,
        state: StateLocation,
        check: Callable[[], object],
        recorder: TextRecorder | None,
    ) -> None:
        self._recorder = recorder
        self._scan: Scan | None = None
        self.settings = settings
        self._profile = profile
        self.selector = selector
        self.check = check
        self.sweeper: Sweeper | None = None
        self.publisher: RunPublisher = NoPublisher()
        self._workspace = workspace
        self._store = store
        self._state = state
        self._chunking = json.dumps(asdict(settings.chunking), sort_keys=True)

    def client(self) -> EmbeddingClient | None:
        """Return the embedding client of index runs; None for keyword search.

        Raises:
            EmbedderError: The embedder that was named is not available.
        """
        return self.selector.select(self._store.cached_identity).client

    def wanted_identity(self) -> IndexIdentity:
        """Return the identity of an index of these settings and this embedder."""
        client = self.client()
        name = client.name if client else None
        return IndexIdentity(
            schema=_SCHEMA,
            chunking=self._chunking,
            tokenizer=self.settings.search.tokenizer,
            unit=self.settings.search.unit,
            profile=self.settings.profile,
            provider=name.provider if name else None,
            model=name.model if name else None,
            endpoint=name.endpoint if name else "",
            dimension=client.dimension if client else None,
        )

    def fits(self) -> bool:
        """Return whether the index serves these settings and this embedder without a rebuild."""
        identity = self._store.identity
        return identity is not None and identity.fits(self.wanted_identity())

    def plan(
        self, client: EmbeddingClient | None, *, store: Store | None = None
    ) -> tuple[IndexPlan, Problems]:
        """Compare the disk with the index; also return what could not be examined.

        Args:
            client: Embeds the texts whose vectors are missing; None leaves them missing.
            store: Another index than the memory's own, such as a shadow index.
        """
        self._scan = scan = self._workspace.scan()
        with (store or self._store).snapshot() as snapshot:
            known = snapshot.files()
        new = functools.partial(unread_content, settings=self.settings)
        plan = plan_index(scan, known, embeds=client is not None, unread=new)
        return plan, scan.problems

    def pipeline(
        self,
        client: EmbeddingClient | None,
        *,
        store: Store | None = None,
        sources: tuple[Store, ...] = (),
        check: Callable[[], object] | None = None,
        absent: str = "it was indexed without an embedder",
    ) -> IndexPipeline:
        """Return a pipeline into the index, or into another store; see `IndexPipeline`."""
        return IndexPipeline(
            store or self._store,
            client=client,
            profile=self._profile,
            unit=self.settings.search.unit,
            sources=sources,
            check=check or self.check,
            absent=absent,
            recorder=self._recorder,
        )

    def batch_jobs(self, client: EmbeddingClient | None) -> BatchJobQueue | None:
        """Return the queue of the vendor's batch API, where there is one and it is wanted."""
        if not self.settings.embedding.batch:
            return None
        from commonplace.embeddings.batch_jobs.job_queue import BatchJobQueue

        return BatchJobQueue.of(
            client,
            self.settings.embedding,
            self._state.database,
            index=self._state.owner,
            check=self.check,
        )

    @property
    def cache_entries(self) -> int:
        """Texts whose vectors the cache may hold."""
        return self.settings.cache.max_entries if self.settings.cache.enabled else 0

    # -- a run -----------------------------------------------------------------------------------

    def run(
        self,
        *,
        force: bool = False,
        progress: Progress | None = None,
        skip: Skip = lambda _: False,
        rebuild: bool = True,
        wait_s: float = RUN_TIMEOUT_S,
    ) -> IndexReport:
        """Bring the index up to date; a second time, with the fallback, when the embedder fails.

        Args:
            force: Rebuild it in any case.
            progress: Called with the files done and the files to do.
            skip: Returns whether a new or changed file is skipped.
            rebuild: Whether an index that does not fit is rebuilt; else its new texts are found by
                keywords.
            wait_s: Seconds to wait for another process that indexes.

        Raises:
            IndexBusyError: Another process is indexing.
            StoreError: The index cannot be written.
        """
        with self._store.lease("run", timeout_s=wait_s, check=self.check):
            self.publisher.before_run()
            report, failure = self._update(
                force=force, progress=progress, skip=skip, rebuild=rebuild
            )
            if failure is not None and self._use_fallback(failure):
                report, _ = self._update(progress=progress, skip=skip)
            report = self._swept(report, skip=skip)
            if self._scan is not None:
                self.pipeline(None).record_scan(self._scan)
            self.publisher.after_run()
            return report

    def _swept(self, report: IndexReport, *, skip: Skip) -> IndexReport:
        """Delete expired notes, and return the report with their removal."""
        due = self.due()
        if not due or self.sweeper is None:
            return report
        unswept = self.sweeper.sweep(due)
        then, _ = self._update(progress=None, skip=skip)
        failed = dict.fromkeys((*report.failed, *then.failed, *unswept))
        return replace(cost_estimate.combined(report, then), failed=tuple(failed))

    def due(self) -> list[str]:
        """Return the expired notes that a run deletes."""
        if self.sweeper is None:
            return []
        with self._store.snapshot() as snapshot:
            expired = snapshot.expired(int(self.sweeper.now().timestamp() * 1000))
        return sorted(path for path in expired if path.startswith("memory/"))

    def _update(
        self,
        *,
        force: bool = False,
        progress: Progress | None,
        skip: Skip,
        rebuild: bool = True,
    ) -> Outcome:
        store = self._store
        self._probe_dimension()
        if store.identity is None:
            store.set_identity(self.wanted_identity())
        fits = self.fits()
        if force or (rebuild and not fits):
            return self._rebuild(force=force, progress=progress)
        if fits:
            self._adopt_model()
        client = self.client() if fits else None
        plan, problems = self.plan(client)
        plan = plan.without(skip)
        pipeline = self.pipeline(client)
        try:
            taken, waits = self.embed_ahead(pipeline, client, plan, progress)
            if waits:
                plan = self.plan(None)[0].without(skip)
                pipeline = self.pipeline(None, absent=cost_estimate.BATCH_JOBS_RUNNING)
            report = pipeline.run(plan, progress=progress)
        except DimensionChangedError:
            return self._rebuild(force=force, progress=progress)
        if not store.complete or plan.read or plan.removed:
            store.mark_complete()
        store.trim_vector_cache(self.cache_entries)
        if taken:
            report = cost_estimate.with_embedded(report, taken)
        return replace(report, failed=(*problems, *report.failed)), pipeline.failure

    def _rebuild(self, *, force: bool, progress: Progress | None) -> Outcome:
        from commonplace.indexing.rebuilder import Rebuilder

        return Rebuilder(self, self._store).run(force=force, progress=progress)

    def embed_ahead(
        self,
        pipeline: IndexPipeline,
        client: EmbeddingClient | None,
        plan: IndexPlan,
        progress: Progress | None,
        *,
        jobs: bool = True,
    ) -> tuple[int, bool]:
        """Report what a long run costs, and embed its texts by the batch API where that is wanted.

        Args:
            pipeline: Knows which texts lack vectors.
            client: Embeds them.
            plan: What is about to be indexed.
            progress: Its `estimated`, if it has one, is called with the estimate.
            jobs: Whether the batch API may be used; a forced run waits for no job.

        Returns:
            The number of texts embedded, and whether jobs are still running: the run then leaves
            the vectors to a later one.
        """
        if client is None or client.is_local:
            return 0, False
        batch = self.batch_jobs(client) if jobs else None
        if batch is not None and batch.is_busy():
            return 0, True
        waiting = batch is not None and batch.has_jobs
        if not waiting and not cost_estimate.is_long(plan, client):
            return 0, False
        parts = pipeline.lacking(plan)
        texts = pipeline.vectors.missing(parts)
        if not waiting:
            cost_estimate.announce(texts, client, progress)
        if batch is None:
            return 0, False
        return pipeline.vectors.take(parts, batch.fetch(texts)), batch.has_jobs

    def _use_fallback(self, failure: EmbedderError) -> bool:
        """Select the fallback, unless the failure is temporary and the index has vectors."""
        with self._store.snapshot() as snapshot:
            has_vectors = bool(snapshot.totals().vectors)
        if failure.temporary and has_vectors:
            return False
        return self.selector.use_fallback(failure) is not None

    def _adopt_model(self) -> None:
        """Set the model of an index that was begun without one."""
        identity = self._store.identity
        wanted = self.wanted_identity()
        if identity and identity.model is None and wanted.model is not None:
            self._store.set_identity(wanted)

    def _probe_dimension(self) -> None:
        """Ask for the embedder's dimension where the index has one to compare it with."""
        client, identity = self.client(), self._store.identity
        if client is None or identity is None or not identity.dimension or client.dimension:
            return
        with contextlib.suppress(EmbedderError):  # it is reported when texts are embedded
            client.embed_query("dimension")
