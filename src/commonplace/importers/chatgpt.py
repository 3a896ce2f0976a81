"""ChatGPT's data export: ``conversations.json``, a list of trees.

A node has a message and its parent; the conversation that the user saw is the way from
``current_node`` to the root, and other branches are answers that were replaced. Memories are calls
of the tool ``bio``; the user's own instructions stand in hidden messages, the newest of which
counts.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from commonplace.importers.export_file import Export
from commonplace.importers.note import (
    ImportedNote,
    Skipped,
    Speech,
    conversation_note,
    file_note,
    memory_note,
)

__all__ = ["chatgpt_notes"]

_MEMORY_TOOL = "bio"
_INSTRUCTIONS = ("user_profile", "user_instructions")


def chatgpt_notes(export: Export) -> Iterator[ImportedNote | Skipped]:
    """Yield the notes of ChatGPT's export: conversations, memories, instructions."""
    newest: tuple[float, str] = (-1.0, "")
    for file in export.files("conversations*.json"):
        for entry in export.values(file):
            if not isinstance(entry, dict) or not isinstance(entry.get("mapping"), dict):
                yield Skipped()
                continue
            branch = list(_branch(entry))
            when = entry.get("create_time")
            yield conversation_note(
                _speeches(branch),
                label="ChatGPT",
                key=entry.get("conversation_id") or entry.get("id"),
                title=entry.get("title"),
                when=when,
            )
            yield from _memories(branch, when)
            if text := "\n\n".join(filter(None, map(_instructions, branch))):
                newest = max(newest, (float(when) if isinstance(when, int | float) else 0.0, text))
    if newest[1]:
        yield file_note("custom-instructions.md", f"# Custom instructions\n\n{newest[1]}\n")


def _branch(entry: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """Return the messages from the root of a tree to its current node."""
    nodes = entry["mapping"]
    current = entry.get("current_node")
    at = current if isinstance(current, str) and current in nodes else _last_leaf(nodes)
    seen: set[str] = set()
    found: list[Mapping[str, Any]] = []
    while isinstance(at, str) and at not in seen and isinstance(nodes.get(at), dict):
        seen.add(at)
        message = nodes[at].get("message")
        if (
            isinstance(message, dict)
            and isinstance(message.get("author"), dict)
            and isinstance(message.get("content"), dict)
        ):
            found.append(message)
        at = nodes[at].get("parent")
    return found[::-1]


def _last_leaf(nodes: dict[str, Any]) -> str | None:
    """Return the last node without children: some conversations name none of theirs as current."""
    inner = [node.get("parent") for node in nodes.values() if isinstance(node, dict)]
    parents = {parent for parent in inner if isinstance(parent, str)}
    return next((key for key in reversed(nodes) if key not in parents), None)


def _speeches(branch: list[Mapping[str, Any]]) -> Iterator[Speech]:
    for message, outside in _with_outside(branch):
        role, content = message["author"].get("role"), message["content"]
        hidden = _metadata(message).get("is_visually_hidden_from_conversation")
        to_all = message.get("recipient") in (None, "all")  # else it is a call of a tool
        if to_all and not hidden and content.get("content_type") in ("text", "multimodal_text"):
            yield Speech(role, _texts(content), outside and role != "user")


def _memories(branch: list[Mapping[str, Any]], when: Any) -> Iterator[ImportedNote | Skipped]:
    for message, outside in _with_outside(branch):
        if message.get("recipient") == _MEMORY_TOOL:
            yield memory_note(
                "\n".join(_texts(message["content"])),
                key=message["id"] if isinstance(message.get("id"), str) else "",
                when=message.get("create_time") or when,
                folder="memories",
                outside=outside,
            )


def _with_outside(branch: list[Mapping[str, Any]]) -> Iterator[tuple[Mapping[str, Any], bool]]:
    """Yield messages, and whether the conversation had read something from outside by then."""
    outside = False
    for message in branch:
        author = message["author"]
        is_answer = author.get("role") == "tool" and author.get("name") != _MEMORY_TOOL
        outside = outside or is_answer or bool(_metadata(message).get("attachments"))
        yield message, outside


def _metadata(message: Mapping[str, Any]) -> Mapping[str, Any]:
    found = message.get("metadata")
    return found if isinstance(found, dict) else {}


def _texts(content: Mapping[str, Any]) -> list[str]:
    parts = content.get("parts")
    found = [part for part in parts if isinstance(part, str)] if isinstance(parts, list) else []
    text = content.get("text")
    return [*found, text] if isinstance(text, str) else found


def _instructions(message: Mapping[str, Any]) -> str:
    content = message["content"]
    if content.get("content_type") != "user_editable_context":
        return ""
    texts = [content.get(name) for name in _INSTRUCTIONS]
    return "\n\n".join(text for text in texts if isinstance(text, str) and text.strip())
