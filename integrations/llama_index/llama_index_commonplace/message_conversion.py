"""Conversion of LlamaIndex's messages to the core's `FlushMessage`, and back."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Any, Literal

from llama_index.core.base.llms.types import ChatMessage, MessageRole, TextBlock

from commonplace.flush import FlushMessage, FlushRequest, ToolCall

__all__ = ["chat_messages", "flush_messages"]

_Role = Literal["user", "assistant", "tool", "system"]

_ROLES: dict[MessageRole, _Role] = {
    MessageRole.ASSISTANT: "assistant",
    MessageRole.CHATBOT: "assistant",
    MessageRole.DEVELOPER: "system",
    MessageRole.FUNCTION: "tool",
    MessageRole.MODEL: "assistant",
    MessageRole.SYSTEM: "system",
    MessageRole.TOOL: "tool",
    MessageRole.USER: "user",
}


def flush_messages(messages: Iterable[ChatMessage]) -> list[FlushMessage]:
    """Convert a conversation without its thoughts, pictures and documents."""
    return [_flush_message(message) for message in messages]


def _flush_message(message: ChatMessage) -> FlushMessage:
    extra = message.additional_kwargs
    return FlushMessage(
        _ROLES[message.role],
        message.content or "",
        tool_calls=_tool_calls(message),
        call_id=str(extra.get("tool_call_id") or ""),
        name=str(extra.get("name") or ""),
    )


def _tool_calls(message: ChatMessage) -> tuple[ToolCall, ...]:
    """Return the calls of the blocks, or those that older packages store in `additional_kwargs`."""
    blocks = [block for block in message.blocks if block.block_type == "tool_call"]
    if blocks:
        return tuple(
            ToolCall(block.tool_name, block.tool_kwargs, block.tool_call_id or "")
            for block in blocks
        )
    calls = message.additional_kwargs.get("tool_calls")
    if not isinstance(calls, list):
        return ()
    return tuple(_tool_call(call) for call in calls if isinstance(call, Mapping))


def _tool_call(call: Mapping[str, Any]) -> ToolCall:
    """Convert a call from OpenAI's form."""
    function = call.get("function")
    function = function if isinstance(function, Mapping) else {}
    return ToolCall(
        str(function.get("name") or ""), function.get("arguments"), str(call.get("id") or "")
    )


def chat_messages(request: FlushRequest, *, plain: bool = False) -> list[ChatMessage]:
    """Convert the messages of a silent turn's request.

    Args:
        request: The request.
        plain: Whether the model has no support for tools.
    """
    messages = request.without_tool() if plain else request.messages
    system = ChatMessage(role=MessageRole.SYSTEM, content=request.system)
    return [system, *map(_chat_message, messages)]


def _chat_message(message: FlushMessage) -> ChatMessage:
    if message.role == "tool":
        extra = {"tool_call_id": message.call_id, "name": message.name}
        return ChatMessage(role=MessageRole.TOOL, content=message.text, additional_kwargs=extra)
    if message.role != "assistant":
        return ChatMessage(role=MessageRole.USER, content=message.text)
    blocks: list[Any] = [TextBlock(text=message.text)] if message.text else []
    if not message.tool_calls:
        return ChatMessage(role=MessageRole.ASSISTANT, blocks=blocks)
    try:
        from llama_index.core.base.llms.types import ToolCallBlock
    except ImportError:  # the first releases of 0.14 store calls in `additional_kwargs`
        calls = {"tool_calls": [_openai_call(call) for call in message.tool_calls]}
        return ChatMessage(role=MessageRole.ASSISTANT, blocks=blocks, additional_kwargs=calls)
    blocks += [
        ToolCallBlock(
            tool_call_id=call.id,
            tool_name=call.name or "unnamed",
            tool_kwargs=call.arguments if isinstance(call.arguments, dict) else {},
        )
        for call in message.tool_calls
    ]
    return ChatMessage(role=MessageRole.ASSISTANT, blocks=blocks)


def _openai_call(call: ToolCall) -> dict[str, Any]:
    """Convert a call to OpenAI's form."""
    arguments = call.arguments if isinstance(call.arguments, str) else json.dumps(call.arguments)
    function = {"name": call.name or "unnamed", "arguments": arguments}
    return {"id": call.id, "type": "function", "function": function}
