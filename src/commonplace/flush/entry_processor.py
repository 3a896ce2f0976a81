"""One entry of the journal: the silent turn about it, and what becomes of it."""

from __future__ import annotations

import contextlib
import errno
import logging
import time
from collections.abc import Generator
from dataclasses import replace
from datetime import date, datetime
from pathlib import Path
from typing import Protocol
from zoneinfo import ZoneInfo

from commonplace.errors import CommonplaceError, StateError, WorkspaceReadOnlyError
from commonplace.flush.journal import Entry, Journal
from commonplace.flush.prompt import first_request
from commonplace.flush.protocol import FlushReply, FlushRequest
from commonplace.flush.runner import DeadlineError, ModelCall
from commonplace.flush.turn import MAX_ROUNDS, Reading, next_request, read_reply, verdict
from commonplace.settings import Settings
from commonplace.text.redaction import redact
from commonplace.transcripts.archive import write_session_file
from commonplace.types import FlushReport
from commonplace.workspace.discovery import Workspace
from commonplace.workspace.log_dates import log_path

__all__ = ["MAX_ATTEMPTS", "EntryProcessor", "FlushMemory", "logged", "told"]

logger = logging.getLogger(__name__)

MAX_ATTEMPTS = 3
"""Failures after which the messages are kept as a session file, and the model is left in peace."""

_NOT_ALLOWED = (errno.EACCES, errno.EPERM, errno.EROFS)
_ERROR_CHARS = 400

Steps = Generator[ModelCall, FlushReply, FlushReport]
"""A flush in steps, which stop at each question to the model."""


class FlushMemory(Protocol):
    """What a flush needs of a memory."""

    @property
    def settings(self) -> Settings:
        """The settings that the memory was opened with."""

    @property
    def workspace(self) -> Workspace:
        """Its folder."""

    @property
    def index_path(self) -> Path:
        """Its index, beside which the state file is."""

    def now(self) -> datetime:
        """The time, in the zone of the logs' days."""

    def append(self, text: str, *, when: date | datetime | None = None) -> str:
        """Add a note to a day's log and return the log's path."""


class EntryProcessor:
    """Works entries off.

    Args:
        memory: Where the notes go.
        journal: Where the entries are.
        sessions: Folder of session files, for messages that no model could note.
    """

    def __init__(self, memory: FlushMemory, journal: Journal, *, sessions: Path) -> None:
        self._memory = memory
        self._journal = journal
        self._sessions = sessions

    def work_off(self, entry: Entry, *, deadline: float) -> Steps:
        """Ask the model about an entry and write its notes down; it goes on where it stopped.

        Args:
            entry: What is claimed.
            deadline: Until when the model may answer, by the monotonic clock.
        """
        turn = _Turn(self._memory, entry)
        try:
            turn.resume()
            while (request := turn.request()) is not None:
                reply = yield ModelCall(request, deadline - time.monotonic())
                turn.replies.append(reply)
                with logged("a model's reply could not be journaled"):
                    self._journal.keep_replies(entry, turn.replies)
                turn.take(reply)
        except WorkspaceReadOnlyError as error:
            # No fault of the model's: its replies are kept, and written down when that is possible.
            return _unwritten(turn.report(safe=self._journal.is_durable), error)
        except Exception as error:  # noqa: BLE001 - the report tells it, and the log
            return self._failed(entry, turn, told(error), afresh=False)
        lost = verdict(turn.readings)
        if lost is not None:
            return self._failed(entry, turn, lost, afresh=True)
        self._leave(entry)
        return turn.report()

    def _failed(self, entry: Entry, turn: _Turn, problem: str, *, afresh: bool) -> FlushReport:
        """Count a failure; after the last one, keep the messages as a session file."""
        report = turn.report(safe=self._journal.is_durable)
        attempts = entry.attempts + 1
        with logged("a failure could not be counted"):
            self._journal.fail(entry, problem, afresh=afresh)
        if attempts < MAX_ATTEMPTS:
            text = (
                f"{problem}; attempt {attempts} of {MAX_ATTEMPTS}, the journal keeps the messages"
            )
            return replace(report, failed=text)
        try:
            path = self._keep(entry)
        except OSError as error:
            return replace(report, failed=f"{problem}; and no session file: {told(error)}")
        self._leave(entry)
        text = f"{problem}; after {attempts} failures the messages are kept in {path}"
        return replace(report, failed=text, transcript=str(path), safe=True)

    def _keep(self, entry: Entry) -> Path:
        key = f"{self._memory.workspace.root}\0{entry.thread}\0{entry.id}\0{entry.moment}"
        return write_session_file(
            self._sessions,
            entry.messages,
            session=entry.thread,
            moment=entry.moment,
            key=key,
            unwritten=True,
        )

    def _leave(self, entry: Entry) -> None:
        with logged("an entry that is done could not leave the journal; it is done once more"):
            self._journal.leave(entry)


class _Turn:
    """One entry's silent turn: what was asked, answered and written so far."""

    def __init__(self, memory: FlushMemory, entry: Entry) -> None:
        self._memory = memory
        self._entry = entry
        zone = memory.settings.timezone
        moment = entry.moment.astimezone(ZoneInfo(zone) if zone else None)
        self._day = moment.date()
        self._first = first_request(
            entry.messages, settings=memory.settings, moment=moment, thread=entry.thread
        )
        self.replies: list[FlushReply] = []
        self.readings: list[Reading] = []
        self.notes: list[str] = []

    def resume(self) -> None:
        """Do again what was answered before; the log leaves out what it holds already."""
        for reply in self._entry.replies:
            self.replies.append(reply)
            self.take(reply)

    def request(self) -> FlushRequest | None:
        """Return what to ask next."""
        return next_request(self._first, self.replies, self.readings)

    def take(self, reply: FlushReply) -> None:
        """Write down what the last reply asks for."""
        last = len(self.replies) >= MAX_ROUNDS
        reading = read_reply(reply, path=log_path(self._day), last=last)
        for note in reading.notes:
            masked = redact(note)
            self._memory.append(masked, when=self._day)
            self.notes.append(masked)
        self.readings.append(reading)

    def report(self, *, safe: bool = True) -> FlushReport:
        """Tell what was done."""
        return FlushReport(
            self._entry.reason,
            self._entry.thread,
            path=log_path(self._day) if self.notes else None,
            notes=tuple(self.notes),
            messages=len(self._entry.messages),
            tokens=self._entry.tokens,
            safe=safe,
        )


def _unwritten(report: FlushReport, error: WorkspaceReadOnlyError) -> FlushReport:
    """Tell a workspace that may not be written from one that cannot be written just now."""
    text = f"{told(error)} The notes are kept, and written when that is possible."
    cause = error.__cause__
    if isinstance(cause, OSError) and cause.errno in _NOT_ALLOWED:
        return replace(report, skipped=text)
    return replace(report, failed=text)


@contextlib.contextmanager
def logged(what: str) -> Generator[None, None, None]:
    """Go on after an error of the state file."""
    try:
        yield
    except StateError as error:
        logger.warning("%s: %s", what, error)


def told(error: Exception) -> str:
    """Say in one line what went wrong, without the secrets that vendors put into their errors."""
    text = " ".join(str(error).split())
    if not isinstance(error, CommonplaceError | DeadlineError):
        text = f"{type(error).__name__}: {text}" if text else type(error).__name__
    return redact(text)[:_ERROR_CHARS]
