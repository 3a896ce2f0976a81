"""`MemoryContextBlock`: what an agent knows of its memory without asking."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Sequence
from typing import Any

from llama_index.core.base.llms.types import ChatMessage, MessageRole
from llama_index.core.bridge.pydantic import Field
from llama_index.core.memory import BaseMemoryBlock

from commonplace import CommonplaceError, Memory
from commonplace.agent.recall import recalled_notes
from commonplace.tools import citations_shown

__all__ = ["MemoryContextBlock"]

logger = logging.getLogger(__name__)


class MemoryContextBlock(BaseMemoryBlock[list[ChatMessage]]):
    """Tell the model of MEMORY.md, the logs of now, and how to recall the rest.

    ::

        chat = llama_index.core.memory.Memory.from_defaults(
            memory_blocks=[MemoryContextBlock(memory=memory, recall=3)]
        )
        await agent.run("...", memory=chat)

    It is a memory block and not a part of the system prompt: an agent's `system_prompt` is one
    text for its whole life, which would tell of yesterday's log tomorrow, and never knows what
    the user asked. A block is asked anew for every turn, is shown the conversation, and works in
    every agent and chat engine that takes a `Memory`. For one that does not, put `text()` into
    its system prompt.

    The block's content is a system message in front of the conversation and not text for the
    memory's template, so `insert_method` does not apply to it: with the versions of ``banks``
    before 2.5, which LlamaIndex allows, a line of a note that is the JSON of a chat message would
    take the place of the whole template. What is recalled for a message stands last in it; all
    before it is the same, byte for byte, as long as the memory is.

    A memory that cannot be read is logged; the user's turn goes on without it.
    """

    name: str = "commonplace"
    accept_short_term_memory: bool = False
    """False: what leaves the conversation is not for this block; `FlushMemoryBlock` takes it."""
    memory: Memory = Field(exclude=True, repr=False)
    """The memory to tell of; whoever opened it closes it."""
    private: bool = True
    """Whether one user and the agent are alone; if not, MEMORY.md and sessions are left out."""
    recall: int = Field(default=0, ge=0)
    """How many notes to bring along for the user's last message, without a model call."""
    tools: tuple[str, ...] = ("memory_search", "memory_get")
    """The memory's tools that the agent has; the guidance tells how to use them."""

    def text(self, question: str = "") -> str:
        """Return what the model is told, with the notes for a question where `recall` asks so."""
        parts = [
            self.memory.startup_context(private=self.private),
            self.memory.recall_instructions(
                tools=self.tools, citations="on" if self._cited else "off"
            ),
            self._recalled(question),
        ]
        return "\n\n".join(part.strip("\n") for part in parts if part.strip())

    async def _aget(
        self,
        messages: list[ChatMessage] | None = None,
        **_: Any,
    ) -> list[ChatMessage]:
        try:
            text = await asyncio.to_thread(self.text, _last_question(messages or []))
        except CommonplaceError:
            logger.exception("the memory cannot be read; this turn goes on without it")
            return []
        return [ChatMessage(role=MessageRole.SYSTEM, content=text)] if text else []

    async def _aput(self, messages: list[ChatMessage]) -> None:
        """Nothing is taken; see `accept_short_term_memory`."""

    @property
    def _cited(self) -> bool:
        return citations_shown(self.memory.settings.citations, private=self.private)

    def _recalled(self, question: str) -> str:
        return recalled_notes(
            self.memory, question, limit=self.recall, cited=self._cited, private=self.private
        )


def _last_question(messages: Sequence[ChatMessage]) -> str:
    """Return what the user wrote last; empty where that was no text."""
    for message in reversed(messages):
        if message.role == MessageRole.USER:
            return message.content or ""
    return ""
