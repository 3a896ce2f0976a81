"""Snippet boundaries: where the text around a window is cut, by the structure of its Markdown.

Code blocks: an opening fence is shown with its closing one; where a block is too long for that, the
snippet ends before it or begins below its opening fence. A snippet that begins in a block has the
opening fence as its context, and either holds the closing one or is nothing but code: a renderer
closes such a block at the end of the snippet, as CommonMark does at the end of a document. Tables:
a snippet that begins below a header row has the header and delimiter rows as its context.

Sentences over several lines, and list items with their parents and with what is indented below
them, are whole where that adds few characters; parents that are too far above are the context.
The heading of a section is shown with its first line. Headings, rules, fences and comments alone
are no snippet, but for a heading of some words that has nothing below it. None ends with the
heading of what it does not show, or with a sentence that introduces it, unless that has the most
evidence.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Sequence

from commonplace.retrieval.markdown_lines import MarkdownLines
from commonplace.retrieval.snippet_region import Cut, Region
from commonplace.text.blocks import Block, context_at
from commonplace.text.line_units import goes_on, starts_unit
from commonplace.text.list_items import indent_of, introduction_above, item_above, item_end
from commonplace.text.quotation import SHORTENED

__all__ = ["cut"]

_WHOLE_CHARS = 150
"""Characters that are added to a window, at most, to make a sentence or a list item whole."""
_BLOCK_CHARS = 250
"""Characters that are added, at most, to show a code block or a table from its beginning."""
_HEADING_CHARS = 100
"""Characters that are added, at most, to begin with the heading of a section."""
_CONTEXT_CHARS = 320
"""Characters of the items that a snippet lies in, at most."""
_OPEN_TAG = re.compile(r"[ \t]*<[A-Za-z][^>]*$")
_CLOSING = re.compile(r"[ \t]*(?:(:{3}):*|(/{3})|<(/[A-Za-z][\w.:-]*)>)[ \t\r]*$")
"""Line that closes an admonition or an element."""
_INTRODUCES = re.compile(r"[:：][*_ \t\r]*$")


def cut(region: Region, window: Cut, *, longest: int, middle: int) -> Cut | None:
    """Return the boundaries of a window's snippet; None where it would say nothing.

    Args:
        region: Text around the window.
        window: The window as it was packed.
        longest: Characters of a snippet, at most.
        middle: Offset of the line with the most evidence.
    """
    return _Cutter(region, window, longest=longest, middle=middle).cut()


class _Cutter:
    """Cutter of one window: moves its first and last line."""

    def __init__(self, region: Region, window: Cut, *, longest: int, middle: int) -> None:
        self._lines, self._region, self._longest = region.lines, region, longest
        self._window = window
        self._offsets = [region.start]
        for line in region.lines:
            self._offsets.append(self._offsets[-1] + len(line) + 1)
        self._first = self._line_at(window.start)
        self._last = self._line_at(max(window.end - 1, window.start))
        self._middle = min(max(self._line_at(middle), self._first), self._last)
        self._packed = self._first, self._last
        self._text = MarkdownLines(region.lines, region.context)

    def cut(self) -> Cut | None:
        """Return the boundaries; None for a text of headings alone."""
        if not self._reach_text():
            return None
        if self._text.block_at(self._first) is None:
            self._complete_start()
        if self._text.block_at(self._last) is None:
            self._complete_end()
            self._show_introduced()
        self._begin_with_block()
        for block in self._text.blocks:
            self._settle(block)
        if not self._text.any_says(self._first, self._last):
            return None
        self._begin_at_heading()
        self._drop_ends()
        self._show_heading()
        if self._text.block_at(self._last) is None:
            self._show_introduced()
            self._drop_ends()
        self._close_container()
        start, end = self._span(self._first, self._last)
        context = self._context()
        if not context and start == self._window.start:
            context = self._window.context
        return Cut(start, min(end, start + self._longest), context)

    def _close_container(self) -> None:
        """Add the line that closes an admonition or an element, where it is all that is missing."""
        end = self._last + 1
        while end < len(self._lines) and not self._lines[end].strip():
            end += 1
        closing = _CLOSING.match(self._lines[end]) if self._may_be(self._first, end) else None
        if closing is None:
            return
        mark = next(filter(None, closing.groups()))
        shown = (line.strip() for line in self._lines[self._first : self._last + 1])
        marks = [line for line in shown if line.startswith(f"<{mark[1:]}") or mark in line]
        if marks and not marks[-1].endswith((mark, f"{mark}>")):
            self._last = end

    def _drop_ends(self) -> None:
        """Drop blank lines at both ends, what closes what is not shown, and the headings of it."""
        while not self._lines[self._first].strip() or self._is_rest(self._first):
            self._first += 1
        while not self._lines[self._last].strip() or self._is_left_over(self._last):
            self._last -= 1

    def _is_rest(self, number: int) -> bool:
        """Return whether a line at the beginning closes something, or is the rest of a comment."""
        block = self._text.block_at(number)
        if block is not None:
            is_half = block.kind == "comment" and block.first < number
            return is_half and block.last < self._middle
        if self._text.is_picture(number):
            return number < self._middle
        return _CLOSING.match(self._lines[number]) is not None

    def _is_left_over(self, number: int) -> bool:
        block = self._text.block_at(number)
        if block is not None:  # half of a comment, or one about what is not shown
            return block.kind == "comment" and (block.last > number or block.first > self._middle)
        is_above = number > self._middle and self._text.announces(number)
        if is_above or not self._text.says(number):
            return self._text.any_says(self._first, number - 1)
        # The chunk may end with the header row of a table, of which then nothing else is known.
        rows = [line.lstrip().startswith("|") for line in self._lines[max(0, number - 1) :]]
        return rows in ([True], [False, True]) and self._text.any_says(self._first, number - 1)

    def _context(self) -> str:
        inside = context_at(self._text.blocks, self._first)
        whole = "\n".join(filter(None, (*self._parents(), inside)))
        return next(it for it in (whole, inside, "") if len(it) <= self._longest)

    def _parents(self) -> list[str]:
        """Return the items that the first line lies in, the nearest ones; long ones shortened.

        The outermost is the line that introduces the list.
        """
        found: list[str] = []
        block = self._text.block_at(self._first)
        number = self._first if block is None else max(block.first, 0)
        while (above := item_above(self._lines, number)) is not None:
            found.insert(0, _shortened(self._lines[above]))
            number = above
        if block is None and not self._text.is_heading(number):
            while (introduced := introduction_above(self._lines, number)) is not None:
                found.insert(0, self._lines[introduced])
                number = introduced
        while sum(map(len, found)) > _CONTEXT_CHARS:
            del found[0]
        return found

    def _line_at(self, offset: int) -> int:
        return min(bisect_right(self._offsets, offset), len(self._lines)) - 1

    def _span(self, first: int, last: int) -> tuple[int, int]:
        """Return the offsets of lines; the window's own first and last line may be parts."""
        start, end = self._offsets[first], self._offsets[last + 1] - 1
        if first == self._packed[0]:
            start = self._window.start
        if last == self._packed[1]:
            end = self._window.end
        return start, end

    def _may_be(self, first: int, last: int, *, most: int | None = None) -> bool:
        """Return whether a snippet may hold some lines, with so many more characters at most."""
        if first < 0 or last >= len(self._lines):
            return False
        start, end = self._span(first, last)
        now = self._span(self._first, self._last)
        fits = end - start <= self._longest and (
            most is None or end - start <= max(now[1] - now[0] + most, 0)
        )
        return fits and self._region.after <= start and end <= self._region.until

    def _reach_text(self) -> bool:
        """Add the lines below a heading with the most evidence, up to a text; False for none."""
        last = self._last
        while not self._text.any_says(self._middle, last):
            last += 1
            block = self._text.block_at(last)
            if block is not None and self._may_be(self._first, block.last):
                last = block.last if block.kind == "code" else last
            if not self._may_be(self._first, last):
                return self._text.any_says(self._first, self._last)
        self._last = last
        return True

    # Sentences and list items.

    def _complete_start(self) -> None:
        """Begin with the line that the first one continues, and with the parents of its item."""
        first = self._first
        while first and _continues(self._lines, first - 1):
            first -= 1
        if first < self._first and self._may_be(first, self._last, most=_WHOLE_CHARS):
            self._first = first
        while (parent := item_above(self._lines, self._first)) is not None:
            if not self._may_be(parent, self._last, most=_WHOLE_CHARS):
                break
            self._first = parent

    def _complete_end(self) -> None:
        """End with the last line of a list item, or at least of a sentence, over several lines."""
        for end in self._ends(self._last):
            if self._may_be(self._first, end, most=_WHOLE_CHARS):
                self._last = max(end, self._last)
                return

    def _ends(self, number: int) -> list[int]:
        """Return the last lines of the code (if it is whole), or of the item and the sentence."""
        block = self._text.block_at(number)
        if block is not None and block.kind == "code":
            return [block.last] if block.closed else []
        sentence = number
        while _continues(self._lines, sentence):
            sentence += 1
        return sorted((item_end(self._lines, number), sentence), reverse=True)

    def _show_introduced(self) -> None:
        """Show the beginning of what the last sentence introduces, or drop the sentence."""
        first = last = self._last
        if not _INTRODUCES.search(self._lines[last]):
            return
        while first and _continues(self._lines, first - 1):
            first -= 1
        most = _BLOCK_CHARS if first > self._middle else None
        behind = (it for it in range(last + 1, len(self._lines)) if not self._text.is_picture(it))
        below = next(filter(self._text.says, behind), None)
        for shown in () if below is None else self._ends(below):
            if self._may_be(self._first, shown, most=most):
                self._last = shown
                return
        if first > self._middle and self._text.any_says(self._first, first - 1):
            self._last = first - 1

    def _begin_at_heading(self) -> None:
        """Begin with a heading where the lines before it are the rest of another section.

        That is an item or an indented text whose parent is not shown, or code from the middle on.
        """
        block = self._text.block_at(self._first)
        if block is not None and (block.kind != "code" or block.first >= self._first):
            return
        if block is None and not indent_of(self._lines[self._first]):
            return
        for number in filter(self._text.is_heading, range(self._first, self._middle + 1)):
            if self._text.any_says(number, self._last):
                self._first = number
                return

    def _show_heading(self) -> None:
        """Begin with the heading of a section right above the first line."""
        block = self._text.block_at(self._first)
        if block is not None and block.first < self._first:
            return
        above = self._first - 1
        while above >= 0 and not self._lines[above].strip():
            above -= 1
        if (
            above >= 0
            and self._text.is_section(above)
            and self._may_be(above, self._last, most=_HEADING_CHARS)
        ):
            self._first = above

    # Code blocks and tables.

    def _begin_with_block(self) -> None:
        """Begin with the first line of the block that the first line is in, if it is near."""
        block = self._text.block_at(self._first)
        if block is None or not block.closed:
            return
        last = max(self._last, block.last) if block.kind == "code" else self._last
        if self._may_be(block.first, last, most=_BLOCK_CHARS):
            self._first, self._last = block.first, last

    def _settle(self, block: Block) -> None:
        """Move the ends of the snippet so that they leave no half of a block."""
        if block.first <= self._last and block.last >= self._first:
            if block.kind == "code":
                self._settle_code(block)
            elif block.kind == "table":
                self._settle_table(block)

    def _settle_code(self, block: Block) -> None:
        """Hold both fences of a code block, or neither; of one that begins above, the code."""
        above = block.first < self._first
        if block.closed and block.last <= self._last:
            self._first += above and self._first == block.last
        elif above:
            if self._middle <= block.last:
                self._last = min(self._last, block.last)
            else:
                self._first = block.last + 1
        elif block.closed and self._may_be(self._first, block.last):
            self._last = block.last
        elif self._middle < block.first:
            self._last = block.first - 1
        elif self._middle > block.last:
            self._first = block.last + 1
        else:
            self._first, self._last = block.first + 1, min(self._last, block.last)

    def _settle_table(self, block: Block) -> None:
        """Hold a row below the header rows of a table at the end, or none of it."""
        row = block.first + 2
        if block.first < self._first or self._last >= row or self._last < block.first:
            return
        if row <= block.last and self._may_be(self._first, row):
            self._last = row
        elif self._text.any_says(self._first, block.first - 1):
            self._last = block.first - 1


def _shortened(item: str) -> str:
    """Return the beginning of a long item, up to the end of a word."""
    if len(item) <= _WHOLE_CHARS:
        return item
    return item[:_WHOLE_CHARS].rpartition(" ")[0].rstrip(",;:-–— ") + SHORTENED


def _continues(lines: Sequence[str], number: int) -> bool:
    """Return whether the sentence, or the tag, of a line goes on in the next one."""
    if goes_on(lines, number):
        return True
    below = lines[number + 1] if number + 1 < len(lines) else ""
    opens = bool(below.strip()) and _OPEN_TAG.match(lines[number])
    return bool(opens) and not starts_unit(below)
