"""Planner of a forgetting: from what a user names to the lines and notes that go."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import TYPE_CHECKING

from commonplace.errors import WorkspaceError
from commonplace.history.citations import CitationFinder
from commonplace.history.edits import FileCodec
from commonplace.history.forget_plan import FileEdit, ForgetPlan, planned_edits
from commonplace.history.forgotten_text import lines_holding
from commonplace.history.lines import line_key
from commonplace.workspace.paths import is_session_path, log_date, log_path
from commonplace.workspace.replacement import read_file

if TYPE_CHECKING:
    from commonplace.history.service import NoteService
    from commonplace.store.base import Store
    from commonplace.workspace.discovery import Workspace

__all__ = ["ForgetPlanner"]


class ForgetPlanner:
    """Planner of what is forgotten.

    Args:
        notes: The notes, with their history.
        workspace: The files.
        store: The index, which knows the lines that a citation was shown with.

    Attributes:
        unread: Why a note, or a folder of notes, was not read by the last `contents`, by path.
    """

    def __init__(self, notes: NoteService, workspace: Workspace, store: Store) -> None:
        self._notes = notes
        self._workspace = workspace
        self._store = store
        self.unread: dict[str, str] = {}

    def plan(
        self, *, path: str | None, citation: str | None, text: str | None, session: str | None
    ) -> ForgetPlan:
        """Return what goes with one of a note, cited lines, a text, or a conversation."""
        notes = self.contents()
        if path is not None:
            name = self._notes.note_path(path)
            self._check_read(name)
            names = tuple(dict.fromkeys([name, *self._earlier_names(name)]))
            gone = tuple(one for one in names if one == name or one not in notes)
            edits = planned_edits(notes, lambda *_: (), paths=gone)
            past = self._past_lines(gone)
            return ForgetPlan(edits, gone, _texts(edits, past))
        if citation is not None:
            finder = CitationFinder(self._notes, self._store, citation)
            self._check_read(finder.place.path)

            def cited(name: str, lines: list[str]) -> Iterable[int]:
                if name != finder.place.path:
                    return ()
                found = finder.find([line.rstrip("\r") for line in lines])
                return range(found.first - 1, found.last)

            if finder.place.path not in notes:
                finder.find([""])  # raises
            edits = planned_edits(notes, cited)
            return ForgetPlan(edits, (), _texts(edits))
        if text is not None:
            phrase = text.replace("\r\n", "\n").strip("\n")
            edits = planned_edits(notes, lambda _, lines: lines_holding(lines, phrase))
            return ForgetPlan(edits, (), _texts(edits), phrase)
        edits = planned_edits(notes, lambda name, lines: self._of_session(name, lines, session))
        edits = {
            name: replace(edit, deletes=self._is_all_of_session(name, notes[name], edit, session))
            for name, edit in edits.items()
        }
        return ForgetPlan(edits, (), _texts(edits), session=session, unread=tuple(self.unread))

    def contents(self) -> dict[str, bytes]:
        """Return the bytes of all notes that may be written, and can be read."""
        scan = self._workspace.scan()
        self.unread = {path: reason for path, reason in scan.problems if not is_session_path(path)}
        found = {}
        for path in sorted(file.path for file in scan.files if file.source == "memory"):
            if path in self._workspace.long_term_names() or path.startswith("memory/"):
                try:
                    data = read_file(self._workspace.locate(path))
                except OSError as error:
                    self.unread[path] = error.strerror or str(error)
                    continue
                if data is not None:
                    found[path] = data
        return found

    def _check_read(self, path: str) -> None:
        """Raise where a note that is named was not read, or its folder."""
        for place, reason in self.unread.items():
            if path == place or path.startswith(f"{place}/"):
                raise WorkspaceError(
                    f"{place} cannot be read ({reason}); nothing was forgotten. Give yourself "
                    "read access to it."
                )

    def _earlier_names(self, path: str) -> list[str]:
        versions = self._notes.log.history(path, limit=1 << 31)
        return [version.moved_from for version in versions if version.moved_from]

    def _past_lines(self, paths: Iterable[str]) -> Iterator[str]:
        for path in paths:
            for state in self._notes.log.states_of(path):
                if state.exists:
                    data = self._notes.log.text(state)
                    yield from FileCodec.of(data).decode(data).split("\n")

    def _of_session(self, path: str, lines: list[str], session: str | None) -> Iterator[int]:
        for at, origin in enumerate(self._notes.mutator.ledger.of_lines(path, lines)):
            if origin.session == session and line_key(lines[at]) is not None:
                yield at

    def _is_all_of_session(
        self, path: str, data: bytes, edit: FileEdit, session: str | None
    ) -> bool:
        """Return whether nothing would be left of a note but the title that an append gave it."""
        left = FileCodec.of(data).decode(edit.apply(data) or b"")
        said = [line.strip() for line in left.split("\n") if line_key(line)]
        if path == "MEMORY.md" or not said:
            return path != "MEMORY.md"
        day = log_date(path)
        if day is None or path != log_path(day) or said != [f"# {day.isoformat()}"]:
            return False
        return self._was_made_by(path, session)

    def _was_made_by(self, path: str, session: str | None) -> bool:
        """Return whether a conversation made a note; without its history, a user may have."""
        states = self._notes.log.states_of(path)
        since = list(itertools.takewhile(lambda state: state.exists, states))
        origin = since[-1].version.origin if since else None
        return origin is not None and origin.session == session


def _texts(edits: dict[str, FileEdit], more: Iterable[str] = ()) -> tuple[str, ...]:
    lines = (line for edit in edits.values() for line in edit.removed)
    return tuple(dict.fromkeys(line for line in (*lines, *more) if line.strip()))
