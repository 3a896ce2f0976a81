"""Nesting depth of JSON: a file that nests without end is refused before a parser reads it.

ijson keeps the path of each level: the memory that it takes grows with the square of the depth.
"""

from __future__ import annotations

import re
from typing import IO

__all__ = ["ShallowJson"]

_MAX_DEPTH = 200
"""Levels of lists and objects; what conversations and memories are exported as has a dozen."""
_STRING = re.compile(rb'"[^"\\]*+(?:\\.[^"\\]*+)*+"', re.DOTALL)
_BRACKET = re.compile(rb"[\[{\]}]")


class ShallowJson:
    """Reader of a JSON file that raises a `ValueError` where it is nested too deep.

    Args:
        file: The file, at its beginning.
    """

    def __init__(self, file: IO[bytes]) -> None:
        self._file = file
        self._depth = 0
        self._before = b""
        """Begin of a string that goes on in the next part: its quote, and an open escape."""

    def read(self, size: int = -1) -> bytes:
        """Return the next part of the file.

        Raises:
            ValueError: It is nested too deep.
        """
        data = self._file.read(size)
        self._measure(self._before + data)
        return data

    def _measure(self, data: bytes) -> None:
        outside, quote, string = _STRING.sub(b"", data).partition(b'"')
        is_escape = (len(string) - len(string.rstrip(b"\\"))) % 2
        self._before = quote + b"\\" * is_escape
        opened = outside.count(b"[") + outside.count(b"{")
        closed = outside.count(b"]") + outside.count(b"}")
        if self._depth + opened <= _MAX_DEPTH:
            self._depth += opened - closed
            return
        for bracket in _BRACKET.findall(outside):
            self._depth += 1 if bracket in b"[{" else -1
            if self._depth > _MAX_DEPTH:
                raise ValueError(f"its lists and objects are nested more than {_MAX_DEPTH} deep")
