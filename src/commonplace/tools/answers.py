"""Answers of the agents' tools: one renderer for every framework and the command line.

A function here takes what the model sent and returns what the model reads, as a dict that is safe
to print as JSON. What the model did wrong is raised: `ToolInputError`, or the memory's own
`PathNotAllowedError`; an adapter hands the message back as a tool error.
"""

from __future__ import annotations

import json
import logging
import math
import re
from typing import TYPE_CHECKING, Any, Literal

from commonplace.agent.visibility import Readable, readable
from commonplace.errors import EmbedderError, SettingsError, StoreError, ToolInputError
from commonplace.tools.arguments import ToolArguments
from commonplace.tools.schemas import APPEND_TOOL, FLUSH_APPEND_TOOL, GET_TOOL, SEARCH_TOOL
from commonplace.types import Excerpt, SearchResult, SearchResults

if TYPE_CHECKING:
    from collections.abc import Mapping
    from datetime import date

__all__ = [
    "MAX_GET_CHARS",
    "MAX_GET_LINES",
    "Citations",
    "answer_json",
    "append_answer",
    "citations_shown",
    "excerpt_payload",
    "get_answer",
    "results_payload",
    "search_and_answer",
    "search_answer",
    "unavailable_answer",
]

MAX_GET_LINES = 120
MAX_GET_CHARS = 12_000
"""What one ``memory_get`` answer holds at most, so that no file floods a context window."""

Citations = Literal["auto", "on", "off"]

_LAST_LINE = 2**31 - 1
_QUOTA = re.compile(r"insufficient_quota|quota|429", re.IGNORECASE)

logger = logging.getLogger(__name__)


def search_answer(
    memory: Readable,
    arguments: Mapping[str, object],
    *,
    citations: Citations | None = None,
    private: bool = True,
) -> dict[str, Any]:
    """Answer a call of ``memory_search``.

    Args:
        memory: The memory to search.
        arguments: What the model sent.
        citations: Whether results name their place; None is the memory's setting.
        private: Whether one user and the agent are alone; if not, MEMORY.md and sessions are left
            out, and ``auto`` citations are off.

    Raises:
        ToolInputError: An argument is missing, unknown or out of range.
    """
    return search_and_answer(memory, arguments, citations=citations, private=private)[1]


def search_and_answer(
    memory: Readable,
    arguments: Mapping[str, object],
    *,
    citations: Citations | None = None,
    private: bool = True,
) -> tuple[SearchResults, dict[str, Any]]:
    """Answer a call of ``memory_search``; return the results themselves besides the answer."""
    given = ToolArguments(arguments, tool=SEARCH_TOOL)
    query = given.text("query")
    max_results, min_score = given.integer("maxResults"), given.number("minScore")
    mode = citations or memory.settings.citations
    try:
        found_in = readable(memory, private=private)
        results = found_in.search(query, max_results=max_results, min_score=min_score)
    except (StoreError, EmbedderError) as error:
        logger.exception("memory_search cannot run: %s", error)
        return SearchResults(query=query), unavailable_answer(error)
    return results, results_payload(results, citations=mode, private=private)


def get_answer(
    memory: Readable, arguments: Mapping[str, object], *, private: bool = True
) -> dict[str, Any]:
    """Answer a call of ``memory_get``.

    Args:
        memory: The memory to read.
        arguments: What the model sent.
        private: Whether one user and the agent are alone; if not, MEMORY.md and sessions are
            refused.

    Raises:
        ToolInputError: An argument is missing, unknown or of the wrong type.
        PathNotAllowedError: The path is none that search shows; the message says which are.
    """
    given = ToolArguments(arguments, tool=GET_TOOL)
    path, first, lines = given.text("path"), given.integer("from"), given.integer("lines")
    excerpt = readable(memory, private=private).get(
        path,
        from_line=min(max(first or 1, 1), _LAST_LINE),
        lines=MAX_GET_LINES if lines is None else min(max(lines, 1), MAX_GET_LINES),
    )
    return excerpt_payload(excerpt)


def append_answer(
    memory: Readable,
    arguments: Mapping[str, object],
    *,
    long_term: bool = True,
    when: date | None = None,
) -> dict[str, Any]:
    """Answer a call of ``memory_append``.

    Args:
        memory: The memory to write to.
        arguments: What the model sent.
        long_term: Whether the tool has ``longTerm``; the silent turn's has not.
        when: The day whose log is written; None is today.

    Raises:
        ToolInputError: An argument is missing, unknown or of the wrong type, or the text is empty.
        WorkspaceReadOnlyError: The note could not be written.
    """
    given = ToolArguments(arguments, tool=APPEND_TOOL if long_term else FLUSH_APPEND_TOOL)
    text = given.text("text")
    if not text.strip():
        raise ToolInputError("memory_append: text is empty; it must hold the note to write down.")
    if given.flag("longTerm"):
        return {"path": memory.append(text, path="MEMORY.md")}
    return {"path": memory.append(text, when=when)}


def unavailable_answer(error: Exception | str) -> dict[str, Any]:
    """Say that search cannot run, why, and what to do."""
    text = " ".join(str(error).split()) or type(error).__name__
    if _QUOTA.search(text):
        warning = "Memory search is unavailable because the embedding provider quota is exhausted."
        action = "Top up or switch embedding provider, then retry memory_search."
    else:
        warning = "Memory search is unavailable due to an embedding/provider error."
        action = "Check embedding provider configuration and retry memory_search."
    return {
        "results": [],
        "disabled": True,
        "unavailable": True,
        "error": text,
        "warning": warning,
        "action": action,
    }


def citations_shown(mode: Citations, *, private: bool = True) -> bool:
    """Decide whether results name their place: ``auto`` does in private use."""
    if mode not in ("auto", "on", "off"):
        raise SettingsError(f"citations is {mode!r}; it must be one of 'auto', 'on', 'off'.")
    return mode == "on" or (mode == "auto" and private)


def results_payload(
    results: SearchResults, *, citations: Citations = "auto", private: bool = True
) -> dict[str, Any]:
    """Render search results as the answer of ``memory_search``."""
    cited = citations_shown(citations, private=private)
    return {
        "results": [_hit(result, cited=cited) for result in results],
        "provider": results.provider,
        "model": results.model,
        "fallback": results.fallback,
        "citations": citations,
        "mode": results.mode,
    }


def excerpt_payload(excerpt: Excerpt) -> dict[str, Any]:
    """Render an excerpt as the answer of ``memory_get``, cut to what one answer may hold."""
    text, lines = _cut(excerpt.text, excerpt.lines)
    overlong = lines == 1 and len(text) < len(excerpt.text.split("\n", 1)[0])
    goes_on = lines < excerpt.lines or excerpt.next_from is not None
    return {
        "status": excerpt.status,
        "path": excerpt.path,
        "text": text,
        "from": excerpt.from_line,
        "lines": lines,
        "truncated": overlong or goes_on,
        "nextFrom": excerpt.from_line + lines if goes_on else None,
    }


def answer_json(answer: Mapping[str, Any]) -> str:
    """Print an answer as compact JSON that any encoder takes."""
    text = json.dumps(answer, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")


def _hit(result: SearchResult, *, cited: bool) -> dict[str, Any]:
    hit: dict[str, Any] = {
        "path": result.path,
        "startLine": result.start_line,
        "endLine": result.end_line,
        "score": round(float(result.score), 4) if math.isfinite(result.score) else 0.0,
        "snippet": result.snippet,
        "source": result.source,
    }
    return hit | {"citation": result.citation} if cited else hit


def _cut(text: str, lines: int) -> tuple[str, int]:
    """Keep the whole lines that fit, and count them; an overlong first line is cut."""
    if len(text) <= MAX_GET_CHARS:
        return text, lines
    end = text.rfind("\n", 0, MAX_GET_CHARS + 1)
    if end == -1:
        return text[:MAX_GET_CHARS], 1
    return text[:end], text.count("\n", 0, end) + 1
