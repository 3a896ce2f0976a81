"""The ``search`` command."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import click

from commonplace.cli.completion import complete_note
from commonplace.cli.empty_workspace import empty_workspace_hint, warn_missing_extra_paths
from commonplace.cli.index import run_index
from commonplace.cli.options import TEXT, Options, json_option, pass_options
from commonplace.cli.output import on_terminal, print_json, print_rich, print_text, warn
from commonplace.display import one_line, plain_results, results_table
from commonplace.errors import EmbedderError, StoreError
from commonplace.tools import MAX_RESULTS, results_payload, unavailable_answer
from commonplace.workspace.unindexed_notes import unindexed_notes_hint

if TYPE_CHECKING:
    from commonplace.memory import Memory
    from commonplace.types import SearchResults

__all__ = ["search"]

_MOST_QUERY_CHARS = 60


def _check_score(_context: click.Context, _option: click.Parameter, value: float | None) -> object:
    if value is not None and not (math.isfinite(value) and 0 <= value <= 1):
        raise click.BadParameter(f"{value} is not between 0 and 1.")
    return value


def _check_paths(
    _context: click.Context, _option: click.Parameter, paths: tuple[str, ...]
) -> tuple[str, ...] | None:
    from commonplace.store.records import checked_patterns

    try:
        return checked_patterns(paths) or None
    except ValueError as error:
        raise click.BadParameter(str(error)) from error


@click.command()
@click.argument("words", type=TEXT, nargs=-1, required=True, metavar="QUERY")
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
@click.option(
    "--paths",
    multiple=True,
    callback=_check_paths,
    metavar="PATTERN",
    shell_complete=complete_note,
    help="Search this file, folder or glob only; may be repeated.",
)
@click.option("--explain", is_flag=True, help="Show what made each score.")
@json_option
@pass_options
def search(
    options: Options,
    words: tuple[str, ...],
    *,
    max_results: int | None,
    min_score: float | None,
    paths: tuple[str, ...] | None,
    explain: bool,
    as_json: bool,
) -> None:
    """Find the lines that answer QUERY, one text or several words."""
    query = " ".join(words)
    with options.open_memory() as memory:
        problem = None if options.url else _update_index(memory)
        try:
            # Explained in any case: the terms that matched are marked in the snippets.
            results = memory.search(
                query,
                max_results=max_results,
                min_score=min_score,
                paths=paths,
                explain=True,
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
        _warn_about(results, keyword_only=options.embedder == "none", problem=problem or "")
        if results:
            _show_results(results, explain=explain)
        else:
            _explain_no_results(memory, results, min_score=min_score, paths=paths)


def _update_index(memory: Memory) -> str | None:
    """Update the index; return the problem, if any: the index is searched as it is then."""
    try:
        report = run_index(memory, backend=False)
    except (StoreError, EmbedderError) as error:
        return f"the index could not be brought up to date: {error}"
    if not report.failed:
        return None
    count = len(report.failed)
    files, they = ("file", "it") if count == 1 else ("files", "they")
    return f"{count} {files} could not be indexed as {they} should; 'commonplace index' says why"


def _show_results(results: SearchResults, *, explain: bool) -> None:
    if on_terminal():
        print_rich(results_table(results, explain=explain))
    else:
        print_text(plain_results(results, explain=explain))


def _warn_about(results: SearchResults, *, keyword_only: bool, problem: str) -> None:
    """Warn of a fallback, unless keyword search was requested, and of the results' warnings."""
    if results.fallback and not keyword_only:
        is_known = results.mode != "hybrid" and results.fallback in problem
        shown = f"{results.mode} search only, for the same reason" if is_known else None
        warn(shown or results.fallback_notice or "")
    for warning in results.warnings:
        if keyword_only or warning not in (results.fallback or ""):
            warn(warning)


def _explain_no_results(
    memory: Memory,
    results: SearchResults,
    *,
    min_score: float | None,
    paths: tuple[str, ...] | None,
) -> None:
    """Warn that nothing was found: what was searched, and what to try next."""
    query = _quoted(results.query)
    try:
        state = memory.status()
    except (StoreError, EmbedderError):
        warn(f"no results for {query}")  # the search has reported the error already
        return
    if not state.files:
        warn_missing_extra_paths(memory.workspace)
        hint = unindexed_notes_hint(memory.workspace)  # the search has logged it
        warn("no results" if hint else f"no results: {empty_workspace_hint(memory.workspace)}")
        return
    if paths is not None and not _has_file(memory, paths):
        warn(f"no results: no file of the index matches --paths {' '.join(paths)}")
        return
    least = memory.settings.search.min_score if min_score is None else min_score
    where = f"{results.mode} search of {state.files} files, {state.chunks} chunks"
    hint = "try other words" + (", or --min-score 0 to see weak matches" if least > 0 else "")
    warn(f"no results for {query}: {where}, minimum score {least:g}; {hint}")


def _has_file(memory: Memory, patterns: tuple[str, ...]) -> bool:
    from commonplace.store.records import FileFilter

    with memory.snapshot() as snapshot:
        return any(map(FileFilter(patterns).passes, snapshot.files()))


def _quoted(query: str) -> str:
    shown = one_line(query)
    too_long = len(shown) > _MOST_QUERY_CHARS
    return repr(shown[: _MOST_QUERY_CHARS - 1] + "…" if too_long else shown)
