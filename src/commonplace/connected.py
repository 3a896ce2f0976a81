"""Connected memory: a memory whose folder another host has; its notes are in the database."""

from __future__ import annotations

import contextlib
import functools
import hashlib
import logging
from collections.abc import Callable, Iterator
from dataclasses import replace
from datetime import date, datetime
from typing import TYPE_CHECKING, Any, NoReturn
from urllib.parse import quote

from commonplace.errors import StoreError
from commonplace.history.as_of import PastIndex
from commonplace.history.causes import Cause
from commonplace.history.edits import appended_bytes
from commonplace.history.note_changes import Mutation
from commonplace.history.occurrences import notes_holding
from commonplace.indexing.background.supervisor import BackgroundSupervisor
from commonplace.memory import Memory, excerpt_of, rerank_client, utc_now
from commonplace.profiles import from_settings
from commonplace.remote.index import PublishedIndex, no_folder_message, settings_of
from commonplace.remote.mutator import DatabaseMutator
from commonplace.remote.replica import HistoryReplica
from commonplace.remote.service import PublishedNoteService
from commonplace.remote.workspace import PublishedWorkspace
from commonplace.settings import Settings, default_state_dir
from commonplace.store.publication import publication_of
from commonplace.store.registry import open_store
from commonplace.system.state import StateLocation
from commonplace.types import IndexReport
from commonplace.workspace.appended_text import trim_blank_lines

if TYPE_CHECKING:
    from pathlib import Path

    from commonplace.embeddings.base import Embedder
    from commonplace.history.ledger import OriginLedger
    from commonplace.indexing.pipeline import Progress
    from commonplace.retrieval.rerank import Reranker
    from commonplace.store.base import Snapshot, Store
    from commonplace.store.records import FileRecord
    from commonplace.types import (
        BlameLine,
        Excerpt,
        ForgetReceipt,
        Origin,
        Status,
        VerifyReport,
        Version,
    )
    from commonplace.workspace.file_text import FileText

__all__ = ["ConnectedMemory"]

logger = logging.getLogger(__name__)


class ConnectedMemory(Memory):
    """Memory of published notes; see `Memory.connect`.

    Changes go to the inbox; `undo`, `forget` and `verify` need the folder.
    """

    def __init__(
        self,
        store: Store,
        *,
        settings: Settings,
        embedder: str | Embedder | Any | None,
        reranker: Reranker | Any | None,
        now: Callable[[], datetime] | None,
    ) -> None:
        """Use `Memory.connect`."""
        identity, publication = store.identity, publication_of(store)
        if identity is None or publication is None:
            raise StoreError(no_folder_message(store.location))
        self.settings = settings = settings_of(settings, identity)
        self.profile = profile = from_settings(settings)
        self._reranker = rerank_client(reranker)
        self._ranker = None if reranker is None else profile.ranker(self._reranker)
        self._now = now or utc_now
        self.state = _state_location(store.location)
        self.workspace = self._published = PublishedWorkspace(
            self.state.database.with_name("notes"),
            publication,
            records=functools.partial(_records, store),
            settings=settings,
            rules=profile.discovery,
        )
        self._publication = publication
        self._publisher = None
        self._replica = HistoryReplica(publication)
        self._ledger = self._replica.ledger
        self._ledger_was_empty = None
        self._index = index = PublishedIndex(
            self._published,
            store,
            settings=settings,
            profile=profile,
            requested=embedder,
            state=self.state,
        )
        mutator = DatabaseMutator(
            *(store, publication, self._published, self._replica),
            profile=profile,
            client=index.local_client,
            now=self._now,
            elsewhere=functools.partial(notes_holding, store),
        )
        self._notes = PublishedNoteService(
            self._published, mutator, index_files=index.index_files, zone=self._zone
        )
        self._index_written = functools.partial(index.index_files)
        folder = self.state.history.parent
        self._past = PastIndex(
            self._replica.log, self._published, store, profile=profile, folder=folder
        )
        self._qmd = None
        self._background = BackgroundSupervisor(self._published, index)
        self.slot = None

    @classmethod
    def from_url(
        cls,
        url: str,
        *,
        name: str | None,
        settings: Settings | None,
        embedder: str | Embedder | Any | None,
        reranker: Reranker | Any | None,
        now: Callable[[], datetime] | None,
    ) -> ConnectedMemory:
        """Connect; see `Memory.connect`."""
        if name is not None:
            url += f"{'&' if '?' in url else '?'}name={quote(name, safe='')}"
        store = open_store(url)
        if publication_of(store) is None:
            raise StoreError(
                f"{store.location} is no database that hosts without the folder can share; "
                "postgresql://HOST/DATABASE was expected. Or open the folder: Memory.open(...)."
            )
        try:
            if not store.exists():
                raise StoreError(no_folder_message(store.location))
            memory = cls(
                *(store,), settings=settings or Settings.load(), embedder=embedder,
                reranker=reranker, now=now,
            )  # fmt: skip
        except BaseException:
            store.close()
            raise
        again = functools.partial(cls.from_url, url, name=None, settings=settings, now=now)
        memory.reopened_by(functools.partial(again, embedder=embedder, reranker=reranker))
        return memory

    def __repr__(self) -> str:
        return f"Memory.connect({self.index_location!r})"

    # -- index -----------------------------------------------------------------------------------

    def status(self, *, deep: bool = False) -> Status:
        """Return what is indexed, and how many changes wait for the host with the folder."""
        return replace(super().status(deep=deep), workspace=self.index_location)

    def index(
        self, *, force: bool = False, progress: Progress | None = None, backend: bool = True
    ) -> IndexReport:
        """Index nothing, and say so: the host that has the folder does."""
        logger.warning(
            "there is no folder here: the index %s is brought up to date by the host that has it",
            self.index_location,
        )
        with self._index.store.snapshot() as snapshot:
            totals = snapshot.totals()
        return IndexReport(unchanged=totals.files, chunks=totals.chunks)

    @contextlib.contextmanager
    def watch(self, *, on_run: Callable[[IndexReport], object] | None = None) -> Iterator[None]:
        """Follow the writes of other hosts while the block runs: there are no files to watch.

        Each search answers from the newest state in any case; within the block it reads no vectors.
        """
        hosts = self.hosts
        with contextlib.nullcontext() if hosts is None else hosts.followed():
            yield

    def verify(self, *, repair: bool = False) -> VerifyReport:
        """Refuse: index and files are compared where the files are."""
        self._needs_folder("verify")

    def undo(self, version_id: int, *, origin: Origin | None = None) -> Version:
        """Refuse: a change is taken back where the history is."""
        self._needs_folder("undo")

    def forget(
        self,
        *,
        path: str | None = None,
        citation: str | None = None,
        text: str | None = None,
        session: str | None = None,
        dry_run: bool = False,
    ) -> ForgetReceipt:
        """Refuse: something is forgotten where the files and the history are."""
        self._needs_folder("forget")

    def _needs_folder(self, verb: str) -> NoReturn:
        raise StoreError(
            f"{verb} needs the folder of the notes, which this host does not have; nothing was "
            f"changed. Run 'commonplace -w notes --index \"{self.index_location}\" {verb}' on the "
            "host that has it."
        )

    # -- notes -----------------------------------------------------------------------------------

    def history(self, path: str | None = None, *, limit: int = 50) -> list[Version]:
        """Return the versions of a note, or of all, newest first; see `Memory.history`.

        A change that the host with the folder has not made yet has a number from
        1,000,000,000,000 on, and another one later.
        """
        self._replica.refresh_versions()
        return super().history(path, limit=limit)

    def blame(self, path: str) -> list[BlameLine]:
        """Return the lines of a note with the changes that they came with."""
        self._replica.refresh_versions()
        return super().blame(path)

    def _append(self, path: str, text: str, *, title: str | None, origin: Origin | None) -> str:
        if not text.strip():
            raise ValueError("the note is empty; there is nothing to append.")
        note = trim_blank_lines(text)
        compute = functools.partial(appended_bytes, note=note, title=title)
        self._notes.apply([Mutation(path, compute)], Cause("append", origin))
        return path

    def _create_note(self, path: str, text: str, origin: Origin) -> bool:
        if self._published.exists(path):
            return False
        self._notes.write(path, text, if_version="", origin=origin)
        return True

    # -- reading ---------------------------------------------------------------------------------

    def _current_ledger(self) -> OriginLedger:
        self._replica.refresh_origins()
        return self._ledger

    def _session_excerpt(self, name: str, absolute: Path, start: int, lines: int | None) -> Excerpt:
        return excerpt_of(name, self._published.read(name).text, start, lines)

    def _text_at(self, path: str, as_of: date | datetime | str) -> FileText:
        self._replica.refresh_versions()
        return super()._text_at(path, as_of)

    def _history_state(self) -> object:
        return self._replica.refresh_origins()

    @contextlib.contextmanager
    def _as_of(self, today: Snapshot, moment: datetime) -> Iterator[Snapshot]:
        self._replica.refresh_versions()
        with super()._as_of(today, moment) as snapshot:
            yield snapshot


def _records(store: Store) -> dict[str, FileRecord]:
    with store.snapshot() as snapshot:
        return snapshot.files()


def _state_location(location: str) -> StateLocation:
    """Return where what this host notes for itself is, such as the journal of flushes."""
    key = hashlib.sha256(location.encode()).hexdigest()[:12]
    folder = default_state_dir() / f"connected-{key}"
    return StateLocation(
        database=folder / "state.sqlite",
        history=folder / "history.sqlite",
        sessions=folder / "sessions",
        owner=location,
    )
