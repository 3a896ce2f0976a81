"""Month names of other languages: they become English ones, which the parser reads."""

from __future__ import annotations

import re

__all__ = ["MONTH_NAMES", "with_english_months"]

_MONTHS = {
    "january": "januar januari janvier enero gennaio janeiro",
    "february": "februar februari février fevrier febrero febbraio fevereiro",
    "march": "märz maerz maart mars marzo março marco",
    "april": "avril abril aprile",
    "may": "mai mei mayo maggio maio",
    "june": "juni juin junio giugno junho",
    "july": "juli juillet julio luglio julho",
    "august": "augustus août aout agosto",
    "september": "septembre septiembre settembre setembro",
    "october": "oktober octobre octubre ottobre outubro",
    "november": "novembre noviembre novembro",
    "december": "dezember décembre decembre diciembre dicembre dezembro",
}
_ENGLISH = {name: month for month, names in _MONTHS.items() for name in (month, *names.split())}
MONTH_NAMES = "|".join(sorted(_ENGLISH, key=len, reverse=True))
"""Alternatives of a pattern: the months in English, German, Dutch and Romance languages."""

_SINCE = ("seit", "sinds", "depuis", "desde", "da", "dal")
_DATE = re.compile(
    r"\b(?:(?P<lead>im|in|en|em|nel|au|seit|sinds|depuis|desde|da|dal) )?"
    r"(?:(?P<day>\d{1,2})\.? (?:de )?)?"
    rf"(?P<month>{MONTH_NAMES})\b(?: (?:de |del )?(?P<year>\d{{4}})\b)?"
)


def with_english_months(text: str) -> str:
    """Return a text in lower case with dates such as "en mars", "20. märz" in English.

    A name alone may be a person's or a planet's; a word for "in", a day or a year makes it a month.
    """
    return _DATE.sub(_in_english, text)


def _in_english(match: re.Match[str]) -> str:
    lead, day, month, year = match.group("lead", "day", "month", "year")
    is_english = month == _ENGLISH[month] and lead in (None, "in")
    if is_english or not (lead or day or year):
        return match[0]
    first = ("since" if lead in _SINCE else "in") if lead else ""
    return " ".join(filter(None, (first, day, _ENGLISH[month], year)))
