"""Output of commands: results on standard output, warnings and progress on standard error."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import click

from commonplace.display import one_line, printable
from commonplace.tools import answer_json

if TYPE_CHECKING:
    from rich.console import RenderableType

__all__ = ["Progress", "on_terminal", "print_json", "print_rich", "print_text", "progress", "warn"]

Progress = Callable[[int, int, str], None]
"""Callback with the number of items done, their total, and the current item."""

_BAR_CHARS = 40


def on_terminal() -> bool:
    """Return whether standard output is a terminal, for rich output."""
    return sys.stdout.isatty()


def print_json(value: Mapping[str, Any]) -> None:
    """Print one JSON document in UTF-8, regardless of the terminal's encoding.

    Characters that a terminal acts on are written as JSON escapes.
    """
    click.echo(answer_json(value).encode())


def print_text(text: str) -> None:
    """Print plain text, sanitized for a terminal, with a newline at the end."""
    click.echo(printable(text), nl=not text.endswith("\n"))


def print_rich(*values: RenderableType) -> None:
    """Print renderables on a terminal."""
    from rich.console import Console

    console = Console()
    for value in values:
        console.print(value)


def warn(message: object) -> None:
    """Print a message on standard error, in one line."""
    click.echo(f"commonplace: {one_line(str(message))}", err=True)


@contextmanager
def progress(title: str) -> Iterator[Progress]:
    """Show a progress bar on standard error while the block runs; none without a terminal.

    The bar appears with the first call, so that a run without work shows nothing. The cost estimate
    of a long run is printed in any case, in a line before it.
    """
    if not sys.stderr.isatty():
        yield _NoBar()
        return
    bar = _Bar(title)
    try:
        yield bar
    finally:
        bar.stop()


class _NoBar:
    """Progress callback that prints cost estimates only."""

    def __call__(self, done: int, total: int, what: str) -> None:
        """Ignore progress."""

    def estimated(self, estimate: object) -> None:
        """Print the number of texts to embed and their estimated cost."""
        click.echo(f"embedding {one_line(str(estimate))}", err=True)


class _Bar(_NoBar):
    """Rich progress bar, created with the first call."""

    def __init__(self, title: str) -> None:
        self._title = title
        self._stop: Callable[[], None] = lambda: None
        self._update: Progress | None = None

    def __call__(self, done: int, total: int, what: str) -> None:
        """Update the bar."""
        if self._update is None:
            self._update = self._start()
        self._update(done, total, what)

    def stop(self) -> None:
        """Remove the bar."""
        self._stop()

    def _start(self) -> Progress:
        from rich.console import Console
        from rich.markup import escape
        from rich.progress import Progress as RichProgress

        bars = RichProgress(console=Console(stderr=True), transient=True)
        task = bars.add_task(self._title, total=None)
        bars.start()
        self._stop = bars.stop

        def update(done: int, total: int, what: str) -> None:
            label = escape(one_line(what)[-_BAR_CHARS:])
            bars.update(task, completed=done, total=total, description=f"{self._title} {label}")

        return update
