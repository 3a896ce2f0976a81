"""Counts the tokens that byte pair encoding makes of a text, as tiktoken does.

tiktoken itself is not used: it takes a vocabulary over in one call that no other thread can run
beside, 0.2 s for o200k_base, and an event loop would stand still for as long.
"""

from __future__ import annotations

import heapq
from collections.abc import Mapping
from functools import cached_property, lru_cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import regex

__all__ = ["BytePairs"]

_SHORT_CHARS = 40
_CACHED_WORDS = 32_768
"""Words whose tokens are remembered, and how long they are at most: a text repeats its words."""
_NOWHERE = -1
"""The end of a token that is none any more; as an index, the end of the word."""


class BytePairs:
    """A vocabulary that counts.

    Args:
        pattern: Splits a text into words, whose bytes are joined to tokens.
        ranks: Each token's bytes and its rank; the pair of the lowest rank is joined first. All
            256 bytes are tokens.
    """

    def __init__(self, pattern: str, ranks: Mapping[bytes, int]) -> None:
        self._pattern = pattern
        self._ranks = ranks
        self._tokens_of_short = lru_cache(maxsize=_CACHED_WORDS)(self._tokens)

    def count(self, text: str) -> int:
        """Count the tokens of a text; a lone surrogate counts as U+FFFD."""
        total = 0
        for match in self._words.finditer(_whole(text)):  # lets other threads run in between
            word = match[0]
            is_short = len(word) <= _SHORT_CHARS
            total += self._tokens_of_short(word) if is_short else self._tokens(word)
        return total

    @cached_property
    def _words(self) -> regex.Pattern[str]:
        import regex  # knows \p{L}, which `re` does not

        return regex.compile(self._pattern)

    def _tokens(self, word: str) -> int:
        data = word.encode("utf-8")
        return 1 if data in self._ranks else self._joined(data)

    def _joined(self, word: bytes) -> int:
        """Join pairs, the lowest rank first and of equal ones the leftmost; count what is left."""
        rank = self._ranks.get
        size = count = len(word)
        ends = [*range(1, size + 1), _NOWHERE]  # of the token that begins at a place
        before = list(range(-1, size))  # the start of the token in front of it
        pairs = [
            (found, start, start + 2)
            for start in range(size - 1)
            if (found := rank(word[start : start + 2])) is not None
        ]
        heapq.heapify(pairs)
        while pairs:
            _, start, end = heapq.heappop(pairs)
            middle = ends[start]
            if ends[middle] != end:
                continue  # one of the two was joined to another token meanwhile
            ends[start], ends[middle], before[end] = end, _NOWHERE, start
            count -= 1
            for left, right in ((before[start], end), (start, ends[end])):
                if left < 0 or right == _NOWHERE:
                    continue
                if (found := rank(word[left:right])) is not None:
                    heapq.heappush(pairs, (found, left, right))
        return count


def _whole(text: str) -> str:
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
