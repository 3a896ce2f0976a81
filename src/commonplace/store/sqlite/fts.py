"""How words and filters become SQL: nothing that a user typed is ever read as its language."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from commonplace.store.records import RowFilter
from commonplace.text.analysis import Term

__all__ = ["match_expression", "row_conditions"]


def match_expression(words: Sequence[Term], *, every: bool) -> str | None:
    """Return an FTS5 expression that matches any (or every) word; None without words.

    Each word is quoted, so that operators, columns and wildcards are plain text.
    """
    parts = [_phrase(word) for word in words if word.text.strip()]
    return (" AND " if every else " OR ").join(parts) or None


def _phrase(word: Term) -> str:
    text = word.text
    if not text.isalnum():
        text = text.replace('"', " ").replace("\0", " ")
        text = text.encode("utf-8", "replace").decode()
    if not word.gram:
        return f'{{text}} : "{text}"'
    # A single character begins every pair that it stands first in.
    return f'{{grams}} : "{text}"' + (" *" if len(text) == 1 else "")


def row_conditions(rows: RowFilter) -> tuple[str, list[Any]]:
    """Return a filter as SQL over `source` and `day` ("" when every row passes), and its values."""
    conditions: list[str] = []
    values: list[Any] = []
    if rows.sources is not None:
        conditions.append(f"source IN ({', '.join('?' * len(rows.sources))})")
        values += sorted(rows.sources)
    if rows.after is not None:
        conditions.append("day >= ?")
        values.append(rows.after)
    if rows.before is not None:
        conditions.append("day <= ?")
        values.append(rows.before)
    return " AND ".join(conditions), values
