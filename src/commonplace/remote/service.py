"""Note service of published notes: there are no folders to be made."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

from commonplace.history.service import NoteService

__all__ = ["PublishedNoteService"]


class PublishedNoteService(NoteService):
    """The notes of a memory whose folder another host has."""

    @contextlib.contextmanager
    def folder_of(self, path: str) -> Iterator[None]:
        """Make nothing: the host with the folder makes it with the note."""
        self._workspace.locate(path)
        yield
