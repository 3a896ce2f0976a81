"""Converter of LoCoMo's file into workspaces and question files of ``commonplace eval``.

    python tests/benchmarks/locomo.py locomo10.json locomo

LoCoMo is a set of long conversations between two people and of questions about them (Maharana et
al., "Evaluating Very Long-Term Conversational Memory of LLM Agents", ACL 2024). Its licence is
CC BY-NC 4.0: you bring the data, none of it is here.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Any

from commonplace.errors import QuestionFileError, WorkspaceError, WorkspaceReadOnlyError
from commonplace.workspace.paths import log_path

__all__ = ["Conversion", "convert_locomo"]

_SESSION = re.compile(r"session_(\d+)")
_TURN_ID = re.compile(r"D:?(\d+):(\d+)")
"""Variants in LoCoMo: ``D:11:26``, ``D30:05``, or several identifiers in one text."""
_NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9._-]*")
_MONTHS = (
    *("january", "february", "march", "april", "may", "june"),
    *("july", "august", "september", "october", "november", "december"),
)
_TIME = re.compile(
    r"(\d{1,2}):(\d{2})\s*([ap])\.?m\.?\s+on\s+(\d{1,2})\s+([a-z]+),?\s+(\d{4})", re.IGNORECASE
)

_Place = tuple[str, int]
_TurnId = tuple[int, int]


@dataclass(frozen=True, slots=True)
class Conversion:
    """Result of converting one conversation.

    Attributes:
        name: Name of the conversation and of its folder.
        days: Number of daily logs written.
        turns: Number of turns in them.
        questions: Number of questions written.
        problems: Evidence and questions that were skipped, and why, a sentence each.
    """

    name: str
    days: int
    turns: int
    questions: int
    problems: tuple[str, ...]


@dataclass(slots=True)
class _Logs:
    """Daily logs of a conversation as lines, with the place of each turn."""

    lines: dict[str, list[str]] = field(default_factory=dict)
    places: dict[_TurnId, _Place] = field(default_factory=dict)
    turns: int = 0

    def add(self, session: int, when: datetime, turns: list[dict[str, Any]]) -> None:
        path = log_path(when.date())
        log = self.lines.setdefault(path, [f"# {when.date().isoformat()}", ""])
        log += [f"## {when:%H:%M} session {session}", ""]
        for number, turn in enumerate(turns, start=1):
            log.append(_turn_line(turn))
            self.places[_turn_id(turn) or (session, number)] = (path, len(log))
        log.append("")
        self.turns += len(turns)


def convert_locomo(
    source: str | os.PathLike[str], target: str | os.PathLike[str]
) -> list[Conversion]:
    """Write ``<conversation>/{workspace/memory/*.md, questions.jsonl}`` for each conversation.

    A day becomes a daily log, a session a section of it, a turn a line.

    Args:
        source: LoCoMo's file, ``locomo10.json``.
        target: Folder to write to; the conversations' folders must not exist in it.

    Raises:
        QuestionFileError: The file cannot be read, or is not LoCoMo's.
        WorkspaceError: A conversation's folder exists already; nothing was written.
        WorkspaceReadOnlyError: A file cannot be written.
    """
    samples = _load(Path(source))
    names = [_name(sample, number) for number, sample in enumerate(samples, start=1)]
    taken = [name for name in names if (Path(target) / name).exists()]
    if taken or len(set(names)) < len(names):
        raise WorkspaceError(
            f"{Path(target) / taken[0]} exists already" if taken else f"{source} names one twice"
        )
    made = []
    for name, sample in zip(names, samples, strict=True):
        try:
            made.append(_convert(name, sample, Path(target) / name))
        except (KeyError, TypeError, AttributeError, ValueError) as error:
            raise _not_locomo(source, f"{name}: {error!r}") from error
        except OSError as error:
            raise WorkspaceReadOnlyError(
                f"cannot write {error.filename or target}: {error.strerror or error}. "
                "Name a folder that you may write."
            ) from error
    return made


def _load(source: Path) -> list[Any]:
    try:
        samples = json.loads(source.read_text(encoding="utf-8"))
    except OSError as error:
        raise QuestionFileError(f"cannot read {source}: {error.strerror or error}.") from error
    except (ValueError, RecursionError) as error:
        raise _not_locomo(source, str(error)) from error
    if not isinstance(samples, list):
        raise _not_locomo(source, "it holds no list")
    return samples


def _not_locomo(source: str | os.PathLike[str], reason: str) -> QuestionFileError:
    return QuestionFileError(
        f"{os.fspath(source)} is not LoCoMo's file: {reason}. A list of conversations with "
        '"sample_id", "conversation" and "qa" was expected, as in its locomo10.json.'
    )


def _name(sample: Any, number: int) -> str:
    name = sample.get("sample_id") if isinstance(sample, dict) else None
    return name if isinstance(name, str) and _NAME.fullmatch(name) else f"conv-{number}"


def _convert(name: str, sample: dict[str, Any], folder: Path) -> Conversion:
    logs = _logs(sample["conversation"])
    rows, problems = _questions(sample["qa"], logs.places)
    texts = {f"workspace/{path}": "\n".join([*log, ""]) for path, log in logs.lines.items()}
    texts["questions.jsonl"] = "".join(f"{json.dumps(row, ensure_ascii=False)}\n" for row in rows)
    for path, text in texts.items():
        file = folder / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8", newline="\n")
    return Conversion(name, len(logs.lines), logs.turns, len(rows), tuple(problems))


def _logs(conversation: dict[str, Any]) -> _Logs:
    numbers = sorted(
        int(match[1])
        for key, turns in conversation.items()
        if (match := _SESSION.fullmatch(key)) and turns
    )
    logs = _Logs()
    for number in numbers:
        when = _session_time(conversation[f"session_{number}_date_time"])
        logs.add(number, when, conversation[f"session_{number}"])
    return logs


def _session_time(text: str) -> datetime:
    """Parse ``1:56 pm on 8 May, 2023``; strptime would depend on the machine's locale."""
    match = _TIME.fullmatch(text.strip())
    if match is None or match[5].lower() not in _MONTHS:
        raise ValueError(f"{text!r} is no time such as '1:56 pm on 8 May, 2023'")
    hour = int(match[1]) % 12 + 12 * (match[3].lower() == "p")
    month = _MONTHS.index(match[5].lower()) + 1
    return datetime(int(match[6]), month, int(match[4]), hour, int(match[2]))  # noqa: DTZ001 - local


def _turn_line(turn: dict[str, Any]) -> str:
    text = f"- {turn['speaker']}: {turn['text']}"
    if turn.get("blip_caption"):
        text += f" [shared image: {turn['blip_caption']}]"
    return re.sub(r"[\r\n]+", " ", text)


def _turn_id(turn: dict[str, Any]) -> _TurnId | None:
    match = _TURN_ID.fullmatch(str(turn.get("dia_id", "")).strip())
    return (int(match[1]), int(match[2])) if match else None


def _questions(
    qa: list[dict[str, Any]], places: dict[_TurnId, _Place]
) -> tuple[list[dict[str, Any]], list[str]]:
    rows: list[dict[str, Any]] = []
    problems: list[str] = []
    for number, item in enumerate(qa, start=1):
        found = dict.fromkeys(_evidence(item.get("evidence"), places, problems, number))
        if not found:
            problems.append(f"question {number} has no evidence; it is left out")
            continue
        rows.append(
            {
                "question": item["question"],
                "category": item.get("category"),
                "evidence": [{"path": path, "line": line} for path, line in found],
            }
        )
    return rows, problems


def _evidence(
    ids: Any, places: dict[_TurnId, _Place], problems: list[str], number: int
) -> Iterator[_Place]:
    """Yield the places of evidence; report identifiers of missing turns as problems."""
    for text in [ids] if isinstance(ids, str) else ids or ():
        turns = [(int(match[1]), int(match[2])) for match in _TURN_ID.finditer(str(text))]
        known = [places[turn] for turn in turns if turn in places]
        if not turns or len(known) < len(turns):
            problems.append(f"question {number}: evidence {text!r} names a turn that is not there")
        yield from known


def main() -> None:
    """Convert the file and print what was written."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("source", help="LoCoMo's own file, locomo10.json")
    parser.add_argument("target", help="folder to write to")
    arguments = parser.parse_args()
    for made in convert_locomo(arguments.source, arguments.target):
        print(f"{made.name}  {made.days} days, {made.turns} turns, {made.questions} questions")
        for problem in made.problems:
            print(f"{made.name}: {problem}", file=sys.stderr)


if __name__ == "__main__":
    main()
