"""Conversion of LangChain's messages to the core's `FlushMessage`, and back."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence
from typing import Any, Literal

from langchain_core.messages import (
    AIMessage,
    AnyMessage,
    BaseMessage,
    ChatMessage,
    FunctionMessage,
    HumanMessage,
    SystemMessage,
    ToolMessage,
)
from langchain_core.runnables import ensure_config

from commonplace.flush import FlushMessage, FlushReply, FlushRequest, ToolCall

__all__ = [
    "chat_messages",
    "current_thread",
    "cycle_id",
    "flush_message",
    "flush_messages",
    "flush_reply",
    "is_called_by_tool",
    "is_in_graph",
    "is_summary",
    "prefix_digests",
]


_Role = Literal["user", "assistant", "tool", "system"]

_ROLES: dict[str, _Role] = {
    "ai": "assistant",
    "assistant": "assistant",
    "developer": "system",
    "function": "tool",
    "model": "assistant",
    "system": "system",
    "tool": "tool",
}
"""Roles of a `ChatMessage`, which is free in its choice; all others are a user's."""


def flush_messages(messages: Iterable[BaseMessage | FlushMessage]) -> list[FlushMessage]:
    """Convert a conversation without summaries, whose messages were flushed before."""
    return [
        message if isinstance(message, FlushMessage) else flush_message(message)
        for message in messages
        if isinstance(message, FlushMessage) or not is_summary(message)
    ]


def flush_message(message: BaseMessage) -> FlushMessage:
    """Convert one message."""
    text, name = str(message.text), message.name or ""
    if isinstance(message, AIMessage):
        return FlushMessage("assistant", text, tool_calls=_tool_calls(message), name=name)
    if isinstance(message, ToolMessage):
        return FlushMessage("tool", text, call_id=message.tool_call_id, name=name)
    return FlushMessage(_role(message), text, name=name)


def _role(message: BaseMessage) -> _Role:
    if isinstance(message, ChatMessage):
        return _ROLES.get(message.role.lower(), "user")
    if isinstance(message, FunctionMessage):
        return "tool"
    return "system" if isinstance(message, SystemMessage) else "user"


def _tool_calls(message: AIMessage) -> tuple[ToolCall, ...]:
    """Return the calls, invalid ones included: the core reports what is wrong with them."""
    calls: list[Any] = [*message.tool_calls, *message.invalid_tool_calls]
    return tuple(ToolCall(c["name"] or "", c["args"], c["id"] or "") for c in calls)


def chat_messages(request: FlushRequest, *, plain: bool = False) -> list[AnyMessage]:
    """Convert the messages of a silent turn's request.

    Args:
        request: The request.
        plain: Whether the model has no support for tools.
    """
    messages = request.without_tool() if plain else request.messages
    return [SystemMessage(request.system), *map(_chat_message, messages)]


def _chat_message(message: FlushMessage) -> AnyMessage:
    if message.role == "assistant":
        calls = [
            {"name": call.name or "unnamed", "args": _arguments(call), "id": call.id}
            for call in message.tool_calls
        ]
        return AIMessage(message.text, tool_calls=calls)
    if message.role == "tool":
        name = message.name or "unnamed"
        return ToolMessage(message.text, tool_call_id=message.call_id, name=name)
    return HumanMessage(message.text)


def _arguments(call: ToolCall) -> dict[str, Any]:
    return call.arguments if isinstance(call.arguments, dict) else {}


def flush_reply(message: BaseMessage, *, offered_tool: bool) -> FlushReply:
    """Convert the model's reply in a silent turn."""
    calls = _tool_calls(message) if isinstance(message, AIMessage) else ()
    return FlushReply(str(message.text), calls, offered_tool=offered_tool)


def is_summary(message: BaseMessage) -> bool:
    """Return whether a message is a compaction's summary."""
    return message.additional_kwargs.get("lc_source") == "summarization"


def cycle_id(messages: Sequence[BaseMessage]) -> str:
    """Return the id of the cycle since the last compaction; empty before the first one."""
    for position, message in enumerate(messages[:2]):
        if is_summary(message):
            kept = messages[position + 1].id if len(messages) > position + 1 else ""
            return f"{message.id or ''}|{kept or ''}"
    return ""


def current_thread() -> str:
    """Return the thread id of the current run; empty outside of a run."""
    thread = ensure_config().get("configurable", {}).get("thread_id")
    return "" if thread is None else str(thread)  # 0 is a thread id, too


def is_called_by_tool() -> bool:
    """Return whether the current run is that of an agent which a tool of another one calls.

    It has the thread id of the agent around it, and a conversation of its own at each call.
    """
    return any(node.startswith("tools:") for node in _nodes_around())


def is_in_graph() -> bool:
    """Return whether the current run is that of an agent within another graph: a subgraph.

    It has the graph's thread id. It may have the graph's messages, too, or, where a node calls it
    or `Send` does, messages of its own at each call.
    """
    return bool(_nodes_around())


def _nodes_around() -> list[str]:
    """Return the nodes that the graph of the current run is within, the outermost first."""
    namespace = str(ensure_config().get("configurable", {}).get("checkpoint_ns") or "")
    return namespace.split("|")[:-1]


def prefix_digests(messages: Iterable[BaseMessage]) -> list[str]:
    """Return the digest of each beginning of a conversation, by its roles and texts."""
    digest = hashlib.sha256()
    found = [digest.hexdigest()]
    for message in flush_messages(messages):
        said = f"{message.role} {len(message.text)} {message.text}"
        digest.update(said.encode("utf-8", "replace"))
        found.append(digest.hexdigest())
    return found
