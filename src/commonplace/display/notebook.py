"""HTML renderer for notebooks: one element per value, no scripts, no external resources.

`_text` escapes all text. Text has the page's own colour, and accents have enough contrast on light
and on dark pages, so that no theme has to be detected. Code hosts drop the styles; headings, lists
and marks keep the structure readable there.
"""

from __future__ import annotations

import html
from collections.abc import Sequence
from functools import singledispatch

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
    score_label,
    score_parts,
    shown_terms,
    snippet_lines,
    status_rows,
    supersession_notes,
    to_do,
    version_rows,
)
from commonplace.display.marks import matched_spans
from commonplace.display.style import STYLE
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

__all__ = ["as_html", "html_box", "html_table"]

_MOST_HEADING = 120
_MOST_LINES = 30
"""Lines of a text that are open; the others are folded, so that no box cuts a line in half."""
_MOST_FOLDED = 400


@singledispatch
def as_html(value: object) -> str:
    """Render a value of `commonplace.types` as one HTML element."""
    raise TypeError(f"a {type(value).__name__} has no renderer.")


@as_html.register(SearchResults)
def _(results: SearchResults) -> str:
    hits = "".join(f"<li>{_hit(result, query=results.query)}</li>" for result in results)
    listed = f'<ol class="cp-hits">{hits}</ol>' if results else ""
    said = results.fallback or ""
    notes = (*filter(None, (said,)), *(note for note in results.warnings if note not in said))
    return html_box(
        f'<p class="cp-dim">{_text(results_caption(results))}</p>', listed, _bullets(notes)
    )


@as_html.register(SearchResult)
def _(result: SearchResult) -> str:
    return html_box(_hit(result))


@as_html.register(IndexReport)
def _(report: IndexReport) -> str:
    failed = _section("could not be indexed", html_table(report.failed))
    return html_box(
        _title("index", good=not report.failed),
        html_table(report_rows(report)),
        failed if report.failed else "",
    )


@as_html.register(Status)
def _(status: Status) -> str:
    parts = [
        _title("memory", good=not (status.stale or status.warnings)),
        html_table(status_rows(status)),
    ]
    if status.stale:
        parts.append(_section("out of date", html_table(status.stale)))
    if wanted := to_do(status):
        parts.append(f"<p>run <code>{wanted[0]}</code> or <code>memory.index()</code></p>")
    if status.warnings:
        parts.append(_section("warnings", _bullets(status.warnings)))
    return html_box(*parts)


@as_html.register(FlushReport)
def _(report: FlushReport) -> str:
    notes = "".join(_folded(note) for note in report.notes[:MOST_LISTED])
    notes += _more(len(report.notes))
    return html_box(
        _title("flush", good=report.safe and not report.failed),
        html_table(flush_rows(report)),
        _section("notes", notes) if report.notes else "",
    )


@as_html.register(Version)
def _(version: Version) -> str:
    return html_box(_title("version", good=True), html_table(version_rows(version)))


@as_html.register(BlameLine)
def _(line: BlameLine) -> str:
    title = _title("line", good=line.origin.author != "untrusted")
    return html_box(title, html_table(blame_rows(line)))


@as_html.register(ForgetReceipt)
def _(receipt: ForgetReceipt) -> str:
    parts = [
        _title(receipt_title(receipt), good=not receipt.unreachable),
        html_table(receipt_rows(receipt)),
    ]
    for title, listed in (("places", receipt.places), ("not reached", receipt.unreachable)):
        if listed:
            parts.append(_section(title, _bullets(listed)))
    return html_box(*parts)


@as_html.register(Excerpt)
def _(excerpt: Excerpt) -> str:
    if excerpt.status == "not_found":
        return html_box(f"<p>{_place(excerpt.path)} there is no such file</p>")
    last = max(excerpt.from_line, excerpt.from_line + excerpt.lines - 1)
    more = f"goes on at line {excerpt.next_from}"
    tail = f'<p class="cp-dim">{more}</p>' if excerpt.truncated else ""
    place = _place(citation(excerpt.path, excerpt.from_line, last))
    return html_box(f'<div class="cp-head">{place}</div>', _folded(excerpt.text), tail)


def _hit(result: SearchResult, *, query: str = "") -> str:
    heading = clipped(result.heading, _MOST_HEADING)
    above = f' <span class="cp-dim"><bdi>{_text(heading)}</bdi></span>' if heading else ""
    origin = _text(origin_label(result.origin))
    note = f' <strong class="cp-origin">{origin}</strong>' if origin else ""
    place = f"{_place(result.citation)}{above}{note}"
    head = f"<strong>{result.score:.2f}</strong> {_bar(result)} {place}"
    snippet = _snippet(result, terms=shown_terms(result, query=query))
    if result.context:
        snippet = f'<span class="cp-dim">{_text(result.context)}</span>\n{snippet}'
    return f'<div class="cp-head">{head}</div>{_pre(snippet)}{_legend(result)}'


def _bar(result: SearchResult) -> str:
    pieces = "".join(
        f'<span class="cp-{part.name}" style="width:{100 * part.share:.1f}%"></span>'
        for part in score_parts(result)
    )
    words = _text(score_label(result))
    return f'<span class="cp-bar" role="img" aria-label="{words}" title="{words}">{pieces}</span>'


def _legend(result: SearchResult) -> str:
    if result.explanation is None:
        return ""
    parts = [
        f'<span class="cp-key cp-{name}"></span>{name} {value:.2f}' + (f" ({note})" if note else "")
        if name in ("vector", "keyword", "decay")
        else f"{name} {value:.2f}"
        for name, value, note in explanation_parts(result)
    ]
    if words := found_words(result):
        parts.append(f"words: <bdi>{_text(words)}</bdi>")
    parts += [f"<bdi>{_text(note)}</bdi>" for note in supersession_notes(result)]
    return f'<div class="cp-legend">{" · ".join(parts)}</div>'


def _snippet(result: SearchResult, *, terms: Sequence[str]) -> str:
    """Return a snippet with its line that answers and the words of the query marked."""
    pieces = []
    for line, is_best in snippet_lines(result):
        marked = _marked(line, terms=terms) + "\n"
        pieces.append(f'<strong class="cp-best">{marked}</strong>' if is_best else marked)
    return "".join(pieces).removesuffix("\n")


def _marked(line: str, *, terms: Sequence[str]) -> str:
    pieces, at = [], 0
    for start, end in matched_spans(line, terms=terms):
        pieces += [html.escape(line[at:start]), f"<mark>{html.escape(line[start:end])}</mark>"]
        at = end
    return "".join(pieces) + html.escape(line[at:])


def html_box(*parts: str) -> str:
    """Return the element of a value."""
    return f'<div class="commonplace"><style>{STYLE}</style>{"".join(parts)}</div>'


def _title(name: str, *, good: bool) -> str:
    sign, word = ("✓", "good") if good else ("!", "care")
    return f'<div class="cp-title"><span class="cp-{word}">{sign}</span> {name}</div>'


def _section(title: str, body: str) -> str:
    return f'<div class="cp-section"><strong>{title}</strong>{body}</div>'


def html_table(rows: Sequence[Sequence[str]], *, head: Sequence[str] = ()) -> str:
    """Return a table of texts; the first of each row is its name, and `head` names the columns."""
    titles = "".join(f'<th scope="col" dir="auto">{_text(one_line(name))}</th>' for name in head)
    above = f"<thead><tr>{titles}</tr></thead>" if head else ""
    cells = "".join(
        f'<tr><th scope="row"><bdi>{_text(one_line(name))}</bdi></th>'
        + "".join(f'<td dir="auto">{_text(one_line(value))}</td>' for value in values)
        + "</tr>"
        for name, *values in rows[:MOST_LISTED]
    )
    return f"<table>{above}<tbody>{cells}</tbody></table>{_more(len(rows))}"


def _bullets(texts: Sequence[str]) -> str:
    if not texts:
        return ""
    shown = texts[:MOST_LISTED]
    items = "".join(f'<li dir="auto">{_text(one_line(text))}</li>' for text in shown)
    return f'<ul class="cp-notes">{items}</ul>{_more(len(texts))}'


def _more(count: int) -> str:
    left = count - MOST_LISTED
    return f'<p class="cp-dim">and {left} more</p>' if left > 0 else ""


def _place(name: str) -> str:
    return f'<code class="cp-place"><bdi>{_text(shown_path(name))}</bdi></code>'


def _folded(text: str) -> str:
    """Return a text with its first lines open and the next ones to be opened."""
    lines = _plain(text).rstrip("\n").split("\n")
    shown, more = lines[:_MOST_LINES], lines[_MOST_LINES:]
    if len(more) < 3:  # a fold would hide less than it takes up
        shown, more = lines, []
    folded = ""
    if more:
        inner, left = _pre(html.escape("\n".join(more[:_MOST_FOLDED]))), len(more) - _MOST_FOLDED
        rest = f'<p class="cp-dim">{left} more lines</p>' if left > 0 else ""
        folded = f"<details><summary>{len(more)} more lines</summary>{inner}{rest}</details>"
    return _pre(html.escape("\n".join(shown))) + folded


def _pre(inner: str) -> str:
    # HTML parsers drop a newline right after the tag: it is added, so that the text keeps its own.
    return f'<pre class="cp-text" dir="auto">\n{inner}</pre>'


def _text(text: str) -> str:
    """Escape a text for an element and for an attribute in double quotes."""
    return html.escape(_plain(text))


def _plain(text: str) -> str:
    return printable(text).replace("\r\n", "\n")
