"""Embedding units: a chunk's text to sentences, list items and paragraphs, about a line each.

They are the smallest texts that are embedded and scored.
"""

from __future__ import annotations

import re
import struct
from collections.abc import Iterator, Sequence
from itertools import chain, pairwise

from commonplace.text.list_items import item_above
from commonplace.text.stopwords import ENGLISH
from commonplace.text.strikethrough import is_struck, without_strikethrough

__all__ = [
    "LineUnit",
    "goes_on",
    "line_units",
    "pack_units",
    "starts_unit",
    "unit_texts",
    "whole_unit",
]

_MAX_UNIT_CHARS = 600
"""Maximum length of a line, or of several of one sentence or item: a snippet holds them whole."""
_PART_CHARS = 350
"""Maximum length of a unit split off a longer text."""

_HAS_TEXT = re.compile(r"\w\W*\w")
_SENTENCE_END = re.compile(r"[.!?…]['\")\]]*\s+|[。！？]+\s*")
_UNIT_START = re.compile(
    r"\s*(?:[-*+]\s|\d{1,9}[.)]\s|#{1,6}\s|>|\||```|~~|:?-{3,}|<|\[|[^\W\d_][\w .'-]{0,30}:\s"
    r"|\d\d?:\d\d\b|\d{4}-\d\d-\d\d\b)"
)
"""Beginnings of a new unit: items, headings, quotes, rows, fences, struck lines, ``Ann: …``, times
and dates."""
_FREQUENT_STARTS = ("- ", "* ", "> ", "# ", "## ", "### ")
"""The most frequent beginnings, checked before the regular expression."""
_FENCES = ("```", "~~~")
_WRAPPED_CHARS = 41
_WIDTH = 60
"""Minimum width at which editors wrap lines."""
_ENDS_SENTENCE = ".!?…:;。！？|"
_COMMAS = ",-–—("
_JOINING = frozenset(("and", "or", "but", "of", "to", "than", "which", "that", "because"))
_RAGGED = 0.8
"""Part of a paragraph's width that its lines fill, at least, where an editor wrapped them."""
_LINE_BREAKS = ("  ", "\\")
_WORD = re.compile(r"[^\W_]")
_UNIT_MARKS = re.compile(r"\s*(?:(?:[-*+]|\d{1,9}[.)]|#{1,6}|>)\s+)*(?:\[[ xX]\]\s+)?")

LineUnit = tuple[int, int, int]
"""A unit within a text: its first line, from 0, and the offsets of its start and end."""


def line_units(text: str) -> list[LineUnit]:
    """Split a text into embedding units, in order, without overlap.

    A list item or a paragraph that an editor wrapped over several lines is one unit, as is a single
    line, and in code each line. Longer units are split again, at the ends of sentences where
    possible.

    Lines without two letters or digits (rules, fences, empty items) are skipped: no query matches
    them. For a text that has only such lines, its beginning is the one unit.
    """
    units: list[LineUnit] = []
    lines = text.split("\n")
    start = 0
    open_ended = in_code = False
    has_code = any(fence in text for fence in _FENCES)
    for number, (line, below) in enumerate(zip(lines, [*lines[1:], ""], strict=True)):
        end = start + len(line)
        if has_code and line.lstrip().startswith(_FENCES):
            in_code = bool(line.strip(" \t\r`~")) or not in_code
        if not ((len(line) > 3 and line[2:4].isalnum()) or _HAS_TEXT.search(line)):
            open_ended = False  # fast check: most lines have two letters behind their mark
        else:
            if open_ended and len(line) <= _MAX_UNIT_CHARS:
                units[-1] = (*units[-1][:2], end)
            else:
                units.append((number, start, end))
            open_ended = (
                below != ""
                and not below.startswith(_FREQUENT_STARTS)  # as of most lists: nothing goes on
                and not in_code
                and len(line) <= _MAX_UNIT_CHARS
                and (_is_of_one_item(lines, number) or goes_on(lines, number))
            )
        start = end + 1
    if any(end - start > _MAX_UNIT_CHARS for _, start, end in units):
        units = [part for unit in units for part in _parts(text, *unit)]
    return units or [_fallback_unit(text)]


def starts_unit(line: str) -> bool:
    """Check whether a line begins an item, a heading, a quote, a row or the words of a speaker."""
    return line.startswith(_FREQUENT_STARTS) or bool(_UNIT_START.match(line))


def goes_on(lines: Sequence[str], number: int) -> bool:
    """Check whether the sentence of a line goes on in the next one: an editor wrapped it."""
    line = lines[number]
    said = line.rstrip()
    if len(said) < _WRAPPED_CHARS or said[-1] in _ENDS_SENTENCE or line.endswith(_LINE_BREAKS):
        return False
    below = lines[number + 1] if number + 1 < len(lines) else ""
    if starts_unit(below) or not below.strip() or said.lstrip().startswith(("#", "|")):
        return False
    if "~~" in said and is_struck(said):
        return False
    first = _WORD.search(below)
    if first is None or below[0].isspace():
        return True
    paragraph = _paragraph(lines, number)
    if first[0].isupper() or first[0].isdigit():
        return _is_wrapped(paragraph)
    return _is_bound(said, below) or not _is_ragged(paragraph)


def _is_of_one_item(lines: Sequence[str], number: int) -> bool:
    """Check whether a line and the next one, which is indented, are text of one list item."""
    line, below = lines[number], lines[number + 1] if number + 1 < len(lines) else ""
    if not below[:1].isspace() or not below.strip() or starts_unit(below):
        return False
    if line.endswith(_LINE_BREAKS) or ("~~" in line and is_struck(line.rstrip())):
        return False
    item = item_above(lines, number + 1)
    return item is not None and item in (number, item_above(lines, number))


def _paragraph(lines: Sequence[str], number: int) -> Sequence[str]:
    """Return the lines around one up to the next empty ones, of one item where it is in a list."""
    first, after = number, number + 1
    while first and lines[first - 1].strip() and not starts_unit(lines[first]):
        first -= 1
    while after < len(lines) and lines[after].strip() and not starts_unit(lines[after]):
        after += 1
    return lines[first:after]


def _is_bound(line: str, below: str) -> bool:
    """Check whether a sentence goes on, whatever the width: behind "the" or a comma, with "and"."""
    last, first = line.rsplit(None, 1)[-1], below.split(None, 1)[0]
    return last[-1] in _COMMAS or last.lower() in ENGLISH or first in _JOINING


def _is_ragged(paragraph: Sequence[str]) -> bool:
    """Check whether a line ends long before the width: no editor wraps so."""
    width = _RAGGED * max(map(len, paragraph))
    return any(_with_next_word(*pair) <= width for pair in pairwise(paragraph))


def _with_next_word(line: str, below: str) -> int:
    """Return the length of a line that would have the first word of the next one, too."""
    return len(line) + 1 + len(below.split(None, 1)[0])


def _is_wrapped(paragraph: Sequence[str]) -> bool:
    """Check whether one width explains all ends of lines, and the words that the text is one.

    Lines of a log, one fact each, are of any length, and each begins with a capital or a number.
    """
    width = max(_WIDTH, *map(len, paragraph))
    if any(_with_next_word(*pair) <= width for pair in pairwise(paragraph)):
        return False
    if any(map(_SENTENCE_END.search, paragraph)) or paragraph[-1].rstrip()[-1] in _ENDS_SENTENCE:
        return True
    return any(first[0].islower() for first in map(_WORD.search, paragraph[1:]) if first)


def _fallback_unit(text: str) -> LineUnit:
    start = len(text) - len(text.lstrip())
    said = text[start : start + _MAX_UNIT_CHARS].rstrip()
    return text.count("\n", 0, start), start, start + len(said)


def whole_unit(text: str) -> list[LineUnit]:
    """Return a text as one embedding unit."""
    return [(0, 0, len(text))]


def pack_units(units: Sequence[LineUnit]) -> bytes:
    """Encode the numbers of units as bytes, the form in which an index stores them."""
    return struct.pack(f"<{3 * len(units)}i", *chain.from_iterable(units))


def unit_texts(text: str, units: Sequence[LineUnit]) -> list[str]:
    """Return the texts of units to embed: without the marks of Markdown in front, and struck."""
    return [_without_marks(text[start:end]) for _, start, end in units]


def _without_marks(part: str) -> str:
    said = part[2:] if part.startswith("- ") else part
    if not said[:1].isalpha():  # another mark, or several
        said = part[_UNIT_MARKS.match(part).end() :]  # type: ignore[union-attr]
    if "~~" in said or "([correct" in said:
        said = without_strikethrough(said)
    return said.replace("\n", " ") or part


def _parts(text: str, number: int, start: int, end: int) -> Iterator[LineUnit]:
    """Split a long line, or several, into units of whole sentences, as many as fit."""
    if end - start <= _MAX_UNIT_CHARS:
        yield number, start, end
        return
    while end - start > _PART_CHARS:
        cut = start
        for match in _SENTENCE_END.finditer(text, start, min(end, start + _PART_CHARS)):
            cut = match.end()
        if cut == start:
            half, most = start + _PART_CHARS // 2, start + _PART_CHARS
            cut = max(text.rfind("\n", half, most), text.rfind(" ", half, most)) + 1
        cut = cut or start + _PART_CHARS
        if _HAS_TEXT.search(text, start, cut):
            yield number, start, start + len(text[start:cut].rstrip("\n"))
        number, start = number + text.count("\n", start, cut), cut
    if _HAS_TEXT.search(text, start, end):
        yield number, start, end
