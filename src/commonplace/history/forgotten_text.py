"""Forgotten text: which lines of other texts hold some of what is to be forgotten.

A line is recognised by runs of twelve characters that occur in no note that stays. Chance runs, as
any two sentences of a language share them, are not enough. What a forgotten line says as a whole
is enough; see `forgotten_lines`.
"""

from __future__ import annotations

import functools
import itertools
import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator, Sequence
from typing import Any
from unicodedata import normalize

from commonplace.history.forgotten_lines import ForgottenLines

__all__ = ["FORGOTTEN", "ForgottenText", "lines_holding"]

FORGOTTEN = "[forgotten]"
"""What stands in place of a message, or of another value, that had nothing else to say."""

_RUN = 12
"""Characters of a run."""
_MOST_LINES = 1 << 16
"""Lines of which the answer is kept."""
_LONG = 20
"""Characters in a row that are no chance."""
_ODD = re.compile(r"(?=[^\s\d]*\d)[\w.@:/+#-]{6,}|[\w.@:/+#-]{12,}")
"""Words that are no chance: names with digits, numbers, addresses, and long ones."""
_NAME = re.compile(r"[A-Za-z_]{1,40}")
"""Names of a format, of a speaker, or of a kind of message."""
_KINDS = frozenset(("role", "type", "block_type"))
"""Keys that say how a record is read."""
_WORDS = frozenset(
    ("arguments", "args", "calls", "input", "tool_kwargs", "artifact", "details", "metadata")
)
"""Keys below which keys are the words of a model or of a tool, not of the format."""


class ForgottenText:
    """Text to forget, and the removal of what is left of it in other texts.

    Args:
        lines: The lines.
        phrase: A text that no line may hold, nor several lines together; empty for none.
    """

    def __init__(self, lines: Iterable[str], phrase: str = "") -> None:
        phrase = _composed(phrase.strip())
        self._phrase, self._passage = ("", phrase) if "\n" in phrase else (phrase, "")
        said = {_composed(line.strip()) for line in lines} | ({self._phrase} - {""})
        self._lines = ForgottenLines(said)
        # The versions of a note repeat most of its lines.
        self._is_in_line = functools.lru_cache(_MOST_LINES)(self._holds)
        self._runs = {run for line in said for run in _runs(line) if any(map(str.isalnum, run))}

    def spare(self, text: str) -> None:
        """Leave out the runs that a text holds which stays."""
        self._is_in_line.cache_clear()
        self._lines.spare(text)
        self._runs.difference_update(
            run for line in _composed(text).split("\n") for run in _runs(line)
        )

    @property
    def runs(self) -> frozenset[str]:
        """What finds it in other files: what is in no text that stays, in each Unicode form."""
        found = {*self._runs, *self._lines.short(), self._phrase} - {""}
        return frozenset(normalize(form, part) for part in found for form in ("NFC", "NFD"))

    def places(self, lines: Sequence[str]) -> set[int]:
        """Return the indexes of the lines that hold some of it."""
        found = {at for at, line in enumerate(lines) if self._is_in_line(_composed(line))}
        return found | lines_holding(lines, self._passage) if self._passage else found

    def is_in(self, text: str) -> bool:
        """Return whether a text holds some of it."""
        return bool(self.places(text.split("\n")))

    def _holds(self, line: str) -> bool:
        if self._phrase and self._phrase in line:
            return True
        return self._lines.are_in(line) or any(
            len(part) >= _LONG or 2 * len(part) >= len(line.strip()) or _ODD.search(part)
            for part in self._parts(line)
        )

    def _parts(self, line: str) -> Iterator[str]:
        """Yield the parts of a line of which each run is forgotten."""
        start: int | None = None
        for at in range(len(line) - _RUN + 2):
            if line[at : at + _RUN] in self._runs:
                start = at if start is None else start
            elif start is not None:
                yield line[start : at - 1 + _RUN]
                start = None

    def without(self, text: str) -> str:
        """Return a text without the lines that hold some of it; what stays is spared."""
        lines = text.split("\n")
        gone = self.places(lines)
        return "\n".join(line for at, line in enumerate(lines) if at not in gone) if gone else text

    def without_values(self, value: Any, *, is_record: bool = True) -> Any:
        """Return a value of JSON without the texts that hold some of it.

        Args:
            value: The value.
            is_record: Whether keys that are names, and what says how to read the value, are of the
                format of a record, and stay; those of a tool call's arguments are a model's words.
        """
        if isinstance(value, str):
            left = self.without(value)
            return left if left == value or left.strip() else FORGOTTEN
        if isinstance(value, dict):
            return {
                key: item
                if is_record and key in _KINDS and isinstance(item, str) and _NAME.fullmatch(item)
                else self.without_values(item, is_record=is_record and key not in _WORDS)
                for key, item in value.items()
                if (is_record and _NAME.fullmatch(str(key))) or not self.is_in(str(key))
            }
        if isinstance(value, list):
            return [self.without_values(item, is_record=is_record) for item in value]
        return value


def lines_holding(lines: Sequence[str], phrase: str) -> set[int]:
    """Return the indexes of the lines that hold a text, or parts of one of several lines.

    The Unicode form does not count, nor white space around line breaks.
    """
    said = [_composed(line.rstrip("\r")) for line in lines]
    ends = list(itertools.accumulate(len(line) + 1 for line in said))
    text, parts = "\n".join(said), re.split(r"\s*\n\s*", _composed(phrase))
    pattern = re.compile(r"\s*\n\s*".join(re.escape(part) for part in parts if part))
    found: set[int] = set()
    match = pattern.search(text)
    while match:
        found |= set(range(bisect_right(ends, match.start()), bisect_left(ends, match.end()) + 1))
        match = pattern.search(text, match.start() + 1)
    return found


def _composed(text: str) -> str:
    return normalize("NFC", text)


def _runs(line: str) -> Iterator[str]:
    for at in range(len(line) - _RUN + 1):
        yield line[at : at + _RUN]
