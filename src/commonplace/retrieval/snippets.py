"""Snippets: the stretches of text that show as much of the evidence as fits."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

__all__ = ["Window", "pack_windows"]


class Window(NamedTuple):
    """Units ``first`` to ``last`` (both included) of one passage, and the evidence in them."""

    first: int
    last: int
    mass: float

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
    """Choose up to `count` windows of at most `width` characters that do not overlap.

    Each is the one with the most evidence that is left; whole units, but for one that is longer
    than a window.

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
    # One number line for all passages: no window reaches from one into the next.
    offset = passage * (int(end.max()) + width + 1)
    stop = (offset + end).searchsorted(offset + start + width, side="right")
    np.maximum(stop, np.arange(1, rows + 1), out=stop)
    # Rounded, so that equal windows are equal: the first of them is then chosen.
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
        # Windows that reach into the chosen one end before it from now on.
        reaching = slice(int(stop[:first].searchsorted(first, side="right")), first)
        if reaching.start < first:
            stop[reaching] = first
            left = sums[first] - sums[reaching]
            np.copyto(mass[reaching], left, where=mass[reaching] > 0)
    return windows
