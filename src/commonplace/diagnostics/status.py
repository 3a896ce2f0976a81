"""Status of a memory: what is indexed, what is out of date, and what needs attention."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from commonplace.diagnostics.probe import probe
from commonplace.embeddings.client import EmbeddingClient
from commonplace.embeddings.registry import Selection
from commonplace.errors import EmbedderError
from commonplace.indexing.background.supervisor import BackgroundSupervisor
from commonplace.indexing.document_reader import text_hash
from commonplace.indexing.service import IndexService
from commonplace.qmd.backend import QmdHealth
from commonplace.store.hosts import Hosts, hosts_of
from commonplace.store.publication import InboxState
from commonplace.store.records import FileRecord, IndexIdentity
from commonplace.types import ServerStatus, Status
from commonplace.workspace.discovery import Workspace
from commonplace.workspace.file_text import UnreadableFileError, read_text

__all__ = ["memory_status"]


def memory_status(
    index: IndexService,
    workspace: Workspace,
    background: BackgroundSupervisor,
    *,
    state: Path,
    deep: bool,
    qmd: QmdHealth | None = None,
    inbox: InboxState | None = None,
) -> Status:
    """Compare the disk with the index and describe both.

    Args:
        index: The index and its embedder.
        workspace: The files.
        background: The background runs.
        state: The state database.
        deep: Also probe each part.
        qmd: State of QMD, where it is the search backend.
        inbox: State of the inbox of hosts without the folder, where the engine has one.
    """
    store = index.store
    identity = store.identity
    selection = _selection(index, identity)
    client = selection.client
    with store.snapshot() as snapshot:
        totals = snapshot.totals()
        known = snapshot.files()
    stale, problems = _stale(index, client)
    hosts = hosts_of(store)
    return Status(
        files=totals.files,
        chunks=totals.chunks,
        provider=client.name.provider if client else None,
        model=client.name.model if client else None,
        dimension=_dimension(index, identity, client),
        vector_engine=store.engines["vectors"],
        keyword_engine=store.engines["words"],
        stale=stale,
        warnings=(
            *index.warnings,
            *([qmd.warning] if qmd is not None and qmd.warning else []),
            *_warnings(index, selection, workspace, known, problems),
            *_damaged(state),
            *_refused(inbox),
        ),
        workspace=str(workspace.root),
        index_location=store.location,
        details={
            "embedder": selection.reason,
            **({} if qmd is None else {"qmd": qmd.summary}),
            **({} if inbox is None else {"inbox": _waiting(inbox)}),
            **dict(_activity(index, background)),
            **(probe(index, state=state) if deep else {}),
        },
        server=None if hosts is None else _server(hosts, inbox),
    )


def _selection(index: IndexService, identity: IndexIdentity | None) -> Selection:
    """Return the selected embedder; where the one that was named is not available, the reason."""
    try:
        return index.selector.select(identity)
    except EmbedderError as error:
        return Selection(None, str(error).rstrip("."))


def _dimension(
    index: IndexService, identity: IndexIdentity | None, client: EmbeddingClient | None
) -> int | None:
    if client is not None and index.selector.mismatch(client, identity) is not None:
        return client.dimension  # the index holds vectors of another model
    held = identity.dimension if identity else None
    return held or (client.dimension if client else None)


def _stale(
    index: IndexService, client: EmbeddingClient | None
) -> tuple[tuple[tuple[str, str], ...], tuple[tuple[str, str], ...]]:
    plan, problems = index.runner.plan(client)
    stale = [
        (file.path, why)
        for file, record, why in plan.read
        if record is None
        or file.source == "sessions"  # the plan has compared its text
        or not _is_same(file.absolute, record)
        or record.pending == why
    ]
    gone = ((record.path, "gone from the disk") for record in plan.removed)
    return (*stale, *plan.waiting, *gone), problems


def _is_same(path: Path, record: FileRecord) -> bool:
    """Return whether a file whose time has changed still holds the indexed text."""
    try:
        return text_hash(read_text(path).text) == record.hash
    except (OSError, UnreadableFileError):
        return False


def _warnings(
    index: IndexService,
    selection: Selection,
    workspace: Workspace,
    known: dict[str, FileRecord],
    problems: tuple[tuple[str, str], ...],
) -> Iterator[str]:
    if selection.client is None:
        yield f"Search is by keywords only: {selection.reason}."
    yield from _index_warnings(index, selection.client)
    for given in workspace.missing_extra_paths:
        yield f"The extra path {given} is not there; create it or drop the setting."
    for path, reason in problems:
        yield f"{path} could not be looked at ({reason}); what was indexed of it stays."
    for path, record in known.items():
        if record.note:
            yield f"{path}: {record.note}."


def _damaged(state: Path) -> Iterator[str]:
    """Yield where what was damaged of the state and of the history is kept."""
    for kind in ("state", "history"):
        for path in sorted(state.parent.glob(f"*{kind}.sqlite.damaged-*")):
            yield (
                f"The {kind} was damaged: {path} is what was found. What could be read of it is "
                "used; delete the file when nothing else in it is needed."
            )


def _server(hosts: Hosts, inbox: InboxState | None) -> ServerStatus:
    found = hosts.status()
    if inbox is None:
        return found
    return replace(found, waiting=inbox.waiting, waiting_since=inbox.since)


def _waiting(inbox: InboxState) -> str:
    """Return how many changes of hosts without the folder wait, and since when."""
    if inbox.since is None:
        return "empty: the folder has every change"
    since = inbox.since.astimezone().isoformat(sep=" ", timespec="seconds")
    changes = f"{inbox.waiting} changes wait" if inbox.waiting > 1 else "1 change waits"
    return f"{changes} for the host with the folder, since {since}"


def _refused(inbox: InboxState | None) -> Iterator[str]:
    """Yield the changes of hosts without the folder that could not be made there."""
    for path, reason in inbox.refused if inbox is not None else ():
        yield f"A change of {path} by a host without the folder was refused: {reason}"


def _index_warnings(index: IndexService, client: EmbeddingClient | None) -> Iterator[str]:
    store = index.store
    if not store.complete:
        yield "This workspace was never completely indexed: run 'commonplace index'."
    elif not _fits(index):
        yield (
            "The index was built with other settings or another embedder: run 'commonplace index' "
            "to rebuild it."
        )
    elif client is not None and (reason := index.selector.query_client(store.identity)[1]):
        yield f"Search is by keywords only: {reason}."
    if store.access == "read-only":
        yield f"The index {store.location} cannot be written; it answers as it is."


def _fits(index: IndexService) -> bool:
    """Return whether the index needs no rebuild, as with an embedder that is not available."""
    try:
        return index.runner.fits()
    except EmbedderError:
        return True


def _activity(index: IndexService, background: BackgroundSupervisor) -> Iterator[tuple[str, str]]:
    """Yield what is running at this moment."""
    scheduler, watcher = background.scheduler, background.watcher
    if scheduler.running:
        yield "indexing", f"now, in the background ({', '.join(scheduler.running)})"
    elif holder := index.store.lease_holder():
        yield "indexing", f"now, by {holder}"
    if watcher is not None:
        yield "watching", "in part" if watcher.problem else "yes"
