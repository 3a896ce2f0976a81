"""Redaction: masks API keys, tokens, passwords and private keys in a text before it is stored.

The mask of a long secret keeps its first six and last four characters, which identify it to its
owner. Redaction is idempotent. Time is linear in the text, because each repetition in a pattern
either is bounded or cannot fail after a long run.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass

__all__ = ["mask", "redact"]

_SHORT = 18
"""Secrets below this length are masked completely."""
_HEAD, _TAIL = 6, 4
_MASKED = re.compile(r"\*\*\*|[^…]{6}…[^…]{4}")
_MAX_ROUNDS = 8


def redact(text: str) -> str:
    """Mask every secret that is recognised in a text."""
    for _ in range(_MAX_ROUNDS):
        masked = _mask_once(text)
        if masked == text:
            break
        text = masked
    return text


def mask(secret: str) -> str:
    """Return the mask of a secret: ``***`` for a short one, both ends of a long one."""
    if _MASKED.fullmatch(secret):
        return secret
    return "***" if len(secret) < _SHORT else f"{secret[:_HEAD]}…{secret[-_TAIL:]}"


def _mask_once(text: str) -> str:
    text = _without_private_keys(text)
    lowered = text.lower()
    for pattern in _PATTERNS:
        if any(hint in lowered for hint in pattern.hints):
            text = pattern.regex.sub(_masked_match, text)
    for prose in _PROSE:
        if any(hint in lowered for hint in prose.hints):
            text = _mask_in_prose(text, prose)
    return text


def _masked_match(match: re.Match[str]) -> str:
    """Mask the last group that took part in a match: the secret itself."""
    group = match.lastindex or 0
    start, end = match.start(group) - match.start(), match.end(group) - match.start()
    return match[0][:start] + mask(match[group]) + match[0][end:]


# Private keys.

_ARMOUR = re.compile(r"-----(BEGIN|END) [A-Z0-9 ]{0,64}PRIVATE KEY(?: BLOCK)?-----")
_ARMOURED_LINES = re.compile(
    r"(?:(?:[\s>|]|\\[nr])*"
    r"(?:(?:Proc-Type|DEK-Info|Version|Comment):[^\n\\]{0,80}|[A-Za-z0-9+/=]{16,}))*"
)
"""Body of a key whose last line is missing, plain or in a quote."""


def _without_private_keys(text: str) -> str:
    if "PRIVATE KEY" not in text:
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
    last = lines[-1] if lines[-1].startswith("-----END") else ""
    return "\n".join(line for line in (lines[0], "…redacted…", last) if line)


# Secrets that are recognised by their form. The last group of a pattern is the secret.


@dataclass(frozen=True, slots=True)
class _Pattern:
    """A form of a secret.

    Attributes:
        regex: Regular expression whose last group is the secret.
        hints: Lower-case parts, at least one of which every match contains: a fast check.
    """

    regex: re.Pattern[str]
    hints: tuple[str, ...]


def _pattern(*hints: str, regex: str, flags: int = 0) -> _Pattern:
    return _Pattern(re.compile(regex, re.ASCII | flags), hints)


def _prefixed(*prefixes: str, rest: str, flags: int = 0) -> _Pattern:
    """Return a pattern of tokens with a known prefix."""
    starts = "|".join(map(re.escape, prefixes))
    hints = [prefix.lower() for prefix in prefixes]
    return _pattern(*hints, regex=rf"{_START}((?:{starts}){rest})", flags=flags)


_I = re.IGNORECASE
_START = r"(?:(?<![A-Za-z0-9])|(?<=\\[nrt])|(?<=%[0-9A-Fa-f]{2})|(?<=\\u[0-9A-Fa-f]{4}))"
"""Start of a token: no letter or digit before it, but for escapes of JSON and of URLs."""
_WORDS = ("key", "token", "secret", "passw", "passphrase", "pwd", "_pass", "credential")
_NAMES = (
    r"(?:(?:api|access|secret|private|auth|account|signing|encryption|license|master|client|ssh)"
    r"[ _.-]?keys?|(?:\w{0,40}[ _.-])?(?:token|secret)|\w{0,40}(?:token|secret)"
    r"|\w{0,40}(?:password|passwd|passphrase|pwd|credential)s?)"
)
_PATTERNS: tuple[_Pattern, ...] = (
    # Names and values: NAME=value, name: value; quoted values may contain blanks.
    _pattern(
        *_WORDS,
        regex=r"(?:KEY|TOKEN|SECRET|PASSWORD|PASSWD|PASSPHRASE|PWD|_PASS)\b[\"']?\s{0,40}[=:]\s{0,40}"
        r"(?:\"([^\"\n\\]{1,1000})\"|'([^'\n\\]{1,1000})'|`([^`\n\\]{1,1000})`)",
        flags=_I,
    ),
    _pattern(
        *_WORDS,
        regex=r"\b[A-Z0-9_]*(?:KEY|TOKEN|SECRET|PASSWORD|PASSWD|PASSPHRASE|PWD|_PASS)\b"
        r"\s*[=:]\s*([\"']?)([^\s\"'\\]+)\1",
        flags=_I,
    ),
    _pattern(
        *_WORDS,
        regex=rf"[\"']{_NAMES}[\"']\s{{0,40}}:\s{{0,40}}[\"]((?:[^\"\\\n]|\\.){{1,2000}})\"",
        flags=_I,
    ),
    # The same in JSON within a string, its quotes escaped once or more.
    _pattern(
        *_WORDS,
        regex=rf"\\{{1,16}}[\"']{_NAMES}\\{{1,16}}[\"']\s{{0,40}}:\s{{0,40}}\\{{1,16}}[\"]"
        r"((?:[^\"\\\n]|\\+(?![\"\\])){1,2000})(?=\\)",
        flags=_I,
    ),
    _pattern(
        "--",
        regex=r"--(?:api[-_]?key|access[-_]?key|auth[-_]?token|access[-_]?token|client[-_]?secret"
        r"|token|secret|password|passwd|passphrase)(?:\s+|=)([\"']?)([^\s\"']+)\1",
        flags=_I,
    ),
    _pattern(
        "authorization",
        regex=r"Authorization(?:\\{0,16}[\"'])?\s{0,40}[:=]\s{0,40}(?:\\{0,16}[\"'])?"
        r"(?:(?:Bearer|Basic|Token|ApiKey|Digest)\s{1,40}([^\s\"',;<>\\]+)"
        r"|([^\s\"',;<>\\]{16,}))",
        flags=_I,
    ),
    _pattern("bearer", regex=r"\bBearer\s+([A-Za-z0-9._\-+=/~]{18,})", flags=_I),
    _pattern(
        "://", regex=r"(?<=://)[^\s:/?#@\"'<>]{0,256}:([^\s/\"'<>]{1,512})@(?=[^\s@])", flags=_I
    ),
    _pattern(
        "sig=", "token=", "code=", "key=", "secret=", "signature=", "password=",
        regex=r"[?&;](?:[a-z_-]{0,24}token|api_?key|key|sig|signature|secret|client_secret|password"
        r"|x-amz-(?:signature|credential|security-token)|code)=([^\s&#\"'<>)]{6,})",
        flags=_I,
    ),
    _pattern(
        "curl",
        regex=r"\bcurl\s[^\n]{0,200}?-u\s{1,8}[\"']?[^\s:\"']{1,128}:([^\s\"']{1,256})",
    ),
    # Tokens with a known prefix.
    _prefixed("sk-", rest=r"[A-Za-z0-9_-]{7,}[A-Za-z0-9]", flags=_I),
    _prefixed("ghp_", "gho_", "ghu_", "ghs_", "ghr_", rest=r"[A-Za-z0-9]{20,}", flags=_I),
    _prefixed("github_pat_", rest=r"[A-Za-z0-9_]{20,}", flags=_I),
    _prefixed("xoxb-", "xoxa-", "xoxp-", "xoxr-", "xoxs-", "xoxe-", "xoxc-", "xoxd-", "xapp-",
              rest=r"[A-Za-z0-9.%-]{9,}[A-Za-z0-9]", flags=_I),
    _prefixed("gsk_", "pplx-", rest=r"[A-Za-z0-9_-]{10,}", flags=_I),
    _prefixed("AIza", rest=r"[0-9A-Za-z_-]{20,}", flags=_I),
    _prefixed("npm_", rest=r"[A-Za-z0-9]{10,}", flags=_I),
    _prefixed("sk_", "rk_", "pk_", rest=r"(?:live|test|prod)_[A-Za-z0-9]{10,}"),
    _prefixed("whsec_", rest=r"[A-Za-z0-9+/=]{16,}"),
    _prefixed("glpat-", "gldt-", "glrt-", "glptt-", rest=r"[A-Za-z0-9_.-]{16,}"),
    _prefixed("ya29.", "GOCSPX-", "1//0", rest=r"[0-9A-Za-z._-]{20,}"),
    _prefixed("hf_", "r8_", "sbp_", "lin_api_", "ntn_", "shpat_", "shpss_", "shpca_", "dop_v1_",
              "doo_v1_", "rubygems_", "EAAC", rest=r"[A-Za-z0-9]{20,}"),
    _prefixed("pypi-AgE", "xai-", "nvapi-", "tvly-", "tskey-", "sq0atp-", "sq0csp-", "PMAK-",
              "dckr_pat_", "figd_", "hvs.", "hvb.", "dp.pt.", rest=r"[A-Za-z0-9_-]{16,}"),
    _prefixed("dapi", rest=r"[a-f0-9]{32}"),
    _prefixed("AGE-SECRET-KEY-1", rest=r"[A-Z0-9]{20,}"),
    _prefixed("SG.", rest=r"[A-Za-z0-9_-]{16,64}\.[A-Za-z0-9_-]{16,64}"),
    _prefixed("AKIA", "ASIA", "AROA", "AIDA", rest=r"[A-Z0-9]{16}(?![A-Za-z0-9])"),
    _prefixed("AC", "SK", rest=r"[0-9a-f]{32}(?![A-Za-z0-9])"),
    _prefixed("key-", rest=r"[0-9a-f]{32}(?![A-Za-z0-9])"),
    _pattern(
        "eyj",
        regex=r"(?:(?<![A-Za-z0-9_-])|(?<=\\[nrt])|(?<=%[0-9A-Fa-f]{2}))[_-]{0,3}"
        r"(eyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,}(?:\.[A-Za-z0-9_-]*)*)",
    ),
    _pattern("bot", regex=r"\bbot(\d{6,20}:[A-Za-z0-9_-]{20,})", flags=_I),
    _pattern(":", regex=rf"{_START}(\d{{6,20}}:[A-Za-z0-9_-]{{20,}})"),
    _pattern(
        "hooks.slack.com", "discord",
        regex=r"(?:hooks\.slack\.com/(?:services|workflows|triggers)/"
        r"|discord(?:app)?\.com/api/webhooks/)([A-Za-z0-9/_-]{16,})",
        flags=_I,
    ),
    _pattern(
        "accountkey", "sharedaccess", "sig=",
        regex=r"(?:AccountKey|SharedAccessKey|SharedAccessSignature|sig)=([A-Za-z0-9%+/=_-]{16,})",
        flags=_I,
    ),
)  # fmt: skip


# Secrets in prose: "the API key is 9f8e7d6c5b4a", "his password was hunter2".


@dataclass(frozen=True, slots=True)
class _ProsePattern:
    """A sentence that names a secret.

    Attributes:
        name: Regular expression of the words up to the secret.
        value: Regular expression of the secret's characters.
        hints: Lower-case parts, at least one of which every match contains: a fast check.
        accepts: Returns whether a value is a secret, and not a word of the sentence.
    """

    name: re.Pattern[str]
    value: re.Pattern[str]
    hints: tuple[str, ...]
    accepts: Callable[[str], bool]


_JUDGED_CHARS = 128
"""Characters of a value that `accepts` is given: a bound, so that time stays linear."""


def _mask_in_prose(text: str, prose: _ProsePattern) -> str:
    parts, at, start = [], 0, 0
    while match := prose.name.search(text, start):
        start = match.end()
        value = prose.value.match(text, start, start + _JUDGED_CHARS)
        if value and prose.accepts(value[0]):
            whole = prose.value.match(text, start)
            secret = whole[0] if whole else value[0]
            parts += [text[at:start], mask(secret)]
            at = start = start + len(secret)
    return "".join([*parts, text[at:]])


def _looks_random(secret: str) -> bool:
    """Check for a key: in one of its parts, letters, digits and cases alternate as in no word."""
    return any(_alternates(part) for part in re.split(r"[-_./+=~]", secret)) and len(secret) >= 12


def _alternates(part: str) -> bool:
    kinds = ["d" if c.isdigit() else "u" if c.isupper() else "l" for c in part]
    changes = sum(one != other for one, other in itertools.pairwise(kinds))
    return len(part) >= 8 and changes >= max(3, 0.25 * (len(part) - 1))


def _looks_chosen(secret: str) -> bool:
    """Check for a password: a mix of letters with digits or punctuation."""
    letters = sum(character.isalpha() for character in secret)
    others = sum(character.isdigit() or character in "!@#$%^&" for character in secret)
    return letters > 0 and others > 0 and not _MASKED.match(secret)


_GAP = r"[ \t*`\"'(=:]{1,8}"
_BETWEEN = rf"(?:{_GAP}(?:is|was|to|for|the|a|an|now|new|value|set|as|->)(?![A-Za-z0-9]))"
_WHOSE = (
    r"(?:[ \t](?:for|of|to|in|on)(?:[ \t][A-Za-z0-9_'-]{1,20}){1,4}"
    r"(?=[ \t]{0,2}[:=]|[ \t](?:is|was)\b))?"
)
_BEFORE = rf"\b{_WHOSE}{_BETWEEN}{{0,5}}{_GAP}"
_PROSE = (
    _ProsePattern(
        re.compile(rf"(?:key|token|secret|credential)s?{_BEFORE}", re.ASCII | _I),
        re.compile(r"[A-Za-z0-9+/=_.~-]{12,}"),
        ("key", "token", "secret", "credential"),
        _looks_random,
    ),
    _ProsePattern(
        re.compile(rf"(?:password|passwd|passphrase|passcode|pwd)s?{_BEFORE}", re.ASCII | _I),
        re.compile(r"[^\s\"'`*()<>,;]{6,}"),
        ("passw", "passphrase", "passcode", "pwd"),
        _looks_chosen,
    ),
)
