"""`MemoryTool`: a tool of the core as a LlamaIndex `FunctionTool`."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Mapping
from typing import Any

from llama_index.core.tools import FunctionTool, ToolMetadata, ToolOutput

from commonplace import CommonplaceError
from commonplace.errors import ToolInputError
from commonplace.tools import ToolSpec, answer_json
from llama_index_commonplace.schema import fn_schema

__all__ = ["Answer", "MemoryTool"]

Answer = Callable[[Mapping[str, object]], dict[str, Any]]
"""From what the model sent to the renderer's answer; a call that cannot be answered is raised."""

logger = logging.getLogger(__name__)


class MemoryTool(FunctionTool):
    """A tool whose content is JSON text and whose `raw_output` is the answer as a dict.

    The model is shown the renderer's schema, and the renderer checks the arguments. Whatever goes
    wrong is an output with `is_error`, never an exception. Called from a running event loop, the
    async form works in a thread.
    """

    def __init__(
        self, tool: ToolSpec, answer: Answer, *, metadata: ToolMetadata | None = None
    ) -> None:
        """Wrap a tool of the core.

        Args:
            tool: What the model is shown.
            answer: Answers a call.
            metadata: What the model is shown instead.
        """

        def run(**arguments: object) -> str:
            return answer_json(answer(arguments))

        async def arun(**arguments: object) -> str:
            return await asyncio.to_thread(run, **arguments)

        for function in (run, arun):  # agents that write code are shown them as they are
            function.__name__, function.__doc__ = tool.name, tool.description

        super().__init__(
            fn=run,
            async_fn=arun,
            metadata=metadata
            or ToolMetadata(tool.description, name=tool.name, fn_schema=fn_schema(tool)),
        )
        self._tool = tool
        self._answer = answer

    # `self` is positional only: a model may well send an argument of that name.
    def __call__(self, /, *args: Any, **kwargs: Any) -> ToolOutput:
        """Answer a call."""
        return self.call(*args, **kwargs)

    def call(self, /, *args: Any, **kwargs: Any) -> ToolOutput:
        """Answer a call; arguments without a name are taken in the schema's order."""
        given = {"args": args, "kwargs": kwargs}
        try:
            answer = self._answer(self._named(args) | kwargs)
            return self._output(given, answer, content=answer_json(answer))
        except CommonplaceError as error:
            return self._failed(given, error, content=str(error))
        except Exception as error:
            logger.exception("%s failed", self._tool.name)
            return self._failed(given, error, content=f"{self._tool.name} failed: {error!r}")

    async def acall(self, /, *args: Any, **kwargs: Any) -> ToolOutput:
        """Answer a call in a thread; the event loop goes on."""
        return await asyncio.to_thread(self.call, *args, **kwargs)

    def _named(self, args: tuple[Any, ...]) -> dict[str, Any]:
        names = list(self._tool.schema["properties"])
        if len(args) > len(names):
            raise ToolInputError(
                f"{self._tool.name}: {len(args)} arguments; it takes {', '.join(names)}."
            )
        return dict(zip(names, args, strict=False))

    def _output(self, given: dict[str, Any], answer: dict[str, Any], *, content: str) -> ToolOutput:
        return ToolOutput(
            tool_name=self.metadata.get_name(),
            content=content,
            raw_input=given,
            raw_output=answer,
        )

    def _failed(self, given: dict[str, Any], error: Exception, *, content: str) -> ToolOutput:
        return ToolOutput(
            tool_name=self.metadata.get_name(),
            content=content,
            raw_input=given,
            raw_output={"error": content},
            is_error=True,
            exception=error,
        )
