"""Processor of journal entries: silent turn, failed attempts, session file as a last resort."""

from __future__ import annotations

import contextlib
import errno
import logging
import os
import time
from collections.abc import Generator, Sequence
from dataclasses import replace
from pathlib import Path
from zoneinfo import ZoneInfo

from commonplace.errors import CommonplaceError, StateError, WorkspaceReadOnlyError
from commonplace.flush.journal import Journal, JournalEntry
from commonplace.flush.protocol import FlushMemory, FlushReply, FlushRequest
from commonplace.flush.runner import DeadlineError, FlushSteps, ModelCall, Pause
from commonplace.flush.turn import (
    MAX_ROUNDS,
    ReplyActions,
    first_request,
    lost_note_problem,
    next_request,
    parse_reply,
)
from commonplace.text.redaction import redact
from commonplace.transcripts.archive import write_session_file
from commonplace.types import FlushReport, Origin
from commonplace.workspace.paths import log_path

__all__ = [
    "FLUSH_DISABLED",
    "MAX_ATTEMPTS",
    "EntryProcessor",
    "error_text",
    "log_state_errors",
    "merge_reports",
    "skip_reason",
]

logger = logging.getLogger(__name__)

MAX_ATTEMPTS = 3
"""Failed attempts after which the messages go to a session file and the model is not retried."""

FLUSH_DISABLED = "flush.enabled is false"
"""Why nothing is flushed, in reports."""

_PERMISSION_ERRORS = (errno.EACCES, errno.EPERM, errno.EROFS)
_ERROR_CHARS = 400
_POLL_S = 0.05


class EntryProcessor:
    """Processor of journal entries.

    Args:
        memory: Takes the notes, and the session file after the last failed attempt.
        journal: Holds the entries.
        lease: Lease of the journal, under which entries are claimed.
        wait_until: Until when an entry is waited for that another flush has, on the monotonic
            clock; 0 for not at all.
    """

    def __init__(
        self, memory: FlushMemory, journal: Journal, *, lease: str, wait_until: float = 0.0
    ) -> None:
        self._memory = memory
        self._journal = journal
        self._lease = lease
        self._wait_until = wait_until

    def claim(self, number: int) -> FlushSteps[JournalEntry | None]:
        """Claim an entry; None when it is gone, or another flush has it for too long."""
        while (entry := self._journal.claim(number, lease=self._lease)) is None:
            is_over = time.monotonic() >= self._wait_until
            if is_over or number not in self._journal.pending():
                return None
            yield Pause(_POLL_S)
        return entry

    def process(self, entry: JournalEntry, *, deadline: float) -> FlushSteps[FlushReport]:
        """Run an entry's silent turn from where it stopped, and remove the entry when it is done.

        Args:
            entry: A claimed entry.
            deadline: Deadline of the model's replies, on the monotonic clock.
        """
        turn = _SilentTurn(self._memory, entry)
        try:
            turn.resume()
            while (request := turn.request()) is not None:
                reply: FlushReply = yield ModelCall(request, deadline - time.monotonic())
                turn.replies.append(reply)
                with log_state_errors("a model's reply could not be journaled"):
                    self._journal.save_replies(entry, turn.replies)
                turn.apply(reply)
        except WorkspaceReadOnlyError as error:
            # Not a failed attempt: the replies stay in the journal and are written down later.
            return _unwritten_report(turn.report(safe=self._journal.is_durable), error)
        except Exception as error:  # noqa: BLE001 - reported and logged
            return self._failed(entry, turn, error_text(error), discard_replies=False)
        problem = lost_note_problem(turn.actions)
        if problem is not None:
            return self._failed(entry, turn, problem, discard_replies=True)
        self._remove(entry)
        return turn.report()

    def _failed(
        self, entry: JournalEntry, turn: _SilentTurn, problem: str, *, discard_replies: bool
    ) -> FlushReport:
        """Count a failed attempt; after the last one, write the messages to a session file."""
        report = turn.report(safe=self._journal.is_durable)
        attempts = entry.attempts + 1
        with log_state_errors("a failure could not be counted"):
            self._journal.record_failure(entry, problem, discard_replies=discard_replies)
        if attempts < MAX_ATTEMPTS:
            text = (
                f"{problem}; attempt {attempts} of {MAX_ATTEMPTS}, the journal keeps the messages"
            )
            return replace(report, failed=text)
        try:
            path = self._write_session_file(entry)
        except OSError as error:
            return replace(report, failed=f"{problem}; and no session file: {error_text(error)}")
        self._remove(entry)
        text = f"{problem}; after {attempts} failures the messages are kept in {path}"
        return replace(report, failed=text, transcript=str(path), safe=True)

    def _write_session_file(self, entry: JournalEntry) -> Path:
        key = f"{self._memory.workspace.root}\0{entry.thread}\0{entry.id}\0{entry.moment}"
        return write_session_file(
            self._memory.state.sessions,
            entry.messages,
            session=entry.thread,
            moment=entry.moment,
            key=key,
            unwritten=True,
        )

    def _remove(self, entry: JournalEntry) -> None:
        with log_state_errors(
            "an entry that is done could not leave the journal; it is done once more"
        ):
            self._journal.remove(entry)


class _SilentTurn:
    """Progress of one entry's silent turn: replies, their actions, and the notes written."""

    def __init__(self, memory: FlushMemory, entry: JournalEntry) -> None:
        self._memory = memory
        self._entry = entry
        zone = memory.settings.timezone
        moment = entry.moment.astimezone(ZoneInfo(zone) if zone else None)
        self._day = moment.date()
        self._origin = Origin("agent", session=entry.thread or None)
        self._first = first_request(
            entry.messages,
            settings=memory.settings,
            rules=memory.profile.flush,
            moment=moment,
            thread=entry.thread,
        )
        self.replies: list[FlushReply] = []
        self.actions: list[ReplyActions] = []
        self.notes: list[str] = []

    def resume(self) -> None:
        """Apply the saved replies again; `Memory.append` skips the notes that the log holds."""
        for reply in self._entry.replies:
            self.replies.append(reply)
            self.apply(reply)

    def request(self) -> FlushRequest | None:
        """Return the next round's request; None when the turn is over."""
        return next_request(self._first, self.replies, self.actions)

    def apply(self, reply: FlushReply) -> None:
        """Append the notes of the last reply to the day's log."""
        last = len(self.replies) >= MAX_ROUNDS
        actions = parse_reply(reply, path=log_path(self._day), last=last)
        for note in actions.notes:
            masked = redact(note)
            self._memory.append(masked, when=self._day, origin=self._origin)
            self.notes.append(masked)
        self.actions.append(actions)

    def report(self, *, safe: bool = True) -> FlushReport:
        """Return a report on the turn so far."""
        return FlushReport(
            self._entry.reason,
            self._entry.thread,
            path=log_path(self._day) if self.notes else None,
            notes=tuple(self.notes),
            messages=len(self._entry.messages),
            tokens=self._entry.tokens,
            safe=safe,
        )


def _unwritten_report(report: FlushReport, error: WorkspaceReadOnlyError) -> FlushReport:
    """Return the report as skipped if permissions forbid writing, else as failed."""
    text = f"{error_text(error)} The notes are kept, and written when that is possible."
    cause = error.__cause__
    if isinstance(cause, OSError) and cause.errno in _PERMISSION_ERRORS:
        return replace(report, skipped=text)
    return replace(report, failed=text)


@contextlib.contextmanager
def log_state_errors(message: str) -> Generator[None, None, None]:
    """Log errors of the state file instead of raising them."""
    try:
        yield
    except StateError as error:
        logger.warning("%s: %s", message, error)


def error_text(error: Exception) -> str:
    """Return an error as one line, without the secrets that vendors put into their errors."""
    text = " ".join(str(error).split())
    if not isinstance(error, CommonplaceError | DeadlineError):
        text = f"{type(error).__name__}: {text}" if text else type(error).__name__
    return redact(text)[:_ERROR_CHARS]


def skip_reason(memory: FlushMemory) -> str | None:
    """Return why a memory takes no notes now; None if it does."""
    if not memory.settings.flush.enabled:
        return FLUSH_DISABLED
    root = memory.workspace.root
    log = root / log_path(memory.now().date())
    place = next((path for path in (log, log.parent, root) if path.exists()), None)
    if place is None:
        return f"the workspace {root} is gone"
    if not os.access(place, os.W_OK):
        return f"{place} cannot be written: the workspace is read-only"
    return None


def merge_reports(empty: FlushReport, reports: Sequence[FlushReport]) -> FlushReport:
    """Merge the reports on a thread's entries into one."""
    return replace(
        empty,
        path=next((report.path for report in reversed(reports) if report.path), None),
        notes=tuple(note for report in reports for note in report.notes),
        messages=sum(report.messages for report in reports),
        tokens=sum(report.tokens for report in reports),
        skipped=next((report.skipped for report in reports if report.skipped), None),
        failed=next((report.failed for report in reports if report.failed), None),
        transcript=next((report.transcript for report in reports if report.transcript), None),
        safe=all(report.safe for report in reports),
    )
