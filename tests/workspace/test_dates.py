from datetime import UTC, date, datetime, timedelta, timezone
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from commonplace.workspace.dates import parse_day, parse_moment
from commonplace.workspace.paths import log_date, log_path


@pytest.mark.parametrize(
    "path",
    [
        "memory/2026-01-07.md",
        "./memory/2026-01-07.md",
        "memory/2026-01-07-vpn-setup.md",
        "memory/2026-01-07-1430-2.md",
        "memory/work/2026-01-07.md",
        "memory/work/deep/2026-01-07-x.md",
        "memory/2026-01-07-über uns.md",
    ],
)
def test_a_log_has_the_date_in_its_name(path: str) -> None:
    assert log_date(path) == date(2026, 1, 7)


@pytest.mark.parametrize(
    "path",
    [
        "MEMORY.md",
        "2026-01-07.md",
        "memory/projects.md",
        "memory/2026-01.md",
        "memory/20260107.md",
        "memory/x2026-01-07.md",
        "memory/2026-01-07x.md",
        "memory/2026-01-07-.md",
        "memory/2026-01-07.MD",
        "memory/2026-01-07.md\n",
        "memory/2026-01-07.md.bak",
        "memory/2026-01-07/notes.md",
        "memory/2026-02-30.md",
        "memory/2026-13-01.md",
        "memory/0000-01-01.md",
        "memory/٢٠٢٦-٠١-٠٧.md",
        "Memory/2026-01-07.md",
        "../other/memory/2026-01-07.md",
        "extra/memory/2026-01-07.md",
        "sessions/2026-01-07.md",
    ],
)
def test_any_other_file_has_no_date(path: str) -> None:
    assert log_date(path) is None


@given(st.dates())
def test_the_path_of_a_day_leads_back_to_it(day: date) -> None:
    assert log_date(log_path(day)) == day


def test_the_path_of_a_day_is_that_of_the_contract() -> None:
    assert log_path(date(2026, 11, 20)) == "memory/2026-11-20.md"
    assert log_path(datetime(2026, 11, 20, 8, tzinfo=UTC)) == "memory/2026-11-20.md"


@pytest.mark.parametrize(
    "value",
    [
        date(2026, 11, 20),
        datetime(2026, 11, 20, 23, 59),  # noqa: DTZ001 - naive on purpose
        datetime(2026, 11, 20, 23, 59, tzinfo=UTC),
        "2026-11-20",
        " 2026-11-20 ",
        "2026-11-20T23:59",
        "2026-11-20T23:59:00Z",
        "2026-11-20 23:59:00+02:00",
    ],
)
def test_a_day_is_a_date_a_time_or_an_iso_text(value: Any) -> None:
    day = parse_day(value)
    assert day == date(2026, 11, 20)
    assert type(day) is date


def test_an_aware_time_is_taken_in_the_zone_asked_for() -> None:
    east = timezone(timedelta(hours=2))
    assert parse_day("2026-11-20T23:00:00Z", timezone=east) == date(2026, 11, 21)
    assert parse_day("2026-11-20T23:00:00", timezone=east) == date(2026, 11, 20)


@pytest.mark.parametrize("value", ["", "yesterday", "2026-02-30", "20/11/2026", 20261120, None])
def test_anything_else_is_refused_by_name(value: Any) -> None:
    with pytest.raises(ValueError, match=r"after is .*, which is not a day; give .*2026-11-20"):
        parse_day(value, name="after")


@pytest.mark.parametrize("hours", [-12, 0, 14])
@pytest.mark.parametrize("end", ["9999-12-31", "0001-01-01"])
def test_the_ends_of_the_calendar_have_a_time_in_each_zone(end: str, hours: int) -> None:
    zone = timezone(timedelta(hours=hours))
    for value in (end, f"{end}T00:00:00-12:00", f"{end}T23:59:59+14:00"):
        for moment in (parse_moment(value), parse_moment(value, timezone=zone)):
            year = moment.astimezone(zone).astimezone(UTC).year
            assert (year > 9000) == (end > "5")
    assert parse_day(f"{end}T23:59:59+14:00", timezone=zone).isoformat()[:4] == end[:4]
