"""Secrets as people tell them: passwords in a chat, lists of locks, remarks beside a name.

Each form begins at a name or at a line, and looks at a bounded part of the text behind it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

from commonplace.text.chat_codes import CODE, FILLER, SPEAKER, YEAR, chat_codes
from commonplace.text.chosen_words import looks_joined
from commonplace.text.secret_names import NAMES
from commonplace.text.secret_values import is_harmless, is_sentence_word, looks_strong
from commonplace.text.sentence_secrets import may_change
from commonplace.text.written_value import TRAILING

__all__ = ["chat_secrets"]

Span = tuple[int, int]

_I = re.IGNORECASE
_PASSWORD = (
    r"(?:passwords?|pass(?:wort|phrase|code)|kennwort|mot de passe|mdp|contraseña|contrasena|senha"
    r"|palavra-passe|wachtwoord|has[łl]o|parola d['’]ordine|パスワード|パスフレーズ|密码|密碼|口令)"
)


def chat_secrets(text: str, lowered: str) -> Iterator[Span]:
    """Yield start and end of each secret that one person tells another.

    Args:
        text: The text.
        lowered: The same in lower case, character for character.
    """
    for hints, form, accepts in _FORMS:
        if any(hint in lowered for hint in hints):
            for found in form.finditer(text):
                end = found.start("value") + len(found["value"].rstrip(TRAILING + ",;"))
                if accepts(text[found.start("value") : end]):
                    yield found.start("value"), end
    if any(verb in lowered for verb in _VERBS):
        yield from _replaced(text, lowered)
    yield from chat_codes(text, lowered)


# Forms of one line or two.


def _is_code(value: str) -> bool:
    return not YEAR.fullmatch(value) and not re.fullmatch("0[4-9](?:00|15|30|45)", value)


def _is_chosen(value: str) -> bool:
    if is_harmless(value, quoted='"') or "://" in value:
        return False
    return looks_strong(value) or looks_joined(value)


def _is_written(value: str) -> bool:
    """Check what stands alone behind a name and its colon: no word of a sentence."""
    return _is_chosen(value) or not (
        is_harmless(value, quoted='"')
        or is_sentence_word(value)
        or not value.isalnum()
        or value.isdecimal()
    )


def _is_phrase(value: str) -> bool:
    return not NAMES.search(value.lower())


_PASSWORD_HINTS = (
    "pass", "kennw", "mdp", "contrase", "senha", "wachtw", "has", "parola", "パス", "密", "口令",
)  # fmt: skip
_VALUE = r"(?P<value>[^\s\"'`<>()|，。、；]{6,64})"
_LOCKS = (
    r"(?:alarm(?:e|a|anlage)?|allarme|safe|tresor|coffre(?:-fort)?|caja fuerte|cassaforte|cofre"
    r"|kluis"
    r"|sejf|locker|schließfach|casier|taquilla|armadietto|spind|kłódka|padlock|cadenas|candado"
    r"|lucchetto|cadeado|hangslot|fahrradschloss|bike lock|koffer|valigia|valise|maleta|digicode"
    r"|domofon|(?:side|front|back|garden) gate|cancello|portail|portón|furtka|szlaban|garage"
    r"|garaje|garagem|box auto)"
)
_NO_LOCK = (
    r"(?![^\n:]{0,48}(?:company|service|firma|hotline|tel|phone|central|zentrale|price|preis|prix"
    r"|precio|prezzo|model|serial|nr|numero|assist))"
)
_FORMS: tuple[tuple[tuple[str, ...], re.Pattern[str], Callable[[str], bool]], ...] = (
    (  # A list of locks.
        (
            "alarm",
            "allarm",
            "safe",
            "tresor",
            "coffre",
            "caja",
            "cassaf",
            "cofre",
            "kluis",
            "sejf",
            "lock",
            "fach",
            "casier",
            "taqui",
            "armad",
            "spind",
            "kłód",
            "caden",
            "cand",
            "lucch",
            "cadea",
            "slot",
            "schloss",
            "koffer",
            "vali",
            "malet",
            "digic",
            "domof",
            "gate",
            "canc",
            "port",
            "furt",
            "szlab",
            "garag",
            "garaj",
            "auto",
        ),
        re.compile(
            rf"(?m)^[ \t>]{{0,8}}(?:(?:[-*+•]"
            rf"|\d{{1,2}}[.)])[ \t]{{1,3}})?(?:[^\W\d]{{2,14}}[ \t]){{0,2}}?"
            rf"{_NO_LOCK}{_LOCKS}(?!\w)(?:[ \t][^\s\d:]{{1,16}}){{0,3}}[ \t]?(?:[:：=→]"
            rf"|->)[ \t]{{0,3}}"
            r"(?P<value>\d{1,2}(?:[ -]\d{1,2}){2,3}|[*#]?(?:\d{4}|\d{6})[*#]?)(?=[ \t]{0,4}(?:$"
            r"|[(,;]))",
            _I,
        ),
        _is_code,
    ),
    (
        (
            "オートロック",
            "金庫",
            "ロッカー",
            "宅配ボックス",
            "キーボックス",
            "门禁",
            "单元门",
            "保险箱",
            "保险柜",
            "储物柜",
            "门锁",
            "钥匙盒",
            "密码锁",
        ),
        re.compile(
            r"(?:オートロック|金庫|ロッカー|宅配ボックス|キーボックス|门禁|单元门|保险箱|保险柜|储物柜|门锁|钥匙盒|密码锁)"
            rf"[^\n\d:：→]{{0,6}}[ \t]?(?:[:：→]|->)[ \t]{{0,2}}(?P<value>{CODE})"
        ),
        _is_code,
    ),
    (  # A remark in brackets between a password's name and the password.
        _PASSWORD_HINTS,
        re.compile(
            rf"(?<!\w){_PASSWORD}(?:[ \t][^\n:()=]{{1,40}}?)?[ \t]{{0,2}}"
            rf"[(（][^()（）\n]{{1,60}}[)）]"
            rf"[ \t]?(?:[:：=»›→]|->|=>)[ \t]{{0,3}}{_VALUE}(?=[ \t]{{0,4}}(?:\n|$))",
            _I,
        ),
        _is_written,
    ),
    (  # In the line below the name.
        _PASSWORD_HINTS,
        re.compile(
            rf"(?m)^[ \t>*_#-]{{0,8}}(?:[^\s:：,.;?!]{{1,16}}[ \t]){{0,2}}{_PASSWORD}"
            rf"[ \t\u00a0]?[:：]?"
            rf"[*_]{{0,2}}[ \t]{{0,4}}\r?\n[ \t>]{{0,16}}{_VALUE}[ \t]{{0,4}}(?=\r?\n|$)",
            _I,
        ),
        _is_chosen,
    ),
    (  # What another person sends who was asked for it.
        _PASSWORD_HINTS,
        re.compile(
            r"(?:(?<!\w)(?:send|give|tell|schick|gib|sag|envoie|donne|manda|mándame|dime|pásame|passa"
            rf"|mandami|dammi|stuur|geef|podaj|wyślij)(?=[^\n]{{0,40}}?{_PASSWORD})"
            rf"|{_PASSWORD}[^\n]{{0,40}}?(?:[?？]|发我|发一下|告诉|多少|是什么|是啥|给我|教えて|っけ"
            rf"|please|pls|bitte|svp|stp|por favor|per favore|alsjeblieft"
            rf"|proszę))[^\n]{{0,64}}\n{{1,2}}"
            rf"[ \t>*]{{0,8}}{SPEAKER}{FILLER}(?P<value>[!-~à-ÿ]{{6,40}})"
            r"(?=[ \t]{0,3}(?:\r?\n|$)|,[ \t]|だ|です|哦|啊|，|。)",
            _I,
        ),
        _is_chosen,
    ),
    (
        ("ww", "psw"),
        re.compile(rf"(?<![\w./-])(?:ww|psw|pswd)(?:[ \t]?[:=][ \t]?|[ \t]){_VALUE}(?=[\s,;.)]|$)"),
        _is_chosen,
    ),
    (  # Words in front of what they are: "owl lamp fog, that's the passphrase".
        ("phrase", "fraz", "frase", "satz", "zin"),
        re.compile(
            r"(?m)^[ \t>*-]{0,4}[\"„“«`]?(?P<value>[^\W\d_]{3,12}(?:[ -][^\W\d_]{3,12}){3,7})"
            r"[\"“”»`]?"
            r"[ \t]?[,:–—-][ \t](?:(?:that['’]s|this is|das ist|c['’]est|es|è|é|to jest|to"
            r"|dat is)[ \t])"
            r"(?:[^\s.,]{1,12}[ \t]){0,2}(?:passphrase|phrase (?:de passe|secrète)|fraza (?:do|has)"
            r"|frase (?:de contraseña|de paso|segreta|secreta|di accesso|de acesso)|passsatz"
            r"|wachtzin)"
            r"(?![ \t]?(?:format|polic|rule|generator|manager))",
            _I,
        ),
        _is_phrase,
    ),
)
"""Parts of which a text must have one, the form, and what its value must be."""


# Passwords that replaced others.

_VERBS = (
    "ersetzt", "replaced", "swapped", "remplac", "reempla", "sustitu", "sostitui", "substitu",
    "troquei", "vervangen", "zamieni", "zastąpi",
)  # fmt: skip
_R = r"[\"'`„“«]?(?P<%s>[^\s\"'`„“”«»<>(),;]{4,64})[\"'`“”»]?"
_SWAP = re.compile(
    rf"(?<!\S){_R % 'one'}[ \t](?:durch|door|przez)[ \t]{_R % 'two'}[ \t](?:ersetzt|vervangen)"
    rf"|(?:replaced|swapped|remplacé|reempla\w{{2,6}}|sustitu\w{{1,5}}|sostitui\w{{1,4}}"
    rf"|substitu\w{{1,5}}"
    rf"|troquei|vervangen|zamieni\w{{1,5}}|zastąpi\w{{1,5}})[ \t](?:(?:old|the|a|o|la|il|le)[ \t])?"
    rf"{_R % 'first'}[ \t](?:with|by|for|par|por|con|pela?|door|na"
    rf"|przez)[ \t]{_R % 'then'}(?=[\s,.;)]|$)",
    _I,
)
_A_PASSWORD = re.compile(_PASSWORD)


def _replaced(text: str, lowered: str) -> Iterator[Span]:
    for found in _SWAP.finditer(text):
        low = max(0, found.start() - 100)
        low = lowered.rfind("\n", low, found.start()) + 1 or low
        if not _A_PASSWORD.search(lowered[low : found.end() + 80]):
            continue
        pair = ("one", "two") if found["one"] else ("first", "then")
        values = [found[group].rstrip(TRAILING) for group in pair]
        if may_change(values[0], values[1], "password"):
            for group, value in zip(pair, values, strict=True):
                yield found.start(group), found.start(group) + len(value)
