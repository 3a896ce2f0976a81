"""Recall by collection of notes, and of all of them in one workspace.

    python tests/benchmarks/merged.py locomo hotpotqa

Each argument is a folder with question files in it, a workspace folder beside each, as
`commonplace eval` reads them; folders of a workspace other than ``memory`` are extra paths of it.
The last row asks the questions of the first collection in one workspace of all the notes.
"""

from __future__ import annotations

import argparse
import json
import shutil
import tempfile
from pathlib import Path

from commonplace import Settings
from commonplace.evaluation import EvaluationReport, evaluate, open_at, read_questions

_QUESTIONS, _WORKSPACE = "questions.jsonl", "workspace"


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("collections", nargs="+", type=Path, help="folders with question files")
    parser.add_argument("--embedder", default="bundled", help="an embedder, or none")
    arguments = parser.parse_args()
    embedder = None if arguments.embedder == "none" else arguments.embedder
    print(f"embedder {arguments.embedder}")
    print("| questions of | questions | default answer | 8,000 chars | MRR | chars | JSON |")
    print("|---|---|---|---|---|---|---|")
    collections = [_question_files(folder) for folder in arguments.collections]
    with tempfile.TemporaryDirectory(prefix="commonplace-merged-") as folder:
        for place, files in zip(arguments.collections, collections, strict=True):
            _print_row(place.name, _asked(files, Path(folder), embedder))
        if len(collections) > 1:
            files = [_merge(collections, Path(folder) / "merged")]
            name = f"{arguments.collections[0].name}, all notes in one workspace"
            _print_row(name, _asked(files, Path(folder), embedder))


def _question_files(folder: Path) -> list[Path]:
    files = sorted(folder.rglob(_QUESTIONS))
    if not files:
        raise SystemExit(f"{folder} holds no {_QUESTIONS}; name a folder of a collection")
    return files


def _asked(files: list[Path], folder: Path, embedder: str | None) -> EvaluationReport:
    """Ask the questions of each file on the workspace beside it."""
    reports = []
    for path in files:
        workspace = path.parent / _WORKSPACE
        settings = Settings(extra_paths=tuple(sorted(_note_folders(workspace) - {"memory"})))
        index = folder / "index" / "-".join((*path.parent.parts[-2:], "index.sqlite"))
        with open_at(workspace, settings=settings, embedder=embedder, index=index) as memory:
            questions = read_questions(path, memory=memory).questions
            reports.append(evaluate(memory, questions))
    return EvaluationReport.pool(reports)


def _note_folders(workspace: Path) -> set[str]:
    return {place.name for place in workspace.iterdir() if place.is_dir()}


def _merge(collections: list[list[Path]], folder: Path) -> Path:
    """Copy all notes into one workspace; return the question file of the first collection.

    Notes keep their folder, and stand below the name of their own workspace there.
    """
    rows = []
    for number, files in enumerate(collections):
        for path in files:
            name, workspace = path.parent.name, path.parent / _WORKSPACE
            for kind in _note_folders(workspace):
                shutil.copytree(workspace / kind, folder / _WORKSPACE / kind / name)
            if number == 0:
                rows += [_moved(row, name) for row in path.read_text("utf-8").splitlines() if row]
    merged = folder / _QUESTIONS
    merged.write_text("\n".join(rows) + "\n", encoding="utf-8")
    return merged


def _moved(row: str, name: str) -> str:
    question = json.loads(row)
    for place in question["evidence"]:
        kind, _, rest = place["path"].partition("/")
        place["path"] = f"{kind}/{name}/{rest}"
    return json.dumps(question)


def _print_row(name: str, report: EvaluationReport) -> None:
    figures = report.overall
    print(
        f"| {name} | {figures.questions} | {figures.shown:.3f} | {figures.shown_in_8000:.3f} "
        f"| {figures.mrr:.3f} | {figures.chars:,.0f} | {figures.json_chars:,.0f} |",
        flush=True,
    )


if __name__ == "__main__":
    main()
