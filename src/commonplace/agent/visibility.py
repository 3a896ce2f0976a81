"""What of a memory may be told where others than its user read along."""

from __future__ import annotations

from collections.abc import Collection
from datetime import date
from typing import TYPE_CHECKING, Protocol

from commonplace.errors import PathNotAllowedError
from commonplace.workspace.discovery import Workspace
from commonplace.workspace.paths import is_session_path

if TYPE_CHECKING:
    from commonplace.settings import Settings
    from commonplace.types import Excerpt, SearchResults, Source

__all__ = ["Readable", "SharedMemory", "readable"]

_ROUNDS = (4, 1_000)
"""How many times as many results are looked at as are asked for: at first, and if need be."""


class Readable(Protocol):
    """What the tools and the recall need of a memory."""

    @property
    def settings(self) -> Settings:
        """The settings that the memory was opened with."""

    def search(
        self,
        query: str,
        *,
        max_results: int | None = None,
        min_score: float | None = None,
        sources: Collection[Source] | None = None,
    ) -> SearchResults:
        """Find the lines that answer a query."""

    def get(self, path: str, *, from_line: int | None = None, lines: int | None = None) -> Excerpt:
        """Read lines of a file."""

    def append(self, text: str, *, path: str | None = None, when: date | None = None) -> str:
        """Append a note to a day's log, or to another note, and return its path."""


def readable(memory: Readable, *, private: bool) -> Readable:
    """Return the memory as it may be read: as it is, or without what is the user's alone."""
    return memory if private else SharedMemory(memory)


class SharedMemory:
    """A memory without MEMORY.md and the session files; notes can be added as before."""

    def __init__(self, memory: Readable) -> None:
        self._memory = memory

    @property
    def settings(self) -> Settings:
        """The memory's settings."""
        return self._memory.settings

    def search(
        self,
        query: str,
        *,
        max_results: int | None = None,
        min_score: float | None = None,
        sources: Collection[Source] | None = None,
    ) -> SearchResults:
        """Find what answers a query in the logs and the other notes."""
        limit = self.settings.search.max_results if max_results is None else max_results
        wanted: list[Source] = ["memory"] if sources is None or "memory" in sources else []
        for times in _ROUNDS:
            found = self._memory.search(
                query, max_results=limit * times, min_score=min_score, sources=wanted
            )
            shared = [result for result in found if _is_shared(result.path)]
            if len(shared) >= limit or len(found) < limit * times:
                break
        found[:] = shared[:limit]
        return found

    def get(self, path: str, *, from_line: int | None = None, lines: int | None = None) -> Excerpt:
        """Read lines of a log or another note.

        Raises:
            PathNotAllowedError: The file is the user's alone, or none of the memory's.
        """
        if not _is_shared(path):
            raise PathNotAllowedError(
                f"{path!r} is the user's alone, and others read along here. Allowed are "
                "memory/**/*.md: give the path as memory_search shows it."
            )
        return self._memory.get(path, from_line=from_line, lines=lines)

    def append(self, text: str, *, path: str | None = None, when: date | None = None) -> str:
        """Append a note to a day's log, or to another note, and return its path."""
        return self._memory.append(text, path=path, when=when)


def _is_shared(path: str) -> bool:
    name = Workspace.plain_name(path)
    return name.lower() != "memory.md" and not is_session_path(name)
