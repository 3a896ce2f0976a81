"""`CommonplaceToolSpec`: the memory's tools for agents."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any

from llama_index.core.tools import FunctionTool, ToolMetadata
from llama_index.core.tools.tool_spec.base import SPEC_FUNCTION_TYPE, BaseToolSpec

from commonplace import Memory
from commonplace.text.redaction import Redaction, checked_redaction
from commonplace.tools import (
    GET_TOOL,
    SEARCH_TOOL,
    Citations,
    ToolSpec,
    WriteAccess,
    citations_shown,
    get_answer,
    search_answer,
    write_answer,
    write_tools,
)
from llama_index_commonplace.arguments import checked_memory
from llama_index_commonplace.tool import AnswerFunction, MemoryTool

__all__ = ["CommonplaceToolSpec"]


class CommonplaceToolSpec(BaseToolSpec):
    """Tool spec with ``memory_search``, ``memory_get`` and, if wanted, tools that write.

    ::

        agent = FunctionAgent(tools=CommonplaceToolSpec(memory).to_tool_list(), llm=llm)
    """

    def __init__(
        self,
        memory: Memory,
        *,
        write: WriteAccess = False,
        citations: Citations | None = None,
        private: bool = True,
        redact: Redaction = True,
        name: str | None = None,
        agent: str | None = None,
    ) -> None:
        """Make the tools.

        Args:
            memory: The memory; it is not closed by the tools.
            write: What the agent may write: ``"append"`` (True is the same) adds
                ``memory_append``; ``"edit"`` also ``memory_edit``, ``memory_correct`` and
                ``memory_delete``, each of which the user can undo.
            citations: Whether results carry citations; None is the memory's setting.
            private: Whether the conversation has one user only; if not, MEMORY.md and sessions are
                left out, ``auto`` citations are off, and MEMORY.md is not written.
            redact: Whether keys, tokens and passwords in what a model writes are masked;
                with ``"personal"`` also numbers of cards, IBANs and US social security.
            name: Name of the memory, for an agent with several: ``team`` gives
                ``team_memory_search``, and each answer says that it is the team's.
            agent: Name of the agent, where several share the memory: the origin of what it writes
                has it, as `Memory.blame` and search results show.

        Raises:
            TypeError: `memory` is no memory.
            SettingsError: `citations` is not one of ``auto``, ``on``, ``off``.
            ValueError: The name cannot be part of a tool's name, or `write` or `redact` is wrong.
        """
        checked_memory(memory)
        checked_redaction(redact)
        citations_shown(citations or memory.settings.citations, private=private)
        shared: dict[str, Any] = {"private": private, "name": name}
        answers: list[tuple[ToolSpec, AnswerFunction]] = [
            (SEARCH_TOOL, partial(search_answer, memory, citations=citations, **shared)),
            (GET_TOOL, partial(get_answer, memory, **shared)),
        ]
        has_history = memory.settings.history.enabled
        for tool in write_tools(write, private=private, has_history=has_history):
            answer = partial(write_answer, memory, tool=tool, redact=redact, agent=agent, **shared)
            answers.append((tool, answer))
        named = ((tool.of_memory(name), answer) for tool, answer in answers)
        self._exposed = lambda: memory.record_exposure(None)
        self._tools = {tool.name: (tool, answer) for tool, answer in named}
        self.spec_functions = list(self._tools)

    def to_tool_list(
        self,
        spec_functions: list[SPEC_FUNCTION_TYPE] | None = None,
        func_to_metadata_mapping: dict[str, ToolMetadata] | None = None,
    ) -> list[FunctionTool]:
        """Return the tools.

        Args:
            spec_functions: Names of the tools to return; all by default.
            func_to_metadata_mapping: Replaces what the model sees of a tool, by its name.

        Raises:
            ValueError: There is no tool of a name.
        """
        shown: Mapping[str, ToolMetadata] = func_to_metadata_mapping or {}
        wanted = self.spec_functions if spec_functions is None else spec_functions
        return [self._tool(function, shown) for function in wanted]

    def _tool(self, function: SPEC_FUNCTION_TYPE, shown: Mapping[str, ToolMetadata]) -> MemoryTool:
        name = function if isinstance(function, str) else function[0]
        if name not in self._tools:
            raise ValueError(f"there is no tool {name!r}; it can be {', '.join(self._tools)}.")
        tool, answer = self._tools[name]
        return MemoryTool(tool, answer, metadata=shown.get(name), exposed=self._exposed)
