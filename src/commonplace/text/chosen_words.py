"""Chosen words: passwords that people make of words, with separators, and with no digit."""

from __future__ import annotations

import re

from commonplace.text.secret_names import NAMES, NO_SECRETS

__all__ = ["is_named_so", "is_oddly_cased", "is_spelled", "looks_joined"]

_JOINED = re.compile(r"(?=.{8,80}$)[^\W\d_]{2,20}(?:[-_.+=*&/,$'’]{1,2}[^\W\d_]{1,20}){1,8}")
_PARTS = re.compile(r"[^\W\d_]+")
_OF_CODE = re.compile(
    r"(?:DataTypes|Sequelize|Joi|Yup|Schema|\w{0,20}Types?|String|Mongoose|Faker|System|Self|This|Config|Settings|Env"
    r"|Props|Options|App|Django|Flask|Spring|Rails|Field|Fields|Model|Models|Forms?|Column|Process"
    r"|[A-Z]\w{0,30}(?:Error|Exception|Type|Field|Utils?|Helper|Service|Manager|Provider|Config|Settings"
    r"))[.]"
)
_PRESSED = re.compile(r"(?:ctrl|strg|alt|shift|cmd|fn|win|super|umschalt|maj)[+-]", re.IGNORECASE)
"""Begin of keys that are pressed together."""
_FILE = re.compile(
    r"/|\.(?:com|org|net|io|de|fr|es|it|pt|nl|pl|jp|cn|eu|uk|dev|app|py|js|tsx?|jsx|go|rs|md|txt|php|xml|ya?ml|json"
    r"|log|cfg|conf|ini|sh|csv|pdf|zip|exe|kdbx?|gpg|pem|key|env|toml|java|kt|rb|cs|html?|sql|db|local|internal"
    r"|example|docx?|xlsx?|properties|service|lock)$"
)
_LINKS = frozenset({
    "the", "of", "to", "by", "and", "in", "on", "up", "down", "end", "off", "out", "per", "for",
    "with", "self", "auto", "user", "non", "pre", "case", "single", "groß", "klein", "multi",
    "read", "write", "two", "three", "one", "site", "built", "log", "sign", "opt",
})  # fmt: skip
"""Parts of compounds that are terms: "case-by-case", "user-specific"."""
_NOUN = re.compile(
    r"(?!(?i:case|read|write|auto|self|built|user|well|single|multi|two|three|pre-|re-|non-|obligat|obbligat|obrigat|obowi|opcion|option|requir|verplicht|necess|pflicht|unnöt))"
    r"(?:[A-Z][a-zà-ÿ]{7,24}|[A-Z][a-zà-ÿ]{2,16}-[A-Za-z][a-zà-ÿ]{2,16}|[a-z]{4,16}[A-Z][a-z]{2,16})"
)
_ENDED = re.compile(r"[,)\n]|$|[ \t]\(|[ \t](?:by|but|und|and|et|y|e)[ \t]")
_SPELLED = re.compile(
    r"[\"'`»”“」』’*_]{0,3}(?:,[ \t][^\n,;.]{1,32}(?=,))?[,;.]?[ \t]?[(–—-]?[ \t]?(?:[^\W\d_]{2,12"
    r"}[ \t]){0,1}?"
    r"(?:(?:(?:in|with|mit|avec|con|com|met|z|en|em|w|tout|toute|tutto|tutta|todo|toda|tudo|alles|all|bez|sin|sans"
    r"|ohne|senza|sem|zonder|no|one|as one|in one|in einem|en un|in un|en una|em uma"
    r"|jako)[ \t]){1,3}"
    r"(?:the[ \t]|den[ \t]|les[ \t]|los[ \t]|i[ \t])?"
    r"(?:lower[ -]?case|small letters|lowers|word|spaces?|dash(?:es)?|hyphens?|underscores?"
    r"|dots?|caps|capitals?"
    r"|klein(?:geschrieben)?|kleinbuchstaben|wort|leerzeichen|bindestrich\w{0,3}|punkt\w{0,2}|gro(?:ß|ss)\w{0,12}"
    r"|minuscules?|majuscules?|mot|attachés?|collé|espaces?|tirets?"
    r"|minúsculas?|mayúsculas?|junto|palabra|espacios?|guion(?:es)?"
    r"|minuscol[oaie]|maiuscol[oaie]|attaccat[oa]|parola|spazi|trattin[oi]"
    r"|maiúsculas?|palavra|espaços?|hífen(?:es)?"
    r"|aan elkaar|aaneen\w{0,12}|kleine letters|hoofdletters?|spaties?|woord|streepjes?"
    r"|mał(?:e|ymi)(?: liter\w{1,3})?|spacji|słowo|myślnik\w{0,3}|razem)"
    r"|(?:klein|zusammen|gro(?:ß|ss)|aan elkaar|aaneen)[ -]?ge?schre[iv]\w{2,3}|capital [A-Z]\b"
    r"|majuscule au début|全部小写|小写|全部小文字|全小文字|小文字|スペースなし)(?!\w)",
    re.IGNORECASE,
)
"""What is said of how a password is written: "all lowercase", "alles klein", "tout attaché"."""


def looks_joined(secret: str) -> bool:
    """Check for words that are joined as in no sentence: ``Dachboden_links``, ``teal-Giraffe``."""
    if not _JOINED.fullmatch(secret) or _OF_CODE.match(secret) or _PRESSED.match(secret):
        return False
    parts = _PARTS.findall(secret)
    if any(part.lower() in _LINKS or part.lower() in NO_SECRETS for part in (parts[0], parts[-1])):
        return False
    if NAMES.search(secret.lower()) or _FILE.search(secret):
        return False
    cased = any(map(str.isupper, secret)) and not secret.isupper()
    if re.search(r"[_=*+&,$.]", secret):
        return cased or (len(parts) > 2 and not re.search("[./]", secret))
    return is_oddly_cased(secret) or (len(parts) > 2 and _LINKS.isdisjoint(map(str.lower, parts)))


def is_oddly_cased(secret: str) -> bool:
    """Check for a capital that no sentence and no name has: ``olive-Tapenade``."""
    parts = _PARTS.findall(secret)
    return len(parts) > 1 and parts[0].islower() and any(map(str.isupper, secret))


def is_named_so(text: str, start: int, end: int) -> bool:
    """Check for a word with a capital where no sentence has one: "the password is Rollmops"."""
    if not _NOUN.fullmatch(text, start, end) or text[start:end].lower() in NO_SECRETS:
        return False
    german = text[max(0, start - 5) : start].endswith(("ist ", "war ", "tet ", "ird "))
    ended = _ENDED.match(text, end) is not None
    return ended and not german and text[start - 1 : start] == " "


def is_spelled(text: str, end: int) -> bool:
    """Check whether it is said behind a word how it is written."""
    return bool(_SPELLED.match(text, end))
