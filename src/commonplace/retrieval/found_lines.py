"""Lines that a finder beside the index named, as chunks of the index, and the words it is asked.

The finder brings places and nothing else. Text, lines, citations and scores are the index's, and so
are the filters: a place that is outside of them, or not in the index, is dropped.
"""

from __future__ import annotations

import functools
from collections.abc import Iterator
from dataclasses import replace

from commonplace.retrieval.query import FoundChunks, FoundLines, Query
from commonplace.retrieval.term_matching import content_words
from commonplace.store.base import Snapshot
from commonplace.store.records import RowFilter, StoredChunk
from commonplace.text.analysis import Analyzer

__all__ = ["rarest_words", "with_found_lines"]

_analyzer = functools.cache(Analyzer)

_BEFORE, _BEHIND = 1, 2
"""Chunks before and behind the one that holds a line: a finder's passages are longer than chunks,
and the line that it names is often their first."""


def rarest_words(snapshot: Snapshot, text: str, *, tokenizer: str, limit: int) -> list[str]:
    """Return the words of a question that occur in the fewest chunks, rarest first.

    Words that no chunk holds are left out, unless none is held: a finder may know more forms.
    """
    words = content_words(text, _analyzer(tokenizer))
    counts = snapshot.frequencies(words)
    held = sorted((word for word in words if counts[word]), key=counts.__getitem__)
    return [word.term if word.gram else word.text for word in (held or words)[:limit]]


def with_found_lines(snapshot: Snapshot, query: Query, found: FoundLines) -> Query:
    """Return the query with the chunks that hold the found lines; as it is if none does.

    Args:
        snapshot: The files that may answer.
        query: The question, whose filter of rows holds.
        found: The finder's answer.
    """
    scores: dict[int, float] = {}
    near: dict[int, None] = {}
    for line in found.lines:
        for seq, holds in _seqs_at(snapshot, line.path, line.line):
            near[seq] = None
            if holds:
                scores[seq] = max(line.score, scores.get(seq, 0.0))
    held = snapshot.chunks(list(near)) if near else {}
    chunks = [held[seq] for seq in near if seq in held and _passes(query.rows, held[seq])]
    if not chunks:
        return query
    scores = {chunk.seq: scores[chunk.seq] for chunk in chunks if chunk.seq in scores}
    files = {chunk.path for chunk in chunks}

    def answers(path: str) -> bool:
        record = snapshot.file(path)
        is_newer = record is not None and record.indexed_ns >= found.since_ns
        return path in files or is_newer or not found.knows(path)

    return replace(query, found=FoundChunks(tuple(chunks), scores, answers))


def _seqs_at(snapshot: Snapshot, path: str, line: int) -> Iterator[tuple[int, bool]]:
    """Yield the chunks that hold a line of a file, and their neighbours, which do not."""
    places = snapshot.places(path)
    holding = [at for at, it in enumerate(places) if it.start_line <= line <= it.end_line]
    if holding:
        for at in range(max(0, holding[0] - _BEFORE), min(holding[-1] + _BEHIND + 1, len(places))):
            yield places[at].seq, at in holding


def _passes(rows: RowFilter, chunk: StoredChunk) -> bool:
    if rows.sources is not None and chunk.source not in rows.sources:
        return False
    if rows.after is None and rows.before is None:
        return True
    day = chunk.day
    return (
        day is not None
        and (rows.after is None or day >= rows.after)
        and (rows.before is None or day <= rows.before)
    )
