"""Index service: the index of one workspace in this process, and the verbs on it."""

from __future__ import annotations

import contextlib
import functools
import time
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, ClassVar, ParamSpec, TypeVar

from commonplace.errors import CommonplaceError, EmbedderError, IndexBusyError, StoreError
from commonplace.indexing import cost_estimate
from commonplace.indexing.chunk_embedder import DimensionChangedError
from commonplace.indexing.document_reader import TextRecorder
from commonplace.indexing.embedder_selector import EmbedderSelector
from commonplace.indexing.pipeline import IndexPipeline, Progress
from commonplace.indexing.planner import IndexPlan, was_indexed_since
from commonplace.indexing.runner import IndexRunner, Skip
from commonplace.indexing.slots import IndexSlot
from commonplace.indexing.turns import Turns
from commonplace.settings import Settings
from commonplace.store.base import Snapshot, Store
from commonplace.store.records import IndexIdentity
from commonplace.system.state import StateLocation
from commonplace.system.waits import WRITER_WAIT_S
from commonplace.types import IndexReport
from commonplace.workspace.discovery import Workspace

if TYPE_CHECKING:
    from commonplace.embeddings.base import Embedder
    from commonplace.embeddings.client import EmbeddingClient
    from commonplace.profiles import Profile

__all__ = ["IndexService"]

_CLOSED = "the memory is closed; open it again with Memory.open(...)."
_PARTIAL = "Another process makes the first index; what it has not read is not found yet."

_P = ParamSpec("_P")
_T = TypeVar("_T")


class _OutOfTimeError(Exception):
    """The time that `close` grants is over."""


class IndexService:
    """Index of one workspace in this process.

    Args:
        workspace: The files to index.
        store: The index.
        settings: How files are cut, embedded and indexed.
        profile: Rules by which files are read and cut.
        requested: The embedder as `Memory.open` takes it, or a selector that others share.
        state: Where the jobs of batch APIs are noted.
        recorder: Keeps the texts that runs read.

    Attributes:
        notices: Sentences for users about this index, in the order of events.
        problem: Why the last background run failed; None when it succeeded.
        slot: Slot among the open indexes of a pool, which each verb leases; None without a pool.
    """

    runner_type: ClassVar[type[IndexRunner]] = IndexRunner

    def __init__(
        self,
        workspace: Workspace,
        store: Store,
        *,
        settings: Settings,
        profile: Profile,
        requested: str | Embedder | EmbedderSelector | Any | None,
        state: StateLocation,
        recorder: TextRecorder | None = None,
    ) -> None:
        self.store = store
        self._shared = requested if isinstance(requested, EmbedderSelector) else None
        self.selector = self._shared or EmbedderSelector(settings, requested)
        self.runner = self.runner_type(
            workspace,
            store,
            settings=settings,
            profile=profile,
            selector=self.selector,
            state=state,
            check=self.check_running,
            recorder=recorder,
        )
        self._pipeline = functools.partial(
            IndexPipeline, store, profile=profile, unit=settings.search.unit, recorder=recorder
        )
        self.notices: list[str] = []
        self.problem: str | None = None
        self.slot: IndexSlot | None = None
        self._workspace, self._settings = workspace, settings
        self._stopped = False
        self._partial: tuple[str, ...] = ()
        self._held_files = False
        self._unread: object = ()  # files of which an index run took none
        self._turns = Turns(self.check_running)
        self._query_client: tuple[IndexIdentity, EmbeddingClient] | None = None

    @property
    def warnings(self) -> tuple[str, ...]:
        """Sentences for users about the index and the runs on it."""
        failed = [f"The index could not be brought up to date: {self.problem}"]
        return (*self.notices, *self._partial, *(failed if self.problem else ()))

    # -- verbs -----------------------------------------------------------------------------------

    @contextlib.contextmanager
    def snapshot(self) -> Iterator[Snapshot]:
        """Open one state of the index; a workspace that was never indexed is indexed first."""
        with self.leased():
            self.recovering(self.index_if_new)
            with self.store.snapshot() as snapshot:
                yield snapshot

    def run(self, *, force: bool = False, progress: Progress | None = None) -> IndexReport:
        """Bring the index up to date; one run at a time among threads and processes.

        Jobs of the vendor's batch API are waited for, without holding the lease meanwhile.
        """
        runner = self.runner
        with self.leased():
            report = self.recovering(self._run, force=force, progress=progress)
            while not force and (jobs := runner.batch_jobs(runner.client())) and jobs.wait():
                then = self.recovering(self._run, force=False, progress=progress)
                report = cost_estimate.combined(report, then)
        return report

    def refresh(
        self,
        *,
        skip: Skip = lambda _: False,
        first: bool = True,
        rebuild: bool = False,
        look: bool = True,
    ) -> IndexReport | None:
        """Bring the index up to date in the background, without waiting for another process.

        Args:
            skip: Returns whether a new or changed file is skipped this time.
            first: Whether a workspace that was never completely indexed is indexed now.
            rebuild: Whether an index of other settings, or of another model than the one that was
                named, is rebuilt. A model that ``auto`` found never causes a rebuild (a key may be
                missing today): what is new is then found by keywords.
            look: Whether to plan first, because there may be nothing to do.

        Returns:
            The report; None when there was nothing to do, or the index was suspended meanwhile.

        Raises:
            IndexBusyError: Another process is indexing.
            StoreError: The index cannot be read or written.
        """
        if self.slot is not None and not self.slot.is_open:
            return None
        return self.recovering(self._refresh, skip, first=first, rebuild=rebuild, look=look)

    def index_if_new(self) -> None:
        """Index a workspace that was never completely indexed; another's run is waited for.

        As long as writers wait; then what is indexed so far answers. One that had no note when it
        was indexed, and has one now, is indexed again.
        """
        self._partial = ()
        if self._answers():
            return
        try:
            with self._turns.taken(timeout_s=WRITER_WAIT_S):
                if not self._answers():
                    unread = self._workspace.scan().files
                    self.runner.run(wait_s=WRITER_WAIT_S)
                    self._unread = unread
        except IndexBusyError:
            if self.store.identity is None:
                raise
            self._partial = (_PARTIAL,)

    def query_client(
        self, identity: IndexIdentity | None
    ) -> tuple[EmbeddingClient | None, str | None]:
        """Return the client that embeds queries for an index, or None and the reason."""
        known = self._query_client
        if known is not None and known[0] is identity:
            return known[1], None
        try:
            client, reason = self.selector.query_client(identity)
        except EmbedderError as error:  # keywords need neither a key nor an extra
            return None, str(error)
        if client is not None and identity is not None:
            self._query_client = identity, client
        return client, reason

    def index_files(self, paths: Sequence[str]) -> None:
        """Index files that were just written or removed; a run in flight is not waited for.

        Vectors are made at once where the model is local; else the next run makes them.
        """
        self.recovering(self._index_files, paths)
        self.runner.publisher.after_change()

    def finish_sessions(self, *, timeout_s: float) -> None:
        """Index the ends of session files that are too short to be read by themselves.

        What takes longer than `timeout_s`, or is locked, is left to the next run.
        """
        sessions = self._workspace.sessions
        if sessions is None or not sessions.enabled or not self.store.exists():
            return
        deadline = time.monotonic() + timeout_s
        with (
            contextlib.suppress(CommonplaceError, DimensionChangedError, _OutOfTimeError),
            self.store.lease("run", timeout_s=max(0.0, timeout_s / 2)),
        ):
            if self.store.complete and self.store.access == "read-write":
                self._finish(self.runner.plan(None)[0], deadline)

    def recovering(self, verb: Callable[_P, _T], *args: _P.args, **options: _P.kwargs) -> _T:
        """Call a verb on the index; again, after the store recovered, when the index was damaged.

        Raises:
            StoreError: The store cannot recover from it.
        """
        with self.leased():
            for certain in (False, True):
                try:
                    return verb(*args, **options)
                except StoreError as error:
                    recovery = self.store.recover(error, certain=certain)
                    if recovery is None:
                        raise
                    if recovery.warning:
                        self.notices.append(recovery.warning)
            return verb(*args, **options)

    def leased(self) -> contextlib.AbstractContextManager[None]:
        """Hold the index open while the block runs; without a pool, it is."""
        return contextlib.nullcontext() if self.slot is None else self.slot.leased()

    def stop(self) -> None:
        """Cancel index runs at their next step."""
        self._stopped = True

    def check_running(self) -> None:
        """Raise after `stop`: called between the steps of a run.

        Raises:
            StoreError: The memory is closed, or is being closed.
        """
        if self._stopped:
            raise StoreError(_CLOSED)

    def close(self) -> None:
        """Close the store and the embedding clients."""
        self.stop()
        self.store.close()
        if self._shared is None:
            self.selector.close()

    # -- how -------------------------------------------------------------------------------------

    def _run(self, *, force: bool, progress: Progress | None) -> IndexReport:
        with self._turns.taken():
            report = self.runner.run(force=force, progress=progress)
            self._note_fallback()
            return report

    def _refresh(self, skip: Skip, *, first: bool, rebuild: bool, look: bool) -> IndexReport | None:
        with self._turns.taken():
            store, runner = self.store, self.runner
            complete = store.complete
            if store.access == "read-only" or not (complete or first):
                return None
            fits = runner.fits()
            named = self.selector.is_named or self._is_same_model()
            rebuild = not complete or (rebuild and named)
            if look and complete and (fits or not rebuild):
                plan, _ = runner.plan(runner.client() if fits else None)
                is_done = plan.without(skip).is_empty and not runner.due()
                if is_done and not runner.publisher.waits():
                    return None
            report = runner.run(skip=skip, rebuild=rebuild, wait_s=0.0)
            self._note_fallback()
            return report

    def _note_fallback(self) -> None:
        if self.selector.is_fallback:
            self._query_client = None
            if (reason := self.selector.select(None).reason) not in self.notices:
                self.notices.append(reason)

    def _is_same_model(self) -> bool:
        held, wanted = self.store.identity, self.runner.wanted_identity()
        return held is None or held.model is None or held.vectors_key == wanted.vectors_key

    def _answers(self) -> bool:
        """Return whether the index was completed once; a read-only one answers as it is."""
        store = self.store
        if store.access == "read-only":
            return store.identity is not None
        if (complete := store.complete) and not self._held_files:
            with store.snapshot() as snapshot:
                self._held_files = snapshot.totals().files > 0
        known = (), self._unread
        return complete and (self._held_files or self._workspace.scan().files in known)

    def _index_files(self, paths: Sequence[str]) -> None:
        written_ns = time.time_ns()
        store = self.store
        with store.lease("swap", timeout_s=WRITER_WAIT_S):
            identity = store.identity
            if identity is None or store.access == "read-only":
                return  # the first search or run indexes everything
            with store.snapshot() as snapshot:
                known = [(self._workspace.stat(path), snapshot.file(path), path) for path in paths]
            # What another process has indexed since is left out.
            late = [one for one in known if not was_indexed_since(written_ns, *one[:2])]
            read = tuple((file, record, "was written") for file, record, _ in late if file)
            removed = tuple(record for file, record, _ in late if record and not file)
            plan = IndexPlan(read, removed, 0)
            client = self._local_client(identity)
            self._pipeline(client=client, check=self.check_running).run(plan)

    def _finish(self, plan: IndexPlan, deadline: float) -> None:
        def check() -> None:
            if time.monotonic() > deadline:
                raise _OutOfTimeError

        identity = self.store.identity
        client = self._local_client(identity) if plan.waiting and identity else None
        for path, why in plan.waiting:
            check()
            file = self._workspace.stat(path)
            with self.store.snapshot() as snapshot:
                record = snapshot.file(path)
            if file is not None and record is not None:
                one = IndexPlan(((file, record, why),), (), 0)
                self._pipeline(client=client, check=check).run(one)

    def _local_client(self, identity: IndexIdentity) -> EmbeddingClient | None:
        """Return the embedding client if it is local and its vectors are those of the index."""
        if identity.unit != self._settings.search.unit:
            return None  # another unit is embedded since: the next run rebuilds the index
        client, _ = self.query_client(identity)
        return client if client is not None and client.is_local else None
