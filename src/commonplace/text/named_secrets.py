"""Secrets that are recognised by a name near them: assignments, tables, and prose.

Examples are "the API key is 9f8e7d6c5b4a" and "his password was hunter2". Each name is looked at
with a bounded part of the text around it, so that time is linear.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from commonplace.text.secret_codes import codes, wallet_words
from commonplace.text.secret_names import NAMES, NOT_A_KEY, NOT_A_SECRET, QUALIFIED_KEY, kind_of
from commonplace.text.secret_separators import (
    ADJACENT,
    ANSWERED,
    ASSIGNED,
    ASSIGNED_BELOW,
    CLAUSE,
    FROM_TO,
    LISTED,
    MORE,
    NEXT_LINES,
    PAIR,
    PROSE,
    REVERSED,
)
from commonplace.text.secret_values import (
    JUDGED_CHARS,
    is_code_name,
    is_harmless,
    is_identifier,
    is_number,
    is_opaque,
    is_plain_word,
    is_sample,
    is_sentence_word,
    literal,
    looks_chosen,
    looks_invented,
    looks_random,
    looks_strong,
)

__all__ = ["named_secrets"]

Span = tuple[int, int]

_BEFORE_CHARS = 64
"""Characters before a name that qualify it."""

_QUOTED = re.compile(
    r"(?:[brfuLN@]{1,2}(?=[\"']))?(?:(?P<open>\\{0,16}[\"'`])"
    r"(?P<value>(?:[^\"'`\\\n]|\\.|(?!(?P=open))[\"'`\\]){1,1000}?)(?P=open)"
    r"|[„“«「『‘]\s?(?P<other>[^“”»」』’„«「\n]{1,200}?)\s?[“”»」』’])"
)
_GROUPS = re.compile(
    r"[\"'`]?(?P<value>[a-z0-9]{4}(?:[ -][a-z0-9]{4}){3,7}|[A-Z0-9]{4}(?: [A-Z0-9]{4}){3,7})"
    r"[\"'`]?(?=[ \t.,;)]{0,3}(?:\n|$))"
)
"""Value in groups of four, as it is shown to be typed."""
_NEXT_PARAMETER = re.compile(r"&[A-Za-z_][\w.-]{0,40}=")
_OPENED = re.compile(r"[\\\"'`*_(„“«「]{1,4}")
_BRACKETS = frozenset("「『“„«")
_NETWORK = re.compile(r"wi-?fi|wlan|network|netzwerk|réseau|router|fritz|hotspot|ssid")
_QUOTES = ('"', "'", "`")
_CALL = re.compile(r"(?:\$|\[\])?[A-Za-z_][\w.:]{0,80}[(\[]|![A-Za-z][\w/.-]{0,40}[ \t]+\S")
_BARE = re.compile(r"[^\s\"'`,;<>|()。、，；（）「」]+")
_TRAILING = ".?:*_)]}`"
_SNAKE_CASE = re.compile("[a-z]{3,}(?:_[a-z]{2,}){1,6}")
_MEASURE = re.compile(r"\d+(?:\.\d+)+[a-z%]{0,3}|\d+[a-z%]{1,3}")
_TAG = re.compile(r"<[\w.:-]{0,40}$")
_HYPHENATED = re.compile(r"(?:[a-z]+-){3,}[a-z]+")
_SHORT_NUMBERS = re.compile(
    r"(?:voicemail|phone|screen|sim|handy|passcode$|clave$|[^\x00-\u02ff]$)"
)
"""What a password of four digits is for."""
_VARIABLE_OPTION = re.compile(r"(?:^|\s)(?:-e|--env|--build-arg|unset|--secret)[ =]\w*$")
"""Before the name of a variable whose value is taken from the environment."""
_DEFINE = re.compile(r"[Dd]efine\(\s{0,4}[\"'][\w-]*$")
_LOGINS = ("cred", "log", "sign", "wi", "wlan", "ident", "zugang", "anmeld", "einlogg", "connecte")
"""Begins of names behind which a password stands, and no token."""
_IN_LINE_CHARS = 120
_APART = re.compile(r"(?P<end>\n)|(?<![^\s\"'`(=:,])(?P<value>[^\s\"'`,;<>|()\[\]{}]{6,})")
_NOT_BETWEEN = re.compile(
    r"(?i)(?:hash|sha\d*|commit|checksum|digest|fingerprint|public|version|https?|uuid|file|path|class"
    r"|policy|rule|function|method|field|type|id)s?\b"
)
"""Words behind a name that say of what follows that it is something else."""
_SENTENCE = re.compile(r"(?:['’]s)?[ \t]+[\w(\"'`&<$]")


def named_secrets(text: str, lowered: str) -> Iterator[Span]:
    """Yield start and end of each value that a name makes a secret.

    Args:
        text: The text.
        lowered: The same in lower case, character for character.
    """
    covered = 0
    for match in NAMES.finditer(lowered):
        if match.start() >= covered:  # a name within a value is part of it
            for start, end in _Name(text, *match.span(), kind_of(match)).values():
                whole = _BARE.match(text, end) if end - start >= JUDGED_CHARS else None
                end = whole.end() if whole else end
                covered = max(covered, end)
                yield start, end


class _Value(NamedTuple):
    """What may be the value of a name.

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

    def without_mark(self) -> _Value:
        """Return a word without the exclamation mark that ends its sentence."""
        word = "" if self.quoted else self.text.rstrip("!")
        return self._replace(text=word) if is_sentence_word(word) else self


class _Name:
    """Name of a secret in a text."""

    def __init__(self, text: str, start: int, end: int, kind: str) -> None:
        self._text, self._start, self._end, self._kind = text, start, end, kind
        self._word = text[start:end].lower()
        self.before = text[max(0, start - _BEFORE_CHARS) : start]
        lowered = self.before.lower()
        not_a_key = kind == "key" and NOT_A_KEY.search(lowered)
        self._named = not (not_a_key or NOT_A_SECRET.search(lowered))
        self._strict = kind in ("key", "short")
        if kind == "key" and QUALIFIED_KEY.search(lowered):
            self._strict = False
        if kind == "short" and (lowered.endswith("_") or "pass" in self._word[2:]):
            self._strict = False

    def values(self) -> Iterator[Span]:
        """Yield the places of the values."""
        if not self._named:
            return
        if self._kind == "phrase":
            yield from wallet_words(self._text, self._end)
            return
        if self._kind == "pin":
            yield from codes(self._text, self._start, self._end, self.before.lower())
            return
        ways = (
            self._assigned,
            self._in_prose,
            self._adjacent,
            self._below,
            self._answered,
            self._in_clause,
            self._in_line,
        )
        for way in ways:
            if found := way():
                yield found
                yield from self._following(found[1])
                break
        yield from self._reversed()

    # -- ways to give a value --------------------------------------------------------------------

    def _assigned(self) -> Span | None:
        """Return the value of ``name = value`` and its like."""
        sep = ASSIGNED.match(self._text, self._end)
        if sep is None or (
            sep["tag"] and not (_TAG.search(self.before) or sep.start("tag") > self._end)
        ):
            return self._listed() or self._assigned_below()
        if groups := _GROUPS.match(self._text, sep.end()):
            return groups.span("value") if not self._strict else None
        value = self._value(sep.end())
        if value is None:
            return self._assigned_below() if sep["cell"] is None else None
        if self._text[sep.end()] == "(" and not looks_strong(value.text):
            return None
        if sep["made"]:
            made = self._kind == "password" or self._word == "secret"
            return value[:2] if made and looks_strong(value.text) else None
        if sep["cell"] or sep["markup"]:
            return self._if_said(value._replace(quoted=""))
        return self._if_assigned(value)

    def _listed(self) -> Span | None:
        """Return the value that is the next one in a list: of options, of arguments of a call."""
        sep = LISTED.match(self._text, self._end)
        value = self._value(sep.end()) if sep else None
        if value is None or not (value.quoted or self._is_flag()):
            return None
        if (self._is_flag() or _DEFINE.search(self.before)) and not value.is_harmless:
            return value[:2]
        behind = self._text[value.end + 1 : value.end + 4].lstrip(" \t")[:1]
        alone = behind in ("", ")", "}", "\n") and " " not in value.text
        random = looks_random(value.text) or (alone and looks_strong(value.text))
        return value[:2] if random else None

    def _assigned_below(self) -> Span | None:
        """Return the value that is called so: ``name: DB_PASSWORD``, and then ``value: x``."""
        sep = ASSIGNED_BELOW.match(self._text, self._end)
        return self._if_assigned(self._value(sep.end())) if sep else None

    def _in_prose(self) -> Span | None:
        """Return the value of "the name of something is value"."""
        sep = PROSE.match(self._text, self._end)
        if sep is None:
            return None
        if (pair := self._second(sep.end())) and looks_chosen(pair.text):
            return pair[:2]
        return self._if_said(self._value(sep.end()))

    def _in_clause(self) -> Span | None:
        """Return the value at the end of the clause: "the password is printed below: value"."""
        return self._if_strong(CLAUSE.match(self._text, self._end))

    def _answered(self) -> Span | None:
        """Return the answer to a question for the secret, alone in the line below."""
        return self._if_strong(ANSWERED.match(self._text, self._end))

    def _adjacent(self) -> Span | None:
        """Return the value of "name value"."""
        apart = self._text[self._end : self._end + 1].isspace()
        if apart and self._kind == "token":
            pair = self._second(self._end)
            if pair and looks_strong(pair.text):
                return pair[:2]
        sep = ADJACENT.match(self._text, self._end)
        if sep is None and self._text[self._end : self._end + 1] not in _BRACKETS:
            return None
        if sep and (groups := _GROUPS.match(self._text, sep.end())):
            return groups.span("value") if self._word.startswith("app") else None
        value = self._value(sep.end() if sep else self._end)
        if value is None or _VARIABLE_OPTION.search(self.before):
            return None
        if self._is_flag() or (self._is_constant() and not is_plain_word(value.text)):
            return self._if_assigned(value)
        if self._word == "pass" and self._strict and not value.quoted:
            return value[:2] if looks_invented(value.text) else None
        if self._kind == "password" and not value.quoted and _HYPHENATED.fullmatch(value.text):
            return value[:2]
        return self._if_said(value)

    def _below(self) -> Span | None:
        """Return the value on a line of its own below, or in the fence that follows."""
        found = NEXT_LINES.match(self._text, self._end) or (
            (sep := PROSE.match(self._text, self._end)) and NEXT_LINES.match(self._text, sep.end())
        )
        if not found or not looks_random(found["value"][:JUDGED_CHARS]):
            return None
        return found.span("value")

    def _in_line(self) -> Span | None:
        """Return what can only be a secret in the rest of the sentence, or of the line of a key."""
        if self._strict or self._word.startswith(("login", "wi", "wlan")):
            return None
        is_secret = is_opaque if self._kind in ("key", "token") else looks_invented
        for found in _APART.finditer(self._text, self._end, self._end + _IN_LINE_CHARS):
            start = found.start("value")
            if found["end"] or _NOT_BETWEEN.search(self._text, self._end, start):
                return None
            value = found["value"].rstrip(_TRAILING)
            if is_secret(value) and not is_harmless(value, quoted='"'):
                return start, start + len(value)
        return None

    def _following(self, end: int) -> Iterator[Span]:
        """Yield the values after the first one: of a list, or what it was changed to."""
        pattern = FROM_TO if self._text[self._end : self._end + 6] == " from " else MORE
        for _ in range(12):
            sep = pattern.match(self._text, end)
            value = self._value(sep.end()) if sep else None
            if value is None or not looks_chosen(value.text):
                return
            yield value[:2]
            end = value.end

    def _reversed(self) -> Iterator[Span]:
        """Yield the value of "value as the name"."""
        if self._strict and (self._kind == "key" or self._word == "pass"):
            return
        low = max(0, self._start - 200)
        low = self._text.rfind("\n", low, self._start) + 1 or low
        if found := REVERSED.search(self._text[low : self._start]):
            shown = found["value"].rstrip(_TRAILING)
            start = low + found.start("value")
            if place := self._if_said(_Value(start, start + len(shown), shown[:JUDGED_CHARS])):
                yield place

    # -- values ----------------------------------------------------------------------------------

    def _value(self, start: int) -> _Value | None:
        """Return the value that begins at a place."""
        quote = self.before[-1:]
        if quote in _QUOTES and self._text[self._end : start + 1].find(quote) == start - self._end:
            return None  # it ends what the name stands in, and opens nothing
        if quoted := _QUOTED.match(self._text, start):
            group = "value" if quoted["value"] is not None else "other"
            return self._made(*quoted.span(group), (quoted["open"] or quoted[0][:1])[-1])
        if _CALL.match(self._text, start):
            place = literal(self._text, start)
            return self._made(*place, '"') if place else None
        if opened := _OPENED.match(self._text, start):
            start = opened.end()
        bare = _BARE.match(self._text, start, start + JUDGED_CHARS)
        if bare is None or bare[0].endswith(("...", "…")):
            return None
        shown = _NEXT_PARAMETER.split(bare[0], maxsplit=1)[0].rstrip(_TRAILING)
        return self._made(start, start + len(shown)) if shown else None

    def _made(self, start: int, end: int, quoted: str = "") -> _Value:
        return _Value(start, end, self._text[start : min(end, start + JUDGED_CHARS)], quoted)

    def _second(self, start: int) -> _Value | None:
        """Return the second of two that begin at a place: of "ann / password"."""
        pair = PAIR.match(self._text, start)
        return self._value(pair.end()) if pair else None

    def _if_strong(self, sep: re.Match[str] | None) -> Span | None:
        """Return the place of a value far from its name if it alone looks like a secret."""
        if sep is None or (self._strict and self._kind == "key"):
            return None
        value = self._value(sep.end())
        is_secret = looks_random if self._kind in ("key", "token") else looks_strong
        if value is None or value.is_harmless or not is_secret(value.text):
            return None
        return value[:2]

    def _if_assigned(self, value: _Value | None) -> Span | None:
        """Return the place of an assigned value if it is a secret."""
        if value is None or not self._accepts(value.without_mark()):
            return None
        return value[:2]

    def _if_said(self, value: _Value | None) -> Span | None:
        """Return the place of a value in a sentence if it is a secret."""
        if value is None or not self._accepts_in_prose(value.without_mark()):
            return None
        return value[:2]

    def _accepts(self, value: _Value) -> bool:
        """Return whether an assigned value is a secret."""
        if len(value.text) < 3 or value.is_harmless:
            return False
        if self._kind in ("token", "key") and (self._is_of_code(value) or self._is_count(value)):
            return False
        if self._strict:
            if self._kind == "short":
                return looks_chosen(value.text) or bool(value.quoted and len(value.text) > 3)
            return looks_random(value.text)
        return not is_plain_word(value.text) or not self._is_word(value)

    def _accepts_in_prose(self, value: _Value) -> bool:
        """Return whether a value in a sentence is a secret, and not a word of it."""
        text = value.text
        if value.is_harmless:
            return False
        if self._kind in ("password", "short") or self._word.startswith(_LOGINS):
            if value.quoted and self._kind == "password":
                return len(text) >= 4 and len(text.split()) <= 8
            least = 4 if _SHORT_NUMBERS.search(self.before.lower() + self._word) else 6
            if self._kind == "short" and _MEASURE.fullmatch(text):
                return False
            return looks_chosen(text) or (text.isdecimal() and len(text) >= least)
        if self._kind == "key" and text.isdecimal():
            return len(text) >= 12 and bool(_NETWORK.search(self._line_before()))
        if self._kind == "key" and _NETWORK.search(self._line_before() + self._behind()):
            return looks_strong(text)
        return looks_random(text)

    def _is_word(self, value: _Value) -> bool:
        """Return whether a word is one of a sentence, or a term: "password: must have ..."."""
        if value.quoted:
            return self._is_loose()
        acronym = self._kind == "token" and value.text.isupper() and len(value.text) <= 6
        if self._is_loose() or acronym:
            return True
        return is_sentence_word(value.text) and bool(_SENTENCE.match(self._text, value.end))

    def _is_loose(self) -> bool:
        """Return whether the name often stands before something else: "tokens: few"."""
        return self._kind == "token" and self._word.endswith(("s", "login", "fi", "lan"))

    def _is_of_code(self, value: _Value) -> bool:
        """Return whether what a token or a key is given is a variable, a class or a sample."""
        text = value.text
        is_token = self._word.startswith("token")
        if is_sample(text) or (" " in text and is_token):
            return True
        if self._kind == "key" and _SNAKE_CASE.fullmatch(text):
            return True
        if is_code_name(text):
            return is_token or not value.quoted
        if not is_identifier(text):
            return False
        if self._is_loose() or (self._word == "token" and re.search(r"[.-]", text)):
            return True
        spaced = self._text.startswith(" = ", self._end)
        return spaced and not value.quoted and not self._is_constant()

    def _is_count(self, value: _Value) -> bool:
        if self._word.startswith(("token", "login", "wi", "wlan")):
            return is_number(value.text)
        return value.text.isdecimal() and len(value.text) < 5 and not value.quoted

    def _line_before(self) -> str:
        return self.before.lower().rpartition("\n")[2]

    def _behind(self) -> str:
        return self._text[self._end : self._end + 24].lower()

    def _is_flag(self) -> bool:
        return bool(re.search(r"(?:^|[\s\[\"'])--?[\w-]*$", self.before))

    def _is_constant(self) -> bool:
        word = self._text[self._start : self._end]
        return word.isupper() and bool(re.search(r"[A-Z0-9]_$", self.before))
