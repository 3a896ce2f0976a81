"""Hyponyms: words for what is of a kind, as "tennis" is for a sport.

The lists are in ``hyponyms.toml``, for English, and are loaded when a question first asks for
something.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator
from functools import cache, lru_cache
from importlib.resources import files
from typing import NamedTuple

__all__ = ["Hyponyms", "asked_hyponyms"]

_WORD = re.compile(r"\w+")
_WRITTEN = r"[\w'’-]+"
_KINDS_OF = r"(?:kinds?|types?|sorts?) of"
_ASKED_THINGS = re.compile(
    # "which board games", "how many kinds of sports", "her favorite color"
    rf"\b(?:what(?:['’]s)?|which|how many|favou?rite|any|list|name|{_KINDS_OF})"
    r"(?: (?:are|is|were|was))?"
    rf"(?: {_KINDS_OF}| other| the| all| of (?:my|our|the))*"
    # "what are Ann's hobbies", "list all my allergies"
    rf"(?: (?:my|our|your|his|her|their|its|{_WRITTEN}['’]s?))?"
    rf"((?: {_WRITTEN}){{1,4}})"
)
_ASKED_ACTION = re.compile(
    # "what does my sister play", "where did we travel"; "what does the scheduler drive" is no car
    r"\b(?:what|where) (?:am|are|can|could|did|do|does|had|has|have|is|should|was|were|will|would)"
    rf"((?! (?:a|an|it|that|the|this) )(?: {_WRITTEN}){{2,8}})"
)
_PHRASE_END = re.compile(
    r" (?:about|and|are|at|been|besides|by|can|could|did|do|does|except|for|from|had|has|have|i|in"
    r"|is|might|of|on|or|should|than|that|the|to|was|we|were|when|where|while|who|will|with|would"
    r"|you)(?!\S).*"
)
_PLURALS = frozenset(("children", "clothes", "electronics"))
"""Names of kinds that have no other form in the lists."""
_LONGEST = 4
"""Words of what a kind or an action is called, at most."""


class Hyponyms(NamedTuple):
    """Words for what is of the kind that a question asks for.

    Attributes:
        words: The words, in lower case and in the singular, without those of the question.
        forms: The words and their plurals.
        several: Whether several things are asked for, as by "which sports".
    """

    words: frozenset[str]
    forms: frozenset[str]
    several: bool


class _Kinds(NamedTuple):
    """Kinds that one name stands for, and whether it is a plural."""

    keys: list[str]
    several: bool


@lru_cache(maxsize=8)  # candidates and lines are looked for by the same words
def asked_hyponyms(question: str) -> Hyponyms | None:
    """Find the words for what a question asks for; None where it asks for no kind of the lists."""
    question = " ".join(question.lower().split())
    kinds = next(_asked_kinds(question), None)
    if kinds is None:
        return None
    said = frozenset(_WORD.findall(question))
    forms = {word: _with_plurals(word) for kind in kinds.keys for word in _words_of(kind)}
    forms = {word: its for word, its in forms.items() if said.isdisjoint(its)}
    return Hyponyms(frozenset(forms), frozenset().union(*forms.values()), kinds.several)


def _asked_kinds(question: str) -> Iterator[_Kinds]:
    """Yield the kinds that are asked for by name, then those by what is done with them."""
    called = _kinds_called()
    for things in _ASKED_THINGS.finditer(question):
        # "The state of the job" is no state of a country; "which state", "the states" may be.
        is_one = " the " in question[things.start() : things.start(1) + 1]
        phrase = _PHRASE_END.sub("", things[1]).split()
        for size in range(len(phrase), 0, -1):
            kinds = called.get(" ".join(phrase[-size:]))
            if kinds is not None and (kinds.several or not is_one):
                yield kinds
    for action in _ASKED_ACTION.finditer(question):
        words = action[1].split()
        for first in range(1, len(words)):  # behind the subject
            for size in range(_LONGEST, 0, -1):
                kinds = called.get(" ".join(("to", *words[first : first + size])))
                if kinds is not None:
                    yield kinds


@cache
def _table() -> dict[str, dict[str, str]]:
    return tomllib.loads(files(__package__).joinpath("hyponyms.toml").read_text("utf-8"))


@cache
def _kinds_called() -> dict[str, _Kinds]:
    """Return the kinds by their names, in the singular and the plural, and by "to" and a verb."""
    named: dict[str, list[str]] = {}
    done: dict[str, list[str]] = {}
    for kind, lists in _table().items():
        for name in _listed(lists["names"]):
            named.setdefault(name, []).append(kind)
        for verb in _listed(lists.get("verbs", "")):
            done.setdefault(f"to {verb}", []).append(kind)
    called = {
        form: _Kinds(keys, True) for name, keys in named.items() for form in _with_plurals(name)
    }
    called |= {name: _Kinds(keys, name in _PLURALS) for name, keys in named.items()}
    return called | {action: _Kinds(keys, False) for action, keys in done.items()}


@cache
def _words_of(kind: str) -> frozenset[str]:
    return frozenset(_listed(_table()[kind]["words"]))


def _listed(text: str) -> list[str]:
    return [entry.strip() for entry in text.split(",") if entry.strip()]


def _with_plurals(noun: str) -> tuple[str, ...]:
    """Return an English noun and its regular plural; of one with "o" at its end, both."""
    if noun.endswith("o"):
        return noun, f"{noun}s", f"{noun}es"
    if noun.endswith(("s", "x", "z", "ch", "sh")):
        return noun, f"{noun}es"
    if noun.endswith("y") and noun[-2] not in "aeiou":
        return noun, f"{noun[:-1]}ies"
    return noun, f"{noun}s"
