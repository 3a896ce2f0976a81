"""Near-duplicate detection: set similarity join of texts by their words (prefix filtering)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from commonplace.retrieval.mmr import jaccard, tokenize_all_scripts

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Ints = NDArray[np.int64]

__all__ = ["LEAST", "SimilarGroup", "similar_groups"]

LEAST = 0.5
"""Smallest supported similarity: two texts of four words share at least two of them."""
_LEAST_WORDS = 4
"""Minimum of words: shorter texts are similar by chance."""
_MOST_CHARS = 1_000
"""Longer texts are compared by their beginning."""
_NEIGHBOURS = 64
"""Maximum of comparisons of a text among those with the same two rare words; larger groups of
similar texts join through their neighbours."""
_SKETCH_BITS = 256
_BUCKETS = 2**24
_SCATTER = 2654435761
"""Odd multiplier of multiplicative hashing (Knuth, TAOCP 6.4)."""
_BITS = np.array([bin(byte).count("1") for byte in range(256)], dtype=np.uint8)

_Words = frozenset[str]


class SimilarGroup(NamedTuple):
    """Similar texts, by index; `likeness` is the smallest similarity of a pair that joined."""

    likeness: float
    members: list[int]


def similar_groups(texts: Sequence[str], *, least: float) -> list[SimilarGroup]:
    """Group texts whose words have at least a given Jaccard similarity.

    Extended prefix filtering (Wang, Li & Feng, SIGMOD 2012): sets of that similarity share two of
    their rarest words, so that only such texts are compared.

    Args:
        texts: Texts in any language.
        least: Minimum similarity, from `LEAST` to 1.
    """
    holders: dict[_Words, list[int]] = {}
    for at, text in enumerate(texts):
        words = tokenize_all_scripts(text[:_MOST_CHARS])
        if len(words) >= _LEAST_WORDS:
            holders.setdefault(words, []).append(at)
    sets = list(holders)
    forest = _Forest(at for at, words in enumerate(sets) if len(holders[words]) > 1)
    for one, other, likeness in _similar_pairs(sets, least):
        forest.join(one, other, likeness)
    return [
        SimilarGroup(likeness, sorted(at for member in members for at in holders[sets[member]]))
        for members, likeness in forest.groups()
    ]


def _similar_pairs(sets: Sequence[_Words], least: float) -> Iterator[tuple[int, int, float]]:
    if len(sets) < 2:
        return
    rows, words, rank = _flat(sets)
    sizes = np.bincount(rows, minlength=len(sets))
    sketches = _sketches(rows, words, len(sets))
    in_prefix = rank < (sizes - np.ceil(least * sizes - 1e-9) + 2)[rows]
    keys, holders = _word_pairs(rows[in_prefix], words[in_prefix])
    found = [
        one * len(sets) + other
        for one, other in _sharing(keys, holders)
        for close in [_may_be_similar(sketches, sizes, one, other, least)]
        for one, other in [(one[close], other[close])]
    ]
    for code in np.unique(np.concatenate(found)).tolist() if found else ():
        one, other = divmod(code, len(sets))
        likeness = jaccard(sets[one], sets[other])
        if likeness >= least:
            yield one, other, likeness


def _flat(sets: Sequence[_Words]) -> tuple[Ints, Ints, Ints]:
    """Return the words of all sets, the rarest first: set, number and rank within the set."""
    seen: dict[str, int] = {}
    found = [seen.setdefault(word, len(seen)) for words in sets for word in words]
    words = np.array(found, dtype=np.int64)
    # By frequency, then alphabetically: the order of a set differs between runs.
    frequency = np.bincount(words).tolist()
    rarest = sorted(seen, key=lambda word: (frequency[seen[word]], word))
    numbers = np.empty(len(seen), dtype=np.int64)
    numbers[[seen[word] for word in rarest]] = np.arange(len(seen))
    sizes = np.array([len(words) for words in sets], dtype=np.int64)
    rows = np.repeat(np.arange(len(sets), dtype=np.int64), sizes)
    ordered = np.sort(rows * len(seen) + numbers[words]) % len(seen)
    rank = np.arange(len(rows)) - np.repeat(np.cumsum(sizes) - sizes, sizes)
    return rows, ordered, rank


def _word_pairs(rows: Ints, words: Ints) -> tuple[Ints, Ints]:
    """Return each pair of words of each set as a number, with the set, sorted by number.

    Pairs of a single set may be missing.
    """
    keys, holders = [], []
    count = int(words.max()) + 1
    at, apart = np.arange(len(rows)), 0
    while len(at):
        apart += 1
        at = at[at + apart < len(rows)]
        at = at[rows[at] == rows[at + apart]]
        keys.append(words[at] * count + words[at + apart])
        holders.append(rows[at])
    pairs, held_by = np.concatenate(keys), np.concatenate(holders)
    # Most pairs occur in one set only: a bucket with one pair is dropped before sorting.
    buckets = pairs * _SCATTER % _BUCKETS
    shared = np.bincount(buckets, minlength=_BUCKETS)[buckets] > 1
    pairs, held_by = pairs[shared], held_by[shared]
    order = np.argsort(pairs, kind="stable")
    return pairs[order], held_by[order]


def _sharing(keys: Ints, holders: Ints) -> Iterator[tuple[Ints, Ints]]:
    """Yield pairs of sets with a key in common, adjacent ones first."""
    at = np.arange(len(keys))
    for apart in range(1, _NEIGHBOURS + 1):
        at = at[at + apart < len(keys)]
        at = at[keys[at] == keys[at + apart]]
        if not len(at):
            return
        yield holders[at], holders[at + apart]


def _sketches(rows: Ints, words: Ints, count: int) -> NDArray[np.uint8]:
    """Return a bit sketch of each set: each word sets one bit; words may share a bit."""
    bits = np.zeros((count, _SKETCH_BITS), dtype=np.bool_)
    bits[rows, words * _SCATTER % 2**32 % _SKETCH_BITS] = True
    return np.packbits(bits, axis=1)


def _may_be_similar(
    sketches: NDArray[np.uint8], sizes: Ints, one: Ints, other: Ints, least: float
) -> NDArray[np.bool_]:
    """Return which pairs may be similar: differing bits are a lower bound of differing words."""
    apart = _BITS[sketches[one] ^ sketches[other]].sum(axis=1, dtype=np.int64)
    both = sizes[one] + sizes[other]
    alike: NDArray[np.bool_] = (both - apart) >= least * (both + apart)
    return alike


class _Forest:
    """Union-find forest; each root has the smallest similarity that joined its members."""

    def __init__(self, alone: Iterable[int]) -> None:
        self._parent = {at: at for at in alone}
        self._likeness: dict[int, float] = {}

    def join(self, one: int, other: int, likeness: float) -> None:
        """Merge the groups of two members."""
        first, second = self._root(one), self._root(other)
        if first != second:
            self._parent[second] = first
            before = self._likeness.get(first, 1.0), self._likeness.get(second, 1.0)
            self._likeness[first] = min(*before, likeness)

    def groups(self) -> list[tuple[list[int], float]]:
        """Return the members and the likeness of each group."""
        members: dict[int, list[int]] = {}
        for at in list(self._parent):
            members.setdefault(self._root(at), []).append(at)
        return [(found, self._likeness.get(root, 1.0)) for root, found in members.items()]

    def _root(self, at: int) -> int:
        parent = self._parent
        parent.setdefault(at, at)
        while parent[at] != at:
            parent[at] = parent[parent[at]]
            at = parent[at]
        return at
