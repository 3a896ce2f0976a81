"""What a model is told in a silent turn: the prompts, their safety hints, the day and the time."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime

from commonplace import prompts
from commonplace.flush.messages import rendered
from commonplace.flush.protocol import FlushRequest
from commonplace.settings import Settings
from commonplace.types import FlushMessage

__all__ = [
    "NO_REPLY",
    "SAFETY_HINTS",
    "first_request",
    "system_prompt",
    "user_prompt",
    "with_safety_hints",
    "with_time",
]

NO_REPLY = "NO_REPLY"
"""What a model replies that has nothing to say."""

_APPEND_HINT = (
    "If memory/YYYY-MM-DD.md already exists, APPEND new content only and do not overwrite existing "
    "entries."
)
_READ_ONLY_HINT = (
    "Treat workspace bootstrap/reference files such as MEMORY.md, SOUL.md, TOOLS.md, and AGENTS.md "
    "as read-only during this flush; never overwrite, replace, or edit them."
)
SAFETY_HINTS = (
    "Store durable memories only in memory/YYYY-MM-DD.md (create memory/ if needed).",
    _APPEND_HINT,
    _READ_ONLY_HINT,
)
"""What every flush prompt says: one file, only at its end, nothing else."""

_NO_REPLY_HINT = f"If nothing to store, reply with {NO_REPLY}."
_DAY = "YYYY-MM-DD"
_TIME = "Current time:"
_WEEKDAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
_MONTHS = (
    *("January", "February", "March", "April", "May", "June", "July", "August"),
    *("September", "October", "November", "December"),
)
_ORDINALS = {1: "st", 2: "nd", 3: "rd", 21: "st", 22: "nd", 23: "rd", 31: "st"}


def first_request(
    messages: Sequence[FlushMessage], *, settings: Settings, moment: datetime, thread: str
) -> FlushRequest:
    """Build the first round's question.

    Args:
        messages: What is at stake.
        settings: Which prompts, and the name of the zone.
        moment: Now, in the zone of the logs' days.
        thread: The conversation.
    """
    frame = prompts.load("flush_conversation", "conversation", "prompt")
    text = frame.fill(conversation=rendered(messages), prompt=user_prompt(settings, moment=moment))
    return FlushRequest(
        system=system_prompt(settings, moment=moment),
        messages=(FlushMessage("user", text.rstrip("\n")),),
        plain=prompts.load("flush_plain").text.strip(),
        thread=thread,
    )


def user_prompt(settings: Settings, *, moment: datetime) -> str:
    """Return the prompt behind the conversation."""
    name = "flush_openclaw_user" if settings.openclaw_rules else "flush_user"
    text = prompts.load(name).text if settings.flush.prompt is None else settings.flush.prompt
    text = _with_no_reply(with_safety_hints(text.strip()))
    return with_time(text, moment, zone=settings.timezone)


def system_prompt(settings: Settings, *, moment: datetime) -> str:
    """Return the system prompt of a silent turn."""
    name = "flush_openclaw_system" if settings.openclaw_rules else "flush_system"
    text = _with_no_reply(with_safety_hints(prompts.load(name).text.strip()))
    return text.replace(_DAY, moment.date().isoformat())


def with_safety_hints(text: str) -> str:
    """Append the hints that a prompt lacks."""
    missing = [hint for hint in SAFETY_HINTS if hint not in text]
    return "\n\n".join([text.strip(), *missing] if text.strip() else missing)


def with_time(
    text: str, moment: datetime, *, zone: str | None = None, twelve_hours: bool = False
) -> str:
    """Put the day in its place, and the time behind the text unless it says it.

    Args:
        text: A prompt.
        moment: Now, in the zone of the logs' days.
        zone: What the zone is called; its abbreviation by default.
        twelve_hours: Whether the clock goes to twelve.
    """
    text = text.replace(_DAY, moment.date().isoformat()).rstrip()
    if _TIME in text:
        return text
    hour = f"{(moment.hour - 1) % 12 + 1}" if twelve_hours else f"{moment.hour:02}"
    half = (" AM" if moment.hour < 12 else " PM") if twelve_hours else ""
    line = (
        f"{_TIME} {_WEEKDAYS[moment.weekday()]}, {_MONTHS[moment.month - 1]} "
        f"{moment.day}{_ORDINALS.get(moment.day, 'th')}, {moment.year} — "
        f"{hour}:{moment.minute:02}{half} ({zone or moment.tzname()}) / "
        f"{moment.astimezone(UTC):%Y-%m-%d %H:%M} UTC"
    )
    return f"{text}\n{line}" if text else line


def _with_no_reply(text: str) -> str:
    return text if NO_REPLY in text else f"{text}\n\n{_NO_REPLY_HINT}"
