"""`CommonplaceRetriever`: search of the memory as a LlamaIndex retriever."""

from __future__ import annotations

import asyncio
from collections.abc import Collection
from datetime import date
from typing import TYPE_CHECKING, Any

from llama_index.core.base.base_retriever import BaseRetriever
from llama_index.core.schema import NodeWithScore, QueryBundle

from commonplace.tools import citations_shown
from llama_index_commonplace.arguments import checked_memory
from llama_index_commonplace.fusion import EnclosedRetriever
from llama_index_commonplace.metadata_filters import checked_filters, filter_limits
from llama_index_commonplace.nodes import scored_node

if TYPE_CHECKING:
    from llama_index.core.callbacks import CallbackManager
    from llama_index.core.vector_stores import MetadataFilters

    from commonplace import Memory
    from commonplace.types import Source

__all__ = ["CommonplaceRetriever"]


class CommonplaceRetriever(EnclosedRetriever, BaseRetriever):
    """Retriever of the notes that answer a question, best first, as nodes with citations as ids.

    Several queries of one enclosing retriever, such as `QueryFusionRetriever`, get no line twice: a
    passage that overlaps an earlier one comes as that one's node and a node of the lines that are
    new, so that there may be more nodes than `similarity_top_k`.

    The search receives the original query, `QueryBundle.query_str`. Additions of a query transform
    for vector stores (`custom_embedding_strs`, `embedding`) are ignored.
    """

    def __init__(
        self,
        memory: Memory,
        *,
        similarity_top_k: int | None = None,
        min_score: float | None = None,
        sources: Collection[Source] | None = None,
        after: date | str | None = None,
        before: date | str | None = None,
        paths: Collection[str] | None = None,
        filters: MetadataFilters | None = None,
        k: int | None = None,
        callback_manager: CallbackManager | None = None,
        verbose: bool = False,
    ) -> None:
        """Set up the search; None is the memory's own setting.

        Args:
            memory: The memory to search; it is not closed by the retriever.
            similarity_top_k: Number of nodes, at most.
            min_score: Least score of a node, 0..1; 0 keeps all that were found.
            sources: ``memory``, ``sessions``; both by default.
            after: First day, included: a date or an ISO text. Undated files are left out.
            before: Last day, included.
            paths: Files, folders and globs to search, such as ``memory/work/``; nothing of
                other files is counted or shown.
            filters: LlamaIndex's filters, on ``path``, ``source``, ``date``, ``tags``, or any key
                of the notes' front matter. They apply below the ranking, as `paths` does.
            k: `similarity_top_k` by the name that LangChain's users know.
            callback_manager: LlamaIndex's; for traces.
            verbose: LlamaIndex's; ignored.

        Raises:
            TypeError: `memory` is no memory, or `filters` are none.
            ValueError: The number of nodes, or `min_score`, is out of its range; or `filters` go by
                what only a result tells, such as ``origin``.
        """
        super().__init__(callback_manager=callback_manager, verbose=verbose)
        self.memory = checked_memory(memory)
        self.similarity_top_k = _one_of(similarity_top_k, k)
        self.min_score = min_score
        self.sources = sources
        self.after = after
        self.before = before
        self.paths = paths
        self.filters = None if filters is None else checked_filters(filters)
        if self.similarity_top_k is not None and self.similarity_top_k < 1:
            raise ValueError(f"similarity_top_k is {self.similarity_top_k}; it must be 1 or more.")
        if min_score is not None and not 0 <= min_score <= 1:
            raise ValueError(f"min_score is {min_score}; it must be between 0 and 1.")

    def _retrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
        results = self.memory.search(
            query_bundle.query_str,
            max_results=self.similarity_top_k,
            min_score=self.min_score,
            sources=self.sources,
            explain=True,
            **self._limits(),
        )
        cited = citations_shown(self.memory.settings.citations)
        return [scored_node(result, cited=cited) for result in self._recut(self.memory, results)]

    def _limits(self) -> dict[str, Any]:
        """Return the limits of files and days: both those of the filters and its own hold."""
        limits: dict[str, Any] = {"paths": self.paths, "after": self.after, "before": self.before}
        if self.filters is None:
            return limits
        return filter_limits(self.memory, self.filters, **limits)

    # The base class passes `query_bundle` by keyword; its own form would block the event loop.
    async def _aretrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
        return await asyncio.to_thread(self._retrieve, query_bundle)


def _one_of(similarity_top_k: int | None, k: int | None) -> int | None:
    if similarity_top_k is not None and k is not None and similarity_top_k != k:
        raise ValueError(
            f"similarity_top_k is {similarity_top_k} and k, which means the same, is {k}; give one."
        )
    return k if similarity_top_k is None else similarity_top_k
