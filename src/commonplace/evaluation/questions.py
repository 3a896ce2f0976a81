"""Question files: JSON Lines of questions with the lines that answer them."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from commonplace.errors import QuestionFileError, WorkspaceError
from commonplace.types import citation

if TYPE_CHECKING:
    from commonplace.memory import Memory

__all__ = [
    "Evidence",
    "Question",
    "QuestionFile",
    "evidence_line",
    "read_question_texts",
    "read_questions",
]

_SHOWN_CHARS = 60
"""Characters of an invalid value that an error message quotes."""

_T = TypeVar("_T")


@dataclass(frozen=True, slots=True)
class Evidence:
    """Line of a file that answers a question, or a part of it."""

    path: str
    line: int

    def __str__(self) -> str:
        return citation(self.path, self.line, self.line)


@dataclass(frozen=True, slots=True)
class Question:
    """Question, the lines that together answer it, and its category: any JSON value."""

    question: str
    evidence: tuple[Evidence, ...]
    category: Any = None


@dataclass(frozen=True, slots=True)
class QuestionFile:
    """Content of a question file.

    Attributes:
        path: File, as it was named.
        questions: Questions that can be evaluated.
        problems: Error for each other line: ``questions.jsonl:12: it is not JSON``.
    """

    path: str
    questions: tuple[Question, ...]
    problems: tuple[str, ...] = ()


def read_questions(path: str | os.PathLike[str], *, memory: Memory | None = None) -> QuestionFile:
    """Read a question file; report each invalid line as a problem and skip it.

    Args:
        path: Question file.
        memory: Memory that must contain the evidence; None skips that check.

    Raises:
        QuestionFileError: The file cannot be read.
    """

    def parse(row: dict[str, Any]) -> Question:
        question = Question(_question(row), _evidence(row), row.get("category"))
        if memory is not None:
            for place in question.evidence:
                evidence_line(memory, place)
        return question

    return QuestionFile(os.fspath(path), *_read(path, parse))


def read_question_texts(path: str | os.PathLike[str]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Read the texts of the questions without their evidence; return them and the problems.

    Raises:
        QuestionFileError: The file cannot be read.
    """
    return _read(path, _question)


def evidence_line(memory: Memory, place: Evidence) -> tuple[Evidence, str]:
    """Return evidence with the path that search shows, and the text of its line on the disk.

    Raises:
        QuestionFileError: The line does not exist in the memory, or is blank.
    """
    try:
        found = memory.get(place.path, from_line=place.line, lines=1)
    except WorkspaceError as error:
        raise QuestionFileError(f"evidence {_shown(place.path)}: {error}") from error
    if found.status == "not_found":
        raise QuestionFileError(f"evidence {_shown(place.path)}: there is no such file.")
    named = Evidence(found.path, place.line)
    if not found.lines:
        total = memory.get(place.path).lines
        raise QuestionFileError(
            f"evidence {named}: the file ends at line {total}; name one of its lines."
        )
    text = found.text.rstrip("\r\n")
    if not text.strip():
        raise QuestionFileError(f"evidence {named}: the line is blank; name one that says it.")
    return named, text


def _read(
    path: str | os.PathLike[str], parse: Callable[[dict[str, Any]], _T]
) -> tuple[tuple[_T, ...], tuple[str, ...]]:
    values, problems = [], []
    for number, line in _numbered_lines(path):
        try:
            values.append(parse(_object(line)))
        except QuestionFileError as error:
            problems.append(f"{os.fspath(path)}:{number}: {error}")
    return tuple(values), tuple(problems)


def _numbered_lines(path: str | os.PathLike[str]) -> Iterator[tuple[int, bytes]]:
    try:
        data = Path(path).read_bytes()
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or error
        raise QuestionFileError(
            f"cannot read the question file {os.fspath(path)}: {reason}. "
            'It takes JSON Lines: {"question": ..., "evidence": [{"path": ..., "line": ...}]}.'
        ) from error
    lines = data.removeprefix(b"\xef\xbb\xbf").split(b"\n")
    return ((number, line) for number, line in enumerate(lines, start=1) if line.strip())


def _object(line: bytes) -> dict[str, Any]:
    try:
        value = json.loads(line.decode("utf-8"), parse_constant=_refuse_constant)
    except UnicodeDecodeError as error:
        raise QuestionFileError("it is not UTF-8; save the file as UTF-8.") from error
    except (ValueError, RecursionError) as error:
        raise QuestionFileError(f"it is not JSON: {error}.") from error
    if not isinstance(value, dict):
        raise QuestionFileError(f"it is {_shown(value)}; an object was expected.")
    return value


def _refuse_constant(name: str) -> None:
    raise ValueError(f"{name} is no JSON value")


def _question(row: dict[str, Any]) -> str:
    text = row.get("question")
    if not isinstance(text, str) or not text.strip():
        raise QuestionFileError(f"question is {_shown(text)}; a text was expected.")
    return text


def _evidence(row: dict[str, Any]) -> tuple[Evidence, ...]:
    places = row.get("evidence")
    if not isinstance(places, list) or not places:
        raise QuestionFileError(
            f'evidence is {_shown(places)}; a list of {{"path": ..., "line": ...}} was expected.'
        )
    return tuple(dict.fromkeys(map(_place, places)))


def _place(place: object) -> Evidence:
    path, line = (place.get("path"), place.get("line")) if isinstance(place, dict) else (None, None)
    if not isinstance(path, str) or not path.strip():
        raise QuestionFileError(f"evidence {_shown(place)} has no path; a text was expected.")
    if not isinstance(line, int) or isinstance(line, bool) or line < 1:
        raise QuestionFileError(
            f"evidence {_shown(place)} has no line; a whole number from 1 was expected."
        )
    return Evidence(path, line)


def _shown(value: object) -> str:
    shown = ascii(value)
    return shown if len(shown) <= _SHOWN_CHARS else shown[:_SHOWN_CHARS] + "..."
