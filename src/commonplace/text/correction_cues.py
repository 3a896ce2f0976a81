"""Cue words of corrections, doubts and past times, in several languages.

The lists are in ``correction_cues.toml`` and are loaded at their first use.
"""

from __future__ import annotations

import re
import tomllib
import unicodedata
from collections.abc import Iterator, Sequence
from functools import cache
from importlib.resources import files
from itertools import pairwise
from typing import Literal, NamedTuple

__all__ = [
    "asked_attributes",
    "asks_for_past",
    "is_doubtful",
    "is_revision",
    "is_word",
    "words_of",
]

WordKind = Literal[
    "article",
    "companion",
    "copula",
    "from",
    "indefinite",
    "negation",
    "onto",
    "other",
    "pronoun",
    "relative",
    "which",
]
"""Kinds of words: before a noun; "with"; "is"; "from"; "a"; "not"; "to"; "other"; "we"; "sister";
"which"."""

_WORD = re.compile(r"[^\W_]+")
_UNSPACED = re.compile("[\u0e00-\u0eff\u3040-\u30ff\u3400-\u9fff\uac00-\ud7ff]")
_ARROW = re.compile(r"\S\s*(?:→|->|=>|➜|⇒)\s*\S")
_OPEN_TASK = "[ ] "
_BETWEEN = 5
"""Words from one part of a cue to the other, at most."""


def words_of(text: str) -> list[str]:
    """Return the words of a text in order, in lower case and without accents."""
    return _WORD.findall(_folded(text.lower()))


def is_revision(words: Sequence[str], text: str = "") -> bool:
    """Return whether a text says that something has changed: "no longer", "moved to", "→"."""
    return (
        _cues("revision").are_in(words, text)
        or not _cues("new").words.isdisjoint(words[:1])
        or _ARROW.search(text) is not None
        or _follow(words, "not", "longer")
        or _follow(words, "parted", "particle")
    )


def is_doubtful(words: Sequence[str], text: str = "") -> bool:
    """Return whether a text asks, plans, reports, quotes or remembers rather than states."""
    asks = text.rstrip().endswith(("?", "？"))
    if asks or _OPEN_TASK in text or _cues("doubt").are_in(words, text):
        return True
    return _cues("once").are_in(words, text) and not is_revision(words, text)


def asks_for_past(words: Sequence[str], text: str) -> bool:
    """Return whether a question asks for what was before, without a date: "used to"."""
    return _cues("past").are_in(words, text) or not _ends().isdisjoint(
        _WORD.findall(unicodedata.normalize("NFC", text).lower())[-1:]
    )


def is_word(kind: WordKind, word: str) -> bool:
    """Return whether a word is of a kind."""
    return word in _cues(kind).words


def asked_attributes(words: Sequence[str]) -> Iterator[str]:
    """Yield the words of a question for what it asks of a subject: "which *port*", "*price* of"."""
    which, of = _cues("which").words, _cues("of").words
    yield from (word for before, word in pairwise(words) if before in which)
    yield from next((words[:at] for at, word in enumerate(words) if word in of), ())


class _Cues(NamedTuple):
    """Cues of one kind: words, pairs of words, and parts of words of scripts without spaces."""

    words: frozenset[str]
    pairs: frozenset[tuple[str, str]]
    parts: tuple[str, ...]

    def are_in(self, words: Sequence[str], text: str) -> bool:
        """Return whether one of them occurs."""
        return (
            not self.words.isdisjoint(words)
            or not self.pairs.isdisjoint(pairwise(words))
            or (not text.isascii() and any(part in text for part in self.parts))
        )


@cache
def _cues(kind: str) -> _Cues:
    entries = [entry.strip() for text in _lists()[kind].values() for entry in text.split(",")]
    parts = [entry for entry in entries if _UNSPACED.search(entry)]
    spaced = [_folded(entry).split() for entry in entries if entry not in parts]
    return _Cues(
        frozenset(entry[0] for entry in spaced if len(entry) == 1),
        frozenset((entry[0], entry[1]) for entry in spaced if len(entry) == 2),
        tuple(parts),
    )


@cache
def _ends() -> frozenset[str]:
    """Return the words of a past time at the end of a question, with their accents."""
    return frozenset(entry.strip() for entry in _lists()["past_at_end"]["all"].split(","))


@cache
def _lists() -> dict[str, dict[str, str]]:
    text = (files("commonplace.text") / "correction_cues.toml").read_text("utf-8")
    return tomllib.loads(text)


def _follow(words: Sequence[str], first: str, second: str) -> bool:
    """Return whether a word of one kind follows one of another, others between: "put it off"."""
    begin, end = _cues(first).words, _cues(second).words
    return not end.isdisjoint(words) and any(
        word in end and not begin.isdisjoint(words[max(0, at - _BETWEEN) : at])
        for at, word in enumerate(words)
    )


def _folded(text: str) -> str:
    """Return a text without accents."""
    if text.isascii():
        return text
    signs = unicodedata.normalize("NFD", text)
    return unicodedata.normalize("NFC", "".join(s for s in signs if not unicodedata.combining(s)))
