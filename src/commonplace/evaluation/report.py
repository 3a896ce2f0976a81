"""Evaluation report: the outcome of each question, and the figures over all of them."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, field
from statistics import median
from typing import Any, Self

from commonplace.evaluation.metrics import area_under_roc, mean
from commonplace.evaluation.questions import Evidence, Question
from commonplace.types import SearchResult, SearchResults

__all__ = ["EvaluationReport", "Figures", "Outcome"]


@dataclass(frozen=True, slots=True)
class Outcome:
    """Outcome of one question.

    Attributes:
        question: Question; its evidence has the paths that search shows.
        results: Default answer, explained.
        found: Evidence that the answer shows.
        found_in_8000: Evidence that the first 8,000 characters show.
        first_right: Whether the first result shows all of the evidence.
        rank: Rank of the first result that shows evidence; None when none does.
        chars: Characters of the default answer's snippets and contexts.
        chars_in_8000: Characters of what was read of the first 8,000.
        json_chars: Characters of the default answer as ``memory_search`` gives it.
        best_score: Best score of all results; 0 when there are none.
        milliseconds: Duration of the default answer.
    """

    question: Question
    results: SearchResults
    found: tuple[Evidence, ...]
    found_in_8000: tuple[Evidence, ...]
    first_right: bool
    rank: int | None
    chars: int
    chars_in_8000: int
    json_chars: int
    best_score: float
    milliseconds: float

    @property
    def missed(self) -> tuple[Evidence, ...]:
        """Evidence that the default answer does not show."""
        return tuple(place for place in self.question.evidence if place not in self.found)

    @property
    def share(self) -> float:
        """Share of evidence that the default answer shows."""
        return len(self.found) / len(self.question.evidence)

    @property
    def share_in_8000(self) -> float:
        """Share of evidence that the first 8,000 characters show."""
        return len(self.found_in_8000) / len(self.question.evidence)

    @property
    def category(self) -> str:
        """Category of the question as a text; empty when it has none."""
        value = self.question.category
        if value is None or isinstance(value, str):
            return value or ""
        return json.dumps(value, ensure_ascii=False, sort_keys=True)

    def as_dict(self) -> dict[str, Any]:
        """Return the outcome as plain values, for JSON."""
        return {
            **self.question.as_dict(),
            "found": [place.as_dict() for place in self.found],
            "missed": [place.as_dict() for place in self.missed],
            "found_in_8000": [place.as_dict() for place in self.found_in_8000],
            "first_right": self.first_right,
            "rank": self.rank,
            "chars": self.chars,
            "chars_in_8000": self.chars_in_8000,
            "json_chars": self.json_chars,
            "best_score": self.best_score,
            "milliseconds": round(self.milliseconds, 3),
            "results": [_result_dict(result) for result in self.results],
        }


@dataclass(frozen=True, slots=True)
class Figures:
    """Figures over some questions; all are 0 over none.

    Attributes:
        questions: Number of questions.
        shown: Mean share of a question's evidence that the default answer shows.
        shown_in_8000: Mean share in the first 8,000 characters.
        hit_rate: Share of questions whose default answer shows any of the evidence.
        mrr: Mean of 1 / rank of the first result that shows evidence.
        empty: Share of default answers that are empty.
        first_right: Share of the questions with ``first`` whose first result shows all of their
            evidence; None without such questions.
        chars: Mean of the characters of a default answer's snippets and contexts.
        chars_in_8000: Mean of the characters read of the first 8,000.
        json_chars: Mean of the characters of a default answer as ``memory_search`` gives it.
        ms_per_query: Median time of a default answer.
        auroc: AUROC of best scores, own against foreign questions; None without foreign ones.
    """

    questions: int = 0
    shown: float = 0.0
    shown_in_8000: float = 0.0
    hit_rate: float = 0.0
    mrr: float = 0.0
    empty: float = 0.0
    first_right: float | None = None
    chars: float = 0.0
    chars_in_8000: float = 0.0
    json_chars: float = 0.0
    ms_per_query: float = 0.0
    auroc: float | None = None

    @classmethod
    def of(
        cls, outcomes: Sequence[Outcome], *, foreign_scores: Sequence[float] | None = None
    ) -> Self:
        """Compute the figures of outcomes."""
        own = [outcome.best_score for outcome in outcomes]
        first = [float(outcome.first_right) for outcome in outcomes if outcome.question.first]
        return cls(
            questions=len(outcomes),
            shown=mean([outcome.share for outcome in outcomes]),
            shown_in_8000=mean([outcome.share_in_8000 for outcome in outcomes]),
            hit_rate=mean([float(outcome.rank is not None) for outcome in outcomes]),
            mrr=mean([1 / outcome.rank if outcome.rank else 0.0 for outcome in outcomes]),
            empty=mean([float(not outcome.results) for outcome in outcomes]),
            first_right=mean(first) if first else None,
            chars=mean([outcome.chars for outcome in outcomes]),
            chars_in_8000=mean([outcome.chars_in_8000 for outcome in outcomes]),
            json_chars=mean([outcome.json_chars for outcome in outcomes]),
            ms_per_query=median([outcome.milliseconds for outcome in outcomes] or [0.0]),
            auroc=None if foreign_scores is None else area_under_roc(own, foreign_scores),
        )


@dataclass(frozen=True, slots=True)
class EvaluationReport:
    """Report on a memory: outcomes of questions, and figures over them.

    Attributes:
        outcomes: Outcome of each question, in their order.
        foreign_scores: Best score of each foreign question; None when none were given.
        fallbacks: Reasons why answers were not hybrid, each once.
        failed: ``(path, reason)`` of each file that could not be indexed as it should.
        overall: Figures over all questions.
        by_category: Figures over each category, in order of their names.
    """

    outcomes: tuple[Outcome, ...]
    foreign_scores: tuple[float, ...] | None = None
    fallbacks: tuple[str, ...] = ()
    failed: tuple[tuple[str, str], ...] = ()
    overall: Figures = field(init=False)
    by_category: dict[str, Figures] = field(init=False)

    def __post_init__(self) -> None:
        groups: dict[str, list[Outcome]] = {}
        for outcome in self.outcomes:
            groups.setdefault(outcome.category, []).append(outcome)
        figures = {
            name: Figures.of(groups[name], foreign_scores=self.foreign_scores)
            for name in sorted(groups, key=_natural)
        }
        overall = Figures.of(self.outcomes, foreign_scores=self.foreign_scores)
        object.__setattr__(self, "overall", overall)
        object.__setattr__(self, "by_category", figures)

    @classmethod
    def pool(cls, reports: Iterable[EvaluationReport]) -> EvaluationReport:
        """Merge reports on several memories into one over all their questions."""
        joined = tuple(reports)
        foreign = [scores for report in joined if (scores := report.foreign_scores) is not None]
        return cls(
            outcomes=tuple(outcome for report in joined for outcome in report.outcomes),
            foreign_scores=tuple(score for scores in foreign for score in scores)
            if foreign
            else None,
            fallbacks=tuple(dict.fromkeys(why for report in joined for why in report.fallbacks)),
            failed=tuple(dict.fromkeys(pair for report in joined for pair in report.failed)),
        )

    def as_dict(self) -> dict[str, Any]:
        """Return the figures as plain values, for JSON; `Outcome.as_dict` has the questions."""
        first = self.outcomes[0].results if self.outcomes else SearchResults()
        return {
            "overall": asdict(self.overall),
            "categories": {name: asdict(figures) for name, figures in self.by_category.items()},
            "mode": first.mode if self.outcomes else None,
            "provider": first.provider,
            "model": first.model,
            "fallbacks": list(self.fallbacks),
            "failed": [list(pair) for pair in self.failed],
        }


def _result_dict(result: SearchResult) -> dict[str, Any]:
    return {"citation": result.citation} | asdict(result)


def _natural(name: str) -> list[tuple[bool, int, str]]:
    """Return a natural sort key: 2 before 10."""
    parts = re.findall(r"[0-9]+|[^0-9]+", name)
    return [
        (False, int(part), "") if part.isascii() and part.isdigit() else (True, 0, part)
        for part in parts
    ]
