"""Codes in a chat: answers to questions, second codes of a line, lists of backup codes."""

from __future__ import annotations

import re
from collections.abc import Iterator

from commonplace.text.door_codes import DOOR
from commonplace.text.secret_names import NOT_A_CODE
from commonplace.text.sentence_secrets import KEYPAD_CODE

__all__ = ["CODE", "FILLER", "SPEAKER", "YEAR", "chat_codes"]

Span = tuple[int, int]

_I = re.IGNORECASE
_CODE_NAME = (
    r"(?:(?<![dn]e)codes?|código|codigo|codice|(?<!\w)kod(?:u|em)?|cijfercode"
    r"|(?<!\w)pin(?:-?code)?|geheimzahl|combination|combinaison|combinación|combinazione|szyfr"
    r"|暗証番号|暗証コード|(?:ロック|金庫|ドア|鍵|玄関)の?(?:番号|コード)|门禁码|(?:门锁|保险箱|门禁|锁屏)密码)(?!\w*[a-z])"
)
SPEAKER = (
    r"(?:[\[(]?\d[\d :.,/apm-]{3,22}[\])]?[ \t](?:-[ \t])?)?"
    r"(?:[*_]{0,2}<?[^\W\d][\w .-]{0,24}>?[*_]{0,2}[:：>][*_]{0,2}[ \t]{0,3}|[—–-][ \t]{1,2})"
)
FILLER = (
    r"(?:(?:oui|ouais|si|sí|sì|sim|ja|jo|yes|yep|yeah|sure|tak|klar|claro|certo|it['’]?s|it is"
    r"|that['’]s|c['’]est|es|ist|é|è|to|het is|still|noch|immer|encore|toujours|siempre|sempre"
    r"|nog|ciągle|la|le|el|die|der|das|the)[,:!.]?[ \t]{1,2}|(?:はい|うん|たしか|嗯|对|是"
    r"|好的?)[、，, ]{0,2}){0,4}"
)
CODE = rf"(?:[*#＃]?\d{{1,6}}[*#＃]\d{{2,6}}[*#＃]?|{KEYPAD_CODE})"
_SAID = rf"(?:{CODE}|\d{{4,8}}(?=だ|です|よ|哦|啊|呀))"
_ENDED = (
    r"(?=[ \t]{0,2}(?:$|[\n,.;!)(*]|だ|です|よ|哦|啊|呀"
    r"|,? (?:and|et|und|y|e|i|en|but|mais|aber)\b))"
)
YEAR = re.compile(r"(?:19|20)\d\d")
_OTHER_KIND = re.compile(
    r"[ _-]?(?:postal\w?|fiscale?|promo|review|error|de (?:la route|barras|réduction)|civil|barre"
    r"|lock(?!\w)|di avviamento|pocztow\w|rabatow\w|naf|source|snippet)",
    _I,
)
_OTHER_BEFORE = re.compile(
    r"(?:buchungs|bestell|artikel|fehler|rabatt|gutschein|strich|quell|postal|product|order|item"
    r"|plz|klant|kortings"
    r"|postcode|bar|promo|country|dial(?:ling|ing)?|vat|voucher|gift)[ _-]?$"
)

_CODE_HINTS = (
    "pin", "code", "cód", "codi", "kod", "clave", "combin", "contras", "senha", "geheimzahl",
    "szyfr", "kody", "番号", "コード", "码",
)  # fmt: skip


def chat_codes(text: str, lowered: str) -> Iterator[Span]:
    """Yield start and end of each code that one person tells another.

    Args:
        text: The text.
        lowered: The same in lower case, character for character.
    """
    if any(name in lowered for name in _CODE_HINTS):
        yield from _answered_codes(text, lowered)
        yield from _seconds(text)
        yield from _fronted(text, lowered)
        yield from _backup_codes(lowered)


# Codes that answer a question, or that have changed.

_ASKED = re.compile(_CODE_NAME)
_ANSWER = re.compile(
    rf"[^\n?？]{{0,80}}[?？][?？!]{{0,3}}[^\w\n]{{0,6}}"
    rf"(?:\n{{1,2}}[ \t>*]{{0,8}}(?:{SPEAKER})?|[ \t]{{1,2}})"
    rf"{FILLER}(?P<value>{_SAID}){_ENDED}"
    rf"|[^\n]{{0,60}}?(?:changed|new|geändert|changé|cambi[oóò]|cambiat[oa]|mudou|mudado|trocad[oa]"
    rf"|veranderd|gewijzigd|zmienił\w{{0,2}}|zmieniony)[^\n.!]{{0,24}}[.!:,]?[\s]{{1,3}}"
    rf"(?:it['’]?s now|now|jetzt|ab jetzt|maintenant|c['’]est|ahora|adesso|ora|agora|nu|teraz)"
    rf"[^\n\d]{{0,12}}(?<![\w.])(?P<now>{CODE}){_ENDED}",
    _I,
)


def _answered_codes(text: str, lowered: str) -> Iterator[Span]:
    for name in _ASKED.finditer(lowered):
        before = lowered[max(0, name.start() - 24) : name.start()]
        stem = before + name[0].rstrip("s").removesuffix("code")
        if NOT_A_CODE.search(stem) or _OTHER_BEFORE.search(stem):
            continue
        if _OTHER_KIND.match(text, name.end()):
            continue
        if found := _ANSWER.match(text, name.end()):
            group = "value" if found["value"] else "now"
            if not YEAR.fullmatch(found[group]):
                yield found.span(group)


# Second codes of a line.

_SECOND = re.compile(
    rf"(?:[,;]|(?<!\w)(?:y|and|und|et|e|i|en))[ \t](?:the|der|die|das|celle|celui|quell[oa]|el"
    rf"|la|les|o|a|ten|ta|ci)"
    rf"[^\n\d,;.:]{{0,16}}?[ \t](?:one[ \t])?(?:de|del|della|du|da|do|dell['’]|for|of|vom|von"
    rf"|für|van|od|to)"
    rf"[^\n\d,;.:]{{1,24}}?[ \t](?:(?:is|ist|es|est|è|é|jest|:)[ \t])?(?P<value>{CODE}){_ENDED}"
    r"|(?<!\w)(?:tablet|phone|ipad|laptop|handy|sim|portable|móvil|telefono|telemóvel|telefoon)"
    r"[^\n\d.,;:]{0,24}[ \t](?:uses?|takes?|nimmt|hat|prend|usa|gebruikt"
    r"|używa)[ \t](?P<device>\d{4}|\d{6})"
    r"(?=[\s,.;)]|$)",
    _I,
)
_NAMED = re.compile(
    r"(?:(?<!\w)(?:pin|code|código|codice|kod|clave|combinaci|contraseña"
    r"|senha)\w{0,6}(?!\w)[^\n]{0,80}?(?:\d{3}|\*\*\*|\d[A-Z]))",
    _I,
)


_BEFORE_NAME = re.compile(
    rf"(?<![\w.,:/-])(?P<value>{CODE})[ \t]{{0,2}}(?:\(|[–—-][ \t]|,[ \t])"
    r"(?:(?:that['’]s|it['’]?s|das ist|c['’]est|es|è|é|dat is|to|jest|to jest)[ \t])?"
    r"(?:(?:the|der|le|el|il|o|de)[ \t])?(?:\w{0,12}code|código|codigo|codice|kod|pin)(?!\w)",
    _I,
)


def _fronted(text: str, lowered: str) -> Iterator[Span]:
    """Yield a code before its name: "4410 (code of the gate)"."""
    for found in _BEFORE_NAME.finditer(text):
        behind = lowered[found.end() : found.end() + 32].partition("\n")[0]
        if DOOR.search(behind) and not YEAR.fullmatch(found["value"]):
            yield found.span("value")


def _seconds(text: str) -> Iterator[Span]:
    for found in _SECOND.finditer(text):
        low = max(0, found.start() - 120)
        low = text.rfind("\n", low, found.start()) + 1 or low
        if _NAMED.search(text, low, found.start() + 1):
            yield found.span("value" if found["value"] else "device")


# Lists of backup codes, some of which are used.

_LIST_NAME = re.compile(
    r"(?:backup|recovery|scratch|emergency|notfall|wiederherstellungs|backup-"
    r"|herstel)[ -]?codes?(?!\w)[^\n]{0,60}\n"
    r"|(?:codes de (?:secours|récupération)|códigos de (?:recuperación|recuperação|respaldo|backup)"
    r"|codici di (?:backup|recupero|riserva)|kody (?:zapasowe|odzyskiwania))[^\n]{0,60}\n"
    r"|(?:バックアップコード|リカバリーコード|备用验证码|恢复码|备用码)[^\n]{0,40}\n"
)
_ITEM = re.compile(
    r"[ \t>]{0,8}(?:[-*+•]|\d{1,2}[.)])[ \t]{1,3}(?:\[[ xX✓]?\][ \t]{0,2})?[~`]{0,2}"
    r"(?:(?P<value>\d{4,5}[ -]?\d{4,5}|(?=[a-z-]{0,12}\d)[a-z0-9]{4,6}(?:-[a-z0-9]{4,6}){1,3}"
    r"|\d{6})"
    r"(?![\w-])[^\n]{0,40}|[^\n]{0,60})(?:\n|$)"
)
_MOST_ITEMS = 24


def _backup_codes(lowered: str) -> Iterator[Span]:
    for name in _LIST_NAME.finditer(lowered):
        at = name.end()
        for _ in range(_MOST_ITEMS):
            item = _ITEM.match(lowered, at)
            if item is None:
                break
            if item["value"]:
                yield item.span("value")
            at = item.end()
