"""Generator of a log that repeats itself, to measure diversity and decay.

Its questions have three categories:

- ``current``: a value that was stated on many days and then superseded. Evidence is the newest
  statement, the only one with the last value.
- ``several``: a subject with one note that is repeated nearly every day and three notes that occur
  once. Evidence is the newest repeat and the three.
- ``standing``: a fact that was noted once, long ago, and still holds; decay must not lose it.
"""

from __future__ import annotations

import random
import tomllib
from dataclasses import dataclass, field
from datetime import date, timedelta
from importlib.resources import files
from pathlib import Path
from typing import Any

from commonplace.demo.workspace import write_new_files
from commonplace.evaluation.questions import Evidence, Question

__all__ = ["write_repeating_workspace"]

_FEWEST_DAYS = 21
_FREE_DAYS = (4, 5)
"""Ages modulo 7 of free days. Ages, not weekdays: the log is the same for every `today`."""

_SAID_AGAIN = 0.3
"""Share of days on which the current value of a changing fact is stated."""

_NOTED_AGAIN = 0.5
"""Share of days on which a subject's repeated note occurs."""


def write_repeating_workspace(
    folder: Path, *, today: date, days: int = 60, seed: int = 7
) -> list[Question]:
    """Write a log of so many days up to today, and return its questions.

    Only the dates depend on `today`; the texts depend on `days` and `seed`.

    Raises:
        ValueError: `days` is too small for facts to be repeated and superseded.
        WorkspaceError: A file of the log exists already; nothing is written.
    """
    if days < _FEWEST_DAYS:
        raise ValueError(f"days is {days}; a log that repeats itself takes {_FEWEST_DAYS} or more.")
    world = tomllib.loads((files("commonplace.demo") / "repeating.toml").read_text("utf-8"))
    log = _Log.of_days(days, today=today, rng=random.Random(seed))
    answers = [
        *(_changing(log, fact) for fact in world["changing"]),
        *(_several(log, subject) for subject in world["subject"]),
        *(_standing(log, fact) for fact in world["standing"]),
    ]
    texts = log.render(world)
    write_new_files(folder, {"MEMORY.md": world["memory"].lstrip("\n")} | texts)
    return [answer.resolve(texts) for answer in answers]


@dataclass(slots=True)
class _Day:
    """Working day with its notes, not yet in order."""

    date: date
    notes: list[str] = field(default_factory=list)

    @property
    def path(self) -> str:
        return f"memory/{self.date.isoformat()}.md"


@dataclass(frozen=True, slots=True)
class _Answer:
    """Question with its evidence as texts; the rendered days give the line numbers."""

    question: str
    category: str
    places: list[tuple[_Day, str]]

    def resolve(self, texts: dict[str, str]) -> Question:
        evidence = tuple(
            Evidence(day.path, texts[day.path].split("\n").index(f"- {note}") + 1)
            for day, note in sorted(self.places, key=lambda place: place[0].date)
        )
        return Question(self.question, evidence, self.category, first=self.category == "current")


@dataclass(frozen=True, slots=True)
class _Log:
    """Working days, oldest first, and the random number generator of the log."""

    days: list[_Day]
    rng: random.Random

    @classmethod
    def of_days(cls, days: int, *, today: date, rng: random.Random) -> _Log:
        ages = (age for age in reversed(range(days)) if age % 7 not in _FREE_DAYS)
        return cls([_Day(today - timedelta(days=age)) for age in ages], rng)

    def pick(self, start: float, end: float, *, count: int = 1) -> list[int]:
        """Sample the indices of days from a part of the log (0 oldest, 1 newest), in order."""
        last = len(self.days) - 1
        return sorted(self.rng.sample(range(round(start * last), round(end * last) + 1), count))

    def repeat(self, notes: list[str], start: int, end: int, *, share: float) -> list[int]:
        """Add a phrasing to a share of the days, at least to one; return their indices."""
        chosen = [index for index in range(start, end) if self.rng.random() < share]
        chosen = chosen or list(range(start, end))[-1:]
        for index in chosen:
            self.days[index].notes.append(self.rng.choice(notes))
        return chosen

    def render(self, world: dict[str, Any]) -> dict[str, str]:
        """Return the text of each day by its path."""
        return {day.path: self._page(day, world) for day in self.days}

    def _page(self, day: _Day, world: dict[str, Any]) -> str:
        standup = [self.rng.choice(phrasings) for phrasings in world["standup"].values()]
        chores = self.rng.sample(world["chores"], self.rng.randint(2, 4))
        notes = [*day.notes, *(chore.format(n=self.rng.randint(3, 60)) for chore in chores)]
        self.rng.shuffle(notes)
        lines = [f"# {day.date.isoformat()}", "", "## Standup", " ".join(standup), "", "## Notes"]
        return "\n".join([*lines, *(f"- {note}" for note in notes), ""])


def _changing(log: _Log, fact: dict[str, Any]) -> _Answer:
    """Add a fact whose values are repeated, then superseded; the last value is stated once."""
    values: list[str] = fact["values"]
    changes = [*log.pick(0.2, 0.45, count=len(values) - 2), *log.pick(0.6, 0.95)]
    start, note = 0, ""
    for old, value, change in zip(values, values[1:], changes, strict=False):
        phrasings = [phrasing.format(value=old) for phrasing in fact["says"]]
        log.repeat(phrasings, start, change, share=_SAID_AGAIN)
        note = fact["change"].format(value=value, old=old)
        log.days[change].notes.append(note)
        start = change + 1
    return _Answer(fact["question"], "current", [(log.days[changes[-1]], note)])


def _several(log: _Log, subject: dict[str, Any]) -> _Answer:
    """Add a subject's repeated note to many days, and each other note to a day of its own."""
    usual = log.repeat(subject["often"], 0, len(log.days), share=_NOTED_AGAIN)
    newest = log.days[usual[-1]]
    places = [(newest, newest.notes[-1])]
    free = [day for day in log.days if day is not newest]
    once: list[str] = subject["once"]
    for day, note in zip(log.rng.sample(free, len(once)), once, strict=True):
        day.notes.append(note)
        places.append((day, note))
    return _Answer(subject["question"], "several", places)


def _standing(log: _Log, fact: dict[str, Any]) -> _Answer:
    """Add a fact once, in the oldest part of the log."""
    [index] = log.pick(0.0, 0.2)
    log.days[index].notes.append(fact["says"])
    return _Answer(fact["question"], "standing", [(log.days[index], fact["says"])])
