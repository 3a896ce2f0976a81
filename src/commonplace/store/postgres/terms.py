"""Terms of the PostgreSQL engine: tsvectors, tsqueries, and BM25 from what they give.

A tsvector holds the terms that the `Analyzer` cuts, as they are; PostgreSQL's own parsers and
dictionaries take no part. Grams stand in the same vector behind a mark that no term begins with.
What PostgreSQL bounds is bounded here: 16,383 positions, 255 of a term, 2 KB a term, 1 MB a vector.
"""

from __future__ import annotations

import functools
import hashlib
import math
import struct
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from commonplace.text.analysis import Analyzer, Term

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

__all__ = [
    "Phrase",
    "bm25",
    "counts_from_positions",
    "counts_from_ranks",
    "idf",
    "phrases_of",
    "query_of",
    "term_vector",
]

_K1, _B = 1.2, 0.75
_MIN_IDF = 1e-6
_GRAM = "#"
_HASHED = "##"
_MAX_TERM_BYTES = 512
_MAX_POSITION = 16_383
_MAX_POSITIONS = 255
_MAX_VECTOR_BYTES = 1_000_000
_MAX_PHRASE = 4096
"""Terms of a phrase that can be in a chunk; tsqueries end at 32,767 nodes."""
RANK_WEIGHTS = "'{.1,.1,.1,.1}'"


@functools.cache
def analyzer_for(tokenizer: str) -> Analyzer:
    """Return the analyzer of a tokenizer, one for all indexes."""
    return Analyzer(tokenizer)


def _lexeme(term: str, mark: str = "") -> str:
    if len(term) * 4 > _MAX_TERM_BYTES and len(term.encode()) > _MAX_TERM_BYTES:
        return mark + _HASHED + hashlib.sha256(term.encode()).hexdigest()
    return mark + term


def term_vector(terms: Sequence[str], glued: Sequence[str], grams: Sequence[str]) -> bytes:
    """Return a tsvector in PostgreSQL's binary format.

    Args:
        terms: Terms of a text, in order.
        glued: Those of its words beside unspaced scripts, in order.
        grams: Its grams, in order.
    """
    parts: list[bytes] = []
    size = 0
    # A place is left out between the first two: no phrase goes from one to the other.
    words = [*terms, "", *glued] if glued else terms
    for mark, some in (("", words), (_GRAM, grams)):
        places: dict[str, bytes] = {}
        for term, at in zip(some, _packed_positions(), strict=False):
            places[term] = places.get(term, b"") + at
        for term in some[_MAX_POSITION:]:
            places.setdefault(term, b"")
        places.pop("", None)
        for term, held in places.items():
            data, held = _lexeme(term, mark).encode(), held[: 2 * _MAX_POSITIONS]
            size += len(data) + len(held) + 4
            if size > _MAX_VECTOR_BYTES:
                break
            parts += (data, _COUNTS[len(held) // 2], held)
    return struct.pack(">I", len(parts) // 3) + b"".join(parts)


_COUNTS = [b"\0" + struct.pack(">H", count) for count in range(_MAX_POSITIONS + 1)]
"""What stands between a lexeme and its positions: its end and their number."""


@functools.cache
def _packed_positions() -> list[bytes]:
    return [struct.pack(">H", at) for at in range(1, _MAX_POSITION + 1)]


@dataclass(frozen=True, slots=True)
class Phrase:
    """Phrase of lexemes that follow each other; the last one may be the prefix of one.

    Attributes:
        lexemes: The lexemes; none for a word of nothing but signs.
        prefix: Whether the last one is a prefix.
        initial: Whether they have to be the first of a chunk.
    """

    lexemes: tuple[str, ...]
    prefix: bool = False
    initial: bool = False

    @property
    def possible(self) -> bool:
        """Whether any chunk may hold it."""
        return 0 < len(self.lexemes) <= _MAX_PHRASE

    @property
    def single(self) -> str | None:
        """The only lexeme; None for a phrase of several, a prefix, or an initial one."""
        is_plain = len(self.lexemes) == 1 and not self.prefix and not self.initial
        return self.lexemes[0] if is_plain else None

    @property
    def query(self) -> str:
        """The phrase as a tsquery, which knows nothing of an initial one's place."""
        quoted = [_quoted(lexeme) for lexeme in self.lexemes]
        return f"({' <-> '.join(quoted)}{':*' if self.prefix else ''})"

    def count(self, places: dict[str, list[int]]) -> int:
        """Return how often it occurs in a vector.

        Args:
            places: Positions of the vector's lexemes.
        """
        last = self.lexemes[-1]
        if self.initial:
            return int(all(at in places.get(it, ()) for at, it in enumerate(self.lexemes, 1)))
        if self.prefix:
            found = (held for lexeme, held in places.items() if lexeme.startswith(last))
            ends = {at for held in found for at in held}
        else:
            ends = set(places.get(last, ()))
        for back, lexeme in enumerate(reversed(self.lexemes[:-1]), 1):
            held = set(places.get(lexeme, ()))
            ends = {at for at in ends if at - back in held}
        return len(ends)


def phrases_of(words: Sequence[Term], tokenizer: str) -> list[Phrase]:
    """Return the phrase of each word."""
    return [_phrase(word, tokenizer) for word in words]


def query_of(phrases: Sequence[Phrase], *, every: bool) -> str:
    """Return the tsquery of rows that hold any (or every) phrase."""
    return (" & " if every else " | ").join(phrase.query for phrase in phrases)


@functools.lru_cache(maxsize=20_000)
def _phrase(word: Term, tokenizer: str) -> Phrase:
    mark = _GRAM if word.gram else ""
    terms = analyzer_for(tokenizer).terms(word.term if word.prefix else word.text)
    # A single character begins every pair that it stands first in.
    is_prefix = word.prefix or (word.gram and len(word.text) == 1)
    return Phrase(tuple(_lexeme(term, mark) for term in terms), is_prefix, word.initial)


def _quoted(lexeme: str) -> str:
    return "'" + lexeme.replace("\\", "\\\\").replace("'", "''") + "'"


def idf(total: int, holding: int) -> float:
    """Return the weight of a phrase as FTS5 computes it."""
    return max(_MIN_IDF, math.log((total - holding + 0.5) / (holding + 0.5)))


def bm25(
    counts: NDArray[np.float64],
    weights: Sequence[float],
    lengths: NDArray[np.float64],
    average: float,
) -> NDArray[np.float64]:
    """Return the BM25 of each row as FTS5 computes it.

    Args:
        counts: ``(n, phrases)``: how often each phrase is in each row.
        weights: Weight of each phrase.
        lengths: ``(n,)``: number of terms of each row.
        average: Mean number of terms of all rows.
    """
    import numpy as np

    scores = np.zeros(len(counts))
    norm = _K1 * (1 - _B + _B * (lengths / average))
    for column, weight in zip(counts.T, weights, strict=True):
        scores += weight * column * (_K1 + 1) / (column + norm)
    return scores


def counts_from_positions(
    rows: Sequence[tuple[Sequence[str], Sequence[str]]], phrases: Sequence[Phrase]
) -> NDArray[np.float64]:
    """Return how often each row holds each phrase: ``(n, phrases)``.

    Args:
        rows: The lexemes of each row, and their positions as PostgreSQL writes an array.
        phrases: The phrases.
    """
    import numpy as np

    counts = np.zeros((len(rows), len(phrases)))
    for row, (held, positions) in enumerate(rows):
        places = {
            lexeme: [int(at) for at in text.strip("{}").split(",") if at]
            for lexeme, text in zip(held, positions, strict=True)
        }
        counts[row] = [phrase.count(places) for phrase in phrases]
    return counts


def counts_from_ranks(ranks: NDArray[np.float32]) -> NDArray[np.float64]:
    """Return how often a lexeme occurs, from what ``ts_rank`` says of it alone.

    For one lexeme of weight w that occurs n times ``ts_rank`` is w times the sum of 1 / i² for i up
    to n, divided by 1.64493406685; it grows with n, so n is found by comparison.
    """
    import numpy as np

    steps = _rank_steps()
    found = np.searchsorted(steps, ranks.astype(np.float64) - 1e-8) + 1
    counted: NDArray[np.float64] = np.where(ranks > 0, found, 0).astype(np.float64)
    return counted


@functools.cache
def _rank_steps() -> NDArray[np.float64]:
    import numpy as np

    return np.cumsum(1 / np.arange(1, _MAX_POSITIONS + 2) ** 2.0) * 0.1 / 1.64493406685
