"""Texts that share most of their words, found without comparing each with each."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from commonplace.retrieval.mmr import jaccard, tokenize_all_scripts

__all__ = ["SimilarGroup", "similar_groups"]

_LEAST_WORDS = 4
"""Shorter texts are alike by chance."""

_Words = frozenset[str]


class SimilarGroup(NamedTuple):
    """Texts that are alike, by index; `likeness` is that of the least alike pair that joined."""

    likeness: float
    members: list[int]


def similar_groups(texts: Sequence[str], *, least: float) -> list[SimilarGroup]:
    """Group texts that have at least such a share of their words in common (Jaccard).

    Two sets that are as alike as that share one of their rarest words: only texts that do are
    compared (prefix filtering; Chaudhuri, Ganti & Kaushik, ICDE 2006).
    """
    holders: dict[_Words, list[int]] = {}
    for at, text in enumerate(texts):
        words = tokenize_all_scripts(text)
        if len(words) >= _LEAST_WORDS:
            holders.setdefault(words, []).append(at)
    sets = sorted(holders, key=lambda words: (len(words), holders[words][0]))
    forest = _Forest(len(sets))
    for one, other, likeness in _similar_pairs(sets, least):
        forest.join(one, other, likeness)
    groups = [
        SimilarGroup(likeness, sorted(at for root in roots for at in holders[sets[root]]))
        for roots, likeness in forest.groups()
    ]
    return [group for group in groups if len(group.members) > 1]


def _similar_pairs(sets: Sequence[_Words], least: float) -> Iterator[tuple[int, int, float]]:
    """Compare each set with the smaller ones that share a rare word with it."""
    frequency = Counter(word for words in sets for word in words)
    holding: dict[str, list[int]] = {}
    for at, words in enumerate(sets):
        rarest = sorted(words, key=lambda word: (frequency[word], word))
        prefix = rarest[: len(words) - math.ceil(least * len(words)) + 1]
        for other in sorted({other for word in prefix for other in holding.get(word, ())}):
            if len(sets[other]) < least * len(words):
                continue
            likeness = jaccard(words, sets[other])
            if likeness >= least:
                yield at, other, likeness
        for word in prefix:
            holding.setdefault(word, []).append(at)


class _Forest:
    """Groups that grow together; each knows the least likeness that joined it."""

    def __init__(self, count: int) -> None:
        self._parent = list(range(count))
        self._likeness = [1.0] * count

    def join(self, one: int, other: int, likeness: float) -> None:
        """Make one group of two members' groups."""
        first, second = self._root(one), self._root(other)
        if first != second:
            self._parent[second] = first
            self._likeness[first] = min(self._likeness[first], self._likeness[second], likeness)

    def groups(self) -> list[tuple[list[int], float]]:
        """Return the members of each group, and its likeness."""
        members: dict[int, list[int]] = {}
        for at in range(len(self._parent)):
            members.setdefault(self._root(at), []).append(at)
        return [(found, self._likeness[root]) for root, found in members.items()]

    def _root(self, at: int) -> int:
        while self._parent[at] != at:
            self._parent[at] = self._parent[self._parent[at]]
            at = self._parent[at]
        return at
