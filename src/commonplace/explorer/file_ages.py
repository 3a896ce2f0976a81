"""Ages of files, and the decay of their scores."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from commonplace.memory import Memory
    from commonplace.store.records import FileRecord

__all__ = ["DecayRow", "decay_rows", "left_at"]


@dataclass(frozen=True, slots=True)
class DecayRow:
    """Age of a file, and its decay factor.

    Attributes:
        path: File.
        day: Date of the file; None without one.
        age_days: Days since that date; under `Settings.openclaw()`, without a date, since the last
            change. None for a file that does not age.
        left: Decay factor, 0..1; see `left_at`.
    """

    path: str
    day: date | None
    age_days: float | None
    left: float


def decay_rows(memory: Memory) -> list[DecayRow]:
    """Return the ages and decay factors of all files, newest first, ageless files last."""
    with memory.snapshot() as snapshot:
        records = list(snapshot.files().values())
    ages = [_file_age(memory, record) for record in records]
    left = left_at(memory, [age or 0.0 for age in ages])
    rows = [
        DecayRow(record.path, _day(record), age, still)
        for record, age, still in zip(records, ages, left, strict=True)
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


def _file_age(memory: Memory, record: FileRecord) -> float | None:
    if record.day is not None:
        return float(max(0, memory.now().date().toordinal() - record.day))
    return memory.profile.ranker().undated_age(record, memory.now())


def _day(record: FileRecord) -> date | None:
    return None if record.day is None else date.fromordinal(record.day)
