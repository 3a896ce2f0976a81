"""Front matter: the YAML or TOML block that a note may begin with, as metadata.

It stands between lines of ``---`` (YAML) or ``+++`` (TOML), the first of which is the first line of
the note, and is a mapping. It is no text of the note: it is neither indexed nor shown, but for its
tags and aliases, by which the note is found. What cannot be read as front matter is text.

Notes come from anywhere, so a block is checked before the parsers recurse into it: its size, its
depth, and aliases, which a few lines can expand into gigabytes.
"""

from __future__ import annotations

import json
import math
import re
import struct
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date, datetime, time, timedelta, tzinfo
from typing import Any

__all__ = [
    "FRONT_MATTER_MARKS",
    "FrontMatter",
    "expiry_ms",
    "hide_label",
    "is_expired",
    "label_line",
    "read_front_matter",
]

FRONT_MATTER_MARKS = ("---", "+++", "\ufeff---", "\ufeff+++")
"""Beginnings of a text with front matter."""

_MAX_CHARS = 64 * 1024
"""Length of front matter, at most: what people write has some hundred characters."""
_MAX_DEPTH = 16
"""Levels of lists and mappings within each other, at most."""
_MAX_INT_BITS = 64
_LABEL_CHARS = 300
"""Length of the line of labels, at most, so that it is embedded as one unit."""

_OPENING = re.compile(r"\ufeff?(---|\+\+\+)[ \t]*\r?\n(?=[^\r\n])")
_CLOSING = {
    "---": re.compile(r"^(?:---|\.\.\.)[ \t]*\r?$", re.MULTILINE),
    "+++": re.compile(r"^\+\+\+[ \t]*\r?$", re.MULTILINE),
}
_KEY = re.compile(r"\s*[\w.-]+\s*[:=](?:\s|$)")
_LABEL_KEYS = ("alias", "aliases", "tag", "tags")
_EXPIRES_KEY = "expires"


@dataclass(frozen=True, slots=True)
class FrontMatter:
    """Front matter of a text.

    Attributes:
        lines: Lines that it takes, both marks included; 0 for a text without front matter.
        body: Offset of the text behind it.
        metadata: Its values as JSON has them: a date or time is an ISO text.
        problem: Why something that looks like front matter is read as text; None for anything else.
    """

    lines: int = 0
    body: int = 0
    metadata: dict[str, Any] | None = None
    problem: str | None = None


class _UnreadableError(Exception):
    """Front matter that is refused; the text says why."""


def read_front_matter(text: str) -> FrontMatter:
    """Return the front matter of a text."""
    opening = _OPENING.match(text)
    if opening is None:
        return FrontMatter()
    closing = _CLOSING[opening[1]].search(text, opening.end())
    if closing is None:
        # A rule, ``---``, may stand above any text; a key below it was meant as front matter.
        meant = _KEY.match(text, opening.end())
        problem = f"has no line {opening[1]} that ends it" if meant else None
        return FrontMatter(problem=_problem(problem))
    try:
        if closing.start() - opening.end() > _MAX_CHARS:
            raise _UnreadableError(
                f"has {(closing.start() - opening.end()) // 1024} KiB; "
                f"it may have {_MAX_CHARS // 1024}"
            )
        block = text[opening.end() : closing.start()]
        values = _parse_yaml(block) if opening[1] == "---" else _parse_toml(block)
        if not isinstance(values, dict):
            return FrontMatter()  # a paragraph between two rules
        metadata = _json_value(values, depth=0)
    except _UnreadableError as error:
        return FrontMatter(problem=_problem(str(error)))
    end = text.find("\n", closing.end())
    body = len(text) if end < 0 else end + 1
    lines = text.count("\n", 0, closing.start()) + 1
    return FrontMatter(lines, body, metadata)


def _problem(why: str | None) -> str | None:
    return why and f"its front matter {why}: it is indexed as text"


# -- parsing ---------------------------------------------------------------------------------------


def _parse_yaml(block: str) -> Any:
    import yaml  # 20 ms, which only a note with front matter costs

    loader: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    depth = 0
    try:
        # Events come without recursion, so depth and aliases are checked before values are made.
        for event in yaml.parse(block, Loader=loader):
            if isinstance(event, yaml.AliasEvent):
                raise _UnreadableError(f"uses the alias *{event.anchor}; write the value out")
            depth += isinstance(event, yaml.CollectionStartEvent)
            depth -= isinstance(event, yaml.CollectionEndEvent)
            if depth > _MAX_DEPTH:
                raise _UnreadableError(_TOO_DEEP)
        values = yaml.load(block, Loader=loader)
    except yaml.YAMLError as error:
        raise _UnreadableError(f"is no YAML ({_yaml_reason(error)})") from error
    except (ValueError, OverflowError, TypeError) as error:  # the 30th of February, an endless int
        raise _UnreadableError(f"is no YAML ({error})") from error
    return {} if values is None else values


def _yaml_reason(error: Exception) -> str:
    reason = getattr(error, "problem", None) or getattr(error, "reason", None) or error
    mark = getattr(error, "problem_mark", None)
    where = f"line {mark.line + 2}: " if mark else ""  # the opening mark is line 1
    return f"{where}{' '.join(str(reason).split())[:200]}"


def _parse_toml(block: str) -> Any:
    import tomllib

    try:
        return tomllib.loads(block.replace("\r\n", "\n"))
    except tomllib.TOMLDecodeError as error:
        raise _UnreadableError(f"is no TOML ({error})") from error
    except (ValueError, OverflowError) as error:
        raise _UnreadableError(f"is no TOML ({error})") from error
    except RecursionError as error:
        raise _UnreadableError(_TOO_DEEP) from error


_TOO_DEEP = f"is nested more than {_MAX_DEPTH} levels deep"


def _json_value(value: Any, *, depth: int) -> Any:
    """Return a value that JSON has in the place of one of a parser's."""
    if depth > _MAX_DEPTH:
        raise _UnreadableError(_TOO_DEEP)
    if isinstance(value, dict):
        return {_key(key): _json_value(one, depth=depth + 1) for key, one in value.items()}
    if isinstance(value, list | tuple | set):
        return [_json_value(one, depth=depth + 1) for one in value]
    if value is None or isinstance(value, str | bool):
        return value
    if isinstance(value, int) and value.bit_length() <= _MAX_INT_BITS:
        return value
    if isinstance(value, float):
        return value if math.isfinite(value) else str(value)
    if isinstance(value, date | datetime | time):
        return value.isoformat()
    raise _UnreadableError(f"has a value of no kind that JSON has ({type(value).__name__})")


def _key(key: Any) -> str:
    """Return a key as text: ``on`` and ``2026-11-20`` are no texts in YAML."""
    value = _json_value(key, depth=0)
    return value if isinstance(value, str) else json.dumps(value)


# -- what the keys mean ----------------------------------------------------------------------------


def expiry_ms(metadata: Mapping[str, Any], zone: tzinfo | None) -> int | None:
    """Return when a note expires, in milliseconds since the epoch; None where it does not.

    A day is included: a note that ``expires: 2026-11-20`` is found for the last time on that day.

    Args:
        metadata: Front matter of the note.
        zone: Zone of days, and of times without one; None is the machine's.

    Raises:
        ValueError: The value is neither a day nor a time.
    """
    value = metadata.get(_EXPIRES_KEY)
    if value is None:
        return None
    try:
        if len(value) > len("2026-11-20"):
            moment = datetime.fromisoformat(value)
        else:
            moment = datetime.combine(date.fromisoformat(value) + timedelta(days=1), time.min)
        if moment.tzinfo is None:
            moment = moment.replace(tzinfo=zone) if zone else moment.astimezone()
        return int(moment.timestamp() * 1000)
    except OverflowError:  # in the year 9999
        return None
    except (TypeError, ValueError) as error:
        raise ValueError(
            f"expires is {str(value)[:60]!r} in its front matter; a day such as 2026-11-20 or a "
            "time was expected, so the note does not expire"
        ) from error


def is_expired(metadata: Mapping[str, Any], now: datetime) -> bool:
    """Return whether a note is expired; one whose expiry cannot be read is not.

    Args:
        metadata: Front matter of the note.
        now: Aware time, in the zone of days and of times without one.
    """
    if _EXPIRES_KEY not in metadata:
        return False
    try:
        at_ms = expiry_ms(metadata, now.tzinfo)
    except ValueError:
        return False
    return at_ms is not None and at_ms <= now.timestamp() * 1000


def label_line(metadata: Mapping[str, Any]) -> str:
    """Return the tags and aliases of a note as one line, which ends a sentence; "" without any."""
    found = (metadata[key] for key in metadata if key.lower() in _LABEL_KEYS)
    labels: list[str] = []
    room = _LABEL_CHARS
    for label in (" ".join(str(one).split()) for value in found for one in _listed(value)):
        room -= len(label) + 2
        if room < 0:
            break
        if label:
            labels.append(label)
    return ", ".join(labels) + "." if labels else ""


def _listed(value: Any) -> list[Any]:
    values = value if isinstance(value, list) else [value]
    return [one for one in values if isinstance(one, str | int | float)]


_UNIT = struct.Struct("<3i")


def hide_label(units: bytes, text: str) -> bytes:
    """Mark the unit that is the line of labels, the first line of a chunk, as one not to be shown.

    Args:
        units: Units of the chunk, as `commonplace.text.line_units` packs them.
        text: The chunk's text.
    """
    number, start, end = _UNIT.unpack_from(units)
    if number > 0:
        return units  # a label of one letter is no unit
    behind = text.find("\n") + 1
    whole = end > behind  # the chunk is one unit
    first = _UNIT.pack(1, behind, end) if whole else _UNIT.pack(-1, start, end)
    return first + units[_UNIT.size :]
