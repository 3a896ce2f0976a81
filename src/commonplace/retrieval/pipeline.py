"""Ranking by lines, as a list of stages.

1. Candidates: the rarest terms and the vector of the query bring chunks.
2. Features: each line of them is scored by terms, vector, form and day, its own, its neighbours'
   and its section's, and by its chunk's ranks, and the scores become shares of the evidence.
3. Links: notes whose heading the best lines name are candidates, too, and all are scored again.
4. Supersession: a line that a newer one corrects stands back for it.
5. Windows: long and short ones are packed with as much of the evidence as the answer holds.
6. Reranking: a reranker, where one was given, orders the best of them.
7. Results: the windows are scored and cut out, and notes and sessions share the places of the
   answer.
"""

from __future__ import annotations

import functools
import math
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from datetime import datetime
from itertools import compress
from typing import Literal

import numpy as np

from commonplace.retrieval.candidates import (
    add_path_terms,
    analyze_query,
    candidate_chunks,
    linked_chunks,
)
from commonplace.retrieval.labels import with_labels_credited
from commonplace.retrieval.line_features import LineScores, coverage, score_lines
from commonplace.retrieval.passages import PassageTable, holds, passage_table
from commonplace.retrieval.precedence import Precedence, ordered
from commonplace.retrieval.query import AnalyzedQuery, Evidence, Query, Ranking
from commonplace.retrieval.redundancy import decay_factors, surplus_copies
from commonplace.retrieval.rerank import MAX_PASSAGES, RERANKED_CHARS, RerankClient, rerank
from commonplace.retrieval.snippet_region import above_windows
from commonplace.retrieval.snippets import Window, pack_windows, window_results
from commonplace.retrieval.source_quota import merge_sources
from commonplace.retrieval.supersession import COMPARED_LINES, COMPARED_NATS, supersede
from commonplace.settings import SearchSettings
from commonplace.store.base import Snapshot
from commonplace.store.records import FileRecord, StoredChunk
from commonplace.text.analysis import Analyzer, language_of, respelled, without_request
from commonplace.text.stopwords import ENGLISH
from commonplace.text.time_expressions import closeness
from commonplace.types import Source

__all__ = ["LineRanker"]

_LINKING_NOTES = 5
"""Best notes of which links are followed, each from its best line."""
_LINKING_NATS = 3.0
"""Nats behind the best line within which a line's links are followed."""
_BIAS, _COVERAGE, _COSINE = -6.75, 3.75, 11.0
_BIAS_WORDS_ONLY, _COVERAGE_WORDS_ONLY = -2.75, 7.0
_OF_DAYS = 0.02
"""Confidence of an answer of the day that is asked for, at least: it may be in other words."""
_COVERING = 6
"""Windows among which the one that covers the question best is looked for."""

_WORD = re.compile(r"[^\W_]{2,}")
_BLANKS = frozenset(" \t\r\n")
"""Signs with which a passage begins that is within a list item; blank lines may be above it."""

_analyzer = functools.cache(Analyzer)


class LineRanker:
    """Ranker of lines: candidates' lines are scored among each other and shown in windows."""

    decays: Literal["evidence"] = "evidence"

    def __init__(self, settings: SearchSettings, reranker: RerankClient | None = None) -> None:
        self._settings = settings
        self._reranker = reranker
        self._analyzer = _analyzer(settings.tokenizer)

    def question_in(self, text: str) -> str:
        """Return a text without the phrases that only ask to be answered."""
        return without_request(text)

    def rank(self, snapshot: Snapshot, query: Query, *, explain: bool = False) -> Ranking:
        """Answer a query with windows of lines, those with the most evidence first."""
        parts = _by_source(snapshot, query)
        passages = MAX_PASSAGES // len(parts) if self._reranker else 0
        # Some BLAS builds raise the processor's "invalid" flag over padding; all values are finite.
        with np.errstate(invalid="ignore"):
            answers = [self._evidence(snapshot, part, passages=passages) for part in parts]
        found, fallback = [evidence for evidence in answers if evidence is not None], None
        if self._reranker is not None:
            found, fallback = rerank(self._reranker, found, limit=passages)
        found = [ordered(evidence) if evidence.precedences else evidence for evidence in found]
        with np.errstate(invalid="ignore"):
            rankings = [window_results(evidence, explain=explain) for evidence in found]
        if len(rankings) == 2:
            rankings = [merge_sources(*rankings, max_chars=query.max_chars)]
        return Ranking(rankings[0][: query.limit] if rankings else [], fallback)

    def undated_age(self, record: FileRecord, now: datetime) -> float | None:  # noqa: ARG002
        """Return None: a file without a date does not age."""
        return None

    def decay_factors(
        self, ages: Sequence[float], *, half_life_days: float | None = None
    ) -> list[float]:
        """Return the factors on the evidence of a line that a line of today restates."""
        half_life = half_life_days or self._settings.half_life_days
        return decay_factors(ages, replace(self._settings, half_life_days=half_life))

    def _evidence(self, snapshot: Snapshot, query: Query, *, passages: int) -> Evidence | None:
        """Return the windows that answer a query from its source; None without candidates."""
        settings, analyzer = self._settings, self._analyzer
        analyzed, table, ranks = self._candidates(snapshot, query)
        text = respelled(query.text, (term.text for term in analyzed.terms.unknown), table.text)
        if text != query.text:
            analyzed, table, ranks = self._candidates(snapshot, replace(query, text=text))
        if not len(table):
            return None
        lines = score_lines(table, analyzed, settings, analyzer, ranks=ranks)
        if links := linked_chunks(snapshot, analyzed, _best_lines(lines), analyzer):
            chunks = {chunk.seq: chunk for chunk in (*table.chunks, *links)}
            table = _lines_of(chunks.values(), analyzed)
            lines = score_lines(table, analyzed, settings, analyzer, ranks=ranks, links=links)
        if table.hidden.any():
            lines = with_labels_credited(lines)
        precedences: tuple[Precedence, ...] = ()
        if _may_supersede(lines):
            lines, precedences = supersede(lines, analyzed, analyzer)
        hidden = table.hidden
        if analyzed.days is None:  # else each day counts that a line is of
            hidden = hidden | surplus_copies(lines)
        windows = pack_windows(
            lines.share, table.start, table.end, table.passage,
            max_chars=max(query.max_chars, passages * RERANKED_CHARS), hidden=hidden,
        )  # fmt: skip
        confidence = _answer_confidence(windows, lines, analyzed)
        begins = (table.text[it.start : it.start + 1] for it in table.passages)
        above = {} if _BLANKS.isdisjoint(begins) else above_windows(snapshot, table, windows)
        return Evidence(windows, lines, analyzed, confidence, precedences, above)

    def _candidates(
        self, snapshot: Snapshot, query: Query
    ) -> tuple[AnalyzedQuery, PassageTable, dict[int, float]]:
        """Return a query's analysis, the lines of its candidates, and its chunks' ranks."""
        analyzed = analyze_query(snapshot, query, self._settings, self._analyzer)
        chunks, ranks = candidate_chunks(snapshot, analyzed, self._settings)
        table = _lines_of(chunks, analyzed)
        if len(table):
            analyzed = add_path_terms(analyzed, table, self._analyzer)
        return analyzed, table, ranks


def _lines_of(chunks: Iterable[StoredChunk], analyzed: AnalyzedQuery) -> PassageTable:
    mean = analyzed.mean
    return passage_table(chunks, dimension=None if mean is None else len(mean))


def _may_supersede(lines: LineScores) -> bool:
    """Return whether a line may supersede another.

    Two speak of the question, or one does and another one has a word of it, or one is struck.
    """
    best = (-lines.share).argsort(kind="stable")[:COMPARED_LINES]
    near = best[lines.share[best] > lines.share[best[0]] * np.exp(-COMPARED_NATS)]
    held = lines.present[near].any(axis=1)
    if int(held.sum()) > 1 or holds(lines.table.text, "~~"):
        return True
    held[0] = True  # where no line has a word of the question, the best one may answer it
    words = [frozenset(_WORD.findall(lines.table.text_of(row).lower())) for row in near.tolist()]
    said = frozenset().union(*compress(words, held)) - ENGLISH
    return not all(map(said.isdisjoint, compress(words, ~held)))


def _best_lines(lines: LineScores) -> Iterator[tuple[str, float]]:
    """Yield the best line of each of the best notes, with the nats that it is behind the first."""
    table, shares = lines.table, lines.share
    best = float(shares.max())
    near = (shares > best * np.exp(-_LINKING_NATS)).nonzero()[0]
    paths: set[str] = set()
    for line in near[(-shares[near]).argsort(kind="stable")].tolist():
        path = table.passage_of(line).path
        if table.headings[line] == line or path in paths:
            continue
        paths.add(path)
        yield table.text_of(line), math.log(best / float(shares[line]))
        if len(paths) == _LINKING_NOTES:
            break


def _by_source(snapshot: Snapshot, query: Query) -> list[Query]:
    """Return the query for each source that is ranked by itself: notes, then sessions."""
    sources = query.rows.sources
    if not snapshot.chunk_count("sessions"):
        # Every chunk is a note's, so a filter of the notes is dropped.
        unfiltered = sources is not None and "memory" in sources
        return [_of_sources(query, None)] if unfiltered else [query]
    if sources is not None and len(sources) < 2:
        return [query]
    return [_of_sources(query, frozenset((source,))) for source in ("memory", "sessions")]


def _of_sources(query: Query, sources: frozenset[Source] | None) -> Query:
    rows = replace(query.rows, sources=sources)
    # Finders know the notes alone: sessions are found by the index.
    found = query.found if sources is None or "memory" in sources else None
    return replace(query, rows=rows, found=found)


def _answer_confidence(windows: list[Window], lines: LineScores, analyzed: AnalyzedQuery) -> float:
    """Return the confidence of an answer: how well its best windows cover the question."""
    best = windows[:_COVERING]
    if not best:
        return 0.0
    nearest = None if lines.near is None else float(lines.near.cosines.max())
    covered = max(coverage(lines, analyzed, window.rows) for window in best)
    answer = _confidence(covered, nearest)
    if covered and language_of(analyzed.query.text) != "en":  # the vectors may know English alone
        answer = max(answer, _confidence(covered, None))
    if analyzed.days is not None:
        days = lines.table.days[[window.first for window in best]]
        closest = float(closeness(days, analyzed.days).max())
        # Where nothing but days is asked for, they are what the answer has to cover.
        of_days = _confidence(closest, None) if analyzed.only_days else _OF_DAYS * closest
        answer = max(answer, of_days)
    return answer


def _confidence(covered: float, cosine: float | None) -> float:
    """Estimate the probability, 0..1, that the notes hold what was asked.

    Args:
        covered: Share of the query's terms, by idf, that one snippet holds. Terms that do not
            occur in the notes count against it.
        cosine: Cosine of the nearest line; None without vectors.
    """
    logit = _BIAS_WORDS_ONLY + _COVERAGE_WORDS_ONLY * covered
    if cosine is not None:
        logit = _BIAS + _COVERAGE * covered + _COSINE * cosine
    return 1 / (1 + math.exp(-max(-60.0, min(60.0, logit))))
