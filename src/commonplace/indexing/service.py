"""The one who keeps an index: what there is of it, and what users have done about it."""

from __future__ import annotations

import contextlib
import hashlib
import os
import re
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TypeVar

from commonplace.embeddings.base import ModelName
from commonplace.embeddings.client import EmbeddingClient
from commonplace.embeddings.registry import Selection
from commonplace.indexing import cost_estimate
from commonplace.indexing.embedder_selector import EmbedderSelector
from commonplace.indexing.handle import IndexHandle
from commonplace.indexing.pipeline import Progress
from commonplace.indexing.planner import IndexPlan
from commonplace.indexing.runner import IndexRunner, Leave, Problems
from commonplace.indexing.singles import SingleFiles
from commonplace.settings import Settings, default_state_dir
from commonplace.store.base import IndexIdentity
from commonplace.store.sqlite.store import SqliteStore
from commonplace.types import IndexReport
from commonplace.workspace.discovery import Workspace

__all__ = ["IndexService", "default_index_path"]

_CLOSING_S = 0.1
"""How soon a thread that waits, for another one's run or a job, notices that all is closed."""
_T = TypeVar("_T")


def default_index_path(root: Path) -> Path:
    """Return where a workspace's index is: a folder of its own in the state folder."""
    name = re.sub(r"[^A-Za-z0-9._-]+", "-", root.name).strip("-.")[:40] or "workspace"
    key = hashlib.sha256(os.fsencode(root)).hexdigest()[:12]
    return default_state_dir() / f"{name}-{key}" / "index.sqlite"


class IndexService:
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
        choose: Callable[[ModelName | None], Selection],
        named: bool = True,
    ) -> None:
        self.handle = IndexHandle(path)
        self._settings = settings
        self.embedders = EmbedderSelector(settings.embedding, choose, lambda: self.store)
        self._named = named
        self._answering: SqliteStore | None = None
        self._running = threading.Lock()
        self._runs = IndexRunner(
            self.handle, workspace, settings=settings, embedders=self.embedders
        )
        self._singles = SingleFiles(self.handle, workspace, settings=settings, runs=self._runs)

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
    def choice(self) -> Selection:
        """The embedder that is used, and why; chosen when it is first needed."""
        return self.embedders.choice

    @property
    def encoder(self) -> EmbeddingClient | None:
        """Who makes the vectors; None for keyword search."""
        return self.choice.client

    def why_no_vectors(self, held: IndexIdentity | None) -> str | None:
        """Say why an index's vectors cannot answer a query; None if they can."""
        return self.embedders.of_index(held)[1]

    @property
    def fits(self) -> bool:
        """Whether the index goes on with these settings and this embedder; else it is rebuilt."""
        return self._runs.fits(self.store)

    def plan(self, encoder: EmbeddingClient | None) -> tuple[IndexPlan, Problems]:
        """Compare the disk with the index; see `IndexRunner.plan`."""
        return self._runs.plan(self.store, encoder)

    # -- what is done ----------------------------------------------------------------------------

    def index(self, *, force: bool = False, progress: Progress | None = None) -> IndexReport:
        """Bring the index up to date; one run at a time among threads and processes.

        Jobs of the vendor's batch interface are waited for; nobody else is held up meanwhile.

        Raises:
            StoreError: The index cannot be written.
        """
        with self._alone():
            report = self.recovering(lambda: self._runs.run(force=force, progress=progress))
        while not force and (jobs := self._runs.batch(self.encoder)) and jobs.wait():
            with self._alone():
                then = self.recovering(lambda: self._runs.run(progress=progress))
            report = cost_estimate.combined(report, then)
        return report

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
                self._runs.run(force=False, progress=None)

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
        self._singles.index(path)

    def finish_sessions(self, *, timeout_s: float) -> None:
        """Index what is left in session files, too little to be read by itself, before the end.

        What takes longer, or is done by somebody else just now, is left to the next run.
        """
        self._singles.finish_sessions(timeout_s=timeout_s)

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
        fits = self._runs.fits(store)
        rebuild = not complete or (rebuild and (self._named or self._is_same_model(store)))
        if look and complete and (fits or not rebuild):
            plan, _ = self._runs.plan(store, self.encoder if fits else None)
            if plan.without(leave).is_empty:
                return None
        return self._runs.run(leave=leave, rebuild=rebuild, wait_s=0.0)

    def _is_same_model(self, store: SqliteStore) -> bool:
        held, wanted = store.identity, self._runs.wanted_identity
        return held is None or held.model is None or held.vectors_key == wanted.vectors_key
