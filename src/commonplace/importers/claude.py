"""Claude's data export: ``conversations.json``, and the memories that Claude made of them.

A conversation has its messages in a list. Memories are a Markdown text of all conversations, and
one a project, in ``memories.json`` or below ``memories/``; ``projects.json`` has the projects'
names.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import PurePosixPath
from typing import Any

from commonplace.importers.export_file import Export
from commonplace.importers.note import (
    ImportedNote,
    Skipped,
    Speech,
    conversation_note,
    memory_note,
)

__all__ = ["claude_notes"]

_CONVERSATIONS = "conversations*.json"
_MEMORIES = ("memories.json", "memories/*.json")
_PROJECTS = ("projects.json", "projects/*.json")
_READ = frozenset(("tool_use", "tool_result"))
"""Kinds of blocks by which something from outside is read."""


def claude_notes(export: Export) -> Iterator[ImportedNote | Skipped]:
    """Yield the notes of Claude's export: memories, conversations."""
    is_alone = export.path.is_file() and not export.is_archive
    files = export.files("users.json", *_PROJECTS, *_MEMORIES, _CONVERSATIONS)
    accounts: list[Any] = []
    names: dict[str, str] = {}
    first: list[Any] = []
    for file in files:
        path = PurePosixPath(file.name)
        if not is_alone and path.name == "users.json":
            accounts = [_text(entry, "uuid") for entry in export.values(file)]
        elif not is_alone and any(map(path.match, _PROJECTS)):
            for entry in export.values(file, single=True):
                names[_text(entry, "uuid")] = _text(entry, "name")
        elif any(map(path.match, _MEMORIES)):
            for entry in export.values(file, single=True):
                yield from _memories(entry, names)
        else:
            for entry in export.values(file):
                account = _account(entry)
                first = first or [account]
                owners = accounts or first
                yield _conversation(entry, is_own=len(owners) == 1 and account in owners)


def _conversation(entry: Any, *, is_own: bool) -> ImportedNote | Skipped:
    if not isinstance(entry, dict) or not isinstance(entry.get("chat_messages"), list):
        return Skipped()
    return conversation_note(
        _speeches(entry["chat_messages"], is_own=is_own),
        label="Claude",
        key=entry.get("uuid"),
        title=entry.get("name"),
        when=entry.get("created_at"),
    )


def _speeches(messages: list[Any], *, is_own: bool) -> Iterator[Speech]:
    outside = not is_own
    for one in messages:
        if not isinstance(one, dict):
            continue
        content = one.get("content")
        blocks = content if isinstance(content, list) else []
        kinds = [block.get("type") for block in blocks if isinstance(block, dict)]
        has_read = any(isinstance(kind, str) and kind in _READ for kind in kinds)
        outside = outside or has_read or bool(one.get("attachments") or one.get("files"))
        role = one.get("sender")
        yield Speech(role, content or one.get("text"), outside and (role != "human" or not is_own))


def _memories(entry: Any, names: Mapping[str, str]) -> Iterator[ImportedNote | Skipped]:
    if not isinstance(entry, dict):
        yield Skipped()
        return
    account = _text(entry, "account_uuid")
    text = _text(entry, "conversations_memory")
    if text.strip():
        whole = f"# Memory of all conversations\n\n{text}"
        yield memory_note(whole, key=f"memory {account}", folder="memories")
    projects = entry.get("project_memories")
    for uuid, said in projects.items() if isinstance(projects, dict) else ():
        if isinstance(said, str) and said.strip():
            whole = f"# Memory of the project {names.get(uuid) or uuid}\n\n{said}"
            yield memory_note(whole, key=f"memory {uuid}", folder="memories")


def _account(entry: Any) -> str:
    account = entry.get("account") if isinstance(entry, dict) else None
    return _text(account, "uuid")


def _text(entry: Any, name: str) -> str:
    found = entry.get(name) if isinstance(entry, dict) else None
    return found if isinstance(found, str) else ""
