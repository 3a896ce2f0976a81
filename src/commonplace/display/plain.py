"""Plain text renderer for pipes and logs: no colours, no boxes."""

from __future__ import annotations

import textwrap
from typing import TYPE_CHECKING

from commonplace.display.facts import (
    explanation_parts,
    found_words,
    origin_label,
    report_rows,
    status_rows,
    supersession_notes,
    to_do,
)
from commonplace.text.lookalikes import shown_path
from commonplace.text.printable import one_line, printable

if TYPE_CHECKING:
    from commonplace.types import (
        FlushReport,
        IndexReport,
        SearchResult,
        SearchResults,
        Status,
        VerifyReport,
    )

__all__ = [
    "flush_line",
    "plain_report",
    "plain_result",
    "plain_results",
    "plain_status",
    "plain_verification",
]


def plain_results(results: SearchResults, *, explain: bool = False) -> str:
    """Render results, best first, separated by empty lines."""
    return "\n".join(plain_result(result, explain=explain) for result in results)


def plain_result(result: SearchResult, *, explain: bool = False) -> str:
    """Render a result: ``0.72  MEMORY.md#L3-L9``, origin, context and snippet."""
    origin = origin_label(result.origin)
    lines = [f"{result.score:.2f}  {shown_path(result.citation)}" + f"  {origin}" * bool(origin)]
    if explain and result.explanation is not None:
        lines.append("      " + " · ".join(_named(result)))
        lines += [f"      {note}" for note in supersession_notes(result)]
    for text in filter(None, (result.context, result.snippet)):
        shown = printable(text).replace("\r\n", "\n").strip("\n")
        lines.append(textwrap.indent(shown, "    "))
    return "\n".join(lines) + "\n"


def plain_report(report: IndexReport) -> str:
    """Render an index report, a line for each fact."""
    return _aligned(report_rows(report))


def plain_status(status: Status) -> str:
    """Render a status, a line for each fact; the last line is the command to run next."""
    text = _aligned(status_rows(status))
    for path, reason in status.stale:
        text += f"stale: {shown_path(path)}: {one_line(reason)}\n"
    for warning in status.warnings:
        text += f"warning: {one_line(warning)}\n"
    if wanted := to_do(status):
        text += f"to do: run '{wanted[0]}' {wanted[1]}\n"
    return text


def plain_verification(report: VerifyReport, *, repair: bool = False) -> str:
    """Render a verification, a line for each problem; the last line says what was read.

    Args:
        report: The verification.
        repair: Whether it has mended what it could: the rest is for a person.
    """
    advice = "mend by hand what is named" if repair else "'commonplace verify --repair' mends it"
    text = "".join(
        f"repaired: {shown_path(part)}: {one_line(why)}\n" for part, why in report.repaired
    )
    text += "".join(
        f"wrong: {shown_path(part)}: {one_line(why)}\n" for part, why in report.problems
    )
    return text + (
        f"{report.files} files, {report.chunks} chunks, {report.versions} versions, "
        f"{report.entries} journal entries: " + ("ok\n" if report.ok else f"not ok; {advice}\n")
    )


def flush_line(report: FlushReport) -> str:
    """Render a flush report in one line."""
    # A provider's error text may hold line breaks and control characters: `one_line` masks them.
    if report.skipped:
        outcome = f"skipped: {one_line(report.skipped)}"
    elif report.failed:
        outcome = f"failed: {one_line(report.failed)}"
    else:
        count = len(report.notes)
        outcome = f"{count} note{'s' * (count != 1)}" + (f" to {report.path}" * bool(count))
    return (
        f"flush ({report.reason}): {outcome}; {report.messages} messages, {report.tokens} tokens, "
        f"{report.seconds:.1f} s"
    )


def _named(result: SearchResult) -> list[str]:
    parts = [
        f"{name} {value:.2f}" + (f" ({note})" if note else "")
        for name, value, note in explanation_parts(result)
    ]
    words = found_words(result)
    return [*parts, f"words: {words}"] if words else parts


def _aligned(rows: list[tuple[str, str]]) -> str:
    width = max((len(name) for name, _ in rows), default=0)
    return "".join(f"{name.ljust(width)}  {value}\n" for name, value in rows)
