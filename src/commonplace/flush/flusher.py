"""The flush: a silent turn that writes down what a conversation is about to forget."""

from __future__ import annotations

import contextlib
import logging
import os
import time
from collections.abc import Callable, Generator, Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from commonplace.errors import StateError
from commonplace.flush.entry_processor import EntryProcessor, FlushMemory, Steps, logged, told
from commonplace.flush.journal import Journal
from commonplace.flush.messages import message_tokens, portions, said
from commonplace.flush.protocol import FlushModel, FlushReply
from commonplace.flush.runner import ModelCall, run, run_async
from commonplace.text.tokens import prepare_counting
from commonplace.transcripts.archive import write_session_file
from commonplace.types import FlushMessage, FlushReason, FlushReport
from commonplace.workspace.log_dates import log_path
from commonplace.workspace.sessions import sessions_path

__all__ = ["Flusher"]

logger = logging.getLogger(__name__)


class Flusher:
    """Flushes the conversations of one workspace. It may be shared by threads.

    Nothing that goes wrong here is raised: a report tells it, and the user's turn goes on. The
    first one of a process takes about 0.2 s to make where tokens can be counted exactly, so that
    no async method has to.

    Args:
        memory: Where the notes go.
        model: Who writes them.
        context_window: Tokens that the model takes; the setting by default. More at once than that
            is flushed in several turns.
        on_flush: Called with each report; what it raises is logged.
    """

    def __init__(
        self,
        memory: FlushMemory,
        model: FlushModel,
        *,
        context_window: int | None = None,
        on_flush: Callable[[FlushReport], object] | None = None,
    ) -> None:
        prepare_counting()
        self._memory = memory
        self._model = model
        self._window = context_window
        self._on_flush = on_flush
        self._workspace = str(memory.workspace.root)
        self._path = memory.index_path.with_name("state.sqlite")
        self._journal = Journal(self._path, workspace=self._workspace)
        self._spare: Journal | None = None

    def flush(
        self,
        messages: Iterable[FlushMessage],
        *,
        thread: str = "",
        reason: FlushReason = "compaction",
        model: FlushModel | None = None,
    ) -> FlushReport:
        """Write down what is new among messages, then what earlier flushes left over.

        Args:
            messages: What is at stake, in order. What was flushed before may be among it.
            thread: The conversation. Messages are known by it: agents that share a thread share
                their flushes.
            reason: What made it run.
            model: Who writes the notes this time.
        """
        steps = self._flush(messages, thread=thread, reason=reason)
        return run(steps, model or self._model)

    async def aflush(
        self,
        messages: Iterable[FlushMessage],
        *,
        thread: str = "",
        reason: FlushReason = "compaction",
        model: FlushModel | None = None,
    ) -> FlushReport:
        """Do what `flush` does; the event loop goes on."""
        steps = self._flush(messages, thread=thread, reason=reason)
        return await run_async(steps, model or self._model)

    def keep(
        self,
        messages: Iterable[FlushMessage],
        *,
        thread: str = "",
        reason: FlushReason = "compaction",
    ) -> None:
        """Put what is new among messages into the journal; the next flush writes it down.

        For messages that come in parts: what is kept until then is one question to the model.

        Args:
            messages: What is at stake, in order.
            thread: The conversation.
            reason: What the flush is for.
        """
        if not self._memory.settings.flush.enabled:
            return
        try:
            with contextlib.ExitStack() as stack:
                self._enter(stack, _Stake(said(messages), thread, reason), join=True)
        except Exception:  # the user's turn goes on, whatever it is
            logger.exception("messages could not be kept for a flush")

    def process_pending(self, *, model: FlushModel | None = None) -> tuple[FlushReport, ...]:
        """Write down what earlier flushes of any process left over; for when a chat is opened."""
        return run(self._work_off(), model or self._model)

    async def awork_off_journal(
        self, *, model: FlushModel | None = None
    ) -> tuple[FlushReport, ...]:
        """Do what `process_pending` does; the event loop goes on."""
        return await run_async(self._work_off(), model or self._model)

    def new_messages(
        self, messages: Iterable[FlushMessage], *, thread: str = ""
    ) -> tuple[FlushMessage, ...]:
        """Return the messages that a flush would write down; all of them if that is unknown."""
        stake = said(messages)
        try:
            return self._journal.new_messages(thread, stake)
        except StateError:
            return stake

    def archive(self, messages: Iterable[FlushMessage], *, thread: str = "") -> Path:
        """Keep a whole conversation as a session file and return its path.

        Raises:
            OSError: The file cannot be written.
        """
        moment = self._memory.now()
        key = f"{self._workspace}\0{thread}\0{moment.isoformat()}"
        return write_session_file(self._sessions, messages, session=thread, moment=moment, key=key)

    # -- what is done, in steps that stop at each question to the model ----------------------------

    def _flush(
        self, messages: Iterable[FlushMessage], *, thread: str, reason: FlushReason
    ) -> Steps:
        begun = time.monotonic()
        with contextlib.ExitStack() as stack:
            try:
                stake = _Stake(said(messages), thread, reason)
                report = yield from self._flush_stake(stack, stake)
            except Exception as error:  # the user's turn goes on, whatever it is
                logger.exception("a flush failed")
                report = FlushReport(reason, thread, failed=told(error), safe=False)
            report = replace(report, seconds=time.monotonic() - begun)
            self._tell(report)
            if report.failed is None and report.safe:
                yield from self._work_off(deadline=self._deadline(begun))
        return report

    def _flush_stake(self, stack: contextlib.ExitStack, stake: _Stake) -> Steps:
        report = stake.report()
        why = self._why_skipped()
        if why is not None:
            tokens = message_tokens(stake.messages)
            count = len(stake.messages)
            return replace(report, messages=count, tokens=tokens, skipped=why, safe=False)
        journal, owner = self._enter(stack, stake)
        waiting = journal.waiting(thread=stake.thread)
        if not waiting:
            return replace(report, skipped=_NOTHING_NEW)
        deadline = self._deadline(time.monotonic())
        reports = yield from self._work_through(journal, waiting, owner=owner, deadline=deadline)
        if not reports:
            return replace(report, skipped=_BUSY)
        return _merged(report, reports)

    def _enter(
        self, stack: contextlib.ExitStack, stake: _Stake, *, join: bool = False
    ) -> tuple[Journal, str]:
        """Put what is new into the journal; into one in memory, if the state cannot be written."""
        try:
            return self._journal, self._enter_into(self._journal, stack, stake, join=join)
        except StateError as error:
            logger.warning("a flush goes on without a journal on the disk: %s", error)
            self._spare = self._spare or Journal(None, workspace=self._workspace)
            return self._spare, self._enter_into(self._spare, stack, stake, join=join)

    def _enter_into(
        self, journal: Journal, stack: contextlib.ExitStack, stake: _Stake, *, join: bool
    ) -> str:
        owner = self._own(journal, stack)
        if stake.messages:
            journal.enter(
                stake.thread,
                stake.messages,
                reason=stake.reason,
                moment=self._memory.now(),
                portions=self._portions,
                owner=owner,
                join=join,
            )
        return owner

    def _own(self, journal: Journal, stack: contextlib.ExitStack) -> str:
        owner = stack.enter_context(journal.owner())
        stack.callback(self._release, journal, owner)
        return owner

    def _work_off(
        self, *, deadline: float | None = None
    ) -> Generator[ModelCall, FlushReply, tuple[FlushReport, ...]]:
        """Work off whatever is left in any thread; stop at the first failure."""
        deadline = self._deadline(time.monotonic()) if deadline is None else deadline
        found: list[FlushReport] = []
        try:
            if self._why_skipped() is None:
                for journal in filter(None, (self._spare, self._journal)):
                    found += yield from self._work_off_journal(journal, deadline)
                    if any(report.failed for report in found):
                        break
        except Exception:  # the user's turn goes on, whatever it is
            logger.exception("the flush journal could not be worked off")
        return tuple(found)

    def _work_off_journal(
        self, journal: Journal, deadline: float
    ) -> Generator[ModelCall, FlushReply, list[FlushReport]]:
        waiting = journal.waiting()
        if not waiting:
            return []
        with contextlib.ExitStack() as stack:
            owner = self._own(journal, stack)
            steps = self._work_through(journal, waiting, owner=owner, deadline=deadline)
            reports = [replace(report, reason="journal") for report in (yield from steps)]
        for report in reports:
            self._tell(report)
        return reports

    def _work_through(
        self, journal: Journal, numbers: Iterable[int], *, owner: str, deadline: float
    ) -> Generator[ModelCall, FlushReply, list[FlushReport]]:
        """Work off entries until one fails or the time is over; those of others are left out."""
        worker = EntryProcessor(self._memory, journal, sessions=self._sessions)
        reports: list[FlushReport] = []
        for number in numbers:
            if time.monotonic() >= deadline or (reports and reports[-1].failed):
                break
            entry = journal.claim(number, owner=owner)
            if entry is not None:
                begun = time.monotonic()
                report = yield from worker.work_off(entry, deadline=deadline)
                reports.append(replace(report, seconds=time.monotonic() - begun))
        return reports

    # -- what is needed for it ---------------------------------------------------------------------

    def _why_skipped(self) -> str | None:
        if not self._memory.settings.flush.enabled:
            return "flush.enabled is false"
        root = self._memory.workspace.root
        log = root / log_path(self._memory.now().date())
        place = next((path for path in (log, log.parent, root) if path.exists()), None)
        if place is None:
            return f"the workspace {root} is gone"
        if not os.access(place, os.W_OK):
            return f"{place} cannot be written: the workspace is read-only"
        return None

    def _deadline(self, begun: float) -> float:
        return begun + self._memory.settings.flush.deadline_s

    def _portions(self, messages: Sequence[FlushMessage]) -> list[tuple[FlushMessage, ...]]:
        """Divide what no window can take; everything else stays together."""
        window = (
            self._memory.settings.flush.context_window if self._window is None else self._window
        )
        window = max(window, _SMALLEST_WINDOW)
        if message_tokens(messages) <= window:
            return [tuple(messages)]
        return portions(messages, limit=window * 3 // 4)

    @property
    def _sessions(self) -> Path:
        memory = self._memory
        return sessions_path(
            memory.settings, root=memory.workspace.root, index_path=memory.index_path
        )

    def _release(self, journal: Journal, owner: str) -> None:
        with logged("entries could not be released; the next process takes them over"):
            journal.release(owner)

    def _tell(self, report: FlushReport) -> None:
        """Log one line and call back; a flush that had nothing to do is not worth either."""
        if report.skipped == _NOTHING_NEW:
            logger.debug("%s", report)
            return
        logger.log(logging.WARNING if report.failed else logging.INFO, "%s", report)
        if self._on_flush is not None:
            try:
                self._on_flush(report)
            except Exception:
                logger.exception("on_flush failed")


_NOTHING_NEW = "every message was written down before"
_BUSY = "another thread or process is writing these messages down"
_SMALLEST_WINDOW = 4_000


@dataclass(frozen=True, slots=True)
class _Stake:
    """What a caller wants flushed."""

    messages: tuple[FlushMessage, ...]
    thread: str
    reason: FlushReason

    def report(self) -> FlushReport:
        """Return a report on nothing yet."""
        return FlushReport(self.reason, self.thread)


def _merged(empty: FlushReport, reports: Sequence[FlushReport]) -> FlushReport:
    """Make one report of those on a thread's entries."""
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
