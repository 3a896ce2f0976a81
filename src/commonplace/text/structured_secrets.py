"""Secrets that are recognised by the structure they stand in: cookies, labels, prompts, wallets."""

from __future__ import annotations

import base64
import re
from collections.abc import Iterator

from commonplace.text.secret_names import NOT_A_SECRET
from commonplace.text.secret_values import (
    JUDGED_CHARS,
    is_harmless,
    is_seed_phrase,
    looks_invented,
    looks_random,
)

__all__ = [
    "cookie_secrets",
    "labelled_secrets",
    "prefixed_tokens",
    "seed_phrases",
    "typed_passwords",
]

Span = tuple[int, int]

_COOKIES = re.compile(
    r"cookies?[\"']?(?::[ \t]?|[ \t]?=[ \t]?(?=[{\"'])|\((?=[{\"']))[^\n]*"
    r"|(?<=\s)(?:-b|--cookie)[ =](?:\"[^\"\n]*=[^\"\n]*|'[^'\n]*=[^'\n]*)"
)
_COOKIE = re.compile(
    r"(?<![\w.-])[\w.-]{1,60}(?:=\"?|[\"'][ \t]?:[ \t]?[\"'](?=[^;,\"']{0,60}\d))"
    r"([^;\s\"',…*]{12,})"
)


def cookie_secrets(text: str, lowered: str) -> Iterator[Span]:
    """Yield the values of a header of cookies."""
    for line in _COOKIES.finditer(lowered):
        for cookie in _COOKIE.finditer(text, line.start(), line.end()):
            yield cookie.span(1)


_LABELLED = re.compile(
    r"(?m)^[ \t>*+\"'`-]{0,8}"
    r"(?P<label>[A-Za-z][\w ./&-]{0,40})[\"'`*]{0,3}[ \t]?[:=][*]{0,2}[ \t]?[\"'`]?"
    r"(?P<value>[A-Za-z0-9][A-Za-z0-9_~.+/-]{23,250}={0,2})[\"'`]?,?[ \t]*\r?$"
)
_NO_LABEL = re.compile(
    r"(?:^|[^a-z])(?:h\d|id|ids|uid|uuid|guid|hash|sha\d*|sum|checksum|digest|fingerprint|public|pub|pubkey"
    r"|address|addr|cid|tx|txid|transaction|contract|cursor|etag|nonce|commit|rev|revision|version"
    r"|integrity|url|uri|link|href|file|path|folder|branch|tag|image|video|doc|document|trace|span|request"
    r"|build|release|model|host|domain|name|title|slug|data|content|body|payload|x5c|cert|certificate|icon"
    r"|font|src|references?|message|thread|run|job|task|ticket|invoice|order|customer|chunk|object|block"
    r"|state|peer|digests?|package|resolved|arn|s3|bucket|key)s?$",
    re.IGNORECASE,
)


_ADDRESS = re.compile(r"[13][1-9A-HJ-NP-Za-km-z]{25,34}")
"""Where bitcoins are sent to."""


def labelled_secrets(text: str) -> Iterator[Span]:
    """Yield what stands alone behind a label and is long and drawn at random: "Segment: ..."."""
    for found in _LABELLED.finditer(text):
        value = found["value"]
        mixed = any(map(str.isdigit, value)) and any(map(str.isupper, value))
        if not (mixed and any(map(str.islower, value)) and looks_random(value[:JUDGED_CHARS])):
            continue
        label = found["label"].strip()
        if _NO_LABEL.search(re.sub(r"(?<=[a-z])(?=[A-Z])", " ", label)) or "." in value[1:-1]:
            continue
        if "/" in value and value.count("/") > len(value) // 12:
            continue
        if _is_text(value) or _ADDRESS.fullmatch(value):
            continue
        if not NOT_A_SECRET.search(label.lower() + " ") and not is_harmless(value, quoted='"'):
            yield found.span("value")


def _is_text(value: str) -> bool:
    """Return whether it is words in Base64: a message, a file."""
    try:
        plain = base64.b64decode(value, validate=True).decode()
    except ValueError:
        return False
    return plain.count(" ") > len(plain) // 16


_TOKEN = re.compile(r"(?<![\w./@%+-])[A-Za-z][A-Za-z0-9_-]{20,280}(?![\w/@-]|\.\w)")
_PREFIXED = re.compile(
    r"(?P<prefix>[A-Za-z][A-Za-z0-9]{0,11}(?:[_-][a-z0-9]{1,8}){0,2}?)[_-](?P<rest>[\w-]{16,})"
)
_STAGE = re.compile("(?:live|test|prod|dev|sandbox|sbox|pat|sk|secret|api|key|token)[_-]")
"""What a token has behind the name of its service, if it is a short one."""
_IDENTIFIER_PREFIXES = """
    cus prod price msg req chatcmpl evt pi ch sub in acct file thread asst run toolu resp call
    team prj dpl org user proj ft step batch vs conv modr pm seti cs txn py ba card src sha1
    sha256 sha384 sha512 md5 build chunk image img video commit trace request arn vpc subnet
    sg ami snap vol eni rtb tenant web main index vendor release tmp temp id uuid urn doc page
    node pod job task item order inv git rev pr mr tag branch v1 v2 v3 cache key hash etag
    blob obj object layer span group event test gen model dataset data note memory session log
    report backup app runtime polyfills styles
"""
_NO_PREFIX = frozenset(_IDENTIFIER_PREFIXES.split())
"""What stands before identifiers, which are no secrets."""


def prefixed_tokens(text: str) -> Iterator[Span]:
    """Yield tokens of services that begin with a short name: ``abc_live_...``."""
    for found in _TOKEN.finditer(text):
        match = _PREFIXED.fullmatch(found[0])
        if match is None or match["prefix"].lower().split("_")[0].split("-")[0] in _NO_PREFIX:
            continue
        rest = match["rest"]
        if len(rest) < 26 and not _STAGE.match(rest):
            continue
        kinds = sum(any(map(test, rest)) for test in (str.isdigit, str.isupper, str.islower))
        longest = max(re.split("[_-]", rest), key=len)
        hexadecimal = re.fullmatch("[0-9a-f]+", longest) and not _STAGE.match(rest)
        if kinds < 2 or hexadecimal or not looks_random(rest[:JUDGED_CHARS]):
            continue
        if len(longest) >= 16 and not re.search(
            r"[?&][\w-]*=$", text[max(0, found.start() - 40) : found.start()]
        ):
            yield found.span()


_WORDS_ALONE = re.compile(
    r"(?m)^[ \t>*`\"'-]{0,8}((?:[a-z]{3,8}[ -]){11,23}[a-z]{3,8})[`\"'*.]{0,3}[ \t]*\r?$"
)


def seed_phrases(text: str) -> Iterator[Span]:
    """Yield the words of a wallet that are alone in their line."""
    for found in _WORDS_ALONE.finditer(text):
        if is_seed_phrase(found[1]):
            yield found.span(1)


_TYPED = {
    # A user and a password, behind what they are for: "router: ann / Fj0rd&Lamp".
    (" / ", " // ", " | ", " · "): re.compile(
        r"(?m)(?:^|[:=(>→,][ \t]{0,2}|[ \t](?:as|user|als)[ \t])[\w.@+-]{2,40}"
        r"[ \t](?://?|\||·)[ \t]([^\s\"'`|]{7,42})"
    ),
    ("admin/", "root/", "postgres/", "guest/", "administrator/"): re.compile(
        r"(?<![\w/.@-])(?i:admin|administrator|root|postgres|guest)/([^\s/\"'`]{7,42})(?![\w/])"
    ),
    # A login a line: the address, and the password below it.
    ("@",): re.compile(
        r"(?m)^[ \t>*-]{0,6}[\w.+-]{1,40}@[\w.-]{1,40}\.[a-z]{2,12}[ \t]*\r?\n"
        r"[ \t>*-]{0,6}([^\s\"'`|<>@]{7,42})[ \t]*\r?$"
    ),
    # A password where a user or a command was expected.
    ("invalid user ", "failed password "): re.compile(
        r"(?i:invalid user|failed password for(?: invalid user)?) (\S{7,42}) from "
    ),
    ("authentication",): re.compile(r"\bFOR '([^\s']{7,42})', Authentication"),
    (" not found",): re.compile(
        r"(?:sh|sudo|fish): (?:line \d{1,4}: )?(\S{7,42}): (?:command )?not found"
    ),
}
"""Forms by parts in lower case, one of which a match has."""


def typed_passwords(text: str, lowered: str) -> Iterator[Span]:
    """Yield passwords that stand where people type them, with no name of one."""
    for hints, form in _TYPED.items():
        if not any(hint in lowered for hint in hints):
            continue
        for found in form.finditer(text):
            value = found[1].rstrip(".,;:)")
            if looks_invented(value):
                yield found.start(1), found.start(1) + len(value)
