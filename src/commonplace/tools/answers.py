"""Answers of the agents' tools: one renderer for every framework and the command line.

Each function takes a call's arguments and returns the answer as a dict that is safe to print as
JSON. Errors of the model are raised, as `ToolInputError` or the memory's `PathNotAllowedError`; an
adapter returns the message to the model as a tool error.
"""

from __future__ import annotations

import json
import logging
import math
import re
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any, Literal

from commonplace.agent.visibility import AgentMemory, visible_memory
from commonplace.errors import EmbedderError, SettingsError, StoreError, ToolInputError
from commonplace.text.lookalikes import path_json
from commonplace.text.printable import escaped_json
from commonplace.text.quotation import quoted_context, quoted_lines, quoted_snippet
from commonplace.text.redaction import Redaction
from commonplace.tools.additions import redacted_addition
from commonplace.tools.arguments import ToolArguments
from commonplace.tools.schemas import APPEND_TOOL, FLUSH_APPEND_TOOL, GET_TOOL, SEARCH_TOOL
from commonplace.types import Excerpt, Origin, SearchResult, SearchResults
from commonplace.workspace.paths import log_path

if TYPE_CHECKING:
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
    "masked_notice",
    "of_memory",
    "results_payload",
    "search_answer",
    "unavailable_answer",
]

MAX_GET_LINES = 120
MAX_GET_CHARS = 12_000
"""Limits of one ``memory_get`` answer, so that no file fills a context window."""

Citations = Literal["auto", "on", "off"]

_MASKED = "A value that looks like a secret was masked and is not kept; tell the user."

_PATH_KEYS = {"path", "citation", "moved_from", "movedFrom", "from", "to", "target"}
_LAST_LINE = 2**31 - 1
_QUOTA = re.compile(r"insufficient_quota|quota|429", re.IGNORECASE)

logger = logging.getLogger(__name__)


def search_answer(
    memory: AgentMemory,
    arguments: Mapping[str, object],
    *,
    citations: Citations | None = None,
    private: bool = True,
    name: str | None = None,
    session: str | None = None,
) -> dict[str, Any]:
    """Answer a call of ``memory_search``.

    Args:
        memory: The memory to search.
        arguments: The model's arguments.
        citations: Whether results carry citations; None is the memory's setting.
        private: Whether the conversation has one user only; if not, MEMORY.md and sessions are
            left out, and ``auto`` citations are off.
        name: Name of the memory, where an agent has several; each result then carries it.
        session: Conversation of the call, empty for one without an id; None if it is not known.

    Raises:
        ToolInputError: An argument is missing, unknown or out of range.
    """
    values = ToolArguments(arguments, tool=SEARCH_TOOL.of_memory(name))
    query = values.text("query")
    max_results, min_score = values.integer("maxResults"), values.number("minScore")
    mode = citations or memory.settings.citations
    try:
        found_in = visible_memory(memory, private=private)
        results = found_in.search(query, max_results=max_results, min_score=min_score)
    except (StoreError, EmbedderError) as error:
        logger.exception("memory_search cannot run: %s", error)
        return unavailable_answer(error)
    if session is not None and any(result.untrusted for result in results):
        memory.record_exposure(session)
    answer = results_payload(results, citations=mode, private=private)
    answer["results"] = [of_memory(name, result) for result in answer["results"]]
    return answer


def get_answer(
    memory: AgentMemory,
    arguments: Mapping[str, object],
    *,
    private: bool = True,
    name: str | None = None,
    session: str | None = None,
) -> dict[str, Any]:
    """Answer a call of ``memory_get``.

    Args:
        memory: The memory to read.
        arguments: The model's arguments.
        private: Whether the conversation has one user only; if not, MEMORY.md and sessions are
            refused.
        name: Name of the memory, where an agent has several; the answer then carries it.
        session: Conversation of the call, empty for one without an id; None if it is not known.

    Raises:
        ToolInputError: An argument is missing, unknown or of the wrong type.
        PathNotAllowedError: Search never shows the path; the message says which are allowed.
    """
    values = ToolArguments(arguments, tool=GET_TOOL.of_memory(name))
    path, first, lines = values.text("path"), values.integer("from"), values.integer("lines")
    if "#L" in path:  # before its privacy is looked at
        from commonplace.history.citations import cited_lines

        path, first, lines = cited_lines(path, first, lines)
    excerpt = visible_memory(memory, private=private).get(
        path,
        from_line=min(max(first or 1, 1), _LAST_LINE),
        lines=MAX_GET_LINES if lines is None else min(max(lines, 1), MAX_GET_LINES),
    )
    if session is not None and excerpt.untrusted:
        memory.record_exposure(session)
    return of_memory(name, excerpt_payload(excerpt))


def append_answer(
    memory: AgentMemory,
    arguments: Mapping[str, object],
    *,
    long_term: bool = True,
    when: date | None = None,
    private: bool = True,
    redact: Redaction = True,
    name: str | None = None,
    session: str | None = None,
    agent: str | None = None,
) -> dict[str, Any]:
    """Answer a call of ``memory_append``.

    Args:
        memory: The memory to write to.
        arguments: The model's arguments.
        long_term: Whether the tool has the argument ``longTerm``.
        when: Day of the log; None is today.
        private: Whether the conversation has one user only; if not, ``longTerm`` is refused.
        redact: Whether keys, tokens and passwords in the text are masked;
            with ``"personal"``, or the setting `mask_personal`, also numbers of cards, IBANs and
            US social security.
        name: Name of the memory, where an agent has several; the answer then carries it.
        session: Conversation of the call; None if it is not known.
        agent: Name of the agent, where several share the memory; the origin then has it.

    Returns:
        The path of the note; with ``masked``, a sentence for the model, where something was.

    Raises:
        ToolInputError: An argument is missing, unknown or of the wrong type, or the text is empty.
        PathNotAllowedError: The note is for MEMORY.md, and the conversation is not private.
        WorkspaceReadOnlyError: The note could not be written.
    """
    tool = (APPEND_TOOL if long_term else FLUSH_APPEND_TOOL).of_memory(name)
    values = ToolArguments(arguments, tool=tool)
    text = values.text("text")
    if not text.strip():
        raise ToolInputError(f"{tool.name}: text is empty; it must hold the note to write down.")
    is_long_term = values.flag("longTerm")
    note = "MEMORY.md" if is_long_term else log_path(when or memory.now().date())
    personal = memory.settings.mask_personal
    written = redacted_addition(memory.workspace, note, text, redact, personal=personal)
    written_to = visible_memory(memory, private=private)
    origin = agent_origin(tool.name, session=session, agent=agent)
    if is_long_term:
        path = written_to.append(written, path=note, origin=origin)
    else:
        path = written_to.append(written, when=when, origin=origin)
    return of_memory(name, {"path": path} | masked_notice(text, written))


def masked_notice(text: str, written: str) -> dict[str, str]:
    """Return what an answer says where a text was masked before it was written."""
    return {} if written == text else {"masked": _MASKED}


def agent_origin(tool: str, *, session: str | None, agent: str | None) -> Origin:
    """Return the origin of what an agent writes: its tool, with its name if it has one."""
    return Origin("agent", session=session or None, tool=f"{tool} of {agent}" if agent else tool)


def of_memory(name: str | None, answer: dict[str, Any]) -> dict[str, Any]:
    """Return an answer with the name of its memory, where an agent has several."""
    return answer if name is None else {"memory": name} | answer


def unavailable_answer(error: Exception | str) -> dict[str, Any]:
    """Return the answer of a search that cannot run: the error, and what to do."""
    text = " ".join(str(error).split()) or type(error).__name__
    if isinstance(error, StoreError):
        warning = "Memory search is unavailable because its index cannot be read."
        action = "Do what the error says, then retry memory_search."
    elif _QUOTA.search(text):
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
    """Return whether results carry citations: ``auto`` does in private conversations."""
    if mode not in ("auto", "on", "off"):
        raise SettingsError(f"citations is {mode!r}; it must be 'auto', 'on' or 'off'.")
    return mode == "on" or (mode == "auto" and private)


def results_payload(
    results: SearchResults, *, citations: Citations = "auto", private: bool = True
) -> dict[str, Any]:
    """Render search results as the answer of ``memory_search``."""
    cited = citations_shown(citations, private=private)
    return {
        "results": [_result_payload(result, cited=cited) for result in results],
        "provider": results.provider,
        "model": results.model,
        "fallback": results.fallback,
        "citations": citations,
        "mode": results.mode,
    }


def excerpt_payload(excerpt: Excerpt) -> dict[str, Any]:
    """Render an excerpt as the answer of ``memory_get``, truncated to the limits of an answer."""
    quoted = quoted_lines(excerpt.text, excerpt.from_line, excerpt.untrusted)
    text, lines = _truncated(quoted, excerpt.lines)
    overlong = lines == 1 and len(text) < len(quoted.split("\n", 1)[0])
    has_more = lines < excerpt.lines or excerpt.next_from is not None
    return {
        "status": excerpt.status,
        "path": excerpt.path,
        "text": text,
        "from": excerpt.from_line,
        "lines": lines,
        "truncated": overlong or has_more,
        "nextFrom": excerpt.from_line + lines if has_more else None,
    }


def answer_json(answer: Mapping[str, Any]) -> str:
    """Return an answer as compact JSON.

    Invisible characters are escaped, and look-alikes in paths; lone surrogates, which no encoder
    takes, become U+FFFD.
    """
    text = json.dumps(answer, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    for path in set(_paths(answer)):
        text = path_json(text, path)
    return escaped_json(text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace"))


def _paths(value: object) -> Iterator[str]:
    """Yield the paths, and citations, in an answer."""
    if isinstance(value, Mapping):
        for key, inner in value.items():
            if isinstance(inner, str):
                if key in _PATH_KEYS:
                    yield inner
            else:
                yield from _paths(inner)
    elif isinstance(value, list | tuple):
        for inner in value:
            yield from _paths(inner)


def _result_payload(result: SearchResult, *, cited: bool) -> dict[str, Any]:
    payload: dict[str, Any] = {
        "path": result.path,
        "startLine": result.start_line,
        "endLine": result.end_line,
        "score": round(float(result.score), 4) if math.isfinite(result.score) else 0.0,
        **({"context": quoted_context(result)} if result.context else {}),
        "snippet": quoted_snippet(result),
        "source": result.source,
    }
    return payload | {"citation": result.citation} if cited else payload


def _truncated(text: str, lines: int) -> tuple[str, int]:
    """Return the whole lines that fit, and their number; an overlong first line is cut."""
    if len(text) <= MAX_GET_CHARS:
        return text, lines
    end = text.rfind("\n", 0, MAX_GET_CHARS + 1)
    if end == -1:
        return text[:MAX_GET_CHARS], 1
    return text[:end], text.count("\n", 0, end) + 1
