"""Changes of notes: what is asked of a mutator, whether it has the folder or not."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, NamedTuple, Protocol

from commonplace.history.versions import State, content_hash
from commonplace.types import Version
from commonplace.workspace.file_text import decode_text
from commonplace.workspace.paths import log_date

if TYPE_CHECKING:
    from commonplace.history.causes import Cause
    from commonplace.history.ledger import OriginLedger
    from commonplace.history.versions import VersionLog

__all__ = ["InboxEntry", "Mutation", "NoteMutator", "texts_of_change", "unkept_state"]


@dataclass(frozen=True, slots=True)
class Mutation:
    """Change of one note.

    Attributes:
        path: The note.
        compute: Returns the new bytes of the file, None for none, from the ones it has.
        target: New path of a note that is moved.
        untrusted: Lines that are untrusted, whatever the origin of the change is.
    """

    path: str
    compute: Callable[[bytes | None], bytes | None]
    target: str | None = None
    untrusted: frozenset[str] = frozenset()


class InboxEntry(NamedTuple):
    """Entry of the inbox that a change comes from.

    Attributes:
        key: What tells it from all others.
        when: Time of the change, aware.
    """

    key: str
    when: datetime


class NoteMutator(Protocol):
    """What changes notes: in the folder (`Mutator`), or those that another host published."""

    log: VersionLog
    ledger: OriginLedger
    replaced: dict[str, bytes]

    def apply(self, mutations: Sequence[Mutation], cause: Cause) -> list[State]:
        """Change notes, all or none of them; return their new states; see `Mutator.apply`."""


def texts_of_change(path: str, before: bytes | None, after: bytes | None) -> tuple[str, str]:
    """Return the texts of a note before and after a change, whose author the new lines get.

    The heading that a new log begins with is of no author.
    """
    old, new = (decode_text(data or b"")[0] for data in (before, after))
    day = log_date(path)
    if before is None and day is not None and new.startswith(title := f"# {day.isoformat()}\n"):
        old = title
    return old, new


def unkept_state(path: str, data: bytes | None, at: datetime) -> State:
    """Return the state of a note that was not changed, and of which no text is kept."""
    known = "" if data is None else content_hash(data)
    return State(0, 0, Version(0, path, at, "found", size=len(data or b""), hash=known))
