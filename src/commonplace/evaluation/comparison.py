"""Comparison of settings on the same questions."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from commonplace.evaluation.evaluator import evaluate
from commonplace.evaluation.fixed_clock import Now, open_at
from commonplace.evaluation.questions import Question
from commonplace.evaluation.report import EvaluationReport
from commonplace.settings import Settings

if TYPE_CHECKING:
    from commonplace.embeddings.base import Embedder

__all__ = ["compare"]


def compare(
    workspace: str | os.PathLike[str],
    questions: Sequence[Question],
    *,
    settings: Mapping[str, Settings],
    embedder: str | Embedder | Any | None = "auto",
    now: Now = "last",
) -> dict[str, EvaluationReport]:
    """Evaluate the same questions under each of several settings, with a temporary index.

    A text that several settings embed is embedded once.

    Raises:
        QuestionFileError: Evidence is no line or passage of the memory.
        WorkspaceNotFoundError: The folder does not exist.
    """
    reports = {}
    with tempfile.TemporaryDirectory(prefix="commonplace-", ignore_cleanup_errors=True) as folder:
        path = Path(folder) / "index.sqlite"
        for name, value in settings.items():
            opened = open_at(workspace, settings=value, embedder=embedder, index=path, now=now)
            with opened as memory:
                reports[name] = evaluate(memory, questions)
    return reports
