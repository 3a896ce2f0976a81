"""Line features: each line is scored by its terms, its vector, its form and its day.

Every feature is in nats, the scale of a log probability, so that features add up. A softmax over
all candidate lines gives each its share of the evidence. The constants were fitted to questions
about conversations and rounded; the results do not depend on their last digit.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from commonplace.retrieval.answer_types import INSTRUCTIONS, asked_types, holds_answer
from commonplace.retrieval.headings import credit_links, named_heading_scores
from commonplace.retrieval.item_tree import item_tree
from commonplace.retrieval.passages import PADDING, LineNeighbours, rows_said_by
from commonplace.retrieval.redundancy import redundancy_losses
from commonplace.retrieval.term_matching import terms_of_lines
from commonplace.retrieval.turns import turns_of
from commonplace.text.analysis import folded, language_of
from commonplace.text.list_items import INTRODUCTION_ENDS
from commonplace.text.stopwords import ENGLISH, FIRST_PERSON, SECOND_PERSON
from commonplace.text.time_expressions import closeness
from commonplace.vectors.arrays import nearness

if TYPE_CHECKING:
    from collections.abc import Mapping

    from commonplace.retrieval.item_tree import ItemTree
    from commonplace.retrieval.passages import PassageTable
    from commonplace.retrieval.query import AnalyzedQuery
    from commonplace.retrieval.term_matching import QueryTerms
    from commonplace.settings import SearchSettings
    from commonplace.store.records import StoredChunk
    from commonplace.text.analysis import Analyzer
    from commonplace.vectors.arrays import Nearness

    Floats = NDArray[np.float32]
    Numbers = NDArray[np.int64]

__all__ = [
    "LineScores",
    "coverage",
    "score_lines",
    "window_part",
]

_TERMS = 2.65
_TERMS_DAMPING = 0.42
"""Damping of long questions: 0 is none, 1 makes the terms of every question sum up alike."""
_TERM_NEAR = ((0.4, (-4, -3, 1, 2, 3, 4)), (0.7, (-2, -1)))
"""Credit for a term so many lines away. The lines before count more: an answer follows its
question."""
_TERM_ABOVE = 0.5
"""Credit for a term in the headings, the path or the table's header above a line."""
_TERM_AROUND = 0.7
"""Credit for a term in the list items that a line lies in, the same as in a line right before."""
_TITLE = 2.0
"""For a line whose headings and path hold all terms of the query: its subject is the query's."""

_VECTOR_NEAR = (3, np.array([0.5, 0.5, 3.0, 6.0, 1.5], dtype=np.float32))
"""Number of lines before that count, and the weights of the cosines from the first of them to the
line behind; the line's own is the greatest."""
_VECTOR_HEADING = 2.0
"""For each unit of the cosine of the heading above a line, which names the line's subject."""
_VECTOR_SECTION = 4.5
"""For each unit of the greatest cosine in a line's section: the lines of a section are about one
subject, and some of them name it."""

_CHUNK_RANK = 0.3
"""For a line of the chunk that is the first of a list; of a later one, times its reciprocal rank.
A chunk as a whole tells what its lines are about."""

_LENGTH = 0.5
"""For each factor e of length: a longer line holds more."""
_LONG_CHARS = 700
_ASKS = -1.0
"""For a line that ends with a question mark: it asks rather than answers."""
_EXCLAIMS = -0.15
"""For a line that ends with an exclamation mark: many such only react to what others say."""
_HEADING = -4.0
"""For a heading: it names a subject and rarely holds an answer."""
_SPEAKER = 1.4
"""For a line that begins with a name, as in ``- Ann: …``, when the question holds it."""
_ASKER = 2.0
"""For a line that the user says to a model, when the question is in the first person: the model
says most of the lines, and few of what the user did and has."""
_MODEL_SAYS = -1.5
"""For a line that the model says, unless it is asked what it said: it repeats the user's words."""
_IN_REACH = 10.0
"""Nats behind the best line within which a line may hold an answer."""
_NAMED_DAYS = 4.0
"""For a line of a day that the question names."""
_ONLY_DAYS = 10.0
"""For a line of a named day when all of the day is asked for: no words are left to compare."""
_UNDATED = 0.5
"""Closeness of an evergreen file to any day."""

_WORD = re.compile(r"\w+")
_NAME = re.compile(r"\b[A-Z][\w-]+")
_LEAST_SHARE = 0.5
"""Part of the confidence that a window with next to no evidence keeps. `min_score` then cuts off
whole answers rather than the ends of good ones."""


@dataclass(frozen=True, slots=True)
class LineScores:
    """Lines with their features; arrays have one row a line.

    Attributes:
        table: The lines.
        present: ``(lines, terms)`` of 0 and 1.
        near: Cosines with the query; None without vectors.
        faded: Nats lost to age.
        repeated: Nats lost to repetition; None without MMR.
        fused: Shares of the evidence before these losses.
        share: Shares of the evidence after them.
        items: The list items that they lie in, and what introduces them; None without any.
    """

    table: PassageTable
    present: Floats
    near: Nearness | None
    faded: Floats
    repeated: Floats | None
    fused: NDArray[np.float64]
    share: NDArray[np.float64]
    items: ItemTree | None


def score_lines(
    table: PassageTable,
    analyzed: AnalyzedQuery,
    settings: SearchSettings,
    analyzer: Analyzer,
    *,
    ranks: Mapping[int, float],
    links: Mapping[StoredChunk, float] | None = None,
) -> LineScores:
    """Return every line's share of the evidence.

    Args:
        table: The lines.
        analyzed: The query.
        settings: Weights, decay and MMR.
        analyzer: Maps the forms of a word to a term.
        ranks: Sums of reciprocal ranks of candidates by seq; a candidate without one is in no list.
        links: Nats for the lines of chunks below headings that the best lines name.
    """
    query, terms, mean = analyzed.query, analyzed.terms, analyzed.mean
    total_weight = settings.vector_weight + settings.text_weight
    present, above = terms_of_lines(table, terms.known, analyzer)
    scores, groups, items = _form_scores(table, query.text), table.passage, None
    from_above = _TERM_ABOVE * above
    if _may_have_items(table):
        items = item_tree(table, present)
        scores[items.titles] += _HEADING
        above, groups = np.maximum(above, items.named), items.groups
        from_above = np.maximum(from_above, _TERM_AROUND * items.above)
    neighbours = LineNeighbours(groups)
    of_chunks = np.array([ranks.get(chunk.seq, 0.0) for chunk in table.chunks], dtype=np.float32)
    scores += _CHUNK_RANK * of_chunks[table.chunk]
    text_weight = settings.text_weight / total_weight / 0.3
    scores += text_weight * _term_scores(
        present, terms, neighbours, above=above, from_above=from_above
    )
    if above.any():
        of_chunks = named_heading_scores(table, terms, analyzer, above=above)
        scores += text_weight * of_chunks[table.chunk]
    near = None
    if query.vector is not None and mean is not None and table.vectors is not None:
        near = nearness(table.vectors, query.vector, mean)
        _estimate_missing(near, present, terms)
        vector_weight = settings.vector_weight / total_weight / 0.7
        scores += vector_weight * _vector_scores(near.centred, neighbours)
        scores += vector_weight * _section_scores(near.centred, table)
    if analyzed.days is not None:
        close = closeness(table.days, analyzed.days)
        scores += _NAMED_DAYS * np.where(table.days > 0, close, _UNDATED).astype(np.float32)
        if analyzed.only_days is not None:
            scores[close == 1] += _ONLY_DAYS
    _credit_answers(scores, table, query.text)
    if links:
        credit = np.array([links.get(chunk, 0.0) for chunk in table.chunks], dtype=np.float32)
        credit_links(scores, credit, table.chunk)
    faded, repeated = redundancy_losses(
        table, scores, settings, mean=mean, scales=None if near is None else near.scales,
        places=analyzed.places, fades=analyzed.days is None,
    )  # fmt: skip
    fused, losses = _shares(scores), np.maximum(faded, repeated)
    share = _shares(scores - losses) if losses.any() else fused
    return LineScores(
        table, present, near, faded, repeated if settings.mmr else None, fused, share, items
    )


def _term_scores(
    present: Floats, terms: QueryTerms, rows: LineNeighbours, *, above: Floats, from_above: Floats
) -> Floats:
    """Score lines by the query's terms in them, around them and above them.

    A term is credited once, for its best place; and the headings for the part of the query that
    they hold.

    Args:
        present: ``(lines, terms)`` of 0 and 1.
        terms: The terms.
        rows: The lines' neighbours.
        above: ``(lines, terms)`` of 0 and 1: headings and path.
        from_above: Credit of each term for being above a line, or in an item that it lies in.
    """
    grid = rows.spread(present)
    size = len(grid) - 2 * PADDING
    credit = np.zeros((max(size, 0), present.shape[1]), dtype=np.float32)
    for worth, distances in _TERM_NEAR:
        near = credit.copy()
        for distance in distances:
            np.maximum(near, grid[PADDING + distance : PADDING + distance + size], out=near)
        near *= worth
        np.maximum(credit, near, out=credit)
    found = np.maximum(rows.gather(credit), np.maximum(present, from_above))
    total = max(float(terms.weights.sum()), 1e-6)
    scores: Floats = _TERMS / total**_TERMS_DAMPING * (found @ terms.weights)
    scores += _TITLE / terms.total * (above @ terms.weights)
    return scores


def _vector_scores(cosines: Floats, rows: LineNeighbours) -> Floats:
    """Score lines by their centred cosines and those around them."""
    before, kernel = _VECTOR_NEAR
    grid = rows.spread(cosines)[PADDING - before :]
    return rows.gather(np.correlate(grid, kernel, mode="valid"))


def _section_scores(cosines: Floats, table: PassageTable) -> Floats:
    """Score lines by the centred cosines of their heading and of the best line of their section.

    A section begins with a heading or with a passage.
    """
    begins = table.headings == np.arange(len(table))
    begins[0] = True
    begins[1:] |= table.passage[1:] != table.passage[:-1]
    best = np.maximum.reduceat(cosines, begins.nonzero()[0])[begins.cumsum() - 1]
    heading = np.where(table.headings >= 0, cosines[table.headings], 0)
    scores: Floats = _VECTOR_HEADING * heading + _VECTOR_SECTION * best
    return scores


def _form_scores(table: PassageTable, query: str) -> Floats:
    """Score lines by their form: length, speaker, last sign, heading."""
    scores = _LENGTH * np.log1p(np.minimum(table.end - table.start, _LONG_CHARS))
    last = table.signs[table.end - 1]
    scores[last == ord("?")] += _ASKS
    scores[last == ord("!")] += _EXCLAIMS
    scores[table.headings == np.arange(len(table))] += _HEADING
    if names := _names_in(query):
        scores[rows_said_by(table, names)] += _SPEAKER
    _credit_turns(scores, table, query)
    rounded: Floats = scores.astype(np.float32)
    return rounded


def _may_have_items(table: PassageTable) -> bool:
    """Return False for lines of which certainly none lies in another or is introduced by one."""
    first, last = table.signs[table.start], table.signs[table.end - 1]
    return bool((first <= ord(" ")).any() or np.isin(last, INTRODUCTION_ENDS).any())


def _credit_turns(scores: NDArray[Any], table: PassageTable, query: str) -> None:
    """Credit what a user says to a model where the question is the user's, or a request."""
    language, words = language_of(query), _WORD.findall(folded(query))
    is_mine = not FIRST_PERSON.get(language, frozenset()).isdisjoint(words)
    is_request = INSTRUCTIONS.asks.search(query) is not None
    if not (is_mine or is_request):
        return
    turns = turns_of(table)
    if is_mine:
        scores[turns > 0] += _ASKER
        if SECOND_PERSON.get(language, frozenset()).isdisjoint(words):
            scores[turns < 0] += _MODEL_SAYS
    if is_request:
        said = (turns > 0).nonzero()[0]
        held = [holds_answer(table.text_of(row), INSTRUCTIONS) for row in said.tolist()]
        scores[said[held]] += INSTRUCTIONS.nats


def _names_in(query: str) -> frozenset[str]:
    """Return the names in a query, in lower case; one without capitals may name anyone."""
    if query == query.lower():
        return frozenset(_WORD.findall(query)) - ENGLISH
    return frozenset(name.lower() for name in _NAME.findall(query))


def _credit_answers(scores: Floats, table: PassageTable, query: str) -> None:
    """Credit the lines that hold the kind of thing that the question asks for.

    Lines far behind are left alone: no credit brings them back, and looking takes time.
    """
    kinds = asked_types(query)
    if not kinds:
        return
    rows = (scores > scores.max() - _IN_REACH).nonzero()[0]
    spans = zip(table.start[rows].tolist(), table.end[rows].tolist(), strict=True)
    lines = [table.text[start:end] for start, end in spans]
    for kind in kinds:
        held = [holds_answer(line, kind) for line in lines]
        scores[rows[held]] += kind.nats


def _estimate_missing(near: Nearness, present: Floats, terms: QueryTerms) -> None:
    """Estimate the cosine of each line that has no vector yet from the terms that it holds."""
    missing = near.scales == 0
    if missing.any() and terms.known:
        estimate = present[missing] @ terms.weights / terms.total
        near.centred[missing] = near.centred.max() * estimate


def _shares(scores: Floats) -> NDArray[np.float64]:
    """Return the softmax of scores: each line's share of the evidence."""
    # Rounded, so that equal lines get equal shares, whatever the order of additions.
    likely = np.exp((scores - scores.max()).astype(np.float64).round(4))
    share: NDArray[np.float64] = likely / likely.sum()
    return share


def coverage(lines: LineScores, analyzed: AnalyzedQuery, rows: slice) -> float:
    """Return the share of the query's terms, by idf, that some lines hold together."""
    terms = analyzed.terms
    if not terms.known:
        return 0.0
    return float(lines.present[rows].max(axis=0) @ terms.weights) / terms.total


def window_part(share: float) -> float:
    """Return a window's part of the confidence, by its share of the best window's evidence."""
    return _LEAST_SHARE + (1 - _LEAST_SHARE) * math.sqrt(min(1.0, share))
