"""A LlamaIndex model as the one who writes notes, in a turn that nobody sees.

An agent's stream shows what the agent writes to it, so the turn does not show there. Traces do
show it, tagged `TAG`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from llama_index.core.base.llms.types import ChatResponse
from llama_index.core.llms import LLM
from llama_index.core.llms.function_calling import FunctionCallingLLM
from llama_index_instrumentation.dispatcher import instrument_tags

from commonplace.flush import FlushReply, FlushRequest, ToolCall
from llama_index_commonplace.messages import chat_messages
from llama_index_commonplace.tool import MemoryTool

__all__ = ["TAG", "LlamaIndexFlushModel"]

TAG = {"commonplace": "memory_flush"}
"""The instrumentation tag of a silent turn."""


class LlamaIndexFlushModel:
    """A `FlushModel` of the core.

    Args:
        llm: Any LlamaIndex model; one that calls no functions is asked for the note in words.
    """

    def __init__(self, llm: LLM) -> None:
        self.llm = llm

    def reply(self, request: FlushRequest, /) -> FlushReply:
        """Ask the model."""
        with instrument_tags(TAG):
            llm = self._calling
            if llm is None:
                return _words(self.llm.chat(chat_messages(request, plain=True)))
            asked = chat_messages(request)
            response = llm.chat_with_tools([_offered(request)], chat_history=asked)
            return _calls(llm, response)

    async def areply(self, request: FlushRequest, /) -> FlushReply:
        """Ask the model on the event loop."""
        with instrument_tags(TAG):
            llm = self._calling
            if llm is None:
                return _words(await self.llm.achat(chat_messages(request, plain=True)))
            asked = chat_messages(request)
            response = await llm.achat_with_tools([_offered(request)], chat_history=asked)
            return _calls(llm, response)

    @property
    def _calling(self) -> FunctionCallingLLM | None:
        llm = self.llm
        if isinstance(llm, FunctionCallingLLM) and llm.metadata.is_function_calling_model:
            return llm
        return None


def _offered(request: FlushRequest) -> MemoryTool:
    return MemoryTool(request.tool, _not_called)


def _not_called(_: Mapping[str, object]) -> dict[str, Any]:
    raise NotImplementedError  # the core reads the calls and answers them itself


def _words(response: ChatResponse) -> FlushReply:
    return FlushReply(response.message.content or "", offered_tool=False)


def _calls(llm: FunctionCallingLLM, response: ChatResponse) -> FlushReply:
    calls = llm.get_tool_calls_from_response(response, error_on_no_tool_call=False)
    return FlushReply(
        response.message.content or "",
        tuple(ToolCall(call.tool_name, call.tool_kwargs, call.tool_id) for call in calls),
    )
