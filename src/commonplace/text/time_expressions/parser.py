"""A question's days: what all of its phrases together name."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from datetime import date

from commonplace.text.time_expressions.days import Days
from commonplace.text.time_expressions.meanings import Words, in_context
from commonplace.text.time_expressions.phrases import Phrase, has_time_word, phrases, rules

__all__ = ["days_named", "without_times"]

_VERBS = ("march", "may")
_WEAK_LEADS = ("", "and", "on", "or", "through", "to")
"""What does not make a month of "may" or "jan", as "in" does."""


def days_named(query: str, today: date) -> Days | None:
    """Return the days that a question names, from the first to the last; None when it names none.

    Dates say more than words counted from today, such as "last week", and those more than a mere
    year. What has no year is the latest that has begun. "may" and "march" count only where the
    words around them leave no doubt.

    Args:
        query: English; a date may also be in ISO 8601, or ``7.5.2023``.
        today: The day after "yesterday".
    """
    text = " ".join(query.lower().split())
    if not has_time_word(text):
        return None
    spans = (_named_by(_credible(list(phrases(text, group))), today) for group in rules())
    return next(filter(None, spans), None)


def without_times(query: str) -> str:
    """Return a query without what counts from today, such as "last week"."""
    text = " ".join(query.lower().split())
    for pattern, _ in rules()[1]:
        text = pattern.sub(" ", text)
    return text


def _credible(found: Sequence[Phrase]) -> list[Phrase]:
    """Leave out what only looks like a date; beside a sure one, "and may" is one too."""
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
    """Return the days from the first to the last; a year named once is meant throughout."""
    year = next((words["year"] for words, _ in found if words.get("year")), "")
    days = _union(_spans(found, today, year))
    if days is None or year:
        return days
    # "in May or June", asked in May: not the June of the year before.
    same_year = _union(_spans(found, today, str(days.first.year))) or days
    return min(days, same_year, key=lambda span: span.last - span.first)


def _spans(found: Iterable[Phrase], today: date, year: str) -> Iterator[Days]:
    """Yield the days of each phrase but "30 February"; the year is for dates without one."""
    for words, meaning in found:
        if words.get("year") == "":
            words = {**words, "year": year}
        with suppress(ValueError, OverflowError):
            yield in_context(meaning(words, today), words, today)


def _union(spans: Iterable[Days]) -> Days | None:
    known = list(spans)
    if not known:
        return None
    return Days(min(span.first for span in known), max(span.last for span in known))
