"""The finest grain that is embedded and scored: what a reader would call a line.

A list item or a paragraph that an editor wrapped over several lines is one unit, as is a line of
its own; what is longer than a few sentences is taken apart again, at line ends where there are any.
"""

from __future__ import annotations

import re
import struct
from collections.abc import Iterator, Sequence
from itertools import chain

__all__ = ["LineUnit", "line_units", "pack_units", "unit_texts"]

_MAX_LINE_CHARS = 600
"""A line up to this length is one unit: it fits a snippet whole, with room to spare."""
_MAX_CHARS = 350
"""Length of what is joined from several lines, or cut from a longer one: a few sentences."""

_SAYS_SOMETHING = re.compile(r"\w\W*\w")
_SENTENCE_END = re.compile(r"[.!?…]['\")\]]*\s+|[。！？]+\s*")
_STARTS = re.compile(
    r"\s*(?:[-*+]\s|\d{1,9}[.)]\s|#{1,6}\s|>|\||```|~~~|:?-{3,}|<|\[|[^\W\d_][\w .'-]{0,30}:\s)"
)
"""What begins a unit of its own: items, headings, quotes, rows, fences, rules, ``Ann: …``."""
_ITEM = ("- ", "* ", "> ", "# ", "## ", "### ")
"""How most of them begin."""
_WRAPPED_CHARS = 41
_ENDS_SENTENCE = ".!?…:;。！？|"
_MARKS = re.compile(r"\s*(?:(?:[-*+]|\d{1,9}[.)]|#{1,6}|>)\s+)*(?:\[[ xX]\]\s+)?")


LineUnit = tuple[int, int, int]
"""A part of a text: its first line, from 0, and where its characters begin and end."""


def line_units(text: str) -> list[LineUnit]:
    """Return the units of a text, in order; they do not overlap.

    What has no two letters or digits (rules, fences, empty items) is no unit, nothing could be
    found by it; of a text of nothing else, the beginning is one.
    """
    units: list[LineUnit] = []
    start = 0
    open_ended = False
    for number, line in enumerate(text.split("\n")):
        end = start + len(line)
        if len(line) > _MAX_LINE_CHARS:
            units += _sentences(text, number, start, end)
            open_ended = False
        elif not ((len(line) > 3 and line[2:4].isalnum()) or _SAYS_SOMETHING.search(line)):
            open_ended = False  # most lines have two letters right behind their mark
        elif open_ended and end - units[-1][1] <= _MAX_CHARS and not _starts(line):
            units[-1] = (*units[-1][:2], end)
            open_ended = _is_wrapped(line)
        else:
            units.append((number, start, end))
            open_ended = _is_wrapped(line) and not line.lstrip().startswith(("#", "|"))
        start = end + 1
    return units or [_of_nothing(text)]


def _starts(line: str) -> bool:
    return line.startswith(_ITEM) or bool(_STARTS.match(line))


def _is_wrapped(line: str) -> bool:
    """Tell whether a line goes on in the next: it is long, and not at the end of a sentence."""
    said = line.rstrip()
    return len(said) >= _WRAPPED_CHARS and said[-1] not in _ENDS_SENTENCE


def _of_nothing(text: str) -> LineUnit:
    start = len(text) - len(text.lstrip())
    said = text[start : start + _MAX_LINE_CHARS].rstrip()
    return text.count("\n", 0, start), start, start + len(said)


def pack_units(units: Sequence[LineUnit]) -> bytes:
    """Return the numbers of units as bytes, so that an index can keep them."""
    return struct.pack(f"<{3 * len(units)}i", *chain.from_iterable(units))


def unit_texts(text: str, units: Sequence[LineUnit]) -> list[str]:
    """Return units as they are embedded: without the marks of lists, quotes and headings."""
    return [_without_marks(text[start:end]) for _, start, end in units]


def _without_marks(part: str) -> str:
    said = part[2:] if part.startswith("- ") else part
    if not said[:1].isalpha():  # other marks, or several
        said = part[_MARKS.match(part).end() :]  # type: ignore[union-attr]
    return said.replace("\n", " ") or part


def _sentences(text: str, number: int, start: int, end: int) -> Iterator[LineUnit]:
    """Cut a long line into parts of whole sentences, as many as fit."""
    while end - start > _MAX_CHARS:
        cut = start
        for match in _SENTENCE_END.finditer(text, start, min(end, start + _MAX_CHARS)):
            cut = match.end()
        if cut == start:
            cut = text.rfind(" ", start + _MAX_CHARS // 2, start + _MAX_CHARS) + 1
        cut = cut or start + _MAX_CHARS
        if _SAYS_SOMETHING.search(text, start, cut):
            yield number, start, cut
        start = cut
    if _SAYS_SOMETHING.search(text, start, end):
        yield number, start, end
