"""Item tree: the list items that lines lie in, which say what the lines are about.

In an outline a line is often a value alone ("- desk 7"), and what has it is an item further up. An
item that says no more than the question asks for ("- Ann") is to what lies in it as a heading. So
are the line above a list that introduces it ("Ann:"), and bold words alone, which many write for a
heading.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from commonplace.text.analysis import content_texts
from commonplace.text.list_items import (
    INTRODUCTION_ENDS,
    indent_of,
    introduces,
    is_bold,
    is_item,
)

if TYPE_CHECKING:
    from commonplace.retrieval.passages import PassageTable

    Floats = NDArray[np.float32]
    Numbers = NDArray[np.int64]
    Booleans = NDArray[np.bool_]

__all__ = ["ItemTree", "item_parents", "item_tree"]


class ItemTree(NamedTuple):
    """The items that lines lie in; arrays have one row a line.

    Attributes:
        parents: The innermost item, or what introduces the line, in its passage; -1 for none.
        titles: Whether a line is such an item, and says no more than is asked for.
        above: ``(lines, terms)`` of 0 and 1: the terms of all items that a line lies in.
        named: The same for those of them that are titles.
        groups: Numbers, ascending, that are equal for the lines of an item and for those between
            two items that hold lines.
    """

    parents: Numbers
    titles: Booleans
    above: Floats
    named: Floats
    groups: Numbers


def item_tree(table: PassageTable, present: Floats) -> ItemTree:
    """Return the items that the lines of a table lie in.

    Args:
        table: The lines.
        present: ``(lines, terms)`` of 0 and 1: the terms that each holds.
    """
    parents = item_parents(table)
    is_within = parents >= 0
    holds_lines = np.zeros(len(parents), dtype=np.bool_)
    holds_lines[parents[is_within]] = True
    titles = holds_lines & present.any(axis=1)
    for unit in titles.nonzero()[0].tolist():
        titles[unit] = len({*content_texts(table.text_of(unit))}) <= present[unit].sum()
    above, named = np.zeros_like(present), np.zeros_like(present)
    held = parents
    while (some := (held >= 0)[:, None]).any():
        np.maximum(above, present[held], out=above, where=some)
        np.maximum(named, present[held], out=named, where=some & titles[held][:, None])
        held = np.where(held >= 0, parents[held], -1)
    begins = table.passage[1:] != table.passage[:-1]
    begins |= ~is_within[1:] & (is_within[:-1] | holds_lines[1:])
    return ItemTree(parents, titles, above, named, np.append(0, begins.cumsum()))


def item_parents(table: PassageTable) -> Numbers:
    """Return the item that each unit lies in, or the line that introduces it; -1 for none."""
    text, passage = table.text, table.passage
    parents = np.full(len(table), -1)
    first = table.signs[table.start]
    is_indented = (first == ord(" ")) | (first == ord("\t"))
    may_introduce = np.isin(table.signs[table.end - 1], INTRODUCTION_ENDS)
    units = np.isin(passage, passage[is_indented | may_introduce]).nonzero()[0]
    arrays = (passage, table.start, table.end, is_indented, may_introduce)
    rows = zip(units.tolist(), *(of[units].tolist() for of in arrays), strict=True)
    above: list[tuple[int, int]] = []  # indent and unit of the lines that may hold the next one
    introduction = _Introduction(table)
    last = -1
    for unit, number, start, end, indented, may_begin in rows:
        if number != last:
            above, last = [], number
            introduction.end()
        elif text[start - 1] != "\n":  # the rest of the line before
            parents[unit] = parents[unit - 1]
            continue
        indent = indent_of(text[start:end]) if indented else 0
        while above and above[-1][0] >= indent:
            above.pop()
        if above:
            holder = above[-1][1]
            is_held = is_item(table.text_of(holder)) or introduction.is_now(holder)
            parents[unit] = holder if is_held else parents[holder]
        elif not indent:
            parents[unit] = introduction.of(unit, may_begin=may_begin)
        above.append((indent, unit))
    return parents


class _Introduction:
    """The lines that introduce those behind them, while a passage is read."""

    def __init__(self, table: PassageTable) -> None:
        self._table = table
        self.end()

    def end(self) -> None:
        """End what the lines introduce."""
        self._bold = self._list = -1

    def is_now(self, unit: int) -> bool:
        """Return whether a unit introduces the next line."""
        return unit in (self._bold, self._list)

    def of(self, unit: int, *, may_begin: bool) -> int:
        """Return the unit that introduces the next one, which is not indented; -1 for none.

        Bold words are above all up to the next of their kind or a heading, others above a list.
        """
        line = self._table.text_of(unit)
        if may_begin and is_bold(line):
            self._bold, self._list = unit, -1
            return -1
        if may_begin and introduces(line):
            self._list = unit
            return self._bold
        if self._table.headings[unit] == unit:
            self.end()
        elif not is_item(line):
            self._list = -1
        return self._bold if self._list < 0 else self._list
