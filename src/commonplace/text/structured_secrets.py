"""Secrets that are recognised by the structure they stand in: tables, columns, cookies, labels."""

from __future__ import annotations

import re
from collections.abc import Iterator

from commonplace.text.secret_names import NAMES, NOT_A_SECRET, QUALIFIED_KEY, kind_of
from commonplace.text.secret_values import (
    JUDGED_CHARS,
    is_harmless,
    is_mask,
    is_opaque,
    is_seed_phrase,
    looks_chosen,
    looks_random,
)

__all__ = [
    "column_secrets",
    "cookie_secrets",
    "inserted_secrets",
    "labelled_secrets",
    "prefixed_tokens",
    "seed_phrases",
    "table_secrets",
]

Span = tuple[int, int]

_ROW = re.compile(r"^[ \t]{0,12}\|[^\n]*$", re.MULTILINE)
_DRAWN = re.compile(r"[0-9a-f]{32}|[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}")
"""Key in a column that is called so, and nothing else."""
_CELL = re.compile(r"\|[ \t]*[*`_]{0,3}([^|\n]*?)[*`_]{0,3}[ \t]*(?=\||$)", re.MULTILINE)
_RULE = re.compile(r"[ \t]{0,12}\|?[ \t:|-]{3,}$")


def table_secrets(text: str, lowered: str) -> Iterator[Span]:
    """Yield the cells of a Markdown table's columns whose heads name secrets."""
    columns: dict[int, str] = {}
    last_end = -2
    head: list[Span] = []
    for row in _ROW.finditer(text):
        if row.start() != last_end + 1:
            columns, head = {}, []
        last_end = row.end()
        cells = _cells(text, row.start(), row.end())
        if _RULE.fullmatch(row[0]):
            columns = _secret_columns(lowered, head)
        head = cells
        for index, kind in columns.items():
            if index < len(cells) and _is_secret(text[slice(*cells[index])][:JUDGED_CHARS], kind):
                yield cells[index]


def _is_secret(cell: str, kind: str) -> bool:
    if kind == "pin":
        return cell.isdecimal() and 4 <= len(cell) <= 8
    if not cell or " " in cell or is_mask(cell):
        return False
    if kind == "opaque":
        return is_opaque(cell) or bool(_DRAWN.match(cell))
    return looks_random(cell) or (kind in ("password", "short") and looks_chosen(cell))


def _cells(text: str, start: int, end: int) -> list[Span]:
    return [cell.span(1) for cell in _CELL.finditer(text, start, end)]


def _secret_columns(lowered: str, head: list[Span]) -> dict[int, str]:
    found = {}
    for index, (start, end) in enumerate(head):
        if match := NAMES.search(lowered, start, min(end, start + 80)):
            kind = kind_of(match)
            if kind != "key" or QUALIFIED_KEY.search(lowered[start : match.start()]):
                found[index] = kind
            elif match.span() == (start, end):
                found[index] = "opaque"
    return found


_INSERT = re.compile(
    r"insert\s{1,4}into\s{1,4}[\w.\"`\[\]]{1,80}\s{0,4}\((?P<names>[^()]{1,400})\)\s{0,4}values\s{0,4}\("
)
_SQL_VALUE = re.compile(
    r"\s{0,4}(?:n?'(?P<text>(?:[^'\n]|''){0,400})'|[^,()'\n]{1,80})\s{0,4}(?:,|\))"
)


def inserted_secrets(text: str, lowered: str) -> Iterator[Span]:
    """Yield the values that a statement of SQL gives to columns whose names are of secrets."""
    for statement in _INSERT.finditer(lowered):
        at = statement.end()
        for name in statement["names"].split(","):
            value = _SQL_VALUE.match(text, at)
            if value is None:
                break
            at = value.end()
            if (
                value["text"]
                and NAMES.fullmatch(name.strip(' "`[]'))
                and not is_mask(value["text"])
            ):
                yield value.span("text")


_COOKIES = re.compile(r"cookies?[\"']?:[ \t]?[^\n]*")
_COOKIE = re.compile(r"(?<![\w.-])[\w.-]{1,60}=\"?([^;\s\"',…*]{12,})")


def cookie_secrets(text: str, lowered: str) -> Iterator[Span]:
    """Yield the values of a header of cookies."""
    for line in _COOKIES.finditer(lowered):
        for cookie in _COOKIE.finditer(text, line.start(), line.end()):
            yield cookie.span(1)


_HEAD = re.compile(
    r"(?m)^(?P<head>[\"'\w .-]{1,40}(?:(?P<comma>[,;\t])[\"'\w .-]{1,40}){1,20})\r?\n(?=[^\n]*"
    r"(?P=comma))"
)
"""First line of values that are separated by commas, semicolons or tabs."""


def column_secrets(text: str, lowered: str) -> Iterator[Span]:
    """Yield the values of separated columns (CSV) whose heads name secrets."""
    done = 0
    for head in _HEAD.finditer(lowered):
        if head.start() < done:
            continue
        comma, names = head["comma"], head["head"].split(head["comma"])
        columns = {}
        for index, name in enumerate(names):
            match = NAMES.fullmatch(name.strip("\"' "))
            kind = kind_of(match) if match else ""
            if kind in ("password", "short", "token"):
                columns[index] = kind
        done = head.end()
        while columns and done < len(text):
            end = text.find("\n", done)
            end = len(text) if end < 0 else end
            if text.count(comma, done, end) != len(names) - 1:
                break
            at = done
            for index, cell in enumerate(text[done:end].split(comma)):
                bare = cell.strip("\"'\r ")
                if index in columns and _is_secret(bare[:JUDGED_CHARS], columns[index]):
                    start = at + cell.index(bare)
                    yield start, start + len(bare)
                at += len(cell) + 1
            done = end + 1


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
    r"|state|digests?|package|resolved|arn|s3|bucket|key)s?$",
    re.IGNORECASE,
)


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
        if not NOT_A_SECRET.search(label.lower() + " ") and not is_harmless(value, quoted='"'):
            yield found.span("value")


_TOKEN = re.compile(r"(?<![\w./@%+-])[A-Za-z][A-Za-z0-9_-]{30,280}(?![\w/@-]|\.\w)")
_PREFIXED = re.compile(
    r"(?P<prefix>[A-Za-z][A-Za-z0-9]{0,11}(?:[_-][a-z0-9]{1,8}){0,2}?)[_-](?P<rest>[\w-]{26,})"
)
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
        kinds = sum(any(map(test, rest)) for test in (str.isdigit, str.isupper, str.islower))
        hexadecimal = re.fullmatch("[0-9a-f-]+", rest)
        if kinds < 2 or hexadecimal or not looks_random(rest[:JUDGED_CHARS]):
            continue
        if max(map(len, re.split("[_-]", rest))) >= 16 and not re.search(
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
