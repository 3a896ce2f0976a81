"""Appended chunks: the chunks of a text that grew at its end, from its last chunks alone.

What is above the last chunks is neither read nor cut again: the result is that of
`chunk_markdown`, in a time that does not depend on the text's length. Texts that may hold blocks
are left to `rechunk_markdown`.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import NamedTuple

from commonplace.settings import ChunkingSettings
from commonplace.text.blocks import may_hold_blocks
from commonplace.text.chunking import (
    HEADING_STARTS,
    has_text,
    pack_pieces,
    piece_chunk,
    piece_sizes,
    read_outline,
)
from commonplace.text.line_table import LineTable
from commonplace.text.tokens import measured_pieces
from commonplace.types import Chunk, ChunkPlace

__all__ = ["AppendedChunks", "TextEnd"]

_KEPT = 8
"""Chunks at the end of a text that are kept: among them is one that begins with a line."""


class AppendedChunks(NamedTuple):
    """Chunks of a text that grew.

    Attributes:
        first: Index of the first chunk that is replaced, among all of the text; all behind it are.
        chunks: The new ones.
        end: The end of the text now.
    """

    first: int
    chunks: list[Chunk]
    end: TextEnd


@dataclass(frozen=True, slots=True)
class TextEnd:
    """End of a text without blocks.

    Attributes:
        text: The text from the first line of the first of `known` on.
        known: The last chunks.
        chunks: Number of chunks above them.
        lines: Number of lines above them.
        headings: Lines of the headings that are in force there, outermost first.
    """

    text: str
    known: Sequence[ChunkPlace]
    chunks: int
    lines: int
    headings: tuple[str, ...]

    @classmethod
    def of(cls, text: str, known: Sequence[ChunkPlace]) -> TextEnd | None:
        """Return the end of a text with known chunks; None where it may hold blocks."""
        if len(known) <= _KEPT or may_hold_blocks(text):
            return None
        kept = known[-_KEPT:]
        lines, table = kept[0].start_line - 1, LineTable(text)
        marked = table.with_character("#", first=HEADING_STARTS)
        headings = _in_force(table[line] for line in marked if line < lines)
        return cls(text[table.start(lines) :], kept, len(known) - _KEPT, lines, headings)

    def appended(
        self,
        added: str,
        settings: ChunkingSettings,
        split: Callable[[list[Chunk]], list[Chunk]],
    ) -> AppendedChunks | None:
        """Return the chunks of the text with another one behind it.

        Args:
            added: That other text.
            settings: The same as for the text before.
            split: Splits chunks that are too large for an index.

        Returns:
            The chunks; None where the last ones do not tell: all of the text is to be chunked.
        """
        text = self.text + added
        if may_hold_blocks(text):
            return None
        rows = [*self.headings, *text.removesuffix("\n").split("\n")]
        above = len(self.headings) - self.lines  # of a line's index among them
        index = next((at for at in range(len(self.known) - 2, 0, -1) if self._begins(at, rows)), 0)
        if not index:
            return None
        new = self._packed(rows, index, settings)
        chunks = split([chunk for chunk in new if has_text(chunk.text)])
        chunks = list({(one.start_line, one.end_line, one.hash): one for one in chunks}.values())
        while index < len(self.known) - 1 and chunks[1:] and self._is_same(index, chunks[0]):
            del chunks[0]
            index += 1
        places = [
            ChunkPlace(one.start_line, one.end_line, one.hash, one.heading, one.context, 0)
            for one in chunks
        ]
        known = [*self.known[:index], *places]
        less = max(0, len(known) - _KEPT)
        kept = known[less:]
        lines = kept[0].start_line - 1
        end = TextEnd(
            "\n".join(rows[lines + above :]) + "\n" * text.endswith("\n"),
            kept,
            self.chunks + less,
            lines,
            _in_force(rows[: lines + above]),
        )
        return AppendedChunks(self.chunks + index, chunks, end)

    def _packed(self, rows: Sequence[str], index: int, settings: ChunkingSettings) -> list[Chunk]:
        """Pack chunks from a known one on; `rows` are the headings and the lines of the end."""
        above = len(self.headings) - self.lines
        line, own = self.known[index].start_line - 1 + above, self.known[index - 1].end_line + above
        *_, offset = accumulate((len(row) + 1 for row in rows[:line]), initial=0)
        body = "\n".join(rows[line:])
        pieces = measured_pieces(body, line=line, offset=offset, **piece_sizes(settings))
        outline = read_outline(rows)
        ranges = pack_pieces(
            pieces, settings, headings=frozenset(outline.lines), carried=own - line
        )
        text = "\n".join(rows)
        chunks = (piece_chunk(text, pieces[first:after], outline, ()) for first, after in ranges)
        return [
            Chunk(
                chunk.start_line - above,
                chunk.end_line - above,
                *(chunk.text, chunk.hash, chunk.heading, chunk.context),
            )
            for chunk in chunks
        ]

    def _begins(self, index: int, rows: Sequence[str]) -> bool:
        """Return whether chunks can be packed again from a known one.

        It is of whole lines, as is the one before, and no blank chunk was left out between them.
        """
        behind = self.known[index - 1].end_line + len(self.headings) - self.lines
        return has_text("".join(rows[behind : behind + 1])) and all(
            hashlib.sha256(self._body(at, rows).encode()).hexdigest() == self.known[at].hash
            for at in (index - 1, index)
        )

    def _body(self, index: int, rows: Sequence[str]) -> str:
        above = len(self.headings) - self.lines
        place = self.known[index]
        return "\n".join(rows[place.start_line - 1 + above : place.end_line + above])

    def _is_same(self, index: int, chunk: Chunk) -> bool:
        return self.known[index][:3] == (chunk.start_line, chunk.end_line, chunk.hash)


def _in_force(lines: Iterable[str]) -> tuple[str, ...]:
    """Return the headings, of some lines, that are in force behind them."""
    found: list[str] = []
    for line in lines:
        if line[:1] in HEADING_STARTS and read_outline([line]).lines:
            while found and _level(found[-1]) >= _level(line):
                found.pop()
            found.append(line)
    return tuple(found)


def _level(heading: str) -> int:
    text = heading.lstrip("\ufeff ")
    return len(text) - len(text.lstrip("#"))
