"""Published files: what is indexed, with the notes that hosts without the folder read."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from dataclasses import replace
from typing import TYPE_CHECKING, Protocol

from commonplace.store.publication import PublishedNote
from commonplace.workspace.file_text import digest_of, joined

if TYPE_CHECKING:
    from commonplace.indexing.document_reader import TextRecorder
    from commonplace.indexing.read_document import ReadDocument
    from commonplace.store.records import IndexedFile

__all__ = ["NoPublisher", "RunPublisher", "with_notes"]


class RunPublisher(Protocol):
    """What makes a run known to hosts without the folder; see `commonplace.remote.publisher`."""

    def waits(self) -> bool:
        """Return whether a change of such a host waits to be made in the folder."""

    def before_run(self) -> None:
        """Make those changes in the folder; the run then indexes it."""

    def settle(self, *, timeout_s: float) -> bool:
        """Make the changes that wait now, or wait until the leader has; return whether it is so."""

    def caught_up(self, *, check: Callable[[], object]) -> AbstractContextManager[None]:
        """Make those changes, and keep every process from making more while the block runs.

        Args:
            check: Called while another process makes them; what it raises ends the wait.
        """

    def after_run(self) -> None:
        """Publish notes and versions."""

    def after_change(self) -> None:
        """Publish a change that was indexed by itself."""

    def publish_forgetting(self) -> None:
        """Publish what a forgetting has left, and have other hosts' histories keep no more.

        Raises:
            StoreError: The index cannot be written.
        """

    def other_histories(self) -> list[str]:
        """Return the hosts that have the folder and a history of their own, for people."""

    def forget(self, is_forgotten: Callable[[str], bool]) -> None:
        """Remove changes that were refused and hold a line that is forgotten."""


class NoPublisher:
    """Publisher of an engine that publishes nothing."""

    def waits(self) -> bool:
        """Return that nothing waits."""
        return False

    def before_run(self) -> None:
        """Do nothing."""

    def settle(self, *, timeout_s: float) -> bool:
        """Return that nothing waits."""
        return True

    def caught_up(self, *, check: Callable[[], object]) -> AbstractContextManager[None]:
        """Do nothing."""
        return contextlib.nullcontext()

    def after_run(self) -> None:
        """Do nothing."""

    def after_change(self) -> None:
        """Do nothing."""

    def publish_forgetting(self) -> None:
        """Do nothing."""

    def other_histories(self) -> list[str]:
        """Return none."""
        return []

    def forget(self, is_forgotten: Callable[[str], bool]) -> None:
        """Do nothing."""


def with_notes(
    documents: Sequence[ReadDocument], files: Sequence[IndexedFile], recorder: TextRecorder
) -> list[IndexedFile]:
    """Return the rows of documents with their notes, for a store that publishes them.

    Args:
        documents: What was read.
        files: The rows of each of them.
        recorder: Knows the origins of the lines.
    """
    found = []
    origins = recorder.exported_origins([file.record.path for file in files])
    for document, file in zip(documents, files, strict=True):
        record, data = file.record, joined(document.data)
        note = PublishedNote(
            *(record.path, record.source, data),
            hash=digest_of(data).hex(),
            indexed=record.hash,
            origins=origins.get(record.path),
        )
        found.append(replace(file, note=note) if data else file)
    return found
