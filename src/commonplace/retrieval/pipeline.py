"""Ranking by lines, as a list of stages.

1. Candidates: the rarest terms and the vector of the query bring chunks.
2. Features: each line of them is scored by terms, vector, form and day, its own and its
   neighbours', and the scores become shares of the evidence.
3. Reranking: a reranker, where one was given, orders the best passages.
4. Snippets: windows show as much of the evidence as fits, and calibration scores them.
5. Results: notes and sessions share the places of the answer.
"""

from __future__ import annotations

import functools
from dataclasses import replace

import numpy as np

from commonplace.retrieval.calibration import window_results
from commonplace.retrieval.candidates import add_path_terms, analyze_query, candidate_chunks
from commonplace.retrieval.line_features import score_lines
from commonplace.retrieval.passages import passage_table
from commonplace.retrieval.query import SNIPPET_CHARS, Query, Ranking
from commonplace.retrieval.snippets import pack_windows
from commonplace.retrieval.source_quota import merge_sources
from commonplace.settings import SearchSettings
from commonplace.store.base import Snapshot
from commonplace.text.analysis import Analyzer
from commonplace.types import SearchResult, Source

__all__ = ["LineRanker"]

_analyzer = functools.cache(Analyzer)


class LineRanker:
    """Ranker of lines: candidates' lines are scored among each other and shown in windows."""

    def __init__(self, settings: SearchSettings) -> None:
        self._settings = settings
        self._analyzer = _analyzer(settings.tokenizer)

    def rank(self, snapshot: Snapshot, query: Query, *, explain: bool = False) -> Ranking:
        """Answer a query with windows of lines, those with the most evidence first."""
        # Some BLAS builds raise the processor's "invalid" flag over padding; all values are finite.
        with np.errstate(invalid="ignore"):
            rankings = [
                self._ranked(snapshot, part, explain=explain)
                for part in _by_source(snapshot, query)
            ]
        if len(rankings) == 1:
            return Ranking(rankings[0])
        return Ranking(merge_sources(*rankings, limit=query.limit))

    def _ranked(self, snapshot: Snapshot, query: Query, *, explain: bool) -> list[SearchResult]:
        settings, analyzer = self._settings, self._analyzer
        analyzed = analyze_query(snapshot, query, settings, analyzer)
        chunks = candidate_chunks(snapshot, analyzed, settings)
        mean = analyzed.mean
        table = passage_table(chunks, dimension=None if mean is None else len(mean))
        if not len(table):
            return []
        analyzed = add_path_terms(analyzed, table, analyzer)
        lines = score_lines(table, analyzed, settings, analyzer)
        windows = pack_windows(
            lines.share, table.start, table.end, table.passage,
            width=SNIPPET_CHARS, count=query.limit,
        )  # fmt: skip
        return window_results(windows, lines, analyzed, explain=explain)


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
    return replace(query, rows=replace(query.rows, sources=sources))
