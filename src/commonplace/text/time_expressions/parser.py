"""Parser of time expressions: the days that all phrases of a question together name."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from datetime import date
from functools import cache

from commonplace.text.analysis import folded
from commonplace.text.time_expressions.days import Days
from commonplace.text.time_expressions.meanings import WEEKDAYS, Words, in_context
from commonplace.text.time_expressions.month_names import (
    MONTH_HEADS,
    MONTH_NAMES,
    with_english_months,
)
from commonplace.text.time_expressions.phrases import Phrase, phrases, rules, with_each_month
from commonplace.text.time_expressions.relative_days import (
    RELATIVE_HEADS,
    WEEKDAY_NAMES,
    with_english_days,
)

__all__ = [
    "TIME_WORD",
    "calendar_names",
    "days_named",
    "is_date_word",
    "weekday_names",
    "without_times",
]

TIME_WORD = re.compile(
    r"\d|day|night|week|month|year|morrow|morning|afternoon|evening"
    rf"|spring|summer|autumn|fall|winter|\b(?:{MONTH_HEADS})|{RELATIVE_HEADS}"
)
"""A fast check: a question in lower case without any of these names no days. Where case is ignored,
the pattern takes ten times as long."""
_DATE_WORD = re.compile(
    rf"(?:\d{{1,2}}(?:st|nd|rd|th)?|(?:19|20)\d\d|{MONTH_NAMES})", re.IGNORECASE
)
_OTHER_FORMS = (
    "jan feb mar apr aug sep sept oct nov dec mandagen poniedziałku wtorku środy czwartku piątku "
    "soboty niedzieli понедельника вторника среды пятницы субботы воскресенья"
)
"""Forms of months and of days of the week in which questions rarely name them."""
_VERBS = ("march", "may")
_WEAK_LEADS = ("", "and", "on", "or", "through", "to")
"""Words before "may" or "jan" that do not make it a month, as "in" does."""


def days_named(query: str, today: date) -> Days | None:
    """Return the days that a question names, from the first to the last; None when it names none.

    Dates take precedence over days relative to today ("last week"), and those over a mere year. A
    date without a year is the latest that has begun. "may" and "march" count as months only where
    the words around them are unambiguous.

    Args:
        query: English; a date may also be in ISO 8601, ``7.5.2023``, or have the month of another
            language; "yesterday" and "last week" may be in some others, too.
        today: The day after "yesterday".
    """
    if not TIME_WORD.search(query.lower()):
        return None
    text = with_english_months(with_english_days(" ".join(query.lower().split())))
    text = with_each_month(text)
    spans = (_named_by(_credible(list(phrases(text, group))), today) for group in rules())
    return next(filter(None, spans), None)


@cache
def calendar_names() -> frozenset[str]:
    """Return the names of months and of days of the week, in some thirty languages, folded."""
    names = (*WEEKDAYS, *WEEKDAY_NAMES, *MONTH_NAMES.split("|"), *_OTHER_FORMS.split())
    return frozenset(map(folded, names))


@cache
def weekday_names() -> frozenset[str]:
    """Return the names of the days of the week alone, which are no person's: June is a name."""
    return frozenset(map(folded, (*WEEKDAYS, *WEEKDAY_NAMES)))


def is_date_word(word: str) -> bool:
    """Return whether a word is a month, a year, or the day of a month."""
    return bool(_DATE_WORD.fullmatch(word))


def without_times(query: str) -> str:
    """Remove expressions relative to today, such as "last week", from a query."""
    text = with_english_days(" ".join(query.lower().split()))
    for pattern, _ in rules()[1]:
        text = pattern.sub(" ", text)
    return text


def _credible(found: Sequence[Phrase]) -> list[Phrase]:
    """Filter out phrases that only look like a date; beside a certain one, "and may" counts."""
    if not any(_is_surely_a_time(words) for words, _ in found):
        return []
    return [
        Phrase(words, meaning)
        for words, meaning in found
        if _is_surely_a_time(words) or words["lead"] or words.get("day")
    ]


def _is_surely_a_time(words: Words) -> bool:
    month = words.get("month")
    if not month or any(words.get(sign) for sign in ("year", "suffix", "part", "nth")):
        return True
    if words.get("day"):
        return month not in _VERBS or words["lead"] != ""
    return bool(words["only_month"]) or words["lead"] not in _WEAK_LEADS


def _named_by(found: Sequence[Phrase], today: date) -> Days | None:
    """Return the days from the first to the last; a year named once applies to all phrases."""
    year = next((words["year"] for words, _ in found if words.get("year")), "")
    days = _union(_spans(found, today, year))
    if days is None or year:
        return days
    # "in May or June", asked in May: not the June of the year before.
    same_year = _union(_spans(found, today, str(days.first.year))) or days
    return min(days, same_year, key=lambda span: span.last - span.first)


def _spans(found: Iterable[Phrase], today: date, year: str) -> Iterator[Days]:
    """Yield the days of each phrase but "30 February"; `year` completes dates without one."""
    for words, meaning in found:
        if words.get("year") == "":
            words = {**words, "year": year}
        with suppress(ValueError, OverflowError):
            yield in_context(meaning(words, today), words, today)


def _union(spans: Iterable[Days]) -> Days | None:
    known = list(spans)
    if len(known) < 2:
        return known[0] if known else None
    return Days(min(span.first for span in known), max(span.last for span in known))
