"""Maximal marginal relevance (MMR): relevant and diverse picks (Carbonell & Goldstein 1998).

Each pick is the candidate with the greatest ``lambda * relevance - (1 - lambda) * similarity``,
where similarity is to the most similar text picked before it.
"""

from __future__ import annotations

import heapq
import re
import unicodedata
from collections.abc import Callable, Sequence
from functools import cache
from itertools import pairwise
from typing import NamedTuple, Protocol

__all__ = [
    "MmrPick",
    "TokenSets",
    "TokenSetsLike",
    "jaccard",
    "mmr_order",
    "mmr_value",
    "tokenize",
    "tokenize_all_scripts",
]

_ASCII_WORDS = bytes(
    code if chr(code).isascii() and (chr(code).isalnum() or chr(code) == "_") else ord(" ")
    for code in range(256)
)
"""A translation of bytes that leaves words and makes everything else a space."""

_CJK = "\u1100-\u11ff\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af\uf900-\ufaff"
_CJK_RUN = re.compile(f"[{_CJK}\U00020000-\U0003ffff]+")
_WORD = re.compile(r"\w+")


def tokenize(text: str) -> frozenset[str]:
    """Return the lower-case ``[a-z0-9_]+`` words of a text."""
    data = text.lower().encode("ascii", "replace")
    return frozenset(data.translate(_ASCII_WORDS).decode("ascii").split())


def tokenize_all_scripts(text: str) -> frozenset[str]:
    """Return a text's words in any script; of CJK, the characters and the pairs of neighbours."""
    if text.isascii():
        return tokenize(text)
    text = unicodedata.normalize("NFC", text).lower()
    runs = _CJK_RUN.findall(text)
    pairs = (first + second for run in runs for first, second in pairwise(run))
    return frozenset((*_WORD.findall(_CJK_RUN.sub(" ", text)), *"".join(runs), *pairs))


def jaccard(a: frozenset[str], b: frozenset[str]) -> float:
    """Return the share of tokens that two sets have in common, 0..1; 1 for two empty sets."""
    common = len(a & b)
    union = len(a) + len(b) - common
    return common / union if union else 1.0


def mmr_value(relevance: float, max_similarity: float, lambda_: float) -> float:
    """Return the marginal relevance: relevance less the similarity to earlier picks."""
    return lambda_ * relevance - (1 - lambda_) * max_similarity


class TokenSetsLike(Protocol):
    """Token sets by index: a list of them, or `TokenSets`."""

    def __getitem__(self, index: int, /) -> frozenset[str]: ...


class TokenSets:
    """Lazy token sets of texts: few candidates are ever compared."""

    def __init__(
        self,
        texts: Sequence[str],
        tokenizer: Callable[[str], frozenset[str]] = tokenize_all_scripts,
    ) -> None:
        self._get = cache(lambda index: tokenizer(texts[index]))

    def __getitem__(self, index: int) -> frozenset[str]:
        return self._get(index)


class MmrPick(NamedTuple):
    """Pick: a candidate's index and its value."""

    candidate: int
    value: float


def mmr_order(scores: Sequence[float], tokens: TokenSetsLike, *, lambda_: float) -> list[MmrPick]:
    """Return all candidates in the order of their marginal relevance.

    Scores are scaled to 0..1 over all candidates first (all 1 when they are equal). Equal values go
    by the greater score, then by the order given.

    A pick can only lower the values of the others, so a value from an earlier round is an upper
    bound. Only the top of the heap is updated, and picked once it is current.

    Args:
        scores: Finite scores, in any order.
        tokens: The token set of each candidate.
        lambda_: 1 is the plain ranking, 0 the greatest variety; clamped to 0..1.
    """
    lambda_ = min(1.0, max(0.0, lambda_))
    relevance = _scaled(scores)
    similarity = [0.0] * len(scores)
    compared = [0] * len(scores)
    picks: list[MmrPick] = []
    heap = [
        (-mmr_value(relevance[index], 0.0, lambda_), -score, index)
        for index, score in enumerate(scores)
    ]
    heapq.heapify(heap)
    while heap:
        negative_value, negative_score, index = heap[0]
        if compared[index] == len(picks) or lambda_ == 1.0:
            picks.append(MmrPick(index, -negative_value))
            heapq.heappop(heap)
            continue
        for pick in picks[compared[index] :]:
            similarity[index] = max(
                similarity[index], jaccard(tokens[index], tokens[pick.candidate])
            )
        compared[index] = len(picks)
        value = mmr_value(relevance[index], similarity[index], lambda_)
        heapq.heapreplace(heap, (-value, negative_score, index))
    return picks


def _scaled(scores: Sequence[float]) -> list[float]:
    low, high = min(scores, default=0.0), max(scores, default=0.0)
    if high == low:
        return [1.0] * len(scores)
    return [(score - low) / (high - low) for score in scores]
