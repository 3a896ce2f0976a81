"""Checksums of the rows of an index: what a search or a run reads is what was written."""

from __future__ import annotations

import zlib
from collections.abc import Iterator, Sequence
from typing import Any

__all__ = [
    "MOVED_LINE",
    "MOVED_ORDINAL",
    "VECTORS",
    "name_checksum",
    "place_checksum",
    "row_checksum",
    "sound_vectors",
    "sum_checksum",
    "vectors_checksum",
]

_START, _END, _DAY = 1_000_003, 7_368_787, 32_452_843
MOVED_LINE = _START + _END
"""What a place's checksum grows by when the chunk moves by a line."""
MOVED_ORDINAL = 15_485_863
"""What it grows by with each chunk more in front: sums, so that a move does not hide damage."""

VECTORS = (
    "hash, embedding, lines, vectors.checksum, chunk_texts.checksum, heading, context, text, units"
)
"""Columns of a chunk's vectors, and of all that their checksums are of."""


def row_checksum(heading: str, context: str, text: str, *packed: bytes | None) -> int:
    """Return the checksum of what a search reads of a chunk, its place aside, which may move."""
    checksum = zlib.crc32(f"{heading}\0{context}\0{text}".encode("utf-8", "surrogatepass"))
    for data in packed:
        if isinstance(data, bytes):
            checksum = zlib.crc32(data, checksum)
    return checksum


def place_checksum(
    name: str, kind: Sequence[str], lines: tuple[int, int], day: int | None, ordinal: int
) -> int:
    """Return the checksum of a chunk's place.

    Args:
        name: Its id.
        kind: Its path, its source and its hash.
        lines: Its first and its last line.
        day: Its day.
        ordinal: Its place among the chunks of its file.
    """
    places = lines[0] * _START + lines[1] * _END + ordinal * MOVED_ORDINAL
    fixed = zlib.crc32("\0".join(kind).encode("utf-8", "surrogatepass"))
    return name_checksum(name) + fixed + places + (0 if day is None else (day + 1) * _DAY)


def name_checksum(name: str) -> int:
    """Return the part of a place's checksum that is of the chunk's id."""
    return zlib.crc32(name.encode("utf-8", "surrogatepass"))


def sum_checksum(source: str, count: int, total: bytes) -> int:
    """Return the checksum of the sum of the vectors of a source's lines."""
    return row_checksum(str(source), str(count), "", total)


def vectors_checksum(embedding: bytes, lines: bytes | None) -> int:
    """Return the checksum of vectors in the cache; -1 where damage has made others of the bytes."""
    if not isinstance(embedding, bytes) or not isinstance(lines, bytes | None):
        return -1
    return zlib.crc32(lines or b"", zlib.crc32(embedding))


def sound_vectors(rows: Iterator[Any]) -> Iterator[tuple[str, bytes, bytes | None]]:
    """Yield hash, vector and packed lines of the rows of `VECTORS` that are as they were written.

    The others are made again from the texts.
    """
    for text_hash, embedding, lines, of_vector, of_row, *texts in rows:
        if zlib.crc32(embedding) == of_vector and row_checksum(*texts, lines) == of_row:
            yield text_hash, embedding, lines
