"""Terminal renderer: values as rich renderables. Functions import rich when they are called."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import singledispatch
from typing import TYPE_CHECKING

from commonplace.display.facts import (
    MOST_LISTED,
    blame_rows,
    clipped,
    explanation_parts,
    flush_rows,
    found_words,
    origin_label,
    receipt_rows,
    receipt_title,
    report_rows,
    results_caption,
    score_parts,
    shown_terms,
    snippet_lines,
    status_rows,
    supersession_notes,
    to_do,
    version_rows,
)
from commonplace.display.marks import matched_spans
from commonplace.text.lookalikes import shown_path
from commonplace.text.printable import one_line, printable
from commonplace.types import (
    BlameLine,
    Excerpt,
    FlushReport,
    ForgetReceipt,
    IndexReport,
    SearchResult,
    SearchResults,
    Status,
    Version,
    citation,
)

if TYPE_CHECKING:
    from rich.console import Console, ConsoleOptions, RenderableType
    from rich.segment import Segment
    from rich.table import Table
    from rich.text import Text

__all__ = [
    "as_rich",
    "excerpt_view",
    "flush_panel",
    "report_panel",
    "result_view",
    "results_table",
    "status_panel",
]

_BAR_CELLS = 10
_MARK = "bold black on yellow"
"""Readable on light and on dark terminals; bold where there are no colours."""
_CELLS = {
    "score": ("█", "cyan"),
    "vector": ("█", "cyan"),
    "keyword": ("█", "yellow"),
    "decay": ("▒", "dim"),
}
_ORIGIN_STYLES = {"untrusted": "bold yellow"}
_BAR = "▌ "
"""Sign beside a line that answers."""
_MOST_HEADING = 80
_MOST_LINES = 400


@singledispatch
def as_rich(value: object) -> RenderableType:
    """Render a value of `commonplace.types` for a terminal."""
    raise TypeError(f"a {type(value).__name__} has no renderer.")


@as_rich.register(SearchResults)
def _(results: SearchResults) -> RenderableType:
    return results_table(results, explain=True)


@as_rich.register(SearchResult)
def _(result: SearchResult) -> RenderableType:
    return result_view(result, explain=True)


def results_table(results: SearchResults, *, explain: bool = False) -> RenderableType:
    """Render results, best first, with a caption of the search below.

    Args:
        results: Results of a search.
        explain: Whether to show the parts of each score, where there is an explanation.
    """
    from rich.text import Text

    table = _hit_grid()
    for result in results:
        table.add_row(*_hit(result, query=results.query, explain=explain))
        table.add_row()
    table.add_row(None, Text(results_caption(results), style="dim"))
    return table


def result_view(result: SearchResult, *, explain: bool = False) -> RenderableType:
    """Render a result: score, citation, snippet and, with `explain`, the parts of the score."""
    table = _hit_grid()
    table.add_row(*_hit(result, query="", explain=explain))
    return table


@as_rich.register(IndexReport)
def report_panel(report: IndexReport) -> RenderableType:
    """Render an index report."""
    failed = _listed("could not be indexed", report.failed)
    return _panel([_grid(report_rows(report)), *failed], title="index", good=not report.failed)


@as_rich.register(Status)
def status_panel(status: Status) -> RenderableType:
    """Render a status: its facts, stale files, warnings and the command to run next."""
    from rich.text import Text

    parts = [_grid(status_rows(status)), *_listed("out of date", status.stale)]
    if wanted := to_do(status):
        parts.append(Text.assemble("run ", (wanted[0], "bold"), f" {wanted[1]}"))
    parts += _listed("warnings", [("-", warning) for warning in status.warnings])
    return _panel(parts, title="memory", good=not (status.stale or status.warnings))


@as_rich.register(FlushReport)
def flush_panel(report: FlushReport) -> RenderableType:
    """Render a flush report and its notes."""
    from rich.text import Text

    parts = [_grid(flush_rows(report))]
    if report.notes:
        parts.append(Text("\nnotes", style="bold"))
        parts += [Text(printable(note).strip("\n")) for note in report.notes[:MOST_LISTED]]
    return _panel(parts, title="flush", good=report.safe and not report.failed)


@as_rich.register(Version)
def _(version: Version) -> RenderableType:
    return _panel([_grid(version_rows(version))], title="version", good=True)


@as_rich.register(BlameLine)
def _(line: BlameLine) -> RenderableType:
    return _panel([_grid(blame_rows(line))], title="line", good=line.origin.author != "untrusted")


@as_rich.register(ForgetReceipt)
def _(receipt: ForgetReceipt) -> RenderableType:
    parts = [
        _grid(receipt_rows(receipt)),
        *_listed("places", [("-", place) for place in receipt.places]),
        *_listed("not reached", [("-", each) for each in receipt.unreachable]),
    ]
    return _panel(parts, title=receipt_title(receipt), good=not receipt.unreachable)


@as_rich.register(Excerpt)
def excerpt_view(excerpt: Excerpt) -> RenderableType:
    """Render lines of a file with their numbers."""
    from rich.console import Group
    from rich.table import Table
    from rich.text import Text

    if excerpt.status == "not_found":
        return Text(f"{shown_path(excerpt.path)}: there is no such file")
    last = max(excerpt.from_line, excerpt.from_line + excerpt.lines - 1)
    place = Text(shown_path(citation(excerpt.path, excerpt.from_line, last)), style="bold")
    grid = Table.grid(padding=(0, 2, 0, 0))
    grid.add_column(justify="right", style="dim", no_wrap=True)
    grid.add_column(overflow="fold")
    lines = printable(excerpt.text).replace("\r\n", "\n").split("\n")[: excerpt.lines]
    for number, line in enumerate(lines[:_MOST_LINES], start=excerpt.from_line):
        style = _ORIGIN_STYLES["untrusted"] if number in excerpt.untrusted else ""
        grid.add_row(str(number), Text(line, style=style))
    left = len(lines) - _MOST_LINES
    more = f"{left} more lines" if left > 0 else f"goes on at line {excerpt.next_from}"
    tail = [Text(more, style="dim")] if left > 0 or excerpt.truncated else []
    return Group(place, grid, *tail)


def _hit_grid() -> Table:
    from rich.table import Table

    grid = Table.grid(padding=(0, 2, 0, 0), expand=True)
    grid.add_column(justify="right", no_wrap=True, width=_BAR_CELLS)
    grid.add_column(ratio=1, overflow="fold")
    return grid


def _hit(
    result: SearchResult, *, query: str, explain: bool
) -> tuple[RenderableType, RenderableType]:
    """Return the two cells of a result: score and bar, then citation and snippet."""
    from rich.console import Group
    from rich.text import Text

    explained = explain and result.explanation is not None
    place = Text(shown_path(result.citation), style="bold")
    if result.heading:
        place.append(f"  {clipped(result.heading, _MOST_HEADING)}", style="not bold dim")
    if origin := origin_label(result.origin):
        place.append(f"  {origin}", style=_ORIGIN_STYLES.get(result.origin.author, "not bold dim"))
    score = Text(f"{result.score:.2f}", style="bold")
    parts: list[RenderableType] = [place, _SnippetView(result, shown_terms(result, query=query))]
    if explained:
        parts.append(_legend(result))
    return Group(score, _bar(result, split=explained)), Group(*parts)


def _bar(result: SearchResult, *, split: bool) -> Text:
    """Draw a score as a bar, whole or split into its parts, rounded to cells."""
    from rich.text import Text

    parts = score_parts(result) if split else [("score", result.score)]
    bar, reached, drawn = Text(), 0.0, 0
    for name, share in parts:
        reached += share
        cells = min(_BAR_CELLS, round(reached * _BAR_CELLS)) - drawn
        sign, style = _CELLS[name]
        bar.append(sign * cells, style=style)
        drawn += cells
    return bar.append("░" * (_BAR_CELLS - drawn), style="dim")


def _legend(result: SearchResult) -> Text:
    """Return the legend of a bar: each part's sign, name and value."""
    from rich.text import Text

    legend = Text()
    for name, value, note in explanation_parts(result):
        sign, style = _CELLS.get(name, ("", ""))
        legend.append(f"{sign} " if sign else "", style=style)
        legend.append(f"{name} {value:.2f}" + f" ({note})" * bool(note) + "   ", style="dim")
    legend.rstrip()
    if words := found_words(result):
        legend.append(f"\nwords: {words}", style="dim")
    for note in supersession_notes(result):
        legend.append(f"\n{note}", style="dim")
    return legend


class _SnippetView:
    """Snippet with its context above it, and a bar beside the line that answers."""

    def __init__(self, result: SearchResult, terms: Sequence[str]) -> None:
        self._context = printable(result.context).split("\n") if result.context else []
        self._lines = [(_marked(line, terms=terms), best) for line, best in snippet_lines(result)]

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> Iterator[Segment]:
        from rich.segment import Segment
        from rich.text import Text

        inner = options.update(width=max(1, options.max_width - len(_BAR)))
        bar = console.get_style("cyan")
        rows = [(Text(line, style="dim"), False) for line in self._context]
        for text, is_best in rows + self._lines:
            if is_best:
                text.stylize("bold")
            for row in console.render_lines(text, inner, pad=False):
                yield Segment(_BAR if is_best else " " * len(_BAR), bar)
                yield from row
                yield Segment.line()


def _marked(text: str, *, terms: Sequence[str] = ()) -> Text:
    from rich.text import Text

    marked = Text(text)
    for start, end in matched_spans(text, terms=terms):
        marked.stylize(_MARK, start, end)
    return marked


def _panel(parts: Sequence[RenderableType], *, title: str, good: bool) -> RenderableType:
    from rich.console import Group
    from rich.panel import Panel

    style = "green" if good else "yellow"
    return Panel(Group(*parts), title=title, border_style=style, expand=False)


def _listed(title: str, rows: Sequence[tuple[str, str]]) -> list[RenderableType]:
    """Render the first rows of a list under a title, and the number of the others."""
    from rich.text import Text

    if not rows:
        return []
    left = len(rows) - MOST_LISTED
    more = [Text(f"and {left} more", style="dim")] if left > 0 else []
    return [Text(f"\n{title}", style="bold yellow"), _grid(rows[:MOST_LISTED]), *more]


def _grid(rows: Sequence[tuple[str, str]]) -> RenderableType:
    from rich.table import Table
    from rich.text import Text

    grid = Table.grid(padding=(0, 2, 0, 0))
    grid.add_column(overflow="fold", style="bold")
    grid.add_column(overflow="fold")
    for name, value in rows:
        grid.add_row(Text(one_line(name)), Text(one_line(value)))
    return grid
