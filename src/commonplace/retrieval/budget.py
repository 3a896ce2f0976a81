"""Budget of an answer: characters of the snippets, and of what a tool prints around them."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from commonplace.types import SearchResult

__all__ = ["Budget", "within_budget"]

_FRAME_CHARS = 165
"""Characters of a result beside its snippet in the tool's JSON: path, lines, score, citation."""
_WITH_FRAMES = 1.45
"""Length of all snippets with their frames, at most, as a multiple of the snippets alone."""


class Budget:
    """Remaining room of an answer."""

    def __init__(self, chars: int) -> None:
        self.chars = chars
        self._with_frames = max(int(chars * _WITH_FRAMES), chars + _FRAME_CHARS)

    @property
    def room(self) -> int:
        """Length of a snippet that still fits."""
        return max(0, min(self.chars, self._with_frames - _FRAME_CHARS))

    def take(self, chars: int) -> None:
        """Use room for a snippet."""
        self.chars -= chars
        self._with_frames -= chars + _FRAME_CHARS


def within_budget(results: Iterable[SearchResult], max_chars: int) -> list[SearchResult]:
    """Return the first results, as many as an answer of so many characters holds."""
    budget, found = Budget(max_chars), []
    for result in results:
        if len(result.snippet) > budget.room:
            break
        budget.take(len(result.snippet))
        found.append(result)
    return found
