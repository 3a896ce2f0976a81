"""Rebuilds: a shadow index is filled beside the one that answers, then swapped in."""

from __future__ import annotations

import contextlib
import logging
import time
from dataclasses import replace
from typing import TYPE_CHECKING

from commonplace.errors import EmbedderError
from commonplace.indexing import cost_estimate
from commonplace.indexing.chunk_embedder import DimensionChangedError
from commonplace.indexing.pipeline import Progress
from commonplace.store.base import Rebuild, Store
from commonplace.store.publication import InboxWaitsError
from commonplace.store.records import IndexIdentity
from commonplace.types import IndexReport

if TYPE_CHECKING:
    from commonplace.indexing.runner import IndexRunner, Outcome

__all__ = ["Rebuilder"]

logger = logging.getLogger(__name__)

_SWAP_TIMEOUT_S = 3600.0
_SWAP_TRIES = 20
"""Times that a swap is tried, because hosts without the folder wrote meanwhile."""
_SWAP_PAUSE_S = 0.2


class _UnfinishedError(Exception):
    """The shadow index lacks vectors or changes that the index in use has.

    The embedder has failed; or, without a failure, jobs of the vendor's batch API are running, or
    changes of hosts without the folder wait.
    """

    def __init__(self, report: IndexReport, failure: EmbedderError | None, reason: str) -> None:
        super().__init__(reason)
        self.report = report
        self.failure = failure


class Rebuilder:
    """Rebuilds the index of one workspace, within a run.

    Args:
        runner: Plans, pipelines and embedding clients of the run.
        store: The index that answers meanwhile.
    """

    def __init__(self, runner: IndexRunner, store: Store) -> None:
        self._runner = runner
        self._store = store

    def run(self, *, force: bool, progress: Progress | None) -> Outcome:
        """Fill a shadow index and swap it in.

        When the embedder fails, the index in use stays and is brought up to date; the shadow index
        is resumed by the next run.

        Args:
            force: Begin from scratch, and use no batch jobs.
            progress: Called with the files done and the files to do.
        """
        rebuild = self._store.begin_rebuild(
            self._identity(), restart=force, keep_cache=self._runner.cache_entries
        )
        with contextlib.closing(rebuild):
            try:
                return self._fill(rebuild, force=force, progress=progress)
            except DimensionChangedError:  # what a crash left there has vectors of another length
                rebuild.abandon(keep_cache=0)
            except _UnfinishedError as unfinished:
                return self._update_current(unfinished)
        return self.run(force=force, progress=progress)

    def _fill(self, rebuild: Rebuild, *, force: bool, progress: Progress | None) -> Outcome:
        """Index everything into the shadow index and commit it."""
        runner, shadow = self._runner, rebuild.store
        client = runner.client()
        takes_over = runner.settings.cache.enabled or client is None
        sources = (self._store,) if takes_over else ()
        pipeline = runner.pipeline(client, store=shadow, sources=sources)
        before = _paths(self._store)
        plan, problems = runner.plan(client, store=shadow)
        taken, waits = runner.embed_ahead(pipeline, client, plan, progress, jobs=not force)
        if waits:
            reason = cost_estimate.BATCH_JOBS_RUNNING
            raise _UnfinishedError(IndexReport(embedded=taken), None, reason)
        report = cost_estimate.with_embedded(pipeline.run(plan, progress=progress), taken)
        if pipeline.failure is not None and self._is_loss(shadow):
            raise _UnfinishedError(report, pipeline.failure, str(pipeline.failure))
        failure = pipeline.failure
        if client is not None and not client.is_local:
            client = None  # the lease below is not held for requests over a network
            pipeline = runner.pipeline(None, store=shadow, sources=sources)
        for tries in range(1, _SWAP_TRIES + 1):
            # Notes appended meanwhile are in the index in use only; from here on, appends wait.
            # Hosts without the folder do not: what they write until the swap makes it fail.
            with (
                self._store.lease("swap", timeout_s=_SWAP_TIMEOUT_S, check=runner.check),
                runner.publisher.caught_up(check=runner.check),
            ):
                late = pipeline.run(runner.plan(client, store=shadow)[0])
                after = _paths(shadow)
                shadow.mark_complete()
                try:
                    rebuild.commit(keep_cache=runner.cache_entries)
                except InboxWaitsError as error:
                    report = replace(report, embedded=report.embedded + late.embedded)
                    if tries == _SWAP_TRIES:
                        raise _UnfinishedError(report, None, str(error)) from error
                else:
                    break
            time.sleep(_SWAP_PAUSE_S)  # where another process leads, it makes the changes now
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

    def _update_current(self, unfinished: _UnfinishedError) -> Outcome:
        """Bring the index in use up to date, with its own model where that is available."""
        runner = self._runner
        identity = self._store.identity
        own = runner.selector.query_client(identity)[0]
        same_unit = identity and identity.unit == runner.wanted_identity().unit
        client = own if same_unit else None
        plan, problems = runner.plan(client)
        try:
            report = runner.pipeline(client).run(plan)
        except DimensionChangedError:
            report = runner.pipeline(None).run(runner.plan(None)[0])
        logger.info("the index stays as it was built for now: %s", unfinished)
        failed = (*problems, *report.failed, *unfinished.report.failed)
        embedded = unfinished.report.embedded + report.embedded
        report = replace(report, failed=tuple(dict.fromkeys(failed)), embedded=embedded)
        return report, unfinished.failure

    def _identity(self) -> IndexIdentity:
        """Return the shadow index's identity: without an embedder, the vectors there are stay."""
        held, wanted = self._store.identity, self._runner.wanted_identity()
        if self._runner.client() is not None or held is None:
            return wanted
        return replace(
            wanted,
            provider=held.provider,
            model=held.model,
            endpoint=held.endpoint,
            dimension=held.dimension,
        )

    def _is_loss(self, shadow: Store) -> bool:
        """Return whether a shadow index without vectors would replace an index that has its own."""
        held, made = self._store.identity, shadow.identity
        if held is None or made is None or held.fits(made):
            return False
        with self._store.snapshot() as snapshot:
            return bool(snapshot.totals().vectors)


def _paths(store: Store) -> set[str]:
    with store.snapshot() as snapshot:
        return set(snapshot.files())
