"""Texts that share most of their words, found without comparing each with each."""

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
"""The least likeness that is looked for. Of four words, at least two are shared then."""
_LEAST_WORDS = 4
"""Shorter texts are alike by chance."""
_MOST_CHARS = 1_000
"""What is longer is compared by its beginning."""
_NEIGHBOURS = 64
"""Texts that have the same two rare words are compared with so many of each other: those that are
alike join over their neighbours."""
_SKETCH_BITS = 256
_BUCKETS = 2**24
_SCATTER = 2654435761
"""An odd multiplier that spreads numbers over buckets (Knuth, TAOCP 6.4)."""
_BITS = np.array([bin(byte).count("1") for byte in range(256)], dtype=np.uint8)

_Words = frozenset[str]


class SimilarGroup(NamedTuple):
    """Texts that are alike, by index; `likeness` is that of the least alike pair that joined."""

    likeness: float
    members: list[int]


def similar_groups(texts: Sequence[str], *, least: float) -> list[SimilarGroup]:
    """Group texts that have at least such a share of their words in common (Jaccard).

    Two sets that are as alike as that have two of their rarest words in common: only such texts are
    compared (extended prefix filtering; Wang, Li & Feng, SIGMOD 2012).

    Args:
        texts: In any language.
        least: From `LEAST` to 1.
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
        for close in [_may_be_alike(sketches, sizes, one, other, least)]
        for one, other in [(one[close], other[close])]
    ]
    for code in np.unique(np.concatenate(found)).tolist() if found else ():
        one, other = divmod(code, len(sets))
        likeness = jaccard(sets[one], sets[other])
        if likeness >= least:
            yield one, other, likeness


def _flat(sets: Sequence[_Words]) -> tuple[Ints, Ints, Ints]:
    """Return the words of all sets, the rarest of a set first: set, number, rank in the set."""
    seen: dict[str, int] = {}
    found = [seen.setdefault(word, len(seen)) for words in sets for word in words]
    words = np.array(found, dtype=np.int64)
    # By frequency, then by the order of the alphabet: a set's own order is not the same each time.
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
    """Return each two words of each set as one number, and the set, in the order of the numbers.

    Pairs that only one set has may be left out.
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
    # Most pairs are in one set only. Those that share no bucket with another need no sorting.
    buckets = pairs * _SCATTER % _BUCKETS
    shared = np.bincount(buckets, minlength=_BUCKETS)[buckets] > 1
    pairs, held_by = pairs[shared], held_by[shared]
    order = np.argsort(pairs, kind="stable")
    return pairs[order], held_by[order]


def _sharing(keys: Ints, holders: Ints) -> Iterator[tuple[Ints, Ints]]:
    """Yield sets that have a key in common, those that stand next to each other first."""
    at = np.arange(len(keys))
    for apart in range(1, _NEIGHBOURS + 1):
        at = at[at + apart < len(keys)]
        at = at[keys[at] == keys[at + apart]]
        if not len(at):
            return
        yield holders[at], holders[at + apart]


def _sketches(rows: Ints, words: Ints, count: int) -> NDArray[np.uint8]:
    """Return a field of bits for each set: words set them, several perhaps the same one."""
    bits = np.zeros((count, _SKETCH_BITS), dtype=np.bool_)
    bits[rows, words * _SCATTER % 2**32 % _SKETCH_BITS] = True
    return np.packbits(bits, axis=1)


def _may_be_alike(
    sketches: NDArray[np.uint8], sizes: Ints, one: Ints, other: Ints, least: float
) -> NDArray[np.bool_]:
    """Tell which pairs may be alike: words in one set only are no fewer than bits in one only."""
    apart = _BITS[sketches[one] ^ sketches[other]].sum(axis=1, dtype=np.int64)
    both = sizes[one] + sizes[other]
    alike: NDArray[np.bool_] = (both - apart) >= least * (both + apart)
    return alike


class _Forest:
    """Groups that grow together; each knows the least likeness that joined it."""

    def __init__(self, alone: Iterable[int]) -> None:
        self._parent = {at: at for at in alone}
        self._likeness: dict[int, float] = {}

    def join(self, one: int, other: int, likeness: float) -> None:
        """Make one group of two members' groups."""
        first, second = self._root(one), self._root(other)
        if first != second:
            self._parent[second] = first
            before = self._likeness.get(first, 1.0), self._likeness.get(second, 1.0)
            self._likeness[first] = min(*before, likeness)

    def groups(self) -> list[tuple[list[int], float]]:
        """Return the members of each group, and its likeness."""
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
