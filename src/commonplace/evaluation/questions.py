"""Question files: JSON Lines of questions with the lines or passages that answer them."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

from commonplace.errors import QuestionFileError, WorkspaceError
from commonplace.types import citation

if TYPE_CHECKING:
    from commonplace.memory import Memory

__all__ = [
    "Evidence",
    "LocatedEvidence",
    "Question",
    "QuestionFile",
    "locate_evidence",
    "read_question_texts",
    "read_questions",
]

_SHOWN_CHARS = 60
"""Characters of an invalid value that an error message quotes."""

_T = TypeVar("_T")


@dataclass(frozen=True, slots=True)
class Evidence:
    """Line or exact passage of a file that answers a question, or a part of it.

    Attributes:
        path: File.
        line: Number of the line; None for a passage.
        text: The passage; None for a line.
    """

    path: str
    line: int | None = None
    text: str | None = None

    def __str__(self) -> str:
        if self.line is not None:
            return citation(self.path, self.line, self.line)
        return f"{self.path}: {_shown(self.text)}"

    def as_dict(self) -> dict[str, Any]:
        """Return the evidence as it is in a question file."""
        place = {"line": self.line} if self.line is not None else {"text": self.text}
        return {"path": self.path, **place}


class LocatedEvidence(NamedTuple):
    """Evidence with the text that answers must show.

    Attributes:
        place: Evidence, with the path that search shows.
        text: Its line or passage.
        file: Text of its file, without carriage returns before line breaks.
    """

    place: Evidence
    text: str
    file: str


@dataclass(frozen=True, slots=True)
class Question:
    """Question with what answers it.

    Attributes:
        question: Its text.
        evidence: Lines and passages that together answer it.
        category: Any JSON value.
        first: Whether all evidence belongs in the first result.
    """

    question: str
    evidence: tuple[Evidence, ...]
    category: Any = None
    first: bool = False

    def as_dict(self) -> dict[str, Any]:
        """Return the question as it is in a question file."""
        row = {
            "question": self.question,
            "evidence": [place.as_dict() for place in self.evidence],
            "category": self.category,
        }
        return row | {"first": True} if self.first else row


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
        question = Question(_question(row), _evidence(row), row.get("category"), _first(row))
        if memory is not None:
            for place in question.evidence:
                locate_evidence(memory, place)
        return question

    return QuestionFile(os.fspath(path), *_read(path, parse))


def read_question_texts(path: str | os.PathLike[str]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Read the texts of the questions without their evidence; return them and the problems.

    Raises:
        QuestionFileError: The file cannot be read.
    """
    return _read(path, _question)


def locate_evidence(memory: Memory, place: Evidence) -> LocatedEvidence:
    """Return evidence with the path that search shows, and its text on the disk.

    Raises:
        QuestionFileError: The memory does not have the line or passage, or it is blank.
    """
    try:
        found = memory.get(place.path)
    except WorkspaceError as error:
        raise QuestionFileError(f"evidence {_shown(place.path)}: {error}") from error
    if found.status == "not_found":
        raise QuestionFileError(f"evidence {_shown(place.path)}: there is no such file.")
    file = _without_returns(found.text)
    if place.text is not None:
        text = _without_returns(place.text)
        if text not in file:
            raise QuestionFileError(
                f"evidence {_shown(place.text)}: {found.path} does not have this text; "
                "give a part of the file, letter by letter."
            )
        return LocatedEvidence(Evidence(found.path, text=place.text), text, file)
    number = place.line or 1
    named = Evidence(found.path, number)
    if number > found.lines:
        raise QuestionFileError(
            f"evidence {named}: the file ends at line {found.lines}; name one of its lines."
        )
    text = file.split("\n")[number - 1]
    if not text.strip():
        raise QuestionFileError(f"evidence {named}: the line is blank; name one that says it.")
    return LocatedEvidence(named, text, file)


def _without_returns(text: str) -> str:
    return text.replace("\r\n", "\n")


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
            f'evidence is {_shown(places)}; a list of {{"path": ..., "line": ...}} or '
            '{"path": ..., "text": ...} was expected.'
        )
    return tuple(dict.fromkeys(map(_place, places)))


def _place(place: object) -> Evidence:
    values = place if isinstance(place, dict) else {}
    path, line, text = values.get("path"), values.get("line"), values.get("text")
    if not isinstance(path, str) or not path.strip():
        raise QuestionFileError(f"evidence {_shown(place)} has no path; a text was expected.")
    if "line" in values and "text" in values:
        raise QuestionFileError(
            f"evidence {_shown(place)} has a line and a text; one of them was expected."
        )
    if "text" in values:
        if not isinstance(text, str) or not text.strip():
            raise QuestionFileError(
                f"evidence {_shown(place)} has no text; an exact passage of the file was expected."
            )
        return Evidence(path, text=text)
    if not isinstance(line, int) or isinstance(line, bool) or line < 1:
        raise QuestionFileError(
            f"evidence {_shown(place)} has no line; a whole number from 1 was expected, "
            "or an exact passage as its text."
        )
    return Evidence(path, line)


def _first(row: dict[str, Any]) -> bool:
    first = row.get("first", False)
    if not isinstance(first, bool):
        raise QuestionFileError(f"first is {_shown(first)}; true or false was expected.")
    return first


def _shown(value: object) -> str:
    shown = ascii(value)
    return shown if len(shown) <= _SHOWN_CHARS else shown[:_SHOWN_CHARS] + "..."
