"""`ChatMemory`: a LlamaIndex memory that flushes messages to notes before they are evicted."""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from typing import Any, Self, get_args

from llama_index.core import Settings
from llama_index.core.async_utils import asyncio_run
from llama_index.core.base.llms.types import ChatMessage, ContentBlock
from llama_index.core.bridge.pydantic import PrivateAttr
from llama_index.core.llms import LLM
from llama_index.core.memory import Memory as StockMemory
from llama_index.core.storage.chat_store.base_db import MessageStatus
from llama_index.core.storage.chat_store.sql import SQLAlchemyChatStore
from sqlalchemy import make_url

from commonplace import Memory
from commonplace.flush import Flusher, FlushReason, FlushReport
from llama_index_commonplace.arguments import checked_llm, checked_memory
from llama_index_commonplace.chat_store import ConversationLock, SerialChatStore
from llama_index_commonplace.conversation_flusher import (
    ConversationFlusher,
    DueFlush,
    FlushMode,
)
from llama_index_commonplace.flush_model import LlamaIndexFlushModel
from llama_index_commonplace.token_counting import (
    evicted_messages,
    plain_texts,
    tokenize,
    uncounted_texts,
)

__all__ = ["ChatMemory"]

logger = logging.getLogger(__name__)


class ChatMemory(StockMemory):
    """LlamaIndex `Memory` that flushes messages to notes before they leave the conversation.

    ::

        async with ChatMemory.from_defaults(memory, llm=llm, on_flush=print) as chat:
            await agent.run("...", memory=chat)

    Before a put that would evict the oldest messages, a silent turn of the model writes down all
    messages that were not flushed yet. That happens about once in a conversation's token budget.
    `set` and `reset`, which delete messages, flush them first, too. The state database identifies
    flushed messages within the `session_id`: give one, and a database
    (``async_database_uri="sqlite+aiosqlite:///chat.db"``), to continue after a restart.

    A model that fails or hangs costs no message and no turn. Its messages stay in the journal, and
    the next flushes try them again. After three failures they are findable as a session file, too;
    the next flush that succeeds, or `retry`, makes notes of them after all.

    Puts of one conversation wait for one another, also those of other objects of this process with
    the same `session_id` and database. `put` calls the sync model from the caller's thread, `aput`
    the async one on the caller's event loop.
    """

    _opened: ConversationFlusher | None = PrivateAttr(default=None)
    _flushes: bool = PrivateAttr(default=True)
    _lock: ConversationLock = PrivateAttr(default_factory=lambda: ConversationLock(None))
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
        flush: FlushMode = "before",
        **options: Any,
    ) -> Self:
        """Open a conversation.

        Args:
            memory: Takes the notes; it is not closed by the conversation.
            llm: Writes the notes; LlamaIndex's `Settings.llm` by default.
            on_flush: Called with each report.
            chat_history: First messages; they replace those that the session has.
            flush: Whether a put waits for the silent turn, or only until its messages are in the
                journal; the turn runs beside the conversation then.
            **options: Options of LlamaIndex's `Memory.from_defaults`: `session_id`, `token_limit`,
                `memory_blocks`, `async_database_uri`, and so on. Tokens are counted without a
                network unless there is a `tokenizer_fn`. A `chat_store` is used as it is; the one
                of this class runs one operation at a time, whatever else of a session runs.

        Raises:
            TypeError: `memory` is no memory, or `llm` no model.
            ValueError: `flush` is neither of the two.
        """
        checked_memory(memory)
        if flush not in get_args(FlushMode):
            raise ValueError(f"flush is {flush!r}; it must be 'before' or 'background'.")
        options.setdefault("tokenizer_fn", tokenize)
        chat = super().from_defaults(**options)
        if not isinstance(chat, cls):
            raise TypeError(f"LlamaIndex's Memory made a {type(chat).__name__}.")
        store = chat.sql_store
        if isinstance(store, SQLAlchemyChatStore) and options.get("chat_store") is None:
            chat.sql_store = SerialChatStore.like(store, options.get("async_engine"))
        model = checked_llm(llm or Settings.llm)
        chat._begin(memory, model, on_flush, mode=flush)  # noqa: SLF001 - its own class
        if chat_history is not None:
            chat.set(chat_history)
        return chat

    def _begin(
        self,
        memory: Memory,
        llm: LLM,
        on_flush: Callable[[FlushReport], object] | None,
        *,
        mode: FlushMode,
    ) -> None:
        self._flushes = memory.settings.flush.enabled
        window = max(llm.metadata.context_window, self.token_limit)
        model = LlamaIndexFlushModel(llm)
        flusher = Flusher(memory, model, context_window=window, on_flush=on_flush)
        session = self.session_id
        self._opened = ConversationFlusher(flusher, self.sql_store, session=session, mode=mode)
        uri = getattr(self.sql_store, "async_database_uri", None)
        if isinstance(self.sql_store, SerialChatStore) and self.sql_store.is_durable:
            self._lock = ConversationLock(f"{uri} {session}")
        if uri:
            make_url(uri).get_dialect()  # imports the driver here instead of on the event loop

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.aclose()

    async def aclose(self) -> None:
        """Close the database's connections; what an in-memory one holds is gone, unflushed.

        An engine or a store that the caller gave stays open, and so does the memory.
        """
        async with self._held():
            if isinstance(self.sql_store, SerialChatStore):
                await self.sql_store.aclose()

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
        with self._held_by_thread() as flusher:
            if self._flushes:
                flusher.flush(asyncio_run(self._due(flusher, messages)))
            if messages:
                asyncio_run(super().aput_messages(messages))

    async def aput_messages(self, messages: list[ChatMessage]) -> None:
        """Add messages, after the flush of those that they evict."""
        async with self._held() as flusher:
            if self._flushes:
                await flusher.aflush(await self._due(flusher, messages))
            if messages:
                await asyncio.shield(super().aput_messages(messages))

    # -- deleting ----------------------------------------------------------------------------------

    def set(self, messages: list[ChatMessage]) -> None:
        """Replace the conversation, after the flush of messages that the new one lacks."""
        with self._held_by_thread() as flusher:
            removed = asyncio_run(flusher.replaced_by(messages))
            self._archive_if_possible(removed, flusher.flush(removed))
            asyncio_run(super().aset(messages))

    async def aset(self, messages: list[ChatMessage]) -> None:
        """Replace the conversation, after the flush of messages that the new one lacks."""
        async with self._held() as flusher:
            removed = await flusher.replaced_by(messages)
            report = await flusher.aflush(removed)
            await asyncio.to_thread(self._archive_if_possible, removed, report)
            await asyncio.to_thread(self._counts, messages)
            await super().aset(messages)

    def reset(self, *, archive: bool = False) -> None:
        """Delete the conversation, after its flush.

        Args:
            archive: Whether to write it to a session file first.

        Raises:
            OSError: The session file cannot be written; nothing was deleted.
        """
        with self._held_by_thread() as flusher:
            removed = asyncio_run(flusher.all())
            report = flusher.flush(removed, reason="session_end")
            self._archive(removed, report, wanted=archive)
            asyncio_run(super().areset())

    async def areset(self, status: MessageStatus | None = None, *, archive: bool = False) -> None:
        """Delete the conversation, after its flush.

        Args:
            status: Which messages to delete; all by default.
            archive: Whether to write them to a session file first.

        Raises:
            OSError: The session file cannot be written; nothing was deleted.
        """
        async with self._held() as flusher:
            removed = await flusher.all(status)
            report = await flusher.aflush(removed, reason="session_end")
            await asyncio.to_thread(self._archive, removed, report, wanted=archive)
            await super().areset(status)

    # -- flushing ----------------------------------------------------------------------------------

    def flush(self, *, reason: FlushReason = "session_end") -> FlushReport | None:
        """Write down what is new in the conversation; return None if it has no message."""
        with self._held_by_thread() as flusher:
            rest = asyncio_run(self._rest(flusher))
            return None if rest is None else flusher.flush(rest, reason=reason)

    async def aflush(self, *, reason: FlushReason = "session_end") -> FlushReport | None:
        """Run `flush` without blocking the event loop."""
        async with self._held() as flusher:
            rest = await self._rest(flusher)
            return None if rest is None else await flusher.aflush(rest, reason=reason)

    def retry(self) -> tuple[FlushReport, ...]:
        """Write down what failed flushes left, of all conversations, until one fails again.

        The next flushes that succeed do so, too, in the background; but not for ever with messages
        that the model refuses.
        """
        return self._flusher.flusher.retry()

    async def aretry(self) -> tuple[FlushReport, ...]:
        """Run `retry` without blocking the event loop."""
        return await self._flusher.flusher.aretry()

    # -- one operation at a time -------------------------------------------------------------------

    @contextlib.asynccontextmanager
    async def _held(self) -> AsyncIterator[ConversationFlusher]:
        async with self._lock.held() as is_held:
            with self._flusher_of(is_held) as flusher:
                yield flusher

    @contextlib.contextmanager
    def _held_by_thread(self) -> Iterator[ConversationFlusher]:
        with self._lock.held_by_thread() as is_held, self._flusher_of(is_held) as flusher:
            yield flusher

    @contextlib.contextmanager
    def _flusher_of(self, is_held: bool) -> Iterator[ConversationFlusher]:
        """Yield the flusher for an operation that holds the lock, or for one that does not."""
        if is_held:
            yield self._flusher
            return
        try:
            yield self._flusher.apart()
        finally:
            self._flusher.forget()

    # -- messages to flush -------------------------------------------------------------------------

    async def _due(self, flusher: ConversationFlusher, messages: list[ChatMessage]) -> DueFlush:
        """Return what is to be flushed before a put."""
        active = await self.aget_all(MessageStatus.ACTIVE)
        evicted = await asyncio.to_thread(self._evicted_count, [*active, *messages])
        return await flusher.before_put(active, messages, evicted=evicted)

    async def _rest(self, flusher: ConversationFlusher) -> DueFlush | None:
        return await flusher.rest(await self.aget_all(MessageStatus.ACTIVE))

    def _evicted_count(self, active: list[ChatMessage]) -> int:
        limit = self.token_limit * self.chat_history_token_ratio
        counts, size = self._counts(active), self.token_flush_size
        return len(evicted_messages(active, counts, limit=limit, flush_size=size))

    def _counts(self, messages: Sequence[ChatMessage]) -> list[int]:
        """Count the tokens of each message, into the cache of `tokenize`."""
        return [self._estimate_token_count(message) for message in messages]

    def _archive(self, due: DueFlush, report: FlushReport | None, *, wanted: bool) -> None:
        """Write a session file if it is wanted, or if the messages are saved nowhere else."""
        if wanted or self._flushes:
            self._flusher.archive(due, report, wanted=wanted)

    def _archive_if_possible(self, due: DueFlush, report: FlushReport | None) -> None:
        """Write a session file if the messages are saved nowhere else; log its errors."""
        try:
            self._archive(due, report, wanted=False)
        except OSError:
            logger.exception("a conversation is replaced that could be kept nowhere")

    def _estimate_token_count(
        self, message_or_blocks: str | ChatMessage | list[ChatMessage] | list[ContentBlock]
    ) -> int:
        """Count as the stock class does, plus tool calls and thoughts.

        Plain messages are counted a few times faster: the stock class counts all of the queue on
        the event loop, several times in one put.
        """
        texts = plain_texts(message_or_blocks)
        if texts is not None:
            return sum(len(self.tokenizer_fn(text)) for text in texts)
        return super()._estimate_token_count(message_or_blocks) + sum(
            len(self.tokenizer_fn(text)) for text in uncounted_texts(message_or_blocks)
        )

    @property
    def _flusher(self) -> ConversationFlusher:
        if self._opened is None:
            raise ValueError("a ChatMemory is opened with ChatMemory.from_defaults(memory, ...).")
        return self._opened
