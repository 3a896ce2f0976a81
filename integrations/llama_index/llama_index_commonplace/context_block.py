"""`MemoryContextBlock`: the memory's context and recalled notes as a memory block."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Iterator, Sequence, Sized
from typing import Any

import llama_index.core
from llama_index.core.base.llms.types import ChatMessage, MessageRole
from llama_index.core.bridge.pydantic import Field
from llama_index.core.memory import BaseMemoryBlock

from commonplace import CommonplaceError, Memory
from commonplace.agent.recall import recall_notes
from commonplace.tools import citations_shown
from llama_index_commonplace.arguments import checked_options
from llama_index_commonplace.token_counting import tokenize

__all__ = ["MemoryContextBlock"]

logger = logging.getLogger(__name__)

_LEAST_CHARS = 100
"""Budget of a context below which nothing of it can be shown."""


class MemoryContextBlock(BaseMemoryBlock[list[ChatMessage]]):
    """Memory block with MEMORY.md, the current logs, and the instructions for recall.

    ::

        chat = llama_index.core.memory.Memory.from_defaults(
            memory_blocks=[MemoryContextBlock(memory=memory, recall=3)]
        )
        await agent.run("...", memory=chat)

    A block is used because an agent's `system_prompt` is fixed for its whole life and never depends
    on the user's question. A block is rendered for every turn from the conversation, and works in
    every agent and chat engine that takes a `Memory`. For others, put `text()` into the system
    prompt.

    The content is a system message in front of the conversation, so `insert_method` does not apply.
    The reason is the memory's template: with versions of ``banks`` before 2.5, which LlamaIndex
    allows, a line of a note that is the JSON of a chat message would replace the whole template.
    Recalled notes are last; all before them is byte-identical while the memory is unchanged.

    Where a conversation and its blocks exceed the `token_limit`, the block gives way: the recalled
    notes first, the last one before the others, then the logs, then the end of MEMORY.md. The text
    says what is not shown, and how the agent reads it.

    Read errors of the memory are logged; the user's turn continues without its context.
    """

    def __init__(self, *memory: Memory, **options: Any) -> None:
        """Make the block; the memory may be given without its name."""
        allowed, caller = type(self).model_fields, type(self).__name__
        super().__init__(
            **checked_options(options, positional=memory, allowed=allowed, caller=caller)
        )

    name: str = "commonplace"
    accept_short_term_memory: bool = False
    """False: messages that leave the conversation are for `FlushMemoryBlock`."""
    memory: Memory = Field(exclude=True, repr=False)
    """The memory; it is not closed by the block."""
    private: bool = True
    """Whether the conversation has one user only; if not, MEMORY.md and sessions are left out."""
    recall: int = Field(default=0, ge=0)
    """Number of notes to recall for the user's last message, without a model call."""
    tools: tuple[str, ...] = ("memory_search", "memory_get")
    """Memory tools that the agent has; the instructions explain them."""
    priority: int = 1
    """Rank among the blocks that are truncated; 0 for a block that never is."""
    tokenizer_fn: Callable[[str], Sized] | None = Field(default=None, exclude=True, repr=False)
    """Tokenizer of the `Memory`, if it has one of its own."""

    def text(self, question: str = "", *, session: str | None = None) -> str:
        """Return the context and, if `recall` is set, the notes for a question.

        Args:
            question: The user's last message.
            session: Id of the conversation; None if it is not known.
        """
        return _joined(self._context(), self._instructions(), self._recalled(question, session))

    async def atruncate(
        self, content: list[ChatMessage], tokens_to_truncate: int
    ) -> list[ChatMessage] | None:
        """Return the content with so many tokens less; None if that leaves nothing."""
        try:
            text = content[0].content or "" if content else ""
            shorter = await asyncio.to_thread(self._truncated, text, tokens_to_truncate)
        except CommonplaceError:
            logger.exception("the memory cannot be read; this turn goes on without it")
            return None
        return [ChatMessage(role=MessageRole.SYSTEM, content=shorter)] if shorter else None

    def _truncated(self, text: str, tokens: int) -> str:
        """Return the longest of the shorter texts that saves the tokens; empty if none does."""
        counters = [self.tokenizer_fn] if self.tokenizer_fn else _counters()
        sizes = [len(count(text)) - tokens for count in counters]

        def fits(shorter: str) -> bool:
            return all(
                len(count(shorter)) <= size for count, size in zip(counters, sizes, strict=True)
            )

        instructions, context = self._instructions(), self._context()
        full = _joined(context, instructions)
        recalled = ""
        for recalled in _fewer_notes(text.removeprefix(full)) if text.startswith(full) else ():
            if fits(shorter := _joined(full, recalled)):
                return shorter
        chars = len(context)
        while chars > _LEAST_CHARS:
            chars = chars * 9 // 10
            if fits(shorter := _joined(self._context(chars), instructions, recalled)):
                return shorter
        return instructions if fits(instructions) else ""

    async def _aget(
        self,
        messages: list[ChatMessage] | None = None,
        *,
        session_id: str | None = None,
        **_: Any,
    ) -> list[ChatMessage]:
        try:
            question = _last_question(messages or [])
            text = await asyncio.to_thread(self.text, question, session=session_id)
        except CommonplaceError:
            logger.exception("the memory cannot be read; this turn goes on without it")
            return []
        return [ChatMessage(role=MessageRole.SYSTEM, content=text)] if text else []

    async def _aput(self, messages: list[ChatMessage]) -> None:
        """Ignore the messages; see `accept_short_term_memory`."""

    def _context(self, max_chars: int | None = None) -> str:
        return self.memory.startup_context(private=self.private, max_chars=max_chars)

    def _instructions(self) -> str:
        return self.memory.recall_instructions(
            tools=self.tools, citations="on" if self._cited else "off"
        )

    @property
    def _cited(self) -> bool:
        return citations_shown(self.memory.settings.citations, private=self.private)

    def _recalled(self, question: str, session: str | None) -> str:
        return recall_notes(
            self.memory,
            question,
            limit=self.recall,
            cited=self._cited,
            private=self.private,
            session=session,
        )


def _joined(*parts: str) -> str:
    return "\n\n".join(part.strip("\n") for part in parts if part.strip())


def _counters() -> list[Callable[[str], Sized]]:
    """Return the tokenizers that a `Memory` may count with: that of `ChatMemory`, LlamaIndex's."""
    stock = llama_index.core.global_tokenizer  # None until a stock memory was made
    return [tokenize] if stock is None else [tokenize, stock]


def _fewer_notes(recalled: str) -> Iterator[str]:
    """Yield recalled notes without the last, without the last two, and so on; each says so."""
    heading, *notes = recalled.strip("\n").split("\n\n")
    for kept in range(len(notes) - 1, 0, -1):
        missing = len(notes) - kept
        said = f"… {missing} recalled note{'s' * (missing > 1)} not shown; use memory_search"
        yield "\n\n".join((heading, *notes[:kept], said))
    if notes:
        yield "… the recalled notes are not shown; use memory_search"


def _last_question(messages: Sequence[ChatMessage]) -> str:
    """Return the text of the user's last message; empty without one."""
    for message in reversed(messages):
        if message.role == MessageRole.USER:
            return message.content or ""
    return ""
