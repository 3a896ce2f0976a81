"""Text analysis: tokenizing, folding and stemming, the same for the index and for the query.

The tokenizer is SQLite's own ``unicode61`` (with ``porter`` on top for stemming), called through
APSW, so that the terms of queries and indexes never differ. Scripts without spaces between words
are also indexed as bigrams: pairs of neighbouring characters. With ``trigram`` every text is
indexed by its parts of three characters, and a word is found within others.
"""

from __future__ import annotations

import functools
import os
import re
import shlex
import threading
import unicodedata
import weakref
from collections import Counter
from collections.abc import Collection, Iterable, Mapping
from typing import Any, NamedTuple

import apsw

from commonplace.text.common_ends import common_start
from commonplace.text.request_phrases import REQUEST, REQUEST_END
from commonplace.text.stopwords import ENGLISH, FUNCTION_WORDS, MIN_WORDS, PREAMBLE, QUESTION_WORDS
from commonplace.text.unspaced_scripts import (
    ALPHABETS,
    UNSPACED,
    grams_of,
    indexed_grams,
    is_unspaced,
)

__all__ = [
    "FTS5_TOKENIZE",
    "VOWEL_SIGNS",
    "WITHOUT_ENDINGS",
    "Analyzer",
    "Term",
    "content_texts",
    "folded",
    "function_words",
    "language_of",
    "respelled",
    "stop_words",
    "without_request",
    "words_of",
]

VOWEL_SIGNS = "".join(
    sign
    for sign in map(chr, (*range(0x0900, 0x0E00), *range(0x0F00, 0x1000)))
    if unicodedata.category(sign) in ("Mn", "Mc")
)
"""Signs within Indic and Tibetan words, most of them vowels, which are no letters to Unicode."""

_WORDS = f"unicode61 remove_diacritics 2 tokenchars '{VOWEL_SIGNS}'"
FTS5_TOKENIZE = {
    "porter": f"porter {_WORDS}",
    "unicode61": "unicode61",
    "trigram": "trigram remove_diacritics 1",
}
"""FTS5's ``tokenize`` option for each name of `SearchSettings.tokenizer`.

``unicode61`` is SQLite's default: it removes some diacritics, and cuts Indic words at their vowel
signs. The words of a query whose index has trigrams are found as with ``porter``."""
_TRIGRAM = 3

_WORD = re.compile(rf"[\w{VOWEL_SIGNS}{ALPHABETS}]+")
_NUMBER = re.compile(
    r"(?<![\w.,:])(?!\d\d?\.\d\d?\.\d{4}(?!\d))v?(\d+(?:[.,:]\d+)+)(?!\d)", re.IGNORECASE
)
"""A number of several parts, no date: "v1.5.0", "10.0.0.7", "18:30"."""
_LEAST_PREFIX = 4
"""Letters that two forms of a word share, at least."""
_ENDING = 2
"""Letters at the end of a word that its forms need not share, in any case."""
_LEAST_RESPELLED, _LEAST_REPLACED = 5, 7
"""Letters of a word from which its spelling is corrected, and from which a wrong letter is."""
WITHOUT_ENDINGS = frozenset(("ar", "en", "he", "hi", "vi"))
"""Languages in which a word that is found stands for itself, not for all that begin like it:
English is stemmed, Vietnamese has no forms, Semitic words change at both ends and within, and in
Hindi it helped none."""
_MAX_TERMS = 50_000
"""Size of the cache of terms, in words."""


def words_of(text: str) -> list[str]:
    """Return the words of a text in order, in lower case and without accents.

    A run of an unspaced script is one word, and others beside it are words of their own.
    """
    bare = folded(text).replace("_", " ")
    if is_unspaced(bare):
        bare = UNSPACED.sub(r" \g<0> ", bare)
    return _WORD.findall(bare)


def content_texts(text: str) -> list[str]:
    """Return the words of a text as they are, in lower case and without stop words."""
    return [word for word in _WORD.findall(text.lower()) if word not in ENGLISH]


def without_request(question: str) -> str:
    """Return what a question asks for: "when Ann moved?" of "Do you remember when Ann moved?"."""
    asked = _from_question_word(REQUEST_END.sub("", REQUEST.sub("", question)).strip())
    return asked if content_texts(asked) else question


def _from_question_word(text: str) -> str:
    is_preamble = False
    for match in _WORD.finditer(text):
        word = match[0].lower()
        if word in QUESTION_WORDS:
            return text[match.start() :] if is_preamble else text
        if word in PREAMBLE:
            is_preamble = True
        elif word not in ENGLISH:
            break
    return text


def respelled(text: str, unknown: Iterable[str], among: str) -> str:
    """Correct the spelling of words that no note holds by a text: "Carloine" becomes "Caroline".

    Args:
        text: The words.
        unknown: Those of them that no note holds.
        among: The text whose words are known; of several that are one letter away, the most
            frequent is meant.
    """
    wrong = [word for word in unknown if len(word) >= _LEAST_RESPELLED and word.isalpha()]
    if not wrong:
        return text
    known = Counter(_WORD.findall(folded(among)))
    for word in wrong:
        typed = folded(word)
        meant = [other for other in known if _is_one_slip(typed, other)]
        if meant:
            right = max(meant, key=known.__getitem__)
            right = right.capitalize() if word[0].isupper() else right
            text = re.sub(rf"\b{word}\b", right, text, flags=re.IGNORECASE)
    return text


def _is_one_slip(word: str, other: str) -> bool:
    """Return whether a word with one letter too many or too few, or two swapped, is another.

    In a long word one letter may be another one, too: of short ones, "horse" is no "house".
    (Damerau, CACM 1964. A first letter is hardly ever wrong.)
    """
    if word[0] != other[0] or abs(len(word) - len(other)) > 1:
        return False
    at = common_start(word, other, min(len(word), len(other)))
    rest, others = word[at:], other[at:]
    return (
        rest[1:] == others
        or rest == others[1:]
        or (rest[:2] == others[1::-1] and rest[2:] == others[2:])
        or (len(word) >= _LEAST_REPLACED and rest[1:] == others[1:])
    )


class Term(NamedTuple):
    """A word of a query.

    Attributes:
        text: As the query has it; of a gram, the bigrams that the index has of it.
        term: As it is indexed (folded, stemmed); of a gram, as the query has it.
        gram: Whether it is a gram of a script without spaces.
        initial: Whether only chunks hold it whose text begins with it.
        prefix: Whether all words that begin with its term are forms of it.
        number: Whether it is a number of several parts: a version, an address, a time.
    """

    text: str
    term: str
    gram: bool = False
    initial: bool = False
    prefix: bool = False
    number: bool = False


class Analyzer:
    """Analyzer of one tokenizer: texts to terms, as an index holds them. Safe for threads."""

    def __init__(self, tokenizer: str) -> None:
        self.tokenizer = tokenizer
        self.finds_parts = tokenizer == "trigram"
        """Whether a text holds a word that is a part of one of its words."""
        self.renew()
        _LIVING.add(self)

    def renew(self) -> None:
        """Begin with a tokenizer of its own, as in a forked process."""
        self._connection = apsw.Connection(":memory:")
        name, *arguments = shlex.split(FTS5_TOKENIZE[self.tokenizer])
        self._tokenize = self._connection.fts5_tokenizer(name, arguments)
        self._words = self._tokenize
        if self.finds_parts:
            name, *arguments = shlex.split(_WORDS)
            self._words = self._connection.fts5_tokenizer(name, arguments)
        self._lock = threading.Lock()  # SQLite's tokenizers fold words in a shared buffer
        self._terms: dict[str, str] = {}

    def terms(self, text: str) -> list[str]:
        """Return the terms of a text, in order, repeats included."""
        return self._cut(self._tokenize, text)

    def _cut(self, tokenize: Any, text: str) -> list[str]:
        with self._lock:
            found: Iterable[Any] = tokenize(
                _utf8(text),
                apsw.FTS5_TOKENIZE_DOCUMENT,
                None,
                include_offsets=False,
                include_colocated=False,
            )
        return list(found)

    def words(self, query: str) -> list[Term]:
        """Return the distinct words of a query; unspaced runs become grams.

        They are in order, but for numbers of several parts, which come last.
        """
        numbers = [Term(found[0], found[1], number=True) for found in _NUMBER.finditer(query)]
        query = _NUMBER.sub(" ", query) if numbers else query
        words: dict[Term, None] = {}
        raw = _utf8(UNSPACED.sub(" ", query))
        with self._lock:
            found: Iterable[Any] = self._words(raw, apsw.FTS5_TOKENIZE_QUERY, None)
        for start, end, term in found:
            words.setdefault(Term(raw[start:end].decode("utf-8", "ignore"), term))
        if not query.isascii():
            for run in UNSPACED.findall(query):
                words.update(dict.fromkeys(map(self._gram, self._parts_of(run))))
        words.update(dict.fromkeys(numbers))
        if self.finds_parts:  # shorter words are in no index of trigrams
            words = {word: None for word in words if len(word.text) >= _TRIGRAM}
        unique = {(word.term, word.gram): word for word in reversed(words)}
        return [word for word in words if unique[word.term, word.gram] is word]

    def _parts_of(self, run: str) -> list[str]:
        if not self.finds_parts:
            return grams_of(run)
        return [run[at : at + _TRIGRAM] for at in range(len(run) - _TRIGRAM + 1)] or [run]

    def _gram(self, part: str) -> Term:
        return Term(part, part) if self.finds_parts else Term(indexed_grams(part), part, gram=True)

    def other_form(self, word: Term) -> Term | None:
        """Return what the other forms of a word share; None where it may have none.

        Stemming is for English, but most languages have the endings of words at their ends, too. A
        version may have a "v" before it.
        """
        if word.number:
            return word._replace(text=word.term if word.text[0] in "vV" else f"v{word.term}")
        letters = len(word.text)
        shared = max(_LEAST_PREFIX, letters - max(_ENDING, letters // 3))
        if self.finds_parts or word.gram or shared >= letters or not _is_alphabetic(word.text):
            return None
        return word._replace(term=word.term[:shared], prefix=True)

    def term_of_each(self, words: Collection[str]) -> Mapping[str, str]:
        """Return the cached term of each word; "" for a word with no term, or with several.

        The mapping may hold further words.
        """
        known = self._terms
        new = [word for word in words if word not in known]
        if new:
            if len(known) > _MAX_TERMS:  # replaced, not cleared: other threads may read it
                self._terms = known = {word: known[word] for word in words if word in known}
            # Plain ASCII words are one term each: one call for all, because calls are expensive.
            plain = [word for word in new if word.isascii() and word.isalnum()]
            cut = self._cut(self._words, " ".join(plain))
            known.update(zip(plain, cut, strict=True))
            for word in new:
                if word not in known:
                    terms = self._cut(self._words, word)
                    known[word] = terms[0] if len(terms) == 1 else ""
        return known


def _is_alphabetic(word: str) -> bool:
    return all(sign.isalpha() or sign in VOWEL_SIGNS for sign in word)


class _BareLetters(dict[int, str]):
    """Cache of letters without their accents; an accent by itself maps to nothing.

    A final sigma is a sigma: which of them a capital becomes depends on the letters around it.
    """

    def __missing__(self, code: int) -> str:
        signs = unicodedata.normalize("NFD", chr(code))
        bare = "".join(sign for sign in signs if not unicodedata.combining(sign))
        self[code] = unicodedata.normalize("NFC", bare).replace("ς", "σ")
        return self[code]


_BARE = _BareLetters()


def folded(text: str) -> str:
    """Lower-case a text, without accents."""
    if text.isascii():
        return text.lower()
    return unicodedata.normalize("NFC", text.lower()).translate(_BARE)


@functools.cache
def function_words(language: str) -> frozenset[str]:
    """Return the folded words of a language that name no subject; none of English."""
    return frozenset(map(folded, FUNCTION_WORDS.get(language, ())))


def stop_words(question: str) -> frozenset[str]:
    """Return the folded stop words of English and of a question's language."""
    return ENGLISH | function_words(language_of(question))


@functools.lru_cache(maxsize=16)  # a search asks for its question's several times
def language_of(text: str) -> str:
    """Return the language of a question by its function words; "en" where they do not tell."""
    words = frozenset(_WORD.findall(folded(text)))
    counts = {name: len(words & function_words(name)) for name in FUNCTION_WORDS}
    counts = {name: found for name, found in counts.items() if found >= MIN_WORDS.get(name, 1)}
    language = max(counts, key=counts.__getitem__, default="en")
    return language if counts.get(language, 0) > len(words & ENGLISH) else "en"


def _utf8(text: str) -> bytes:
    return text.encode("utf-8", "replace").replace(b"\0", b" ")


_LIVING: weakref.WeakSet[Analyzer] = weakref.WeakSet()


def _renew_all() -> None:
    for analyzer in list(_LIVING):
        analyzer.renew()


if hasattr(os, "register_at_fork"):  # not on Windows
    os.register_at_fork(after_in_child=_renew_all)
