"""Messages at stake: which of them are new, how many they are, how a model is shown them. Pure."""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import replace
from datetime import datetime
from typing import Any

from commonplace.text.tokens import count_tokens
from commonplace.types import FlushMessage, ToolCall

__all__ = [
    "Marks",
    "from_json",
    "marks_of",
    "message_tokens",
    "portions",
    "rendered",
    "said",
    "to_json",
    "transcript_bytes",
    "unmarked",
]

_DISTINCTIVE_CHARS = 120
"""A text of this length is the same message wherever it stands; "yes" is not."""
_MESSAGE_TOKENS = 4
"""What a provider adds to a message for its role and its ends."""

Marks = tuple[bytes, bytes]
"""A message by itself, and behind the one before it."""


def said(messages: Iterable[FlushMessage]) -> tuple[FlushMessage, ...]:
    """Leave out what has no content, and the framework's own instructions."""
    return tuple(
        message
        for message in messages
        if message.role != "system" and (message.text.strip() or message.tool_calls)
    )


def marks_of(messages: Sequence[FlushMessage]) -> list[Marks]:
    """Hash role, text and tool calls of each message.

    Ids are left out: without a checkpointer, a caller sends the same messages under new ones.
    """
    alone = [_hash(_identity(message)) for message in messages]
    seen: Counter[bytes] = Counter()
    marks = []
    for index, own in enumerate(alone):
        placed = _hash(alone[index - 1] + own) if index else own
        seen[placed] += 1
        again = seen[placed]
        marks.append((own, placed if again == 1 else _hash(placed + str(again).encode())))
    return marks


def unmarked(messages: Sequence[FlushMessage], known: Collection[bytes]) -> list[int]:
    """Return the places of the messages that were not flushed before.

    A short message is known behind the same message only: a second "yes" answers another question.
    """
    return [
        index
        for index, (own, placed) in enumerate(marks_of(messages))
        if not (
            placed in known or (own in known and len(messages[index].text) >= _DISTINCTIVE_CHARS)
        )
    ]


def message_tokens(messages: Iterable[FlushMessage]) -> int:
    """Count the tokens of messages, tool calls included; estimate them before any `Flusher`."""
    return sum(count_tokens(_content(message)) + _MESSAGE_TOKENS for message in messages)


def transcript_bytes(messages: Iterable[FlushMessage]) -> int:
    """Count the bytes of messages in UTF-8, their tool calls included."""
    return sum(len(_content(message).encode("utf-8", "surrogatepass")) for message in messages)


def portions(
    messages: Sequence[FlushMessage],
    *,
    limit: int,
    count: Callable[[Iterable[FlushMessage]], int] = message_tokens,
) -> list[tuple[FlushMessage, ...]]:
    """Divide messages into runs of at most `limit` tokens; one that is larger is cut."""
    found: list[tuple[FlushMessage, ...]] = []
    run: list[FlushMessage] = []
    size = 0
    for message in messages:
        for piece in _pieces(message, limit=limit, count=count):
            tokens = count([piece])
            if run and size + tokens > limit:
                found.append(tuple(run))
                run, size = [], 0
            run.append(piece)
            size += tokens
    return [*found, tuple(run)] if run else found


def _pieces(
    message: FlushMessage, *, limit: int, count: Callable[[Iterable[FlushMessage]], int]
) -> Iterator[FlushMessage]:
    if count([message]) <= limit or len(message.text) < 2:
        yield message
        return
    half = len(message.text) // 2
    cut = message.text.rfind("\n", half // 2, half) + 1 or half
    yield from _pieces(replace(message, text=message.text[:cut]), limit=limit, count=count)
    rest = replace(message, text=message.text[cut:], tool_calls=())
    yield from _pieces(rest, limit=limit, count=count)


def rendered(messages: Iterable[FlushMessage]) -> str:
    """Write a conversation as a text that can be quoted to a model."""
    return "\n\n".join(map(_rendered, messages)).replace("</conversation", "<\\/conversation")


def _rendered(message: FlushMessage) -> str:
    who = {"user": "User", "assistant": "Assistant", "system": "System"}.get(message.role, "Tool")
    who = f"Tool {message.name}" if message.role == "tool" and message.name else who
    parts = [message.text.strip()] if message.text.strip() else []
    parts += [f"[calls {call.name}: {_compact(call.arguments)}]" for call in message.tool_calls]
    return f"{who}: " + "\n".join(parts)


def to_json(messages: Iterable[FlushMessage]) -> str:
    """Write messages for the journal."""
    return json.dumps([_as_dict(message) for message in messages])


def from_json(text: str) -> tuple[FlushMessage, ...]:
    """Read messages from the journal."""
    return tuple(_from_dict(values) for values in json.loads(text))


def _as_dict(message: FlushMessage) -> dict[str, Any]:
    return {
        "role": message.role,
        "text": message.text,
        "calls": [[call.name, _plain(call.arguments), call.id] for call in message.tool_calls],
        "call_id": message.call_id,
        "name": message.name,
        "at": message.at.isoformat() if message.at else None,
    }


def _from_dict(values: dict[str, Any]) -> FlushMessage:
    return FlushMessage(
        role=values["role"],
        text=values["text"],
        tool_calls=tuple(ToolCall(*call) for call in values["calls"]),
        call_id=values["call_id"],
        name=values["name"],
        at=datetime.fromisoformat(values["at"]) if values["at"] else None,
    )


def _content(message: FlushMessage) -> str:
    return message.text + "".join(
        call.name + _compact(call.arguments) for call in message.tool_calls
    )


def _identity(message: FlushMessage) -> bytes:
    calls = [[call.name, _compact(call.arguments)] for call in message.tool_calls]
    return json.dumps([message.role, message.text.strip(), calls]).encode("ascii")


def _compact(value: Any) -> str:
    try:
        return json.dumps(value, ensure_ascii=False, sort_keys=True, default=str)
    except (TypeError, ValueError):  # what a model sent may be anything
        return json.dumps(str(value))


def _plain(value: Any) -> Any:
    """Return a value as JSON can hold it."""
    return json.loads(_compact(value))


def _hash(data: bytes) -> bytes:
    return hashlib.blake2b(data, digest_size=16).digest()
