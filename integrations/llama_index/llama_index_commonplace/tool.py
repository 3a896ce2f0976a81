"""`MemoryTool`: a tool of the core as a LlamaIndex `FunctionTool`, with its pydantic schema."""

from __future__ import annotations

import asyncio
import inspect
import logging
from collections.abc import Callable, Mapping
from typing import Any, Protocol

from llama_index.core.bridge.pydantic import BaseModel, ConfigDict, create_model
from llama_index.core.tools import FunctionTool, ToolMetadata, ToolOutput

from commonplace import CommonplaceError
from commonplace.errors import ToolInputError
from commonplace.tools import UNTRUSTED_MARK, ToolSpec, answer_json
from llama_index_commonplace.session import current_session

__all__ = ["AnswerFunction", "MemoryTool", "fn_schema"]

_TYPES: dict[str, type] = {"string": str, "integer": int, "number": float, "boolean": bool}

_CODE_NAMES = {"from": "from_line"}
"""Names of parameters in code, where the schema's own name is a keyword of Python."""

logger = logging.getLogger(__name__)


class AnswerFunction(Protocol):
    """Function from a call's arguments to the core's answer; errors are raised."""

    def __call__(
        self, arguments: Mapping[str, object], *, session: str | None = None
    ) -> dict[str, Any]:
        """Answer a call of a conversation; None if it is not known which one."""


class MemoryTool(FunctionTool):
    """Tool whose content is JSON text and whose `raw_output` is the answer as a dict.

    The model sees the core's schema, and the core checks the arguments. Every error is an output
    with `is_error`, never an exception. The async form runs in a thread.
    """

    def __init__(
        self,
        tool: ToolSpec,
        answer: AnswerFunction,
        *,
        metadata: ToolMetadata | None = None,
        exposed: Callable[[], object] = lambda: None,
    ) -> None:
        """Wrap a tool of the core.

        Args:
            tool: Name, description and schema for the model.
            answer: Answers a call.
            metadata: Replaces what the model sees of `tool`.
            exposed: Called when a conversation that is not known reads untrusted lines; that of
                a model's code is not, whose output need not quote them.
        """

        def run(*args: object, **arguments: object) -> str:
            try:
                return self._shown(answer_json(answer(self._of_code(args, arguments))))
            except CommonplaceError as error:
                self._shown(str(error))
                raise

        async def arun(*args: object, **arguments: object) -> str:
            return await asyncio.to_thread(run, *args, **arguments)

        for function in (run, arun):  # shown to agents that write code
            function.__name__, function.__doc__ = tool.name, _documentation(tool)
            setattr(function, "__signature__", _signature(tool))  # noqa: B010 - mypy has no such name

        super().__init__(
            fn=run,
            async_fn=arun,
            metadata=metadata
            or ToolMetadata(tool.description, name=tool.name, fn_schema=fn_schema(tool)),
        )
        self._tool = tool
        self._answer = answer
        self._exposed = exposed

    # `self` is positional only: a model may well send an argument of that name.
    def __call__(self, /, *args: Any, **kwargs: Any) -> ToolOutput:
        """Answer a call."""
        return self.call(*args, **kwargs)

    def call(self, /, *args: Any, **kwargs: Any) -> ToolOutput:
        """Answer a call; positional arguments are in the schema's order."""
        return self._called(args, kwargs)

    async def acall(self, /, *args: Any, **kwargs: Any) -> ToolOutput:
        """Answer a call in a thread; an agent's workflow knows the conversation that it is of."""
        session = await current_session()
        return await asyncio.to_thread(self._called, args, kwargs, session=session)

    def _called(
        self, args: tuple[Any, ...], kwargs: dict[str, Any], *, session: str | None = None
    ) -> ToolOutput:
        raw_input = {"args": args, "kwargs": kwargs}
        try:
            answer = self._answer(self._named(args) | kwargs, session=session)
            content = self._shown(answer_json(answer), session=session)
            return self._output(raw_input, answer, content=content)
        except CommonplaceError as error:
            content = self._shown(str(error), session=session)
            return self._failed(raw_input, error, content=content)
        except Exception as error:
            logger.exception("%s failed", self._tool.name)
            return self._failed(raw_input, error, content=f"{self._tool.name} failed: {error!r}")

    def _shown(self, content: str, *, session: str | None = None) -> str:
        """Return what a conversation is about to be shown; the core records it of known ones."""
        if session is None and UNTRUSTED_MARK in content:
            self._exposed()
        return content

    def _of_code(self, args: tuple[object, ...], arguments: dict[str, object]) -> dict[str, Any]:
        """Return the arguments of a call in code, by the names of the schema."""
        named = self._named(args)
        for name in _CODE_NAMES:
            if _CODE_NAMES[name] in arguments and name not in arguments:
                arguments[name] = arguments.pop(_CODE_NAMES[name])
        if twice := sorted(named.keys() & arguments.keys()):
            raise ToolInputError(f"{self._tool.name}: {twice[0]} is given twice.")
        return named | arguments

    def _named(self, args: tuple[Any, ...]) -> dict[str, Any]:
        names = list(self._tool.schema["properties"])
        if len(args) > len(names):
            raise ToolInputError(
                f"{self._tool.name}: {len(args)} arguments; it takes {', '.join(names)}."
            )
        return dict(zip(names, args, strict=False))

    def _output(
        self, raw_input: dict[str, Any], answer: dict[str, Any], *, content: str
    ) -> ToolOutput:
        return ToolOutput(
            tool_name=self.metadata.get_name(),
            content=content,
            raw_input=raw_input,
            raw_output=answer,
        )

    def _failed(self, raw_input: dict[str, Any], error: Exception, *, content: str) -> ToolOutput:
        return ToolOutput(
            tool_name=self.metadata.get_name(),
            content=content,
            raw_input=raw_input,
            raw_output={"error": content},
            is_error=True,
            exception=error,
        )


def _signature(tool: ToolSpec) -> inspect.Signature:
    """Return the signature of a tool as a function of Python, which agents that write code see."""
    parameters = []
    for name, part in tool.schema["properties"].items():
        kind = _TYPES[part["type"]]
        is_required = name in tool.schema["required"]
        parameters.append(
            inspect.Parameter(
                _CODE_NAMES.get(name, name),
                inspect.Parameter.POSITIONAL_OR_KEYWORD,
                default=inspect.Parameter.empty if is_required else None,
                annotation=kind if is_required else kind | None,
            )
        )
    return inspect.Signature(parameters, return_annotation=str)


def _documentation(tool: ToolSpec) -> str:
    """Return the docstring of a tool as a function of Python."""
    arguments = "\n".join(
        f"    {_CODE_NAMES.get(name, name)}: {part['description']}"
        for name, part in tool.schema["properties"].items()
    )
    return f"{tool.description}\n\nArgs:\n{arguments}\n\nReturns:\n    JSON text."


def fn_schema(tool: ToolSpec) -> type[BaseModel]:
    """Return a pydantic model whose JSON schema is the tool's own, and whose fields have its names.

    ``additionalProperties`` is left out, as `ToolMetadata` does: some providers refuse it, others
    set it themselves, and the tool refuses unknown arguments anyway.
    """
    shown = {name: part for name, part in tool.schema.items() if name != "additionalProperties"}

    def replace_schema(schema: dict[str, Any]) -> None:
        schema.clear()
        schema.update(shown)

    required = tool.schema["required"]
    fields: dict[str, Any] = {}
    for name, part in tool.schema["properties"].items():
        kind = _TYPES[part["type"]]
        fields[name] = (kind, ...) if name in required else (kind | None, None)
    config = ConfigDict(extra="forbid", json_schema_extra=replace_schema)
    return create_model(tool.name, __config__=config, **fields)
