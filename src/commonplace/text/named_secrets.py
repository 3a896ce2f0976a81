"""Secrets that are recognised by a name near them: assignments, tables, and prose.

Examples are "the API key is 9f8e7d6c5b4a" and "his password was hunter2". Each name is looked at
with a bounded part of the text around it, so that time is linear.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from commonplace.text.secret_names import (
    CONNECTOR,
    FILLER,
    NAMES,
    NO_SECRETS,
    OWNED,
    QUALIFIED_KEY,
    REVERSED,
    TECHNICAL,
)

__all__ = ["JUDGED_CHARS", "is_mask", "looks_chosen", "looks_random", "named_secrets"]

Span = tuple[int, int]

_MASKED = re.compile(r"\*\*\*|[^…]{6}…[^…]{4}")
_BEFORE_CHARS = 48
"""Characters before a name that qualify it."""
JUDGED_CHARS = 128
"""Characters of a value that are judged: a bound, so that time stays linear."""

_ASSIGNED = re.compile(
    r"(?:\\{0,16}[\"'`]|[*_]{1,3}|\?|\]){0,3}"
    r"(?:[ \t]{0,20}(?::=|=>|->|[:=：＝](?![:=])|→|—(?=\s)|–(?=\s)|\t)"
    r"|[ \t]{0,20}(?P<cell>\|)|(?P<tag>>)|[\"'][ \t]{1,4}value[ \t]{0,4}=)"
    r"[*_]{0,3}[ \t]{0,20}"
    r"(?:[A-Za-z_][\w.]{0,40}(?:[ \t]?\|[ \t]?None)?[ \t]{0,4}=(?!=)[ \t]{0,8})?"  # a type
)
_LISTED = re.compile(r"[\"'][ \t]{0,4},[ \t]{0,4}(?=[\"'])")
_ADJACENT = re.compile(r"(?:[ \t]{1,4}|(?<=\S)\t+)(?![=+*/<>&|!-])")
_PROSE = re.compile(rf"{OWNED}[*_`\"')\]]{{0,3}}(?:{CONNECTOR}){FILLER}[ \t]{{0,4}}", re.IGNORECASE)
_NEXT_LINES = re.compile(
    r"[:=：]?[*_]{0,2}[ \t]{0,8}\r?\n(?:[ \t>]{0,16}\r?\n){0,2}"
    r"(?:[ \t>]{0,16}(?:```|~~~)[^\n`]{0,40}\n)?"
    r"[ \t>]{0,16}[`\"']?(?P<value>[^\s\"'`|]{12,4000})[`\"']?[ \t]*(?=\r?\n|$)"
)
_QUOTED = re.compile(
    r"(?P<open>\\{0,16}[\"'`])(?P<value>(?:[^\"'`\\\n]|\\.|(?!(?P=open))[\"'`\\]){1,1000}?)(?P=open)"
    r"|[„“«「『‘]\s?(?P<other>[^“”»」』’„«「\n]{1,200}?)\s?[“”»」』’]"
)
_NEXT_PARAMETER = re.compile(r"&[A-Za-z_][\w.-]{0,40}=")
_OPENED = re.compile(r"[\\\"'`*_(„“«「]{1,4}")
_QUOTES = ('"', "'", "`")
_CALL = re.compile(r"[A-Za-z_][\w.]{0,80}[(\[]|![a-z][\w/.-]{0,40}[ \t]+\S")
_BARE = re.compile(r"[^\s\"'`,;<>|()。、，；（）「」]+")
_TRAILING = ".?:*_)]}`"
_PLACEHOLDER = re.compile(
    r"<[^>]*>?|\$\{.*|\{\{.*|%[sd](?:\W.*)?|%[({].*|\[.*|\{.*\}?|\$\(.*|[*.…_•xX-]{2,}"
    r"|[A-Za-z]{0,4}-?(?:\.{3}|…|\*{3,}).*|YOUR\w*|https?://.*"
    r"|(?:your|insert|enter|put|replace|change|some|the)[-_ ].*|.*[-_](?:here|placeholder)",
    re.IGNORECASE | re.DOTALL,
)
"""Value that stands for a secret, also in quotes."""
_REFERENCE = re.compile(
    r"\$[A-Za-z_]\w*|\$\(.*|%\w+%|&[a-z]\w*|-{1,2}[a-z][a-z-]*|\\.*"
    r"|(?:\.{0,2}/[a-z_][a-z0-9_.-]{0,30})+/?",
    re.DOTALL,
)
"""Variable, tag, flag or path: where a secret is, not what it is."""
_CONSTANT = re.compile(r"[A-Z]+(?:_[A-Z]+)*_(?:KEY|TOKEN|SECRET|PASSWORD|PASS|PW)")
_IDENTIFIER = re.compile(r"[a-z]+(?:[._][a-z]+)*,?")
_VARIABLE = re.compile(r"\$[A-Za-z_]\w*")
_CODE = re.compile(
    r"[A-Za-z_][\w.]*[(\[].*|_?[A-Z]+(?:_[A-Z]+)+|(?:self|this|os|process|config|settings|user|env|props|data|request|args|options|params|cfg"
    r"|conf|secrets?|vars?|local|module|options|state|ctx|context|app)(?:\.\w+)+,?"
    r"|\w+(?:\.\w+)*[._](?:password|passwd|pwd|token|secret|key)s?|(?:\w+\.)+(?:password|token|secret|key)s?"
    r"|[a-z]+(?:[A-Z][a-z]+)*(?:Password|Token|Secret|Key)|lambda\b.*|f[\"'].*|(?:[A-Za-z_]+\.){2,}[A-Za-z_]+",
    re.DOTALL,
)
_NUMBER = re.compile(r"[+-]?\d{1,7}(?:_\d{3}){0,3}(?:[.,]\d+)?[kKmM]?%?|\d{4}-\d\d-\d\d\S*")
_PIN = re.compile(
    r"[\"'`*,;/ ]{0,3}((?=[A-Za-z-]{0,20}\d)[A-Za-z0-9]{4,6}(?:-[A-Za-z0-9]{4,6}){1,7}(?![\w-])"
    r"|#?\d(?:[ -]?\d){2,11}[#*]?(?![A-Za-z0-9_-])|(?=[A-Z]*\d)[A-Z0-9]{4,8}(?![A-Za-z0-9_-]))"
)
_TOTP = re.compile(r"[\"'`*]{0,3}([A-Z2-7]{16,64})(?!\w)")
_PHRASE = re.compile(
    r"[^\n]{0,40}?(?:[:=]|\bis\b|\bare\b)?[\s`\"'>]{1,8}"
    r"((?:(?:\d{1,2}[.)]?[ \t]{0,4})?[a-z]{3,8}[\s,]{1,4}){11,23}"
    r"(?:\d{1,2}[.)]?[ \t]{0,4})?[a-z]{3,8})(?![a-z])"
)
_PAIR = re.compile(
    r"[ \t]{0,3}(?:(?:with|as|mit|als|using)[ \t])?"
    r"[\"'`]?[^\s/|,;]{1,64}(?:[ \t][^\s/|,;]{1,20}){0,2}[\"'`]?"
    r"(?:[ \t](?:/|\||and|und)[ \t]|:(?!//))"
)
_FROM_TO = re.compile(r"[\"'`]?[ \t](?:to|auf|zu|nach|en|a|à)[ \t]{1,2}")
_MORE = re.compile(r"[\"'`]?(?:,[ \t]?|[ \t](?:and|or|und|et|y)[ \t])[\"'`]?")
_HYPHENATED = re.compile(r"(?:[a-z]+-){3,}[a-z]+")
_PLAIN_WORD = re.compile(r"[^\W\d_]+(?:['’-][^\W\d_]+)*")
_WORD = re.compile(r"[A-Z]?[^\WA-Z\d_]+(?:['’-][^\W\d_]+)*|[A-Z]{1,6}")
_SENTENCE = re.compile(r"[ \t]+[\w(\"'`&<$]")


def is_mask(value: str) -> bool:
    """Return whether a value is what a secret was replaced with."""
    return bool(_MASKED.fullmatch(value))


def looks_random(secret: str) -> bool:
    """Check for a key: in one of its parts, letters, digits and cases alternate as in no word."""
    parts = re.split(r"[-_./+=~:]", secret)
    if any(map(str.isdigit, secret)):
        parts.append("".join(parts))
    return len(secret) >= 12 and any(map(_alternates, parts))


_RUN_OF_ONE_KIND = re.compile(r"[0-9]+|[A-Z]+|[^0-9A-Z]+")


def _alternates(part: str) -> bool:
    changes = len(_RUN_OF_ONE_KIND.findall(part)) - 1
    least = 0.25 if any(map(str.isdigit, part)) else 0.45  # camel case is no key
    return len(part) >= 8 and changes >= max(3, least * (len(part) - 1))


def looks_chosen(secret: str) -> bool:
    """Check for a password: a mix of letters with digits or punctuation."""
    letters = sum(character.isalpha() for character in secret)
    others = sum(character.isdigit() or character in "!@#$%^&?+~" for character in secret)
    return letters > 0 and others > 0 and len(secret) >= 5 and not TECHNICAL.fullmatch(secret)


def named_secrets(text: str, lowered: str) -> Iterator[Span]:
    """Yield start and end of each value that a name makes a secret.

    Args:
        text: The text.
        lowered: The same in lower case, character for character.
    """
    covered = 0
    for match in NAMES.finditer(lowered):
        if match.start() >= covered:  # a name within a value is part of it
            kind = (match.lastgroup or "").removesuffix("_cjk")
            for start, end in _Name(text, match.start(), match.end(), kind).values():
                whole = _BARE.match(text, end) if end - start >= JUDGED_CHARS else None
                end = whole.end() if whole else end
                covered = max(covered, end)
                yield start, end


class _Name:
    """Name of a secret in a text."""

    def __init__(self, text: str, start: int, end: int, kind: str) -> None:
        self._text, self._start, self._end, self._kind = text, start, end, kind
        self._word = text[start:end].lower()
        self.before = text[max(0, start - _BEFORE_CHARS) : start]
        self._strict = kind in ("key", "short")
        if kind == "key" and QUALIFIED_KEY.search(self.before.lower()):
            self._strict = False
        if kind == "short" and re.search(r"_$", self.before):
            self._strict = False

    def values(self) -> Iterator[Span]:
        """Yield the places of the values."""
        if self._kind == "phrase":
            if phrase := _PHRASE.match(self._text, self._end):
                yield phrase.span(1)
            return
        if self._kind == "pin":
            yield from self._pins()
            return
        found = self._assigned() or self._in_prose() or self._adjacent() or self._on_next_lines()
        if found is not None:
            yield found
            yield from self._following(found[1])
        yield from self._reversed()

    # -- ways to give a value --------------------------------------------------------------------

    def _assigned(self) -> Span | None:
        """Return the value of ``name = value`` and its like."""
        sep = _ASSIGNED.match(self._text, self._end)
        if sep is None and self.before.endswith("-"):
            sep = _LISTED.match(self._text, self._end)
        if sep is None:
            return None
        if sep.lastgroup == "tag" and not self.before.endswith("<"):
            return None
        span, quoted = self._value(sep.end())
        if span is None:
            return None
        value = self._text[span[0] : span[1]]
        if sep.lastgroup == "cell":
            return span if self._accepts_in_prose(value, quoted="") else None
        return span if self._accepts(value, span[1], quoted=quoted) else None

    def _in_prose(self) -> Span | None:
        """Return the value of "the name of something is value"."""
        sep = _PROSE.match(self._text, self._end)
        if sep is None:
            return None
        if pair := _PAIR.match(self._text, sep.end()):
            span, quoted = self._value(pair.end())
            if span and looks_chosen(self._text[span[0] : span[1]][:JUDGED_CHARS]):
                return span
        span, quoted = self._value(sep.end())
        if span is None:
            return None
        return span if self._accepts_in_prose(self._text[slice(*span)], quoted=quoted) else None

    def _adjacent(self) -> Span | None:
        """Return the value of "name value"."""
        if self._kind == "token" and (pair := _PAIR.match(self._text, self._end)):
            span, _ = self._value(pair.end())
            if span and looks_chosen(self._text[slice(*span)][:JUDGED_CHARS]):
                return span
        sep = _ADJACENT.match(self._text, self._end)
        if sep is None:
            return None
        span, quoted = self._value(sep.end())
        if span is None:
            return None
        value = self._text[slice(*span)][:JUDGED_CHARS]
        if self._is_flag() or self._is_constant():
            return span if self._accepts(value, span[1], quoted=quoted) else None
        if self._kind == "password" and not quoted and _HYPHENATED.fullmatch(value):
            return span
        return span if self._accepts_in_prose(value, quoted=quoted) else None

    def _on_next_lines(self) -> Span | None:
        """Return the value on a line of its own below, or in the fence that follows."""
        found = _NEXT_LINES.match(self._text, self._end) or (
            (sep := _PROSE.match(self._text, self._end))
            and _NEXT_LINES.match(self._text, sep.end())
        )
        if not found or not looks_random(found["value"][:JUDGED_CHARS]):
            return None
        return found.span("value")

    def _following(self, end: int) -> Iterator[Span]:
        """Yield the values after the first one: of a list, or what it was changed to."""
        pattern = _FROM_TO if self._text[self._end : self._end + 6] == " from " else _MORE
        for _ in range(12):
            sep = pattern.match(self._text, end)
            span, _ = self._value(sep.end()) if sep else (None, "")
            if span is None or not looks_chosen(self._text[slice(*span)][:JUDGED_CHARS]):
                return
            yield span
            end = span[1]

    def _reversed(self) -> Iterator[Span]:
        """Yield the value of "value as the name"."""
        if self._kind == "key" and self._strict:
            return
        low = max(0, self._text.rfind("\n", 0, self._start) + 1, self._start - 200)
        found = REVERSED.search(self._text[low : self._start])
        if found and self._accepts_in_prose(found["value"].rstrip(_TRAILING), quoted=""):
            start = low + found.start("value")
            yield start, start + len(found["value"].rstrip(_TRAILING))

    def _pins(self) -> Iterator[Span]:
        """Yield a PIN or the code of a door."""
        word = self._text[self._start : self._end]
        sep = _ASSIGNED.match(self._text, self._end) or _PROSE.match(self._text, self._end)
        if sep is None and (word.isupper() or word.lower() != "pin"):
            sep = _ADJACENT.match(self._text, self._end)
        if sep is None or "gpio" in self.before.lower():
            return
        pattern = _TOTP if self._word.endswith(("secret", "key", "seed")) else _PIN
        at = sep.end()
        for _ in range(12 if self._word.endswith("codes") else 1):
            found = pattern.match(self._text, at)
            if found is None or len(found[1].strip("#*")) < 4:
                return
            yield found.span(1)
            at = found.end()

    # -- values ----------------------------------------------------------------------------------

    def _value(self, start: int) -> tuple[Span | None, str]:
        """Return the place of the value that begins at a place, and the quote before it, if any."""
        quote = self.before[-1:]
        if quote in _QUOTES and self._text[self._end : start + 1].find(quote) == start - self._end:
            return None, ""  # it ends what the name stands in, and opens nothing
        if quoted := _QUOTED.match(self._text, start):
            group = "value" if quoted["value"] is not None else "other"
            return quoted.span(group), (quoted["open"] or quoted[0][:1])[-1]
        if opened := _OPENED.match(self._text, start):
            start = opened.end()
        bare = _BARE.match(self._text, start, start + JUDGED_CHARS)
        if bare is None or _CALL.match(self._text, start) or bare[0].endswith(("...", "…")):
            return None, ""
        shown = _NEXT_PARAMETER.split(bare[0], maxsplit=1)[0]
        end = start + len(shown.rstrip(_TRAILING))
        return ((start, end) if end > start else None), ""

    def _accepts(self, value: str, end: int, *, quoted: str) -> bool:
        """Return whether an assigned value is a secret."""
        value = value[:JUDGED_CHARS].rstrip("" if quoted else "!")
        if self._is_harmless(value, quoted=quoted):
            return False
        if self._strict:
            if self._kind == "short":
                return looks_chosen(value) or bool(quoted and len(value) > 3)
            return looks_random(value)
        if self._word.startswith(("token", "login", "wi", "wlan")) and _NUMBER.fullmatch(value):
            return False
        loose = self._kind == "token" and self._word.endswith(("s", "login", "fi", "lan"))
        if loose and not quoted and _IDENTIFIER.fullmatch(value):
            return False
        if not quoted and _PLAIN_WORD.fullmatch(value):
            # "password: must have ..." is a sentence, "password: swordfish" is not.
            acronym = self._kind == "token" and value.isupper()
            sentence = _WORD.fullmatch(value) and _SENTENCE.match(self._text, end)
            return not (loose or acronym or sentence)
        return True

    def _accepts_in_prose(self, value: str, *, quoted: str) -> bool:
        """Return whether a value in a sentence is a secret, and not a word of it."""
        value = value[:JUDGED_CHARS].rstrip("" if quoted else "!")
        if self._is_harmless(value, quoted=quoted):
            return False
        if self._kind in ("password", "short") or self._word.startswith(("cred", "log", "sign")):
            if quoted and self._kind == "password":
                return len(value) >= 4 and len(value.split()) <= 8
            least = 4 if self._word.startswith(("passcode", "clave")) else 6
            return looks_chosen(value) or (value.isdecimal() and len(value) >= least)
        return looks_random(value)

    def _is_harmless(self, value: str, *, quoted: str) -> bool:
        if not value or is_mask(value) or "…" in value or value.lower().rstrip(",.") in NO_SECRETS:
            return True
        if quoted and (value[0] in " ," or _CONSTANT.fullmatch(value)):
            return True
        if _PLACEHOLDER.fullmatch(value) or TECHNICAL.fullmatch(value):
            return True
        if quoted == '"' and _VARIABLE.fullmatch(value):
            return True
        return not quoted and bool(_REFERENCE.fullmatch(value) or _CODE.fullmatch(value))

    def _is_flag(self) -> bool:
        return bool(re.search(r"(?:^|\s|[\"'])--?[\w-]*$", self.before))

    def _is_constant(self) -> bool:
        word = self._text[self._start : self._end]
        return word.isupper() and bool(re.search(r"[A-Z0-9]_$", self.before))
