"""Candidate chunks: the query is analyzed, two or three lists are fetched, and they are fused.

The terms of the query bring one list, its vector another, and words for what is of the asked kind a
third. They are merged by reciprocal ranks, so an engine's scores need to be ranked and
deterministic, and nothing more.
"""

from __future__ import annotations

import itertools
import math
import re
from collections.abc import Iterable, Iterator
from dataclasses import replace
from datetime import timedelta
from typing import TYPE_CHECKING

import numpy as np

from commonplace.retrieval.compared_question import names_in
from commonplace.retrieval.headings import chunk_subjects, part_named, title_words
from commonplace.retrieval.query import MAX_CANDIDATES, SNIPPET_CHARS, AnalyzedQuery, Query
from commonplace.retrieval.redundancy import TERM_ROUNDING, thin_ties
from commonplace.retrieval.term_matching import (
    content_words,
    occurrences,
    rarest_terms,
    weighted_terms,
)
from commonplace.settings import SearchSettings
from commonplace.store.base import Snapshot
from commonplace.store.records import Hits, RowFilter, StoredChunk
from commonplace.text.analysis import (
    WITHOUT_ENDINGS,
    Analyzer,
    Term,
    content_texts,
    folded,
    function_words,
    language_of,
)
from commonplace.text.hyponyms import asked_hyponyms
from commonplace.text.stopwords import WHOLE_DAY_REQUESTS
from commonplace.text.time_expressions import (
    TIME_WORD,
    Days,
    days_named,
    is_date_word,
    without_times,
)

if TYPE_CHECKING:
    from commonplace.retrieval.passages import PassageTable
    from commonplace.types import Source

__all__ = [
    "add_path_terms",
    "analyze_query",
    "candidate_chunks",
    "linked_chunks",
]

_CHUNKS_PER_PLACE = 6
"""Candidate chunks, as a multiple of the snippets of full length that fit into the answer."""
_HYPONYMS = 64
"""Words for what is of the asked kind that bring candidates, at most."""
_RRF_K = 10
"""Rank offset of reciprocal rank fusion (Cormack, Clarke & Büttcher, SIGIR 2009). Less than their
60: the heads of the lists must stay ahead of what both hold far down."""
_VECTOR_ROUNDING = 1e-6
"""Difference up to which scores of vectors are equal: they are float32, and the mean that is taken
off is summed in the order of the rows, which is not the same in each copy of an index."""
_NAMES_OF_ONE_FORM = frozenset(("de", "es", "fr", "it", "nl", "pt", "sv"))
"""Languages in whose sentences a name does not change its form."""
_WORK_ON = re.compile(r"\bwork(?:ed|ing)? on\b", re.IGNORECASE)
"""Asks for all of a time; "worked" alone is a subject."""
_LATER_DAYS = 7
"""Days after a named span whose logs are candidates, too."""

_NAMES = 12
"""Names in the best lines that are looked up among the headings, at most."""
_NAMED_CHUNKS = (50, 0.05, 1_000)
"""Chunks that hold a name that is looked up, at most: so many in any case, a part of all, and so
many at most. What many chunks hold names none of them, and would take long."""
_CHUNKS_BEGUN, _CHUNKS_PER_NAME = 16, 4
"""Chunks that begin with one of the names, and those that hold each, at most."""
_LINKED = 14.0
"""Nats for the chunks of a note whose heading is named, as a whole, in the best line."""
_NAME_PART = r"[A-ZÀ-ÖØ-Þ][\w'’-]*(?: [A-ZÀ-ÖØ-Þ0-9][\w'’-]*)*"
_NAME = re.compile(rf"{_NAME_PART}(?:(?: [a-zß-ÿ]{{1,3}}){{1,2}} {_NAME_PART})?(?!\w|\.\w)")
"""Words with capitals, with short words between them, as in "University of the Arts"; no names of
files, as "MEMORY.md"."""
_WITHIN = re.compile(r"[\w,;)’–—] ?[\"“(]?\Z")
"""What is before a word within a sentence."""


def analyze_query(
    snapshot: Snapshot, query: Query, settings: SearchSettings, analyzer: Analyzer
) -> AnalyzedQuery:
    """Return the terms of a query, the days that it names, and its direction."""
    has_time = TIME_WORD.search(query.text.lower())
    days = days_named(query.text, query.now.date()) if has_time else None
    sources = query.rows.sources
    source = next(iter(sources)) if sources is not None and len(sources) == 1 else None
    mean = direction = None
    if query.vector is not None and settings.vector_weight:
        mean = snapshot.mean_line(source)
        direction = query.vector if mean is None else query.vector - mean
    words, only_days = content_words(query.text, analyzer), None
    if days is not None:
        others = _words_beside_times(words, query.text, analyzer)
        if all(is_date_word(word.text) for word in others):
            words, only_days = others, days
    frequencies = _frequencies(snapshot, words, query.text, analyzer, source)
    terms = weighted_terms(frequencies, snapshot.chunk_count(source), days)
    hyponyms: list[Term] = []
    any_word_brings = settings.text_weight and settings.operator == "or"
    if any_word_brings and (asked := asked_hyponyms(query.text)) is not None:
        of_kind = analyzer.words(" ".join(sorted(asked.words)))
        hyponyms = rarest_terms(snapshot.frequencies(of_kind, source), most=_HYPONYMS)
    places = -(-query.max_chars // SNIPPET_CHARS)
    return AnalyzedQuery(query, terms, hyponyms, days, only_days, mean, direction, places)


def _frequencies(
    snapshot: Snapshot, words: list[Term], text: str, analyzer: Analyzer, source: Source | None
) -> dict[Term, int]:
    """Return the terms of a query, each with its document frequency.

    Stemming is for English: a word of another language stands for all that begin like it, but for
    a name that has one form: Carla is not Carlo. So does any word that no chunk holds, and a number
    for the same behind a "v".
    """
    found = snapshot.frequencies(words, source)
    language = language_of(text)
    names = names_in(text, language) if language in _NAMES_OF_ONE_FORM else frozenset()
    has_endings = language not in WITHOUT_ENDINGS
    forms = {
        word: form
        for word in words
        if (not found[word] or (has_endings and word.text not in names and not word.number))
        and (form := analyzer.other_form(word))
    }
    if not forms:
        return found
    others = snapshot.frequencies(forms.values(), source)
    terms = (form if others.get(form := forms.get(word, word)) else word for word in words)
    return {term: others.get(term) or found[term] for term in terms}


def candidate_chunks(
    snapshot: Snapshot, analyzed: AnalyzedQuery, settings: SearchSettings
) -> tuple[list[StoredChunk], dict[int, float]]:
    """Fetch the best chunks of the lists, and those of the days that the query names.

    Reading lines dominates the time: lists are longer than the number of chunks read of them.

    Returns:
        The chunks; and the sum of the reciprocal ranks of each seq, 1 for the first of a list. Of a
        query that names days, it is of their lists alone.
    """
    query, terms = analyzed.query, analyzed.terms
    depth = min(MAX_CANDIDATES, analyzed.places * settings.candidate_multiplier)
    lists: list[Hits] = []
    every = settings.operator == "and"
    wanted = terms.known if every else terms.rarest
    ranked: list[tuple[Hits, float]] = []
    for rows in _row_filters(query.rows, analyzed.days):
        ranked = []  # in the end, the lists of the days that the query names
        if analyzed.direction is not None:
            hits = snapshot.nearest(analyzed.direction, depth, rows, exact=False)
            ranked.append((hits, _VECTOR_ROUNDING))
            lists.append(hits)
        elif analyzed.only_days is not None and rows is not query.rows:
            lists.append(_chunks_of_days(snapshot, rows, most=depth))
        if settings.text_weight and not (every and terms.unknown):
            hits = snapshot.match(wanted, every=every, limit=2 * depth, rows=rows)
            ranked.append((hits, TERM_ROUNDING))
            lists.append(thin_ties(snapshot, hits, most=analyzed.places)[:depth])
    if analyzed.hyponyms:
        hits = snapshot.match(analyzed.hyponyms, every=False, limit=2 * depth, rows=rows)
        lists.append(thin_ties(snapshot, hits, most=analyzed.places)[:depth])
    best = _fused_ranking(lists, limit=_CHUNKS_PER_PLACE * analyzed.places)
    chunks = snapshot.chunks(best)
    if query.found is not None:
        chunks = {seq: chunk for seq, chunk in chunks.items() if query.found.answers(chunk.path)}
        chunks |= {chunk.seq: chunk for chunk in query.found.chunks}
    return list(chunks.values()), reciprocal_ranks(ranked)


def _chunks_of_days(snapshot: Snapshot, rows: RowFilter, *, most: int) -> Hits:
    """Return the first chunks of the logs of some days, which all score alike."""
    files = snapshot.files().values()
    logs = [file for file in files if file.day and rows.passes(file.source, file.day)]
    logs.sort(key=lambda file: (file.day, file.path))
    places = itertools.chain.from_iterable(snapshot.places(file.path) for file in logs)
    return [(place.seq, 0.0) for place in itertools.islice(places, most)]


def linked_chunks(
    snapshot: Snapshot,
    analyzed: AnalyzedQuery,
    lines: Iterable[tuple[str, float]],
    analyzer: Analyzer,
) -> dict[StoredChunk, float]:
    """Follow links: fetch the chunks below headings that lines name and the query does not.

    Only notes that belong to no day are linked: a heading in the log of a day is no subject.

    Args:
        snapshot: The index.
        analyzed: The query.
        lines: The lines, best first, each with the nats that it is behind the best.
        analyzer: Maps words to terms.

    Returns:
        Each chunk with the nats that its link is worth: fewer where the line names a part of the
        heading, or is behind the best.
    """
    asked, rows = frozenset(content_texts(analyzed.query.text)), analyzed.query.rows
    links: dict[frozenset[str], tuple[str, float]] = {}
    for text, behind in lines:
        for name in _names(text):
            words = frozenset(content_texts(name))
            if not words <= asked:
                links.setdefault(words, (name, behind))
    links = dict(itertools.islice(links.items(), _NAMES))
    if not links:
        return {}
    counts = snapshot.frequencies([Term(name, name) for name, _ in links.values()])
    few, part, many = _NAMED_CHUNKS
    most = min(max(few, part * snapshot.chunk_count()), many)
    names = [term.text for term, count in counts.items() if 0 < count <= most]
    if not names:
        return {}
    begun = [Term(part, part, initial=True) for name in names for part in _ends(name)]
    lists = [snapshot.match(begun, every=False, limit=_CHUNKS_BEGUN, rows=rows)]
    for name in names:
        terms = content_words(name, analyzer)
        lists.append(snapshot.match(terms, every=True, limit=_CHUNKS_PER_NAME, rows=rows))
    seqs = dict.fromkeys(seq for hits in lists for seq, _ in hits)
    worth = {
        chunk: max(
            _LINKED * part - behind if (part := part_named(titles, words, asked)) else 0.0
            for words, (_, behind) in links.items()
        )
        for chunk in snapshot.chunks(list(seqs)).values()
        if chunk.day is None and (titles := title_words(chunk_subjects(chunk)))
    }
    return {chunk: nats for chunk, nats in worth.items() if nats > 0}


def _names(text: str) -> Iterator[str]:
    """Yield the names in a line; the capital of a sentence's first word makes none by itself."""
    for match in _NAME.finditer(text):
        if " " in match[0] or _WITHIN.search(text, max(0, match.start() - 3), match.start()):
            yield match[0]


def _ends(name: str) -> Iterator[str]:
    """Yield a name and its ends of two words or more: "Lake District" of "the Lake District"."""
    words = name.split(" ")
    for first in range(max(1, len(words) - 1)):
        yield " ".join(words[first:])


def _fused_ranking(lists: Iterable[Hits], *, limit: int) -> list[int]:
    """Return the best of several lists of hits by reciprocal ranks."""
    scores: dict[int, float] = {}
    for hits in lists:
        for rank, (seq, _) in enumerate(hits):
            scores[seq] = scores.get(seq, 0.0) + 1.0 / (_RRF_K + rank)
    return sorted(sorted(scores), key=scores.__getitem__, reverse=True)[:limit]  # ties: by seq


def reciprocal_ranks(lists: Iterable[tuple[Hits, float]]) -> dict[int, float]:
    """Return the sum of the reciprocal ranks of each seq.

    Args:
        lists: Hits, the best first, each list with the difference up to which their scores are
            equal: those hits share their rank.
    """
    sums: dict[int, float] = {}
    for hits, rounding in lists:
        rank, last = 1, math.inf
        for place, (seq, score) in enumerate(hits, 1):
            if last - score > rounding:
                rank = place
            sums[seq] = sums.get(seq, 0.0) + 1.0 / rank
            last = score
    return sums


def add_path_terms(
    analyzed: AnalyzedQuery, table: PassageTable, analyzer: Analyzer
) -> AnalyzedQuery:
    """Return the query with those unknown terms as known that occur in a candidate's path."""
    terms = analyzed.terms
    if not terms.unknown:
        return analyzed
    paths = [passage.path for passage in table.passages]
    rows = np.flatnonzero(occurrences(paths, terms.unknown, analyzer).any(axis=0))
    terms = terms._replace(
        known=terms.known + [terms.unknown[row] for row in rows],
        weights=np.concatenate((terms.weights, terms.unknown_weights[rows])),
    )
    return replace(analyzed, terms=terms)


def _words_beside_times(words: list[Term], query: str, analyzer: Analyzer) -> list[Term]:
    """Return the words outside time expressions, less those that ask for all of a time."""
    language = language_of(query)
    broad = function_words(language) | WHOLE_DAY_REQUESTS.get(language, frozenset())
    beside = _WORK_ON.sub(" ", without_times(query))
    left = {folded(word.text) for word in analyzer.words(beside)} - broad
    return [word for word in words if folded(word.text) in left]


def _row_filters(rows: RowFilter, days: Days | None) -> list[RowFilter]:
    """Return the filter of the query, and a narrower one for the days that it names."""
    if days is None:
        return [rows]
    first = days.first.toordinal()
    last = (days.last + timedelta(days=_LATER_DAYS)).toordinal()
    after = first if rows.after is None else max(first, rows.after)
    before = last if rows.before is None else min(last, rows.before)
    return [rows, RowFilter(rows.sources, after, before)]
