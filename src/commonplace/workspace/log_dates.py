"""Which day a file of the memory is about: file names to dates, and back."""

from __future__ import annotations

import re
from datetime import date, datetime, tzinfo

__all__ = ["log_date", "log_path", "openclaw_is_evergreen", "openclaw_log_date", "parse_day"]

_DAY = r"([0-9]{4})-([0-9]{2})-([0-9]{2})"
_LOG = re.compile(rf"(?:\./)*memory/(?:[^/]+/)*{_DAY}(?:-[^/]+)?\.md")
_OPENCLAW_LOG = re.compile(rf"(?:.*/)?memory/{_DAY}\.md", re.DOTALL)


def log_date(path: str) -> date | None:
    """Return the day of a log, ``memory/**/YYYY-MM-DD.md`` or ``YYYY-MM-DD-slug.md``.

    None for any other file, and for a day that is not in the calendar.

    Args:
        path: POSIX, relative to the workspace.
    """
    return _matched_day(_LOG.fullmatch(path))


def log_path(day: date) -> str:
    """Return the path of a day's log, ``memory/2026-11-20.md``."""
    return f"memory/{date.isoformat(day)}.md"


def openclaw_log_date(path: str) -> date | None:
    """Return the day of a log by the reference's rule: directly in a memory/ folder, no slug."""
    return _matched_day(_OPENCLAW_LOG.fullmatch(_openclaw_normalized(path)))


def openclaw_is_evergreen(path: str) -> bool:
    """Tell whether the reference never lets a file age.

    A log's name with an impossible day is neither dated nor evergreen.
    """
    path = _openclaw_normalized(path)
    if path in ("MEMORY.md", "memory.md"):
        return True
    return path.startswith("memory/") and not _OPENCLAW_LOG.fullmatch(path)


def parse_day(
    value: date | datetime | str, *, name: str = "date", timezone: tzinfo | None = None
) -> date:
    """Return the day of a date, a time, or an ISO 8601 text of either.

    Args:
        value: What a user gave.
        name: What the value is called in an error.
        timezone: Zone whose day an aware time is taken in; its own by default.

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


def _parse_iso(text: str, *, name: str) -> date | datetime:
    for parse in (date.fromisoformat, datetime.fromisoformat):
        try:
            return parse(text.strip())
        except ValueError:
            continue
    raise ValueError(_not_a_day(text, name=name))


def _not_a_day(value: object, *, name: str) -> str:
    return (
        f"{name} is {value!r}, which is not a day; "
        "give a datetime.date or an ISO text such as '2026-11-20'."
    )


def _day_in(moment: datetime, timezone: tzinfo | None) -> date:
    if moment.tzinfo is not None and timezone is not None:
        moment = moment.astimezone(timezone)
    return moment.date()


def _matched_day(match: re.Match[str] | None) -> date | None:
    if match is None:
        return None
    year, month, day = map(int, match.groups())
    try:
        return date(year, month, day)
    except ValueError:
        return None


def _openclaw_normalized(path: str) -> str:
    return path.replace("\\", "/").removeprefix("./")
