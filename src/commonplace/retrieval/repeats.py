"""Repeats: lines that say once more what an older line says, and what that tells of it.

What repeats a corrected line is no news: "a nice poster, with *Ruben* on bass". What a line
remembers or quotes is over: "the sign still says *Fridays*"; so another answer to the same question
holds, with or without a sign of its own.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from commonplace.retrieval.corrections import Judgement
from commonplace.retrieval.subjects import has_other_subject
from commonplace.text.correction_cues import recalls
from commonplace.text.stopwords import ENGLISH

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from commonplace.retrieval.compared_line import ComparedLine
    from commonplace.retrieval.compared_question import Question

__all__ = ["with_repeats"]

_SAME = 0.9
"""Share of words from which a line is another one once more."""
_HALF = 1 / 2
"""Share of the question that a line holds that may have answered it, at least."""
_TWO_FIFTHS = 2 / 5
"""Share of what a line holds of the question that another answer holds, at least."""
_THIRD = 1 / 3
"""Share of a line's words that a line that remembers it holds, at least."""


def with_repeats(
    question: Question,
    judgements: Iterable[tuple[ComparedLine, ComparedLine, Judgement | None]],
) -> Iterator[tuple[ComparedLine, ComparedLine, Judgement]]:
    """Yield the pairs of which one line stands back, by what other lines repeat, too.

    Args:
        question: The question.
        judgements: The older and the newer line of each pair, and which stands back; None: neither.
    """
    judged = list(judgements)
    corrected: dict[int, list[ComparedLine]] = {}
    others: dict[int, list[ComparedLine]] = {}
    for older, newer, judgement in judged:
        if judgement is not None and judgement.older_stands_back:
            corrected.setdefault(newer.row, []).append(older)
        else:
            others.setdefault(older.row, []).append(newer)
    known = {older.row for lines in corrected.values() for older in lines}
    repeating = {
        newer.row
        for older, newer, _ in judged
        if any(_repeats(question, was, older, newer) for was in corrected.get(older.row, ()))
    }
    memories = _Memories(question, others)
    for older, newer, judgement in judged:
        # What has the same key with another value is news, whatever else it repeats.
        is_repeat = newer.row in repeating and (judgement is None or judgement.reason != "key")
        if is_repeat:
            yield older, newer, Judgement("doubt", older_stands_back=False)
        elif judgement is not None:
            yield older, newer, judgement
        elif older.row not in known and memories.is_over(older, newer):
            yield older, newer, Judgement("value")


def _repeats(
    question: Question, older: ComparedLine, newer: ComparedLine, later: ComparedLine
) -> bool:
    """Return whether a later line has what a newer line has corrected, and not what holds now.

    "Back to Ruben" has a cue, and "bass: Ruben" is the older line once more: these are news.
    """
    if later.is_turn or later.has_cue or later.common(older) >= _SAME:
        return False
    asked = question.term_set | ENGLISH
    said, new = older.term_set - asked, newer.term_set - older.term_set - asked
    names = {newer.term_of(word) for word in newer.values} & new
    if not later.term_set.isdisjoint(names or new):
        return False
    gone = {older.term_of(word) for word in older.values} & said
    return not later.term_set.isdisjoint(gone | said - newer.term_set)


class _Memories:
    """Lines that remember or quote an older line.

    They are looked for once for each older line: lines on one subject make hundreds of pairs.

    Args:
        question: The question.
        others: The newer lines that do not correct an older one, by its row.
    """

    def __init__(self, question: Question, others: dict[int, list[ComparedLine]]) -> None:
        self._question, self._others = question, others
        self._of: dict[int, list[ComparedLine]] = {}
        self._remember: dict[int, bool] = {}

    def is_over(self, older: ComparedLine, newer: ComparedLine) -> bool:
        """Return whether another line remembers the older one, and the newer one may answer."""
        if all(line is newer for line in self._memories(older)):
            return False
        question = self._question
        if not newer.is_short or (older.is_turn and newer.is_turn):
            return False
        if question.kept(older, newer) < _TWO_FIFTHS:
            return False
        return not has_other_subject(question, older, newer, may_miss=True)

    def _memories(self, older: ComparedLine) -> list[ComparedLine]:
        found = self._of.get(older.row)
        if found is None:
            may_be_over = older.is_short and older.share >= _HALF and not older.is_doubtful
            lines = self._others[older.row] if may_be_over else ()
            found = self._of[older.row] = [line for line in lines if self._is_memory(older, line)]
        return found

    def _is_memory(self, older: ComparedLine, later: ComparedLine) -> bool:
        """Return whether a later line has much of an older one, and says that it was before."""
        question = self._question
        said = older.term_set - question.term_set - ENGLISH
        if said.isdisjoint(later.term_set) or older.common(later) < _THIRD:
            return False
        return question.kept(older, later) >= _TWO_FIFTHS and self._remembers(later)

    def _remembers(self, line: ComparedLine) -> bool:
        known = self._remember.get(line.row)
        if known is None:
            known = bool(line.quotations) or recalls(line.words, line.text)
            self._remember[line.row] = known
        return known
