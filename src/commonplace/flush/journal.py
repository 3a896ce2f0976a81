"""Nothing is lost: what is at stake stands in the state file until its notes are on the disk.

An entry holds messages, and the replies that a model gave to them so far: a turn that was broken
off goes on where it stopped, and what a reply asked to be noted is noted in the same words. Whoever
works an entry off owns it; ownership is a lock of the operating system and ends with the process.
"""

from __future__ import annotations

import contextlib
import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

import apsw

from commonplace.flush.leases import JournalLeases
from commonplace.flush.messages import from_json, marks_of, message_tokens, to_json, unmarked
from commonplace.flush.protocol import FlushReply
from commonplace.system.state import StateFile
from commonplace.types import FlushMessage, FlushReason

__all__ = ["Entry", "Journal"]

_HASHES_AT_ONCE = 500


@dataclass(frozen=True, slots=True)
class Entry:
    """Messages that are to be flushed.

    Attributes:
        id: Its number; later entries have higher ones.
        thread: The conversation.
        reason: Why they are flushed.
        moment: When; the notes go to the log of this day.
        tokens: How many tokens they are.
        messages: The messages.
        replies: What a model answered so far.
        attempts: How often it failed.
    """

    id: int
    thread: str
    reason: FlushReason
    moment: datetime
    tokens: int
    messages: tuple[FlushMessage, ...]
    replies: tuple[FlushReply, ...] = ()
    attempts: int = 0


class Journal:
    """The entries of one workspace.

    Args:
        path: The state file; None keeps the journal in memory.
        workspace: The folder whose conversations these are; others may share the file.
    """

    def __init__(self, path: Path | None, *, workspace: str) -> None:
        self._file = StateFile(path)
        self._workspace = workspace
        self._owners = JournalLeases(path)

    @property
    def is_durable(self) -> bool:
        """Whether entries outlive the process."""
        return self._file.path is not None

    @contextlib.contextmanager
    def owner(self) -> Iterator[str]:
        """Become somebody who can own entries, while the block runs.

        Raises:
            StateError: The state folder cannot be written.
        """
        with self._owners.one() as name, self._file.kept_open():
            yield name

    def new_messages(
        self, thread: str, messages: Sequence[FlushMessage]
    ) -> tuple[FlushMessage, ...]:
        """Return the messages that are in no entry and never were.

        Raises:
            StateError: The state file cannot be read.
        """
        known = self._known(self._file.rows, thread, messages)
        return tuple(messages[index] for index in unmarked(messages, known))

    def enter(
        self,
        thread: str,
        messages: Sequence[FlushMessage],
        *,
        reason: FlushReason,
        moment: datetime,
        portions: Callable[[Sequence[FlushMessage]], Iterable[Sequence[FlushMessage]]],
        owner: str,
        join: bool = False,
    ) -> list[int]:
        """Enter what is new among messages; the entries belong to `owner` and are on the disk.

        Args:
            thread: The conversation.
            messages: What is at stake; some of it may be known.
            reason: Why they are flushed.
            moment: When.
            portions: Divides messages into entries.
            owner: Who enters them.
            join: Whether they join what waits of the thread since the same day and was never
                begun, so that it is asked about at once.

        Raises:
            StateError: They could not be written; nothing was entered.
        """
        with self._file.transaction() as connection:
            places = unmarked(messages, self._known(connection.execute, thread, messages))
            if not places:
                return []
            marks = marks_of(messages)
            connection.executemany(
                "INSERT OR IGNORE INTO flush_marks (workspace, thread, hash) VALUES (?, ?, ?)",
                [(self._workspace, thread, mark) for at in places for mark in marks[at]],
            )
            new = [messages[at] for at in places]
            if join:
                new = [*self._taken_back(connection, thread, moment), *new]
            return [
                self._insert(connection, thread, part, reason=reason, moment=moment, owner=owner)
                for part in portions(new)
            ]

    def _known(
        self, query: Callable[..., Iterable[Any]], thread: str, messages: Sequence[FlushMessage]
    ) -> set[bytes]:
        wanted = list({mark for marks in marks_of(messages) for mark in marks})
        known: set[bytes] = set()
        for at in range(0, len(wanted), _HASHES_AT_ONCE):
            some = wanted[at : at + _HASHES_AT_ONCE]
            places = ", ".join("?" * len(some))
            rows = query(
                "SELECT hash FROM flush_marks WHERE workspace = ? AND thread = ?"
                f" AND hash IN ({places})",
                (self._workspace, thread, *some),
            )
            known.update(row[0] for row in rows)
        return known

    def _taken_back(
        self, connection: apsw.Connection, thread: str, moment: datetime
    ) -> list[FlushMessage]:
        """Delete a thread's entries that nobody owns or began; return their messages."""
        rows = connection.execute(
            "DELETE FROM flush_entries WHERE workspace = ? AND thread = ? AND owner IS NULL"
            " AND attempts = 0 AND replies = '[]' AND substr(moment, 1, 10) = ?"
            " RETURNING id, messages",
            (self._workspace, thread, moment.isoformat()[:10]),
        )
        return [message for _, text in sorted(rows) for message in from_json(text)]

    def _insert(
        self,
        connection: apsw.Connection,
        thread: str,
        messages: Sequence[FlushMessage],
        *,
        reason: FlushReason,
        moment: datetime,
        owner: str,
    ) -> int:
        connection.execute(
            "INSERT INTO flush_entries (workspace, thread, reason, moment, tokens, messages, owner)"
            " VALUES (?, ?, ?, ?, ?, ?, ?)",
            (
                self._workspace,
                thread,
                reason,
                moment.isoformat(),
                message_tokens(messages),
                to_json(messages),
                owner,
            ),
        )
        return connection.last_insert_rowid()

    def waiting(self, *, thread: str | None = None) -> list[int]:
        """Return the entries that are not worked off, oldest first, whoever owns them."""
        rows = self._file.rows(
            "SELECT id FROM flush_entries WHERE workspace = ? AND thread = ifnull(?, thread)"
            " ORDER BY id",
            (self._workspace, thread),
        )
        return [int(row[0]) for row in rows]

    def claim(self, number: int, *, owner: str) -> Entry | None:
        """Own an entry and read it; None when it is gone, or its owner is alive."""
        with self._file.transaction() as connection:
            row = connection.execute(
                "SELECT owner, thread, reason, moment, tokens, messages, replies, attempts"
                " FROM flush_entries WHERE id = ? AND workspace = ?",
                (number, self._workspace),
            ).fetchone()
            if row is None:
                return None
            before, thread, reason, moment, tokens, messages, replies, attempts = row
            if before not in (None, owner) and self._owners.is_alive(before):
                return None
            connection.execute("UPDATE flush_entries SET owner = ? WHERE id = ?", (owner, number))
        return Entry(
            number,
            thread,
            reason,
            datetime.fromisoformat(moment),
            tokens,
            from_json(messages),
            _replies_from_json(replies),
            attempts,
        )

    def keep_replies(self, entry: Entry, replies: Iterable[FlushReply]) -> None:
        """Keep what a model answered before anything is done about it."""
        data = _replies_to_json(replies)
        with self._file.transaction() as connection:
            connection.execute(
                "UPDATE flush_entries SET replies = ? WHERE id = ?", (data, entry.id)
            )

    def fail(self, entry: Entry, error: str, *, afresh: bool) -> int:
        """Count a failure and return how many there were.

        Args:
            entry: What failed.
            error: Why.
            afresh: Whether the next attempt begins anew and forgets the replies.
        """
        replies = "'[]'" if afresh else "replies"
        with self._file.transaction() as connection:
            connection.execute(
                f"UPDATE flush_entries SET attempts = attempts + 1, error = ?, replies = {replies}"
                " WHERE id = ?",
                (error, entry.id),
            )
        return entry.attempts + 1

    def leave(self, entry: Entry) -> None:
        """Take an entry out: its notes are on the disk, or its messages are kept elsewhere."""
        with self._file.transaction() as connection:
            connection.execute("DELETE FROM flush_entries WHERE id = ?", (entry.id,))

    def release(self, owner: str) -> None:
        """Let others work off what was claimed and not finished."""
        with self._file.transaction() as connection:
            connection.execute("UPDATE flush_entries SET owner = NULL WHERE owner = ?", (owner,))


def _replies_to_json(replies: Iterable[FlushReply]) -> str:
    """Write replies as messages of the assistant, each with whether it was offered the tool."""
    return json.dumps(
        [
            [to_json([FlushMessage("assistant", reply.text, reply.tool_calls)]), reply.offered_tool]
            for reply in replies
        ]
    )


def _replies_from_json(text: str) -> tuple[FlushReply, ...]:
    found = []
    for data, offered in json.loads(text):
        (message,) = from_json(data)
        found.append(FlushReply(message.text, message.tool_calls, offered))
    return tuple(found)
