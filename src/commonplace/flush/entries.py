"""Entries of the flush journal: their columns, and the checksums by which damage is noticed."""

from __future__ import annotations

import json
import re
import zlib
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, cast, get_args

from commonplace.flush.messages import dump_messages, dump_replies, load_messages, load_replies
from commonplace.flush.protocol import FlushReply
from commonplace.types import FlushMessage, FlushReason

__all__ = [
    "DAMAGE",
    "ENTRY_COLUMNS",
    "EntryRow",
    "JournalEntry",
    "checked_reason",
    "entry_values",
    "parse_entry",
    "undamaged_columns",
]

_NAMES = ("thread", "reason", "moment", "tokens", "messages", "replies", "attempts", "workspace")
"""Columns with a checksum, in the order of the checksums."""
_MESSAGES = _NAMES.index("messages")
ENTRY_COLUMNS = ", ".join(f"CAST({name} AS BLOB)" for name in ("owner", *_NAMES, "checksums"))
EntryRow = Sequence[Any]
"""Columns of an entry, as bytes."""
DAMAGE = (ValueError, TypeError, KeyError, IndexError, AttributeError, RecursionError)
"""What damaged texts, and JSON of another form, raise."""
_MESSAGE = re.compile(r'\{"role"')


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

    def __post_init__(self) -> None:
        checked_reason(self.reason)


def entry_values(entry: JournalEntry, workspace: str) -> dict[str, str | int]:
    """Return the columns of an entry, but for its number, its lease and its last error."""
    texts = [
        *(entry.thread, entry.reason, entry.moment.isoformat(), str(entry.tokens)),
        *(dump_messages(entry.messages), dump_replies(entry.replies), str(entry.attempts)),
        workspace,
    ]
    values: dict[str, str | int] = dict(zip(_NAMES, texts, strict=True))
    sums: list[Any] = [_checksum(text) for text in texts]
    sums[_MESSAGES] = [_checksum(json.dumps(one)) for one in json.loads(texts[_MESSAGES])]
    return values | {"checksums": json.dumps(sums)}


def parse_entry(number: int, row: EntryRow, *, mends: bool = False) -> JournalEntry:
    """Parse the columns of an entry.

    Args:
        number: Its number.
        row: Its columns, `ENTRY_COLUMNS`.
        mends: Whether one that is damaged is parsed as far as its columns are what was written: of
            its messages, one at least must be.

    Raises:
        ValueError: It is damaged; others of `DAMAGE`, too.
    """
    texts = [(value or b"").decode("utf-8", "replace") for value in row[1:-1]]
    sums = _checksums(row[-1], mends=mends)
    wrong = {at for at, text in enumerate(texts) if sums and not _fits(text, sums[at])}
    if not mends:
        for value in row[1:-1]:
            (value or b"").decode("utf-8")
        if wrong:
            raise ValueError(f"its {_NAMES[min(wrong)]} is not as it was written")

    def read(at: int, parse: Callable[[str], Any], otherwise: Any) -> Any:
        if not mends:
            return parse(texts[at])
        try:
            return otherwise if at in wrong else parse(texts[at])
        except DAMAGE:
            return otherwise

    if _MESSAGES in wrong:
        messages = tuple(_readable(texts[_MESSAGES], sums[_MESSAGES]))
    else:
        messages = load_messages(texts[_MESSAGES])
    if mends and not messages:
        raise ValueError("none of its messages can be read")
    return JournalEntry(
        number,
        thread=read(0, str, ""),
        reason=read(1, checked_reason, "journal"),
        moment=read(2, datetime.fromisoformat, datetime.now(UTC)),
        tokens=read(3, int, 0),
        messages=messages,
        replies=read(5, load_replies, ()),
        attempts=read(6, int, 0),
    )


def undamaged_columns(row: EntryRow) -> dict[str, str]:
    """Return the columns of an entry that are as they were written, by name."""
    texts = [(value or b"").decode("utf-8", "replace") for value in row[1:-1]]
    sums = _checksums(row[-1], mends=True)
    named = enumerate(zip(_NAMES, texts, strict=True))
    return {name: text for at, (name, text) in named if sums and _fits(text, sums[at])}


def _checksums(data: bytes | None, *, mends: bool) -> list[Any]:
    """Return the checksums of a row; none for one of an earlier version, or one that was edited."""
    if not data:
        return []
    try:
        sums = json.loads(data)
        if isinstance(sums, list) and len(sums) == len(_NAMES):
            return sums
        raise ValueError("its checksums are not as they were written")
    except DAMAGE:
        if mends:
            return []
        raise


def _fits(text: str, checksum: Any) -> bool:
    if not isinstance(checksum, list):
        return bool(_checksum(text) == checksum)
    try:
        return [_checksum(json.dumps(one)) for one in json.loads(text)] == checksum
    except DAMAGE:
        return False


def _readable(text: str, sums: Any) -> Iterator[FlushMessage]:
    """Yield the messages of a damaged list that are as they were written."""
    decoder = json.JSONDecoder()
    wanted: Collection[Any] = sums if isinstance(sums, list) else ()
    for match in _MESSAGE.finditer(text):
        try:
            value, _ = decoder.raw_decode(text, match.start())
            if _checksum(json.dumps(value)) in wanted:
                yield from load_messages(json.dumps([value]))
        except DAMAGE:
            continue


def _checksum(text: str) -> int:
    return zlib.crc32(text.encode("utf-8", "surrogatepass"))


def checked_reason(text: str) -> FlushReason:
    """Return the reason of a flush, if it is one."""
    if text not in get_args(FlushReason):
        raise ValueError(f"the reason is {text!r}; known are {', '.join(get_args(FlushReason))}.")
    return cast("FlushReason", text)
