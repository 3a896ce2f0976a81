"""Message formats of transcripts: speaker, text and time of a record.

Four formats are parsed: OpenClaw's ``{"type": "message", "message": {"role", "content"}}``,
LangChain's ``messages_to_dict`` and `dumps`, LlamaIndex's `ChatMessage`, and plain
``{"role", "content"}``.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, tzinfo
from typing import Any

from commonplace.text.redaction import redact

__all__ = ["TranscriptMessage", "messages_in", "moment_of"]

_SPEAKERS = {
    **dict.fromkeys(("user", "human", "HumanMessage", "HumanMessageChunk"), "User"),
    **dict.fromkeys(
        ("assistant", "ai", "AIMessage", "AIMessageChunk", "chatbot", "model"), "Assistant"
    ),
}
_TEXTS = frozenset(("text", "input_text", "output_text"))
_MOMENTS = ("timestamp", "created_at", "createdAt", "date")
_MILLISECONDS = 1e11
"""Timestamps above it are in milliseconds: in seconds it is the year 5138."""

_SILENT = re.compile(r"[\s*_`\"'(\[]*(?:NO_REPLY|HEARTBEAT_OK)[\s.!*_`\"')\]]*")
_SILENT_END = re.compile(r"\n[\s*_`]*(?:NO_REPLY|HEARTBEAT_OK)[\s.*_`]*\Z")
_AUTOMATIC = re.compile(
    r"\s*(?:Pre-compaction memory flush"
    r"|The part of the conversation that is about to be compacted:"
    r"|Your reply is read by nobody and was not stored\."
    r"|You have no tool: reply with the note itself"
    r"|Read HEARTBEAT\.md if it exists"
    r"|A new session was started via /(?:new|reset)"
    r"|System: \[|\[cron:)"
)
"""Beginnings of messages without a human author: prompts of flushes, heartbeats, timers."""
_RECALLED = re.compile(
    r"\[Recalled from memory for this message:[^\]]*\]\n?"
    r"(?:[ \t]*(?:>[^\n]*|\S+#L\d+[^\n]*)?(?:\n|\Z))*"
)
"""Notes that recall quoted to a model. Indexed again, they would be found twice."""
_UNFIT = re.compile("[\0\ud800-\udfff]")


@dataclass(frozen=True, slots=True)
class TranscriptMessage:
    """A message: speaker (``User`` or ``Assistant``), and text on one line, secrets masked."""

    speaker: str
    text: str

    def __str__(self) -> str:
        return f"{self.speaker}: {self.text}"


def messages_in(
    value: Any, *, filters_noise: bool = True, personal: bool = False
) -> Iterator[TranscriptMessage]:
    """Yield the messages of a record, or of a list of records; other values have none.

    Args:
        value: A value parsed from JSON.
        filters_noise: Whether to leave out messages that programs wrote.
        personal: Whether numbers of persons are masked besides secrets.
    """
    if isinstance(value, list):
        for item in value:
            yield from messages_in(item, filters_noise=filters_noise, personal=personal)
    elif isinstance(value, dict):
        role, body = _role_and_body(value)
        speaker = _SPEAKERS.get(role) if isinstance(role, str) else None
        if speaker is None or (filters_noise and _is_summary(body)):
            return
        text = "\n".join(_texts(body))
        if filters_noise:
            text = _without_noise(text, speaker)
        line = _one_line(text, personal=personal)
        if line:
            yield TranscriptMessage(speaker, line)


def moment_of(value: Any, *, zone: tzinfo | None = None) -> datetime | None:
    """Return the time of a record; None when it has none.

    Args:
        value: A value parsed from JSON.
        zone: Zone of times without an offset; None is the machine's.
    """
    if not isinstance(value, dict):
        return None
    _, body = _role_and_body(value)
    places = (value, body, body.get("additional_kwargs"), body.get("response_metadata"))
    for place in places:
        if isinstance(place, dict):
            found = (_moment(place.get(name), zone) for name in _MOMENTS)
            if (moment := next(filter(None, found), None)) is not None:
                return moment
    return None


def _role_and_body(record: dict[str, Any]) -> tuple[Any, Mapping[str, Any]]:
    """Return the role of a record, and the mapping that holds its content."""
    kind, data = record.get("type"), record.get("data")
    inner = record.get("message")
    if kind == "message" and isinstance(inner, dict):
        return inner.get("role"), inner
    if isinstance(data, dict):
        return (data.get("role", kind) if kind == "chat" else kind), data
    if kind == "constructor" and isinstance(record.get("kwargs"), dict):
        name = record.get("id")
        return (name[-1] if isinstance(name, list) and name else None), record["kwargs"]
    return record.get("role", kind), record


def _is_summary(body: Mapping[str, Any]) -> bool:
    """Check for a message by LangChain's summarization, which repeats earlier messages."""
    more = body.get("additional_kwargs")
    return isinstance(more, dict) and more.get("lc_source") == "summarization"


def _texts(body: Mapping[str, Any]) -> Iterator[str]:
    """Yield the texts of a message; tool calls, results, thoughts and images are skipped."""
    content = body.get("blocks", body.get("content"))
    if isinstance(content, str):
        yield content
    for block in content if isinstance(content, list) else ():
        if isinstance(block, str):
            yield block
        elif isinstance(block, dict):
            kind, text = block.get("type", block.get("block_type")), block.get("text")
            if isinstance(kind, str) and kind in _TEXTS and isinstance(text, str):
                yield text


def _without_noise(text: str, speaker: str) -> str:
    if speaker == "Assistant":
        return "" if _SILENT.fullmatch(text) else _SILENT_END.sub("", text)
    if _AUTOMATIC.match(text):
        return ""
    return _RECALLED.sub("", text) if "[Recalled from memory" in text else text


def _one_line(text: str, *, personal: bool) -> str:
    """Mask secrets, collapse white space, and mask secrets that were broken over lines."""
    masked = redact(_UNFIT.sub("\ufffd", text), personal=personal)
    line = " ".join(masked.split())
    return line if line == masked else redact(line, personal=personal)


def _moment(value: Any, zone: tzinfo | None) -> datetime | None:
    try:
        if isinstance(value, str):
            found = datetime.fromisoformat(value)
            return found if found.tzinfo else found.replace(tzinfo=zone).astimezone()
        if isinstance(value, int | float) and not isinstance(value, bool) and value > 0:
            return datetime.fromtimestamp(value / 1000 if value > _MILLISECONDS else value, UTC)
    except (ValueError, OverflowError, OSError):
        pass
    return None
