"""A look at an index: what is in it, what is out of date, and what is not as it should be."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from commonplace.diagnostics.probe import probe
from commonplace.embeddings.client import EmbeddingClient
from commonplace.embeddings.registry import Selection
from commonplace.errors import EmbedderError
from commonplace.indexing.background.supervisor import BackgroundSupervisor
from commonplace.indexing.document_reader import text_hash
from commonplace.indexing.embedder_selector import EmbedderSelector
from commonplace.indexing.service import IndexService
from commonplace.store.base import FileRecord, IndexIdentity
from commonplace.types import Status
from commonplace.workspace.discovery import Workspace
from commonplace.workspace.file_text import UnreadableFileError, read_text

__all__ = ["inspect"]


def inspect(
    keeper: IndexService, workspace: Workspace, background: BackgroundSupervisor, *, deep: bool
) -> Status:
    """Compare the disk with the index and describe both; `deep` also tries each part."""
    store, choice = keeper.store, _choice(keeper)
    encoder = choice.client
    identity = store.identity
    with store.snapshot() as snapshot:
        totals = snapshot.totals()
        known = snapshot.files()
    stale, problems = _stale(keeper, encoder)
    return Status(
        files=totals.files,
        chunks=totals.chunks,
        provider=encoder.name.provider if encoder else None,
        model=encoder.name.model if encoder else None,
        dimension=_dimension(identity, encoder),
        vector_engine=store.engines["vectors"],
        keyword_engine=store.engines["words"],
        stale=stale,
        warnings=(*background.warnings, *_warnings(keeper, choice, workspace, known, problems)),
        workspace=str(workspace.root),
        index_path=str(keeper.path),
        details={
            "embedder": choice.reason,
            **dict(_background(keeper, background)),
            **(probe(keeper) if deep else {}),
        },
    )


def _choice(keeper: IndexService) -> Selection:
    """The embedder in use; none, and why, where the one that was named cannot be had."""
    try:
        return keeper.choice
    except EmbedderError as error:
        return Selection(None, str(error).rstrip("."))


def _dimension(identity: IndexIdentity | None, encoder: EmbeddingClient | None) -> int | None:
    if encoder is not None and EmbedderSelector.why_not(encoder, identity) is not None:
        return encoder.dimension  # the index holds another one's vectors
    held = identity.dimension if identity else None
    return held or (encoder.dimension if encoder else None)


def _stale(
    keeper: IndexService, encoder: EmbeddingClient | None
) -> tuple[tuple[tuple[str, str], ...], tuple[tuple[str, str], ...]]:
    plan, problems = keeper.plan(encoder)
    stale = [
        (file.path, why)
        for file, record, why in plan.read
        if record is None
        or file.source == "sessions"  # the plan has looked into it
        or not _is_same(file.absolute, record)
        or record.pending == why
    ]
    gone = ((path, "gone from the disk") for path in plan.removed)
    return (*stale, *plan.waiting, *gone), problems


def _is_same(path: Path, record: FileRecord) -> bool:
    """Tell whether a file whose time has changed still holds what was indexed."""
    try:
        return text_hash(read_text(path).text) == record.hash
    except (OSError, UnreadableFileError):
        return False


def _warnings(
    keeper: IndexService,
    choice: Selection,
    workspace: Workspace,
    known: dict[str, FileRecord],
    problems: tuple[tuple[str, str], ...],
) -> Iterator[str]:
    if choice.client is None:
        yield f"Search is by keywords only: {choice.reason}."
    yield from _warnings_of_the_index(keeper, choice.client)
    for given in workspace.missing_extra_paths:
        yield f"The extra path {given} is not there; create it or drop the setting."
    for path, reason in problems:
        yield f"{path} could not be looked at ({reason}); what was indexed of it stays."
    for path, record in known.items():
        if record.note:
            yield f"{path}: {record.note}."


def _warnings_of_the_index(keeper: IndexService, encoder: EmbeddingClient | None) -> Iterator[str]:
    if not keeper.store.complete:
        yield "This workspace was never completely indexed: run 'commonplace index'."
    elif not _fits(keeper):
        yield (
            "The index was built with other settings or another embedder: run 'commonplace index' "
            "to rebuild it."
        )
    elif encoder is not None and (reason := keeper.why_no_vectors(keeper.store.identity)):
        yield f"Search is by keywords only: {reason}."
    if not keeper.store.writable:
        yield f"The index {keeper.path} cannot be written; it answers as it is."


def _fits(keeper: IndexService) -> bool:
    """Tell whether the index goes on as it is; that of an embedder that cannot be had does."""
    try:
        return keeper.fits
    except EmbedderError:
        return True


def _background(
    keeper: IndexService, background: BackgroundSupervisor
) -> Iterator[tuple[str, str]]:
    """Tell what is going on at this moment."""
    scheduler, watcher = background.scheduler, background.watcher
    if scheduler.running:
        yield "indexing", f"now, in the background ({', '.join(scheduler.running)})"
    elif runner := keeper.handle.runner():
        yield "indexing", f"now, by process {runner}"
    if watcher is not None:
        yield "watching", "in part" if watcher.problem else "yes"
