"""Markdown lines: which lines of a snippet's region say something, and which only announce it."""

from __future__ import annotations

import re
from collections.abc import Sequence

from commonplace.text.blocks import Block, block_at, find_blocks, is_markup
from commonplace.text.list_items import is_bold, is_definition, is_item

__all__ = ["MarkdownLines"]

_STATEMENT_WORDS = 4
"""Words from which on a heading with nothing below it says something: "Dentist at 9 on Friday"."""

_WORDS = re.compile(r"\w+")
_TEXT = re.compile(r"[^\W_]|[^\x00-\x7f\ufeff]")
_SECTION = re.compile(r" {0,3}##+[ \t]+(?![ \t]|\d{1,4}[:.-]\d\d).*?[^\W\d_]{2}")
"""Heading with a word, below that of the note; not the time or the date of a log: "## 19:31"."""
_UNDERLINE = re.compile(r"[ \t]{0,3}(?:=+|-+)[ \t\r]*$")
_HEADING = re.compile(r" {0,3}#{1,6}[ \t]")
_SUMMARY = re.compile(r"[ \t]*(?:<details\b[^<>]*>[ \t]*)?<summary\b[^<>]*>.*</summary>[ \t\r]*$")
_PICTURES = re.compile(
    r"[ \t>]*(?:[-*+][ \t]+)?(?:\[?!\[[^\]]*\]\([^()]*\)(?:\]\([^()]*\))?[ \t\r]*)+$"
)


class MarkdownLines:
    """Lines of Markdown, with the blocks among them.

    Args:
        lines: Consecutive lines of a file, without line breaks.
        context: What the first line needs from above it.
    """

    def __init__(self, lines: Sequence[str], context: str) -> None:
        self.texts = lines
        self.blocks = find_blocks(lines, context)

    def block_at(self, number: int) -> Block | None:
        """Return the block that holds a line."""
        return block_at(self.blocks, number)

    def any_says(self, first: int, last: int) -> bool:
        """Return whether one of some lines has text of its own."""
        return any(self.says(number) for number in range(first, last + 1))

    def says(self, number: int) -> bool:
        """Return whether a line has text beside headings, rules, fences and comments."""
        line = self.texts[number]
        block = self.block_at(number)
        if block is not None and block.kind == "code":
            is_fence = number == block.first or (block.closed and number == block.last)
            return not is_fence and bool(line.strip())
        if block is not None and block.kind == "table":
            is_header = number == block.first and block.last > block.first + 1
            return not is_header and number != block.first + 1
        if not _TEXT.search(line) or block is not None:
            return False
        if is_markup(line):
            return self._is_statement(number)
        return not self._is_title(number)

    def is_heading(self, number: int) -> bool:
        """Return whether a line is a heading, and in no block."""
        return self.block_at(number) is None and bool(_HEADING.match(self.texts[number]))

    def is_section(self, number: int) -> bool:
        """Return whether a line is a heading that names a section: the path names the note."""
        return self.is_heading(number) and _SECTION.match(self.texts[number]) is not None

    def is_picture(self, number: int) -> bool:
        """Return whether a line is images alone."""
        return self.block_at(number) is None and bool(_PICTURES.match(self.texts[number]))

    def announces(self, number: int) -> bool:
        """Return whether a line is of what is below it: images alone, or a title without a mark.

        That is a line of bold words alone, a summary of HTML, or a term above its definition.
        """
        if self.block_at(number) is not None:
            return False
        line, below = self.texts[number], self.texts[number + 1 :]
        if below and is_definition(below[0]) and not is_definition(line):
            return True
        if _SUMMARY.match(line):
            return True
        if not is_bold(line):
            return self.is_picture(number)
        return not _HEADING.match(f"{next(filter(str.strip, below), '#')} ")

    def _is_statement(self, number: int) -> bool:
        """Return whether a line is a heading of some words that nothing stands below."""
        heading = _HEADING.match(self.texts[number])
        if heading is None or len(_WORDS.findall(self.texts[number])) < _STATEMENT_WORDS:
            return False
        below = next(filter(str.strip, self.texts[number + 1 :]), None)
        if below is None:
            return True
        other = _HEADING.match(below)
        return other is not None and other[0].count("#") <= heading[0].count("#")

    def _is_title(self, number: int) -> bool:
        """Return whether a line is a heading by the line below it (Setext)."""
        below = self.texts[number + 1 : number + 2]
        if not below or not _UNDERLINE.match(below[0]):
            return False
        return not is_item(self.texts[number]) and self.texts[number][:1] not in "#>|"
