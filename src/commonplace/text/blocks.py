"""Markdown blocks: fenced code and tables among lines, and what a part of one needs from above.

A part of a code block needs its opening fence; rows of a table need its header and delimiter rows.
A formula between lines of two dollar signs is code.
The rules are those of CommonMark and GitHub's tables, line by line. Fences may lie in list items
and block quotes, which end them as a closing fence does. Beyond CommonMark, two fences that are
indented further hold code, too: admonitions, tabs and definitions of MkDocs have them.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterable, Sequence
from operator import attrgetter
from typing import Literal, NamedTuple

__all__ = [
    "BLOCK_MARKS",
    "MAX_CONTEXT_CHARS",
    "Block",
    "block_at",
    "context_at",
    "find_blocks",
    "is_like_delimiter",
    "is_markup",
    "may_hold_blocks",
]

BLOCK_MARKS = ("|", "```", "~~~", "<!--", "$$")
"""Texts of which a block holds one: texts without any are not parsed."""
MAX_CONTEXT_CHARS = 700
"""Length of a context, at most: a snippet's. A header row that is longer is left out."""

_MARKER = r"(?:[-*+]|[0-9]{1,9}[.)])(?=[ \t]|$)[ \t]*"
_LEAD = re.compile(rf"[ \t]*(?:(?:{_MARKER}|>[ \t]?)[ \t]*)*")
"""Indentation, markers of list items and quote marks at the beginning of a line."""
_FENCE = re.compile(r"(`{3,})[^`]*$|(~{3,})")
_DELIMITER = re.compile(r"[ \t>]*\|?[ \t]*:?-+:?[ \t]*(?:\|[ \t]*:?-+:?[ \t]*)*\|?[ \t]*$")
_DELIMITER_LINE = re.compile(r"\n[ \t>|:-]*[|:][ \t>|:-]*(?=\n|\Z)")
_BEGINNINGS = ("```", "~~~", "<!--", "$$")
_CELL_BORDER = re.compile(r"(?<!\\)\|")
_INDENT = 4
"""Columns of an indentation by which text belongs to what is above it."""
_PADDING = re.compile(r"(?<=\S)[ \t]{2,}")
_LONG_RULE = re.compile(r"-{4,}")
_OTHER_BLOCK = re.compile(rf"[ \t]*(?:#{{1,6}}(?:[ \t]|$)|{_MARKER}|`{{3,}}|~{{3,}})")

_KINDS = (
    "(?i:note|seealso|abstract|summary|tldr|info|todo|tip|hint|important|success|check|done|"
    "question|help|faq|warning|caution|attention|failure|fail|missing|danger|error|bug|example|"
    "quote|cite)"
)
_ADMONITION = (
    rf":{{3,}}[ \t]*(?:[\w-]*(?:\[.*\])?|(?:{_KINDS}|details)[ \t].*|[\w-]+(?:[ \t].*)?:{{3,}})"
    rf"|\[!\w+\][+-]?|===[+!]?[ \t]\".*\"|(?:!!!|\?\?\?\+?)[ \t]+(?:{_KINDS}"
    r"(?:[ \t]+inline(?:[ \t]+end)?)?|[\w-]+(?:[ \t]+[\w-]+)*[ \t]+\".*\")"
    r"|/{3}(?:[ \t]*[\w-]+(?:[ \t]*\|.*)?)?"
)
_TAGS = r"(?:</?(?!img\b)[A-Za-z][\w.:-]*(?:[ \t][^<>]*)?>[ \t]*)+"
_IMPORT = r"import[ \t][^'\"]{1,200}[ \t]from[ \t]+(?:'[^']*'|\"[^\"]*\");?"
_MARKUP = re.compile(
    rf"[ \t>]*(?:#{{1,6}}(?:[ \t].*)?|<!--.*-->|{_TAGS}|{_ADMONITION}|{_IMPORT})[ \t\r]*$"
)


class Block(NamedTuple):
    """Fenced code block, table or HTML comment among lines.

    Attributes:
        kind: What it is; a formula is "code".
        first: Index of its first line; negative where it begins above the lines.
        last: Index of its last line.
        lead: Lines that every part of it needs: its opening fence; its header and delimiter rows,
            without the padding of their cells.
        closed: Whether its closing fence is among the lines; a table always is.
    """

    kind: Literal["code", "table", "comment"]
    first: int
    last: int
    lead: tuple[str, ...]
    closed: bool


def find_blocks(lines: Sequence[str], context: str = "") -> list[Block]:
    """Find the fenced code blocks, tables and HTML comments among lines, in order.

    Args:
        lines: Consecutive lines of a file, without line breaks.
        context: What the first line needs from above it, as `context_at` gives it.
    """
    above = context.split("\n") if context else []
    text = "\n".join([*above, *lines])
    if "\r" in text:
        lines = [line.rstrip("\r") for line in lines]
        text = "\n".join([*above, *lines])
    return _Scanner([*above, *lines], above=len(above)).blocks(_beginnings(text))


def may_hold_blocks(text: str) -> bool:
    """Return False for a text that certainly holds no block, without a look at all of its lines."""
    # One character is found much faster than several.
    if not any(mark[0] in text and mark in text for mark in BLOCK_MARKS):
        return False
    return "\r" in text or bool(_beginnings(text))


def is_like_delimiter(line: str) -> bool:
    """Return whether a line can make a table of the one above it."""
    return "-" in line and _DELIMITER.match(line) is not None


def is_markup(line: str) -> bool:
    """Return whether a line says nothing without others.

    Such are headings, comments, tags but those of images, imports of MDX, and what opens or ends an
    admonition, a tab or a column.
    """
    return _MARKUP.match(line) is not None


def block_at(blocks: Sequence[Block], line: int) -> Block | None:
    """Return the block, of some in order, that holds a line; None for a line of no block."""
    before = bisect_right(blocks, line, key=attrgetter("first"))
    return blocks[before - 1] if before and line <= blocks[before - 1].last else None


def context_at(blocks: Sequence[Block], line: int) -> str:
    """Return what a text that begins with a line needs from above it; empty for most lines."""
    block = block_at(blocks, line)
    context = "" if block is None else "\n".join(block.lead[: max(0, line - block.first)])
    return context if len(context) <= MAX_CONTEXT_CHARS else ""


class _Scanner:
    """Line scanner: finds the blocks among lines, of which the first ones may be a context."""

    def __init__(self, lines: Sequence[str], *, above: int) -> None:
        self._lines = lines
        self._above = above
        self._items: list[int] = []
        """Columns at which the contents of the open list items begin, ascending."""

    def blocks(self, beginnings: Iterable[int]) -> list[Block]:
        """Return the blocks in order; lines count from the first behind the context.

        Args:
            beginnings: Lines at which one may begin, ascending.
        """
        found: list[Block] = []
        at = 0
        for beginning in beginnings:
            at = self._restart(at, beginning)
            while at <= beginning:
                block = self._block(at)
                if block is None:
                    at += 1
                    continue
                at = block.last + 1
                first, last = block.first - self._above, block.last - self._above
                found.append(block._replace(first=first, last=last))
        return found

    def _restart(self, at: int, beginning: int) -> int:
        """Return the last line up to one at which the open list items are known."""
        for number in range(beginning, at, -1):
            line = self._lines[number]
            if line[:1].strip() and _lead(line) != line:
                self._items.clear()  # it closes all of them
                return number
        return at

    def _block(self, at: int) -> Block | None:
        line = self._lines[at]
        lead = _lead(line)
        column = _column(lead)
        starts = line[: len(lead) - len(lead.lstrip())]
        if lead != line:
            self._close_items(_column(starts))
        base = self._items[-1] if self._items else 0
        marked = bool(lead.strip(" \t>"))
        if marked:
            self._items.append(column)
        if opened := _FENCE.match(line, len(lead)):
            fence, is_quoted = opened[1] or opened[2], ">" in lead
            is_above = at < self._above  # and so is what it lies in
            is_deep = not (marked or is_quoted or is_above) and column - base >= _INDENT
            if marked:
                base = column
            elif is_deep or (is_above and not is_quoted):
                base = column - column % _INDENT
            else:
                base = min(base, column)
            code = self._code(at, fence, base=base, quoted=is_quoted)
            # Closed below the lines, perhaps: what is less indented would show that it is none.
            if code.closed or not is_deep or code.last == len(self._lines) - 1:
                return code
        if line.startswith("<!--", len(lead)):
            return self._comment(at)
        if line.startswith("$$", len(lead)) and line.count("$$") == 1:
            return self._formula(at)
        return self._table(at) if "|" in line else None

    def _close_items(self, column: int) -> None:
        while self._items and column < self._items[-1]:
            self._items.pop()

    def _code(self, at: int, fence: str, *, base: int, quoted: bool) -> Block:
        lead = (self._lines[at],)
        for number in range(at + 1, len(self._lines)):
            line = self._lines[number]
            body = line.lstrip(" \t")
            if quoted:
                if not body.startswith(">"):
                    return Block("code", at, number - 1, lead, closed=False)
                body = body.lstrip("> \t")
            elif body and base and _column(line[: len(line) - len(body)]) < base:
                return Block("code", at, number - 1, lead, closed=False)
            if body.startswith(fence) and not body.rstrip(" \t").strip(fence[0]):
                indent = _column(line[: len(line) - len(body)])
                if quoted or indent - base <= 3:
                    return Block("code", at, number, lead, closed=True)
        return Block("code", at, len(self._lines) - 1, lead, closed=False)

    def _comment(self, at: int) -> Block | None:
        for number in range(at, len(self._lines)):
            line = self._lines[number]
            if "-->" in line:
                alone = line.rstrip(" \t").endswith("-->")
                last = number if alone else number - 1
                return Block("comment", at, last, (), closed=True) if last >= at else None
        return None

    def _formula(self, at: int) -> Block | None:
        for number in range(at + 1, len(self._lines)):
            line = self._lines[number].strip(" \t>")
            if line.endswith("$$"):
                return Block("code", at, number, (self._lines[at],), closed=True)
            if not line or "$$" in line:
                return None  # TeX has no blank lines in formulas
        return Block("code", at, len(self._lines) - 1, (self._lines[at],), closed=False)

    def _table(self, at: int) -> Block | None:
        header, delimiter = self._lines[at], self._lines[at + 1 : at + 2]
        if not delimiter or not _is_delimiter(delimiter[0], header):
            # A context without its delimiter row: the lines begin with it.
            return None
        last = at + 1
        while last + 1 < len(self._lines) and _is_row(self._lines[last + 1]):
            last += 1
        # Padding as wide as the longest cell would leave no room for the rows.
        lead = _PADDING.sub(" ", header), _LONG_RULE.sub("---", _PADDING.sub(" ", delimiter[0]))
        return Block("table", at, last, lead, closed=True)


def _beginnings(text: str) -> list[int]:
    """Return the lines at which a block may begin, ascending: next to all others are skipped."""
    places: list[int] = []
    for mark in _BEGINNINGS:
        place = text.find(mark) if mark[0] in text else -1  # one character is found much faster
        while place >= 0:
            places.append(place)
            place = text.find(mark, place + len(mark))
    if "|" in text:  # the row above a delimiter row
        places += (match.start() for match in _DELIMITER_LINE.finditer(text))
    places.sort()
    found: list[int] = []
    number = counted = 0
    for place in places:
        number, counted = number + text.count("\n", counted, place), place
        if not found or found[-1] != number:
            found.append(number)
    return found


def _lead(line: str) -> str:
    """Return the indentation, list markers and quote marks that begin a line."""
    first = line[:1]
    if first not in " \t>-*+0123456789":
        return ""
    return _LEAD.match(line)[0]  # type: ignore[index]


def _column(text: str) -> int:
    """Return the column behind a text; tabs stop at multiples of four."""
    return len(text.expandtabs(4))


def _is_delimiter(line: str, header: str) -> bool:
    if "-" not in line or not ("|" in line or ":" in line) or not _DELIMITER.match(line):
        return False
    return _cells(line) == _cells(header)


def _cells(row: str) -> int:
    cells = _CELL_BORDER.split(row[len(_lead(row)) :].strip())
    return len(cells) - (not cells[0].strip()) - (len(cells) > 1 and not cells[-1].strip())


def _is_row(line: str) -> bool:
    return "|" in line and not _OTHER_BLOCK.match(line)
