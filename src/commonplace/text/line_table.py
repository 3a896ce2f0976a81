"""Line table: the lines of a long text by their offsets, without a copy of each."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import overload

import numpy as np

__all__ = ["LineTable"]


class LineTable(Sequence[str]):
    """Lines of a text, as `str.split` at line breaks makes them; one is cut out when it is read.

    Args:
        text: The text.
    """

    def __init__(self, text: str) -> None:
        self._text = text
        data, kind = (
            (text.encode("ascii"), "u1")
            if text.isascii()
            else (text.encode("utf-32-le", "surrogatepass"), "<u4")
        )
        self._characters = np.frombuffer(data, kind)
        breaks = np.flatnonzero(self._characters == ord("\n"))
        # The end counts as the beginning of a line behind the last one.
        self._starts = np.concatenate(([0], breaks + 1, [len(text) + 1]))

    def __len__(self) -> int:
        return len(self._starts) - 1

    @overload
    def __getitem__(self, index: int) -> str: ...
    @overload
    def __getitem__(self, index: slice) -> list[str]: ...
    def __getitem__(self, index: int | slice) -> str | list[str]:
        if isinstance(index, slice):
            return [self[number] for number in range(*index.indices(len(self)))]
        number = range(len(self))[index]
        return self.body(number, number + 1)

    def start(self, line: int) -> int:
        """Return the offset of a line; of the one behind the last, one more than the length."""
        return int(self._starts[line])

    def body(self, first: int, after: int) -> str:
        """Return the text of some lines, without the last line break."""
        return self._text[int(self._starts[first]) : int(self._starts[after]) - 1]

    def line_at(self, offset: int) -> int:
        """Return the line that holds an offset; a line break belongs to the line that it ends."""
        return int(np.searchsorted(self._starts, offset, side="right")) - 1

    def with_character(self, character: str, *, first: str) -> Iterator[int]:
        """Yield the lines that hold a character and begin with one of others, ascending."""
        if character not in self._text:
            return
        places = np.flatnonzero(self._characters == ord(character))
        lines = np.unique(np.searchsorted(self._starts, places, side="right") - 1)
        beginnings = self._characters[self._starts[lines]]
        yield from map(int, lines[np.isin(beginnings, [ord(one) for one in first])])
