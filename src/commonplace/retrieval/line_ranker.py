"""Ranking lines: the candidates' lines are scored among each other, and shown in windows.

1. The vectors and the query's rarest words bring candidate chunks.
2. Their lines are scored: words, vectors, look, day; their own and their neighbours'.
3. The scores become shares of the evidence, and windows are packed to show as much as fits.
4. How well the best of it covers the question decides what the answer is worth as a whole.
"""

from __future__ import annotations

import functools
import itertools
import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from datetime import date, timedelta
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from commonplace.retrieval.calibration import confidence
from commonplace.retrieval.decay import age_days
from commonplace.retrieval.fusion import fused_ranking, normalized_weights
from commonplace.retrieval.line_features import (
    Nearness,
    Rows,
    form_scores,
    idf,
    nearness,
    shares,
    vector_scores,
    word_scores,
)
from commonplace.retrieval.passages import PassageTable, build_pool
from commonplace.retrieval.query import MAX_CANDIDATES, SNIPPET_CHARS, Query
from commonplace.retrieval.redundancy import likeness_of_texts, likeness_of_vectors, repeats
from commonplace.retrieval.snippets import Window, pack_windows
from commonplace.retrieval.term_matching import (
    content_words,
    is_date_word,
    occurrences,
    occurrences_within,
)
from commonplace.settings import SearchSettings
from commonplace.store.base import RowFilter, Snapshot, StoredChunk
from commonplace.text.analysis import Analyzer, Term
from commonplace.text.chunking import read_outline
from commonplace.text.stopwords import ENGLISH_REQUESTS
from commonplace.text.time_expressions import Days, closeness, days_named, without_times
from commonplace.types import Explanation, SearchResult, Source

if TYPE_CHECKING:
    from commonplace.vectors import Vector

    Floats = NDArray[np.float32]

__all__ = ["rank_lines"]

_RARE_WORDS = 3
"""Words that bring candidates. Commoner ones cost more and only tell candidates apart."""
_READ = 3
"""Chunks whose lines are read, as a multiple of the results wanted."""
_NAMED_DAYS = 4.0
"""Nats for a line of a day that the question names."""
_UNDATED = 0.5
"""How near an evergreen file is to any day."""
_COMPARED = 64
"""Lines, the best ones, that are held against each other for repeats, at most."""
_NEXT_TO_NOTHING = 10.0
"""Nats behind the best line from which on a line has no share of the evidence to lose."""
_COMPARED_ALWAYS = 4
"""Lines that are compared in any case, as a multiple of the results wanted."""
_LEAST_SHARE = 0.5
"""What of the answer's worth a window with next to no evidence keeps: whether anything is shown at
all is decided by the answer's worth, not by how far its windows differ."""
_COVERING = 6
"""Windows among which the one that covers the question best is looked for."""

_SAYS_NOTHING_MORE = ENGLISH_REQUESTS | {"happen", "happened", "happens", "happening"}
"""Beside a time, such words ask for all of it."""

_analyzer = functools.cache(Analyzer)


class _Words(NamedTuple):
    """What a query asks for.

    Attributes:
        words: Its words that stand in the index.
        weights: Their idf.
        unknown: Its other words: what no text holds, a path may.
        unknown_weights: Their idf.
        total: The idf of all words together.
    """

    words: list[Term]
    weights: Floats
    unknown: list[Term]
    unknown_weights: Floats
    total: float


@dataclass(frozen=True, slots=True)
class _Lines:
    """The pool with what each signal said of its lines; arrays have one row a line.

    Attributes:
        pool: The lines.
        present: ``(lines, words)`` of 0 and 1.
        near: To the query; None without vectors.
        faded: Nats lost to age.
        repeated: Nats lost to repetition; None when nothing is thinned out.
        fused: Shares of the evidence before anything is lost.
        share: Shares of the evidence.
    """

    pool: PassageTable
    present: Floats
    near: Nearness | None
    faded: Floats
    repeated: Floats | None
    fused: NDArray[np.float64]
    share: NDArray[np.float64]


def rank_lines(
    snapshot: Snapshot, query: Query, settings: SearchSettings, *, explain: bool
) -> list[SearchResult]:
    """Answer a query with windows of lines, those with the most evidence first."""
    # Some BLAS builds raise the processor's "invalid" flag over padding; all values are finite.
    with np.errstate(invalid="ignore"):
        return _ranked(snapshot, query, settings, explain=explain)


def _ranked(
    snapshot: Snapshot, query: Query, settings: SearchSettings, *, explain: bool
) -> list[SearchResult]:
    analyzer = _analyzer(settings.tokenizer)
    named = days_named(query.text, query.now.date())
    source = query.rows.only_source
    mean = direction = None
    if query.vector is not None and settings.vector_weight:
        mean = snapshot.mean_line(source)
        direction = query.vector if mean is None else query.vector - mean
    asked, only_time = content_words(query.text, analyzer), None
    if named is not None and direction is not None:  # without a vector, words bring candidates
        beside = _beside_times(asked, query.text, analyzer)
        if all(map(is_date_word, beside)):
            asked, only_time = beside, named
    words = _weigh(snapshot, asked, named, source)
    pool = build_pool(
        _candidates(snapshot, query, words, named, direction, settings),
        dimension=None if mean is None else len(mean),
    )
    if not len(pool):
        return []
    words = _with_names(words, pool, analyzer)
    lines = _score(pool, query, words, named, mean, settings, analyzer)
    windows = pack_windows(
        lines.share, pool.start, pool.end, pool.passage, width=SNIPPET_CHARS, count=query.limit
    )
    return _results(windows, lines, words, query, only_time, explain=explain)


def _beside_times(words: list[Term], query: str, analyzer: Analyzer) -> list[Term]:
    """Return the words that say more than a time, and more than that all of it is wanted."""
    left = {word.text.lower() for word in analyzer.words(without_times(query))}
    return [word for word in words if word.text.lower() in left - _SAYS_NOTHING_MORE]


def _weigh(
    snapshot: Snapshot, words: list[Term], named: Days | None, source: Source | None
) -> _Words:
    frequencies = snapshot.frequencies(words, source)
    found = np.array([frequencies[word] for word in words], dtype=np.float32)
    weights = idf(found, snapshot.chunk_count(source))
    # A date that the notes spell otherwise is compared with the logs' days, not with their words.
    counts = np.array([not (named and is_date_word(word)) for word in words], dtype=np.bool_)
    known = found > 0
    return _Words(
        [word for word, is_known in zip(words, known, strict=True) if is_known],
        weights[known],
        [word for word, is_known in zip(words, known, strict=True) if not is_known],
        weights[~known],
        max(float(weights[known | counts].sum()), 1e-6),
    )


def _with_names(words: _Words, pool: PassageTable, analyzer: Analyzer) -> _Words:
    """Add the words that only the candidates' paths hold."""
    if not words.unknown:
        return words
    paths = [passage.path for passage in pool.passages]
    rows = np.flatnonzero(occurrences(paths, words.unknown, analyzer).any(axis=0))
    return words._replace(
        words=words.words + [words.unknown[row] for row in rows],
        weights=np.concatenate((words.weights, words.unknown_weights[rows])),
    )


def _candidates(
    snapshot: Snapshot,
    query: Query,
    words: _Words,
    named: Days | None,
    direction: Vector | None,
    settings: SearchSettings,
) -> list[StoredChunk]:
    """Fetch the best chunks of both lists, and of those of the days that are named.

    Reading lines is what takes time: the lists go deeper than what is read of them together.
    """
    depth = min(MAX_CANDIDATES, query.limit * settings.candidate_multiplier)
    found: list[list[tuple[int, float]]] = []
    every = settings.match == "all"
    wanted = words.words
    if not every:
        rarest = np.argsort(-words.weights, kind="stable")[:_RARE_WORDS]
        wanted = [wanted[at] for at in rarest.tolist()]
    for rows in _row_filters(query.rows, named):
        if direction is not None:
            found.append(snapshot.nearest(direction, depth, rows, exact=False))
        if settings.text_weight and not (every and words.unknown):
            hits = snapshot.match(wanted, every=every, limit=2 * depth, rows=rows)
            found.append(_thinned(hits, most=query.limit)[:depth])
    return list(snapshot.chunks(fused_ranking(found, limit=_READ * query.limit)).values())


def _thinned(hits: list[tuple[int, float]], *, most: int) -> list[tuple[int, float]]:
    """Keep so many hits of one score, the newest: what repeats itself word for word is no news."""
    kept: list[tuple[int, float]] = []
    for _, alike in itertools.groupby(hits, key=lambda hit: round(hit[1] * 1e9)):
        kept += sorted(alike, reverse=True)[:most]  # by seq
    return kept


def _row_filters(rows: RowFilter, named: Days | None) -> list[RowFilter]:
    """The rows asked for, and besides, of those, the ones of the days that are named."""
    if named is None:
        return [rows]
    first, last = named.first.toordinal(), (named.last + timedelta(days=7)).toordinal()
    after = first if rows.after is None else max(first, rows.after)
    before = last if rows.before is None else min(last, rows.before)
    return [rows, RowFilter(rows.sources, after, before)]


def _score(
    pool: PassageTable,
    query: Query,
    words: _Words,
    named: Days | None,
    mean: Vector | None,
    settings: SearchSettings,
    analyzer: Analyzer,
) -> _Lines:
    vector_weight, text_weight = normalized_weights(settings)
    present, above = _present(pool, words.words, analyzer)
    rows = Rows(pool.passage)
    scores = form_scores(pool.text, pool.start, pool.end, query.text)
    scores += (text_weight / 0.3) * word_scores(present, words.weights, rows, above=above)
    near = None
    if query.vector is not None and mean is not None and pool.vectors is not None:
        near = nearness(pool.vectors, query.vector, mean)
        _guess_unknown(near, present, words)
        scores += (vector_weight / 0.7) * vector_scores(near.centred, rows)
    if named is not None:
        close = closeness(pool.days, named)
        scores += _NAMED_DAYS * np.where(pool.days > 0, close, _UNDATED).astype(np.float32)
    faded, repeated = _repeats(
        pool, scores, mean, near, settings, limit=query.limit, fades=named is None
    )
    return _Lines(
        pool,
        present,
        near,
        faded,
        repeated if settings.mmr else None,
        fused=shares(scores),
        share=shares(scores - np.maximum(faded, repeated)),
    )


def _present(pool: PassageTable, words: list[Term], analyzer: Analyzer) -> tuple[Floats, Floats]:
    """Tell which words each line holds, and which the path and the headings above it."""
    labels = [f"{chunk.path} {chunk.heading}" for chunk in pool.chunks]
    lengths = (len(label) + 1 for label in labels)
    starts = np.array([*itertools.accumulate(lengths, initial=len(pool.text) + 1)])
    found = occurrences_within(
        "\n".join((pool.text, *labels)),
        np.concatenate((pool.start, starts[:-1])),
        np.concatenate((pool.end, starts[1:] - 1)),
        words,
        analyzer,
    )
    return found[: len(pool)], found[len(pool) :][pool.chunk]


def _guess_unknown(near: Nearness, present: Floats, words: _Words) -> None:
    """Take a line that is not embedded yet to be near as far as it has the words."""
    unknown = near.scales == 0
    if unknown.any() and words.words:
        guess = present[unknown] @ words.weights / words.total
        near.centred[unknown] = near.centred.max() * guess


def _repeats(
    pool: PassageTable,
    scores: Floats,
    mean: Vector | None,
    near: Nearness | None,
    settings: SearchSettings,
    *,
    limit: int,
    fades: bool,
) -> tuple[Floats, Floats]:
    """Return what each line loses to age and to repetition.

    A question that names a time is judged by that time: age then takes nothing away.
    """
    faded, repeated = np.zeros_like(scores), np.zeros_like(scores)
    if settings.decay or settings.mmr:
        telling = np.count_nonzero(scores > scores.max() - _NEXT_TO_NOTHING)
        count = min(_COMPARED, max(int(telling), _COMPARED_ALWAYS * limit))
        best = np.argsort(-scores, kind="stable")[:count]
        if pool.vectors is not None and mean is not None and near is not None:
            likeness = likeness_of_vectors(pool.vectors[best], mean, near.scales[best])
        else:
            likeness = likeness_of_texts([pool.text_of(at) for at in best.tolist()])
        if likeness.any():
            lost = repeats(likeness, pool.days[best], settings, fades=fades)
            faded[best], repeated[best] = lost
    return faded, repeated


def _results(
    windows: list[Window],
    lines: _Lines,
    words: _Words,
    query: Query,
    only_time: Days | None,
    *,
    explain: bool,
) -> list[SearchResult]:
    if not windows:
        return []
    covered = [_covered(lines, words, window) for window in windows]
    nearest = None if lines.near is None else float(lines.near.cosines.max())
    worth = confidence(max(covered[:_COVERING]), nearest)
    if only_time is not None:  # then its days are what is to be covered
        days = lines.pool.days[[window.first for window in windows[:_COVERING]]]
        worth = max(worth, confidence(float(closeness(days, only_time).max()), None))
    results = []
    for window in windows:
        # Rounded, so that what differs by the order of additions only is equal.
        score = round(worth * _of_best(window.mass / windows[0].mass), 6)
        if score >= query.min_score:
            results.append(_result(window, lines.pool, score))
    if explain:
        explanations = _explanations(windows, lines, words, query, covered=covered, worth=worth)
        results = [
            replace(result, explanation=explanation)
            for result, explanation in zip(results, explanations, strict=False)
        ]
    return sorted(results, key=lambda result: (-result.score, result.path, result.start_line))


def _of_best(share: float) -> float:
    """The part of the answer's worth for a window with this share of the best one's evidence."""
    return _LEAST_SHARE + (1 - _LEAST_SHARE) * math.sqrt(min(1.0, share))


def _covered(lines: _Lines, words: _Words, window: Window) -> float:
    """The share of the query's words, by idf, that a window holds."""
    if not words.words:
        return 0.0
    return float(lines.present[window.rows].max(axis=0) @ words.weights) / words.total


def _explanations(
    windows: list[Window],
    lines: _Lines,
    words: _Words,
    query: Query,
    *,
    covered: list[float],
    worth: float,
) -> Iterator[Explanation]:
    fused = [float(lines.fused[window.rows].sum()) for window in windows]
    most = max(*fused, 1e-12)
    for window, coverage, alone in zip(windows, covered, fused, strict=True):
        before = worth * _of_best(alone / most)
        yield _explanation(window, lines, words, query, keyword=coverage, fused=before)


def _explanation(
    window: Window, lines: _Lines, words: _Words, query: Query, *, keyword: float, fused: float
) -> Explanation:
    pool, rows = lines.pool, window.rows
    best = window.first + int(lines.share[rows].argmax())
    day = int(pool.days[window.first])
    held = lines.present[rows].max(axis=0).tolist()
    return Explanation(
        vector=_nearest(lines, rows),
        keyword=keyword or None,
        fused=fused,
        age_days=age_days(date.fromordinal(day), query.now) if day else None,
        decay=math.exp(-float(lines.faded[best])),
        mmr=None if lines.repeated is None else math.exp(-float(lines.repeated[best])),
        terms=tuple(w.term for w, is_held in zip(words.words, held, strict=True) if is_held),
    )


def _nearest(lines: _Lines, rows: slice) -> float | None:
    near = lines.near
    if near is None or not near.scales[rows].any():
        return None
    return float(near.cosines[rows].max())


def _result(window: Window, pool: PassageTable, score: float) -> SearchResult:
    passage = pool.passages[int(pool.passage[window.first])]
    start = int(pool.start[window.first])
    snippet = pool.text[start : min(int(pool.end[window.last]), start + SNIPPET_CHARS)]
    first_line = passage.first_line + pool.text.count("\n", passage.start, start)
    return SearchResult(
        path=passage.path,
        snippet=snippet,
        start_line=first_line,
        end_line=first_line + snippet.count("\n"),
        score=score,
        source=passage.source,
        heading=_heading(pool.chunks[int(pool.chunk[window.first])], first_line),
    )


def _heading(chunk: StoredChunk, line: int) -> str:
    """Return the headings above a line; the chunk knows those above its own first line."""
    if "#" not in chunk.text[chunk.text.find("\n") :]:
        return chunk.heading
    above = chunk.text.split("\n")[: line - chunk.start_line + 1]
    own = read_outline(above).path_at(len(above) - 1)
    return chunk.heading if chunk.heading.endswith(own) else own
