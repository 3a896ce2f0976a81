"""Flush session: the core's flusher and its triggers, shared by both flushing middlewares."""

from __future__ import annotations

import asyncio
import dataclasses
import logging
import uuid
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Annotated, Any, Literal, NotRequired

from langchain.agents.middleware.types import AgentState, PrivateStateAttr
from langchain.chat_models import BaseChatModel
from langchain_core.messages import BaseMessage

from commonplace import FlushReport, Memory
from commonplace.flush import (
    NO_MESSAGES,
    FlushCycle,
    Flusher,
    FlushLimits,
    FlushMessage,
    FlushReason,
    flush_reason,
    transcript_bytes,
)
from langchain_commonplace.compaction_trigger import CompactionTrigger
from langchain_commonplace.conversation_view import ConversationView
from langchain_commonplace.flush_model import LangChainFlushModel
from langchain_commonplace.lru import LRUCache
from langchain_commonplace.memory_source import memory_key
from langchain_commonplace.message_conversion import (
    cycle_id,
    flush_messages,
    is_called_by_tool,
    is_in_graph,
    prefix_digests,
)
from langchain_commonplace.token_counting import TokenCounter, context_window, reported_tokens

__all__ = ["FlushMode", "FlushSession", "FlushState", "OnFlush"]

OnFlush = Callable[[FlushReport], object]
"""Function that is called with each report; a coroutine that it returns is awaited."""

logger = logging.getLogger(__name__)

FlushMode = Literal["before", "background"]


class FlushState(AgentState[Any]):
    """Agent state with the flush cycle, which a checkpointer persists."""

    commonplace_flush: NotRequired[Annotated[dict[str, Any] | None, PrivateStateAttr]]


class FlushSession:
    """Flushes of one memory's conversations: when each is due, and its cycle.

    Args:
        memory: Takes the notes.
        model: Chat model whose context window fills up.
        flush_model: Writes the notes.
        count: Counts the tokens of a conversation.
        view: What was last seen of the conversations, of all memories of the middleware.
        trigger: When a conversation is flushed; None for the window and the settings.
        on_flush: Called with each report.
        mode: Whether the silent turn comes before what it is for, or runs in the background.
    """

    def __init__(
        self,
        memory: Memory,
        model: BaseChatModel,
        *,
        flush_model: LangChainFlushModel,
        count: TokenCounter,
        view: ConversationView,
        trigger: CompactionTrigger | None = None,
        on_flush: OnFlush | None = None,
        mode: FlushMode = "before",
    ) -> None:
        self.memory = memory
        self._key = memory_key(memory)
        self._flusher = Flusher(
            memory, flush_model, context_window=context_window(flush_model.model), on_flush=on_flush
        )
        window = context_window(model)
        self._limits = FlushLimits.of_memory(memory, context_window=window)
        self._trigger = trigger
        if trigger is not None:
            self._limits = FlushLimits(None, self._limits.transcript_bytes)
        self._count = count
        self._view = view
        self._mode = mode
        self._cycles: LRUCache[FlushCycle] = LRUCache()
        self._is_open = False

    def open(self) -> None:
        """Process the pending flushes of any process in the background, at the first call only."""
        if not self._is_open:
            self._is_open = True
            self._flusher.start_pending()

    def flush(
        self, messages: Iterable[BaseMessage | FlushMessage], *, thread: str, reason: FlushReason
    ) -> FlushReport:
        """Write down what is new among messages; what earlier flushes left, in the background.

        In the background, all of it: this only puts the messages into the journal. But the end of a
        session is written before this returns.
        """
        flushed = flush_messages(messages)
        if self._mode == "background" and reason != "session_end":
            report = self._flusher.enqueue(flushed, thread=thread, reason=reason)
        else:
            report = self._flusher.flush(flushed, thread=thread, reason=reason)
        self._flusher.start_pending()
        return report

    async def aflush(
        self, messages: Iterable[BaseMessage | FlushMessage], *, thread: str, reason: FlushReason
    ) -> FlushReport:
        """Run `flush` without blocking the event loop."""
        if self._mode == "background" and reason != "session_end":
            return await asyncio.to_thread(self.flush, messages, thread=thread, reason=reason)
        report = await self._flusher.aflush(flush_messages(messages), thread=thread, reason=reason)
        self._flusher.start_pending()
        return report

    def begin(
        self, messages: Sequence[BaseMessage], state: Mapping[str, Any], *, thread: str
    ) -> dict[str, Any] | None:
        """Begin a run: flush what vanished since the last one; return the update of the state.

        Pending flushes of any process are processed in the background, at first.
        """
        self.open()
        update = self.state_update(messages, state, thread=thread)
        self.flush_vanished(messages, {**state, **(update or {})}, thread=thread)
        return update

    async def abegin(
        self, messages: Sequence[BaseMessage], state: Mapping[str, Any], *, thread: str
    ) -> dict[str, Any] | None:
        """Run `begin` without blocking the event loop."""
        self.open()
        update = self.state_update(messages, state, thread=thread)
        await self.aflush_vanished(messages, {**state, **(update or {})}, thread=thread)
        return update

    def flush_vanished(
        self, messages: Sequence[BaseMessage], state: Mapping[str, object], *, thread: str
    ) -> bool:
        """Flush what vanished from a conversation since it was last seen; return whether any did.

        It does not matter what removed the messages. Those of a failed flush that no journal holds
        are tried again at the next call.
        """
        key = self._conversation(state, thread)
        vanished = self._vanished(key, messages)
        if vanished:
            self._settle(key, self.flush(vanished, thread=thread, reason="compaction"))
        return bool(vanished)

    async def aflush_vanished(
        self, messages: Sequence[BaseMessage], state: Mapping[str, object], *, thread: str
    ) -> bool:
        """Run `flush_vanished` without blocking the event loop."""
        key = self._conversation(state, thread)
        vanished = self._vanished(key, messages)
        if vanished:
            self._settle(key, await self.aflush(vanished, thread=thread, reason="compaction"))
        return bool(vanished)

    def replace_seen(
        self, messages: Sequence[BaseMessage], state: Mapping[str, object], *, thread: str
    ) -> None:
        """Set what was last seen of a conversation, after a flush of all that vanished."""
        key = self._conversation(state, thread)
        self._view.update(key, messages)
        self._view.settle(key)

    def end(self, thread: str, messages: Iterable[BaseMessage] | None) -> FlushReport:
        """Flush the rest of a conversation, and write it to a session file.

        Args:
            thread: Conversation id.
            messages: The conversation; by default the texts that were seen last.
        """
        last = self._last(thread, messages)
        report = self.flush(last, thread=thread, reason="session_end")
        return self._archived(last, report if messages is not None else _of_what_was_seen(report))

    async def aend(self, thread: str, messages: Iterable[BaseMessage] | None) -> FlushReport:
        """Run `end` without blocking the event loop."""
        last = self._last(thread, messages)
        report = await self.aflush(last, thread=thread, reason="session_end")
        report = report if messages is not None else _of_what_was_seen(report)
        return await asyncio.to_thread(self._archived, last, report)

    def _last(self, thread: str, messages: Iterable[BaseMessage] | None) -> list[FlushMessage]:
        seen = self._view.pop(self.key(thread))
        return seen if messages is None else flush_messages(messages)

    def _archived(self, messages: list[FlushMessage], report: FlushReport) -> FlushReport:
        """Write a conversation to a session file, and name it in the report."""
        if not messages:
            return report
        try:
            path = self._flusher.archive(messages, thread=report.thread)
        except OSError:
            logger.exception("the session could not be archived")
            return report
        return dataclasses.replace(report, transcript=str(path))

    def due_reason(
        self, messages: Sequence[BaseMessage], state: Mapping[str, Any], *, thread: str
    ) -> FlushReason | None:
        """Return why a conversation is flushed now, ahead of a compaction; None if it is not."""
        cycle = self._cycle(messages, state, thread)
        if cycle.flushed:
            return None
        tokens = max(self._count(messages), reported_tokens(messages))
        trigger = self._trigger
        if trigger is not None and trigger.is_met(tokens=tokens, messages=len(messages)):
            return "tokens"
        size = transcript_bytes(flush_messages(messages))
        return flush_reason(self._limits, tokens=tokens, transcript_bytes=size, cycle=cycle)

    async def adue_reason(
        self, messages: Sequence[BaseMessage], state: Mapping[str, Any], *, thread: str
    ) -> FlushReason | None:
        """Run `due_reason` in a thread: counting a long conversation takes its time."""
        return await asyncio.to_thread(self.due_reason, messages, state, thread=thread)

    def record_flush(
        self, messages: Sequence[BaseMessage], state: Mapping[str, Any], report: FlushReport
    ) -> dict[str, Any]:
        """Record a flush in its cycle and return the update of the agent's state."""
        cycle = self._cycle(messages, state, report.thread).after(report)
        self._cycles.set(report.thread or prefix_digests(messages)[-1], cycle)
        return {"commonplace_flush": self._saved(cycle, messages, state, report.thread)}

    def state_update(
        self, messages: Sequence[BaseMessage], state: Mapping[str, Any], *, thread: str
    ) -> dict[str, Any] | None:
        """Return the update of the agent's state without a flush; None if the cycle is the same."""
        saved = self._saved(self._cycle(messages, state, thread), messages, state, thread)
        return {"commonplace_flush": saved} if saved != state.get("commonplace_flush") else None

    def key(self, name: str) -> str:
        """Return a key for what is kept of a thread or a message of this memory."""
        return f"{self._key} {name}"

    def _settle(self, key: str, report: FlushReport) -> None:
        if report.safe or not self.memory.settings.flush.enabled:
            self._view.settle(key)

    def _vanished(self, key: str, messages: Sequence[BaseMessage]) -> list[FlushMessage]:
        """Return what vanished; nothing outside of a run and a thread: it may be another talk."""
        vanished = self._view.update(key, messages)
        if key != self.key(""):
            return vanished
        self._view.settle(key)
        return []

    def _conversation(self, state: Mapping[str, object], thread: str) -> str:
        """Return the key of a conversation; without a thread of its own, it is that of the run."""
        saved = state.get("commonplace_flush")
        run = saved.get("run", "") if isinstance(saved, dict) else ""
        if is_called_by_tool():
            return self.key(run)
        return self.key(run or thread if is_in_graph() else thread or run)

    def _new_run(self, messages: Sequence[BaseMessage], thread: str) -> str:
        """Return the name of a run: in another graph, the thread's where it has its messages."""
        may_share = thread and is_in_graph() and not is_called_by_tool()
        if may_share and self._view.join(self.key(thread), messages):
            return thread
        return uuid.uuid4().hex

    def _saved(
        self,
        cycle: FlushCycle,
        messages: Sequence[BaseMessage],
        state: Mapping[str, object],
        thread: str,
    ) -> dict[str, Any]:
        saved = state.get("commonplace_flush")
        run = saved.get("run") if isinstance(saved, dict) else None
        run = run or self._new_run(messages, thread)
        return {"memory": self._key, "run": run, **dataclasses.asdict(cycle)}

    def _cycle(
        self, messages: Sequence[BaseMessage], state: Mapping[str, Any], thread: str
    ) -> FlushCycle:
        """Return the conversation's cycle: of the agent's state, else of this object.

        Without a checkpointer, the agent's state ends with the call. Without a thread id, too, a
        conversation is known by the messages that it had at its last flush.
        """
        saved = state.get("commonplace_flush")
        if saved and saved["memory"] == self._key:  # else the thread was another memory's before
            cycle: FlushCycle | None = FlushCycle(saved["id"], saved["flushed"])
        else:
            names = [thread] if thread else reversed(prefix_digests(messages))
            cycle = next(filter(None, map(self._cycles.get, names)), None)
        return (cycle or FlushCycle()).for_compaction(cycle_id(messages))


def _of_what_was_seen(report: FlushReport) -> FlushReport:
    """Return the report of a session's end; without any message, it says that nothing is known."""
    if report.skipped != NO_MESSAGES:
        return report
    unseen = (
        f"this object has no message of thread {report.thread!r}; "
        "give messages= from the agent's state"
    )
    return dataclasses.replace(report, skipped=unseen, safe=False)
