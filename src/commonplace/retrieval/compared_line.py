"""Lines and the question as corrections compare them: words, terms, key and speaker."""

from __future__ import annotations

import re
from functools import cached_property
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from commonplace.retrieval.term_matching import is_date_word
from commonplace.text.correction_cues import asked_attributes, is_doubtful, is_word, words_of
from commonplace.text.strikethrough import without_strikethrough

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from commonplace.retrieval.candidates import AnalyzedQuery
    from commonplace.text.analysis import Analyzer

__all__ = ["ComparedLine", "Question"]

_SHORT_CHARS = 140
"""Length up to which a line says one thing. In longer ones less is taken for a correction."""

_KEY = re.compile(
    r"\s*(?:(?:[-*+]|\d{1,9}[.)]|>)\s+)*[*_`]*([^\s*_`:=|][^:=|]{0,60}?)"
    r"[*_`]*\s*[:=\uff1a][*_`]*\s*(\S.*)"
)
_ROW = re.compile(r"\s*\|(.+)\|([^|]+)\|\s*")
_SPEAKER = re.compile(r"\s*(?:[-*+]\s+)?[*_]*([^\W\d_][\w'.-]*(?: [^\W\d_][\w'.-]*)?)[*_]*:\s")
_NAME = re.compile(r"(?<=\s)[A-Z][\w-]*")
_EVENT = re.compile(r"\b(?:when|why|how) (?:did|was|were)\b", re.IGNORECASE)
_PRESENT = frozenset(("now", "current", "currently", "latest", "today", "nowadays", "still"))
_PHRASE_END = re.compile(r"[^\w\s'’*_-]+\s*")
_UNSPACED = re.compile("[\u0e00-\u0eff\u3040-\u30ff\u3400-\u9fff\uac00-\ud7ff]")


class Question:
    """Question with the weights of its terms, as shares of their sum."""

    def __init__(self, analyzed: AnalyzedQuery) -> None:
        self.text, self._terms = analyzed.query.text, analyzed.terms
        self.terms = [term.term for term in self._terms.known]
        # Days are compared by themselves, and "now" is no subject: a line need not repeat them.
        dated = [
            term.text.lower() in _PRESENT or (bool(analyzed.days) and is_date_word(term))
            for term in self._terms.known
        ]
        # Roots, because few notes make the weights extreme: a subject of all has next to none.
        weights = np.where(dated, 0.0, np.sqrt(self._terms.weights))
        self.weights: NDArray[Any] = weights / max(float(weights.sum()), 1e-6)

    @cached_property
    def words(self) -> list[str]:
        """Words in order."""
        return words_of(self.text)

    @cached_property
    def names(self) -> list[int]:
        """Places of the terms that are names or numbers."""
        names = set(_NAME.findall(self.text))
        return [
            at
            for at, term in enumerate(self._terms.known)
            if term.text in names or term.text.isdigit()
        ]

    @cached_property
    def attributes(self) -> set[str]:
        """Terms of what is asked for: "which port"."""
        asked = set(asked_attributes(self.words))
        return {term.term for term in self._terms.known if term.text.lower() in asked}

    @cached_property
    def is_doubtful(self) -> bool:
        """Whether it asks for plans or quotations."""
        return is_doubtful(self.words)

    @cached_property
    def asks_event(self) -> bool:
        """Whether it asks when, why or how something was."""
        return _EVENT.search(self.text) is not None

    def share(self, held: NDArray[Any]) -> float:
        """Return the share of the question that a line holds."""
        return float(held @ self.weights)


def _is_function_word(word: str) -> bool:
    return word in _PRESENT or any(is_word(kind, word) for kind in ("article", "copula", "which"))


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
        terms = self._analyzer.term_of_each(self.words)
        return [terms[word] or word for word in self.words]

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
