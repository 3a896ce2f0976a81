"""The seam to a chat model: what it is asked in a silent turn, and what it answers."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Protocol

from commonplace.tools.schemas import FLUSH_APPEND_TOOL, ToolSpec
from commonplace.types import FlushMessage, ToolCall

__all__ = ["FlushModel", "FlushReply", "FlushRequest", "ModelCalls"]


@dataclass(frozen=True, slots=True)
class FlushRequest:
    """What a model is asked.

    Attributes:
        system: The system prompt.
        messages: A user's message with the conversation and the prompt; in a second round also the
            model's own reply and the answers to its calls. Any provider takes this sequence.
        tool: The one tool to offer: ``memory_append``.
        plain: What the last message says to a model that can be offered no tool.
        thread: The conversation, for traces.
    """

    system: str
    messages: tuple[FlushMessage, ...]
    tool: ToolSpec = FLUSH_APPEND_TOOL
    plain: str = ""
    thread: str = ""

    def without_tool(self) -> tuple[FlushMessage, ...]:
        """Return the messages for a model that can be offered no tool."""
        return (*self.messages, FlushMessage("user", self.plain))


@dataclass(frozen=True, slots=True)
class FlushReply:
    """What a model answered.

    Attributes:
        text: Its text, without thoughts.
        tool_calls: Its calls.
        offered_tool: Whether it was offered the tool; when not, the text is the note.
    """

    text: str = ""
    tool_calls: tuple[ToolCall, ...] = ()
    offered_tool: bool = True


class FlushModel(Protocol):
    """Who writes the notes. Whatever it raises, the user's turn goes on."""

    def reply(self, request: FlushRequest, /) -> FlushReply:
        """Answer, in the calling thread's context; called in a thread of its own."""

    async def areply(self, request: FlushRequest, /) -> FlushReply:
        """Answer, on the event loop."""


class ModelCalls:
    """A `FlushModel` of one or two functions; without an async one, `call` runs in a thread."""

    def __init__(
        self,
        call: Callable[[FlushRequest], FlushReply],
        acall: Callable[[FlushRequest], Awaitable[FlushReply]] | None = None,
    ) -> None:
        self._call = call
        self._acall = acall

    def reply(self, request: FlushRequest, /) -> FlushReply:
        """Call the function."""
        return self._call(request)

    async def areply(self, request: FlushRequest, /) -> FlushReply:
        """Call the async function, or the other one in a thread."""
        if self._acall is None:
            return await asyncio.to_thread(self._call, request)
        return await self._acall(request)
