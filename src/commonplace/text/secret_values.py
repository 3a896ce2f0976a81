"""Values of secrets: what looks like a key or a password, and what only stands where one could."""

from __future__ import annotations

import re

from commonplace.text.secret_names import NAMES, NO_SECRETS, TECHNICAL

__all__ = [
    "JUDGED_CHARS",
    "is_harmless",
    "is_identifier",
    "is_mask",
    "is_number",
    "is_plain_word",
    "is_seed_phrase",
    "is_sentence_word",
    "literal",
    "looks_chosen",
    "looks_random",
    "looks_strong",
    "seed_phrase",
]

JUDGED_CHARS = 128
"""Characters of a value that are judged: a bound, so that time stays linear."""

_MASKED = re.compile(r"\*\*\*|[^…]{6}…[^…]{4}")
_PLACEHOLDER = re.compile(
    r"<[^>]*>?|\$\{.*|\{\{.*|%[sd](?:\W.*)?|%[({].*|\[.*|\{.*\}?|\$\(.*|[*.…_•xX-]{2,}"
    r"|[A-Za-z]{0,4}-?(?:\.{3}|…|\*{3,}).*|YOUR\w*|https?://.*|#\{.*|ENC\[.*|@\w+@|(?:x{3,}[-_]?)+"
    r"|(?:sk[-_]|pk[-_])?(?:your|insert|enter|put|replace|change|some|the)[-_ ].*"
    r"|change_?me\W?|#[0-9a-f]{3,8}|~?(?:/[\w.-]+){2,}/?|[^\w]+|!!\w+"
    r"|:?\?[a-z ]+\}?|.*[-_](?:here|placeholder|goes)",
    re.IGNORECASE | re.DOTALL,
)
"""Value that stands for a secret, also in quotes."""
_REFERENCE = re.compile(
    r"\$[A-Za-z_]\w*|\$\(.*|%\w+%|&[a-z]\w*|-{1,2}[a-z][a-z-]*|\\.*"
    r"|(?:\.{0,2}/[a-z_][a-z0-9_.-]{0,30})+/?|#[a-z-]+",
    re.DOTALL,
)
"""Variable, tag, flag or path: where a secret is, not what it is."""
_KEYWORD = re.compile(r"--[a-z][\w-]{0,40}(?:=.*)?|[a-z_]{2,40}=\S{1,40}")
_CONSTANT = re.compile(r"[A-Z]+(?:_[A-Z]+)*_(?:KEY|TOKEN|SECRET|PASSWORD|PASS|PW)")
_IDENTIFIER = re.compile(r"[a-z]+(?:[._][a-z0-9]+)*,?|[a-z]+(?:-[a-z]+)*-\d{1,3}")
_VARIABLE = re.compile(r"\$[A-Za-z_]\w*")
_CODE = re.compile(
    r"[A-Za-z_$][\w.]*[(\[].*|_?[A-Z]+(?:_[A-Z]+)+|(?:self|this|os|process|config|settings|user|env|props|data|request|args|options|params|cfg"
    r"|conf|secrets?|vars?|local|module|options|state|ctx|context|app)(?:\.\w+)+,?"
    r"|\w+(?:\.\w+)*[._](?:password|passwd|pwd|token|secret|key)s?|(?:\w+\.)+(?:password|token|secret|key)s?"
    r"|[a-z]+(?:[A-Z][a-z]+)*(?:Password|Token|Secret|Key)|lambda\b.*|f[\"'].*|(?:[A-Za-z_]+\.){2,}[A-Za-z_]+",
    re.DOTALL,
)
_NUMBER = re.compile(
    r"[+-]?\d{1,7}(?:_\d{3}){0,3}(?:[.,]\d+)?[kKmM]?%?|\d+\*\*\d+,?|\d{4}-\d\d-\d\d\S*"
)
_PLAIN_WORD = re.compile(r"[^\W\d_]+(?:['’-][^\W\d_]+)*")
_WORD = re.compile(r"[A-Z]?[^\WA-Z\d_]+(?:['’-][^\W\d_]+)*|[A-Z]{1,6}")
_TERM = re.compile(
    r"[A-Z]{2,10}-\d+|#\d+|\d+(?:\.\d+)*[A-Za-z%]{0,3}|[A-Z]\d{1,3}|\d{1,2}:\d\d\S*|\S+\.[a-z]{2,5}"
    r"|/\S*|[a-z]{2,6}\d{1,2}|[\w.+-]+@[\w-]+\.\S+|\d{4}-\d\d-\d\d\S*|[A-Z][a-z]{1,9}\d{1,2}"
)
_IDEOGRAPHS = re.compile("[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]+")
"""Signs that a password cannot have, since keyboards compose them."""
_HEXADECIMAL = re.compile(r"(?=[0-9]*[a-fA-F])(?=[a-fA-F]*[0-9])(?:[0-9a-f]{24,}|[0-9A-F]{24,})")
_CAPITALISED = re.compile(r"[A-Z][a-z]{3,}")
"""Word of a name of code: ``PydanticDeprecatedSince20``."""
_SIGN = re.compile(r"[\d!@#$%^&?+~]")
_RUN_OF_ONE_KIND = re.compile(r"[0-9]+|[A-Z]+|[^0-9A-Z]+")


def is_mask(value: str) -> bool:
    """Return whether a value is what a secret was replaced with."""
    return bool(_MASKED.fullmatch(value))


def looks_random(secret: str) -> bool:
    """Check for a key: in one of its parts, letters, digits and cases alternate as in no word."""
    if _HEXADECIMAL.fullmatch(secret):
        return True
    parts = re.split(r"[-_./+=~:]", secret)
    if any(map(str.isdigit, secret)):
        parts.append("".join(parts))
    if len("".join(_CAPITALISED.findall(secret))) > 0.65 * len(secret):
        return False
    return len(secret) >= 12 and any(_alternates(part) for part in parts if len(part) >= 8)


def _alternates(part: str) -> bool:
    changes = len(_RUN_OF_ONE_KIND.findall(part)) - 1
    least = 0.2 if any(map(str.isdigit, part)) else 0.45  # camel case is no key
    return changes >= max(3, least * (len(part) - 1))


def looks_chosen(secret: str) -> bool:
    """Check for a password: a mix of letters with digits or punctuation."""
    mixed = any(map(str.isalpha, secret)) and _SIGN.search(secret)
    return bool(mixed) and len(secret) >= 5 and not TECHNICAL.fullmatch(secret)


def looks_strong(secret: str) -> bool:
    """Check for a password that is no term, number or name of a sentence."""
    bare = secret.rstrip("!?")
    return len(secret) >= 6 and looks_chosen(bare) and not _TERM.fullmatch(bare)


def is_harmless(value: str, *, quoted: str) -> bool:
    """Check for a value that is no secret: a placeholder, a word, a reference."""
    if not value or is_mask(value) or "…" in value or value.lower().rstrip(",.") in NO_SECRETS:
        return True
    if quoted and (value[0] in " ," or _CONSTANT.fullmatch(value)):
        return True
    if _PLACEHOLDER.fullmatch(value) or TECHNICAL.fullmatch(value):
        return not looks_random(value[-32:]) or value[0] in "<${[%" or "://" in value
    if _is_label(value) or _IDEOGRAPHS.fullmatch(value):
        return True
    if quoted == "`" and _KEYWORD.fullmatch(value):
        return True
    if quoted == '"' and _VARIABLE.fullmatch(value):
        return True
    return not quoted and bool(_REFERENCE.fullmatch(value) or _CODE.fullmatch(value))


def _is_label(value: str) -> bool:
    """Check for a text of a form, which names a secret: "Forgot your password?"."""
    if any(map(str.isdigit, value)):
        return False
    lowered = value.lower()
    name = NAMES.search(lowered)
    if name is None or name.lastgroup not in ("password", "password_cjk"):
        return False
    return name[0] == lowered or " " in value


def is_number(value: str) -> bool:
    """Check for a number, with a unit or without, or a date."""
    return bool(_NUMBER.fullmatch(value))


def is_identifier(value: str) -> bool:
    """Check for a name of code or of a style."""
    return bool(_IDENTIFIER.fullmatch(value))


def is_plain_word(value: str) -> bool:
    """Check for a word of letters."""
    return bool(_PLAIN_WORD.fullmatch(value))


def is_sentence_word(value: str) -> bool:
    """Check for a word that is written as in a sentence."""
    return bool(_WORD.fullmatch(value))


_STOP_WORDS = """
    the and for are was were has had his her not but from its our who been which their your
    how why into too got see did does que los las una con por del les des une pas pour dans
    est sur und der die das ein eine ist mit nicht auf van het een niet
"""
_NO_SEED_WORDS = frozenset(_STOP_WORDS.split())
"""Words of sentences, none of which is in the word list of seed phrases (BIP-39)."""
_SEED_LENGTHS = (12, 15, 18, 21, 24)


def is_seed_phrase(words: str) -> bool:
    """Check for the words of a wallet: so many, short, and no sentence."""
    found = re.findall("[a-z]+", words)
    plurals = sum(word.endswith("s") and not word.endswith("ss") for word in found)
    return len(found) in _SEED_LENGTHS and plurals < 3 and _NO_SEED_WORDS.isdisjoint(found)


def seed_phrase(words: str) -> tuple[int, int] | None:
    """Return the place of a wallet's words at the end of others."""
    found = list(re.finditer("[a-z]+", words))
    last = max((at for at, word in enumerate(found) if word[0] in _NO_SEED_WORDS), default=-1)
    if len(found) - last - 1 not in _SEED_LENGTHS:
        return None
    return found[last + 1].start(), found[-1].end()


_LITERAL = re.compile(
    r"(?:new )?[\w.:]{0,80}?(?P<maker>(?i:fromhex|b64decode|atob|SecretStr|secret|SecureString"
    r"|Some|unhex"
    r"|from_hex|bytes|str|string|buffer\.from|encode|decode|getbytes|strdup|sensitive|literal|raw))?"
    r"\(\s{0,4}[brfuLN@]{0,2}(?P<open>[\"'`])(?P<value>[^\"'`\n]{4,1000})(?P=open)"
)
"""Text that is given to a function: ``bytes.fromhex("...")``."""


def literal(text: str, start: int) -> tuple[int, int] | None:
    """Return the place of a secret that a function makes of a text, or has as its default."""
    found = _LITERAL.match(text, start)
    if found is None:
        return None
    value = found["value"][:JUDGED_CHARS]
    if is_harmless(value, quoted='"'):
        return None
    made = found["maker"] and looks_strong(value)
    return found.span("value") if made or looks_random(value) else None
