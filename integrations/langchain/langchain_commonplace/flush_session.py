"""Flush sessions: the core's flusher and its triggers, shared by both flushing middlewares."""

from __future__ import annotations

import asyncio
import dataclasses
from collections.abc import Callable, Iterable, Sequence
from typing import Annotated, Any, NotRequired

from langchain.agents.middleware.types import AgentState, PrivateStateAttr
from langchain.chat_models import BaseChatModel
from langchain_core.messages import BaseMessage
from langchain_core.runnables import RunnableConfig

from commonplace import FlushReport, Memory
from commonplace.flush import (
    FlushCycle,
    Flusher,
    FlushLimits,
    FlushReason,
    flush_reason,
    transcript_bytes,
)
from langchain_commonplace.compaction_trigger import CompactionTrigger
from langchain_commonplace.flush_model import LangChainFlushModel
from langchain_commonplace.lru import LRUCache
from langchain_commonplace.memory_source import (
    MemorySource,
    acurrent_memory,
    current_memory,
    memory_key,
)
from langchain_commonplace.message_conversion import cycle_id, flush_messages
from langchain_commonplace.token_counting import TokenCounter, context_window, reported_tokens

__all__ = ["FlushSession", "FlushSessions", "FlushState", "OnFlush"]

OnFlush = Callable[[FlushReport], object]


class FlushState(AgentState[Any]):
    """Agent state with the flush cycle, which a checkpointer persists."""

    commonplace_flush: NotRequired[Annotated[dict[str, Any] | None, PrivateStateAttr]]


class FlushSessions:
    """Flush sessions of one middleware: one for each memory that its runs use.

    Args:
        source: The memory, or the function from a run to its memory.
        make: Makes the session of a memory.
    """

    def __init__(self, source: MemorySource, make: Callable[[Memory], FlushSession]) -> None:
        self._source = source
        self._make = make
        self._sessions: LRUCache[FlushSession] = LRUCache()

    def current(self, config: RunnableConfig | None = None) -> FlushSession:
        """Return the session of a run's memory.

        Args:
            config: Configuration of the run; that of the run in progress by default.
        """
        return self._of(current_memory(self._source, config))

    async def acurrent(self, config: RunnableConfig | None = None) -> FlushSession:
        """Run `current` without blocking the event loop."""
        return self._of(await acurrent_memory(self._source, config))

    def _of(self, memory: Memory) -> FlushSession:
        key = memory_key(memory)
        session = self._sessions.get(key)
        if session is None or session.memory is not memory:
            session = self._make(memory)
            self._sessions.set(key, session)
        return session


class FlushSession:
    """Flushes of one memory's conversations: when each is due, and its cycle.

    Args:
        memory: Takes the notes.
        model: Chat model whose context window fills up.
        flush_model: Writes the notes.
        count: Counts the tokens of a conversation.
        trigger: When a conversation is flushed; None for the window and the settings.
        on_flush: Called with each report.
    """

    def __init__(
        self,
        memory: Memory,
        model: BaseChatModel,
        *,
        flush_model: LangChainFlushModel,
        count: TokenCounter,
        trigger: CompactionTrigger | None = None,
        on_flush: OnFlush | None = None,
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
        self._cycles: LRUCache[FlushCycle] = LRUCache()
        self._is_open = False

    def open(self) -> None:
        """Process the pending flushes of any process in the background, at the first call only."""
        if not self._is_open:
            self._is_open = True
            self._flusher.start_pending()

    def flush(
        self, messages: Iterable[BaseMessage], *, thread: str, reason: FlushReason
    ) -> FlushReport:
        """Write down what is new among messages; what earlier flushes left, in the background."""
        report = self._flusher.flush(flush_messages(messages), thread=thread, reason=reason)
        self._flusher.start_pending()
        return report

    async def aflush(
        self, messages: Iterable[BaseMessage], *, thread: str, reason: FlushReason
    ) -> FlushReport:
        """Run `flush` without blocking the event loop."""
        report = await self._flusher.aflush(flush_messages(messages), thread=thread, reason=reason)
        self._flusher.start_pending()
        return report

    def archive(self, messages: Iterable[BaseMessage], *, thread: str) -> str:
        """Write a whole conversation to a session file and return its path."""
        return str(self._flusher.archive(flush_messages(messages), thread=thread))

    def due_reason(
        self, messages: Sequence[BaseMessage], state: Any, *, thread: str
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
        self, messages: Sequence[BaseMessage], state: Any, *, thread: str
    ) -> FlushReason | None:
        """Run `due_reason` in a thread: counting a long conversation takes its time."""
        return await asyncio.to_thread(self.due_reason, messages, state, thread=thread)

    def record_flush(
        self, messages: Sequence[BaseMessage], state: Any, report: FlushReport
    ) -> dict[str, Any]:
        """Record a flush in its cycle and return the update of the agent's state."""
        cycle = self._cycle(messages, state, report.thread).after(report)
        self._cycles.set(report.thread, cycle)
        return {"commonplace_flush": self._saved(cycle)}

    def state_update(
        self, messages: Sequence[BaseMessage], state: Any, *, thread: str
    ) -> dict[str, Any] | None:
        """Return the update of the agent's state without a flush; None if the cycle is the same."""
        cycle = self._saved(self._cycle(messages, state, thread))
        return {"commonplace_flush": cycle} if cycle != state.get("commonplace_flush") else None

    def key(self, name: str) -> str:
        """Return a key for what is kept of a thread or a message of this memory."""
        return f"{self._key} {name}"

    def _saved(self, cycle: FlushCycle) -> dict[str, Any]:
        return {"memory": self._key, **dataclasses.asdict(cycle)}

    def _cycle(self, messages: Sequence[BaseMessage], state: Any, thread: str) -> FlushCycle:
        """Return the conversation's cycle: of the agent's state, else of this object.

        Without a checkpointer, the agent's state ends with the call.
        """
        saved = state.get("commonplace_flush")
        if saved and saved["memory"] == self._key:  # else the thread was another memory's before
            cycle: FlushCycle | None = FlushCycle(saved["id"], saved["flushed"])
        else:
            cycle = self._cycles.get(thread)
        return (cycle or FlushCycle()).for_compaction(cycle_id(messages))
