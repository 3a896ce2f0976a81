"""The reference's search once more, from its description alone (REFERENCE.md 2.4 to 2.10).

Plain and slow on purpose: bare FTS5, cosines in float64, no code of `commonplace.retrieval` but for
the keyword extraction, which has vectors of its own.
"""

from __future__ import annotations

import hashlib
import math
import re
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path

import apsw

from commonplace.compat.openclaw.chunking import openclaw_chunks
from commonplace.compat.openclaw.keywords import extract_keywords

MAX_BYTES = 8000
DATED = re.compile(r"(^|/)memory/(\d{4})-(\d{2})-(\d{2})\.md$")


@dataclass(frozen=True, eq=False)
class Row:
    id: str
    path: str
    source: str
    start: int
    end: int
    hash: str
    text: str
    vector: tuple[float, ...]


@dataclass(frozen=True, eq=False)
class Hit:
    row: Row
    score: float
    vector: float | None = None
    keyword: float | None = None

    @property
    def place(self) -> tuple[str, int, int]:
        return self.row.path, self.row.start, self.row.end


@dataclass(frozen=True)
class Options:
    max_results: int = 6
    min_score: float = 0.35
    multiplier: int = 4
    weights: tuple[float, float] = (0.7, 0.3)
    half_life_days: float | None = None
    mmr_lambda: float | None = None
    sources: Collection[str] | None = None


class ReferenceSearch:
    """An index of the files named, in their order; without an `embed` it has no vectors."""

    def __init__(
        self,
        root: Path,
        paths: Sequence[str],
        *,
        embed: Callable[[str], Sequence[float]] | None,
        model: str,
        now: datetime,
    ) -> None:
        self.root, self.now, self.embed = root, now, embed
        self.model = model if embed else "fts-only"
        self.rows = [row for path in paths for row in self._rows(path)]
        self.db = apsw.Connection(":memory:")
        self.db.execute(
            "CREATE VIRTUAL TABLE fts USING fts5(text, id UNINDEXED, path UNINDEXED, "
            "source UNINDEXED, model UNINDEXED, start_line UNINDEXED, end_line UNINDEXED)"
        )
        for number, row in enumerate(self.rows):
            self.db.execute(
                "INSERT INTO fts(rowid, text, id, path, source, model, start_line, end_line) "
                "VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
                (number, row.text, row.id, row.path, row.source, self.model, row.start, row.end),
            )

    def _rows(self, path: str) -> list[Row]:
        text = (self.root / path).read_bytes().decode("utf-8")
        rows = []
        for chunk in openclaw_chunks(text, tokens=400, overlap=80):
            if not chunk.text.strip():
                continue
            for part in parts_within(chunk.text):
                digest = sha256(part)
                place = f"memory:{path}:{chunk.start_line}:{chunk.end_line}"
                vector = tuple(self.embed(part)) if self.embed else ()
                row_id = sha256(f"{place}:{digest}:{self.model}")
                lines = chunk.start_line, chunk.end_line
                rows.append(Row(row_id, path, "memory", *lines, digest, part, vector))
        return rows

    def search(self, query: str, options: Options) -> list[Hit]:
        query = query.strip()
        if not query:
            return []
        pool = min(200, max(1, options.max_results * options.multiplier))
        if self.embed is None:
            return self._keywords_only(query, options, pool)
        keyword = self._matches(query, pool, options.sources)
        vector = self._nearest(self.embed(query), pool, options.sources)
        hits = self._merged(vector, keyword, options.weights)
        if options.half_life_days is not None:
            hits = [self._decayed(hit, options.half_life_days) for hit in hits]
        hits.sort(key=lambda hit: (-hit.score, *hit.place))
        if options.mmr_lambda is not None:
            hits = reranked(hits, options.mmr_lambda)
        strict = [hit for hit in hits if hit.score >= options.min_score]
        if strict or not keyword:
            return strict[: options.max_results]
        relaxed = min(options.min_score, options.weights[1])
        found = {self.rows[number] for number in keyword}
        places = {(row.source, row.path, row.start, row.end) for row in found}
        return [
            hit for hit in hits if (hit.row.source, *hit.place) in places and hit.score >= relaxed
        ][: options.max_results]

    def _keywords_only(self, query: str, options: Options, pool: int) -> list[Hit]:
        best: dict[int, float] = {}
        for term in extract_keywords(query) or [query]:
            for number, score in self._matches(term, pool, options.sources).items():
                best[number] = max(score, best.get(number, 0.0))
        hits = [Hit(self.rows[number], score, None, score) for number, score in best.items()]
        hits.sort(key=lambda hit: (-hit.score, *hit.place))
        return [hit for hit in hits if hit.score >= options.min_score][: options.max_results]

    def _matches(self, query: str, limit: int, sources: Collection[str] | None) -> dict[int, float]:
        words = re.findall(r"\w+", query)
        if not words or sources == []:
            return {}
        wanted = list(sources or ("memory", "sessions"))
        found = self.db.execute(
            "SELECT rowid, bm25(fts) AS rank FROM fts WHERE fts MATCH ? AND model = ? "
            f"AND source IN ({','.join('?' * len(wanted))}) ORDER BY rank, rowid LIMIT ?",
            (" AND ".join(f'"{word}"' for word in words), self.model, *wanted, limit),
        )
        return {number: -rank / (1 - rank) for number, rank in found}

    def _nearest(
        self, query: Sequence[float], limit: int, sources: Collection[str] | None
    ) -> dict[int, float]:
        if not any(query):
            return {}
        scores = [
            (cosine(query, row.vector), number)
            for number, row in enumerate(self.rows)
            if not sources or row.source in sources
        ]
        scores.sort(key=lambda score: (-score[0], score[1]))
        return {number: score for score, number in scores[:limit]}

    def _merged(
        self, vector: dict[int, float], keyword: dict[int, float], weights: tuple[float, float]
    ) -> list[Hit]:
        share = [weight / sum(weights) for weight in weights]
        hits = []
        for number in dict.fromkeys([*vector, *keyword]):
            parts = vector.get(number), keyword.get(number)
            score = sum(weight * (part or 0.0) for weight, part in zip(share, parts, strict=True))
            hits.append(Hit(self.rows[number], score, *parts))
        return hits

    def _decayed(self, hit: Hit, half_life_days: float) -> Hit:
        path = hit.row.path
        if dated := DATED.search(path):
            try:
                when = datetime(*map(int, dated.groups()[1:]), tzinfo=UTC).timestamp()
            except ValueError:
                when = (self.root / path).stat().st_mtime
        elif path in ("MEMORY.md", "memory.md") or path.startswith("memory/"):
            return hit
        else:
            when = (self.root / path).stat().st_mtime
        age = max(0.0, (self.now.timestamp() - when) / 86_400)
        return replace(hit, score=hit.score * math.exp(-math.log(2) / half_life_days * age))


def reranked(hits: list[Hit], lambda_: float) -> list[Hit]:
    """Pick by MMR, comparing everything with everything."""
    if lambda_ == 1 or len(hits) < 2:
        return hits
    tokens = {hit: set(re.findall(r"[a-z0-9_]+", snippet(hit.row.text).lower())) for hit in hits}
    low, high = min(hit.score for hit in hits), max(hit.score for hit in hits)
    like = dict.fromkeys(hits, 0.0)
    left, picked = list(hits), []
    while left:

        def value(hit: Hit) -> tuple[float, float]:
            relevance = (hit.score - low) / (high - low) if high > low else 1.0
            return lambda_ * relevance - (1 - lambda_) * like[hit], hit.score

        best = max(left, key=value)
        left.remove(best)
        picked.append(best)
        for hit in left:
            like[hit] = max(like[hit], jaccard(tokens[hit], tokens[best]))
    return picked


def jaccard(a: set[str], b: set[str]) -> float:
    return len(a & b) / len(a | b) if a or b else 1.0


def cosine(a: Sequence[float], b: Sequence[float]) -> float:
    lengths = math.sqrt(sum(x * x for x in a)) * math.sqrt(sum(x * x for x in b))
    return sum(x * y for x, y in zip(a, b, strict=True)) / lengths if lengths else 0.0


def snippet(text: str) -> str:
    """The first 700 UTF-16 units; a pair that would be cut is left out."""
    kept, units = "", 0
    for character in text:
        units += 2 if ord(character) > 0xFFFF else 1
        if units > 700:
            break
        kept += character
    return kept


def parts_within(text: str) -> list[str]:
    """Cut a text into parts of at most 8,000 bytes, whole characters."""
    parts, part, size = [], "", 0
    for character in text:
        length = len(character.encode())
        if size + length > MAX_BYTES:
            parts.append(part)
            part, size = "", 0
        part += character
        size += length
    return [*parts, part]


def sha256(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()
