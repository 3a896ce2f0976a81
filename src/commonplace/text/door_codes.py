"""Codes of doors, alarms, key boxes and safes, in a line that says what the code opens."""

from __future__ import annotations

import re
from collections.abc import Iterator

from commonplace.text.lock_codes import CJK_LOCK, HOMONYM, LOCK
from commonplace.text.sentence_secrets import KEYPAD_CODE, changes

__all__ = ["BELOW", "DOOR", "door_codes"]

Span = tuple[int, int]

_WHERE_CHARS = 100
_DOORS = (
    rf"{LOCK}|{HOMONYM}|door|safe(?!ty)|garage|entrance|stairwell|vault|deadbolt|hallway|building"
    r"|porch|cottage|cabin|entry|u-lock"
    r"|\w{0,14}(?:tür|schloss|(?<!\w)tor|hoftor|gentor|tentor|rolltor)(?:e?s|en)?(?!\w)"
    r"|schlüsselfach|treppenhaus|gegensprech|ferienwohnung|safes?(?!\w)|immeuble|hall|porte"
    r"|puerta|caja de llaves|garaje|cancell[oi]|porton[ei]|cassetta|box auto|porta|garagem"
    r"|\w{0,14}(?:deur|poort|kluis)(?=codes?|\W|$)|hek(?!\w)|drzwi\w{0,3}|skrzynk\w|klatk\w"
)
_CJK_DOORS = rf"{CJK_LOCK}|ドア|門扉|警報|鍵箱|自転車|裏口|车库|報警|报警|柜子"
DOOR = re.compile(rf"(?<!\w)(?:{_DOORS})|(?:{_CJK_DOORS})")
_CODE_WORDS = (
    r"(?:[a-zäöüß]{2,20}-?)?codes?|código|codigo|codice|kod(?:em|u)?|clave|combinations?|combinación|combinazione"
    r"|combinação|(?:zahlen)?kombination|cijfercode|szyfr|dial|digita|digitare|compose[rz]?|tape[rz]?|press|type|punch"
    r"|senha|segredo|contraseña|passwor[td]|wachtwoord|hasło|mot de passe|pin"
    r"|(?:disarm|open|unlock)s? with|öffnet (?:sich )?mit|s['’]ouvre avec|si apre con"
    r"|se abre con|abre com"
    r"|gaat open met|otwiera się"
    r"|tipp(?:e|st|en)|marca|marque|pulsa|digite|toets|wpisz|drück(?:e|en)|(?:un)?scharf mit"
    r"|arm(?:ed)? with|enter|eingeben"
)
_CODE = re.compile(
    rf"(?<![\w-])(?P<word>{_CODE_WORDS})(?![\w-])|(?P<cjk>番号|コード|密码|密碼|暗証|号码)"
)
"""What a code is called, or what is done with it."""
_NO_CODE = re.compile(
    r"(?:area|zip|post(?:al|leit)?|country|error|exit|status|promo|coupon|discount|source|https?|qr|bar|dress|colou?r"
    r"|product|article|item|stock|course|booking|tracking|order|flight|airport|tax|game|cheat|job|return|response"
    r"|buchungs|bestell|artikel|fehler|rabatt|gutschein|strich|quell|reduc|penal|pénal|civil|promotionnel"
    r"|de barras|a barre|fiscale?"
    r"|kreskow\w|pocztow\w|rabatow\w|郵便|電話|邮政|电话)[ _-]?$"
)
_KIND = re.compile(
    r"[ \t]{1,2}(?:postal\w?|fiscale?|promo\w{0,6}|review|freeze|share|of conduct|rabatow\w"
    r"|pocztow\w"
    r"|de (?:la route|barras|réduction|reduction|conduite)|civil|pénal|barre|article|articolo"
    r"|di avviamento)(?!\w)"
)
_IS = r"(?:is|was|are|ist|lautet|war|est|c['’]est|es|era|è|era|é|jest|to|:|：|=|→|—|–|->)"
_OPENED = r"(?:[\"'`_«»„“「『(]|\*\*){0,3}[ \t]?"
_GAP = (
    rf"(?:[ \t]{{0,3}}(?:[:：=→—–,]|->)?[ \t]{{0,3}}{_OPENED}"
    r"|(?P<words>(?:[ \t]{1,2}(?![A-Z]{2})[^\W\d_][^\s\d.,;:!?()]{0,15}){1,8}?)"
    rf"(?P<is>[ \t]{{0,2}}{_IS})?[ \t]{{1,3}}(?:star|stern|hash|pound|étoile|asterisco"
    rf"|gwiazdka)?[ \t]?{_OPENED})"
)
_CJK_GAP = r"[はがを是为為：:=\s「『改成了]{0,6}"
BELOW = re.compile(
    r"(?:[ \t][^\n:.,;?!]{1,48}?)?[*_]{0,2}[:：]?[*_]{0,2}[ \t]{0,4}(?:\r?\n){1,2}[ \t>]{0,16}"
    r"(?:(?:```|~~~)[^\n`]{0,20}\n[ \t]{0,8})?(?:(?:[-*+•→]|->|=>)[ \t]{1,4})?[`*\"]{0,2}"
    r"(?=[*#＊＃]?[0-9A-Z][0-9A-Z -]{2,15}[*#＊＃]?[`*\"]{0,2}[ \t]{0,4}(?:\r?\n|$|\())"
)
"""From the name of a code to the code, alone in a line below."""
_VALUE = re.compile(rf"(?P<value>{KEYPAD_CODE})")
_BEHIND = re.compile(rf"{_GAP}(?P<value>{KEYPAD_CODE})")
_CJK_BEHIND = re.compile(rf"{_CJK_GAP}(?P<value>{KEYPAD_CODE})")
_STARRED = re.compile(
    r"(?i:(?<!\w)(?:garage|alarm\w{0,6}|\w{0,10}(?:door|gate|tür|tor)|deur|porte|puerta|porta|portone|drzwi))"
    r"(?: \w{1,16})?:[ \t]?(?P<value>[*#]\d{3,8}[*#]?|\d{3,8}[*#])(?![\w*#])"
)
"""Door, and digits with the sign that ends them on a keypad."""
_MADE_OF = (" of conduct", " of practice", " of doors", " aus ", " de la route", " review")
_YEAR = re.compile(r"(?:19|20)\d\d")
_EMERGENCY = frozenset({"110", "112", "113", "115", "118", "911", "999"})


def door_codes(text: str, lowered: str) -> Iterator[Span]:
    """Yield the codes of lines that say what they open.

    Args:
        text: The text.
        lowered: The same in lower case, character for character.
    """
    yield from (starred.span("value") for starred in _STARRED.finditer(text))
    for code in _CODE.finditer(lowered):
        low = max(0, code.start() - _WHERE_CHARS)
        low = lowered.rfind("\n", low, code.start()) + 1 or low
        before = lowered[low : code.start()]
        stem = before + (code["word"] or "").removesuffix("s").removesuffix("code")
        if _NO_CODE.search(stem) or _KIND.match(lowered, code.end()):
            continue
        if DOOR.search(before) or DOOR.search(lowered, code.end(), code.end() + 40):
            changed = list(changes(text, code.start(), code.end(), "pin"))
            yield from changed
            if changed:
                continue
        value = _code_behind(text, lowered, code)
        if value is None:
            continue
        where = lowered[low : value.start("value")]
        opens = DOOR.search(where) or _is_of_door_behind(lowered, value)
        if opens and not _is_no_code(value["value"], where):
            yield value.span("value")


def _is_of_door_behind(lowered: str, value: re.Match[str]) -> bool:
    """Check for a door behind what is typed: "type 4096# at the gate"."""
    if value.groupdict().get("words", "") is not None:
        return False
    behind = lowered[value.end() : value.end() + 64].partition("\n")[0]
    return bool(DOOR.search(behind))


def _code_behind(text: str, lowered: str, code: re.Match[str]) -> re.Match[str] | None:
    """Return the code that follows its name, or stands alone in a line below it."""
    if code["cjk"]:
        return _CJK_BEHIND.match(text, code.end())
    value = _BEHIND.match(text, code.end())
    if value is None:
        below = BELOW.match(text, code.end())
        return _VALUE.match(text, below.end()) if below else None
    if value["words"] and not value["is"]:
        ends = text[value.end() : value.end() + 1] in ("", "\n", ",", ".", ")", ";")
        if not ends or not DOOR.search(lowered, *value.span("words")):
            return None
    return None if value["words"] and value["words"].lower().startswith(_MADE_OF) else value


def _is_no_code(value: str, where: str) -> bool:
    if value in _EMERGENCY:
        return True
    return bool(_YEAR.fullmatch(value) and not where.rstrip().endswith((":", "=", " is", "ist")))
