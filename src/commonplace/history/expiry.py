"""Expiry: notes whose front matter says that they are expired go from the workspace to the history.

A search leaves such a note out from the moment on at which it expires. Each index run, at its end,
then deletes it: its text stays in the history, and the deletion can be undone as any other
change (with another `expires:`, or the next run deletes it again). Only notes below ``memory/`` are
swept, and none while no history is kept.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from datetime import datetime
from typing import TYPE_CHECKING

from commonplace.errors import CommonplaceError
from commonplace.history.causes import Cause
from commonplace.history.mutations import Mutator
from commonplace.history.note_changes import Mutation
from commonplace.text.front_matter import is_expired, read_front_matter
from commonplace.workspace.file_text import decode_text

if TYPE_CHECKING:
    from datetime import tzinfo

__all__ = ["ExpirySweeper"]


class ExpirySweeper:
    """Sweeper of the expired notes of one workspace.

    Args:
        mutator: Deletes the files.
        now: Returns the time.
        zone: Zone of the days; None for the machine's.
    """

    def __init__(
        self, mutator: Mutator, *, now: Callable[[], datetime], zone: tzinfo | None
    ) -> None:
        self._mutator = mutator
        self.now = now
        self._zone = zone

    def sweep(self, paths: Iterable[str]) -> list[tuple[str, str]]:
        """Delete expired notes; return ``(path, reason)`` of those that could not be deleted."""
        failed = []
        for path in paths:
            try:
                self._mutator.apply([Mutation(path, self._remaining)], Cause("expire"))
            except CommonplaceError as error:
                failed.append((path, f"it is expired and could not be deleted: {error}"))
        return failed

    def _remaining(self, before: bytes | None) -> bytes | None:
        """Return the bytes of a note that does not expire yet, as it is now on the disk."""
        if before is None:
            return None
        metadata = read_front_matter(decode_text(before)[0]).metadata
        return None if is_expired(metadata or {}, self.now().astimezone(self._zone)) else before
