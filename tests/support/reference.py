"""The reference build's inputs and outputs, as pytest parameters."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from typing import Any

import pytest

VECTORS = Path(__file__).parents[1] / "data" / "reference_vectors.json"


@cache
def _all_vectors() -> list[dict[str, Any]]:
    return json.loads(VECTORS.read_text(encoding="utf-8"))


def vectors(area: str) -> list[Any]:
    """Return a parameter ``(input, expected)`` for each vector of an area."""
    found = [vector for vector in _all_vectors() if vector["area"] == area]
    assert found, f"no vectors of the area {area!r}"
    return [
        pytest.param(vector["input"], vector["expected"], id=vector["name"] or "empty")
        for vector in found
    ]
