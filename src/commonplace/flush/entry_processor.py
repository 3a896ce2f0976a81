"""Processor of journal entries: silent turn, failed attempts, session file as a last resort."""

from __future__ import annotations

import contextlib
import errno
import logging
import time
from collections.abc import Generator, Iterable, Sequence
from dataclasses import replace
from typing import Any
from zoneinfo import ZoneInfo

from commonplace.errors import CommonplaceError, StateError, WorkspaceReadOnlyError
from commonplace.flush.entries import JournalEntry
from commonplace.flush.journal import MAX_ATTEMPTS, Journal
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
from commonplace.tools.additions import redacted_addition
from commonplace.transcripts.archive import masked_message, session_file, write_session_file
from commonplace.types import FlushMessage, FlushReport, Origin
from commonplace.workspace.paths import log_path

__all__ = [
    "FLUSH_DISABLED",
    "EntryProcessor",
    "error_text",
    "log_state_errors",
    "merge_reports",
    "skip_reason",
]

logger = logging.getLogger(__name__)

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

    def process_all(
        self, numbers: Iterable[int], enqueued: set[int], *, deadline: float | None
    ) -> FlushSteps[list[FlushReport]]:
        """Process entries until one is left unwritten or the deadline is over.

        Args:
            numbers: Numbers of the entries.
            enqueued: Those that wait for their first attempt; all others are of earlier flushes.
            deadline: Deadline of all, on the monotonic clock; by default each has its own.
        """
        reports: list[FlushReport] = []
        for number in numbers:
            is_over = deadline is not None and time.monotonic() >= deadline
            if is_over or (reports and (reports[-1].failed or reports[-1].skipped)):
                break
            entry = yield from self._claim(number)
            if entry is not None:
                started = time.monotonic()
                until = started + self._memory.settings.flush.deadline_s
                report = yield from self._process(entry, until if deadline is None else deadline)
                reason = report.reason if number in enqueued else "journal"
                enqueued.discard(number)
                seconds = time.monotonic() - started
                reports.append(replace(report, reason=reason, seconds=seconds))
        return reports

    def _claim(self, number: int) -> FlushSteps[JournalEntry | None]:
        """Claim an entry; None when it is gone, or another flush has it for too long."""
        while (entry := self._journal.claim(number, lease=self._lease)) is None:
            is_over = time.monotonic() >= self._wait_until
            if is_over or number not in self._journal.pending():
                return None
            yield Pause(_POLL_S)
        return entry

    def _process(self, entry: JournalEntry, deadline: float) -> FlushSteps[FlushReport]:
        """Run an entry's silent turn from where it stopped; remove the entry when it is done."""
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
        """Count a failed attempt; from the last one on, keep the messages in a session file, too.

        From then on their secrets are masked in the journal as well: they may stay there for long.
        Where none can be written, the attempt is not counted.
        """
        report = turn.report(safe=self._journal.is_durable)
        attempts = entry.attempts + 1
        replies = () if discard_replies else tuple(turn.replies)
        failed = replace(entry, replies=replies)
        kept = f"attempt {attempts} of {MAX_ATTEMPTS}, the journal keeps the messages"
        if attempts >= MAX_ATTEMPTS:
            folder = self._memory.state.sessions
            personal = self._memory.settings.mask_personal
            try:
                path = write_session_file(
                    folder, entry.messages, personal=personal, **self._session(entry)
                )
            except OSError as error:
                kept = f"and no session file: {error_text(error)}"
                attempts = entry.attempts
            else:
                kept = (
                    f"after {attempts} failures the messages are kept in {path}, too; they are "
                    "written down after a flush that succeeds"
                )
                report = replace(report, transcript=str(path), safe=True)
                failed = _masked(failed, personal)
        with log_state_errors("a failure could not be counted"):
            self._journal.record_failure(replace(failed, attempts=attempts), problem)
        return replace(report, failed=f"{problem}; {kept}")

    def _session(self, entry: JournalEntry) -> dict[str, Any]:
        """Return what names the session file of an entry that failed for good."""
        key = f"{self._memory.workspace.root}\0{entry.thread}\0{entry.id}\0{entry.moment}"
        return {"session": entry.thread, "moment": entry.moment, "key": key, "unwritten": True}

    def _remove(self, entry: JournalEntry) -> None:
        """Remove an entry whose notes are written, and the session file that it has after all."""
        with log_state_errors(
            "an entry that is done could not leave the journal; it is done once more"
        ):
            self._journal.remove(entry)
        if entry.attempts >= MAX_ATTEMPTS:
            with contextlib.suppress(OSError):
                folder = self._memory.state.sessions
                session_file(folder, **self._session(entry)).unlink(missing_ok=True)


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
        log, personal = log_path(self._day), self._memory.settings.mask_personal
        actions = parse_reply(reply, path=log, last=last)
        for note in actions.notes:
            masked = redacted_addition(self._memory.workspace, log, note, True, personal=personal)
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


def _masked(entry: JournalEntry, personal: bool) -> JournalEntry:
    """Return an entry with the secrets of its messages and of the model's replies masked."""
    replies = []
    for reply in entry.replies:
        message = FlushMessage("assistant", reply.text, reply.tool_calls)
        said = masked_message(message, personal=personal)
        replies.append(replace(reply, text=said.text, tool_calls=said.tool_calls))
    messages = tuple(masked_message(message, personal=personal) for message in entry.messages)
    return replace(entry, messages=messages, replies=tuple(replies))


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
    return memory.workspace.unwritable(log_path(memory.now().date()))


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
