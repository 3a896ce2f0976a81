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
from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from commonplace.retrieval.compared_line import ComparedLine, Question
from commonplace.text.correction_cues import (
    is_revision,
    is_word,
    words_of,
)
from commonplace.text.stopwords import ENGLISH

if TYPE_CHECKING:
    from commonplace.types import SupersessionReason

__all__ = ["LEAST_SHARED", "Judgement", "judge", "names_old_value"]

LEAST_SHARED = 0.2
"""Share of the question, by idf, that two lines hold together, at least."""
_HALF, _THIRD, _QUARTER = 1 / 2, 1 / 3, 1 / 4
_SAME_WORDS = 0.6
"""Share of words, and of their order, from which two lines are one sentence with another value."""
_NEAR = 2
"""Words between a negation and what it denies, at most."""

_SENTENCE = re.compile(r"(?<=[.!?;])\s+|(?<=[。！？])")


class Judgement(NamedTuple):
    """Result of a comparison: why one line stands back, and whether it is the older one."""

    reason: SupersessionReason
    older_stands_back: bool = True


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
    if newer.is_doubtful:
        is_asked_for = question.is_doubtful or _names(question, newer, older)
        if older.is_doubtful or is_asked_for or not _are_close(question, older, newer):
            return None
        return Judgement("doubt", older_stands_back=False)
    if _same_key(question, older, newer) and same_place(older, newer):
        return Judgement("key")
    if _speaks_of_relative(question, older, newer):
        close = _are_close(question, older, newer)
        return Judgement("relative", older_stands_back=False) if close else None
    reason: SupersessionReason | None = None
    if (
        not question.asks_event
        and _corrects(question, older, newer)
        and not _lacks_value(question, older, newer)
    ):
        reason = "cue"
    elif _same_sentence(question, older, newer):
        reason = "value"
    if reason is None or _other_subject(question, older, newer):
        return None
    return Judgement(reason)


def names_old_value(question: Question, older: ComparedLine, newer: ComparedLine) -> bool:
    """Return whether a line says that something has changed and names all that another one says.

    So the order of two lines is known without their days: "uses port 9200, no longer port 9100".
    """
    said = {term for term in older.term_set if term not in ENGLISH} - set(question.terms)
    return bool(said) and said <= newer.term_set and _has_cue(question, newer)


def _are_close(question: Question, older: ComparedLine, newer: ComparedLine) -> bool:
    """Return whether two short lines may speak of one thing, by their words or the question's."""
    if not (older.is_short and newer.is_short):
        return False
    return _common(older, newer) >= _THIRD or _shared(question, older, newer) >= 0.9


def _shared(question: Question, older: ComparedLine, newer: ComparedLine) -> float:
    """Return the share of what the older line holds of the question that the newer one holds."""
    both = question.share(np.minimum(older.held, newer.held))
    return both / max(question.share(older.held), 1e-6)


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


def _corrects(question: Question, older: ComparedLine, newer: ComparedLine) -> bool:
    """Return whether the newer line has a cue, and the older one is what it changes."""
    shared = _shared(question, older, newer)
    are_short = older.is_short and newer.is_short
    if are_short and shared >= _THIRD and _common(older, newer) >= _QUARTER:
        if _has_cue(question, newer) or _leaves(question, older, newer):
            return True
        return shared >= _HALF and _denies(older, newer)
    holds_half = shared >= _HALF and question.share(older.held) >= _HALF
    return holds_half and _has_cue(question, newer) and _common(older, newer) >= _THIRD


def _lacks_value(question: Question, older: ComparedLine, newer: ComparedLine) -> bool:
    """Return whether the older line has the number that is asked for, the newer one none.

    "The VPN listens on port 51820" still says more than "Moved the VPN to another port".
    """
    is_given = any(
        (term in question.attributes and other.isdigit())
        or (other_term in question.attributes and word.isdigit())
        for (word, term), (other, other_term) in pairwise(
            zip(older.words, older.terms, strict=True)
        )
    )
    return is_given and not any(
        any(map(str.isdigit, word)) or is_word("negation", word) for word in newer.words
    )


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


def _leaves(question: Question, older: ComparedLine, newer: ComparedLine) -> bool:
    """Return whether a line goes from what the other one says to something else: "from A to B"."""
    said = older.term_set - set(question.terms)
    words = list(zip(newer.words, newer.terms, strict=True))
    return any(
        is_word("from", before) and term in said and is_word("onto", behind)
        for (before, _), (_, term), (behind, _) in zip(words, words[1:], words[2:], strict=False)
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


def _same_sentence(question: Question, older: ComparedLine, newer: ComparedLine) -> bool:
    """Return whether two lines are one sentence with another value."""
    if older.key and newer.key and older.key[0] != newer.key[0]:
        return False  # rows of one list, "room 17: Ann" and "room 18: Ben"
    if _shared(question, older, newer) < 0.99 or _common(older, newer) < _SAME_WORDS:
        return False
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
    if _begins_alike(older, newer, missing) or _is_other_object(older, newer, missing):
        return True
    # "the licence of the *plugin*" and "the *theme's* licence", "the *other* licence"
    if any(
        term_of(head) in shared
        and (is_word("other", mark) or (mark == "s" and _is_subject(word, older)))
        for (word, mark), (same, head) in pairwise(newer.pairs)
        if same == mark
    ):
        return True
    # "for the *frontend*" and "for the *docs site*", or for nothing that the question names
    return any(term_of(noun) in missing for noun in _nouns(older))


def _begins_alike(older: ComparedLine, newer: ComparedLine, missing: set[str]) -> bool:
    """Return whether two lines differ in their first word: "*pickup* on …", "*delivery* on …"."""
    if len(older.terms) < 2 or older.terms[1:2] != newer.terms[1:2]:
        return False
    return older.terms[0] in missing and _is_subject(newer.words[0], older)


def _is_other_object(older: ComparedLine, newer: ComparedLine, missing: set[str]) -> bool:
    """Return whether one verb has two objects, the first of them missing: "we buy *flour*"."""
    objects = {verb: noun for verb, noun in _objects(newer) if _is_subject(noun, older)}
    return any(older.term_of(noun) in missing and verb in objects for verb, noun in _objects(older))


def _objects(line: ComparedLine) -> Iterator[tuple[str, str]]:
    """Yield the verbs that follow a pronoun, each with the next word."""
    for (subject, verb), (same, noun) in pairwise(line.pairs):
        if same == verb and is_word("pronoun", subject):
            yield verb, noun


def _nouns(line: ComparedLine) -> Iterator[str]:
    """Yield the words of a line that name a subject: behind "the", or before "is"."""
    for before, word in line.pairs:
        if is_word("article", before) and not is_word("indefinite", before):
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
