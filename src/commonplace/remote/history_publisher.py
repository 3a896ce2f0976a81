"""History publisher: the versions of the folder's host, and what several such hosts forget.

Hosts that serve one memory may each have a history of their own, and publish it in turns. Once one
of them has forgotten something, the others publish nothing until they keep no more of the past than
what it has published then.
"""

from __future__ import annotations

import socket
import uuid
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

from commonplace.errors import StoreError
from commonplace.history.known_texts import keep_known
from commonplace.remote.replica import HistoryReplica
from commonplace.store.publication import PublishedHistory, PublishedVersion, VersionSums
from commonplace.system.salvage import damaged_copies

if TYPE_CHECKING:
    from commonplace.history.database import HistoryFile
    from commonplace.store.base import Store
    from commonplace.store.publication import Publication

__all__ = ["HistoryPublisher"]

_BATCH = 5_000
_TRIES = 5
"""Times that a history is published again because another host published its own meanwhile."""
_SETTLED = "batch NOT IN (SELECT version FROM pending WHERE NOT done)"
_ROWS = f"""SELECT version.id, batch, change_group.id, note.path, moved.path, at, change, author,
        session, tool, size, hash, base, body
    FROM version JOIN note ON note.id = version.note
    LEFT JOIN change_group ON change_group.version = version.id
    LEFT JOIN note AS moved ON moved.id = version.moved_from
    LEFT JOIN origin ON origin.id = version.origin
    WHERE {_SETTLED} AND version.id > ? ORDER BY version.id LIMIT {_BATCH}"""
_SUMS = f"""SELECT count(*), coalesce(max(id), 0), coalesce(sum(base), 0), coalesce(sum(size), 0),
    coalesce(sum(length(body)), 0) FROM version WHERE {_SETTLED}"""
_MARKS = f"SELECT id, hash, base, coalesce(length(body), 0) FROM version WHERE {_SETTLED}"


class HistoryPublisher:
    """Publisher of one history.

    Args:
        store: The index.
        publication: What is published beside it.
        history: The history file.
        folder: The folder, for people.
        read: Returns the bytes of a note; None where there is none.
        purge: Removes the indexes of old texts.
    """

    def __init__(
        self,
        store: Store,
        publication: Publication,
        history: HistoryFile,
        *,
        folder: str,
        read: Callable[[str], bytes | None],
        purge: Callable[[], object],
    ) -> None:
        self._location = store.location
        self._publication = publication
        self._history = history
        self._name = f"{folder} on {socket.gethostname()}"
        self._read = read
        self._purge = purge
        self._last: int | None = None
        """Row of the last version that is published; None where that is not known."""
        self._noted: PublishedHistory | None = None
        """What the database has of this history, as far as is known."""

    def publish(self) -> None:
        """Publish the versions that came since the last ones."""
        own = self._followed()
        if self._last is None:
            self._reconcile(own)
            return
        while rows := self._history.rows(_ROWS, (self._last,)):
            versions = [PublishedVersion(*row) for row in rows]
            self._publication.put_versions(versions, forgets=own.forgets)
            self._last = int(rows[-1][0])

    def reconcile(self) -> None:
        """Make the published versions those of the history: some may be gone, or rewritten."""
        self._reconcile(self._followed())

    def publish_forgetting(self) -> None:
        """Publish what a forgetting has left, and have other histories keep no more.

        Raises:
            StoreError: Another host publishes its own history over and over.
        """
        for _ in range(_TRIES):
            own = self._followed()
            sums = self._reconcile(own)
            number = self._publication.count_forgetting(sums)
            if number is not None:
                self._note(own._replace(forgets=number))
                return
        raise StoreError(
            f"another host publishes its history at {self._location} over and over; what was "
            "forgotten is published by the next open of this memory."
        )

    def others(self) -> list[str]:
        """Return the hosts with other histories that have not followed the last forgetting."""
        last = self._publication.numbers().forgets
        own = self._own(last)
        return [
            one.host
            for one in self._publication.histories()
            if one.key != own.key and one.forgets < last
        ]

    # -- versions --------------------------------------------------------------------------------

    def _reconcile(self, own: PublishedHistory) -> VersionSums:
        ((*found,),) = self._history.rows(_SUMS) or [VersionSums()]
        wanted = VersionSums(*found)
        if self._publication.version_sums() != wanted:
            held = dict(self._publication.version_marks())
            marks = {row: tuple(mark) for row, *mark in self._history.rows(_MARKS)}
            removed = [row for row in held if row not in marks]
            changed = {row for row, mark in marks.items() if held.get(row) != mark}
            for rows in self._batches():
                some = [version for version in rows if version.id in changed]
                if some or removed:
                    self._publication.put_versions(some, removed=removed, forgets=own.forgets)
                    removed = []
            if removed:
                self._publication.put_versions((), removed=removed, forgets=own.forgets)
        self._last = wanted.last
        return wanted

    def _batches(self) -> Iterator[list[PublishedVersion]]:
        last = 0
        while rows := self._history.rows(_ROWS, (last,)):
            yield [PublishedVersion(*row) for row in rows]
            last = int(rows[-1][0])

    # -- what other hosts have forgotten ---------------------------------------------------------

    def _own(self, last: int) -> PublishedHistory:
        """Return this history as the history file knows it.

        One that was not published here before keeps its past: nothing of it was forgotten here.

        Args:
            last: Number of the last forgetting.
        """
        rows = self._history.rows("SELECT location, key, forgets FROM published")
        forgets = {location: number for location, _, number in rows}.get(self._location, last)
        key = rows[0][1] if rows else uuid.uuid4().hex
        return PublishedHistory(key, self._name, forgets)

    def _followed(self) -> PublishedHistory:
        """Follow what another host has forgotten since, and return this history."""
        number = self._publication.numbers().forgets
        own = self._own(number)
        if own.forgets < number:
            self._follow()
            self._last = None
            own = own._replace(forgets=number)
            self._note(own)
        elif own != self._noted:
            self._note(own)
        return own

    def _follow(self) -> None:
        """Keep no more of the past than what is published."""
        if not self._history.rows("SELECT 1 FROM version LIMIT 1"):
            return
        known = HistoryReplica(self._publication).known_texts()
        with self._history.transaction() as connection:
            keep_known(connection, known, read=self._read)
        self._purge()
        for copy in damaged_copies(self._history):
            copy.unlink(missing_ok=True)
        if not self._history.overwrite_free_pages():
            with self._history.transaction() as connection:  # the next open tries again
                connection.execute("INSERT INTO forgetting (plan) VALUES ('')")

    def _note(self, own: PublishedHistory) -> None:
        """Note how far this history has followed, here and in the database."""
        with self._history.transaction() as connection:
            row = self._location, own.key, own.forgets
            connection.execute("INSERT OR REPLACE INTO published VALUES (?, ?, ?)", row)
        self._publication.note_history(own)
        self._noted = own
