"""List items of Markdown: what begins one, what it lies in, and how far it reaches.

An admonition or a tab of MkDocs holds what is indented below its first line, as an item does; a
callout (``> [!tip] Title``) the quoted lines below its own; a term the definitions below it.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

__all__ = [
    "INTRODUCTION_ENDS",
    "indent_of",
    "introduces",
    "introduction_above",
    "is_bold",
    "is_definition",
    "is_item",
    "item_above",
    "item_end",
]

_ITEM = re.compile(r"[ \t]*(?:[-*+]|[0-9]{1,9}[.)])[ \t]")
_HOLDER = re.compile(r"[ \t]*(?:!!!|\?\?\?\+?|===[+!]?)[ \t]+\S")
_QUOTE = re.compile(r"[ \t]*>[ \t>]*")
_CALLOUT = re.compile(r"[ \t]*>[ \t>]*\[![\w-]+[^\]]*\]")
_BOLD = re.compile(r"[ \t]*(?:\*\*(?!\s)[^*]+\*\*|__(?!\s)[^_]+__):?[ \t\r]*$")
_INTRODUCTION = re.compile(r"(?![ \t#>|]|[-*+][ \t]|[0-9]{1,9}[.)][ \t])[^:：]{1,60}[:：][ \t\r]*$")
_HEADING = re.compile(r"#{1,6}(?:[ \t]|[ \t\r]*$)")
INTRODUCTION_ENDS = tuple(map(ord, ":：*_ \t\r"))
"""Signs with one of which a line ends that `introduces` others, as numbers."""
_DEFINITION = re.compile(r":[ \t]+\S")


def is_item(line: str) -> bool:
    """Return whether a line begins a list item."""
    return _ITEM.match(line) is not None


def is_bold(line: str) -> bool:
    """Return whether a line is bold words alone, as many write a heading."""
    return _BOLD.match(line) is not None


def introduces(line: str) -> bool:
    """Return whether a line is bold words alone, or what may be above a list: "Ann:"."""
    return is_bold(line) or _INTRODUCTION.match(line) is not None


def item_above(lines: Sequence[str], number: int) -> int | None:
    """Return the first line of the item, admonition or callout that a line lies in, or None."""
    if _depth(lines[number]):
        return _callout_above(lines, number)
    if is_definition(lines[number]):
        return _term_above(lines, number)
    indent = indent_of(lines[number])
    if not indent or not lines[number].strip():
        return None
    for above in range(number - 1, -1, -1):
        line = lines[above]
        if not line.strip() or indent_of(line) >= indent:
            continue
        if is_item(line) or _HOLDER.match(line):
            return above
        indent = indent_of(line)  # a line of the same item, or of none
        if not indent:
            return None
    return None


def introduction_above(lines: Sequence[str], number: int) -> int | None:
    """Return the line that introduces one which is not indented, or None.

    Bold words are above all up to the next of their kind or a heading, others above a list.
    """
    is_listed = is_item(lines[number])
    if is_bold(lines[number]):
        return None
    for above in range(number - 1, -1, -1):
        line = lines[above]
        if not line.strip() or line[0].isspace():
            continue
        if _HEADING.match(line):
            return None
        if introduces(line) and (is_listed or is_bold(line)):
            return above
        is_listed = is_listed and is_item(line)
    return None


def is_definition(line: str) -> bool:
    """Return whether a line is a definition of the term above it: ``: text``."""
    return _DEFINITION.match(line) is not None


def _callout_above(lines: Sequence[str], number: int) -> int | None:
    """Return the first line of the callout that a quoted line lies in, or None."""
    depth = _depth(lines[number]) - _is_callout(lines[number])
    for above in range(number - 1, -1, -1):
        if not _depth(lines[above]):
            return None
        if _depth(lines[above]) <= depth and _is_callout(lines[above]):
            return above
    return None


def _callout_end(lines: Sequence[str], first: int) -> int:
    """Return the last line of the callout that begins with a line."""
    depth, end = _depth(lines[first]), first
    while end + 1 < len(lines) and (below := _depth(lines[end + 1])) >= depth:
        if below == depth and _is_callout(lines[end + 1]):
            break
        end += 1
    return end


def _term_above(lines: Sequence[str], number: int) -> int | None:
    """Return the line of the term that a definition belongs to, or None."""
    said = (it for it in range(number - 1, -1, -1) if not is_definition(lines[it]))
    above = next(said, None)
    return None if above is None or not lines[above].strip() else above


def item_end(lines: Sequence[str], number: int) -> int:
    """Return the last line of the list item that a line is in; of no item, that line itself.

    A blank line ends an item, though Markdown goes on with what is indented below it.
    """
    is_own = is_item(lines[number]) or _is_callout(lines[number])
    item = number if is_own else item_above(lines, number)
    if item is None:
        return number
    if _is_callout(lines[item]):
        return _callout_end(lines, item)
    indent, end = indent_of(lines[item]), number
    while end + 1 < len(lines) and lines[end + 1].strip() and indent_of(lines[end + 1]) > indent:
        end += 1
    return end


def _is_callout(line: str) -> bool:
    return _CALLOUT.match(line) is not None


def _depth(line: str) -> int:
    """Return the number of quote marks that a line begins with."""
    quote = _QUOTE.match(line)
    return quote[0].count(">") if quote else 0


def indent_of(line: str) -> int:
    """Return the columns of blanks that a line begins with; tabs stop at multiples of four."""
    shown = line.expandtabs(4)
    return len(shown) - len(shown.lstrip())
