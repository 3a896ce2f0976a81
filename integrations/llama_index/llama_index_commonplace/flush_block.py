"""`FlushMemoryBlock`: the flush for a LlamaIndex memory that is there already."""

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
from llama_index_commonplace.flush_model import LlamaIndexFlushModel
from llama_index_commonplace.messages import flush_messages

__all__ = ["FlushMemoryBlock"]


class FlushMemoryBlock(BaseMemoryBlock[str]):
    """Write down what leaves the short term of a stock `Memory`.

    ::

        chat = llama_index.core.memory.Memory.from_defaults(
            memory_blocks=[FlushMemoryBlock(memory=memory, llm=llm)]
        )

    LlamaIndex hands over what it archived in runs of `token_flush_size`, several of them in one
    put. Each is put into the state file at once, and all of them together are written down by one
    silent turn when the conversation is next read, which agents do at every turn of theirs; at the
    end of a session, call `aflush` or `flush`. Another process writes down what this one left.

    Nothing else reaches a block: nothing of `set`, `reset` or a short session, which `ChatMemory`
    does not miss. Nothing is raised, and what a failing model did not write down is kept.
    """

    name: str = "commonplace_flush"
    memory: Memory = Field(exclude=True, repr=False)
    """Where the notes go; whoever opened it closes it."""
    llm: LLM | None = Field(default=None, exclude=True, repr=False)
    """Who writes them; LlamaIndex's `Settings.llm` by default."""
    on_flush: Callable[[FlushReport], object] | None = Field(default=None, exclude=True, repr=False)
    """Called with each report."""

    _flusher: Flusher = PrivateAttr()
    _unwritten: set[str] = PrivateAttr(default_factory=set)
    _opened: bool = PrivateAttr(default=False)

    def model_post_init(self, context: Any, /) -> None:
        """Make the one who flushes."""
        super().model_post_init(context)
        llm = self.llm or Settings.llm
        self._flusher = Flusher(
            self.memory,
            LlamaIndexFlushModel(llm),
            context_window=llm.metadata.context_window,
            on_flush=self.on_flush,
        )

    def flush(self) -> None:
        """Write down what has left so far."""
        for session in tuple(self._unwritten):
            self._done(session, self._flusher.flush([], thread=session))
        if self._is_first_use():
            self._flusher.process_pending()

    async def aflush(self) -> None:
        """Do what `flush` does; the event loop goes on."""
        for session in tuple(self._unwritten):
            self._done(session, await self._flusher.aflush([], thread=session))
        if self._is_first_use():
            await self._flusher.aprocess_pending()

    def _is_first_use(self) -> bool:
        """Tell once that the block is new: another process may have left something."""
        first, self._opened = not self._opened, True
        return first

    def _done(self, session: str, report: FlushReport) -> None:
        if report.safe and not report.failed:
            self._unwritten.discard(session)

    async def _aget(self, messages: list[ChatMessage] | None = None, **_: Any) -> str:  # noqa: ARG002
        await self.aflush()
        return ""  # what is remembered is told by `MemoryContextBlock` and found by the tools

    async def _aput(self, messages: list[ChatMessage]) -> None:
        session = _session(messages)
        self._unwritten.add(session)
        await asyncio.to_thread(self._flusher.enqueue, flush_messages(messages), thread=session)


def _session(messages: list[ChatMessage]) -> str:
    """Return the session that LlamaIndex noted on the messages; empty where it did not."""
    found = (message.additional_kwargs.get("session_id") for message in messages)
    return next((session for session in found if isinstance(session, str)), "")
