"""Revoked values: whether a newer line says that what an older one answers with is over.

It names that value, or what hardly any line but the two names, and need not hold a word of the
question: "*Brandt* put the price up, so heating oil comes from Nordfuel now".
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import dropwhile, islice
from typing import TYPE_CHECKING

from commonplace.retrieval.answer_types import holds_answer
from commonplace.retrieval.restatements import speak_of_one
from commonplace.retrieval.subjects import has_other_subject, speaks_of_relative
from commonplace.retrieval.value_slots import named_of
from commonplace.text.analysis import folded, words_of
from commonplace.text.correction_cues import WordKind, has_word, is_revision, is_word
from commonplace.text.stopwords import ENGLISH
from commonplace.text.unspaced_scripts import is_unspaced

if TYPE_CHECKING:
    from commonplace.retrieval.compared_line import ComparedLine
    from commonplace.retrieval.compared_question import Question

__all__ = ["LEAST_SHARED", "names_old_value", "names_value", "replaces_name", "revokes"]

LEAST_SHARED = 0.2
"""Share of the question, by idf, that two lines hold together, at least."""
_BEHIND = 3
"""Words behind a name that may say that its bearer leaves."""
_OPENING = 4
"""Words of a line that begin it."""
_OVER: tuple[WordKind, ...] = ("ended", "negation", "from")
"""Kinds of words by one of which a line says that something is over."""
_RARE_CHARS = 4
"""Letters of a rare word, at least."""
_NAME_CHARS, _UNSPACED_CHARS = 3, 2
"""Signs of a name or a code, at least; of one in an unspaced script."""
_VALUE_WORDS = 3
"""Words of a value that is a name, at most."""
_VALUE_END = re.compile(r"[,;(，、。（·|]|(?<=\w{4})\.|\s[-–—]\s")
_WORD = re.compile(r"\w+")


def names_old_value(older: ComparedLine, newer: ComparedLine) -> bool:
    """Return whether a line says that something has changed and names all that another one says.

    So the order of two lines is known without their days: "uses port 9200, no longer port 9100".
    A sentence whose words all occur in another one is no value.
    """
    is_value = 0 < len(older.content) <= _VALUE_WORDS
    return is_value and newer.has_cue and older.content < newer.content


def names_value(question: Question, older: ComparedLine, newer: ComparedLine) -> bool:
    """Return whether a note may say that what another one has is over.

    It says that something has changed and has a name of the other one, or begins with that name.

    So "we dropped *Brandt* for Nordfuel" may correct "heating oil: Brandt", though the question's
    words are in one of them alone.
    """
    if newer.is_turn:
        return False
    if _names_another(question, older, newer):
        return True
    changes = is_revision(newer.words, newer.text)
    named = newer.words if changes else newer.words[:_OPENING]
    if changes and _shares_phrase(question, older, newer):
        return True
    opens = question.tells_names and not older.values.isdisjoint(named)
    if not (opens or changes or any(has_word(kind, newer.words) for kind in _OVER)):
        return False  # as of most
    if _names_what_ended(question, older, newer):
        return True
    if opens or all(map(older.content.isdisjoint, newer.replaced)):
        return opens
    # "Time tracking is no longer on *MySQL*" has a subject of its own.
    return older.may_say([term for term in newer.terms if term not in ENGLISH][:1])


def revokes(question: Question, older: ComparedLine, newer: ComparedLine) -> bool:
    """Return whether a line says that something has changed and names the older line's value.

    "*Jana* and *Marek* broke up" is about the line that says "Jana's boyfriend is Marek", whatever
    else the two have in common.
    """
    if not (older.is_short and newer.is_short) or question.asks_event:
        return False
    asked = question.term_set
    said = _named_values(question, older, newer)
    is_ended = bool(said) and any(
        _ends(words) and any(_is_among(word, words) for word in said) for words in newer.phrases
    )
    if not (is_ended or newer.has_cue) or _is_said_of_another(question, older, newer):
        return False
    if _has_successor(question, older, newer, said):
        return not (
            speaks_of_relative(question, older, newer)
            or has_other_subject(question, older, newer, has_name=False, may_miss=True)
        )
    both = (older.term_set & newer.term_set) - ENGLISH - asked
    gone = named_of(older.term_set, (*newer.replaced, *newer.denied)) - asked
    is_akin = _names_what_ended(question, older, newer)
    is_named = (
        is_akin
        or _shares_phrase(question, older, newer)
        or any(term.isdigit() or question.is_rare(term) for term in gone)
        or any(not word.isdigit() and question.is_rare(word) for word in said)
    )
    shares = bool(said) or len(both) > 1 or bool(gone)
    if not (is_named or (shares and speak_of_one(question, older, newer))):
        return False
    if speaks_of_relative(question, older, newer):
        return False
    is_sure = is_akin or len(both) > 1 or any(map(str.isalpha, said))
    if any(older.held[at] and newer.held[at] for at in question.names):
        return not has_other_subject(question, older, newer, of_name=True, may_miss=is_sure)
    opens = is_ended and _opens_with(question, older, newer, said)
    return (is_sure or bool(gone)) and not has_other_subject(
        question, older, newer, has_name=not opens, may_miss=is_ended or is_akin
    )


def replaces_name(question: Question, older: ComparedLine, newer: ComparedLine) -> bool:
    """Return whether a line names what the older one answers with, and another in its place."""
    if not _names_another(question, older, newer) or speaks_of_relative(question, older, newer):
        return False
    opens = _opens_with(question, older, newer, _named_values(question, older, newer))
    return not has_other_subject(question, older, newer, has_name=not opens, may_miss=True)


def _names_another(question: Question, older: ComparedLine, newer: ComparedLine) -> bool:
    """Return whether a line names what hardly any but the older one names, and another beside it.

    "*Ben* has the class now, *Ann* is ill": of two that are named, the older one's is over.
    """
    if question.asks_event or not question.tells_names or newer.is_turn or older.place > 1:
        return False
    is_row = len(older.keys) > 1 and len(newer.keys) > 1
    if is_row or not (older.is_short and newer.is_short):
        return False
    titles = older.titles & newer.titles
    said = _named_values(question, older, newer) - titles
    if not said:  # as of most
        return False
    is_akin = question.kept(older, newer) >= LEAST_SHARED
    if not (is_akin or newer.has_cue or _ends(newer.words)):
        return False
    others = question.unasked_values(newer).difference(older.words) - titles
    # "Brandt *and* Nordfuel" are two at once, "Brian Ferrow" is one.
    words = newer.words
    near = {
        word
        for at, name in enumerate(words)
        if name in said
        for word in words[max(0, at - 2) : at + 3]
    }
    return not all(map(str.isdigit, others - near)) and _is_scarce(question, said, older)


def _named_values(question: Question, older: ComparedLine, newer: ComparedLine) -> frozenset[str]:
    """Return the names and numbers of a line that the newer one has, too, and no question.

    A short value behind a key is a name in any script: "做饭阿姨：*王姐*".
    """
    said = question.unasked_values(older).intersection(newer.words)
    if len(older.keys) != 1:
        return said
    words = words_of(_VALUE_END.split(older.keys[0][1])[0])
    if len(words) > _VALUE_WORDS:
        return said
    names = (word for word in words if not word.isdigit() and word not in ENGLISH)
    return said.union(
        word
        for word in names
        if older.term_of(word) not in question.term_set
        and _is_name(word)
        and _is_among(word, newer.words)
    )


def _opens_with(
    question: Question, older: ComparedLine, newer: ComparedLine, said: frozenset[str]
) -> bool:
    """Return whether a line begins with a name that hardly any but two hold: "Closed *Genki*".

    Then it is of that, and need not name what is asked for.
    """
    empty = question.stop_words
    speaker = words_of(newer.speaker or "")
    content = (
        word
        for word in newer.words[len(speaker) :]
        if word not in empty and not is_word("article", word) and not _ends([word])
    )
    first = frozenset(islice(content, 1)) & said
    return question.tells_names and _is_scarce(question, first, older)


def _is_scarce(question: Question, said: frozenset[str], line: ComparedLine) -> bool:
    """Return whether one of some values of a line is a name that hardly any lines but two hold."""
    spelled = (word for word in _WORD.findall(line.text) if folded(word) in said)
    return any(_is_name(word) and question.is_scarce(word) for word in spelled)


def _is_name(word: str) -> bool:
    least = _UNSPACED_CHARS if is_unspaced(word) else _NAME_CHARS
    return not word.isdigit() and len(word) >= least


def _is_among(word: str, words: Sequence[str]) -> bool:
    """Return whether a word is among some, or within one of an unspaced script."""
    return word in words or (is_unspaced(word) and any(word in other for other in words))


def _is_said_of_another(question: Question, older: ComparedLine, newer: ComparedLine) -> bool:
    """Return whether another one has changed something: "*Paula* gave up her Riverside membership".

    Only where two lines have hardly a word of the question in common.
    """
    if question.kept(older, newer) >= LEAST_SHARED:
        return False
    empty = question.stop_words
    known = question.term_set | older.term_set
    starts = [
        list(dropwhile(lambda word: word in empty or is_word("article", word), words))[:2]
        for words in newer.phrases
        if _ends(words)
    ]
    return bool(starts) and all(
        words and newer.term_of(words[0]) not in known and not _ends(words) for words in starts
    )


def _names_what_ended(question: Question, older: ComparedLine, newer: ComparedLine) -> bool:
    """Return whether a line says that something is over, in a word of hardly any but these two.

    "The *mill* burned down" is about "Our base is the old *mill*".
    """
    if not has_word("ended", newer.words) and not newer.negated:
        return False
    both = {it for it in newer.words if len(it) >= _RARE_CHARS and it.isalpha()} & {*older.words}
    if not both:
        return False
    is_over = {word for words in newer.phrases if has_word("ended", words) for word in words}
    return any(
        (word in is_over or newer.term_of(word) in newer.negated)
        and older.term_of(word) in older.content
        and question.is_scarce(word)
        for word in both
    )


def _shares_phrase(question: Question, older: ComparedLine, newer: ComparedLine) -> bool:
    """Return whether two lines have what is asked for, as a time, and one rare phrase.

    As of "which day is the recycling?" in "*blue bin* out on Tuesdays" and "*blue bin* on Fridays".
    """
    kinds = [kind for kind in question.answer_types if holds_answer(older.text, kind)]
    if not any(holds_answer(newer.text, kind) for kind in kinds):
        return False
    empty = question.stop_words
    phrases = {tuple(map(newer.term_of, pair)) for pair in newer.pairs}
    return any(
        (terms := tuple(map(older.term_of, pair))) in phrases
        and question.term_set.isdisjoint(terms)
        and all(it.isalpha() and it not in empty and question.is_scarce(it) for it in pair)
        for pair in older.pairs
    )


def _has_successor(
    question: Question, older: ComparedLine, newer: ComparedLine, said: frozenset[str]
) -> bool:
    """Return whether a person is asked for, who leaves, and the newer line names another one.

    What both are asked for it need not say: "Holloway leaves at half term, Farah has the class".
    """
    if not (question.asks_person and question.tells_names):
        return False
    named = said - older.titles
    leaves = any(
        word in named and word.isalpha() and _ends(words[at + 1 : at + 1 + _BEHIND])
        for words in newer.phrases
        for at, word in enumerate(words)
    )
    others = question.unasked_values(newer).difference(older.words)
    return leaves and any(map(str.isalpha, others))


def _ends(words: Sequence[str]) -> bool:
    return is_revision(words) or any(is_word("ended", word) for word in words)
