"""Highlighting: find the words of a snippet that match the terms of a query."""

from __future__ import annotations

import re
import unicodedata
from typing import TYPE_CHECKING

from commonplace.text.stopwords import ENGLISH

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

__all__ = ["matched_spans", "matched_words", "query_terms"]

_WORD = re.compile(r"[^\W_]+")
_MOST_QUERY = 4_000
_ENDING = re.compile(
    "(?:s|es|ed|e|er|ers|ing|ings|ly|y|ies|ion|ions|ation|ations|ment|ments|ness|able|ible|al|ally"
    "|ity|ive|ful|fully|or|ors|ance|ence|ism|ist|ize|ized|izing)?"
)


def matched_spans(text: str, *, terms: Iterable[str]) -> list[tuple[int, int]]:
    """Return the spans of terms in a text as ``(start, end)``, in order, without overlaps.

    Terms are as they are indexed: folded, perhaps stemmed, and pairs of characters where a script
    has no spaces. Spans are for display only; they change no score.
    """
    stems = [folded for term in terms if (folded := _fold(term))]
    spans = [
        match.span()
        for match in _WORD.finditer(text)
        if any(_is_form(_fold(match[0]), of=stem) for stem in stems)
    ]
    parts = [stem for stem in stems if not (stem.isascii() and stem.isalnum())]  # "1.5", "東京"
    spans += [(at, at + len(part)) for part in parts for at in _places(text, part)]
    return _merged(spans)


def matched_words(text: str, *, terms: Iterable[str]) -> list[str]:
    """Return the words of a text that match the terms, spelled as in the text, each once."""
    words: dict[str, str] = {}
    for start, end in matched_spans(text, terms=terms):
        words.setdefault(_fold(text[start:end]), text[start:end])
    return list(words.values())


def query_terms(query: str) -> tuple[str, ...]:
    """Return the words of a query without stop words."""
    words = dict.fromkeys(_fold(match[0]) for match in _WORD.finditer(query[:_MOST_QUERY]))
    return tuple(word for word in words if word not in ENGLISH)


def _fold(word: str) -> str:
    """Fold case and accents, as the index does."""
    decomposed = unicodedata.normalize("NFD", word.casefold())
    folded = "".join(sign for sign in decomposed if not unicodedata.combining(sign))
    return unicodedata.normalize("NFC", folded)


def _is_form(word: str, *, of: str) -> bool:
    """Return whether an English stem may belong to a word: ``run`` to ``running``."""
    if word == of:
        return True
    stem = of[:-1] if of[-1] in "ei" and len(of) > 2 else of
    if not word.startswith(stem):
        return False
    rest = word[len(stem) :]
    if of.endswith("e"):  # an e is dropped before a vowel only: ``stage``, staging, but no stags
        return rest[:1] in ("a", "e", "i", "o") and bool(_ENDING.fullmatch(rest))
    doubled = rest[:1] in (stem[-1:], "y", "i") and _ENDING.fullmatch(rest[1:])
    return bool(_ENDING.fullmatch(rest) or doubled)


def _places(text: str, part: str) -> list[int]:
    return [match.start() for match in re.finditer(f"(?={re.escape(part)})", text)]


def _merged(spans: Sequence[tuple[int, int]]) -> list[tuple[int, int]]:
    merged: list[tuple[int, int]] = []
    for start, end in sorted(spans):
        if merged and start <= merged[-1][1]:
            merged[-1] = (merged[-1][0], max(end, merged[-1][1]))
        else:
            merged.append((start, end))
    return merged
