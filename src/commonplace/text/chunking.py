"""Chunking of Markdown: text to chunks, with their headings, and chunks to embedding units.

A chunk is a run of lines that is indexed as one text: a verbatim part of the file, never longer
than `ChunkingSettings` says; sections stay together where they fit. Its embedding units, about a
line each, are the smallest texts that are embedded and scored.
"""

from __future__ import annotations

import hashlib
import re
import struct
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import chain

from commonplace.settings import ChunkingSettings
from commonplace.text.blocks import BLOCK_MARKS, Block, block_at, context_at, find_blocks
from commonplace.text.strikethrough import is_struck, without_strikethrough
from commonplace.text.tokens import NEWLINE_UNITS, UNITS_PER_TOKEN, Piece, measured_pieces
from commonplace.types import Chunk, ChunkPlace

__all__ = [
    "HEADING_STARTS",
    "LineUnit",
    "Outline",
    "chunk_id",
    "chunk_markdown",
    "has_text",
    "heading_of",
    "is_wrapped",
    "line_units",
    "make_chunk",
    "pack_pieces",
    "pack_units",
    "piece_chunk",
    "piece_sizes",
    "read_outline",
    "split_oversized",
    "starts_unit",
    "unit_texts",
    "whole_unit",
]


def chunk_markdown(text: str, settings: ChunkingSettings) -> list[Chunk]:
    """Split a file's text into chunks, in order; together they hold all non-blank lines."""
    text = text.removesuffix("\n")
    lines = text.split("\n")
    blocks = find_blocks(lines) if any(mark in text for mark in BLOCK_MARKS) else []
    outline = read_outline(lines, blocks)
    pieces = measured_pieces(text, **piece_sizes(settings))
    ranges = pack_pieces(pieces, settings, headings=frozenset(outline.lines))
    chunks = (piece_chunk(text, pieces[first:after], outline, blocks) for first, after in ranges)
    return [chunk for chunk in chunks if has_text(chunk.text)]


def piece_sizes(settings: ChunkingSettings) -> dict[str, int]:
    """Return the sizes of pieces: parts of long lines leave room for the overlap before them."""
    size, overlap = settings.tokens * UNITS_PER_TOKEN, settings.overlap * UNITS_PER_TOKEN
    return {"longest": size, "part": size - overlap}


def has_text(text: str) -> bool:
    """Check whether a text is more than white space and a byte order mark."""
    return bool(text.strip().strip("\ufeff"))


def piece_chunk(
    text: str, pieces: Sequence[Piece], outline: Outline, blocks: Sequence[Block]
) -> Chunk:
    """Build the chunk of some pieces of a text."""
    first, last = pieces[0], pieces[-1]
    body = text[first.start : last.end]
    heading = heading_of(body, first.line, outline)
    context = context_at(blocks, first.line) if blocks else ""
    return make_chunk(first.line + 1, last.line + 1, body, heading, context)


def heading_of(body: str, line: int, outline: Outline) -> str:
    """Return the heading path of a chunk's text that begins at a line."""
    # That of its first line with text: a heading may follow blank lines.
    blank = body[: len(body) - len(body.lstrip())].count("\n") if body[:1].isspace() else 0
    return outline.path_at(line + blank)


def pack_pieces(
    pieces: Sequence[Piece],
    settings: ChunkingSettings,
    *,
    headings: frozenset[int],
    carried: int = 0,
) -> list[tuple[int, int]]:
    """Pack pieces greedily into chunks; return each chunk's range of pieces, its end excluded.

    Once the current chunk is half full, a heading begins a new one, without overlap.

    Args:
        pieces: The pieces of a text, from the first one of a chunk on.
        settings: The size of a chunk.
        headings: Lines that are headings.
        carried: Pieces at the beginning that are overlap.
    """
    # Every piece is counted with a line break, and the last one of a chunk has none.
    capacity = settings.tokens * UNITS_PER_TOKEN + NEWLINE_UNITS
    overlap = settings.overlap * UNITS_PER_TOKEN
    ranges: list[tuple[int, int]] = []
    first = used = 0
    for index, (line, _, _, size, _) in enumerate(pieces):
        new_section = line in headings and used > capacity // 2
        if (new_section or used + size > capacity) and index > carried:
            if index > first:
                ranges.append((first, index))
            room = 0 if new_section else min(overlap, capacity - size)
            first, used = _carry(pieces, index, room=room)
        used += size
    if pieces:
        ranges.append((first, len(pieces)))
    return ranges


def _carry(pieces: Sequence[Piece], index: int, *, room: int) -> tuple[int, int]:
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


# Chunks: identity and size.


def make_chunk(
    start_line: int, end_line: int, text: str, heading: str = "", context: str = ""
) -> Chunk:
    """Build a chunk with the hash of its text."""
    return Chunk(start_line, end_line, text, _sha256(text), heading, context)


def chunk_id(source: str, path: str, chunk: Chunk | ChunkPlace, model: str) -> str:
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
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


# Headings.


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


HEADING_STARTS = "# \ufeff"
"""Characters with which the line of a heading may begin."""


def read_outline(
    lines: Sequence[str], blocks: Iterable[Block] = (), *, marked: Iterable[int] | None = None
) -> Outline:
    """Find the ATX headings among lines; those in code blocks are code.

    Args:
        lines: The lines.
        blocks: Their blocks.
        marked: The lines that hold a ``#`` and begin as a heading may, where they are known.
    """
    code = [block for block in blocks if block.kind == "code"]
    found: list[int] = []
    paths: list[str] = []
    titles: list[str] = [""] * 6
    if marked is None:
        marked = [index for index, line in enumerate(lines) if "#" in line]
    for index in marked:
        line = lines[index]
        if line[:1] not in HEADING_STARTS or (code and block_at(code, index)):
            continue
        if heading := _heading(line):
            level, title = heading
            titles[level - 1 :] = [title, *[""] * (6 - level)]
            found.append(index)
            paths.append(" > ".join(filter(None, titles)))
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


# Embedding units.

_MAX_LINE_CHARS = 600
"""Maximum length of a line that is one unit: a snippet holds it whole."""
_MAX_UNIT_CHARS = 350
"""Maximum length of a unit joined from several lines, or split off a longer line."""

_HAS_TEXT = re.compile(r"\w\W*\w")
_SENTENCE_END = re.compile(r"[.!?…]['\")\]]*\s+|[。！？]+\s*")
_UNIT_START = re.compile(
    r"\s*(?:[-*+]\s|\d{1,9}[.)]\s|#{1,6}\s|>|\||```|~~|:?-{3,}|<|\[|[^\W\d_][\w .'-]{0,30}:\s)"
)
"""Beginnings of a new unit: items, headings, quotes, rows, fences, struck lines, ``Ann: …``."""
_FREQUENT_STARTS = ("- ", "* ", "> ", "# ", "## ", "### ")
"""The most frequent beginnings, checked before the regular expression."""
_WRAPPED_CHARS = 41
_ENDS_SENTENCE = ".!?…:;。！？|"
_UNIT_MARKS = re.compile(r"\s*(?:(?:[-*+]|\d{1,9}[.)]|#{1,6}|>)\s+)*(?:\[[ xX]\]\s+)?")

LineUnit = tuple[int, int, int]
"""A unit within a text: its first line, from 0, and the offsets of its start and end."""


def line_units(text: str) -> list[LineUnit]:
    """Split a text into embedding units, in order, without overlap.

    A list item or a paragraph that an editor wrapped over several lines is one unit, as is a single
    line. Longer units than a few sentences are split again, at line ends where possible.

    Lines without two letters or digits (rules, fences, empty items) are skipped: no query matches
    them. For a text that has only such lines, its beginning is the one unit.
    """
    units: list[LineUnit] = []
    start = 0
    open_ended = False
    for number, line in enumerate(text.split("\n")):
        end = start + len(line)
        if len(line) > _MAX_LINE_CHARS:
            units += _sentences(text, number, start, end)
            open_ended = False
        elif not ((len(line) > 3 and line[2:4].isalnum()) or _HAS_TEXT.search(line)):
            open_ended = False  # fast check: most lines have two letters behind their mark
        elif open_ended and end - units[-1][1] <= _MAX_UNIT_CHARS and not starts_unit(line):
            units[-1] = (*units[-1][:2], end)
            open_ended = is_wrapped(line)
        else:
            units.append((number, start, end))
            open_ended = is_wrapped(line) and not line.lstrip().startswith(("#", "|"))
        start = end + 1
    return units or [_fallback_unit(text)]


def starts_unit(line: str) -> bool:
    """Check whether a line begins an item, a heading, a quote, a row or the words of a speaker."""
    return line.startswith(_FREQUENT_STARTS) or bool(_UNIT_START.match(line))


def is_wrapped(line: str) -> bool:
    """Check whether a line continues in the next: it is long and does not end a sentence."""
    said = line.rstrip()
    if len(said) < _WRAPPED_CHARS or said[-1] in _ENDS_SENTENCE:
        return False
    return "~~" not in said or not is_struck(said)


def _fallback_unit(text: str) -> LineUnit:
    start = len(text) - len(text.lstrip())
    said = text[start : start + _MAX_LINE_CHARS].rstrip()
    return text.count("\n", 0, start), start, start + len(said)


def whole_unit(text: str) -> list[LineUnit]:
    """Return a text as one embedding unit."""
    return [(0, 0, len(text))]


def pack_units(units: Sequence[LineUnit]) -> bytes:
    """Encode the numbers of units as bytes, the form in which an index stores them."""
    return struct.pack(f"<{3 * len(units)}i", *chain.from_iterable(units))


def unit_texts(text: str, units: Sequence[LineUnit]) -> list[str]:
    """Return the texts of units to embed: without the marks of Markdown in front, and struck."""
    return [_without_marks(text[start:end]) for _, start, end in units]


def _without_marks(part: str) -> str:
    said = part[2:] if part.startswith("- ") else part
    if not said[:1].isalpha():  # another mark, or several
        said = part[_UNIT_MARKS.match(part).end() :]  # type: ignore[union-attr]
    if "~~" in said or "([correct" in said:
        said = without_strikethrough(said)
    return said.replace("\n", " ") or part


def _sentences(text: str, number: int, start: int, end: int) -> Iterator[LineUnit]:
    """Split a long line into units of whole sentences, as many as fit."""
    while end - start > _MAX_UNIT_CHARS:
        cut = start
        for match in _SENTENCE_END.finditer(text, start, min(end, start + _MAX_UNIT_CHARS)):
            cut = match.end()
        if cut == start:
            cut = text.rfind(" ", start + _MAX_UNIT_CHARS // 2, start + _MAX_UNIT_CHARS) + 1
        cut = cut or start + _MAX_UNIT_CHARS
        if _HAS_TEXT.search(text, start, cut):
            yield number, start, cut
        start = cut
    if _HAS_TEXT.search(text, start, end):
        yield number, start, end
