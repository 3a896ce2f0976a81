"""A silent turn, decided without doing anything: what to ask, and what an answer means. Pure."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from commonplace import prompts
from commonplace.errors import ToolInputError
from commonplace.flush.prompt import NO_REPLY
from commonplace.flush.protocol import FlushReply, FlushRequest
from commonplace.tools.answers import answer_json
from commonplace.tools.arguments import Arguments
from commonplace.tools.schemas import FLUSH_APPEND_TOOL
from commonplace.types import FlushMessage, ToolCall

__all__ = ["MAX_ROUNDS", "Reading", "next_request", "read_reply", "verdict"]

MAX_ROUNDS = 2
"""How often a model is asked for one entry of the journal."""

_THOUGHTS = re.compile(r"<(think|thinking|thought)>.*?(?:</\1>|\Z)", re.DOTALL | re.IGNORECASE)
_SILENT = re.compile(rf"[\W_]*{NO_REPLY}\b[^\n]*", re.IGNORECASE)
_MARKS = " \t\r\n*_`\"'.!"
_LIST = re.compile(r"\s*(?:[-*+]|\d{1,9}[.)])[ \t]+\S")
_SHOWN_CHARS = 80


@dataclass(frozen=True, slots=True)
class Reading:
    """What a reply asks for.

    Attributes:
        notes: Notes to append, in order.
        answers: What its calls are answered, in order, when the notes are written.
        refused: What was wrong with calls; one of another tool may have been meant as a note.
        ends: Whether the turn is over, whatever rounds are left.
        unclear: Whether it neither called the tool nor said that there is nothing to store.
    """

    notes: tuple[str, ...] = ()
    answers: tuple[FlushMessage, ...] = ()
    refused: tuple[str, ...] = ()
    ends: bool = True
    unclear: bool = False


def read_reply(reply: FlushReply, *, path: str, last: bool) -> Reading:
    """Tell what a reply asks for.

    Args:
        reply: What the model answered.
        path: The log that its notes go to.
        last: Whether it is not asked again.
    """
    if reply.tool_calls:
        return _read_calls(reply.tool_calls, path)
    text = _plain_note(reply.text)
    if not text:
        return Reading()
    if not reply.offered_tool or (last and _LIST.match(text)):
        return Reading(notes=(text,))
    return Reading(ends=last, unclear=True)


def next_request(
    first: FlushRequest, replies: Sequence[FlushReply], readings: Sequence[Reading]
) -> FlushRequest | None:
    """Return the next round's question; None when the turn is over."""
    if len(replies) >= MAX_ROUNDS or (readings and readings[-1].ends):
        return None
    messages = list(first.messages)
    for number, (reply, reading) in enumerate(zip(replies, readings, strict=True)):
        calls = _with_ids(reply.tool_calls, number)
        messages.append(FlushMessage("assistant", reply.text, calls))
        if calls:
            messages += [
                replace(answer, call_id=call.id, name=call.name)
                for call, answer in zip(calls, reading.answers, strict=True)
            ]
        else:
            messages.append(FlushMessage("user", prompts.load("flush_nudge").text.strip()))
    return replace(first, messages=tuple(messages))


def verdict(readings: Sequence[Reading]) -> str | None:
    """Say why a finished turn may have lost a note; None when it has not.

    A refused note that the model could not correct any more counts, and one that it dropped.
    """
    if not readings:
        return None
    refused = [reason for reading in readings for reason in reading.refused]
    lost = readings[-1].refused or (refused and not any(reading.notes for reading in readings))
    return f"the model's calls could not be used: {refused[-1]}" if lost else None


def _read_calls(calls: Sequence[ToolCall], path: str) -> Reading:
    notes, answers, refused = [], [], []
    for call in calls:
        try:
            notes.append(_note(call))
            answer = answer_json({"path": path})
        except ToolInputError as error:
            answer = f"Error: {error}"
            refused.append(str(error))
        answers.append(FlushMessage("tool", answer))
    return Reading(tuple(notes), tuple(answers), tuple(refused), ends=False)


def _note(call: ToolCall) -> str:
    """Return the note of a call.

    Raises:
        ToolInputError: It is a call of another tool, or its arguments are wrong.
    """
    if call.name != FLUSH_APPEND_TOOL.name:
        name = ascii(call.name)[:_SHOWN_CHARS]
        raise ToolInputError(f"there is no tool {name} here; memory_append is the only one.")
    text = Arguments(_mapping(call.arguments), tool=FLUSH_APPEND_TOOL).text("text")
    if not _cleaned(text):
        raise ToolInputError("memory_append: text is empty; it must hold the note to write down.")
    return _cleaned(text)


def _mapping(arguments: object) -> object:
    """Return the arguments, read as JSON where a model sent them as a text."""
    if not isinstance(arguments, str):
        return arguments
    try:
        found = json.loads(arguments)
    except ValueError:
        return arguments
    return found if isinstance(found, Mapping) else arguments


def _plain_note(text: str) -> str:
    """Return what of a reply in words is a note; empty when it says that there is none."""
    text = _cleaned(_THOUGHTS.sub("", text))
    if silent := _SILENT.match(text):
        rest = text[silent.end() :]
        return _cleaned(rest) if _LIST.match(rest) else ""
    bare = text.rstrip(_MARKS)
    if bare.upper().endswith(NO_REPLY):
        return bare[: -len(NO_REPLY)].rstrip(" \t\r\n*_`")
    return text


def _cleaned(text: str) -> str:
    """Drop what no file should hold: NUL characters, halves of characters, blank ends."""
    text = text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    return text.replace("\0", "").strip("\r\n").rstrip() if text.strip("\0 \t\r\n") else ""


def _with_ids(calls: Sequence[ToolCall], number: int) -> tuple[ToolCall, ...]:
    """Give each call an id of its own, which providers insist on."""
    seen: set[str] = set()
    found = []
    for index, call in enumerate(calls):
        name = call.id if call.id and call.id not in seen else f"call_{number}_{index}"
        seen.add(name)
        found.append(replace(call, id=name))
    return tuple(found)
