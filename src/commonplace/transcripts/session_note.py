"""The note that a session leaves when a new one starts: its last messages, one line each."""

from __future__ import annotations

import logging
import re
from collections.abc import Callable, Iterable, Mapping
from datetime import datetime
from typing import Any

from commonplace.prompts.templates import load_prompt
from commonplace.text.redaction import redact
from commonplace.transcripts.formats import Said, said_in
from commonplace.types import FlushMessage

__all__ = ["Slug", "last_said", "session_note", "slug_for"]

logger = logging.getLogger(__name__)

Slug = str | Callable[[str], str] | None
"""A name, a model that is asked for one, or neither."""
_SLUG_CHARS = 30
_PROMPT_CHARS = 2_000
"""What a model is shown of the conversation, as in the reference."""


def last_said(messages: Iterable[Any], count: int) -> list[Said]:
    """Return the last messages of user and assistant, on one line each, secrets masked.

    Args:
        messages: `FlushMessage`; mappings with ``role`` and ``content``, and what else session
            files hold; or messages of LangChain and LlamaIndex.
        count: How many, at most.

    Raises:
        TypeError: A message is none of these.
    """
    said = [one for message in messages for one in said_in(_record(message))]
    spoken = [one for one in said if not one.text.startswith("/")]  # commands to a program
    return spoken[-count:] if count else []


def session_note(
    said: Iterable[Said], *, moment: datetime, zone: str, key: str = "", session: str = ""
) -> str:
    """Write the note, with the reference's header.

    Args:
        said: What is kept.
        moment: When the session ended, in the zone of the logs' days.
        zone: What that zone is called.
        key: Who talked where, if that has a name.
        session: What the session is called.
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
        *(f"{one.speaker.lower()}: {one.text}" for one in said),
    ]
    return "\n".join(lines) + "\n"


def slug_for(said: Iterable[Said], slug: Slug, *, moment: datetime) -> str:
    """Return what a note's file name says after the day: what is given, or the time, ``1830``.

    A model that fails, or whose answer has no letter or digit in it, is as none.
    """
    text = slug if isinstance(slug, str) else ""
    if callable(slug):
        conversation = "\n".join(map(str, said))[:_PROMPT_CHARS]
        prompt = load_prompt("session_slug", "conversation").fill(conversation=conversation)
        try:
            answer = slug(prompt)
            text = answer if isinstance(answer, str) else ""
        except Exception as error:  # noqa: BLE001 - a note is not lost for want of a name
            logger.warning("no name for a session: %s: %s", type(error).__name__, error)
    clean = re.sub(r"[\W_]+", "-", redact(text).lower()).strip("-")[:_SLUG_CHARS].strip("-")
    return clean or f"{moment:%H%M}"


def _record(message: Any) -> Any:
    """Return a message as session files hold it."""
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
