"""Phrases of time expressions: a pattern for each, with the function of its meaning.

Patterns match lower-case text with single spaces. All repetitions are bounded, so that time is
linear in the length of the text.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from functools import cache
from typing import NamedTuple, TypeAlias

from commonplace.text.time_expressions import meanings
from commonplace.text.time_expressions.meanings import WEEKDAYS, Meaning, Words

__all__ = ["Phrase", "Rule", "phrases", "rules"]


Rule: TypeAlias = tuple[re.Pattern[str], Meaning]
"""A kind of phrase: its pattern and its meaning."""


class Phrase(NamedTuple):
    """A match in a text: the words by the names of the pattern's groups, and the meaning."""

    words: Words
    meaning: Meaning


def phrases(text: str, rules: Iterable[Rule]) -> Iterator[Phrase]:
    """Yield the matches of the rules in order; each rule's matches are removed from the text."""
    for pattern, meaning in rules:
        for match in pattern.finditer(text):
            yield Phrase(match.groupdict(""), meaning)
        text = pattern.sub("|", text)


_DAY = r"(?P<day>0?[1-9]|[12]\d|3[01])"
_NTH_DAY = rf"{_DAY}(?P<suffix>st|nd|rd|th)?\b"
_MONTH_NUMBER = r"(?P<month>0?[1-9]|1[0-2])"
_MONTH = (
    "(?P<month>(?P<only_month>january|february|april|june|july|august|september|october|november"
    r"|december)|march|may|jan|feb|mar|apr|jun|jul|aug|sept?|oct|nov|dec)\b\.?"
)
_YEAR = r"(?P<year>(?:19|20)\d\d)\b"
_OF_YEAR = rf"(?:,? ?(?:of )?{_YEAR})"
_COUNT = (
    r"(?:a )?(?P<count>\d{1,3}|an?|one|two|three|four|five|six|seven|eight|nine|ten"
    "|couple|few|several)(?: of)?"
)
_WEEKDAY = "|".join(WEEKDAYS)
_UNIT = rf"(?P<unit>day|night|week|weekend|fortnight|month|year|{_WEEKDAY})s?\b"
_WHICH = "(?P<which>last|past|previous|this|next|current)"
_PART = "(?:(?P<part>early|mid|middle of|late|end of|start of|beginning of)[ -](?:the )?)"
_SINCE = "(?:(?P<lead>since) (?:the )?)?"
_LEAD = (
    "(?:(?P<lead>after|and|around|before|between|by|during|following|from|in|last|next|of|on|or"
    "|past|prior to|since|through|throughout|till|to|until) (?:the )?)?"
)
_TWO_WEEKS_BEFORE = rf"(?:(?:{_COUNT} )?{_UNIT} (?=after|before|following|of|prior))?{_LEAD}"

_DATES = (
    rf"{_TWO_WEEKS_BEFORE}{_YEAR}[-/]{_MONTH_NUMBER}(?:[-/]{_DAY})?(?![-/]?\d)",
    rf"{_TWO_WEEKS_BEFORE}{_DAY}\.{_MONTH_NUMBER}\.{_YEAR}",
    rf"{_TWO_WEEKS_BEFORE}{_NTH_DAY}\.?(?: of)? {_MONTH}{_OF_YEAR}?",
    rf"{_TWO_WEEKS_BEFORE}{_MONTH} (?:the )?{_NTH_DAY}{_OF_YEAR}?",
)
_WEEK_OF_MONTH = (
    rf"{_SINCE}(?P<nth>first|second|third|fourth|1st|2nd|3rd|4th|last) week (?:of|in) "
    rf"{_MONTH}{_OF_YEAR}?"
)
_ONE_MONTH = rf"{_TWO_WEEKS_BEFORE}{_PART}?{_MONTH}{_OF_YEAR}?"
_QUARTER = rf"{_LEAD}(?P<season>q[1-4]|spring|summer|autumn|fall|winter){_OF_YEAR}"
_WHICH_SEASON = rf"{_SINCE}{_WHICH} (?P<season>spring|summer|autumn|fall|winter)\b"
_THE_SEASON = (
    # "for the summer" is a time, "for the summer concert" a thing
    r"(?P<lead>in|during|over|for(?! (?:the )?[a-z]+ \w)|since) (?:the )?"
    r"(?P<season>spring|summer|autumn|winter)\b"
)
_AGO = rf"{_SINCE}{_COUNT} {_UNIT} (?:ago|back|earlier)\b"
_LATELY = rf"(?:(?:last|past) {_COUNT}|the past|(?:in|over|during|within) the last) {_UNIT}"
_WHICH_UNIT = rf"{_SINCE}{_WHICH} (?P<unit>week|weekend|month|year|night|{_WEEKDAY})\b"
_ON_WEEKDAY = rf"(?P<lead>at|by|during|on|over|since|until) (?:the )?(?P<unit>weekend|{_WEEKDAY})\b"
_DAY_WORD = (
    rf"{_SINCE}(?P<word>day before yesterday|yesterday|today|tonight"
    r"|this (?:morning|afternoon|evening)|tomorrow|day after tomorrow)\b"
)
_IN_YEAR = (
    "(?:(?P<lead>in|during|since|until|throughout|between|from) (?:the year )?"
    rf"|{_PART}){_YEAR}(?! \w{{4,}}s\b)"  # "in 2000 lines" names none
    r"(?:(?: and | to |-)(?P<to_year>(?:19|20)\d\d)\b)?"
)
_DAYS_OF_MONTH = (
    r"\b(?P<first>0?[1-9]|[12]\d|3[01])(?:st|nd|rd|th)?\.? ?"
    r"(?:[-–]|(?:and|or|to|through|till|until|und|oder|bis|et|ou|au|y|o|al|e|en|tot|och|til|og)"
    rf"(?: (?:the|dem|le|el|il))? ) ?{_DAY}(?:st|nd|rd|th)?\.? (?:of |de )?{_MONTH}"
)


def with_each_month(text: str) -> str:
    """Name the month of each day: "12 and 14 october" becomes "12 october to 14 october"."""
    return re.sub(_DAYS_OF_MONTH, r"\g<first> \g<month> to \g<day> \g<month>", text)


@cache
def rules() -> tuple[tuple[Rule, ...], ...]:
    """Compile the rules: dates, days relative to today, years; in each, the longer ones first."""
    dates = (
        *(_rule(pattern, meanings.calendar_date) for pattern in _DATES),
        _rule(_WEEK_OF_MONTH, meanings.week_of_month),
        _rule(_ONE_MONTH, meanings.calendar_date),
        _rule(_QUARTER, meanings.season),
    )
    from_today = (
        _rule(_WHICH_SEASON, meanings.season),
        _rule(_THE_SEASON, meanings.season),
        _rule(_AGO, meanings.ago),
        _rule(_LATELY, meanings.until_today),
        _rule(_WHICH_UNIT, meanings.near_today),
        _rule(_ON_WEEKDAY, meanings.near_today),
        _rule(_DAY_WORD, meanings.on_day),
    )
    return dates, from_today, (_rule(_IN_YEAR, meanings.years),)


def _rule(pattern: str, meaning: Meaning) -> Rule:
    return re.compile(rf"\b{pattern}"), meaning
