"""`FlushMemoryBlock`: the flush as a block of a stock LlamaIndex `Memory`."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

from llama_index.core import Settings
from llama_index.core.base.llms.types import ChatMessage
from llama_index.core.bridge.pydantic import Field, PrivateAttr
from llama_index.core.llms import LLM
from llama_index.core.memory import BaseMemoryBlock

from commonplace import Memory
from commonplace.flush import Flusher, FlushReport
from llama_index_commonplace.arguments import checked_options
from llama_index_commonplace.flush_model import LlamaIndexFlushModel
from llama_index_commonplace.message_conversion import flush_messages

__all__ = ["FlushMemoryBlock"]


class FlushMemoryBlock(BaseMemoryBlock[str]):
    """Memory block that flushes the messages that a stock `Memory` evicts.

    ::

        chat = llama_index.core.memory.Memory.from_defaults(
            memory_blocks=[FlushMemoryBlock(memory=memory, llm=llm)]
        )

    LlamaIndex evicts messages in runs of `token_flush_size`, several of them in one put. Each run
    goes to the journal at once. One silent turn writes all of them down when the conversation is
    next read, which agents do at every turn; at the end of a session, call `aflush` or `flush`.
    Another process can do the same later.

    Messages of `set`, of `reset` and of short sessions never reach a block; `ChatMemory` flushes
    them, too. Errors are not raised, and the messages of a failed flush stay in the journal
    until the next flush that succeeds, or `retry`.
    """

    def __init__(self, *memory: Memory, **options: Any) -> None:
        """Make the block; the memory may be given without its name."""
        allowed, caller = type(self).model_fields, type(self).__name__
        super().__init__(
            **checked_options(options, positional=memory, allowed=allowed, caller=caller)
        )

    name: str = "commonplace_flush"
    memory: Memory = Field(exclude=True, repr=False)
    """Takes the notes; it is not closed by the block."""
    llm: LLM | None = Field(default=None, exclude=True, repr=False)
    """Writes the notes; LlamaIndex's `Settings.llm` by default."""
    on_flush: Callable[[FlushReport], object] | None = Field(default=None, exclude=True, repr=False)
    """Called with each report."""

    _flusher: Flusher = PrivateAttr()
    _pending_sessions: set[str] = PrivateAttr(default_factory=set)
    _opened: bool = PrivateAttr(default=False)

    def model_post_init(self, context: Any, /) -> None:
        """Make the flusher."""
        super().model_post_init(context)
        llm = self.llm or Settings.llm
        self._flusher = Flusher(
            self.memory,
            LlamaIndexFlushModel(llm),
            context_window=llm.metadata.context_window,
            on_flush=self.on_flush,
        )

    def flush(self) -> None:
        """Write down the messages that were evicted so far."""
        sessions = tuple(self._pending_sessions)
        for session in sessions:
            self._discard_if_done(session, self._flusher.flush([], thread=session))
        self._start_pending(again=bool(sessions))

    async def aflush(self) -> None:
        """Run `flush` without blocking the event loop."""
        sessions = tuple(self._pending_sessions)
        for session in sessions:
            self._discard_if_done(session, await self._flusher.aflush([], thread=session))
        self._start_pending(again=bool(sessions))

    def retry(self) -> tuple[FlushReport, ...]:
        """Write down what failed flushes left, of all conversations, until one fails again.

        The next flushes that succeed do so, too, in the background; but not for ever with messages
        that the model refuses.
        """
        return self._flusher.retry()

    async def aretry(self) -> tuple[FlushReport, ...]:
        """Run `retry` without blocking the event loop."""
        return await self._flusher.aretry()

    def _start_pending(self, *, again: bool) -> None:
        """Process what earlier flushes left, in the background: at first, and after a flush."""
        if again or not self._opened:
            self._opened = True
            self._flusher.start_pending()

    def _discard_if_done(self, session: str, report: FlushReport) -> None:
        if report.safe and not report.failed:
            self._pending_sessions.discard(session)

    async def _aget(self, messages: list[ChatMessage] | None = None, **_: Any) -> str:  # noqa: ARG002
        await self.aflush()
        return ""  # `MemoryContextBlock` and the tools read the notes

    async def _aput(self, messages: list[ChatMessage]) -> None:
        session = _session(messages)
        self._pending_sessions.add(session)
        await asyncio.to_thread(self._flusher.enqueue, flush_messages(messages), thread=session)


def _session(messages: list[ChatMessage]) -> str:
    """Return the session id that LlamaIndex stored in the messages; empty without one."""
    found = (message.additional_kwargs.get("session_id") for message in messages)
    return next((session for session in found if isinstance(session, str)), "")
