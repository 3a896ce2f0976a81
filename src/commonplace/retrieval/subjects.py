"""Subjects of lines: whether a newer line speaks of something else than an older one.

The question's words show what the older line is about. A newer line that lacks some of them is
about another thing where it has another word, name or number in their place.
"""

from __future__ import annotations

import re
from itertools import chain, dropwhile, islice
from typing import TYPE_CHECKING

from commonplace.retrieval.answer_types import FOREIGN_TIMES, TIMES
from commonplace.retrieval.compared_question import labels_in
from commonplace.text.analysis import words_of
from commonplace.text.correction_cues import (
    has_word,
    is_addition,
    is_revision,
    is_word,
    parts_in,
    places_of,
)
from commonplace.text.stopwords import ENGLISH
from commonplace.text.time_expressions import is_date_word

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from commonplace.retrieval.compared_line import ComparedLine
    from commonplace.retrieval.compared_question import Question

__all__ = [
    "adds_another",
    "has_other_subject",
    "lacks_name",
    "speaks_of_another",
    "speaks_of_relative",
]

_TIME_WORDS = TIMES.words | FOREIGN_TIMES.words
_PREFIX = 4
"""Letters that a name of an environment and its short form have in common: "prod"."""
_PARTY = re.compile(
    r"\s*(?:[-*+]\s+)?[A-Z][\w-]*"
    r"(?: team\b.*\btheir\b|.*\b(?:(?:its|their) own|ha(?:s|ve) a new)\b)"
)
"""Beginning of what another company or team has: "Data team renamed their channel"."""
_OPENING = 3
"""Words at the beginning of a line that may say what it is about."""


def lacks_name(question: Question, one: ComparedLine, other: ComparedLine) -> bool:
    """Return whether one line holds a name of the question that the other lacks.

    "Osprey" is "Osprey Logistics", if no other name follows it.
    """
    return any(
        one.held[at] > other.held[at] and not _is_called_shortly(question, at, other)
        for at in question.names
    )


def _is_called_shortly(question: Question, at: int, line: ComparedLine) -> bool:
    """Return whether a line has the other part of a full name of the question, and no third one."""
    parts = {question.terms[part] for part in question.full_names.get(at, ()) if line.held[part]}
    return bool(parts) and not any(
        line.term_of(word) in parts and following in line.values for word, following in line.pairs
    )


def speaks_of_another(question: Question, older: ComparedLine, newer: ComparedLine) -> bool:
    """Return whether the newer line speaks of another person, or of another one's thing."""
    return (
        speaks_of_relative(question, older, newer)
        or _is_other_number(question, older, newer)
        or _is_of_owner(question, older, newer)
        or _is_of_third_person(question, older, newer)
        or _is_of_other_environment(question, older, newer)
        or _opens_about_other(question, older, newer)
        or _is_of_other_party(question, older, newer)
        or _is_of_other(question, older, newer)
    )


def adds_another(older: ComparedLine, newer: ComparedLine) -> bool:
    """Return whether the newer line says of one thing more what holds of the older one's, too."""
    return is_addition(newer.phrases) and not is_addition(older.phrases)


def speaks_of_relative(question: Question, older: ComparedLine, newer: ComparedLine) -> bool:
    """Return whether the newer line speaks of a sister, friend or neighbour instead.

    That is no other subject where it answers who it is: "*Sofie* has stopped, grandpa does it".
    """
    if _may_be_answer(question, older, newer):
        return False
    parts = newer.relative_parts
    if parts and parts - parts_in("relative", older.text + question.text):
        return True
    return any(
        term not in older.term_set and term not in question.term_set for term in newer.relatives
    )


def _may_be_answer(question: Question, older: ComparedLine, newer: ComparedLine) -> bool:
    """Return whether a line says that another person is now who is asked for.

    German nouns have capitals, too, so that its names tell nothing.
    """
    if not (question.asks_person and question.tells_names and newer.has_cue):
        return False
    words = newer.words
    said = older.values.intersection(words)
    # "*Tomás's* cousin" is another person.
    if any(said.intersection(words[at + 1 : at + 3]) for at in places_of("relative", words)):
        return False
    nouns = (newer.term_of(word) for word in words if not is_word("article", word))
    return bool(said) or not older.content.isdisjoint(islice(nouns, 1))


def has_other_subject(
    question: Question,
    older: ComparedLine,
    newer: ComparedLine,
    *,
    of_name: bool = False,
    has_name: bool = True,
    may_miss: bool = False,
) -> bool:
    """Return whether the newer line has another subject in the place of the question's.

    With `of_name` the subject is a name that both have: "Ann's *boyfriend* is" names no other. With
    `may_miss` it is enough that the newer line has no other one in its place, without `has_name` it
    need not have the question's names.
    """
    if (
        (has_name and lacks_name(question, older, newer))
        or _has_other_speaker(older, newer)
        or _is_other_number(question, older, newer)
        or _opens_about_other(question, older, newer)
    ):
        return True
    held = list(question.held_subjects(older, newer))
    lost = {term for term, own, other in held if own > other}
    missing = lost - question.attributes
    shared = {term for term, own, other in held if own and other}
    if (
        _is_of_owner(question, older, newer)
        or _is_other_topic(older, newer, missing)
        or _begins_alike(older, newer, lost)
    ):
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
    if (
        any(term_of(head) in heads and older.lacks_subject(word) for word, head in newer.pairs)
        or _has_other_key(question, older, newer, missing)
        or _is_for_other(question, older, newer, missing)
        or _is_other_object(older, newer, missing)
    ):
        return True
    if may_miss:
        return False
    # "for the *frontend*" and "for the *docs site*", or for nothing that the question names
    return any(term_of(noun) in missing for noun in older.nouns(before_verbs=not of_name))


def _has_other_key(
    question: Question, older: ComparedLine, newer: ComparedLine, missing: set[str]
) -> bool:
    """Return whether two lines have other words before their colon: "*stout*: …", "*ale*: …".

    In rows of a table, other words in their first cells.
    """
    key, other = _key(older), _key(newer)
    asked = question.term_set.intersection(map(older.term_of, key))
    if len(older.keys) > 1 and len(newer.keys) > 1:
        return not asked.isdisjoint(missing) and any(map(older.lacks_subject, other))
    has_other = bool(other) and all(map(older.lacks_subject, other))
    return has_other and bool(asked) and asked <= missing


def _key(line: ComparedLine) -> Sequence[str]:
    """Return the words, less numbers, of a key, a row's first cell or a speaker; none of others."""
    words = line.keys[-1][0] if line.keys else words_of(line.speaker or "")
    return [word for word in words if not word.isdigit()]


def _is_other_topic(older: ComparedLine, newer: ComparedLine, missing: set[str]) -> bool:
    """Return whether a line of a script without spaces lacks what the other one begins with."""
    topic = older.topic
    is_named = topic[: (2 * len(topic) + 2) // 3] in newer.text
    return not is_named and any(term in topic or topic in term for term in missing)


def _is_of_third_person(question: Question, older: ComparedLine, newer: ComparedLine) -> bool:
    """Return whether "do *I* fast" is asked, and the newer line has "*she* fasts"."""
    if not (question.is_first_person and has_word("first_person", older.words)):
        return False
    # "*She* is ill. The trip is off" is about the trip.
    asked = [it for it in newer.phrases if question.term_set.intersection(map(older.term_of, it))]
    words = list(chain.from_iterable(asked)) or newer.words
    return has_word("third_person", words) and not has_word("first_person", words)


def _opens_about_other(question: Question, older: ComparedLine, newer: ComparedLine) -> bool:
    """Return whether a line begins with something else: "For the *cat*, a change"."""
    opening = newer.words[:_OPENING]
    for at in places_of("about", opening[:-1]):
        about = dropwhile(lambda word: is_word("article", word), newer.words[at + 1 :])
        word = next(about, "")
        if word and not word.isdigit() and older.lacks_subject(word):
            return newer.term_of(word) not in question.term_set and not is_date_word(word)
    return False


def _is_of_other_party(question: Question, older: ComparedLine, newer: ComparedLine) -> bool:
    """Return whether a line begins with another one, as in "*Nordkyst* has a new DPO"."""
    if not _PARTY.match(newer.text):
        return False
    known = ENGLISH | older.term_set | (question.subjects - question.attributes)
    return newer.words[0] not in known and newer.terms[0] not in known


def _is_of_other_environment(question: Question, older: ComparedLine, newer: ComparedLine) -> bool:
    """Return whether a line is of "staging", where "production" is asked of, or "prod"."""
    said = _environments(newer.words, newer.text)
    asked = said and _environments(question.words, question.text)
    if not asked:
        return False
    known = asked | _environments(older.words, older.text)
    return not any(word.startswith(other[:_PREFIX]) for word in said for other in known)


def _environments(words: Sequence[str], text: str) -> frozenset[str]:
    """Return the environments that a text names, such as "staging"."""
    return parts_in("environment", text).union(words[at] for at in places_of("environment", words))


def _has_other_speaker(older: ComparedLine, newer: ComparedLine) -> bool:
    """Return whether two turns of a conversation are of two speakers."""
    return older.is_turn and newer.is_turn and older.speaker != newer.speaker


def _is_other_number(question: Question, older: ComparedLine, newer: ComparedLine) -> bool:
    """Return whether a thing has another number or letter: "hive *3*", "hive *5*"."""
    asked = question.numbers and question.numbers.intersection(older.pairs)
    if not asked:
        return False
    labels = labels_in(newer.text)
    others = {word for word, label in newer.pairs if label in labels}
    return any(pair[0] in others and pair not in newer.pairs for pair in asked)


def _begins_alike(older: ComparedLine, newer: ComparedLine, missing: set[str]) -> bool:
    """Return whether two lines differ in their first word: "*pickup* on …", "*delivery* on …"."""
    if len(older.terms) < 2 or older.terms[1:2] != newer.terms[1:2]:
        return False
    return older.terms[0] in missing and older.lacks_subject(newer.words[0])


def _is_for_other(
    question: Question, older: ComparedLine, newer: ComparedLine, missing: set[str]
) -> bool:
    """Return whether a line has "for the *lexer*" where the question has "for the *parser*"."""
    lost = {
        before
        for before, word in _belongings(question.words)
        if (term := older.term_of(word)) in missing and not newer.may_say((term,))
    }
    return any(
        before in lost and not word.isdigit() and older.lacks_subject(word)
        for before, word in _belongings(newer.words)
        if newer.term_of(word) not in question.term_set and not is_revision((before, word))
    )


def _belongings(words: Sequence[str]) -> Iterator[tuple[str, str]]:
    """Yield words such as "for" and "of", each with the next word that is no article."""
    for at in places_of("belonging", words):
        behind = (word for word in words[at + 1 : at + 3] if not is_word("article", word))
        yield from ((words[at], word) for word in islice(behind, 1))


def _is_of_other(question: Question, older: ComparedLine, newer: ComparedLine) -> bool:
    """Return whether what is asked for is of something else: "the key *of the shed*"."""
    if question.asks_person:  # it may be the answer: "secretary *of the club* is Ann"
        return False
    shared = {term for term, own, other in question.held_subjects(older, newer) if own and other}
    for words in newer.phrases:
        for at in places_of("belonging", words[1:]):
            whole = [word for word in words[at + 2 : at + 5] if not is_word("article", word)]
            is_verb = at > 0 and is_word("pronoun", words[at - 1])
            is_part = newer.term_of(words[at]) in shared and words[at] not in _TIME_WORDS
            if is_part and not is_verb and _are_unknown(question, older, whole[:2]):
                return True
    return False


def _are_unknown(question: Question, older: ComparedLine, words: Sequence[str]) -> bool:
    """Return whether words name what neither a question nor a line does, and no time or number."""
    known = question.term_set | older.term_set | _TIME_WORDS
    is_named = any(it.isdigit() or not known.isdisjoint((it, older.term_of(it))) for it in words)
    return not is_named and any(map(older.lacks_subject, words[:1]))


def _is_of_owner(question: Question, older: ComparedLine, newer: ComparedLine) -> bool:
    """Return whether something is another one's: "the *theme's* licence", "the *other* licence"."""
    if not newer.possessions:
        return False
    held = question.held_subjects(older, newer)
    shared = {term for term, own, other in held if own and other}
    owners = set(filter(older.lacks_subject, newer.owners))
    return any(
        (owner is None or owner in owners) and not shared.isdisjoint(terms)
        for owner, terms in newer.possessions
    )


def _is_other_object(older: ComparedLine, newer: ComparedLine, missing: set[str]) -> bool:
    """Return whether one verb has two objects, the first of them missing: "we buy *flour*"."""
    verbs = {verb for verb, noun in newer.objects() if older.lacks_subject(noun)}
    return any(older.term_of(noun) in missing and verb in verbs for verb, noun in older.objects())
