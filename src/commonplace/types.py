"""Value types of Commonplace: frozen, slotted, made of plain types.

Lines count from 1 and both ends of a range are included. A score is higher for better and lies in
0..1. Paths are POSIX and relative to the workspace (``../x.md`` for an extra path outside it).

Values show themselves in notebooks and terminals; see `commonplace.renderers`.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import date, datetime
from pathlib import Path
from typing import Any, Literal, NamedTuple, SupportsIndex, get_args, overload

from commonplace.renderers import Displayed, DisplayedDataclass, brief, registered

__all__ = [
    "USER",
    "Author",
    "BlameLine",
    "Change",
    "Chunk",
    "ChunkPlace",
    "Excerpt",
    "Explanation",
    "FlushMessage",
    "FlushReason",
    "FlushReport",
    "ForgetReceipt",
    "IndexReport",
    "MemoryFile",
    "Origin",
    "SearchMode",
    "SearchResult",
    "SearchResults",
    "Source",
    "Status",
    "Supersession",
    "SupersessionReason",
    "ToolCall",
    "Version",
    "checked_text",
    "citation",
]

Source = Literal["memory", "sessions"]
"""Origin of a text: the Markdown memory, or the transcripts of sessions."""

SearchMode = Literal["hybrid", "vector", "keyword"]
"""Signals of an answer: vectors and words, or one of the two."""


def citation(path: str, start_line: int, end_line: int) -> str:
    """Return the citation of a line range: ``MEMORY.md#L3`` or ``MEMORY.md#L3-L9``."""
    if start_line == end_line:
        return f"{path}#L{start_line}"
    return f"{path}#L{start_line}-L{end_line}"


_URL = re.compile(r"[A-Za-z][A-Za-z0-9+.-]+:[/\\]")
"""Two characters at least before the colon: ``C:/`` is a drive."""


def is_url(path: str | os.PathLike[str]) -> bool:
    """Return whether a path is a URL, such as ``postgresql://host/notes``, also as a `Path`.

    A `Path` has one slash of the two. Such a path is not shown: it may hold a password.
    """
    return _URL.match(os.fspath(path)) is not None


def checked_text(name: str, value: object) -> str:
    """Return a text that a caller gave as an argument.

    Raises:
        TypeError: It is none.
    """
    if not isinstance(value, str):
        raise TypeError(f"{name} is {brief.repr(value)}; a text was expected.")
    return value


@dataclass(frozen=True, slots=True)
class MemoryFile:
    """File on disk that belongs to the memory, as the walk of the workspace found it."""

    path: str
    absolute: Path
    source: Source
    size: int
    mtime_ns: int
    date: date | None
    """Day of a dated log; None for an evergreen file."""
    stamp: str = ""
    """What else differs when the content does: the file's number, and the time of its last change
    of any kind, which no program can set."""


@dataclass(frozen=True, slots=True)
class Chunk:
    """Run of whole lines, or part of one overlong line, that is indexed as one text."""

    start_line: int
    end_line: int
    text: str
    hash: str
    """SHA-256 of the text in UTF-8, in hexadecimal."""
    heading: str = ""
    """Headings above the first line, outermost first, joined by `` > ``."""
    context: str = ""
    """Table header or opening fence above the first line, where it is in a table or code block."""
    labelled: bool = False
    """Whether the first line holds the tags and aliases of the file's front matter. It takes the
    place of the line that ends the front matter, and is found but never shown."""


class ChunkPlace(NamedTuple):
    """Place of a chunk in its file, and what stands there; fields as in `Chunk`.

    `seq` is the number of the chunk in its index, as in `StoredChunk`.
    """

    start_line: int
    end_line: int
    hash: str
    heading: str
    context: str
    seq: int


@dataclass(frozen=True, slots=True)
class Explanation:
    """Score of one result, broken down by ranking stage.

    Stages score lines, and the values describe the snippet. With `Settings.openclaw`, stages
    score whole chunks; parentheses below give that meaning.

    Attributes:
        vector: Cosine similarity of the query and the nearest line (the chunk), -1..1; None without
            a vector, and for a chunk that only the keyword search found.
        keyword: Share of the query's words in the snippet, rare words weighted higher (the chunk's
            BM25, scaled), 0..1; None where no word of the query occurs.
        fused: Score before age and repetition count.
        age_days: Days since the file's date; None for a file that does not age.
        decay: Factor of age, 0..1, on the best line's evidence (on the score).
        mmr: Factor of repetition, 0..1, on the best line's evidence; only the smaller one of this
            and `decay` counts. (Marginal relevance at which the chunk was selected, -1..1.) None
            when it is off.
        terms: Terms of the query in the snippet, as they are indexed (stemmed). (Words of the query
            in the chunk.)
        rerank: Score that the reranker gave to the snippet, on its own scale; None without one.
        supersessions: Lines of the snippet that stand back for others, and others that stand back
            for lines of the snippet.
        day: Day of the log, or of the session's message, as ISO text; None for a file without one.
    """

    vector: float | None
    keyword: float | None
    fused: float
    age_days: float | None
    decay: float
    mmr: float | None
    terms: tuple[str, ...]
    rerank: float | None = None
    supersessions: tuple[Supersession, ...] = ()
    day: str | None = None


SupersessionReason = Literal["struck", "key", "value", "cue", "doubt", "relative"]
"""Why a line stands back: it is struck through; a newer line has another value of its key, or says
the same with another value, or has a cue of a correction; or the line only asks, plans or quotes,
or speaks of another person, as of a relative, of another one's thing, or changes another matter."""


@dataclass(frozen=True, slots=True)
class Supersession:
    """Order of two lines of which one stands back for the other, at the time that was asked for.

    Attributes:
        first: Citation of the line that comes first.
        behind: Citation of the line that stands back.
        reason: Why it does.
    """

    first: str
    behind: str
    reason: SupersessionReason

    def __str__(self) -> str:
        return f"{self.behind} stands back for {self.first} ({self.reason})"


Author = Literal["user", "agent", "tool", "untrusted"]
"""Author of a text, from the most trusted to the least."""


@dataclass(frozen=True, slots=True)
class Origin:
    """Origin of a text: its author, and the conversation and the tool that it came through.

    Attributes:
        author: ``user``, ``agent``, ``tool`` (its output), or ``untrusted`` (from outside, such as
            a page or a mail).
        session: Conversation; None where there is none.
        tool: Tool or importer that wrote it; None for none.
    """

    author: Author
    session: str | None = None
    tool: str | None = None

    def __post_init__(self) -> None:
        authors = get_args(Author)
        if self.author not in authors:
            raise ValueError(
                f"author is {self.author!r}; expected is one of {', '.join(map(repr, authors))}."
            )


USER = Origin("user")
"""Origin of all that no ledger says something else about."""


@dataclass(frozen=True, slots=True, repr=False)
class SearchResult(DisplayedDataclass):
    """Passage of a file that answers a query, with its place and score.

    Attributes:
        path: File.
        snippet: Passage, verbatim. A code block ends within it, unless all of it is code.
        start_line: First line that it shows.
        end_line: Last line that it shows.
        score: Score, 0..1.
        source: ``memory`` or ``sessions``.
        heading: Headings above the first line.
        explanation: What each stage of the search gave to the score; None without ``explain``.
        metadata: Front matter of the file, as JSON values; empty without any.
        origin: Origin of the least trusted of the lines shown.
        untrusted: Numbers of the lines shown that are untrusted; tools quote them as such. Lines of
            the context count as those right above the first line.
        context: Lines above that a reader of the snippet needs: the opening fence of a code block,
            a table's header and delimiter rows, without padding, the items that a list item lies
            in; empty for most.
        best_line: Number of the line with the most evidence, headings aside; None where whole
            chunks are ranked.
    """

    path: str
    snippet: str
    start_line: int
    end_line: int
    score: float
    source: Source = "memory"
    heading: str = ""
    explanation: Explanation | None = None
    metadata: Mapping[str, Any] = field(default_factory=dict, hash=False)
    origin: Origin = USER
    untrusted: tuple[int, ...] = ()
    context: str = ""
    best_line: int | None = None

    @property
    def chars(self) -> int:
        """Characters of the snippet and its context."""
        return len(self.snippet) + len(self.context)

    @property
    def citation(self) -> str:
        """Citation of the snippet, ``path#L3-L9``."""
        return citation(self.path, self.start_line, self.end_line)


class SearchResults(Displayed, list[SearchResult]):
    """List of results, best first, with the way they were found.

    Attributes:
        query: Query as it was given.
        mode: ``hybrid``, ``vector`` or ``keyword``.
        fallback: Reason why the mode is not ``hybrid``, or why the order is without the reranker;
            None when it is hybrid, or when the mode was requested.
        provider: Provider of the vectors; None for keyword search.
        model: Embedding model; None for keyword search.
        warnings: Warnings about this answer, a sentence each.
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

    @property
    def fallback_notice(self) -> str | None:
        """Fallback as a warning: it names the mode where that is not ``hybrid``."""
        if self.fallback is None or self.mode == "hybrid":
            return self.fallback
        return f"{self.mode} search only: {self.fallback}"

    def __repr__(self) -> str:
        # A `repr` escapes what a terminal would act on: a file's name may hold anything.
        cited = (repr(result.citation)[1:-1] for result in self[:2])
        places = ", ".join(cited) + ", …" * (len(self) > 2)
        return f"<SearchResults {brief.repr(self.query)}, {self.mode}, {len(self)}: {places}>"

    @overload
    def __getitem__(self, index: SupportsIndex, /) -> SearchResult: ...
    @overload
    def __getitem__(self, index: slice, /) -> SearchResults: ...
    def __getitem__(self, index: SupportsIndex | slice, /) -> SearchResult | SearchResults:
        """Return a result; a slice returns `SearchResults`, with the same display."""
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
class Excerpt(DisplayedDataclass):
    """Lines of a file, read from the disk.

    Attributes:
        path: File, as search names it.
        text: Lines, joined as in the file; nothing is added.
        from_line: First line of the text.
        lines: Number of lines of the text.
        truncated: Whether the file has lines after the text.
        next_from: Line to continue from; None at the end of the file.
        status: ``ok``, or ``not_found`` with an empty text.
        version: SHA-256 of the whole file's bytes, as `if_version` takes it; empty without a file,
            and for a session file.
        metadata: Front matter of the file, as JSON values; empty without any.
        untrusted: Numbers of the lines of the text that are untrusted; tools quote them as such.
    """

    path: str
    text: str
    from_line: int
    lines: int
    truncated: bool
    next_from: int | None
    status: Literal["ok", "not_found"] = "ok"
    version: str = ""
    metadata: Mapping[str, Any] = field(default_factory=dict, hash=False)
    untrusted: tuple[int, ...] = ()


Change = Literal[
    "found",
    "created",
    "changed",
    "gone",
    "write",
    "edit",
    "correct",
    "append",
    "delete",
    "move",
    "undo",
    "import",
    "expire",
    "forget",
]
"""Kind of a version. ``found``: the note as it was when history began, or when it was first met;
``created``, ``changed`` and ``gone``: by another program; the others: by the verb of that name."""


@dataclass(frozen=True, slots=True, repr=False)
class Version(DisplayedDataclass):
    """State of a note after a change.

    Attributes:
        id: Number of the change, as `Memory.undo` takes it. A change group, such as an import, and
            a move have one for all of their notes.
        path: Note.
        when: Time of the change, aware, in UTC; of another program's, when the file was written.
        change: Kind of the change.
        origin: Author of the change; None for another program's, and for a user's.
        size: Bytes of the file; 0 for a note that was deleted.
        hash: SHA-256 of the file's bytes, as `if_version` takes it; empty for a note that was
            deleted.
        moved_from: Path that the note had before it was moved; None for every other change.
        notes: Number of the notes that a change group changed, in the history of all notes, where
            it is one entry with the path of its first note; 1 for every other change.
    """

    id: int
    path: str
    when: datetime
    change: Change
    origin: Origin | None = None
    size: int = 0
    hash: str = ""
    moved_from: str | None = None
    notes: int = 1


@dataclass(frozen=True, slots=True, repr=False)
class BlameLine(DisplayedDataclass):
    """Line of a note with the change that it came with.

    Attributes:
        line: Number of the line, from 1.
        version: Change that brought the line; None where history does not reach back to it.
        origin: Origin of the line.
        text: The line.
    """

    line: int
    version: Version | None
    origin: Origin = USER
    text: str = ""


@dataclass(frozen=True, slots=True, repr=False)
class ForgetReceipt(DisplayedDataclass):
    """Receipt of `Memory.forget`: what went, without repeating it.

    Attributes:
        removed: Number of removed items by kind, such as ``lines``, ``versions`` or ``chunks``.
        unreachable: What may still hold the text and cannot be reached, a sentence each.
        dry_run: Whether nothing was removed yet.
        places: With `dry_run`, citations of what would go.
    """

    removed: Mapping[str, int] = field(default_factory=dict)
    unreachable: tuple[str, ...] = ()
    dry_run: bool = False
    places: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, repr=False)
class IndexReport(DisplayedDataclass):
    """Report of an index run.

    Attributes:
        added: Files that were not in the index.
        updated: Files whose content had changed, or whose vectors were missing.
        removed: Files that are gone from the disk.
        unchanged: Files that were skipped.
        chunks: Chunks in the index after the run.
        embedded: Texts sent to the embedder.
        cached: Texts whose vectors came from the cache.
        failed: ``(path, reason)`` of each file that could not be indexed as it should.
        seconds: Duration of the run.
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


@dataclass(frozen=True, slots=True)
class ServerStatus:
    """State of an index on a server, which several hosts share.

    Attributes:
        leader: Process that has the folder and serves the memory, such as ``process 4711 on
            host``; None while none does.
        leading_since: Time since when it leads, aware; None where the role may not know.
        waiting: Changes of hosts without the folder that are not in the files yet.
        waiting_since: Time of the oldest of them, aware; None without any.
        connections: Connections of Commonplace to the database, of this and other memories in it.
        table_bytes: Size of each kind of table, with its indexes; those of a rebuild are included.
        freshness: How this process notices what others write; empty while it only looks when it is
            asked.
    """

    leader: str | None = None
    leading_since: datetime | None = None
    waiting: int = 0
    waiting_since: datetime | None = None
    connections: int = 0
    table_bytes: dict[str, int] = field(default_factory=dict)
    freshness: str = ""


@dataclass(frozen=True, slots=True, repr=False)
class Status(DisplayedDataclass):
    """State of a memory: what is indexed, by which embedder, and what is out of date.

    Attributes:
        files: Files in the index.
        chunks: Chunks in the index.
        provider: Provider of the vectors; None for keyword search only.
        model: Embedding model; None for keyword search only.
        dimension: Length of a vector; None while there is none.
        vector_engine: Engine that compares vectors, or the reason why there is none.
        keyword_engine: Engine that finds words.
        stale: ``(path, reason)`` of each file whose index entry differs from the disk.
        warnings: Problems and what to do about them, a sentence each.
        workspace: Folder of the notes.
        index_location: Path of the index file, or URL of the index.
        server: State of an index on a server; None for one of this machine.
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
    index_location: str = ""
    details: dict[str, str] = field(default_factory=dict)
    """Results of the probes of ``deep=True``, by name."""
    server: ServerStatus | None = None


@dataclass(frozen=True, slots=True)
class VerifyReport:
    """Outcome of `Memory.verify`: what was read, what is wrong, and what was mended.

    Attributes:
        files: Files in the index that were compared with the disk.
        chunks: Chunks of them.
        entries: Entries of the flush journal.
        versions: Versions in the history.
        problems: ``(part, what)`` of all that is wrong; a part is a file, ``index``, ``journal`` or
            ``history``.
        repaired: The same of what was wrong and is mended.
    """

    files: int
    chunks: int
    entries: int
    versions: int
    problems: tuple[tuple[str, str], ...] = ()
    repaired: tuple[tuple[str, str], ...] = ()

    @property
    def ok(self) -> bool:
        """Whether nothing is wrong."""
        return not self.problems


@dataclass(frozen=True, slots=True)
class ToolCall:
    """Call of a tool by a model.

    Attributes:
        name: Name of the tool.
        arguments: Arguments as the model sent them: a mapping, or any other value.
        id: Identifier that links the tool's answer to the call.
    """

    name: str
    arguments: Any = None
    id: str = ""


@dataclass(frozen=True, slots=True)
class FlushMessage:
    """Message of a conversation, as plain text; the frameworks' adapters convert theirs.

    Attributes:
        role: Speaker; ``tool`` is the answer to a call.
        text: Text of the message.
        tool_calls: Calls that the assistant makes.
        call_id: Call that a ``tool`` message answers.
        name: Tool that answers.
        at: Time of the message, aware; None where that is not known.
    """

    role: Literal["user", "assistant", "tool", "system"]
    text: str
    tool_calls: tuple[ToolCall, ...] = ()
    call_id: str = ""
    name: str = ""
    at: datetime | None = None


FlushReason = Literal["tokens", "transcript", "compaction", "session_end", "journal"]
"""Trigger of a flush: tokens or bytes of a conversation, a compaction, the end of the session,
or an unfinished entry of the journal."""


@dataclass(frozen=True, slots=True, repr=False)
class FlushReport(DisplayedDataclass):
    """Report of a flush.

    Attributes:
        reason: Trigger of the flush.
        thread: Conversation.
        path: Log that was written; None when nothing was.
        notes: Notes as they were appended to the log, secrets masked.
        messages: Number of messages to flush.
        tokens: Number of their tokens.
        seconds: Duration.
        skipped: Reason why no attempt was made; None when one was.
        failed: Failure of the attempt; None when it succeeded.
        transcript: Session file that keeps the messages after the last attempt failed.
        safe: Whether the messages survive a compaction and a crash: in a note, the journal or a
            session file. When it is false, keep the conversation as it is if you can.
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
        return registered().line(self)
