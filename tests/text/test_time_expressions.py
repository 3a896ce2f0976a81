from datetime import date, timedelta

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from commonplace.text.time_expressions import Days, closeness, days_named
from support.sampling import sampled

TODAY = date(2024, 5, 15)
"""A Wednesday."""


def days(text: str) -> Days:
    """Read "2024-05-06..2024-05-12", or a single day."""
    first, _, last = text.partition("..")
    return Days(date.fromisoformat(first), date.fromisoformat(last or first))


FULL_DATES = {
    "on 7 May 2023": "2023-05-07",
    "on May 7, 2023": "2023-05-07",
    "on December 1,2023": "2023-12-01",
    "2023-05-07": "2023-05-07",
    "notes from 2024-05-01": "2024-05-01",
    "at 2023-05-07T10:00": "2023-05-07",
    "2023/05/07": "2023-05-07",
    "on 7.5.2023": "2023-05-07",
    "between August 11 and August 15 2023": "2023-08-11..2023-08-15",
    "from May 3 to June 5 2023": "2023-05-03..2023-06-05",
    "3 March and 12 April 2022": "2022-03-03..2022-04-12",
    "on 29 February 2023 or 3 March 2023": "2023-03-03",
}
DAYS_OF_THE_LATEST_YEAR = {
    "on 7 May": "2024-05-07",
    "on may 5": "2024-05-05",
    "the 21st of May": "2023-05-21",
    "June 3rd": "2023-06-03",
    "on 29 February": "2024-02-29",
    "next 29 February": "2028-02-29",
}
MONTHS = {
    "in March 2024": "2024-03-01..2024-03-31",
    "Who came in February 2024?": "2024-02-01..2024-02-29",
    "in march": "2024-03-01..2024-03-31",
    "in May": "2024-05-01..2024-05-31",
    "what did she buy in December": "2023-12-01..2023-12-31",
    "Q: in sept": "2023-09-01..2023-09-30",
    "in 2023-05": "2023-05-01..2023-05-31",
    "last May": "2023-05-01..2023-05-31",
    "last August": "2023-08-01..2023-08-31",
    "next August": "2024-08-01..2024-08-31",
    "next May": "2025-05-01..2025-05-31",
    "in April and May": "2024-04-01..2024-05-31",
    "from Jan to Mar": "2024-01-01..2024-03-31",
    "in May or June": "2023-05-01..2023-06-30",
    "in December or January": "2023-12-01..2024-01-31",
}
PARTS = {
    "in early June 2023": "2023-06-01..2023-06-10",
    "early may": "2024-05-01..2024-05-11",
    "mid-July": "2023-07-11..2023-07-21",
    "before the end of June 2023": "2023-06-21..2023-06-30",
    "the second week of November": "2023-11-08..2023-11-14",
    "in the last week of May 2023": "2023-05-25..2023-05-31",
    "since the first week of March": "2024-03-01..2024-05-15",
    "late 2023": "2023-09-01..2023-12-31",
}
AROUND_A_DATE = {
    "last weekend before April 10, 2023": "2023-04-03..2023-04-10",
    "the Sunday before October 25, 2022": "2022-10-18..2022-10-25",
    "two weeks before August 11, 2023": "2023-07-28..2023-08-11",
    "three days after 7 May 2023": "2023-05-07..2023-05-10",
    "the week of May 6": "2024-05-06..2024-05-13",
    "the month of June 2023": "2023-06-01..2023-06-30",
    "what changed since March": "2024-03-01..2024-05-15",
    "what held before June 2023": "2023-05-01..2023-05-31",
}
OTHER_LANGUAGES = {
    "Wer kam im Februar 2024?": "2024-02-01..2024-02-29",
    "im März": "2024-03-01..2024-03-31",
    "am 20. Dezember 2023": "2023-12-20",
    "was gilt seit April": "2024-04-01..2024-05-15",
    "qui est venu en août 2023 ?": "2023-08-01..2023-08-31",
    "¿quién vino en marzo de 2023?": "2023-03-01..2023-03-31",
    "il 3 luglio 2023": "2023-07-03",
    "wie kwam er in mei 2023": "2023-05-01..2023-05-31",
    "kto przyszedł w lutym 2024?": "2024-02-01..2024-02-29",
    "кто пришёл в феврале 2024 года?": "2024-02-01..2024-02-29",
    "kuka tuli helmikuussa 2024?": "2024-02-01..2024-02-29",
    "ki edzette a csapatot 2024 februárjában?": "2024-02-01..2024-02-29",
    "mi volt 2024. február 5-én?": "2024-02-01..2024-02-29",
    "איזה אוטו היה לנו בפברואר 2024?": "2024-02-01..2024-02-29",
    "tháng 2 năm 2024 giao về đâu?": "2024-02-01..2024-02-29",
    "ngày 5 tháng 2 năm 2024 có gì?": "2024-02-05",
    "v februári 2024": "2024-02-01..2024-02-29",
    "u veljači 2024": "2024-02-01..2024-02-29",
    "kirası 2024 Şubat'ında ne kadardı?": "2024-02-01..2024-02-29",
    "في شباط 2024": "2024-02-01..2024-02-29",
    "veebruaris 2024": "2024-02-01..2024-02-29",
    "mi volt februárban 2024": "2024-02-01..2024-02-29",
    "ποιος ήρθε τον Φεβρουάριο του 2024;": "2024-02-01..2024-02-29",
    "من جاء في فبراير 2024؟": "2024-02-01..2024-02-29",
    "फरवरी 2024 में कौन आया": "2024-02-01..2024-02-29",
    "2024年2月には誰が来ましたか": "2024-02-01..2024-02-29",
    "2024年2月3日谁来了": "2024-02-03",
    "2024년 2월에 누가 왔나요": "2024-02-01..2024-02-29",
    "3月の会議": "2024-03-01..2024-03-31",
    "2023年は": "2023-01-01..2023-12-31",
}
FROM_TODAY_IN_OTHER_LANGUAGES = {
    "2024-05-14": (
        "was tat ich gestern?; qu'ai-je fait hier ?; ¿qué hice ayer?; cosa ho fatto ieri?; ontem;"
        "wat deed ik gisteren?; vad gjorde jag igår?; i går; eilen; co robiłem wczoraj?; včera;"
        "dün ne yaptım?; tegnap; что было вчера?; вчора; τι έκανα χθες;"
        "我昨天做了什么?; 昨日は; 어제는"
    ),
    "2024-05-13": (
        "was war vorgestern?; avant-hier; anteayer; l'altro ieri; anteontem; eergisteren;"
        "i förrgår; przedwczoraj; позавчера; 前天"
    ),
    "2024-05-06..2024-05-12": (
        "letzte Woche; la semaine dernière; la semana pasada; la settimana scorsa; vorige week;"
        "na semana passada; förra veckan; sidste uge; viime viikolla; w zeszłym tygodniu;"
        "geçen hafta; a múlt héten; на прошлой неделе; 先週"
    ),
    "2024-05-10": (
        "was war letzten Freitag?; vendredi dernier; el viernes pasado; el pasado viernes;"
        "venerdì scorso; lo scorso venerdì; na sexta-feira passada; afgelopen vrijdag; i fredags;"
        "sidste fredag; viime perjantaina; w zeszły piątek; minulý pátek; geçen cuma;"
        "múlt pénteken; vinerea trecută; в прошлую пятницу; минулої п'ятниці;"
        "την περασμένη παρασκευή"
    ),
    "2024-05-12": "letzten Sonntag; domenica scorsa; i söndags; την περασμένη Κυριακή",
    "2024-05-11..2024-05-12": (
        "letztes Wochenende; le week-end dernier; el fin de semana pasado; lo scorso weekend;"
        "no fim de semana passado; afgelopen weekend; förra helgen; forrige weekend;"
        "viime viikonloppuna; w zeszły weekend; minulý víkend; geçen hafta sonu; múlt hétvégén;"
        "weekendul trecut; на прошлых выходных"
    ),
    "2024-04-01..2024-04-30": (
        "im letzten Monat; le mois dernier; el mes pasado; il mese scorso; lo scorso mese;"
        "no mês passado; afgelopen maand; forrige måned; minulý měsíc; 上个月"
    ),
    "2023-01-01..2023-12-31": (
        "letztes Jahr; l'an dernier; l'année dernière; el año pasado; l'anno scorso; vorig jaar;"
        "no ano passado; i fjol; i fjor; loni; anul trecut; 去年"
    ),
    "2023-10-31..2023-11-28": (
        "half a year ago; vor einem halben Jahr; полгода назад; pół roku temu"
    ),
    "2024-03-01..2024-05-31": (
        "welches Auto hatten wir im Frühjahr?; au printemps 2024; en primavera; na primavera;"
        "in het voorjaar; på våren 2024; i foråret; keväällä; wiosną; na jaře; весной;"
        "την άνοιξη; 今年の春は; diesen Frühling; esta primavera"
    ),
    "2023-03-01..2023-05-31": "i våras; letzten Frühling; la primavera pasada",
    "2022-06-01..2022-08-31": (
        "im Sommer 2022; en été 2022; en verano de 2022; no verão de 2022; in de zomer 2022;"
        "på sommaren 2022; om sommeren 2022; kesällä 2022; v létě 2022"
    ),
    "2024-06-01..2024-08-31": "diesen Sommer; cet été; este verano; 올여름",
    "2023-09-01..2023-11-30": (
        "letzten Herbst; à l'automne; en otoño; in autunno; in het najaar; i höstas; восени;"
        "l'automne dernier"
    ),
    "2024-09-01..2024-11-30": "diesen Herbst; cet automne; i høst; 今年の秋",
    "2023-12-01..2024-02-29": "im Winter; en invierno; d'inverno; in de winter; zimą; i vintras",
}
SEASONS = {
    "last spring": "2023-03-01..2023-05-31",
    "this summer": "2024-06-01..2024-08-31",
    "in the summer": "2023-06-01..2023-08-31",
    "summer of 2021": "2021-06-01..2021-08-31",
    "last winter": "2023-12-01..2024-02-29",
    "next winter": "2024-12-01..2025-02-28",
    "fall 2022": "2022-09-01..2022-11-30",
    "last summer and this summer": "2023-06-01..2024-08-31",
    "goals for Q2 2023": "2023-04-01..2023-06-30",
}
FROM_TODAY = {
    "what happened yesterday": "2024-05-14",
    "the day before yesterday": "2024-05-13",
    "the day after tomorrow": "2024-05-17",
    "what's on today?": "2024-05-15",
    "between Monday and yesterday": "2024-05-14",
    "last night": "2024-05-14",
    "last Friday": "2024-05-10",
    "last Wednesday": "2024-05-08",
    "next Wednesday": "2024-05-22",
    "on Wednesday": "2024-05-15",
    "what did we decide last week": "2024-05-06..2024-05-12",
    "notes of this week": "2024-05-13..2024-05-19",
    "last weekend": "2024-05-11..2024-05-12",
    "over the weekend": "2024-05-11..2024-05-12",
    "last month": "2024-04-01..2024-04-30",
    "this month's plan": "2024-05-01..2024-05-31",
    "last year": "2023-01-01..2023-12-31",
}
LENGTHS_OF_TIME = {
    "3 days ago": "2024-05-12",
    "a couple of days ago": "2024-05-13",
    "two weeks ago": "2024-04-28..2024-05-04",
    "a few weeks ago": "2024-04-16..2024-05-02",
    "a month ago": "2024-04-01..2024-04-29",
    "12 years ago": "2011-11-15..2012-11-13",
    "in the past 3 days": "2024-05-12..2024-05-15",
    "over the last two weeks": "2024-05-01..2024-05-15",
    "the last two weeks": "2024-05-01..2024-05-15",
    "in the last year": "2023-05-16..2024-05-15",
}
YEARS = {
    "in 2023": "2023-01-01..2023-12-31",
    "in 2023 was there": "2023-01-01..2023-12-31",
    "since 2022": "2022-01-01..2024-05-15",
    "between 2019 and 2021": "2019-01-01..2021-12-31",
    "in 2023 mars was bright": "2023-01-01..2023-12-31",
}


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        *FULL_DATES.items(),
        *DAYS_OF_THE_LATEST_YEAR.items(),
        *MONTHS.items(),
        *PARTS.items(),
        *AROUND_A_DATE.items(),
        *OTHER_LANGUAGES.items(),
        *(
            (query, expected)
            for expected, queries in FROM_TODAY_IN_OTHER_LANGUAGES.items()
            for query in queries.split(";")
        ),
        *SEASONS.items(),
        *FROM_TODAY.items(),
        *LENGTHS_OF_TIME.items(),
        *YEARS.items(),
    ],
)
def test_a_question_names_days(query: str, expected: str) -> None:
    found = days_named(query, TODAY)

    assert found is not None
    assert found[:2] == days(expected)[:2]


@pytest.mark.parametrize(
    "query",
    [
        "",
        "the sun",
        "mayor",
        "decide",
        "augustus",
        "life on mars",
        "co je duben?",
        "was gibt es hier zu essen?",
        "wat is hier te doen?",
        "the hierarchy of the passwords",
        "what do we wear for the summer concert",
        "3ヶ月",
        "13月",
        "2000年前の遺跡は",
        "hoeveel van de 12 leden betalen",
        "k mart 2019 receipt",
        "每月几号",
        "who is Juli",
        "Marco said",
        "marching band",
        "what may I eat",
        "this may be wrong",
        "the may meeting",
        "may 5 people come",
        "which 4 may come",
        "who may come and may stay",
        "who may and may not come",
        "she wants to march",
        "did they march to the town hall",
        "Jan said",
        "the second book",
        "a second time",
        "did he fall",
        "fall in love",
        "spring roll recipe",
        "what is his dog called",
        "what did she do recently",
        "a year-old child",
        "how many weeks passed",
        "it took 3 weeks",
        "in the end",
        "room 2021",
        "by 2000 people",
        "in 2000 lines",
        "error 2003 in python",
        "v2.1.2024 release",
        "30 February",
    ],
)
def test_other_questions_name_no_days(query: str) -> None:
    assert days_named(query, TODAY) is None


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("last week, as written on 6 November 2023", "2023-11-06"),
        ("yesterday's notes on the year in 2021", "2024-05-14"),
        ("what may I expect in June", "2023-06-01..2023-06-30"),
    ],
)
def test_the_more_telling_words_count(query: str, expected: str) -> None:
    assert days_named(query, TODAY) == days(expected)


@pytest.mark.parametrize(
    ("today", "expected"),
    [
        ("2024-05-15", "2023-12-01..2024-02-29"),
        ("2024-12-10", "2024-12-01..2025-02-28"),
        ("2025-01-10", "2024-12-01..2025-02-28"),
    ],
)
def test_this_winter_is_the_one_that_runs_or_ended_this_year(today: str, expected: str) -> None:
    assert days_named("this winter", date.fromisoformat(today)) == days(expected)


@pytest.mark.parametrize("weekday", range(7))
def test_the_weekend_is_the_latest_that_has_begun(weekday: int) -> None:
    today = date(2024, 5, 13) + timedelta(weekday)
    expected = "2024-05-18..2024-05-19" if weekday >= 5 else "2024-05-11..2024-05-12"
    assert days_named("on the weekend", today) == days(expected)


WORDS = (
    "in on since before after and to the of last next this past early end mid a an two few 1 3rd 07"
    " 30 2023 2024 1999 2023-05-07 2023-02-30 2023- 1.2.2023 may march jan june february q3 fall"
    " winter day week weekend months years ago yesterday tomorrow monday second first lines ,"
)


@given(
    st.text() | st.lists(st.sampled_from(WORDS.split()), max_size=12).map(" ".join),
    st.dates() | st.sampled_from([date.min, date.max, TODAY]),
)
def test_any_text_names_days_in_order_or_none(query: str, today: date) -> None:
    named = days_named(query, today)
    assert named is None or named.first <= named.last


@pytest.mark.slow
@pytest.mark.parametrize(
    "piece",
    sampled(
        [
            "in the ",
            "1 ",
            "1",
            "a ",
            "may 5 ",
            "and may ",
            "1.2.",
            "2023-05-",
            "in 2023 a",
            "early ",
            "the last 3 ",
            "two weeks before ",
            "3 days ago ",
            "day before ",
            "\0",
        ],
        every=4,
    ),
)
def test_a_long_text_is_read_in_a_moment(piece: str) -> None:
    """A pattern that is not linear would hold the tests up for minutes."""
    days_named(piece * (200_000 // len(piece)), TODAY)


@pytest.mark.parametrize(
    ("day", "expected"),
    [
        ("2024-05-02", 0),
        ("2024-05-03", 0),
        ("2024-05-04", 0.8 / 7),
        ("2024-05-09", 0.8 * 6 / 7),
        ("2024-05-10", 1),
        ("2024-05-12", 1),
        ("2024-05-13", 0.8),
        ("2024-05-15", 0.8),
        ("2024-05-16", 0.8 * 6 / 7),
        ("2024-05-21", 0.8 / 7),
        ("2024-05-22", 0),
        ("2025-05-11", 0),
    ],
)
def test_a_day_is_close_within_the_span_and_fades_over_a_week(day: str, expected: float) -> None:
    ordinal = date.fromisoformat(day).toordinal()
    assert float(closeness(ordinal, days("2024-05-10..2024-05-12"))) == pytest.approx(expected)


def test_many_days_are_compared_at_once_and_no_day_is_close_to_none() -> None:
    ordinals = np.array([0, TODAY.toordinal(), 0, TODAY.toordinal() - 7])
    close = closeness(ordinals, Days(TODAY, TODAY))
    assert close.dtype == np.float32
    assert close.tolist() == [0, 1, 0, 0]
    assert closeness([0, 1, 4], Days(date.min, date.min)) == pytest.approx([0, 1, 0.8])


def test_of_what_held_before_a_time_earlier_days_tell_and_later_ones_do_not() -> None:
    named = days_named("what held before October?", date(2026, 11, 27))
    ordinals = [date(2026, month, day).toordinal() for month, day in ((4, 12), (9, 3), (10, 2))]

    assert named is not None
    assert closeness(ordinals, named) == pytest.approx([0.5, 1, 0])


@pytest.mark.parametrize(
    "query",
    [
        "what did we do between 12 and 14 October?",
        "12th to 14th of October",
        "12-14 October 2026",
        "zwischen dem 12. und dem 14. Oktober",
        "vom 12.–14. Oktober",
        "entre el 12 y el 14 de octubre",
    ],
)
def test_a_month_that_is_named_once_is_the_month_of_both_days(query):
    named = days_named(query, date(2026, 11, 27))
    assert named is not None
    assert (named.first, named.last) == (date(2026, 10, 12), date(2026, 10, 14))


@pytest.mark.parametrize("query", ["am 19. September", "was war am 19. september los?"])
def test_a_day_with_a_dot_is_one_day_in_months_that_english_spells_alike(query):
    named = days_named(query, date(2026, 11, 27))
    assert named is not None
    assert named.first == named.last == date(2026, 9, 19)
