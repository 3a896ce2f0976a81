"""Common prefix and suffix of two texts: what a change left as it was."""

from __future__ import annotations

from typing import AnyStr

__all__ = ["common_end", "common_start"]


def common_start(one: AnyStr, other: AnyStr, limit: int) -> int:
    """Return the length of the common prefix, by bisection: slices compare at memory speed.

    Args:
        one: A text.
        other: The other one.
        limit: Length of the prefix at most, no longer than either text.
    """
    if limit == len(other) and one.startswith(other):  # what was appended to
        return limit
    low, high = 0, limit
    while low < high:
        middle = (low + high + 1) // 2
        if one[low:middle] == other[low:middle]:
            low = middle
        else:
            high = middle - 1
    return low


def common_end(one: AnyStr, other: AnyStr, limit: int) -> int:
    """Return the length of the common suffix; see `common_start`."""
    low, high = 0, limit
    while low < high:
        middle = (low + high + 1) // 2
        if one[len(one) - middle : len(one) - low] == other[len(other) - middle : len(other) - low]:
            low = middle
        else:
            high = middle - 1
    return low
