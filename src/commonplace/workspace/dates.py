"""Dates that callers pass: a date, a time or ISO 8601 text to a day."""

from __future__ import annotations

from datetime import UTC, date, datetime, time, timedelta, tzinfo

from commonplace.renderers import brief

__all__ = ["parse_day", "parse_moment"]

_FIRST = datetime.min.replace(tzinfo=UTC) + timedelta(days=2)
_LAST = datetime.max.replace(tzinfo=UTC) - timedelta(days=2)
"""First and last moment that have a time in each zone."""


def parse_day(
    value: date | datetime | str, *, name: str = "date", timezone: tzinfo | None = None
) -> date:
    """Return the day of a date, a time, or an ISO 8601 text of either.

    Args:
        value: The argument of a caller.
        name: Name of the argument, for the error.
        timezone: Zone of the day of an aware time; its own by default.

    Raises:
        ValueError: The value is none of these.
    """
    if isinstance(value, str):
        value = _parse_iso(value, name=name)
    if isinstance(value, datetime):
        return _day_in(value, timezone)
    if isinstance(value, date):
        return value
    raise ValueError(_not_a_day(value, name=name))


def parse_moment(
    value: date | datetime | str, *, name: str = "as_of", timezone: tzinfo | None = None
) -> datetime:
    """Return a moment, aware: a time, or the end of a day.

    Args:
        value: The argument of a caller: a date, an aware time, or an ISO 8601 text of either.
        name: Name of the argument, for the error.
        timezone: Zone of the days; the machine's by default.

    Raises:
        ValueError: The value is none of these.
    """
    if isinstance(value, str):
        value = _parse_iso(value, name=name)
    if not isinstance(value, datetime):
        if not isinstance(value, date):
            raise ValueError(_not_a_day(value, name=name))
        day = min(max(value, _FIRST.date()), _LAST.date())
        end = datetime.combine(day, time.max)
        return _in_any_zone(end.replace(tzinfo=timezone) if timezone else end.astimezone())
    if value.tzinfo is None:
        raise ValueError(
            f"{name} is {value!r}, a time without a zone; give a date or an aware datetime."
        )
    return _in_any_zone(value)


def _in_any_zone(moment: datetime) -> datetime:
    """Return a moment, or the nearest one that has a time in each zone: "9999-12-31" has not."""
    return min(max(moment, _FIRST), _LAST)


def _parse_iso(text: str, *, name: str) -> date | datetime:
    for parse in (date.fromisoformat, datetime.fromisoformat):
        try:
            return parse(text.strip())
        except ValueError:
            continue
    raise ValueError(_not_a_day(text, name=name))


def _not_a_day(value: object, *, name: str) -> str:
    return (
        f"{name} is {brief.repr(value)}, which is not a day; "
        "give a datetime.date or an ISO text such as '2026-11-20'."
    )


def _day_in(moment: datetime, timezone: tzinfo | None) -> date:
    if moment.tzinfo is not None and timezone is not None:
        moment = _in_any_zone(moment).astimezone(timezone)
    return moment.date()
