"""Secret spans: where the API keys, tokens and passwords of a text begin and end.

All patterns are compiled on import: what masks no text, such as a search, does without this module.
"""

from __future__ import annotations

import base64
import re
from collections.abc import Iterator, Sequence

from commonplace.text.answered_secrets import WISH, answered_secrets
from commonplace.text.lock_codes import LOCK_HINTS, lock_codes
from commonplace.text.named_secrets import named_secrets
from commonplace.text.offset_view import (
    ENCODED,
    WRAPPED,
    OffsetView,
    decoded_views,
    unwrapped_view,
    visible_view,
)
from commonplace.text.secret_names import HINTS
from commonplace.text.secret_patterns import LONG, LONG_TOKENS, SHORT_TOKENS, SecretPattern
from commonplace.text.secret_syntax import SYNTAX
from commonplace.text.secret_tables import tabular_secrets
from commonplace.text.secret_values import (
    is_blank,
    is_constant,
    is_harmless,
    is_mask,
    is_variable,
    looks_random,
)
from commonplace.text.structured_secrets import (
    cookie_secrets,
    labelled_secrets,
    prefixed_tokens,
    seed_phrases,
    typed_passwords,
)
from commonplace.text.vendor_secrets import vendor_secrets

__all__ = ["secret_spans"]

Span = tuple[int, int]


def secret_spans(text: str, *, personal: bool) -> list[tuple[int, int, str]]:
    """Return start, end and characters of the secrets, in order; none overlaps with another."""
    found = [(start, end, text[start:end]) for start, end in _spans(text)]
    if personal:
        from commonplace.text.personal_numbers import personal_numbers

        found += [(start, end, text[start:end]) for start, end in personal_numbers(text)]
    if not text.isascii() or any(sign in text for sign in ENCODED):
        for view in filter(None, (visible_view(text), *decoded_views(text))):
            found += _of_view(view, _spans(view.text))
    if WRAPPED.search(text):
        unwrapped = unwrapped_view(text)
        found += _of_view(unwrapped, _tokens(unwrapped.text, _lower(unwrapped.text)))
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


def _of_view(view: OffsetView, spans: Iterator[Span]) -> Iterator[tuple[int, int, str]]:
    for start, end in spans:
        yield (*view.source(start, end), view.text[start:end])


def _spans(text: str) -> Iterator[Span]:
    """Yield start and end of each secret; they may overlap."""
    for start, end in _parts(text, _lower(text)):
        yield start, _with_next_line(text, end)
    if LONG.search(text):
        yield from _encoded(text)


def _parts(text: str, lowered: str) -> Iterator[Span]:
    """Yield start and end of each secret, up to the end of a line."""
    yield from _tokens(text, lowered)
    yield from _matches(SYNTAX, text, lowered)
    if any(hint in lowered for hint in HINTS):
        yield from named_secrets(text, lowered)
        yield from tabular_secrets(text, lowered)
    if "cookie" in lowered or "-b " in lowered:
        yield from cookie_secrets(text, lowered)
    if LONG.search(text):
        yield from vendor_secrets(text)
        yield from labelled_secrets(text)
        yield from prefixed_tokens(text)
    yield from _unnamed(text, lowered)
    yield from seed_phrases(text)
    yield from typed_passwords(text, lowered)


def _tokens(text: str, lowered: str) -> Iterator[Span]:
    yield from _matches(SHORT_TOKENS, text, lowered)
    if LONG.search(text):
        yield from _matches(LONG_TOKENS, text, lowered)


def _matches(forms: Sequence[SecretPattern], text: str, lowered: str) -> Iterator[Span]:
    for form in forms:
        if any(hint in lowered for hint in form.hints):
            for match in form.regex.finditer(text):
                start, end = match.span(match.lastindex or 0)
                if _is_secret(text[start:end], form):
                    yield start, end


def _unnamed(text: str, lowered: str) -> Iterator[Span]:
    """Yield start and end of codes beside what they open, and of answers."""
    if any(hint in lowered for hint in LOCK_HINTS):
        yield from lock_codes(text)
    if "?" in text or "？" in text or ("\n" in text and WISH.search(lowered)):
        yield from answered_secrets(text, lowered)


def _is_secret(value: str, form: SecretPattern) -> bool:
    if is_mask(value) or is_blank(value) or is_variable(value) or is_constant(value):
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
