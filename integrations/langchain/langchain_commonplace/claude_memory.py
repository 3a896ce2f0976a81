"""`ClaudeMemoryTool`: Anthropic's memory tool over a memory, for langchain-anthropic's models.

It needs the extra ``anthropic``, which nothing else of this package does::

    from langchain.agents import create_agent
    from langchain_anthropic import ChatAnthropic
    from langchain_commonplace.claude_memory import ClaudeMemoryTool

    agent = create_agent(ChatAnthropic(model=name), tools=[ClaudeMemoryTool(memory=memory)])

The model is sent Anthropic's own definition, ``memory_20250818``, which it was trained on.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, Literal

from anthropic.tools import ToolError
from langchain_core.tools import BaseTool, ToolException
from langchain_core.tools.base import ArgsSchema
from pydantic import Field, field_validator

from commonplace import PoolExhaustedError
from commonplace.anthropic import MemoryTool
from langchain_commonplace.memory_source import (
    MemorySource,
    checked_source,
    current_memory,
    with_memory,
)
from langchain_commonplace.message_conversion import current_thread

__all__ = ["ClaudeMemoryTool"]

_DEFINITION = {"type": "memory_20250818", "name": "memory"}
_SCHEMA = {
    "type": "object",
    "properties": {"command": {"type": "string"}, "path": {"type": "string"}},
    "required": ["command"],
}


class ClaudeMemoryTool(BaseTool):
    """Anthropic's memory tool; see `commonplace.anthropic.MemoryTool`."""

    name: str = "memory"
    description: str = "View and change the files of the memory, below /memories."
    args_schema: ArgsSchema | None = Field(default_factory=lambda: dict(_SCHEMA))
    extras: dict[str, Any] | None = Field(
        default_factory=lambda: {"provider_tool_definition": dict(_DEFINITION)}
    )
    handle_tool_error: bool | str | Callable[[ToolException], str] | None = True
    memory: MemorySource = Field(exclude=True, repr=False)
    """The memory, or a function from a run's configuration to it; the tool does not close it."""
    redact: bool | Literal["personal"] = True
    """Whether keys, tokens and passwords in what is written are masked."""

    @field_validator("memory", mode="before")
    @classmethod
    def _check_memory(cls, value: Any) -> Any:
        return checked_source(value)

    # `self` is positional only: a model may well send an argument of that name.
    def _run(self, /, *_: Any, **arguments: Any) -> Any:
        memory = current_memory(self.memory)
        tool = MemoryTool(memory, session=current_thread(), redact=self.redact)
        try:
            return tool.call(arguments)
        except ToolError as error:
            raise ToolException(str(error)) from error

    async def _arun(self, /, *_: Any, **arguments: Any) -> Any:
        try:
            return await with_memory(self.memory, partial(self._run, **arguments))
        except PoolExhaustedError as error:
            raise ToolException(str(error)) from error
