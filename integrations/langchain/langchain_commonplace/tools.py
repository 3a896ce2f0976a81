"""The memory's tools for agents: the core's tool answers as LangChain `BaseTool`s.

The model sees the core's JSON schema, and the core checks the arguments: LangChain does not
validate calls against such schemas. Every error becomes a `ToolException`, which an agent returns
to its model as the answer of the failed call.
"""

from __future__ import annotations

import asyncio
import logging
from abc import abstractmethod
from collections.abc import Callable
from functools import partial
from typing import Any, Literal

from langchain_core.messages import ToolCall
from langchain_core.runnables import RunnableConfig
from langchain_core.tools import BaseTool, ToolException
from pydantic import Field, field_validator

from commonplace import CommonplaceError, Memory, PoolExhaustedError
from commonplace.text.redaction import Redaction, checked_redaction
from commonplace.tools import (
    APPEND_TOOL,
    CORRECT_TOOL,
    DELETE_TOOL,
    EDIT_TOOL,
    GET_TOOL,
    SEARCH_TOOL,
    Citations,
    ToolSpec,
    WriteAccess,
    answer_json,
    get_answer,
    search_answer,
    write_answer,
    write_tools,
)
from langchain_commonplace.memory_source import (
    MemorySource,
    checked_source,
    current_memory,
    source_settings,
    with_memory,
)
from langchain_commonplace.message_conversion import current_thread

__all__ = [
    "MemoryAppendTool",
    "MemoryCorrectTool",
    "MemoryDeleteTool",
    "MemoryEditTool",
    "MemoryGetTool",
    "MemorySearchTool",
    "memory_tools",
]

logger = logging.getLogger(__name__)


class _MemoryTool(BaseTool):
    """Tool of the core; its content is JSON text, and its artifact the answer as plain values."""

    description: str = ""
    response_format: Literal["content", "content_and_artifact"] = "content_and_artifact"
    handle_tool_error: bool | str | Callable[[ToolException], str] | None = True
    memory: MemorySource = Field(exclude=True, repr=False)
    """The memory, or a function from a run's configuration to it; the tool does not close it."""
    memory_name: str | None = None
    """Name of the memory, where an agent has several: tool and answers then carry it."""
    private: bool = True
    """Whether the conversation has one user only; if not, MEMORY.md and sessions are left out."""

    @field_validator("memory", mode="before")
    @classmethod
    def _check_memory(cls, value: Any) -> Any:
        return checked_source(value)

    def model_post_init(self, context: Any, /) -> None:
        """Describe the tool, unless the caller did."""
        super().model_post_init(context)
        spec = self._spec().of_memory(self.memory_name)
        for field, value in (
            ("name", spec.name),
            ("description", spec.description),
            ("args_schema", spec.schema),
        ):
            if field not in self.model_fields_set:
                setattr(self, field, value)

    @abstractmethod
    def _spec(self) -> ToolSpec:
        """Return what the model sees."""

    @abstractmethod
    def _answer(self, memory: Memory, arguments: dict[str, Any]) -> dict[str, Any]:
        """Return the answer."""

    def _artifact(self, answer: dict[str, Any]) -> dict[str, Any] | list[dict[str, Any]]:
        """Return the artifact of an answer: plain values, which every checkpointer restores."""
        return answer

    def invoke(
        self,
        input: str | dict[str, Any] | ToolCall,  # noqa: A002
        config: RunnableConfig | None = None,
        **kwargs: Any,
    ) -> Any:
        """Call the tool; a plain text is its first argument, as with other tools."""
        return super().invoke(self._named(input), config, **kwargs)

    async def ainvoke(
        self,
        input: str | dict[str, Any] | ToolCall,  # noqa: A002
        config: RunnableConfig | None = None,
        **kwargs: Any,
    ) -> Any:
        """Call the tool; a plain text is its first argument, as with other tools."""
        return await super().ainvoke(self._named(input), config, **kwargs)

    # `self` is positional only: a model may well send an argument of that name.
    def _run(self, /, *_: Any, **arguments: Any) -> tuple[str, Any]:
        memory = current_memory(self.memory)  # a run that does not say whose is no model's mistake
        try:
            answer = self._answer(memory, arguments)
            return answer_json(answer), self._artifact(answer)
        except CommonplaceError as error:
            raise ToolException(str(error)) from error
        except Exception as error:
            logger.exception("%s failed", self.name)
            raise ToolException(f"{self.name} failed: {error!r}") from error

    async def _arun(self, /, *_: Any, **arguments: Any) -> tuple[str, Any]:
        try:
            return await with_memory(self.memory, partial(self._run, **arguments))
        except PoolExhaustedError as error:
            raise ToolException(str(error)) from error

    def _named(self, value: str | dict[str, Any] | ToolCall) -> str | dict[str, Any] | ToolCall:
        schema = self.args_schema
        if isinstance(value, str) and isinstance(schema, dict):
            return {schema["required"][0]: value}
        return value


class MemorySearchTool(_MemoryTool):
    """``memory_search``: search notes. The artifact is the answer's list of results, as dicts."""

    name: str = SEARCH_TOOL.name
    citations: Citations | None = None
    """Whether results carry citations; None is the memory's setting."""

    def _spec(self) -> ToolSpec:
        return SEARCH_TOOL

    def _answer(self, memory: Memory, arguments: dict[str, Any]) -> dict[str, Any]:
        return search_answer(
            memory,
            arguments,
            citations=self.citations,
            private=self.private,
            name=self.memory_name,
            session=current_thread(),
        )

    def _artifact(self, answer: dict[str, Any]) -> list[dict[str, Any]]:
        return list(answer["results"])


class MemoryGetTool(_MemoryTool):
    """``memory_get``: read lines of a file. The artifact is the answer as a dict."""

    name: str = GET_TOOL.name

    def _spec(self) -> ToolSpec:
        return GET_TOOL

    def _answer(self, memory: Memory, arguments: dict[str, Any]) -> dict[str, Any]:
        return get_answer(
            memory,
            arguments,
            private=self.private,
            name=self.memory_name,
            session=current_thread(),
        )

    async def _arun(self, /, *_: Any, **arguments: Any) -> tuple[str, Any]:
        return await asyncio.to_thread(self._run, **arguments)  # a file is read without the index


class _MemoryWriteTool(_MemoryTool):
    """Tool that writes notes. The artifact is the answer as a dict."""

    redact: Redaction = True
    """Whether keys, tokens and passwords in what is written are masked."""

    def _spec(self) -> ToolSpec:
        own = type(self).model_fields["name"].default
        has_history = source_settings(self.memory).history.enabled
        tools = write_tools("edit", private=self.private, has_history=has_history)
        return next(tool for tool in tools if tool.name == own)

    def _answer(self, memory: Memory, arguments: dict[str, Any]) -> dict[str, Any]:
        return write_answer(
            memory,
            arguments,
            tool=self._spec(),
            private=self.private,
            redact=self.redact,
            name=self.memory_name,
            session=current_thread(),
        )


class MemoryAppendTool(_MemoryWriteTool):
    """``memory_append``: append a note."""

    name: str = APPEND_TOOL.name


class MemoryEditTool(_MemoryWriteTool):
    """``memory_edit``: replace a passage of a note."""

    name: str = EDIT_TOOL.name


class MemoryCorrectTool(_MemoryWriteTool):
    """``memory_correct``: strike lines through, and write down what is right."""

    name: str = CORRECT_TOOL.name


class MemoryDeleteTool(_MemoryWriteTool):
    """``memory_delete``: delete a note, which stays in the history."""

    name: str = DELETE_TOOL.name


_WRITE_TOOLS: dict[str, Callable[..., _MemoryTool]] = {
    APPEND_TOOL.name: MemoryAppendTool,
    EDIT_TOOL.name: MemoryEditTool,
    CORRECT_TOOL.name: MemoryCorrectTool,
    DELETE_TOOL.name: MemoryDeleteTool,
}


def memory_tools(
    memory: MemorySource,
    *,
    write: WriteAccess = False,
    citations: Citations | None = None,
    private: bool = True,
    redact: Redaction = True,
    name: str | None = None,
) -> list[BaseTool]:
    """Return the memory's tools, for ``create_agent(model, tools=memory_tools(memory))``.

    Args:
        memory: The memory, or a function from a run's configuration to it, such as
            ``pool.resolver("user_id")``; it is not closed by the tools.
        write: What the agent may write: ``"append"`` (True is the same) adds ``memory_append``;
            ``"edit"`` also ``memory_edit``, ``memory_correct`` and ``memory_delete``, each of which
            the user can undo.
        citations: Whether results carry citations; None is the memory's setting.
        private: Whether the conversation has one user only; if not, MEMORY.md and sessions are
            left out, ``auto`` citations are off, and MEMORY.md is not written.
        redact: Whether keys, tokens and passwords in what a model writes are masked;
            with ``"personal"`` also numbers of cards, IBANs and US social security.
        name: Name of the memory, for an agent with several: ``team`` gives ``team_memory_search``,
            and each answer says that it is the team's.

    Raises:
        ValueError: The name cannot be part of a tool's name, or `write` or `redact` is wrong.
    """
    SEARCH_TOOL.of_memory(name)  # refuses a wrong name in one line
    shared: dict[str, Any] = {"memory": memory, "private": private, "memory_name": name}
    tools: list[BaseTool] = [
        MemorySearchTool(citations=citations, **shared),
        MemoryGetTool(**shared),
    ]
    checked_redaction(redact)
    wanted = [tool.name for tool in write_tools(write, private=private)]
    return [*tools, *(_WRITE_TOOLS[own](redact=redact, **shared) for own in wanted)]
