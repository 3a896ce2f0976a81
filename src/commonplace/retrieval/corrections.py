"""Corrections: whether a newer line corrects an older one, as far as their words show it.

Two lines are compared with each other and with the question that both may answer. Structure decides
first: the same key, the same words with another value, the old value named beside a negation. Cue
words ("instead of", "no longer") count only where both lines speak of what was asked, and not where
the newer one speaks of another subject, asks, plans or quotes.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from difflib import SequenceMatcher
from functools import cached_property
from itertools import pairwise
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from commonplace.retrieval.term_matching import is_date_word
from commonplace.text.correction_cues import (
    asked_attributes,
    is_doubtful,
    is_revision,
    is_word,
    words_of,
)
from commonplace.text.stopwords import ENGLISH
from commonplace.text.strikethrough import without_strikethrough

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from commonplace.retrieval.candidates import AnalyzedQuery
    from commonplace.text.analysis import Analyzer
    from commonplace.types import SupersessionReason

__all__ = ["LEAST_SHARED", "ComparedLine", "Judgement", "Question", "judge"]

LEAST_SHARED = 0.2
"""Share of the question, by idf, that two lines hold together, at least."""
_HALF, _THIRD, _QUARTER = 1 / 2, 1 / 3, 1 / 4
_SHORT_CHARS = 140
"""Length up to which a line says one thing. In longer ones less is taken for a correction."""
_SAME_WORDS = 0.6
"""Share of words, and of their order, from which two lines are one sentence with another value."""
_NEAR = 2
"""Words between a negation and what it denies, at most."""

_KEY = re.compile(
    r"\s*(?:(?:[-*+]|\d{1,9}[.)]|>)\s+)*[*_`]*([^\s*_`:=|][^:=|]{0,60}?)[*_`]*\s*[:=\uff1a][*_`]*\s*(\S.*)"
)
_ROW = re.compile(r"\s*\|(.+)\|([^|]+)\|\s*")
_SPEAKER = re.compile(r"\s*(?:[-*+]\s+)?[*_]*([^\W\d_][\w'.-]*(?: [^\W\d_][\w'.-]*)?)[*_]*:\s")
_SENTENCE = re.compile(r"(?<=[.!?;])\s+|(?<=[。！？])")
_NAME = re.compile(r"(?<=\s)[A-Z][\w-]*")
_EVENT = re.compile(r"\b(?:when|why|how) (?:did|was|were)\b", re.IGNORECASE)
_PHRASE_END = re.compile(r"[^\w\s'’*_-]+\s*")
_UNSPACED = re.compile("[\u0e00-\u0eff\u3040-\u30ff\u3400-\u9fff\uac00-\ud7ff]")


class Judgement(NamedTuple):
    """Result of a comparison: why one line stands back, and whether it is the older one."""

    reason: SupersessionReason
    older_stands_back: bool = True


class Question:
    """Question with the weights of its terms, as shares of their sum."""

    def __init__(self, analyzed: AnalyzedQuery) -> None:
        text, terms = analyzed.query.text, analyzed.terms
        self.text = text
        self.words = words_of(text)
        self.terms = [term.term for term in terms.known]
        # Days are compared by themselves: a line need not repeat those that the question names.
        dated = [bool(analyzed.days) and is_date_word(term) for term in terms.known]
        # Roots, because few notes make the weights extreme: a subject of all has next to none.
        weights = np.where(dated, 0.0, np.sqrt(terms.weights))
        self.weights: NDArray[Any] = weights / max(float(weights.sum()), 1e-6)
        names = set(_NAME.findall(text))
        self.names = [
            at for at, term in enumerate(terms.known) if term.text in names or term.text.isdigit()
        ]
        asked = set(asked_attributes(self.words))
        self.attributes = {term.term for term in terms.known if term.text.lower() in asked}
        self.is_doubtful = is_doubtful(self.words)
        self.asks_event = _EVENT.search(text) is not None

    def share(self, held: NDArray[Any]) -> float:
        """Return the share of the question that a line holds."""
        return float(held @ self.weights)


class ComparedLine:
    """Line with its words, prepared once for all comparisons.

    Args:
        row: Its place in the table.
        text: Its text.
        held: Which terms of the question it holds, 0 and 1.
        analyzer: Maps words to terms.
    """

    def __init__(self, row: int, text: str, held: NDArray[Any], analyzer: Analyzer) -> None:
        self.row, self.text, self.held = row, text, held
        self._analyzer = analyzer

    @cached_property
    def words(self) -> list[str]:
        """Words in order."""
        return words_of(without_strikethrough(self.text))

    @cached_property
    def terms(self) -> list[str]:
        """Terms of the words, in the same order."""
        return [self.term_of(word) for word in self.words]

    def term_of(self, word: str) -> str:
        """Return the term of a word."""
        return self._analyzer.term_of_each((word,))[word] or word

    @cached_property
    def pairs(self) -> list[tuple[str, str]]:
        """Neighbouring words with no punctuation between them."""
        return [
            pair for phrase in _PHRASE_END.split(self.text) for pair in pairwise(words_of(phrase))
        ]

    @cached_property
    def term_set(self) -> frozenset[str]:
        """Terms; of scripts without spaces, pairs of neighbouring characters."""
        found: set[str] = set()
        for term in self.terms:
            if term.isascii() or not _UNSPACED.search(term):
                found.add(term)
            else:
                found.update(term[at : at + 2] for at in range(max(1, len(term) - 1)))
        return frozenset(found)

    @cached_property
    def is_short(self) -> bool:
        """Whether it says one thing."""
        return len(self.text) <= _SHORT_CHARS

    @cached_property
    def is_doubtful(self) -> bool:
        """Whether it asks, plans or quotes."""
        return is_doubtful(self.words, self.text)

    @cached_property
    def key(self) -> tuple[tuple[str, ...], str] | None:
        """Key and value of a ``key: value`` line or of a table's row; None for another line."""
        match = _ROW.fullmatch(self.text) or _KEY.fullmatch(self.text)
        if match is None or (self.speaker and self.text.rstrip().endswith((".", "!", "?", "…"))):
            return None  # the latter is a turn of a conversation
        return tuple(words_of(match[1])), match[2].strip()

    @cached_property
    def speaker(self) -> str | None:
        """Name at the beginning of a turn of a conversation, ``Ann: …``."""
        match = _SPEAKER.match(self.text)
        return match[1].lower() if match else None


def judge(
    question: Question,
    older: ComparedLine,
    newer: ComparedLine,
    *,
    same_place: Callable[[ComparedLine, ComparedLine], bool],
) -> Judgement | None:
    """Return which of two lines stands back when a question asks for now; None for neither.

    Args:
        question: The question.
        older: A line.
        newer: A line of a later day, or further down in the same file.
        same_place: Whether equal keys of two lines are one key.
    """
    shared = question.share(np.minimum(older.held, newer.held))
    common = _common(older, newer)
    whole = question.share(older.held)
    is_near = older.is_short and newer.is_short and (common >= _THIRD or shared >= 0.9 * whole)
    if newer.is_doubtful:
        is_asked_for = question.is_doubtful or _names(question, newer, older)
        if is_asked_for or older.is_doubtful or not is_near:
            return None
        return Judgement("doubt", older_stands_back=False)
    if _same_key(question, older, newer) and same_place(older, newer):
        return Judgement("key")
    if _speaks_of_relative(question, older, newer):
        return Judgement("relative", older_stands_back=False) if is_near else None
    if _other_subject(question, older, newer):
        return None
    if not question.asks_event and _corrects(question, older, newer, common):
        return Judgement("cue")
    if shared >= 0.99 * whole and common >= _SAME_WORDS and _same_sentence(older, newer):
        return Judgement("value")
    return None


def _common(older: ComparedLine, newer: ComparedLine) -> float:
    """Return the share of the shorter line's terms that both hold."""
    shorter = min(len(older.term_set), len(newer.term_set))
    return len(older.term_set & newer.term_set) / max(1, shorter)


def _names(question: Question, one: ComparedLine, other: ComparedLine) -> bool:
    """Return whether one line holds a name of the question that the other lacks."""
    return any(one.held[at] > other.held[at] for at in question.names)


def _same_key(question: Question, older: ComparedLine, newer: ComparedLine) -> bool:
    """Return whether both are values of one key, and the key is what the question asks for."""
    if not (older.key and newer.key) or older.key[0] != newer.key[0] or older.key == newer.key:
        return False
    terms = {older.term_of(word) for word in older.key[0]}
    in_key = sum(
        weight
        for term, weight, held in zip(question.terms, question.weights, older.held, strict=True)
        if held and term in terms
    )
    return bool(in_key >= 0.99 * question.share(older.held))


def _corrects(question: Question, older: ComparedLine, newer: ComparedLine, common: float) -> bool:
    """Return whether the newer line has a cue, and the older one is what it changes."""
    whole = question.share(older.held)
    shared = question.share(np.minimum(older.held, newer.held))
    is_short = older.is_short and newer.is_short
    if is_short and shared >= _HALF * whole and common >= _QUARTER and _denies(older, newer):
        return True
    if not _has_cue(question, newer):
        return False
    if is_short and shared >= _THIRD * whole and common >= _QUARTER:
        return True
    return whole >= _HALF and shared >= _HALF * whole and common >= _THIRD


def _has_cue(question: Question, line: ComparedLine) -> bool:
    """Return whether a line has a cue; in a long one, in a sentence with a word of the question."""
    if not is_revision(line.words, line.text):
        return False
    if line.is_short:
        return True
    wanted = {
        word for word, term in zip(line.words, line.terms, strict=True) if term in question.terms
    }
    sentences = ((words_of(part), part) for part in _SENTENCE.split(line.text))
    return any(
        not wanted.isdisjoint(words) and is_revision(words, part) for words, part in sentences
    )


def _denies(older: ComparedLine, newer: ComparedLine) -> bool:
    """Return whether one line denies what the other affirms: "port 9444, not 8081"."""
    both = older.term_set & newer.term_set
    return any(
        term not in ENGLISH and _denied(older, term) != _denied(newer, term) for term in both
    )


def _denied(line: ComparedLine, term: str) -> bool:
    return any(
        is_word("negation", word)
        for at, own in enumerate(line.terms)
        if own == term
        for word in line.words[max(0, at - _NEAR) : at]
    )


def _same_sentence(older: ComparedLine, newer: ComparedLine) -> bool:
    """Return whether two lines are one sentence with another value."""
    if len(older.words) < 3 or older.terms == newer.terms:
        return False
    return SequenceMatcher(None, older.terms, newer.terms, autojunk=False).ratio() >= _SAME_WORDS


def _speaks_of_relative(question: Question, older: ComparedLine, newer: ComparedLine) -> bool:
    """Return whether the newer line speaks of a sister, friend or neighbour instead."""
    known = older.term_set | set(question.terms)
    return any(
        is_word("relative", word)
        and newer.terms[at] not in known
        and not any(is_word("companion", before) for before in newer.words[max(0, at - 2) : at])
        for at, word in enumerate(newer.words)
    )


def _other_subject(question: Question, older: ComparedLine, newer: ComparedLine) -> bool:
    """Return whether the newer line has another subject in the place of the question's."""
    if _names(question, older, newer):
        return True
    if older.speaker and newer.speaker and older.speaker != newer.speaker:
        return True
    held = list(zip(question.terms, older.held, newer.held, strict=True))
    missing = {term for term, own, other in held if own > other} - question.attributes
    if not missing:
        return False
    shared = {term for term, own, other in held if own and other}
    term_of = older.term_of
    # "the *electricity* supplier" and "the *water* supplier"
    heads = {
        term_of(head)
        for word, head in older.pairs
        if term_of(word) in missing and term_of(head) in shared
    }
    if any(term_of(head) in heads and _is_subject(word, older) for word, head in newer.pairs):
        return True
    # "the licence of the *plugin*" and "the *theme's* licence", "the *other* licence"
    if any(
        term_of(head) in shared
        and (is_word("other", mark) or (mark == "s" and _is_subject(word, older)))
        for (word, mark), (same, head) in pairwise(newer.pairs)
        if same == mark
    ):
        return True
    # "for the *frontend*" and "for the *docs site*"
    return any(term_of(noun) in missing for noun in _nouns(older)) and any(
        is_word("article", before) and _is_subject(word, older) for before, word in newer.pairs
    )


def _nouns(line: ComparedLine) -> Iterator[str]:
    """Yield the words of a line that are nouns: behind an article, or before "is"."""
    for before, word in line.pairs:
        if is_word("article", before):
            yield word
        if is_word("copula", word):
            yield before


def _is_subject(word: str, older: ComparedLine) -> bool:
    """Return whether a word may name another subject than the older line does."""
    return (
        len(word) > 1
        and word not in ENGLISH
        and not is_word("article", word)
        and not is_word("negation", word)
        and older.term_of(word) not in older.term_set
        and not is_revision([word])
    )
