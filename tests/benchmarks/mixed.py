"""Notes and transcripts together: is less of the notes shown when sessions flood the index?

    python tests/benchmarks/mixed.py                           # the examples that come with it
    python tests/benchmarks/mixed.py locomo/*/questions.jsonl  # a workspace folder beside each

Each workspace is asked its questions four times: as notes by themselves; as notes, with all other
workspaces as transcripts of sessions; as transcripts, with the next workspace as notes; and as
transcripts by themselves. Of the second and third, the columns "one ranking" tell what a single
ranking of both would show.
"""

from __future__ import annotations

import argparse
import json
import re
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

from recall import _TODAY, _examples

from commonplace import Memory, Settings
from commonplace.evaluation import EvaluationReport, Question, evaluate, open_at, read_questions
from commonplace.evaluation.questions import Evidence
from commonplace.retrieval import pipeline
from commonplace.settings import SessionsSettings

_DAY = re.compile(r"(\d{4}-\d{2}-\d{2})")
_MARK = re.compile(r"\s*(?:[-*+]|\d+[.)])\s+")


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("questions", nargs="*", type=Path, help="question files")
    parser.add_argument("--embedder", default="bundled")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="commonplace-mixed-") as name:
        folder = Path(name)
        files = arguments.questions or _examples(folder / "examples")
        print(f"{len(files)} question files, embedder {arguments.embedder}")
        print("| asked | default answer | 8,000 chars | one ranking | 8,000 chars |")
        print("|---|---|---|---|---|")
        for what, runs in _rows(files, folder, arguments.embedder).items():
            print(f"| {what} | {' | '.join(runs)} |", flush=True)


def _rows(files: list[Path], folder: Path, embedder: str) -> dict[str, list[str]]:
    alone, flooded, beside, lonely = [], [], [], []
    apart: dict[str, list[EvaluationReport]] = {"flooded": [], "beside": []}
    empty = folder / "empty"
    empty.mkdir()
    for number, path in enumerate(files):
        notes, others = path.parent / "workspace", [f for f in files if f != path]
        next_notes = others[number % len(others)].parent / "workspace" if others else empty
        flood = _transcripts(others, folder / f"flood-{number}")
        own = _transcripts([path], folder / f"own-{number}")
        prefix = path.parent.name
        at = folder / f"{number}"
        alone.append(_asked(path, notes, None, f"{at}-a", embedder))
        flooded.append(_asked(path, notes, flood, f"{at}-b", embedder))
        beside.append(_asked(path, next_notes, own, f"{at}-c", embedder, prefix=prefix))
        lonely.append(_asked(path, empty, own, f"{at}-d", embedder, prefix=prefix))
        with _one_ranking():
            apart["flooded"].append(_asked(path, notes, flood, f"{at}-b", embedder))
            asked = _asked(path, next_notes, own, f"{at}-c", embedder, prefix=prefix)
            apart["beside"].append(asked)
    return {
        "notes, no sessions": _figures(alone),
        "notes, a flood of sessions": _figures(flooded) + _figures(apart["flooded"]),
        "sessions, beside other notes": _figures(beside) + _figures(apart["beside"]),
        "sessions, no notes": _figures(lonely),
    }


def _figures(reports: list[EvaluationReport]) -> list[str]:
    figures = EvaluationReport.pool(reports).overall
    return [f"{figures.shown:.3f}", f"{figures.shown_in_8000:.3f}"]


def _asked(
    path: Path,
    workspace: Path,
    sessions: Path | None,
    index: str,
    embedder: str,
    *,
    prefix: str = "",
) -> EvaluationReport:
    """Ask the questions of a file; with a prefix, their evidence is in transcripts."""
    settings = Settings()
    if sessions is not None:
        where = SessionsSettings(enabled=True, path=str(sessions), patterns=("**/*.jsonl",))
        settings = replace(settings, sessions=where)
    with (
        open_at(
            path.parent / "workspace" if prefix else workspace,
            settings=Settings(),
            embedder=None,
            index=f"{index}-clock.sqlite",
        ) as clock,
        Memory.open(
            workspace,
            settings=settings,
            embedder=embedder,
            index=f"{index}.sqlite",
            now=clock.now,
        ) as memory,
    ):
        memory.index()
        questions = read_questions(path).questions
        if prefix:
            questions = tuple(_of_sessions(question, prefix) for question in questions)
        return evaluate(memory, questions)


def _of_sessions(question: Question, prefix: str) -> Question:
    """Look for the evidence on the same lines of the transcripts."""
    places = tuple(
        Evidence(f"sessions/{prefix}/{Path(place.path).stem}.jsonl", place.line)
        for place in question.evidence
    )
    return replace(question, evidence=places)


def _transcripts(files: list[Path], folder: Path) -> Path:
    """Write the logs of workspaces as session files, a message for each line that says anything."""
    for path in files:
        place = folder / path.parent.name
        place.mkdir(parents=True)
        for log in sorted((path.parent / "workspace").rglob("*.md")):
            day = _DAY.match(log.stem)
            at = datetime.fromisoformat(day[1] if day else str(_TODAY)).replace(tzinfo=UTC)
            records = [
                json.dumps(_record(line, number, at))
                for number, line in enumerate(log.read_text(encoding="utf-8").splitlines())
            ]
            (place / f"{log.stem}.jsonl").write_text("\n".join(records) + "\n", encoding="utf-8")
    return folder


def _record(line: str, number: int, at: datetime) -> dict[str, object]:
    said = _MARK.sub("", line, count=1)
    message = {"role": ("user", "assistant")[number % 2], "content": said}
    return {"type": "message", "timestamp": at.isoformat(), "message": message}


@contextmanager
def _one_ranking() -> Iterator[None]:
    """Rank notes and sessions together while the block runs."""
    by_source = pipeline._by_source
    pipeline._by_source = lambda snapshot, query: [query]
    try:
        yield
    finally:
        pipeline._by_source = by_source


if __name__ == "__main__":
    main()
