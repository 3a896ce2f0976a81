"""Three-way merge by lines: a change is made in, or taken out of, a text that others changed."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from difflib import SequenceMatcher
from typing import NamedTuple

__all__ = ["OverlapError", "merge", "revert"]


class OverlapError(Exception):
    """A later change touched the same lines.

    Attributes:
        line: First of them in the current text, from 1.
    """

    def __init__(self, line: int) -> None:
        super().__init__(f"line {line}")
        self.line = line


class _Hunk(NamedTuple):
    """Lines of a text, from `start` to `end`, that are others in another text."""

    start: int
    end: int
    lines: Sequence[bytes]


def revert(before: bytes, after: bytes, current: bytes) -> bytes:
    """Return the current text without the change from `before` to `after`.

    Raises:
        OverlapError: The current text differs from `after` in lines that the change touched.
    """
    return merge(after, before, current)


def merge(base: bytes, changed: bytes, current: bytes) -> bytes:
    """Return the current text with the change from `base` to `changed`.

    A change that the current text has already is made once.

    Raises:
        OverlapError: The current text differs from `base` in lines that the change touches.
    """
    if current == base:
        return changed
    lines = base.splitlines(keepends=True)
    ours = list(_hunks(lines, changed.splitlines(keepends=True)))
    theirs = list(_hunks(lines, current.splitlines(keepends=True)))
    ours = [hunk for hunk in ours if hunk not in theirs]
    for hunk in ours:
        for other in theirs:
            if _touch(hunk, other):
                raise OverlapError(_line_in_current(theirs, other))
    merged: list[bytes] = []
    at = 0
    for hunk in sorted([*ours, *theirs], key=lambda one: (one.start, one.end)):
        merged += lines[at : hunk.start]
        merged += hunk.lines
        at = hunk.end
    return b"".join([*merged, *lines[at:]])


def _hunks(old: Sequence[bytes], new: Sequence[bytes]) -> Iterator[_Hunk]:
    """Yield what differs; equal lines at both ends are left to a plain comparison."""
    first, limit = 0, min(len(old), len(new))
    while first < limit and old[first] == new[first]:
        first += 1
    last = 0
    while last < limit - first and old[-1 - last] == new[-1 - last]:
        last += 1
    ours, theirs = old[first : len(old) - last], new[first : len(new) - last]
    matcher = SequenceMatcher(None, ours, theirs, autojunk=False)
    for tag, start, end, from_, to in matcher.get_opcodes():
        if tag != "equal":
            yield _Hunk(start + first, end + first, theirs[from_:to])


def _touch(ours: _Hunk, theirs: _Hunk) -> bool:
    """Return whether hunks share a line, or ours inserts in the place, or behind lines, of theirs.

    What is inserted behind a line goes with it, as a part of its list or section: where that line
    is another one now, or gone, it would go with something else.
    """
    if ours.start == ours.end:
        return theirs.start < ours.start <= theirs.end or theirs.start == theirs.end == ours.start
    return ours.start < theirs.end and theirs.start < ours.end


def _line_in_current(later: Sequence[_Hunk], hunk: _Hunk) -> int:
    shift = sum(
        len(other.lines) - (other.end - other.start) for other in later if other.end <= hunk.start
    )
    return hunk.start + shift + 1
