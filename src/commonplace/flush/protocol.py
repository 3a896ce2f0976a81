"""Protocols of the flush: the chat model that writes notes, and the memory that takes them."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from datetime import date, datetime
from typing import TYPE_CHECKING, Protocol

from commonplace.profiles import Profile
from commonplace.settings import Settings
from commonplace.system.state import StateLocation
from commonplace.tools.schemas import FLUSH_APPEND_TOOL, ToolSpec
from commonplace.types import FlushMessage, Origin, ToolCall
from commonplace.workspace.discovery import Workspace

if TYPE_CHECKING:
    from commonplace.indexing.slots import IndexSlot

__all__ = ["CallableFlushModel", "FlushMemory", "FlushModel", "FlushReply", "FlushRequest"]


@dataclass(frozen=True, slots=True)
class FlushRequest:
    """Request of one round of a silent turn.

    Attributes:
        system: System prompt.
        messages: A user's message with the conversation and the prompt; in a second round also the
            model's own reply and the answers to its calls. Every provider accepts this sequence.
        tool: The one tool to offer: ``memory_append``.
        plain: Last message for a model that cannot be offered tools.
        thread: Conversation id, for traces.
    """

    system: str
    messages: tuple[FlushMessage, ...]
    tool: ToolSpec = FLUSH_APPEND_TOOL
    plain: str = ""
    thread: str = ""

    def without_tool(self) -> tuple[FlushMessage, ...]:
        """Return the messages for a model that cannot be offered tools."""
        return (*self.messages, FlushMessage("user", self.plain))


@dataclass(frozen=True, slots=True)
class FlushReply:
    """Reply of a model to a `FlushRequest`.

    Attributes:
        text: Text, without thoughts.
        tool_calls: Tool calls.
        offered_tool: Whether the model was offered the tool; if not, the text is the note.
    """

    text: str = ""
    tool_calls: tuple[ToolCall, ...] = ()
    offered_tool: bool = True


class FlushModel(Protocol):
    """Chat model that writes notes. Its exceptions end in a report, never in the user's turn."""

    def reply(self, request: FlushRequest, /) -> FlushReply:
        """Reply; called in a worker thread, with a copy of the caller's context variables."""

    async def areply(self, request: FlushRequest, /) -> FlushReply:
        """Reply on the event loop; where this is not implemented, `reply` runs in a thread.

        Raises:
            NotImplementedError: The model is a sync one, which would block the event loop.
        """


class CallableFlushModel:
    """`FlushModel` made of one or two functions; without `acall`, `call` runs in a thread."""

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
        """Call the async function."""
        if self._acall is None:
            raise NotImplementedError
        return await self._acall(request)


class FlushMemory(Protocol):
    """Part of `Memory` that a flush uses."""

    @property
    def settings(self) -> Settings:
        """Settings of the memory."""

    @property
    def profile(self) -> Profile:
        """Rules that the settings select."""

    @property
    def workspace(self) -> Workspace:
        """Folder of the notes."""

    @property
    def state(self) -> StateLocation:
        """Paths of the journal's database and of the session files."""

    @property
    def slot(self) -> IndexSlot | None:
        """Slot among the open memories of a pool; None for a memory by itself."""

    def now(self) -> datetime:
        """Return the time, in the zone of the logs' days."""

    def append(
        self, text: str, *, when: date | datetime | None = None, origin: Origin | None = None
    ) -> str:
        """Append a note to a day's log and return the log's path."""

    def record_exposure(self, session: str) -> None:
        """Record that a conversation was shown untrusted lines."""
