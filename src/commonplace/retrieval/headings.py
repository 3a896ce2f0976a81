"""Headings as names: notes whose heading the question names, and links to those a line names.

A question may need two notes, and know nothing of the second but what the first says of it.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from commonplace.retrieval.term_matching import content_words
from commonplace.text.analysis import Analyzer, Term
from commonplace.text.stopwords import ENGLISH

if TYPE_CHECKING:
    from commonplace.retrieval.candidates import AnalyzedQuery, QueryTerms
    from commonplace.retrieval.passages import PassageTable
    from commonplace.store.base import Snapshot
    from commonplace.store.records import StoredChunk

    Floats = NDArray[np.float32]

__all__ = ["credit_links", "linked_chunks", "named_heading_scores", "title_words"]

_NAMED = (4.0, 5.0)
"""For a line below a heading of which the query holds every word; and the idf of these words from
which on it is whole: a common word names less."""

_NAMES = 12
"""Names in the best lines that are looked up among the headings, at most."""
_NAMED_CHUNKS = 1_000
"""Chunks that hold a name, from which on it is not looked up: that would take long."""
_CHUNKS_BEGUN = 16
"""Chunks that begin with one of the names, at most."""
_CHUNKS_PER_NAME = 4
_LINKED = 14.0
"""Nats for the chunks of a note whose heading is named, as a whole, in the best line."""
_LINK_BEHIND = 0.5
"""Nats that the best linked chunk, its lines together, stays behind the best line."""
_LINK_ORDER = 0.3
"""Part of their distances that linked lines keep which a link would take beyond that."""
_NAME_PART = r"[A-ZÀ-ÖØ-Þ][\w'’-]*(?: [A-ZÀ-ÖØ-Þ0-9][\w'’-]*)*"
_NAME = re.compile(rf"{_NAME_PART}(?:(?: [a-zß-ÿ]{{1,3}}){{1,2}} {_NAME_PART})?(?!\w|\.\w)")
"""Words with capitals, with short words between them, as in "University of the Arts"; no names of
files, as "MEMORY.md"."""
_WITHIN = re.compile(r"[\w,;)’–—] ?[\"“(]?\Z")
"""What is before a word within a sentence."""
_WORD = re.compile(r"\w+")
_PARENTHESES = re.compile(r"\([^()]*\)")


def named_heading_scores(
    table: PassageTable, terms: QueryTerms, analyzer: Analyzer, *, above: Floats
) -> Floats:
    """Score chunks by the headings above them that the query names: ``(chunks,)``.

    The name of a file is a heading, too: many notes have no other.

    Args:
        table: The lines.
        terms: The terms.
        analyzer: Maps the forms of a word to a term.
        above: ``(lines, terms)`` of 0 and 1: headings and path.
    """
    nats, whole = _NAMED
    known = {term.term: weight for term, weight in zip(terms.known, terms.weights, strict=True)}
    scores = np.zeros(len(table.chunks), dtype=np.float32)
    for number in np.unique(table.chunk[above.any(axis=1)]).tolist():
        chunk = table.chunks[number]
        name = chunk.path.rpartition("/")[2].removesuffix(".md").replace("_", " ")
        titles = (*title_words(chunk.heading), *title_words(name))
        stems = analyzer.term_of_each({word for title in titles for word in title})
        named = (
            sum(known[stems[word]] for word in title)
            for title in titles
            if all(stems[word] in known for word in title)
        )
        scores[number] = nats * min(1.0, max(named, default=0.0) / whole)
    return scores


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
    asked, rows = frozenset(_content_texts(analyzed.query.text)), analyzed.query.rows
    links: dict[frozenset[str], tuple[str, float]] = {}
    for text, behind in lines:
        for name in _names(text):
            words = frozenset(_content_texts(name))
            if not words <= asked:
                links.setdefault(words, (name, behind))
    links = dict(itertools.islice(links.items(), _NAMES))
    names = [name for name, _ in links.values()]
    counts = snapshot.frequencies([Term(name, name) for name in names]) if names else {}
    names = [term.text for term, count in counts.items() if 0 < count <= _NAMED_CHUNKS]
    if not names:
        return {}
    begun = [Term(part, part, initial=True) for name in names for part in _ends(name)]
    lists = [snapshot.match(begun, every=False, limit=_CHUNKS_BEGUN, rows=rows)]
    for name in names:
        terms = content_words(name, analyzer)
        lists.append(snapshot.match(terms, every=True, limit=_CHUNKS_PER_NAME, rows=rows))
    seqs = dict.fromkeys(seq for hits in lists for seq, _ in hits)
    chunks = snapshot.chunks(list(seqs)).values()
    worth = {
        chunk: max(
            _LINKED * part - behind if (part := _part_named(titles, words, asked)) else 0.0
            for words, (_, behind) in links.items()
        )
        for chunk in chunks
        if chunk.day is None and (titles := title_words(chunk.heading))
    }
    return {chunk: nats for chunk, nats in worth.items() if nats > 0}


def credit_links(scores: Floats, nats: Floats, chunk: NDArray[np.int64]) -> None:
    """Credit the lines of linked chunks; no such chunk comes before the best line of the others.

    Args:
        scores: Scores of all lines.
        nats: Credit of each chunk; 0 for one that is not linked.
        chunk: Index of the chunk of each line.
    """
    credit = nats[chunk]
    rows = credit.nonzero()[0]
    credited, most = scores[rows] + credit[rows], scores.max() - _LINK_BEHIND
    best = max(float(credited.max()), most)
    ordered = np.where(credited > most, most - _LINK_ORDER * (best - credited), credited)
    # The lines of a chunk share what it has, for a snippet shows several of them.
    evidence = np.bincount(chunk[rows], np.exp(ordered - most), len(nats))
    ordered -= np.log(np.maximum(evidence, 1.0))[chunk[rows]]
    scores[rows] = np.maximum(scores[rows], ordered)


def _names(text: str) -> Iterator[str]:
    """Yield the names in a line; the capital of a sentence's first word makes none by itself."""
    for match in _NAME.finditer(text):
        if " " in match[0] or _WITHIN.search(text[: match.start()]):
            yield match[0]


def _ends(name: str) -> Iterator[str]:
    """Yield a name and its ends of two words or more: "Lake District" of "the Lake District"."""
    words = name.split(" ")
    for first in range(max(1, len(words) - 1)):
        yield " ".join(words[first:])


def title_words(headings: str) -> tuple[frozenset[str], ...]:
    """Return the words of each heading above a chunk, without what is in parentheses.

    Stop words are left out, and so are headings of nothing else, or of numbers alone, as dates are.
    """
    titles = _PARENTHESES.sub("", headings).split(" > ")
    found = [frozenset(_content_texts(title)) for title in titles]
    return tuple(words for words in found if not all(map(str.isdecimal, words)))


def _part_named(
    titles: Iterable[frozenset[str]], name: frozenset[str], asked: frozenset[str]
) -> float:
    """Return the part that a name and one of some headings have in common; 0 for none.

    One of them holds all words of the other, and the query does not name the heading itself.
    """
    return max(
        (
            min(len(name), len(title)) / max(len(name), len(title))
            for title in titles
            if name <= title or (title <= name and not title <= asked)
        ),
        default=0.0,
    )


def _content_texts(text: str) -> list[str]:
    return [word for word in _WORD.findall(text.lower()) if word not in ENGLISH]
