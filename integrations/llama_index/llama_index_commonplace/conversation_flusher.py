"""`ConversationFlusher`: the flushes of one conversation, whose tail alone is read and written."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from llama_index.core.base.llms.types import ChatMessage
from llama_index.core.storage.chat_store.base_db import AsyncDBChatStore, MessageStatus

from commonplace.flush import (
    Fingerprinter,
    Flusher,
    FlushMessage,
    FlushReason,
    FlushReport,
    checked_reason,
)
from llama_index_commonplace.conversation_tail import ConversationTail
from llama_index_commonplace.message_conversion import flush_messages

__all__ = ["ConversationFlusher", "DueFlush", "FlushMode"]

FlushMode = Literal["before", "background"]

_PAGE = 500
"""Messages that are read at once."""


@dataclass(frozen=True, slots=True)
class DueFlush:
    """Messages to flush.

    Attributes:
        messages: The messages.
        after: Fingerprints of the conversation before them; None if they are all of it.
        queue: The queue behind the flush; None where the tail is not followed.
        resumes: Whether to finish what another process began, even if there is nothing new.
        tail: Tail that the messages are from; None where it is not followed.
    """

    messages: Sequence[FlushMessage] = ()
    after: Fingerprinter | None = None
    queue: Sequence[FlushMessage] | None = None
    resumes: bool = False
    tail: ConversationTail | None = None


class ConversationFlusher:
    """Flusher of one conversation. Its caller holds the conversation's lock, or uses `apart`.

    Args:
        flusher: Flusher of the memory.
        store: Store of the conversation.
        session: Id of the conversation.
        mode: Whether a silent turn comes before what it is for, or runs in the background.
    """

    def __init__(
        self, flusher: Flusher, store: AsyncDBChatStore, *, session: str, mode: FlushMode
    ) -> None:
        self.flusher = flusher
        self._store = store
        self._session = session
        self._is_background = mode == "background"
        self._tail = ConversationTail()
        self._opened = False

    # -- what is due -------------------------------------------------------------------------------

    async def before_put(
        self, active: Sequence[ChatMessage], messages: Sequence[ChatMessage], *, evicted: int
    ) -> DueFlush:
        """Return what is to be flushed before a put: all that is new, if the put evicts some of it.

        The messages count as put from then on.

        Args:
            active: The queue, without the messages.
            messages: Messages that are about to be put.
            evicted: How many of the oldest will be evicted.
        """
        tail = self._tail
        new = await asyncio.to_thread(flush_messages, messages)
        if not evicted:
            await asyncio.to_thread(tail.put, new)
            return DueFlush()
        queue = await asyncio.to_thread(flush_messages, active)
        await self._follow(tail, queue)
        await asyncio.to_thread(tail.put, new)
        unflushed = list(tail.unflushed)
        if evicted <= len(queue) + len(new) - len(unflushed):
            return DueFlush(resumes=not self._opened)
        return DueFlush(unflushed, tail.flushed, [*queue, *new], tail=tail)

    async def rest(self, active: Sequence[ChatMessage]) -> DueFlush | None:
        """Return what is new in the conversation; None if it has no message."""
        tail = self._tail
        queue = await asyncio.to_thread(flush_messages, active)
        await self._follow(tail, queue)
        unflushed = list(tail.unflushed)
        if not queue and not unflushed:
            return None
        return DueFlush(unflushed, tail.flushed, queue, tail=tail)

    async def all(self, status: MessageStatus | None = None) -> DueFlush:
        """Return the whole conversation, or its part of a status, ahead of its deletion."""
        self.forget()
        return DueFlush(await self._read(status))

    async def replaced_by(self, messages: Sequence[ChatMessage]) -> DueFlush:
        """Return the whole conversation if it has messages that the new one lacks."""
        stored = await self.all()
        kept = {repr(message) for message in await asyncio.to_thread(flush_messages, messages)}
        return stored if any(repr(found) not in kept for found in stored.messages) else DueFlush()

    def forget(self) -> None:
        """Forget the tail: the conversation is read before its next flush."""
        # A new one, because a put that runs beside this one still settles its own.
        self._tail = ConversationTail()

    def apart(self) -> ConversationFlusher:
        """Return a flusher of the same conversation for a caller that does not hold its lock.

        It follows no tail of others and reads the conversation; afterwards, this one must `forget`.
        """
        mode: FlushMode = "background" if self._is_background else "before"
        other = ConversationFlusher(self.flusher, self._store, session=self._session, mode=mode)
        other._opened = self._opened
        return other

    async def _follow(self, tail: ConversationTail, queue: Sequence[FlushMessage]) -> None:
        """Read the whole conversation, unless its tail is known up to the end of the queue."""
        if await asyncio.to_thread(tail.follows, queue):
            return
        messages = await self._read(None)
        count = self.flusher.flushed_count
        flushed = await asyncio.to_thread(count, messages, thread=self._session)
        await asyncio.to_thread(tail.begin, messages, queue, flushed=flushed)

    async def _read(self, status: MessageStatus | None) -> list[FlushMessage]:
        """Read the conversation in pages, so that no event loop waits for all of it."""
        found: list[FlushMessage] = []
        while True:
            page = await self._store.get_messages(
                self._session, status=status, limit=_PAGE, offset=len(found)
            )
            found += await asyncio.to_thread(flush_messages, page)
            if len(page) < _PAGE:
                return found

    # -- flushing ----------------------------------------------------------------------------------

    def flush(self, due: DueFlush, *, reason: FlushReason = "compaction") -> FlushReport | None:
        """Write down what is due; None if nothing is, and the session goes on."""
        checked_reason(reason)
        if _is_idle(due, reason):
            self._start_pending()
            return None
        flush = self.flusher.enqueue if self._is_beside(reason) else self.flusher.flush
        report = flush(due.messages, thread=self._session, reason=reason, after=due.after)
        return self._settled(due, report)

    async def aflush(
        self, due: DueFlush, *, reason: FlushReason = "compaction"
    ) -> FlushReport | None:
        """Run `flush` without blocking the event loop."""
        checked_reason(reason)
        if self._is_beside(reason) or _is_idle(due, reason):
            return await asyncio.to_thread(self.flush, due, reason=reason)
        report = await self.flusher.aflush(
            due.messages, thread=self._session, reason=reason, after=due.after
        )
        return await asyncio.to_thread(self._settled, due, report)

    def archive(self, due: DueFlush, report: FlushReport | None, *, wanted: bool) -> None:
        """Write a session file if it is wanted, or if the messages are saved nowhere else.

        Raises:
            OSError: It cannot be written.
        """
        if due.messages and (wanted or (report is not None and not report.safe)):
            self.flusher.archive(due.messages, thread=self._session)

    def _is_beside(self, reason: FlushReason) -> bool:
        return self._is_background and reason == "compaction"

    def _settled(self, due: DueFlush, report: FlushReport) -> FlushReport:
        """Take what was flushed for known; what is kept nowhere is flushed again."""
        if report.safe and due.tail is not None and due.queue is not None:
            due.tail.settle(due.queue)
        self._start_pending(again=True)
        return report

    def _start_pending(self, *, again: bool = False) -> None:
        """Process what earlier flushes left, in the background: at first, and after a flush."""
        if again or not self._opened:
            self._opened = True
            self.flusher.start_pending()


def _is_idle(due: DueFlush, reason: FlushReason) -> bool:
    return not due.messages and not due.resumes and reason == "compaction"
