"""What is asked, and what came of it before it is shown."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime
from typing import TYPE_CHECKING

from commonplace.store.base import RowFilter

if TYPE_CHECKING:
    from commonplace.vectors import Vector

__all__ = ["MAX_CANDIDATES", "SNIPPET_CHARS", "Query"]

SNIPPET_CHARS = 700
"""Length of a snippet, at most, as in the reference."""

MAX_CANDIDATES = 200
"""Candidates that a list brings, at most, as in the reference."""


@dataclass(frozen=True, slots=True)
class Query:
    """A question to the index.

    Attributes:
        text: As it was asked.
        vector: Its vector; None for keyword search.
        now: The time that ages and words such as "yesterday" count from; aware.
        limit: Results wanted, at most.
        min_score: Results below it are left out.
        rows: Which chunks may answer.
    """

    text: str
    vector: Vector | None
    now: datetime
    limit: int
    min_score: float
    rows: RowFilter = field(default_factory=RowFilter)
