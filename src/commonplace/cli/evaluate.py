"""The ``eval`` command: how much of what questions need do the answers show?"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass
from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import click

from commonplace.cli.options import Options, pass_options
from commonplace.cli.output import on_terminal, print_json, print_rich, print_text, progress, warn
from commonplace.display import one_line
from commonplace.errors import CommonplaceError
from commonplace.tools import answer_json

if TYPE_CHECKING:
    from commonplace.evaluation import EvaluationReport, Figures
    from commonplace.evaluation.fixed_clock import Now
    from commonplace.memory import Memory

__all__ = ["evaluate"]

_Row = tuple[str, ...]


@dataclass(frozen=True, slots=True)
class _Run:
    """A question file, the workspace that it is about, and what came of it."""

    file: Path
    workspace: Path
    day: date
    report: EvaluationReport
    problems: tuple[str, ...]


def _parse_now(_ctx: click.Context, _option: click.Parameter, value: str) -> Now:
    if value == "last":
        return "last"
    try:
        return date.fromisoformat(value)
    except ValueError:
        raise click.BadParameter(f"{value!r} is neither a day, 2026-11-20, nor 'last'.") from None


@click.command("eval")
@click.argument("paths", metavar="QUESTIONS...", nargs=-1, type=click.Path(path_type=Path))
@click.option(
    "--now",
    default="last",
    metavar="DATE|last",
    callback=_parse_now,
    help="The day on which it is asked; default: last, the day after the newest dated log.",
)
@click.option(
    "--foreign",
    multiple=True,
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="Questions about other notes: how well do scores tell them from QUESTIONS? Repeatable.",
)
@click.option(
    "--save",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="Write what came of each question to FILE, JSON Lines.",
)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON document.")
@click.option(
    "--convert",
    type=click.Choice(["locomo"]),
    help="Instead, make workspaces and question files: --convert locomo locomo10.json OUT.",
)
@click.option(
    "--example",
    type=click.Choice(["demo", "repeating"]),
    help="Instead, write an example of a workspace with questions: --example repeating OUT.",
)
@pass_options
@click.pass_context
def evaluate(
    ctx: click.Context,
    options: Options,
    *,
    paths: tuple[Path, ...],
    now: Now,
    foreign: tuple[Path, ...],
    save: Path | None,
    as_json: bool,
    convert: Literal["locomo"] | None,
    example: Literal["demo", "repeating"] | None,
) -> None:
    """Measure how much of what QUESTIONS need the answers show.

    QUESTIONS are JSON Lines, {"question": ..., "evidence": [{"path": ..., "line": ...}],
    "category": ...}. They are about the workspace; without -w, about the folder "workspace" beside
    the file if there is one.

    shown: the share of the evidence's lines that the answers show; in 8,000: the same for 8,000
    characters of answer; hit rate: questions of which a line is shown; MRR: the mean of 1/rank of
    the first result that shows one; empty: questions without an answer; ms: a question's time.
    """
    if convert:
        _convert(paths)
        return
    if example:
        _write_example(example, paths, today=_today() if now == "last" else now)
        return
    if not paths:
        raise click.UsageError("Missing argument 'QUESTIONS...'.")
    strangers, problems = _read_foreign(foreign)
    if save is not None and any(_same(save, path) for path in (*paths, *foreign)):
        raise click.UsageError(f"--save {save} would overwrite the questions; name another file.")
    if save is not None and save.suffix == ".md":
        raise click.UsageError(
            f"--save writes JSON Lines, and {save} is a note; name another file."
        )
    with _saving(save) as keep:
        runs = []
        for path in paths:
            runs.append(_run(path, options, ctx, now=now, strangers=strangers))
            keep(runs[-1])
    _tell(runs, problems, as_json=as_json, words_only=options.embedder == "none")
    if problems or any(run.problems for run in runs):
        ctx.exit(1)


# -- asking --------------------------------------------------------------------------------------


def _run(
    path: Path,
    options: Options,
    ctx: click.Context,
    *,
    now: Now,
    strangers: Sequence[tuple[Path, tuple[str, ...]]],
) -> _Run:
    from commonplace.evaluation import evaluate as measure
    from commonplace.evaluation import read_questions
    from commonplace.evaluation.fixed_clock import asking_time

    workspace = _workspace_of(path, options, ctx)
    texts = [text for file, some in strangers if not _same(file, path) for text in some]
    with _open(workspace, options, ctx, now=now) as memory:
        file = read_questions(path, memory=memory)
        with progress("indexing") as bar:
            memory.index(progress=bar)
        with progress("asking") as bar:
            foreign = texts if strangers else None
            report = measure(memory, file.questions, foreign=foreign, progress=bar)
        day = asking_time(memory.workspace, now=now).date()
        return _Run(path, workspace, day, report, file.problems)


def _workspace_of(path: Path, options: Options, ctx: click.Context) -> Path:
    """The workspace that was named, else the one beside the file, else the default one."""
    beside = path.parent / "workspace"
    if not _was_given("workspace", ctx) and beside.is_dir():
        return beside
    return options.workspace


def _was_given(name: str, ctx: click.Context) -> bool:
    """Whether a global option stands on the command line."""
    source = ctx.parent.get_parameter_source(name) if ctx.parent else None
    return source is click.core.ParameterSource.COMMANDLINE


def _open(workspace: Path, options: Options, ctx: click.Context, *, now: Now) -> Memory:
    """Open a workspace; what is only tried out gets an index of its own.

    Otherwise a comparison of embedders or settings would leave the user's index as the last of
    them needs it.
    """
    from commonplace.evaluation import open_at
    from commonplace.indexing.service import default_index_path

    tried = _was_given("embedder", ctx) or _was_given("settings_file", ctx)
    index_path = None
    if tried and workspace.is_dir():
        name = _file_name(options.embedder or "auto")
        index_path = default_index_path(workspace.resolve()).with_name(f"eval-{name}.sqlite")
    return open_at(
        workspace,
        settings=options.settings(),
        embedder=None if options.embedder == "none" else options.embedder or "auto",
        index_path=index_path,
        now=now,
    )


def _file_name(text: str) -> str:
    import hashlib
    import re

    key = hashlib.sha256(text.encode("utf-8", "replace")).hexdigest()[:8]
    return f"{re.sub(r'[^A-Za-z0-9]+', '-', text)[:40].strip('-')}-{key}"


def _same(one: Path, other: Path) -> bool:
    return one.resolve() == other.resolve()


def _read_foreign(
    paths: Iterable[Path],
) -> tuple[list[tuple[Path, tuple[str, ...]]], list[str]]:
    from commonplace.evaluation import read_question_texts

    found: list[tuple[Path, tuple[str, ...]]] = []
    problems: list[str] = []
    for path in paths:
        texts, wrong = read_question_texts(path)
        found.append((path, texts))
        problems += wrong
    return found, problems


# -- telling -------------------------------------------------------------------------------------


@contextlib.contextmanager
def _saving(path: Path | None) -> Iterator[Callable[[_Run], None]]:
    """Open the file of outcomes before anything is asked: a wrong name is told at once."""
    if path is None:
        yield lambda _run: None
        return
    with path.open("w", encoding="utf-8", newline="\n") as file:

        def keep(run: _Run) -> None:
            for outcome in run.report.outcomes:
                file.write(answer_json({"file": str(run.file)} | outcome.as_dict()) + "\n")

        yield keep


def _tell(
    runs: Sequence[_Run], problems: Sequence[str], *, as_json: bool, words_only: bool
) -> None:
    from commonplace.evaluation import EvaluationReport

    report = EvaluationReport.pool(run.report for run in runs)
    problems = [*problems, *(problem for run in runs for problem in run.problems)]
    if as_json:
        files = [_file_dict(run) for run in runs]
        print_json(report.as_dict() | {"files": files, "problems": problems})
    else:
        _show(report, runs)
    failed = [f"{path}: {reason}" for path, reason in report.failed]
    for message in (*failed, *(() if words_only else report.fallbacks), *problems):
        warn(message)


def _file_dict(run: _Run) -> dict[str, object]:
    return {
        "file": str(run.file),
        "workspace": str(run.workspace),
        "day": run.day.isoformat(),
        "overall": asdict(run.report.overall),
    }


def _show(report: EvaluationReport, runs: Sequence[_Run]) -> None:
    with_auroc = report.overall.auroc is not None
    head = ["", "questions", "shown", "in 8,000", "hit rate", "MRR", "empty", "ms"]
    groups: list[list[_Row]] = [[_row("all", report.overall)]]
    groups.append([_row(name or "none", figures) for name, figures in _kinds(report)])
    if len(runs) > 1:
        groups.append([_row(str(run.file), run.report.overall) for run in runs])
    header = (*head, "AUROC") if with_auroc else tuple(head)
    filled = [group for group in groups if group]
    if on_terminal():
        _show_table(header, filled)
    else:
        print_text(_aligned([header, *(row for group in filled for row in group)]))


def _kinds(report: EvaluationReport) -> list[tuple[str, Figures]]:
    """The categories, unless no question has one."""
    kinds = list(report.by_category.items())
    return [] if [name for name, _ in kinds] == [""] else kinds


def _row(name: str, figures: Figures) -> _Row:
    cells = [
        one_line(name),
        str(figures.questions),
        *(f"{value:.3f}" for value in (figures.shown, figures.shown_in_8000)),
        *(f"{value:.3f}" for value in (figures.hit_rate, figures.mrr, figures.empty)),
        f"{figures.ms_per_query:.1f}",
    ]
    return (*cells, f"{figures.auroc:.3f}") if figures.auroc is not None else tuple(cells)


def _show_table(header: _Row, groups: Sequence[Sequence[_Row]]) -> None:
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


# -- making question files -----------------------------------------------------------------------


def _today() -> date:
    return date.today()  # noqa: DTZ011 - the days of an example are the machine's


def _convert(paths: Sequence[Path]) -> None:
    if len(paths) != 2:
        raise click.UsageError("--convert locomo takes LoCoMo's file and a folder to write to.")
    from commonplace.evaluation import convert_locomo

    for made in convert_locomo(*paths):
        print_text(
            f"{made.name}  {made.days} days, {made.turns} turns, {made.questions} questions\n"
        )
        for problem in made.problems:
            warn(f"{made.name}: {problem}")


def _write_example(
    name: Literal["demo", "repeating"], paths: Sequence[Path], *, today: date
) -> None:
    if len(paths) != 1:
        raise click.UsageError(f"--example {name} takes a folder to write to.")
    from commonplace import demo

    folder = paths[0]
    workspace = folder / "workspace"
    file = folder / "questions.jsonl"
    if file.exists():
        raise CommonplaceError(f"{file} exists already; nothing was written.")
    if name == "demo":
        demo.write_demo_workspace(workspace, today=today)
        questions = demo.evaluation_questions(today)
    else:
        questions = demo.write_repeating_workspace(workspace, today=today)
    demo.write_questions(file, questions)
    print_text(f"{len(questions)} questions in {file}, about the notes in {workspace}\n")
