"""`CommonplaceRetriever`: search of the memory as a LangChain retriever."""

from __future__ import annotations

import asyncio
import dataclasses
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from datetime import date
from typing import Any

from langchain_core.callbacks import AsyncCallbackManagerForRetrieverRun as AsyncRun
from langchain_core.callbacks import CallbackManagerForRetrieverRun as Run
from langchain_core.documents import Document
from langchain_core.retrievers import BaseRetriever, LangSmithRetrieverParams
from langchain_core.runnables import RunnableConfig
from pydantic import Field, PrivateAttr

from commonplace import SearchResult, SearchResults
from commonplace.tools import quoted_context, quoted_snippet
from commonplace.types import Source
from langchain_commonplace.memory_source import MemorySource, current_memory

__all__ = ["CommonplaceRetriever"]


class CommonplaceRetriever(BaseRetriever):
    """Retriever of the notes that answer a question, best first.

    Every field except `memory` can be given to one call: ``retriever.invoke(question, k=3)``. None
    is the memory's own setting. The content of a document is the snippet and nothing else, but for
    a mark on each untrusted line; its id is the citation, and its metadata holds its place and the
    score of each stage of the search.
    """

    memory: MemorySource = Field(exclude=True, repr=False)
    """The memory to search, or a function from a run's configuration to it, such as
    ``pool.resolver("user_id")``; the retriever does not close it."""
    k: int | None = Field(default=None, ge=1)
    """Number of documents, if so many notes reach `min_score`."""
    min_score: float | None = Field(default=None, ge=0, le=1)
    """Least score of a note; 0 keeps all that were found."""
    sources: list[Source] | None = None
    """``memory``, ``sessions``; both by default."""
    after: date | str | None = None
    """First day, included: a date or an ISO text. Undated files are left out."""
    before: date | str | None = None
    """Last day, included."""

    _embedder: tuple[str | None, str | None] = PrivateAttr(default=(None, None))
    """Embedding provider and model of the last search, for traces."""

    def invoke(
        self,
        input: str,  # noqa: A002
        config: RunnableConfig | None = None,
        **kwargs: Any,
    ) -> list[Document]:
        """Search; the configuration says whose memory, where that differs by run."""
        with _config_of_run(config):
            return super().invoke(input, config, **kwargs)

    async def ainvoke(
        self,
        input: str,  # noqa: A002
        config: RunnableConfig | None = None,
        **kwargs: Any,
    ) -> list[Document]:
        """Search without blocking the event loop."""
        with _config_of_run(config):
            return await super().ainvoke(input, config, **kwargs)

    def _get_relevant_documents(
        self,
        query: str,
        *,
        run_manager: Run,  # noqa: ARG002 - LangChain looks for the name
        **options: Any,
    ) -> list[Document]:
        return self._search(query, **options)

    async def _aget_relevant_documents(
        self,
        query: str,
        *,
        run_manager: AsyncRun,  # noqa: ARG002
        **options: Any,
    ) -> list[Document]:
        return await asyncio.to_thread(self._search, query, **options)

    def _search(self, query: str, **options: Any) -> list[Document]:
        values = {name: getattr(self, name) for name in _OPTIONS} | _checked(options)
        memory = current_memory(self.memory, _CONFIG.get(None))
        found: SearchResults = memory.search(
            query, max_results=values.pop("k"), explain=True, **values
        )
        self._embedder = (found.provider, found.model)
        return [_document(result) for result in found]

    def _get_ls_params(self, **kwargs: Any) -> LangSmithRetrieverParams:
        provider, model = self._embedder
        return LangSmithRetrieverParams(
            **super()._get_ls_params(**kwargs),
            ls_vector_store_provider="commonplace",
            ls_embedding_provider=provider,
            ls_embedding_model=model,
        )


_CONFIG: ContextVar[RunnableConfig | None] = ContextVar("_CONFIG")


@contextmanager
def _config_of_run(config: RunnableConfig | None) -> Iterator[None]:
    """Keep the configuration of a call: LangChain hands a retriever its callbacks only."""
    token = _CONFIG.set(config)
    try:
        yield
    finally:
        _CONFIG.reset(token)


_OPTIONS = ("k", "min_score", "sources", "after", "before")


def _checked(options: dict[str, Any]) -> dict[str, Any]:
    for name in options:
        if name not in _OPTIONS:
            raise TypeError(
                f"invoke got {name!r}, which the retriever does not take; "
                f"it takes {', '.join(_OPTIONS)}."
            )
    return options


def _document(result: SearchResult) -> Document:
    parts = dataclasses.asdict(result.explanation) if result.explanation else {}
    return Document(
        id=result.citation,
        page_content=quoted_snippet(result),
        metadata={
            "path": result.path,
            "start_line": result.start_line,
            "end_line": result.end_line,
            "source": result.source,
            "context": quoted_context(result),
            "citation": result.citation,
            "score": result.score,
            "origin": result.origin.author,
            "parts": parts | {"terms": list(parts.get("terms", ()))},
        },
    )
