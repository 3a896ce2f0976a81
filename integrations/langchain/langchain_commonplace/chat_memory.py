"""`ChatMemory`: middleware that flushes a conversation to notes and then compacts it."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from typing import TYPE_CHECKING, Any, TypedDict, Unpack, get_args

from langchain.agents.middleware import SummarizationMiddleware
from langchain.agents.middleware.types import AgentState
from langchain.chat_models import BaseChatModel
from langchain_core.messages import AnyMessage, RemoveMessage
from langchain_core.runnables import RunnableConfig
from langgraph.runtime import Runtime

from commonplace import FlushReport
from commonplace.flush import token_limit
from langchain_commonplace.compaction_trigger import CompactionTrigger, Trigger
from langchain_commonplace.conversation_run import ConversationRun, current_run, entered
from langchain_commonplace.conversation_view import ConversationView
from langchain_commonplace.flush_model import LangChainFlushModel, chat_model
from langchain_commonplace.flush_session import (
    FlushMode,
    FlushSession,
    FlushState,
    OnFlush,
)
from langchain_commonplace.flush_sessions import FlushSessions
from langchain_commonplace.memory_source import MemorySource, source_settings
from langchain_commonplace.message_conversion import current_thread
from langchain_commonplace.token_counting import (
    TokenCounter,
    context_window,
    conversation_counter,
    partial_counter,
    warm_up_counters,
)

if TYPE_CHECKING:
    from langchain.agents.middleware.summarization import ContextSize, Summarizer

__all__ = ["ChatMemory"]

_HAS_SUMMARY_HOOK = hasattr(SummarizationMiddleware, "_create_summary")
"""Whether the flush can run before LangChain's summary; without the hook it runs after it."""
_TAKES_SUMMARIZER = "summarizer" in inspect.signature(SummarizationMiddleware).parameters
"""Whether LangChain's summarization has this option; before, it ignored what it did not know."""
_NO_RUNTIME: Any = None
"""LangChain's summarization ignores its runtime."""
_POSTPONE_BELOW = 0.95
"""Share of the window up to which a compaction is postponed when the flush is not safe."""


class _SummarizationOptions(TypedDict, total=False):
    """Options of LangChain's summarization."""

    summary_prompt: str
    trim_tokens_to_summarize: int | None
    summarizer: Summarizer | None


class _CompactionPostponedError(Exception):
    """The messages to be compacted are saved nowhere, and the window has room for them."""


class ChatMemory(SummarizationMiddleware):
    """Middleware that counts tokens, flushes messages to notes, then compacts the conversation.

    A silent turn of the model reads the messages that are about to be removed. Its only tool
    appends to the day's log, for later sessions. Then LangChain's summarization replaces the
    messages. It works at any place of an agent's list of middleware, with and without a
    checkpointer. What other middleware removes from the conversation is flushed, too. After a
    failed flush the user's turn continues, and a journal keeps the messages until a retry succeeds.
    """

    state_schema = FlushState

    def __init__(
        self,
        model: str | BaseChatModel,
        *,
        memory: MemorySource,
        trigger: Trigger | None = None,
        keep: ContextSize = ("messages", 20),
        token_counter: TokenCounter | None = None,
        flush_model: str | BaseChatModel | None = None,
        on_flush: OnFlush | None = None,
        flush: FlushMode = "before",
        **options: Unpack[_SummarizationOptions],
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
            on_flush: Called with the report of each flush; it may be async. In the background, a
                thread calls it.
            flush: ``before``: the notes are written before a compaction goes on. ``background``:
                the messages are in a journal on the disk before it goes on, and the silent turn
                runs beside the user's; what a process leaves is written by the next one.
            **options: Options of `SummarizationMiddleware`.

        Raises:
            ValueError: `flush`, the trigger or `keep` is none of these.
            TypeError: An option is unknown, or the installed LangChain does not have it.
        """
        if unknown := options.keys() - _SummarizationOptions.__annotations__.keys():
            raise TypeError(f"ChatMemory takes no argument {min(unknown)!r}.")
        if options.get("summarizer") is not None and not _TAKES_SUMMARIZER:
            raise TypeError(
                "the installed LangChain takes no 'summarizer': pip install --upgrade langchain."
            )
        if flush not in get_args(FlushMode):
            raise ValueError(f"flush is {flush!r}; it must be 'before' or 'background'.")
        chat = chat_model(model)
        window = context_window(chat)
        settings = source_settings(memory)
        if trigger is None:
            limit = token_limit(settings, context_window=window)
            trigger = ("tokens", limit) if limit else None
        else:
            CompactionTrigger(trigger, window=window)  # says in one line what is wrong with it
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
            view=ConversationView(),
            on_flush=on_flush,
            mode=flush,
        )
        self._sessions = FlushSessions(memory, make_session)

    # -- in an agent -------------------------------------------------------------------------------

    def before_agent(
        self,
        state: AgentState[Any],
        runtime: Runtime[Any],  # noqa: ARG002
    ) -> dict[str, Any] | None:
        """Flush what vanished since the last run."""
        return self._sessions.current().begin(state["messages"], state, thread=current_thread())

    async def abefore_agent(
        self,
        state: AgentState[Any],
        runtime: Runtime[Any],  # noqa: ARG002
    ) -> dict[str, Any] | None:
        """Flush what vanished since the last run."""
        session = await self._sessions.acurrent()
        return await session.abegin(state["messages"], state, thread=current_thread())

    def before_model(self, state: AgentState[Any], runtime: Runtime[Any]) -> dict[str, Any] | None:
        """Flush and compact, if it is due."""
        with self._run(state["messages"]) as run:
            run.session.flush_vanished(run.messages, state, thread=run.thread)
            try:
                update = super().before_model(state, runtime)
            except _CompactionPostponedError:
                return None
            if update is not None:
                if not _HAS_SUMMARY_HOOK:
                    run.session.flush(_removed(run, update), thread=run.thread, reason="compaction")
                run.session.replace_seen(_kept(update), state, thread=run.thread)
                return update
            reason = run.session.due_reason(run.messages, state, thread=run.thread)
            if reason is None:
                return None
            report = run.session.flush(run.messages, thread=run.thread, reason=reason)
            return run.session.record_flush(run.messages, state, report)

    async def abefore_model(
        self, state: AgentState[Any], runtime: Runtime[Any]
    ) -> dict[str, Any] | None:
        """Flush and compact, if it is due."""
        outer = current_run(self)
        session = outer.session if outer else await self._sessions.acurrent()
        with self._run(state["messages"], session=session) as run:
            await session.aflush_vanished(run.messages, state, thread=run.thread)
            await asyncio.to_thread(warm_up_counters, run.messages)
            try:
                update = await super().abefore_model(state, runtime)
            except _CompactionPostponedError:
                return None
            if update is not None:
                if not _HAS_SUMMARY_HOOK:
                    removed = _removed(run, update)
                    await session.aflush(removed, thread=run.thread, reason="compaction")
                session.replace_seen(_kept(update), state, thread=run.thread)
                return update
            reason = await session.adue_reason(run.messages, state, thread=run.thread)
            if reason is None:
                return None
            report = await session.aflush(run.messages, thread=run.thread, reason=reason)
            return session.record_flush(run.messages, state, report)

    def after_agent(self, state: AgentState[Any], runtime: Runtime[Any]) -> None:  # noqa: ARG002
        """Keep the conversation's texts for the end of its session."""
        session = self._sessions.current()
        session.flush_vanished(state["messages"], state, thread=current_thread())

    async def aafter_agent(self, state: AgentState[Any], runtime: Runtime[Any]) -> None:  # noqa: ARG002
        """Keep the conversation's texts for the end of its session."""
        session = await self._sessions.acurrent()
        await session.aflush_vanished(state["messages"], state, thread=current_thread())

    def _create_summary(self, messages_to_summarize: list[AnyMessage]) -> str:
        """Flush the messages that LangChain is about to summarize."""
        run = self._own_run()
        report = run.session.flush(messages_to_summarize, thread=run.thread, reason="compaction")
        self._postpone_unless_safe(report)
        return super()._create_summary(messages_to_summarize)

    async def _acreate_summary(self, messages_to_summarize: list[AnyMessage]) -> str:
        """Flush the messages that LangChain is about to summarize."""
        run = self._own_run()
        report = await run.session.aflush(
            messages_to_summarize, thread=run.thread, reason="compaction"
        )
        self._postpone_unless_safe(report)
        return await super()._acreate_summary(messages_to_summarize)

    def _own_run(self) -> ConversationRun:
        run = current_run(self)
        if run is None:
            raise LookupError("a conversation is summarized by before_model alone.")
        return run

    def _postpone_unless_safe(self, report: FlushReport) -> None:
        if report.failed is None or report.safe:
            return
        if self.token_counter(self._own_run().messages) < _POSTPONE_BELOW * self._window:
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

    def _compacted(self, run: ConversationRun, update: dict[str, Any] | None) -> list[AnyMessage]:
        kept = _kept(update) if update and "messages" in update else list(run.messages)
        run.session.replace_seen(kept, {}, thread=run.thread)
        return kept

    # -- when a session ends -----------------------------------------------------------------------

    def end_session(
        self,
        thread_id: str | int,
        *,
        messages: Sequence[AnyMessage] | None = None,
        config: RunnableConfig | None = None,
    ) -> FlushReport:
        """Flush the rest of a conversation, and write the conversation to a session file.

        Args:
            thread_id: Conversation id, as in the run's configuration.
            messages: Its messages; by default the texts that this object saw last. After a restart,
                take them from the agent's state; without any, the report is not ``safe``.
            config: Configuration that says whose memory it is; the run's own by default.
        """
        return self._sessions.current(config).end(str(thread_id), messages)

    async def aend_session(
        self,
        thread_id: str | int,
        *,
        messages: Sequence[AnyMessage] | None = None,
        config: RunnableConfig | None = None,
    ) -> FlushReport:
        """Run `end_session` without blocking the event loop."""
        session = await self._sessions.acurrent(config)
        return await session.aend(str(thread_id), messages)

    @contextmanager
    def _run(
        self,
        messages: Sequence[AnyMessage],
        *,
        thread_id: str | None = None,
        session: FlushSession | None = None,
    ) -> Iterator[ConversationRun]:
        """Set the run for the hooks below; the outermost call decides thread and memory."""
        outer = current_run(self)
        thread = thread_id if thread_id is not None else outer.thread if outer else current_thread()
        session = session or (outer.session if outer else self._sessions.current())
        with entered(ConversationRun(self, list(messages), thread, session)) as run:
            yield run


def _removed(run: ConversationRun, update: dict[str, Any]) -> list[AnyMessage]:
    """Return the messages that an update of the state removes."""
    kept = {message.id for message in update["messages"]}
    return [message for message in run.messages if message.id not in kept]


def _kept(update: dict[str, Any]) -> list[AnyMessage]:
    """Return the messages of a compacted conversation."""
    return [message for message in update["messages"] if not isinstance(message, RemoveMessage)]
