"""The everyday commands: status, index, search, get, append, watch."""

from __future__ import annotations

import contextlib
import dataclasses
import math
import signal
import sys
import time
from collections.abc import Iterator
from typing import TYPE_CHECKING

import click

from commonplace.cli.completion import complete_note
from commonplace.cli.options import Options, pass_options
from commonplace.cli.output import (
    on_terminal,
    print_json,
    print_rich,
    print_text,
    progress,
    warn,
)
from commonplace.cli.unindexed import notes_elsewhere
from commonplace.display import (
    one_line,
    plain_report,
    plain_results,
    plain_status,
    report_panel,
    results_table,
    status_panel,
)
from commonplace.errors import CommonplaceError, EmbedderError, StoreError
from commonplace.tools import MAX_RESULTS, get_answer, results_payload, unavailable_answer

if TYPE_CHECKING:
    from commonplace.memory import Memory
    from commonplace.types import IndexReport, SearchResults

__all__ = ["append", "get", "index", "search", "status", "watch"]

_SLEEP_S = 3600.0

_json_option = click.option("--json", "as_json", is_flag=True, help="Print one JSON document.")


@click.command()
@click.option("--deep", is_flag=True, help="Probe the embedder and the index as well.")
@click.option("--index", "first", is_flag=True, help="Bring the index up to date first.")
@_json_option
@pass_options
def status(options: Options, *, deep: bool, first: bool, as_json: bool) -> None:
    """Show what is indexed, what is out of date, and why."""
    with options.open_memory() as memory:
        if first:
            _tell_failures(_run_index(memory))
        found = memory.status(deep=deep)
        if not (found.files or found.stale):
            warn(_why_empty(memory))
    if as_json:
        print_json(dataclasses.asdict(found))
    elif on_terminal():
        print_rich(status_panel(found))
    else:
        print_text(plain_status(found))


@click.command()
@click.option("--force", is_flag=True, help="Read and index every file again.")
@_json_option
@pass_options
def index(options: Options, *, force: bool, as_json: bool) -> None:
    """Bring the index up to date with the files."""
    with options.open_memory() as memory:
        report = _run_index(memory, force=force)
        _tell_missing_paths(memory)
        if not (report.chunks or report.failed):
            warn(_why_empty(memory))
    if as_json:
        print_json(dataclasses.asdict(report))
    else:
        _show_report(report)
    if report.failed and not report.chunks:
        raise CommonplaceError("nothing could be indexed; the reasons are above.")


def _check_score(_context: click.Context, _option: click.Parameter, value: float | None) -> object:
    if value is not None and not (math.isfinite(value) and 0 <= value <= 1):
        raise click.BadParameter(f"{value} is not between 0 and 1.")
    return value


@click.command()
@click.argument("query")
@click.option(
    "--max-results",
    type=click.IntRange(1, MAX_RESULTS),
    metavar="N",
    help="Show N results at most.",
)
@click.option(
    "--min-score",
    type=float,
    callback=_check_score,
    metavar="S",
    help="Leave out results below S, 0 to 1.",
)
@click.option("--explain", is_flag=True, help="Show what made each score.")
@_json_option
@pass_options
def search(
    options: Options,
    query: str,
    *,
    max_results: int | None,
    min_score: float | None,
    explain: bool,
    as_json: bool,
) -> None:
    """Find the lines that answer QUERY."""
    with options.open_memory() as memory:
        problem = _bring_up_to_date(memory)
        try:
            # Explained in any case: the terms that matched are marked in the snippets.
            results = memory.search(
                query, max_results=max_results, min_score=min_score, explain=True
            )
        except (StoreError, EmbedderError) as error:
            if as_json:
                print_json(unavailable_answer(error))
            raise
        if problem:
            warn(problem)
        if as_json:
            print_json(results_payload(results, citations=memory.settings.citations))
            return
        _tell_about(results, asked_for=options.embedder == "none", told=problem or "")
        if results:
            _show_results(results, explain=explain)
        else:
            _explain_nothing(memory, query=query, results=results, min_score=min_score)


@click.command()
@click.argument("path", shell_complete=complete_note)
@click.option("--from", "from_line", type=int, metavar="N", help="Begin with line N.")
@click.option("--lines", type=click.IntRange(min=1), metavar="N", help="Show N lines.")
@_json_option
@pass_options
def get(
    options: Options, path: str, *, from_line: int | None, lines: int | None, as_json: bool
) -> None:
    """Show a file of the memory, or some of its lines."""
    with options.open_memory() as memory:
        if as_json:
            arguments = {"path": path, "from": from_line, "lines": lines}
            print_json(get_answer(memory, arguments))
            return
        excerpt = memory.get(path, from_line=from_line, lines=lines)
    if excerpt.status == "not_found":
        raise CommonplaceError(
            f"there is no file {excerpt.path} in {options.workspace}. "
            "'commonplace search' shows the paths that there are."
        )
    if excerpt.text:
        print_text(excerpt.text)
    elif from_line and from_line > 1:
        warn(f"{excerpt.path} ends before line {from_line}")


# "- Decided: ..." is the most usual note, so what begins with a dash is text and no option here.
@click.command(context_settings={"ignore_unknown_options": True, "help_option_names": ["--help"]})
@click.argument("text")
@pass_options
def append(options: Options, text: str) -> None:
    """Add TEXT to today's log; "-" reads it from standard input."""
    if text == "-":
        data = sys.stdin.buffer.read()
        text = data.decode("utf-8-sig", errors="replace").replace("\r\n", "\n")
    if not text.strip():
        raise CommonplaceError("there is nothing to append: the text is empty.")
    with options.open_memory() as memory:
        print_text(memory.append(text))


@click.command()
@pass_options
def watch(options: Options) -> None:
    """Keep the index fresh until interrupted. Each run is told in one line."""
    with options.open_memory() as memory, _ended_by_signals():
        _show_report(_run_index(memory))
        with memory.watch(on_run=_tell_run):
            click.echo(f"watching {one_line(str(memory.workspace.root))}; Ctrl-C ends", err=True)
            while True:
                time.sleep(_SLEEP_S)


@contextlib.contextmanager
def _ended_by_signals() -> Iterator[None]:
    """End the block, as if nothing were the matter, when the process is told to stop."""
    before = signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        yield
    except KeyboardInterrupt:
        click.echo("stopped", err=True)
    finally:
        signal.signal(signal.SIGTERM, before)


def _tell_run(report: IndexReport) -> None:
    done = f"{report.added} added, {report.updated} updated, {report.removed} removed"
    click.echo(f"{time.strftime('%H:%M:%S')}  {done}, {report.seconds:.2f} s")
    _tell_failures(report)


def _run_index(memory: Memory, *, force: bool = False) -> IndexReport:
    with progress("indexing") as bar:
        return memory.index(force=force, progress=bar)


def _bring_up_to_date(memory: Memory) -> str | None:
    """Index before a search; return what went wrong: what is there is searched nevertheless."""
    try:
        report = _run_index(memory)
    except (StoreError, EmbedderError) as error:
        return f"the index could not be brought up to date: {error}"
    if not report.failed:
        return None
    count = f"{len(report.failed)} file" + ("s" if len(report.failed) > 1 else "")
    return f"{count} could not be indexed as they should; 'commonplace index' says why"


def _show_report(report: IndexReport) -> None:
    if on_terminal():
        print_rich(report_panel(report))  # names the failures itself
    else:
        print_text(plain_report(report))
        _tell_failures(report)


def _tell_failures(report: IndexReport) -> None:
    for path, reason in report.failed:
        warn(f"{path}: {reason}")


def _show_results(results: SearchResults, *, explain: bool) -> None:
    if on_terminal():
        print_rich(results_table(results, explain=explain))
    else:
        print_text(plain_results(results, explain=explain))


def _tell_about(results: SearchResults, *, asked_for: bool, told: str) -> None:
    if results.fallback and not asked_for:
        why = ", for the same reason" if results.fallback in told else f": {results.fallback}"
        warn(f"{results.mode} search only{why}")
    for warning in results.warnings:
        if warning != results.fallback:
            warn(warning)


def _explain_nothing(
    memory: Memory, *, query: str, results: SearchResults, min_score: float | None
) -> None:
    """Say what was searched, and what to try next."""
    try:
        state = memory.status()
    except (StoreError, EmbedderError):
        warn(f"no results for {_short(query)}")  # why it was no better is told already
        return
    if not state.files:
        _tell_missing_paths(memory)
        warn(f"no results: {_why_empty(memory)}")
        return
    least = memory.settings.search.min_score if min_score is None else min_score
    where = f"{results.mode} search of {state.files} files, {state.chunks} chunks"
    hint = "try other words" + (", or --min-score 0 to see weak matches" if least > 0 else "")
    warn(f"no results for {_short(query)}: {where}, minimum score {least:g}; {hint}")


def _tell_missing_paths(memory: Memory) -> None:
    for given in memory.workspace.missing_extra_paths:
        warn(f"the extra path {given} is not there; create it or drop the setting")


def _why_empty(memory: Memory) -> str:
    """Say what to do about a memory without a file."""
    begin = f"{memory.workspace.root} has no notes yet; 'commonplace init' writes the first"
    return notes_elsewhere(memory.workspace) or begin


def _short(query: str) -> str:
    most = 60
    shown = one_line(query)
    return repr(shown if len(shown) <= most else shown[: most - 1] + "…")
