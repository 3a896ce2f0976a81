"""Ranking of whole chunks, step by step as OpenClaw 2026.3.24 does it; see SPEC.md, Search."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime
from typing import Literal

from commonplace.compat.openclaw.keywords import bm25_rank_to_score, extract_keywords, query_words
from commonplace.compat.openclaw.log_dates import openclaw_is_evergreen
from commonplace.retrieval.decay import age_days, decay_factor
from commonplace.retrieval.mmr import TokenSets, mmr_order, tokenize
from commonplace.retrieval.query import MAX_CANDIDATES, SNIPPET_CHARS, Query, Ranking
from commonplace.settings import SearchSettings
from commonplace.store.base import Snapshot
from commonplace.store.records import FileRecord, StoredChunk
from commonplace.text.analysis import Term
from commonplace.types import Explanation, SearchResult

__all__ = ["ChunkRanker"]


@dataclass(frozen=True, slots=True)
class _Candidate:
    seq: int
    vector: float | None
    keyword: float | None
    fused: float
    age_days: float | None = None
    decay: float = 1.0
    mmr: float | None = None

    @property
    def score(self) -> float:
        return self.fused * self.decay


class ChunkRanker:
    """Ranker of whole chunks: merge, decay, MMR, `min_score`."""

    decays: Literal["score"] = "score"

    def __init__(self, settings: SearchSettings) -> None:
        self._settings = settings

    def question_in(self, text: str) -> str:
        """Return a text as it is."""
        return text

    def rank(self, snapshot: Snapshot, query: Query, *, explain: bool = False) -> Ranking:
        """Answer a query with whole chunks, each by the first characters of its text."""
        results = _ranked(snapshot, query, self._settings)
        if not explain:
            results = [replace(result, explanation=None) for result in results]
        return Ranking(results)

    def undated_age(self, record: FileRecord, now: datetime) -> float | None:
        """Return the days since a file's last change; None for an evergreen file."""
        if _is_ageless(record):
            return None
        return _days_since_change(record, now)

    def decay_factors(
        self, ages: Sequence[float], *, half_life_days: float | None = None
    ) -> list[float]:
        """Return the factors on a chunk's score."""
        settings = self._settings
        if not settings.decay:
            return [1.0] * len(ages)
        return [decay_factor(age, half_life_days or settings.half_life_days) for age in ages]


def _ranked(snapshot: Snapshot, query: Query, settings: SearchSettings) -> list[SearchResult]:
    limit = query.limit or -(-query.max_chars // SNIPPET_CHARS)
    pool = min(MAX_CANDIDATES, limit * settings.candidate_multiplier)
    bar = query.min_score
    if query.found is not None:  # that build takes over QMD's order, and has no bar of its own
        candidates = [_Candidate(seq, None, None, it) for seq, it in query.found.scores.items()]
        bar = 0.0 if bar == settings.min_score else bar
        settings = replace(settings, decay=False, mmr=False)
    elif query.vector is None:
        candidates = _by_keywords(snapshot, query, pool)
        # Results of keyword search alone neither decay nor are diversified.
        settings = replace(settings, decay=False, mmr=False)
    else:
        candidates = _merged(snapshot, query, pool, settings)
    stored = snapshot.chunks([candidate.seq for candidate in candidates])
    candidates = [candidate for candidate in candidates if candidate.seq in stored]
    if settings.decay:
        candidates = [
            _aged(candidate, _age(stored[candidate.seq], snapshot, query.now), settings)
            for candidate in candidates
        ]
    candidates.sort(key=lambda candidate: _order(candidate, stored[candidate.seq]))
    if settings.mmr:
        candidates = _diverse(candidates, stored, settings.mmr_lambda)
    chosen = [candidate for candidate in candidates if candidate.score >= bar]
    if not chosen and query.vector is not None:
        chosen = _found_by_words(candidates, stored, query, settings)
    return [_result(c, stored[c.seq], query.text) for c in chosen[:limit]]


def _by_keywords(snapshot: Snapshot, query: Query, pool: int) -> list[_Candidate]:
    """Search for each keyword by itself and keep the best score of a chunk."""
    best: dict[int, float] = {}
    for keyword in extract_keywords(query.text) or [query.text]:
        for seq, score in _match(snapshot, keyword, pool, query, every=True):
            best[seq] = max(best.get(seq, 0.0), score)
    return [_Candidate(seq, None, score, score) for seq, score in best.items()]


def _merged(
    snapshot: Snapshot, query: Query, pool: int, settings: SearchSettings
) -> list[_Candidate]:
    assert query.vector is not None
    weights = _normalized_weights(settings)
    keyword: dict[int, float] = {}
    if settings.text_weight:
        keyword = dict(_match(snapshot, query.text, pool, query, every=settings.operator == "and"))
    vector: dict[int, float] = {}
    if query.vector.any():
        vector = dict(snapshot.nearest(query.vector, pool, query.rows))
    if not settings.text_weight:
        return [_Candidate(seq, score, None, score) for seq, score in vector.items()]
    return [
        _Candidate(
            seq,
            vector.get(seq),
            keyword.get(seq),
            _weighted_score(vector.get(seq), keyword.get(seq), weights),
        )
        for seq in dict.fromkeys([*vector, *keyword])
    ]


def _match(
    snapshot: Snapshot, text: str, limit: int, query: Query, *, every: bool
) -> list[tuple[int, float]]:
    words = [Term(word, word) for word in query_words(text)]
    hits = snapshot.match(words, every=every, limit=limit, rows=query.rows)
    return [(seq, bm25_rank_to_score(-bm25)) for seq, bm25 in hits]


def _age(chunk: StoredChunk, snapshot: Snapshot, now: datetime) -> float | None:
    """Return the days since a dated log's day, or since any other file's last change.

    An evergreen file has no age.
    """
    if chunk.day is not None:
        return age_days(date.fromordinal(chunk.day), now)
    if _is_ageless(chunk):
        return None
    record = snapshot.file(chunk.path)
    assert record is not None  # a chunk is never without its file
    return _days_since_change(record, now)


def _is_ageless(place: StoredChunk | FileRecord) -> bool:
    return place.source == "memory" and openclaw_is_evergreen(place.path)


def _days_since_change(record: FileRecord, now: datetime) -> float:
    changed = datetime.fromtimestamp(record.mtime_ns / 1e9, UTC)
    return max(0.0, (now - changed).total_seconds() / 86_400)


def _aged(candidate: _Candidate, age: float | None, settings: SearchSettings) -> _Candidate:
    if age is None:
        return candidate
    return replace(candidate, age_days=age, decay=decay_factor(age, settings.half_life_days))


def _order(candidate: _Candidate, chunk: StoredChunk) -> tuple[float, str, int]:
    return (-candidate.score, chunk.path, chunk.start_line)


def _diverse(
    candidates: Sequence[_Candidate], stored: dict[int, StoredChunk], lambda_: float
) -> list[_Candidate]:
    tokens = TokenSets([_head(stored[c.seq].text) for c in candidates], tokenize)
    picks = mmr_order([c.score for c in candidates], tokens, lambda_=lambda_)
    return [replace(candidates[pick.candidate], mmr=pick.value) for pick in picks]


def _found_by_words(
    candidates: Sequence[_Candidate],
    stored: dict[int, StoredChunk],
    query: Query,
    settings: SearchSettings,
) -> list[_Candidate]:
    """Where nothing reaches `min_score`, keep what keywords found, with a lower bound.

    Chunks are compared by their line ranges, so parts of one long line count together.
    """
    bar = min(query.min_score, _normalized_weights(settings)[1])
    found = {_place(stored[c.seq]) for c in candidates if c.keyword is not None}
    return [c for c in candidates if c.score >= bar and _place(stored[c.seq]) in found]


def _place(chunk: StoredChunk) -> tuple[str, int, int]:
    return chunk.path, chunk.start_line, chunk.end_line


def _result(candidate: _Candidate, chunk: StoredChunk, query: str) -> SearchResult:
    present = {word.lower() for word in query_words(chunk.text)}
    terms = dict.fromkeys(word.lower() for word in query_words(query))
    return SearchResult(
        path=chunk.path,
        snippet=_head(chunk.text),
        start_line=chunk.start_line,
        end_line=chunk.end_line,
        score=min(1.0, candidate.score),  # a cosine may be 1.0000001
        source=chunk.source,
        heading=chunk.heading,
        explanation=Explanation(
            vector=candidate.vector,
            keyword=candidate.keyword,
            fused=candidate.fused,
            age_days=candidate.age_days,
            decay=candidate.decay,
            mmr=candidate.mmr,
            terms=tuple(term for term in terms if term in present),
            day=None if chunk.day is None else date.fromordinal(chunk.day).isoformat(),
        ),
    )


def _head(text: str) -> str:
    """The first `SNIPPET_CHARS` UTF-16 units of a text, no character broken."""
    if len(text) * 2 <= SNIPPET_CHARS or (text.isascii() and len(text) <= SNIPPET_CHARS):
        return text
    return text.encode("utf-16-le")[: 2 * SNIPPET_CHARS].decode("utf-16-le", "ignore")


def _normalized_weights(settings: SearchSettings) -> tuple[float, float]:
    """Return the weights of vectors and words, scaled to sum to 1."""
    total = settings.vector_weight + settings.text_weight
    return settings.vector_weight / total, settings.text_weight / total


def _weighted_score(
    vector: float | None, keyword: float | None, weights: tuple[float, float]
) -> float:
    """Merge two scores; a missing one counts as 0."""
    return weights[0] * (vector or 0.0) + weights[1] * (keyword or 0.0)
