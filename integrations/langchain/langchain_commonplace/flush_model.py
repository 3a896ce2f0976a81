"""Flush model of a LangChain chat model: a silent turn that no stream shows.

The turn appears in no stream and in no event of the user's run. It runs with the callbacks of the
run, except for handlers that stream, so that traces show it, tagged.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Iterator
from contextlib import contextmanager
from contextvars import Context
from typing import Any, TypeVar

from langchain.chat_models import BaseChatModel, init_chat_model
from langchain_core.language_models import LanguageModelInput
from langchain_core.messages import AIMessage
from langchain_core.runnables import Runnable, RunnableConfig, ensure_config
from langchain_core.runnables.config import set_config_context

from commonplace.flush import FlushReply, FlushRequest
from langchain_commonplace.message_conversion import chat_messages, flush_reply

try:  # langchain 1.3: keeps the model calls of middleware out of `run.messages`
    from langchain.agents.middleware.internal_call_transformer import (
        InternalCallTransformer,
        internal_call_metadata,
    )
except ImportError:  # langchain 1.2
    TRANSFORMERS: tuple[Any, ...] = ()

    def internal_call_metadata() -> dict[str, Any]:
        """Return no metadata: LangChain 1.2 has no use for it."""
        return {}

else:
    TRANSFORMERS = (InternalCallTransformer,)

__all__ = ["TRANSFORMERS", "LangChainFlushModel"]

_T = TypeVar("_T")
_ChatRunnable = Runnable[LanguageModelInput, AIMessage]


class LangChainFlushModel:
    """`FlushModel` of the core, made of a LangChain chat model.

    Args:
        model: A chat model, or a name that `init_chat_model` takes.
    """

    def __init__(self, model: str | BaseChatModel) -> None:
        self.model = init_chat_model(model) if isinstance(model, str) else model

    def reply(self, request: FlushRequest, /) -> FlushReply:
        """Call the model."""
        runnable, has_tool = self._with_tool(request)
        messages = chat_messages(request, plain=not has_tool)
        with _context_without_streams() as context:
            answer = context.run(runnable.invoke, messages, config=_SILENT)
        return flush_reply(answer, offered_tool=has_tool)

    async def areply(self, request: FlushRequest, /) -> FlushReply:
        """Call the model on the event loop."""
        runnable, has_tool = self._with_tool(request)
        messages = chat_messages(request, plain=not has_tool)
        with _context_without_streams() as context:
            call = runnable.ainvoke(messages, config=_SILENT)
            answer = await asyncio.create_task(_awaited(call), context=context)
        return flush_reply(answer, offered_tool=has_tool)

    def _with_tool(self, request: FlushRequest) -> tuple[_ChatRunnable, bool]:
        """Bind the tool; models without tools raise `NotImplementedError` when it is bound."""
        spec = request.tool
        function = {
            "name": spec.name,
            "description": spec.description,
            "parameters": spec.schema,
        }
        try:
            return self.model.bind_tools([{"type": "function", "function": function}]), True
        except NotImplementedError:
            return self.model, False


_SILENT = RunnableConfig(
    tags=["nostream", "memory_flush"],
    run_name="memory_flush",
    metadata={"lc_source": "memory_flush", **internal_call_metadata()},
)


@contextmanager
def _context_without_streams() -> Iterator[Context]:
    """Provide a copy of the run's context without the handlers that stream.

    They are removed from the context, because a bound model adds the handlers of the context to
    those of the call's own config.
    """
    config = ensure_config()
    if config.get("callbacks") is not None:
        config["callbacks"] = _without_streams(config["callbacks"])
    with set_config_context(config) as context:
        yield context


async def _awaited(call: Awaitable[_T]) -> _T:
    return await call


def _without_streams(callbacks: Any) -> Any:
    """Remove the handlers that feed a stream: those with LangChain's `tap_output_iter`."""
    if isinstance(callbacks, list):
        return [handler for handler in callbacks if not hasattr(handler, "tap_output_iter")]
    kept = callbacks.copy()
    kept.handlers = _without_streams(kept.handlers)
    kept.inheritable_handlers = _without_streams(kept.inheritable_handlers)
    return kept
