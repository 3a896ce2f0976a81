"""Values of secrets: what looks like a key or a password, and what only stands where one could."""

from __future__ import annotations

import re

from commonplace.text.secret_names import NAMES, NO_SECRETS, TECHNICAL

__all__ = [
    "JUDGED_CHARS",
    "is_blank",
    "is_code_name",
    "is_constant",
    "is_harmless",
    "is_identifier",
    "is_mask",
    "is_number",
    "is_opaque",
    "is_plain_word",
    "is_pointer",
    "is_sample",
    "is_seed_phrase",
    "is_sentence_word",
    "is_variable",
    "looks_chosen",
    "looks_composed",
    "looks_invented",
    "looks_random",
    "looks_strong",
    "seed_phrase",
    "without_sentence",
]

JUDGED_CHARS = 128
"""Characters of a value that are judged: a bound, so that time stays linear."""

_MASKED = re.compile(r"\*\*\*|[^…]{6}…[^…]{4}")
_PLACEHOLDER = re.compile(
    r"(?:Alt|Ctrl|Strg|Shift|Cmd|Option|Meta)\+\S+|<[^>]*>?|\$\{.*|\{\{.*|%[sd](?:\W.*)?|%[({].*|\[.*|\{.*\}?|\$\(.*|[*.…_•xX-]{2,}"
    r"|[A-Za-z]{0,4}-?(?:\.{3}|…|\*{3,}).*|YOUR\w*|https?://.*|#\{.*|ENC\[.*|@[\w.-]+@|(?:x{3,}[-_]?)+"
    r"|(?:sk[-_]|pk[-_])?(?:your|insert|enter|put|replace|change|some|the(?!.*\d{2}))[-_ ].*"
    r"|change_?me\W?|#[0-9a-f]{3,8}|urn:.*|%\w+\(.*|__\w+__|[\"']?%[sdr][\"']?|~?(?:/[\w.-]+){2,}/?|[^\w]+|!!\w+"
    r"|:?\?[a-z ]+\}?|`[a-z][\w./-]* [^`]*`?|.*[-_](?:here|placeholder|goes)"
    r"|UGFzc3dvcmQ6|VXNlcm5hbWU6",  # the prompts of a mail server
    re.IGNORECASE | re.DOTALL,
)
"""Value that stands for a secret, also in quotes."""
_POINTER = re.compile(
    r"(?:ref\+)?(?:op|vault|ssm|akv|sops|file|secretsmanager|bao|doppler|infisical|conjur|awssm|gcpsm"
    r"|resolve|arn):/?[A-Za-z/][\w.-]*[/:].*|(?:keyring|keychain|credstash|secret-?tool):.*"
    r"|\d{4}-\d\d(?:-\d\d)?/.+|//[\w.@-]+\.\w+.*|projects/[\w-]+/secrets/.*|@Microsoft\.KeyVault.*"
    r"|(?:SHA|sha)(?:1|256|384|512)[:-].*|(?:keyid:|MD5:)?(?:[0-9A-Fa-f]{2}:){3,}[0-9A-Fa-f]{2}",
    re.DOTALL,
)
"""Place where a secret is kept, or fingerprint of a key."""
_EXPANDED = re.compile(
    r"%\w+%|!\w+!|<[^>]*>?|\{\{.*|\$[A-Za-z_]\w*|\$[({].*|\[[\w -]+\]?", re.DOTALL
)
"""Variable that a shell or a template replaces."""
_ACCOUNT = re.compile(r"[a-z][a-z0-9._-]*@[a-z0-9._-]+")
_ITEM = re.compile(r"[A-Z]{1,6}#\d+|[a-z]+(?:[A-Z][a-z]+)*(?:Password|Token|Secret|Key)\d{0,2}")
"""Number of a request (``PR#4512``), or name of a variable."""
_CJK = "\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af"
_BLANK = re.compile("[xX*]{12}")
"""Part of what only shows how a token looks."""
_BRACED = re.compile(r"\{[A-Za-z0-9+/]{20,}={0,2}\}?")
"""Password that a build tool (Maven) has encrypted."""
_REFERENCE = re.compile(
    r"\$[A-Za-z_]\w*|\$\d{1,2}|-{1,2}[A-Za-z][\w\\#=-]*|\w+(?:[!<>]=\w*|==\w+)|[:@][A-Za-z_]{1,40}|\$\(.*|%\w+%|&[a-z]\w*|-{1,2}[a-z][a-z-]*|\\.*"
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
    r"|conf|secrets?|vars?|local|module|options|state|ctx|context|app)(?:\.\w+)+!?[,;]?"
    r"|(?:Get|New|Read|ConvertTo|Import)-[A-Z]\w+"
    r"|\w+(?:\.\w+)*[._](?:password|passwd|pwd|token|secret|key)s?|(?:\w+\.)+(?:password|token|secret|key)s?"
    r"|[a-z]+(?:[A-Z][a-z]+)*(?:Password|Token|Secret|Key)|lambda\b.*|f[\"'].*|(?:[A-Za-z_]+\??\.)+[A-Za-z_]{3,}"
    r"|(?:[a-z]+_)*(?:password|passwd|passphrase|pass|auth|token|secret|user)(?:_[a-z]+)+",
    re.DOTALL,
)
_CODE_NAME = re.compile(
    r"_?[A-Z]?[a-z]{2,}(?:[A-Z]{1,4}[a-z]{2,})+|_?[A-Z][a-z]{2,}|_?[A-Za-z]+(?:(?:\.|::)[A-Za-z_]+)+"
    r"|[a-z]+(?:[_-][a-z]+)+|\|[A-Z_]+\||[a-z]+(?::[a-z_-]+)+"
)
_TEMPLATE = re.compile(r"\$?\{[A-Za-z_][\w.()\[\]]{0,40}(?:[!:][^{}]{0,20})?\}|%\(\w+\)s|#\{")
_VERSION = re.compile(
    r"(?:\d+:|[~^]|[<>=]{1,2})?[vV]?\d+(?:\.\d+)+(?:[-+~.][\w.+~-]{0,60})?|[A-Z]+/\d(?:\.\d)?"
)
_SAMPLE = re.compile(
    r"(?:[A-Za-z]+[-_ ])*(?:test|fake|mock|dummy|example|sample|key|token|secret)"
    r"(?:[-_ ][A-Za-z]+)*"
)
_HARMLESS_IN = {"": (_REFERENCE, _CODE), "`": (_KEYWORD,), '"': (_VARIABLE,)}
"""What is no secret in certain quotes, or in none."""
_NUMBER = re.compile(
    r"[+-]?\d{1,7}(?:_\d{3}){0,3}(?:[.,]\d+)?[kKmM]?%?|\d+\*\*\d+,?|\d{4}-\d\d-\d\d\S*"
)
_PLAIN_WORD = re.compile(r"[^\W\d_]+(?:['’-][^\W\d_]+)*")
_WORD = re.compile(r"[A-Z]?[^\WA-Z\d_]+(?:['’-][^\W\d_]+)*|[A-Z]{1,6}")
_TERM = re.compile(
    r"[A-Z]{2,10}-\d+|#\d+|\d+(?:\.\d+)*[A-Za-z%]{0,3}|[A-Z]\d{1,3}|\d{1,2}:\d\d\S*|\S+\.[a-z]{2,5}"
    r"|/\S*|[a-z]{2,6}\d{1,2}|[\w.+-]+@[\w-]+\.\S+|\d{4}-\d\d-\d\d\S*|[A-Z][a-z]{1,9}\d{1,2}"
)
_IDEOGRAPHS = re.compile(f"[{_CJK}]+")
"""Signs that a password cannot have, since keyboards compose them."""
_HEXADECIMAL = re.compile(r"(?=[0-9]*[a-fA-F])(?=[a-fA-F]*[0-9])(?:[0-9a-f]{24,}|[0-9A-F]{24,})")
_CAPITALISED = re.compile(r"[A-Z][a-z]{3,}")
"""Word of a name of code: ``PydanticDeprecatedSince20``."""
_SIGN = re.compile(r"[\d!@#$%^&?+~]")
_STARRED = re.compile(r"[^\W_]{3}[*][^\W\d_]{3}")
_RUN_OF_ONE_CASE = re.compile("[A-Z]+|[a-z]+")
_RUN_OF_ONE_TYPE = re.compile("[0-9]+|[A-Z]+|[a-z]+|[^0-9A-Za-z]+")
_SIGN_INSIDE = re.compile(r"[^\W_][!@#$%^&?+~*][^\W_]")
_TYPED = re.compile(r"[\w!#$%^&?+~*@-]+", re.ASCII)
_KEY = re.compile(r"[\w+-]+={0,2}", re.ASCII)
_TYPED_FIRST = re.compile(f"[^{_CJK}]+(?=[{_CJK}])")
_COPULA = re.compile("で|だ|に(?!ち)|へ|と|了|吧|입|이|로|으")
"""Begin of what follows a value in a sentence: "is", "to"."""
_RUN_OF_ONE_KIND = re.compile(r"[0-9]+|[A-Z]+|[^0-9A-Z]+")


def is_mask(value: str) -> bool:
    """Return whether a value is what a secret was replaced with."""
    return bool(_MASKED.fullmatch(value))


def is_blank(value: str) -> bool:
    """Check for what only shows how a secret looks, or is called: ``sk-xxxx``, ``password``."""
    name = NAMES.fullmatch(value.lower()) if value.isalpha() and len(value) <= 24 else None
    if not any(map(str.isalnum, value)):
        return True
    return bool(_BLANK.search(value) or (name and name.lastgroup in ("password", "token", "short")))


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
    """Check for a password: a mix of letters with digits or punctuation, or of cases."""
    if _is_jumbled(secret):
        return True
    mixed = any(map(str.isalpha, secret)) and (_SIGN.search(secret) or _STARRED.search(secret))
    return bool(mixed) and len(secret) >= 5 and not TECHNICAL.fullmatch(secret)


def _is_jumbled(secret: str) -> bool:
    """Check for letters whose cases change as in no word, and in no name of code."""
    if not (6 <= len(secret) <= JUDGED_CHARS and secret.isascii() and secret.isalpha()):
        return False
    runs = len(_RUN_OF_ONE_CASE.findall(secret))
    return runs >= 5 and 2.4 * runs >= len(secret)


def looks_strong(secret: str) -> bool:
    """Check for a password that is no term, number or name of a sentence."""
    bare = secret.rstrip("!?")
    return len(secret) >= 6 and looks_chosen(bare) and not _TERM.fullmatch(bare)


def looks_invented(secret: str) -> bool:
    """Check for a password that even alone is no word, name, version or term."""
    if not 7 <= len(secret) <= 40 or not looks_strong(secret):
        return False
    if not _TYPED.fullmatch(secret) or _ACCOUNT.fullmatch(secret) or _ITEM.fullmatch(secret):
        return False
    kinds = sum(bool(re.search(kind, secret)) for kind in ("[a-z]", "[A-Z]", "[0-9]"))
    signs = _SIGN_INSIDE.search(secret)
    return (kinds == 3 and len(_RUN_OF_ONE_TYPE.findall(secret)) >= 4) or bool(
        kinds >= 2 and signs and re.search("[0-9]", secret)
    )


def looks_composed(secret: str) -> bool:
    """Check for words that are joined to a password: ``Quokka.torte.11``, not ``OpenVPN-2.6``."""
    if looks_invented(secret):
        return True
    joined = re.fullmatch(r"(?=.*\d)(?=.*[A-Z])[^\W_]{2,}(?:[._+-][^\W_]+)+", secret)
    return bool(joined) and len(secret) >= 10 and not re.search(r"[-_ ]v?\d+(?:\.\d+)*$", secret)


def is_variable(value: str) -> bool:
    """Check for what a shell or a template replaces: ``%PASSWORD%``, ``<password>``."""
    return bool(_EXPANDED.fullmatch(value))


def is_constant(value: str) -> bool:
    """Check for what a reader replaces: ``YOUR_ACCESS_TOKEN``."""
    return bool(_CONSTANT.fullmatch(value))


def without_sentence(value: str) -> str:
    """Return what was typed, without the words of a sentence that follow with no blank.

    In Chinese, Japanese and Korean, a particle or a unit follows so: a number with a unit is empty.
    """
    typed = _TYPED_FIRST.match(value)
    if typed is None:
        return value
    behind = value[typed.end() :]
    return "" if typed[0].isdecimal() and not _COPULA.match(behind) else typed[0]


def is_pointer(value: str) -> bool:
    """Check for the place where a secret is kept, and for the fingerprint of a key."""
    return bool(_POINTER.fullmatch(value))


def is_opaque(value: str) -> bool:
    """Check for characters that only a machine draws: digits and both cases, of some length."""
    kinds = all(re.search(kind, value) for kind in ("[a-z]", "[A-Z]", "[0-9]"))
    return kinds and len(value) >= 16 and bool(_KEY.fullmatch(value)) and looks_random(value)


def is_harmless(value: str, *, quoted: str) -> bool:
    """Check for a value that is no secret: a placeholder, a word, a reference."""
    if not value or is_mask(value) or "…" in value or value.lower().rstrip(",.;") in NO_SECRETS:
        return True
    if _BLANK.search(value) or _TEMPLATE.search(value) or _VERSION.fullmatch(value):
        return True
    if _BRACED.fullmatch(value) and looks_random(value[1:-1]):
        return False
    if quoted and (value[0] in " ," or _CONSTANT.fullmatch(value)):
        return True
    if is_pointer(value):
        return True
    if _PLACEHOLDER.fullmatch(value) or TECHNICAL.fullmatch(value):
        return not looks_random(value[-32:]) or value[0] in "<${[%" or "://" in value
    if _is_label(value) or _IDEOGRAPHS.fullmatch(value):
        return True
    return any(form.fullmatch(value) for form in _HARMLESS_IN.get(quoted, ()))


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


def is_code_name(value: str) -> bool:
    """Check for the name of a class, of an attribute or of a field: ``Tensor``, ``NextToken``."""
    return bool(_CODE_NAME.fullmatch(value)) and not (_is_jumbled(value) or looks_random(value))


def is_sample(value: str) -> bool:
    """Check for words that only say what stands there: ``test-api-key``."""
    return bool(_SAMPLE.fullmatch(value))


def is_plain_word(value: str) -> bool:
    """Check for a word of letters."""
    return bool(_PLAIN_WORD.fullmatch(value))


def is_sentence_word(value: str) -> bool:
    """Check for a word that is written as in a sentence."""
    return bool(_WORD.fullmatch(value))


_STOP_WORDS = """
    the and for are was were has had his her not but from its our who been which their your
    how why into too got see did does que los las una con por del les des une pas pour dans
    est sur und der die das ein eine ist mit nicht auf het een niet
"""
_NO_SEED_WORDS = frozenset(_STOP_WORDS.split())
"""Words of sentences, none of which is in the word list of seed phrases (BIP-39)."""
_SEED_LENGTHS = (12, 15, 18, 21, 24)


def is_seed_phrase(words: str) -> bool:
    """Check for the words of a wallet: so many, short, and no sentence."""
    found = re.findall(r"[^\W\d_]+", words)
    plurals = sum(word.endswith("s") and not word.endswith("ss") for word in found)
    return len(found) in _SEED_LENGTHS and plurals < 3 and _NO_SEED_WORDS.isdisjoint(found)


def seed_phrase(words: str) -> tuple[int, int] | None:
    """Return the place of a wallet's words at the end of others."""
    found = list(re.finditer(r"[^\W\d_]+", words))
    last = max((at for at, word in enumerate(found) if word[0] in _NO_SEED_WORDS), default=-1)
    if len(found) - last - 1 not in _SEED_LENGTHS:
        return None
    return found[last + 1].start(), found[-1].end()
