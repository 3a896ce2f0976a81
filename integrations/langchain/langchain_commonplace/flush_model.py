"""Flush model of a LangChain chat model: a silent turn that no stream shows.

The turn appears in no stream and in no event of the user's run, and no callback handler of the user
is called. Traces show it, tagged: tracers of the run are kept, and counters of its usage.
"""

from __future__ import annotations

import asyncio
import reprlib
from collections.abc import Awaitable, Iterator
from contextlib import contextmanager
from contextvars import Context
from typing import Any, TypeVar

from langchain.chat_models import BaseChatModel, init_chat_model
from langchain_core.callbacks import BaseCallbackHandler, UsageMetadataCallbackHandler
from langchain_core.language_models import LanguageModelInput
from langchain_core.messages import AIMessage
from langchain_core.runnables import Runnable, RunnableConfig, ensure_config
from langchain_core.runnables.config import set_config_context
from langchain_core.tracers import BaseTracer

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

__all__ = ["TRANSFORMERS", "LangChainFlushModel", "chat_model"]

_T = TypeVar("_T")
_ChatRunnable = Runnable[LanguageModelInput, AIMessage]


def chat_model(model: str | BaseChatModel) -> BaseChatModel:
    """Return a chat model, which may be given by its name.

    Raises:
        TypeError: It is neither.
    """
    if isinstance(model, str):
        return init_chat_model(model)
    if not isinstance(model, Runnable):
        raise TypeError(
            f"model is {reprlib.repr(model)}, of type {type(model).__name__}; it must be a chat "
            "model, or the name of one, such as 'openai:gpt-5'."
        )
    return model


class LangChainFlushModel:
    """`FlushModel` of the core, made of a LangChain chat model.

    Args:
        model: A chat model, or a name that `init_chat_model` takes.
    """

    def __init__(self, model: str | BaseChatModel) -> None:
        chat = chat_model(model)
        if isinstance(chat, BaseChatModel) and chat.callbacks is not None:
            chat = chat.model_copy(update={"callbacks": _only_tracers(chat.callbacks)})
        self.model = chat

    def reply(self, request: FlushRequest, /) -> FlushReply:
        """Call the model."""
        runnable, has_tool = self._with_tool(request)
        messages = chat_messages(request, plain=not has_tool)
        with _silent_context() as context:
            answer = context.run(runnable.invoke, messages, config=_SILENT)
        return flush_reply(answer, offered_tool=has_tool)

    async def areply(self, request: FlushRequest, /) -> FlushReply:
        """Call the model on the event loop."""
        runnable, has_tool = self._with_tool(request)
        messages = chat_messages(request, plain=not has_tool)
        with _silent_context() as context:
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
def _silent_context() -> Iterator[Context]:
    """Provide a copy of the run's context without the handlers of the user.

    They are removed from the context, because a bound model adds the handlers of the context to
    those of the call's own config.
    """
    config = ensure_config()
    if config.get("callbacks") is not None:
        config["callbacks"] = _only_tracers(config["callbacks"])
    with set_config_context(config) as context:
        yield context


async def _awaited(call: Awaitable[_T]) -> _T:
    return await call


def _only_tracers(callbacks: Any) -> Any:
    """Remove all handlers but tracers and counters of usage; tracers that stream go, too."""
    if isinstance(callbacks, list):
        return [handler for handler in callbacks if _is_tracer(handler)]
    kept = callbacks.copy()
    kept.handlers = _only_tracers(kept.handlers)
    kept.inheritable_handlers = _only_tracers(kept.inheritable_handlers)
    return kept


def _is_tracer(handler: BaseCallbackHandler) -> bool:
    if hasattr(handler, "tap_output_iter"):  # LangChain's mark of a handler that feeds a stream
        return False
    return isinstance(handler, BaseTracer | UsageMetadataCallbackHandler)
