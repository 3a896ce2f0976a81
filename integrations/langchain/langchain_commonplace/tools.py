"""The memory's tools for agents: the core's tool answers as LangChain `BaseTool`s.

The model sees the core's JSON schema, and the core checks the arguments: LangChain does not
validate calls against such schemas. Every error becomes a `ToolException`, which an agent returns
to its model as the answer of the failed call.
"""

from __future__ import annotations

import asyncio
import logging
from abc import abstractmethod
from typing import Any, Literal

from langchain_core.runnables import RunnableConfig
from langchain_core.tools import BaseTool, ToolException
from langchain_core.tools.base import ArgsSchema
from pydantic import Field

from commonplace import CommonplaceError, Memory
from commonplace.tools import (
    APPEND_TOOL,
    GET_TOOL,
    SEARCH_TOOL,
    Citations,
    answer_json,
    append_answer,
    get_answer,
    search_and_answer,
)

__all__ = ["MemoryAppendTool", "MemoryGetTool", "MemorySearchTool", "memory_tools"]

logger = logging.getLogger(__name__)


class _MemoryTool(BaseTool):
    """Tool of the core; its content is JSON text, and its artifact the answer as values."""

    response_format: Literal["content", "content_and_artifact"] = "content_and_artifact"
    handle_tool_error: Any = True
    memory: Memory = Field(exclude=True, repr=False)
    """The memory; it is not closed by the tool."""

    @abstractmethod
    def _answer(self, arguments: dict[str, Any]) -> tuple[dict[str, Any], Any]:
        """Return the answer and the artifact."""

    def invoke(self, input: Any, config: RunnableConfig | None = None, **kwargs: Any) -> Any:  # noqa: A002
        """Call the tool; a plain text is its first argument, as with other tools."""
        return super().invoke(self._named(input), config, **kwargs)

    async def ainvoke(
        self,
        input: Any,  # noqa: A002
        config: RunnableConfig | None = None,
        **kwargs: Any,
    ) -> Any:
        """Call the tool; a plain text is its first argument, as with other tools."""
        return await super().ainvoke(self._named(input), config, **kwargs)

    # `self` is positional only: a model may well send an argument of that name.
    def _run(self, /, *_: Any, **arguments: Any) -> tuple[str, Any]:
        try:
            answer, artifact = self._answer(arguments)
            return answer_json(answer), artifact
        except CommonplaceError as error:
            raise ToolException(str(error)) from error
        except Exception as error:
            logger.exception("%s failed", self.name)
            raise ToolException(f"{self.name} failed: {error!r}") from error

    async def _arun(self, /, *_: Any, **arguments: Any) -> tuple[str, Any]:
        return await asyncio.to_thread(self._run, **arguments)

    def _named(self, value: Any) -> Any:
        schema = self.args_schema
        if isinstance(value, str) and isinstance(schema, dict):
            return {schema["required"][0]: value}
        return value


class MemorySearchTool(_MemoryTool):
    """``memory_search``: search notes. The artifact is the list of `SearchResult`."""

    name: str = SEARCH_TOOL.name
    description: str = SEARCH_TOOL.description
    args_schema: ArgsSchema | None = SEARCH_TOOL.schema
    citations: Citations | None = None
    """Whether results carry citations; None is the memory's setting."""
    private: bool = True
    """Whether the conversation has one user only; if not, MEMORY.md and sessions are left out."""

    def _answer(self, arguments: dict[str, Any]) -> tuple[dict[str, Any], Any]:
        results, answer = search_and_answer(
            self.memory, arguments, citations=self.citations, private=self.private
        )
        return answer, list(results)


class MemoryGetTool(_MemoryTool):
    """``memory_get``: read lines of a file. The artifact is the answer as a dict."""

    name: str = GET_TOOL.name
    description: str = GET_TOOL.description
    args_schema: ArgsSchema | None = GET_TOOL.schema
    private: bool = True
    """Whether the conversation has one user only; if not, MEMORY.md and sessions are refused."""

    def _answer(self, arguments: dict[str, Any]) -> tuple[dict[str, Any], Any]:
        answer = get_answer(self.memory, arguments, private=self.private)
        return answer, answer


class MemoryAppendTool(_MemoryTool):
    """``memory_append``: append a note. The artifact is the answer as a dict."""

    name: str = APPEND_TOOL.name
    description: str = APPEND_TOOL.description
    args_schema: ArgsSchema | None = APPEND_TOOL.schema

    def _answer(self, arguments: dict[str, Any]) -> tuple[dict[str, Any], Any]:
        answer = append_answer(self.memory, arguments)
        return answer, answer


def memory_tools(
    memory: Memory,
    *,
    write: bool = False,
    citations: Citations | None = None,
    private: bool = True,
) -> list[BaseTool]:
    """Return the memory's tools, for ``create_agent(model, tools=memory_tools(memory))``.

    Args:
        memory: The memory; it is not closed by the tools.
        write: Whether the agent may append notes, with ``memory_append``.
        citations: Whether results carry citations; None is the memory's setting.
        private: Whether the conversation has one user only; if not, MEMORY.md and sessions are
            left out, and ``auto`` citations are off.
    """
    tools: list[BaseTool] = [
        MemorySearchTool(memory=memory, citations=citations, private=private),
        MemoryGetTool(memory=memory, private=private),
    ]
    return [*tools, MemoryAppendTool(memory=memory)] if write else tools
