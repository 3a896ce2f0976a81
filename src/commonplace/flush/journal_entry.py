"""Journal entry: messages that wait for their flush, as a row of the journal holds them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, cast, get_args

from commonplace.flush.messages import load_messages, load_replies
from commonplace.types import FlushMessage, FlushReason

if TYPE_CHECKING:
    from commonplace.flush.protocol import FlushReply

__all__ = ["DAMAGE", "ENTRY_COLUMNS", "EntryRow", "JournalEntry", "parse_entry"]

ENTRY_COLUMNS = ", ".join(
    f"CAST({name} AS BLOB)"
    for name in ("owner", "thread", "reason", "moment", "tokens", "messages", "replies", "attempts")
)
EntryRow = Sequence[Any]
"""Columns of an entry, as bytes."""
DAMAGE = (ValueError, TypeError, KeyError, IndexError, AttributeError)
"""What damaged texts, and JSON of another form, raise."""


@dataclass(frozen=True, slots=True)
class JournalEntry:
    """Messages of one conversation that are to be flushed.

    Attributes:
        id: Number; later entries have higher ones.
        thread: Conversation id.
        reason: Why they are flushed.
        moment: Time of the flush; the notes go to the log of this day.
        tokens: Token count of the messages.
        messages: The messages.
        replies: Replies of the model so far.
        attempts: Failed attempts so far.
    """

    id: int
    thread: str
    reason: FlushReason
    moment: datetime
    tokens: int
    messages: tuple[FlushMessage, ...]
    replies: tuple[FlushReply, ...] = ()
    attempts: int = 0


def parse_entry(number: int, row: EntryRow, *, mends: bool = False) -> JournalEntry:
    """Parse the columns of an entry; where `mends`, its messages are all that must be there."""

    def read(at: int, parse: Callable[[str], Any], otherwise: Any) -> Any:
        try:
            return parse((row[at] or b"").decode("utf-8", "replace" if mends else "strict"))
        except DAMAGE:
            if otherwise is None or not mends:
                raise
            return otherwise

    return JournalEntry(
        number,
        thread=read(1, str, ""),
        reason=read(2, _reason, "journal"),
        moment=read(3, datetime.fromisoformat, datetime.now(UTC)),
        tokens=read(4, int, 0),
        messages=read(5, load_messages, None),
        replies=read(6, load_replies, ()),
        attempts=read(7, int, 0),
    )


def _reason(text: str) -> FlushReason:
    if text not in get_args(FlushReason):
        raise ValueError(f"its reason is {text!r}")
    return cast("FlushReason", text)
