"""Struck lines and the links of corrections, as they are read and written."""

from datetime import date

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from commonplace.text.line_units import line_units, unit_texts
from commonplace.text.strikethrough import (
    CorrectionLink,
    correction_links,
    is_struck,
    strike,
    struck_spans,
    with_links_blanked,
    without_strikethrough,
)

CORRECTED = CorrectionLink("memory/2026-11-22.md", date(2026, 11, 22))
CORRECTS = CorrectionLink("../MEMORY.md", None, 3)


@pytest.mark.parametrize(
    "line",
    [
        "~~The VPN listens on port 1194~~",
        "- ~~The VPN listens on port 1194~~ ([corrected 2026-11-22](memory/2026-11-22.md))",
        "  - [x] ~~done and wrong~~",
        "3. ~~third~~",
        "## ~~A heading~~",
        "> - ~~quoted~~",
        "- ~~The mail server runs on heron.~~ (→ 2026-04-20)",
        "- ~~The mail server runs on heron.~~ [[memory/2026-04-20]]",
        "~~one~~ ~~two~~.",
        "| ~~port~~ | ~~1194~~ ([corrected 2026-11-22](memory/2026-11-22.md)) |",
        "- ~~a `code ~~ span` in it~~",
        "- ~~測試端口8080~~",
    ],
)
def test_a_line_is_struck_when_all_of_its_words_are(line):
    assert is_struck(line)


@pytest.mark.parametrize(
    "line",
    [
        "",
        "- a plain line",
        "- The deadline is ~~30 May~~ 15 June",
        "- ~~Druckhaus Mitte~~ (now Onlineprint)",
        "- `~~code~~`",
        r"- \~~escaped~~",
        "~~~python",
        "~~ spaces~~",
        "~~spaces ~~",
        "~~unclosed",
        "~one~",
        "- The VPN listens on port 51820 ([corrects](../MEMORY.md#L3))",
        "| ~~port~~ | 51820 |",
    ],
)
def test_a_line_that_still_says_something_is_not_struck(line):
    assert not is_struck(line)


def test_struck_parts_of_a_line_are_found():
    line = "The deadline is ~~30 May~~ 15 June, not ~~the third~~."
    assert [line[start:end] for start, end in struck_spans(line)] == [
        "~~30 May~~",
        "~~the third~~",
    ]


@pytest.mark.parametrize(
    ("line", "struck"),
    [
        (
            "- The VPN listens on port 1194",
            "- ~~The VPN listens on port 1194~~ ([corrected 2026-11-22](memory/2026-11-22.md))",
        ),
        (
            "  2) [ ] call Ann  ",
            "  2) [ ] ~~call Ann~~ ([corrected 2026-11-22](memory/2026-11-22.md))  ",
        ),
        (
            "| port | 1194 |  |",
            "| ~~port~~ | ~~1194~~ ([corrected 2026-11-22](memory/2026-11-22.md)) |  |",
        ),
        (
            "Deadline: ~~30 May~~ 15 June",
            "~~Deadline: 30 May 15 June~~ ([corrected 2026-11-22](memory/2026-11-22.md))",
        ),
    ],
)
def test_striking_keeps_the_marks_of_a_line(line, struck):
    assert strike(line, CORRECTED) == struck
    assert is_struck(struck)
    assert strike(struck, CORRECTED) == struck


def test_a_correction_that_is_corrected_keeps_its_link():
    line = "- The VPN listens on port 51820 ([corrects](../MEMORY.md#L3))"
    struck = strike(line, CORRECTED)
    assert struck == (
        "- ~~The VPN listens on port 51820~~ ([corrects](../MEMORY.md#L3))"
        " ([corrected 2026-11-22](memory/2026-11-22.md))"
    )
    assert is_struck(struck)
    assert correction_links(struck) == [CORRECTS, CORRECTED]


@pytest.mark.parametrize("line", ["", "---", "- ", "```python", "~~~", "|---|---|"])
def test_a_line_without_words_cannot_be_struck(line):
    with pytest.raises(ValueError, match="has no text"):
        strike(line)


@pytest.mark.slow
@given(
    st.one_of(
        st.text(st.characters(blacklist_categories=["Cs", "Cc", "Zl", "Zp"]), max_size=40),
        st.text("ab1 ~`\\|[]-", max_size=20),
    )
)
@example("a~~ b")
@example("| a ~~ | b` |")
def test_a_struck_line_reads_as_struck_and_says_what_it_said(line):
    try:
        struck = strike(line)
    except ValueError:
        return
    assert is_struck(struck)
    letters = [sign for sign in line if sign.isalnum()]
    assert [sign for sign in struck if sign.isalnum()] == letters


@pytest.mark.parametrize(
    "link",
    [CORRECTED, CORRECTS, CorrectionLink("memory/a note (old) #1.md", None, 12)],
)
def test_a_link_is_read_as_it_was_written(link):
    assert correction_links(f"- text {link}") == [link]


def test_marks_and_links_are_no_words():
    line = f"The deadline is ~~30 May~~ 15 June {CORRECTS}"
    assert without_strikethrough(line) == "The deadline is 30 May 15 June"


def test_links_are_blanked_without_moving_what_follows():
    text = f"- a {CORRECTS}\n- b {CORRECTED}\n- c"
    blanked = with_links_blanked(text)
    assert len(blanked) == len(text)
    assert blanked.split() == ["-", "a", "-", "b", "-", "c"]


def test_a_struck_line_is_embedded_as_what_it_said():
    text = f"- ~~The VPN listens on 1194~~ {CORRECTED}\n- It is 51820 {CORRECTS}"
    assert unit_texts(text, line_units(text)) == ["The VPN listens on 1194", "It is 51820"]


def test_a_day_that_no_calendar_has_is_no_day():
    [link] = correction_links("~~x~~ ([corrected 2026-02-30](a.md))")
    assert link == CorrectionLink("a.md")


def test_many_marks_take_no_long_time():
    assert struck_spans("~~a " * 50_000 + "`" * 50_000) == []
