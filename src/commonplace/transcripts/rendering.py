"""Rendering of session files: one line of text for each line of the file.

Line numbers are therefore the file's own; a line without a message is empty. A file that is a
single JSON list (``json.dump(messages_to_dict(...))``) has one line for each item of the list.
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
from commonplace.transcripts.formats import messages_in, moment_of
from commonplace.workspace.file_text import open_file

__all__ = [
    "MAX_LINE_BYTES",
    "LinePosition",
    "SessionReader",
    "TranscriptLine",
    "TranscriptRules",
    "may_be_list",
    "parse_line",
    "render_lines",
]

MAX_LINE_BYTES = 16 * 1024 * 1024
"""Maximum length of a line: longer ones are skipped, because no message is that long."""
_MAX_LIST_BYTES = 32 * 1024 * 1024
"""Maximum size of a file that is a JSON list, which is parsed as a whole."""


@dataclass(frozen=True, slots=True)
class TranscriptRules:
    """Rules for rendering session files.

    Attributes:
        zone: Time zone of the days of messages; None is the machine's.
        filters_noise: Whether messages that programs wrote are left out: silent replies,
            heartbeats, prompts of flushes.
        masks_personal: Whether numbers of persons are masked besides secrets.
    """

    zone: tzinfo | None = None
    filters_noise: bool = True
    masks_personal: bool = False

    @classmethod
    def from_settings(cls, settings: Settings) -> TranscriptRules:
        """Return the rules that a memory's settings select."""
        zone = ZoneInfo(settings.timezone) if settings.timezone else None
        return cls(zone, masks_personal=settings.mask_personal)


class LinePosition(NamedTuple):
    """Position of a line in a session file.

    Attributes:
        line: Number of the line, from 1.
        offset: Bytes before it.
        day: Proleptic ordinal of the day of messages without a time of their own; None where no
            day is known.
    """

    line: int = 1
    offset: int = 0
    day: int | None = None


class TranscriptLine(NamedTuple):
    """A rendered line; `line`, `offset` and `day` are as in `LinePosition`."""

    line: int
    offset: int
    day: int | None
    text: str

    @property
    def position(self) -> LinePosition:
        """Position of the line."""
        return LinePosition(self.line, self.offset, self.day)


class SessionReader:
    """Reader of an open session file, from a position up to the size at its opening.

    Attributes:
        end: Position behind the last complete line that was read.
        offset: Bytes that were read; they include a last line without a line end if it is JSON.
        invalid_line: Number of the first line that is no JSON, or too long.
        is_list: Whether the file is a single list.
    """

    def __init__(
        self, file: BinaryIO, *, start: LinePosition, size: int, rules: TranscriptRules
    ) -> None:
        self.end = start
        self.offset = start.offset
        self.invalid_line: int | None = None
        self.is_list = False
        self._file = file
        self._size = size
        self._rules = rules
        self._day = start.day

    def lines(self) -> Iterator[TranscriptLine]:
        """Yield the lines with a message."""
        for line in self.all_lines():
            if line.text:
                yield line

    def all_lines(self) -> Iterator[TranscriptLine]:
        """Yield all complete lines, those without a message included."""
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
            value, is_json = parse_line(data)
            if not terminated and not is_json:
                return  # another process is writing it
            if not is_json and self.invalid_line is None:
                self.invalid_line = number
            line = self._line(number, offset, value)
            self.offset = self._file.tell()
            if terminated:
                self.end = LinePosition(number + 1, self.offset, self._day)
            yield line

    def _next(self) -> tuple[bytes, bool]:
        """Read a line, and whether it is terminated; a line that is too long becomes NUL."""
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
            self._size = self._file.tell()  # the file was truncated meanwhile
        return data

    def _line(self, number: int, offset: int, value: Any) -> TranscriptLine:
        rules = self._rules
        if (moment := moment_of(value, zone=rules.zone)) is not None:
            with contextlib.suppress(OverflowError):  # the first or the last day of the calendar
                self._day = moment.astimezone(rules.zone).date().toordinal()
        messages = messages_in(
            value, filters_noise=rules.filters_noise, personal=rules.masks_personal
        )
        text = "  ".join(map(str, messages))
        return TranscriptLine(number, offset, self._day, text)


def render_lines(
    path: Path, rules: TranscriptRules, *, from_line: int = 1, lines: int | None = None
) -> str | None:
    """Render lines of a file as text, each with its line break; None behind the file's end.

    Args:
        path: The session file.
        rules: Rules for rendering.
        from_line: The first line, from 1.
        lines: Number of lines; to the end by default.

    Raises:
        FileNotFoundError: The file is gone.
        UnreadableFileError: It cannot be read.
    """
    with open_file(path) as file:
        size = file.seek(0, os.SEEK_END)
        start = (
            LinePosition()
            if _list_items(file, size) is not None
            else _position_after(file, from_line - 1)
        )
        reader = SessionReader(file, start=start, size=size, rules=rules)
        found = []
        for line in reader.all_lines():
            if line.line >= from_line:
                found.append(line.text + "\n")
            if lines is not None and len(found) >= lines:
                break
    return "".join(found) if found else None


def _position_after(file: BinaryIO, lines: int) -> LinePosition:
    """Return the position behind a number of lines, which are not parsed."""
    file.seek(0)
    number = 0
    while number < lines and (data := file.readline(MAX_LINE_BYTES)):
        number += data.endswith(b"\n")
    return LinePosition(number + 1, file.tell())


def may_be_list(file: BinaryIO) -> bool:
    """Check whether a file begins as a single JSON list, which may still be incomplete."""
    file.seek(0)
    return file.read(4096).removeprefix(b"\xef\xbb\xbf").lstrip(b" \t\r\n").startswith(b"[")


def _list_items(file: BinaryIO, size: int) -> list[Any] | None:
    """Return the items of a file that is one JSON list; None for any other."""
    if size > _MAX_LIST_BYTES:
        return None
    if not may_be_list(file):
        return None
    file.seek(0)
    value, _ = parse_line(file.read(size))
    return value if isinstance(value, list) else None


def parse_line(data: bytes) -> tuple[Any, bool]:
    """Return the JSON value of a line, and whether it is valid; a blank line is valid None."""
    text = data.decode("utf-8", "replace").removeprefix("\ufeff")
    if not text.strip():
        return None, bool(data)
    try:
        return json.loads(text), True
    except (ValueError, RecursionError):
        return None, False
