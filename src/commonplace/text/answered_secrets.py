"""Answered secrets: what comes back, in a chat or a note, to the question for a secret.

An example is "what is the code of the gate?" and, in the next line, "Ann: it's 4410#".
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from commonplace.text.chosen_words import looks_joined
from commonplace.text.lock_codes import (
    CJK_DEVICE,
    CJK_LOCK,
    DEVICE,
    HOMONYM,
    LOCK,
    SCREEN,
    is_number_of_another_kind,
)
from commonplace.text.secret_names import NOT_A_CODE
from commonplace.text.secret_values import is_harmless, looks_strong
from commonplace.text.written_value import TRAILING

__all__ = ["WISH", "answered_secrets"]

Span = tuple[int, int]

_PASSWORD = (
    r"pass(?:words?|wort|phrase|code)|pws?|pwd|psw|kennwort|mots? de passe|mdp|contrase(?:ñ|n)a"
    r"|senha|palavra-passe|wachtwoord|has[łl]o|parola d['’]ordine|wi-?fi|wlan"
)
_CODE = (
    r"(?:\w{2,14}-?)?codes?|código|codigo|codice|kod(?:u|em)?|pin(?:-?code)?|clave|combina\w{3,6}"
    r"|geheimzahl|szyfr"
)
_CJK = rf"{CJK_LOCK}|{CJK_DEVICE}|パスワード|パスコード|暗証番号|番号|コード|密码|密碼|口令|锁"
_VERBS = (
    r"send|give|tell|remind|schick|gib|sag|envoie|donne|manda|mándame|dime|pásame|passa|mandami"
    r"|dammi|stuur|geef|podaj|wyślij"
)
_SPEAKER = (
    r"(?:[\[(]?(?=\d{1,4}[:./-]\d)\d[\d :.,/apm-]{3,22}[\])]?[ \t](?:-[ \t])?)?"
    r"(?:[*_]{0,2}<?[^\W\d][\w .-]{0,24}>?[*_]{0,2}[:：>][*_]{0,2}[ \t]{0,3}|[—–-][ \t]{1,2})?"
)
_ANSWER = re.compile(
    rf"[ \t>*\"„“«]{{0,8}}{_SPEAKER}"
    r"(?:[^\W\d_][^\W\d_'’]{0,11}[,:!.…]{0,3}[ \t]{1,2}){0,4}?"
    r"(?:[^\x00-\x7f\s]{1,6}[、，, ]{0,2}){0,2}[\"'`„“«*_]{0,2}"
    r"(?:(?P<code>[*#]?\d(?:[ -]?\d){2,7}[*#]?|\d{1,6}[*#]\d{2,6}|(?=[A-Z]?\d)[A-Z0-9]{4,8}[*#]?)"
    r"(?![\w%°€$£*#]|[.,:/-]\d|[ \t](?:€|euros?|km|kg|cm|uhr|h)(?!\w))"
    r"|(?P<word>[^\s\"'`<>()，。、；]{6,40}))",
    re.IGNORECASE,
)
_ASKED = re.compile(
    rf"(?:(?<!\w)(?P<name>{_PASSWORD}|{_CODE}|{LOCK}|(?P<thing>{HOMONYM}|{SCREEN}|{DEVICE}))(?!\w)|(?P<cjk>{_CJK}))"
    r"(?P<rest>[^\n?？]{0,80})"
    r"(?:[?？][?？!]{0,3}(?:[^\n]{0,40}\n{1,2}|[^\w\n]{0,6}[ \t]{1,2})|\n{1,2})",
    re.IGNORECASE,
)
WISH = re.compile(
    rf"\b(?:{_VERBS})\b|发我|发一下|告诉|给我|教えて|please|pls|bitte|svp|stp|por favor"
    r"|per favore|alsjeblieft|proszę",
    re.IGNORECASE,
)
_OTHER = re.compile(
    r"[ _-]?(?:postal\w?|fiscale?|promo|review|error|de (?:la route|barras|réduction)|civil|barre"
    r"|di avviamento|pocztow\w|rabatow\w|naf|source|snippet|polic|manager|number|nummer)",
    re.IGNORECASE,
)
_OPENS = re.compile(
    r"code|código|codice|kod|\bpin\b|unlock|open|get in|\bauf\b|entsperr|öffn|ouvr|déverrouill"
    r"|abr|desbloq|apr[ieo]|sblocc|odblok|otw|ontgrendel|\bin\b"
)
_NUMBERED = re.compile(
    r"\b(?:ports?|pages?|price|costs?|how (?:many|much|long|often|old)|room|year|when|version|model"
    r"|coverage|kostet|wie ?viele?|wann|combien|quand|quanto|quanta|cuánt\w|ile|kiedy"
    r"|hoeveel|wanneer)\b"
)
"""Of a question for a number of another kind."""
_ENDED = re.compile(r"[\"'`”»*_]{0,2}[ \t]{0,3}(?:$|[\n,.;!?)…]|[^\x00-\x7f]|[ \t]?[-–—]|[ \t]\w)")


def answered_secrets(text: str, lowered: str) -> Iterator[Span]:
    """Yield start and end of each code or password that answers a question or a wish.

    Args:
        text: The text.
        lowered: The same in lower case, character for character.
    """
    for asked in _ASKED.finditer(lowered):
        low = max(0, asked.start() - 60)
        low = lowered.rfind("\n", low, asked.start()) + 1 or low
        question = lowered[low : asked.end()]
        if not ("?" in question or "？" in question or WISH.search(question)):
            continue
        if asked["thing"] and not _OPENS.search(question):
            continue
        before = lowered[low : asked.end("name" if asked["name"] else "cjk")]
        stem = before.rstrip("s").removesuffix("code")
        if NOT_A_CODE.search(stem) or _OTHER.match(asked["rest"]):
            continue
        answer = _ANSWER.match(text, asked.end())
        if answer is None or not _ENDED.match(text, answer.end()):
            continue
        if answer["code"] and _NUMBERED.search(question):
            continue
        group = "code" if answer["code"] else "word"
        start = answer.start(group)
        end = start + len(answer[group].rstrip(TRAILING + ",;!"))
        if _is_code(text[start:end]) if group == "code" else _is_password(text[start:end]):
            yield start, end


def _is_code(value: str) -> bool:
    return any(map(str.isdigit, value)) and not is_number_of_another_kind(value, "")


def _is_password(value: str) -> bool:
    if is_harmless(value, quoted='"') or "://" in value:
        return False
    return looks_strong(value) or looks_joined(value)
