"""Redaction: masks API keys, tokens, passwords and private keys in a text before it is stored.

The mask of a long secret keeps its first six and last four characters, which identify it to its
owner. Redaction is idempotent, and its time is linear in the text.
"""

from __future__ import annotations

import base64
import re
from collections.abc import Iterator

from commonplace.text.chat_secrets import chat_secrets
from commonplace.text.named_secrets import named_secrets
from commonplace.text.offset_view import ENCODED, decoded_views, visible_view
from commonplace.text.secret_names import HINTS
from commonplace.text.secret_patterns import LONG, LONG_TOKENS, SHORT_TOKENS, SecretPattern
from commonplace.text.secret_syntax import SYNTAX
from commonplace.text.secret_tables import tabular_secrets
from commonplace.text.secret_values import is_blank, is_harmless, is_mask, is_variable, looks_random
from commonplace.text.structured_secrets import (
    cookie_secrets,
    labelled_secrets,
    prefixed_tokens,
    seed_phrases,
    typed_passwords,
)
from commonplace.text.vendor_secrets import vendor_secrets

__all__ = ["mask", "redact"]

_SHORT = 18
"""Secrets below this length are masked completely."""
_HEAD, _TAIL = 6, 4
_MAX_ROUNDS = 8

Span = tuple[int, int]


def redact(text: str, *, personal: bool = False) -> str:
    """Mask every secret that is recognised in a text.

    Args:
        text: The text.
        personal: Whether numbers of persons are masked, too: cards, IBANs, social security.
    """
    for _ in range(_MAX_ROUNDS):
        masked = _mask_once(text, personal)
        if masked == text:
            break
        text = masked
    return text


def mask(secret: str) -> str:
    """Return the mask of a secret: ``***`` for a short one, both ends of a long one."""
    if is_mask(secret):
        return secret
    return "***" if len(secret) < _SHORT else f"{secret[:_HEAD]}…{secret[-_TAIL:]}"


def _mask_once(text: str, personal: bool) -> str:
    text = _without_private_keys(text)
    parts, at = [], 0
    for start, end, secret in _secrets(text, personal):
        parts += [text[at:start], mask(secret)]
        at = end
    return "".join([*parts, text[at:]])


def _secrets(text: str, personal: bool) -> list[tuple[int, int, str]]:
    """Return start, end and characters of the secrets, in order; none overlaps with another."""
    found = [(start, end, text[start:end]) for start, end in _spans(text)]
    if personal:
        from commonplace.text.personal_numbers import personal_numbers

        found += [(start, end, text[start:end]) for start, end in personal_numbers(text)]
    if not text.isascii() or any(sign in text for sign in ENCODED):
        visible = visible_view(text)
        for view in filter(None, (visible, *decoded_views(text))):
            for start, end in _spans(view.text):
                found.append((*view.source(start, end), view.text[start:end]))
    found.sort(key=lambda secret: (secret[0], -secret[1]))
    apart: list[tuple[int, int, str]] = []
    for secret in found:
        if apart and secret[0] < apart[-1][1]:
            if secret[1] > apart[-1][1]:
                start = apart[-1][0]
                apart[-1] = (start, secret[1], text[start : secret[1]])
        else:
            apart.append(secret)
    return apart


def _spans(text: str) -> Iterator[Span]:
    """Yield start and end of each secret; they may overlap."""
    for start, end in _parts(text, _lower(text)):
        yield start, _with_next_line(text, end)
    if LONG.search(text):
        yield from _encoded(text)


def _parts(text: str, lowered: str) -> Iterator[Span]:
    """Yield start and end of each secret, up to the end of a line."""
    forms = (*SHORT_TOKENS, *SYNTAX, *(LONG_TOKENS if LONG.search(text) else ()))
    for form in forms:
        if any(hint in lowered for hint in form.hints):
            for match in form.regex.finditer(text):
                start, end = match.span(match.lastindex or 0)
                if _is_secret(text[start:end], form):
                    yield start, end
    if any(hint in lowered for hint in HINTS):
        yield from named_secrets(text, lowered)
        yield from tabular_secrets(text, lowered)
        yield from chat_secrets(text, lowered)
    if "cookie" in lowered:
        yield from cookie_secrets(text, lowered)
    if LONG.search(text):
        yield from vendor_secrets(text)
        yield from labelled_secrets(text)
        yield from prefixed_tokens(text)
    yield from seed_phrases(text)
    yield from typed_passwords(text, lowered)


def _is_secret(value: str, form: SecretPattern) -> bool:
    if is_mask(value) or is_blank(value) or is_variable(value):
        return False
    if form.random and not looks_random(value):
        return False
    return "-" not in value or not is_harmless(value, quoted='"')


def _lower(text: str) -> str:
    """Return a text in lower case, character for character."""
    lowered = text.lower()
    if len(lowered) == len(text):
        return lowered
    return "".join(low if len(low := char.lower()) == 1 else char for char in text)


_WRAP = re.compile(
    r"(?:[\"'][ \t]{0,4}[+&.]?|[ \t]{0,40}[│║|┃])?\\?\r?\n[ \t>"
    r"|│║┃+&.]{0,24}[\"']?([A-Za-z0-9_+/=.-]{8,})"
    r"[\"'`]?[ \t;,)]{0,40}[│║|┃]?[ \t]{0,4}(?=\r?\n|$|\()"
)


def _with_next_line(text: str, end: int) -> int:
    """Return the end of a secret that goes on in the next line, and is all that is there."""
    while (more := _WRAP.match(text, end)) and looks_random(more[1][:128].rjust(12, "x")):
        end = more.end(1)
    return end


# Text in Base64 that has a secret.

_HEAD_OF_TOKEN = re.compile(
    r"\s{0,4}(?:sk-(?:ant|proj|or|svc)|sk_live|rk_live|gh[pousr]_|github_pat|glpat-|xox[abpes]-|AKIA|ASIA|AIza|npm_|hf_|hvs\."
    r"|dop_v1|dckr_pat|pypi-|SG\.|-----BEGIN|shpat_|whsec_|ya29\.|GOCSPX|lin_api|tskey-|eyJ"
    r"|\{\s{0,8}\"type\"\s?:\s?\"(?:service|author)|\{\s{0,8}\"(?:password|token|secret|api_?key|private)"
    r"|(?:password|token|secret|api_?key)[=:])"
)
"""Begin of a secret, of which the rest may be no text."""
_BASE64 = re.compile(r"(?<![A-Za-z0-9+/])[A-Za-z0-9+/]{24,}={0,2}(?![A-Za-z0-9+/])")


def _encoded(text: str) -> Iterator[Span]:
    for match in _BASE64.finditer(text):
        run = match[0]
        begun = base64.b64decode(run[: min(64, len(run) // 4 * 4)]).decode("latin-1")
        if _HEAD_OF_TOKEN.match(begun):
            yield match.span()
            continue
        try:
            plain = base64.b64decode(run[: len(run) // 4 * 4], validate=True).decode("ascii")
        except ValueError:
            continue
        if plain.replace("\n", "").isprintable() and any(True for _ in _spans(plain)):
            yield match.span()


# Private keys.

_ARMOUR = re.compile(
    r"-{4,5} ?(BEGIN|END) (?:[A-Z0-9 ]{0,64}PRIVATE KEY(?: BLOCK)?"
    r"|OpenVPN Static key V1) ?-{4,5}"
)
_ARMOURED_LINES = re.compile(
    r"(?:(?:[\s>|]|\\[nr])*"
    r"(?:(?:Proc-Type|DEK-Info|Version|Comment):[^\n\\]{0,80}|[A-Za-z0-9+/=]{16,}))*"
)
"""Body of a key whose last line is missing, plain or in a quote."""


def _without_private_keys(text: str) -> str:
    if "PRIVATE KEY" not in text and "Static key" not in text:
        return text
    parts, at = [], 0
    for start, end in _armoured(text):
        parts += [text[at:start], _masked_key(text[start:end])]
        at = end
    return "".join([*parts, text[at:]])


def _armoured(text: str) -> Iterator[tuple[int, int]]:
    """Yield start and end of each private key; without a last line, the end of its body.

    A first line that follows another first line begins a key of its own.
    """
    marks = list(_ARMOUR.finditer(text))
    for index, mark in enumerate(marks):
        if mark[1] == "END":
            continue
        following = marks[index + 1] if index + 1 < len(marks) else None
        if following is not None and following[1] == "END":
            yield mark.start(), following.end()
        elif (body := _ARMOURED_LINES.match(text, mark.end())) and body.end() > mark.end():
            yield mark.start(), body.end()


def _masked_key(block: str) -> str:
    lines = [line for line in re.split(r"\r?\n", block) if line]
    if len(lines) < 2:
        return "***"
    last = lines[-1] if re.match(" *-{4,5} ?END", lines[-1]) else ""
    return "\n".join(line for line in (lines[0], "…redacted…", last) if line)
