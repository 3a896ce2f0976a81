"""Files that are indexed by themselves, at once: a note just written, the rest of a session."""

from __future__ import annotations

import contextlib
import time

from commonplace.embeddings.client import EmbeddingClient
from commonplace.errors import CommonplaceError, EmbedderError
from commonplace.indexing.chunk_embedder import DimensionChangedError
from commonplace.indexing.handle import SWAP, IndexHandle
from commonplace.indexing.pipeline import IndexPipeline
from commonplace.indexing.planner import IndexPlan
from commonplace.indexing.runner import IndexRunner
from commonplace.settings import Settings
from commonplace.store.base import IndexIdentity
from commonplace.store.sqlite.store import SqliteStore
from commonplace.workspace.discovery import Workspace

__all__ = ["SingleFiles"]

_SWAP_TIMEOUT_S = 30.0


class _OutOfTimeError(Exception):
    """The memory is about to be closed."""


class SingleFiles:
    """Indexes single files of a workspace.

    Args:
        handle: The index.
        workspace: Whose files.
        settings: How.
        runs: What an index is built with.
    """

    def __init__(
        self,
        handle: IndexHandle,
        workspace: Workspace,
        *,
        settings: Settings,
        runs: IndexRunner,
    ) -> None:
        self._handle = handle
        self._workspace = workspace
        self._settings = settings
        self._runs = runs

    def index(self, path: str) -> None:
        """Index a file that was just written; see `IndexService.index_file`."""
        written_ns = time.time_ns()
        with self._handle.lease(SWAP, timeout_s=_SWAP_TIMEOUT_S):
            store = self._handle.store
            if store.identity is None or not store.writable:
                return  # the first search or run indexes everything
            file = self._workspace.stat(path)
            with store.snapshot() as snapshot:
                record = snapshot.file(path)
            if file is None or (record is not None and record.indexed_ns > written_ns):
                return  # somebody else has read it since
            encoder = self._encoder_at_hand(store.identity)
            plan = IndexPlan(((file, record, "was written"),), (), 0)
            self._runs.indexer(store, encoder).run(plan)

    def finish_sessions(self, *, timeout_s: float) -> None:
        """Index what is left in session files; see `IndexService.finish_sessions`."""
        sessions = self._workspace.sessions
        if sessions is None or not sessions.enabled:
            return
        if not self._handle.path.exists():
            return
        deadline = time.monotonic() + timeout_s
        with (
            contextlib.suppress(CommonplaceError, DimensionChangedError, _OutOfTimeError),
            self._handle.lease(timeout_s=max(0.0, timeout_s / 2)),
        ):
            store = self._handle.store
            if store.complete and store.writable:
                plan, _ = self._runs.plan(store, None)
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
            with store.snapshot() as snapshot:
                record = snapshot.file(path)
            if file is not None and record is not None:
                one = IndexPlan(((file, record, why),), (), 0)
                IndexPipeline(store, encoder=encoder, settings=self._settings, check=check).run(one)

    def _encoder_at_hand(self, identity: IndexIdentity) -> EmbeddingClient | None:
        """The embedder, if it answers at once with vectors such as the index holds."""
        try:
            encoder = self._runs.encoder
        except EmbedderError:
            return None
        if encoder is None or not encoder.is_local or not identity.dimension:
            return None
        wanted = self._runs.wanted_identity
        same = identity.vectors_key == wanted.vectors_key
        return encoder if same and identity.fits(wanted) else None
