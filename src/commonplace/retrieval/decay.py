"""Temporal decay: an exponential with a half-life."""

from __future__ import annotations

import math
from datetime import UTC, date, datetime, time, timedelta

__all__ = ["age_days", "decay_factor"]

_DAY = timedelta(days=1)


def age_days(day: date, now: datetime) -> float:
    """Return the days, with fractions, since midnight UTC of a day; 0 for a future day.

    Args:
        day: The day of a log.
        now: An aware time.
    """
    return max(0.0, (now - datetime.combine(day, time(), UTC)) / _DAY)


def decay_factor(age_days: float, half_life_days: float) -> float:
    """Return the factor, 0..1, by which an age lowers a score.

    It is 1 for an age or a half-life that is not finite, and for a half-life of 0 or less. A
    negative age counts as 0.
    """
    if not (math.isfinite(age_days) and math.isfinite(half_life_days) and half_life_days > 0):
        return 1.0
    return math.exp(-(math.log(2) / half_life_days) * max(0.0, age_days))
