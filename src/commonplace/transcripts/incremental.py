"""Incremental reading of session files: parts with chunks, from where the last run stopped.

A part ends where chunking gives the same result as in one pass over the file. So memory use is
bounded by a part, whatever the file's size, and an incremental index equals a fresh one.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import BinaryIO

from commonplace.settings import ChunkingSettings, Settings
from commonplace.text.chunking import chunk_markdown, make_chunk, split_oversized
from commonplace.transcripts.cursor import ReadCursor, can_resume, fingerprint, rules_key
from commonplace.transcripts.rendering import (
    LinePosition,
    SessionReader,
    TranscriptLine,
    TranscriptRules,
)
from commonplace.types import Chunk
from commonplace.workspace.file_text import open_file

__all__ = ["SessionPart", "read_parts"]

_PART_CHARS = 400_000
"""Characters of text after which a part ends, where that is possible."""
_MAX_GAP_LINES = 30
"""Lines without a message, such as tool calls and their results, that a chunk may span."""


@dataclass(frozen=True, slots=True)
class SessionPart:
    """A part of a session file that is indexed at once.

    Attributes:
        chunks: Its chunks, and the day of each (a proleptic ordinal; None where it is not known).
        start: Position of its first line.
        keep_before: Chunks in the index that begin before this line stay; None when none does.
        cursor: Where the next read resumes.
        more: Whether another part follows.
        hash: Hash of the content that was read so far.
        size: Bytes on disk at opening; bytes that were read, if another part follows.
        mtime_ns: Time of the last change, at opening.
    """

    chunks: list[tuple[Chunk, int | None]]
    start: LinePosition
    keep_before: int | None
    cursor: ReadCursor
    more: bool
    hash: str
    size: int
    mtime_ns: int

    @property
    def note(self) -> str | None:
        """Warning about invalid lines; None without one."""
        line = self.cursor.invalid_line
        return None if line is None else f"line {line} is no JSON, and is left out"


def read_parts(
    path: Path,
    before: ReadCursor | None,
    *,
    settings: Settings,
    day: int | None = None,
    completes: bool = False,
    max_bytes: int,
) -> Iterator[SessionPart]:
    """Yield what is new in a file, in parts; the whole file if the cursor does not fit it.

    Args:
        path: The session file.
        before: Cursor of the last read; None reads the whole file.
        settings: Rules for rendering and chunking.
        day: The day of its first messages, if they have no time.
        completes: Whether to read chunks that lack vectors again.
        max_bytes: Maximum length of a chunk in UTF-8.

    Raises:
        FileNotFoundError: The file is gone.
        UnreadableFileError: It cannot be read.
    """
    with open_file(path) as file:
        yield from _PartReader(file, before, settings, day, completes, max_bytes).parts()


class _PartReader:
    """Reader of the parts of an open session file."""

    def __init__(
        self,
        file: BinaryIO,
        before: ReadCursor | None,
        settings: Settings,
        day: int | None,
        completes: bool,
        max_bytes: int,
    ) -> None:
        self._file = file
        self._info = os.fstat(file.fileno())
        self._settings = settings
        self._rules = TranscriptRules.from_settings(settings)
        self._key = rules_key(settings)
        self._max_bytes = max_bytes
        self._day = day
        self._before = before if before and self._fits(before) else None
        self._unembedded = self._before.first_unembedded if self._before and not completes else None
        start = LinePosition(day=day)
        if self._before is not None:
            start = (self._before.first_unembedded if completes else None) or self._before.resume_at
        self._start = start
        self._is_first = True
        self._reader = SessionReader(file, start=start, size=self._info.st_size, rules=self._rules)

    def _fits(self, before: ReadCursor) -> bool:
        """Check whether the file still begins with the bytes that were read."""
        info = self._info
        return before.rules == self._key and can_resume(
            self._file, info.st_size, info.st_mtime_ns, before
        )

    def parts(self) -> Iterator[SessionPart]:
        """Yield the parts; only the last one has `more` false."""
        waiting: list[TranscriptLine] = []
        chars, enough = 0, _PART_CHARS
        for line in self._reader.lines():
            waiting.append(line)
            chars += len(line.text)
            if chars < enough:
                continue
            chunks = self._cut(waiting)
            last = _last_resumable(chunks)
            if last:
                first = chunks[last].first
                yield self._part(chunks[:last], waiting[first].position, more=True)
                self._start, self._is_first = waiting[first].position, False
                waiting = waiting[first:]
            chars = sum(len(line.text) for line in waiting)
            enough = max(_PART_CHARS, 2 * chars)
        chunks = self._cut(waiting)
        tail = (
            waiting[chunks[_last_resumable(chunks)].first].position if chunks else self._reader.end
        )
        if waiting and self._reader.end.line - waiting[-1].line > _MAX_GAP_LINES:
            tail = self._reader.end  # the next message begins a chunk
        yield self._part(chunks, tail, more=False)

    def _cut(self, lines: list[TranscriptLine]) -> list[_SessionChunk]:
        return _session_chunks(lines, self._settings.chunking)

    def _part(self, chunks: list[_SessionChunk], tail: LinePosition, *, more: bool) -> SessionPart:
        if self._reader.is_list:
            tail = LinePosition(day=self._day)  # always read as a whole
        offset = tail.offset if more else self._reader.offset
        position = self._file.tell()
        invalid = [self._before.invalid_line if self._before else None, self._reader.invalid_line]
        cursor = ReadCursor(
            self._key,
            offset,
            fingerprint(self._file, offset),
            self._info.st_mtime_ns,
            tail,
            self._unembedded,
            invalid_line=min((line for line in invalid if line), default=None),
        )
        self._file.seek(position)
        return SessionPart(
            [
                (piece, chunk.day)
                for chunk in chunks
                for piece in split_oversized([chunk.chunk], self._max_bytes)
            ],
            self._start,
            None if self._before is None and self._is_first else self._start.line,
            cursor,
            more,
            hash=_hash(cursor),
            size=offset if more else self._info.st_size,
            mtime_ns=self._info.st_mtime_ns,
        )


def _hash(cursor: ReadCursor) -> str:
    """Hash what was read: the rules, the bytes and their time."""
    read = f"{cursor.rules}\n{cursor.fingerprint}\n{cursor.mtime_ns}"
    return hashlib.sha256(read.encode()).hexdigest()


def _last_resumable(chunks: list[_SessionChunk]) -> int:
    """Return the index of the last chunk from which chunking can resume; 0 without chunks."""
    return max((at for at, chunk in enumerate(chunks) if chunk.resumable), default=0)


# Chunks of a session: of one day each, and the same however the file grew.


@dataclass(frozen=True, slots=True)
class _SessionChunk:
    """A chunk of a session.

    Attributes:
        chunk: Its text, with the lines of the file.
        day: Proleptic ordinal of the day of all its messages; None where it is not known.
        first: Index of its first line among the lines that were chunked.
        resumable: Whether chunking from that line on gives this chunk and all that follow.
    """

    chunk: Chunk
    day: int | None
    first: int
    resumable: bool


def _session_chunks(
    lines: Sequence[TranscriptLine], settings: ChunkingSettings
) -> list[_SessionChunk]:
    """Split lines into chunks, in order.

    Args:
        lines: Lines with a message.
        settings: Size and overlap of chunks.
    """
    return [
        chunk
        for first, after in _runs(lines)
        for chunk in _chunks_of_run(lines, first, after, settings)
    ]


def _runs(lines: Sequence[TranscriptLine]) -> Iterator[tuple[int, int]]:
    """Yield the ranges of lines that are chunked separately: one day each, without long gaps."""
    first = 0
    for at in range(1, len(lines)):
        before, line = lines[at - 1], lines[at]
        if line.day != before.day or line.line - before.line > _MAX_GAP_LINES:
            yield first, at
            first = at
    if lines:
        yield first, len(lines)


def _chunks_of_run(
    lines: Sequence[TranscriptLine], first: int, after: int, settings: ChunkingSettings
) -> Iterator[_SessionChunk]:
    text = "\n".join(line.text for line in lines[first:after])
    covered = first - 1
    for chunk in chunk_markdown(text, settings):
        start, end = first + chunk.start_line - 1, first + chunk.end_line - 1
        # At a line start that the chunk before has not reached, or has included as a whole.
        begins = start > covered or chunk.text.split("\n", 1)[0] == lines[start].text
        covered = end
        placed = _placed(chunk, lines, start, end)
        yield _SessionChunk(placed, lines[first].day, start, start == first or begins)


def _placed(chunk: Chunk, lines: Sequence[TranscriptLine], start: int, end: int) -> Chunk:
    """Return a chunk with the file's line numbers, and with empty lines for those in between."""
    numbers = [line.line for line in lines[start : end + 1]]
    parts = chunk.text.split("\n")
    if numbers[-1] - numbers[0] + 1 == len(parts) or len(parts) != len(numbers):
        return replace(chunk, start_line=numbers[0], end_line=numbers[-1], heading="", context="")
    filled = [parts[0]]
    for part, number, before in zip(parts[1:], numbers[1:], numbers, strict=False):
        filled += [""] * (number - before - 1) + [part]
    return make_chunk(numbers[0], numbers[-1], "\n".join(filled))
