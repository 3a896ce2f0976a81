"""Chunking of Markdown: text to chunks, with their headings.

A chunk is a run of lines that is indexed as one text: a verbatim part of the file, never longer
than `ChunkingSettings` says; sections stay together where they fit.
"""

from __future__ import annotations

import hashlib
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from commonplace.settings import ChunkingSettings
from commonplace.text.blocks import BLOCK_MARKS, Block, block_at, context_at, find_blocks
from commonplace.text.tokens import NEWLINE_UNITS, UNITS_PER_TOKEN, Piece, measured_pieces
from commonplace.types import Chunk, ChunkPlace

__all__ = [
    "HEADING_STARTS",
    "Outline",
    "chunk_id",
    "chunk_markdown",
    "has_text",
    "heading_of",
    "make_chunk",
    "pack_pieces",
    "piece_chunk",
    "piece_sizes",
    "read_outline",
    "split_oversized",
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
