import textwrap

import pytest

from commonplace.text.line_units import line_units

PROSE = (
    "We agreed with the landlord in March that the deposit comes back within six weeks of the day "
    "on which Maria Lindqvist hands over the keys. Until then the Stockholm account stays open, "
    "and nobody cancels the insurance that Olof Berg took out for the cellar in Hagastaden"
)
LOG = """\
Called the insurer about the leak, claim 4471 is open with Mrs Weber
Ordered new tiles for the bathroom from the shop in Lund
Plumber comes on Thursday, he wants 900 in advance for the boiler
12 litres of paint left in the garage, enough for the hall
Passport renewed, the old one went to the embassy"""


def units(text: str) -> list[str]:
    return [text[start:end] for _, start, end in line_units(text)]


@pytest.mark.parametrize("width", [60, 66, 72, 80, 100])
@pytest.mark.parametrize("first", ["", "- "])
def test_wrapped_sentences_are_one_unit(width: int, first: str) -> None:
    """Sentences that an editor wrapped are one unit, also where a line begins with a name."""
    text = textwrap.fill(first + PROSE, width, subsequent_indent=" " * len(first))
    assert text.count("\n") >= 2
    first_sentence = units(text)[0].replace("\n" + " " * len(first), " ")
    assert first_sentence.startswith(first + PROSE[: PROSE.index("keys")])


def test_lines_of_a_log_are_units_of_their_own() -> None:
    """Lines without a mark or a full stop are one fact each where no width explains their ends."""
    assert units(LOG) == LOG.split("\n")


def test_lines_of_a_log_in_lower_case_are_units_of_their_own() -> None:
    lines = [
        "called the insurer about the leak, claim 4471 is open with mrs weber at the branch",
        "ordered new tiles for the bathroom in lund",
        "plumber comes on thursday, he wants 900 in advance for the boiler",
    ]
    assert units("\n".join(lines)) == lines


def test_lines_of_code_are_units_of_their_own() -> None:
    code = [
        "    batch_id    bigint NOT NULL REFERENCES batches,",
        "    deposit     integer NOT NULL DEFAULT 4500,",
    ]
    text = "\n".join(["The orders:", "", "```sql", *code, "```", ""])
    assert set(code) < set(units(text + PROSE))
    assert units(text + PROSE)[-1] in PROSE


@pytest.mark.parametrize(
    "lines",
    [
        # The longer one first, so that the width alone could explain its end.
        ["Rented the hall in Malmö for the second of May", "Anna brings the projector"],
        ["09:15 met the accountant about the return for last year", "10:40 paid the invoice"],
        ["2026-03-02 moved the backups to the machine in the cellar", "2026-03-05 tested them"],
        ["Borrowed the drill from the neighbours downstairs  ", "and the long ladder as well"],
        ["Borrowed the drill from the neighbours downstairs\\", "and the long ladder as well"],
    ],
)
def test_two_lines_are_two_units(lines: list[str]) -> None:
    """Short lines with a capital each, times, dates and Markdown's hard line breaks part lines."""
    assert units("\n".join(lines)) == lines


def test_a_long_wrapped_paragraph_is_split_where_sentences_end() -> None:
    sentence = (
        "The deck is sorted by its name each time that it is drawn on the screen of the phone. "
    )
    text = textwrap.fill(sentence * 12, 72)
    found = units(text)
    assert len(found) > 2
    assert all(
        part.startswith("The deck") and part.endswith("phone.") for part in map(str.strip, found)
    )
    for line, start, _ in line_units(text):
        assert line == text.count("\n", 0, start)


def test_a_wrapped_list_item_is_one_unit_whatever_its_lines_end_with() -> None:
    item = "- Joanna: Have you seen it?\n  It is the one with the lighthouse.\n  I liked it!"
    assert units(f"{item}\n- Nate: No.") == [item, "- Nate: No."]
    assert units("- Kestrel\n  port: 8080\n  owner: Ann") == [
        "- Kestrel",
        "  port: 8080",
        "  owner: Ann",
    ]


def test_struck_lines_and_hard_breaks_part_the_lines_of_an_item() -> None:
    lines = ["- ~~The kiln is at Brookside,~~", "  ~~behind the mill.~~", "  It is at Hollow Farm."]
    assert units("\n".join(lines)) == lines
    lines = ["- Hollow Farm, kiln in the barn  ", "  and the glazes in the old dairy"]
    assert units("\n".join(lines)) == lines
