"""Evaluation of a memory: ask questions and find their evidence in the answers."""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from commonplace.evaluation.metrics import are_shown, first_rank, within_chars
from commonplace.evaluation.questions import LocatedEvidence, Question, locate_evidence
from commonplace.evaluation.report import EvaluationReport, Outcome
from commonplace.tools import answer_json, results_payload
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
        QuestionFileError: Evidence is no line or passage of the memory.
        StoreError: The index cannot be read or written.
    """
    own = [
        (question, [locate_evidence(memory, place) for place in question.evidence])
        for question in questions
    ]
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


def _ask(
    memory: Memory,
    question: Question,
    evidence: list[LocatedEvidence],
    *,
    asked: Callable[[str], None],
) -> Outcome:
    text = question.question
    started = time.perf_counter()
    answer = memory.search(text, explain=True)
    milliseconds = (time.perf_counter() - started) * 1000
    everything = _search_wide(memory, text)
    read = within_chars(everything, chars=BUDGET_CHARS)
    asked(text)
    places = tuple(dict.fromkeys(found.place for found in evidence))
    return Outcome(
        question=replace(question, evidence=places),
        results=answer,
        found=are_shown(answer, evidence),
        found_in_8000=are_shown(read, evidence),
        first_right=set(are_shown(answer[:1], evidence)) == set(places),
        rank=first_rank(answer, evidence),
        chars=sum(result.chars for result in answer),
        chars_in_8000=sum(result.chars for result in read),
        json_chars=len(answer_json(results_payload(answer, citations=memory.settings.citations))),
        best_score=_best_score(everything),
        milliseconds=milliseconds,
    )


def _ask_foreign(memory: Memory, text: str, *, asked: Callable[[str], None]) -> float:
    score = _best_score(_search_wide(memory, text))
    asked(text)
    return score


def _search_wide(memory: Memory, text: str) -> SearchResults:
    return memory.search(text, max_results=_BUDGET_RESULTS, max_chars=BUDGET_CHARS, min_score=0.0)


def _best_score(results: Sequence[SearchResult]) -> float:
    return max((result.score for result in results), default=0.0)


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
    found = (outcome.results.fallback_notice for outcome in outcomes)
    return tuple(dict.fromkeys(filter(None, found)))
