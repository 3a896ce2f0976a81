"""Incremental chunking: of a long text that changed, the chunks around the change alone.

Chunks are packed one behind the other, so a change may move every boundary behind it. In practice
the new boundaries soon meet old ones: from there on, the chunks are the old ones, some lines
further up or down. What is kept is compared by hash: the result is that of `chunk_markdown`.
"""

from __future__ import annotations

import hashlib
from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence
from itertools import pairwise
from operator import attrgetter
from typing import NamedTuple

from commonplace.settings import ChunkingSettings
from commonplace.text.blocks import (
    BLOCK_MARKS,
    MAX_CONTEXT_CHARS,
    context_at,
    find_blocks,
    is_like_delimiter,
    may_hold_blocks,
)
from commonplace.text.chunking import (
    HEADING_STARTS,
    has_text,
    heading_of,
    pack_pieces,
    piece_chunk,
    piece_sizes,
    read_outline,
)
from commonplace.text.common_ends import common_end, common_start
from commonplace.text.line_table import LineTable
from commonplace.text.tokens import measured_pieces
from commonplace.types import Chunk, ChunkPlace

__all__ = ["ChunkChanges", "changed_chunks", "rechunk_markdown"]

_LINES_AT_ONCE = 128
"""Lines that are packed at first; twice as many where no boundary met an old one."""
_COMMENT_MARKS = ("-->", "<!--")
"""Marks of texts that are chunked as a whole: chunks do not tell whether they lie in a comment."""
_OUTLINE_MARKS = ("#", *BLOCK_MARKS)
"""Texts of which a line holds one that is a heading, or begins a block."""
_FENCES = ("```", "~~~", "$$")
"""Marks of blocks that depend on other lines: on the list items around them, or on blank ones."""


class ChunkChanges(NamedTuple):
    """Changes of the chunks of a text: a window of them is replaced, those behind it move.

    Attributes:
        first: Index of the first chunk that is replaced.
        after: Index of the first chunk behind the last one that is replaced.
        lines: Number of lines by which the chunks from there on move.
        chunks: The new ones.
    """

    first: int
    after: int
    lines: int
    chunks: list[Chunk]


def changed_chunks(known: Sequence[ChunkPlace], chunks: Sequence[Chunk]) -> ChunkChanges:
    """Compare the chunks of a text with those that are known of it."""
    chunks = _distinct(chunks)
    least, first, kept = min(len(known), len(chunks)), 0, 0
    while first < least and _is_at(known[first], chunks[first], lines=0):
        first += 1
    lines = chunks[-1].end_line - known[-1].end_line if known and chunks else 0
    while kept < least - first and _is_at(known[-1 - kept], chunks[-1 - kept], lines=lines):
        kept += 1
    if first == len(known) - kept == len(chunks) - kept:
        # One chunk is replaced in any case: readers notice changes of a file by its chunks.
        first, kept = (first - 1, kept) if first else (first, max(0, kept - 1))
    new = chunks[first : len(chunks) - kept]
    return ChunkChanges(first, len(known) - kept, lines if kept else 0, new)


def _is_at(place: ChunkPlace, chunk: Chunk, *, lines: int) -> bool:
    """Return whether a chunk is a known one, some lines further down."""
    moved = place.start_line + lines, place.end_line + lines, *place[2:5]
    return moved == (chunk.start_line, chunk.end_line, chunk.hash, chunk.heading, chunk.context)


def rechunk_markdown(
    text: str,
    known: Sequence[ChunkPlace],
    settings: ChunkingSettings,
    *,
    label: str = "",
    former: str | None = None,
) -> ChunkChanges | None:
    """Chunk what changed in a text; None where known chunks do not tell which of them stay.

    Args:
        text: The new text.
        known: The chunks of the old one, in order.
        settings: The same as for the old one.
        label: Line that the first chunk has in front.
        former: The old text, where it is at hand: what it shares with the new one is not hashed.
    """
    if not known or _holds(text, _COMMENT_MARKS):
        return None
    new = _ChangedText(text, known, settings, label, former)
    if any(len("".join(block.lead)) > MAX_CONTEXT_CHARS for block in new.blocks):
        return None  # a context is left out: chunks do not tell whether they lie in the block
    return new.changes()


class _ChangedText:
    """A text, and the chunks that an older state of it had."""

    def __init__(
        self,
        text: str,
        known: Sequence[ChunkPlace],
        settings: ChunkingSettings,
        label: str,
        former: str | None,
    ) -> None:
        self._text = text = text.removesuffix("\n")
        self._lines = LineTable(text)
        self.blocks = find_blocks(text.split("\n")) if may_hold_blocks(text) else []
        marked = self._lines.with_character("#", first=HEADING_STARTS)
        self._outline = read_outline(self._lines, self.blocks, marked=marked)
        self._known = known
        self._settings = settings
        self._label = label
        self._former = former

    def changes(self) -> ChunkChanges:
        """Return the changes of the chunks."""
        known, count = self._known, len(self._known)
        lines = len(self._lines) - known[-1].end_line
        same, rest = self._untouched(lines) or self._standing(lines)
        # The last chunk that stands may go on: it ended where the next line did not fit.
        first = max(0, same - 1)
        while first and not self._is_beginning(first):
            first -= 1
        after, chunks = self._packed(first, rest=max(first, rest), lines=lines)
        replaced = _distinct([chunk for chunk in chunks if has_text(chunk.text)])
        # One chunk is replaced in any case: readers notice changes of a file by its chunks.
        while first < min(same, after) and replaced[1:] and _is_same(known[first], replaced[0]):
            del replaced[0]
            first += 1
        return ChunkChanges(first, after, lines if after < count else 0, replaced)

    def _standing(self, lines: int) -> tuple[int, int]:
        """Return how many chunks stand at the beginning, and the first that does at the end.

        Args:
            lines: Number of lines by which those at the end have moved.
        """
        same, rest = 0, len(self._known)
        while same < rest and self._is_connected(same) and self._stands(same, lines=0):
            same += 1
        while rest and self._stands(rest - 1, lines=lines):
            rest -= 1
            if rest and not self._is_connected(rest):
                break
        return same, rest

    def _untouched(self, lines: int) -> tuple[int, int] | None:
        """Return what `_standing` does, from the old text; None where a change reaches further.

        A change of lines without headings, in a text without blocks, changes nothing else.
        """
        if self._former is None:
            return None
        new, old = self._text, self._former.removesuffix("\n")
        limit = min(len(new), len(old))
        start = common_start(new, old, limit)
        end = common_end(new, old, limit - start)
        begin = new.rfind("\n", 0, start) + 1
        stop = new.find("\n", len(new) - end)
        behind = len(new) - stop if stop >= 0 else 0
        now, then = new[begin : len(new) - behind], old[begin : len(old) - behind]
        if now.count("\n") - then.count("\n") != lines:  # blank lines at the end are in no chunk
            return None
        if self.blocks or _holds(new, _FENCES) or _holds(then, _OUTLINE_MARKS) or "#" in now:
            return None
        if any(map(is_like_delimiter, then.split("\n"))):  # of a table that is none any more
            return None
        first = self._lines.line_at(begin)
        after = self._lines.line_at(len(new) - behind) + 1 - lines
        same = bisect_right(self._known, first, key=attrgetter("end_line"))
        rest = bisect_left(self._known, after + 1, key=attrgetter("start_line"))
        return same, max(same, rest)

    def _is_beginning(self, index: int) -> bool:
        """Return whether chunks can be packed again from a known one that stands."""
        if not self._is_boundary(index, lines=0):
            return False
        if self._former is None:  # all that stand were compared
            return True
        return all(self._stands(one, lines=0) for one in (index - 1, index))

    def _packed(self, first: int, *, rest: int, lines: int) -> tuple[int, list[Chunk]]:
        """Pack chunks from a known one on; return the known one that they meet, and the chunks.

        Args:
            first: The known chunk.
            rest: Known chunk from which on the text is the same, moved by a number of lines.
            lines: That number.
        """
        line = self._known[first].start_line - 1 if first else 0
        own = self._known[first - 1].end_line if first else 0
        count = _LINES_AT_ONCE
        while True:
            chunks: list[Chunk] = []
            for chunk, next_line, next_own in self._pack(line, own, count):
                chunks.append(chunk)
                if next_own == len(self._lines):
                    return len(self._known), chunks
                met = bisect_right(self._known, next_own - lines, key=attrgetter("end_line"))
                if (
                    min(next_line, next_own) > 0
                    and max(rest, first + 1) <= met < len(self._known)
                    and self._known[met - 1].end_line + lines == next_own
                    and self._known[met].start_line - 1 + lines == next_line
                    and self._is_boundary(met, lines=lines)
                ):
                    return met, chunks
            count *= 2

    def _pack(self, line: int, own: int, count: int) -> Iterator[tuple[Chunk, int, int]]:
        """Pack some lines; yield the chunks, each with the lines at which the next one begins.

        Args:
            line: Line at which the first chunk begins.
            own: Line at which it begins without its overlap.
            count: How many lines.

        Yields:
            A chunk, the line at which the next one begins, and the one at which it begins without
            its overlap; -1 where that is within a line.
        """
        stop = min(line + count, len(self._lines))
        offset, body = self._lines.start(line), self._lines.body(line, stop)
        pieces = measured_pieces(body, line=line, offset=offset, **piece_sizes(self._settings))
        headings = frozenset(self._outline.lines)
        ranges = pack_pieces(pieces, self._settings, headings=headings, carried=own - line)
        for (begin, end), (follows, _) in pairwise(ranges):
            chunk = piece_chunk(self._text, pieces[begin:end], self._outline, self.blocks)
            beginnings = pieces[follows], pieces[end]
            next_line, next_own = (
                piece.line if piece.start == self._lines.start(piece.line) else -1
                for piece in beginnings
            )
            yield chunk, next_line, next_own
        if stop == len(self._lines):
            last = pieces[ranges[-1][0] :]
            yield piece_chunk(self._text, last, self._outline, self.blocks), stop, stop

    # -- what is known ---------------------------------------------------------------------------

    def _stands(self, index: int, *, lines: int) -> bool:
        """Return whether a known chunk stands in the text, moved by some lines."""
        place = self._known[index]
        first, after = place.start_line - 1 + lines, place.end_line + lines
        if first < 0 or after > len(self._lines):
            return False
        body = self._lines.body(first, after)
        said = f"{self._label}\n{body}" if self._label and not index else body
        return (
            hashlib.sha256(said.encode()).hexdigest() == place.hash
            and heading_of(body, first, self._outline) == place.heading
            and (context_at(self.blocks, first) if self.blocks else "") == place.context
        )

    def _is_connected(self, index: int) -> bool:
        """Return whether no line lies between a known chunk and the one before."""
        before = self._known[index - 1].end_line if index else 0
        return self._known[index].start_line <= before + 1

    def _is_boundary(self, index: int, *, lines: int) -> bool:
        """Return whether a known chunk followed the one before: a blank one may have been between.

        Blank chunks are left out. The line behind the chunk before is then one of theirs.
        """
        return has_text(self._lines[self._known[index - 1].end_line + lines])


def _holds(text: str, marks: Sequence[str]) -> bool:
    # Single characters are found much faster; every list has the first one of "-->".
    return any(all(one in text for one in set(mark)) and mark in text for mark in marks)


def _distinct(chunks: Sequence[Chunk]) -> list[Chunk]:
    """Return chunks as an index has them: equal parts of one long line are one."""
    return list({(one.start_line, one.end_line, one.hash): one for one in chunks}.values())


def _is_same(place: ChunkPlace, chunk: Chunk) -> bool:
    return place[:3] == (chunk.start_line, chunk.end_line, chunk.hash)
