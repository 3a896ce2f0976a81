"""Parameters of which a gate runs some, and .ci/full all."""

from collections.abc import Iterable
from typing import Any

import pytest

__all__ = ["sampled"]


def sampled(values: Iterable[Any], *, every: int) -> list[Any]:
    """Return values as parameters; all but each `every`-th, from the first on, are for .ci/full."""
    return [
        pytest.param(value, marks=[pytest.mark.slow, pytest.mark.full] if at % every else [])
        for at, value in enumerate(values)
    ]
