"""Messages of a conversation: fingerprints, token counts, splitting, rendering, JSON."""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import replace
from datetime import datetime
from typing import Any

from commonplace.flush.protocol import FlushReply
from commonplace.text.tokens import count_tokens
from commonplace.types import FlushMessage, ToolCall

__all__ = [
    "Fingerprinter",
    "Fingerprints",
    "dump_messages",
    "dump_replies",
    "flushable_messages",
    "load_messages",
    "load_replies",
    "message_tokens",
    "new_positions",
    "render_conversation",
    "split_by_tokens",
    "split_for_window",
    "transcript_bytes",
]

_DISTINCTIVE_CHARS = 120
"""A text of this length identifies a message by itself, wherever it is; a "yes" does not."""
_SMALLEST_WINDOW = 4_000
"""Context window, in tokens, that is assumed at least when messages are split."""
_MESSAGE_TOKENS = 4
"""Tokens that a provider adds to a message for its role and its delimiters."""

_NAME_CHARS = 60
"""Characters of a speaker's name that are shown to the model."""

Fingerprints = tuple[bytes, bytes]
"""Hash of a message by itself, and hash of the message together with the one before it."""


def flushable_messages(messages: Iterable[FlushMessage]) -> tuple[FlushMessage, ...]:
    """Return the messages with content, without the framework's system messages."""
    return tuple(
        message
        for message in messages
        if message.role != "system" and (message.text.strip() or message.tool_calls)
    )


class Fingerprinter:
    """Fingerprints of a conversation that grows: what is behind it is hashed without its beginning.

    Role, text and tool calls are hashed. Ids are left out: without a checkpointer, a caller sends
    the same messages under new ids.
    """

    def __init__(self) -> None:
        self._last = b""
        self._seen: Counter[bytes] = Counter()

    def following(self, messages: Iterable[FlushMessage]) -> list[Fingerprints]:
        """Return the fingerprints of messages behind those of before."""
        added: Counter[bytes] = Counter()
        found = []
        for own, placed in self._pairs(messages):
            added[placed] += 1
            again = self._seen[placed] + added[placed]
            found.append((own, placed if again == 1 else _hash(placed + str(again).encode())))
        return found

    def extend(self, messages: Iterable[FlushMessage]) -> None:
        """Count messages among those of before."""
        for own, placed in self._pairs(messages):
            self._last = own
            self._seen[placed] += 1

    def _pairs(self, messages: Iterable[FlushMessage]) -> Iterator[Fingerprints]:
        last = self._last
        for message in messages:
            own = _hash(_identity(message))
            yield own, _hash(last + own) if last else own
            last = own


def new_positions(
    messages: Sequence[FlushMessage], hashes: Iterable[Fingerprints], known: Collection[bytes]
) -> list[int]:
    """Return the positions of the messages whose fingerprints are not known.

    A short message counts as known only behind the same message: a second "yes" answers another
    question.
    """
    return [
        index
        for index, (own, placed) in enumerate(hashes)
        if not (
            placed in known or (own in known and len(messages[index].text) >= _DISTINCTIVE_CHARS)
        )
    ]


def message_tokens(messages: Iterable[FlushMessage]) -> int:
    """Count the tokens of messages, tool calls included; an estimate until a `Flusher` is made."""
    return sum(count_tokens(_counted_text(message)) + _MESSAGE_TOKENS for message in messages)


def transcript_bytes(messages: Iterable[FlushMessage]) -> int:
    """Count the bytes of messages in UTF-8, their tool calls included."""
    return sum(len(_counted_text(message).encode("utf-8", "surrogatepass")) for message in messages)


def split_for_window(
    messages: Sequence[FlushMessage], *, window: int
) -> list[tuple[FlushMessage, ...]]:
    """Split messages that exceed a context window, in tokens; keep all others together."""
    window = max(window, _SMALLEST_WINDOW)
    if message_tokens(messages) <= window:
        return [tuple(messages)]
    return split_by_tokens(messages, limit=window * 3 // 4)


def split_by_tokens(
    messages: Sequence[FlushMessage],
    *,
    limit: int,
    count: Callable[[Iterable[FlushMessage]], int] = message_tokens,
) -> list[tuple[FlushMessage, ...]]:
    """Split messages into runs of at most `limit` tokens; a larger message is cut."""
    found: list[tuple[FlushMessage, ...]] = []
    run: list[FlushMessage] = []
    size = 0
    for message in messages:
        for part in _split_message(message, limit=limit, count=count):
            tokens = count([part])
            if run and size + tokens > limit:
                found.append(tuple(run))
                run, size = [], 0
            run.append(part)
            size += tokens
    return [*found, tuple(run)] if run else found


def _split_message(
    message: FlushMessage, *, limit: int, count: Callable[[Iterable[FlushMessage]], int]
) -> Iterator[FlushMessage]:
    if count([message]) <= limit or len(message.text) < 2:
        yield message
        return
    half = len(message.text) // 2
    cut = message.text.rfind("\n", half // 2, half) + 1 or half
    yield from _split_message(replace(message, text=message.text[:cut]), limit=limit, count=count)
    rest = replace(message, text=message.text[cut:], tool_calls=())
    yield from _split_message(rest, limit=limit, count=count)


def render_conversation(messages: Iterable[FlushMessage]) -> str:
    """Render a conversation as text that can be quoted to a model inside ``<conversation>``."""
    text = "\n\n".join(map(_render_message, messages))
    return text.replace("</conversation", "<\\/conversation")


def _render_message(message: FlushMessage) -> str:
    speaker = {"user": "User", "assistant": "Assistant", "system": "System"}.get(
        message.role, "Tool"
    )
    if name := " ".join(message.name.split())[:_NAME_CHARS]:
        speaker = f"{speaker} {name}"
    parts = [message.text.strip()] if message.text.strip() else []
    parts += [f"[calls {call.name}: {_compact(call.arguments)}]" for call in message.tool_calls]
    return f"{speaker}: " + "\n".join(parts)


def dump_messages(messages: Iterable[FlushMessage]) -> str:
    """Serialize messages as JSON for the journal."""
    return json.dumps([_as_dict(message) for message in messages])


def load_messages(text: str) -> tuple[FlushMessage, ...]:
    """Parse messages from the journal's JSON."""
    return tuple(_from_dict(values) for values in json.loads(text))


def dump_replies(replies: Iterable[FlushReply]) -> str:
    """Serialize replies as assistant messages, each with whether the tool was offered."""
    messages = [(FlushMessage("assistant", r.text, r.tool_calls), r.offered_tool) for r in replies]
    return json.dumps([[dump_messages([message]), offered] for message, offered in messages])


def load_replies(text: str) -> tuple[FlushReply, ...]:
    """Parse replies from the journal's JSON."""
    replies = []
    for data, offered in json.loads(text):
        (message,) = load_messages(data)
        replies.append(FlushReply(message.text, message.tool_calls, offered))
    return tuple(replies)


def _as_dict(message: FlushMessage) -> dict[str, Any]:
    return {
        "role": message.role,
        "text": message.text,
        "calls": [[call.name, _json_value(call.arguments), call.id] for call in message.tool_calls],
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


def _counted_text(message: FlushMessage) -> str:
    return message.text + "".join(
        call.name + _compact(call.arguments) for call in message.tool_calls
    )


def _identity(message: FlushMessage) -> bytes:
    calls = [[call.name, _compact(call.arguments)] for call in message.tool_calls]
    return json.dumps([message.role, message.text.strip(), calls]).encode("ascii")


def _compact(value: Any) -> str:
    """Return a value as compact JSON; tool arguments may be any object of any model."""
    try:
        return json.dumps(value, ensure_ascii=False, sort_keys=True, default=str)
    except (TypeError, ValueError):
        return json.dumps(str(value))


def _json_value(value: Any) -> Any:
    """Return a value reduced to what JSON can hold."""
    return json.loads(_compact(value))


def _hash(data: bytes) -> bytes:
    return hashlib.blake2b(data, digest_size=16).digest()
