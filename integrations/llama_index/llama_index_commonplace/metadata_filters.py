"""LlamaIndex's `MetadataFilters` as limits of a search, which apply below the ranking."""

from __future__ import annotations

import reprlib
from collections.abc import Collection, Mapping
from datetime import date, timedelta
from typing import Any

from llama_index.core.vector_stores import (
    FilterCondition,
    FilterOperator,
    MetadataFilter,
    MetadataFilters,
)
from llama_index.core.vector_stores.utils import build_metadata_filter_fn

from commonplace import Memory
from commonplace.tools import parse_day, selected_paths
from llama_index_commonplace.nodes import RESULT_KEYS

__all__ = ["checked_filters", "filter_limits"]

_OF_LISTS = {
    FilterOperator.EQ: FilterOperator.CONTAINS,
    FilterOperator.IN: FilterOperator.ANY,
}
_NEGATIONS = {FilterOperator.NE: FilterOperator.EQ, FilterOperator.NIN: FilterOperator.IN}
_KEYS = {"tag": "tags", "day": "date"}


def checked_filters(filters: MetadataFilters) -> MetadataFilters:
    """Return filters.

    Raises:
        TypeError: They are no `MetadataFilters`.
        ValueError: They go by what is not known before the search, such as ``origin``.
    """
    if not isinstance(filters, MetadataFilters):
        raise TypeError(
            f"filters is {reprlib.repr(filters)}, of type {type(filters).__name__}; LlamaIndex's "
            "MetadataFilters was expected."
        )
    for condition in filters.filters:
        if isinstance(condition, MetadataFilters):
            checked_filters(condition)
        elif condition.key in RESULT_KEYS:
            raise ValueError(
                f"no filter can go by {condition.key!r}, which tells of a passage; filters select "
                "files by path, source, date, tags and the keys of their front matter."
            )
    return filters


def filter_limits(
    memory: Memory,
    filters: MetadataFilters,
    *,
    paths: Collection[str] | None = None,
    **days: date | str | None,
) -> dict[str, Any]:
    """Return the arguments of `Memory.search` that do what the filters ask for.

    Comparisons of ``date`` that must hold become ``after`` and ``before``, which know the day of
    each message of a session; all else selects files.

    Args:
        memory: The memory to search.
        filters: Conditions on ``path``, ``source``, ``date``, ``tags``, or any key of the notes'
            front matter; they may be nested.
        paths: Files, folders and globs to search, too.
        **days: ``after`` and ``before`` that must hold, too.

    Raises:
        ValueError: A date of the filters is no ISO date, or a key or an operator cannot be used.
    """
    checked_filters(filters)
    limits: dict[str, Any] = {
        name: _day(memory, day, name) for name, day in days.items() if day is not None
    }
    rest = []
    for condition in filters.filters:
        found = _days(memory, condition) if filters.condition in (None, FilterCondition.AND) else {}
        for name, day in found.items():
            narrower = max if name == "after" else min
            limits[name] = narrower(limits.get(name, day), day)
        if not found:
            rest.append(condition)
    if rest:
        others = MetadataFilters(filters=rest, condition=filters.condition)
        paths = selected_paths(memory, lambda metadata: _passes(others, metadata), paths=paths)
    return {**limits, "paths": paths}


def _days(memory: Memory, condition: MetadataFilter | MetadataFilters) -> dict[str, date]:
    """Return the limits that a comparison of the day is; empty for another condition."""
    if isinstance(condition, MetadataFilters) or _KEYS.get(condition.key, condition.key) != "date":
        return {}
    operator, one_day = condition.operator, timedelta(days=1)
    if operator not in (
        FilterOperator.EQ,
        FilterOperator.GT,
        FilterOperator.GTE,
        FilterOperator.LT,
        FilterOperator.LTE,
    ):
        return {}
    day = _day(memory, condition.value, condition.key)
    if operator == FilterOperator.EQ:
        return {"after": day, "before": day}
    if operator in (FilterOperator.GT, FilterOperator.GTE):
        return {"after": day + one_day * (operator == FilterOperator.GT)}
    return {"before": day - one_day * (operator == FilterOperator.LT)}


def _day(memory: Memory, value: Any, name: str) -> date:
    return parse_day(value, name=name, timezone=memory.now().tzinfo)


def _passes(filters: MetadataFilters, metadata: Mapping[str, Any]) -> bool:
    found = [
        _passes(condition, metadata)
        if isinstance(condition, MetadataFilters)
        else _holds(condition, metadata)
        for condition in filters.filters
    ]
    if filters.condition == FilterCondition.OR:
        return any(found)
    return not any(found) if filters.condition == FilterCondition.NOT else all(found)


def _holds(condition: MetadataFilter, metadata: Mapping[str, Any]) -> bool:
    """Evaluate one condition; a list equals a value that it holds, as a note's tags do."""
    key, operator = _KEYS.get(condition.key, condition.key), condition.operator
    if operator in _NEGATIONS:
        positive = condition.model_copy(update={"operator": _NEGATIONS[operator]})
        return not _holds(positive, metadata)
    if isinstance(metadata.get(key), list):
        operator = _OF_LISTS.get(operator, operator)
    changed = condition.model_copy(update={"key": key, "operator": operator})
    try:
        return build_metadata_filter_fn(lambda _: metadata, MetadataFilters(filters=[changed]))("")
    except TypeError:  # a note has a text where another one has a number
        return False
