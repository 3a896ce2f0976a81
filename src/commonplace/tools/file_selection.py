"""Selection of files by their metadata, for the filters of a framework."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Collection, Mapping
from contextlib import AbstractContextManager
from datetime import date
from typing import TYPE_CHECKING, Any, Protocol

from commonplace.store.records import FileFilter, FileRecord, checked_patterns

if TYPE_CHECKING:
    from commonplace.store.base import Snapshot

__all__ = ["IndexedMemory", "selected_paths"]

_WILDCARD = re.compile(r"[*?\[]")


class IndexedMemory(Protocol):
    """Part of `Memory` that a selection uses."""

    def snapshot(self) -> AbstractContextManager[Snapshot]:
        """Read one state of the index."""


def selected_paths(
    memory: IndexedMemory,
    passes: Callable[[Mapping[str, Any]], bool],
    *,
    paths: Collection[str] | None = None,
) -> list[str]:
    """Return the files whose metadata passes, as patterns for ``Memory.search(paths=)``.

    Args:
        memory: The memory; one that was never completely indexed is indexed first.
        passes: Called with the front matter of each file and its ``path``, ``source``, ``date``
            (ISO text; None for a file without a day) and ``tags`` (a list, without ``#``).
        paths: Files, folders and globs to select from; all by default.
    """
    within = FileFilter(None if paths is None else checked_patterns(paths))
    with memory.snapshot() as snapshot:
        records = snapshot.files()
    return [
        _exact_pattern(path)
        for path, record in records.items()
        if within.passes(path) and passes(_metadata(record))
    ]


def _metadata(record: FileRecord) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(record.metadata) if record.metadata else {}
    return found | {
        "path": record.path,
        "source": record.source,
        "date": date.fromordinal(record.day).isoformat() if record.day else None,
        "tags": _tags(found.get("tags", found.get("tag"))),
    }


def _tags(value: Any) -> list[str]:
    """Return tags, which a note writes as a list, or as one text with commas or spaces."""
    tags = re.split(r"[,\s]+", value) if isinstance(value, str) else value
    if not isinstance(tags, list):
        return []
    return [str(tag).removeprefix("#") for tag in tags if tag]


def _exact_pattern(path: str) -> str:
    """Return the pattern that matches one path."""
    return _WILDCARD.sub(lambda found: f"[{found[0]}]", path)
