"""Meanings of time expressions: functions from the words of a phrase, and today, to days.

Words are given by the names of the pattern's groups, ``""`` for an optional group without a match.
All functions raise ValueError or OverflowError for days that are not in the calendar.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from datetime import date, timedelta
from typing import TypeAlias

from commonplace.text.time_expressions.days import Days, days_from, month_days, third_of

__all__ = [
    "WEEKDAYS",
    "Meaning",
    "Words",
    "ago",
    "calendar_date",
    "in_context",
    "near_today",
    "on_day",
    "season",
    "until_today",
    "week_of_month",
    "years",
]

Words: TypeAlias = Mapping[str, str]
"""A phrase, by the names of its parts."""

Meaning: TypeAlias = Callable[[Words, date], Days]
"""Function that returns the days of a phrase from its words and today."""

WEEKDAYS = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")
"""The days of the week, in the order of `date.weekday`."""

_MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_SEASONS = {"q1": 1, "spring": 3, "q2": 4, "summer": 6, "q3": 7, "autumn": 9, "fall": 9, "q4": 10}
_WEEKS = {"1st": 0, "first": 0, "2nd": 1, "second": 1, "3rd": 2, "third": 2, "4th": 3, "fourth": 3}
_NUMBERS = ("zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten")
_VAGUE_COUNTS = {"couple": 2, "few": 3, "several": 4}
_COUNTS = {name: number for number, name in enumerate(_NUMBERS)} | _VAGUE_COUNTS
_UNIT_DAYS = {"day": 1, "night": 1, "fortnight": 14, "month": 30.44, "year": 365.25}
_BEFORE_DAYS = 31
"""Length of "before may"."""
_STEPS = {"last": -1, "past": -1, "previous": -1, "next": 1}
_DAY_STEPS = {"day before yesterday": -2, "yesterday": -1, "tomorrow": 1, "day after tomorrow": 2}


def calendar_date(words: Words, today: date) -> Days:
    """Read a day or a month: "7 may 2023", "may 7", "in may", "2023-05"."""
    name = words["month"]
    month = int(name) if name.isdecimal() else _MONTHS.index(name[:3]) + 1
    day = int(words.get("day") or 0)

    def in_year(year: int) -> Days:
        return days_from(date(year, month, day)) if day else month_days(year, month)

    return _in_a_year(in_year, words, today)


def week_of_month(words: Words, today: date) -> Days:
    """Read "second week of november": weeks begin on the 1st, the 8th, the 15th and the 22nd."""
    month = calendar_date(words, today)
    if words["nth"] == "last":
        return days_from(month.last - timedelta(6), 7)
    return days_from(month.first + timedelta(weeks=_WEEKS[words["nth"]]), 7)


def season(words: Words, today: date) -> Days:
    """Read three months: "q2 2023", "summer of 2021", "last winter"."""
    month = _SEASONS.get(words["season"], 12)
    return _in_a_year(lambda year: month_days(year, month, count=3), words, today)


def _in_a_year(in_year: Callable[[int], Days], words: Words, today: date) -> Days:
    """Return the days in the year named, else the latest days that have begun.

    With "last" they are over, with "next" in the future, with "this" in the calendar year.
    """
    if year := words.get("year"):
        return in_year(int(year))
    spans = list(_possible(in_year, range(today.year - 4, today.year + 5)))
    step = _STEPS.get(words.get("which") or words.get("lead", ""), 0)
    if step < 0:
        return max(days for days in spans if days.last < today)
    if step > 0:
        return min(days for days in spans if days.first > today)
    ends_in = today.year if words.get("which") == "this" else None
    return max(days for days in spans if days.first <= today or days.last.year == ends_in)


def _possible(in_year: Callable[[int], Days], years: Iterable[int]) -> Iterator[Days]:
    """Skip the years that have no 29 February, or are beyond the calendar."""
    for year in years:
        with suppress(ValueError):
            yield in_year(year)


def ago(words: Words, today: date) -> Days:
    """Read "two weeks ago": a unit's length around that day, and more for "a few"."""
    length = _length(words)
    slack = timedelta(int((_unit_days(words) - 1) / 2))
    if words["count"] in _VAGUE_COUNTS:
        slack += timedelta(round(length.days / 4))
    return Days(today - length - slack, today - length + slack)


def until_today(words: Words, today: date) -> Days:
    """Read "the last two weeks", "in the past year"."""
    return Days(today - _length(words), today)


def _length(words: Words) -> timedelta:
    """Return the length of "two weeks"; a unit without a number counts once."""
    count = words.get("count", "")
    number = int(count) if count.isdecimal() else _COUNTS.get(count, 1)
    return timedelta(round(number * _unit_days(words)))


def _unit_days(words: Words) -> float:
    """Return the days from one unit to the next; weekends and Mondays are a week apart."""
    return _UNIT_DAYS.get(words["unit"], 7)


def near_today(words: Words, today: date) -> Days:
    """Read "last week", "this month", "over the weekend", "next friday", "on friday"."""
    which = words.get("which", "")
    step = _STEPS.get(which, 0)
    monday = today - timedelta(today.weekday())
    match words["unit"]:
        case "night":
            return days_from(today + timedelta(min(step, 0)))
        case "week":
            return days_from(monday + timedelta(weeks=step), 7)
        case "weekend":
            was_last_week = not which and today.weekday() < WEEKDAYS.index("saturday")
            return days_from(monday + timedelta(5, weeks=step - was_last_week), 2)
        case "month":
            return month_days(today.year, today.month + step)
        case "year":
            return month_days(today.year + step, 1, count=12)
        case weekday:
            return days_from(_weekday(WEEKDAYS.index(weekday), step, today))


def _weekday(weekday: int, step: int, today: date) -> date:
    """Return the next such weekday, or the latest, which may be today only without a step."""
    latest = today + timedelta(7 if step > 0 else step)
    return latest - timedelta((latest.weekday() - weekday) % 7)


def on_day(words: Words, today: date) -> Days:
    """Read "yesterday", "tonight", "day after tomorrow"."""
    return days_from(today + timedelta(_DAY_STEPS.get(words["word"], 0)))


def years(words: Words, today: date) -> Days:  # noqa: ARG001 - a meaning like the others
    """Read "in 2023", "between 2019 and 2021", "early 2023"."""
    first, last = int(words["year"]), int(words["to_year"] or words["year"])
    return Days(date(min(first, last), 1, 1), date(max(first, last), 12, 31))


def in_context(days: Days, words: Words, today: date) -> Days:
    """Apply the words before a date: "early", "since", "two weeks before"."""
    lead, has_unit = words.get("lead"), bool(words.get("unit"))
    if words.get("part"):
        days = third_of(days, words["part"])
    if lead == "since":
        return Days(days.first, max(days.last, today))
    if lead in ("before", "prior to") and not words.get("part"):
        if has_unit:
            return Days(days.first - _length(words), days.last)
        last = days.first - timedelta(1)
        return Days(days.first - timedelta(_BEFORE_DAYS), last, is_before=True)
    if has_unit and (lead in ("after", "following") or (lead == "of" and words.get("day"))):
        return Days(days.first, days.last + _length(words))
    return days
