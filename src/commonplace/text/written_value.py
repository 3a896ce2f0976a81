"""Written value: what a text has where the value of a secret may stand, quoted or bare."""

from __future__ import annotations

import re
from typing import NamedTuple

from commonplace.text.chosen_words import looks_joined
from commonplace.text.secret_names import NO_SECRETS
from commonplace.text.secret_values import (
    JUDGED_CHARS,
    is_harmless,
    is_sentence_word,
    looks_random,
    looks_strong,
    without_sentence,
)

__all__ = ["BARE", "TRAILING", "WrittenValue", "value_at", "with_rest"]

_QUOTED = re.compile(
    r"(?:[brfuLN@]{1,2}(?=[\"']))?(?:(?P<open>\\{0,16}[\"'`])"
    r"(?P<value>(?:[^\"'`\\\n]|\\.|(?!(?P=open))[\"'`\\]){1,1000}?)(?P=open)"
    r"|[„“«「『‘]\s?(?P<other>[^“”»」』’„«「\n]{1,200}?)\s?[“”»」』’])"
)
_NEXT_PARAMETER = re.compile(r"&[A-Za-z_][\w.-]{0,40}=")
_OPENED = re.compile(r"[\\\"'`*_(„“«「]{1,4}")
_CALL = re.compile(r"(?:\$|\[\])?[A-Za-z_][\w.:]{0,80}[(\[]|![A-Za-z][\w/.-]{0,40}[ \t]+\S")
BARE = re.compile(r"[^\s\"'`,;<>|()。、，；（）「」]+")
_REST = re.compile(
    r"(?:[,;|&()]{1,2}(?=[^\s,;|()]{0,20}[A-Z0-9])[^\s\"'`,;|=:<>()\[\]{}。、，；]{2,40}){1,3}"
    r"(?=[.,;:!?)]{0,2}(?:\s|$))"
)
_ENTITY = re.compile(r"&#?\w+;")
TRAILING = ".?:*_)]}`"


class WrittenValue(NamedTuple):
    """Value behind the name of a secret, as a text has it: quoted, bare, or given to a function.

    Attributes:
        start: Where it begins.
        end: Where it ends.
        text: What is judged of it: at most `JUDGED_CHARS` characters.
        quoted: The quote around it; empty for none.
    """

    start: int
    end: int
    text: str
    quoted: str = ""

    @property
    def is_harmless(self) -> bool:
        """Whether it is a placeholder, a word, a reference."""
        return is_harmless(self.text, quoted=self.quoted)

    def without_mark(self) -> WrittenValue:
        """Return a word without the exclamation mark that ends its sentence."""
        word = "" if self.quoted else self.text.rstrip("!")
        return self._replace(text=word) if is_sentence_word(word) else self


def value_at(text: str, start: int) -> WrittenValue | None:
    """Return the value that begins at a place of a text; None if none does."""
    if quoted := _QUOTED.match(text, start):
        group = "value" if quoted["value"] is not None else "other"
        return _value(text, *quoted.span(group), (quoted["open"] or quoted[0][:1])[-1])
    if _CALL.match(text, start):
        place = _literal(text, start)
        return _value(text, *place, '"') if place else None
    if opened := _OPENED.match(text, start):
        start = opened.end()
    bare = BARE.match(text, start, start + JUDGED_CHARS)
    if bare is None or bare[0].endswith(("...", "…")):
        return None
    shown = without_sentence(_NEXT_PARAMETER.split(bare[0], maxsplit=1)[0]).rstrip(TRAILING)
    return _value(text, start, start + len(shown)) if shown else None


def with_rest(text: str, value: WrittenValue) -> WrittenValue:
    """Return a bare password with what stands behind its commas: ``Tulip,rain17``."""
    rest = None if value.quoted else _REST.match(text, value.end)
    if rest is None or value.text.lower() in NO_SECRETS:
        return value
    whole = _value(text, value.start, rest.end())
    return value if _ENTITY.search(whole.text) else whole


def _value(text: str, start: int, end: int, quoted: str = "") -> WrittenValue:
    return WrittenValue(start, end, text[start : min(end, start + JUDGED_CHARS)], quoted)


_LITERAL = re.compile(
    r"(?:new )?(?:\[\])?[\w.:]{0,80}?(?P<maker>(?i:fromhex|b64decode|atob|SecretStr|secret"
    r"|SecureString"
    r"|Some|unhex"
    r"|from_hex|bytes?|str|string|buffer\.from|encode|decode|getbytes|strdup|sensitive|literal|raw|from))?"
    r"\(\s{0,4}[brfuLN@]{0,2}(?P<open>[\"'`])(?P<value>[^\"'`\n]{4,1000})(?P=open)"
)
"""Text that is given to a function: ``bytes.fromhex("...")``."""


def _literal(text: str, start: int) -> tuple[int, int] | None:
    """Return the place of a secret that a function makes of a text, or has as its default."""
    found = _LITERAL.match(text, start)
    if found is None:
        return None
    value = found["value"][:JUDGED_CHARS]
    if is_harmless(value, quoted='"'):
        return None
    made = found["maker"] and (looks_strong(value) or looks_joined(value))
    return found.span("value") if made or looks_random(value) else None
