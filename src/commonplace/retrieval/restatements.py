"""Restatements: whether a newer line states another value than an older one, with no sign of it.

It is one sentence with another value, has another number or name in the same place, or another
person or amount where the question asks for one.
"""

from __future__ import annotations

import re
from difflib import SequenceMatcher
from itertools import islice
from typing import TYPE_CHECKING

from commonplace.retrieval.answer_types import ADDRESSES
from commonplace.retrieval.subjects import has_other_subject, speaks_of_relative
from commonplace.retrieval.value_slots import have_other_amount, other_values
from commonplace.text.stopwords import ENGLISH
from commonplace.text.time_expressions import weekday_names

if TYPE_CHECKING:
    from commonplace.retrieval.compared_line import ComparedLine
    from commonplace.retrieval.compared_question import Question

__all__ = ["is_later_event", "lacks_person", "restates", "speak_of_one"]

_ALL, _MOST, _THREE_FIFTHS, _HALF = 0.99, 0.7, 3 / 5, 1 / 2
_OPEN_TASK = "[ ] "
_ACRONYM = re.compile(r"\b[A-Z]{2,4}\b")
_SOME_WORDS = 0.2
"""Share of words that two answers to one question have in common."""
_SAME_WORDS = 0.6
"""Share of words, and of their order, from which two lines are one sentence with another value."""


def lacks_person(question: Question, older: ComparedLine, newer: ComparedLine) -> bool:
    """Return whether a person is asked for, and the newer line has none and not the older one's.

    "The choir has moved to the town hall" does not tell who conducts it.
    """
    if not (question.asks_person and question.tells_names):
        return False
    said, new = (
        {word for word in question.unasked_values(line) - weekday_names() if word.isalpha()}
        for line in (older, newer)
    )
    said -= {*map(str.lower, _ACRONYM.findall(older.text))}.intersection(newer.words)  # "the *PR*"
    # The first word may be a name, as in "*Ann* does it".
    opens = next(filter(str.isalpha, newer.text), "")
    is_named = not opens.islower() and any(
        word.isalpha()
        and older.lacks_subject(word)
        and newer.term_of(word) not in question.term_set
        for word in newer.words[:1]
    )
    return (
        bool(said) and not is_named and new.issubset(older.words) and said.isdisjoint(newer.words)
    )


def restates(
    question: Question,
    older: ComparedLine,
    newer: ComparedLine,
    *,
    of_two_days: bool,
    is_as_near: bool,
) -> bool:
    """Return whether a newer line states another value of the same thing.

    Args:
        question: The question.
        older: A line.
        newer: A line of a later day, or further down in the same file.
        of_two_days: Whether each has a day, and not the same, as the rows of a list have.
        is_as_near: Whether the newer line has next to as much evidence, below an equal heading.
    """
    if _has_other_address(question, older, newer):
        return not has_other_subject(question, older, newer, may_miss=True)
    if _same_sentence(question, older, newer) or (
        of_two_days and _same_slot(question, older, newer)
    ):
        return not has_other_subject(question, older, newer)
    if not of_two_days:
        return False
    if _OPEN_TASK in older.text and question.shared(older, newer).sum() > 1:
        return question.kept(older, newer) >= _MOST and not has_other_subject(
            question, older, newer, may_miss=True
        )
    if _answers_alike(question, older, newer):
        may_miss = question.kept(older, newer) >= _MOST
        return not has_other_subject(question, older, newer, may_miss=may_miss)
    # Two days, one question: "Hollis diary: cold room" holds now, whatever "box 14" was before.
    return (
        is_as_near
        and speak_of_one(question, older, newer)
        and not _share_a_name_alone(question, older, newer)
        and _may_answer_alike(question, older, newer, least=_THREE_FIFTHS)
        and older.common(newer) >= _SOME_WORDS
        and not ((values := question.unasked_values(older)) and values.issubset(newer.words))
        and not has_other_subject(question, older, newer)
    )


def is_later_event(question: Question, older: ComparedLine, newer: ComparedLine) -> bool:
    """Return whether an event comes once more when the last one is asked for.

    "When did we *last* change the oil?": two changes of oil are no correction of each other.
    """
    return (
        question.asks_last
        and older.is_short
        and newer.is_short
        and question.kept(older, newer) >= _HALF
        and question.shared(older, newer).sum() > 1
        and not has_other_subject(question, older, newer, may_miss=True)
        and not speaks_of_relative(question, older, newer)
    )


def _share_a_name_alone(question: Question, older: ComparedLine, newer: ComparedLine) -> bool:
    """Return whether two lines have nothing but names in common with a question that asks more.

    "What does *Anna* eat?" is answered by no line that says what Anna wants.
    """
    if not set(question.shared(older, newer).nonzero()[0].tolist()) <= set(question.names):
        return False
    names = {question.terms[at] for at in question.names}
    asked = (word for word in question.words if word not in ENGLISH)
    return any(older.term_of(word) not in names for word in asked)


def speak_of_one(question: Question, older: ComparedLine, newer: ComparedLine) -> bool:
    """Return whether it is no accident that two lines hold the same words of a question.

    Few lines hold them, or these two have much more in common, or other amounts of one unit.
    """
    return (
        question.tells_apart(older, newer)
        or older.common(newer) >= _HALF
        or have_other_amount(older.amounts, newer.amounts)
    )


def _same_sentence(question: Question, older: ComparedLine, newer: ComparedLine) -> bool:
    """Return whether two lines are one sentence with another value."""
    keys = zip(older.keys, newer.keys, strict=False)
    if any(key != other for (key, _), (other, _) in islice(keys, 1)):
        return False  # rows of one list, "room 17: Ann" and "room 18: Ben"
    if question.kept(older, newer) < _ALL or older.common(newer) < _SAME_WORDS:
        return False
    if len(older.words) < 3 or older.terms == newer.terms:
        return False
    return SequenceMatcher(None, older.terms, newer.terms, autojunk=False).ratio() >= _SAME_WORDS


def _same_slot(question: Question, older: ComparedLine, newer: ComparedLine) -> bool:
    """Return whether two lines that say as much of the question have other values in one place.

    What the question asks of its subject may be left out where numbers of so many digits say it:
    "shed code *4471*", "shed: *9032*".
    """
    if not _may_answer_alike(question, older, newer, least=0):
        return False
    if question.kept(older, newer) >= _ALL:
        return next(other_values(older.slots, newer.slots), None) is not None
    lost = {term for term, own, other in question.held_subjects(older, newer) if own > other}
    return lost <= question.attributes and any(
        slot.is_number and [*map(len, slot.value)] == [*map(len, other.value)]
        for slot, other in other_values(older.bare_slots, newer.bare_slots)
    )


def _has_other_address(question: Question, older: ComparedLine, newer: ComparedLine) -> bool:
    """Return whether a telephone number or a mail address is asked for, and two lines have one.

    Of what is asked for the newer one may say nothing: "a new phone for Mum: *07700 900862*".
    """
    if not _may_answer_alike(question, older, newer, least=_SOME_WORDS):
        return False
    held = [
        [[*map(_bare, kind.mark.findall(line.text))] for line in (older, newer)]
        for kind in question.answer_types
        if kind in ADDRESSES
    ]
    is_other = any(len(own) == len(other) == 1 and own != other for own, other in held)
    return is_other and question.tells_apart(older, newer)


def _bare(address: str) -> str:
    """Return an address without the signs by which people part it."""
    return "".join(sign for sign in address.casefold() if sign.isalnum() or sign == "@")


def _answers_alike(question: Question, older: ComparedLine, newer: ComparedLine) -> bool:
    """Return whether two lines have other persons, or other amounts of a unit, to answer with."""
    if not _may_answer_alike(question, older, newer, least=_HALF):
        return False
    first = question.subjects.intersection(older.terms[:1])
    if first and not newer.may_say(first):
        return False  # "*Door* of the shed", "window of the shed"
    if have_other_amount(older.amounts, newer.amounts) or _goes_on_from_value(
        question, older, newer
    ):
        return True
    if not speak_of_one(question, older, newer):
        return False
    if question.asks_person and question.tells_names:
        left, new = older.values.difference(newer.words), newer.values.difference(older.words)
        return any(map(str.isalpha, left)) and any(map(str.isalpha, new))
    return (
        question.asks_number
        and question.kept(older, newer) >= _MOST
        and _have_other_number(older, newer)
    )


def _have_other_number(older: ComparedLine, newer: ComparedLine) -> bool:
    """Return whether two lines have a number each, and not the same one, whatever its unit.

    As in "*36* participants" and "after today's consents the count is *57*".
    """
    number, other = (list(filter(str.isdigit, line.words)) for line in (older, newer))
    return len(number) == len(other) == 1 and number != other


def _goes_on_from_value(question: Question, older: ComparedLine, newer: ComparedLine) -> bool:
    """Return whether a line names the older one's value, and behind it another of its kind.

    "*Ann* is too busy, *Ben* drives the van"; "*30* seconds were too few, it waits for *90*".
    """
    was, known = older.values.difference(question.words), {*older.words, *question.words}
    kinds = (str.isdigit, str.isalpha) if question.tells_names else (str.isdigit,)
    for is_kind in kinds:
        words = list(filter(is_kind, newer.words))
        named = next((at for at, word in enumerate(words) if word in was), len(words))
        if any(word in newer.values and word not in known for word in words[named:]):
            return True
    return False


def _may_answer_alike(
    question: Question, older: ComparedLine, newer: ComparedLine, *, least: float
) -> bool:
    """Return whether two short lines, not both turns of speech, share so much of the question."""
    if question.asks_event or (older.is_turn and newer.is_turn):
        return False
    is_short = older.is_short and newer.is_short
    return is_short and question.kept(older, newer) >= least
