"""PINs, codes of doors, one-time passwords' seeds, and the words of wallets, behind their names."""

from __future__ import annotations

import re
from collections.abc import Iterator

from commonplace.text.lock_codes import BELOW, following_codes
from commonplace.text.secret_names import NOT_A_CODE
from commonplace.text.secret_separators import ADJACENT, ASSIGNED, OTHERS, PROSE
from commonplace.text.secret_values import seed_phrase

__all__ = ["codes", "wallet_words"]

Span = tuple[int, int]

_PIN = re.compile(
    r"[\"'`*,;/ ~→]{0,5}((?=[A-Za-z-]{0,20}\d)[A-Za-z0-9]{4,6}(?:-[A-Za-z0-9]{4,6}){1,7}(?![\w-])"
    r"|#?\d(?:[ -]?\d){2,11}[#*]?(?![A-Za-z0-9_-])"
    r"|(?!GPIO)(?=[A-ZА-Я]*\d)[A-ZА-Я0-9]{4,8}(?![A-Za-z0-9_-]))"
)
_PINS_BELOW = re.compile(
    r"(?:[ \t][^\n:()]{1,30}(?=[ \t]\())?(?:[ \t]\([^()\n]{1,60}\)|,[^\n]{1,60}"
    r"|[ \t][^\n:]{0,50}(?=:)|[ \t](?!are|is"
    r"|in)[^\n:.,;]{1,30})?[:：]?[*_]{0,2}[ \t]{0,4}(?:\r?\n){1,2}"
)
_BULLET = re.compile(
    r"(?:~~|[*`]{1,2})?(?:[ \t]\(?(?:used|benutzt|verbraucht|utilisé|usado|usato|gebruikt|użyty"
    r"|✓|✔|[xX])\)?)?[,;]?[ \t]{0,4}\r?\n"
    r"[ \t>]{0,8}(?:[-*+•]|\d{1,2}[.)])?[ \t]{0,4}(?:\[[ xX]?\][ \t]?)?[~`]{0,2}"
)
_LETTERED = re.compile(
    r"[ \t\"'`*]{0,3}((?!GPIO"
    r"|[A-Z]{1,5}\d{1,2}\b)(?=[A-Za-z]{0,7}\d)(?=\d{0,7}[A-Za-z])[A-Za-z0-9]{4,8})(?=[ \t]*(?"
    r":\r?\n|$))"
)
"""PIN of letters and digits, alone in its line."""
_TOTP = re.compile(
    r"[\"'`*]{0,3}((?:[A-Z2-7]{4} ){3,15}[A-Z2-7]{4}|(?:[a-z2-7]{4} ){3,15}[a-z2-7]{4}"
    r"|[A-Z2-7]{16,64}"
    r"|(?=[A-Z]{0,20}\d)[A-Z0-9]{32})(?!\w)"
)
_PHRASE = re.compile(
    r"(?:[^\n:]{41,120}:[ \t]{1,4}"
    r"|[^\n]{0,40}?(?:[:=]|\bis\b|\bare\b)?[\s`\"'>]{1,8}|[^\n：]{0,20}[：はが是][\s`\"'「]{0,4})"
    r"((?:(?:\d{1,2}[.)]?[ \t]{0,4})?[a-zß-ž]{3,10}[\s,-]{1,4}){11,28}"
    r"(?:\d{1,2}[.)]?[ \t]{0,4})?[a-zß-ž]{3,10})(?![a-zß-ž])"
)
_CJK_PHRASE = re.compile(
    r"[^\n]{0,20}?[:：は]?\s{0,4}((?:[\u3040-\u30ff\u4e00-\u9fff\uac00-\ud7af]{1,8}[\s,、]){11,23}"
    r"[\u3040-\u30ff\u4e00-\u9fff\uac00-\ud7af]{1,8})(?!\w)"
)
_CLAUSE = re.compile(
    r"(?:[ \t][^\s\d,;:.]{1,20}){1,6}?[ \t]?(?::|[ \t](?:is|was|ist|est|es|è|é|="
    r"|c['’]est)(?=[ \t])|,[ \t]it['’]?s(?=[ \t]))[ \t]{0,3}"
)
_ONE_WORD = re.compile(r"[ \t][^\W\d_]{2,16}[ \t](?=(?:\d{4,8}|\d\d \d\d \d\d)(?![\w.,-]))")
_WORDS = re.compile(
    r"(?:[ \t][^\W\d_]{2,16}){1,3}[ \t](?=(?!(?:19|20)\d\d)\d{4,8}(?![\w-]|[.,]\d))"
)
_OF_CARD = re.compile(
    r"[ \t](?:do|della|del|dell['’]|der|vom|von|für|for|of|van|de|da|du|zur|zum|od)"
    r"(?:[ \t]{1,2}[^\W\d_][^\s\d.,;:!?()]{0,15}){1,4}[ \t](?=\d{4,8}[ \t]*(?:[,.;()\n]|$))"
)
"""Of "PIN of the card 4471", what stands before the PIN."""
_BLANKS = re.compile(r"[ \t]{1,3}(?=\d)")
_FOUR = re.compile(
    r"[ \t](?!(?:19|20)\d\d)\d{4,8}(?=[ \t]*(?:$|[\n,.;)])|[ \t](?:still|until"
    r"|till|opens|works|bis|noch|hasta|fino|até)\b)"
)
_SEVERAL = re.compile(r"codes|códigos|codici|コード|backups?$|recovery$|^pins$")
_FAR = re.compile(r"[^\n:=]{0,80}[:=：][ \t]{0,3}")
_DISCOUNT = re.compile(
    r"[^\n]{1,32}?(?:\d ?%(?![0-9A-F]{2})|\boff\b|\bcheckout\b|\bdiscount|\bsavings?\b)",
    re.IGNORECASE,
)
"""Behind a code that is given to buyers."""
_OF_GOODS = re.compile(
    r"[ \t](?:do|del|du|des|of the|van het|de l['’]|della?|dell['’])[ \t]?(?:produ[ckt]|prodott"
    r"|arti[gkc]|artíc|pedido|commande|ordin|bestell|encomenda)",
    re.IGNORECASE,
)
_ADDRESS = re.compile(
    r"\b(?:road|street|nagar|marg|shipping|address|india|sector|lane|city|state|district|deliver\w*"
    r"|mumbai|delhi|pune|bengaluru|bangalore|chennai|kolkata|hyderabad)\b"
)
"""Beside a PIN code of six digits that is a postal code, as in India."""
_POSTAL = re.compile(r"\d{6}|\d{3} \d{3}")
_YEAR = re.compile(r"(?:19|20)\d\d")
_LISTED = re.compile(
    r"[\"'`*,;/ ~]{0,3}((?=[a-z]{0,11}\d)(?=\d{0,11}[a-z])[a-z0-9]{8,16})(?!"
    r"[\w-])"
)
_GROUPS = re.compile(r"[\"'`]?([a-z0-9]{4}(?:[ -][a-z0-9]{4}){3,15})(?!\w)")
_OTP = ("totp", "otp", "2fa", "mfa", "setup", "authenticator")
_CODES = ("cod", "kod", "cód")
_MANY = 24
"""Codes of a list that are masked."""


def wallet_words(text: str, end: int) -> Iterator[Span]:
    """Yield the place of a seed phrase behind its name, which ends at a place."""
    words = _PHRASE.match(text, end)
    if words and (place := seed_phrase(words[1])):
        yield words.start(1) + place[0], words.start(1) + place[1]
    elif words is None and (signs := _CJK_PHRASE.match(text, end)):
        yield signs.span(1)


def codes(text: str, start: int, end: int, before: str) -> Iterator[Span]:
    """Yield the places of PINs and codes.

    Args:
        text: The text.
        start: Start of the name: "alarm code".
        end: Its end.
        before: What stands before the name, in lower case.
    """
    word = text[start:end]
    name = word.lower()
    many = bool(_SEVERAL.search(name))
    at = _first(text, word, end, many=many) if _is_code(name, before, text, end) else None
    if at is None or ("code" in name and _DISCOUNT.match(text, end)):
        return
    of_otp = name.startswith(_OTP) and "code" not in name
    no_secret = _number_of_another_kind(name, before, text[end : end + 32].lower())
    least = 3 if name.startswith("comb") or "lock" in name or "schloss" in name else 4
    shapes = (_TOTP, _GROUPS, _PIN) if of_otp else (_PIN, _LISTED) if many else (_PIN,)
    if name == "pin" and text[end : end + 1] in (":", "="):
        shapes = (_PIN, _LETTERED)
    for _ in range(_MANY):
        found = next(filter(None, (shape.match(text, at) for shape in shapes)), None)
        if found is None or len(found[1].strip("#*")) < least:
            return
        if no_secret and no_secret.fullmatch(found[1]):
            return
        yield found.span(1)
        at = found.end()
        if other := OTHERS.match(text, at):
            at = other.end()
        elif many and (next_one := _BULLET.match(text, at) or _BLANKS.match(text, at)):
            at = next_one.end()
        elif not many:
            yield from () if of_otp else following_codes(text, at)
            return


def _number_of_another_kind(name: str, before: str, behind: str) -> re.Pattern[str] | None:
    """Return the pattern of what is no code here: a year, a postal code."""
    line = before.rpartition("\n")[2] + behind.partition("\n")[0]
    if name.startswith("pin") and _ADDRESS.search(line):
        return _POSTAL
    return _YEAR if name.startswith((*_CODES, "clave")) else None


def _is_code(name: str, before: str, text: str, end: int) -> bool:
    of_code = name.startswith(_CODES)
    if of_code and _OF_GOODS.match(text, end):
        return False
    return "gpio" not in before and not (of_code and NOT_A_CODE.search(before))


def _first(text: str, word: str, end: int, *, many: bool) -> int | None:
    """Return where the first code may begin."""
    for separator in (ASSIGNED, PROSE):
        sep = separator.match(text, end)
        if sep and (not many or _PIN.match(text, sep.end())):
            return sep.end()
    if many and (below := _PINS_BELOW.match(text, end)):
        bullet = _BULLET.match(text, below.end() - 1)
        return bullet.end() if bullet else below.end()
    if (announced := _announced(text, word.lower(), end)) is not None:
        return announced
    if not many and (below_name := BELOW.match(text, end)):
        return below_name.end()
    if not many and word.lower() != "combination" and (sep := _CLAUSE.match(text, end)):
        return sep.end()
    if word.isupper() or word.lower() != "pin" or _FOUR.match(text, end):
        sep = ADJACENT.match(text, end)
        words = _WORDS if word.lower().startswith("pin") else _ONE_WORD
        if sep and " " not in word and (other := words.match(text, end)):
            return other.end()
        return sep.end() if sep else None
    return None


def _announced(text: str, name: str, end: int) -> int | None:
    """Return where the code may begin of which more is said before it: for what, how to type it."""
    of_otp = name.startswith(_OTP)
    form = _FAR if of_otp else _OF_CARD if name.startswith("pin") else None
    found = form.match(text, end) if form else None
    return found.end() if found else None
