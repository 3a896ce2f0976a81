"""Value slots: keys, numbers and names in a line, with the words around them, and amounts.

Also whether a line changes, or leaves out, the value that a question asks for.

Two lines with other numbers between the same words say of one thing how much it was and how much it
is: "sourdough loaf *4.80*", "sourdough loaf *5.40*, rye as ever".
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from itertools import chain, groupby, pairwise, product, takewhile
from typing import TYPE_CHECKING, NamedTuple

from commonplace.retrieval.answer_types import ADDRESSES, holds_answer
from commonplace.text.analysis import words_of
from commonplace.text.correction_cues import is_word
from commonplace.text.stopwords import ENGLISH
from commonplace.text.time_expressions import calendar_names

if TYPE_CHECKING:
    from commonplace.retrieval.compared_line import ComparedLine
    from commonplace.retrieval.compared_question import Question

__all__ = [
    "ValueSlot",
    "amounts",
    "changes_other_amount",
    "has_number",
    "have_other_amount",
    "is_of_other_matter",
    "key_values",
    "lacks_exact_value",
    "lacks_value",
    "named_of",
    "other_values",
    "replaces_value",
    "value_slots",
]

_AROUND = 3
"""Words on each side of a value that are compared."""
_PHONE_DIGITS = 7
_KEY = re.compile(
    r"\s*(?:(?:[-*+]|\d{1,9}[.)]|>)\s+)*[*_`]*([^\s*_`:=|][^:=|]{0,60}?)"
    r"[*_`]*\s*[:=\uff1a][*_`]*\s*(\S.*)"
)
_ROW = re.compile(r"\s*\|(.+)\|([^|]+)\|\s*")
_NUMBER = re.compile(r"\d[\d.,:]*\d|\d")
_AMOUNT = re.compile(
    rf"(?<![\w.,:])(?P<before>[€$£¥])?\s?(?P<number>{_NUMBER.pattern})\s?"
    r"(?P<unit>[€$£¥%°/]?[^\W\d_]*)"
)
_CLAUSE_END = re.compile(r"[,;|()]\s+|\s[–—-]\s|[;|]")
_CODE = re.compile(r"(?<![\d-])(?!(?:19|20)\d\d\b)\d(?:[ .-]?\d){3,}")
_CLOCK_TIME = re.compile(r"\b\d{1,2}(?:[:.h]\d\d\b| ?(?:[ap]m|uhr|h)\b)", re.IGNORECASE)
"""Values that a line has or has not: a number of four digits and more, and a time of day."""


class ValueSlot(NamedTuple):
    """Number or name in a line, with the terms around it.

    Attributes:
        is_number: Whether it is a number.
        value: Its terms.
        before: The terms before it, the nearest first.
        behind: The terms behind it.
    """

    is_number: bool
    value: Sequence[str]
    before: Sequence[str]
    behind: Sequence[str]


def value_slots(
    words: Sequence[str], terms: Sequence[str], names: Collection[str]
) -> Iterator[ValueSlot]:
    """Yield the numbers and names of a line.

    Args:
        words: The words of the line.
        terms: Their terms.
        names: Which of the words are names.
    """
    kinds = ("number" if word.isdigit() else "name" if word in names else "" for word in words)
    end = 0
    for kind, run in groupby(kinds):
        start, end = end, end + sum(1 for _ in run)
        if kind:
            before = terms[max(0, start - _AROUND) : start][::-1]
            behind = terms[end : end + _AROUND]
            yield ValueSlot(kind == "number", terms[start:end], before, behind)


def other_values(
    older: Sequence[ValueSlot], newer: Sequence[ValueSlot]
) -> Iterator[tuple[ValueSlot, ValueSlot]]:
    """Yield the numbers and names of a line that another one has not, with those in their place.

    The same place has two words on one side in common, or one on each, and not stop words alone.
    """
    known = {term for slot in older for term in slot.value}
    kept = {term for slot in newer for term in slot.value}
    left = (slot for slot in older if kept.isdisjoint(slot.value))
    others = [slot for slot in newer if known.isdisjoint(slot.value)]
    for slot, other in product(left, others):
        if slot.is_number != other.is_number or _is_phone(slot) != _is_phone(other):
            continue
        around = _common_start(slot.before, other.before) + _common_start(slot.behind, other.behind)
        if len(around) > 1 and not ENGLISH.issuperset(around):
            yield slot, other


def _is_phone(slot: ValueSlot) -> bool:
    """Return whether a value may be the number of a telephone, and is no price."""
    return slot.is_number and sum(map(len, slot.value)) >= _PHONE_DIGITS


def _common_start(one: Sequence[str], other: Sequence[str]) -> list[str]:
    pairs = takewhile(lambda pair: pair[0] == pair[1], zip(one, other, strict=False))
    return [word for word, _ in pairs]


def key_values(text: str) -> Iterator[tuple[tuple[str, ...], str]]:
    """Yield the words of the key, and the value, of a ``key: value`` line or of a table's row.

    The key of a row is all but its last cell, or its first cell.
    """
    match = _ROW.fullmatch(text) or _KEY.fullmatch(text)
    if match is None:
        return
    yield tuple(words_of(match[1])), match[2].strip()
    first, _, rest = text.strip().strip("|").partition("|")
    if match.re is _ROW and "|" in rest:
        yield tuple(words_of(first)), rest.strip()


def amounts(text: str) -> dict[str, set[str]]:
    """Return the numbers of a text by their units, a word or a sign: "*42 psi*", "*£9*"."""
    found: dict[str, set[str]] = {}
    for match in _AMOUNT.finditer(text):
        if unit := match["before"] or match["unit"].lower():
            found.setdefault(unit, set()).add(match["number"])
    return found


def have_other_amount(older: Mapping[str, set[str]], newer: Mapping[str, set[str]]) -> bool:
    """Return whether a line has an amount of a unit of the older one, whose numbers it has not."""
    known = set(chain.from_iterable(older.values()))
    both = older.keys() & newer.keys()
    return any(known.isdisjoint(newer[unit]) and older[unit] - newer[unit] for unit in both)


def named_of(said: frozenset[str], gone: Iterable[set[str]]) -> set[str]:
    """Return which terms of a line are among those that are gone; of a number, all parts or none.

    Args:
        said: The terms of the line; "14.90" is two.
        gone: Terms of each value that another line says is over.
    """
    named: set[str] = set()
    for terms in gone:
        digits = set(filter(str.isdigit, terms))
        named |= terms & said if digits <= said else (terms - digits) & said
    return named


def is_of_other_matter(question: Question, older: ComparedLine, newer: ComparedLine) -> bool:
    """Return whether a line changes what the other one does not say, and no more of the question.

    "Postgres backup moved *from 02:00* to 04:30" tells no version of Postgres.
    """
    gone = [left for terms in newer.replaced if (left := terms - question.term_set)]
    if not gone or replaces_value(question, older, gone):
        return False
    held = list(question.held_subjects(older, newer))
    if any(other > own for _, own, other in held):
        return False
    # Where both say as much of the question, a verb does not tell: "ya no *puede*".
    is_value = any(word.isdigit() or word in newer.values for terms in gone for word in terms)
    is_sure = is_value or newer.left_behind
    return bool(is_sure) or any(own > other for _, own, other in held)


def changes_other_amount(question: Question, older: ComparedLine, newer: ComparedLine) -> bool:
    """Return whether a line has numbers of units alone that the other one has of something else.

    "Agitation raised to *220 rpm*" changes no temperature of "incubation at 28 °C, 180 rpm".
    """
    asked, units, others = set(_NUMBER.findall(question.text)), set[str](), set[str]()
    for clause in _CLAUSE_END.split(older.text):
        is_asked = not question.subjects.isdisjoint(map(older.term_of, words_of(clause)))
        found = (unit for unit, numbers in amounts(clause).items() if numbers - asked)
        (units if is_asked else others).update(found)
    changed = set[str]().union(*(newer.amounts.get(unit, ()) for unit in others - units))
    known = asked.union(_NUMBER.findall(older.text))
    return bool(units and changed) and known.union(changed).issuperset(_NUMBER.findall(newer.text))


def replaces_value(question: Question, older: ComparedLine, gone: Iterable[set[str]]) -> bool:
    """Return whether what is no more may be what a line says of that which is asked for."""
    said = [terms for terms in gone if older.may_say(terms)]
    if _are_other_amounts(question, older, said):
        return False
    numbers = [any(map(str.isdigit, terms)) for terms in said]
    if question.asks_number and any(map(str.isdigit, older.words)):
        return any(numbers)
    return bool(said)


def _are_other_amounts(question: Question, older: ComparedLine, gone: Iterable[set[str]]) -> bool:
    """Return whether numbers are gone that are not of what is asked for, as others of the line are.

    "How much salt?" is not asked of "*325* g water, *15* g salt" as the water becomes 350.
    """
    left: set[str] = set().union(*gone)
    if not left or not all(map(str.isdigit, left)):
        return False
    places = [at for at, term in enumerate(older.terms) if term.isdigit()]
    is_asked = {
        at: not question.subjects.isdisjoint(older.terms[max(0, at - _AROUND) : at + _AROUND + 1])
        for at in places
    }
    said = [is_asked[at] for at in places if older.terms[at] in left]
    others = [is_asked[at] for at in places if older.terms[at] not in left]
    return bool(said) and not any(said) and any(others)


def lacks_value(question: Question, older: ComparedLine, newer: ComparedLine) -> bool:
    """Return whether the older line has the number that is asked for, the newer one none.

    "The VPN listens on port 51820" still says more than "Moved the VPN to another port".
    """
    parts = map(words_of, older.text.split(", "))  # "port: *8443*", not "food, *60* g"
    is_given = any(
        older.term_of(word) in question.attributes and other.isdigit()
        for part in parts
        for word, other in pairwise(part)
    )
    if is_given and not has_number(newer):
        return True
    kinds = (kind for kind in question.answer_types if kind not in ADDRESSES)
    is_lost = any(holds_answer(older.text, it) and not holds_answer(newer.text, it) for it in kinds)
    return is_lost and not _names_time(newer)


def lacks_exact_value(question: Question, older: ComparedLine, newer: ComparedLine) -> bool:
    """Return whether the older line has the time, number or address asked for, the newer none."""
    # A word of change may come with a value in other words: "closes at noon now".
    asked = [it for it in question.answer_types if it in ADDRESSES or not newer.has_cue]
    held = [kind for kind in asked if holds_answer(older.text, kind)]
    is_lost = bool(held) and not any(holds_answer(newer.text, kind) for kind in asked)
    if is_lost and (not _names_time(newer) or any(kind in ADDRESSES for kind in held)):
        return True
    code = question.asks_attribute and _CODE.search(older.text)
    is_given = code or (question.asks_time and _CLOCK_TIME.search(older.text))
    return bool(is_given) and not has_number(newer)


def _names_time(line: ComparedLine) -> bool:
    """Return whether a line has a clock time, a month or a day of the week: "on Mondays"."""
    names = calendar_names()
    return _CLOCK_TIME.search(line.text) is not None or any(
        word in names or word.removesuffix("s") in names for word in line.words
    )


def has_number(line: ComparedLine) -> bool:
    """Return whether a line has a number, or says that there is none."""
    return any(any(map(str.isdigit, word)) or is_word("negation", word) for word in line.words)
