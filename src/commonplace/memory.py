"""`Memory`: one open workspace, and every verb that users have."""

from __future__ import annotations

import contextlib
import functools
import itertools
import json
import logging
import os
import time
from collections.abc import Collection, Iterator
from dataclasses import replace
from datetime import UTC, date, datetime, timedelta
from numbers import Integral, Real
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, NoReturn, Self
from zoneinfo import ZoneInfo

from commonplace.agent.system_prompt import ContextFile, recall_instructions, startup_context
from commonplace.async_twins import AsyncTwins
from commonplace.errors import (
    CommonplaceError,
    EmbedderError,
    PathNotAllowedError,
    SettingsError,
    StateError,
    StoreError,
    WorkspaceError,
)
from commonplace.history.as_of import PastIndex
from commonplace.history.database import HistoryFile
from commonplace.history.expiry import ExpirySweeper
from commonplace.history.ledger import OriginLedger
from commonplace.history.ledger_check import LedgerCheck
from commonplace.history.moved_workspace import adopt_state, note_place
from commonplace.history.mutations import Mutator
from commonplace.history.recorder import TextRecorder
from commonplace.history.service import NoteService
from commonplace.history.versions import VersionLog, content_hash
from commonplace.indexing.background.supervisor import BackgroundSupervisor
from commonplace.indexing.service import IndexService
from commonplace.indexing.slots import IndexSlot, IndexSlots
from commonplace.profiles import from_settings
from commonplace.remote.publisher import Publisher
from commonplace.renderers import brief
from commonplace.settings import Settings
from commonplace.store.hosts import hosts_of
from commonplace.store.publication import publication_of
from commonplace.store.records import FileFilter, checked_patterns
from commonplace.system.forks import ReopenedInChild
from commonplace.system.state import StateLocation
from commonplace.system.waits import bounded_waits
from commonplace.text.front_matter import is_expired, read_front_matter
from commonplace.text.quotation import without_lines
from commonplace.types import (
    BlameLine,
    Change,
    Excerpt,
    ForgetReceipt,
    IndexReport,
    Origin,
    SearchMode,
    SearchResult,
    SearchResults,
    Source,
    Status,
    VerifyReport,
    Version,
    checked_text,
)
from commonplace.workspace.dates import parse_day, parse_moment
from commonplace.workspace.discovery import Workspace
from commonplace.workspace.file_text import FileText, UnreadableFileError
from commonplace.workspace.notes import append_note, create_file, create_folder
from commonplace.workspace.paths import USER_NAME, is_session_path, log_date, log_path
from commonplace.workspace.privacy import is_private
from commonplace.workspace.sessions import sessions_path

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from commonplace.embeddings.base import Embedder
    from commonplace.embeddings.client import EmbeddingClient
    from commonplace.history.forget import Forgetter
    from commonplace.history.groups import ChangeGroup
    from commonplace.indexing.pipeline import Progress
    from commonplace.profiles import Profile
    from commonplace.qmd.backend import QmdAnswer, QmdBackend
    from commonplace.retrieval.query import Ranker
    from commonplace.retrieval.rerank import RerankClient, Reranker
    from commonplace.store.base import Snapshot, Store
    from commonplace.store.hosts import Hosts
    from commonplace.store.publication import InboxState
    from commonplace.store.records import IndexIdentity, RowFilter
    from commonplace.vectors import Vector

    Clock = Callable[[], datetime]

__all__ = ["Memory", "excerpt_of", "rerank_client", "utc_now"]

logger = logging.getLogger(__name__)

_MAX_QUERY_CHARS = 4_000
"""Characters of a query that are read."""
_MAX_CHARS = 700_000
"""Characters of an answer, whatever is asked for."""

_SHOWN_CHARS = 20_000
"""Characters of an excerpt that is kept for citations of it; a model reads no more at once."""

_MAX_VERSION = (1 << 63) - 1
"""Number of a version, at most: SQLite takes no larger one."""

_CLOSE_S = 0.95
"""How long `close` takes at most, unless a request to an embedder delays it."""
_FINISH_S = 0.4
"""Time that `close` spends on session files with too little new content to be read by a run."""

_NOTHING_OF_QMD = "the own index answered, not QMD: it found nothing in the files that may answer"

_RANKING = {"max_chars", "max_results", "min_score", "candidate_multiplier"}
_RANKING |= {
    "vector_weight",
    "text_weight",
    "decay",
    "half_life_days",
    "mmr",
    "mmr_lambda",
    "operator",
}
"""Search settings that the index does not depend on."""


class _Limits(NamedTuple):
    """Limits of an answer."""

    max_results: int | None
    max_chars: int
    min_score: float


class Memory(ReopenedInChild, AsyncTwins):
    """A folder of Markdown files that can be searched, read and appended to.

    Use it as a context manager, or call `close`. It may be shared by threads; any number of
    processes may open the same workspace, and a forked process opens it again.
    """

    _has_warned = False
    """Whether a search that found nothing has looked for notes that are not of the memory."""

    def __init__(
        self,
        workspace: Workspace,
        *,
        settings: Settings,
        profile: Profile,
        embedder: str | Embedder | Any | None,
        reranker: RerankClient | None,
        store: Store,
        state: StateLocation,
        now: Clock | None,
        slots: IndexSlots | None,
    ) -> None:
        """Use `Memory.open`."""
        self.profile = profile
        self._reranker = reranker
        self._ranker: Ranker | None = None if reranker is None else profile.ranker(reranker)
        self.workspace = workspace
        self.settings = settings
        self._now = now or utc_now
        self.state = state
        self._ledger_was_empty: object = None
        """State of the history file in which the ledger was last found to be empty."""
        # What a memory holds does not refer to it: one that was not closed is freed at once.
        log = VersionLog(HistoryFile(state.history))
        self._ledger_check = LedgerCheck(
            log,
            paths=functools.partial(_note_paths, workspace),
            read=functools.partial(_text_in, workspace),
        )
        self._ledger = OriginLedger(log.file, is_sound=self._ledger_check.is_sound)
        mutator = Mutator(
            *(log, self._ledger, workspace.root),
            enabled=settings.history.enabled,
            now=self._now,
            elsewhere=lambda line: _notes_holding(index, line),
        )
        mutator.recover()
        self._recorder = TextRecorder(mutator, settings.history, now=self._now)
        index = self._index = IndexService(
            workspace,
            store,
            settings=settings,
            profile=profile,
            requested=embedder,
            state=state,
            recorder=self._recorder,
        )
        self._index_written = functools.partial(_index_written, self._index)
        self._notes = NoteService(
            workspace, mutator, index_files=self._index_written, zone=self._zone
        )
        if settings.history.enabled:
            self._index.runner.sweeper = ExpirySweeper(mutator, now=self._now, zone=self._zone)
        self._past = PastIndex(
            *(log, workspace, store), profile=profile, folder=state.history.parent
        )
        self._publisher: Publisher | None = None
        if (publication := publication_of(store)) is not None:
            self._publisher = Publisher(
                *(store, publication, self._notes, mutator, workspace),
                profile=profile,
                index_files=self._index.index_files,
                purge=self._past.purge,
            )
            self._index.runner.publisher = self._publisher
        self._qmd: QmdBackend | None = None
        if settings.search.backend == "qmd":
            from commonplace.qmd.backend import QmdBackend

            self._qmd = QmdBackend(workspace, settings.qmd, state.qmd)
        self._background = BackgroundSupervisor(workspace, self._index)
        self.slot: IndexSlot | None = None
        """Slot among the open memories of a pool; None for a memory by itself."""
        if slots is None:
            self._background.opened()
        else:
            self.slot = self._index.slot = IndexSlot(
                slots,
                resume=self._background.opened,
                suspend=self._suspend,
                shut=self._shut,
            )
        if self._notes.log.file.is_forgetting:
            self._forgetter().resume()

    @classmethod
    def open(
        cls,
        workspace: str | os.PathLike[str],
        *,
        settings: Settings | None = None,
        embedder: str | Embedder | Any | None = "auto",
        reranker: Reranker | Any | None = None,
        index: str | os.PathLike[str] | None = None,
        now: Clock | None = None,
        slots: IndexSlots | None = None,
    ) -> Self:
        """Open a workspace. Nothing is created in it, and nothing is read until it is needed.

        An index that is there is brought up to date in the background a moment later, unless
        `SyncSettings.on_open` says otherwise; a new workspace is indexed by the first search.

        Args:
            workspace: The folder; ``MEMORY.md`` and ``memory/`` may not exist yet.
            settings: How to index and search; the default settings file, else the defaults.
            embedder: Makes the vectors: ``auto``, ``provider``, ``provider:model``, an object
                with `embed_documents` and `embed_query`, or None to search by keywords.
            reranker: Orders the best passages of a search: a callable ``(query, passages)`` that
                returns a score for each, or a cross-encoder with ``predict(pairs)``. It has a
                second; when it fails, the order without it is kept, and
                `SearchResults.fallback` says why.
            index: The index: the path of a SQLite file, ``sqlite:///PATH``, ``memory://`` (gone
                with the memory), or the URL of an installed engine; by default a file in the state
                folder.
            now: Returns the time as an aware datetime; for tests and replays.
            slots: Of a `MemoryPool`, which opens and closes the memory.

        Raises:
            WorkspaceNotFoundError: There is no such folder, or it is a URL.
            SettingsError: The default settings file is wrong; or the profile does not go with the
                index engine or the reranker.
            StoreError: The index path names a Markdown file, or no engine has the URL's scheme.
            EmbedderError: No embedder has that name, or it is an object without the functions of
                one.
        """
        from commonplace.store.registry import default_index_path, open_store

        settings = settings or Settings.load()
        profile = from_settings(settings)
        space = Workspace(workspace, settings, profile.discovery)
        where = default_index_path(space.root) if index is None else index
        store = open_store(where, vector_extension=settings.search.vector_extension)
        if missing := profile.requires - store.capabilities:
            raise SettingsError(
                f"the profile {settings.profile!r} needs an index engine with "
                f"{', '.join(sorted(missing))}, which {store.location} does not have; open it with "
                "a SQLite index, or with another profile."
            )
        state = _state_location(where, store, space.root, settings)
        if state.is_by_path:
            adopt_state(state.history.parent, space, is_user=slots is not None)
            note_place(state.history.parent, space.root)
        memory = cls(
            space.with_sessions(state.sessions),
            settings=settings,
            profile=profile,
            embedder=embedder,
            reranker=rerank_client(reranker),
            store=store,
            state=state,
            now=now,
            slots=slots,
        )
        options = {"settings": settings, "embedder": embedder, "reranker": reranker}
        again = functools.partial(cls.open, space.root, index=index, now=now, slots=slots)
        memory.reopened_by(functools.partial(again, **options))
        return memory

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"Memory({str(self.workspace.root)!r})"

    def __copy__(self) -> Self:
        """Return the memory itself; see `__deepcopy__`."""
        return self

    def __deepcopy__(self, _: object) -> Self:
        """Return the memory itself, as a handle: there is one workspace, and one open index.

        Frameworks copy their parts deeply, a retriever or a tool with the memory that it has.
        """
        return self

    def __reduce__(self) -> NoReturn:
        raise TypeError(
            f"{self!r} cannot be pickled: it holds an open index. Open the workspace in each "
            "process, with Memory.open or Memory.connect."
        )

    @property
    def index_location(self) -> str:
        """Where the index is: a path, or a URL without credentials. It can be deleted any time."""
        return self._index.store.location

    @property
    def hosts(self) -> Hosts | None:
        """The hosts that share an index on a server; None for an index of this machine."""
        return hosts_of(self._index.store)

    def close(self) -> None:
        """Close the index; the memory cannot search afterwards.

        A note that comes late, as of a flush that was on its way, is still written and kept in the
        history: the next open finds it.

        What runs in the background ends at its next step: within a second, but for a call to an
        embedder that takes longer, which then finds nothing more to do. A memory of a pool stays
        open: the pool closes it.
        """
        if self.slot is None:
            self._shut()

    def _shut(self) -> None:
        self.stays_closed()
        self._note_place()
        until = time.monotonic() + _CLOSE_S
        self._background.stop()
        if self._qmd is not None:
            self._qmd.close()
        self._index.finish_sessions(timeout_s=min(_FINISH_S, until - time.monotonic()))
        self._past.close()
        self._notes.log.file.close(for_good=True)
        self._index.close()

    def _suspend(self) -> None:
        """Release what the index holds, until the next use."""
        self._note_place()
        self._background.pause()
        if self._qmd is not None:
            self._qmd.close()
        self._index.finish_sessions(timeout_s=_FINISH_S)
        self._past.close()
        self._notes.log.file.close()
        self._index.store.suspend()

    def _note_place(self) -> None:
        """Note, where there is a state by now, which folder it is of: it may be renamed."""
        if self.state.is_by_path:
            note_place(self.state.history.parent, self.workspace.root)

    # -- hosts without the folder ----------------------------------------------------------------

    @classmethod
    def connect(
        cls,
        url: str,
        *,
        name: str | None = None,
        settings: Settings | None = None,
        embedder: str | Embedder | Any | None = "auto",
        reranker: Reranker | Any | None = None,
        now: Clock | None = None,
    ) -> Memory:
        """Connect to a memory whose folder another host has; it has the same verbs.

        Search, `get` and `history` read the database. A change of a note is durable, and found by
        every host, when the verb returns; the host with the folder makes it in the Markdown, where
        `status` of every host tells how many wait.

        Args:
            url: Index of the other host, such as ``postgresql://host/database``.
            name: Name of the memory in that database, as ``name`` in the URL.
            settings: How to search; the default settings file, else the defaults. What shapes the
                index is taken from there.
            embedder: As in `open`; it has to be the index's for vectors to take part.
            reranker: As in `open`.
            now: Returns the time as an aware datetime; for tests and replays.

        Raises:
            StoreError: Nothing is published there, the server cannot be reached, or the engine of
                the URL publishes nothing.
        """
        from commonplace.connected import ConnectedMemory

        return ConnectedMemory.from_url(
            url, name=name, settings=settings, embedder=embedder, reranker=reranker, now=now
        )

    def apply_inbox(self) -> int:
        """Make the changes of hosts without the folder in the Markdown, exactly once, in order.

        Index runs do so first. A change that touches lines which the folder's note has otherwise
        is refused, and kept with its text; `status` says so.

        Returns:
            Number of notes that were concerned.

        Raises:
            StoreError: The database cannot be read or written.
        """
        publisher = self._publisher
        if publisher is None:
            return 0
        return self._index.recovering(publisher.apply_inbox)

    # -- index -----------------------------------------------------------------------------------

    def index(
        self, *, force: bool = False, progress: Progress | None = None, backend: bool = True
    ) -> IndexReport:
        """Bring the index up to date with the disk.

        A background run in flight is waited for, and both are reported together. With the backend
        ``qmd``, QMD's index is brought up to date, too, and `status` has what failed there.

        Args:
            force: Rebuild it beside the old one. Vectors are taken over.
            progress: Called with files done, files to do, and the last path. Its `estimated`, if it
                has one, is called first with what a long run is about to embed over the network:
                texts, tokens, what they cost about.
            backend: Whether QMD's index is brought up to date, too.

        Raises:
            StoreError: The index cannot be written.
            EmbedderError: The embedder that was named is not available.
        """
        report = self._background.scheduler.run_now(force=force, progress=progress)
        if self._qmd is not None and backend:
            self._qmd.update()
        return report

    @contextlib.contextmanager
    def watch(self, *, on_run: Callable[[IndexReport], object] | None = None) -> Iterator[None]:
        """Keep the index fresh while the block runs: what is saved is found within seconds.

        Args:
            on_run: Called, by another thread, with the report of each background run.
        """
        with self._index.leased(), self._background.watching(on_run):
            yield

    def status(self, *, deep: bool = False) -> Status:
        """Return what is indexed, by what, and what is out of date; the disk is scanned.

        Args:
            deep: Also probe the embedder, the vectors, the words and the files.
        """
        from commonplace.diagnostics.status import memory_status

        return self._index.recovering(
            memory_status,
            self._index,
            self.workspace,
            self._background,
            state=self.state.database,
            qmd=None if self._qmd is None else self._qmd.health(),
            inbox=self._inbox_state(),
            deep=deep,
        )

    def _inbox_state(self) -> InboxState | None:
        """Return the state of the inbox of hosts without the folder; None where there is none."""
        publication = publication_of(self._index.store)
        if publication is None or not self._index.store.exists():
            return None
        return publication.inbox()

    def verify(self, *, repair: bool = False) -> VerifyReport:
        """Compare the index with the files, and read the journal and the history; all of each.

        Args:
            repair: Mend what is wrong: the index is made again from the files, what is damaged is
                kept aside. No Markdown file is changed.
        """
        from commonplace.diagnostics.verification import Verifier
        from commonplace.system.state import StateFile

        verifier = Verifier(
            *(self.workspace, self._index),
            profile=self.profile,
            state=StateFile(self.state.database),
            history=self._notes.log.file,
            origins=self._ledger_check,
            reindex=lambda force: self.index(force=force),
        )
        with self._index.leased():
            return verifier.run(repair=repair)

    # -- search ----------------------------------------------------------------------------------

    def search(
        self,
        query: str,
        *,
        max_results: int | None = None,
        max_chars: int | None = None,
        min_score: float | None = None,
        sources: Collection[Source] | None = None,
        paths: Collection[str] | None = None,
        after: date | str | None = None,
        before: date | str | None = None,
        as_of: date | datetime | str | None = None,
        exclude: Collection[str] = (),
        explain: bool = False,
    ) -> SearchResults:
        """Find the lines that answer a question, best first.

        A workspace that was never completely indexed, or had no note then, is indexed first; later
        searches answer at once from the index, and have it brought up to date in the background.

        Args:
            query: A question or keywords; any text.
            max_results: How many snippets at most; `SearchSettings.max_results` by default.
            max_chars: Characters of all snippets, at most; `SearchSettings.max_chars` by default.
                As many snippets as fit are returned, the first ones up to 700 long.
            min_score: What a result must reach, 0..1; `SearchSettings.min_score` by default.
            sources: ``memory``, ``sessions``, or both, which is the default: sessions then get the
                places that notes leave, and up to a third where they answer better.
            paths: Files, folders and globs to search, such as ``MEMORY.md``, ``memory/work/`` or
                ``memory/**/2026-*.md``: ``*`` and ``?`` stay within a folder. Nothing of other
                files is counted or shown.
            after: First day, included: a date or an ISO text. Undated files are left out.
            before: Last day, included. A session's messages have days of their own.
            as_of: Answer from what the files said then: a date (its end), an aware time, or an ISO
                text of either. Logs count by their day, other files by the versions that history
                has. The first such search indexes the old texts; later ones do not.
            exclude: Paths of files to leave out. Nothing of them is counted or shown.
            explain: Whether each result says what every stage gave to it.

        Raises:
            TypeError: The query is no text, or a limit no number.
            ValueError: An argument is out of its range.
            StoreError: The index cannot be read, or, the first time, cannot be written.
        """
        limits = self._checked_limits(max_results, max_chars, min_score)
        rows = self._row_filter(sources, after, before)
        patterns = None if paths is None else checked_patterns(paths)
        if isinstance(exclude, str):
            raise TypeError(f"exclude is {brief.repr(exclude)}; a list of paths was expected.")
        text = checked_text("query", query).encode("utf-8", "replace").decode("utf-8")
        text = text[:_MAX_QUERY_CHARS].strip()
        found = self._ask_qmd(text, sources, as_of) if self._qmd is not None and text else None
        with self._index.leased():
            results = self._index.recovering(
                self._search,
                query,
                text,
                found=found,
                limits=limits,
                rows=rows,
                patterns=patterns,
                hidden=frozenset(exclude),
                moment=None if as_of is None else parse_moment(as_of, timezone=self._zone),
                explain=explain,
            )
            self._attribute(results, as_of)
            if not results and not self._has_warned:
                self._has_warned = True
                with contextlib.suppress(CommonplaceError, OSError):  # only a hint
                    self._warn_of_unindexed_notes()
        self._notes.shown.extend(results)
        if self.settings.sync.on_search:
            self._background.scheduler.searched()
        return results

    def _warn_of_unindexed_notes(self) -> None:
        """Warn where nothing is found as the folder has Markdown that is not of the memory."""
        from commonplace.workspace.unindexed_notes import unindexed_notes_hint

        with self._index.store.snapshot() as snapshot:
            is_empty = not snapshot.totals().files
        if is_empty and (hint := unindexed_notes_hint(self.workspace)):
            logger.warning("%s", hint)

    def with_search_settings(self, **changes: Any) -> Self:
        """Return this memory with other search settings, such as ``decay=False``.

        It shares the index with this one, and is closed with it.

        Args:
            changes: Fields of `SearchSettings`, but for those that shape the index.

        Raises:
            SettingsError: A value is wrong.
            ValueError: There is no such setting, or a change of it needs another index.
        """
        wrong = sorted(changes.keys() - _RANKING)
        if wrong:
            raise ValueError(
                f"{wrong[0]} cannot be changed on an open memory; these can: "
                f"{', '.join(sorted(_RANKING))}. Others are given to Memory.open."
            )
        search = replace(self.settings.search, **changes)
        other = object.__new__(type(self))
        other.__dict__.update(self.__dict__)
        other.settings = replace(self.settings, search=search)
        other.profile = from_settings(other.settings)
        other._ranker = None
        other.reopened_by(functools.partial(self.with_search_settings, **changes))
        return other

    @contextlib.contextmanager
    def snapshot(self) -> Iterator[Snapshot]:
        """Read one state of the index as a whole, as `commonplace.explorer` does.

        A workspace that was never completely indexed is indexed first.
        """
        with self._index.snapshot() as snapshot:
            yield snapshot

    def _search(
        self,
        query: str,
        text: str,
        *,
        found: QmdAnswer | None,
        limits: _Limits,
        rows: RowFilter,
        patterns: tuple[str, ...] | None,
        hidden: frozenset[str],
        moment: datetime | None,
        explain: bool,
    ) -> SearchResults:
        from commonplace.retrieval.query import Query, Ranking

        index, store = self._index, self._index.store
        index.index_if_new()
        ranker = self._ranker = self._ranker or self.profile.ranker(self._reranker)
        text = ranker.question_in(text)
        held = store.cached_identity or store.identity
        used, vector, fallback = self._query_vector(text, held)
        with contextlib.ExitStack() as stack:
            snapshot = stack.enter_context(store.snapshot())
            # A rebuild, of any process, may have ended since the query was embedded.
            if snapshot.identity != held:
                used, vector, fallback = self._query_vector(text, snapshot.identity)
            if moment is not None:
                snapshot = stack.enter_context(self._as_of(snapshot, moment))
            now = self._local_now() if moment is None else moment.astimezone(self._zone)
            asked = Query(
                text, vector, now, limits.max_results, limits.min_score, rows,
                limits.max_chars,
            )  # fmt: skip
            visible = _visible(snapshot, patterns, hidden, asked.now)
            notice = found.notice if found is not None else None
            if found is not None and found.found is not None:
                from commonplace.retrieval.found_lines import with_found_lines

                asked = with_found_lines(visible, asked, found.found)
                notice = None if asked.found is not None else _NOTHING_OF_QMD
            ranking = ranker.rank(visible, asked, explain=explain) if text else Ranking([])
            results = _with_metadata(ranking.results, snapshot)
        mode: SearchMode = "keyword" if vector is None else "hybrid"
        if vector is not None and not self.settings.search.text_weight:
            mode, fallback = "vector", "search.text_weight is 0"
        return SearchResults(
            results,
            query=query,
            mode=mode,
            fallback="; ".join(filter(None, (fallback, ranking.fallback, notice))) or None,
            provider=used.name.provider if used else None,
            model=used.name.model if used else None,
            warnings=(*index.warnings, *([notice] if notice else [])),
        )

    def _ask_qmd(
        self,
        text: str,
        sources: Collection[Source] | None,
        as_of: date | datetime | str | None,
    ) -> QmdAnswer | None:
        """Ask QMD for places; it knows today's notes alone."""
        from commonplace.qmd.backend import MAX_WORDS, QmdAnswer
        from commonplace.retrieval.found_lines import rarest_words

        assert self._qmd is not None
        if sources is not None and "memory" not in sources:
            return None
        if as_of is not None:
            return QmdAnswer(None, "the own index answered, not QMD: it knows no past")

        def rarest() -> list[str]:
            self._index.index_if_new()
            with self._index.store.snapshot() as snapshot:
                tokenizer = self.settings.search.tokenizer
                return rarest_words(snapshot, text, tokenizer=tokenizer, limit=MAX_WORDS)

        return self._qmd.find(text, self._index.recovering(rarest))

    @contextlib.contextmanager
    def _as_of(self, today: Snapshot, moment: datetime) -> Iterator[Snapshot]:
        """Open the index as of a time."""
        client, _ = self._index.query_client(today.identity)
        local = client if client is not None and client.is_local else None
        state = self._history_state()
        with self._past.snapshot(today, moment, client=local, history_state=state) as snapshot:
            yield snapshot

    def _attribute(self, results: SearchResults, as_of: date | datetime | str | None) -> None:
        """Set the origins of results; where no line has one, without a query."""
        if results and self._publisher is not None:
            self._index.recovering(self._publisher.refresh_origins)
        state = self._history_state() if results else None
        if state in (None, self._ledger_was_empty):
            return
        if self._ledger.is_empty(state):
            self._ledger_was_empty = state
            return
        read = functools.partial(self._text_of, as_of=as_of)
        results[:] = self._ledger.attributed(results, read=read, state=state)

    def _history_state(self) -> object:
        """Return what changes with each write to the history; None where there is none."""
        return _file_state(self.state.history)

    def _text_of(self, path: str, *, as_of: date | datetime | str | None = None) -> str:
        """Return a note's text, now or at a time; empty where it cannot be read."""
        try:
            if as_of is not None:
                return self._text_at(path, as_of).text
        except (OSError, UnreadableFileError, PathNotAllowedError):
            return ""
        return _text_in(self.workspace, path)

    def _text_at(self, path: str, as_of: date | datetime | str) -> FileText:
        """Return a note as it was at a time."""
        return self._notes.text_at(path, as_of)

    def _query_vector(
        self, text: str, held: IndexIdentity | None
    ) -> tuple[EmbeddingClient | None, Vector | None, str | None]:
        """Embed a query for an index; nothing, and why, where vectors cannot take part."""
        client, reason = self._index.query_client(held)
        if client is None:
            return None, None, reason
        if not self.settings.search.vector_weight:
            return None, None, "search.vector_weight is 0"
        if not text:
            return None, None, None
        try:
            vector = client.embed_query(text)
        except EmbedderError as error:
            return None, None, str(error)
        if held is not None and len(vector) != held.dimension:
            return None, None, self._index.selector.mismatch(client, held)
        return client, vector, None

    def _checked_limits(
        self, max_results: int | None, max_chars: int | None, min_score: float | None
    ) -> _Limits:
        search = self.settings.search
        limit = search.max_results if max_results is None else max_results
        chars = search.max_chars if max_chars is None else max_chars
        bar = search.min_score if min_score is None else min_score
        for name, value in (("max_results", limit), ("max_chars", chars)):
            if value is not None and not isinstance(value, Integral):
                raise TypeError(f"{name} is {brief.repr(value)}; an integer was expected.")
            if value is not None and value < 1:
                raise ValueError(f"{name} is {brief.repr(value)}; it must be at least 1.")
        if not isinstance(bar, Real):
            raise TypeError(f"min_score is {brief.repr(bar)}; a number was expected.")
        if not 0.0 <= bar <= 1.0:
            raise ValueError(f"min_score is {brief.repr(bar)}; it must be between 0 and 1.")
        return _Limits(limit, min(chars, _MAX_CHARS), bar)

    def _row_filter(
        self,
        sources: Collection[Source] | None,
        after: date | str | None,
        before: date | str | None,
    ) -> RowFilter:
        from commonplace.store.records import RowFilter

        known = ("memory", "sessions")
        wanted = () if sources is None else sources
        is_some = isinstance(wanted, Collection) and not isinstance(wanted, str)
        if not is_some or not all(source in known for source in wanted):
            shown = brief.repr(sources)
            raise ValueError(f"sources is {shown}; it takes a list of 'memory', 'sessions'.")
        limits = {
            name: parse_day(day, name=name, timezone=self.now().tzinfo).toordinal()
            for name, day in (("after", after), ("before", before))
            if day is not None
        }
        return RowFilter(sources=None if sources is None else frozenset(sources), **limits)

    # -- files -----------------------------------------------------------------------------------

    def get(
        self,
        path: str,
        *,
        from_line: int | None = None,
        lines: int | None = None,
        as_of: date | datetime | str | None = None,
    ) -> Excerpt:
        """Read a file, or some of its lines, from the disk, or as it was at a time.

        A session file is rendered as it is indexed: what user and assistant said, secrets masked,
        on lines that are numbered as the file's; the other lines are empty.

        Args:
            path: As search shows it.
            from_line: First line; below 1 counts as 1.
            lines: How many lines, below 1 counts as 1; to the end by default.
            as_of: A note as it was then: a date (its end), an aware time, or an ISO text of either.

        Raises:
            PathNotAllowedError: The path is not one of the memory's files.
            ValueError: `as_of` is not a time.
            WorkspaceError: The file cannot be read.
        """
        absolute = self.workspace.locate(checked_text("path", path))
        name = self.workspace.plain_name(path)
        start = max(1, int(from_line or 1))
        try:
            if is_session_path(name):
                return self._session_excerpt(name, absolute, start, lines)
            read = self.workspace.read(name) if as_of is None else self._text_at(name, as_of)
        except FileNotFoundError:
            return Excerpt(name, "", start, 0, False, None, "not_found")
        except UnreadableFileError as error:
            raise WorkspaceError(f"{name}: {error}.") from error
        excerpt = excerpt_of(name, read.text, start, lines)
        untrusted = self._current_ledger().untrusted_lines(name, excerpt.text, first_line=start)
        reads = self.profile.reads_front_matter
        metadata = read_front_matter(read.text).metadata or {} if reads else {}
        version = content_hash(read.data)
        excerpt = replace(excerpt, version=version, metadata=metadata, untrusted=untrusted)
        if len(excerpt.text) <= _SHOWN_CHARS:
            self._notes.shown.append(excerpt)
        return excerpt

    def _current_ledger(self) -> OriginLedger:
        """Return the origins, not older than a text that was read before the call."""
        return self._ledger

    def _session_excerpt(self, name: str, absolute: Path, start: int, lines: int | None) -> Excerpt:
        """Render lines of a session file as they are indexed: numbered as in the file, masked."""
        from commonplace.transcripts.rendering import render_lines

        wanted = None if lines is None else max(1, lines) + 1  # one more tells whether there is
        rules = self.profile.transcripts
        text = render_lines(absolute, rules, from_line=start, lines=wanted) or ""
        part = excerpt_of(name, text, 1, lines)
        behind = part.next_from and part.next_from + start - 1
        return replace(part, from_line=start, next_from=behind)

    def append(
        self,
        text: str,
        *,
        path: str | None = None,
        when: date | datetime | str | None = None,
        origin: Origin | None = None,
    ) -> str:
        """Append a note to a day's log, or to another note, and return its path.

        Appending is idempotent: what the file holds already is not written again. The next search,
        in any process, finds the note.

        Args:
            text: The note, written as it is.
            path: The note to append to: ``MEMORY.md`` or one below ``memory/``, which is created
                where it is missing; the day's log by default.
            when: The day of the log, a date or an ISO text; today by default. A time must be aware.
            origin: Where the text comes from; a user by default.

        Raises:
            ValueError: The text is empty, `when` is a naive time, or both `path` and `when` are
                given.
            PathNotAllowedError: The path is not one of a note.
            WorkspaceReadOnlyError: The note cannot be written; nothing was changed.
        """
        if path is None:
            day = self._day(when)
            return self._append(log_path(day), text, title=day.isoformat(), origin=origin)
        if when is not None:
            raise ValueError("path and when are both given; when chooses the log, path a note.")
        name = self._notes.note_path(path)
        named = log_date(name)
        title = named.isoformat() if named and name == log_path(named) else None
        return self._append(name, text, title=title, origin=origin)

    def write_session_note(
        self,
        messages: Iterable[Any],
        *,
        slug: str | Callable[[str], str] | None = None,
        key: str = "",
        session: str = "",
        origin: Origin | None = None,
    ) -> str:
        """Write the note that a session leaves when a new one starts, and return its path.

        It is ``memory/YYYY-MM-DD-slug.md`` with the last `SessionsSettings.archive_messages`
        messages of user and assistant, a line each, secrets masked. A note that is there already
        stays: the new one's name gets a number. It can be found by the next search. (The whole
        conversation as a session file is what ``end_session`` and ``areset(archive=True)`` of the
        adapters keep.)

        Args:
            messages: The conversation: `FlushMessage`, mappings with ``role`` and ``content``, or
                messages of LangChain and LlamaIndex.
            slug: What the name says after the day. Or a model: it is called with a prompt and
                answers with a name. By default, and where it fails, the time, ``1830``.
            key: Who talked where, for the header.
            session: What the session is called, for the header.
            origin: Where the text comes from; an agent, in this session, by default.

        Raises:
            ValueError: Neither user nor assistant said anything.
            TypeError: A message is none of these.
            WorkspaceReadOnlyError: The note cannot be written; nothing was changed.
        """
        from commonplace.transcripts.session_note import (
            last_messages,
            quotes_untrusted,
            session_note,
            slug_for,
        )

        messages = list(messages)
        if quotes_untrusted(messages):
            self.record_exposure(session)
        settings = self.settings
        said = last_messages(
            messages, settings.sessions.archive_messages, personal=settings.mask_personal
        )
        if not said:
            raise ValueError("neither user nor assistant said anything; there is no session.")
        now = self._now().astimezone(self.profile.note_zone)
        text = session_note(said, moment=now, zone=str(now.tzinfo), key=key, session=session)
        name = f"memory/{now.date().isoformat()}-{slug_for(said, slug, moment=now)}"
        with bounded_waits():
            origin = origin or Origin("agent", session=session or None)
            for number in itertools.count(1):
                path = f"{name}-{number}.md" if number > 1 else f"{name}.md"
                if self._create_note(path, text, origin):
                    break
            self._index_written([path])
        return path

    def _create_note(self, path: str, text: str, origin: Origin) -> bool:
        """Create a note; return False where there is one already."""
        place = self._place_of(path)
        self._attribute_text(path, text, origin)
        return create_file(place, text)

    def _append(self, path: str, text: str, *, title: str | None, origin: Origin | None) -> str:
        if not isinstance(text, str):
            raise TypeError(f"text is {brief.repr(text)}; a text was expected.")
        if not text.strip():
            raise ValueError("the note is empty; there is nothing to append.")
        with bounded_waits():
            place = self._place_of(path)
            if origin is not None:
                self._attribute_text(path, text, origin)
            if appended := append_note(place, text, title=title):
                self._recorder.appended[path] = origin, appended
                self._index_written([path])
                if path in self._recorder.appended:  # there is no index yet, or it is not writable
                    self._record(path)
        return path

    def _record(self, path: str) -> None:
        """Keep the text of a note that was not indexed."""
        self._recorder.record_append(path)
        file = self.workspace.stat(path)
        self._recorder.record_files([file] if file else [])

    def record_exposure(self, session: str | None) -> None:
        """Record that a conversation was shown untrusted lines; what it writes is untrusted, too.

        Args:
            session: The conversation, empty for those without an id; None if it is not known, which
                concerns all that conversations write through this memory from then on.
        """
        self._ledger.expose(session)

    def _attribute_text(self, path: str, text: str, origin: Origin) -> None:
        """Record the origin of a text before it is appended to a note."""
        held = self._text_of(path)
        given = self._ledger.effective(origin)
        try:
            with self._notes.log.file.transaction() as connection:
                self._ledger.attribute(
                    connection,
                    path,
                    held,
                    f"{held}\n{text}",
                    given,
                    elsewhere=lambda line: _notes_holding(self._index, line) - {path},
                )
        except StateError as error:
            if given.author == "untrusted":  # without its origin, it would pass for the user's
                raise
            logger.warning("a note is written without its origin: %s", error)

    def _place_of(self, path: str) -> Path:
        """Return where a note is written; its folder is made."""
        absolute = self.workspace.locate(path)
        self.workspace.check_there()  # a folder made in its place would pass for all there is
        create_folder(absolute.parent)
        return absolute

    # -- notes -----------------------------------------------------------------------------------

    def paths(self, prefix: str = "") -> list[str]:
        """Return the paths of the notes that begin with a prefix, sorted."""
        return self._notes.paths(prefix)

    def write(
        self,
        path: str,
        text: str,
        *,
        if_version: str | None = None,
        origin: Origin | None = None,
    ) -> Version:
        """Create a note, or replace the whole of it; the next search, in any process, finds it.

        Like each change of a note it is atomic and durable, the text of before is kept, and `undo`
        takes it back. Mode, owner, encoding and line endings of the file stay. A hard link to it
        keeps the text of before, as a backup of links should; a warning is logged.

        Args:
            path: ``MEMORY.md`` or a note below ``memory/``.
            text: The whole text.
            if_version: The version that the note must have, `Excerpt.version`; an empty text for a
                note that must not exist.
            origin: Author; a user by default.

        Raises:
            PathNotAllowedError: The path is not one of a note.
            ConflictError: The note has another version; nothing was written. The error has that
                version, and the text that was refused.
            WorkspaceReadOnlyError: The note cannot be written; nothing was changed.
            StateError: The history cannot be written; nothing was changed.
        """
        checked_text("text", text)
        return self._notes.write(path, text, if_version=if_version, origin=origin)

    def edit(
        self,
        path: str,
        old: str,
        new: str,
        *,
        if_version: str | None = None,
        origin: Origin | None = None,
    ) -> Version:
        """Replace the one place where a passage stands in a note; see `write`.

        Raises:
            EditError: The passage stands nowhere, or in several places, which the message names.
        """
        checked_text("old", old)
        checked_text("new", new)
        return self._notes.edit(path, old, new, if_version=if_version, origin=origin)

    def delete(
        self, path: str, *, if_version: str | None = None, origin: Origin | None = None
    ) -> Version:
        """Delete a note; its text stays in the history; see `write`."""
        return self._notes.delete(path, if_version=if_version, origin=origin)

    def move(
        self,
        path: str,
        to: str,
        *,
        if_version: str | None = None,
        origin: Origin | None = None,
    ) -> Version:
        """Move a note to a path where there is none; see `write`."""
        return self._notes.move(path, to, if_version=if_version, origin=origin)

    def correct(
        self,
        citation: str,
        text: str,
        *,
        when: date | datetime | None = None,
        origin: Origin | None = None,
    ) -> Version:
        """Strike wrong lines through where they stand, and write what is right to a day's log.

        The struck lines and the correction are linked with each other. Search takes a struck line
        for the past. Both files are changed in one step, which one `undo` takes back.

        Args:
            citation: The wrong lines, such as ``MEMORY.md#L3`` or ``MEMORY.md#L3-L9``. Lines that
                have moved since this memory, or the index, had them are found by their content.
            text: What is right.
            when: Day of the log; today by default. A time must be aware.
            origin: Author of the correction; a user by default.

        Raises:
            EditError: The lines are not there any more, or cannot be struck through, as in code.
            ConflictError: The file did not stay as it was read for long enough.
        """
        from commonplace.history.corrections import Corrector

        corrector = Corrector(self._notes, self._index.store)
        with self._index.leased():
            return corrector.correct(citation, text, day=self._day(when), origin=origin)

    def blame(self, path: str) -> list[BlameLine]:
        """Return the lines of a note, each with the change that it came with, and its origin.

        Args:
            path: The note.
        """
        from commonplace.history.blame import blame

        name = self._notes.note_path(path)
        text = self._text_of(name)
        return blame(self._notes.log, self._current_ledger(), name, text)

    def forget(
        self,
        *,
        path: str | None = None,
        citation: str | None = None,
        text: str | None = None,
        session: str | None = None,
        dry_run: bool = False,
    ) -> ForgetReceipt:
        """Forget something for good: no verb brings it back.

        It goes from the notes, from their history, the index and its caches, the journal of
        flushes and the session files. In texts of the past and in conversations, what holds some of
        it goes by the line or the message. What is interrupted is finished by the next open.

        Args:
            path: A note, with all that it was.
            citation: Lines, such as ``MEMORY.md#L3-L9``.
            text: Each line that holds this text.
            session: A conversation, and all lines that came from it.
            dry_run: Only list what would go.

        Returns:
            The receipt: what went, by kind and number, and what cannot be reached.

        Raises:
            ValueError: Not exactly one of the four is given.
            EditError: The cited lines are not there any more.
            WorkspaceReadOnlyError: A note cannot be written; nothing was changed.
            StateError: The history or a session file cannot be written. Where something is gone
                already, the message says so, and the next open does the rest.
            StoreError: The index cannot be written; the next open does the rest.
        """
        if self._qmd is not None and not dry_run:
            self._qmd.close()  # it would hold its index open
        forgetter = self._forgetter()
        with self._index.leased():
            return forgetter.forget(
                path=path, citation=citation, text=text, session=session, dry_run=dry_run
            )

    def _forgetter(self) -> Forgetter:
        from commonplace.history.forget import Forgetter

        return Forgetter(self._notes, self.workspace, self._index, self.state, self._past)

    def history(self, path: str | None = None, *, limit: int = 50) -> list[Version]:
        """Return the versions of a note, or of all notes, newest first.

        Changes by other programs are among them, as index runs met them. The versions of a note
        that was moved go on with those of its old path.
        """
        return self._notes.history(path, limit=limit)

    def change_group(
        self, change: Change, *, origin: Origin | None = None, name: str | None = None
    ) -> ChangeGroup:
        """Return a group of changes that `undo` takes back as one, such as an import.

        Args:
            change: Kind of the changes, such as ``import``.
            origin: Author; a user by default.
            name: Name by which a group that was not finished is continued under its number.
        """
        from commonplace.history.groups import ChangeGroup

        return ChangeGroup(self._notes, change=change, origin=origin, name=name)

    def undo(self, version_id: int, *, origin: Origin | None = None) -> Version:
        """Take a change back where nothing later touched the same lines; see `write`.

        What undoes a change is a change itself, which can be undone.

        Args:
            version_id: `Version.id`; that of a change group takes all of it back.
            origin: Author; a user by default.

        Raises:
            ConflictError: A later change touched the same lines; nothing was changed.
            ValueError: There is no such version.
        """
        if not isinstance(version_id, int) or isinstance(version_id, bool):
            shown = brief.repr(version_id)
            raise TypeError(f"version_id is {shown}; a number was expected, such as Version.id.")
        if abs(version_id) > _MAX_VERSION:
            shown = brief.repr(version_id)
            raise ValueError(f"there is no version {shown}; 'history' lists all of them.")
        return self._notes.undo(version_id, origin=origin)

    # -- prompts ---------------------------------------------------------------------------------

    def startup_context(self, *, private: bool = True, max_chars: int | None = None) -> str:
        """Return MEMORY.md, USER.md and the logs of yesterday and today, within a budget.

        Args:
            private: Whether MEMORY.md and USER.md are included; not where others read along.
            max_chars: Budget where there is less room than in the settings; logs give way first.
        """
        today = self._local_now().date()
        days = [today - timedelta(days=1), today]
        logs = [file for day in days if (file := self._context_file(log_path(day), private))]
        names = self.workspace.long_term_names() if private else ()
        long_term = self._context_file(names[0], private) if names else None
        user = self._context_file(USER_NAME, private) if USER_NAME in names else None
        budget = self.settings.context
        return startup_context(
            long_term, user=user, logs=logs, settings=budget, max_chars=max_chars
        )

    def recall_instructions(
        self,
        *,
        tools: Collection[str] = ("memory_search", "memory_get"),
        citations: Literal["auto", "on", "off"] = "auto",
    ) -> str:
        """Return the guidance on recalling the memory, for a system prompt."""
        return recall_instructions(tools=tools, citations=citations)

    def _context_file(self, path: str, private: bool) -> ContextFile | None:
        try:
            if not private and is_private(self.workspace, path):
                return None
            excerpt = self.get(path)
        except WorkspaceError:
            return None
        if excerpt.status != "ok" or is_expired(excerpt.metadata, self._local_now()):
            return None
        text = without_lines(excerpt.text, excerpt.from_line, excerpt.untrusted)
        return ContextFile(path, text, len(excerpt.untrusted))

    # -- time ------------------------------------------------------------------------------------

    def now(self) -> datetime:
        """Return the time, in the zone whose days the logs are."""
        return self._local_now()

    @property
    def _zone(self) -> ZoneInfo | None:
        return ZoneInfo(self.settings.timezone) if self.settings.timezone else None

    def _local_now(self) -> datetime:
        return self._now().astimezone(self._zone)

    def _day(self, when: date | datetime | str | None) -> date:
        if when is None:
            return self._local_now().date()
        if isinstance(when, datetime):
            if when.tzinfo is None:
                raise ValueError(
                    f"when is {when!r}, a time without a zone; give a date or an aware datetime."
                )
            return when.astimezone(self._zone).date()
        if isinstance(when, date):
            return when
        return parse_day(when, name="when", timezone=self._local_now().tzinfo)


def _state_location(
    index: str | os.PathLike[str], store: Store, root: Path, settings: Settings
) -> StateLocation:
    """Return where the state of a workspace is: beside its index file, or in the state folder."""
    from commonplace.store.registry import default_index_path, sqlite_path

    file = sqlite_path(index)
    path = file or default_index_path(root)
    prefix = "" if path.stem == "index" else f"{path.stem}."  # indexes may share a folder
    return StateLocation(
        database=path.with_name("state.sqlite"),
        history=path.with_name(f"{prefix}history.sqlite"),
        sessions=sessions_path(settings, root=root, index_path=path),
        owner=file.name if file else store.location,
        is_by_path=path == default_index_path(root),
    )


def _file_state(path: Path) -> tuple[object, ...] | None:
    """Return what changes with each write to a database file; None if it does not exist."""
    found = []
    for name in (path, f"{path}-wal"):
        try:
            info = os.stat(name)
        except OSError:
            break  # without the file, there is no log of it either
        found.append((name, info.st_ino, info.st_size, info.st_mtime_ns))
    return tuple(found) or None


def _note_paths(workspace: Workspace) -> list[str]:
    return [file.path for file in workspace.scan().files if file.source == "memory"]


def _text_in(workspace: Workspace, path: str) -> str:
    """Return a note's text; empty where it cannot be read."""
    try:
        return workspace.read(path).text
    except (OSError, UnreadableFileError, PathNotAllowedError):
        return ""


def _index_written(index: IndexService, paths: Sequence[str]) -> None:
    with contextlib.suppress(CommonplaceError):  # the note is safe; the index follows later
        index.index_files(paths)


def _notes_holding(index: IndexService, line: str) -> set[str]:
    from commonplace.history.occurrences import notes_holding

    with index.leased():
        return notes_holding(index.store, line)


def rerank_client(reranker: Reranker | Any | None) -> RerankClient | None:
    """Return the client of a reranker as `Memory.open` takes it."""
    if reranker is None:
        return None
    from commonplace.retrieval.rerank import RerankClient

    return RerankClient(reranker)


def _visible(
    snapshot: Snapshot, patterns: tuple[str, ...] | None, hidden: frozenset[str], now: datetime
) -> Snapshot:
    """Return the snapshot with the files that patterns select, not hidden and not expired."""
    hidden |= snapshot.expired(int(now.timestamp() * 1000))
    if patterns is None and not hidden:
        return snapshot
    return snapshot.within(FileFilter(patterns, hidden))


def _with_metadata(results: list[SearchResult], snapshot: Snapshot) -> list[SearchResult]:
    """Return results with the front matter of their files."""
    found = snapshot.metadata({result.path for result in results})
    try:
        return [
            replace(each, metadata=json.loads(found[each.path])) if each.path in found else each
            for each in results
        ]
    except ValueError as error:
        raise StoreError(
            f"the front matter in the index is damaged ({error}); 'commonplace verify --repair' "
            "takes it from the notes."
        ) from error


def utc_now() -> datetime:
    """Return the time."""
    return datetime.now(UTC)


def excerpt_of(path: str, text: str, start: int, lines: int | None) -> Excerpt:
    """Return some lines of a text, from a line on."""
    parts = text.split("\n")
    total = len(parts) - (parts[-1] == "")
    end = len(parts) if lines is None else min(len(parts), start - 1 + max(1, lines))
    shown = max(0, min(end, total) - (start - 1))
    more = bool(shown) and end < total
    return Excerpt(
        path=path,
        text="\n".join(parts[start - 1 : end]),
        from_line=start,
        lines=shown,
        truncated=more,
        next_from=end + 1 if more else None,
    )
