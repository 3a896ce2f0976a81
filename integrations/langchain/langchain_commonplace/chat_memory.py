"""`ChatMemory`: middleware that flushes a conversation to notes and then compacts it."""

from __future__ import annotations

import asyncio
import dataclasses
import logging
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from functools import partial
from typing import Any

from langchain.agents.middleware import SummarizationMiddleware
from langchain.chat_models import BaseChatModel, init_chat_model
from langchain_core.messages import AnyMessage, RemoveMessage
from langchain_core.runnables import RunnableConfig
from langgraph.runtime import Runtime

from commonplace import FlushReport
from commonplace.flush import token_limit
from langchain_commonplace.flush_model import LangChainFlushModel
from langchain_commonplace.flush_session import FlushSession, FlushSessions, FlushState, OnFlush
from langchain_commonplace.lru import LRUCache
from langchain_commonplace.memory_source import MemorySource, source_settings
from langchain_commonplace.message_conversion import current_thread
from langchain_commonplace.token_counting import (
    TokenCounter,
    context_window,
    conversation_counter,
    partial_counter,
    warm_up_counters,
)

__all__ = ["ChatMemory"]

_HAS_SUMMARY_HOOK = hasattr(SummarizationMiddleware, "_create_summary")
"""Whether the flush can run before LangChain's summary; without the hook it runs after it."""
_NO_RUNTIME: Any = None
"""LangChain's summarization ignores its runtime."""
_MAX_CONVERSATIONS = 256
_POSTPONE_BELOW = 0.95
"""Share of the window up to which a compaction is postponed when the flush is not safe."""


logger = logging.getLogger(__name__)


class _CompactionPostponedError(Exception):
    """The messages to be compacted are saved nowhere, and the window has room for them."""


@dataclass(frozen=True, slots=True)
class _ConversationRun:
    """Conversation that the hooks work on, its thread id, and the flushes of its memory."""

    messages: Sequence[AnyMessage]
    thread: str
    session: FlushSession


_RUN: ContextVar[_ConversationRun] = ContextVar("_RUN")


class ChatMemory(SummarizationMiddleware):
    """Middleware that counts tokens, flushes messages to notes, then compacts the conversation.

    A silent turn of the model reads the messages that are about to be removed. Its only tool
    appends to the day's log, for later sessions. Then LangChain's summarization replaces the
    messages. It works at any place of an agent's list of middleware, with and without a
    checkpointer. After a failed flush the user's turn continues, and a journal keeps the messages
    until a retry succeeds.
    """

    state_schema = FlushState

    def __init__(
        self,
        model: str | BaseChatModel,
        *,
        memory: MemorySource,
        trigger: Any = None,
        keep: Any = ("messages", 20),
        token_counter: TokenCounter | None = None,
        flush_model: str | BaseChatModel | None = None,
        on_flush: OnFlush | None = None,
        **options: Any,
    ) -> None:
        """Set up the memory of an agent's conversations.

        Args:
            model: The agent's model: its window is counted against, and it writes the summaries.
            memory: Takes the notes; it is not closed by the middleware. Or a function from a run's
                configuration to it, such as ``pool.resolver("user_id")``.
            trigger: When to compact, in any form that `SummarizationMiddleware` takes. By default
                when the model's window, less a reserve, is nearly full.
            keep: Messages or tokens that a compaction keeps.
            token_counter: Counts the tokens of messages.
            flush_model: Writes the notes; `model` by default, and a cheaper one is good enough.
            on_flush: Called with the report of each flush.
            **options: Options of `SummarizationMiddleware`.
        """
        chat = init_chat_model(model) if isinstance(model, str) else model
        window = context_window(chat)
        settings = source_settings(memory)
        if trigger is None:
            limit = token_limit(settings, context_window=window)
            trigger = ("tokens", limit) if limit else None
        count = token_counter or conversation_counter(chat)
        super().__init__(chat, trigger=trigger, keep=keep, token_counter=count, **options)
        if token_counter is None and hasattr(self, "_partial_token_counter"):
            self._partial_token_counter = partial_counter(chat)
        self.tools = []
        self._window = window or settings.flush.context_window
        make_session = partial(
            FlushSession,
            model=chat,
            flush_model=LangChainFlushModel(flush_model or chat),
            count=count,
            on_flush=on_flush,
        )
        self._sessions = FlushSessions(memory, make_session)
        self._conversations: LRUCache[list[AnyMessage]] = LRUCache(_MAX_CONVERSATIONS)

    # -- in an agent -------------------------------------------------------------------------------

    def before_agent(self, state: Any, runtime: Runtime[Any]) -> None:  # noqa: ARG002
        """Process pending flushes in the background, at a memory's first call."""
        self._sessions.current().open()

    async def abefore_agent(self, state: Any, runtime: Runtime[Any]) -> None:  # noqa: ARG002
        """Process pending flushes in the background, at a memory's first call."""
        (await self._sessions.acurrent()).open()

    def before_model(self, state: Any, runtime: Runtime[Any]) -> dict[str, Any] | None:
        """Flush and compact, if it is due."""
        with self._run(state["messages"]) as run:
            try:
                update = super().before_model(state, runtime)
            except _CompactionPostponedError:
                return None
            if update is not None:
                if not _HAS_SUMMARY_HOOK:
                    run.session.flush(_removed(run, update), thread=run.thread, reason="compaction")
                return update
            reason = run.session.due_reason(run.messages, state, thread=run.thread)
            if reason is None:
                return None
            report = run.session.flush(run.messages, thread=run.thread, reason=reason)
            return run.session.record_flush(run.messages, state, report)

    async def abefore_model(self, state: Any, runtime: Runtime[Any]) -> dict[str, Any] | None:
        """Flush and compact, if it is due."""
        outer = _RUN.get(None)
        session = outer.session if outer else await self._sessions.acurrent()
        with self._run(state["messages"], session=session) as run:
            await asyncio.to_thread(warm_up_counters, run.messages)
            try:
                update = await super().abefore_model(state, runtime)
            except _CompactionPostponedError:
                return None
            if update is not None:
                if not _HAS_SUMMARY_HOOK:
                    removed = _removed(run, update)
                    await session.aflush(removed, thread=run.thread, reason="compaction")
                return update
            reason = await session.adue_reason(run.messages, state, thread=run.thread)
            if reason is None:
                return None
            report = await session.aflush(run.messages, thread=run.thread, reason=reason)
            return session.record_flush(run.messages, state, report)

    def after_agent(self, state: Any, runtime: Runtime[Any]) -> None:  # noqa: ARG002
        """Keep the conversation for the end of its session."""
        key = self._sessions.current().key(current_thread())
        self._conversations.set(key, list(state["messages"]))

    async def aafter_agent(self, state: Any, runtime: Runtime[Any]) -> None:  # noqa: ARG002
        """Keep the conversation for the end of its session."""
        key = (await self._sessions.acurrent()).key(current_thread())
        self._conversations.set(key, list(state["messages"]))

    def _create_summary(self, messages_to_summarize: list[AnyMessage]) -> str:
        """Flush the messages that LangChain is about to summarize."""
        run = _RUN.get()
        report = run.session.flush(messages_to_summarize, thread=run.thread, reason="compaction")
        self._postpone_unless_safe(report)
        return super()._create_summary(messages_to_summarize)

    async def _acreate_summary(self, messages_to_summarize: list[AnyMessage]) -> str:
        """Flush the messages that LangChain is about to summarize."""
        run = _RUN.get()
        report = await run.session.aflush(
            messages_to_summarize, thread=run.thread, reason="compaction"
        )
        self._postpone_unless_safe(report)
        return await super()._acreate_summary(messages_to_summarize)

    def _postpone_unless_safe(self, report: FlushReport) -> None:
        if report.failed is None or report.safe:
            return
        if self.token_counter(_RUN.get().messages) < _POSTPONE_BELOW * self._window:
            raise _CompactionPostponedError

    # -- without an agent --------------------------------------------------------------------------

    def compact(
        self,
        messages: Sequence[AnyMessage],
        *,
        thread_id: str | None = None,
        config: RunnableConfig | None = None,
    ) -> list[AnyMessage]:
        """Return a conversation, flushed and compacted if that is due.

        For a plain graph or a chain: call it before the model, and send the model what it returns.

        Args:
            messages: The whole conversation.
            thread_id: Conversation id; the run's own by default.
            config: Configuration that says whose memory it is; the run's own by default.
        """
        session = self._sessions.current(config)
        session.open()
        with self._run(messages, thread_id=thread_id, session=session) as run:
            update = self.before_model({"messages": list(messages)}, _NO_RUNTIME)
        return self._compacted(run, update)

    async def acompact(
        self,
        messages: Sequence[AnyMessage],
        *,
        thread_id: str | None = None,
        config: RunnableConfig | None = None,
    ) -> list[AnyMessage]:
        """Run `compact` without blocking the event loop."""
        session = await self._sessions.acurrent(config)
        session.open()
        with self._run(messages, thread_id=thread_id, session=session) as run:
            update = await self.abefore_model({"messages": list(messages)}, _NO_RUNTIME)
        return self._compacted(run, update)

    def _compacted(self, run: _ConversationRun, update: dict[str, Any] | None) -> list[AnyMessage]:
        compacted = update.get("messages") if update else None
        kept = list(run.messages)
        if compacted:
            kept = [m for m in compacted if not isinstance(m, RemoveMessage)]
        self._conversations.set(run.session.key(run.thread), list(kept))
        return kept

    # -- when a session ends -----------------------------------------------------------------------

    def end_session(
        self,
        thread_id: str,
        *,
        messages: Sequence[AnyMessage] | None = None,
        config: RunnableConfig | None = None,
    ) -> FlushReport:
        """Flush the rest of a conversation, and write the conversation to a session file.

        Args:
            thread_id: Conversation id.
            messages: Its messages; by default those that this object saw last. After a restart,
                take them from the agent's state.
            config: Configuration that says whose memory it is; the run's own by default.
        """
        session = self._sessions.current(config)
        last = self._last_messages(session.key(thread_id), messages)
        report = session.flush(last, thread=thread_id, reason="session_end")
        return _archived(session, last, report)

    async def aend_session(
        self,
        thread_id: str,
        *,
        messages: Sequence[AnyMessage] | None = None,
        config: RunnableConfig | None = None,
    ) -> FlushReport:
        """Run `end_session` without blocking the event loop."""
        session = await self._sessions.acurrent(config)
        last = self._last_messages(session.key(thread_id), messages)
        report = await session.aflush(last, thread=thread_id, reason="session_end")
        return await asyncio.to_thread(_archived, session, last, report)

    def _last_messages(
        self, key: str, messages: Sequence[AnyMessage] | None
    ) -> Sequence[AnyMessage]:
        kept = self._conversations.pop(key)
        return (kept or []) if messages is None else messages

    @contextmanager
    def _run(
        self,
        messages: Sequence[AnyMessage],
        *,
        thread_id: str | None = None,
        session: FlushSession | None = None,
    ) -> Iterator[_ConversationRun]:
        """Set the run for the hooks below; the outermost call decides thread and memory."""
        outer = _RUN.get(None)
        thread = thread_id if thread_id is not None else outer.thread if outer else current_thread()
        session = session or (outer.session if outer else self._sessions.current())
        run = _ConversationRun(list(messages), thread, session)
        token = _RUN.set(run)
        try:
            yield run
        finally:
            _RUN.reset(token)


def _archived(
    session: FlushSession, messages: Sequence[AnyMessage], report: FlushReport
) -> FlushReport:
    """Write a conversation to a session file, and name it in the report."""
    if not messages:
        return report
    try:
        path = session.archive(messages, thread=report.thread)
    except OSError:
        logger.exception("the session could not be archived")
        return report
    return dataclasses.replace(report, transcript=path)


def _removed(run: _ConversationRun, update: dict[str, Any]) -> list[AnyMessage]:
    """Return the messages that an update of the state removes."""
    kept = {message.id for message in update["messages"]}
    return [message for message in run.messages if message.id not in kept]
