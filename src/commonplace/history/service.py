"""Note service: the notes of a workspace as objects that are written, changed and taken back."""

from __future__ import annotations

import contextlib
import errno
import functools
import os
import sys
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from datetime import date, datetime, tzinfo
from pathlib import Path
from typing import TYPE_CHECKING

from commonplace.errors import ConflictError, PathNotAllowedError
from commonplace.history.causes import Cause, GroupId, finish_group
from commonplace.history.edits import replace_passage, replace_text
from commonplace.history.note_changes import Mutation, NoteMutator
from commonplace.history.reversal import text_without
from commonplace.history.versions import State, content_hash
from commonplace.renderers import brief
from commonplace.system.waits import bounded_waits
from commonplace.types import checked_text
from commonplace.workspace.dates import parse_moment
from commonplace.workspace.file_text import FileText, Folder, UnreadableFileError, decode_text
from commonplace.workspace.notes import check_spelling, create_folder

if TYPE_CHECKING:
    from commonplace.types import Change, Excerpt, Origin, SearchResult, Version
    from commonplace.workspace.discovery import Workspace

__all__ = ["NoteService"]

_SHOWN = 300
_IGNORES_CASE = sys.platform in ("darwin", "win32")
"""Whether the usual file systems find a file under names that differ in case."""


class NoteService:
    """The notes of one workspace: mutations, and the versions that they leave.

    Args:
        workspace: The files.
        mutator: Changes files, and keeps their versions.
        index_files: Brings the index up to date with some files.
        zone: Zone of the days; None for the machine's.

    Attributes:
        log: The versions.
        shown: What was shown last, for citations of it, and the paths that were changed meanwhile.
    """

    def __init__(
        self,
        workspace: Workspace,
        mutator: NoteMutator,
        *,
        index_files: Callable[[list[str]], object],
        zone: tzinfo | None,
    ) -> None:
        self._workspace = workspace
        self._index_files = index_files
        self._zone = zone
        self.mutator = mutator
        self.log = mutator.log
        self.shown: deque[SearchResult | Excerpt | str] = deque(maxlen=_SHOWN)

    # -- verbs -----------------------------------------------------------------------------------

    def paths(self, prefix: str) -> list[str]:
        """Return the paths of the notes that begin with a prefix, sorted."""
        files = self._workspace.scan().files
        return sorted(
            file.path
            for file in files
            if file.source == "memory" and file.path.startswith(prefix.removeprefix("./"))
        )

    def write(
        self, path: str, text: str, *, if_version: str | None, origin: Origin | None
    ) -> Version:
        """Create a note, or replace the whole of it."""

        def compute(before: bytes | None) -> bytes:
            check_version(path, before, if_version)
            return replace_text(before, text)

        with _kept(text):
            return self._change(path, compute, change="write", origin=origin, creates=True)

    def edit(
        self, path: str, old: str, new: str, *, if_version: str | None, origin: Origin | None
    ) -> Version:
        """Replace the one place where a passage stands."""

        def compute(before: bytes | None) -> bytes:
            check_version(path, before, if_version)
            quoted = self.mutator.ledger.quoted(self.note_path(path))
            return replace_passage(path, there(path, before), old, new, quoted=quoted)

        with _kept(new):
            return self._change(path, compute, change="edit", origin=origin)

    def delete(self, path: str, *, if_version: str | None, origin: Origin | None) -> Version:
        """Delete a note; its text stays in the history."""

        def compute(before: bytes | None) -> None:
            check_version(path, before, if_version)
            there(path, before)

        return self._change(path, compute, change="delete", origin=origin)

    def move(
        self,
        path: str,
        to: str,
        *,
        if_version: str | None,
        origin: Origin | None,
        change: Change = "move",
    ) -> Version:
        """Move a note to a path where there is none."""
        name, target = self.note_path(path), self.note_path(to)

        def compute(before: bytes | None) -> bytes:
            check_version(path, before, if_version)
            if target == name or self._workspace.exists(target):
                held = self.read(target)
                raise ConflictError(
                    f"{to} is there already; nothing was moved. Choose another path, or delete it.",
                    version=content_hash(held.data) if held else "",
                )
            return there(path, before)

        with self.folder_of(target):
            return self.apply([Mutation(name, compute, target)], Cause(change, origin))[0]

    def history(self, path: str | None, *, limit: int) -> list[Version]:
        """Return the versions of a note, or of all, newest first."""
        if not isinstance(limit, int) or limit < 1:
            raise ValueError(f"limit is {brief.repr(limit)}; it must be a whole number, 1 or more.")
        name = None if path is None else self._workspace.plain_name(checked_text("path", path))
        found = self.log.history(name, limit=limit)
        if name is not None and not found:
            _check_no_folder(name, self._workspace.locate(name))
            _check_unlike(self._workspace.root, name)
        return found

    def undo(self, version_id: int, *, origin: Origin | None) -> Version:
        """Take a change back where nothing later touched the same lines."""
        grouped = self.log.group(version_id)
        states = grouped or self.log.batch(version_id)
        if not states:
            raise ValueError(f"there is no version {version_id}; 'history' lists all of them.")
        moved = next((state.version for state in states if state.version.moved_from), None)
        if moved is not None and moved.moved_from is not None:
            back = moved.moved_from
            return self.move(moved.path, back, if_version=None, origin=origin, change="undo")
        by_path: dict[str, list[State]] = {}
        for state in states:
            by_path.setdefault(state.version.path, []).append(state)
        with contextlib.ExitStack() as stack:
            for path in by_path:  # a folder may be gone with its last note
                stack.enter_context(self.folder_of(path))
            undone = self.apply(
                [
                    Mutation(path, functools.partial(text_without, self.log, changes))
                    for path, changes in by_path.items()
                ],
                Cause("undo", origin, GroupId() if grouped else None),
            )
        if grouped:
            finish_group(self.log.file, version_id)
        return replace(undone[0], notes=len(undone) if grouped else 1)

    def text_at(self, path: str, as_of: date | datetime | str) -> FileText:
        """Return a note as it was at a time.

        A note that was there when its history began counts as having been so before.

        Raises:
            FileNotFoundError: It was not there.
            ValueError: The time is none.
        """
        moment = parse_moment(as_of, timezone=self._zone)
        states = self.log.states_of(path)
        if not states:  # never met
            return self._workspace.read(path)
        state = next((one for one in states if one.version.when <= moment), None)
        if state is None and states[-1].version.change == "found":
            state = states[-1]
        if state is None or not state.exists:
            raise FileNotFoundError(path)
        data = self.log.text(state)
        text, note = decode_text(data)
        return FileText(text, len(data), 0, note, data)

    # -- how -------------------------------------------------------------------------------------

    def _change(
        self,
        path: str,
        compute: Callable[[bytes | None], bytes | None],
        *,
        change: Change,
        origin: Origin | None,
        creates: bool = False,
    ) -> Version:
        name = self.note_path(path)
        with self.folder_of(name) if creates else contextlib.nullcontext():
            return self.apply([Mutation(name, compute)], Cause(change, origin))[0]

    def apply(self, mutations: Sequence[Mutation], cause: Cause) -> list[Version]:
        """Change notes, all or none of them, and index them; return their versions."""
        if cause.origin is not None:
            cause = cause._replace(origin=self.mutator.ledger.effective(cause.origin))
        with bounded_waits():
            states = self.mutator.apply(mutations, cause)
            self.shown.extend(one.path for one in mutations)
            self._index_files([p for m in mutations for p in (m.target, m.path) if p])
        for one in mutations:  # what was not indexed
            self.mutator.replaced.pop(one.path, None)
        return [state.version for state in states]

    def note_path(self, path: str) -> str:
        """Return the path of a note that may be written: MEMORY.md, or one below memory/.

        Raises:
            PathNotAllowedError: It is another path, or crosses a link; or there is a folder of this
                name, or a name that differs from it in case or Unicode form only.
        """
        space = self._workspace
        name = space.plain_name(checked_text("path", path))
        if name == "MEMORY.md":
            name = space.long_term_path
        elif name not in space.long_term_names() and not name.startswith("memory/"):
            raise PathNotAllowedError(
                f"{path!r} is no note of this memory. Allowed are MEMORY.md and memory/**/*.md."
            )
        place = space.locate(name)
        _check_length(place)
        _check_no_folder(path, place)
        if _IGNORES_CASE or not os.path.lexists(place):
            _check_unlike(space.root, name)
        return name

    def read(self, path: str) -> FileText | None:
        """Return a note as it is; None where it cannot be read, or is not there."""
        try:
            return self._workspace.read(path)
        except (OSError, UnreadableFileError):
            return None

    @contextlib.contextmanager
    def folder_of(self, path: str) -> Iterator[None]:
        """Make the folder of a new note; it goes again when the note is not written."""
        self._workspace.check_there()  # a folder made in its place would pass for all there is
        place = self._workspace.locate(path)
        missing = [folder for folder in place.parents if not os.path.lexists(folder)]
        try:
            create_folder(place.parent)
            yield
        except BaseException:
            for folder in missing:
                with contextlib.suppress(OSError), Folder(folder.parent) as parent:
                    parent.remove(folder.name)
            raise


@contextlib.contextmanager
def _kept(text: str) -> Iterator[None]:
    """Add a caller's text to the error by which it is refused."""
    try:
        yield
    except ConflictError as error:
        error.text = text
        raise


def check_version(path: str, before: bytes | None, if_version: str | None) -> None:
    """Raise a `ConflictError` where a note is not in the expected state."""
    if if_version is None:
        return
    found = "" if before is None else content_hash(before)
    if found == if_version:
        return
    if before is None:
        reason = f"{path} is not there any more"
    elif not if_version:
        reason = f"{path} is there already"
    else:
        reason = f"{path} was changed since it was read"
    raise ConflictError(
        f"{reason}: its version is {found or 'empty'}, and {if_version or 'none'} was expected. "
        "Nothing was written; read it again.",
        version=found,
    )


def there(path: str, before: bytes | None) -> bytes:
    if before is None:
        raise ConflictError(
            f"there is no note {path}; nothing was changed. Give the path as search shows it."
        )
    return before


def _check_no_folder(path: str, place: Path) -> None:
    if os.path.isdir(place):
        raise PathNotAllowedError(f"{path} is a folder; a note is a file. Choose another path.")


def _check_length(place: Path) -> None:
    try:
        os.lstat(place)
    except OSError as error:
        if error.errno == errno.ENAMETOOLONG:
            raise PathNotAllowedError(
                f"the name of {place.name[:80]}… is too long: {len(os.fsencode(place.name)):,} "
                f"bytes, in a path of {len(os.fsencode(place)):,}; most disks take 255, in a path "
                "of 4,095. Choose a shorter one."
            ) from error


def _check_unlike(root: Path, path: str) -> None:
    """Raise where a name on the way differs from one that is there in case or Unicode form only."""
    folder, above = root, list[str]()
    for part in path.split("/"):
        try:
            names = os.listdir(folder)
        except OSError:
            return
        if part not in names:
            check_spelling(path, above, part, names)
            return
        above.append(part)
        folder = folder / part
