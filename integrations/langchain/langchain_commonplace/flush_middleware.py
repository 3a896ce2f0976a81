"""`MemoryFlushMiddleware`: a conversation is written down before other middleware compacts it."""

from __future__ import annotations

import asyncio
import logging
import warnings
from collections.abc import Awaitable, Callable, Mapping
from functools import partial
from typing import Any

from langchain.agents.middleware import AgentMiddleware, ModelRequest, SummarizationMiddleware
from langchain.agents.middleware.types import ModelCallResult, ModelResponse
from langchain.chat_models import BaseChatModel
from langchain_core.messages import AnyMessage
from langchain_core.runnables import ensure_config
from langgraph.runtime import Runtime

from langchain_commonplace.compaction_trigger import CompactionTrigger, Trigger
from langchain_commonplace.conversation_view import ConversationView
from langchain_commonplace.flush_model import TRANSFORMERS, LangChainFlushModel, chat_model
from langchain_commonplace.flush_session import FlushSession, FlushState, OnFlush
from langchain_commonplace.flush_sessions import FlushSessions
from langchain_commonplace.memory_source import MemorySource, checked_source
from langchain_commonplace.message_conversion import current_thread, cycle_id
from langchain_commonplace.token_counting import TokenCounter, context_window, conversation_counter

__all__ = ["MemoryFlushMiddleware"]

_WRONG_ORDER = (
    "MemoryFlushMiddleware is listed behind the middleware that compacts, so that messages are "
    "written down only after they were removed, if this process saw them. List it first: "
    "middleware=[MemoryFlushMiddleware(...), SummarizationMiddleware(...)]; or use ChatMemory, "
    "which works anywhere."
)

logger = logging.getLogger(__name__)


class MemoryFlushMiddleware(AgentMiddleware[FlushState, Any, Any]):
    """Middleware that flushes a conversation and leaves the compaction to other middleware.

    List it before the middleware that compacts. It flushes at its trigger, once between two
    compactions. Messages that vanish from the conversation before they were flushed, whatever
    removed them, are flushed at the next model call or at the end of the run. That also covers
    compactions that keep the messages in the agent's state, such as deepagents': there it flushes
    once a compaction, unless a trigger is given.
    """

    state_schema = FlushState
    transformers = TRANSFORMERS

    def __init__(
        self,
        *,
        memory: MemorySource,
        model: str | BaseChatModel,
        trigger: Trigger | None = None,
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
        chat = chat_model(model)
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
            view=ConversationView(),
            trigger=None if trigger is None else CompactionTrigger(trigger, window=window),
            on_flush=on_flush,
        )
        self._sessions = FlushSessions(checked_source(memory), make_session)
        self._has_trigger = trigger is not None
        self._has_warned = False

    def before_agent(
        self,
        state: FlushState,
        runtime: Runtime[Any],  # noqa: ARG002
    ) -> dict[str, Any] | None:
        """Flush what vanished since the last run, and save the cycle."""
        return self._sessions.current().begin(_visible(state), state, thread=current_thread())

    async def abefore_agent(
        self,
        state: FlushState,
        runtime: Runtime[Any],  # noqa: ARG002
    ) -> dict[str, Any] | None:
        """Flush what vanished since the last run, and save the cycle."""
        session = await self._sessions.acurrent()
        return await session.abegin(_visible(state), state, thread=current_thread())

    def before_model(
        self,
        state: FlushState,
        runtime: Runtime[Any],  # noqa: ARG002
    ) -> dict[str, Any] | None:
        """Flush what vanished, and the conversation, if it is due."""
        session, thread, visible = self._sessions.current(), current_thread(), _visible(state)
        if session.flush_vanished(visible, state, thread=thread):
            self._warn_if_behind(state)
        if removed := self._to_be_removed(state):
            report = session.flush(removed, thread=thread, reason="compaction")
            if report.safe:
                session.replace_seen(visible[len(removed) :], state, thread=thread)
            return None
        if self._can_wait():
            return None
        reason = session.due_reason(visible, state, thread=thread)
        if reason is None:
            return None
        report = session.flush(visible, thread=thread, reason=reason)
        return session.record_flush(visible, state, report)

    async def abefore_model(
        self,
        state: FlushState,
        runtime: Runtime[Any],  # noqa: ARG002
    ) -> dict[str, Any] | None:
        """Flush what vanished, and the conversation, if it is due."""
        session, thread = await self._sessions.acurrent(), current_thread()
        visible = _visible(state)
        if await session.aflush_vanished(visible, state, thread=thread):
            self._warn_if_behind(state)
        if removed := await asyncio.to_thread(self._to_be_removed, state):
            report = await session.aflush(removed, thread=thread, reason="compaction")
            if report.safe:
                session.replace_seen(visible[len(removed) :], state, thread=thread)
            return None
        if self._can_wait():
            return None
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
        """Flush the messages that have just vanished, then call the model."""
        session = self._sessions.current()
        session.flush_vanished(_sent(request), _state_of(request), thread=current_thread())
        return handler(request)

    async def awrap_model_call(
        self,
        request: ModelRequest[Any],
        handler: Callable[[ModelRequest[Any]], Awaitable[ModelResponse[Any]]],
    ) -> ModelCallResult[Any]:
        """Flush the messages that have just vanished, then call the model."""
        session, thread = await self._sessions.acurrent(), current_thread()
        await session.aflush_vanished(_sent(request), _state_of(request), thread=thread)
        return await handler(request)

    def after_model(
        self,
        state: FlushState,
        runtime: Runtime[Any],  # noqa: ARG002
    ) -> dict[str, Any] | None:
        """Flush the messages that have just vanished, and save the cycle."""
        session, thread, visible = self._sessions.current(), current_thread(), _visible(state)
        session.flush_vanished(visible, state, thread=thread)
        return session.state_update(visible, state, thread=thread)

    async def aafter_model(
        self,
        state: FlushState,
        runtime: Runtime[Any],  # noqa: ARG002
    ) -> dict[str, Any] | None:
        """Flush the messages that have just vanished, and save the cycle."""
        session, thread = await self._sessions.acurrent(), current_thread()
        visible = _visible(state)
        await session.aflush_vanished(visible, state, thread=thread)
        return session.state_update(visible, state, thread=thread)

    def after_agent(self, state: FlushState, runtime: Runtime[Any]) -> None:  # noqa: ARG002
        """Flush the messages that have just vanished."""
        session = self._sessions.current()
        session.flush_vanished(_visible(state), state, thread=current_thread())

    async def aafter_agent(self, state: FlushState, runtime: Runtime[Any]) -> None:  # noqa: ARG002
        """Flush the messages that have just vanished."""
        session = await self._sessions.acurrent()
        await session.aflush_vanished(_visible(state), state, thread=current_thread())

    # -- detection of compactions ------------------------------------------------------------------

    def _warn_if_behind(self, state: Mapping[str, Any]) -> None:
        """Warn once if a summarization in front of this middleware removed messages."""
        cycle, saved = cycle_id(list(state["messages"])), state.get("commonplace_flush")
        if not cycle or not saved or cycle == saved["id"] or self._has_warned:
            return
        self._has_warned = True
        logger.warning(_WRONG_ORDER)
        warnings.warn(_WRONG_ORDER, UserWarning, stacklevel=2)

    def _can_wait(self) -> bool:
        """Return whether the flush can follow the compaction: deepagents' keeps all messages.

        One flush for each compaction is enough then, unless a trigger was given.
        """
        metadata = ensure_config().get("metadata") or {}
        return not self._has_trigger and metadata.get("ls_integration") == "deepagents"

    def _to_be_removed(self, state: Mapping[str, Any]) -> list[AnyMessage]:
        """Return the messages that the summarization behind removes now; empty if unknown."""
        if self._before is None:
            return []
        messages = list(state["messages"])
        return messages[: _next_cutoff(self._before, messages)]


def _state_of(request: ModelRequest[Any]) -> Mapping[str, Any]:
    state: Mapping[str, Any] = request.state
    return state


def _sent(request: ModelRequest[Any]) -> list[AnyMessage]:
    """Return the messages that a model call is sent, if they were compacted for good.

    A compaction leaves its summary; what other middleware leaves out of one call stays in the
    state.
    """
    messages = list(request.messages)
    return messages if cycle_id(messages) else _visible(_state_of(request))


def _visible(state: Mapping[str, Any]) -> list[AnyMessage]:
    """Return the messages that the model sees; deepagents' state holds compacted ones, too."""
    messages = list(state["messages"])
    event: Any = state.get("_summarization_event")
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
