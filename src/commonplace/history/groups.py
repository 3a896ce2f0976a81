"""Change group: changes made in several steps that are one entry of the history, and of `undo`."""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Collection, Iterable, Mapping
from typing import TYPE_CHECKING

from commonplace.history.causes import Cause, GroupId, find_group, finish_group
from commonplace.history.edits import replace_text
from commonplace.history.note_changes import Mutation
from commonplace.history.service import check_version

if TYPE_CHECKING:
    from commonplace.history.service import NoteService
    from commonplace.types import Change, Origin, Version

__all__ = ["ChangeGroup"]


class ChangeGroup:
    """Group of changes with one id: an import writes thousands of notes in steps that fit memory.

    Each step is atomic, durable, and found by the next search, like a change by itself. A process
    that dies leaves the steps that it made, under the same id.

        group = memory.change_group("import", origin=Origin("tool", tool="import"))
        for notes in batches:  # a dictionary of some dozens of texts by path
            group.write(notes)
        memory.undo(group.id)  # all of it, or a ConflictError, and none

    `Memory.history` has it as one entry, with the number of its notes, and the history of a note
    has each step.

    Args:
        notes: Changes the notes.
        change: Kind of the changes.
        origin: Author of the changes.
        name: Name by which a group that was not finished, because its process died, is continued
            under its number; see `finish`. None for one that nothing continues.

    Attributes:
        id: Number of the group, as `Memory.undo` takes it; None while nothing was changed.
    """

    def __init__(
        self,
        notes: NoteService,
        *,
        change: Change,
        origin: Origin | None,
        name: str | None = None,
    ) -> None:
        self.id: int | None = None if name is None else find_group(notes.log.file, name)
        self._name = name
        self._notes = notes
        self._change = change
        self._origin = origin

    def finish(self) -> None:
        """Finish the group: the next one of its name begins another."""
        if self.id is not None:
            finish_group(self._notes.log.file, self.id)

    def write(
        self,
        texts: Mapping[str, str],
        *,
        if_version: Mapping[str, str] | None = None,
        untrusted: Mapping[str, Collection[str]] | None = None,
    ) -> list[Version]:
        """Create or replace notes, all or none of them, in one step; see `Memory.write`.

        Args:
            texts: Whole texts by path. A note that has its text already is left as it is, and is
                not of the group.
            if_version: Versions that notes must have, by path.
            untrusted: Lines that are untrusted, whatever the group's origin is, by path.

        Returns:
            The versions, in the order of `texts`.
        """
        expected, distrusted = if_version or {}, untrusted or {}
        mutations = []
        with contextlib.ExitStack() as stack:
            for path, text in texts.items():
                name = self._notes.note_path(path)
                stack.enter_context(self._notes.folder_of(name))
                write = functools.partial(_written, name, text, expected.get(path))
                outside = frozenset(distrusted.get(path, ()))
                mutations.append(Mutation(name, write, untrusted=outside))
            return self._apply(mutations)

    def _apply(self, mutations: Iterable[Mutation]) -> list[Version]:
        group = GroupId(self.id, self._name)
        versions = self._notes.apply(list(mutations), Cause(self._change, self._origin, group))
        self.id = group.value
        return versions


def _written(path: str, text: str, if_version: str | None, before: bytes | None) -> bytes:
    check_version(path, before, if_version)
    return replace_text(before, text)
