"""Embedding units: the lines of a chunk, the smallest texts that are embedded and scored.

A list item or a paragraph that an editor wrapped over several lines is one unit, as is a single
line. Longer units than a few sentences are split again, at line ends where possible.
"""

from __future__ import annotations

import re
import struct
from collections.abc import Iterator, Sequence
from itertools import chain

__all__ = ["LineUnit", "line_units", "pack_units", "unit_texts"]

_MAX_LINE_CHARS = 600
"""Maximum length of a line that is one unit: a snippet holds it whole."""
_MAX_CHARS = 350
"""Maximum length of a unit joined from several lines, or split off a longer line."""

_HAS_TEXT = re.compile(r"\w\W*\w")
_SENTENCE_END = re.compile(r"[.!?…]['\")\]]*\s+|[。！？]+\s*")
_UNIT_START = re.compile(
    r"\s*(?:[-*+]\s|\d{1,9}[.)]\s|#{1,6}\s|>|\||```|~~~|:?-{3,}|<|\[|[^\W\d_][\w .'-]{0,30}:\s)"
)
"""Beginnings of a new unit: items, headings, quotes, rows, fences, rules, ``Ann: …``."""
_FREQUENT_STARTS = ("- ", "* ", "> ", "# ", "## ", "### ")
"""The most frequent beginnings, checked before the regular expression."""
_WRAPPED_CHARS = 41
_ENDS_SENTENCE = ".!?…:;。！？|"
_MARKS = re.compile(r"\s*(?:(?:[-*+]|\d{1,9}[.)]|#{1,6}|>)\s+)*(?:\[[ xX]\]\s+)?")


LineUnit = tuple[int, int, int]
"""A unit within a text: its first line, from 0, and the offsets of its start and end."""


def line_units(text: str) -> list[LineUnit]:
    """Split a text into units, in order, without overlap.

    Lines without two letters or digits (rules, fences, empty items) are skipped: no query matches
    them. For a text that has only such lines, its beginning is the one unit.
    """
    units: list[LineUnit] = []
    start = 0
    open_ended = False
    for number, line in enumerate(text.split("\n")):
        end = start + len(line)
        if len(line) > _MAX_LINE_CHARS:
            units += _sentences(text, number, start, end)
            open_ended = False
        elif not ((len(line) > 3 and line[2:4].isalnum()) or _HAS_TEXT.search(line)):
            open_ended = False  # fast check: most lines have two letters behind their mark
        elif open_ended and end - units[-1][1] <= _MAX_CHARS and not _starts_unit(line):
            units[-1] = (*units[-1][:2], end)
            open_ended = _is_wrapped(line)
        else:
            units.append((number, start, end))
            open_ended = _is_wrapped(line) and not line.lstrip().startswith(("#", "|"))
        start = end + 1
    return units or [_fallback_unit(text)]


def _starts_unit(line: str) -> bool:
    return line.startswith(_FREQUENT_STARTS) or bool(_UNIT_START.match(line))


def _is_wrapped(line: str) -> bool:
    """Check whether a line continues in the next: it is long and does not end a sentence."""
    said = line.rstrip()
    return len(said) >= _WRAPPED_CHARS and said[-1] not in _ENDS_SENTENCE


def _fallback_unit(text: str) -> LineUnit:
    start = len(text) - len(text.lstrip())
    said = text[start : start + _MAX_LINE_CHARS].rstrip()
    return text.count("\n", 0, start), start, start + len(said)


def pack_units(units: Sequence[LineUnit]) -> bytes:
    """Encode the numbers of units as bytes, the form in which an index stores them."""
    return struct.pack(f"<{3 * len(units)}i", *chain.from_iterable(units))


def unit_texts(text: str, units: Sequence[LineUnit]) -> list[str]:
    """Return the texts of units to embed: without the marks of lists, quotes and headings."""
    return [_without_marks(text[start:end]) for _, start, end in units]


def _without_marks(part: str) -> str:
    said = part[2:] if part.startswith("- ") else part
    if not said[:1].isalpha():  # another mark, or several
        said = part[_MARKS.match(part).end() :]  # type: ignore[union-attr]
    return said.replace("\n", " ") or part


def _sentences(text: str, number: int, start: int, end: int) -> Iterator[LineUnit]:
    """Split a long line into units of whole sentences, as many as fit."""
    while end - start > _MAX_CHARS:
        cut = start
        for match in _SENTENCE_END.finditer(text, start, min(end, start + _MAX_CHARS)):
            cut = match.end()
        if cut == start:
            cut = text.rfind(" ", start + _MAX_CHARS // 2, start + _MAX_CHARS) + 1
        cut = cut or start + _MAX_CHARS
        if _HAS_TEXT.search(text, start, cut):
            yield number, start, cut
        start = cut
    if _HAS_TEXT.search(text, start, end):
        yield number, start, end
