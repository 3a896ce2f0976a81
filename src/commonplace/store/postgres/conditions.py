"""Conditions of the PostgreSQL engine: filters of chunks as SQL."""

from __future__ import annotations

from typing import Any

from commonplace.store.records import RowFilter

__all__ = ["row_conditions"]


def row_conditions(rows: RowFilter) -> tuple[str, list[Any]]:
    """Return a filter as SQL over `source` and `day` ("" when every row passes), and its values."""
    conditions: list[str] = []
    values: list[Any] = []
    if rows.sources is not None:
        conditions.append("source = ANY(%s::text[])")
        values.append(sorted(rows.sources))
    if rows.after is not None:
        conditions.append("day >= %s")
        values.append(rows.after)
    if rows.before is not None:
        conditions.append("day <= %s")
        values.append(rows.before)
    return " AND ".join(conditions), values
