"""`ChatMemory`: a LlamaIndex memory that writes down what it is about to forget."""

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
from llama_index_commonplace.counting import leaving, tokenize, uncounted
from llama_index_commonplace.flush_model import LlamaIndexFlushModel
from llama_index_commonplace.messages import flush_messages

__all__ = ["ChatMemory"]

logger = logging.getLogger(__name__)


class ChatMemory(StockMemory):
    """Keep a conversation as LlamaIndex does, and write down what leaves it before it leaves.

    ::

        chat = ChatMemory.from_defaults(memory, llm=llm, token_limit=100_000, on_flush=print)
        await agent.run("...", memory=chat)

    Before a message is put that would make the oldest ones leave, everything that was not written
    down yet is, by a silent turn of the model; so it is about once in a whole conversation's worth
    of tokens. The same goes for `set` and `reset`, which delete. What was written down is known by
    the state file, under the `session_id`: give one, and a database
    (``async_database_uri="sqlite+aiosqlite:///chat.db"``), to go on after a restart.

    A model that fails or hangs costs no message and no turn: what is at stake stands in the state
    file and is written down later. No model is called inside an event loop of ours: `put` asks the
    sync model in the caller's thread, `aput` the async one on the caller's loop.
    """

    _flusher: Flusher | None = PrivateAttr(default=None)
    _flushes: bool = PrivateAttr(default=True)
    _opened: bool = PrivateAttr(default=False)
    _counted: bool = PrivateAttr(default=False)

    @classmethod
    def class_name(cls) -> str:
        """Return the name by which LlamaIndex knows the class."""
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
            memory: Where the notes go; whoever opened it closes it.
            llm: Who writes them; LlamaIndex's `Settings.llm` by default.
            on_flush: Called with each report.
            chat_history: Messages to begin with, in place of what the session has.
            **options: Those of LlamaIndex's `Memory.from_defaults`: `session_id`, `token_limit`,
                `memory_blocks`, `async_database_uri`, and so on. Tokens are counted without a
                network unless there is a `tokenizer_fn`.
        """
        options.setdefault("tokenizer_fn", tokenize)
        chat = super().from_defaults(**options)
        if not isinstance(chat, cls):
            raise TypeError(f"LlamaIndex's Memory made a {type(chat).__name__}.")
        chat._begin(memory, llm or Settings.llm, on_flush)  # noqa: SLF001 - its own class
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
            make_url(uri).get_dialect()  # imported here, else at the first message, in the loop

    # -- what is told ------------------------------------------------------------------------------

    async def aget(
        self,
        input: str | ChatMessage | None = None,  # noqa: A002
        **block_kwargs: Any,
    ) -> list[ChatMessage]:
        """Return what the model is shown."""
        if not self._counted:  # the stock class counts, too, but in the event loop
            self._counted = True
            await asyncio.to_thread(self._counts, await self.aget_all(MessageStatus.ACTIVE))
        return await super().aget(input, **block_kwargs)

    async def aget_all(self, status: MessageStatus | None = None) -> list[ChatMessage]:
        """Return the messages; a caller that is cancelled does not break the connection."""
        return await asyncio.shield(super().aget_all(status))

    # -- what is put -------------------------------------------------------------------------------

    def put(self, message: ChatMessage) -> None:
        """Add a message."""
        self.put_messages([message])

    async def aput(self, message: ChatMessage) -> None:
        """Add a message."""
        await self.aput_messages([message])

    def put_messages(self, messages: list[ChatMessage]) -> None:
        """Add messages, once what they push out is written down."""
        self._write_down(asyncio_run(self._pushed_out(messages)))
        if messages:
            asyncio_run(super().aput_messages(messages))

    async def aput_messages(self, messages: list[ChatMessage]) -> None:
        """Add messages, once what they push out is written down."""
        await self._awrite_down(await self._pushed_out(messages))
        if messages:
            await asyncio.shield(super().aput_messages(messages))

    # -- what is deleted ---------------------------------------------------------------------------

    def set(self, messages: list[ChatMessage]) -> None:
        """Replace the conversation, once what is not in the new one is written down."""
        stake = asyncio_run(self._replaced(messages))
        self._keep_if_possible(stake, self._write_down(stake))
        asyncio_run(super().aset(messages))

    async def aset(self, messages: list[ChatMessage]) -> None:
        """Replace the conversation, once what is not in the new one is written down."""
        stake = await self._replaced(messages)
        report = await self._awrite_down(stake)
        await asyncio.to_thread(self._keep_if_possible, stake, report)
        await asyncio.to_thread(self._counts, messages)
        await super().aset(messages)

    def reset(self, *, archive: bool = False) -> None:
        """Forget the conversation, once it is written down.

        Args:
            archive: Whether it is kept as a session file first.

        Raises:
            OSError: The session file cannot be written; nothing was forgotten.
        """
        stake = flush_messages(asyncio_run(self.aget_all()))
        self._keep(stake, self._write_down(stake, reason="session_end"), archive=archive)
        asyncio_run(super().areset())

    async def areset(self, status: MessageStatus | None = None, *, archive: bool = False) -> None:
        """Forget the conversation, once it is written down.

        Args:
            status: Which messages to forget; all by default.
            archive: Whether they are kept as a session file first.

        Raises:
            OSError: The session file cannot be written; nothing was forgotten.
        """
        stake = flush_messages(await self.aget_all(status))
        report = await self._awrite_down(stake, reason="session_end")
        await asyncio.to_thread(self._keep, stake, report, archive=archive)
        await super().areset(status)

    # -- what is written down ----------------------------------------------------------------------

    def flush(self, *, reason: FlushReason = "session_end") -> FlushReport | None:
        """Write down what was not yet, and go on; None where there is no message."""
        return self._write_down(flush_messages(asyncio_run(self.aget_all())), reason=reason)

    async def aflush(self, *, reason: FlushReason = "session_end") -> FlushReport | None:
        """Do what `flush` does; the event loop goes on."""
        return await self._awrite_down(flush_messages(await self.aget_all()), reason=reason)

    def _write_down(
        self, stake: list[FlushMessage], *, reason: FlushReason = "compaction"
    ) -> FlushReport | None:
        if self._is_first_use():
            self._notes.process_pending()
        if not stake:
            return None
        return self._notes.flush(stake, thread=self.session_id, reason=reason)

    async def _awrite_down(
        self, stake: list[FlushMessage], *, reason: FlushReason = "compaction"
    ) -> FlushReport | None:
        if self._is_first_use():
            await self._notes.aprocess_pending()
        if not stake:
            return None
        return await self._notes.aflush(stake, thread=self.session_id, reason=reason)

    def _keep(
        self, stake: list[FlushMessage], report: FlushReport | None, *, archive: bool
    ) -> None:
        """Keep a conversation as a session file: when asked, or when nothing else keeps it."""
        lost = report is not None and not report.safe and self._flushes
        if stake and (archive or lost):
            self._notes.archive(stake, thread=self.session_id)

    def _keep_if_possible(self, stake: list[FlushMessage], report: FlushReport | None) -> None:
        """Keep what nothing else keeps; the user's turn goes on when even that fails."""
        try:
            self._keep(stake, report, archive=False)
        except OSError:
            logger.exception("a conversation is replaced that could be kept nowhere")

    # -- what is at stake --------------------------------------------------------------------------

    async def _pushed_out(self, messages: list[ChatMessage]) -> list[FlushMessage]:
        """Return the whole conversation when messages that are not written down would leave it."""
        active = [*await self.aget_all(MessageStatus.ACTIVE), *messages]
        if not await asyncio.to_thread(self._anything_leaves, active):
            return []
        return flush_messages([*await self.aget_all(), *messages])

    def _anything_leaves(self, active: list[ChatMessage]) -> bool:
        gone = leaving(
            active,
            self._counts(active),
            limit=self.token_limit * self.chat_history_token_ratio,
            flush_size=self.token_flush_size,
        )
        return bool(gone) and bool(
            self._notes.new_messages(flush_messages(gone), thread=self.session_id)
        )

    def _counts(self, messages: Sequence[ChatMessage]) -> list[int]:
        """Count the tokens of each message; `tokenize` remembers them."""
        return [self._estimate_token_count(message) for message in messages]

    async def _replaced(self, messages: Iterable[ChatMessage]) -> list[FlushMessage]:
        """Return the conversation when it has messages that the new one has not."""
        stake = flush_messages(await self.aget_all())
        kept = {repr(message) for message in flush_messages(messages)}
        return stake if any(repr(message) not in kept for message in stake) else []

    def _estimate_token_count(
        self, message_or_blocks: str | ChatMessage | list[ChatMessage] | list[ContentBlock]
    ) -> int:
        """Count what the stock class counts, and tool calls and thoughts."""
        parts = message_or_blocks if isinstance(message_or_blocks, list) else [message_or_blocks]
        texts = [
            text for part in parts if isinstance(part, ChatMessage) for text in uncounted(part)
        ]
        return super()._estimate_token_count(message_or_blocks) + sum(
            len(self.tokenizer_fn(text)) for text in texts
        )

    @property
    def _notes(self) -> Flusher:
        if self._flusher is None:
            raise ValueError("a ChatMemory is opened with ChatMemory.from_defaults(memory, ...).")
        return self._flusher

    def _is_first_use(self) -> bool:
        """Tell once that the conversation was opened: another process may have left something."""
        first, self._opened = not self._opened, True
        return first
