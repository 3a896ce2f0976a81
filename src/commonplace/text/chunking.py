"""Chunking of Markdown: runs of lines that are each indexed as one text.

A chunk never exceeds the size in `ChunkingSettings`. Sections stay together where they fit, and a
chunk's text is always a verbatim part of the file.
"""

from __future__ import annotations

import hashlib
import re
import unicodedata
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import accumulate
from typing import NamedTuple

from commonplace.settings import ChunkingSettings
from commonplace.text.tokens import (
    NEWLINE_UNITS,
    UNITS_PER_TOKEN,
    character_units,
    units_by_line,
)
from commonplace.types import Chunk

__all__ = [
    "Outline",
    "chunk_id",
    "chunk_markdown",
    "make_chunk",
    "read_outline",
    "split_oversized",
]


def chunk_markdown(text: str, settings: ChunkingSettings) -> list[Chunk]:
    """Cut a file's text into chunks, in order; together they hold every line that is not blank."""
    if settings.measure == "chars":
        from commonplace.compat.openclaw.chunking import openclaw_chunks

        chunks = openclaw_chunks(text, tokens=settings.tokens, overlap=settings.overlap)
    else:
        chunks = _token_chunks(text, tokens=settings.tokens, overlap=settings.overlap)
    return [chunk for chunk in chunks if not _is_blank(chunk.text)]


def _is_blank(text: str) -> bool:
    return not text.strip().strip("\ufeff")


class _Piece(NamedTuple):
    """A line, or a part of a line that is longer than a chunk.

    Attributes:
        line: Index of the line, from 0.
        start: Offset of its first character in the text.
        end: Offset of its end, before the line break.
        size: Token estimate in units, a line break included.
        whole: Whether it is the whole line.
    """

    line: int
    start: int
    end: int
    size: int
    whole: bool


def _token_chunks(text: str, *, tokens: int, overlap: int) -> list[Chunk]:
    text = text.removesuffix("\n")
    lines = text.split("\n")
    outline = read_outline(lines)
    # Parts of long lines leave room for the overlap, so that it carries a heading right above.
    pieces = _pieces(
        lines,
        sizes=units_by_line(text),
        longest=tokens * UNITS_PER_TOKEN,
        part=(tokens - overlap) * UNITS_PER_TOKEN,
    )
    ranges = _pack(
        pieces,
        headings=frozenset(outline.lines),
        # Every piece is counted with a line break, and the last one of a chunk has none.
        capacity=tokens * UNITS_PER_TOKEN + NEWLINE_UNITS,
        overlap=overlap * UNITS_PER_TOKEN,
    )
    return [_chunk(text, pieces[first:after], outline) for first, after in ranges]


def _chunk(text: str, pieces: Sequence[_Piece], outline: Outline) -> Chunk:
    start, end = pieces[0].start, pieces[-1].end
    body = text[start:end]
    # The chunk's first line with text: a heading may follow blank lines.
    blank = body[: len(body) - len(body.lstrip())].count("\n")
    heading = outline.path_at(pieces[0].line + blank)
    return make_chunk(pieces[0].line + 1, pieces[-1].line + 1, body, heading)


def _pack(
    pieces: Sequence[_Piece], *, headings: frozenset[int], capacity: int, overlap: int
) -> list[tuple[int, int]]:
    """Pack pieces greedily into chunks; return each chunk's range of pieces, its end excluded.

    Once the current chunk is half full, a heading begins a new one, without overlap.
    """
    ranges: list[tuple[int, int]] = []
    first = used = 0
    for index, (line, _, _, size, _) in enumerate(pieces):
        new_section = line in headings and used > capacity // 2
        if new_section or used + size > capacity:
            if index > first:
                ranges.append((first, index))
            room = 0 if new_section else min(overlap, capacity - size)
            first, used = _carry(pieces, index, room=room)
        used += size
    if pieces:
        ranges.append((first, len(pieces)))
    return ranges


def _carry(pieces: Sequence[_Piece], index: int, *, room: int) -> tuple[int, int]:
    """Return the overlap before a piece: the first whole line that fits, and the lines' size."""
    used = 0
    first = index
    while first > 0:
        piece = pieces[first - 1]
        if not piece.whole or used + piece.size > room:
            break
        first -= 1
        used += piece.size
    return first, used


def _pieces(lines: Sequence[str], *, sizes: Sequence[int], longest: int, part: int) -> list[_Piece]:
    starts = accumulate((len(line) + 1 for line in lines), initial=0)
    pieces: list[_Piece] = []
    for index, (line, start, size) in enumerate(zip(lines, starts, sizes, strict=False)):
        if size <= longest:
            pieces.append(_Piece(index, start, start + len(line), size + NEWLINE_UNITS, True))
        else:
            pieces.extend(_line_parts(line, index, start, longest=part))
    return pieces


def _line_parts(line: str, index: int, offset: int, *, longest: int) -> Iterator[_Piece]:
    """Split a line that is longer than a chunk: after a space, else between characters."""
    weights = list(accumulate(character_units(line), initial=0))
    start = 0
    while start < len(line):
        end = max(start + 1, bisect_right(weights, weights[start] + longest) - 1)
        if end < len(line):
            end = _cut(line, start, end)
        size = weights[end] - weights[start] + NEWLINE_UNITS
        yield _Piece(index, offset + start, offset + end, size, whole=False)
        start = end


def _cut(line: str, start: int, end: int) -> int:
    """Return the best split position of a line at or before an end."""
    space = max(line.rfind(" ", start, end), line.rfind("\t", start, end))
    if space > start:
        return space + 1
    whole = end
    while whole > start and _joins(line[whole - 1], line[whole]):
        whole -= 1
    return whole if whole > start else end


_COMBINING = re.compile("[\u1160-\u11ff\u200d\r\U0001f3fb-\U0001f3ff\U000e0020-\U000e007f]")


def _joins(before: str, after: str) -> bool:
    """Check whether two characters form one grapheme: marks, joiners, skin tones, Hangul vowels."""
    if before.isascii() and after.isascii():
        return after == "\r"
    return (
        before == "\u200d"
        or _COMBINING.match(after) is not None
        or unicodedata.category(after).startswith("M")
    )


# Chunks: identity and size.


def make_chunk(start_line: int, end_line: int, text: str, heading: str = "") -> Chunk:
    """Build a chunk with the hash of its text."""
    return Chunk(start_line, end_line, text, _sha256(text), heading)


def chunk_id(source: str, path: str, chunk: Chunk, model: str) -> str:
    """Return a chunk's id: SHA-256 of its source, path, lines, text hash and embedding model."""
    place = f"{source}:{path}:{chunk.start_line}:{chunk.end_line}"
    return _sha256(f"{place}:{chunk.hash}:{model}")


def split_oversized(chunks: Iterable[Chunk], max_bytes: int) -> list[Chunk]:
    """Split chunks that exceed an embedder's limit in UTF-8; the parts keep the line range."""
    return [part for chunk in chunks for part in _parts_within(chunk, max_bytes)]


def _parts_within(chunk: Chunk, max_bytes: int) -> Iterator[Chunk]:
    if len(chunk.text) * 4 <= max_bytes or len(chunk.text.encode()) <= max_bytes:
        yield chunk
        return
    rest = chunk.text.encode()
    while rest:
        part = rest[:max_bytes].decode("utf-8", "ignore") or rest.decode()[0]
        yield replace(chunk, text=part, hash=_sha256(part))
        rest = rest[len(part.encode()) :]


def _sha256(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


# Headings.

_HEADING_MARKS = frozenset("#`~ \t-*+0123456789\ufeff")
"""First characters of headings and fences: other lines, the most, are skipped without a match."""

_FENCE = re.compile(r"[ \t]*(?:(?:[-*+]|[0-9]{1,9}[.)])[ \t]+)*(`{3,}(?=[^`]*$)|~{3,})")


@dataclass(frozen=True, slots=True)
class Outline:
    """The headings of a text, in order.

    Attributes:
        lines: Index of each heading's line, from 0, ascending.
        paths: The heading path that applies from that line on, outermost first, joined by `` > ``.
    """

    lines: tuple[int, ...]
    paths: tuple[str, ...]

    def path_at(self, line: int) -> str:
        """Return the heading path that applies at a line, a heading on that line included."""
        position = bisect_right(self.lines, line)
        return self.paths[position - 1] if position else ""


def read_outline(lines: Sequence[str]) -> Outline:
    """Find the ATX headings among lines; lines inside a code fence are skipped."""
    found: list[int] = []
    paths: list[str] = []
    titles: list[str] = [""] * 6
    fence = ""
    for index, line in enumerate(lines):
        if line[:1] not in _HEADING_MARKS or not ("#" in line or "```" in line or "~~~" in line):
            continue
        if fence:
            fence = "" if _closes(line, fence) else fence
        elif heading := _heading(line):
            level, title = heading
            titles[level - 1 :] = [title, *[""] * (6 - level)]
            found.append(index)
            paths.append(" > ".join(filter(None, titles)))
        elif opened := _FENCE.match(line):
            fence = opened[1]
    return Outline(tuple(found), tuple(paths))


def _heading(line: str) -> tuple[int, str] | None:
    """Return the level and the title of a heading line; None for any other line."""
    line = line.removeprefix("\ufeff").rstrip()
    text = line.lstrip(" ")
    level = len(text) - len(text.lstrip("#"))
    rest = text[level:]
    if not 1 <= level <= 6 or len(line) - len(text) > 3 or (rest and rest[0] not in " \t"):
        return None
    return level, _without_closing_marks(rest)


def _without_closing_marks(title: str) -> str:
    """Strip the closing sequence of #s from a heading; ``C#`` keeps its own."""
    kept = title.rstrip("#")
    return (kept if not kept or kept[-1] in " \t" else title).strip()


def _closes(line: str, fence: str) -> bool:
    """Check whether a line closes a code block: the same mark, at least as long, alone."""
    mark = line.strip()
    return len(mark) >= len(fence) and not mark.strip(fence[0])
