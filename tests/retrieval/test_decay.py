import math
from datetime import UTC, date, datetime, timedelta, timezone
from typing import Any

import pytest

from commonplace.retrieval.decay import age_days, decay_factor
from support.reference import vectors

DAY = date(2026, 1, 7)


@pytest.mark.parametrize(("given_", "expected"), vectors("applyTemporalDecayToScore"))
def test_scores_decay_as_in_the_reference(given_: Any, expected: float) -> None:
    factor = decay_factor(float(given_["ageInDays"]), float(given_["halfLifeDays"]))
    assert given_["score"] * factor == pytest.approx(expected, rel=1e-15)


@pytest.mark.parametrize("half_life", [0.0, -1.0, math.nan, math.inf])
def test_a_half_life_that_makes_no_sense_leaves_scores_alone(half_life: float) -> None:
    assert decay_factor(10, half_life) == 1


@pytest.mark.parametrize("age", [math.nan, math.inf, -math.inf, -3.0, 0.0])
def test_an_unknown_age_and_a_day_to_come_leave_a_score_alone(age: float) -> None:
    assert decay_factor(age, 30) == 1


def test_an_age_is_in_days_with_fractions_since_midnight_utc() -> None:
    assert age_days(DAY, datetime(2026, 1, 17, 12, tzinfo=UTC)) == 10.5


def test_the_zone_of_now_does_not_matter() -> None:
    now = datetime(2026, 1, 17, 12, tzinfo=UTC)
    assert age_days(DAY, now.astimezone(timezone(timedelta(hours=-8)))) == 10.5


def test_a_day_to_come_has_no_age() -> None:
    assert age_days(DAY, datetime(2026, 1, 6, 23, tzinfo=UTC)) == 0
