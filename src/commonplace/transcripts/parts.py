"""A session file in parts that can be indexed one after the other, from where the last run stopped.

A part ends where cutting can go on as if the file had been read at once: so a file of any size is
read in the memory that a part takes, and an index that grew with the file is as a fresh one.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import BinaryIO

from commonplace.settings import Settings
from commonplace.text.chunking import split_oversized
from commonplace.transcripts.incremental import Line, Mark, Rules, SessionReader
from commonplace.transcripts.progress import SessionProgress, fingerprint, goes_on, rules_key
from commonplace.transcripts.rendering import MAX_GAP, SessionChunk, session_chunks
from commonplace.types import Chunk
from commonplace.workspace.file_text import open_file

__all__ = ["SessionPart", "read_parts"]

_PART_CHARS = 400_000
"""Characters of text after which a part ends, where that is possible."""


@dataclass(frozen=True, slots=True)
class SessionPart:
    """What is to be written of a file at once.

    Attributes:
        chunks: Its chunks, and the day of each (a proleptic ordinal; None where it is not known).
        start: Where its text begins.
        keep_before: Chunks in the index that begin before this line stay; None when none does.
        progress: How far the file was read.
        more: Whether another part follows.
        hash: Names the text that was read so far.
        size: Bytes on disk, when it was opened; what was read, if another part follows.
        mtime_ns: Time of the last change, when it was opened.
    """

    chunks: list[tuple[Chunk, int | None]]
    start: Mark
    keep_before: int | None
    progress: SessionProgress
    more: bool
    hash: str
    size: int
    mtime_ns: int

    @property
    def note(self) -> str | None:
        """What was odd about the file; None when nothing was."""
        broken = self.progress.broken
        return None if broken is None else f"line {broken} is no JSON, and is left out"


def read_parts(
    path: Path,
    before: SessionProgress | None,
    *,
    settings: Settings,
    day: int | None = None,
    completes: bool = False,
    max_bytes: int,
) -> Iterator[SessionPart]:
    """Read what is new in a file; all of it, if it is not the one that was read before.

    Args:
        path: The file.
        before: How far it was read.
        settings: How it is read and cut.
        day: The day of its first messages, if they name none.
        completes: Whether chunks that lack vectors are read again.
        max_bytes: Length of a chunk in UTF-8, at most.

    Raises:
        FileNotFoundError: It is gone.
        UnreadableFileError: It cannot be read.
    """
    with open_file(path) as file:
        yield from _Reading(file, before, settings, day, completes, max_bytes).parts()


class _Reading:
    """One look through an open file."""

    def __init__(
        self,
        file: BinaryIO,
        before: SessionProgress | None,
        settings: Settings,
        day: int | None,
        completes: bool,
        max_bytes: int,
    ) -> None:
        self._file = file
        self._info = os.fstat(file.fileno())
        self._settings = settings
        self._rules = Rules.of(settings)
        self._key = rules_key(settings)
        self._max_bytes = max_bytes
        self._day = day
        self._before = before if before and self._goes_on(before) else None
        self._lacking = self._before.lacking if self._before and not completes else None
        start = Mark(day=day)
        if self._before is not None:
            start = (self._before.lacking if completes else None) or self._before.tail
        self._start = start
        self._is_first = True
        self._reader = SessionReader(file, start=start, size=self._info.st_size, rules=self._rules)

    def _goes_on(self, before: SessionProgress) -> bool:
        """Tell whether the file still begins with what was read."""
        info = self._info
        return before.rules == self._key and goes_on(
            self._file, info.st_size, info.st_mtime_ns, before
        )

    def parts(self) -> Iterator[SessionPart]:
        """Yield the parts; the last one has no more behind it."""
        waiting: list[Line] = []
        chars, enough = 0, _PART_CHARS
        texts = hashlib.sha256() if self._rules.as_openclaw else None
        numbers: list[int] = []
        for line in self._reader.lines():
            waiting.append(line)
            chars += len(line.text)
            if texts is not None:
                texts.update((b"\n" if numbers else b"") + line.text.encode())
                numbers.append(line.line)
            if chars < enough:
                continue
            chunks = self._cut(waiting)
            last = _last_resumable(chunks)
            if last:
                first = chunks[last].first
                yield self._part(chunks[:last], waiting[first].mark, more=True)
                self._start, self._is_first = waiting[first].mark, False
                waiting = waiting[first:]
            chars = sum(len(line.text) for line in waiting)
            enough = max(_PART_CHARS, 2 * chars)
        chunks = self._cut(waiting)
        tail = waiting[chunks[_last_resumable(chunks)].first].mark if chunks else self._reader.end
        if waiting and self._reader.end.line - waiting[-1].line > MAX_GAP:
            tail = self._reader.end  # whoever speaks next begins a chunk
        part = self._part(chunks, tail, more=False)
        if texts is not None:
            texts.update(("\n" + ",".join(map(str, numbers))).encode())
            part = replace(part, hash=texts.hexdigest())
        yield part

    def _cut(self, lines: list[Line]) -> list[SessionChunk]:
        openclaw = self._rules.as_openclaw
        return session_chunks(lines, self._settings.chunking, as_openclaw=openclaw)

    def _part(self, chunks: list[SessionChunk], tail: Mark, *, more: bool) -> SessionPart:
        if self._rules.as_openclaw or self._reader.is_list:
            tail = Mark(day=self._day)  # what is not read line by line is read as a whole
        offset = tail.offset if more else self._reader.offset
        position = self._file.tell()
        broken = [self._before.broken if self._before else None, self._reader.broken]
        progress = SessionProgress(
            self._key,
            offset,
            fingerprint(self._file, offset),
            self._info.st_mtime_ns,
            tail,
            self._lacking,
            broken=min((line for line in broken if line), default=None),
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
            progress,
            more,
            hash=_hash(progress),
            size=offset if more else self._info.st_size,
            mtime_ns=self._info.st_mtime_ns,
        )


def _hash(progress: SessionProgress) -> str:
    """Name what was read: other bytes at another time are another text."""
    read = f"{progress.rules}\n{progress.fingerprint}\n{progress.mtime_ns}"
    return hashlib.sha256(read.encode()).hexdigest()


def _last_resumable(chunks: list[SessionChunk]) -> int:
    """Return the index of the last chunk that cutting can go on from; 0 without chunks."""
    return max((at for at, chunk in enumerate(chunks) if chunk.resumable), default=0)
