"""Dates of other languages: their months become English ones, which the parser reads."""

from __future__ import annotations

import re

__all__ = ["MONTH_HEADS", "MONTH_NAMES", "with_english_months"]

_MONTHS = {
    "january": "januar januari janvier enero gennaio janeiro январь января январе styczeń stycznia "
    "styczniu ledna lednu ocak ocakta ιανουάριο ιανουάριος ιανουαρίου січень січня "
    "січні tammikuu tammikuussa tammikuun ianuarie januárban يناير जनवरी",
    "february": "februar februari február februára février fevrier febrero febbraio fevereiro "
    "февраль февраля феврале luty lutego lutym únor února únoru şubat şubatta φεβρουάριο "
    "φεβρουάριος φεβρουαρίου лютий лютого лютому helmikuu helmikuussa helmikuun februarie "
    "februárban فبراير फरवरी फ़रवरी",
    "march": "märz maerz maart mars marzo março marco март марта марте marzec marcu "
    "březen března březnu μάρτιο μάρτιος μαρτίου березень березня березні "
    "maaliskuu maaliskuussa maaliskuun márciusban مارس मार्च",
    "april": "avril abril aprile апрель апреля апреле kwiecień kwietnia kwietniu duben dubna dubnu "
    "απρίλιο απρίλιος απριλίου квітень квітня квітні huhtikuu huhtikuussa "
    "huhtikuun aprilie áprilisban أبريل अप्रैल",
    "may": "mai mei maj maju mayo maggio maio май мая мае květen května květnu mayıs "
    "mayısta μάιο μάιος μαΐου травень травня травні toukokuu toukokuussa toukokuun "
    "májusban مايو मई",
    "june": "juni juin junio giugno junho июнь июня июне czerwiec czerwca czerwcu červen června "
    "červnu haziran haziranda ιούνιο ιούνιος ιουνίου червень червня червні kesäkuu "
    "kesäkuussa kesäkuun iunie júniusban يونيو जून",
    "july": "juli juillet julio luglio julho июль июля июле lipiec lipca lipcu červenec července "
    "červenci temmuz temmuzda ιούλιο ιούλιος ιουλίου липень липня липні heinäkuu "
    "heinäkuussa heinäkuun iulie júliusban يوليو जुलाई",
    "august": "augustus augusti août aout agosto август августа августе sierpień sierpnia sierpniu "
    "srpen srpna srpnu ağustos ağustosta αύγουστο αύγουστος αυγούστου серпень серпня "
    "серпні elokuu elokuussa elokuun augusztusban أغسطس अगस्त",
    "september": "septembre septiembre settembre setembro сентябрь сентября сентябре wrzesień "
    "września wrześniu září eylül eylülde σεπτέμβριο σεπτέμβριος σεπτεμβρίου вересень вересня "
    "вересні syyskuu syyskuussa syyskuun septembrie szeptemberben سبتمبر सितंबर",
    "october": "oktober octobre octubre ottobre outubro октябрь октября октябре październik "
    "października październiku říjen října říjnu ekim ekimde οκτώβριο οκτώβριος οκτωβρίου "
    "жовтень жовтня жовтні lokakuu lokakuussa lokakuun octombrie októberben أكتوبر "
    "अक्टूबर",
    "november": "novembre noviembre novembro ноябрь ноября ноябре listopad listopada listopadzie "
    "listopadu kasım kasımda νοέμβριο νοέμβριος νοεμβρίου листопад листопада листопаді "
    "marraskuu marraskuussa marraskuun noiembrie novemberben نوفمبر नवंबर",
    "december": "dezember desember décembre decembre diciembre dicembre dezembro декабрь декабря "
    "декабре grudzień grudnia grudniu prosinec prosince prosinci "
    "δεκέμβριο δεκέμβριος δεκεμβρίου грудень грудня грудні joulukuu joulukuussa joulukuun "
    "decembrie decemberben ديسمبر दिसंबर",
}
_ENGLISH = {name: month for month, names in _MONTHS.items() for name in (month, *names.split())}
MONTH_NAMES = "|".join(sorted(_ENGLISH, key=len, reverse=True))
"""Alternatives of a pattern: the months in some twenty languages, as questions inflect them."""
MONTH_HEADS = "|".join(sorted({name[:3] for name in _ENGLISH}))
"""Alternatives of a pattern that is fast: three letters, with which a month begins in any form."""

_SINCE = ("seit", "sinds", "depuis", "desde", "da", "dal")
_DATE = re.compile(
    r"\b(?:(?P<lead>im|in|en|em|nel|au|seit|sinds|depuis|desde|da|dal|в|во|w|we|v|τον|στον) )?"
    r"(?:(?P<day>\d{1,2})\.? (?:de )?)?"
    rf"(?P<month>{MONTH_NAMES})(?!\w)(?: (?:de |del |του )?(?P<year>\d{{4}})\b)?"
)


_SIGNED = re.compile(
    r"(?<!\d)(?:(?P<year>\d{4}) ?[年년] ?)?(?P<month>1[0-2]|0?[1-9]) ?[月월]"
    r"(?: ?(?P<day>3[01]|[12]\d|0?[1-9]) ?[日号號일])?"
    r"|(?<!\d)(?P<only_year>\d{4}) ?[年년](?! ?[前間间전])"
)
"""A date whose numbers stand before the signs of year, month and day: ``2026年2月``."""


def with_english_months(text: str) -> str:
    """Return a text in lower case with dates such as "en mars", "20. märz", "2月" in English.

    A name alone may be a person's or a planet's; a word for "in", a day or a year makes it a month.
    """
    return _DATE.sub(_in_english, _SIGNED.sub(_in_words, text))


def _in_words(match: re.Match[str]) -> str:
    year, month, day, only_year = match.group("year", "month", "day", "only_year")
    name = "" if only_year else list(_MONTHS)[int(month) - 1]
    return f" {' '.join(filter(None, ('in', day, name, year or only_year)))} "


def _in_english(match: re.Match[str]) -> str:
    lead, day, month, year = match.group("lead", "day", "month", "year")
    is_english = month == _ENGLISH[month] and lead in (None, "in")
    if is_english or not (lead or day or year):
        return match[0]
    first = ("since" if lead in _SINCE else "in") if lead else ""
    return " ".join(filter(None, (first, day, _ENGLISH[month], year)))
