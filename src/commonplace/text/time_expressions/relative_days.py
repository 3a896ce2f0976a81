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
    "6 months ago": (
        r"half a year ago|vor einem halben jahr|hace medio año|mezzo anno fa|há meio ano"
        r"|een half jaar geleden|för ett halvår sedan|for et halvt år siden|puoli vuotta sitten"
        r"|pół roku temu|před půl rokem|полгода назад|пів року тому"
    ),
    "in spring": (
        r"im (?:frühjahr|frühling)|au printemps|en (?:la )?primavera|(?:in|na) primavera"
        r"|in (?:het voorjaar|de lente)|(?:på|under) våren|(?:om|i) foråret|keväällä|wiosną"
        r"|na jaře|ilkbaharda|tavasszal|primăvara|весной|навесні|την άνοιξη"
    ),
    "this spring": (
        r"diesen (?:frühjahr|frühling)|dieses frühjahr|ce printemps|esta primavera|nesta primavera"
        r"|questa primavera"
    ),
    "last spring": (
        r"(?:letzten|vergangenen) frühling|(?:letztes|vergangenes) frühjahr|le printemps dernier"
        r"|(?:la )?primavera (?:pasada|scorsa|passada)|vorig voorjaar|afgelopen voorjaar|i våras"
    ),
    "in summer": (
        r"im sommer|en été|pendant l['’]été|en (?:el )?verano|(?:d|nell)['’]estate|no verão"
        r"|in de zomer|(?:på|under) sommaren|(?:om|på) sommeren|kesällä|v létě|nyáron|летом"
        r"|влітку|το καλοκαίρι"
    ),
    "this summer": r"diesen sommer|cet été|este verano|quest['’]estate|neste verão|i sommer",
    "last summer": (
        r"(?:letzten|vergangenen) sommer|l['’]été (?:dernier|passé)|(?:el )?verano pasado"
        r"|l['’]estate scorsa|no verão passado|(?:vorige|afgelopen) zomer|i somras"
    ),
    "in autumn": (
        r"im herbst|(?:à l['’]|en )automne|en (?:el )?otoño|in autunno|no outono"
        r"|in (?:de herfst|het najaar)|(?:på|under) hösten|(?:om|i) efteråret|på høsten"
        r"|syksyllä|jesienią|na podzim|sonbaharda|ősszel|toamna|осенью|восени|το φθινόπωρο"
    ),
    "this autumn": r"diesen herbst|cet automne|este otoño|quest['’]autunno|neste outono|i høst",
    "last autumn": (
        r"(?:letzten|vergangenen) herbst|l['’]automne (?:dernier|passé)|(?:el )?otoño pasado"
        r"|l['’]autunno scorso|no outono passado|(?:vorige|afgelopen) herfst|vorig najaar|i höstas"
    ),
    "in winter": (
        r"im winter|en hiver|en (?:el )?invierno|in inverno|d['’]inverno|no inverno|in de winter"
        r"|(?:på|under) vintern|(?:om|på) vinteren|talvella|zimą|v zimě|kışın|télen|iarna|зимой"
        r"|взимку|τον χειμώνα"
    ),
    "this winter": (
        r"diesen winter|cet hiver|este invierno|quest['’]inverno|neste inverno|deze winter|i vinter"
    ),
    "last winter": (
        r"(?:letzten|vergangenen) winter|l['’]hiver (?:dernier|passé)|(?:el )?invierno pasado"
        r"|l['’]inverno scorso|no inverno passado|(?:vorige|afgelopen) winter|i vintras"
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
    "this spring": "今年の?春天?|今春|올봄",
    "this summer": "今年の?夏天?|今夏|올여름",
    "this autumn": "今年の?秋天?|今秋|올가을",
    "this winter": "今年の?冬天?|今冬|올겨울",
}
"""The same in languages without spaces, or with endings behind any word."""
_FRENCH_YESTERDAY = re.compile(r"\bhier\b")
RELATIVE_HEADS = (
    "gestern|hier|ayer|ieri|ontem|gisteren|går|dags|letzte|vorig|vergangen|derni|passad|passata|passé"
    "|pasad|scors|afgelopen|förra|sidste|forrige|fjo[lr]|eilen|viime|wczoraj|zeszł|včer|minul|loni"
    "|dün|geçen|tegnap|múlt|tavaly|trecut|half|halb|halv|medio|mezzo|meio|puoli|pół|půl|frühjahr"
    "|frühling|printemps|primav|voorjaar|lente|vår|forår|kevä|wiosn|jaře|bahar|tavas|primăv|sommer"
    "|été|verano|estate|verão|zomer|somm|somr|kesä|létě|nyár|herbst|autom|otoño"
    "|autunno|outono|herfst|najaar|höst|efterår|høst|syksy|jesien|podzim|ősszel|toamn|winter|hiver"
    "|invierno|inverno|vint|talve|zim|kışın|télen|iarna|[Ͱ-ӿ぀-ヿ一-鿿가-힣]"
)
"""Alternatives of a pattern that is fast: a part of each phrase, or a sign of its script."""
_HEADS = re.compile(RELATIVE_HEADS)


def with_english_days(text: str) -> str:
    """Return a text in lower case with expressions such as "letzte woche" in English."""
    if not _HEADS.search(text):
        return text
    english = list(_phrases())
    text = _pattern().sub(lambda match: f" {english[(match.lastindex or 1) - 1]} ", text)
    text = " ".join(text.split())
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
        rf"(\b(?:{phrase})\b(?: de(?= \d))?"
        + (rf"|{_UNSPACED[english]})" if english in _UNSPACED else ")")
        for english, phrase in _phrases().items()
    )
    return re.compile("|".join(groups))
