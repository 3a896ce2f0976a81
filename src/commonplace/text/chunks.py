"""What is done with chunks, however they were cut: hash, name, and cut again for an embedder."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator
from dataclasses import replace

from commonplace.types import Chunk

__all__ = ["chunk_id", "make_chunk", "split_oversized"]


def make_chunk(start_line: int, end_line: int, text: str, heading: str = "") -> Chunk:
    """Build a chunk with the hash of its text."""
    return Chunk(start_line, end_line, text, _sha256(text), heading)


def chunk_id(source: str, path: str, chunk: Chunk, model: str) -> str:
    """Name a chunk by where it stands, what it says and what its vector is made by."""
    place = f"{source}:{path}:{chunk.start_line}:{chunk.end_line}"
    return _sha256(f"{place}:{chunk.hash}:{model}")


def split_oversized(chunks: Iterable[Chunk], max_bytes: int) -> list[Chunk]:
    """Cut chunks that are longer in UTF-8 than an embedder takes; the parts keep the line range."""
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
