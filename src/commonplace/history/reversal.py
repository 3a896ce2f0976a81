"""Reversal of changes: the text of a note without them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from commonplace.errors import ConflictError
from commonplace.history.merge import OverlapError, revert
from commonplace.history.versions import content_hash
from commonplace.types import citation

if TYPE_CHECKING:
    from commonplace.history.versions import State, VersionLog
    from commonplace.types import Version

__all__ = ["text_without"]


def text_without(log: VersionLog, changes: Sequence[State], current: bytes | None) -> bytes | None:
    """Return the current bytes of a note without changes, the last one taken back first.

    Args:
        log: The versions.
        changes: States of the note after the changes, in their order.
        current: The bytes; None for a note that is gone.

    Raises:
        ConflictError: A later change touched the same lines, or a text of before is not known.
    """
    for state in reversed(changes):
        before = log.before(state)
        if before is None and state.version.change == "found":
            raise ConflictError(
                f"the history of {state.version.path} begins with version {state.version.id}: "
                "there is no text of before. Choose a later one.",
                version=state.version.hash,
            )
        old = log.text(before) if before is not None and before.exists else None
        new = log.text(state) if state.exists else None
        current = _reverted(state.version, old, new, current)
    return current


def _reverted(
    version: Version, old: bytes | None, new: bytes | None, current: bytes | None
) -> bytes | None:
    """Return the current bytes of a note without a change from `old` to `new`."""
    if current == new:
        return old
    known = "" if current is None else content_hash(current)
    if new is None or current is None:
        state = "there again" if current is not None else "not there any more"
        raise ConflictError(
            f"version {version.id} cannot be taken back: {version.path} is {state}.", version=known
        )
    try:
        merged = revert(old or b"", new, current)
    except OverlapError as error:
        place = citation(version.path, error.line, error.line)
        raise ConflictError(
            f"version {version.id} cannot be taken back: a later change touched the same lines "
            f"({place}). Take that one back first, or edit the note.",
            version=known,
        ) from error
    return merged if merged.strip() or old is not None else None
