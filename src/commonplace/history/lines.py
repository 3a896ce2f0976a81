"""Lines of notes: what makes a line the same one elsewhere, and how two texts differ by lines."""

from __future__ import annotations

import hashlib
import re
import unicodedata
from collections.abc import Iterator, Sequence
from difflib import SequenceMatcher

from commonplace.text.strikethrough import without_strikethrough

__all__ = [
    "hunks",
    "line_key",
    "lines_begun_with",
    "matching_blocks",
    "normal_line",
    "standing_keys",
]

_MOST_COMPARED = 2_000
"""Lines of a change that are compared one by one; a longer change counts as one replacement."""
_MOST_SOUGHT = 50
"""Lines that are searched for in a text one by one; for more, all of its lines are hashed."""
_MARKS = re.compile(r"[\s>]*(?:(?:[-*+]|\d{1,9}[.)]|#{1,6})[ \t]+(?:\[[ xX]\][ \t]+)?)?")
"""Marks in front of a line's text: quotes, lists, headings, tasks."""
_INDENT = " \t>"
"""Signs in front of a line that the context of a snippet may leave out."""
_ESCAPED = re.compile(r"\\([^\w\s])")
_NO_TEXT = re.compile("[\udc80-\udcff]+")
"""Bytes that are no UTF-8, as they are decoded to be written again."""


def line_key(line: str) -> bytes | None:
    """Return the hash of a line; None for one that says nothing, such as a blank or a rule.

    White space, list marks, task boxes, quotes and strikethrough do not count: formatting a line
    gives it no other author.
    """
    text = normal_line(line)
    if not any(map(str.isalnum, text)):
        return None
    return hashlib.blake2b(text.encode("utf-8", "replace"), digest_size=16).digest()


def lines_begun_with(beginning: str, lines: Sequence[str], *, below: str) -> list[str]:
    """Return the lines of a note of which the context of a snippet may show the beginning.

    Args:
        beginning: The beginning, without the indentation and the quote marks of the line.
        lines: The lines.
        below: The snippet's first line: where it is a part of the same line, only that one counts.
    """
    bare = beginning.lstrip(_INDENT)
    begun = [line for line in lines if line.lstrip(_INDENT).startswith(bare)]
    return [line for line in begun if below.strip() in line] or begun


def normal_line(line: str) -> str:
    """Return what a line says: without marks, strikethrough and additional white space."""
    if "~~" in line or "([correct" in line:
        line = without_strikethrough(line)
    line = _NO_TEXT.sub(_as_read, line.replace("\0", "\ufffd"))  # NUL, too, is read so
    text = unicodedata.normalize("NFC", line)
    text = _ESCAPED.sub(r"\1", text[_MARKS.match(text).end() :])  # type: ignore[union-attr]
    return " ".join(text.split())


def _as_read(escapes: re.Match[str]) -> str:
    """Return what is read, and shown, for bytes that are no UTF-8."""
    return escapes[0].encode("utf-8", "surrogateescape").decode("utf-8", "replace")


def matching_blocks(before: Sequence[str], after: Sequence[str]) -> list[tuple[int, int, int]]:
    """Return the runs of lines that two texts share, in order.

    Returns:
        Index of the first line in each text, and the number of lines.
    """
    start, end = 0, 0
    least = min(len(before), len(after))
    while start < least and before[start] == after[start]:
        start += 1
    while end < least - start and before[-1 - end] == after[-1 - end]:
        end += 1
    old, new = before[start : len(before) - end], after[start : len(after) - end]
    blocks = [(0, 0, start)]
    if max(len(old), len(new)) <= _MOST_COMPARED:
        matcher = SequenceMatcher(None, old, new, autojunk=False)
        blocks += [
            (start + one, start + other, size) for one, other, size in matcher.get_matching_blocks()
        ]
    blocks.append((len(before) - end, len(after) - end, end))
    return [block for block in blocks if block[2]]


def hunks(before: Sequence[str], after: Sequence[str]) -> Iterator[tuple[list[str], list[str]]]:
    """Yield the removed and the added lines of each place where two texts differ."""
    at, to = 0, 0
    for first, to_first, size in [*matching_blocks(before, after), (len(before), len(after), 0)]:
        if at < first or to < to_first:
            yield list(before[at:first]), list(after[to:to_first])
        at, to = first + size, to_first + size


def standing_keys(text: str, lines: Sequence[str]) -> set[bytes]:
    """Return the keys of those lines that a text holds already."""
    if not text:
        return set()
    if len(lines) > _MOST_SOUGHT:
        return set(filter(None, map(line_key, text.split("\n"))))
    found: set[bytes] = set()
    text = unicodedata.normalize("NFC", text)
    for line in lines:
        key, words = line_key(line), normal_line(line).split()
        # A pattern of a long line takes milliseconds to compile.
        if key is None or key in found or not all(word in text for word in words):
            continue
        for match in re.finditer(r"\s+".join(map(re.escape, words)), text):
            end = text.find("\n", match.end())
            held = text[text.rfind("\n", 0, match.start()) + 1 : end if end >= 0 else len(text)]
            if line_key(held) == key:
                found.add(key)
                break
    return found
