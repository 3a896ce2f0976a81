"""Visibility of a memory: a view without private files, for conversations of several readers."""

from __future__ import annotations

from collections.abc import Collection
from datetime import date
from typing import TYPE_CHECKING, Protocol

from commonplace.errors import PathNotAllowedError
from commonplace.workspace.discovery import Workspace
from commonplace.workspace.paths import is_session_path

if TYPE_CHECKING:
    from commonplace.settings import Settings
    from commonplace.types import Excerpt, Origin, SearchResults, Source, Version

__all__ = ["AgentMemory", "SharedMemory", "visible_memory"]

_OVERFETCH = (1, 4, 1_000)
"""Factors by which a search fetches more than its limits, while private files take their room."""


class AgentMemory(Protocol):
    """Part of `Memory` that the tools and the recall use."""

    @property
    def settings(self) -> Settings:
        """Settings of the memory."""

    def search(
        self,
        query: str,
        *,
        max_results: int | None = None,
        max_chars: int | None = None,
        min_score: float | None = None,
        sources: Collection[Source] | None = None,
    ) -> SearchResults:
        """Return the snippets that answer a query."""

    def get(self, path: str, *, from_line: int | None = None, lines: int | None = None) -> Excerpt:
        """Return lines of a file."""

    def append(
        self,
        text: str,
        *,
        path: str | None = None,
        when: date | None = None,
        origin: Origin | None = None,
    ) -> str:
        """Append a note to a day's log, or to another note, and return its path."""

    def record_exposure(self, session: str) -> None:
        """Record that a conversation was shown untrusted lines."""

    def edit(self, path: str, old: str, new: str, *, origin: Origin | None = None) -> Version:
        """Replace the one place where a passage stands in a note."""

    def correct(self, citation: str, text: str, *, origin: Origin | None = None) -> Version:
        """Strike the cited lines through, and write the correction to today's log."""

    def delete(self, path: str, *, origin: Origin | None = None) -> Version:
        """Delete a note; its text stays in the history."""


def visible_memory(memory: AgentMemory, *, private: bool) -> AgentMemory:
    """Return the memory itself if the conversation is private, else a `SharedMemory` of it."""
    return memory if private else SharedMemory(memory)


class SharedMemory:
    """View of a memory without MEMORY.md and session files."""

    def __init__(self, memory: AgentMemory) -> None:
        self._memory = memory

    @property
    def settings(self) -> Settings:
        """Settings of the memory."""
        return self._memory.settings

    def search(
        self,
        query: str,
        *,
        max_results: int | None = None,
        max_chars: int | None = None,
        min_score: float | None = None,
        sources: Collection[Source] | None = None,
    ) -> SearchResults:
        """Return the snippets of logs and other shared notes that answer a query."""
        from commonplace.retrieval.snippets import within_budget  # loads numpy

        settings = self.settings.search
        limit = settings.max_results if max_results is None else max_results
        chars = settings.max_chars if max_chars is None else max_chars
        wanted: list[Source] = ["memory"] if sources is None or "memory" in sources else []
        for factor in _OVERFETCH:
            found = self._memory.search(
                query, max_chars=chars * factor, min_score=min_score, sources=wanted
            )
            shared = within_budget((hit for hit in found if _is_shared(hit.path)), chars)[:limit]
            private_chars = sum(hit.chars for hit in found if not _is_shared(hit.path))
            if len(shared) == limit or private_chars <= chars * (factor - 1):
                break
        found[:] = shared
        return found

    def get(self, path: str, *, from_line: int | None = None, lines: int | None = None) -> Excerpt:
        """Return lines of a log or another shared note.

        Raises:
            PathNotAllowedError: The file is private, or it is not a file of the memory.
        """
        _check_shared(path)
        return self._memory.get(path, from_line=from_line, lines=lines)

    def append(
        self,
        text: str,
        *,
        path: str | None = None,
        when: date | None = None,
        origin: Origin | None = None,
    ) -> str:
        """Append a note to a day's log, or to another shared note, and return its path.

        Raises:
            PathNotAllowedError: The note is private, or it cannot be written.
        """
        if path is not None:
            _check_shared(path)
        return self._memory.append(text, path=path, when=when, origin=origin)

    def record_exposure(self, session: str) -> None:
        """Record that a conversation was shown untrusted lines."""
        self._memory.record_exposure(session)

    def edit(self, path: str, old: str, new: str, *, origin: Origin | None = None) -> Version:
        """Replace a passage of a shared note; `PathNotAllowedError` where the note is private."""
        _check_shared(path)
        return self._memory.edit(path, old, new, origin=origin)

    def correct(self, citation: str, text: str, *, origin: Origin | None = None) -> Version:
        """Correct lines of a shared note; `PathNotAllowedError` where the note is private."""
        _check_shared(citation.partition("#")[0])
        return self._memory.correct(citation, text, origin=origin)

    def delete(self, path: str, *, origin: Origin | None = None) -> Version:
        """Delete a shared note; `PathNotAllowedError` where the note is private."""
        _check_shared(path)
        return self._memory.delete(path, origin=origin)


def _check_shared(path: str) -> None:
    if not _is_shared(path):
        raise PathNotAllowedError(
            f"{path!r} is the user's alone, and others read along here. Allowed are "
            "memory/**/*.md: give the path as memory_search shows it."
        )


def _is_shared(path: str) -> bool:
    name = Workspace.plain_name(path)
    return name.lower() != "memory.md" and not is_session_path(name)
