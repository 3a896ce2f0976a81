"""Output of the ``eval`` command: a table or JSON of the figures, and a file of the outcomes."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass
from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from commonplace.cli.output import on_terminal, print_json, print_rich, print_text, warn
from commonplace.display import one_line
from commonplace.tools import answer_json

if TYPE_CHECKING:
    from commonplace.evaluation import EvaluationReport, Figures

__all__ = ["EvaluationRun", "outcome_file", "print_report"]

_Row = tuple[str, ...]


class _Column(NamedTuple):
    """Column of the table; it is left out where the figure over all questions is None.

    Attributes:
        head: Name that is shown.
        name: Attribute of `Figures`.
        form: Format of the values.
    """

    head: str
    name: str
    form: str = ".3f"


_COLUMNS = (
    _Column("questions", "questions", "d"),
    _Column("shown", "shown"),
    _Column("in 8,000", "shown_in_8000"),
    _Column("hit rate", "hit_rate"),
    _Column("MRR", "mrr"),
    _Column("first", "first_right"),
    _Column("empty", "empty"),
    _Column("chars", "chars", ",.0f"),
    _Column("JSON", "json_chars", ",.0f"),
    _Column("ms", "ms_per_query", ".1f"),
    _Column("AUROC", "auroc"),
)


@dataclass(frozen=True, slots=True)
class EvaluationRun:
    """Evaluation of one question file.

    Attributes:
        file: Question file.
        workspace: Folder of the notes that it asks about.
        day: Day of the memory's clock.
        report: Report on the questions.
        problems: Invalid lines of the file, an error each.
    """

    file: Path
    workspace: Path
    day: date
    report: EvaluationReport
    problems: tuple[str, ...]


@contextlib.contextmanager
def outcome_file(path: Path | None) -> Iterator[Callable[[EvaluationRun], None]]:
    """Open the file of outcomes and return its writer; without a path, the writer does nothing.

    The file is opened before the first question, so that a wrong path fails early.
    """
    if path is None:
        yield lambda _run: None
        return
    with path.open("w", encoding="utf-8", newline="\n") as file:

        def write(run: EvaluationRun) -> None:
            for outcome in run.report.outcomes:
                file.write(answer_json({"file": str(run.file)} | outcome.as_dict()) + "\n")

        yield write


def print_report(
    runs: Sequence[EvaluationRun], problems: Sequence[str], *, as_json: bool, keyword_only: bool
) -> None:
    """Print the figures over all runs, and warn of problems.

    Args:
        runs: Evaluations, one for each question file.
        problems: Problems of the foreign question files.
        as_json: Whether to print JSON instead of a table.
        keyword_only: Whether keyword search was requested: it is no fallback to warn of then.
    """
    from commonplace.evaluation import EvaluationReport

    report = EvaluationReport.pool(run.report for run in runs)
    problems = [*problems, *(problem for run in runs for problem in run.problems)]
    if as_json:
        files = [_file_dict(run) for run in runs]
        print_json(report.as_dict() | {"files": files, "problems": problems})
    else:
        _print_table(report, runs)
    failed = [f"{path}: {reason}" for path, reason in report.failed]
    for message in (*failed, *(() if keyword_only else report.fallbacks), *problems):
        warn(message)


def _file_dict(run: EvaluationRun) -> dict[str, object]:
    return {
        "file": str(run.file),
        "workspace": str(run.workspace),
        "day": run.day.isoformat(),
        "overall": asdict(run.report.overall),
    }


def _print_table(report: EvaluationReport, runs: Sequence[EvaluationRun]) -> None:
    columns = [column for column in _COLUMNS if getattr(report.overall, column.name) is not None]
    header = ("", *(column.head for column in columns))
    groups: list[list[_Row]] = [[_row("all", report.overall, columns)]]
    groups.append([_row(name or "none", found, columns) for name, found in _categories(report)])
    if len(runs) > 1:
        groups.append([_row(str(run.file), run.report.overall, columns) for run in runs])
    filled = [group for group in groups if group]
    if on_terminal():
        _print_rich_table(header, filled)
    else:
        print_text(_aligned([header, *(row for group in filled for row in group)]))


def _categories(report: EvaluationReport) -> list[tuple[str, Figures]]:
    """Return the figures by category; none when no question has a category."""
    categories = list(report.by_category.items())
    return [] if [name for name, _ in categories] == [""] else categories


def _row(name: str, figures: Figures, columns: Sequence[_Column]) -> _Row:
    values = ((getattr(figures, column.name), column.form) for column in columns)
    cells = ("-" if value is None else format(value, form) for value, form in values)
    return (one_line(name), *cells)


def _print_rich_table(header: _Row, groups: Sequence[Sequence[_Row]]) -> None:
    from rich import box
    from rich.table import Table
    from rich.text import Text

    table = Table(box=box.SIMPLE_HEAD, show_edge=False)
    for name in header:
        table.add_column(name, justify="right" if name else "left", overflow="fold")
    for number, rows in enumerate(groups):
        for row in rows:
            style = "bold green" if number == 0 else ""
            table.add_row(*(Text(cell) for cell in row), style=style)
        table.add_section()
    print_rich(table)


def _aligned(rows: Sequence[_Row]) -> str:
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    lines = (
        "  ".join([row[0].ljust(widths[0]), *map(str.rjust, row[1:], widths[1:])]) for row in rows
    )
    return "".join(f"{line}\n" for line in lines)
