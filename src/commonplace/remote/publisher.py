"""Publisher: what the host with the folder puts beside the index, for hosts without the folder."""

from __future__ import annotations

import contextlib
import functools
import logging
import time
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

from commonplace.errors import CommonplaceError, PathNotAllowedError
from commonplace.history.shared_origins import exported_origins, merge_origins
from commonplace.history.versions import content_hash
from commonplace.indexing.document_reader import text_hash
from commonplace.remote.history_publisher import HistoryPublisher
from commonplace.remote.inbox import InboxApplier
from commonplace.store.hosts import hosts_of
from commonplace.store.publication import (
    InboxState,
    InboxStep,
    Publication,
    PublishedNote,
)
from commonplace.transcripts.rendering import render_lines
from commonplace.workspace.file_text import UnreadableFileError, decode_text

if TYPE_CHECKING:
    from commonplace.history.database import HistoryFile
    from commonplace.history.mutations import Mutator
    from commonplace.history.service import NoteService
    from commonplace.profiles import Profile
    from commonplace.store.base import Store
    from commonplace.types import Source
    from commonplace.workspace.discovery import Workspace

__all__ = ["Publisher"]

logger = logging.getLogger(__name__)

_BATCH_BYTES = 8 * 1024 * 1024
"""Bytes of notes that are published in one transaction."""
_SETTLE_POLL_S = 0.1
_TURN_S = 3600.0
"""Seconds to wait for another process that applies the inbox, before a rebuild is swapped in."""


class Publisher:
    """Publisher of one memory: its notes, their versions, and what the inbox changes in the folder.

    Args:
        store: The index.
        publication: What is published beside it.
        notes: The notes.
        mutator: Changes them.
        workspace: The folder.
        profile: Rules by which session files are read.
        index_files: Brings the index up to date with some files.
        purge: Removes the indexes of old texts.
    """

    def __init__(
        self,
        store: Store,
        publication: Publication,
        notes: NoteService,
        mutator: Mutator,
        workspace: Workspace,
        *,
        profile: Profile,
        index_files: Callable[[Sequence[str]], object],
        purge: Callable[[], object],
    ) -> None:
        self._store = store
        self._publication = publication
        self._workspace = workspace
        self._profile = profile
        self._index_files = index_files
        self._history: HistoryFile = notes.log.file
        self._applier = InboxApplier(store, publication, notes, mutator)
        self._ledger = mutator.ledger
        self._ledger_changes: int | None = None
        """Changes of the ledger up to which origins are published; None where not known."""
        self._origins = 0
        """Number of the origins that were met last."""
        self._versions = HistoryPublisher(
            *(store, publication, self._history),
            folder=str(workspace.root),
            read=functools.partial(_data_of, notes),
            purge=purge,
        )

    # -- inbox -----------------------------------------------------------------------------------

    def state(self) -> InboxState:
        """Return the state of the inbox."""
        return self._publication.inbox()

    def waits(self) -> bool:
        """Return whether a change waits to be made here; by the leader, where one leads."""
        if not (self._is_begun() and self._publication.inbox().waiting):
            return False
        hosts = hosts_of(self._store)
        return hosts is None or not hosts.is_led_by_another()

    def apply_inbox(self) -> int:
        """Make the changes of hosts without the folder in the folder, and index them.

        Returns:
            The number of notes that were concerned.

        Raises:
            StoreError: The inbox cannot be read or written.
        """
        if not self.waits():
            return 0
        changed = self._applier.apply()
        if changed:
            self._index_files([path for path in changed if self._is_allowed(path)])
            self._versions.publish()
        return len(changed)

    def _is_allowed(self, path: str) -> bool:
        """Return whether a path of a change can be indexed; that of a refused one may not."""
        try:
            self._workspace.locate(path)
        except PathNotAllowedError:
            return False
        return True

    def before_run(self) -> None:
        """Apply the inbox at the beginning of an index run, which indexes what it changed.

        The run publishes the origins that this history has: it learns those of others before. What
        is being forgotten here is published last.
        """
        if self._is_begun() and not self._history.is_forgetting:
            self.refresh_origins()
        if self.waits():
            self._applier.apply()
            self._versions.publish()

    def settle(self, *, timeout_s: float) -> bool:
        """Make the changes that wait now in the folder, or wait until the leader has made them.

        Returns:
            Whether none of them waits; what was submitted meanwhile may.

        Raises:
            StoreError: The inbox cannot be read or written.
        """
        waiting = self._publication.waiting() if self._is_begun() else []
        if self._is_begun() and not self._history.is_forgetting:
            self.refresh_origins()
        deadline = time.monotonic() + timeout_s
        while waiting:
            last = waiting[-1].id
            if self._store.access != "read-only":
                self.before_run()
            waiting = [one for one in self._publication.waiting() if one.id <= last]
            if waiting:
                if time.monotonic() > deadline:
                    return False
                time.sleep(_SETTLE_POLL_S)
        return True

    @contextlib.contextmanager
    def caught_up(self, *, check: Callable[[], object]) -> Iterator[None]:
        """Apply the inbox, and keep every process from applying more while the block runs.

        Raises:
            IndexBusyError: Another process applies it for longer than an hour.
        """
        self.before_run()
        with self._store.lease("inbox", timeout_s=_TURN_S, check=check):
            yield

    def refresh_origins(self) -> None:
        """Learn the origins of lines that other hosts wrote.

        The index has them already: without their origins, they would pass for the user's.
        """
        number = self._publication.numbers().origins
        if number == self._origins:
            return
        found = self._publication.origins_since(self._origins)
        held = exported_origins(self._history, found)
        new = {
            path: origins
            for path, origins in found.items()
            if origins is not None and origins != held.get(path)
        }
        if new:
            with self._history.transaction() as connection:
                for path, origins in new.items():
                    merge_origins(self._ledger, connection, path, origins)
        self._origins = number

    # -- notes and versions ----------------------------------------------------------------------

    def after_run(self) -> None:
        """Publish, at the end of an index run, what the database does not hold as the folder does.

        What fails is logged, and done by the next run.
        """
        if self._store.access == "read-only":
            return
        with _reported():
            if self._is_begun():
                self._versions.reconcile()
                self._publish_notes()
                self._publish_origins()

    def publish_forgetting(self) -> None:
        """Publish what a forgetting has left, and have other hosts' histories keep no more.

        Raises:
            StoreError: The index cannot be written.
        """
        if self._is_begun():
            self._publish_notes()
            self._publish_origins()
            self._versions.publish_forgetting()

    def other_histories(self) -> list[str]:
        """Return the hosts that have the folder and a history of their own, for people."""
        return self._versions.others() if self._is_begun() else []

    def forget(self, is_forgotten: Callable[[str], bool]) -> None:
        """Remove changes that were refused and hold a line that is forgotten."""
        if not self._is_begun() or self._store.access == "read-only":
            return
        for change in self._publication.refused():
            texts = [text for step in change.steps for text in _texts_of(step)]
            if any(is_forgotten(decode_text(text)[0]) for text in texts):
                self._publication.acknowledge(change)

    def after_change(self) -> None:
        """Publish the versions of a change that this host made, and apply what waits."""
        if not self._is_begun() or self._store.access == "read-only":
            return
        with _reported():
            self.apply_inbox()
            self._versions.publish()

    def _is_begun(self) -> bool:
        return self._store.cached_identity is not None or self._store.exists()

    def _publish_notes(self) -> None:
        """Publish the files that the index has, and that are not published as they are."""
        lacking = self._publication.lacking()
        if not lacking:
            return
        with self._store.snapshot() as snapshot:
            hashes = {
                path: record.hash for path, record in snapshot.files().items() if path in lacking
            }
        batch: list[PublishedNote] = []
        for path, source in lacking.items():
            if (note := self._note(path, source, hashes.get(path))) is not None:
                batch.append(note)
            if sum(len(one.data) for one in batch) > _BATCH_BYTES:
                self._publication.put_notes(batch)
                batch = []
        if batch:
            self._publication.put_notes(batch)

    def _note(self, path: str, source: Source, indexed: str | None) -> PublishedNote | None:
        """Read a file as it is published; None where it cannot be read, which the run reports."""
        if indexed is None:
            return None
        try:
            if source == "sessions":
                place = self._workspace.locate(path)
                text = render_lines(place, self._profile.transcripts, from_line=1) or ""
                data = text.encode("utf-8", "replace")
            else:
                read = self._workspace.read(path)
                if text_hash(read.text) != indexed:
                    return None  # the index has another text: what writes it, publishes it
                data = read.data
        except (OSError, UnreadableFileError, CommonplaceError):
            return None
        origins = exported_origins(self._history, [path]).get(path)
        return PublishedNote(path, source, data, content_hash(data), indexed, origins)

    def _publish_origins(self) -> None:
        """Publish origins that changed without their notes, as where damage was mended."""
        rows = self._history.rows("SELECT changes FROM ledger_sum")
        if not rows or rows[0][0] == self._ledger_changes or not self._ledger.is_sound():
            return
        published = self._publication.origins_since(0)
        noted = self._history.rows(
            "SELECT path FROM note WHERE id IN (SELECT note FROM line_origin)"
        )
        held = exported_origins(self._history, [path for (path,) in noted])
        paths = [path for path in {*published, *held} if published.get(path) != held.get(path)]
        if paths:
            self._publication.put_origins({path: held.get(path) for path in paths})
        self._ledger_changes = rows[0][0]


def _data_of(notes: NoteService, path: str) -> bytes | None:
    with contextlib.suppress(PathNotAllowedError):
        read = notes.read(path)
        return None if read is None else read.data
    return None


def _texts_of(step: InboxStep) -> tuple[bytes, ...]:
    """Return the texts that a step holds; an append's with the mark of its encoding."""
    before, data = step.before or b"", step.data or b""
    return (before + data,) if step.kind == "append" else (before, data)


@contextlib.contextmanager
def _reported() -> Iterator[Any]:
    try:
        yield
    except CommonplaceError as error:
        logger.warning("what hosts without the folder read could not be published: %s", error)
