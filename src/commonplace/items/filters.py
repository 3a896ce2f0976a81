"""Filters of items by their values, and matches of namespaces."""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping, Sequence
from typing import Any

__all__ = ["matches_filter"]

_ORDER: dict[str, Callable[[Any, Any], bool]] = {
    "$gt": operator.gt,
    "$gte": operator.ge,
    "$lt": operator.lt,
    "$lte": operator.le,
}
_OPERATORS = ("$eq", "$ne", *_ORDER)


def matches_filter(value: Mapping[str, Any], wanted: Mapping[str, Any] | None) -> bool:
    """Return whether a value has what a filter asks for.

    Args:
        value: Value of an item.
        wanted: For each key a value that it must equal, part by part where that is a mapping; or
            operators: ``$eq``, ``$ne``, ``$gt``, ``$gte``, ``$lt``, ``$lte``.

    Raises:
        ValueError: There is no such operator.
    """
    return all(_matches(value.get(key), condition) for key, condition in (wanted or {}).items())


def _matches(value: Any, condition: Any) -> bool:
    if isinstance(condition, Mapping):
        if any(str(key).startswith("$") for key in condition):
            return all(_compares(value, name, other) for name, other in condition.items())
        return isinstance(value, Mapping) and all(
            _matches(value.get(key), part) for key, part in condition.items()
        )
    if isinstance(condition, Sequence) and not isinstance(condition, str):
        return (
            isinstance(value, list)
            and len(value) == len(condition)
            and all(map(_matches, value, condition))
        )
    return bool(value == condition)


def _compares(value: Any, name: str, other: Any) -> bool:
    if name == "$eq":
        return bool(value == other)
    if name == "$ne":
        return bool(value != other)
    if name not in _ORDER:
        raise ValueError(
            f"the filter has the operator {name!r}; there are {', '.join(_OPERATORS)}."
        )
    for convert in (float, str):  # "9" and 10 compare as numbers, times of ISO form as texts
        try:
            if convert is str and not (isinstance(value, str) and isinstance(other, str)):
                return False
            return _ORDER[name](convert(value), convert(other))
        except (TypeError, ValueError):
            continue
    return False
