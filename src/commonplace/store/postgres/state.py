"""State of an index in PostgreSQL: what a snapshot reads first, in one query."""

from __future__ import annotations

import functools
import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from commonplace.errors import IndexDamagedError
from commonplace.store.postgres.schema import Role, Tables
from commonplace.store.records import IndexIdentity
from commonplace.types import Source

__all__ = ["IndexState", "Sums", "state_query"]


class Sums(NamedTuple):
    """Sums over the chunks of one source, or of all."""

    chunks: int = 0
    terms: int = 0
    vectors: int = 0


@dataclass(frozen=True, slots=True)
class IndexState:
    """State of an index; the generation and the version identify it.

    Attributes:
        generation: Number of its tables.
        identity: Identity of the index; None for a new one.
        complete: Whether a run came to its end.
        loading: Whether it is loaded in bulk: terms are not counted nor indexed yet.
        version: Number of its last write.
        last_seq: Number of the chunk that was written last.
        sums: Sums by source.
    """

    generation: int
    identity: IndexIdentity | None
    complete: bool
    loading: bool
    version: int
    last_seq: int
    sums: dict[Source, Sums] = field(default_factory=dict)

    @classmethod
    def from_rows(cls, rows: Sequence[tuple[Any, ...]], location: str) -> IndexState:
        """Return the state from the rows of `state_query`."""
        generation, identity, complete, loading, version, last_seq, *_ = rows[0]
        sums = {source: Sums(*counts) for *_, source, counts in map(_split, rows) if source}
        try:
            made = None if identity is None else _identity(identity)
        except (TypeError, ValueError) as error:
            raise IndexDamagedError(
                f"the index {location} does not say what it was built with ({error}). It is "
                "rebuilt from the Markdown files."
            ) from error
        return cls(generation, made, complete, loading, version, last_seq, sums)

    @property
    def tables(self) -> Tables:
        """Names of its tables."""
        return Tables.of(self.generation)

    @property
    def key(self) -> tuple[int, int]:
        """What identifies the state, for caches."""
        return self.generation, self.version

    def of_source(self, source: Source | None) -> Sums:
        """Return the sums of one source, or of all."""
        if source is not None:
            return self.sums.get(source, Sums())
        return Sums(*map(sum, zip(Sums(), *self.sums.values(), strict=True)))


def _split(row: tuple[Any, ...]) -> tuple[Any, ...]:
    return row[6], row[7:10]


def state_query(role: Role) -> str:
    """Return the query of the state of the index that has a role."""
    return (
        "SELECT i.generation, i.identity, i.complete, i.loading, i.version, i.last_seq, "
        "b.source, b.chunks, b.terms, b.vectors "
        f"FROM indexes i LEFT JOIN books b USING (generation) WHERE i.role = '{role}'"
    )


@functools.lru_cache(maxsize=16)
def _identity(text: str) -> IndexIdentity:
    return IndexIdentity(**json.loads(text))
