"""Struck lines: which lines are struck through, and which one holds in the place of each."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from commonplace.text.strikethrough import correction_links, is_struck

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from commonplace.retrieval.passages import PassageTable

__all__ = ["correcting_rows", "replacements", "struck_rows"]


def struck_rows(table: PassageTable) -> Iterator[int]:
    """Yield the rows whose lines are struck through."""
    for row in _rows_with(table, "~~"):
        lines = _whole_lines(table, row).split("\n")
        if all(is_struck(line) for line in lines if line.strip()):
            yield row


def correcting_rows(table: PassageTable) -> list[int]:
    """Return the rows of lines with a link to what they correct."""
    return _rows_with(table, "([corrects]")


def replacements(
    table: PassageTable,
    struck: Sequence[int],
    others: Sequence[int],
    *,
    likely: NDArray[np.bool_],
    scores: NDArray[np.float64],
) -> Iterator[tuple[int, int]]:
    """Yield struck rows, each with the row that holds in its place: linked or named, else likely.

    Args:
        table: The lines.
        struck: The struck rows.
        others: The rows that may hold in the place of one.
        likely: Which of them are newer and about the same, ``(struck, others)``.
        scores: Evidence of all rows.
    """
    linked: dict[str, dict[int, set[int | None]]] = {}
    for at, other in enumerate(others):
        for link in correction_links(table.text_of(other)):
            if link.day is None:
                linked.setdefault(_name(link.path), {}).setdefault(at, set()).add(link.line)
    names = [_name(table.passage_of(other).path).removesuffix(".md") for other in others]
    for row, may_be in zip(struck, likely, strict=True):
        passage = table.passage_of(row)
        links = linked.get(_name(passage.path), {})
        found = links.keys() | may_be.nonzero()[0].tolist()
        line, text = table.line_of(int(table.start[row]), passage), _whole_lines(table, row)
        # Lines move: a link that names another line may be to this one, if no link names it.
        ranked = [
            (line in links.get(at, ()), at in links, names[at] in text, scores[other], other)
            for at, other in enumerate(others)
            if at in found
        ]
        if ranked:
            yield row, max(ranked)[-1]


def _rows_with(table: PassageTable, mark: str) -> list[int]:
    """Return the rows of lines that hold a mark."""
    text, rows = table.text, set()
    at = text.find(mark)
    while at >= 0:
        rows.add(int(table.start.searchsorted(at, side="right")) - 1)
        at = text.find(mark, at + len(mark))
    return sorted(rows - {-1})


def _whole_lines(table: PassageTable, row: int) -> str:
    """Return the lines of a unit: a unit may be part of a line, and may join several."""
    text, start, end = table.text, int(table.start[row]), int(table.end[row])
    stop = text.find("\n", end)
    return text[text.rfind("\n", 0, start) + 1 : len(text) if stop < 0 else stop]


def _name(path: str) -> str:
    return path.rpartition("/")[2]
