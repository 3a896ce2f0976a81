"""Sources of imports: how each tool's export holds its conversations.

ChatGPT's ``conversations.json`` is a list of trees: a node has a message and its parent, and the
conversation that the user saw is the way from ``current_node`` to the root; other branches are
answers that were replaced. Claude's has the messages of each conversation in a list.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from commonplace.importers.conversation import Conversation
from commonplace.transcripts.formats import moment_of

__all__ = ["SOURCES", "Source"]

_EPOCH = datetime.fromtimestamp(0, UTC)


@dataclass(frozen=True, slots=True)
class Source:
    """Tool whose exports can be imported.

    Attributes:
        label: Name of the tool.
        pattern: Names of the files of an export that hold conversations.
        conversation: Function from an entry of such a file to its conversation; None where the
            entry is no conversation.
    """

    label: str
    pattern: str
    conversation: Callable[[Any], Conversation | None]


def _chatgpt(entry: Any) -> Conversation | None:
    if not isinstance(entry, dict) or not isinstance(entry.get("mapping"), dict):
        return None
    key = entry.get("conversation_id") or entry.get("id")
    return _conversation(key, entry.get("title"), entry.get("create_time"), list(_branch(entry)))


def _branch(entry: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return the messages from the root of a tree to its current node."""
    nodes = entry["mapping"]
    at = entry.get("current_node") or _last_leaf(nodes)
    seen: set[str] = set()
    found = []
    while isinstance(at, str) and at not in seen and isinstance(nodes.get(at), dict):
        seen.add(at)
        if message := _chatgpt_message(nodes[at].get("message")):
            found.append(message)
        at = nodes[at].get("parent")
    return found[::-1]


def _last_leaf(nodes: dict[str, Any]) -> str | None:
    """Return the last node without children: exports of old conversations name none as current."""
    inner = [node.get("parent") for node in nodes.values() if isinstance(node, dict)]
    parents = {parent for parent in inner if isinstance(parent, str)}
    return next((key for key in reversed(nodes) if key not in parents), None)


def _chatgpt_message(message: Any) -> dict[str, Any] | None:
    if not isinstance(message, dict):
        return None
    author, content = message.get("author"), message.get("content")
    metadata = message.get("metadata")
    hidden = isinstance(metadata, dict) and metadata.get("is_visually_hidden_from_conversation")
    to_all = message.get("recipient") in (None, "all")  # else it is a call of a tool
    if not isinstance(author, dict) or not isinstance(content, dict) or hidden or not to_all:
        return None
    if content.get("content_type") not in ("text", "multimodal_text"):
        return None
    parts = content.get("parts")
    texts = [part for part in parts if isinstance(part, str)] if isinstance(parts, list) else []
    return {"role": author.get("role"), "content": texts}


def _claude(entry: Any) -> Conversation | None:
    if not isinstance(entry, dict) or not isinstance(entry.get("chat_messages"), list):
        return None
    messages = [
        {"role": one.get("sender"), "content": one.get("content") or one.get("text")}
        for one in entry["chat_messages"]
        if isinstance(one, dict)
    ]
    return _conversation(entry.get("uuid"), entry.get("name"), entry.get("created_at"), messages)


def _conversation(
    key: Any, title: Any, when: Any, messages: list[dict[str, Any]]
) -> Conversation | None:
    if not isinstance(key, str) or not key:
        return None
    moment = moment_of({"timestamp": when}, zone=UTC) or _EPOCH
    return Conversation(key, title if isinstance(title, str) else "", moment, messages)


SOURCES: Mapping[str, Source] = {
    "chatgpt": Source("ChatGPT", "conversations*.json", _chatgpt),
    "claude": Source("Claude", "conversations*.json", _claude),
}
"""Sources by name."""
