"""Days relative to today in other languages: they become English ones, which the parser reads."""

from __future__ import annotations

import re
from functools import cache

from commonplace.text.analysis import language_of
from commonplace.text.time_expressions.meanings import WEEKDAYS

__all__ = ["RELATIVE_HEADS", "with_english_days"]

_PHRASES = {
    "day before yesterday": (
        r"vorgestern|avant-hier|anteayer|antes de ayer|l['’]altro ieri|anteontem|eergisteren"
        r"|i förrgår|i forgårs|przedwczoraj|předevčírem|tegnapelőtt|alaltăieri|позавчера|позавчора"
        r"|προχ[θτ]ές"
    ),
    "yesterday": (
        r"gestern|ayer|ieri|ontem|gisteren|i ?går|eilen|wczoraj|včera|dün|tegnap|вчера|вчора"
        r"|χ[θτ]ες"
    ),
    "last week": (
        r"(?:letzte|vorige|vergangene)n? woche|(?:la )?semaine (?:derni[eè]re|passée)"
        r"|(?:la )?semana pasada|(?:la )?settimana (?:scorsa|passata)|(?:[an]a )?semana passada"
        r"|(?:vorige|afgelopen) week|förra veckan|sidste uge|forrige uke|viime viikolla"
        r"|w zeszłym tygodniu|minulý týden|geçen hafta|a? ?múlt héten|săptămâna trecută"
        r"|на прошлой неделе|минулого тижня|την περασμένη εβδομάδα"
    ),
    "last month": (
        r"(?:letzt|vorig|vergangen)e[nmrs] monats?|(?:le )?mois (?:dernier|passé)"
        r"|(?:el )?mes pasado|(?:il |lo )?(?:mese scorso|scorso mese)|(?:[on]o? )?m[eê]s passado"
        r"|(?:vorige|afgelopen) maand|förra månaden|(?:sidste|forrige) måned|viime kuussa"
        r"|w zeszłym miesiącu|minulý měsíc|geçen ay|a? ?múlt hónapban|luna trecută"
        r"|в прошлом месяце|минулого місяця|τον περασμένο μήνα"
    ),
    "last year": (
        r"(?:letzt|vorig|vergangen)e[nms] jahr(?:es)?|l['’]an(?:n[eé]e)? (?:derni[eè]re?|passée?)"
        r"|(?:el )?año pasado|l['’]anno scorso|(?:[on]o? )?ano passado|(?:vorig|afgelopen) jaar"
        r"|förra året|i fjol|i fjor|sidste år|viime vuonna|w zeszłym roku|loni|geçen yıl|tavaly"
        r"|anul trecut|в прошлом году|минулого року|πέρυ?σι"
    ),
}
_LAST_WEEKDAYS = (
    (
        "(?:letzte|vorige|vergangene)[mnrs]? {}",
        "montag dienstag mittwoch donnerstag freitag (?:samstag|sonnabend) sonntag",
    ),
    ("(?:le )?{} (?:dernier|passé)", "lundi mardi mercredi jeudi vendredi samedi dimanche"),
    ("(?:el )?(?:{0} pasado|pasado {0})", "lunes martes miércoles jueves viernes sábado domingo"),
    (
        "(?:{0} scors[oa]|(?:lo |la )?scors[oa] {0})",
        "lunedì martedì mercoledì giovedì venerdì sabato domenica",
    ),
    ("(?:[nd]?[oa] )?{}(?:-feira)? passad[oa]", "segunda terça quarta quinta sexta sábado domingo"),
    (
        "(?:vorige|afgelopen) {}",
        "maandag dinsdag woensdag donderdag vrijdag zaterdag zondag",
    ),
    ("(?:i {0}s|förra {0}en)", "måndag tisdag onsdag torsdag fredag lördag söndag"),
    ("(?:i {0}s|(?:sidste|forrige) {0})", "mandag tirsdag onsdag torsdag fredag lørdag søndag"),
    (
        "viime {}",
        "maanantaina tiistaina keskiviikkona torstaina perjantaina lauantaina sunnuntaina",
    ),
    ("(?:w )?zeszł(?:y|ą) {}", "poniedziałek wtorek środę czwartek piątek sobotę niedzielę"),
    ("minul(?:ý|é|ou) {}", "pondělí úterý středu čtvrtek pátek sobotu neděli"),
    ("geçen {}", "pazartesi salı çarşamba perşembe cuma cumartesi pazar"),
    ("múlt {}", "hétfőn kedden szerdán csütörtökön pénteken szombaton vasárnap"),
    ("{} trecută", "lunea marțea miercurea joia vinerea sâmbăta duminica"),
    ("в прошл(?:ый|ую|ое) {}", "понедельник вторник среду четверг пятницу субботу воскресенье"),
    ("минул(?:ого|ої) {}", "понеділка вівторка середи четверга п['’]ятниці суботи неділі"),
    ("περασμέν[ηο] {}", "δευτέρα τρίτη τετάρτη πέμπτη παρασκευή σάββατο κυριακή"),
)
"""The weekday that was last, in each language, and its weekdays from Monday on."""
WEEKDAY_NAMES = frozenset(
    name for _, names in _LAST_WEEKDAYS for name in re.findall(r"[^\W\d_]{2,}", names)
)
"""The days of the week in some twenty languages but English."""
_LAST_WEEKEND = (
    "(?:am )?(?:letzte|vorige|vergangene)[ns] wochenende|(?:le )?week-?end (?:dernier|passé)"
    "|(?:el )?fin de semana pasado|(?:lo )?scorso (?:weekend|fine settimana)"
    "|(?:weekend|fine settimana) scorso|(?:[on]o? )?fim de semana passado"
    "|(?:vorig|afgelopen) weekend|förra helgen|(?:sidste|forrige) weekend|viime viikonloppuna"
    "|w zeszły weekend|minulý víkend|geçen hafta sonu|múlt hétvégén|weekendul trecut"
    "|на прошлых выходных"
)
_UNSPACED = {
    "day before yesterday": "前天|一昨日|おととい|그저께",
    "yesterday": "昨天|昨日|きのう|어제",
    "last week": "上周|上星期|先週|지난주",
    "last month": "上个月|先月|지난달",
    "last year": "去年|昨年|작년",
}
"""The same in languages without spaces, or with endings behind any word."""
_FRENCH_YESTERDAY = re.compile(r"\bhier\b")
RELATIVE_HEADS = (
    "gestern|hier|ayer|ieri|ontem|gisteren|går|dags|letzte|vorig|vergangen|derni|passad|passata|passé"
    "|pasad|scors|afgelopen|förra|sidste|forrige|fjo[lr]|eilen|viime|wczoraj|zeszł|včer|minul|loni"
    "|dün|geçen|tegnap|múlt|tavaly|trecut|[Ͱ-ӿ぀-ヿ一-鿿가-힣]"
)
"""Alternatives of a pattern that is fast: a part of each phrase, or a sign of its script."""
_HEADS = re.compile(RELATIVE_HEADS)


def with_english_days(text: str) -> str:
    """Return a text in lower case with expressions such as "letzte woche" in English."""
    if not _HEADS.search(text):
        return text
    english = list(_phrases())
    text = _pattern().sub(lambda match: f" {english[(match.lastindex or 1) - 1]} ", text)
    if "hier" in text and language_of(text) == "fr":  # of other languages, it means "here"
        text = _FRENCH_YESTERDAY.sub("yesterday", text)
    return text


@cache
def _phrases() -> dict[str, str]:
    """Return the pattern of each English phrase; a weekend comes before the week in it."""
    phrases = {"last weekend": _LAST_WEEKEND, **_PHRASES}
    for at, weekday in enumerate(WEEKDAYS):
        alternatives = (form.format(names.split()[at]) for form, names in _LAST_WEEKDAYS)
        phrases[f"last {weekday}"] = "|".join(alternatives)
    return phrases


@cache
def _pattern() -> re.Pattern[str]:
    """Compile the phrases, a group for each of their English ones."""
    groups = (
        rf"(\b(?:{phrase})\b" + (rf"|{_UNSPACED[english]})" if english in _UNSPACED else ")")
        for english, phrase in _phrases().items()
    )
    return re.compile("|".join(groups))
