"""Write-ahead journal of flushes: messages are on the disk before a model is asked for notes.

An entry is deleted once its notes are written: delivery is at-least-once, and replays are
idempotent, because a log skips the notes that it holds. An entry also holds the model's replies, so
that a turn resumes at its last round, in the same words. A lease keeps an entry to one flush; it is
a lock of the operating system and ends with the process.
"""

from __future__ import annotations

import contextlib
import logging
import os
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import replace
from datetime import datetime
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any

from commonplace.flush.entries import (
    DAMAGE,
    ENTRY_COLUMNS,
    EntryRow,
    JournalEntry,
    entry_values,
    parse_entry,
    undamaged_columns,
)
from commonplace.flush.leases import OneTimeLeases
from commonplace.flush.messages import Fingerprinter, Fingerprints, message_tokens, new_positions
from commonplace.system.state import StateFile
from commonplace.types import FlushMessage, FlushReason

if TYPE_CHECKING:
    import apsw

    from commonplace.flush.protocol import FlushReply

__all__ = ["MAX_ATTEMPTS", "Journal"]

MAX_ATTEMPTS = 3
"""Failed attempts after which the messages go to a session file. The entry stays: it has as many
more attempts, each after a flush that succeeded, and then those that a user asks for."""

logger = logging.getLogger(__name__)

_HASHES_PER_QUERY = 500
_MARKS_S = 400 * 86_400
"""Age after which the hash of a message is deleted: no conversation is sent again for so long."""
_MAX_MARKS = 400_000
"""Hashes of a workspace, at most, two for each message; the oldest are deleted first."""
_PRUNE_AFTER = 10_000
"""Hashes after which the old ones are looked for again."""


class Journal:
    """Journal of one workspace's flushes.

    Args:
        path: State file, which several workspaces may share; None for a journal in memory.
        workspace: Folder of the workspace.
    """

    def __init__(self, path: Path | None, *, workspace: str) -> None:
        self._file = StateFile(path)
        self._workspace = workspace
        self._leases = OneTimeLeases(path)
        self._unpruned = _PRUNE_AFTER

    @property
    def is_durable(self) -> bool:
        """Whether entries outlive the process."""
        return self._file.path is not None

    @contextlib.contextmanager
    def lease(self) -> Iterator[str]:
        """Hold a lease while the block runs; yield its id, under which entries are claimed.

        Raises:
            StateError: The state folder cannot be written.
        """
        with self._leases.acquire() as lease, self._file.kept_open():
            yield lease

    def new_positions(self, thread: str, messages: Sequence[FlushMessage]) -> list[int]:
        """Return the positions of the messages that are in no entry and never were.

        Raises:
            StateError: The state file cannot be read.
        """
        hashes = Fingerprinter().following(messages)
        return new_positions(messages, hashes, self._known(self._file.rows, thread, hashes))

    def add(
        self,
        thread: str,
        messages: Sequence[FlushMessage],
        *,
        reason: FlushReason,
        moment: datetime,
        split: Callable[[Sequence[FlushMessage]], Iterable[Sequence[FlushMessage]]],
        lease: str,
        merge: bool = False,
        after: Fingerprinter | None = None,
    ) -> list[int]:
        """Commit entries of the new messages under a lease; return their numbers.

        Args:
            thread: Conversation id.
            messages: Messages to flush; known ones are skipped.
            reason: Why they are flushed.
            moment: Time of the flush.
            split: Splits messages into entries.
            lease: Lease of the new entries.
            merge: Whether to merge them with the thread's pending entries of the same day, for one
                turn; entries that a model has seen are left alone.
            after: Fingerprints of the conversation before the messages; none by default.

        Raises:
            StateError: The state file cannot be written; nothing was added.
        """
        with self._file.transaction() as connection:
            hashes = (after or Fingerprinter()).following(messages)
            known = self._known(connection.execute, thread, hashes)
            if known:  # of them, what damage took counts as new
                self._mend_damaged(connection, thread)
                known = self._known(connection.execute, thread, hashes)
            positions = new_positions(messages, hashes, known)
            if not positions:
                return []
            marks = known.union(*(hashes[at] for at in positions))
            self._mark(connection, thread, marks, at=int(moment.timestamp()))
            new = [messages[at] for at in positions]
            if merge:
                new = [*self._take_untouched(connection, thread, moment), *new]
            return [
                self._insert(
                    connection,
                    JournalEntry(0, thread, reason, moment, message_tokens(part), tuple(part)),
                    lease=lease,
                )
                for part in split(new)
            ]

    def _known(
        self, query: Callable[..., Iterable[Any]], thread: str, hashes: Iterable[Fingerprints]
    ) -> set[bytes]:
        """Return those of the fingerprints that the thread's entries had."""
        wanted = list({mark for pair in hashes for mark in pair})
        known: set[bytes] = set()
        for at in range(0, len(wanted), _HASHES_PER_QUERY):
            part = wanted[at : at + _HASHES_PER_QUERY]
            marks = ", ".join("?" * len(part))
            rows = query(
                "SELECT hash FROM flush_marks WHERE workspace = ? AND thread = ?"
                f" AND hash IN ({marks})",
                (self._workspace, thread, *part),
            )
            known.update(row[0] for row in rows)
        return known

    def _mark(
        self, connection: apsw.Connection, thread: str, marks: Collection[bytes], *, at: int
    ) -> None:
        """Write fingerprints with the time of this flush; delete those that none met for long."""
        connection.executemany(
            "INSERT INTO flush_marks (workspace, thread, hash, at) VALUES (?, ?, ?, ?)"
            " ON CONFLICT DO UPDATE SET at = max(at, excluded.at)",
            [(self._workspace, thread, mark, at) for mark in marks],
        )
        self._unpruned += len(marks)
        if self._unpruned < _PRUNE_AFTER:
            return
        self._unpruned = 0
        connection.execute(
            "DELETE FROM flush_marks WHERE workspace = ?1 AND at < max(?2, ifnull((SELECT at FROM"
            " flush_marks WHERE workspace = ?1 ORDER BY at DESC LIMIT 1 OFFSET ?3), ?2))",
            (self._workspace, at - _MARKS_S, _MAX_MARKS),
        )

    def _take_untouched(
        self, connection: apsw.Connection, thread: str, moment: datetime
    ) -> list[FlushMessage]:
        """Delete a thread's entries without lease, reply or attempt; return their messages."""
        rows = connection.execute(
            f"SELECT id, {ENTRY_COLUMNS} FROM flush_entries WHERE workspace = ?"
            " AND thread = ? AND owner IS NULL AND attempts = 0 AND replies = '[]'"
            " AND substr(moment, 1, 10) = ? ORDER BY id",
            (self._workspace, thread, moment.isoformat()[:10]),
        )
        taken: list[FlushMessage] = []
        row: EntryRow
        number: Any
        for number, *row in rows.fetchall():
            with contextlib.suppress(*DAMAGE):  # a damaged one is for `claim`
                taken += parse_entry(number, row).messages
                connection.execute("DELETE FROM flush_entries WHERE id = ?", (number,))
        return taken

    def _insert(self, connection: apsw.Connection, entry: JournalEntry, *, lease: str) -> int:
        values = entry_values(entry, self._workspace) | {"owner": lease}
        connection.execute(
            f"INSERT INTO flush_entries ({', '.join(values)}) VALUES"
            f" ({', '.join('?' * len(values))})",
            tuple(values.values()),
        )
        return connection.last_insert_rowid()

    def _update(self, connection: apsw.Connection, entry: JournalEntry) -> None:
        values = entry_values(entry, self._workspace)
        connection.execute(
            f"UPDATE flush_entries SET {', '.join(f'{name} = ?' for name in values)} WHERE id = ?",
            (*values.values(), entry.id),
        )

    def pending(self, *, thread: str | None = None, attempts: int | None = None) -> list[int]:
        """Return the numbers of entries, leased ones included: oldest first.

        Those that failed for good, once or more often, come last.

        Args:
            thread: Conversation id; all by default.
            attempts: Number of failed attempts that an entry has fewer of.
        """
        failed = "CAST(attempts AS INTEGER)"  # a damaged number, too
        rows = self._file.rows(
            "SELECT id FROM flush_entries WHERE workspace = ?1 AND thread = ifnull(?2, thread)"
            f" AND (?3 IS NULL OR {failed} < ?3) ORDER BY {failed} / {MAX_ATTEMPTS}, id",
            (self._workspace, thread, attempts),
        )
        return [int(row[0]) for row in rows]

    def claim(self, number: int, *, lease: str) -> JournalEntry | None:
        """Take an entry under a lease; None when it is gone, damaged, or another lease has it.

        Or has one before it, of the same thread: notes are written in the thread's order.
        """
        with self._file.transaction() as connection:
            row: EntryRow | None = connection.execute(
                f"SELECT {ENTRY_COLUMNS} FROM flush_entries WHERE id = ? AND workspace = ?",
                (number, self._workspace),
            ).fetchone()
            if row is None:
                return None
            earlier = connection.execute(
                "SELECT DISTINCT CAST(owner AS BLOB) FROM flush_entries WHERE workspace = ?"
                " AND id < ? AND thread = CAST(? AS TEXT) AND thread != ''",
                (self._workspace, number, row[1]),
            )
            holders = {
                (owner or b"").decode("ascii", "replace") for owner in (row[0], *chain(*earlier))
            }
            if any(map(self._leases.is_alive, filter(str.isalnum, holders - {lease}))):
                return None
            try:
                entry: JournalEntry | None = parse_entry(number, row)
            except DAMAGE as error:
                entry = self._mended(connection, number, row, error)
            connection.execute("UPDATE flush_entries SET owner = ? WHERE id = ?", (lease, number))
        return entry

    def _mend_damaged(self, connection: apsw.Connection, thread: str) -> None:
        """Mend the damaged entries of a thread; the fingerprints of what they lost go."""
        rows = connection.execute(
            f"SELECT id, {ENTRY_COLUMNS} FROM flush_entries WHERE workspace = ? AND thread = ?",
            (self._workspace, thread),
        )
        row: EntryRow
        number: Any
        for number, *row in rows.fetchall():
            try:
                parse_entry(number, row)
            except DAMAGE as error:
                self._mended(connection, number, row, error)

    def _mended(
        self, connection: apsw.Connection, number: int, row: EntryRow, error: Exception
    ) -> JournalEntry | None:
        """Keep the bytes of a damaged entry in a file, and mend what can be read of it.

        Where its messages are lost it leaves the journal, so that it blocks no other one.
        """
        from commonplace.system.salvage import keep_aside

        data = b"\n".join(value for value in row if value)
        kept = self._file.path and keep_aside(self._file.path, f"entry-{number}", data)
        entry = None
        with contextlib.suppress(*DAMAGE):
            entry = parse_entry(number, row, mends=True)
        if entry is None:
            connection.execute("DELETE FROM flush_entries WHERE id = ?", (number,))
        else:
            self._update(connection, entry)
        written = undamaged_columns(row)
        if entry is None or "messages" not in written:
            self._unmark(connection, written)
        lost = "its messages are lost, if they are not given again"
        logger.warning(
            "entry %d of the flush journal is damaged (%s); its bytes are kept in %s, and %s",
            *(number, error, kept, "what can be read is written down" if entry else lost),
        )
        return entry

    def _unmark(self, connection: apsw.Connection, written: dict[str, str]) -> None:
        """Delete the fingerprints of an entry that lost messages, which may be given again.

        No entry says which fingerprints are its own: those of its thread that a flush met since
        are deleted, too. What is written down twice then is held by the log already.
        """
        moment = 0.0
        with contextlib.suppress(KeyError, ValueError):
            moment = datetime.fromisoformat(written["moment"]).timestamp()
        of_thread = "workspace = ? AND thread = ifnull(?, thread) AND at >= ?"
        sql = f"DELETE FROM flush_marks WHERE {of_thread}"
        connection.execute(sql, (self._workspace, written.get("thread"), int(moment)))

    def adopt_damaged(self) -> None:
        """Take the damaged entries of workspaces that are no folders: the name may be what is."""
        with self._file.transaction() as connection:
            sql = f"SELECT id, {ENTRY_COLUMNS} FROM flush_entries"
            rows: list[Any] = connection.execute(sql).fetchall()
            for number, *row in rows:
                try:
                    parse_entry(number, row)
                except DAMAGE:
                    if not os.path.isdir(os.fsdecode(row[-2] or b"")):
                        sql = "UPDATE flush_entries SET workspace = ? WHERE id = ?"
                        connection.execute(sql, (self._workspace, number))

    def save_replies(self, entry: JournalEntry, replies: Iterable[FlushReply]) -> None:
        """Save the model's replies, before any of their notes is written."""
        with self._file.transaction() as connection:
            self._update(connection, replace(entry, replies=tuple(replies)))

    def record_failure(self, entry: JournalEntry, error: str) -> None:
        """Record a failed attempt, and the entry as it is now."""
        with self._file.transaction() as connection:
            self._update(connection, entry)
            connection.execute("UPDATE flush_entries SET error = ? WHERE id = ?", (error, entry.id))

    def remove(self, entry: JournalEntry) -> None:
        """Delete an entry whose notes, or whose messages in a session file, are on the disk."""
        with self._file.transaction() as connection:
            connection.execute("DELETE FROM flush_entries WHERE id = ?", (entry.id,))

    def release(self, lease: str) -> None:
        """Release the entries that were claimed under a lease and not removed."""
        with self._file.transaction() as connection:
            connection.execute("UPDATE flush_entries SET owner = NULL WHERE owner = ?", (lease,))
