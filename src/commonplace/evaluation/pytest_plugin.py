"""Pytest fixture that fails a build when golden questions lose their answers.

Turn it on in the root ``conftest.py``. There is no entry point, so that no other project's tests
load it::

    pytest_plugins = ["commonplace.evaluation.pytest_plugin"]

and keep questions beside the notes::

    def test_the_notes_answer_our_questions(commonplace_eval):
        commonplace_eval("notes", "notes/questions.jsonl", at_least=0.9, embedder="bundled")

A named embedder keeps ``auto`` from using an API key of the environment. PYTEST_DONT_REWRITE
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Protocol

import pytest

if TYPE_CHECKING:
    from commonplace.evaluation.report import EvaluationReport

__all__ = ["EvalFixture", "commonplace_eval"]

_MOST_MISSES = 20

Measure = Literal["shown", "shown_in_8000", "hit_rate", "mrr", "first_right"]


class EvalFixture(Protocol):
    """Type of the fixture `commonplace_eval`."""

    def __call__(
        self,
        workspace: str | os.PathLike[str],
        questions: str | os.PathLike[str],
        *,
        at_least: float = 0.9,
        measure: Measure = "shown",
        **opening: Any,
    ) -> EvaluationReport:
        """Evaluate a question file; fail the test for an invalid line or a measure too low.

        Args:
            workspace: Folder of notes.
            questions: Question file.
            at_least: Minimum of the measure, 0..1.
            measure: One of the overall `Figures`.
            opening: ``settings``, ``embedder`` and ``now``, as in `open_at`.
        """


@pytest.fixture
def commonplace_eval(tmp_path: Path) -> EvalFixture:
    """Evaluate a question file with a temporary index, and fail on a regression."""
    from commonplace.evaluation import evaluate, open_at, read_questions

    def check(
        workspace: str | os.PathLike[str],
        questions: str | os.PathLike[str],
        *,
        at_least: float = 0.9,
        measure: Measure = "shown",
        **opening: Any,
    ) -> EvaluationReport:
        __tracebackhide__ = True
        index = tmp_path / "commonplace-eval" / "index.sqlite"
        with open_at(workspace, index=index, **opening) as memory:
            file = read_questions(questions, memory=memory)
            report = evaluate(memory, file.questions)
        figures = report.overall
        value: float | None = getattr(figures, measure)
        if value is None:
            pytest.fail(f'{file.path}: no question has "first": true; first_right needs one.')
        if file.problems or not file.questions or value < at_least:
            summary = f"{file.path}: {measure} is {value:.3f}; at least {at_least:g} was expected."
            length = f"{figures.chars:,.0f} characters, {figures.json_chars:,.0f} as JSON"
            taken = f"answers took: {length}"
            pytest.fail(
                "\n".join([summary, taken, *file.problems, *_misses(report)]), pytrace=False
            )
        return report

    return check


def _misses(report: EvaluationReport) -> list[str]:
    misses = [
        f"missed: {outcome.question.question!r}: {', '.join(map(str, outcome.missed))}"
        for outcome in report.outcomes
        if outcome.missed
    ]
    more = len(misses) - _MOST_MISSES
    return misses[:_MOST_MISSES] + ([f"and {more} more"] if more > 0 else [])
