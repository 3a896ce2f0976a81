"""Precedence: of two lines one comes first, and so does the window that shows it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

from commonplace.retrieval.query import Evidence
from commonplace.retrieval.snippets import Window

if TYPE_CHECKING:
    from commonplace.retrieval.line_features import LineScores
    from commonplace.types import SupersessionReason

__all__ = ["Precedence", "ordered"]

_LESS = 1 - 1e-4
"""Factor on the evidence of a window that was as good as the one before it."""


class Precedence(NamedTuple):
    """Order of two lines: one stands back for the other.

    Attributes:
        first: Row of the line that comes first.
        behind: Row of the line that stands back.
        reason: Why.
    """

    first: int
    behind: int
    reason: SupersessionReason


def ordered(evidence: Evidence) -> Evidence:
    """Return the evidence with no window before that of a line for which its line stands back."""
    windows = list(evidence.windows)
    for _ in evidence.precedences:  # each pass settles one of them, at least
        moved = False
        for first, behind, reason in evidence.precedences:
            later, sooner = _window_of(windows, first), _window_of(windows, behind)
            if sooner is None or (later is not None and later <= sooner):
                continue
            rows = windows[sooner].rows
            if not _brings(evidence.lines, rows, Precedence(first, behind, reason)):
                continue  # another line brought the window
            found = Window(first, first, 0.0) if later is None else windows.pop(later)
            windows.insert(sooner, found)
            moved = True
        if not moved:
            break
    masses = sorted((window.mass for window in windows), reverse=True)
    for at in range(1, len(masses)):
        masses[at] = min(masses[at], masses[at - 1] * _LESS)
    places = zip(windows, masses, strict=True)
    return evidence._replace(windows=[window._replace(mass=mass) for window, mass in places])


def _brings(lines: LineScores, rows: slice, pair: Precedence) -> bool:
    """Return whether the line that stands back brought a window, or what has no more evidence.

    The neighbours of a struck line have their evidence from it, unless they say something of the
    question that the line in its place does not.
    """
    start: int = rows.start
    best = start + int(lines.share[rows].argmax())
    if best == pair.behind:
        return True
    if pair.reason != "struck":
        return bool(lines.share[best] < lines.share[pair.first])
    says_more = bool((lines.present[best] > lines.present[pair.first]).any())
    return not says_more and start + int(lines.fused[rows].argmax()) == pair.behind


def _window_of(windows: Sequence[Window], row: int) -> int | None:
    """Return the place of the window that shows a line."""
    return next((at for at, w in enumerate(windows) if w.first <= row <= w.last), None)
