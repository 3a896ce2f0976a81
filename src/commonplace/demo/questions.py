"""Questions about the demo's notes, with the lines that answer them."""

from __future__ import annotations

import json
import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import date
from importlib.resources import files
from pathlib import Path
from typing import Any

from commonplace.demo.workspace import demo_files, fill, note_path, write_new_files
from commonplace.errors import QuestionFileError
from commonplace.evaluation.questions import Evidence, Question

__all__ = [
    "DEMO_QUESTIONS",
    "MORE_QUESTIONS",
    "QuestionTemplate",
    "demo_questions",
    "evaluation_questions",
    "write_questions",
]


@dataclass(frozen=True, slots=True)
class QuestionTemplate:
    """Question with placeholders for days.

    Attributes:
        question: Text, with placeholders as in the notes.
        evidence: ``(note, text)`` pairs; exactly one line of the note contains the text.
        category: Kind of difficulty.
        first: Whether the evidence belongs in the first result: it is what holds now.
    """

    question: str
    evidence: tuple[tuple[str, str], ...]
    category: str
    first: bool = False

    def resolve(self, today: date, notes: Mapping[str, str]) -> Question:
        """Return the question of a day, with the lines of its evidence.

        Raises:
            QuestionFileError: No line of a note contains the text, or several do.
        """
        places = ((note_path(note, today), text) for note, text in self.evidence)
        return Question(
            question=fill(self.question, today),
            evidence=tuple(
                Evidence(path, _line_of(text, notes[path], path)) for path, text in places
            ),
            category=self.category,
            first=self.first,
        )


def demo_questions(today: date) -> list[Question]:
    """Return the five questions that ``commonplace demo`` asks."""
    return _resolve(DEMO_QUESTIONS, today)


def evaluation_questions(today: date) -> list[Question]:
    """Return all questions about the demo's notes, those of `demo_questions` first."""
    return _resolve(DEMO_QUESTIONS + MORE_QUESTIONS, today)


def write_questions(path: Path, questions: Iterable[Question]) -> Path:
    """Write a question file for ``commonplace eval``, JSON Lines.

    Raises:
        WorkspaceError: The file exists already.
    """
    rows = (json.dumps(question.as_dict(), ensure_ascii=False) for question in questions)
    write_new_files(path.parent, {path.name: "".join(f"{row}\n" for row in rows)})
    return path


def _resolve(templates: Iterable[QuestionTemplate], today: date) -> list[Question]:
    notes = demo_files(today)
    return [template.resolve(today, notes) for template in templates]


def _line_of(text: str, note: str, path: str) -> int:
    found = [number for number, line in enumerate(note.split("\n"), start=1) if text in line]
    if len(found) != 1:
        raise QuestionFileError(
            f"{text!r} stands in {len(found)} lines of {path}; evidence must name exactly one."
        )
    return found[0]


def _load(rows: Iterable[Mapping[str, Any]]) -> tuple[QuestionTemplate, ...]:
    return tuple(
        QuestionTemplate(
            question=row["question"],
            evidence=tuple((note, text) for note, text in row["evidence"]),
            category=row["category"],
            first=row.get("first", False),
        )
        for row in rows
    )


_TABLES = tomllib.loads((files("commonplace.demo") / "questions.toml").read_text(encoding="utf-8"))

DEMO_QUESTIONS = _load(_TABLES["demo"])
"""Questions of ``commonplace demo``: exact, paraphrase, time, corrected, person."""

MORE_QUESTIONS = _load(_TABLES["more"])
"""Further questions for evaluation; also of the category ``several``."""
