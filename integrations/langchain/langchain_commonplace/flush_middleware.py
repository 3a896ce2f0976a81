"""`MemoryFlushMiddleware`: a conversation is written down before other middleware compacts it."""

from __future__ import annotations

import asyncio
import logging
import warnings
from collections.abc import Awaitable, Callable
from functools import partial
from typing import Any

from langchain.agents.middleware import AgentMiddleware, ModelRequest, SummarizationMiddleware
from langchain.agents.middleware.types import ModelCallResult, ModelResponse
from langchain.chat_models import BaseChatModel, init_chat_model
from langchain_core.messages import AnyMessage
from langchain_core.runnables import ensure_config
from langgraph.runtime import Runtime

from langchain_commonplace.compaction_trigger import CompactionTrigger
from langchain_commonplace.flush_model import TRANSFORMERS, LangChainFlushModel
from langchain_commonplace.flush_session import FlushSession, FlushSessions, FlushState, OnFlush
from langchain_commonplace.lru import LRUCache
from langchain_commonplace.memory_source import MemorySource
from langchain_commonplace.message_conversion import current_thread, cycle_id
from langchain_commonplace.token_counting import TokenCounter, context_window, conversation_counter

__all__ = ["MemoryFlushMiddleware"]

_WRONG_ORDER = (
    "MemoryFlushMiddleware is listed behind the middleware that compacts: what was compacted just "
    "now was not written down. List it first: middleware=[MemoryFlushMiddleware(...), "
    "SummarizationMiddleware(...)]; or use ChatMemory, which works anywhere."
)

logger = logging.getLogger(__name__)


class MemoryFlushMiddleware(AgentMiddleware[FlushState, Any, Any]):
    """Middleware that flushes a conversation and leaves the compaction to other middleware.

    List it before the middleware that compacts. It flushes at its trigger, once between two
    compactions. Messages that a compaction removes before they were flushed are flushed at the next
    model call. That also covers compactions that keep the messages in the agent's state, such as
    deepagents': there it flushes once a compaction, unless a trigger is given.
    """

    state_schema = FlushState
    transformers = TRANSFORMERS

    def __init__(
        self,
        *,
        memory: MemorySource,
        model: str | BaseChatModel,
        trigger: Any = None,
        before: SummarizationMiddleware[Any, Any] | None = None,
        token_counter: TokenCounter | None = None,
        on_flush: OnFlush | None = None,
    ) -> None:
        """Set up the flush.

        Args:
            memory: Takes the notes; it is not closed by the middleware. Or a function from a run's
                configuration to it, such as ``pool.resolver("user_id")``.
            model: Writes the notes.
            trigger: When to flush, in any form that `SummarizationMiddleware` takes. By default
                `before`'s; else when the model's window, less a reserve, is nearly full.
            before: The summarization that follows: its trigger, its counter and its `keep` decide
                what is flushed, and when.
            token_counter: Counts the tokens of messages.
            on_flush: Called with the report of each flush.
        """
        super().__init__()
        self.tools = []
        chat = init_chat_model(model) if isinstance(model, str) else model
        counted_model = before.model if before is not None else chat
        self._before = before
        self._count = token_counter or (
            before.token_counter if before is not None else conversation_counter(chat)
        )
        window = context_window(counted_model)
        make_session = partial(
            FlushSession,
            model=counted_model,
            flush_model=LangChainFlushModel(chat),
            count=self._count,
            trigger=None if trigger is None else CompactionTrigger(trigger, window=window),
            on_flush=on_flush,
        )
        self._sessions = FlushSessions(memory, make_session)
        self._seen: LRUCache[list[AnyMessage]] = LRUCache(256)
        self._handled_cycles: LRUCache[str] = LRUCache()
        self._has_trigger = trigger is not None
        self._has_warned = False

    def before_agent(self, state: Any, runtime: Runtime[Any]) -> dict[str, Any] | None:  # noqa: ARG002
        """Process pending flushes in the background, at first; save the cycle."""
        session = self._sessions.current()
        session.open()
        return session.state_update(_visible(state), state, thread=current_thread())

    async def abefore_agent(
        self,
        state: Any,
        runtime: Runtime[Any],  # noqa: ARG002
    ) -> dict[str, Any] | None:
        """Process pending flushes in the background, at first; save the cycle."""
        session = await self._sessions.acurrent()
        session.open()
        return session.state_update(_visible(state), state, thread=current_thread())

    def before_model(self, state: Any, runtime: Runtime[Any]) -> dict[str, Any] | None:  # noqa: ARG002
        """Flush, if it is due."""
        session, thread = self._sessions.current(), current_thread()
        self._observe(state, session.key(thread))
        if removed := self._to_be_removed(state):
            session.flush(removed, thread=thread, reason="compaction")
            return None
        if self._can_wait():
            return None
        visible = _visible(state)
        reason = session.due_reason(visible, state, thread=thread)
        if reason is None:
            return None
        report = session.flush(visible, thread=thread, reason=reason)
        return session.record_flush(visible, state, report)

    async def abefore_model(
        self,
        state: Any,
        runtime: Runtime[Any],  # noqa: ARG002
    ) -> dict[str, Any] | None:
        """Flush, if it is due."""
        session, thread = await self._sessions.acurrent(), current_thread()
        self._observe(state, session.key(thread))
        if removed := await asyncio.to_thread(self._to_be_removed, state):
            await session.aflush(removed, thread=thread, reason="compaction")
            return None
        if self._can_wait():
            return None
        visible = _visible(state)
        reason = await session.adue_reason(visible, state, thread=thread)
        if reason is None:
            return None
        report = await session.aflush(visible, thread=thread, reason=reason)
        return session.record_flush(visible, state, report)

    def wrap_model_call(
        self,
        request: ModelRequest[Any],
        handler: Callable[[ModelRequest[Any]], ModelResponse[Any]],
    ) -> ModelCallResult[Any]:
        """Flush the messages that a compaction has just removed, then call the model."""
        session, thread = self._sessions.current(), current_thread()
        if removed := self._removed(request, session.key(thread)):
            session.flush(removed, thread=thread, reason="compaction")
        return handler(request)

    async def awrap_model_call(
        self,
        request: ModelRequest[Any],
        handler: Callable[[ModelRequest[Any]], Awaitable[ModelResponse[Any]]],
    ) -> ModelCallResult[Any]:
        """Flush the messages that a compaction has just removed, then call the model."""
        session, thread = await self._sessions.acurrent(), current_thread()
        if removed := self._removed(request, session.key(thread)):
            await session.aflush(removed, thread=thread, reason="compaction")
        return await handler(request)

    def after_model(self, state: Any, runtime: Runtime[Any]) -> dict[str, Any] | None:  # noqa: ARG002
        """Save the cycle."""
        session = self._sessions.current()
        return session.state_update(_visible(state), state, thread=current_thread())

    async def aafter_model(
        self,
        state: Any,
        runtime: Runtime[Any],  # noqa: ARG002
    ) -> dict[str, Any] | None:
        """Save the cycle."""
        session = await self._sessions.acurrent()
        return session.state_update(_visible(state), state, thread=current_thread())

    # -- detection of compactions ------------------------------------------------------------------

    def _observe(self, state: Any, key: str) -> None:
        """Keep the conversation, and warn if it was compacted since the last model call."""
        messages = list(state["messages"])
        if messages:
            self._seen.set(f"{key} {messages[-1].id}", messages)
        cycle, saved = cycle_id(messages), state.get("commonplace_flush")
        if not cycle or not saved or cycle in (saved["id"], self._handled_cycles.get(key)):
            return
        if not self._has_warned:
            self._has_warned = True
            logger.warning(_WRONG_ORDER)
            warnings.warn(_WRONG_ORDER, UserWarning, stacklevel=2)

    def _can_wait(self) -> bool:
        """Return whether the flush can follow the compaction: deepagents' keeps all messages.

        One flush for each compaction is enough then, unless a trigger was given.
        """
        metadata = ensure_config().get("metadata") or {}
        return not self._has_trigger and metadata.get("ls_integration") == "deepagents"

    def _to_be_removed(self, state: Any) -> list[AnyMessage]:
        """Return the messages that the summarization behind removes now; empty if unknown."""
        if self._before is None:
            return []
        messages = list(state["messages"])
        return messages[: _next_cutoff(self._before, messages)]

    def _removed(self, request: ModelRequest[Any], key: str) -> list[AnyMessage]:
        """Return the messages that the last compaction removed, once for each compaction."""
        last = request.messages[-1].id if request.messages else None
        seen = self._seen.pop(f"{key} {last}") or request.state["messages"]
        cycle = cycle_id(request.messages)
        if not cycle or cycle == self._handled_cycles.get(key):
            return []
        self._handled_cycles.set(key, cycle)
        kept = {message.id for message in request.messages}
        return [message for message in seen if message.id not in kept]


def _visible(state: Any) -> list[AnyMessage]:
    """Return the messages that the model sees; deepagents' state holds compacted ones, too."""
    messages = list(state["messages"])
    event = state.get("_summarization_event")
    try:
        return [event["summary_message"], *messages[event["cutoff_index"] :]]
    except (KeyError, TypeError):
        return messages


def _next_cutoff(summarization: Any, messages: list[AnyMessage]) -> int:
    """Return how many messages a summarization is about to remove."""
    tokens = summarization.token_counter(messages)
    is_due = getattr(summarization, "_should_summarize", None)
    cutoff = getattr(summarization, "_determine_cutoff_index", None)
    if is_due and cutoff:  # private, but what decides; without them, all messages count as removed
        return int(cutoff(messages)) if is_due(messages, tokens) else 0
    window = context_window(summarization.model)
    trigger = CompactionTrigger(summarization.trigger, window=window)
    return len(messages) if trigger.is_met(tokens=tokens, messages=len(messages)) else 0
