"""Subjects of lines: whether a newer line speaks of something else than an older one.

The question's words show what the older line is about. A newer line that lacks some of them is
about another thing where it has another word, name or number in their place.
"""

from __future__ import annotations

import re
from itertools import pairwise
from typing import TYPE_CHECKING

from commonplace.text.correction_cues import WordKind, is_word, parts_in

if TYPE_CHECKING:
    from commonplace.retrieval.compared_line import ComparedLine, Question

__all__ = ["has_other_subject", "lacks_name", "speaks_of_another", "speaks_of_relative"]

_OWNER = re.compile(r"(?<!\w)(\w{1,40})['’]s\b")


def lacks_name(question: Question, one: ComparedLine, other: ComparedLine) -> bool:
    """Return whether one line holds a name of the question that the other lacks."""
    return any(one.held[at] > other.held[at] for at in question.names)


def speaks_of_another(question: Question, older: ComparedLine, newer: ComparedLine) -> bool:
    """Return whether the newer line speaks of another person, or of another one's thing."""
    held = question.held_subjects(older, newer)
    return (
        speaks_of_relative(question, older, newer)
        or _is_other_number(question, older, newer)
        or _is_of_owner(older, newer, {term for term, own, other in held if own and other})
        or _is_of_third_person(question, older, newer)
    )


def speaks_of_relative(question: Question, older: ComparedLine, newer: ComparedLine) -> bool:
    """Return whether the newer line speaks of a sister, friend or neighbour instead."""
    known = older.term_set | set(question.terms)
    if parts_in("relative", newer.text) - parts_in("relative", older.text + question.text):
        return True
    return any(
        is_word("relative", word)
        and newer.terms[at] not in known
        and (newer.words[at - 1 : at] == ["s"] or word not in newer.titles)
        and not any(is_word("companion", before) for before in newer.words[max(0, at - 2) : at])
        for at, word in enumerate(newer.words)
    )


def has_other_subject(
    question: Question,
    older: ComparedLine,
    newer: ComparedLine,
    *,
    of_name: bool = False,
    may_miss: bool = False,
) -> bool:
    """Return whether the newer line has another subject in the place of the question's.

    With `of_name` the subject is a name that both have: "Ann's *boyfriend* is" names no other. With
    `may_miss` it is enough that the newer line has no other one in its place.
    """
    if _is_other_name(question, older, newer):
        return True
    held = list(question.held_subjects(older, newer))
    missing = {term for term, own, other in held if own > other} - question.attributes
    shared = {term for term, own, other in held if own and other}
    if _is_of_owner(older, newer, shared) or any(term in older.topic for term in missing):
        return True
    if not missing:
        return False
    term_of = older.term_of
    # "the *electricity* supplier" and "the *water* supplier"
    heads = {
        term_of(head)
        for word, head in older.pairs
        if term_of(word) in missing and term_of(head) in shared
    }
    if any(term_of(head) in heads and older.lacks_subject(word) for word, head in newer.pairs):
        return True
    if _begins_alike(older, newer, missing) or _is_other_object(older, newer, missing):
        return True
    if _is_of_other(older, newer, heads):
        return True
    if may_miss:
        return False
    # "for the *frontend*" and "for the *docs site*", or for nothing that the question names
    return any(term_of(noun) in missing for noun in older.nouns(before_verbs=not of_name))


def _is_of_third_person(question: Question, older: ComparedLine, newer: ComparedLine) -> bool:
    """Return whether "do *I* fast" is asked, and the newer line has "*she* fasts"."""
    asked, said = _has("first_person", question), _has("first_person", older)
    return asked and said and _has("third_person", newer) and not _has("first_person", newer)


def _has(kind: WordKind, text: Question | ComparedLine) -> bool:
    return any(is_word(kind, word) for word in text.words)


def _is_other_name(question: Question, older: ComparedLine, newer: ComparedLine) -> bool:
    """Return whether a name is missing, a speaker another, or a number."""
    are_turns = older.speaker and newer.speaker
    if lacks_name(question, older, newer) or (are_turns and older.speaker != newer.speaker):
        return True
    return _is_other_number(question, older, newer)


def _is_other_number(question: Question, older: ComparedLine, newer: ComparedLine) -> bool:
    """Return whether a thing has another number: "hive *3*", "hive *5*"."""
    asked = {pair for pair in pairwise(question.words) if pair[1].isdigit()} & set(older.pairs)
    others = {word for word, number in newer.pairs if number.isdigit()}
    return any(pair[0] in others and pair not in newer.pairs for pair in asked)


def _begins_alike(older: ComparedLine, newer: ComparedLine, missing: set[str]) -> bool:
    """Return whether two lines differ in their first word: "*pickup* on …", "*delivery* on …"."""
    if len(older.terms) < 2 or older.terms[1:2] != newer.terms[1:2]:
        return False
    return older.terms[0] in missing and older.lacks_subject(newer.words[0])


def _is_of_other(older: ComparedLine, newer: ComparedLine, heads: set[str]) -> bool:
    """Return whether something else stands behind a noun: "rent for the *flat*"."""
    words = newer.words
    for at, word in enumerate(words[:-2]):
        if older.term_of(word) in heads and is_word("article", words[at + 1]):
            behind = (other for other in words[at + 2 : at + 4] if not is_word("article", other))
            if any(older.lacks_subject(other) for other in behind):
                return True
    return False


def _is_of_owner(older: ComparedLine, newer: ComparedLine, shared: set[str]) -> bool:
    """Return whether something is another one's: "the *theme's* licence", "the *other* licence"."""
    named = {owner.lower() for owner in _OWNER.findall(newer.text)}
    owners = set(filter(older.lacks_subject, named))
    return any(
        not shared.isdisjoint(map(older.term_of, words[at + 1 : at + 3]))
        and (is_word("other", word) or (word == "s" and owners.intersection(words[at - 1 : at])))
        for words in newer.phrases
        for at, word in enumerate(words)
    )


def _is_other_object(older: ComparedLine, newer: ComparedLine, missing: set[str]) -> bool:
    """Return whether one verb has two objects, the first of them missing: "we buy *flour*"."""
    verbs = {verb for verb, noun in newer.objects() if older.lacks_subject(noun)}
    return any(older.term_of(noun) in missing and verb in verbs for verb, noun in older.objects())
