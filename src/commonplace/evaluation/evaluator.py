"""Evaluation of a memory: ask questions and find their evidence in the answers."""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING

from commonplace.evaluation.metrics import first_rank, shows, within_chars
from commonplace.evaluation.questions import Evidence, Question, evidence_line
from commonplace.evaluation.report import EvaluationReport, Outcome
from commonplace.types import SearchResult, SearchResults

if TYPE_CHECKING:
    from commonplace.memory import Memory

__all__ = ["BUDGET_CHARS", "Progress", "evaluate"]

Progress = Callable[[int, int, str], None]
"""Callback with the number of questions asked, their total, and the last one."""

BUDGET_CHARS = 8_000
"""Characters that a careful agent reads: about 2,000 tokens."""

_BUDGET_RESULTS = 60
_SEED = 0
"""Fixed seed: each run samples the same foreign questions."""


def evaluate(
    memory: Memory,
    questions: Iterable[Question],
    *,
    foreign: Iterable[str] | None = None,
    progress: Progress | None = None,
) -> EvaluationReport:
    """Measure how much of the questions' evidence the answers of a memory show.

    The index is updated first. Open the memory with `open_at`, so that its clock shows the time
    of its notes.

    Args:
        memory: Memory to evaluate.
        questions: Questions with their evidence.
        foreign: Questions about other notes; a sample as large as the own questions is asked.
        progress: Called after each question.

    Raises:
        QuestionFileError: Evidence names no line of the memory.
        StoreError: The index cannot be read or written.
    """
    own = [(question, _evidence(memory, question)) for question in questions]
    others = _sample(foreign, exclude=[question.question for question, _ in own])
    failed = memory.index().failed
    asked = _counter(progress, total=len(own) + len(others or ()))
    outcomes = [_ask(memory, question, lines, asked=asked) for question, lines in own]
    scores = [_ask_foreign(memory, text, asked=asked) for text in others or ()]
    return EvaluationReport(
        outcomes=tuple(outcomes),
        foreign_scores=None if others is None else tuple(scores),
        fallbacks=_fallbacks(outcomes),
        failed=tuple(failed),
    )


def _evidence(memory: Memory, question: Question) -> dict[Evidence, str]:
    return dict(evidence_line(memory, place) for place in question.evidence)


def _ask(
    memory: Memory,
    question: Question,
    lines: dict[Evidence, str],
    *,
    asked: Callable[[str], None],
) -> Outcome:
    text = question.question
    started = time.perf_counter()
    answer = memory.search(text, explain=True)
    milliseconds = (time.perf_counter() - started) * 1000
    everything = _search_wide(memory, text)
    asked(text)
    return Outcome(
        question=Question(text, tuple(lines), question.category),
        results=answer,
        found=_found(answer, lines),
        found_in_8000=_found(within_chars(everything, chars=BUDGET_CHARS), lines),
        rank=first_rank(answer, lines),
        best_score=_best_score(everything),
        milliseconds=milliseconds,
    )


def _ask_foreign(memory: Memory, text: str, *, asked: Callable[[str], None]) -> float:
    score = _best_score(_search_wide(memory, text))
    asked(text)
    return score


def _search_wide(memory: Memory, text: str) -> SearchResults:
    return memory.search(text, max_results=_BUDGET_RESULTS, min_score=0.0)


def _best_score(results: Sequence[SearchResult]) -> float:
    return max((result.score for result in results), default=0.0)


def _found(results: Sequence[SearchResult], lines: dict[Evidence, str]) -> tuple[Evidence, ...]:
    return tuple(
        place
        for place, text in lines.items()
        if any(shows(result, place, text) for result in results)
    )


def _sample(foreign: Iterable[str] | None, *, exclude: Sequence[str]) -> list[str] | None:
    """Sample as many foreign questions as there are own ones, the same ones in every run."""
    if foreign is None:
        return None
    own = set(exclude)
    others = [text for text in dict.fromkeys(foreign) if text not in own]
    return random.Random(_SEED).sample(others, min(len(exclude), len(others)))


def _counter(progress: Progress | None, *, total: int) -> Callable[[str], None]:
    done = 0

    def asked(text: str) -> None:
        nonlocal done
        done += 1
        if progress is not None:
            progress(done, total, text)

    return asked


def _fallbacks(outcomes: Iterable[Outcome]) -> tuple[str, ...]:
    found = [
        f"{outcome.results.mode} search only: {outcome.results.fallback}"
        for outcome in outcomes
        if outcome.results.fallback
    ]
    return tuple(dict.fromkeys(found))
