"""Renderers of values: plain text for pipes, rich for a terminal, HTML for a notebook."""

from commonplace.display.facts import best_text, origin_label, supersession_note
from commonplace.display.marks import matched_spans, matched_words
from commonplace.display.notebook import as_html, html_box, html_table
from commonplace.display.plain import (
    flush_line,
    plain_report,
    plain_result,
    plain_results,
    plain_status,
    plain_verification,
)
from commonplace.display.terminal import (
    as_rich,
    excerpt_view,
    flush_panel,
    report_panel,
    result_view,
    results_table,
    status_panel,
)
from commonplace.renderers import Renderers, register
from commonplace.text.printable import one_line, printable

__all__ = [
    "as_html",
    "as_rich",
    "best_text",
    "excerpt_view",
    "flush_line",
    "flush_panel",
    "html_box",
    "html_table",
    "install",
    "matched_spans",
    "matched_words",
    "one_line",
    "origin_label",
    "plain_report",
    "plain_result",
    "plain_results",
    "plain_status",
    "plain_verification",
    "printable",
    "report_panel",
    "result_view",
    "results_table",
    "status_panel",
    "supersession_note",
]


def install() -> None:
    """Register the renderers of this package for the values of `commonplace.types`."""
    register(Renderers(html=as_html, rich=as_rich, line=flush_line))
