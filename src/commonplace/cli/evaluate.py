"""The ``eval`` command: evaluate the answers of a memory on question files."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import replace
from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import click

from commonplace.cli.evaluation_output import EvaluationRun, outcome_file, print_report
from commonplace.cli.options import Options, json_option, pass_options
from commonplace.cli.output import print_text, progress
from commonplace.errors import CommonplaceError, QuestionFileError

if TYPE_CHECKING:
    from commonplace.evaluation.fixed_clock import Now
    from commonplace.memory import Memory

__all__ = ["evaluate"]

_ForeignFile = tuple[Path, tuple[str, ...]]
"""Question file about other notes, and the texts of its questions."""


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
@json_option
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
    example: Literal["demo", "repeating"] | None,
) -> None:
    """Measure how much of what QUESTIONS need the answers show.

    QUESTIONS are JSON Lines, {"question": ..., "evidence": [{"path": ..., "line": ...}],
    "category": ..., "first": true}; instead of a line, evidence may have a "text", an exact passage
    of the file. "category" and "first" may be left out. They are about the workspace; without -w,
    about the folder "workspace" beside the file if there is one.

    shown: the share of the evidence that the answers show; in 8,000: the same for 8,000 characters
    of answer; hit rate: questions of which some evidence is shown; MRR: the mean of 1/rank of the
    first result that shows some; first: of the questions with "first", those whose first result
    shows all evidence; empty: questions without an answer; chars, JSON: the mean length of the
    snippets and of the tool's answer; ms: a question's time.
    """
    if example:
        _write_example(example, paths, today=_today() if now == "last" else now)
        return
    if not paths:
        raise click.UsageError("Missing argument 'QUESTIONS...'.")
    foreign_files, problems = _read_foreign(foreign)
    _check_outcome_path(save, (*paths, *foreign))
    with outcome_file(save) as write_outcomes:
        runs = []
        for path in paths:
            runs.append(_run(path, options, ctx, now=now, foreign_files=foreign_files))
            write_outcomes(runs[-1])
    print_report(runs, problems, as_json=as_json, keyword_only=options.embedder == "none")
    if problems or any(run.problems for run in runs):
        ctx.exit(1)


def _check_outcome_path(save: Path | None, questions: Iterable[Path]) -> None:
    """Refuse to overwrite a question file or a note.

    Raises:
        click.UsageError: The path is one of the question files, or a Markdown file.
    """
    if save is not None and any(_same(save, path) for path in questions):
        raise click.UsageError(f"--save {save} would overwrite the questions; name another file.")
    if save is not None and save.suffix == ".md":
        raise click.UsageError(
            f"--save writes JSON Lines, and {save} is a note; name another file."
        )


def _run(
    path: Path,
    options: Options,
    ctx: click.Context,
    *,
    now: Now,
    foreign_files: Sequence[_ForeignFile],
) -> EvaluationRun:
    from commonplace.evaluation import evaluate as evaluate_memory
    from commonplace.evaluation import read_questions
    from commonplace.evaluation.fixed_clock import asking_time

    workspace = _workspace_of(path, options, ctx)
    texts = [text for file, found in foreign_files if not _same(file, path) for text in found]
    with _open(workspace, options, ctx, now=now) as memory:
        file = read_questions(path, memory=memory)
        if not file.questions:  # figures of no question would pass for bad ones
            raise _no_questions(path, file.problems)
        with progress("indexing") as bar:
            memory.index(progress=bar)
        with progress("asking") as bar:
            report = evaluate_memory(memory, file.questions, foreign=texts or None, progress=bar)
        day = asking_time(memory.workspace, now=now).date()
        return EvaluationRun(path, workspace, day, report, file.problems)


def _no_questions(path: Path, problems: Sequence[str]) -> QuestionFileError:
    if not problems:
        return QuestionFileError(
            f"{path} is empty. It takes JSON Lines: "
            '{"question": ..., "evidence": [{"path": ..., "line": ...}]}.'
        )
    more = f" (and {len(problems) - 1} more)" if problems[1:] else ""
    return QuestionFileError(f"no line of {path} can be asked. {problems[0]}{more}")


def _workspace_of(path: Path, options: Options, ctx: click.Context) -> Path:
    """Return the workspace of -w, else the one next to the question file, else the default one."""
    sibling = path.parent / "workspace"
    is_named = any(_was_given(name, ctx) for name in ("workspace", "index", "agent"))
    if not is_named and sibling.is_dir():
        return sibling
    if options.url is not None:
        raise CommonplaceError(
            "a folder of notes is evaluated; a URL was given. Name the folder with -w."
        )
    return options.workspace


def _was_given(name: str, ctx: click.Context) -> bool:
    """Return whether a global option is on the command line."""
    source = ctx.parent.get_parameter_source(name) if ctx.parent else None
    return source is click.core.ParameterSource.COMMANDLINE


def _open(workspace: Path, options: Options, ctx: click.Context, *, now: Now) -> Memory:
    """Open a workspace; an embedder or settings file on the command line gets its own index.

    Otherwise a comparison of embedders or settings would rebuild the user's index for each of them.
    """
    from commonplace.evaluation import open_at
    from commonplace.settings import HistorySettings, Settings
    from commonplace.store.registry import default_index_path

    settings = options.settings() or Settings.load()
    is_trial = _was_given("embedder", ctx) or _was_given("settings_file", ctx)
    index = options.index
    if is_trial and workspace.is_dir():
        name = _file_name(options.embedder or "auto")
        index = default_index_path(workspace.resolve()).with_name(f"eval-{name}.sqlite")
        # Old texts are kept beside the user's index, not beside that of a trial.
        settings = replace(settings, history=HistorySettings(enabled=False))
    return open_at(
        workspace,
        settings=settings,
        embedder=None if options.embedder == "none" else options.embedder or "auto",
        index=index,
        now=now,
    )


def _file_name(text: str) -> str:
    import hashlib

    key = hashlib.sha256(text.encode("utf-8", "replace")).hexdigest()[:8]
    return f"{re.sub(r'[^A-Za-z0-9]+', '-', text)[:40].strip('-')}-{key}"


def _same(one: Path, other: Path) -> bool:
    return one.resolve() == other.resolve()


def _read_foreign(paths: Iterable[Path]) -> tuple[list[_ForeignFile], list[str]]:
    from commonplace.evaluation import read_question_texts

    found: list[_ForeignFile] = []
    problems: list[str] = []
    for path in paths:
        texts, invalid = read_question_texts(path)
        if not texts:
            raise _no_questions(path, invalid)
        found.append((path, texts))
        problems += invalid
    return found, problems


def _today() -> date:
    return date.today()  # noqa: DTZ011 - the machine's own day


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
