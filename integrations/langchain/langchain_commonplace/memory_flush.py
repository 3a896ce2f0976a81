"""`MemoryFlushMiddleware`: a conversation is written down before somebody else compacts it."""

from __future__ import annotations

import asyncio
import logging
import warnings
from collections.abc import Awaitable, Callable
from typing import Any

from langchain.agents.middleware import AgentMiddleware, ModelRequest, SummarizationMiddleware
from langchain.agents.middleware.types import ModelCallResult, ModelResponse
from langchain.chat_models import BaseChatModel, init_chat_model
from langchain_core.messages import AnyMessage
from langchain_core.runnables import ensure_config
from langgraph.runtime import Runtime

from commonplace import Memory
from langchain_commonplace.counting import TokenCounter, Trigger, context_window, default_counter
from langchain_commonplace.flush_model import TRANSFORMERS
from langchain_commonplace.flush_session import FlushSession, FlushState, OnFlush, current_thread
from langchain_commonplace.lru import LRUCache
from langchain_commonplace.messages import cycle_id

__all__ = ["MemoryFlushMiddleware"]

_BEHIND = (
    "MemoryFlushMiddleware is listed behind the middleware that compacts: what was compacted just "
    "now was not written down. List it first: middleware=[MemoryFlushMiddleware(...), "
    "SummarizationMiddleware(...)]; or use ChatMemory, which works anywhere."
)

logger = logging.getLogger(__name__)


class MemoryFlushMiddleware(AgentMiddleware[FlushState, Any, Any]):
    """Write down what a conversation is about to forget; the compaction is somebody else's.

    List it before the middleware that compacts. It flushes when its trigger says so, once between
    two compactions; and what a compaction takes away that was not written down by then, it writes
    down when it sees that it is gone. That also covers compactions that leave the messages in the
    agent's state, such as deepagents': there it flushes once a compaction, unless given a trigger.
    """

    state_schema = FlushState
    transformers = TRANSFORMERS

    def __init__(
        self,
        *,
        memory: Memory,
        model: str | BaseChatModel,
        trigger: Any = None,
        before: SummarizationMiddleware[Any, Any] | None = None,
        token_counter: TokenCounter | None = None,
        on_flush: OnFlush | None = None,
    ) -> None:
        """Set up the flush.

        Args:
            memory: Where the notes go; whoever opened it closes it.
            model: Writes the notes.
            trigger: When to flush, in any form that `SummarizationMiddleware` takes. By default
                `before`'s; else when the model's window, less a reserve, is nearly full.
            before: The summarization that follows: its trigger, its counter and what it keeps
                decide what is flushed, and when.
            token_counter: Counts the tokens of messages.
            on_flush: Called with the report of each flush.
        """
        super().__init__()
        self.tools = []
        chat = init_chat_model(model) if isinstance(model, str) else model
        counted_for = before.model if before is not None else chat
        self._before = before
        self._count = token_counter or (
            before.token_counter if before is not None else default_counter(chat)
        )
        self._notes = FlushSession(
            memory,
            counted_for,
            writer=chat,
            count=self._count,
            trigger=trigger,
            on_flush=on_flush,
        )
        self._seen: LRUCache[list[AnyMessage]] = LRUCache(256)
        self._looked_at: LRUCache[str] = LRUCache()
        self._has_trigger = trigger is not None
        self._has_warned = False

    def before_agent(self, state: Any, runtime: Runtime[Any]) -> dict[str, Any] | None:  # noqa: ARG002
        """Write down what earlier flushes left over, once; remember where the call begins."""
        self._notes.open()
        return self._notes.kept(_shown(state), state, thread=current_thread())

    async def abefore_agent(
        self,
        state: Any,
        runtime: Runtime[Any],  # noqa: ARG002
    ) -> dict[str, Any] | None:
        """Write down what earlier flushes left over, once; remember where the call begins."""
        await self._notes.aopen()
        return self._notes.kept(_shown(state), state, thread=current_thread())

    def before_model(self, state: Any, runtime: Runtime[Any]) -> dict[str, Any] | None:  # noqa: ARG002
        """Flush, if it is time."""
        thread = current_thread()
        self._look(state, thread)
        if at_stake := self._about_to_go(state):
            self._notes.flush(at_stake, thread=thread, reason="compaction")
            return None
        shown = _shown(state)
        reason = None if self._can_wait() else self._notes.due(shown, state, thread=thread)
        if reason is None:
            return None
        return self._notes.done(
            shown, state, self._notes.flush(shown, thread=thread, reason=reason)
        )

    async def abefore_model(
        self,
        state: Any,
        runtime: Runtime[Any],  # noqa: ARG002
    ) -> dict[str, Any] | None:
        """Flush, if it is time."""
        thread = current_thread()
        self._look(state, thread)
        if at_stake := await asyncio.to_thread(self._about_to_go, state):
            await self._notes.aflush(at_stake, thread=thread, reason="compaction")
            return None
        shown = _shown(state)
        reason = None if self._can_wait() else await self._notes.adue(shown, state, thread=thread)
        if reason is None:
            return None
        report = await self._notes.aflush(shown, thread=thread, reason=reason)
        return self._notes.done(shown, state, report)

    def wrap_model_call(
        self,
        request: ModelRequest[Any],
        handler: Callable[[ModelRequest[Any]], ModelResponse[Any]],
    ) -> ModelCallResult[Any]:
        """Flush what a compaction has just taken away and nobody wrote down."""
        thread = current_thread()
        if gone := self._gone(request, thread):
            self._notes.flush(gone, thread=thread, reason="compaction")
        return handler(request)

    async def awrap_model_call(
        self,
        request: ModelRequest[Any],
        handler: Callable[[ModelRequest[Any]], Awaitable[ModelResponse[Any]]],
    ) -> ModelCallResult[Any]:
        """Flush what a compaction has just taken away and nobody wrote down."""
        thread = current_thread()
        if gone := self._gone(request, thread):
            await self._notes.aflush(gone, thread=thread, reason="compaction")
        return await handler(request)

    def after_model(self, state: Any, runtime: Runtime[Any]) -> dict[str, Any] | None:  # noqa: ARG002
        """Remember the last compaction that was seen."""
        return self._notes.kept(_shown(state), state, thread=current_thread())

    async def aafter_model(self, state: Any, runtime: Runtime[Any]) -> dict[str, Any] | None:
        """Remember the last compaction that was seen."""
        return self.after_model(state, runtime)

    # -- what is looked at -------------------------------------------------------------------------

    def _look(self, state: Any, thread: str) -> None:
        """Remember the conversation, and warn if it was compacted since the last look."""
        messages = list(state["messages"])
        if messages:
            self._seen.set(str(messages[-1].id), messages)
        cycle, known = cycle_id(messages), state.get("commonplace_flush")
        if not cycle or not known or cycle in (known["id"], self._looked_at.get(thread)):
            return
        if not self._has_warned:
            self._has_warned = True
            logger.warning(_BEHIND)
            warnings.warn(_BEHIND, UserWarning, stacklevel=2)

    def _can_wait(self) -> bool:
        """Tell whether a compaction leaves everything there until it is flushed: deepagents' does.

        One flush for each compaction is enough then, unless a trigger was given.
        """
        metadata = ensure_config().get("metadata") or {}
        return not self._has_trigger and metadata.get("ls_integration") == "deepagents"

    def _about_to_go(self, state: Any) -> list[AnyMessage]:
        """Return what the summarization that follows takes away; nothing if it is not known."""
        if self._before is None:
            return []
        messages = list(state["messages"])
        return messages[: _next_cut(self._before, messages)]

    def _gone(self, request: ModelRequest[Any], thread: str) -> list[AnyMessage]:
        """Return what stood in the conversation before the last compaction, and does no more."""
        last = request.messages[-1].id if request.messages else None
        seen = self._seen.pop(str(last)) or request.state["messages"]
        cycle = cycle_id(request.messages)
        if not cycle or cycle == self._looked_at.get(thread):
            return []
        self._looked_at.set(thread, cycle)
        kept = {message.id for message in request.messages}
        return [message for message in seen if message.id not in kept]


def _shown(state: Any) -> list[AnyMessage]:
    """Return what the model is shown of a conversation; deepagents keeps what it compacted."""
    messages = list(state["messages"])
    event = state.get("_summarization_event")
    try:
        return [event["summary_message"], *messages[event["cutoff_index"] :]]
    except (KeyError, TypeError):
        return messages


def _next_cut(summarization: Any, messages: list[AnyMessage]) -> int:
    """Count the messages that a summarization is about to take away."""
    tokens = summarization.token_counter(messages)
    is_due = getattr(summarization, "_should_summarize", None)
    cut = getattr(summarization, "_determine_cutoff_index", None)
    if is_due and cut:  # private, but what decides; else everything counts as about to go
        return int(cut(messages)) if is_due(messages, tokens) else 0
    trigger = Trigger(summarization.trigger, window=context_window(summarization.model))
    return len(messages) if trigger.met(tokens=tokens, messages=len(messages)) else 0
