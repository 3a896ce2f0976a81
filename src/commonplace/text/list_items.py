"""List items of Markdown: what begins one, what it lies in, and how far it reaches.

An admonition or a tab of MkDocs holds what is indented below its first line, as an item does.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

__all__ = ["is_item", "item_above", "item_end"]

_ITEM = re.compile(r"[ \t]*(?:[-*+]|[0-9]{1,9}[.)])[ \t]")
_HOLDER = re.compile(r"[ \t]*(?:!!!|\?\?\?\+?|===[+!]?)[ \t]+\S")


def is_item(line: str) -> bool:
    """Return whether a line begins a list item."""
    return _ITEM.match(line) is not None


def item_above(lines: Sequence[str], number: int) -> int | None:
    """Return the first line of the item or admonition that an indented line lies in, or None."""
    indent = _indent(lines[number])
    if not indent or not lines[number].strip():
        return None
    for above in range(number - 1, -1, -1):
        line = lines[above]
        if line.strip() and _indent(line) < indent:
            return above if is_item(line) or _HOLDER.match(line) else None
    return None


def item_end(lines: Sequence[str], number: int) -> int:
    """Return the last line of the list item that a line is in; of no item, that line itself.

    A blank line ends an item, though Markdown goes on with what is indented below it.
    """
    item = number if is_item(lines[number]) else item_above(lines, number)
    if item is None:
        return number
    indent, end = _indent(lines[item]), number
    while end + 1 < len(lines) and lines[end + 1].strip() and _indent(lines[end + 1]) > indent:
        end += 1
    return end


def _indent(line: str) -> int:
    shown = line.expandtabs(4)
    return len(shown) - len(shown.lstrip())
