"""The lines of a session as chunks: of one day each, and the same however the file grew."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from commonplace.settings import ChunkingSettings
from commonplace.text.chunking import chunk_markdown, make_chunk
from commonplace.transcripts.incremental import Line
from commonplace.types import Chunk

__all__ = ["MAX_GAP", "SessionChunk", "session_chunks"]

MAX_GAP = 30
"""Lines on which nobody speaks, as many as a chunk goes on over: calls of tools, and their
results."""


@dataclass(frozen=True, slots=True)
class SessionChunk:
    """A chunk of a session.

    Attributes:
        chunk: What it says, and where.
        day: Proleptic ordinal of the day of all its messages; None where it is not known.
        first: Index of its first line among those that were cut.
        resumable: Whether cutting from that line on gives this chunk and all that follow.
    """

    chunk: Chunk
    day: int | None
    first: int
    resumable: bool


def session_chunks(
    lines: Sequence[Line], settings: ChunkingSettings, *, as_openclaw: bool = False
) -> list[SessionChunk]:
    """Cut lines into chunks, in order.

    Args:
        lines: Lines on which somebody speaks.
        settings: How large chunks are.
        as_openclaw: Whether lines follow each other without those between them, days or not.
    """
    return [
        chunk
        for first, after in _runs(lines, whole=as_openclaw)
        for chunk in _chunks_of_run(lines, first, after, settings, compact=as_openclaw)
    ]


def _runs(lines: Sequence[Line], *, whole: bool) -> Iterator[tuple[int, int]]:
    """Yield the ranges of lines that are cut by themselves: a day's, without long gaps."""
    first = 0
    for at in range(1, len(lines) if not whole else 0):
        before, line = lines[at - 1], lines[at]
        if line.day != before.day or line.line - before.line > MAX_GAP:
            yield first, at
            first = at
    if lines:
        yield first, len(lines)


def _chunks_of_run(
    lines: Sequence[Line], first: int, after: int, settings: ChunkingSettings, *, compact: bool
) -> Iterator[SessionChunk]:
    text = "\n".join(line.text for line in lines[first:after])
    covered = first - 1
    for chunk in chunk_markdown(text, settings):
        start, end = first + chunk.start_line - 1, first + chunk.end_line - 1
        # The beginning of a line that the chunk before has not reached, or has as a whole.
        begins = start > covered or chunk.text.split("\n", 1)[0] == lines[start].text
        # The reference's overlap may be larger than a chunk: it depends on all that came before.
        resumable = start == first or (begins and settings.measure == "tokens")
        covered = end
        placed = _placed(chunk, lines, start, end, compact=compact)
        yield SessionChunk(placed, lines[first].day, start, resumable)


def _placed(chunk: Chunk, lines: Sequence[Line], start: int, end: int, *, compact: bool) -> Chunk:
    """Give a chunk the file's line numbers, and the empty lines between its own."""
    numbers = [line.line for line in lines[start : end + 1]]
    parts = chunk.text.split("\n")
    if compact or numbers[-1] - numbers[0] + 1 == len(parts) or len(parts) != len(numbers):
        return replace(chunk, start_line=numbers[0], end_line=numbers[-1], heading="")
    filled = [parts[0]]
    for part, number, before in zip(parts[1:], numbers[1:], numbers, strict=False):
        filled += [""] * (number - before - 1) + [part]
    return make_chunk(numbers[0], numbers[-1], "\n".join(filled))
