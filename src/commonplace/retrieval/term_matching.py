"""Which words of a query stand in which lines, by the same rules that index them."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence
from itertools import accumulate, takewhile
from typing import Any

import numpy as np
from numpy.typing import NDArray

from commonplace.text.analysis import Analyzer, Term
from commonplace.text.stopwords import ENGLISH

__all__ = ["content_words", "is_date_word", "occurrences", "occurrences_within"]

_MAX_WORDS = 64
"""Words of a query that are looked at: a question has fewer."""
_DATE_WORD = re.compile(
    r"(?:\d{1,2}(?:st|nd|rd|th)?|(?:19|20)\d\d|january|february|march|april|may|june|july|august"
    r"|september|october|november|december)",
    re.IGNORECASE,
)


def content_words(query: str, analyzer: Analyzer) -> list[Term]:
    """Return the words of a query that say what it is about; all of them when none does."""
    words = analyzer.words(query)
    telling = [
        word
        for word in words
        if word.text.lower() not in ENGLISH and (len(word.text) > 1 or not word.text.isascii())
    ]
    return (telling or words)[:_MAX_WORDS]


def is_date_word(word: Term) -> bool:
    """Tell whether a word is a month, a year, or the day of a month."""
    return bool(_DATE_WORD.fullmatch(word.text))


def occurrences(
    texts: Sequence[str], words: Sequence[Term], analyzer: Analyzer
) -> NDArray[np.float32]:
    """Tell which words occur in which texts: ``(texts, words)`` of 0 and 1."""
    ends = np.array([*accumulate(len(text) + 1 for text in texts)], dtype=np.int64)
    starts = np.concatenate(([0], ends[:-1]))
    return occurrences_within("\n".join(texts), starts, ends - 1, words, analyzer)


def occurrences_within(
    text: str,
    starts: NDArray[np.int64],
    ends: NDArray[np.int64],
    words: Sequence[Term],
    analyzer: Analyzer,
) -> NDArray[np.float32]:
    """Tell which words occur in which parts of a text: ``(parts, words)`` of 0 and 1.

    The text is searched for the beginning that all forms of a word share; only what begins so is
    stemmed.

    Args:
        text: All of it.
        starts: Where each part begins, ascending.
        ends: Where it ends; parts do not overlap.
        words: What to look for.
        analyzer: Says which forms are the same word.
    """
    if text.isascii():
        text = text.lower()
    else:
        text, starts, ends = _folded_parts(text, starts, ends)
    haystack = _Haystack(text)
    folded = [_folded(word.text) for word in words]
    likely = [
        [] if word.gram else haystack.likely_forms(own, word.term)
        for word, own in zip(words, folded, strict=True)
    ]
    terms = analyzer.term_of_each({form for forms in likely for _, form in forms})
    places: list[int] = []
    columns: list[int] = []
    for column, (word, own, forms) in enumerate(zip(words, folded, likely, strict=True)):
        if word.gram:
            found = haystack.places(own)
        else:
            found = [at for at, form in forms if form == own or terms[form] == word.term]
        places += found
        columns += [column] * len(found)
    present = np.zeros((len(starts), len(words)), dtype=np.float32)
    if places:
        at = np.array(places)
        rows = starts.searchsorted(at, side="right") - 1
        inside = (rows >= 0) & (at < ends[rows])
        present[rows[inside], np.array(columns)[inside]] = 1.0
    return present


def _folded_parts(
    text: str, starts: NDArray[np.int64], ends: NDArray[np.int64]
) -> tuple[str, NDArray[np.int64], NDArray[np.int64]]:
    """Fold each part by itself: a folded text is not always as long as it was."""
    spans = zip(starts.tolist(), ends.tolist(), strict=True)
    parts = [_folded(text[start:end]) for start, end in spans]
    behind = np.array([*accumulate(len(part) + 1 for part in parts)], dtype=np.int64)
    return "\n".join(parts), np.concatenate(([0], behind[:-1])), behind - 1


class _Haystack:
    """A folded text, and where its words (runs of letters and digits) begin and end."""

    def __init__(self, text: str) -> None:
        self._text = text
        # Words are first told apart by some characters, put together in one number.
        if text.isascii():
            self._head, self._bits = 8, 8
            data = text.encode("ascii") + bytes(8)
            numbers = np.ndarray((len(text) + 1,), "<u8", data, strides=(1,))
            in_words = np.frombuffer(data.translate(_ASCII_IN_WORDS), dtype=np.bool_)
        else:
            self._head, self._bits = 3, 21
            data = text.encode("utf-32-le", "surrogatepass") + bytes(12)
            codes = np.frombuffer(data, dtype="<u4")
            numbers = codes[:-2] | codes[1:-1].astype(np.uint64) << np.uint64(21)
            numbers |= codes[2:].astype(np.uint64) << np.uint64(42)
            in_words = _in_words(codes)
        borders = (in_words[1:] != in_words[:-1]).nonzero()[0] + 1
        if in_words[0]:
            borders = np.concatenate(([0], borders))
        self._starts, self._ends = borders[::2], borders[1::2]
        self._heads = numbers[self._starts]

    def places(self, part: str) -> list[int]:
        """Return where a part of words stands."""
        found: list[int] = []
        at = self._text.find(part)
        while at >= 0:
            found.append(at)
            at = self._text.find(part, at + len(part))
        return found

    def likely_forms(self, word: str, term: str) -> list[tuple[int, str]]:
        """Return where forms of a word may stand, and what stands there."""
        text, probe = self._text, _probe(word, term)
        rows = self._begin(self._heads, probe).nonzero()[0]
        spans = zip(self._starts[rows].tolist(), self._ends[rows].tolist(), strict=True)
        forms = [(start, text[start:end]) for start, end in spans]
        if len(probe) > self._head:
            forms = [(start, form) for start, form in forms if form.startswith(probe)]
        return forms

    def _begin(self, heads: NDArray[Any], beginning: str) -> NDArray[np.bool_]:
        """Tell which heads begin so, as far as they reach."""
        known = beginning[: self._head]
        if self._bits == 8 and not known.isascii():
            return np.zeros(len(heads), dtype=np.bool_)  # a sign that this text does not have
        if self._bits == 8:
            number = int.from_bytes(known.encode("ascii"), "little")
        else:
            number = sum(ord(sign) << self._bits * at for at, sign in enumerate(known))
        if len(known) < self._head:
            heads = heads & heads.dtype.type((1 << self._bits * len(known)) - 1)
        begin: NDArray[np.bool_] = heads == heads.dtype.type(number)
        return begin


_ASCII_IN_WORDS = bytes(chr(code).isalnum() for code in range(256))


def _in_words(codes: NDArray[np.uint32]) -> NDArray[np.bool_]:
    """Tell of each character whether it is in a word."""
    different = np.flatnonzero(np.bincount(codes))
    is_in_word = np.zeros(int(different[-1]) + 1, dtype=np.bool_)
    is_in_word[different] = [chr(code).isalnum() for code in different.tolist()]
    return is_in_word[codes]


def _probe(own: str, term: str) -> str:
    """The beginning that every word of the same stem has: ``stud`` for studies and study."""
    letters = takewhile(lambda pair: pair[0] == pair[1], zip(own, term, strict=False))
    shared = term if own.startswith(term) else "".join(letter for letter, _ in letters)
    return shared.rstrip("eiy") or shared or term


class _BareLetters(dict[int, str]):
    """Letters without their accents, and accents as nothing; each is looked up once."""

    def __missing__(self, code: int) -> str:
        signs = unicodedata.normalize("NFD", chr(code))
        bare = "".join(sign for sign in signs if not unicodedata.combining(sign))
        self[code] = unicodedata.normalize("NFC", bare)
        return self[code]


_BARE = _BareLetters()


def _folded(text: str) -> str:
    """Lower-case a text, without accents."""
    if text.isascii():
        return text.lower()
    return unicodedata.normalize("NFC", text.lower()).translate(_BARE)
