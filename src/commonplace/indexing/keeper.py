"""The one who keeps an index: opens it, knows when to rebuild it, lets one run at once."""

from __future__ import annotations

import contextlib
import functools
import hashlib
import json
import logging
import os
import re
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from commonplace.embeddings.base import ModelName
from commonplace.embeddings.encoder import Encoder
from commonplace.embeddings.registry import Choice
from commonplace.errors import (
    CommonplaceError,
    EmbedderError,
    StoreError,
)
from commonplace.indexing import ahead
from commonplace.indexing.diff import IndexPlan, plan_index
from commonplace.indexing.embedders import Embedders
from commonplace.indexing.handle import RUN_TIMEOUT_S, SWAP, IndexHandle
from commonplace.indexing.indexer import DimensionChangedError, Indexer, Progress
from commonplace.settings import Settings, default_state_dir
from commonplace.store.base import IndexIdentity
from commonplace.store.sqlite.store import SqliteStore
from commonplace.transcripts.progress import unread
from commonplace.types import IndexReport, MemoryFile
from commonplace.workspace.files import Workspace

if TYPE_CHECKING:
    from commonplace.embeddings.vendor_batch import VendorBatch

__all__ = ["IndexKeeper", "Leave", "default_index_path"]

logger = logging.getLogger(__name__)

_SCHEMA = 1
"""Version of what the indexer writes: raise it when chunks or vectors are made another way."""
_SWAP_TIMEOUT_S = 30.0
_AT_WORK = "the vendor's batch interface is still at work"
_CLOSING_S = 0.1
"""How soon a thread that waits for another one's run notices that the memory is closed."""
_T = TypeVar("_T")

Leave = Callable[[MemoryFile], bool]
"""Says of a file that would be read that it is left alone."""
Outcome = tuple[IndexReport, EmbedderError | None]
"""What a run did, and why the embedder was given up in it, if it was."""
Problems = tuple[tuple[str, str], ...]
"""``(path, reason)`` of what could not be looked at."""


class _OutOfTimeError(Exception):
    """The memory is about to be closed."""


def default_index_path(root: Path) -> Path:
    """Return where a workspace's index is: a folder of its own in the state folder."""
    name = re.sub(r"[^A-Za-z0-9._-]+", "-", root.name).strip("-.")[:40] or "workspace"
    key = hashlib.sha256(os.fsencode(root)).hexdigest()[:12]
    return default_state_dir() / f"{name}-{key}" / "index.sqlite"


class IndexKeeper:
    """The index of one workspace in this process.

    Args:
        workspace: Whose files are indexed.
        path: The index file.
        settings: How.
        choose: Chooses the embedder, given what the index was built with.
        named: Whether the embedder was named, and is not whatever ``auto`` finds.
    """

    def __init__(
        self,
        workspace: Workspace,
        path: Path,
        *,
        settings: Settings,
        choose: Callable[[ModelName | None], Choice],
        named: bool = True,
    ) -> None:
        self.handle = IndexHandle(path)
        self._workspace = workspace
        self._settings = settings
        self.embedders = Embedders(settings.embedding, choose, lambda: self.store)
        self._named = named
        self._answering: SqliteStore | None = None
        self._running = threading.Lock()
        self._chunking = json.dumps(asdict(settings.chunking), sort_keys=True)

    # -- what there is ---------------------------------------------------------------------------

    @property
    def store(self) -> SqliteStore:
        """The index, opened when it is first needed; see `IndexHandle.store`."""
        return self.handle.store

    @property
    def path(self) -> Path:
        """The index file."""
        return self.handle.path

    @property
    def warnings(self) -> list[str]:
        """What users should know about this index, a sentence each."""
        return self.handle.warnings

    @property
    def choice(self) -> Choice:
        """The embedder that is used, and why; chosen when it is first needed."""
        return self.embedders.choice

    @property
    def encoder(self) -> Encoder | None:
        """Who makes the vectors; None for keyword search."""
        return self.choice.encoder

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

    def why_no_vectors(self, held: IndexIdentity | None) -> str | None:
        """Say why an index's vectors cannot answer a query; None if they can."""
        return self.embedders.of_index(held)[1]

    @property
    def fits(self) -> bool:
        """Whether the index goes on with these settings and this embedder; else it is rebuilt."""
        return self._fits(self.store)

    def _fits(self, store: SqliteStore) -> bool:
        identity = store.identity
        return identity is not None and identity.fits(self.wanted_identity)

    def plan(self) -> tuple[IndexPlan, Problems]:
        """Compare the disk with the index; also return what could not be looked at."""
        return self._plan_for(self.store, self.encoder)

    def _plan_for(self, store: SqliteStore, encoder: Encoder | None) -> tuple[IndexPlan, Problems]:
        scan = self._workspace.scan()
        with store.reading() as reader:
            known = reader.files()
        new = functools.partial(unread, settings=self._settings)
        plan = plan_index(scan, known, embeds=encoder is not None, unread=new)
        return plan, scan.problems

    # -- what is done ----------------------------------------------------------------------------

    def index(self, *, force: bool = False, progress: Progress | None = None) -> IndexReport:
        """Bring the index up to date; one run at a time among threads and processes.

        Jobs of the vendor's batch interface are waited for; nobody else is held up meanwhile.

        Raises:
            StoreError: The index cannot be written.
        """
        with self._alone():
            report = self.recovering(lambda: self._index(force=force, progress=progress))
        while not force and self._wait_for_jobs():
            with self._alone():
                then = self.recovering(lambda: self._index(progress=progress))
            report = ahead.together(report, then)
        return report

    def _wait_for_jobs(self) -> bool:
        """Wait until something can be done about the vendor's jobs; False when there are none."""
        batch = self._batch(self.encoder)
        if batch is None or not batch.has_jobs:
            return False
        while batch.is_busy():
            time.sleep(self._settings.embedding.batch_poll_s)
            self.handle.check_open()
        return True

    def _batch(self, encoder: Encoder | None) -> VendorBatch | None:
        return ahead.batch_of(
            encoder,
            settings=self._settings.embedding,
            state=self.path.with_name("state.sqlite"),
            check=self.handle.check_open,
        )

    def refresh(
        self,
        *,
        leave: Leave = lambda _: False,
        first: bool = True,
        rebuild: bool = False,
        look: bool = True,
    ) -> IndexReport | None:
        """Bring the index up to date in the background: nobody who indexes is waited for.

        Args:
            leave: Says which new and changed files are left alone this time.
            first: Whether a workspace that never was indexed to the end is indexed now.
            rebuild: Whether an index of other settings, or of another model than the one that was
                named, is rebuilt; never because ``auto`` found another one, such as where a key
                is missing today. Else it goes on as it is: what is new is found by its words.
            look: Whether it may well be that there is nothing to do.

        Returns:
            What was done; None when there was nothing to do.

        Raises:
            IndexBusyError: Another process is indexing.
            StoreError: The index cannot be read or written.
        """
        with self._alone():
            return self.recovering(
                lambda: self._refresh(leave, first=first, rebuild=rebuild, look=look)
            )

    def index_if_new(self) -> None:
        """Index a workspace that never was indexed to the end; another's run is waited for."""
        if self._answers():
            return
        with self._alone():
            if not self._answers():
                self._index(force=False, progress=None)

    def _answers(self) -> bool:
        """Whether the index was completed once; one that cannot be written answers as it is."""
        store = self.store
        if self._answering is store:
            return True  # what was complete once stays so
        answers = store.complete or (not store.writable and store.identity is not None)
        self._answering = store if answers else None
        return answers

    def index_file(self, path: str) -> None:
        """Index one file that was just written, without waiting for a run that is in flight.

        Vectors are made at once where that takes no network; else the next run makes them.
        """
        written_ns = time.time_ns()
        with self.handle.lease(SWAP, timeout_s=_SWAP_TIMEOUT_S):
            store = self.store
            if store.identity is None or not store.writable:
                return  # the first search or run indexes everything
            file = self._workspace.stat(path)
            with store.reading() as reader:
                record = reader.file(path)
            if file is None or (record is not None and record.indexed_ns > written_ns):
                return  # somebody else has read it since
            encoder = self._encoder_at_hand(store.identity)
            plan = IndexPlan(((file, record, "was written"),), (), 0)
            self._indexer(store, encoder).run(plan)

    def _encoder_at_hand(self, identity: IndexIdentity) -> Encoder | None:
        """The embedder, if it answers at once with vectors such as the index holds."""
        try:
            encoder = self.encoder
        except EmbedderError:
            return None
        if encoder is None or not encoder.is_local or not identity.dimension:
            return None
        wanted = self.wanted_identity
        same = identity.vectors_key == wanted.vectors_key
        return encoder if same and identity.fits(wanted) else None

    def finish_sessions(self, *, timeout_s: float) -> None:
        """Index what is left in session files, too little to be read by itself, before the end.

        What takes longer, or is done by somebody else just now, is left to the next run.
        """
        sessions = self._workspace.sessions
        if sessions is None or not sessions.enabled:
            return
        if not self.path.exists():
            return
        deadline = time.monotonic() + timeout_s
        with (
            contextlib.suppress(CommonplaceError, DimensionChangedError, _OutOfTimeError),
            self.handle.lease(timeout_s=max(0.0, timeout_s / 2)),
        ):
            store = self.store
            if store.complete and store.writable:
                plan, _ = self._plan_for(store, None)
                self._finish(store, plan, deadline)

    def _finish(self, store: SqliteStore, plan: IndexPlan, deadline: float) -> None:
        def check() -> None:
            if time.monotonic() > deadline:
                raise _OutOfTimeError

        identity = store.identity
        encoder = self._encoder_at_hand(identity) if plan.waiting and identity else None
        for path, why in plan.waiting:
            check()
            file = self._workspace.stat(path)
            with store.reading() as reader:
                record = reader.file(path)
            if file is not None and record is not None:
                one = IndexPlan(((file, record, why),), (), 0)
                Indexer(store, encoder=encoder, settings=self._settings, check=check).run(one)

    def recovering(self, call: Callable[[], _T]) -> _T:
        """Call something that uses the index; see `IndexHandle.recovering`."""
        return self.handle.recovering(call)

    def close(self) -> None:
        """Let go of the index and of the embedders."""
        self.handle.close()
        self.embedders.close()

    # -- how -------------------------------------------------------------------------------------

    @contextlib.contextmanager
    def _alone(self) -> Iterator[None]:
        """Be the one thread that indexes; whoever waits for that ends when the memory is closed."""
        while not self._running.acquire(timeout=_CLOSING_S):
            self.handle.check_running()
        try:
            self.handle.check_running()
            yield
        finally:
            self._running.release()

    def _refresh(
        self, leave: Leave, *, first: bool, rebuild: bool, look: bool
    ) -> IndexReport | None:
        store = self.store
        complete = store.complete
        if not store.writable or not (complete or first):
            return None
        fits = self._fits(store)
        rebuild = not complete or (rebuild and (self._named or self._is_same_model(store)))
        if look and complete and (fits or not rebuild):
            plan, _ = self._plan_for(store, self.encoder if fits else None)
            if plan.without(leave).is_empty:
                return None
        return self._index(leave=leave, rebuild=rebuild, wait_s=0.0)

    def _is_same_model(self, store: SqliteStore) -> bool:
        held, wanted = store.identity, self.wanted_identity
        return held is None or held.model is None or held.vectors_key == wanted.vectors_key

    def _index(
        self,
        *,
        force: bool = False,
        progress: Progress | None = None,
        leave: Leave = lambda _: False,
        rebuild: bool = True,
        wait_s: float = RUN_TIMEOUT_S,
    ) -> IndexReport:
        with self.handle.lease(timeout_s=wait_s):
            store = self.store
            report, failure = self._run(
                store, force=force, progress=progress, leave=leave, rebuild=rebuild
            )
            if failure is not None and self._use_fallback(store, failure):
                report, _ = self._run(store, progress=progress, leave=leave)
            return report

    def _run(
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
        fits = self._fits(store)
        if force or (rebuild and not fits):
            return self._rebuild(store, force=force, progress=progress)
        if fits:
            self._adopt_model(store)
        encoder = self.encoder if fits else None
        plan, problems = self._plan_for(store, encoder)
        plan = plan.without(leave)
        indexer = self._indexer(store, encoder)
        try:
            taken, waits = self._embed_ahead(indexer, encoder, plan, progress)
            if waits:
                plan = self._plan_for(store, None)[0].without(leave)
                indexer = self._indexer(store, None, absent=_AT_WORK)
            report = indexer.run(plan, progress=progress)
        except DimensionChangedError:
            return self._rebuild(store, force=force, progress=progress)
        if not store.complete:
            store.set_complete()
        store.trim_cache(self._cache_entries)
        report = _with_taken(report, taken)
        return replace(report, failed=(*problems, *report.failed)), indexer.failure

    def _embed_ahead(
        self,
        indexer: Indexer,
        encoder: Encoder | None,
        plan: IndexPlan,
        progress: Progress | None,
    ) -> tuple[int, bool]:
        """Tell what a long run costs; let the vendor's batch interface do it, where it may.

        Returns:
            How many texts it has embedded, and whether it is still at work: the run then leaves
            the vectors to a later one.
        """
        if encoder is None or encoder.is_local:
            return 0, False
        batch = self._batch(encoder)
        if batch is not None and batch.is_busy():
            return 0, True
        waiting = batch is not None and batch.has_jobs
        if not waiting and not ahead.is_long(plan, encoder):
            return 0, False
        parts = indexer.lacking(plan)
        texts = indexer.missing(parts)
        if not waiting:
            ahead.announce(texts, encoder, progress)
        if batch is None:
            return 0, False
        return indexer.take(parts, batch.fetch(texts)), batch.has_jobs

    def _use_fallback(self, store: SqliteStore, failure: EmbedderError) -> bool:
        """Go on with the fallback when waiting is no use, or there is nothing to wait with."""
        with store.reading() as reader:
            has_vectors = bool(reader.totals().vectors)
        if failure.temporary and has_vectors:
            return False
        used = self.embedders.use_fallback(failure)
        if used:
            self.warnings.append(self.choice.reason)
        return used

    def _indexer(
        self,
        store: SqliteStore,
        encoder: Encoder | None,
        *sources: SqliteStore,
        absent: str = "it was indexed without an embedder",
    ) -> Indexer:
        return Indexer(
            store,
            encoder=encoder,
            settings=self._settings,
            sources=sources,
            check=self.handle.check_running,
            absent=absent,
        )

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
            encoder.query("dimension")

    def _rebuild(self, store: SqliteStore, *, force: bool, progress: Progress | None) -> Outcome:
        """Build a new index beside the old one, which goes on answering, then put it in place.

        When the embedder fails meanwhile, the old one stays, and the next run goes on beside it.
        """
        beside = self.path.with_name(self.path.name + ".rebuild")
        if force:
            _delete_index(beside)
        try:
            with contextlib.closing(_begin(beside, self._identity_after(store))) as new:
                outcome = self._fill(new, store, force=force, progress=progress)
        except DimensionChangedError:  # what a crash left there holds other vectors
            _delete_index(beside)
            return self._rebuild(store, force=force, progress=progress)
        except _UnfinishedError as left:
            return self._keep_up(store, left)
        _delete_index(beside)
        return outcome

    def _keep_up(self, store: SqliteStore, left: _UnfinishedError) -> Outcome:
        """Bring the index that stays up to date, with its own embedder where that can be had."""
        own = self.embedders.of_index(store.identity)[0]
        same_grain = store.identity and store.identity.grain == self.wanted_identity.grain
        encoder = own if same_grain else None
        plan, problems = self._plan_for(store, encoder)
        try:
            report = self._indexer(store, encoder).run(plan)
        except DimensionChangedError:
            report = self._indexer(store, None).run(self._plan_for(store, None)[0])
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
        indexer = self._indexer(new, encoder, *sources)
        before = _paths(store)
        plan, problems = self._plan_for(new, encoder)
        taken, waits = (0, False) if force else self._embed_ahead(indexer, encoder, plan, progress)
        if waits:
            raise _UnfinishedError(IndexReport(embedded=taken), None)
        report = _with_taken(indexer.run(plan, progress=progress), taken)
        if indexer.failure is not None and _is_loss(store, new):
            raise _UnfinishedError(report, indexer.failure)
        failure = indexer.failure
        if encoder is not None and not encoder.is_local:
            indexer = self._indexer(new, None, *sources)  # nobody waits for a service meanwhile
            encoder = None
        # What was appended meanwhile is in the old index only; from here on appends wait.
        with self.handle.lease(SWAP):
            late = indexer.run(self._plan_for(new, encoder)[0])
            after = _paths(new)
            new.set_complete()
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


class _UnfinishedError(Exception):
    """Vectors are missing while an index is built; the old one says more than the new one.

    The embedder has failed, or, without a failure, jobs of the vendor's are under way.
    """

    def __init__(self, report: IndexReport, failure: EmbedderError | None) -> None:
        super().__init__(_AT_WORK if failure is None else str(failure))
        self.report = report
        self.failure = failure


def _is_loss(old: SqliteStore, new: SqliteStore) -> bool:
    """Tell whether an index that lacks vectors would take the place of one that has its own."""
    held, made = old.identity, new.identity
    if held is None or made is None or held.fits(made):
        return False
    with old.reading() as reader:
        return bool(reader.totals().vectors)


def _begin(path: Path, identity: IndexIdentity) -> SqliteStore:
    """Open a file to rebuild into; one that a crash left is gone on with if it is alike."""
    with contextlib.suppress(StoreError):
        left = SqliteStore(path)
        held = left.identity
        if held and held.vectors_key == identity.vectors_key and held.fits(identity):
            return left
        left.close()
    _delete_index(path)
    new = SqliteStore(path)
    new.set_identity(identity)
    return new


def _paths(store: SqliteStore) -> set[str]:
    with store.reading() as reader:
        return set(reader.files())


def _delete_index(path: Path) -> None:
    for suffix in ("", "-wal", "-shm", "-journal"):
        with contextlib.suppress(FileNotFoundError):
            os.unlink(f"{path}{suffix}")
