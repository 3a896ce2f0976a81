"""Occurrences of a line: the notes that hold it, looked up in the index."""

from __future__ import annotations

from typing import TYPE_CHECKING

from commonplace.history.lines import line_key
from commonplace.store.records import RowFilter
from commonplace.text.analysis import Analyzer

if TYPE_CHECKING:
    from commonplace.store.base import Store

__all__ = ["notes_holding"]

_MOST_WORDS = 32
"""Words of a line that are looked up; the chunks that hold them are then read."""
_MOST_CHUNKS = 200


def notes_holding(store: Store, line: str) -> set[str]:
    """Return the paths of the notes that hold a line, as the index knows them."""
    identity = store.identity if store.exists() else None
    if identity is None:
        return set()
    key = line_key(line)
    words = Analyzer(identity.tokenizer).words(line)[:_MOST_WORDS]
    notes = RowFilter(sources=frozenset({"memory"}))
    with store.snapshot() as snapshot:
        hits = snapshot.match(words, every=True, limit=_MOST_CHUNKS, rows=notes)
        chunks = snapshot.chunks([seq for seq, _ in hits])
    return {chunk.path for chunk in chunks.values() if key in map(line_key, chunk.text.split("\n"))}
