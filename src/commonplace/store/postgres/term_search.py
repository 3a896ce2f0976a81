"""Search of terms in PostgreSQL: which chunks hold them, and how often."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from commonplace.store.postgres import terms as term_math
from commonplace.store.postgres.terms import RANK_WEIGHTS, Phrase

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from commonplace.store.postgres.reader_cache import ReaderCache
    from commonplace.store.postgres.state import IndexState

__all__ = ["TermSearch"]

_MAX_RANKED = 24
"""Terms whose occurrences `ts_rank` counts; of more, the positions are read instead."""
_LAST = "\U0010ffff"


class TermSearch:
    """Search of one state of the index.

    Args:
        rows: Runs a statement and returns its rows.
        state: The state.
        cache: Keeps the terms that begin with a prefix.
    """

    def __init__(
        self, rows: Callable[..., list[Any]], state: IndexState, cache: ReaderCache
    ) -> None:
        self._rows, self._state, self._cache = rows, state, cache

    def found(
        self, phrases: Sequence[Phrase], where: str, values: Sequence[Any], *, every: bool
    ) -> tuple[NDArray[np.int64], NDArray[np.float64], NDArray[np.float64]]:
        """Return the seqs and lengths of the chunks that match, and how often they hold each.

        Args:
            phrases: What to look for.
            where: Condition on the rows of words; "" for none.
            values: Its values.
            every: Whether a chunk must hold all of them.
        """
        where = where and f" AND {where}"
        forms = [self._forms(phrase) for phrase in phrases]
        singles = [form for some in forms for form in some]
        if len(singles) > _MAX_RANKED or not all(form.single for form in singles):
            return self._by_positions(phrases, where, values, every=every)
        query = term_math.query_of(phrases, every=every)
        seqs, lengths, counts = self._by_rank(singles, query, where, values)
        owner = np.repeat(np.arange(len(forms)), [len(some) for some in forms])
        return seqs, lengths, counts @ (owner[:, None] == np.arange(len(forms)))

    def _forms(self, phrase: Phrase) -> list[Phrase]:
        """Return the lexemes that begin with a prefix, where they are counted; else the phrase."""
        if not phrase.prefix or phrase.initial or len(phrase.lexemes) > 1 or self._state.loading:
            return [phrase]
        known = self._cache.of("forms", self._state.key)
        if phrase not in known:
            (prefix,) = phrase.lexemes
            known[phrase] = self._rows(
                f"SELECT DISTINCT term FROM {self._state.tables.terms} "
                f"WHERE term >= %s AND term < %s LIMIT {_MAX_RANKED + 1}",
                prefix,
                prefix + _LAST,
            )
        return [Phrase((lexeme,)) for (lexeme,) in known[phrase]]

    def _by_rank(
        self, phrases: Sequence[Phrase], query: str, where: str, values: Sequence[Any]
    ) -> tuple[Any, Any, Any]:
        ranks = ", ".join(f"ts_rank({RANK_WEIGHTS}, terms, %s::tsquery)" for _ in phrases)
        found = self._rows(
            f"SELECT {', '.join(filter(None, ('seq, length', ranks)))} "
            f"FROM {self._state.tables.words} WHERE terms @@ %s::tsquery{where}",
            *(phrase.query for phrase in phrases),
            query,
            *values,
        )
        table = np.array(found, dtype=np.float64).reshape(len(found), 2 + len(phrases))
        counts = term_math.counts_from_ranks(table[:, 2:].astype(np.float32))
        return table[:, 0].astype(np.int64), table[:, 1], counts

    def _by_positions(
        self, phrases: Sequence[Phrase], where: str, values: Sequence[Any], *, every: bool
    ) -> tuple[Any, Any, Any]:
        """Find phrases, prefixes and initial terms, which `ts_rank` does not count."""
        lexemes = sorted({lexeme for phrase in phrases for lexeme in phrase.lexemes})
        prefixes = [phrase.lexemes[-1] for phrase in phrases if phrase.prefix]
        terms, marked = "terms", []
        if all(phrase.initial for phrase in phrases):  # a long vector takes long to take apart
            terms, marked = "ts_filter(setweight(terms, 'A', %s::text[]), '{a}')", [lexemes]
        found = self._rows(
            f"""SELECT seq, length, array_agg(lexeme), array_agg(positions::text)
            FROM {self._state.tables.words}, unnest({terms})
            WHERE terms @@ %s::tsquery{where} AND (lexeme = ANY(%s::text[])
                OR EXISTS (SELECT 1 FROM unnest(%s::text[]) AS prefix
                           WHERE starts_with(lexeme, prefix)))
            GROUP BY seq, length""",
            *marked, term_math.query_of(phrases, every=every), *values, lexemes, prefixes,
        )  # fmt: skip
        counts = term_math.counts_from_positions([row[2:] for row in found], phrases)
        table = np.array([row[:2] for row in found], dtype=np.float64).reshape(len(found), 2)
        # The server finds an initial term anywhere.
        held = (counts > 0).all(axis=1) if every else (counts > 0).any(axis=1)
        return table[held, 0].astype(np.int64), table[held, 1], counts[held]
