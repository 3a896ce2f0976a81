"""How values show themselves: plain text for pipes, rich for a terminal, HTML for a notebook."""

from commonplace.display.html import as_html
from commonplace.display.marks import matched_spans, matched_words
from commonplace.display.plain import plain_report, plain_result, plain_results, plain_status
from commonplace.display.printable import one_line, printable
from commonplace.display.terminal import (
    as_rich,
    excerpt_view,
    flush_panel,
    report_panel,
    result_view,
    results_table,
    status_panel,
)

__all__ = [
    "as_html",
    "as_rich",
    "excerpt_view",
    "flush_panel",
    "matched_spans",
    "matched_words",
    "one_line",
    "plain_report",
    "plain_result",
    "plain_results",
    "plain_status",
    "printable",
    "report_panel",
    "result_view",
    "results_table",
    "status_panel",
]
