"""The ``watch`` command."""

from __future__ import annotations

import contextlib
import signal
import threading
import time
from collections.abc import Iterator
from typing import TYPE_CHECKING

import click

from commonplace.cli.index import run_index, show_report, warn_failures
from commonplace.cli.options import Options, pass_options
from commonplace.display import one_line
from commonplace.errors import CommonplaceError

if TYPE_CHECKING:
    from types import FrameType

    from commonplace.types import IndexReport

__all__ = ["STEP_S", "print_run", "until_signalled", "watch"]

STEP_S = 0.5
"""Longest wait of the main thread: the system may give a signal to any thread, and Python's handler
runs when the main thread takes its next step, for which it is not woken then."""


@click.command()
@pass_options
def watch(options: Options) -> None:
    """Keep the index fresh until interrupted. Each run is reported in one line."""
    if options.url is not None:
        raise CommonplaceError(
            "a folder is watched; a URL was given. Each search reads the newest state by itself."
        )
    with options.open_memory() as memory, until_signalled() as signalled:
        show_report(run_index(memory))
        with memory.watch(on_run=print_run):
            click.echo(f"watching {one_line(str(memory.workspace.root))}; Ctrl-C ends", err=True)
            while not signalled.is_set():
                time.sleep(STEP_S)


@contextlib.contextmanager
def until_signalled() -> Iterator[threading.Event]:
    """Leave the block without an error on SIGINT and SIGTERM.

    Yields:
        An event that tells of the signal, too: an exception is lost where a finalizer runs.
    """
    signalled = threading.Event()

    def end(number: int, frame: FrameType | None) -> None:
        signalled.set()
        signal.default_int_handler(number, frame)

    numbers = [signal.SIGTERM]
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:  # else a job ignores it
        numbers.append(signal.SIGINT)
    before = {number: signal.signal(number, end) for number in numbers}
    try:
        yield signalled
    except KeyboardInterrupt:
        pass
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
    if signalled.is_set():
        click.echo("stopped", err=True)


def print_run(report: IndexReport) -> None:
    """Print the report of an index run in one line, and warn of the files that failed."""
    done = f"{report.added} added, {report.updated} updated, {report.removed} removed"
    click.echo(f"{time.strftime('%H:%M:%S')}  {done}, {report.seconds:.2f} s")
    warn_failures(report)
