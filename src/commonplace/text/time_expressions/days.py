"""Spans of days, and how close a log is to one."""

from __future__ import annotations

from datetime import date, timedelta
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

__all__ = ["Days", "closeness", "days_from", "month_days", "third_of"]

_GRACE_DAYS = 3
"""Days after an event in which notes about it are still written."""

_FADE_DAYS = 7
"""Distance, in days, at which closeness reaches 0."""

_EARLIER = 0.5
"""Closeness of a day long before a time, where what held before that time is asked for."""

_NEAR = 0.8
"""Closeness of a day beside a span: notes of the day itself tell more of it."""


class Days(NamedTuple):
    """A span of days, both ends included.

    Attributes:
        first: The first of them.
        last: The last.
        is_before: Whether they are named as before a time: of what held then, earlier days tell as
            well, and later ones do not.
    """

    first: date
    last: date
    is_before: bool = False


def closeness(days: ArrayLike, named: Days) -> NDArray[np.float32]:
    """Score days by their distance from a span: 1 within it, 0.8 up to three days later, then less.

    From a week before it, and a week after those days, the score is 0. Of a span before a time, it
    is 0.5 before the span and 0 after it.

    Args:
        days: Proleptic ordinals; 0 means undated and scores 0.
        named: The span that a question names.
    """
    ordinals = np.asarray(days, dtype=np.int64)
    before = named.first.toordinal() - ordinals
    after = ordinals - named.last.toordinal()
    beyond = np.maximum(before, after - _GRACE_DAYS)
    near = _NEAR * np.clip(1 - beyond / _FADE_DAYS, 0, 1)
    if named.is_before:
        near = np.where(before > 0, _EARLIER, 0)
    close = np.where((before <= 0) & (after <= 0), 1, near)
    return np.where(ordinals == 0, 0, close).astype(np.float32)


def days_from(first: date, count: int = 1) -> Days:
    """Return a day, or several in a row."""
    return Days(first, first + timedelta(count - 1))


def month_days(year: int, month: int, *, count: int = 1) -> Days:
    """Return the days of a month, or of several; month 0 is the December before, and so on.

    Raises:
        ValueError: The days are beyond the calendar.
    """
    return Days(_month_start(year, month), _month_start(year, month + count) - timedelta(1))


def _month_start(year: int, month: int) -> date:
    years, index = divmod(month - 1, 12)
    return date(year + years, index + 1, 1)


def third_of(days: Days, part: str) -> Days:
    """Return the early, middle or late third of a span, as the words of `part` name it."""
    third = (days.last - days.first) // 3
    if part in ("early", "start of", "beginning of"):
        return Days(days.first, days.first + third)
    if part in ("late", "end of"):
        return Days(days.last - third, days.last)
    return Days(days.first + third, days.last - third)
