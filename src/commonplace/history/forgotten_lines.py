"""Forgotten lines: which other lines say what one of them says, with more around it or with less.

Runs of characters find no line that is shorter than a run, and none whose runs are those of a line
that stays but for the last word.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Iterable, Iterator

from commonplace.history.lines import normal_line
from commonplace.text.unspaced_scripts import is_unspaced

__all__ = ["ForgottenLines"]

_LONG = 20
"""Characters of a line that is in no other one by chance."""
_LEAST = 4
"""Characters of a line that is looked for in others at all."""
_HEAD = 12
"""Characters by which a line is looked up."""
_TIME = re.compile(r"(?:1\d|20)\d\d(?:[-./]\d\d?){0,2}|\d\d?(?:[:.]\d\d){1,2}")
"""A year, a day or a time, which says nothing by itself."""


class ForgottenLines:
    """Lines that are recognised by all that they say; marks around it do not count.

    Args:
        lines: The lines.
        own: Whether the others are earlier states of the same note: what holds the words of a short
            line is an earlier wording there, elsewhere it may be chance.
    """

    def __init__(self, lines: Iterable[str], *, own: bool = False) -> None:
        said = {
            normal_line(line): line.lstrip().startswith("#")
            for line in lines
            if any(map(str.isalnum, line))  # a rule, or an empty item, says nothing
        }
        self._said = {one for one in said if own or " " in one}
        self._text = "\n".join(one for one, is_heading in said.items() if not is_heading)
        self._by_head: dict[str, list[str]] = {}
        for one, is_heading in said.items():
            if _tells(one, is_enough=own) and (len(one) >= _LONG or not is_heading):
                self._by_head.setdefault(one[:_HEAD], []).append(one)
        self._sizes = sorted({len(head) for head in self._by_head})
        self._left: list[str] = []
        self._said_left: list[str] = []  # what those say, once it is asked for
        self._is_spared = functools.cache(self._is_left)

    def spare(self, text: str) -> None:
        """Leave out what a text says which stays."""
        self._left.append(text)
        self._is_spared.cache_clear()

    def short(self) -> Iterator[str]:
        """Yield the lines that are shorter than a run, and in no text that stays."""
        for head, lines in self._by_head.items():
            if len(head) < _HEAD:
                yield from (line for line in lines if not self._is_spared(line))

    def are_in(self, line: str) -> bool:
        """Return whether a line says what one of them says, or a telling part of it."""
        if not self._text:
            return False
        return any(not self._is_spared(part) for part in self._parts(normal_line(line)))

    def _parts(self, said: str) -> Iterator[str]:
        """Yield what a line has in common with forgotten ones: all of the one, or of the other."""
        is_short = len(said) < _HEAD  # what a longer line has in common, runs tell
        if said in self._said or (is_short and _tells(said) and _stands_in(said, self._text)):
            yield said
        for head in self._heads(said):
            yield from (one for one in self._by_head[head] if _stands_in(one, said))

    def _heads(self, said: str) -> Iterable[str]:
        """Return the beginnings of forgotten lines that a line holds."""
        if len(self._by_head) < len(said):
            return [head for head in self._by_head if head in said]
        parts = {said[at : at + size] for size in self._sizes for at in range(len(said))}
        return parts & self._by_head.keys()

    def _is_left(self, part: str) -> bool:
        while self._left:
            lines = self._left.pop().split("\n")
            self._said_left.append("\n".join(map(normal_line, lines)))
        return any(_stands_in(part, text) for text in self._said_left)


def _tells(said: str, *, is_enough: bool = False) -> bool:
    """Return whether a text is no chance in another line: a long one, or one with a number.

    Args:
        said: The text.
        is_enough: Whether any text of some characters is none.
    """
    if len(said) < _LEAST or _TIME.fullmatch(said):
        return False
    return is_enough or len(said) >= _LONG or any(map(str.isdigit, said)) or is_unspaced(said)


def _stands_in(part: str, text: str) -> bool:
    """Return whether a text holds another one, with no letter right before or behind it."""
    at = text.find(part)
    while at >= 0:
        if _is_whole(text, at, at + len(part)):
            return True
        at = text.find(part, at + 1)
    return False


def _is_whole(text: str, start: int, end: int) -> bool:
    pairs = (text[max(at - 1, 0) : at + 1] for at in (start, end))
    return all(len(pair) < 2 or not pair.isalnum() or is_unspaced(pair) for pair in pairs)
