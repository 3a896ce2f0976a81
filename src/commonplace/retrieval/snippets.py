"""Snippets: windows of lines that fill the budget of an answer, scored and cut out.

A window's share of the evidence gives its part of the answer's confidence.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from itertools import compress, zip_longest
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from commonplace.retrieval.boundaries import cut
from commonplace.retrieval.line_features import window_part
from commonplace.retrieval.passages import holds
from commonplace.retrieval.query import SNIPPET_CHARS
from commonplace.retrieval.redundancy import merits
from commonplace.retrieval.snippet_region import Cut, region_around, speaker_before
from commonplace.text.blocks import BLOCK_MARKS
from commonplace.types import SearchResult

if TYPE_CHECKING:
    from commonplace.retrieval.passages import PassageTable
    from commonplace.retrieval.query import Evidence

__all__ = ["Budget", "Window", "pack_windows", "window_results", "within_budget"]

_SHORT_CHARS = 250
"""Length of the later windows: most evidence is one line, and short windows show more lines."""
_LONG_PART = 0.5
"""Part of an answer's characters that long windows take."""
_LEAST_CHARS = 60
"""Room in an answer that is left unused."""
_FRAME_CHARS = 165
"""Characters of a result beside its snippet in the tool's JSON: path, lines, score, citation."""
_WITH_FRAMES = 1.45
"""Length of all snippets with their frames, at most, as a multiple of the snippets alone."""
_ITEM_STARTS = ("- ", "* ", "> ")
_BREAKS = ("\n- ", "\n* ", "\n> ", "\n#", "\n\n", "\n\r")
"""Marks of texts at which a window is cut without a look at the Markdown around it."""
_GOES_ON = ("\n ", "\n\t", "\n=", "\n--", "\n:", "\n\n:::", "\n</", "\n\n</", "\n///", "\n\n///")
"""Beginnings of a line that belongs to the one above it."""
_DIGITS = 6  # decimals of a score


class Budget:
    """Remaining room of an answer."""

    def __init__(self, chars: int) -> None:
        self.chars = chars
        self._with_frames = max(int(chars * _WITH_FRAMES), chars + _FRAME_CHARS)

    @property
    def room(self) -> int:
        """Length of a snippet that still fits."""
        return max(0, min(self.chars, self._with_frames - _FRAME_CHARS))

    def take(self, chars: int) -> None:
        """Use room for a snippet."""
        self.chars -= chars
        self._with_frames -= chars + _FRAME_CHARS


def within_budget(results: Iterable[SearchResult], max_chars: int) -> list[SearchResult]:
    """Return those results, the first ones first, that an answer of so many characters holds."""
    budget, found = Budget(max_chars), []
    for result in results:
        if result.chars > budget.room and not _has_marks(result.context):
            result = replace(result, context="")  # a parent or a speaker; not a fence or a header
        if result.chars <= budget.room:
            budget.take(result.chars)
            found.append(result)
    return found


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
    share: NDArray[np.float64], start: NDArray[np.int64], end: NDArray[np.int64],
    passage: NDArray[np.int64], *, max_chars: int, hidden: NDArray[np.bool_] | None = None,
) -> list[Window]:  # fmt: skip
    """Choose windows that do not overlap, best first: long ones, then short ones.

    Args:
        share: Evidence of each unit.
        start: First character of each unit in the text.
        end: Character behind its last.
        passage: Passage of each unit; units are in the order of their passages.
        max_chars: Characters of all windows, at most.
        hidden: Units that are in no window; None for none.
    """
    if not len(share):
        return []
    longest = min(SNIPPET_CHARS, max_chars)
    packer = _Packer(share, start, end, passage, longest=longest, hidden=hidden)
    budget = Budget(max_chars)
    packer.pack(budget, width=longest, until=int(max_chars * (1 - _LONG_PART)))
    packer.pack(budget, width=min(longest, _SHORT_CHARS))
    return packer.joined()


class _Packer:
    """Greedy choice of windows: each has the most evidence that is left and fits.

    Args are those of `pack_windows`; no window is longer than `longest`.
    """

    def __init__(
        self, share: NDArray[np.float64], start: NDArray[np.int64], end: NDArray[np.int64],
        passage: NDArray[np.int64], *, longest: int, hidden: NDArray[np.bool_] | None,
    ) -> None:  # fmt: skip
        self._share, self._start, self._end, self._passage = share, start, end, passage
        self._longest = longest
        self._taken = np.zeros(len(share), dtype=np.bool_) if hidden is None else hidden.copy()
        self._behind = np.arange(1, len(share) + 1)
        self._is_first = np.ones(len(share), dtype=np.bool_)
        np.not_equal(passage[1:], passage[:-1], out=self._is_first[1:])
        # Rounded, so that windows of equal evidence compare equal and the first one is chosen.
        self._sums = np.concatenate(([0.0], share.cumsum())).round(12)
        self.windows: list[Window] = []

    def pack(self, budget: Budget, *, width: int, until: int = 0) -> None:
        """Add windows of a width until so many characters are left.

        A window holds whole units, unless one unit is longer than a window. The last windows are as
        wide as the room that is left.
        """
        while budget.room >= min(width, _LEAST_CHARS) and budget.chars > until:
            before = len(self.windows)
            self._add(budget, width=min(width, budget.room), until=until)
            if len(self.windows) == before:
                break

    def _add(self, budget: Budget, *, width: int, until: int) -> None:
        sums = self._sums
        # Passages, and the gaps between windows, lie apart on one number line, so that no window
        # reaches from one into the next.
        bounds = self._taken | self._is_first
        bounds[1:] |= self._taken[:-1]
        offset = bounds.cumsum()
        offset *= int(self._end[-1]) + width + 1
        stop = (offset + self._end).searchsorted(offset + self._start + width, side="right")
        np.maximum(stop, self._behind, out=stop)
        mass = (sums[stop] - sums[:-1]).round(12)
        mass[self._taken] = -1.0
        chars = np.minimum(self._end[stop - 1] - self._start, self._longest)
        mass[chars > budget.room] = -1.0
        while budget.room >= width and budget.chars > until:
            first = int(mass.argmax())
            most, behind = float(mass[first]), int(stop[first])
            if most <= 1e-12:
                break
            self.windows.append(Window(first, behind - 1, most))
            self._taken[first:behind] = True
            mass[first:behind] = -1.0
            budget.take(min(int(self._end[behind - 1] - self._start[first]), self._longest))
            # Windows that reach into the chosen one now end before it.
            before = int(stop[:first].searchsorted(first, "right"))
            if before < first:
                stop[before:first] = first
                cut_off = mass[before:first]
                np.subtract(sums[first], sums[before:first], out=cut_off, where=cut_off > 0)

    def joined(self) -> list[Window]:
        """Return the windows, best first; those that touch are one, up to a snippet's length."""
        found: list[Window] = []
        waiting = {window.first: window for window in self.windows}
        behind = {window.last + 1: window for window in self.windows}
        for window in sorted(self.windows, key=lambda window: -window.mass):
            if waiting.pop(window.first, None) is None:
                continue
            whole = window
            while (other := self._neighbour(whole, waiting, behind)) is not None:
                del waiting[other.first]
                first, last = min(whole.first, other.first), max(whole.last, other.last)
                whole = Window(first, last, whole.mass + other.mass)
            found.append(whole)
        return sorted(found, key=lambda window: (-round(window.mass, 12), window.first))

    def _neighbour(
        self, window: Window, waiting: dict[int, Window], behind: dict[int, Window]
    ) -> Window | None:
        """Return the best window that touches another one and fits into one snippet with it."""
        before, after = behind.get(window.first), waiting.get(window.last + 1)
        if before is None and after is None:  # as for most
            return None
        near = [
            other
            for other in (before, after)
            if other is not None
            and other.first in waiting
            and self._passage[other.first] == self._passage[window.first]
            and int(self._end[max(window.last, other.last)]) - self._longest
            <= self._start[min(window.first, other.first)]
        ]
        return max(near, key=lambda other: other.mass, default=None)


def window_results(evidence: Evidence, *, explain: bool) -> list[SearchResult]:
    """Return the results of the best windows, those below `min_score` left out."""
    query = evidence.analyzed.query
    cuts = _cuts(evidence, longest=min(SNIPPET_CHARS, query.max_chars))
    windows = [window for window in evidence.windows if window.first in cuts]
    merit = merits(evidence.lines)
    scores = _scores(windows, evidence)
    enough = [score >= query.min_score for score in scores]
    found = [
        _result(cuts[window.first], window, evidence.lines.table, score, merit=merit)
        for window, score in compress(zip(windows, scores, strict=True), enough)
    ]
    if found and found[0].chars > query.max_chars:  # its context makes the best one too long
        fewer = _narrowed(windows[0], evidence, query.max_chars - len(found[0].context))
        if fewer != windows[0]:
            others = (fewer if it is windows[0] else it for it in evidence.windows)
            return window_results(evidence._replace(windows=[*others]), explain=explain)
        found[0] = replace(found[0], context="")
    if explain:
        from commonplace.retrieval.explanation import explanations

        explained = compress(explanations(windows, evidence), enough)
        found = [replace(it, explanation=why) for it, why in zip(found, explained, strict=True)]
    shown = within_budget(found, query.max_chars)
    return sorted(shown, key=lambda result: (-result.score, result.path, result.start_line))


def _narrowed(window: Window, evidence: Evidence, room: int) -> Window:
    """Return a window without the units that are farthest from its best one, so that it may fit."""
    table, (first, last, *_) = evidence.lines.table, window
    best = first + int(evidence.lines.share[window.rows].argmax())
    while first < last:
        first, last = (first, last - 1) if last - best >= best - first else (first + 1, last)
        if table.end[last] - table.start[first] <= room:
            break
    return window._replace(first=first, last=last)


def _scores(windows: list[Window], evidence: Evidence) -> list[float]:
    """Return the score of each window; a reranked order is strictly descending."""
    scores: list[float] = []
    best = evidence.windows[0].mass  # it may be of a heading, which is not shown
    for window in windows:
        # Rounded, so that sums that differ by the order of additions are equal.
        score = round(evidence.confidence * window_part(window.mass / best), _DIGITS)
        if scores and windows[0].rerank is not None:
            score = max(0.0, min(score, round(scores[-1] - 10**-_DIGITS, _DIGITS)))
        scores.append(score)
    return scores


def _cuts(evidence: Evidence, *, longest: int) -> dict[int, Cut]:
    """Return each window's snippet, by its first unit; windows without text are left out."""
    share, table, items = evidence.lines.share, evidence.lines.table, evidence.lines.items
    cuts = {window.first: _packed(window, table, longest) for window in evidence.windows}
    ordered = sorted(evidence.windows, key=lambda window: window.first)
    after = 0
    is_marked = _has_marks(table.text)  # one look at all texts; most notes have no blocks
    for window, following in zip_longest(ordered, ordered[1:]):
        settled: Cut | None = (packed := cuts[window.first])
        is_within = items is not None and items.parents[window.first] >= 0
        if is_within or not _is_plain(window, packed, table, is_marked=is_marked):
            until = cuts[following.first].start if following else len(table.text)
            region = region_around(table, window.first, packed, (after, until), evidence.above)
            best = int(table.start[window.first + share[window.rows].argmax()])
            settled = cut(region, packed, longest=longest, middle=best)
        if settled is None:
            del cuts[window.first]
        else:
            cuts[window.first], after = settled, settled.end
    return cuts


def _packed(window: Window, table: PassageTable, longest: int) -> Cut:
    start, end = int(table.start[window.first]), int(table.end[window.last])
    is_part = start > 0 and table.text[start - 1] != "\n"
    context = speaker_before(table, window.first) if is_part else ""
    return Cut(start, min(end, start + longest), context)


def _is_plain(window: Window, packed: Cut, table: PassageTable, *, is_marked: bool) -> bool:
    """Return whether a window can be cut as it was packed, as most are: a cheap test."""
    text, (start, end, _) = table.text, packed
    passage, chunk = table.passage_of(window.first), table.chunk_of(window.first)
    if passage.source == "sessions":
        return True  # a message is one line
    last = text[(at := int(table.start[window.last])) : at + 2]
    begins = start == passage.start or text[start - 2] in ".!?:\n"
    above = text[max(passage.start, start - SNIPPET_CHARS) : start].rstrip()
    if "![" in text[start:end] or above.rpartition("\n")[2].startswith("##"):
        return False
    return (
        (text.startswith(_ITEM_STARTS, start) or (begins and text[start] not in " \t\xa0</:"))
        and (last[0].isalnum() or last in _ITEM_STARTS)
        and (end == len(text) or text[end - 1] in ".!?\n" or text.startswith(_BREAKS, end))
        and not text.endswith((":", "：", "*", "_"), start, end)  # "To set it up:"
        and not text.startswith(_GOES_ON, end)
        and not chunk.context
        and not (is_marked and _has_marks(chunk.text + text[start : end + SNIPPET_CHARS]))
    )


def _has_marks(text: str) -> bool:
    return any(holds(text, mark) for mark in (*BLOCK_MARKS, "> [!"))


def _result(
    cut: Cut, window: Window, table: PassageTable, score: float, *, merit: NDArray[np.float64]
) -> SearchResult:
    """Cut the snippet of a window out of its passage."""
    passage = table.passage_of(window.first)
    snippet = table.text[cut.start : cut.end].removesuffix("\r")
    first_line = table.line_of(cut.start, passage)
    last = first_line + snippet.count("\n")
    best = window.first + int(merit[window.rows].argmax())
    best_line = table.line_of(int(table.start[best]), passage)
    return SearchResult(
        path=passage.path,
        snippet=snippet,
        start_line=first_line,
        end_line=last,
        score=score,
        source=passage.source,
        heading=table.heading_of(window.first, first_line),
        context=cut.context,
        best_line=min(max(best_line, first_line), last),
    )
