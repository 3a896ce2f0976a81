"""`MemoryContextMiddleware`: the memory's context and recalled notes in each model call."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Iterable, Sequence
from functools import partial
from typing import Any, TypeVar

from langchain.agents.middleware import AgentMiddleware, ModelRequest
from langchain.agents.middleware.types import AgentState, ModelCallResult, ModelResponse
from langchain_core.messages import BaseMessage, HumanMessage, SystemMessage

from commonplace import CommonplaceError, Memory, PoolExhaustedError
from commonplace.agent.recall import recall_notes
from commonplace.tools import GET_TOOL, SEARCH_TOOL, citations_shown, with_memory_name
from langchain_commonplace.memory_source import (
    MemorySource,
    checked_source,
    current_memory,
    with_memory,
)
from langchain_commonplace.message_conversion import current_thread

__all__ = ["MemoryContextMiddleware"]

logger = logging.getLogger(__name__)

_UNREAD = "the memory cannot be read; this model call goes without it"
_MessageT = TypeVar("_MessageT", bound=BaseMessage)


class MemoryContextMiddleware(AgentMiddleware[AgentState[Any], Any, Any]):
    """Middleware that adds the memory's context and recall instructions to the system prompt.

    The text is byte-identical while the memory is unchanged, so a provider's prompt cache stays
    valid. Recalled notes follow the user's message, in this model call only, so that all before it
    is unchanged, too.

    Read errors of the memory are logged; the user's turn continues without its context.
    """

    def __init__(
        self,
        *,
        memory: MemorySource,
        private: bool = True,
        recall: int = 0,
        name: str | None = None,
    ) -> None:
        """Set up the context of an agent.

        Args:
            memory: The memory, or a function from a run's configuration to it, such as
                ``pool.resolver("user_id")``; it is not closed by the middleware.
            private: Whether the conversation has one user and no other readers; otherwise MEMORY.md
                and sessions are left out.
            recall: Number of notes to recall for the user's last message, without a model call;
                for models that do not search by themselves.
            name: Name of the memory, for an agent with several: it is that of its `memory_tools`,
                and the context says whose it is.

        Raises:
            ValueError: `recall` is negative, or the name cannot be part of a tool's name.
        """
        super().__init__()
        if not isinstance(recall, int) or recall < 0:
            raise ValueError(f"recall is {recall}; it must be 0, which is off, or more.")
        self._tool_names = [tool.of_memory(name).name for tool in (SEARCH_TOOL, GET_TOOL)]
        self._memory_name = name
        self.memory = checked_source(memory)
        self.private = private
        self.recall = recall
        self.tools = []

    @property
    def name(self) -> str:
        """Name of the middleware, which no other one of an agent may have."""
        return super().name if self._memory_name is None else f"{super().name}.{self._memory_name}"

    def wrap_model_call(
        self,
        request: ModelRequest[Any],
        handler: Callable[[ModelRequest[Any]], ModelResponse[Any]],
    ) -> ModelCallResult[Any]:
        """Call the model with the memory's context."""
        return handler(self._with_memory(request, self._with_context, self._with_recall))

    async def awrap_model_call(
        self,
        request: ModelRequest[Any],
        handler: Callable[[ModelRequest[Any]], Awaitable[ModelResponse[Any]]],
    ) -> ModelCallResult[Any]:
        """Call the model with the memory's context."""
        request = await asyncio.to_thread(self._with_memory, request, self._with_context)
        if self.recall:
            recalled = partial(self._with_memory, request, self._with_recall)
            try:
                request = await with_memory(self.memory, recalled)
            except PoolExhaustedError:
                logger.exception(_UNREAD)
        return await handler(request)

    def _with_memory(
        self,
        request: ModelRequest[Any],
        *steps: Callable[[ModelRequest[Any], Memory], ModelRequest[Any]],
    ) -> ModelRequest[Any]:
        memory = current_memory(self.memory)
        for step in steps:
            try:
                request = step(request, memory)
            except CommonplaceError:
                logger.exception(_UNREAD)
        return request

    def _with_context(self, request: ModelRequest[Any], memory: Memory) -> ModelRequest[Any]:
        text = self._system_text(request.tools, memory)
        if not text:
            return request
        system = request.system_message
        system = _with_text(system, text) if system else SystemMessage(text)
        return request.override(system_message=system)

    def _with_recall(self, request: ModelRequest[Any], memory: Memory) -> ModelRequest[Any]:
        """Append the best notes for the user's last message to it, as a quote."""
        messages = request.messages
        position = _last_user_message(messages) if self.recall else None
        if position is None:
            return request
        text = recall_notes(
            memory,
            str(messages[position].text),
            limit=self.recall,
            cited=self._is_cited(memory),
            private=self.private,
            session=current_thread(),
        )
        if not text:
            return request
        if self._memory_name is not None:
            text = text.replace("from memory", f"from the memory named {self._memory_name}", 1)
        question = _with_text(messages[position], text)
        return request.override(
            messages=[*messages[:position], question, *messages[position + 1 :]]
        )

    def _is_cited(self, memory: Memory) -> bool:
        return citations_shown(memory.settings.citations, private=self.private)

    def _system_text(self, tools: Iterable[Any], memory: Memory) -> str:
        """Render the context, and the instructions for the memory tools that the agent has."""
        names = {_tool_name(tool) for tool in tools}
        tools = zip((SEARCH_TOOL, GET_TOOL), self._tool_names, strict=True)
        instructions = memory.recall_instructions(
            tools=[tool.name for tool, name in tools if name in names],
            citations="on" if self._is_cited(memory) else "off",
        )
        context = memory.startup_context(private=self.private)
        text = "\n\n".join(part.strip("\n") for part in (context, instructions) if part.strip())
        if not text or self._memory_name is None:
            return text
        named = with_memory_name(text, self._memory_name)
        return f"The memory named {self._memory_name}:\n\n{named}"


def _tool_name(tool: Any) -> str | None:
    """Return the name of a tool; a provider's own tool is a dict."""
    if not isinstance(tool, dict):
        tool = {"name": getattr(tool, "name", None)}
    name: str | None = tool.get("name") or tool.get("function", {}).get("name")
    return name


def _last_user_message(messages: Sequence[BaseMessage]) -> int | None:
    """Return the position of the user's last message; None behind a summary or without text."""
    for position in range(len(messages) - 1, -1, -1):
        message = messages[position]
        if isinstance(message, HumanMessage):
            is_summary = message.additional_kwargs.get("lc_source") == "summarization"
            return None if is_summary or not message.text.strip() else position
    return None


def _with_text(message: _MessageT, text: str) -> _MessageT:
    """Return a copy of a message with a text appended to its content, a text or blocks."""
    content = message.content
    if isinstance(content, str):
        joined: str | list[Any] = f"{content}\n\n{text}" if content else text
    else:
        joined = [*content, {"type": "text", "text": f"\n\n{text}" if content else text}]
    return message.model_copy(update={"content": joined})
