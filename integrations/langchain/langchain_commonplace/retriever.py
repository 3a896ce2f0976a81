"""`CommonplaceRetriever`: search of the memory as a LangChain retriever."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable, Collection, Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from datetime import date
from functools import partial
from typing import Any

from langchain_core.callbacks import AsyncCallbackManagerForRetrieverRun as AsyncRun
from langchain_core.callbacks import CallbackManagerForRetrieverRun as Run
from langchain_core.documents import Document
from langchain_core.retrievers import BaseRetriever, LangSmithRetrieverParams
from langchain_core.runnables import RunnableConfig
from pydantic import Field, PrivateAttr, model_validator

from commonplace import SearchResult, SearchResults
from commonplace.tools import passage_day, passage_id, quoted_context, quoted_snippet, shown_path
from commonplace.types import Source
from langchain_commonplace.memory_source import (
    MemorySource,
    checked_source,
    current_memory,
    with_memory,
)

__all__ = ["CommonplaceRetriever"]


class CommonplaceRetriever(BaseRetriever):
    """Retriever of the notes that answer a question, best first.

    Every field except `memory` can be given to one call: ``retriever.invoke(question, k=3)``. None
    is the memory's own setting. The content of a document is the snippet and nothing else, but for
    a mark on each untrusted line; its id is its place, and its metadata holds place, day and the
    score of each stage of the search, and the note's front matter under the keys that are not
    taken. Documents of one place are equal, whatever query found them, so that
    `MultiQueryRetriever` returns none twice. Passages of one file that share lines have ranges that
    overlap, ``start_line`` to ``end_line``.
    """

    memory: MemorySource = Field(exclude=True, repr=False)
    """The memory to search, or a function from a run's configuration to it, such as
    ``pool.resolver("user_id")``; the retriever does not close it."""
    k: int | None = None
    """Number of documents, if so many notes reach `min_score`."""
    min_score: float | None = None
    """Least score of a note; 0 keeps all that were found."""
    sources: list[Source] | None = None
    """``memory``, ``sessions``; both by default, where `SessionsSettings.enabled` is set."""
    after: date | str | None = None
    """First day, included: a date or an ISO text. Undated files are left out."""
    before: date | str | None = None
    """Last day, included."""
    paths: list[str] | None = None
    """Files, folders and globs to search, such as ``memory/work/``; all by default."""

    _embedder: tuple[str | None, str | None] = PrivateAttr(default=(None, None))
    """Embedding provider and model of the last search, for traces."""

    @model_validator(mode="before")
    @classmethod
    def _check_names(cls, values: Any) -> Any:
        if isinstance(values, dict):
            _check_options(values, allowed=cls.model_fields, caller=cls.__name__)
            if "memory" in values:
                checked_source(values["memory"])
            _check_range("k", values.get("k"), int, least=1)
            _check_range("min_score", values.get("min_score"), int | float, least=0, most=1)
        return values

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
        run = partial(self._search, query, **options)
        return await with_memory(self.memory, run, config=_CONFIG.get(None))

    def _search(self, query: str, **options: Any) -> list[Document]:
        _check_options(options, allowed=_OPTIONS, caller="invoke")
        values = {name: getattr(self, name) for name in _OPTIONS} | options
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


def _check_range(name: str, value: Any, kind: Any, *, least: float, most: float = math.inf) -> None:
    """Raise a TypeError of one line, which pydantic passes on as it is."""
    is_number = isinstance(value, kind) and not isinstance(value, bool)
    if value is not None and not (is_number and least <= value <= most):
        expected = f"from {least} to {most}" if most < math.inf else f"of at least {least}"
        what = "a whole number" if kind is int else "a number"
        raise TypeError(f"{name} is {value!r}; {what} {expected}, or None, was expected.")


_CONFIG: ContextVar[RunnableConfig | None] = ContextVar("_CONFIG")


@contextmanager
def _config_of_run(config: RunnableConfig | None) -> Iterator[None]:
    """Keep the configuration of a call: LangChain hands a retriever its callbacks only."""
    token = _CONFIG.set(config)
    try:
        yield
    finally:
        _CONFIG.reset(token)


_OPTIONS = ("k", "min_score", "sources", "after", "before", "paths")


def _check_options(options: Iterable[str], *, allowed: Collection[str], caller: str) -> None:
    for name in options:
        if name not in allowed:
            raise TypeError(
                f"{caller} got {name!r}, which the retriever does not take; "
                f"it takes {', '.join(_OPTIONS)}."
            )


class _PlaceDocument(Document):
    """Document that equals all of its place and content: its scores differ from query to query.

    Serializers restore a plain `Document`, which is the class that it names.
    """

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Document):
            return NotImplemented
        return (self.id, self.page_content) == (other.id, other.page_content)

    def __hash__(self) -> int:
        return hash((self.id, self.page_content))

    def __reduce__(self) -> tuple[Callable[..., Document], tuple[dict[str, Any]]]:
        return Document.model_validate, (self.model_dump(),)


_PlaceDocument.__module__, _PlaceDocument.__name__ = Document.__module__, Document.__name__
_PlaceDocument.__qualname__ = Document.__qualname__

_DIGITS = 4
"""Decimals of scores: a later call of the same minute gives the same numbers."""


def _document(result: SearchResult) -> Document:
    parts = dataclasses.asdict(result.explanation) if result.explanation else {}
    for name in ("age_days", "day"):
        parts.pop(name, None)
    return _PlaceDocument(
        id=passage_id(result),
        page_content=quoted_snippet(result),
        metadata={
            **result.metadata,
            "path": result.path,
            "start_line": result.start_line,
            "end_line": result.end_line,
            "heading": result.heading,
            "source": result.source,
            "context": quoted_context(result),
            "citation": shown_path(result.citation),
            "date": passage_day(result),
            "score": round(result.score, _DIGITS),
            "origin": result.origin.author,
            "parts": {name: _rounded(value) for name, value in parts.items()},
        },
    )


def _rounded(value: Any) -> Any:
    if isinstance(value, tuple):
        return list(value)
    return round(value, _DIGITS) if isinstance(value, float) else value
