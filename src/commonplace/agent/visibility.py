"""Visibility of a memory: a view without private files, for conversations of several readers."""

from __future__ import annotations

from collections.abc import Collection
from datetime import date, datetime
from typing import TYPE_CHECKING, Protocol

from commonplace.errors import PathNotAllowedError
from commonplace.workspace.privacy import is_private

if TYPE_CHECKING:
    from commonplace.settings import Settings
    from commonplace.types import Excerpt, Origin, SearchResults, Source, Version
    from commonplace.workspace.discovery import Workspace

__all__ = ["AgentMemory", "SharedMemory", "visible_memory"]

_LONG_TERM = ("MEMORY.md", "memory.md", "USER.md")
_ROUNDS = 12
"""Searches for one answer, at most: each leaves out the private files that the last one met."""
_MORE = 4
"""Factor by which each of them fetches more."""


class AgentMemory(Protocol):
    """Part of `Memory` that the tools and the recall use."""

    @property
    def settings(self) -> Settings:
        """Settings of the memory."""

    @property
    def workspace(self) -> Workspace:
        """Folder of the memory."""

    def now(self) -> datetime:
        """Return the time, in the zone of the logs' days."""

    def search(
        self,
        query: str,
        *,
        max_results: int | None = None,
        max_chars: int | None = None,
        min_score: float | None = None,
        sources: Collection[Source] | None = None,
        exclude: Collection[str] = (),
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
    """View of a memory without the files that are the user's alone: see `is_private`."""

    def __init__(self, memory: AgentMemory) -> None:
        self._memory = memory

    @property
    def settings(self) -> Settings:
        """Settings of the memory."""
        return self._memory.settings

    @property
    def workspace(self) -> Workspace:
        """Folder of the memory."""
        return self._memory.workspace

    def now(self) -> datetime:
        """Return the time, in the zone of the logs' days."""
        return self._memory.now()

    def search(
        self,
        query: str,
        *,
        max_results: int | None = None,
        max_chars: int | None = None,
        min_score: float | None = None,
        sources: Collection[Source] | None = None,
        exclude: Collection[str] = (),
    ) -> SearchResults:
        """Return the snippets of logs and other shared notes that answer a query."""
        from commonplace.retrieval.snippets import within_budget  # loads numpy

        settings = self.settings.search
        limit = settings.max_results if max_results is None else max_results
        chars = settings.max_chars if max_chars is None else max_chars
        wanted: list[Source] = ["memory"] if sources is None or "memory" in sources else []
        hidden = {*_LONG_TERM, *exclude}
        for round_number in range(_ROUNDS):
            found = self._memory.search(
                query,
                max_chars=chars * _MORE**round_number,
                min_score=min_score,
                sources=wanted,
                exclude=hidden,
            )
            private = {path for path in {hit.path for hit in found} if self._hides(path)}
            if not private:
                break
            hidden |= private
        shared = within_budget((hit for hit in found if hit.path not in private), chars)[:limit]
        found[:] = shared
        return found

    def get(self, path: str, *, from_line: int | None = None, lines: int | None = None) -> Excerpt:
        """Return lines of a log or another shared note.

        Raises:
            PathNotAllowedError: The file is private, or it is not a file of the memory.
        """
        self._check_shared(path)
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
            self._check_shared(path)
        return self._memory.append(text, path=path, when=when, origin=origin)

    def record_exposure(self, session: str) -> None:
        """Record that a conversation was shown untrusted lines."""
        self._memory.record_exposure(session)

    def edit(self, path: str, old: str, new: str, *, origin: Origin | None = None) -> Version:
        """Replace a passage of a shared note; `PathNotAllowedError` where the note is private."""
        self._check_shared(path)
        return self._memory.edit(path, old, new, origin=origin)

    def correct(self, citation: str, text: str, *, origin: Origin | None = None) -> Version:
        """Correct lines of a shared note; `PathNotAllowedError` where the note is private."""
        self._check_shared(citation.partition("#")[0])
        return self._memory.correct(citation, text, origin=origin)

    def delete(self, path: str, *, origin: Origin | None = None) -> Version:
        """Delete a shared note; `PathNotAllowedError` where the note is private."""
        self._check_shared(path)
        return self._memory.delete(path, origin=origin)

    def _check_shared(self, path: str) -> None:
        if is_private(self.workspace, path):
            raise PathNotAllowedError(
                f"{path!r} is the user's alone, and others read along here. Allowed are other "
                "memory/**/*.md: give the path as memory_search shows it."
            )

    def _hides(self, path: str) -> bool:
        """Return whether a file that search found is left out: it may be gone, or moved."""
        try:
            return is_private(self.workspace, path, missing=True)
        except PathNotAllowedError:
            return True
