"""Ages of files, and the decay of their scores."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime, timedelta
from typing import TYPE_CHECKING

from commonplace.compat.openclaw.log_dates import openclaw_is_evergreen

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

    With `SearchSettings.grain` ``lines``, the factor applies to the evidence of a line that a note
    of today repeats; with ``chunks``, to a chunk's score.
    """
    from commonplace.retrieval.decay import decay_factor

    settings = memory.settings.search
    if not settings.decay:
        return [1.0] * len(ages)
    half_life = half_life_days or settings.half_life_days
    if settings.grain == "chunks":
        return [decay_factor(age, half_life) for age in ages]
    return _repeated_line_factors(memory, ages, half_life)


def _repeated_line_factors(memory: Memory, ages: Sequence[float], half_life: float) -> list[float]:
    """Return the factors that the ranking itself gives a line when one of today repeats it."""
    import numpy as np

    from commonplace.retrieval.redundancy import losses_of_similar

    settings = replace(memory.settings.search, half_life_days=half_life)
    today = memory.now().date().toordinal()
    left: dict[int, float] = {}
    for age in {round(age) for age in ages}:
        days = np.array([today, today - age], dtype=np.int64)
        alike = np.array([[0, 1], [1, 0]], dtype=np.float32)
        lost, _ = losses_of_similar(alike, days, settings, fades=True)
        left[age] = math.exp(-float(lost[1]))
    return [left[round(age)] for age in ages]


def _file_age(memory: Memory, record: FileRecord) -> float | None:
    if record.day is not None:
        return float(max(0, memory.now().date().toordinal() - record.day))
    by_lines = memory.settings.search.grain == "lines"
    if by_lines or (record.source == "memory" and openclaw_is_evergreen(record.path)):
        return None
    changed = datetime.fromtimestamp(record.mtime_ns / 1e9, UTC)
    return max(0.0, (memory.now() - changed) / timedelta(days=1))


def _day(record: FileRecord) -> date | None:
    return None if record.day is None else date.fromordinal(record.day)
