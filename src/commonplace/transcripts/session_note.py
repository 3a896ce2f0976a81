"""Session note: the last messages of a session, one line each, as a Markdown file."""

from __future__ import annotations

import json
import logging
import re
from collections.abc import Callable, Iterable, Mapping
from datetime import datetime
from typing import Any

from commonplace.prompts.templates import load_prompt
from commonplace.text.quotation import UNTRUSTED_MARK
from commonplace.text.redaction import redact
from commonplace.transcripts.formats import TranscriptMessage, messages_in
from commonplace.types import FlushMessage

__all__ = ["SlugSource", "last_messages", "quotes_untrusted", "session_note", "slug_for"]

logger = logging.getLogger(__name__)

SlugSource = str | Callable[[str], str] | None
"""A name, a model that is called for a name, or neither."""
_SLUG_CHARS = 30
_PROMPT_CHARS = 2_000
"""Characters of the conversation in the prompt for a name."""


def last_messages(
    messages: Iterable[Any], count: int, *, personal: bool = False
) -> list[TranscriptMessage]:
    """Return the last messages of user and assistant, on one line each, secrets masked.

    Args:
        messages: `FlushMessage`; mappings with ``role`` and ``content``, and other records of
            session files; or messages of LangChain and LlamaIndex.
        count: Maximum number of messages.
        personal: Whether numbers of persons are masked besides secrets.

    Raises:
        TypeError: A message is none of these.
    """
    records = map(_record, messages)
    found = [one for record in records for one in messages_in(record, personal=personal)]
    spoken = [one for one in found if not one.text.startswith("/")]  # commands to a program
    return spoken[-count:] if count else []


def quotes_untrusted(messages: Iterable[Any]) -> bool:
    """Return whether a message, such as a tool's answer, quotes untrusted lines of the memory."""
    records = map(_record, messages)
    return any(UNTRUSTED_MARK in json.dumps(record, default=str) for record in records)


def session_note(
    messages: Iterable[TranscriptMessage],
    *,
    moment: datetime,
    zone: str,
    key: str = "",
    session: str = "",
) -> str:
    """Return the text of a session note: a header, and a line for each message.

    Args:
        messages: The messages to keep.
        moment: End of the session, in the zone of the logs' days.
        zone: Name of that zone.
        key: Name of the channel and the people in it, if it has one.
        session: Name of the session.
    """
    lines = [
        f"# Session: {moment:%Y-%m-%d %H:%M:%S} {zone}",
        "",
        f"- **Session Key**: {_on_one_line(key) or 'unknown'}",
        f"- **Session ID**: {_on_one_line(session) or 'unknown'}",
        "- **Source**: commonplace",
        "",
        "## Conversation Summary",
        "",
        *(f"{one.speaker.lower()}: {one.text}" for one in messages),
    ]
    return "\n".join(lines) + "\n"


def slug_for(messages: Iterable[TranscriptMessage], slug: SlugSource, *, moment: datetime) -> str:
    """Return the part of a note's file name after the day: the name, or the time, ``1830``.

    The time is also the fallback for a model that fails, and for an answer without a letter.
    """
    text = slug if isinstance(slug, str) else ""
    if callable(slug):
        conversation = "\n".join(map(str, messages))[:_PROMPT_CHARS]
        prompt = load_prompt("session_slug", "conversation").format(conversation=conversation)
        try:
            answer = slug(prompt)
            text = answer if isinstance(answer, str) else ""
        except Exception as error:  # noqa: BLE001 - the note is written without a name
            logger.warning("no name for a session: %s: %s", type(error).__name__, error)
    clean = re.sub(r"[\W_]+", "-", redact(text).lower()).strip("-")[:_SLUG_CHARS].strip("-")
    return clean or f"{moment:%H%M}"


def _record(message: Any) -> Any:
    """Return a message as a record of session files."""
    if isinstance(message, FlushMessage):
        return {"role": message.role, "content": message.text}
    if isinstance(message, Mapping):
        return dict(message)
    if callable(dump := getattr(message, "model_dump", None)):
        return dump(mode="json")
    raise TypeError(
        f"a message is {type(message).__name__}; a FlushMessage, a mapping with role and content, "
        "or a message of LangChain or LlamaIndex was expected."
    )


def _on_one_line(text: str) -> str:
    return " ".join(redact(text).split())
