"""Headings as names: notes whose heading the question names, and links to those a line names.

A question may need two notes, and know nothing of the second but what the first says of it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from commonplace.retrieval.passages import is_long_term
from commonplace.text.analysis import content_texts

if TYPE_CHECKING:
    from commonplace.retrieval.passages import PassageTable
    from commonplace.retrieval.term_matching import QueryTerms
    from commonplace.store.records import StoredChunk
    from commonplace.text.analysis import Analyzer

    Floats = NDArray[np.float32]

__all__ = ["chunk_subjects", "credit_links", "named_heading_scores", "part_named", "title_words"]

_NAMED = (4.0, 5.0)
"""For a line below a heading of which the query holds every word; and the idf of these words from
which on it is whole: a common word names less."""

_LINK_BEHIND = 0.5
"""Nats that the best linked chunk, its lines together, stays behind the best line."""
_LINK_ORDER = 0.3
"""Part of their distances that linked lines keep which a link would take beyond that."""
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


def credit_links(scores: Floats, nats: Floats, chunk: NDArray[np.int64]) -> None:
    """Credit the lines of linked chunks; no such chunk comes before the best line of the others.

    Args:
        scores: Scores of all lines.
        nats: Credit of each chunk; 0 for one that is not linked.
        chunk: Index of the chunk of each line.
    """
    credit = nats[chunk]
    rows = credit.nonzero()[0]
    if not len(rows):  # all lines of the linked chunks are another chunk's, too, which overlaps
        return
    credited, most = scores[rows] + credit[rows], scores.max() - _LINK_BEHIND
    best = max(float(credited.max()), most)
    ordered = np.where(credited > most, most - _LINK_ORDER * (best - credited), credited)
    # The lines of a chunk share what it has, for a snippet shows several of them.
    evidence = np.bincount(chunk[rows], np.exp(ordered - most), len(nats))
    ordered -= np.log(np.maximum(evidence, 1.0))[chunk[rows]]
    scores[rows] = np.maximum(scores[rows], ordered)


def title_words(headings: str) -> tuple[frozenset[str], ...]:
    """Return the words of each heading above a chunk, without what is in parentheses.

    Stop words are left out, and so are headings of nothing else, or of numbers alone, as dates are.
    """
    titles = _PARENTHESES.sub("", headings).split(" > ")
    found = [frozenset(content_texts(title)) for title in titles]
    return tuple(words for words in found if not all(map(str.isdecimal, words)))


def part_named(
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


def chunk_subjects(chunk: StoredChunk) -> str:
    """Return the headings that say what a chunk is about: of a note of one subject, its title.

    Its sections are parts of that subject: many release notes have the heading "Server".
    """
    return chunk.heading if is_long_term(chunk.path) else chunk.heading.split(" > ")[0]
