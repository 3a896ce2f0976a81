"""Lock codes: what opens a lock or a device, said beside it without being called a code.

Examples are "the side gate opens with 4410#" and "padlock blue suitcase: 117".
"""

from __future__ import annotations

import re
from collections.abc import Iterator

__all__ = [
    "CJK_LOCK",
    "DEVICE",
    "HOMONYM",
    "LOCK",
    "LOCK_HINTS",
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
    r"|alarmanlage)|alarme|alarma|portal|allarme|tablet\w{0,2}|ipad|laptop|voicemail"
)
"""Words that mean something else as well: only what is typed there is a code."""
DEVICE = (
    r"(?:smart|i)?phone|mobile|handy|tablette|téléphone"
    r"|móvil|telefono|cellulare|telemóvel|celular|telefoon|mobiel|telefon|komórk\w"
)
CJK_LOCK = (
    r"オートロック|金庫|ロッカー|宅配ボックス|キーボックス|南京錠|玄関|自転車の鍵|警報"
    r"|门禁|单元门|大门|保险箱|保险柜|储物柜|快递柜|门锁|钥匙盒|密码锁|行李箱"
    r"|スマホ|携帯|タブレット|手机|平板"
)
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
    rf"|(?<!\w)(?:{HOMONYM})(?!\w){_NO_THING}{_WORDS}{{0,2}}?(?:{_SIGN}|[ \t]{{1,2}}{_TYPED})"
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
    rf"(?:{CJK_LOCK})[^\n\d号]{{0,10}}?(?P<value>[*#]?\d(?:-?\d){{2,7}}[*#]?)"
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
    *CJK_LOCK.split("|"),
)  # fmt: skip
"""Parts in lower case of which a text with such a code has one."""


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
