"""Streaming JSON: the lists of one object, read a value at a time with the standard library."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import IO, Any

__all__ = ["values"]

_BLANK = " \t\r\n"
_BEHIND_VALUE = frozenset(_BLANK + ",:]}")
_DECODER = json.JSONDecoder()
_READ_CHARS = 1 << 16


def values(file: IO[str], name: str) -> Iterator[Any]:
    """Yield what an object has under a name: the entries of a list, or the one value.

    All of the file is read, so that an end that is missing is met even behind the last entry.

    Args:
        file: The JSON, in any layout.
        name: The name, on the object's first level.

    Raises:
        ValueError: It is no JSON, or no object.
    """
    text = _Text(file)
    text.expect("{")
    more = not text.skip("}")
    while more:
        key = text.value()
        text.expect(":")
        for value in text.entries() if text.skip("[") else (text.value(),):
            if key == name:
                yield value
        more = text.skip(",")
        if not more:
            text.expect("}")


class _Text:
    """The part of a text that is not read yet, of which no more than needed is in memory."""

    def __init__(self, file: IO[str]) -> None:
        self._file = file
        self._text, self._at = "", 0

    def skip(self, char: str) -> bool:
        """Pass over a character, and the blanks before it, where it is what comes next."""
        while True:
            rest = self._text[self._at : self._at + 1]
            if rest and rest not in _BLANK:
                self._at += rest == char
                return rest == char
            if rest:
                self._at += 1
            elif not self._more(_READ_CHARS):
                return False

    def expect(self, char: str) -> None:
        """Pass over a character that has to come next."""
        if not self.skip(char):
            found = self._text[self._at : self._at + 20]
            raise ValueError(f"{char!r} was expected, {found or 'its end'!r} was found")

    def entries(self) -> Iterator[Any]:
        """Yield the entries of a list behind its first bracket."""
        if self.skip("]"):
            return
        yield self.value()
        while self.skip(","):
            yield self.value()
        self.expect("]")

    def value(self) -> Any:
        """Read the next value."""
        self.skip("")
        count = _READ_CHARS
        while True:
            try:
                value, end = _DECODER.raw_decode(self._text, self._at)
            except json.JSONDecodeError:
                if not self._more(count):
                    raise
                count *= 2  # so that a large value is tried a few times only
                continue
            # A number may go on behind what was read of it.
            if self._text[end : end + 1] in _BEHIND_VALUE or not self._more(count):
                self._at = end
                return value

    def _more(self, count: int) -> bool:
        """Read on; return whether there was anything."""
        new = self._file.read(count)
        self._text, self._at = self._text[self._at :] + new, 0
        return bool(new)
