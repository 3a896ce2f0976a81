"""Markdown text into chunks: runs of lines that are each indexed as one text.

Two measures. ``tokens`` is ours: a chunk never exceeds its size, sections stay together where they
can, and a chunk's text is always a verbatim piece of the file. ``chars`` is the reference's.
"""

from __future__ import annotations

import re
import unicodedata
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from itertools import accumulate
from typing import NamedTuple

from commonplace.compat.openclaw.chunking import openclaw_chunks
from commonplace.settings import ChunkingSettings
from commonplace.text.chunks import chunk_id, make_chunk, split_oversized
from commonplace.text.outline import Outline, read_outline
from commonplace.text.tokens import (
    NEWLINE_UNITS,
    UNITS_PER_TOKEN,
    character_units,
    units_by_line,
)
from commonplace.types import Chunk

__all__ = ["chunk_id", "chunk_markdown", "split_oversized"]


def chunk_markdown(text: str, settings: ChunkingSettings) -> list[Chunk]:
    """Cut a file's text into chunks, in order; together they hold every line that is not blank."""
    if settings.measure == "chars":
        chunks = openclaw_chunks(text, tokens=settings.tokens, overlap=settings.overlap)
    else:
        chunks = _token_chunks(text, tokens=settings.tokens, overlap=settings.overlap)
    return [chunk for chunk in chunks if not _is_blank(chunk.text)]


def _is_blank(text: str) -> bool:
    return not text.strip().strip("\ufeff")


class _Piece(NamedTuple):
    """A line, or a part of one that is longer than a chunk.

    Attributes:
        line: Index of the line, from 0.
        start: Where in the text it begins.
        end: Where it ends, before the line break.
        size: Its weight in units, a line break included.
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
    # A part of a line leaves room for the overlap, so that a heading right above is carried along.
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
    # The first line that says something: a heading may follow blank lines.
    blank = body[: len(body) - len(body.lstrip())].count("\n")
    heading = outline.path_at(pieces[0].line + blank)
    return make_chunk(pieces[0].line + 1, pieces[-1].line + 1, body, heading)


def _pack(
    pieces: Sequence[_Piece], *, headings: frozenset[int], capacity: int, overlap: int
) -> list[tuple[int, int]]:
    """Fill chunks one after the other; return each one's range of pieces, its end excluded.

    A heading begins a new chunk, which carries nothing over, once the current one is half full.
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
    """Walk back from a piece over the whole lines that fit; return the first and their size."""
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
    """Cut a line that is longer than a chunk: after a space, else between characters."""
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
    """Return the best place to cut a line at or before an end."""
    space = max(line.rfind(" ", start, end), line.rfind("\t", start, end))
    if space > start:
        return space + 1
    whole = end
    while whole > start and _joins(line[whole - 1], line[whole]):
        whole -= 1
    return whole if whole > start else end


_COMBINING = re.compile("[\u1160-\u11ff\u200d\r\U0001f3fb-\U0001f3ff\U000e0020-\U000e007f]")


def _joins(before: str, after: str) -> bool:
    """Tell whether two characters are seen as one: marks, joiners, skin tones, Hangul vowels."""
    if before.isascii() and after.isascii():
        return after == "\r"
    return (
        before == "\u200d"
        or _COMBINING.match(after) is not None
        or unicodedata.category(after).startswith("M")
    )
