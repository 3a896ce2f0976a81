"""MCP server of one memory: its tools, its notes, and the recall instructions as a prompt.

Names, schemas and answers of the tools are those of `commonplace.tools`, as in every framework.
"""

from __future__ import annotations

import hashlib
import json
import logging
import uuid
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from functools import partial
from typing import Any, TypeVar

import anyio
import anyio.to_thread
from mcp import types
from mcp.server.lowlevel import Server
from mcp.shared.exceptions import MCPError

from commonplace import __version__
from commonplace.errors import CommonplaceError
from commonplace.mcp.output_schemas import output_schema
from commonplace.mcp.resources import NoteResources, connection_id
from commonplace.memory import Memory
from commonplace.tools import (
    APPEND_TOOL,
    CORRECT_TOOL,
    GET_TOOL,
    SEARCH_TOOL,
    ToolSpec,
    WriteAccess,
    answer_json,
    citations_shown,
    get_answer,
    search_answer,
    write_answer,
    write_tools,
)

__all__ = ["MemoryServer"]

Answer = Callable[..., dict[str, Any]]
Result = TypeVar("Result")

RECALL_PROMPT = "memory_recall"
_THREADS = 8
"""Requests that run at once; SQLite has one writer, and more readers only share the processor."""
_MOST_WAITING = 256
"""Requests that run or wait, at most: a flood is refused instead of kept in memory."""
_ADDS_ONLY = frozenset({APPEND_TOOL.name, CORRECT_TOOL.name})
"""Tools that write and take no text away: a correction strikes lines through where they stand."""

logger = logging.getLogger(__name__)


class MemoryServer:
    """Handlers of the protocol's requests, over one memory.

    All that one connection writes is of one session: clients do not say which conversation a call
    is of, so what is written after a look at untrusted lines is untrusted, too. Over HTTP, clients
    without a session of the protocol share one.
    """

    def __init__(self, memory: Memory, *, write: WriteAccess = False, private: bool = True) -> None:
        """Make the handlers.

        Args:
            memory: The memory; it is not closed by the server.
            write: What clients may write: ``"append"`` adds ``memory_append``; ``"edit"`` also
                ``memory_edit``, ``memory_correct`` and ``memory_delete``.
            private: Whether one user alone reads the answers; if not, MEMORY.md and sessions are
                left out.

        Raises:
            ValueError: `write` is none of these.
        """
        self._session = f"mcp-{uuid.uuid4().hex}"
        self._resources = NoteResources(memory, private=private)
        self._threads = anyio.CapacityLimiter(_THREADS)
        self._waiting = 0
        options: dict[str, Any] = {"private": private}
        self._answers: dict[str, tuple[types.Tool, Answer]] = {}
        self._add(SEARCH_TOOL, partial(search_answer, memory, **options), writes=False)
        self._add(GET_TOOL, partial(get_answer, memory, **options), writes=False)
        has_history = memory.settings.history.enabled
        for tool in write_tools(write, private=private, has_history=has_history):
            self._add(tool, partial(write_answer, memory, tool=tool, **options), writes=True)
        cited = citations_shown(memory.settings.citations, private=private)
        self._instructions = memory.recall_instructions(
            tools=list(self._answers), citations="on" if cited else "off"
        )

    def server(self) -> Server[dict[str, Any]]:
        """Return the SDK's server with these handlers."""
        return Server(
            "commonplace",
            version=__version__,
            title="Commonplace",
            description="Notes in Markdown that agents remember by.",
            instructions=self._instructions,
            on_list_tools=self._list_tools,
            on_call_tool=self._call_tool,
            on_list_resources=self._list_resources,
            on_read_resource=self._read_resource,
            on_subscribe_resource=self._resources.subscribe,
            on_unsubscribe_resource=self._resources.unsubscribe,
            on_subscriptions_listen=self._resources.listen,
            on_list_prompts=self._list_prompts,
            on_get_prompt=self._get_prompt,
            lifespan=self._lifespan,
        )

    @asynccontextmanager
    async def _lifespan(self, _server: object) -> AsyncIterator[dict[str, Any]]:
        async with self._resources.watched():
            yield {}

    def _add(self, tool: ToolSpec, answer: Answer, *, writes: bool) -> None:
        hints = types.ToolAnnotations(
            read_only_hint=not writes,
            destructive_hint=writes and tool.name not in _ADDS_ONLY,
            idempotent_hint=not writes or tool.name == APPEND_TOOL.name,
            open_world_hint=False,
        )
        shown = types.Tool(
            name=tool.name,
            description=tool.description,
            input_schema=tool.schema,
            output_schema=output_schema(tool.name),
            annotations=hints,
        )
        self._answers[tool.name] = (shown, answer)

    # -- tools -----------------------------------------------------------------------------------

    async def _list_tools(self, _context: Any, _params: Any) -> types.ListToolsResult:
        return types.ListToolsResult(tools=[tool for tool, _ in self._answers.values()])

    def _session_of(self, context: Any) -> str:
        """Return the session of a request, for the origin of what is written."""
        connection = connection_id(context)
        if not connection:
            return self._session
        return f"{self._session}-{hashlib.sha256(connection.encode()).hexdigest()[:16]}"

    async def _call_tool(
        self, context: Any, params: types.CallToolRequestParams
    ) -> types.CallToolResult:
        if params.name not in self._answers:
            known = ", ".join(self._answers)
            raise MCPError(
                types.INVALID_PARAMS, f"there is no tool {params.name[:60]!r}; there are {known}."
            )
        tool, answer = self._answers[params.name]
        answer = partial(answer, session=self._session_of(context))
        try:
            result = await self._in_thread(
                partial(_result, params.name, answer, params.arguments or {})
            )
        except MCPError as error:
            return _tool_error(str(error))
        if not (tool.annotations and tool.annotations.read_only_hint):
            self._resources.note_written()
        return result

    async def _in_thread(self, work: Callable[[], Result]) -> Result:
        """Run what blocks; work that has begun ends, even if its client is gone meanwhile.

        Raises:
            MCPError: The work failed, or too many requests are waiting.
        """
        if self._waiting >= _MOST_WAITING:
            raise MCPError(
                types.INTERNAL_ERROR, f"{self._waiting} requests are waiting; try again later."
            )
        self._waiting += 1
        try:
            return await anyio.to_thread.run_sync(work, limiter=self._threads)
        except CommonplaceError as error:
            code = types.INVALID_PARAMS if isinstance(error, ValueError) else types.INTERNAL_ERROR
            raise MCPError(code, str(error)) from error
        finally:
            self._waiting -= 1

    # -- resources -------------------------------------------------------------------------------

    async def _list_resources(
        self, _context: Any, params: types.PaginatedRequestParams | None
    ) -> types.ListResourcesResult:
        cursor = params.cursor if params else None
        return await self._in_thread(partial(self._resources.page, cursor))

    async def _read_resource(
        self, context: Any, params: types.ReadResourceRequestParams
    ) -> types.ReadResourceResult:
        session = self._session_of(context)
        return await self._in_thread(partial(self._resources.contents, params.uri, session=session))

    # -- prompts ---------------------------------------------------------------------------------

    async def _list_prompts(self, _context: Any, _params: Any) -> types.ListPromptsResult:
        return types.ListPromptsResult(
            prompts=[
                types.Prompt(
                    name=RECALL_PROMPT,
                    title="Recall from memory",
                    description="When to search the notes, and how to cite them.",
                )
            ]
        )

    async def _get_prompt(
        self, _context: Any, params: types.GetPromptRequestParams
    ) -> types.GetPromptResult:
        if params.name != RECALL_PROMPT:
            raise MCPError(
                types.INVALID_PARAMS,
                f"there is no prompt {params.name[:60]!r}; there is {RECALL_PROMPT}.",
            )
        content = types.TextContent(type="text", text=self._instructions)
        return types.GetPromptResult(messages=[types.PromptMessage(role="user", content=content)])


def _result(name: str, answer: Answer, arguments: Mapping[str, object]) -> types.CallToolResult:
    """Answer a call of a tool; errors are for the model."""
    try:
        text = answer_json(answer(arguments))
    except CommonplaceError as error:
        return _tool_error(str(error))
    except Exception as error:
        logger.exception("%s failed", name)
        return _tool_error(f"{name} failed: {error!r}")
    content: list[types.ContentBlock] = [types.TextContent(type="text", text=text)]
    return types.CallToolResult(content=content, structured_content=json.loads(text))


def _tool_error(text: str) -> types.CallToolResult:
    """Return an error that the model reads, so that it can try again."""
    return types.CallToolResult(content=[types.TextContent(type="text", text=text)], is_error=True)
