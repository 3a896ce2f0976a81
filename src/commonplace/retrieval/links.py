"""Links: notes whose heading is named in one of the best lines, and headings as sets of words.

A question may need two notes, and know nothing of the second but what the first says of it.
"""

from __future__ import annotations

import functools
import itertools
import re
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from commonplace.retrieval.term_matching import content_words
from commonplace.text.analysis import Analyzer, Term
from commonplace.text.stopwords import ENGLISH

if TYPE_CHECKING:
    from commonplace.retrieval.candidates import AnalyzedQuery
    from commonplace.store.base import Snapshot
    from commonplace.store.records import StoredChunk

__all__ = ["linked_chunks", "title_words"]

_NAMES = 12
"""Names in the best lines that are looked up among the headings, at most."""
_NAMED_CHUNKS = 1_000
"""Chunks that hold a name, from which on it is not looked up: that would take long."""
_CHUNKS_BEGUN = 16
"""Chunks that begin with one of the names, at most."""
_CHUNKS_PER_NAME = 4
_LINKED = 14.0
"""Nats for the chunks of a note whose heading is named, as a whole, in the best line."""
_NAME_PART = r"[A-ZÀ-ÖØ-Þ][\w'’-]*(?: [A-ZÀ-ÖØ-Þ0-9][\w'’-]*)*"
_NAME = re.compile(rf"{_NAME_PART}(?:(?: [a-zß-ÿ]{{1,3}}){{1,2}} {_NAME_PART})?(?!\w|\.\w)")
"""Words with capitals, with short words between them, as in "University of the Arts"; no names of
files, as "MEMORY.md"."""
_WORD = re.compile(r"\w+")
_PARENTHESES = re.compile(r"\([^()]*\)")


def linked_chunks(
    snapshot: Snapshot,
    analyzed: AnalyzedQuery,
    lines: Iterable[tuple[str, float]],
    analyzer: Analyzer,
) -> dict[StoredChunk, float]:
    """Follow links: fetch the chunks below headings that lines name and the query does not.

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
        for name in _NAME.findall(text):
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
    hits = snapshot.match(begun, every=False, limit=_CHUNKS_BEGUN, rows=rows)
    for name in names:
        terms = content_words(name, analyzer)
        hits += snapshot.match(terms, every=True, limit=_CHUNKS_PER_NAME, rows=rows)
    chunks = snapshot.chunks(list(dict.fromkeys(seq for seq, _ in hits))).values()
    worth = {
        chunk: max(
            _LINKED * part - behind if (part := _part_named(titles, words, asked)) else 0.0
            for words, (_, behind) in links.items()
        )
        for chunk in chunks
        if (titles := title_words(chunk.heading))
    }
    return {chunk: nats for chunk, nats in worth.items() if nats > 0}


def _ends(name: str) -> Iterator[str]:
    """Yield a name and its ends of two words or more: "Lake District" of "the Lake District"."""
    words = name.split(" ")
    for first in range(max(1, len(words) - 1)):
        yield " ".join(words[first:])


@functools.lru_cache(maxsize=10_000)
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
