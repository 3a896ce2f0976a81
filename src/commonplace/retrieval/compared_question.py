"""Question as corrections compare lines by it: the weights of its terms, what it asks, and when."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cached_property
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from commonplace.retrieval.answer_types import (
    ADDRESSES,
    AMOUNTS,
    FOREIGN_TIMES,
    TIMES,
    AnswerType,
)
from commonplace.text.analysis import folded, function_words, language_of, words_of
from commonplace.text.correction_cues import (
    asked_attributes,
    has_word,
    is_doubtful,
    is_word,
    words_behind,
)
from commonplace.text.stopwords import ENGLISH
from commonplace.text.time_expressions import is_date_word, weekday_names
from commonplace.text.unspaced_scripts import is_unspaced

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from commonplace.retrieval.compared_line import ComparedLine
    from commonplace.retrieval.line_features import LineScores
    from commonplace.retrieval.query import AnalyzedQuery

__all__ = ["Question", "labels_in", "names_in"]

_FEW_LINES = 8
"""Lines that may all be about one thing: a value, its correction, and what refers to them."""
_HARDLY_ANY = 3
"""Occurrences of a word that two lines have, and hardly any other."""
_NEAR_PLACE = 4
"""Place among the lines with the most evidence down to which a line answers as well, perhaps."""

_NAMED_WORDS = 4
"""Words behind "before" that may name what came later."""
_NAME = re.compile(r"(?<=\s)[A-ZÀ-ÖØ-Þ][\w-]*")
_LABEL = re.compile(r"\b(?:\w*\d\w*|[B-HJ-Z](?!['’]|\. ?[A-ZÀ-ÖØ-Þ])|(?<=\w-)[a-z])\b")
"""A word with a digit or a letter alone, also behind a hyphen, which is no initial: "H. Osei"."""
_EVENT = re.compile(
    r"\b(?:when|why|how) (?:did|was|were)\b|^(?:which|what) \w{2,}[^\Ws]s did\b"
    r"|^(?:how many times(?! (?:a|per|each|every)\b)|list)\b",
    re.IGNORECASE,
)
_YEAR = re.compile(r"\d{4}")
_OVER = re.compile(
    r"\d{4}|\b(?:did|was|were|had|last|past|previous|ago|yesterday|since)\b", re.IGNORECASE
)
"""A question with this asks for a time that is over."""
_PRESENT_VERBS = frozenset(("am", "are", "is", "will", "do", "does", "going"))
"""An English question without any of these does so, too."""
_PRESENT = frozenset(("now", "current", "currently", "latest", "today", "nowadays", "still"))


def names_in(text: str, language: str) -> set[str]:
    """Return the words of a question that are names, by their capitals."""
    names = set(_NAME.findall(text))
    if language != "de":
        return names
    # German nouns have capitals, too, but mostly a determiner before them.
    pairs = pairwise(words_of(text))
    nouns = {word for before, word in pairs if is_word("determiner", before)}
    return {name for name in names if not nouns.issuperset(words_of(name))}


def labels_in(text: str) -> frozenset[str]:
    """Return the words that tell one thing of several apart: hive *3*, class *3b*, team *D*."""
    return frozenset(map(folded, _LABEL.findall(text)))


class Question:
    """Question with the weights of its terms, as shares of their sum.

    Args:
        analyzed: The question.
        lines: The lines that were found.
    """

    def __init__(self, analyzed: AnalyzedQuery, lines: LineScores) -> None:
        self._present, self.around = lines.present, lines.table.text
        self.text, self._terms = analyzed.query.text, analyzed.terms
        self.names_day = analyzed.days is not None
        # Words of lines are folded, and "パ" with them; the pairs that an index holds are not.
        self.terms = [folded(it.term) if it.gram else it.term for it in self._terms.known]
        prefixes = (term.term for term in self._terms.known if term.prefix)
        self._prefixes = [(folded(prefix), prefix) for prefix in prefixes]
        # Days are compared by themselves, and "now" is no subject: a line need not repeat them.
        empty = _PRESENT | function_words(self.language)
        is_empty = [
            empty.issuperset(words_of(term.text))
            or (bool(analyzed.days) and is_date_word(term.text))
            or term.term in self.successors
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
    def language(self) -> str:
        """Its language."""
        return language_of(self.text)

    @cached_property
    def term_set(self) -> frozenset[str]:
        """Terms, in no order."""
        return frozenset(self.terms)

    @cached_property
    def stop_words(self) -> frozenset[str]:
        """Stop words of its language and of English."""
        return ENGLISH | function_words(self.language)

    @property
    def tells_names(self) -> bool:
        """Whether capitals tell names in its language: German nouns have them, too."""
        return self.language != "de"

    @cached_property
    def subjects(self) -> frozenset[str]:
        """Terms that name what it asks about."""
        weighted = zip(self.terms, self.weights, strict=True)
        return frozenset(term for term, weight in weighted if weight)

    def prefix_of(self, word: str) -> str | None:
        """Return the prefix among the terms that a word, without accents, begins with."""
        return next((term for bare, term in self._prefixes if word.startswith(bare)), None)

    @cached_property
    def numbers(self) -> frozenset[tuple[str, str]]:
        """Numbers and letters, each with the word before it: "hive *3*"."""
        labels = labels_in(self.text)
        return frozenset(pair for pair in pairwise(self.words) if pair[1] in labels)

    @cached_property
    def is_first_person(self) -> bool:
        """Whether it asks for something of mine."""
        return has_word("first_person", self.words)

    @cached_property
    def names(self) -> list[int]:
        """Places of the terms that are names or numbers."""
        named = names_in(self.text, self.language)
        names = {it for it in named if folded(it) not in weekday_names()}  # "the *Friday* lunch"
        return [
            at
            for at, term in enumerate(self._terms.known)
            if term.text in names or any(map(str.isdigit, term.text))
        ]

    @cached_property
    def successors(self) -> frozenset[str]:
        """Terms of the name of what came later: "who was our accountant before *Hart*?"."""
        behind = next(words_behind("before", self.words), ())[:_NAMED_WORDS]
        terms = (self._terms.known[at] for at in self.names) if behind else ()
        return frozenset(
            term.term
            for term in terms
            if term.text.casefold() in behind and not term.text.isdigit()
        )

    @cached_property
    def full_names(self) -> dict[int, list[int]]:
        """Places of the terms that are one name with another, by the place of that one."""
        if not self.tells_names:
            return {}
        at_word = {self._terms.known[at].text.casefold(): at for at in self.names}
        words = [word.strip("?!.,") for word in self.text.casefold().split() if word != "&"]
        named = [
            (at_word[one], at_word[other])
            for one, other in pairwise(words)
            if one in at_word and other in at_word and not (one + other).isdigit()
        ]
        found: dict[int, list[int]] = {}
        for one, other in named:
            found.setdefault(one, []).append(other)
            found.setdefault(other, []).append(one)
        return found

    @cached_property
    def attributes(self) -> set[str]:
        """Terms of what is asked for: "which port"."""
        asked = set(asked_attributes(self.words))
        return {term.term for term in self._terms.known if term.text.lower() in asked}

    @cached_property
    def asks_attribute(self) -> bool:
        """Whether it asks for something of its subject: "which port", "what is the number of"."""
        pairs = pairwise(self.words)
        return bool(asked_attributes(self.words)) or any(
            is_word("copula", verb) and is_word("article", article) for verb, article in pairs
        )

    @cached_property
    def is_doubtful(self) -> bool:
        """Whether it asks for plans or quotations."""
        return is_doubtful(self.words)

    @cached_property
    def asks_event(self) -> bool:
        """Whether it asks when, why or how something was, or "which books did I read"."""
        return _EVENT.search(self.text) is not None

    @cached_property
    def asks_person(self) -> bool:
        """Whether it asks who someone is."""
        asked = [word for word in self.words[:2] if word != "wie" or self.language == "nl"]
        return has_word("who", asked)  # "wie" is "how" in German

    @cached_property
    def asks_number(self) -> bool:
        """Whether it asks how many or how much."""
        return has_word("how_many", self.words)

    @cached_property
    def asks_last(self) -> bool:
        """Whether it asks for the last time of several, without naming days: "when did I last"."""
        return not self.names_day and has_word("last", self.words)

    @cached_property
    def asks_time(self) -> bool:
        """Whether it asks at what time something is."""
        return has_word("when", self.words)

    @cached_property
    def answer_types(self) -> list[AnswerType]:
        """Kinds of things that it asks for and that a line has or has not: times, addresses."""
        kinds = (TIMES, FOREIGN_TIMES, AMOUNTS, *ADDRESSES)
        return [kind for kind in kinds if kind.asks.search(self.text)]

    @cached_property
    def may_be_coming(self) -> bool:
        """Whether a month that it names may be the next one: "how are we going in June?"."""
        if self.language != "en" or ENGLISH.isdisjoint(self.words):
            return _YEAR.search(self.text) is None
        return not _PRESENT_VERBS.isdisjoint(self.words) and _OVER.search(self.text) is None

    def held_subjects(
        self, older: ComparedLine, newer: ComparedLine
    ) -> Iterator[tuple[str, float, float]]:
        """Yield its terms that name a subject, each with whether the two lines hold it."""
        columns = zip(self.terms, self.weights, older.held, newer.held, strict=True)
        return ((term, own, other) for term, weight, own, other in columns if weight)

    def subjects_are_kept(self, older: ComparedLine, newer: ComparedLine) -> bool:
        """Return whether a line holds all that the other one holds of its subjects.

        What it asks of them, as "which *editor*", the line need not repeat.
        """
        held = [
            other
            for term, own, other in self.held_subjects(older, newer)
            if own and term not in self.attributes
        ]
        return bool(held) and all(held)

    def shared(self, older: ComparedLine, newer: ComparedLine) -> NDArray[np.bool_]:
        """Return which of its terms name a subject and are in both lines."""
        both: NDArray[np.bool_] = (self.weights > 0) & (older.held > 0) & (newer.held > 0)
        return both

    def tells_apart(self, older: ComparedLine, newer: ComparedLine) -> bool:
        """Return whether what two lines hold of it tells that both are of one thing.

        Two words do, however many lines say them again; a word alone does where few lines hold it
        and the newer one is among the best: a name that is in many lines is in many matters. A turn
        of a conversation needs neither, for a speaker's name is in all of his.
        """
        shared = self.shared(older, newer)
        if newer.is_turn or shared.sum() > 1:
            return True
        few = (self._present[:, shared] > 0).all(axis=1).sum() <= _FEW_LINES
        return newer.place <= _NEAR_PLACE and bool(few)

    def is_rare(self, word: str) -> bool:
        """Return whether few lines hold a word or what begins like it, also as a name."""
        return self._occurrences(word) <= _FEW_LINES

    def is_scarce(self, word: str) -> bool:
        """Return whether hardly any lines but two hold a word."""
        return self._occurrences(word) <= _HARDLY_ANY

    def _occurrences(self, word: str) -> int:
        word, text = folded(word), self._folded_around
        if is_unspaced(word):
            return text.count(word)
        return len(re.findall(rf"\b{re.escape(word)}", text))

    @cached_property
    def _folded_around(self) -> str:
        return folded(self.around)

    def unasked_values(self, line: ComparedLine) -> frozenset[str]:
        """Return the names and numbers of a line that the question does not hold."""
        return frozenset(word for word in line.values if line.term_of(word) not in self.term_set)

    def share(self, held: NDArray[Any]) -> float:
        """Return the share of the question that a line holds."""
        return float(held @ self.weights)

    def kept(self, older: ComparedLine, newer: ComparedLine) -> float:
        """Return the share of what the older line holds of it that the newer one holds, too."""
        return self.share(np.minimum(older.held, newer.held)) / max(older.share, 1e-6)
