"""The values that Commonplace hands around: frozen, slotted, made of plain types.

Lines count from 1 and both ends of a range are included. A score is higher for better and lies in
0..1. Paths are POSIX and relative to the workspace (``../x.md`` for an extra path outside it).
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, fields
from datetime import date, datetime
from pathlib import Path
from reprlib import Repr
from typing import TYPE_CHECKING, Any, Literal, SupportsIndex, overload

if TYPE_CHECKING:
    from _typeshed import DataclassInstance
    from rich.console import RenderableType

__all__ = [
    "Chunk",
    "Excerpt",
    "Explanation",
    "FlushMessage",
    "FlushReason",
    "FlushReport",
    "IndexReport",
    "MemoryFile",
    "SearchMode",
    "SearchResult",
    "SearchResults",
    "Source",
    "Status",
    "ToolCall",
    "citation",
]

Source = Literal["memory", "sessions"]
"""Where a text comes from: the Markdown memory, or the transcripts of sessions."""

SearchMode = Literal["hybrid", "vector", "keyword"]
"""What an answer was made from."""


def citation(path: str, start_line: int, end_line: int) -> str:
    """Name a line range the way people link to it: ``MEMORY.md#L3`` or ``MEMORY.md#L3-L9``."""
    if start_line == end_line:
        return f"{path}#L{start_line}"
    return f"{path}#L{start_line}-L{end_line}"


_brief = Repr()
_brief.maxstring = _brief.maxother = 60
_brief.maxtuple = _brief.maxlist = _brief.maxdict = 2


class _Shown:
    """Shows itself in a notebook and, through rich, in a terminal.

    The looks are those of `commonplace.display`, which is loaded when something is shown.
    """

    __slots__ = ()

    def _repr_html_(self) -> str:
        from commonplace.display import as_html

        return as_html(self)

    def __rich__(self) -> RenderableType:
        from commonplace.display import as_rich

        return as_rich(self)


class _ShownValue(_Shown):
    """A dataclass with a short `repr`: fields as by default are left out, long ones cut."""

    __slots__ = ()

    def __repr__(self: DataclassInstance) -> str:
        told = (
            f"{each.name}={_brief.repr(value)}"
            for each in fields(self)
            if (value := getattr(self, each.name)) != each.default and value not in ((), {})
        )
        return f"{type(self).__name__}({', '.join(told)})"


@dataclass(frozen=True, slots=True)
class MemoryFile:
    """A file on disk that belongs to the memory, as the walk saw it."""

    path: str
    absolute: Path
    source: Source
    size: int
    mtime_ns: int
    date: date | None
    """The day of a dated log; None for an evergreen file."""


@dataclass(frozen=True, slots=True)
class Chunk:
    """A run of whole lines (or a part of one overlong line) that is indexed as one text."""

    start_line: int
    end_line: int
    text: str
    hash: str
    """SHA-256 of the text in UTF-8, in hexadecimal."""
    heading: str = ""
    """Headings above the first line, outermost first, joined by `` > ``."""


@dataclass(frozen=True, slots=True)
class Explanation:
    """What each stage gave to one result.

    With `SearchSettings.grain` ``lines``, stages score lines, and the snippet is told of; with
    ``chunks``, they score chunks, as the reference.

    Attributes:
        vector: Cosine similarity of the query and the nearest line (the chunk), -1..1; None where
            there is no vector, and for a chunk that was only found by words.
        keyword: The share of the query's words, the rarer the more, that the snippet holds (the
            chunk's BM25, scaled), 0..1; None where no word of the query occurs.
        fused: What the score is before age and repetition count.
        age_days: Days since the file's date; None for a file that does not age.
        decay: What age leaves, 0..1, of the best line's evidence (of the score).
        mmr: What repetition leaves, 0..1, of the best line's evidence; only the smaller one of this
            and `decay` counts. (The marginal relevance at which the chunk was picked, -1..1.) None
            when it is off.
        terms: The query's terms that occur in the snippet, as they are indexed (stemmed). (The
            query's words that occur in the chunk.)
    """

    vector: float | None
    keyword: float | None
    fused: float
    age_days: float | None
    decay: float
    mmr: float | None
    terms: tuple[str, ...]


@dataclass(frozen=True, slots=True, repr=False)
class SearchResult(_ShownValue):
    """A piece of a file that answers a query, and where it stands."""

    path: str
    snippet: str
    start_line: int
    end_line: int
    score: float
    source: Source = "memory"
    heading: str = ""
    explanation: Explanation | None = None

    @property
    def citation(self) -> str:
        """The place of the snippet, ``path#L3-L9``."""
        return citation(self.path, self.start_line, self.end_line)


class SearchResults(_Shown, list[SearchResult]):
    """Results, best first, and how they were found.

    Attributes:
        query: The query as it was given.
        mode: ``hybrid``, ``vector`` or ``keyword``.
        fallback: Why the mode is not ``hybrid``; None when it is, or when it was asked for.
        provider: Who made the vectors; None for keyword search.
        model: The embedding model; None for keyword search.
        warnings: What the user should know of this answer, a sentence each.
    """

    def __init__(
        self,
        results: Iterable[SearchResult] = (),
        *,
        query: str = "",
        mode: SearchMode = "keyword",
        fallback: str | None = None,
        provider: str | None = None,
        model: str | None = None,
        warnings: tuple[str, ...] = (),
    ) -> None:
        super().__init__(results)
        self.query = query
        self.mode: SearchMode = mode
        self.fallback = fallback
        self.provider = provider
        self.model = model
        self.warnings = warnings

    def __repr__(self) -> str:
        places = ", ".join(result.citation for result in self[:2]) + ", …" * (len(self) > 2)
        return f"<SearchResults {_brief.repr(self.query)}, {self.mode}, {len(self)}: {places}>"

    @overload
    def __getitem__(self, index: SupportsIndex, /) -> SearchResult: ...
    @overload
    def __getitem__(self, index: slice, /) -> SearchResults: ...
    def __getitem__(self, index: SupportsIndex | slice, /) -> SearchResult | SearchResults:
        """Return a result; some of them are `SearchResults` again, and show themselves."""
        if not isinstance(index, slice):
            return super().__getitem__(index)
        return SearchResults(
            super().__getitem__(index),
            query=self.query,
            mode=self.mode,
            fallback=self.fallback,
            provider=self.provider,
            model=self.model,
            warnings=self.warnings,
        )


@dataclass(frozen=True, slots=True, repr=False)
class Excerpt(_ShownValue):
    """Lines of a file, read from the disk.

    Attributes:
        path: The file, as search names it.
        text: The lines, joined as in the file; nothing is added.
        from_line: The first line of the text.
        lines: How many lines the text has.
        truncated: Whether the file goes on after the text.
        next_from: The line to go on from; None at the end of the file.
        status: ``ok``, or ``not_found`` with an empty text.
    """

    path: str
    text: str
    from_line: int
    lines: int
    truncated: bool
    next_from: int | None
    status: Literal["ok", "not_found"] = "ok"


@dataclass(frozen=True, slots=True, repr=False)
class IndexReport(_ShownValue):
    """What an index run did.

    Attributes:
        added: Files that were not in the index.
        updated: Files whose content had changed, or whose vectors were missing.
        removed: Files that are gone from the disk.
        unchanged: Files that were left as they are.
        chunks: Chunks in the index after the run.
        embedded: Texts sent to the embedder.
        cached: Texts whose vectors were at hand.
        failed: ``(path, reason)`` of each file that could not be indexed as it should.
        seconds: How long the run took.
    """

    added: int = 0
    updated: int = 0
    removed: int = 0
    unchanged: int = 0
    chunks: int = 0
    embedded: int = 0
    cached: int = 0
    failed: tuple[tuple[str, str], ...] = ()
    seconds: float = 0.0


@dataclass(frozen=True, slots=True, repr=False)
class Status(_ShownValue):
    """The state of a memory: what is indexed, by what, and what is out of date.

    Attributes:
        files: Files in the index.
        chunks: Chunks in the index.
        provider: Who makes the vectors; None for keyword search only.
        model: The embedding model; None for keyword search only.
        dimension: Length of a vector; None while there is none.
        vector_engine: What compares vectors, or why nothing does.
        keyword_engine: What finds words.
        stale: ``(path, reason)`` of each file that the index does not show as it is on disk.
        warnings: What is not as it should be, and what to do about it, a sentence each.
        workspace: The folder.
        index_path: The index file.
    """

    files: int
    chunks: int
    provider: str | None
    model: str | None
    dimension: int | None
    vector_engine: str
    keyword_engine: str
    stale: tuple[tuple[str, str], ...] = ()
    warnings: tuple[str, ...] = ()
    workspace: str = ""
    index_path: str = ""
    details: dict[str, str] = field(default_factory=dict)
    """What ``deep=True`` probed, by name."""


@dataclass(frozen=True, slots=True)
class ToolCall:
    """A model's call of a tool.

    Attributes:
        name: The tool.
        arguments: What the model sent: a mapping, or whatever else it was.
        id: By which the answer is told to belong to the call.
    """

    name: str
    arguments: Any = None
    id: str = ""


@dataclass(frozen=True, slots=True)
class FlushMessage:
    """A message of a conversation, as plain text; the frameworks' adapters convert theirs.

    Attributes:
        role: Who speaks; ``tool`` is the answer to a call.
        text: What is said.
        tool_calls: What the assistant calls.
        call_id: The call that a ``tool`` message answers.
        name: The tool that answers.
        at: When it was said, aware; None where that is not known.
    """

    role: Literal["user", "assistant", "tool", "system"]
    text: str
    tool_calls: tuple[ToolCall, ...] = ()
    call_id: str = ""
    name: str = ""
    at: datetime | None = None


FlushReason = Literal["tokens", "transcript", "compaction", "session_end", "journal"]
"""What made a flush run: the tokens or the bytes of a conversation, a compaction, the end of the
session; or an earlier flush had not come to its end and was found in the journal."""


@dataclass(frozen=True, slots=True, repr=False)
class FlushReport(_ShownValue):
    """What a flush did.

    Attributes:
        reason: What made it run.
        thread: The conversation.
        path: The log that was written; None when nothing was.
        notes: The notes as they were handed to the log, secrets masked.
        messages: How many messages were at stake.
        tokens: How many tokens those are.
        seconds: How long it took.
        skipped: Why nothing was tried; None when something was.
        failed: What went wrong; None when nothing did.
        transcript: The session file that keeps the messages after the last attempt failed.
        safe: Whether the messages survive a compaction and a crash: written down, in the journal,
            or in a session file. When it is false, keep the conversation as it is if you can.
    """

    reason: FlushReason
    thread: str = ""
    path: str | None = None
    notes: tuple[str, ...] = ()
    messages: int = 0
    tokens: int = 0
    seconds: float = 0.0
    skipped: str | None = None
    failed: str | None = None
    transcript: str | None = None
    safe: bool = True

    def __str__(self) -> str:
        from commonplace.display import one_line  # a provider's words may hold anything

        if self.skipped:
            outcome = f"skipped: {one_line(self.skipped)}"
        elif self.failed:
            outcome = f"failed: {one_line(self.failed)}"
        else:
            count = len(self.notes)
            outcome = f"{count} note{'s' * (count != 1)}" + (f" to {self.path}" * bool(count))
        return (
            f"flush ({self.reason}): {outcome}; {self.messages} messages, {self.tokens} tokens, "
            f"{self.seconds:.1f} s"
        )
