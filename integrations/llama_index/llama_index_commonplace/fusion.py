"""Fusion of several queries: retrievals within another retrieval return no line twice.

`QueryFusionRetriever` merges the answers to its queries by the hashes of their nodes. Passages of
one file that begin and end elsewhere have different hashes: their common lines would be doubled.
"""

from __future__ import annotations

import contextlib
import re
import threading
from collections import OrderedDict
from collections.abc import Iterable, Iterator
from contextvars import ContextVar
from dataclasses import replace
from itertools import groupby
from typing import TYPE_CHECKING

from llama_index_instrumentation.span import active_span_id

if TYPE_CHECKING:
    from llama_index.core.schema import NodeWithScore, QueryType

    from commonplace import Memory, SearchResult

__all__ = ["EnclosedRetriever", "PassageLedger"]

_MOST_CALLS = 128
"""Enclosing retrievals that are remembered; of an older one, lines may be doubled."""

_RETRIEVAL = re.compile(r"\._?a?retrieve-")
"""Part of the span id of a retrieval, ``QueryFusionRetriever._retrieve-<uuid>``."""

_ENCLOSING: ContextVar[str] = ContextVar("_ENCLOSING", default="")
_LEDGERS: OrderedDict[tuple[str, int], PassageLedger] = OrderedDict()
_GUARD = threading.Lock()


class EnclosedRetriever:
    """Mixin of a retriever that has to know which other retrieval called it.

    LlamaIndex opens a span for each retrieval, which its tasks and threads inherit. Methods of a
    subclass of `BaseRetriever` have a span of their own when they begin; those of a mixin do not.
    """

    def retrieve(self, str_or_query_bundle: QueryType) -> list[NodeWithScore]:
        """Retrieve the nodes of a query."""
        with _enclosed():
            found: list[NodeWithScore] = super().retrieve(str_or_query_bundle)  # type: ignore[misc]
        return found

    async def aretrieve(self, str_or_query_bundle: QueryType) -> list[NodeWithScore]:
        """Retrieve the nodes of a query without blocking the event loop."""
        with _enclosed():
            found: list[NodeWithScore] = await super().aretrieve(  # type: ignore[misc]
                str_or_query_bundle
            )
        return found

    def _recut(self, memory: Memory, results: Iterable[SearchResult]) -> list[SearchResult]:
        """Return the results; within another retrieval, `PassageLedger.recut` of it."""
        enclosing = _ENCLOSING.get()
        return _ledger(enclosing, memory).recut(results) if enclosing else list(results)


class PassageLedger:
    """Passages that the retrievals of one call returned so far; safe for threads."""

    def __init__(self) -> None:
        self._returned: dict[str, list[SearchResult]] = {}
        self._lock = threading.Lock()

    def recut(self, results: Iterable[SearchResult]) -> list[SearchResult]:
        """Return results in which the lines of earlier passages come as those passages.

        The other lines of a result are passages of their own. No line of the results is lost, and
        an earlier passage has the score of the result that it stands for.
        """
        with self._lock:
            parts: dict[tuple[str, str], SearchResult] = {}
            for result in results:
                for part in _parts(result, self._returned.get(result.path, ())):
                    parts.setdefault((part.citation, part.snippet), part)
            known = {
                (part.citation, part.snippet) for each in self._returned.values() for part in each
            }
            for place, part in parts.items():
                if place not in known:
                    self._returned.setdefault(part.path, []).append(part)
            return list(parts.values())


def _parts(result: SearchResult, earlier: Iterable[SearchResult]) -> list[SearchResult]:
    """Return earlier passages with lines of a result, and its other lines, best line first."""
    lines = _lines(result)
    parts = []
    for passage in earlier:
        shown = _lines(passage)
        shared = [number for number in lines if lines[number] in shown.get(number, ())]
        if shared:
            parts.append(replace(passage, score=result.score))
            for number in shared:
                del lines[number]
    if not parts:
        return [result]
    parts += _runs(result, lines)
    best = result.best_line or result.start_line
    return sorted(parts, key=lambda part: not part.start_line <= best <= part.end_line)


def _runs(result: SearchResult, lines: dict[int, str]) -> Iterator[SearchResult]:
    """Yield the consecutive lines of a result as passages; blank lines alone are none."""
    for _, numbered in groupby(enumerate(sorted(lines)), key=lambda each: each[1] - each[0]):
        run = [number for _, number in numbered]
        written = [number for number in run if lines[number].strip()]
        if not written:
            continue
        first, last = written[0], written[-1]
        yield replace(
            result,
            snippet="\n".join(lines[number] for number in range(first, last + 1)),
            start_line=first,
            end_line=last,
            context=result.context if first == result.start_line else "",
            untrusted=tuple(number for number in result.untrusted if number <= last),
        )


def _lines(passage: SearchResult) -> dict[int, str]:
    return dict(enumerate(passage.snippet.split("\n"), start=passage.start_line))


@contextlib.contextmanager
def _enclosed() -> Iterator[None]:
    span = active_span_id.get() or ""
    token = _ENCLOSING.set(span if _RETRIEVAL.search(span) else "")
    try:
        yield
    finally:
        _ENCLOSING.reset(token)


def _ledger(call: str, memory: Memory) -> PassageLedger:
    with _GUARD:
        key = (call, id(memory))
        ledger = _LEDGERS.setdefault(key, PassageLedger())
        while len(_LEDGERS) > _MOST_CALLS:
            _LEDGERS.popitem(last=False)
        return ledger
