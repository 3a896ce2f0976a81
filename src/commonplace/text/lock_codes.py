"""Lock codes: what opens a door, an alarm, a lock or a device.

`door_codes` finds what is called a code ("the code of the gate is 4410"), and `lock_codes` what is
not: "the side gate opens with 4410#", "padlock blue suitcase: 117".
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from commonplace.text.sentence_secrets import KEYPAD_CODE, changes

__all__ = [
    "BELOW",
    "CJK_DEVICE",
    "CJK_LOCK",
    "DEVICE",
    "HOMONYM",
    "LOCK",
    "LOCK_HINTS",
    "SCREEN",
    "door_codes",
    "following_codes",
    "is_number_of_another_kind",
    "lock_codes",
]

Span = tuple[int, int]

LOCK = (
    r"lock ?box|key ?(?:box|safe)|padlock|(?:bike|cycle|combination|screen) ?lock"
    r"|locker|keypad|intercom|(?:front|back|side|main|building|garage|office|flat"
    r"|cellar|bin|garden|car park|yard) ?(?:door|gate|store)|suitcase"
    r"|\w{0,14}(?:haustür|wohnungstür|kellertür|hoftor|gartentor|garagentor|schlüsselbox"
    r"|schlüsselkasten|schlüsseltresor|schlüsselsafe|zahlenschloss|fahrradschloss|vorhängeschloss|schließfach"
    r"|spind|schranke)"
    r"|coffre(?:-fort)?|cadenas|portail|portillon|bo[iî]te [aà] cl[ée]s?|digicode|interphone"
    r"|casier"
    r"|caja fuerte|candado|port[oó]n|taquilla|telefonillo"
    r"|cassaforte|lucchetto|cancello|portone|armadietto|citofono"
    r"|cofre|cadeado|port[ãa]o|armário|fechadura"
    r"|(?:sleutel)?kluis(?:je)?|hangslot|cijferslot|fietsslot|sleutelkast(?:je)?|poort|slagboom|fietsenstalling"
    r"|sejf\w{0,2}|kłódk\w|furtk\w|bram\w|domofon\w{0,2}|szlaban\w{0,2}|skrytk\w|szafk\w"
)
HOMONYM = (
    r"(?<!is )(?<!be )(?<!are )(?<!-)safe|alarm(?! clock)|gate|barrier|shed|\w{0,14}(?:tresor"
    r"|alarmanlage)|alarme|alarma|portal(?!es)|allarme"
)
"""Words that mean something else as well: only what is typed there is a code."""
SCREEN = r"tablet\w{0,2}|ipad|laptop|voicemail"
"""Devices of which that is so, too; more than a code has a number there."""
DEVICE = (
    r"(?:smart|i)?phone|mobile|handy|tablette|téléphone"
    r"|móvil|telefono|cellulare|telemóvel|celular|telefoon|mobiel|telefon|komórk\w"
)
CJK_LOCK = (
    r"オートロック|金庫|ロッカー|宅配ボックス|キーボックス|南京錠|玄関|自転車の鍵|警報"
    r"|门禁|单元门|大门|保险箱|保险柜|储物柜|快递柜|门锁|钥匙盒|密码锁|行李箱"
)
CJK_DEVICE = r"スマホ|携帯|タブレット|手机|平板"
_NO_THING = (
    r"(?![ \t]?(?:number|no\.?|nr\.?|company|service|firma|hotline|tel|central|zentrale|price|model"
    r"|serial|size|shop|store))"
)
_DIGITS = r"[*#]?\d(?:-?\d){2,7}[*#]?|\d{1,2}(?:[ -]\d{1,2}){2,3}|\d(?:[ -]\d){4,7}"
_TYPED = (
    r"(?:,[ \t])?(?<!\w)(?:with|mit|avec|con|com|met|na|enter|press|type|punch|dial|try|mete|marca"
    r"|pulsa|pon|digita|metti|digite|tape[sz]?|compose[rz]?|faire|tippe?|mis|messo|puesto|puse|pus|coloquei"
    r"|digitar|digitare|toets|ustaw|wpisz|kombinacją)[ \t]{1,2}"
)
_SIGN = r"(?:[ \t]?[:=→]|[ \t]?->)[ \t]{1,2}"
_CONNECTOR = rf"{_SIGN}|,[ \t]|{_TYPED}|(?<!\w)(?:auf|to|is|ist|est|es|è|é|jest)[ \t]{{1,2}}"
_WORDS = r"(?:[ \t][^\s\d.;:!?,()]{1,16})"
_END = (
    r"(?![\w%°€$£*#]|[.,:/-]\d|[ \t]?(?i:uhr|h|km|kg|cm|mm|m²|euros?|eur|usd|zł|pln|am|pm)(?!\w))"
    r"(?=[ \t]{0,2}(?:$|[\n,;)(/!]|[.](?:\s|$)|[-–—][ \t])"
    r"|[ \t]{1,2}(?:and|then|und|dann|y|luego|et|puis|e|poi|depois|en|dan|daarna|i|potem|or|oder|o"
    r"|auf|op|followed|i\.p\.v\.)(?!\w))"
)
_OTHER = re.compile(
    r"(?:\b(?:ports?|puerto|above|below|than|threshold|limit|default|no|nr|n°|num\w*|room|zimmer|chambre|habitaci[oó]n|camera|stanza|quarto|kamer|pok[oó]\w*|floor"
    r"|stock|model\w*|modèle|modelo|version|typ\w?|ending|endet|ends|in|ext\w*|durchwahl|poste|tel|call|ring"
    r"|since|seit|depuis|desde|from|until|bis|hasta|at|um|vers|around|about|ca|circa|over|rund|price"
    r"|cost\w*|kostet|coûte|cuesta|costa|kost|size|bus|line|flat|apartment|wohnung|apt|unit|block"
    r"|serial|order|ticket|artikel\w*|bestell\w*|rechnung|invoice|article|before|after|vor|nach|for|für"
    r"|pour|por|per|voor|za|od|do|dal|del|de|of|vom|von|las|los|às|alle|um|aos|year|jahr|page|seite)"
    r"[.:#]?[ \t]{0,2}|[€$£#№+/])$",
    re.IGNORECASE,
)
"""Last word before a number that says what else it is."""
_NO_CODE = re.compile(
    r"(?:1[5-9]|20)\d\d|(?:[01]?\d|2[0-3])(?:00|05|10|15|20|30|40|45|50|55)|\d+000?|11[02358]|911|999"
)
"""Year, time of day, round number, number for an emergency."""
_FORM = re.compile(
    rf"(?i:(?<!\w)(?:{LOCK})(?!\w){_NO_THING}{_WORDS}{{0,5}}?"
    rf"(?:[ \t]{{0,2}}(?:{_CONNECTOR})|[ \t]{{1,2}})"
    rf"|(?<!\w)(?:{HOMONYM}|{SCREEN})(?!\w){_NO_THING}{_WORDS}{{0,2}}?"
    rf"(?:{_SIGN}|[ \t]{{1,2}}{_TYPED})"
    rf"|(?<!\w)(?:{DEVICE})(?!\w){_NO_THING}{_WORDS}{{0,3}}?[ \t]{{1,2}}{_TYPED})"
    rf"(?P<value>{_DIGITS}|(?:[A-Z]\d{{3,5}}[A-Z]?|\d{{1,3}}[Kk]\d{{3,5}}|\d{{2,4}}[A-Z])[*#]?){_END}"
)
_NEXT = re.compile(
    r"[ \t]{0,2}(?:[,;/–—]|(?:and|und|et|y|e|en|i)(?!\w))(?:[ \t][^\s\d.;:!?,()/]{1,16}){1,6}?"
    rf"[ \t]?[:=]?[ \t](?P<value>{_DIGITS}){_END}"
)
"""From one code of a line to the next one: ", a tablet na 4410"."""
_MOST = 4
_CJK_FORM = re.compile(
    rf"(?:{CJK_LOCK}|{CJK_DEVICE})[^\n\d号]{{0,10}}?(?P<value>[*#]?\d(?:-?\d){{2,7}}[*#]?)"
    r"(?=番で|番$|に|で|押|を|加|[，,。、;；)）]|\s|$)"
)

LOCK_HINTS = (
    "lock", "keybox", "key box", "safe", "alarm", "keypad", "intercom", " door", "gate", "suitcase",
    "shed", "barrier", "tür", "tor", "tresor", "schl", "spind", "schrank", "coffre", "cadenas",
    "port", "boite", "boîte", "digicode", "interphone", "casier", "caja", "candado", "taquilla",
    "telef", "cassaf", "lucchet", "allarme", "cancello", "armad", "citofono", "cofre",
    "cadeado", "armário", "fechadura", "kluis", "slot", "sleutel", "poort", "slagboom", "stalling",
    "sejf", "kłód", "furt", "bram", "domof", "szlab", "skryt", "szaf", "phone", "mobi", "tablet",
    "ipad", "laptop", "voicemail", "handy", "téléph", "móvil", "cellul", "telem", "celul", "komór",
    *CJK_LOCK.split("|"), *CJK_DEVICE.split("|"),
)  # fmt: skip
"""Parts in lower case of which a text with such a code has one."""

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
_DOOR = re.compile(rf"(?<!\w)(?:{_DOORS})|(?:{_CJK_DOORS})")
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
_NO_DOOR_CODE = re.compile(
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


def lock_codes(text: str) -> Iterator[Span]:
    """Yield start and end of each number that stands beside what it opens."""
    for form in (_FORM, *(() if text.isascii() else (_CJK_FORM,))):
        for found in form.finditer(text):
            before = text[found.start() : found.start("value")]
            if not is_number_of_another_kind(found["value"], before):
                yield found.span("value")
                yield from following_codes(text, found.end())


def following_codes(text: str, end: int) -> Iterator[Span]:
    """Yield the codes of other things in the same line, behind the first one."""
    for _ in range(_MOST):
        found = _NEXT.match(text, end)
        if found is None or is_number_of_another_kind(
            found["value"], found[0][: -len(found["value"])]
        ):
            return
        yield found.span("value")
        end = found.end()


def is_number_of_another_kind(value: str, before: str) -> bool:
    """Check for a number that is a year, a time, or what the word before it says."""
    digits = sum(map(str.isdigit, value))
    return digits < 3 or bool(_NO_CODE.fullmatch(value) or _OTHER.search(before))


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
        if _NO_DOOR_CODE.search(stem) or _KIND.match(lowered, code.end()):
            continue
        if _DOOR.search(before) or _DOOR.search(lowered, code.end(), code.end() + 40):
            changed = list(changes(text, code.start(), code.end(), "pin"))
            yield from changed
            if changed:
                continue
        value = _code_behind(text, lowered, code)
        if value is None:
            continue
        where = lowered[low : value.start("value")]
        opens = _DOOR.search(where) or _is_of_door_behind(lowered, value)
        if opens and not _is_no_code(value["value"], where):
            yield value.span("value")


def _is_of_door_behind(lowered: str, value: re.Match[str]) -> bool:
    """Check for a door behind what is typed: "type 4096# at the gate"."""
    if value.groupdict().get("words", "") is not None:
        return False
    behind = lowered[value.end() : value.end() + 64].partition("\n")[0]
    return bool(_DOOR.search(behind))


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
        if not ends or not _DOOR.search(lowered, *value.span("words")):
            return None
    return None if value["words"] and value["words"].lower().startswith(_MADE_OF) else value


def _is_no_code(value: str, where: str) -> bool:
    if value in _EMERGENCY:
        return True
    return bool(_YEAR.fullmatch(value) and not where.rstrip().endswith((":", "=", " is", "ist")))
