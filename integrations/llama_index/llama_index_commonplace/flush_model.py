"""Flush model of a LlamaIndex model: a silent turn, which no agent's stream shows.

Traces show the turn, tagged `TAG`.
"""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from typing import Any

from llama_index.core.base.llms.types import ChatResponse
from llama_index.core.llms import LLM, CustomLLM
from llama_index.core.llms.function_calling import FunctionCallingLLM
from llama_index_instrumentation.dispatcher import instrument_tags

from commonplace.flush import FlushReply, FlushRequest, ToolCall
from llama_index_commonplace.message_conversion import chat_messages
from llama_index_commonplace.tool import MemoryTool

__all__ = ["TAG", "LlamaIndexFlushModel"]

TAG = {"commonplace": "memory_flush"}
"""Instrumentation tag of a silent turn."""


class LlamaIndexFlushModel:
    """`FlushModel` of the core, made of a LlamaIndex model.

    Args:
        llm: Any LlamaIndex model; without function calling, its text is the note.
    """

    def __init__(self, llm: LLM) -> None:
        self.llm = llm

    def reply(self, request: FlushRequest, /) -> FlushReply:
        """Call the model."""
        with instrument_tags(TAG):
            llm = self._function_calling_llm
            if llm is None:
                return _text_reply(self.llm.chat(chat_messages(request, plain=True)))
            messages = chat_messages(request)
            response = llm.chat_with_tools([_offered_tool(request)], chat_history=messages)
            return _tool_reply(llm, response)

    async def areply(self, request: FlushRequest, /) -> FlushReply:
        """Call the model on the event loop.

        Raises:
            NotImplementedError: Its async methods are those of `CustomLLM`, which call the sync
                ones and would block the event loop.
        """
        if inspect.unwrap(type(self.llm).achat) is inspect.unwrap(CustomLLM.achat):
            raise NotImplementedError
        with instrument_tags(TAG):
            llm = self._function_calling_llm
            if llm is None:
                return _text_reply(await self.llm.achat(chat_messages(request, plain=True)))
            messages = chat_messages(request)
            response = await llm.achat_with_tools([_offered_tool(request)], chat_history=messages)
            return _tool_reply(llm, response)

    @property
    def _function_calling_llm(self) -> FunctionCallingLLM | None:
        llm = self.llm
        if isinstance(llm, FunctionCallingLLM) and llm.metadata.is_function_calling_model:
            return llm
        return None


def _offered_tool(request: FlushRequest) -> MemoryTool:
    return MemoryTool(request.tool, _never_called)


def _never_called(arguments: Mapping[str, object], *, session: str | None = None) -> dict[str, Any]:
    raise NotImplementedError  # the core parses the calls and answers them itself


def _text_reply(response: ChatResponse) -> FlushReply:
    return FlushReply(response.message.content or "", offered_tool=False)


def _tool_reply(llm: FunctionCallingLLM, response: ChatResponse) -> FlushReply:
    calls = llm.get_tool_calls_from_response(response, error_on_no_tool_call=False)
    return FlushReply(
        response.message.content or "",
        tuple(ToolCall(call.tool_name, call.tool_kwargs, call.tool_id) for call in calls),
    )
