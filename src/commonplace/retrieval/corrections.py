"""Corrections: whether a newer line corrects an older one, as far as their words show it.

Two lines are compared with each other and with the question that both may answer. Structure decides
first: the same key, the same words with another value, the old value named beside a negation. Cue
words ("instead of", "no longer") count only where both lines speak of what was asked, and not where
the newer one speaks of another subject, asks, plans or quotes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import reduce
from typing import TYPE_CHECKING, NamedTuple

from commonplace.retrieval.restatements import (
    is_later_event,
    lacks_person,
    restates,
    speak_of_one,
)
from commonplace.retrieval.revoked_values import replaces_name, revokes
from commonplace.retrieval.subjects import (
    adds_another,
    has_other_subject,
    lacks_name,
    speaks_of_another,
)
from commonplace.retrieval.value_slots import (
    changes_other_amount,
    is_of_other_matter,
    lacks_exact_value,
    lacks_value,
    replaces_value,
)
from commonplace.text.analysis import words_of
from commonplace.text.stopwords import ENGLISH
from commonplace.text.word_forms import parts_of

if TYPE_CHECKING:
    from commonplace.retrieval.compared_line import ComparedLine
    from commonplace.retrieval.compared_question import Question
    from commonplace.types import SupersessionReason

__all__ = ["Judgement", "judge", "judge_successor"]

_ALL, _MOST, _HALF, _TWO_FIFTHS, _THIRD, _QUARTER = 0.99, 0.7, 1 / 2, 2 / 5, 1 / 3, 1 / 4
_KEPT = 0.27
"""Share of what the older line holds of the question that a correction of it holds, at least."""
_QUOTED_WORDS = 3
"""Words of a name or a value in marks of quotation, at most."""
_LONG_VALUE = 3
"""Words from which on a value is a sentence."""


class Judgement(NamedTuple):
    """Result of a comparison: why one line stands back, and whether it is the older one."""

    reason: SupersessionReason
    older_stands_back: bool = True


def judge(
    question: Question,
    older: ComparedLine,
    newer: ComparedLine,
    *,
    same_place: Callable[[ComparedLine, ComparedLine, str], bool],
    of_two_days: bool,
    is_as_near: bool,
) -> Judgement | None:
    """Return which of two lines stands back when a question asks for now; None for neither.

    Args:
        question: The question.
        older: A line.
        newer: A line of a later day, or further down in the same file.
        same_place: Whether a key of two lines is one key, and not one of two places.
        of_two_days: Whether each has a day, and not the same, as the rows of a list have.
        is_as_near: Whether the newer line has next to as much evidence, below an equal heading.
    """
    if of_two_days and is_later_event(question, older, newer):
        return Judgement("value")
    if newer.is_doubtful or _quotes(older, newer):
        return _doubted(question, older, newer)
    if (
        lacks_person(question, older, newer)
        or adds_another(older, newer)
        or changes_other_amount(question, older, newer)
    ):
        return _stands_back("relative", question, older, newer)
    if any(same_place(older, newer, key) for key in _same_keys(question, older, newer)):
        return Judgement("key")
    # "Lotte instead of *Ravi*" changes no line that knows nothing of Ravi.
    is_said = any(terms - question.term_set for terms in newer.replaced)
    is_other = is_said and not replaces_value(question, older, newer.replaced)
    if not is_other and revokes(question, older, newer):
        return Judgement("cue")
    if speaks_of_another(question, older, newer) or is_of_other_matter(question, older, newer):
        return _stands_back("relative", question, older, newer)
    if is_other or lacks_exact_value(question, older, newer):
        return None
    if (
        not question.asks_event
        and _corrects(question, older, newer)
        and not lacks_value(question, older, newer)
    ):
        may_miss = newer.has_cue and question.kept(older, newer) >= _MOST
        has_other = has_other_subject(question, older, newer, may_miss=may_miss)
        return None if has_other else Judgement("cue")
    restated = replaces_name(question, older, newer) or restates(
        question, older, newer, of_two_days=of_two_days, is_as_near=is_as_near
    )
    return Judgement("value") if restated else None


def _doubted(question: Question, older: ComparedLine, newer: ComparedLine) -> Judgement | None:
    """Return that a doubtful line stands back, unless the question or the older one is alike."""
    is_asked_for = question.is_doubtful or lacks_name(question, newer, older)
    if older.is_as_doubtful_as(newer) or is_asked_for:
        return None
    return _stands_back("doubt", question, older, newer)


def _stands_back(
    reason: SupersessionReason, question: Question, older: ComparedLine, newer: ComparedLine
) -> Judgement | None:
    """Return that the newer line stands back, if both may speak of one thing and are short."""
    # What quotes and changes nothing says one thing, however long it is.
    is_quotation = reason == "doubt" and bool(newer.quotations) and not newer.has_cue
    if not (older.is_short and (newer.is_short or is_quotation)):
        return None
    # Nothing stands back for a line about something else.
    is_named = any(older.held[at] for at in question.names)
    if question.names and not (is_named or question.successors):
        return None
    are_close = older.common(newer) >= _THIRD
    # A conversation says a question's words in many turns, most of them about something else.
    if not are_close and not (older.is_turn and newer.is_turn):
        are_close = question.kept(older, newer) >= _TWO_FIFTHS
    return Judgement(reason, older_stands_back=False) if are_close else None


def judge_successor(
    question: Question, older: ComparedLine, newer: ComparedLine
) -> Judgement | None:
    """Return that a line stands back which tells what came later, when asked what was before.

    "*Hart* does our taxes" is no answer to "who did our taxes before Hart?".
    """
    later = question.successors
    if not newer.may_say(later) or not later.isdisjoint(older.term_set):
        return None
    said = question.unasked_values(older)
    if not said or said.issubset(newer.words):
        return None
    return _stands_back("value", question, older, newer)


def _share_names(question: Question, older: ComparedLine, newer: ComparedLine) -> bool:
    """Return whether two lines, not both turns of speech, hold a question's names.

    Where the question says what it asks of them, the newer line has to say it, too.
    """
    if (older.speaker and newer.speaker) or lacks_name(question, older, newer):
        return False
    if question.attributes and question.attributes.isdisjoint(newer.terms):
        return False
    return any(older.held[at] and newer.held[at] for at in question.names)


def _same_keys(question: Question, older: ComparedLine, newer: ComparedLine) -> Iterator[str]:
    """Yield what is before the value where both have one of a key that the question asks for."""
    for (key, was), (other, now) in zip(older.keys, newer.keys, strict=False):
        if key != other or was == now:
            continue
        if (
            any(map(str.isdigit, was))
            and not any(map(str.isdigit, now))
            and now.count(" ") >= _LONG_VALUE
        ):
            continue  # a sentence rather than a value
        terms = parts_of(map(older.term_of, key))
        in_key = sum(
            weight
            for term, weight, held in zip(question.terms, question.weights, older.held, strict=True)
            if held and term in terms
        )
        if in_key >= _ALL * older.share:
            yield older.text[: older.text.rfind(was)].strip()


def _corrects(question: Question, older: ComparedLine, newer: ComparedLine) -> bool:
    """Return whether the newer line has a cue, and the older one is what it changes."""
    shared = question.kept(older, newer)
    changes = newer.has_cue or _leaves(question, older, newer)
    if not changes and (shared < _HALF or not _denies(older, newer)):
        return False
    if not speak_of_one(question, older, newer):
        return False
    if older.is_short and newer.is_short and shared >= _KEPT:
        are_alike = (
            shared >= _ALL
            or older.common(newer) >= _QUARTER
            or _share_names(question, older, newer)
            or question.subjects_are_kept(older, newer)
        )
        if are_alike:
            return True
    holds_half = shared >= _HALF and older.share >= _HALF
    return holds_half and newer.has_cue and older.common(newer) >= _THIRD


def _quotes(older: ComparedLine, newer: ComparedLine) -> bool:
    """Return whether one line quotes sentences, what the other one says, or all its numbers."""
    if not newer.quotations:
        return False
    said = older.term_set - ENGLISH
    quotations = [words_of(part) for part in newer.quotations]
    if any(len(words) > _QUOTED_WORDS for words in quotations):
        return True
    quoted = [set(map(newer.term_of, words)) for words in quotations]
    if all(2 * len(said & terms) >= len(said) for terms in quoted):
        return True
    # 'The old sheet says "*salt 75 g*"' has no number of its own.
    own = reduce(lambda text, part: text.replace(part, " "), newer.quotations, newer.text)
    words = set[str]().union(*quoted)
    numbers = set(filter(str.isdigit, words))
    return bool(numbers) and not (said.isdisjoint(words - numbers) or any(map(str.isdigit, own)))


def _leaves(question: Question, older: ComparedLine, newer: ComparedLine) -> bool:
    """Return whether a line goes from what the other one says to something else: "from A to B"."""
    said = older.term_set - question.term_set if newer.left_behind else frozenset()
    return not all(map(said.isdisjoint, newer.left_behind))


def _denies(older: ComparedLine, newer: ComparedLine) -> bool:
    """Return whether one line denies what the other affirms: "port 9444, not 8081"."""
    different = (older.negated ^ newer.negated) - ENGLISH
    return not different.isdisjoint(older.term_set & newer.term_set)
