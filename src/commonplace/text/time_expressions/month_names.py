"""Dates of other languages: their months become English ones, which the parser reads."""

from __future__ import annotations

import re

__all__ = ["MONTH_HEADS", "MONTH_NAMES", "with_english_months"]

_MONTHS = {
    "january": "januar januari janvier enero gennaio janeiro январь января январе styczeń "
    "stycznia styczniu ledna lednu ocak ιανουάριο ιανουάριος ιανουαρίου січень січня січні "
    "tammikuu tammikuun ianuarie يناير जनवरी januára januári januaru siječanj siječnja siječnju "
    "јануар јануару януари gener jaanuar ژانویه január ינואר",
    "february": "februar februari február februára février fevrier febrero febbraio fevereiro "
    "февраль февраля феврале luty lutego lutym únor února únoru şubat φεβρουάριο φεβρουάριος "
    "φεβρουαρίου лютий лютого лютому helmikuu helmikuun februarie فبراير फरवरी फ़रवरी februári "
    "februaru veljača veljače veljači фебруар фебруару февруари febrer veebruar فوریه شباط פברואר",
    "march": "märz maerz maart mars marzo março marco март марта марте marzec marcu březen "
    "března březnu μάρτιο μάρτιος μαρτίου березень березня березні maaliskuu maaliskuun مارس "
    "मार्च marts marec marca marci martu ožujak ožujka ožujku maret märts آذار március márciusi "
    "מרץ",
    "april": "avril abril aprile апрель апреля апреле kwiecień kwietnia kwietniu duben dubna "
    "dubnu απρίλιο απρίλιος απριλίου квітень квітня квітні huhtikuu huhtikuun aprilie أبريل "
    "अप्रैल apríl apríla apríli aprilu travanj travnja travnju април nisan aprill آوریل نيسان "
    "április áprilisi אפריל",
    "may": "mai mei maj maju mayo maggio maio май мая мае květen května květnu mayıs μάιο μάιος "
    "μαΐου травень травня травні toukokuu toukokuun مايو मई máj mája máji svibanj svibnja "
    "svibnju мај мају maig أيار május májusi מאי",
    "june": "juni juin junio giugno junho июнь июня июне czerwiec czerwca czerwcu červen června "
    "červnu haziran ιούνιο ιούνιος ιουνίου червень червня червні kesäkuu kesäkuun iunie يونيو "
    "जून jún júna júni junu lipanj lipnja lipnju јун јуну юни juny juuni ژوئن حزيران június "
    "júniusi יוני",
    "july": "juli juillet julio luglio julho июль июля июле lipiec lipca lipcu červenec července "
    "červenci temmuz ιούλιο ιούλιος ιουλίου липень липня липні heinäkuu heinäkuun iulie يوليو "
    "जुलाई júl júla júli julu srpanj srpnja srpnju јул јулу юли juliol juuli ژوئیه تموز július "
    "júliusi יולי",
    "august": "augustus augusti août aout agosto август августа августе sierpień sierpnia "
    "sierpniu srpen srpna srpnu ağustos αύγουστο αύγουστος αυγούστου серпень серпня серпні "
    "elokuu elokuun أغسطس अगस्त augusta auguste avgust avgustu kolovoz kolovoza kolovozu августу "
    "agost agustus اوت augusztus augusztusi אוגוסט",
    "september": "septembre septiembre settembre setembro сентябрь сентября сентябре wrzesień "
    "września wrześniu září eylül σεπτέμβριο σεπτέμβριος σεπτεμβρίου вересень вересня вересні "
    "syyskuu syyskuun septembrie سبتمبر सितंबर septembra septembri septembar septembru rujan "
    "rujna rujnu септембар септембру септември setembre سپتامبر أيلول szeptember szeptemberi "
    "ספטמבר",
    "october": "oktober octobre octubre ottobre outubro октябрь октября октябре październik "
    "października październiku říjen října říjnu ekim οκτώβριο οκτώβριος οκτωβρίου жовтень "
    "жовтня жовтні lokakuu lokakuun octombrie أكتوبر अक्टूबर októbra októbri oktobar oktobru "
    "октобар октобру октомври oktoober اکتبر október októberi אוקטובר",
    "november": "novembre noviembre novembro ноябрь ноября ноябре listopad listopada listopadzie "
    "listopadu kasım νοέμβριο νοέμβριος νοεμβρίου листопад листопада листопаді marraskuu "
    "marraskuun noiembrie نوفمبر नवंबर novembra novembri novembar novembru studeni studenoga "
    "studenom новембар новембру ноември نوامبر novemberi נובמבר",
    "december": "dezember desember décembre decembre diciembre dicembre dezembro декабрь декабря "
    "декабре grudzień grudnia grudniu prosinec prosince prosinci δεκέμβριο δεκέμβριος δεκεμβρίου "
    "грудень грудня грудні joulukuu joulukuun decembrie ديسمبر दिसंबर decembra decembri decembar "
    "decembru prosinac prosinca prosincu децембар децембру декември desembre detsember aralık "
    "دسامبر decemberi דצמבר",
}
_IN_MONTHS = {
    "january": "tammikuussa ocakta jaanuaris januárban januárjában בינואר",
    "february": "helmikuussa şubatta veebruaris februárban februárjában בפברואר",
    "march": "maaliskuussa martta märtsis márciusban márciusában במרץ",
    "april": "huhtikuussa nisanda aprillis áprilisban áprilisában באפריל",
    "may": "toukokuussa mayısta májusban májusában במאי",
    "june": "kesäkuussa haziranda juunis júniusban júniusában ביוני",
    "july": "heinäkuussa temmuzda juulis júliusban júliusában ביולי",
    "august": "elokuussa ağustosta augustis augusztusban augusztusában באוגוסט",
    "september": "syyskuussa eylülde septembris szeptemberben szeptemberében בספטמבר",
    "october": "lokakuussa ekimde oktoobris októberben októberében באוקטובר",
    "november": "marraskuussa kasımda novembris novemberben novemberében בנובמבר",
    "december": "joulukuussa aralıkta detsembris decemberben decemberében בדצמבר",
}
"""The same with an ending or a prefix for "in"."""
_ENGLISH = {
    name: month
    for month, names in _MONTHS.items()
    for name in (month, *names.split(), *_IN_MONTHS[month].split())
}
_SAYING_IN = frozenset(name for names in _IN_MONTHS.values() for name in names.split())
MONTH_NAMES = "|".join(sorted(_ENGLISH, key=len, reverse=True))
"""Alternatives of a pattern: the months in some thirty languages, as questions inflect them."""
MONTH_HEADS = "|".join(sorted({name[:3] for name in _ENGLISH}))
"""Alternatives of a pattern that is fast: three letters, with which a month begins in any form."""

_OTHER_WORDS = ("march", "may", "mars")
"""Months that a year right before them does not make one: "in 2023 may"."""
_SINCE = ("seit", "sinds", "depuis", "desde", "da", "dal")
_DATE = re.compile(
    r"\b(?:(?P<lead>im|in|en|em|nel|au|seit|sinds|depuis|desde|da|dal|в|во|w|we|v|у|τον|στον|في) )?"
    r"(?:(?P<first_year>\d{4})(?:[.,]|-?\w{2})? )?(?:(?P<day>\d{1,2})\.? (?:de )?)?"
    rf"(?P<month>{MONTH_NAMES})(?!\w)(?: (?:de |del |του )?(?P<year>\d{{4}})(?!\d))?"
)


_SIGNED = re.compile(
    r"(?<!\d)(?:(?P<year>\d{4}) ?[年년] ?)?(?P<month>1[0-2]|0?[1-9]) ?[月월]"
    r"(?: ?(?P<day>3[01]|[12]\d|0?[1-9]) ?[日号號일])?"
    r"|(?<!\d)(?P<only_year>\d{4}) ?[年년](?! ?[前間间전])"
)
"""A date whose numbers stand before the signs of year, month and day: ``2026年2月``."""
_NUMBERED = re.compile(
    r"\b(?:ngày (?P<day>3[01]|[12]\d|0?[1-9]) )?tháng (?P<month>1[0-2]|0?[1-9])(?!\d)"
    r"(?:(?: năm |/)(?P<year>\d{4}))?(?P<only_year>)"
)
"""A date of Vietnamese, whose months have numbers: ``tháng 2 năm 2026``."""


def with_english_months(text: str) -> str:
    """Return a text in lower case with dates such as "en mars", "20. märz", "2月" in English.

    A name alone may be a person's or a planet's; a word for "in", a day or a year makes it a month.
    """
    text = _NUMBERED.sub(_in_words, _SIGNED.sub(_in_words, text))
    return _DATE.sub(_in_english, text)


def _in_words(match: re.Match[str]) -> str:
    year, month, day, only_year = match.group("year", "month", "day", "only_year")
    name = "" if only_year else list(_MONTHS)[int(month) - 1]
    return f" {' '.join(filter(None, ('in', day, name, year or only_year)))} "


def _in_english(match: re.Match[str]) -> str:
    lead, day, month, year = match.group("lead", "day", "month", "year")
    year = year or match["first_year"]
    is_english = month == _ENGLISH[month] and lead in (None, "in") and not match["first_year"]
    says_in = month in _SAYING_IN
    if is_english or not (lead or day or year or says_in):
        return match[0]
    if match["first_year"] and month in _OTHER_WORDS:
        return match[0]
    first = ("since" if lead in _SINCE else "in") if lead or says_in else ""
    return " ".join(filter(None, (first, day, _ENGLISH[month], year)))
