"""Lines and the question as corrections compare them: words, terms, key and speaker."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from commonplace.retrieval.term_matching import is_date_word
from commonplace.text.correction_cues import (
    asked_attributes,
    function_words,
    is_doubtful,
    is_revision,
    is_word,
    language_of,
    replaced_words,
    words_of,
)
from commonplace.text.stopwords import ENGLISH
from commonplace.text.strikethrough import without_strikethrough

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from commonplace.retrieval.candidates import AnalyzedQuery
    from commonplace.text.analysis import Analyzer

__all__ = ["ComparedLine", "Question"]

_OF_ONE_KEY = 2
"""Lines of one key, at most: a value, and its correction."""
_SHORT_CHARS = 140
"""Length up to which a line says one thing. In longer ones less is taken for a correction."""

_KEY = re.compile(
    r"\s*(?:(?:[-*+]|\d{1,9}[.)]|>)\s+)*[*_`]*([^\s*_`:=|][^:=|]{0,60}?)"
    r"[*_`]*\s*[:=\uff1a][*_`]*\s*(\S.*)"
)
_ROW = re.compile(r"\s*\|(.+)\|([^|]+)\|\s*")
_SPEAKER = re.compile(
    r"\s*(?:[-*+]\s+)?[*_]*"
    r"([^\W\d_][\w'.-]*(?: [^\W\d_a-zß-ÿ][\w'.-]*)?|[a-zß-ÿ][\w'.-]* [^\W\d_][\w'.-]*)[*_]*:\s"
)
"""A name of two words has two capitals or none: "Decision reversed:" begins a note."""
_NAME = re.compile(r"(?<=\s)[A-Z][\w-]*")
_VALUE = re.compile(r"(?<=[^\s.!?*+-]\s)[^\W_][\w-]*|\b\d[\w.:/-]*\d")
_TITLE = re.compile(r"(?<!\w)[^\W\d_]{1,40}(?= [A-ZÀ-ÖØ-Þ])")
_TOPIC = re.compile("[-*+ ]*([\u3400-\u9fff\uac00-\ud7ff\u30a0-\u30ff]{2,12}?)[のはがをで的是在]")
_QUOTED = re.compile(
    r"(?<!\w)(?:\"([^\"]{4,200})\"|'([^']{4,200})')(?!\w)|“([^”]{4,200})”|„([^“”]{4,200})[“”]"
    r"|«([^»]{4,200})»|「([^」]{4,200})」|『([^』]{4,200})』|(?<!\w)‘([^’]{4,200})’(?!\w)"
)
_EVENT = re.compile(r"\b(?:when|why|how) (?:did|was|were)\b", re.IGNORECASE)
_OVER = re.compile(
    r"^(?!.*\b(?:am|are|is|will|do|does|going)\b)"
    r"|\d{4}|\b(?:did|was|were|had|last|past|previous|ago|yesterday|since)\b",
    re.IGNORECASE | re.DOTALL,
)
"""A question with this, or without a verb of the present, asks for a time that is over."""
_PRESENT = frozenset(("now", "current", "currently", "latest", "today", "nowadays", "still"))
_PHRASE_END = re.compile(r"[^\w\s'’*_-]+\s*")
_UNSPACED = re.compile("[\u0e00-\u0eff\u3040-\u30ff\u3400-\u9fff\uac00-\ud7ff]")


class Question:
    """Question with the weights of its terms, as shares of their sum."""

    def __init__(self, analyzed: AnalyzedQuery) -> None:
        self.text, self._terms = analyzed.query.text, analyzed.terms
        self.terms = [term.term for term in self._terms.known]
        # Days are compared by themselves, and "now" is no subject: a line need not repeat them.
        empty = _PRESENT.union(function_words(self.words))
        is_empty = [
            empty.issuperset(words_of(term.text)) or (bool(analyzed.days) and is_date_word(term))
            for term in self._terms.known
        ]
        # Roots, because few notes make the weights extreme: a subject of all has next to none.
        weights = np.where(is_empty, 0.0, np.sqrt(self._terms.weights))
        self.weights: NDArray[Any] = weights / max(float(weights.sum()), 1e-6)

    @cached_property
    def words(self) -> list[str]:
        """Words in order."""
        return words_of(self.text)

    @cached_property
    def names(self) -> list[int]:
        """Places of the terms that are names or numbers."""
        names = set(_NAME.findall(self.text))
        if language_of(self.words) == "de":  # whose nouns have capitals, too
            pairs = pairwise(self.words)
            nouns = {word for before, word in pairs if is_word("determiner", before)}
            names = {name for name in names if not nouns.issuperset(words_of(name))}
        return [
            at
            for at, term in enumerate(self._terms.known)
            if term.text in names or any(map(str.isdigit, term.text))
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

    @cached_property
    def may_be_coming(self) -> bool:
        """Whether a month that it names may be the next one: "how are we going in June?"."""
        return _OVER.search(self.text) is None

    def held_subjects(
        self, older: ComparedLine, newer: ComparedLine
    ) -> Iterator[tuple[str, float, float]]:
        """Yield its terms that name a subject, each with whether the two lines hold it."""
        columns = zip(self.terms, self.weights, older.held, newer.held, strict=True)
        return ((term, own, other) for term, weight, own, other in columns if weight)

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
        around: The text of all lines.
    """

    def __init__(
        self, row: int, text: str, held: NDArray[Any], analyzer: Analyzer, *, around: str
    ) -> None:
        self.row, self.text, self.held = row, text, held
        self._analyzer, self._around = analyzer, around

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
    def phrases(self) -> list[list[str]]:
        """Words, apart where the text has punctuation."""
        return [words_of(phrase) for phrase in _PHRASE_END.split(self.text)]

    @cached_property
    def pairs(self) -> list[tuple[str, str]]:
        """Neighbouring words with no punctuation between them."""
        return [pair for phrase in self.phrases for pair in pairwise(phrase)]

    @cached_property
    def replaced(self) -> list[set[str]]:
        """Terms of what it says was before, a set for each place that says so."""
        return self._content(replaced_words(self.phrases))

    @cached_property
    def denied(self) -> list[set[str]]:
        """Terms of the phrases that it denies: "lamb, not *salmon*"."""
        behind = (words for words in self.phrases[1:] if words and is_word("negation", words[0]))
        return self._content(words[1:] for words in behind)

    def _content(self, found: Iterable[Sequence[str]]) -> list[set[str]]:
        sets = ({self.term_of(word) for word in words} - ENGLISH for words in found)
        return [terms for terms in sets if terms]

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
    def values(self) -> frozenset[str]:
        """Names and numbers, but for a first word, which is capital in any case; folded."""
        found = (name for name in _VALUE.findall(self.text) if not name[0].islower())
        return frozenset(word for name in found for word in words_of(name) if len(word) > 1)

    @cached_property
    def titles(self) -> frozenset[str]:
        """Words right before a name: "*Aunt* Leila"."""
        return frozenset(word for title in _TITLE.findall(self.text) for word in words_of(title))

    @cached_property
    def topic(self) -> str:
        """What a line begins with in a script without spaces, up to its first particle."""
        match = _TOPIC.match(self.text)
        return match[1] if match else ""

    @cached_property
    def quotations(self) -> list[str]:
        """What stands between marks of quotation."""
        return ["".join(groups) for groups in _QUOTED.findall(self.text)]

    @cached_property
    def is_short(self) -> bool:
        """Whether it says one thing."""
        return len(self.text) <= _SHORT_CHARS

    @cached_property
    def is_doubtful(self) -> bool:
        """Whether it asks, plans or quotes."""
        return is_doubtful(self.words, self.text)

    @cached_property
    def keys(self) -> list[tuple[tuple[str, ...], str]]:
        """Key and value of a ``key: value`` line or of a table's row; of others, none.

        The key of a row is all but its last cell, or its first cell.
        """
        match = _ROW.fullmatch(self.text) or _KEY.fullmatch(self.text)
        if match is None or (self.speaker and self.text.rstrip().endswith((".", "!", "?", "…"))):
            return []  # the latter is a turn of a conversation
        whole = tuple(words_of(match[1])), match[2].strip()
        first, _, rest = self.text.strip().strip("|").partition("|")
        if match.re is not _ROW or "|" not in rest:
            return [whole]
        return [whole, (tuple(words_of(first)), rest.strip())]

    @cached_property
    def speaker(self) -> str | None:
        """Name at the beginning of a turn of a conversation, ``Ann: …``."""
        match = _SPEAKER.match(self.text)
        return match[1].lower() if match else None

    @cached_property
    def is_turn(self) -> bool:
        """Whether it is a turn of a conversation: its speaker has others, a key has none."""
        match = _SPEAKER.match(self.text)
        return match is not None and self._around.count(f"{match[1]}:") > _OF_ONE_KEY

    def nouns(self, *, before_verbs: bool) -> Iterator[str]:
        """Yield the words that name a subject: behind "the", and before "is"."""
        for before, word in self.pairs:
            if is_word("article", before) and not is_word("indefinite", before):
                yield word
            if before_verbs and is_word("copula", word):
                yield before

    def objects(self) -> Iterator[tuple[str, str]]:
        """Yield the verbs that follow a pronoun, each with the next word: "we *buy flour*"."""
        for (subject, verb), (same, noun) in pairwise(self.pairs):
            if same == verb and is_word("pronoun", subject):
                yield verb, noun

    def lacks_subject(self, word: str) -> bool:
        """Return whether a word may name a subject, and none that the line speaks of."""
        return (
            len(word) > 1
            and word not in ENGLISH
            and not is_word("article", word)
            and not is_word("negation", word)
            and self.term_of(word) not in self.term_set
            and not is_revision([word])
        )
