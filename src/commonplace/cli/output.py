"""What commands print: results on standard output, everything about them on standard error."""

from __future__ import annotations

import re
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
"""Called with what is done, the total, and what is worked on."""

_BAR_CHARS = 40
_UNSEEN = re.compile("[\x7f-\x9f\u2028-\u202e\u2066-\u2069]")
"""What JSON leaves as it is though terminals may act on it, or turn text around at it."""


def on_terminal() -> bool:
    """Tell whether standard output is a terminal, and rich output wanted."""
    return sys.stdout.isatty()


def print_json(value: Mapping[str, Any]) -> None:
    """Print one JSON document in UTF-8, whatever the encoding of the terminal.

    What a terminal may act on is escaped, which is the same in JSON.
    """
    text = _UNSEEN.sub(lambda sign: f"\\u{ord(sign[0]):04x}", answer_json(value))
    click.echo(text.encode())


def print_text(text: str) -> None:
    """Print plain text, made harmless for a terminal; it ends with a newline."""
    click.echo(printable(text), nl=not text.endswith("\n"))


def print_rich(*values: RenderableType) -> None:
    """Print renderables on a terminal."""
    from rich.console import Console

    console = Console()
    for value in values:
        console.print(value)


def warn(message: object) -> None:
    """Tell the user something on standard error, in one line."""
    click.echo(f"commonplace: {one_line(str(message))}", err=True)


@contextmanager
def progress(title: str) -> Iterator[Progress]:
    """Show a progress bar on standard error while the block runs; without a terminal, none.

    The bar appears with the first call, so that a run with nothing to do shows nothing. What a
    long run is about to cost is told in any case, in a line before it.
    """
    if not sys.stderr.isatty():
        yield _Estimate()
        return
    bar = _Bar(title)
    try:
        yield bar
    finally:
        bar.stop()


class _Estimate:
    """Tells what a run is about to embed, and nothing of how far it is."""

    def __call__(self, done: int, total: int, what: str) -> None:
        """Say nothing."""

    def estimated(self, estimate: object) -> None:
        """Tell how much is embedded, and what it costs about."""
        click.echo(f"embedding {one_line(str(estimate))}", err=True)


class _Bar(_Estimate):
    """A rich progress bar that is made when it is first called."""

    def __init__(self, title: str) -> None:
        self._title = title
        self._stop: Callable[[], None] = lambda: None
        self._update: Progress | None = None

    def __call__(self, done: int, total: int, what: str) -> None:
        """Show how far the work is."""
        if self._update is None:
            self._update = self._start()
        self._update(done, total, what)

    def stop(self) -> None:
        """Take the bar away."""
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
