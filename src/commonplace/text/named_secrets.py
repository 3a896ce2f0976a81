"""Secrets that are recognised by a name near them: assignments, tables, and prose.

Examples are "the API key is 9f8e7d6c5b4a" and "his password was hunter2". Each name is looked at
with a bounded part of the text around it, so that time is linear.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from commonplace.text.chosen_words import looks_joined
from commonplace.text.lock_codes import door_codes
from commonplace.text.secret_codes import codes, wallet_words
from commonplace.text.secret_context import SecretContext
from commonplace.text.secret_names import NAMES, kind_of
from commonplace.text.secret_separators import (
    ADJACENT,
    ALONE_BELOW,
    ASSIGNED,
    ASSIGNED_BELOW,
    CLAUSE,
    FROM_TO,
    LISTED,
    MORE,
    MORE_BELOW,
    NEXT_LINES,
    PAIR,
    PROSE,
    REVERSED,
)
from commonplace.text.secret_values import (
    JUDGED_CHARS,
    is_harmless,
    is_opaque,
    is_plain_word,
    is_pointer,
    looks_chosen,
    looks_composed,
    looks_invented,
    looks_random,
    looks_strong,
)
from commonplace.text.sentence_secrets import sentence_secrets, several_words
from commonplace.text.written_value import BARE, TRAILING, WrittenValue, value_at, with_rest

__all__ = ["named_secrets"]

Span = tuple[int, int]

_GROUPS = re.compile(
    r"[\"'`]?(?P<value>[a-z0-9]{4}(?:[ -][a-z0-9]{4}){3,7}|[A-Z0-9]{4}(?: [A-Z0-9]{4}){3,7}"
    r"|(?=[^\n]{0,30}\d)(?=[^\n]{0,30}[A-Z])[A-Za-z0-9]{4}(?: [A-Za-z0-9]{4}){5})"
    r"[\"'`]?(?=[ \t.,;)]{0,3}(?:\n|$))"
)
"""Value in groups of four, as it is shown to be typed."""
_FOUR_BY_FOUR = re.compile(r"(?:[a-z0-9]{4} ){3}[a-z0-9]{4}")
"""Password of one application, as a provider of mail shows it."""
_TYPED = re.compile(r"(?=[A-Za-z0-9#])[!-~]{6,64}(?![!-~位个字条年月桁文])")
_BRACKETS = frozenset("「『“„«")
_QUOTES = ('"', "'", "`")
_TAG = re.compile(r"<[\w.:-]{0,40}$")
_HYPHENATED = re.compile(r"(?:[a-z]+-){3,}[a-z]+")
_VARIABLE_OPTION = re.compile(r"(?:^|\s)(?:-e|--env|--build-arg|unset|--secret)[ =]\w*$")
"""Before the name of a variable whose value is taken from the environment."""
_DEFINE = re.compile(r"[Dd]efine\(\s{0,4}[\"'][\w-]*$")
_USER = re.compile(r"\b(?:user(?:name)?|login|account|benutzer|wi-?fi|wlan)\b|@")
_IN_LINE_CHARS = 120
_APART = re.compile(
    r"(?P<end>\n)|(?<![^\s\"'`(=:,])(?P<value>(?=\D{0,40}\d)[^\s\"'`,;<>|()\[\]{}]{6,})"
)
_NOT_BETWEEN = re.compile(
    r"(?i)(?:hash|sha\d*|commit|checksum|digest|fingerprint|public|version|https?|uuid|file|path|class"
    r"|policy|rule|function|method|field|type|id|data:(?:image|font|text|audio|video))s?\b"
)
"""Words behind a name that say of what follows that it is something else."""


def named_secrets(text: str, lowered: str) -> Iterator[Span]:
    """Yield start and end of each value that a name makes a secret.

    Args:
        text: The text.
        lowered: The same in lower case, character for character.
    """
    yield from door_codes(text, lowered)
    covered = 0
    for match in NAMES.finditer(lowered):
        if match.start() >= covered:  # a name within a value is part of it
            for start, end in _NamedValues(text, *match.span(), kind_of(match)).values():
                whole = BARE.match(text, end) if end - start >= JUDGED_CHARS else None
                end = whole.end() if whole else end
                covered = max(covered, end)
                yield start, end


class _NamedValues(SecretContext):
    """Ways in which the value of a secret stands near its name."""

    def values(self) -> Iterator[Span]:
        """Yield the places of the values."""
        if not self.is_named:
            return
        if self.kind in ("phrase", "pin"):
            yield from self._coded()
            return
        weak = self.is_strict and self.word not in ("pw", "clave", "parola")
        yield from sentence_secrets(self.text, self.start, self.end, self.kind, is_weak=weak)
        ways = (
            self._assigned,
            self._in_prose,
            self._adjacent,
            self._below,
            self._in_clause,
            self._in_line,
        )
        for way in ways:
            if found := way():
                yield found
                yield from self._following(found[1])
                break
        yield from self._reversed()

    def _coded(self) -> Iterator[Span]:
        """Yield the codes, or the words of a wallet, that the name announces."""
        if self.kind == "phrase":
            yield from wallet_words(self.text, self.end)
            if self.word.endswith(("phrase", "secrète", "segreta")):
                yield from several_words(self.text, self.end)
            return
        found = list(sentence_secrets(self.text, self.start, self.end, self.kind))
        yield from found or codes(self.text, self.start, self.end, self.before.lower())

    # -- ways to give a value --------------------------------------------------------------------

    def _assigned(self) -> Span | None:
        """Return the value of ``name = value`` and its like."""
        sep = ASSIGNED.match(self.text, self.end)
        if sep is None or (
            sep["tag"] and not (_TAG.search(self.before) or sep.start("tag") > self.end)
        ):
            return self._listed() or self._assigned_below()
        if groups := _GROUPS.match(self.text, sep.end()):
            return groups.span("value") if not self.is_strict else None
        value = self._value(sep.end())
        if value is None:
            return self._assigned_below() if sep["cell"] is None else None
        if self.is_joined(value, sep[0]):
            return value[:2]
        if self.text[sep.end()] == "(" and not looks_strong(value.text):
            return None
        if sep["made"]:
            made = self.kind == "password" or self.word == "secret"
            return value[:2] if made and looks_strong(value.text) else None
        if sep["cell"] or sep["markup"]:
            return self._if_said(value._replace(quoted=""))
        return self._if_assigned(value)

    def _listed(self) -> Span | None:
        """Return the value that is the next one in a list: of options, of arguments of a call."""
        sep = LISTED.match(self.text, self.end)
        value = self._value(sep.end()) if sep else None
        if value is None or not (value.quoted or self.is_flag()):
            return None
        if (self.is_flag() or _DEFINE.search(self.before)) and not value.is_harmless:
            return value[:2]
        behind = self.text[value.end + 1 : value.end + 4].lstrip(" \t")[:1]
        alone = behind in ("", ")", "}", "\n") and " " not in value.text
        random = looks_random(value.text) or (alone and looks_strong(value.text))
        return value[:2] if random else None

    def _assigned_below(self) -> Span | None:
        """Return the value that is called so: ``name: DB_PASSWORD``, and then ``value: x``."""
        sep = ASSIGNED_BELOW.match(self.text, self.end)
        return self._if_assigned(self._value(sep.end())) if sep else None

    def _in_prose(self) -> Span | None:
        """Return the value of "the name of something is value"."""
        sep = PROSE.match(self.text, self.end)
        if sep is None:
            return None
        value = self._value(sep.end())
        if value and is_pointer(value.text):
            return None
        if (groups := _GROUPS.match(self.text, sep.end())) and self.kind == "password":
            return groups.span("value")
        pair = self._second(sep.end())
        if pair and (looks_chosen(pair.text) or looks_joined(pair.text)):
            return pair[:2]
        return self._if_said(value)

    def _in_clause(self) -> Span | None:
        """Return the value at the end of the clause: "the password is printed below: value"."""
        return self._if_strong(CLAUSE.match(self.text, self.end))

    def _adjacent(self) -> Span | None:
        """Return the value of "name value"."""
        apart = self.text[self.end : self.end + 1].isspace()
        if apart and self.kind == "token":
            pair = self._second(self.end)
            if pair and (looks_strong(pair.text) or looks_joined(pair.text)):
                return pair[:2]
        sep = ADJACENT.match(self.text, self.end)
        if sep is None and self.text[self.end : self.end + 1] not in _BRACKETS:
            return self._touching()
        if sep and (groups := _GROUPS.match(self.text, sep.end())):
            of_app = self.word.startswith("app") or _FOUR_BY_FOUR.fullmatch(groups["value"])
            return groups.span("value") if of_app else None
        value = self._value(sep.end() if sep else self.end)
        if value is None or _VARIABLE_OPTION.search(self.before):
            return None
        if self.is_flag() or (self.is_constant() and not is_plain_word(value.text)):
            return self._if_assigned(value)
        if self.word == "pass" and self.is_strict and not value.quoted:
            chosen = looks_chosen(value.text) or looks_joined(value.text)
            of_user = _USER.search(self.line_before()) and chosen
            return value[:2] if of_user or looks_invented(value.text) else None
        if self.kind == "password" and not value.quoted and _HYPHENATED.fullmatch(value.text):
            return value[:2]
        return self._if_said(value)

    def _touching(self) -> Span | None:
        """Return what follows a name in a script that has no blanks."""
        touches = not self.word[-1:].isascii() and _TYPED.match(self.text, self.end)
        return self._if_said(self._value(self.end)) if touches else None

    def _below(self) -> Span | None:
        """Return the value on a line of its own below, or in the fence that follows."""
        found = NEXT_LINES.match(self.text, self.end) or (
            (sep := PROSE.match(self.text, self.end)) and NEXT_LINES.match(self.text, sep.end())
        )
        below = found["value"][:JUDGED_CHARS] if found else ""
        if found and looks_random(below) and not is_pointer(below):
            return found.span("value")
        if self.kind == "password" or self.word.endswith("pw"):
            found = ALONE_BELOW.match(self.text, self.end)
            chosen = found and (looks_strong(found["value"]) or looks_joined(found["value"]))
            if found and chosen and not is_harmless(found["value"], quoted='"'):
                return found.span("value")
        return None

    def _in_line(self) -> Span | None:
        """Return what can only be a secret further on in the sentence, or in the line of a key."""
        if self.kind == "short" and self.is_strict:
            return None
        if self.word.startswith(("login", "wi", "wlan")):
            return None
        is_secret = is_opaque if self.kind in ("key", "token") else looks_invented
        for found in _APART.finditer(self.text, self.end, self.end + _IN_LINE_CHARS):
            if found["end"]:
                return None
            start = found.start("value")  # its end may be behind the characters looked at
            whole = _APART.match(self.text, start) or found
            value = whole["value"].rstrip(TRAILING)
            if is_secret(value) and not is_harmless(value, quoted='"'):
                if _NOT_BETWEEN.search(self.text, self.end, start):
                    return None
                return start, start + len(value)
        return None

    def _following(self, end: int) -> Iterator[Span]:
        """Yield the values after the first one: of a list, or what it was changed to."""
        pattern = FROM_TO if self.text[self.end : self.end + 6] == " from " else MORE
        for _ in range(12):
            sep = pattern.match(self.text, end) or MORE_BELOW.match(self.text, end)
            value = self._value(sep.end()) if sep else None
            is_next = looks_random if sep and "\n" in sep[0] else looks_chosen
            if value is None or not is_next(value.text):
                return
            yield value[:2]
            end = value.end

    def _reversed(self) -> Iterator[Span]:
        """Yield the value of "value as the name"."""
        if self.is_strict and (self.kind == "key" or self.word == "pass"):
            return
        low = max(0, self.start - 200)
        low = self.text.rfind("\n", low, self.start) + 1 or low
        if found := REVERSED.search(self.text[low : self.start]):
            shown = found["value"].rstrip(TRAILING)
            start = low + found.start("value")
            if place := self._if_said(
                WrittenValue(start, start + len(shown), shown[:JUDGED_CHARS])
            ):
                yield place

    # -- values ----------------------------------------------------------------------------------

    def _value(self, start: int) -> WrittenValue | None:
        """Return the value that begins at a place."""
        quote = self.before[-1:]
        if quote in _QUOTES and self.text[self.end : start + 1].find(quote) == start - self.end:
            return None  # it ends what the name stands in, and opens nothing
        return value_at(self.text, start)

    def _second(self, start: int) -> WrittenValue | None:
        """Return the second of two that begin at a place: of "ann / password"."""
        pair = PAIR.match(self.text, start)
        return self._value(pair.end()) if pair else None

    def _if_strong(self, sep: re.Match[str] | None) -> Span | None:
        """Return the place of a value far from its name if it alone looks like a secret."""
        if sep is None or (self.is_strict and self.kind == "key"):
            return None
        value = self._value(sep.end())
        is_secret = looks_random if self.kind in ("key", "token") else looks_strong
        is_secret = looks_composed if self.is_login() else is_secret
        if value is None or value.is_harmless:
            return None
        if not is_secret(value.text) and not (
            self.kind in ("password", "short") and looks_joined(value.text)
        ):
            return None
        return value[:2]

    def _if_assigned(self, value: WrittenValue | None) -> Span | None:
        """Return the place of an assigned value if it is a secret."""
        if value is None:
            return None
        whole = self._whole(value)
        return (
            whole[:2]
            if self.accepts(value.without_mark()) or self._is_longer(whole, value)
            else None
        )

    def _if_said(self, value: WrittenValue | None) -> Span | None:
        """Return the place of a value in a sentence if it is a secret."""
        if value is None:
            return None
        whole = self._whole(value)
        said = self.accepts_in_prose(value.without_mark()) or self._is_longer(whole, value)
        return whole[:2] if said else None

    def _whole(self, value: WrittenValue) -> WrittenValue:
        """Return a password with what stands behind a comma in it."""
        is_password = self.kind in ("password", "short") or self.is_login()
        return with_rest(self.text, value) if is_password else value

    def _is_longer(self, whole: WrittenValue, value: WrittenValue) -> bool:
        return whole.end > value.end and not whole.is_harmless and looks_strong(whole.text)
