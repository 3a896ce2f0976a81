"""Session files as text: one line for each line of the file, empty where nobody speaks.

So the numbers of the lines are the file's own. A file that is a single JSON list, as
``json.dump(messages_to_dict(...))`` writes it, has one line for each item of the list.
"""

from __future__ import annotations

import contextlib
import json
import os
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import tzinfo
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple
from zoneinfo import ZoneInfo

from commonplace.settings import Settings
from commonplace.transcripts.formats import moment_of, said_in
from commonplace.workspace.file_text import open_file

__all__ = [
    "MAX_LINE_BYTES",
    "Line",
    "Mark",
    "Rules",
    "SessionReader",
    "begins_a_list",
    "parsed",
    "rendered_text",
]

MAX_LINE_BYTES = 16 * 1024 * 1024
"""A longer line is no message that anybody said: it is left out."""
_MAX_LIST_BYTES = 32 * 1024 * 1024
"""A list is parsed as a whole; a larger one is not taken for one."""


@dataclass(frozen=True, slots=True)
class Rules:
    """How session files are read.

    Attributes:
        zone: Whose days count; None is the machine's.
        as_openclaw: Whether the reference's own rules apply: its noise stays in, and there are no
            days.
    """

    zone: tzinfo | None = None
    as_openclaw: bool = False

    @classmethod
    def of(cls, settings: Settings) -> Rules:
        """Return the rules of a memory's settings."""
        zone = ZoneInfo(settings.timezone) if settings.timezone else None
        return cls(zone, settings.openclaw_rules)


class Mark(NamedTuple):
    """A place in a file: the beginning of a line.

    Attributes:
        line: Its number, from 1.
        offset: Bytes before it.
        day: Proleptic ordinal of the day that a message there is of if it does not say; None where
            no day is known.
    """

    line: int = 1
    offset: int = 0
    day: int | None = None


class Line(NamedTuple):
    """A line on which somebody speaks; `line`, `offset` and `day` are as in `Mark`."""

    line: int
    offset: int
    day: int | None
    text: str

    @property
    def mark(self) -> Mark:
        """Where it begins."""
        return Mark(self.line, self.offset, self.day)


class SessionReader:
    """Reads the lines of an open file from a place on, up to the size that it had.

    Attributes:
        end: Behind the last line that is complete; all lines before it were read.
        offset: Bytes that were read: a last line without its end counts if it is whole JSON.
        broken: Number of the first line that is no JSON, or too long.
        is_list: Whether the file is a single list.
    """

    def __init__(self, file: BinaryIO, *, start: Mark, size: int, rules: Rules) -> None:
        self.end = start
        self.offset = start.offset
        self.broken: int | None = None
        self.is_list = False
        self._file = file
        self._size = size
        self._rules = rules
        self._day = start.day

    def lines(self) -> Iterator[Line]:
        """Yield the lines on which somebody speaks."""
        for line in self.all_lines():
            if line.text:
                yield line

    def all_lines(self) -> Iterator[Line]:
        """Yield all complete lines, those without a text included."""
        values = None if self.end.offset else _list_items(self._file, self._size)
        if values is not None:
            self.is_list = True
            self.offset = self._size
            for number, value in enumerate(values, self.end.line):
                yield self._line(number, 0, value)
            return
        self._file.seek(self.end.offset)
        while self.offset < self._size:
            number, offset = self.end.line, self.end.offset
            data, terminated = self._next()
            value, is_json = parsed(data)
            if not terminated and not is_json:
                return  # it is being written
            if not is_json and self.broken is None:
                self.broken = number
            line = self._line(number, offset, value)
            self.offset = self._file.tell()
            if terminated:
                self.end = Mark(number + 1, self.offset, self._day)
            yield line

    def _next(self) -> tuple[bytes, bool]:
        """Read a line; one that is too long is dropped, up to its end."""
        data = self._read_some()
        if data.endswith(b"\n"):
            return data, True
        dropped = False
        while self._file.tell() < self._size:
            dropped = True
            if self._read_some().endswith(b"\n"):
                return b"\0", True
        return (b"\0" if dropped else data), False

    def _read_some(self) -> bytes:
        data = self._file.readline(min(MAX_LINE_BYTES, self._size - self._file.tell()))
        if not data:
            self._size = self._file.tell()  # it was truncated meanwhile
        return data

    def _line(self, number: int, offset: int, value: Any) -> Line:
        rules = self._rules
        if not rules.as_openclaw and (moment := moment_of(value, zone=rules.zone)) is not None:
            with contextlib.suppress(OverflowError):  # the first or the last day there is
                self._day = moment.astimezone(rules.zone).date().toordinal()
        text = "  ".join(map(str, said_in(value, as_openclaw=rules.as_openclaw)))
        return Line(number, offset, self._day, text)


def rendered_text(
    path: Path, rules: Rules, *, from_line: int = 1, lines: int | None = None
) -> str | None:
    """Render lines of a file as text, each with its line break; None from behind its end on.

    Args:
        path: The file.
        rules: How it is read.
        from_line: The first line, from 1.
        lines: How many; to the end by default.

    Raises:
        FileNotFoundError: It is gone.
        UnreadableFileError: It cannot be read.
    """
    with open_file(path) as file:
        size = file.seek(0, os.SEEK_END)
        start = Mark() if _list_items(file, size) is not None else _skipped(file, from_line - 1)
        reader = SessionReader(file, start=start, size=size, rules=rules)
        found = []
        for line in reader.all_lines():
            if line.line >= from_line:
                found.append(line.text + "\n")
            if lines is not None and len(found) >= lines:
                break
    return "".join(found) if found else None


def _skipped(file: BinaryIO, lines: int) -> Mark:
    """Return the place behind so many lines; nobody parses them."""
    file.seek(0)
    number = 0
    while number < lines and (data := file.readline(MAX_LINE_BYTES)):
        number += data.endswith(b"\n")
    return Mark(number + 1, file.tell())


def begins_a_list(file: BinaryIO) -> bool:
    """Tell whether a file may be a single JSON list, or become one."""
    file.seek(0)
    return file.read(4096).removeprefix(b"\xef\xbb\xbf").lstrip(b" \t\r\n").startswith(b"[")


def _list_items(file: BinaryIO, size: int) -> list[Any] | None:
    """Return the items of a file that is one JSON list; None for any other."""
    if size > _MAX_LIST_BYTES:
        return None
    if not begins_a_list(file):
        return None
    file.seek(0)
    value, _ = parsed(file.read(size))
    return value if isinstance(value, list) else None


def parsed(data: bytes) -> tuple[Any, bool]:
    """Parse a line, and tell whether it is whole; an empty one is fine, and says nothing."""
    text = data.decode("utf-8", "replace").removeprefix("\ufeff")
    if not text.strip():
        return None, bool(data)
    try:
        return json.loads(text), True
    except (ValueError, RecursionError):
        return None, False
