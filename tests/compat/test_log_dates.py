from typing import Any

import pytest

from commonplace.compat.openclaw.log_dates import openclaw_is_evergreen, openclaw_log_date
from support.reference import vectors


@pytest.mark.parametrize(("given_", "expected"), vectors("parseMemoryDateFromPath"))
def test_days_of_logs_are_those_of_the_build(given_: Any, expected: str | None) -> None:
    day = openclaw_log_date(given_["path"])
    assert (day and f"{day.isoformat()}T00:00:00.000Z") == expected


@pytest.mark.parametrize(("given_", "expected"), vectors("isEvergreenMemoryPath"))
def test_evergreen_files_are_those_of_the_build(given_: Any, expected: bool) -> None:
    assert openclaw_is_evergreen(given_["path"]) is expected
