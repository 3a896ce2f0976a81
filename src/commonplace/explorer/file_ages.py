"""Ages of files, and the decay of their scores."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from commonplace.memory import Memory
    from commonplace.store.records import FileRecord

__all__ = ["AGE_SPANS", "NO_DATE", "DecayRow", "age_span", "decay_rows", "kept_part", "left_at"]

AGE_SPANS = (
    ("today", 0), ("under a week", 1), ("under a month", 7),
    ("1 to 3 months", 30), ("3 to 12 months", 91), ("over a year", 365),
)  # fmt: skip
"""Spans of age with their first day, so that a file of today and one of last year both show."""
NO_DATE = "no date"
"""Name of what does not age."""
_ENDLESS = 1e6
"""Age in days at which all is taken that age can take, unless the half-life is longer."""


@dataclass(frozen=True, slots=True)
class DecayRow:
    """Age of a file, and its decay factor.

    Attributes:
        path: File.
        day: Date of the file; None without one.
        age_days: Days since that date; under `Settings.openclaw()`, without a date, since the last
            change. None for a file that does not age.
        left: Decay factor, 0..1; see `left_at`.
        kept: Part of what age can take that is not yet taken, 0..1; see `kept_part`.
    """

    path: str
    day: date | None
    age_days: float | None
    left: float
    kept: float = 1.0


def age_span(age_days: float | None) -> int:
    """Return the place of an age in `AGE_SPANS`; behind the last for a file that does not age."""
    if age_days is None:
        return len(AGE_SPANS)
    return sum(1 for _, least in AGE_SPANS if age_days >= least) - 1


def decay_rows(memory: Memory) -> list[DecayRow]:
    """Return the ages and decay factors of all files, newest first, ageless files last."""
    with memory.snapshot() as snapshot:
        records = list(snapshot.files().values())
    ages = [_file_age(memory, record) for record in records]
    left = left_at(memory, [age or 0.0 for age in ages])
    kept = kept_part(memory, [age or 0.0 for age in ages])
    rows = [
        DecayRow(record.path, _day(record), age, factor, part)
        for record, age, factor, part in zip(records, ages, left, kept, strict=True)
    ]
    return sorted(rows, key=lambda row: (row.age_days is None, row.age_days or 0.0, row.path))


def left_at(
    memory: Memory, ages: Sequence[float], *, half_life_days: float | None = None
) -> list[float]:
    """Return the decay factors of ages, 0..1, by the memory's settings or another half-life.

    A factor applies to the evidence of a line that a note of today repeats; under
    `Settings.openclaw()`, to a chunk's score.
    """
    return memory.profile.ranker().decay_factors(ages, half_life_days=half_life_days)


def kept_part(memory: Memory, ages: Sequence[float]) -> list[float]:
    """Return the parts of what age can take that are not yet taken: 0.5 at the half-life.

    Of evidence, age takes a part at most, in nats; of a chunk's score, all.
    """
    endless = min(max(_ENDLESS, 60 * memory.settings.search.half_life_days), 1e15)
    *factors, least = left_at(memory, [*ages, endless])
    if least == 1.0:
        return [1.0] * len(factors)
    if memory.profile.ranker().decays == "evidence":
        return [1.0 - math.log(factor) / math.log(least) for factor in factors]
    return factors


def _file_age(memory: Memory, record: FileRecord) -> float | None:
    if record.day is not None:
        return float(max(0, memory.now().date().toordinal() - record.day))
    return memory.profile.ranker().undated_age(record, memory.now())


def _day(record: FileRecord) -> date | None:
    return None if record.day is None else date.fromordinal(record.day)
