"""Flusher: a silent turn of a model writes down what a conversation is about to lose."""

from __future__ import annotations

import contextlib
import inspect
import logging
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from commonplace.errors import StateError
from commonplace.flush.entry_processor import (
    FLUSH_DISABLED,
    EntryProcessor,
    error_text,
    log_state_errors,
    merge_reports,
    skip_reason,
)
from commonplace.flush.journal import MAX_ATTEMPTS, Journal
from commonplace.flush.messages import (
    Fingerprinter,
    flushable_messages,
    message_tokens,
    split_for_window,
)
from commonplace.flush.protocol import FlushMemory, FlushModel
from commonplace.flush.runner import BackgroundTask, FlushSteps, run_async, run_sync
from commonplace.text.quotation import UNTRUSTED_MARK
from commonplace.text.tokens import prepare_counting
from commonplace.transcripts.archive import write_session_file
from commonplace.types import FlushMessage, FlushReason, FlushReport

__all__ = ["NO_MESSAGES", "Flusher"]

logger = logging.getLogger(__name__)

_NOTHING_NEW = "every message was written down before"
NO_MESSAGES = "there is no message"
_IN_MEMORY = "the state file cannot be written; the messages are kept in memory only"
_BUSY = "another thread or process is writing these messages down"


class Flusher:
    """Flusher of one workspace's conversations; safe for threads.

    Errors are not raised: a report states them, and the user's turn continues. Constructing the
    first one of a process takes about 0.2 s where tokens are counted exactly; its methods do not.

    Args:
        memory: Takes the notes.
        model: Writes the notes.
        context_window: Context window of the model in tokens; the setting by default. A longer
            conversation is flushed in several turns.
        on_flush: Called with each report; a coroutine that it returns is awaited. Its exceptions
            are logged. Reports of the background come from a thread.
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
        self._journal = Journal(memory.state.database, workspace=self._workspace)
        self._memory_journal: Journal | None = None
        self._enqueued: set[int] = set()
        self._has_failed = self._is_well = False
        self._background = BackgroundTask(self._process_all)

    def flush(
        self,
        messages: Iterable[FlushMessage],
        *,
        thread: str = "",
        reason: FlushReason = "compaction",
        model: FlushModel | None = None,
        after: Fingerprinter | None = None,
    ) -> FlushReport:
        """Write down what is new among messages, and what is pending of their thread.

        Notes of a thread are in its order: what another flush is writing of it is waited for.
        Entries of other threads are left to `start_pending` and `process_pending`.

        Args:
            messages: Messages of the conversation, in order; flushed ones are skipped.
            thread: Conversation id. Messages are identified within it: agents that share a thread
                share their flushes.
            reason: Why the flush runs.
            model: Writes the notes this time.
            after: Fingerprints of the conversation before the messages, if all of it was flushed:
                a long one need not be given again.
        """
        steps = self._flush(_FlushTask(flushable_messages(messages), thread, reason, after))
        return run_sync(steps, model or self._model)

    async def aflush(
        self,
        messages: Iterable[FlushMessage],
        *,
        thread: str = "",
        reason: FlushReason = "compaction",
        model: FlushModel | None = None,
        after: Fingerprinter | None = None,
    ) -> FlushReport:
        """Run `flush` without blocking the event loop."""
        steps = self._flush(_FlushTask(flushable_messages(messages), thread, reason, after))
        return await run_async(steps, model or self._model, slot=self._memory.slot)

    def enqueue(
        self,
        messages: Iterable[FlushMessage],
        *,
        thread: str = "",
        reason: FlushReason = "compaction",
        after: Fingerprinter | None = None,
    ) -> FlushReport:
        """Put what is new among messages into the journal, for a later flush; ask no model.

        All parts until the next flush are one silent turn. The report is ``safe`` once the messages
        are on the disk, so that a flush in the background can begin with this.

        Args:
            messages: Messages of the conversation, in order.
            thread: Conversation id.
            reason: Why they will be flushed.
            after: As in `flush`.
        """
        report = FlushReport(reason, thread)
        if not self._memory.settings.flush.enabled:
            return replace(report, skipped=FLUSH_DISABLED, safe=False)
        try:
            with contextlib.ExitStack() as stack:
                task = _FlushTask(flushable_messages(messages), thread, reason, after)
                journal, _ = self._journal_new(stack, task, merge=True)
        except Exception as error:  # the user's turn continues after any error
            logger.exception("messages could not be kept for a flush")
            return replace(report, failed=error_text(error), safe=False)
        if not journal.is_durable:
            return replace(report, failed=_IN_MEMORY, safe=False)
        return report

    def start_pending(self) -> None:
        """Process the pending entries of all threads in the background, until one fails.

        After a failed flush, this does nothing: a provider that is down is left alone. After a
        successful one, entries whose last attempt failed have another.
        """
        if not self._has_failed:
            self._background.start()

    def wait(self, timeout_s: float | None = None) -> bool:
        """Wait for what runs in the background; return whether it ended in time."""
        return self._background.wait(timeout_s)

    def process_pending(self, *, model: FlushModel | None = None) -> tuple[FlushReport, ...]:
        """Process the entries that earlier flushes of any process left; for the start of a chat."""
        steps = self._process_pending(self._deadline(time.monotonic()), attempts=MAX_ATTEMPTS)
        return run_sync(steps, model or self._model)

    async def aprocess_pending(self, *, model: FlushModel | None = None) -> tuple[FlushReport, ...]:
        """Run `process_pending` without blocking the event loop."""
        steps = self._process_pending(self._deadline(time.monotonic()), attempts=MAX_ATTEMPTS)
        return await run_async(steps, model or self._model, slot=self._memory.slot)

    def retry(self) -> tuple[FlushReport, ...]:
        """Process all entries, those that failed for good included and last, until one fails."""
        return run_sync(self._process_pending(None, attempts=None), self._model)

    async def aretry(self) -> tuple[FlushReport, ...]:
        """Run `retry` without blocking the event loop."""
        steps = self._process_pending(None, attempts=None)
        return await run_async(steps, self._model, slot=self._memory.slot)

    def flushed_count(self, messages: Sequence[FlushMessage], *, thread: str = "") -> int:
        """Count the messages before the first one that a flush would write down; 0 if unknown."""
        with contextlib.suppress(StateError):
            flushable = flushable_messages(messages)
            new = self._journal.new_positions(thread, flushable)
            return messages.index(flushable[new[0]], new[0]) if new else len(messages)
        return 0

    def archive(self, messages: Iterable[FlushMessage], *, thread: str = "") -> Path:
        """Write a whole conversation to a session file and return its path.

        Raises:
            OSError: The file cannot be written.
        """
        folder, personal = self._memory.state.sessions, self._memory.settings.mask_personal
        key = f"{self._workspace}\0{thread}\0{(moment := self._memory.now()).isoformat()}"
        return write_session_file(
            folder, messages, session=thread, moment=moment, key=key, personal=personal
        )

    # -- steps: generators that yield at each model call -------------------------------------------

    def _flush(self, task: _FlushTask) -> FlushSteps[FlushReport]:
        started = time.monotonic()
        with contextlib.ExitStack() as stack:
            try:
                report = yield from self._flush_task(stack, task)
            except Exception as error:  # the user's turn continues after any error
                logger.exception("a flush failed")
                report = FlushReport(task.reason, task.thread, failed=error_text(error), safe=False)
            report = replace(report, seconds=time.monotonic() - started)
            yield from self._notify(report)
        self._has_failed = report.failed is not None
        if self._has_failed or not report.skipped:
            self._is_well = not self._has_failed
        return report

    def _flush_task(self, stack: contextlib.ExitStack, task: _FlushTask) -> FlushSteps[FlushReport]:
        """Journal the new messages of a task, then process the entries of its thread."""
        report = FlushReport(task.reason, task.thread)
        skipped = skip_reason(self._memory)
        if skipped is not None:
            tokens, count = message_tokens(task.messages), len(task.messages)
            return replace(report, messages=count, tokens=tokens, skipped=skipped, safe=False)
        journal, lease = self._journal_new(stack, task)
        pending = journal.pending(thread=task.thread, attempts=MAX_ATTEMPTS)
        if not pending:
            return replace(report, skipped=_NOTHING_NEW if task.messages else NO_MESSAGES)
        deadline = self._deadline(time.monotonic())
        # Without a thread id, the entries are of conversations that need not wait for one another.
        until = deadline if task.thread or task.reason == "session_end" else 0.0
        processor = EntryProcessor(self._memory, journal, lease=lease, wait_until=until)
        reports = yield from processor.process_all(pending, self._enqueued, deadline=deadline)
        return merge_reports(report, reports) if reports else replace(report, skipped=_BUSY)

    def _process_pending(
        self, deadline: float | None, *, attempts: int | None
    ) -> FlushSteps[tuple[FlushReport, ...]]:
        """Process entries of all threads, by their failed attempts; stop at the first failure."""
        reports: list[FlushReport] = []
        try:
            if skip_reason(self._memory) is None:
                for journal in filter(None, (self._memory_journal, self._journal)):
                    pending = journal.pending(attempts=attempts)
                    reports += yield from self._process_journal(journal, pending, deadline)
                    if any(report.failed for report in reports):
                        break
        except Exception:  # the user's turn continues after any error
            logger.exception("the flush journal could not be worked off")
        return tuple(reports)

    def _process_journal(
        self, journal: Journal, pending: Sequence[int], deadline: float | None
    ) -> FlushSteps[list[FlushReport]]:
        if not pending:
            return []
        with contextlib.ExitStack() as stack:
            processor = EntryProcessor(self._memory, journal, lease=self._lease(stack, journal))
            reports = yield from processor.process_all(pending, self._enqueued, deadline=deadline)
        for report in reports:
            yield from self._notify(report)
        return reports

    def _process_all(self) -> None:
        """Process pending entries until none is left or one fails, which is for the next start."""
        attempts = MAX_ATTEMPTS * 2 if self._is_well else MAX_ATTEMPTS
        while reports := run_sync(self._process_pending(None, attempts=attempts), self._model):
            if any(report.failed or report.skipped for report in reports):
                return

    # -- journal -----------------------------------------------------------------------------------

    def _journal_new(
        self, stack: contextlib.ExitStack, task: _FlushTask, *, merge: bool = False
    ) -> tuple[Journal, str]:
        """Add the new messages to the journal; to one in memory if the state file fails."""
        if any(UNTRUSTED_MARK in message.text for message in task.messages):
            self._memory.record_exposure(task.thread)
        try:
            return self._journal, self._add(self._journal, stack, task, merge=merge)
        except StateError as error:
            logger.warning("a flush goes on without a journal on the disk: %s", error)
            journal = self._memory_journal or Journal(None, workspace=self._workspace)
            self._memory_journal = journal
            return journal, self._add(journal, stack, task, merge=merge)

    def _add(
        self, journal: Journal, stack: contextlib.ExitStack, task: _FlushTask, *, merge: bool
    ) -> str:
        lease = self._lease(stack, journal)
        if task.messages:
            numbers = journal.add(
                task.thread,
                task.messages,
                reason=task.reason,
                moment=self._memory.now(),
                split=self._split,
                lease=lease,
                merge=merge,
                after=task.after,
            )
            if merge:
                self._enqueued.update(numbers)
        return lease

    def _lease(self, stack: contextlib.ExitStack, journal: Journal) -> str:
        """Hold a lease of the journal until the stack closes; release its entries then."""
        lease = stack.enter_context(journal.lease())
        stack.callback(self._release, journal, lease)
        return lease

    def _release(self, journal: Journal, lease: str) -> None:
        with log_state_errors("entries could not be released; the next process takes them over"):
            journal.release(lease)

    # -- conditions --------------------------------------------------------------------------------

    def _deadline(self, started: float) -> float:
        return started + self._memory.settings.flush.deadline_s

    def _split(self, messages: Sequence[FlushMessage]) -> list[tuple[FlushMessage, ...]]:
        window = self._memory.settings.flush.context_window
        return split_for_window(messages, window=self._window or window)

    def _notify(self, report: FlushReport) -> FlushSteps[None]:
        """Log a report and call `on_flush`; a flush without new messages does neither."""
        if report.skipped in (NO_MESSAGES, _NOTHING_NEW):
            logger.debug("%s", report)
            return
        logger.log(logging.WARNING if report.failed else logging.INFO, "%s", report)
        if self._on_flush is not None:
            try:
                if inspect.isawaitable(called := self._on_flush(report)):
                    yield called
            except Exception:
                logger.exception("on_flush failed")


@dataclass(frozen=True, slots=True)
class _FlushTask:
    """Messages of one conversation that a caller wants flushed."""

    messages: tuple[FlushMessage, ...]
    thread: str
    reason: FlushReason
    after: Fingerprinter | None = None
