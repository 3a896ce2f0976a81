"""Filtered rank: BM25 by the counts of some of the rows, where FTS5 counts all of them."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import apsw

__all__ = ["FilteredRank", "token_count"]

_K1, _B = 1.2, 0.75
"""Constants of FTS5's own rank."""
_LEAST_IDF = 1e-6


class FilteredRank:
    """Rank of a row, higher is better, as FTS5 computes it in a table of the counted rows alone.

    Args:
        frequencies: Number of the counted rows with each phrase, in their order.
        rows: Number of the counted rows.
        tokens: Number of their tokens.
    """

    def __init__(self, frequencies: Sequence[int], *, rows: int, tokens: int) -> None:
        found = (math.log((rows - count + 0.5) / (count + 0.5)) for count in frequencies)
        self._idf = [idf if idf > 0 else _LEAST_IDF for idf in found]
        self._mean_tokens = tokens / rows if tokens else 1.0

    def __call__(self, row: apsw.FTS5ExtensionApi, *_: object) -> float:
        """Return the rank of a row."""
        length = _K1 * (1 - _B + _B * row.column_size() / self._mean_tokens)
        rank = 0.0
        for phrase, idf in enumerate(self._idf):
            if count := sum(map(len, row.phrase_locations(phrase))):
                rank += idf * (count * (_K1 + 1)) / (count + length)
        return rank


def token_count(sizes: Iterable[bytes]) -> int:
    """Return the sum of rows of FTS5's table of sizes: a variable-length number for each column."""
    total = 0
    for size in sizes:
        number = 0
        for byte in size:
            number = number << 7 | byte & 0x7F
            if byte < 0x80:
                total += number
                number = 0
    return total
