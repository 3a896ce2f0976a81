"""Facts of a value and their order, for all renderers: rows, captions, parts of a score."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, NamedTuple

from commonplace.display.marks import matched_words, query_terms
from commonplace.text.lookalikes import shown_path
from commonplace.text.printable import one_line, printable

if TYPE_CHECKING:
    from datetime import datetime

    from commonplace.types import (
        BlameLine,
        FlushReport,
        ForgetReceipt,
        IndexReport,
        Origin,
        SearchResult,
        SearchResults,
        ServerStatus,
        Status,
        Supersession,
        SupersessionReason,
        Version,
    )

__all__ = [
    "MOST_LISTED",
    "ScorePart",
    "best_text",
    "blame_rows",
    "clipped",
    "explanation_parts",
    "flush_rows",
    "found_words",
    "origin_label",
    "receipt_rows",
    "receipt_title",
    "report_rows",
    "results_caption",
    "score_label",
    "score_parts",
    "shown_terms",
    "snippet_lines",
    "status_rows",
    "supersession_note",
    "supersession_notes",
    "to_do",
    "version_rows",
]

MOST_LISTED = 20
"""Maximum of files, notes or warnings that are listed; of the others, the number is shown."""
_MOST_WORDS = 12
_WHY_BEHIND: dict[SupersessionReason, str] = {
    "struck": "struck through",
    "key": "another value of the same key",
    "value": "the same words with another value",
    "cue": "corrected",
    "doubt": "asks, plans or quotes",
    "relative": "speaks of another person",
}


class ScorePart(NamedTuple):
    """Segment of a score's bar: the name of its signal, and its length as a share of 1."""

    name: str
    share: float


def score_parts(result: SearchResult) -> list[ScorePart]:
    """Split a score into the segments of its bar: ``vector``, ``keyword`` and ``decay``.

    The score is divided in proportion to the vector and keyword values. The loss to age and
    repetition follows as ``decay``. Without an explanation, the only segment is ``score``.
    """
    score = _unit(result.score)
    explanation = result.explanation
    if explanation is None:
        return [ScorePart("score", score)]
    vector, keyword = _unit(explanation.vector or 0.0), _unit(explanation.keyword or 0.0)
    both = vector + keyword
    if not both:
        return [ScorePart("score", score)]
    parts = [
        ScorePart("vector", score * vector / both),
        ScorePart("keyword", score * keyword / both),
        ScorePart("decay", max(0.0, _unit(explanation.fused) - score)),
    ]
    return [part for part in parts if part.share > 0]


def origin_label(origin: Origin) -> str:
    """Return the author of a text, and the tool that wrote it; empty for a user's."""
    if origin.author == "user":
        return ""
    return origin.author + (f" ({one_line(origin.tool)})" if origin.tool else "")


def score_label(result: SearchResult) -> str:
    """Return the text alternative of a score's bar, for screen readers."""
    label = f"score {result.score:.2f} of 1"
    if result.explanation is None:
        return label
    parts = ", ".join(
        f"{name} {value:.2f}" for name, value, _ in explanation_parts(result) if name != "fused"
    )
    return f"{label}: {parts}" if parts else label


def explanation_parts(result: SearchResult) -> list[tuple[str, float, str]]:
    """Return the name, value and note of each ranking stage that made a difference.

    A factor that is shown as 1.00 changed nothing, and neither did stages after a fused score that
    is shown as the score itself.
    """
    explanation = result.explanation
    assert explanation is not None
    aged = ""
    if explanation.age_days is not None:
        days = int(explanation.age_days)  # whole days, as people count
        aged = f"{days} {'day' if days == 1 else 'days'}"
    parts = [
        ("vector", explanation.vector, "", 0.0),
        ("keyword", explanation.keyword, "", 0.0),
        ("fused", explanation.fused, "", result.score),
        ("decay", explanation.decay, aged, 1.0),
        ("mmr", explanation.mmr, "", 1.0),
    ]
    return [
        (name, value, note)
        for name, value, note, neutral in parts
        if value is not None and f"{value:.2f}" != f"{neutral:.2f}"
    ]


def snippet_lines(result: SearchResult) -> list[tuple[str, bool]]:
    """Return the lines of a snippet as they are shown, and whether each is the one that answers.

    Empty lines around the snippet are left out. A snippet of one line needs no mark.
    """
    lines = printable(result.snippet).replace("\r\n", "\n").split("\n")
    numbered = list(enumerate(lines, start=result.start_line))
    while numbered and not numbered[0][1]:
        numbered.pop(0)
    while numbered and not numbered[-1][1]:
        numbered.pop()
    alone = len(numbered) < 2
    return [(line, number == result.best_line and not alone) for number, line in numbered]


def best_text(result: SearchResult) -> str:
    """Return the line that answers on one line; where none is known, the first with text."""
    lines = result.snippet.splitlines()
    at = -1 if result.best_line is None else result.best_line - result.start_line
    if not 0 <= at < len(lines) or not lines[at].strip():
        at = next((at for at, line in enumerate(lines) if line.strip()), 0)
    return one_line(lines[at]) if lines else ""


def supersession_notes(result: SearchResult) -> list[str]:
    """Return which line stands back for which, a sentence each."""
    found = result.explanation.supersessions if result.explanation is not None else ()
    return [supersession_note(pair) for pair in found]


def supersession_note(pair: Supersession) -> str:
    """Return which line stands back for which, and why."""
    return one_line(f"{pair.behind} stands back for {pair.first}: {_WHY_BEHIND[pair.reason]}")


def found_words(result: SearchResult) -> str:
    """Return the words of the query in the snippet, spelled as in the snippet."""
    if result.explanation is None:
        return ""
    words = matched_words(result.snippet, terms=result.explanation.terms)
    return one_line(", ".join((words or list(result.explanation.terms))[:_MOST_WORDS]))


def shown_terms(result: SearchResult, *, query: str = "") -> tuple[str, ...]:
    """Return the terms to mark: those of the explanation, else the words of the query."""
    if result.explanation is not None:
        return result.explanation.terms
    return query_terms(query)


def results_caption(results: SearchResults) -> str:
    """Return a caption of results: their number, the query, the mode and the embedding model."""
    count = f"{len(results)} result{'s' * (len(results) != 1)}" if results else "no results"
    about = f" for {clipped(results.query, 80)!r}" if results.query else ""
    made = f", {results.provider}:{results.model}" if results.provider else ""
    return f"{count}{about} · {results.mode} search{one_line(made)}"


def report_rows(report: IndexReport) -> list[tuple[str, str]]:
    """Return the names and values of an index report, in display order."""
    files = f"{report.added} added, {report.updated} updated, {report.removed} removed"
    rows = [
        ("files", f"{files}, {report.unchanged} unchanged"),
        ("chunks", f"{report.chunks} in the index"),
        ("texts", f"{report.embedded} embedded, {report.cached} from the cache"),
        ("time", f"{report.seconds:.2f} s"),
    ]
    return rows + ([("failed", str(len(report.failed)))] if report.failed else [])


def status_rows(status: Status) -> list[tuple[str, str]]:
    """Return the names and values of a status, in display order."""
    rows = [
        ("workspace", status.workspace),
        ("index", status.index_location),
        ("files", str(status.files)),
        ("chunks", str(status.chunks)),
        ("embeddings", _embeddings(status)),
        ("vectors", status.vector_engine),
        ("words", status.keyword_engine),
        *(_server_rows(status.server) if status.server else ()),
        *status.details.items(),
    ]
    return [(one_line(name), one_line(value)) for name, value in rows if value]


def _server_rows(server: ServerStatus) -> Iterator[tuple[str, str]]:
    since = f", since {_moment(server.leading_since)}" if server.leading_since else ""
    none = "none: run 'commonplace serve' where the folder is"
    yield "leader", f"{server.leader}{since}" if server.leader else none
    yield "connections", str(server.connections)
    yield "size", ", ".join(f"{kind} {_size(size)}" for kind, size in server.table_bytes.items())
    yield "fresh by", server.freshness


def _size(count: int) -> str:
    return f"{count / 1e6:.1f} MB" if count >= 1e5 else f"{count / 1e3:.0f} kB"


def _moment(when: datetime) -> str:
    return when.isoformat(sep=" ", timespec="seconds")


def to_do(status: Status) -> tuple[str, str] | None:
    """Return the command that updates a stale index, and its purpose; None for a fresh index."""
    return ("commonplace index", "to bring the index up to date") if status.stale else None


def flush_rows(report: FlushReport) -> list[tuple[str, str]]:
    """Return the names and values of a flush report, in display order."""
    count = len(report.notes)
    notes = f"{count} note{'s' * (count != 1)}" + (f" to {report.path}" if report.path else "")
    safe = "yes" if report.safe else "no: keep the conversation as it is if you can"
    rows = [
        ("reason", report.reason),
        ("thread", report.thread),
        ("skipped", report.skipped or ""),
        ("failed", report.failed or ""),
        ("written", "" if report.skipped else notes),
        ("at stake", f"{report.messages} messages, {report.tokens} tokens"),
        ("time", f"{report.seconds:.1f} s"),
        ("transcript", report.transcript or ""),
        ("safe", safe),
    ]
    return [(name, one_line(value)) for name, value in rows if value]


def version_rows(version: Version) -> list[tuple[str, str]]:
    """Return the names and values of a version, in display order."""
    moved = f" (was {shown_path(version.moved_from)})" if version.moved_from else ""
    rows = [
        ("note", f"{shown_path(version.path)}{moved}"),
        ("notes", f"{version.notes:,}" if version.notes > 1 else ""),
        ("change", f"{version.change}, version {version.id}"),
        ("when", _moment(version.when)),
        ("origin", origin_label(version.origin) if version.origin else ""),
        ("size", f"{version.size:,} bytes"),
        ("hash", version.hash),
    ]
    return [(name, one_line(value)) for name, value in rows if value]


def blame_rows(line: BlameLine) -> list[tuple[str, str]]:
    """Return the names and values of a line of a note, in display order."""
    version = line.version
    known = f"{version.change}, version {version.id}, {version.when:%Y-%m-%d}" if version else ""
    rows = [
        (f"line {line.line}", line.text),
        ("came with", known),
        ("origin", origin_label(line.origin)),
    ]
    return [(name, one_line(value)) for name, value in rows if value or name.startswith("line")]


def receipt_rows(receipt: ForgetReceipt) -> list[tuple[str, str]]:
    """Return the names and values of a receipt, in display order."""
    rows = [(kind, f"{count:,}") for kind, count in receipt.removed.items()]
    return rows or [("found", "nothing of it")]


def receipt_title(receipt: ForgetReceipt) -> str:
    """Return the title of a receipt."""
    return "would be forgotten" if receipt.dry_run else "forgotten"


def clipped(text: str, most: int) -> str:
    """Truncate a text to one line of at most so many characters."""
    line = one_line(text[: 4 * most])
    return line if len(line) <= most else line[: most - 1] + "…"


def _embeddings(status: Status) -> str:
    if status.provider is None:
        return "none: search is by keywords only"
    model = f"{status.provider}, {status.model}" if status.model else status.provider
    return f"{model}, {status.dimension} dimensions" if status.dimension else model


def _unit(value: float) -> float:
    return min(max(value, 0.0), 1.0)
