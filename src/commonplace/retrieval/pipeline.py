"""The order of the steps: from a query to results, by the settings."""

from __future__ import annotations

from dataclasses import replace

from commonplace.compat.openclaw.ranking import rank_chunks
from commonplace.retrieval.line_ranker import rank_lines
from commonplace.retrieval.query import Query
from commonplace.retrieval.source_quota import merge_sources
from commonplace.settings import SearchSettings
from commonplace.store.base import Snapshot
from commonplace.types import SearchResult

__all__ = ["rank"]


def rank(
    snapshot: Snapshot, query: Query, settings: SearchSettings, *, explain: bool = False
) -> list[SearchResult]:
    """Answer a query: the best snippets first, each with a score of 0..1."""
    if settings.grain == "chunks":
        results = rank_chunks(snapshot, query, settings)
        return results if explain else [replace(result, explanation=None) for result in results]
    return merge_sources(
        snapshot, query, lambda asked: rank_lines(snapshot, asked, settings, explain=explain)
    )
