"""What both flushing middlewares share: the core's flusher, and when it runs."""

from __future__ import annotations

import asyncio
import dataclasses
from collections.abc import Callable, Iterable, Sequence
from typing import Annotated, Any, NotRequired

from langchain.agents.middleware.types import AgentState, PrivateStateAttr
from langchain.chat_models import BaseChatModel
from langchain_core.messages import BaseMessage
from langchain_core.runnables import ensure_config

from commonplace import FlushReport, Memory
from commonplace.flush import (
    FlushCycle,
    Flusher,
    FlushLimits,
    FlushReason,
    flush_reason,
    transcript_bytes,
)
from langchain_commonplace.counting import TokenCounter, Trigger, context_window, reported_tokens
from langchain_commonplace.flush_model import LangChainFlushModel
from langchain_commonplace.lru import LRUCache
from langchain_commonplace.messages import cycle_id, flush_messages

__all__ = ["FlushSession", "FlushState", "OnFlush", "current_thread"]

OnFlush = Callable[[FlushReport], object]


class FlushState(AgentState[Any]):
    """The state of an agent, and what a checkpointer keeps of its flushes."""

    commonplace_flush: NotRequired[Annotated[dict[str, Any] | None, PrivateStateAttr]]


class FlushSession:
    """Flushes conversations of one memory, each part of them when its time has come.

    Args:
        memory: Where the notes go.
        model: The chat model whose window is at stake.
        writer: Who writes the notes.
        count: Counts the tokens of a conversation.
        trigger: When a conversation is flushed; None goes by the window and the settings.
        on_flush: Called with each report.
    """

    def __init__(
        self,
        memory: Memory,
        model: BaseChatModel,
        *,
        writer: str | BaseChatModel,
        count: TokenCounter,
        trigger: Any = None,
        on_flush: OnFlush | None = None,
    ) -> None:
        silent = LangChainFlushModel(writer)
        self._flusher = Flusher(
            memory, silent, context_window=context_window(silent.model), on_flush=on_flush
        )
        self._limits = FlushLimits.from_settings(
            memory.settings, context_window=context_window(model)
        )
        self._trigger = None
        if trigger is not None:
            self._trigger = Trigger(trigger, window=context_window(model))
            self._limits = FlushLimits(None, self._limits.transcript_bytes)
        self._count = count
        self._cycles: LRUCache[FlushCycle] = LRUCache()
        self._is_open = False

    def open(self) -> None:
        """Write down what earlier flushes of any process left over; once."""
        if not self._is_open:
            self._is_open = True
            self._flusher.process_pending()

    async def aopen(self) -> None:
        """Do what `open` does."""
        if not self._is_open:
            self._is_open = True
            await self._flusher.aprocess_pending()

    def flush(
        self, messages: Iterable[BaseMessage], *, thread: str, reason: FlushReason
    ) -> FlushReport:
        """Write down what is new among messages."""
        return self._flusher.flush(flush_messages(messages), thread=thread, reason=reason)

    async def aflush(
        self, messages: Iterable[BaseMessage], *, thread: str, reason: FlushReason
    ) -> FlushReport:
        """Do what `flush` does; the event loop goes on."""
        return await self._flusher.aflush(flush_messages(messages), thread=thread, reason=reason)

    def archive(self, messages: Iterable[BaseMessage], *, thread: str) -> str:
        """Keep a whole conversation as a session file and return its path."""
        return str(self._flusher.archive(flush_messages(messages), thread=thread))

    def due(
        self, messages: Sequence[BaseMessage], state: Any, *, thread: str
    ) -> FlushReason | None:
        """Say why a conversation is flushed now, before anybody compacts it; None if it is not."""
        cycle = self._cycle(messages, state, thread)
        if cycle.flushed:
            return None
        tokens = max(self._count(messages), reported_tokens(messages))
        if self._trigger is not None and self._trigger.met(tokens=tokens, messages=len(messages)):
            return "tokens"
        size = transcript_bytes(flush_messages(messages))
        return flush_reason(self._limits, tokens=tokens, transcript_bytes=size, cycle=cycle)

    async def adue(
        self, messages: Sequence[BaseMessage], state: Any, *, thread: str
    ) -> FlushReason | None:
        """Do what `due` does, in a thread: a long conversation takes its time to be counted."""
        return await asyncio.to_thread(self.due, messages, state, thread=thread)

    def done(
        self, messages: Sequence[BaseMessage], state: Any, report: FlushReport
    ) -> dict[str, Any]:
        """Remember that a cycle had its flush; return what the agent's state is to keep."""
        cycle = self._cycle(messages, state, report.thread).after(report)
        self._cycles.set(report.thread, cycle)
        return {"commonplace_flush": dataclasses.asdict(cycle)}

    def kept(
        self, messages: Sequence[BaseMessage], state: Any, *, thread: str
    ) -> dict[str, Any] | None:
        """Return what the agent's state is to keep when there was no flush, if that is new."""
        cycle = dataclasses.asdict(self._cycle(messages, state, thread))
        return {"commonplace_flush": cycle} if cycle != state.get("commonplace_flush") else None

    def _cycle(self, messages: Sequence[BaseMessage], state: Any, thread: str) -> FlushCycle:
        """Return what the conversation had since its last compaction.

        The agent's state has it, but without a checkpointer that ends with the call.
        """
        kept = state.get("commonplace_flush")
        cycle = FlushCycle(**kept) if kept else self._cycles.get(thread)
        return (cycle or FlushCycle()).for_compaction(cycle_id(messages))


def current_thread() -> str:
    """Return the thread of the run that this is called in; empty outside of one."""
    return str(ensure_config().get("configurable", {}).get("thread_id") or "")
