"""The headings of a Markdown text, and which of them are in force where."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass

__all__ = ["Outline", "read_outline"]

_MARKS = frozenset("#`~ \t-*+0123456789\ufeff")
"""What a heading's or a fence's line can begin with; most lines are passed over at once."""

_FENCE = re.compile(r"[ \t]*(?:(?:[-*+]|[0-9]{1,9}[.)])[ \t]+)*(`{3,}(?=[^`]*$)|~{3,})")


@dataclass(frozen=True, slots=True)
class Outline:
    """Headings in order.

    Attributes:
        lines: Index of each heading's line, from 0, ascending.
        paths: The headings in force from that line on, outermost first, joined by `` > ``.
    """

    lines: tuple[int, ...]
    paths: tuple[str, ...]

    def path_at(self, line: int) -> str:
        """Return the headings in force at a line, a heading on that line included."""
        position = bisect_right(self.lines, line)
        return self.paths[position - 1] if position else ""


def read_outline(lines: Sequence[str]) -> Outline:
    """Find the ATX headings among lines; what a code fence encloses is not a heading."""
    found: list[int] = []
    paths: list[str] = []
    titles: list[str] = [""] * 6
    fence = ""
    for index, line in enumerate(lines):
        if line[:1] not in _MARKS or not ("#" in line or "```" in line or "~~~" in line):
            continue
        if fence:
            fence = "" if _closes(line, fence) else fence
        elif heading := _heading(line):
            level, title = heading
            titles[level - 1 :] = [title, *[""] * (6 - level)]
            found.append(index)
            paths.append(" > ".join(filter(None, titles)))
        elif opened := _FENCE.match(line):
            fence = opened[1]
    return Outline(tuple(found), tuple(paths))


def _heading(line: str) -> tuple[int, str] | None:
    """Return the level and the title of a heading's line."""
    line = line.removeprefix("\ufeff").rstrip()
    text = line.lstrip(" ")
    level = len(text) - len(text.lstrip("#"))
    rest = text[level:]
    if not 1 <= level <= 6 or len(line) - len(text) > 3 or (rest and rest[0] not in " \t"):
        return None
    return level, _without_closing_marks(rest)


def _without_closing_marks(title: str) -> str:
    """Drop the #s that may close a heading; ``C#`` keeps its own."""
    kept = title.rstrip("#")
    return (kept if not kept or kept[-1] in " \t" else title).strip()


def _closes(line: str, fence: str) -> bool:
    """Tell whether a line ends a code block: the same mark, at least as long, and nothing else."""
    mark = line.strip()
    return len(mark) >= len(fence) and not mark.strip(fence[0])
