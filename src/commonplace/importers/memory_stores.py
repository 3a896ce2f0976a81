"""Memory stores: what mem0 and LangMem keep, as their interfaces return it, in JSON.

Of mem0 it is the answer of ``get_all`` or of an export: memories in a list, or in ``results`` or
``memories``. Of LangMem it is the items of a LangGraph store, ``item.dict()``, in a list, in
``items``, or one a line.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

from commonplace.importers.export_file import Export
from commonplace.importers.note import ImportedNote, Skipped, memory_note

__all__ = ["langmem_notes", "mem0_notes"]

_LISTS = ("results", "memories", "items")
_TEXTS = ("memory", "text", "content", "data")
_OWNERS = ("user_id", "agent_id", "app_id", "run_id", "actor_id")


def mem0_notes(export: Export) -> Iterator[ImportedNote | Skipped]:
    """Yield a note for each memory of mem0."""
    for file in export.files("*.json", "*.jsonl"):
        for entry in export.values(file, *_LISTS, single=True):
            yield _mem0(entry)


def langmem_notes(export: Export) -> Iterator[ImportedNote | Skipped]:
    """Yield a note for each item of a LangGraph store."""
    for file in export.files("*.json", "*.jsonl"):
        for entry in export.values(file, *_LISTS, single=True):
            yield _langmem(entry)


def _mem0(entry: Any) -> ImportedNote | Skipped:
    if isinstance(entry, str):
        return memory_note(entry, key="")
    if not isinstance(entry, dict):
        return Skipped()
    text = next((entry[name] for name in _TEXTS if isinstance(entry.get(name), str)), "")
    more = entry.get("metadata")
    metadata = {name: entry.get(name) for name in _OWNERS}
    metadata |= {"tags": entry.get("categories"), "expires": entry.get("expiration_date")}
    if isinstance(more, dict) and more:
        metadata["metadata"] = more
    owners = [str(metadata[name]) for name in _OWNERS if metadata[name]]
    key = entry["id"] if isinstance(entry.get("id"), str) else "\n".join((*owners, text))
    return memory_note(text, key=key, when=entry.get("created_at"), metadata=metadata)


def _langmem(entry: Any) -> ImportedNote | Skipped:
    if not isinstance(entry, dict) or not isinstance(entry.get("value"), dict):
        return Skipped()
    namespace = entry.get("namespace")
    names = [str(name) for name in namespace] if isinstance(namespace, list) else []
    value = entry["value"]
    content = value.get("content", value)
    kind = value.get("kind")
    if isinstance(content, dict) and isinstance(content.get("content"), str) and len(content) == 1:
        content = content["content"]
    return memory_note(
        content if isinstance(content, str) else _as_list(content),
        key="\n".join((*names, str(entry.get("key")))),
        when=entry.get("created_at"),
        folder="/".join(name.replace("/", "-") for name in names),
        metadata={"namespace": "/".join(names), "kind": kind if isinstance(kind, str) else None},
    )


def _as_list(content: Any) -> str:
    """Return the fields of a value, one a line."""
    if not isinstance(content, Mapping):
        return json.dumps(content, ensure_ascii=False, default=str)
    return "\n".join(
        f"- {name}: {value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)}"
        for name, value in content.items()
    )
