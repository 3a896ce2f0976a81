"""The ``index`` command, and the index runs of the other commands."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING

import click

from commonplace.cli.empty_workspace import empty_workspace_hint, warn_missing_extra_paths
from commonplace.cli.options import Options, json_option, pass_options
from commonplace.cli.output import on_terminal, print_json, print_rich, print_text, progress, warn
from commonplace.display import plain_report, report_panel
from commonplace.errors import CommonplaceError

if TYPE_CHECKING:
    from commonplace.memory import Memory
    from commonplace.types import IndexReport

__all__ = ["index", "run_index", "show_report", "warn_failures"]


@click.command()
@click.option("--force", is_flag=True, help="Read and index every file again.")
@json_option
@pass_options
def index(options: Options, *, force: bool, as_json: bool) -> None:
    """Bring the index up to date with the files."""
    with options.open_memory() as memory:
        report = run_index(memory, force=force)
        warn_missing_extra_paths(memory.workspace)
        if not (report.chunks or report.failed):
            warn(empty_workspace_hint(memory.workspace))
    if as_json:
        print_json(dataclasses.asdict(report))
    else:
        show_report(report)
    if report.failed and not report.chunks:
        raise CommonplaceError("nothing could be indexed; the reasons are above.")


def run_index(memory: Memory, *, force: bool = False, backend: bool = True) -> IndexReport:
    """Update the index with a progress bar; without `backend`, not that of another program."""
    with progress("indexing") as bar:
        return memory.index(force=force, progress=bar, backend=backend)


def show_report(report: IndexReport) -> None:
    """Print an index report, with the files that failed."""
    if on_terminal():
        print_rich(report_panel(report))  # lists the failures as well
    else:
        print_text(plain_report(report))
        warn_failures(report)


def warn_failures(report: IndexReport) -> None:
    """Warn of each file that could not be indexed as it should."""
    for path, reason in report.failed:
        warn(f"{path}: {reason}")
