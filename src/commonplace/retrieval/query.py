"""Values of a search and the `Ranker` protocol: `Query`, `AnalyzedQuery`, `Evidence`, `Ranking`."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import TYPE_CHECKING, Literal, NamedTuple, Protocol

from commonplace.store.base import Snapshot
from commonplace.store.records import FileRecord, RowFilter, StoredChunk
from commonplace.types import SearchResult

if TYPE_CHECKING:
    from commonplace.retrieval.line_features import LineScores
    from commonplace.retrieval.precedence import Precedence
    from commonplace.retrieval.snippet_region import Above
    from commonplace.retrieval.snippets import Window
    from commonplace.retrieval.term_matching import QueryTerms
    from commonplace.text.analysis import Term
    from commonplace.text.time_expressions import Days
    from commonplace.vectors import Vector

__all__ = [
    "MAX_CANDIDATES",
    "MAX_CHARS",
    "SNIPPET_CHARS",
    "AnalyzedQuery",
    "Evidence",
    "FoundChunks",
    "FoundLine",
    "FoundLines",
    "Query",
    "Ranker",
    "Ranking",
]

SNIPPET_CHARS = 700
"""Length of a snippet in characters, at most."""

MAX_CHARS = 4_200
"""Characters of an answer's snippets, at most, unless the settings say otherwise."""

MAX_CANDIDATES = 200
"""Candidates of one list, at most."""


class FoundLine(NamedTuple):
    """A line that a finder beside the index named.

    Attributes:
        path: Its file, as search shows it.
        line: The line, from 1.
        score: The finder's own score, 0..1.
    """

    path: str
    line: int
    score: float


class FoundLines(NamedTuple):
    """Answer of a finder: lines of files, and which files it knows.

    Attributes:
        lines: The lines, best first.
        knows: Whether the finder holds a file, by its path.
        since_ns: Time from which on it has not read the files; those that were indexed later are
            found by the index.
    """

    lines: tuple[FoundLine, ...]
    knows: Callable[[str], bool]
    since_ns: int


class FoundChunks(NamedTuple):
    """Chunks of the index that hold what a finder named.

    Attributes:
        chunks: Those chunks with their neighbours, best first.
        scores: The finder's score of those that hold a line which it named, by seq.
        answers: Whether the index's own candidates of a file take part, by its path.
    """

    chunks: tuple[StoredChunk, ...]
    scores: Mapping[int, float]
    answers: Callable[[str], bool]


@dataclass(frozen=True, slots=True)
class Query:
    """A question to the index.

    Attributes:
        text: The question as it was asked.
        vector: Its vector; None for keyword search.
        now: Aware time from which ages and expressions such as "yesterday" count. Its date is
            the memory's today.
        limit: Results wanted, at most; None for as many as fit.
        min_score: Lower bound of a result's score.
        rows: Filter of the chunks that may answer.
        max_chars: Characters of all snippets, at most.
        found: Chunks that a finder beside the index named; None where the index finds them.
    """

    text: str
    vector: Vector | None
    now: datetime
    limit: int | None
    min_score: float
    rows: RowFilter = field(default_factory=RowFilter)
    max_chars: int = MAX_CHARS
    found: FoundChunks | None = None


@dataclass(frozen=True, slots=True)
class AnalyzedQuery:
    """A query with what the index says of its parts.

    Attributes:
        query: The query.
        terms: Its terms.
        hyponyms: Terms for what is of the kind that it asks for, those that bring candidates.
        days: Days that it names; None for none.
        only_days: The same days where it asks for nothing besides them, else None.
        mean: Mean of all lines' vectors; None where vectors take no part.
        direction: The query's vector less the mean; None where vectors take no part.
        places: Snippets of full length that fit into the answer.
    """

    query: Query
    terms: QueryTerms
    hyponyms: list[Term]
    days: Days | None
    only_days: Days | None
    mean: Vector | None
    direction: Vector | None
    places: int


class Evidence(NamedTuple):
    """Windows that may answer a query.

    Attributes:
        windows: The windows, best first.
        lines: The lines that they are made of.
        analyzed: The query.
        confidence: Confidence of the answer as a whole.
        precedences: Lines that stand back for others.
        above: Lines above those passages that begin within a list item, by passage.
    """

    windows: list[Window]
    lines: LineScores
    analyzed: AnalyzedQuery
    confidence: float
    precedences: tuple[Precedence, ...]
    above: Mapping[int, Above]


class Ranking(NamedTuple):
    """A ranker's answer.

    Attributes:
        results: Snippets, best first, each with a score of 0..1.
        fallback: Why a stage was skipped; None when every stage ran.
    """

    results: list[SearchResult]
    fallback: str | None = None


class Ranker(Protocol):
    """Ranking function of a profile; the one place where results are scored."""

    @property
    def decays(self) -> Literal["evidence", "score"]:
        """Quantity that temporal decay lowers: a line's evidence, or a chunk's score."""

    def question_in(self, text: str) -> str:
        """Return what a text asks for, which is embedded and ranked by."""

    def rank(self, snapshot: Snapshot, query: Query, *, explain: bool = False) -> Ranking:
        """Answer a query from one state of an index.

        Args:
            snapshot: The index.
            query: The question.
            explain: Whether each result carries what every stage gave to it.
        """

    def undated_age(self, record: FileRecord, now: datetime) -> float | None:
        """Return the age in days of a file without a date; None for a file that does not age."""

    def decay_factors(
        self, ages: Sequence[float], *, half_life_days: float | None = None
    ) -> list[float]:
        """Return the factors, 0..1, by which ages in days lower what decays.

        Args:
            ages: Days.
            half_life_days: Another half-life than that of the settings.
        """
