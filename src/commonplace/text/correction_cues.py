"""Cue words of corrections, doubts and past times, in several languages.

The lists are in ``correction_cues.toml`` and are loaded at their first use.
"""

from __future__ import annotations

import re
import tomllib
import unicodedata
from collections.abc import Iterable, Iterator, Sequence
from functools import cache
from importlib.resources import files
from itertools import islice, pairwise
from typing import Literal, NamedTuple

from commonplace.text.analysis import folded, words_of
from commonplace.text.time_expressions import calendar_names
from commonplace.text.unspaced_scripts import is_unspaced

__all__ = [
    "WordKind",
    "arrow_starts",
    "asked_attributes",
    "asks_for_past",
    "has_word",
    "is_addition",
    "is_doubtful",
    "is_question",
    "is_revision",
    "is_word",
    "left_parts",
    "left_words",
    "parts_in",
    "places_of",
    "recalls",
    "replaced_words",
    "words_behind",
]

WordKind = Literal[
    "about",
    "article",
    "before",
    "belonging",
    "but",
    "companion",
    "copula",
    "determiner",
    "effective",
    "ended",
    "environment",
    "first_person",
    "from",
    "how_many",
    "indefinite",
    "last",
    "negation",
    "new",
    "other",
    "pronoun",
    "relative",
    "replaced",
    "third_person",
    "until",
    "was",
    "when",
    "which",
    "who",
]
"""Kinds of words: the lists of these names in ``correction_cues.toml``."""

_WORD = re.compile(r"[^\W_]+")
_CHINESE = re.compile("[\u3400-\u9fff]")
_ARROW = re.compile(r"(\S{1,40})\s{0,4}(?:→|->|=>|➜|⇒)\s{0,4}\S")
_AMOUNT = re.compile(r"\b\d+(?=[^\W\d_]{1,3}\b)")
_SENTENCE_END = re.compile(r"(?<=[.!?;:])\s+|(?<=[。！？；：])")
_LEFT_PART = re.compile(
    r"([^\s、。,，はがをのにで]{1,12})(?:では|じゃ|で)な[くい]"
    r"|([^\s、。,，はがをの]{1,12}?)(?<![月週年回度期時今])(?<!(?<!曜)日)から[^\s、。]{1,12}?[にへ]"
    r"|从([^\s，。,到]{1,12}?)(?:改|换|搬|迁|调|升|降|涨|移|挪|转|变)"
    r"|(?<![而还])不是([^\s，。,而]{1,12})"
    r"|(\S{1,12}?)(?:이|가)? 아니라"
    r"|(\S{1,12}?)에서 \S{1,12}?로\b"
)
"""Numbers and words that are no more, of Japanese, Chinese and Korean."""
_OPEN_TASK = "[ ] "
_FROM = frozenset(("from", "fra", "fran"))
"""Words that are "from" and not "of"."""
_MOST_WORDS = 20_000
"""Words of which a table remembers whether they begin with a stem."""
_BETWEEN = 5
"""Words from one part of a cue to the other, at most."""


def is_revision(words: Sequence[str], text: str = "", *, is_turn: bool = False) -> bool:
    """Return whether a text says that something has changed: "no longer", "moved to", "→".

    In a turn of a conversation, "now" and its like do not say so.
    """
    return (
        _cues("revision").are_in(words, text)
        or (not is_turn and _cues("recent").are_in(words, text))
        or _ARROW.search(text) is not None
        or _follow(words, "not", "longer")
        or _follow(words, "parted", "particle")
        or _takes_effect(words)
    )


def _takes_effect(words: Sequence[str]) -> bool:
    """Return whether words say from which day on something is: "from 2 November", to no other."""
    return any(
        not calendar_names().isdisjoint(words[at + 1 : at + 3])
        and not has_word("until", words[at + 1 : at + 1 + _BETWEEN])
        for at in places_of("effective", words)
    )


def is_doubtful(
    words: Sequence[str], text: str = "", *, is_newer: bool = True, of_day: bool = False
) -> bool:
    """Return whether a text asks, plans, reports, quotes or remembers rather than states.

    "Still" is what the older of two lines says of its own time, and the newer one of a time before.
    "Today only" states nothing that holds, unless it is of a day, which is asked for.
    """
    if _OPEN_TASK in text or is_question(text) or not _cues("recall").words.isdisjoint(words[:1]):
        return True
    if _cues("doubt").are_in(words, text) and not _follow(words, "not", "longer"):
        return True
    if not of_day and _cues("exception").are_in(words, text):
        return True
    is_over = is_newer and _cues("once").are_in(words, text)
    is_of_a_day = not of_day and _cues("occasion").are_in(words, text)
    return (is_over or is_of_a_day) and not is_revision(words, text)


def recalls(words: Sequence[str], text: str) -> bool:
    """Return whether a text remembers how it was before."""
    return (
        not _cues("recall").words.isdisjoint(words[:1])
        or _cues("memory").are_in(words, text)
        or asks_for_past(words, text)
    )


def is_addition(phrases: Iterable[Sequence[str]]) -> bool:
    """Return whether phrases say the same of one thing more: "Ann has a new number, *too*"."""
    return any(words[-1:] == ["too"] or _cues("also").are_in(words, "") for words in phrases)


def is_question(text: str) -> bool:
    """Return whether a text ends with a question, or begins with one and comments on it."""
    sentences = [part for part in _SENTENCE_END.split(text.strip()) if _WORD.search(part)] or [""]
    # "Ann: My favourite colour? Green": what a speaker asks first is often answered behind it.
    return any(part.endswith(("?", "？")) for part in (sentences[0], sentences[-1]))


def asks_for_past(words: Sequence[str], text: str) -> bool:
    """Return whether a question asks for what was before, without a date: "used to"."""
    return (
        _cues("past").are_in(words, text)
        or _follow(words, "were", "first")
        or (("use", "to") in pairwise(words) and not {"did", "didn"}.isdisjoint(words))
        or not _ends().isdisjoint(_WORD.findall(unicodedata.normalize("NFC", text).lower())[-1:])
    )


def is_word(kind: WordKind, word: str) -> bool:
    """Return whether a word is of a kind."""
    return word in _cues(kind).words


def has_word(kind: WordKind, words: Iterable[str]) -> bool:
    """Return whether one of some words is of a kind."""
    return not _cues(kind).words.isdisjoint(words)


def places_of(kind: WordKind, words: Sequence[str]) -> list[int]:
    """Return the places of the words of a kind among some words."""
    of_kind = _cues(kind).words
    # Most lines have none, which one call tells.
    return [] if of_kind.isdisjoint(words) else [at for at, w in enumerate(words) if w in of_kind]


def words_behind(kind: WordKind, words: Sequence[str]) -> Iterator[Sequence[str]]:
    """Yield the words behind each cue of a kind, which is one word or two."""
    cues = _cues(kind)
    if not cues.are_in(words, ""):
        return  # as most
    for at, word in enumerate(words):
        is_pair = (word, *words[at + 1 : at + 2]) in cues.pairs
        if is_pair or word in cues.words:
            yield words[at + 1 + is_pair :]


def parts_in(kind: WordKind, text: str) -> frozenset[str]:
    """Return the words of a kind that occur in a text of a script without spaces."""
    if not is_unspaced(text):
        return frozenset()
    found = (part for part in _cues(kind).parts if part in text)
    return frozenset(part for part in found if len(part) > 1 or _stands_alone(part, text))


def _stands_alone(sign: str, text: str) -> bool:
    """Return whether a sign stands in a text without another Chinese one beside it."""
    parts = text.split(sign)
    return any(not _CHINESE.search(before[-1:] + behind[:1]) for before, behind in pairwise(parts))


def asked_attributes(words: Sequence[str]) -> list[str]:
    """Return the words for what is asked of a subject: "which *port*", "is the *price* of"."""
    which, copula = _cues("which").words, _cues("copula").words | {"s"}
    asked = [word for before, word in pairwise(words) if before in which and word not in copula]
    if asked:
        return asked
    places = zip(words, words[1:], words[2:], words[3:], strict=False)
    found = (
        word
        for verb, article, word, behind in places
        if verb in copula and is_word("article", article) and is_word("article", behind)
    )
    return list(islice(found, 1))


def replaced_words(phrases: Iterable[Sequence[str]]) -> Iterator[Sequence[str]]:
    """Yield what phrases say was before: "instead of *tea*", "no longer *Ann*".

    Args:
        phrases: The words of a text, apart where it has punctuation.
    """
    for words in phrases:
        yield from _words_behind_longer(words)
        yield from (behind[: _BETWEEN + 2] for behind in words_behind("replaced", words))


def left_words(phrases: Iterable[Sequence[str]]) -> Iterator[Sequence[str]]:
    """Yield what phrases go from to something else: "from *Monday* to Tuesday"."""
    for words in phrases:
        for at in places_of("from", words):
            ends = _ends_of(words[at])
            behind = words[at + 1 : at + _BETWEEN]
            end = next((to for to, word in enumerate(behind) if to and word in ends), 0)
            # "de" is "of", too: "la réunion du lundi commence à".
            if end == 1 or any(map(str.isdigit, behind[:end])) or (end and words[at] in _FROM):
                yield behind[:end]


def arrow_starts(text: str) -> list[list[str]]:
    """Return the words that arrows of a text go from: "limit *200* -> 400"; of "30d", 30, too."""
    return [words_of(it[1]) + _AMOUNT.findall(it[1]) for it in _ARROW.finditer(text)]


def left_parts(text: str) -> Iterator[str]:
    """Yield what a text of a script without spaces says was before: "*2150*ではなく2160"."""
    if is_unspaced(text):
        yield from (next(filter(None, groups)) for groups in _LEFT_PART.findall(text))


def _words_behind_longer(words: Sequence[str]) -> Iterator[Sequence[str]]:
    """Yield what is no more, behind a verb between: "n'est plus *Théo* mais Karim"."""
    if not _follow(words, "not", "longer"):
        return
    at = max(at for at, word in enumerate(words) if word in _cues("longer").words)
    behind = words[at + 1 : at + 1 + _BETWEEN]
    end = next((to for to, word in enumerate(behind) if word in _cues("but").words), len(behind))
    yield behind[:end]


class _StemTable(dict[str, bool]):
    """Whether words begin with one of some stems; a word is looked at once."""

    def __init__(self, stems: tuple[str, ...]) -> None:
        super().__init__()
        self._stems = stems

    def __missing__(self, word: str) -> bool:
        if len(self) >= _MOST_WORDS:
            self.clear()
        found = self[word] = word.startswith(self._stems)
        return found


class _Cues(NamedTuple):
    """Cues of one kind: words, pairs of words, stems, and parts of scripts without spaces."""

    words: frozenset[str]
    pairs: frozenset[tuple[str, str]]
    stems: _StemTable | None
    parts: tuple[str, ...]

    def are_in(self, words: Sequence[str], text: str) -> bool:
        """Return whether one of them occurs."""
        return (
            not self.words.isdisjoint(words)
            or not self.pairs.isdisjoint(pairwise(words))
            or (self.stems is not None and any(map(self.stems.__getitem__, words)))
            or (is_unspaced(text) and any(part in text for part in self.parts))
        )


@cache
def _cues(kind: str) -> _Cues:
    entries = [entry for text in _lists()[kind].values() for entry in _entries(text)]
    parts = [entry for entry in entries if is_unspaced(entry)]
    stems = tuple(folded(entry[:-1]) for entry in entries if entry.endswith("*"))
    spaced = [folded(it).split() for it in entries if it not in parts and not it.endswith("*")]
    return _Cues(
        frozenset(entry[0] for entry in spaced if len(entry) == 1),
        frozenset((entry[0], entry[1]) for entry in spaced if len(entry) == 2),
        _StemTable(stems) if stems else None,
        tuple(parts),
    )


@cache
def _ends_of(start: str) -> frozenset[str]:
    """Return the words of the language of "from" that stand before what it goes to: "to"."""
    starts, ends = _lists()["from"], _lists()["onto"]
    return frozenset(
        folded(end)
        for language, text in starts.items()
        if start in map(folded, _entries(text))
        for end in _entries(ends[language])
    )


def _entries(text: str) -> list[str]:
    return [entry.strip() for entry in text.split(",")]


@cache
def _ends() -> frozenset[str]:
    """Return the words of a past time at the end of a question, with their accents."""
    return frozenset(_entries(_lists()["past_at_end"]["all"]))


@cache
def _lists() -> dict[str, dict[str, str]]:
    return tomllib.loads((files("commonplace.text") / "correction_cues.toml").read_text("utf-8"))


def _follow(words: Sequence[str], first: str, second: str) -> bool:
    """Return whether a word of one kind follows one of another, others between: "put it off"."""
    begin, end = _cues(first).words, _cues(second).words
    return not end.isdisjoint(words) and any(
        word in end and not begin.isdisjoint(words[max(0, at - _BETWEEN) : at])
        for at, word in enumerate(words)
    )
