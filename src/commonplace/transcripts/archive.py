"""Archive of conversations: session files, JSON Lines in OpenClaw's format, secrets masked."""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import re
import uuid
from collections.abc import Iterable, Iterator
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from typing import Any

from commonplace.system.files import make_private_folder, sync, sync_folder
from commonplace.text.redaction import mask, redact
from commonplace.types import FlushMessage
from commonplace.workspace.sessions import UNWRITTEN

__all__ = ["masked_message", "session_file", "session_records", "write_session_file"]

_NAME_CHARS = 40
_PROBE = "x7Kq2Vp9Lm4T"
"""Value that is a secret only where a name says so."""
_VERSION = 3
"""Version of the file format."""


def write_session_file(
    folder: Path,
    messages: Iterable[FlushMessage],
    *,
    session: str,
    moment: datetime,
    key: str | None = None,
    unwritten: bool = False,
    personal: bool = False,
) -> Path:
    """Write a conversation to a session file atomically, and return its path.

    Args:
        folder: The folder of session files; it is created if it is missing.
        messages: The conversation.
        session: Name of the session.
        moment: Time of the conversation.
        key: Distinguishes sessions of one name and day; the same key gives the same file.
        unwritten: Whether the flush of the messages failed for good. The file's name then says
            so, and search finds it even where sessions are not enabled.
        personal: Whether numbers of persons are masked besides secrets.

    Raises:
        OSError: The file cannot be written; no partial file is left behind.
    """
    make_private_folder(folder)
    path = session_file(folder, session=session, moment=moment, key=key, unwritten=unwritten)
    session = redact(session)
    lines = [
        json.dumps(record, ensure_ascii=True, default=str)
        for record in session_records(messages, session=session, moment=moment, personal=personal)
    ]
    _write_whole(path, "\n".join(lines) + "\n")
    return path


def session_file(
    folder: Path, *, session: str, moment: datetime, key: str | None = None, unwritten: bool = False
) -> Path:
    """Return the path of a session file, by the arguments of `write_session_file`."""
    key = key or f"{session}\0{moment.isoformat()}"
    session = redact(session)
    name = f"{session}-{UNWRITTEN}" if unwritten else session
    return folder / _file_name(name, moment, key, keep_end=unwritten)


def session_records(
    messages: Iterable[FlushMessage], *, session: str, moment: datetime, personal: bool = False
) -> Iterator[dict[str, Any]]:
    """Yield the records of a session file, by the arguments of `write_session_file`."""
    masked = (masked_message(message, personal=personal) for message in messages)
    yield {
        "type": "session",
        "version": _VERSION,
        "id": session,
        "timestamp": moment.isoformat(timespec="milliseconds"),
    }
    before = None
    for number, message in enumerate(masked, start=1):
        at = message.at or moment
        name = f"{number:08x}"
        yield {
            "type": "message",
            "id": name,
            "parentId": before,
            "timestamp": at.isoformat(timespec="milliseconds"),
            "message": _message(message) | {"timestamp": int(at.timestamp() * 1000)},
        }
        before = name


def masked_message(message: FlushMessage, *, personal: bool = False) -> FlushMessage:
    """Return a message with the secrets of its text and of its tool calls masked.

    Args:
        message: The message.
        personal: Whether numbers of persons are masked, too.
    """
    calls = [
        replace(call, arguments=_masked(call.arguments, personal)) for call in message.tool_calls
    ]
    return replace(message, text=redact(message.text, personal=personal), tool_calls=tuple(calls))


def _message(message: FlushMessage) -> dict[str, Any]:
    content: list[dict[str, Any]] = []
    if message.text:
        content.append({"type": "text", "text": message.text})
    content += [
        {"type": "toolCall", "id": call.id, "name": call.name, "arguments": call.arguments}
        for call in message.tool_calls
    ]
    if message.role == "tool":
        return {
            "role": "toolResult",
            "toolCallId": message.call_id,
            "toolName": message.name,
            "content": content,
        }
    return {"role": message.role, "content": content}


def _masked(value: Any, personal: bool) -> Any:
    """Mask every text in the arguments of a tool call; a value is judged with its name."""
    if isinstance(value, str):
        return redact(value, personal=personal)
    if isinstance(value, dict):
        return {str(name): _masked_value(str(name), item, personal) for name, item in value.items()}
    if isinstance(value, list | tuple):
        return [_masked(item, personal) for item in value]
    return value


def _masked_value(name: str, value: Any, personal: bool) -> Any:
    if isinstance(value, str) and value and redact(f"{name}={_PROBE}") != f"{name}={_PROBE}":
        return mask(value)
    return _masked(value, personal)


def _file_name(session: str, moment: datetime, key: str, *, keep_end: bool) -> str:
    slug = re.sub(r"[^A-Za-z0-9._-]+", "-", session).strip("-.") or "session"
    slug = slug[-_NAME_CHARS:] if keep_end else slug[:_NAME_CHARS]
    digest = hashlib.sha256(key.encode("utf-8", "surrogatepass")).hexdigest()
    return f"{moment.date().isoformat()}-{slug}-{digest[:12]}.jsonl"


def _write_whole(path: Path, text: str) -> None:
    beside = path.with_name(f"{path.name}.{uuid.uuid4().hex[:8]}.tmp")
    try:
        descriptor = os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with open(descriptor, "w", encoding="utf-8", newline="\n") as file:
            file.write(text)
            file.flush()
            sync(file.fileno())
        os.replace(beside, path)
        sync_folder(path.parent)
    except OSError:
        with contextlib.suppress(OSError):
            os.unlink(beside)
        raise
