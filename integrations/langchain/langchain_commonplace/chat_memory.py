"""`ChatMemory`: a conversation is written down before it is compacted."""

from __future__ import annotations

import asyncio
import dataclasses
import logging
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any

from langchain.agents.middleware import SummarizationMiddleware
from langchain.chat_models import BaseChatModel, init_chat_model
from langchain_core.messages import AnyMessage, RemoveMessage
from langgraph.runtime import Runtime

from commonplace import FlushReport, Memory
from commonplace.flush import token_limit
from langchain_commonplace.counting import (
    TokenCounter,
    context_window,
    count_ahead,
    default_counter,
    part_counter,
)
from langchain_commonplace.flush_session import FlushSession, FlushState, OnFlush, current_thread
from langchain_commonplace.lru import LRUCache

__all__ = ["ChatMemory"]

_HOOKED = hasattr(SummarizationMiddleware, "_create_summary")
"""Whether LangChain asks for a summary where the flush can come first; else it comes second."""
_NO_RUNTIME: Any = None
"""LangChain's summarization does not look at it."""
_KEPT_CONVERSATIONS = 256
_BRINK = 0.95
"""Share of the window up to which a conversation is kept that could not be written down."""


logger = logging.getLogger(__name__)


class _PutOffError(Exception):
    """What is about to be compacted could be written down nowhere, and there is room for it."""


@dataclass(frozen=True, slots=True)
class _Run:
    """What is looked at: a conversation, and the thread it is."""

    messages: Sequence[AnyMessage]
    thread: str


_RUN: ContextVar[_Run] = ContextVar("_RUN")


class ChatMemory(SummarizationMiddleware):
    """Count tokens; near the limit, write down what is about to be forgotten, then compact.

    A silent turn of the model, which can do nothing but append to the day's log, sees the messages
    that go and notes what later sessions need. Then LangChain's summarization takes their place.
    It works wherever it stands in an agent's list of middleware, with and without a checkpointer.
    Whatever goes wrong with the flush, the user's turn goes on, and the messages stay in a journal
    until they are written down.
    """

    state_schema = FlushState

    def __init__(
        self,
        model: str | BaseChatModel,
        *,
        memory: Memory,
        trigger: Any = None,
        keep: Any = ("messages", 20),
        token_counter: TokenCounter | None = None,
        flush_model: str | BaseChatModel | None = None,
        on_flush: OnFlush | None = None,
        **options: Any,
    ) -> None:
        """Set up the memory of an agent's conversations.

        Args:
            model: The agent's model: its window is what fills up, and it writes the summaries.
            memory: Where the notes go; whoever opened it closes it.
            trigger: When to compact, in any form that `SummarizationMiddleware` takes. By default
                when the model's window, less a reserve, is nearly full.
            keep: What stays of a conversation.
            token_counter: Counts the tokens of messages.
            flush_model: Writes the notes, `model` by default; a cheaper one will do.
            on_flush: Called with the report of each flush.
            **options: Of `SummarizationMiddleware`.
        """
        chat = init_chat_model(model) if isinstance(model, str) else model
        window = context_window(chat)
        if trigger is None:
            limit = token_limit(memory.settings.flush, context_window=window)
            trigger = ("tokens", limit) if limit else None
        count = token_counter or default_counter(chat)
        super().__init__(chat, trigger=trigger, keep=keep, token_counter=count, **options)
        if token_counter is None and hasattr(self, "_partial_token_counter"):
            self._partial_token_counter = part_counter(chat)
        self.tools = []
        self._window = window or memory.settings.flush.context_window
        self._notes = FlushSession(
            memory, chat, writer=flush_model or chat, count=count, on_flush=on_flush
        )
        self._conversations: LRUCache[list[AnyMessage]] = LRUCache(_KEPT_CONVERSATIONS)

    # -- in an agent -------------------------------------------------------------------------------

    def before_agent(self, state: Any, runtime: Runtime[Any]) -> None:  # noqa: ARG002
        """Write down what earlier flushes left over; once."""
        self._notes.open()

    async def abefore_agent(self, state: Any, runtime: Runtime[Any]) -> None:  # noqa: ARG002
        """Write down what earlier flushes left over; once."""
        await self._notes.aopen()

    def before_model(self, state: Any, runtime: Runtime[Any]) -> dict[str, Any] | None:
        """Flush and compact, if it is time."""
        with _looking_at(state["messages"]) as run:
            try:
                update = super().before_model(state, runtime)
            except _PutOffError:
                return None
            if update is not None:
                if not _HOOKED:
                    self._notes.flush(_gone(run, update), thread=run.thread, reason="compaction")
                return update
            reason = self._notes.due(run.messages, state, thread=run.thread)
            if reason is None:
                return None
            report = self._notes.flush(run.messages, thread=run.thread, reason=reason)
            return self._notes.done(run.messages, state, report)

    async def abefore_model(self, state: Any, runtime: Runtime[Any]) -> dict[str, Any] | None:
        """Flush and compact, if it is time."""
        with _looking_at(state["messages"]) as run:
            await asyncio.to_thread(count_ahead, run.messages)
            try:
                update = await super().abefore_model(state, runtime)
            except _PutOffError:
                return None
            if update is not None:
                if not _HOOKED:
                    gone = _gone(run, update)
                    await self._notes.aflush(gone, thread=run.thread, reason="compaction")
                return update
            reason = await self._notes.adue(run.messages, state, thread=run.thread)
            if reason is None:
                return None
            report = await self._notes.aflush(run.messages, thread=run.thread, reason=reason)
            return self._notes.done(run.messages, state, report)

    def after_agent(self, state: Any, runtime: Runtime[Any]) -> None:  # noqa: ARG002
        """Remember the conversation, for when its session ends."""
        self._conversations.set(current_thread(), list(state["messages"]))

    async def aafter_agent(self, state: Any, runtime: Runtime[Any]) -> None:
        """Remember the conversation, for when its session ends."""
        self.after_agent(state, runtime)

    def _create_summary(self, messages_to_summarize: list[AnyMessage]) -> str:
        """Flush what goes before LangChain sums it up."""
        run = _RUN.get()
        report = self._notes.flush(messages_to_summarize, thread=run.thread, reason="compaction")
        self._put_off_unless_safe(report)
        return super()._create_summary(messages_to_summarize)

    async def _acreate_summary(self, messages_to_summarize: list[AnyMessage]) -> str:
        """Flush what goes before LangChain sums it up."""
        run = _RUN.get()
        report = await self._notes.aflush(
            messages_to_summarize, thread=run.thread, reason="compaction"
        )
        self._put_off_unless_safe(report)
        return await super()._acreate_summary(messages_to_summarize)

    def _put_off_unless_safe(self, report: FlushReport) -> None:
        if report.failed is None or report.safe:
            return
        if self.token_counter(_RUN.get().messages) < _BRINK * self._window:
            raise _PutOffError

    # -- without an agent --------------------------------------------------------------------------

    def compact(
        self, messages: Sequence[AnyMessage], *, thread_id: str | None = None
    ) -> list[AnyMessage]:
        """Return a conversation as it goes on: flushed and compacted, if it is time.

        For a plain graph or a chain: call it before the model, and go on with what it returns.

        Args:
            messages: The whole conversation.
            thread_id: Names it; the run's own by default.
        """
        self._notes.open()
        with _looking_at(messages, thread_id=thread_id):
            update = self.before_model({"messages": list(messages)}, _NO_RUNTIME)
        return self._kept(messages, update, thread_id)

    async def acompact(
        self, messages: Sequence[AnyMessage], *, thread_id: str | None = None
    ) -> list[AnyMessage]:
        """Do what `compact` does; the event loop goes on."""
        await self._notes.aopen()
        with _looking_at(messages, thread_id=thread_id):
            update = await self.abefore_model({"messages": list(messages)}, _NO_RUNTIME)
        return self._kept(messages, update, thread_id)

    def _kept(
        self,
        messages: Sequence[AnyMessage],
        update: dict[str, Any] | None,
        thread_id: str | None,
    ) -> list[AnyMessage]:
        compacted = update.get("messages") if update else None
        kept = list(messages)
        if compacted:
            kept = [m for m in compacted if not isinstance(m, RemoveMessage)]
        self._conversations.set(current_thread() if thread_id is None else thread_id, list(kept))
        return kept

    # -- when a session ends -----------------------------------------------------------------------

    def end_session(
        self, thread_id: str, *, messages: Sequence[AnyMessage] | None = None
    ) -> FlushReport:
        """Write down what is left of a conversation, and keep it as a session file.

        Args:
            thread_id: The conversation.
            messages: What is left of it; by default as this object saw it last. After a restart,
                take it from the agent's state.
        """
        left = self._left(thread_id, messages)
        report = self._notes.flush(left, thread=thread_id, reason="session_end")
        return self._archived(left, report, thread_id)

    async def aend_session(
        self, thread_id: str, *, messages: Sequence[AnyMessage] | None = None
    ) -> FlushReport:
        """Do what `end_session` does; the event loop goes on."""
        left = self._left(thread_id, messages)
        report = await self._notes.aflush(left, thread=thread_id, reason="session_end")
        return await asyncio.to_thread(self._archived, left, report, thread_id)

    def _left(self, thread_id: str, messages: Sequence[AnyMessage] | None) -> Sequence[AnyMessage]:
        remembered = self._conversations.pop(thread_id)
        return (remembered or []) if messages is None else messages

    def _archived(
        self, left: Sequence[AnyMessage], report: FlushReport, thread_id: str
    ) -> FlushReport:
        if not left:
            return report
        try:
            path = self._notes.archive(left, thread=thread_id)
        except OSError:
            logger.exception("the session could not be archived")
            return report
        return dataclasses.replace(report, transcript=path)


@contextmanager
def _looking_at(messages: Sequence[AnyMessage], *, thread_id: str | None = None) -> Iterator[_Run]:
    """Let the hooks below know the conversation; the outermost names the thread."""
    outer = _RUN.get(None)
    thread = thread_id if thread_id is not None else outer.thread if outer else current_thread()
    run = _Run(list(messages), thread)
    token = _RUN.set(run)
    try:
        yield run
    finally:
        _RUN.reset(token)


def _gone(run: _Run, update: dict[str, Any]) -> list[AnyMessage]:
    """Return the messages that an update of the state takes away."""
    kept = {message.id for message in update["messages"]}
    return [message for message in run.messages if message.id not in kept]
