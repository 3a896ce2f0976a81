"""Snippets: windows of lines are packed with as much of the evidence as fits, and cut out."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from commonplace.retrieval.query import SNIPPET_CHARS
from commonplace.text.chunking import read_outline
from commonplace.types import SearchResult

if TYPE_CHECKING:
    from commonplace.retrieval.passages import PassageTable
    from commonplace.store.records import StoredChunk

__all__ = ["Window", "pack_windows", "snippet_result", "snippet_text"]


class Window(NamedTuple):
    """Consecutive units of one passage.

    Attributes:
        first: Index of the first unit.
        last: Index of the last unit, included.
        mass: Evidence of the units together.
        rerank: Score that the reranker gave; None without one.
    """

    first: int
    last: int
    mass: float
    rerank: float | None = None

    @property
    def rows(self) -> slice:
        """The units, as an index into arrays of them."""
        return slice(self.first, self.last + 1)


def pack_windows(
    share: NDArray[np.float64],
    start: NDArray[np.int64],
    end: NDArray[np.int64],
    passage: NDArray[np.int64],
    *,
    width: int,
    count: int,
) -> list[Window]:
    """Choose windows that do not overlap, greedily: each has the most evidence that is left.

    A window holds whole units, unless one unit is longer than a window.

    Args:
        share: Evidence of each unit.
        start: First character of each unit in its passage.
        end: Character behind its last.
        passage: Passage of each unit; units are in the order of their passages.
        width: Characters of a window, at most.
        count: Windows wanted, at most.
    """
    rows = len(share)
    if not rows:
        return []
    # Passages lie apart on one number line, so that no window reaches from one into the next.
    offset = passage * (int(end.max()) + width + 1)
    stop = (offset + end).searchsorted(offset + start + width, side="right")
    np.maximum(stop, np.arange(1, rows + 1), out=stop)
    # Rounded, so that windows of equal evidence compare equal and the first one is chosen.
    sums = np.zeros(rows + 1)
    np.cumsum(share, out=sums[1:])
    sums = sums.round(12)
    mass = (sums[stop] - sums[:-1]).round(12)
    windows: list[Window] = []
    while len(windows) < count:
        first = int(mass.argmax())
        if mass[first] <= 1e-12:
            break
        last = int(stop[first]) - 1
        windows.append(Window(first, last, float(mass[first])))
        mass[first : last + 1] = -1.0
        # Windows that reach into the chosen one now end before it.
        reaching = slice(int(stop[:first].searchsorted(first, side="right")), first)
        if reaching.start < first:
            stop[reaching] = first
            left = sums[first] - sums[reaching]
            np.copyto(mass[reaching], left, where=mass[reaching] > 0)
    return windows


def snippet_result(window: Window, table: PassageTable, score: float) -> SearchResult:
    """Cut the snippet of a window out of its passage."""
    passage = table.passages[int(table.passage[window.first])]
    snippet = snippet_text(window, table)
    first_line = passage.first_line + table.text.count(
        "\n", passage.start, int(table.start[window.first])
    )
    return SearchResult(
        path=passage.path,
        snippet=snippet,
        start_line=first_line,
        end_line=first_line + snippet.count("\n"),
        score=score,
        source=passage.source,
        heading=_heading(table.chunks[int(table.chunk[window.first])], first_line),
    )


def snippet_text(window: Window, table: PassageTable) -> str:
    """Return the text of a window; a unit that is longer than a snippet is cut."""
    start = int(table.start[window.first])
    return table.text[start : min(int(table.end[window.last]), start + SNIPPET_CHARS)]


def _heading(chunk: StoredChunk, line: int) -> str:
    """Return the headings above a line; a chunk holds only those above its own first line."""
    if "#" not in chunk.text[chunk.text.find("\n") :]:
        return chunk.heading
    above = chunk.text.split("\n")[: line - chunk.start_line + 1]
    own = read_outline(above).path_at(len(above) - 1)
    return chunk.heading if chunk.heading.endswith(own) else own
