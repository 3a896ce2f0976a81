"""Passages of an answer as documents of a framework: their ids, their days, and their merging."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from commonplace.types import SearchResult, citation

__all__ = ["MergedPassage", "Passage", "merge_passages", "passage_day", "passage_id"]

_PART_CHARS = 200
"""Length below which a snippet of one line is assumed to be the whole line."""


def passage_id(result: SearchResult) -> str:
    """Return the citation, with a digest of the text if other parts of a long line share it."""
    if result.start_line != result.end_line or len(result.snippet) < _PART_CHARS:
        return result.citation
    digest = hashlib.sha256(result.snippet.encode("utf-8", "surrogatepass")).hexdigest()
    return f"{result.citation}~{digest[:8]}"


def passage_day(result: SearchResult) -> str | None:
    """Return the day of a log or a message as ISO text; an age would differ from call to call.

    Args:
        result: A result with its explanation.
    """
    return result.explanation.day if result.explanation else None


@dataclass(frozen=True, slots=True)
class Passage:
    """Lines of a file, as an answer shows them."""

    path: str
    start_line: int
    text: str


@dataclass(slots=True)
class MergedPassage:
    """Passages of one file that share lines, as one passage.

    Attributes:
        path: File.
        lines: Texts by line number.
        members: Positions of the passages among those that were merged, ascending.
    """

    path: str
    lines: dict[int, str]
    members: list[int] = field(default_factory=list)

    @property
    def text(self) -> str:
        """The lines, each of them once."""
        return "\n".join(self.lines[number] for number in sorted(self.lines))

    @property
    def citation(self) -> str:
        """Citation of all lines."""
        return citation(self.path, min(self.lines), max(self.lines))

    def joins(self, other: MergedPassage) -> bool:
        """Return whether the two share a line, and agree on all that they share."""
        shared = self.lines.keys() & other.lines.keys()
        return (
            self.path == other.path
            and bool(shared)
            and all(
                self.lines[number] in other.lines[number]
                or other.lines[number] in self.lines[number]
                for number in shared
            )
        )

    def join(self, other: MergedPassage) -> None:
        """Add the lines of another one; of a line that one of them cuts, the longer text stays."""
        for number, text in other.lines.items():
            self.lines[number] = max(self.lines.get(number, ""), text, key=len)
        self.members = sorted((*self.members, *other.members))


def merge_passages(passages: Iterable[Passage]) -> Sequence[MergedPassage]:
    """Merge passages that share lines, such as the answers to several queries.

    A merged passage has the place of the best of its members. Two parts of one long line that have
    no text in common stay apart.

    Args:
        passages: Passages of one or more answers, best first.
    """
    merged: list[MergedPassage] = []
    for position, passage in enumerate(passages):
        lines = dict(enumerate(passage.text.split("\n"), start=passage.start_line))
        new = MergedPassage(passage.path, lines, [position])
        while joined := next((old for old in merged if old.joins(new)), None):
            merged.remove(joined)
            joined.join(new)
            new = joined
        merged.append(new)
    return sorted(merged, key=lambda passage: passage.members[0])
