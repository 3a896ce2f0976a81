"""Chunking as OpenClaw 2026.3.24 does it, to the hash (SPEC.md, section 3).

Lengths are counted in UTF-16 units, as in JavaScript.
"""

from __future__ import annotations

import re

from commonplace.text.chunking import make_chunk
from commonplace.types import Chunk

__all__ = ["openclaw_chunks"]


def openclaw_chunks(text: str, *, tokens: int, overlap: int) -> list[Chunk]:
    """Split a text into chunks, blank ones included.

    Four UTF-16 units count as a token. Overlong lines are cut anywhere, even inside a surrogate
    pair, whose halves become U+FFFD. The overlap consists of whole segments and may exceed its
    size, so a chunk may have twice its size.
    """
    max_chars = max(32, tokens * 4)
    segments = [
        (line[at : at + max_chars], number)
        for number, line in enumerate(_utf16_units(text).split("\n"), start=1)
        for at in range(0, max(1, len(line)), max_chars)
    ]
    chunks: list[Chunk] = []
    current: list[tuple[str, int]] = []
    used = 0
    for segment in segments:
        size = len(segment[0]) + 1
        if current and used + size > max_chars:
            chunks.append(_openclaw_chunk(current))
            current = _openclaw_overlap(current, max(0, overlap * 4))
            used = sum(len(line) + 1 for line, _ in current)
        current.append(segment)
        used += size
    return [*chunks, _openclaw_chunk(current)]


def _openclaw_overlap(segments: list[tuple[str, int]], overlap_chars: int) -> list[tuple[str, int]]:
    """Return the last segments, back to the one that crosses the limit, which is included."""
    carried = 0
    first = len(segments)
    while first > 0 and carried < overlap_chars:
        first -= 1
        carried += len(segments[first][0]) + 1
    return segments[first:]


def _openclaw_chunk(segments: list[tuple[str, int]]) -> Chunk:
    text = _from_utf16_units("\n".join(line for line, _ in segments))
    return make_chunk(segments[0][1], segments[-1][1], text)


_BEYOND_16_BITS = re.compile("[\U00010000-\U0010ffff]")


def _utf16_units(text: str) -> str:
    """Return a text with surrogate pairs for characters beyond 16 bits: one unit an index."""

    def halves(match: re.Match[str]) -> str:
        code = ord(match[0]) - 0x10000
        return chr(0xD800 + (code >> 10)) + chr(0xDC00 + (code & 0x3FF))

    return text if text.isascii() else _BEYOND_16_BITS.sub(halves, text)


def _from_utf16_units(text: str) -> str:
    """Join surrogate pairs; a lone surrogate becomes U+FFFD, as Node writes it."""
    if text.isascii():
        return text
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
