"""Silent turn: its prompts, the request of each round, and what a reply asks for. Pure."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime

from commonplace.errors import ToolInputError
from commonplace.flush.messages import render_conversation
from commonplace.flush.protocol import FlushReply, FlushRequest
from commonplace.profiles import FlushRules
from commonplace.prompts.templates import load_prompt
from commonplace.settings import Settings
from commonplace.tools.arguments import ToolArguments
from commonplace.tools.schemas import FLUSH_APPEND_TOOL
from commonplace.types import FlushMessage, ToolCall

__all__ = [
    "MAX_ROUNDS",
    "NO_REPLY",
    "SAFETY_HINTS",
    "ReplyActions",
    "first_request",
    "lost_note_problem",
    "next_request",
    "parse_reply",
    "system_prompt",
    "user_prompt",
    "with_safety_hints",
    "with_time",
]

MAX_ROUNDS = 2
"""Model calls for one entry of the journal, at most."""
NO_REPLY = "NO_REPLY"
"""Reply of a model that has nothing to store."""

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
"""Part of every flush prompt: one file, only at its end, nothing else."""

_NO_REPLY_HINT = f"If nothing to store, reply with {NO_REPLY}."
_DAY = "YYYY-MM-DD"
_TIME = "Current time:"
_WEEKDAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
_MONTHS = (
    *("January", "February", "March", "April", "May", "June", "July", "August"),
    *("September", "October", "November", "December"),
)
_ORDINALS = {1: "st", 2: "nd", 3: "rd", 21: "st", 22: "nd", 23: "rd", 31: "st"}

_THOUGHTS = re.compile(r"<(think|thinking|thought)>.*?(?:</\1>|\Z)", re.DOTALL | re.IGNORECASE)
_SILENT = re.compile(rf"[\W_]*{NO_REPLY}\b[^\n]*", re.IGNORECASE)
_EMPHASIS = " \t\r\n*_`\"'.!"
_LIST = re.compile(r"\s*(?:[-*+]|\d{1,9}[.)])[ \t]+\S")
_SHOWN_CHARS = 80


# -- prompts ---------------------------------------------------------------------------------------


def first_request(
    messages: Sequence[FlushMessage],
    *,
    settings: Settings,
    rules: FlushRules,
    moment: datetime,
    thread: str,
) -> FlushRequest:
    """Build the request of the first round.

    Args:
        messages: Conversation to write down.
        settings: A prompt of the user's own, and the name of the time zone.
        rules: The profile's prompts.
        moment: Time of the flush, in the zone of the logs' days.
        thread: Conversation id.
    """
    frame = load_prompt("flush_conversation", "conversation", "prompt")
    prompt = user_prompt(settings, rules, moment=moment)
    text = frame.format(conversation=render_conversation(messages), prompt=prompt)
    return FlushRequest(
        system=system_prompt(rules, moment=moment),
        messages=(FlushMessage("user", text.rstrip("\n")),),
        plain=load_prompt("flush_plain").strip(),
        thread=thread,
    )


def user_prompt(settings: Settings, rules: FlushRules, *, moment: datetime) -> str:
    """Return the prompt behind the conversation."""
    text = rules.user_prompt if settings.flush.prompt is None else settings.flush.prompt
    text = _with_no_reply(with_safety_hints(text.strip()))
    return with_time(text, moment, zone=settings.timezone)


def system_prompt(rules: FlushRules, *, moment: datetime) -> str:
    """Return the system prompt of a silent turn."""
    text = _with_no_reply(with_safety_hints(rules.system_prompt.strip()))
    return text.replace(_DAY, moment.date().isoformat())


def with_safety_hints(text: str) -> str:
    """Append the safety hints that a prompt lacks."""
    missing = [hint for hint in SAFETY_HINTS if hint not in text]
    return "\n\n".join([text.strip(), *missing] if text.strip() else missing)


def with_time(
    text: str, moment: datetime, *, zone: str | None = None, twelve_hours: bool = False
) -> str:
    """Replace the day's placeholder, and append the time unless the prompt states it.

    Args:
        text: A prompt.
        moment: Time of the flush, in the zone of the logs' days.
        zone: Name of the zone; its abbreviation by default.
        twelve_hours: Whether to write the time on a 12-hour clock.
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


# -- rounds ----------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class ReplyActions:
    """Actions that a reply asks for.

    Attributes:
        notes: Notes to append, in order.
        answers: Tool messages that answer its calls, in order, once the notes are written.
        refused: Errors of its invalid calls; a call of another tool may have been meant as a note.
        ends: Whether the turn is over, whatever rounds are left.
        unclear: Whether it neither called the tool nor said that there is nothing to store.
    """

    notes: tuple[str, ...] = ()
    answers: tuple[FlushMessage, ...] = ()
    refused: tuple[str, ...] = ()
    ends: bool = True
    unclear: bool = False


def parse_reply(reply: FlushReply, *, path: str, last: bool) -> ReplyActions:
    """Return the actions that a reply asks for.

    Args:
        reply: The model's reply.
        path: The log to which its notes are appended.
        last: Whether this is the last round.
    """
    if reply.tool_calls:
        return _parse_calls(reply.tool_calls, path)
    text = _plain_note(reply.text)
    if not text:
        return ReplyActions()
    if not reply.offered_tool or (last and _LIST.match(text)):
        return ReplyActions(notes=(text,))
    return ReplyActions(ends=last, unclear=True)


def next_request(
    first: FlushRequest, replies: Sequence[FlushReply], actions: Sequence[ReplyActions]
) -> FlushRequest | None:
    """Return the next round's request; None when the turn is over."""
    if len(replies) >= MAX_ROUNDS or (actions and actions[-1].ends):
        return None
    messages = list(first.messages)
    for number, (reply, asked) in enumerate(zip(replies, actions, strict=True)):
        calls = _with_unique_ids(reply.tool_calls, number)
        messages.append(FlushMessage("assistant", reply.text, calls))
        if calls:
            messages += [
                replace(answer, call_id=call.id, name=call.name)
                for call, answer in zip(calls, asked.answers, strict=True)
            ]
        else:
            messages.append(FlushMessage("user", load_prompt("flush_nudge").strip()))
    return replace(first, messages=tuple(messages))


def lost_note_problem(actions: Sequence[ReplyActions]) -> str | None:
    """Return why a finished turn may have lost a note; None when it has not.

    A refused call loses its note in the last round, or when no round brought a note.
    """
    if not actions:
        return None
    refused = [problem for asked in actions for problem in asked.refused]
    lost = actions[-1].refused or (refused and not any(asked.notes for asked in actions))
    return f"the model's calls could not be used: {refused[-1]}" if lost else None


def _parse_calls(calls: Sequence[ToolCall], path: str) -> ReplyActions:
    notes, answers, refused = [], [], []
    for call in calls:
        try:
            notes.append(_note_of_call(call))
            answer = json.dumps({"path": path}, separators=(",", ":"))
        except ToolInputError as error:
            answer = f"Error: {error}"
            refused.append(str(error))
        answers.append(FlushMessage("tool", answer))
    # A reply whose calls are all valid ends the turn: a further model call would only say NO_REPLY.
    return ReplyActions(tuple(notes), tuple(answers), tuple(refused), ends=not refused)


def _note_of_call(call: ToolCall) -> str:
    """Return the note of a call.

    Raises:
        ToolInputError: It is a call of another tool, or its arguments are wrong.
    """
    if call.name != FLUSH_APPEND_TOOL.name:
        name = ascii(call.name)[:_SHOWN_CHARS]
        raise ToolInputError(f"there is no tool {name} here; memory_append is the only one.")
    text = ToolArguments(_mapping(call.arguments), tool=FLUSH_APPEND_TOOL).text("text")
    if not _cleaned(text):
        raise ToolInputError("memory_append: text is empty; it must hold the note to write down.")
    return _cleaned(text)


def _mapping(arguments: object) -> object:
    """Return the arguments, parsed where a model sent them as JSON text."""
    if not isinstance(arguments, str):
        return arguments
    try:
        found = json.loads(arguments)
    except ValueError:
        return arguments
    return found if isinstance(found, Mapping) else arguments


def _plain_note(text: str) -> str:
    """Return the note in a reply without calls; empty when there is nothing to store."""
    text = _cleaned(_THOUGHTS.sub("", text))
    if silent := _SILENT.match(text):
        rest = text[silent.end() :]
        return _cleaned(rest) if _LIST.match(rest) else ""
    bare = text.rstrip(_EMPHASIS)
    if bare.upper().endswith(NO_REPLY):
        return bare[: -len(NO_REPLY)].rstrip(" \t\r\n*_`")
    return text


def _cleaned(text: str) -> str:
    """Remove NUL characters and blank ends, and replace lone surrogates: no file can hold them."""
    text = text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    return text.replace("\0", "").strip("\r\n").rstrip() if text.strip("\0 \t\r\n") else ""


def _with_unique_ids(calls: Sequence[ToolCall], number: int) -> tuple[ToolCall, ...]:
    """Return the calls with unique ids, which providers require."""
    seen: set[str] = set()
    found = []
    for index, call in enumerate(calls):
        name = call.id if call.id and call.id not in seen else f"call_{number}_{index}"
        seen.add(name)
        found.append(replace(call, id=name))
    return tuple(found)
