"""`ChatMemory`: a LlamaIndex memory that flushes messages to notes before they are evicted."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Iterable, Sequence
from typing import Any, Self

from llama_index.core import Settings
from llama_index.core.async_utils import asyncio_run
from llama_index.core.base.llms.types import ChatMessage, ContentBlock
from llama_index.core.bridge.pydantic import PrivateAttr
from llama_index.core.llms import LLM
from llama_index.core.memory import Memory as StockMemory
from llama_index.core.storage.chat_store.base_db import MessageStatus
from sqlalchemy import make_url

from commonplace import Memory
from commonplace.flush import Flusher, FlushMessage, FlushReason, FlushReport
from llama_index_commonplace.arguments import checked_llm, checked_memory
from llama_index_commonplace.flush_model import LlamaIndexFlushModel
from llama_index_commonplace.message_conversion import flush_messages
from llama_index_commonplace.token_counting import evicted_messages, tokenize, uncounted_texts

__all__ = ["ChatMemory"]

logger = logging.getLogger(__name__)


class ChatMemory(StockMemory):
    """LlamaIndex `Memory` that flushes messages to notes before they leave the conversation.

    ::

        chat = ChatMemory.from_defaults(memory, llm=llm, token_limit=100_000, on_flush=print)
        await agent.run("...", memory=chat)

    Before a put that would evict the oldest messages, a silent turn of the model writes down all
    messages that were not flushed yet. That happens about once in a conversation's token budget.
    `set` and `reset`, which delete messages, flush them first, too. The state database identifies
    flushed messages within the `session_id`: give one, and a database
    (``async_database_uri="sqlite+aiosqlite:///chat.db"``), to continue after a restart.

    A model that fails or hangs costs no message and no turn: its messages stay in the journal and
    are retried later. `put` calls the sync model from the caller's thread, `aput` the async one on
    the caller's event loop; there is no event loop of its own.
    """

    _flusher: Flusher | None = PrivateAttr(default=None)
    _flushes: bool = PrivateAttr(default=True)
    _opened: bool = PrivateAttr(default=False)
    _counted: bool = PrivateAttr(default=False)

    @classmethod
    def class_name(cls) -> str:
        """Return the class name for LlamaIndex's serialization."""
        return "CommonplaceChatMemory"

    @classmethod
    def from_defaults(  # type: ignore[override] # the stock class does so, too
        cls,
        memory: Memory,
        *,
        llm: LLM | None = None,
        on_flush: Callable[[FlushReport], object] | None = None,
        chat_history: list[ChatMessage] | None = None,
        **options: Any,
    ) -> Self:
        """Open a conversation.

        Args:
            memory: Takes the notes; it is not closed by the conversation.
            llm: Writes the notes; LlamaIndex's `Settings.llm` by default.
            on_flush: Called with each report.
            chat_history: First messages; they replace those that the session has.
            **options: Options of LlamaIndex's `Memory.from_defaults`: `session_id`, `token_limit`,
                `memory_blocks`, `async_database_uri`, and so on. Tokens are counted without a
                network unless there is a `tokenizer_fn`.
        """
        checked_memory(memory)
        options.setdefault("tokenizer_fn", tokenize)
        chat = super().from_defaults(**options)
        if not isinstance(chat, cls):
            raise TypeError(f"LlamaIndex's Memory made a {type(chat).__name__}.")
        chat._begin(memory, checked_llm(llm or Settings.llm), on_flush)  # noqa: SLF001 - its own class
        if chat_history is not None:
            chat.set(chat_history)
        return chat

    def _begin(
        self, memory: Memory, llm: LLM, on_flush: Callable[[FlushReport], object] | None
    ) -> None:
        self._flushes = memory.settings.flush.enabled
        window = max(llm.metadata.context_window, self.token_limit)
        model = LlamaIndexFlushModel(llm)
        self._flusher = Flusher(memory, model, context_window=window, on_flush=on_flush)
        if uri := getattr(self.sql_store, "async_database_uri", None):
            make_url(uri).get_dialect()  # imports the driver here instead of on the event loop

    # -- reading -----------------------------------------------------------------------------------

    async def aget(
        self,
        input: str | ChatMessage | None = None,  # noqa: A002
        **block_kwargs: Any,
    ) -> list[ChatMessage]:
        """Return the messages for the model."""
        if not self._counted:  # fills the cache of `tokenize`, which the event loop uses
            self._counted = True
            await asyncio.to_thread(self._counts, await self.aget_all(MessageStatus.ACTIVE))
        return await super().aget(input, **block_kwargs)

    async def aget_all(self, status: MessageStatus | None = None) -> list[ChatMessage]:
        """Return the messages; cancelling the caller does not break the database connection."""
        return await asyncio.shield(super().aget_all(status))

    # -- putting -----------------------------------------------------------------------------------

    def put(self, message: ChatMessage) -> None:
        """Add a message."""
        self.put_messages([message])

    async def aput(self, message: ChatMessage) -> None:
        """Add a message."""
        await self.aput_messages([message])

    def put_messages(self, messages: list[ChatMessage]) -> None:
        """Add messages, after the flush of those that they evict."""
        self._flush_messages(asyncio_run(self._evicted_by(messages)))
        if messages:
            asyncio_run(super().aput_messages(messages))

    async def aput_messages(self, messages: list[ChatMessage]) -> None:
        """Add messages, after the flush of those that they evict."""
        await self._aflush_messages(await self._evicted_by(messages))
        if messages:
            await asyncio.shield(super().aput_messages(messages))

    # -- deleting ----------------------------------------------------------------------------------

    def set(self, messages: list[ChatMessage]) -> None:
        """Replace the conversation, after the flush of messages that the new one lacks."""
        removed = asyncio_run(self._replaced_by(messages))
        self._save_if_possible(removed, self._flush_messages(removed))
        asyncio_run(super().aset(messages))

    async def aset(self, messages: list[ChatMessage]) -> None:
        """Replace the conversation, after the flush of messages that the new one lacks."""
        removed = await self._replaced_by(messages)
        report = await self._aflush_messages(removed)
        await asyncio.to_thread(self._save_if_possible, removed, report)
        await asyncio.to_thread(self._counts, messages)
        await super().aset(messages)

    def reset(self, *, archive: bool = False) -> None:
        """Delete the conversation, after its flush.

        Args:
            archive: Whether to write it to a session file first.

        Raises:
            OSError: The session file cannot be written; nothing was deleted.
        """
        removed = flush_messages(asyncio_run(self.aget_all()))
        self._save(removed, self._flush_messages(removed, reason="session_end"), archive=archive)
        asyncio_run(super().areset())

    async def areset(self, status: MessageStatus | None = None, *, archive: bool = False) -> None:
        """Delete the conversation, after its flush.

        Args:
            status: Which messages to delete; all by default.
            archive: Whether to write them to a session file first.

        Raises:
            OSError: The session file cannot be written; nothing was deleted.
        """
        removed = flush_messages(await self.aget_all(status))
        report = await self._aflush_messages(removed, reason="session_end")
        await asyncio.to_thread(self._save, removed, report, archive=archive)
        await super().areset(status)

    # -- flushing ----------------------------------------------------------------------------------

    def flush(self, *, reason: FlushReason = "session_end") -> FlushReport | None:
        """Write down what is new in the conversation; return None if it has no message."""
        return self._flush_messages(flush_messages(asyncio_run(self.aget_all())), reason=reason)

    async def aflush(self, *, reason: FlushReason = "session_end") -> FlushReport | None:
        """Run `flush` without blocking the event loop."""
        return await self._aflush_messages(flush_messages(await self.aget_all()), reason=reason)

    def _flush_messages(
        self, messages: list[FlushMessage], *, reason: FlushReason = "compaction"
    ) -> FlushReport | None:
        if not messages:
            self._start_pending()
            return None
        report = self._active_flusher.flush(messages, thread=self.session_id, reason=reason)
        self._start_pending(again=True)
        return report

    async def _aflush_messages(
        self, messages: list[FlushMessage], *, reason: FlushReason = "compaction"
    ) -> FlushReport | None:
        if not messages:
            self._start_pending()
            return None
        report = await self._active_flusher.aflush(messages, thread=self.session_id, reason=reason)
        self._start_pending(again=True)
        return report

    def _save(
        self, messages: list[FlushMessage], report: FlushReport | None, *, archive: bool
    ) -> None:
        """Write a session file if `archive` is set, or if the messages are saved nowhere else."""
        lost = report is not None and not report.safe and self._flushes
        if messages and (archive or lost):
            self._active_flusher.archive(messages, thread=self.session_id)

    def _save_if_possible(self, messages: list[FlushMessage], report: FlushReport | None) -> None:
        """Write a session file if the messages are saved nowhere else; log its errors."""
        try:
            self._save(messages, report, archive=False)
        except OSError:
            logger.exception("a conversation is replaced that could be kept nowhere")

    # -- messages to flush -------------------------------------------------------------------------

    async def _evicted_by(self, messages: list[ChatMessage]) -> list[FlushMessage]:
        """Return the whole conversation if a put would evict messages that were not flushed."""
        active = [*await self.aget_all(MessageStatus.ACTIVE), *messages]
        if not await asyncio.to_thread(self._evicts_new_messages, active):
            return []
        return flush_messages([*await self.aget_all(), *messages])

    def _evicts_new_messages(self, active: list[ChatMessage]) -> bool:
        evicted = evicted_messages(
            active,
            self._counts(active),
            limit=self.token_limit * self.chat_history_token_ratio,
            flush_size=self.token_flush_size,
        )
        return bool(evicted) and bool(
            self._active_flusher.new_messages(flush_messages(evicted), thread=self.session_id)
        )

    def _counts(self, messages: Sequence[ChatMessage]) -> list[int]:
        """Count the tokens of each message, into the cache of `tokenize`."""
        return [self._estimate_token_count(message) for message in messages]

    async def _replaced_by(self, messages: Iterable[ChatMessage]) -> list[FlushMessage]:
        """Return the conversation if it has messages that the new one lacks."""
        stored = flush_messages(await self.aget_all())
        kept = {repr(message) for message in flush_messages(messages)}
        return stored if any(repr(message) not in kept for message in stored) else []

    def _estimate_token_count(
        self, message_or_blocks: str | ChatMessage | list[ChatMessage] | list[ContentBlock]
    ) -> int:
        """Count as the stock class does, plus tool calls and thoughts."""
        parts = message_or_blocks if isinstance(message_or_blocks, list) else [message_or_blocks]
        texts = [
            text
            for part in parts
            if isinstance(part, ChatMessage)
            for text in uncounted_texts(part)
        ]
        return super()._estimate_token_count(message_or_blocks) + sum(
            len(self.tokenizer_fn(text)) for text in texts
        )

    @property
    def _active_flusher(self) -> Flusher:
        if self._flusher is None:
            raise ValueError("a ChatMemory is opened with ChatMemory.from_defaults(memory, ...).")
        return self._flusher

    def _start_pending(self, *, again: bool = False) -> None:
        """Process what earlier flushes left, in the background: at first, and after a flush."""
        if again or not self._opened:
            self._opened = True
            self._active_flusher.start_pending()
