"""The ``demo`` command: a small workspace, indexed, searched and explained, offline."""

from __future__ import annotations

import os
import tempfile
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING

import click

from commonplace.cli.options import Options, pass_options
from commonplace.cli.output import on_terminal, print_rich, print_text, progress, warn
from commonplace.display import plain_report, plain_result, report_panel, result_view

if TYPE_CHECKING:
    from collections.abc import Iterator

    from commonplace.evaluation import Question
    from commonplace.memory import Memory
    from commonplace.types import SearchResult

__all__ = ["demo"]

_OFFLINE = "bundled"
"""Embedder of the demo: ``auto`` may select a network service when an API key is set."""


@dataclass(frozen=True, slots=True)
class _Location:
    """Folder of the demo's notes, and its index file; None for the default one."""

    notes: Path
    index: Path | None


@click.command()
@click.option("--keep", metavar="FOLDER", help="Write the notes to FOLDER and leave them there.")
@pass_options
def demo(options: Options, *, keep: str | None) -> None:
    """Answer five questions on invented notes, and explain why. All of it is offline."""
    from commonplace.demo import demo_questions, write_demo_workspace

    today = date.today()  # noqa: DTZ011 - the machine's own day
    with _location(keep) as location:
        write_demo_workspace(location.notes, today=today)
        where = location.notes if keep else "a folder that is deleted at the end (see --keep)"
        print_text(f"{_count_lines(location.notes)} of notes in {where}\n")
        with _open(location, embedder=options.embedder) as memory:
            _index(memory)
            found = sum(_ask(memory, question) for question in demo_questions(today))
    print_text(f"{found} of 5 questions answered.\n\n{_next_steps(keep)}")


@contextmanager
def _location(keep: str | None) -> Iterator[_Location]:
    if keep is not None:
        yield _Location(Path(os.path.expanduser(keep)), None)
        return
    with tempfile.TemporaryDirectory(prefix="commonplace-", ignore_cleanup_errors=True) as folder:
        yield _Location(Path(folder) / "notes", Path(folder) / "index.sqlite")


def _open(location: _Location, *, embedder: str | None) -> Memory:
    from commonplace.errors import MissingExtraError
    from commonplace.memory import Memory
    from commonplace.settings import Settings, SyncSettings

    settings = Settings(sync=SyncSettings(on_open=False, on_search=False))
    selected = None if embedder == "none" else embedder or _OFFLINE
    try:
        return Memory.open(
            location.notes, settings=settings, embedder=selected, index=location.index
        )
    except MissingExtraError as error:
        warn(f"keyword search only: {error}")
        return Memory.open(location.notes, settings=settings, embedder=None, index=location.index)


def _index(memory: Memory) -> None:
    with progress("indexing") as bar:
        report = memory.index(progress=bar)
    if on_terminal():
        print_rich(report_panel(report))
    else:
        print_text(plain_report(report) + "\n")


def _ask(memory: Memory, question: Question) -> bool:
    """Search for a question and show the results with its evidence; return whether all of it is."""
    from commonplace.evaluation.metrics import first_rank
    from commonplace.evaluation.questions import locate_evidence

    results = memory.search(question.question, explain=True)
    ranks = {
        place: first_rank(results, [locate_evidence(memory, place)]) for place in question.evidence
    }
    shown = sorted({rank for rank in ranks.values() if rank}) or [1]
    _show_question(question)
    for result in (results[number - 1] for number in shown if number <= len(results)):
        _show_result(result)
    for place, rank in ranks.items():
        where = f"result {rank} of {len(results)}" if rank else f"not in {len(results)} results"
        print_text(f"      evidence {place}: {where}\n")
    print_text("\n")
    return all(ranks.values())


def _show_question(question: Question) -> None:
    if not on_terminal():
        print_text(f"? {question.question}  ({question.category})\n")
        return
    from rich.text import Text

    print_rich(Text.assemble((f"? {question.question}", "bold cyan"), f"  ({question.category})"))


def _show_result(result: SearchResult) -> None:
    if on_terminal():
        print_rich(result_view(result, explain=True))
    else:
        print_text(plain_result(result, explain=True))


def _count_lines(folder: Path) -> str:
    files = list(folder.rglob("*.md"))
    lines = sum(file.read_text(encoding="utf-8").count("\n") for file in files)
    return f"{len(files)} files, {lines} lines"


def _next_steps(keep: str | None) -> str:
    text = (
        "On your own notes:\n"
        "  commonplace init                   a folder for them (-w FOLDER: another than this)\n"
        "  commonplace index                  make the index\n"
        '  commonplace search "a question"    ask it\n'
    )
    if keep is None:
        return text
    return f'On these notes:\n  commonplace -w {keep} search "a question"\n{text}'
