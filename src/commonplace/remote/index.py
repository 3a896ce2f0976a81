"""Index of published notes: it answers, and another host, which has the folder, makes its runs."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from commonplace.errors import StoreError
from commonplace.indexing.planner import IndexPlan
from commonplace.indexing.runner import IndexRunner, Problems, Skip
from commonplace.indexing.service import IndexService
from commonplace.settings import ChunkingSettings, Settings, SyncSettings

if TYPE_CHECKING:
    from collections.abc import Sequence

    from commonplace.embeddings.client import EmbeddingClient
    from commonplace.indexing.pipeline import Progress
    from commonplace.store.base import Store
    from commonplace.store.records import IndexIdentity
    from commonplace.types import IndexReport

__all__ = ["PublishedIndex", "no_folder_message", "settings_of"]


def no_folder_message(location: str) -> str:
    """Return what a host without the folder says where the folder is needed."""
    return (
        f'nothing is published at {location}. Run \'commonplace -w notes --index "{location}" '
        "serve' on the host that has the folder."
    )


def settings_of(settings: Settings, identity: IndexIdentity) -> Settings:
    """Return settings by which notes are cut as the index has them, and nothing is run."""
    profile: Any = identity.profile
    tokenizer: Any = identity.tokenizer
    unit: Any = identity.unit
    return replace(
        settings,
        profile=profile,
        chunking=ChunkingSettings(**json.loads(identity.chunking)),
        search=replace(settings.search, tokenizer=tokenizer, unit=unit, backend="builtin"),
        sync=SyncSettings(on_open=False, on_search=False, watch=False, interval_minutes=0),
        extra_paths=(),
    )


class _Runner(IndexRunner):
    """Runner that plans nothing but what waits for vectors."""

    def plan(
        self, client: EmbeddingClient | None, *, store: Store | None = None
    ) -> tuple[IndexPlan, Problems]:
        """Return the files without vectors, which the host with the folder embeds."""
        with (store or self._store).snapshot() as snapshot:
            records = snapshot.files().values()
        files = {file.path: file for file in self._workspace.scan().files}
        read = tuple(
            (files[record.path], record, record.pending)
            for record in records
            if record.pending and record.path in files
        )
        return IndexPlan(read, (), len(files) - len(read)), ()


class PublishedIndex(IndexService):
    """Index service without runs."""

    runner_type = _Runner

    def run(self, *, force: bool = False, progress: Progress | None = None) -> IndexReport:
        """Run nothing."""
        raise StoreError(
            f"the index {self.store.location} is brought up to date by the host that has the "
            "folder; there is nothing to index here."
        )

    def refresh(
        self,
        *,
        skip: Skip = lambda _: False,
        first: bool = True,
        rebuild: bool = False,
        look: bool = True,
    ) -> IndexReport | None:
        """Run nothing."""
        return None

    def index_if_new(self) -> None:
        """Check that there is an index."""
        if self.store.cached_identity is None and self.store.identity is None:
            raise StoreError(no_folder_message(self.store.location))

    def index_files(self, paths: Sequence[str]) -> None:
        """Do nothing: a change is indexed as it is made."""

    def finish_sessions(self, *, timeout_s: float) -> None:
        """Do nothing: session files are the other host's."""

    def local_client(self, identity: IndexIdentity) -> EmbeddingClient | None:
        """Return the client that embeds new lines here, at once; None where there is none."""
        return self._local_client(identity)
