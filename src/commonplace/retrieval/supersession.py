"""Supersession: which of two lines about one thing holds now, or held when a question asks.

A question about now gets the line that corrects, replaces or reverses an older one before it; one
about then ("in February", "used to") gets the line of that time. A line that stands back keeps the
place right behind, so that a wrong guess costs one place. Struck lines (`text.strikethrough`) are
certain: when a question asks for now, they stand behind all others.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from commonplace.retrieval.answer_types import holds_answer
from commonplace.retrieval.compared_line import ComparedLine
from commonplace.retrieval.compared_question import Question
from commonplace.retrieval.corrections import Judgement, judge, judge_successor
from commonplace.retrieval.passages import holds, is_long_term
from commonplace.retrieval.precedence import Precedence
from commonplace.retrieval.repeats import with_repeats
from commonplace.retrieval.revoked_values import LEAST_SHARED, names_old_value, names_value
from commonplace.retrieval.struck_lines import correcting_rows, replacements, struck_rows
from commonplace.text.correction_cues import asks_for_past

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from commonplace.retrieval.line_features import LineScores
    from commonplace.retrieval.query import AnalyzedQuery
    from commonplace.text.analysis import Analyzer
    from commonplace.types import SupersessionReason

__all__ = ["COMPARED_LINES", "COMPARED_NATS", "supersede"]

COMPARED_NATS = 13.5
"""Nats behind the best line within which lines are compared: a stale line, and its correction."""
COMPARED_LINES = 16
"""Best lines that are compared with each other, at most."""
_FIRST_LINES = 4
"""Lines with the most evidence, which a note corrects that only names what they have."""
_STALE_NATS = 6.0
"""Nats behind the best line within which a line may be stale: others come late anyway."""
_BEHIND_NATS = 12.0
"""Nats that a correction may lie behind the line that it corrects."""
_NEAR_NATS = 1.0
"""Nats that a line may lie behind another one and answer a question as well."""
_LATE_PLACE, _MANY_LINES, _IN_COMMON = 6, 20, 0.5
"""Place among the best of so many lines, from which on a correction has more words in common."""
_AHEAD_NATS = 0.25
"""Nats that a line gets ahead of the line that it corrects: its neighbours bring less."""
_STEP_NATS = 0.7
"""Nats that a line stands behind the one that comes before it."""
_STRUCK_NATS = 24.0
"""Nats that a struck line loses when a question asks for now."""
_WORDLESS = ("key", "value")
"""Reasons that count within one list item; words of change count across items."""
_DATE = re.compile(r"\d{4}-\d\d-\d\d")


def supersede(
    lines: LineScores, analyzed: AnalyzedQuery, analyzer: Analyzer
) -> tuple[LineScores, tuple[Precedence, ...]]:
    """Return the lines with the evidence of those that stand back lowered, and which do."""
    comparison = _Comparison(lines, analyzed, analyzer)
    order = comparison.order()
    if not (order or comparison.struck):
        return lines, ()
    share = comparison.shares(order)
    return replace(lines, share=share), tuple(order)


class _Comparison:
    """Comparison of the best lines of one search.

    Attributes:
        struck: Rows of lines that are struck through.
    """

    def __init__(self, lines: LineScores, analyzed: AnalyzedQuery, analyzer: Analyzer) -> None:
        self._lines, self._table = lines, lines.table
        self._question = Question(analyzed, lines)
        self._days = analyzed.days
        self._today = analyzed.query.now.date()
        self._scores = np.log(np.maximum(lines.share, 1e-300))
        has_struck = holds(lines.table.text, "~~")  # one look at all texts; most have none
        self.struck = frozenset(struck_rows(lines.table) if has_struck else ())
        best = (-self._scores).argsort(kind="stable")[:COMPARED_LINES]
        least = self._scores[best[0]] - COMPARED_NATS
        self._best = [
            row
            for row in best[self._scores[best] > least].tolist()
            if row not in self.struck and lines.table.headings[row] != row
        ]
        self._where = {row: (self._path(row), int(self._table.days[row])) for row in self._best}
        self._analyzer = analyzer
        self._compared: dict[int, ComparedLine] = {}

    def _line(self, place: int) -> ComparedLine:
        """Return one of the best lines to be compared; most never are."""
        line = self._compared.get(place)
        if line is None:
            row = self._best[place]
            text, held = self._table.text_of(row), self._lines.present[row]
            line = ComparedLine(row, text, held, self._question, self._analyzer, place=place)
            self._compared[place] = line
        return line

    @cached_property
    def _asks_past(self) -> bool:
        """Whether the question asks for what was before, without a date."""
        question = self._question
        return self._days is None and (
            bool(question.successors) or asks_for_past(question.words, question.text)
        )

    @cached_property
    def _asks_now(self) -> bool:
        if self._days is not None:
            return self._days.last >= self._today
        return not self._asks_past

    def order(self) -> list[Precedence]:
        """Return which lines stand back for which, at the time that the question asks for."""
        corrections: list[Precedence] = []
        doubts: dict[int, Precedence] = {}
        may_stand_back = self._asks_now or bool(self._question.successors)
        for older, newer, judgement in with_repeats(self._question, self._judgements()):
            if judgement.older_stands_back:
                corrections += self._at_time(newer.row, older.row, judgement.reason)
            elif may_stand_back and self._scores[older.row] - _STEP_NATS < self._scores[newer.row]:
                # For the best line alone: others would be raised above it, too, and equal it.
                best = doubts.get(newer.row)
                if best is None or self._scores[older.row] > self._scores[best.first]:
                    doubts[newer.row] = Precedence(older.row, newer.row, judgement.reason)
        for row, newest in self._replacements() if self.struck else ():
            corrections += self._at_time(newest, row, "struck")
        correcting = {first for first, _, _ in corrections}
        return corrections + [pair for row, pair in doubts.items() if row not in correcting]

    def shares(self, order: Iterable[Precedence]) -> NDArray[np.float64]:
        """Return the lines' shares of the evidence after some of them stood back."""
        scores = self._scores.copy()
        pairs = list(order)
        for _ in pairs:  # as often as the longest chain of corrections may be
            before = scores.copy()
            for first, behind, _ in pairs:
                scores[first] = max(scores[first], scores[behind] + _AHEAD_NATS)
            if (scores == before).all():
                break
        if self._asks_now:
            scores[list(self.struck)] -= _STRUCK_NATS
        for _ in pairs:
            before = scores.copy()
            for first, behind, _ in pairs:
                scores[behind] = min(scores[behind], scores[first] - _STEP_NATS)
            if (scores == before).all():
                break
        likely = np.exp((scores - scores.max()).round(4))
        share: NDArray[np.float64] = likely / likely.sum()
        return share

    def _judgements(self) -> Iterator[tuple[ComparedLine, ComparedLine, Judgement | None]]:
        """Yield the older and the newer line of each pair that is worth a comparison, judged."""
        newer_lines = self._newer_lines()
        # What was before a name that is asked for has less evidence than that name itself.
        is_asked_for = bool(self._question.successors)
        least = self._scores.max() - (COMPARED_NATS if is_asked_for else _STALE_NATS)
        stale = [at for at in newer_lines if self._scores[self._best[at]] >= least]
        for at in stale:  # grows: what corrects another line may be corrected in its turn
            for later in newer_lines[at]:
                older, newer = self._line(at), self._line(later)
                judgement = self._judged(older, newer)
                if judgement is None and not self._are_ordered(older.row, newer.row):
                    continue  # neither is known to be the newer one
                yield older, newer, judgement
                is_correction = judgement is not None and judgement.older_stands_back
                if is_correction and later in newer_lines and later not in stale:
                    stale.append(later)

    def _judged(self, older: ComparedLine, newer: ComparedLine) -> Judgement | None:
        (path, day), (its_path, its_day) = self._where[older.row], self._where[newer.row]
        is_ordered = self._are_ordered(older.row, newer.row) or names_old_value(older, newer)
        if not is_ordered and path != its_path:
            return None
        if self._question.successors:
            return judge_successor(self._question, older, newer)
        judgement = judge(
            self._question,
            older,
            newer,
            same_place=self._are_in_one_place,
            of_two_days=0 < day < its_day,
            is_as_near=self._is_as_near(older, newer),
        )
        if judgement is None or judgement.reason == "relative":
            return judgement  # whichever of the two is the newer
        if not is_ordered:
            return None
        if judgement.reason in _WORDLESS and self._is_of_another_item(older.row, newer.row):
            return None
        if not judgement.older_stands_back or judgement.reason == "key":
            return judgement
        return None if self._is_by_accident(older, newer) else judgement

    def _is_of_another_item(self, older: int, newer: int) -> bool:
        """Return whether both lines lie in list items, of which the older's alone is asked for.

        "- Bob" with "desk 7" below it says nothing of the desk below "- Ann".
        """
        items = self._lines.items
        if items is None or min(items.parents[[older, newer]]) < 0:
            return False
        others = np.maximum(items.above[newer], self._lines.present[newer])
        return bool((items.above[older] > others).any())

    def _is_by_accident(self, older: ComparedLine, newer: ComparedLine) -> bool:
        """Return whether two lines of many have little in common, and the newer one comes late.

        Where a name is in many lines, "Leo has switched to the ukulele" corrects none of them. One
        that names the older line's number is no accident: "16.2, *15.6* is history".
        """
        is_late = newer.place >= _LATE_PLACE and len(self._table) > _MANY_LINES
        if not is_late or newer.is_turn or older.common(newer) > _IN_COMMON:
            return False
        named = self._question.unasked_values(older).intersection(newer.words)
        return not any(map(str.isdigit, named))

    def _newer_lines(self) -> dict[int, list[int]]:
        """Return the newer lines that are worth a comparison with each, as places in `_best`."""
        rows = np.array(self._best, dtype=np.int64)
        scores = self._scores[rows]
        held = self._lines.present[rows]
        shared = (held * self._question.weights) @ held.T
        possible = self._newer(rows) & (scores[None, :] >= scores[:, None] - _BEHIND_NATS)
        worth = possible & (shared >= LEAST_SHARED)
        if not self._question.asks_event:
            # In files without a day, names are everywhere: of the first lines they tell something.
            is_dated = self._table.days[rows] > 0
            is_stale = scores >= self._scores.max() - _STALE_NATS
            is_stale &= is_dated | (np.arange(len(rows)) < _FIRST_LINES)
            named = possible & ~worth & is_stale[:, None] & is_dated[None, :]
            for older, newer in np.argwhere(named).tolist():
                lines = self._line(older), self._line(newer)
                worth[older, newer] = names_value(self._question, *lines)
        found: dict[int, list[int]] = {}
        for older, newer in np.argwhere(worth).tolist():
            found.setdefault(older, []).append(newer)
        return found

    def _newer(self, rows: NDArray[np.int64]) -> NDArray[np.bool_]:
        """Return which lines (columns) may be newer than which (rows): by day, or by place."""
        files: dict[str, int] = {}
        paths = (self._path(row) for row in rows.tolist())
        file = np.array([files.setdefault(path, len(files)) for path in paths])
        days = self._table.days[rows]
        later: NDArray[np.bool_] = np.where(
            file[:, None] == file[None, :],
            rows[None, :] > rows[:, None],
            (days[None, :] > days[:, None]) | (days[None, :] + days[:, None] == 0),
        )
        # What came later, and is named, may be in a file without a day.
        return later | (days[None, :] == 0) if self._question.successors else later

    def _are_ordered(self, one: int, other: int) -> bool:
        """Return whether a day, or their place in one file, orders two lines; else words may.

        In one file, a later line is a newer one where lines are added as facts change; the steps
        and sections of a manual correct nothing above them.
        """
        (path, day), (its_path, its_day) = self._where[one], self._where[other]
        return bool(day or its_day or (path == its_path and is_long_term(path)))

    def _at_time(self, newer: int, older: int, reason: SupersessionReason) -> Iterator[Precedence]:
        """Yield the order of a correction and what it corrects, at the time asked for."""
        asks_past = self._asks_past
        if self._days is not None:
            was, day = self._table.days[[older, newer]].tolist()
            first, last = (named.toordinal() for named in self._days[:2])
            may_come = was > last and self._question.may_be_coming
            asks_past = day > last and not may_come
            if not (asks_past or may_come or self._asks_now or day < first):
                return
        first, behind = (older, newer) if asks_past else (newer, older)
        if not (asks_past and self._lacks_kind(first, behind)):
            yield Precedence(first, behind, reason)

    def _lacks_kind(self, row: int, other: int) -> bool:
        """Return whether a line lacks what is asked for, as an amount, and another one has it."""
        texts = self._table.text_of(row), self._table.text_of(other)
        kinds = self._question.answer_types
        return any(holds_answer(texts[1], it) and not holds_answer(texts[0], it) for it in kinds)

    def _replacements(self) -> Iterator[tuple[int, int]]:
        """Return struck lines, each with the line that holds in its place."""
        least = self._scores.max() - _STALE_NATS
        struck = [row for row in sorted(self.struck) if self._scores[row] >= least]
        others = list(dict.fromkeys((*self._best, *correcting_rows(self._table))))
        rows = np.array([*struck, *others])
        held = self._lines.present[rows]
        shared = (held[: len(struck)] * self._question.weights) @ held[len(struck) :].T
        is_newer = self._newer(rows)[: len(struck), len(struck) :]
        likely = is_newer & (shared >= LEAST_SHARED)
        return replacements(self._table, struck, others, likely=likely, scores=self._scores)

    def _is_as_near(self, older: ComparedLine, newer: ComparedLine) -> bool:
        """Return whether a line has next to as much evidence, below an equal heading."""
        behind = self._scores[older.row] - self._scores[newer.row]
        return behind <= _NEAR_NATS and self._heading(older.row) == self._heading(newer.row)

    def _are_in_one_place(self, older: ComparedLine, newer: ComparedLine, key: str) -> bool:
        """Return whether the key of two lines is one key: not below two headings, and no speaker's.

        The name of a speaker begins many lines of a file, a key one.
        """
        files = {self._path(older.row), self._path(newer.row)}
        headings = {self._heading(older.row), self._heading(newer.row)}
        if len(headings - {""}) > 1:  # what stands below none, as in a log, may be of any
            return False
        texts = ["\n".join(p.parts) for p in self._table.passages if p.path in files]
        return sum(text.count(key) for text in texts) == 2

    def _heading(self, row: int) -> str:
        """Return the innermost heading above a line; "" for a date, as logs have."""
        table = self._table
        line = table.line_of(int(table.start[row]), table.passage_of(row))
        heading = table.heading_of(row, line).rpartition(" > ")[2]
        return "" if _DATE.search(heading) else heading.casefold()

    def _path(self, row: int) -> str:
        return self._table.passage_of(row).path
