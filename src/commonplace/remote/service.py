"""Note service of published notes: there are no folders to be made."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

from commonplace.errors import PathNotAllowedError
from commonplace.history.service import NoteService

__all__ = ["PublishedNoteService"]


class PublishedNoteService(NoteService):
    """The notes of a memory whose folder another host has."""

    def note_path(self, path: str) -> str:
        """Return the path of a note that may be written; see `NoteService`."""
        name = super().note_path(path)
        folder = name
        while folder := folder.rpartition("/")[0]:
            if folder.endswith(".md") and self._workspace.exists(folder):
                raise PathNotAllowedError(
                    f"{folder} is a note; a folder was expected there. Choose another path."
                )
        return name

    @contextlib.contextmanager
    def folder_of(self, path: str) -> Iterator[None]:
        """Make nothing: the host with the folder makes it with the note."""
        self._workspace.locate(path)
        yield
