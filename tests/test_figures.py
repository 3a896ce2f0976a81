"""Figures of a page are those that its commands printed: `tests/data/printed` has them."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from support.pages import TEXTS, sections, without_blocks

ROOT = Path(__file__).parents[1]
BENCHMARKS = ROOT / "docs/benchmarks.md"
PRINTED = {
    lines[0].removeprefix("$ ").rstrip(): lines[1:]
    for path in sorted((ROOT / "tests/data/printed").glob("*.txt"))
    for lines in [path.read_text("utf-8").splitlines()]
}
"""What each command said last, by the command."""
FIGURE = re.compile(
    r"([\d,]*\.?\d+)(?: ?(?:ms|%)(?!\w)| times as| a second)"
    r"|(\d\.\d+) (?:s|[KMG]i?B)\b|(?<![\d`])(0?\.\d{3})\b"
)
NUMBER = re.compile(r"(?<![\w.,-])(?:\d[\d,]*(?:\.\d+)?|\.\d+)(?:e[+-]\d+)?")
COMMAND = re.compile(r"python tests/benchmarks/\w+\.py[^\n#`]*")
TEST = re.compile(r"tests/\w[\w/]*/test_\w+\.py")


def figures(section: str) -> Iterator[tuple[str, list[str]]]:
    """Yield each figure of a section with the lines that its commands printed.

    In a table below whose heading a benchmark stands, each number is a figure.
    """
    where = printed(section)
    for line in without_blocks(section).splitlines():
        first, *cells = (cell.strip() for cell in line.strip("|").split("|"))
        if not cells or not COMMAND.search(section):
            for found in FIGURE.findall(line):
                yield "".join(found), where
        elif COMMAND.search(first):
            for figure in NUMBER.findall(cells[-1]):
                yield figure, printed(first)
        else:
            own = [said for said in where if said.strip().startswith(first or " ")]
            for figure in NUMBER.findall(" | ".join(cells)):
                yield figure, own or where


def printed(text: str) -> list[str]:
    """Return the lines that the commands of a text printed, and the tests that it names."""
    commands = [command.strip() for command in COMMAND.findall(text)]
    tests = [(ROOT / name).read_text("utf-8") for name in TEST.findall(text)]
    return [line for command in commands for line in PRINTED.get(command, ())] + tests


def is_printed(figure: str, lines: list[str]) -> bool:
    least, most = bounds(figure)
    found = (float(number.replace(",", "")) for line in lines for number in NUMBER.findall(line))
    return any(least <= number <= most for number in found)


@pytest.mark.parametrize("path", TEXTS, ids=lambda path: path.name)
def test_a_figure_is_printed_by_the_command_of_its_section(path):
    found = [it for section in sections(path.read_text("utf-8")) for it in figures(section)]
    assert [figure for figure, lines in found if not is_printed(figure, lines)] == []


@pytest.mark.parametrize(
    "text",
    [
        "It answers in 3.1 ms.",
        "Recall is .912.",
        "It takes 2.34 s.\n\n```sh\npython tests/benchmarks/core.py --chunks 10000 100000\n```\n",
        "| `python tests/benchmarks/soak.py` | ten minutes of four | 17,171,717 searches |",
    ],
)
def test_a_figure_that_no_command_prints_is_noticed(text):
    [(figure, lines)] = figures(text)
    assert not is_printed(figure, lines)


def test_what_was_printed_is_of_commands_that_a_page_shows():
    shown = {
        command.strip() for path in TEXTS for command in COMMAND.findall(path.read_text("utf-8"))
    }
    assert set(PRINTED) - shown == set()


def table(title: str) -> list[dict[str, str]]:
    """Return the rows of the benchmarks' table whose head begins so, by column."""
    text = BENCHMARKS.read_text("utf-8")
    [head, _, *rows] = (title + text.split(title)[1].split("\n\n")[0]).splitlines()
    columns, *cells = ([cell.strip() for cell in row.split("|")[1:-1]] for row in (head, *rows))
    return [dict(zip(columns, row, strict=True)) for row in cells]


def bounds(figure: str) -> tuple[float, float]:
    """Return the least and the largest value that is rounded to a figure."""
    number = re.match(r"[\d,]*\.?\d+", figure)
    assert number, figure
    digits = number[0].replace(",", "")
    half = 0.5 * 10 ** -len(digits.partition(".")[2])
    if "." not in digits and len(digits) > 3:
        half *= 10 ** (len(digits) - len(digits.rstrip("0")))
    return float(digits) - half, float(digits) + half


@pytest.mark.parametrize("title", ["| | ours | floor", "| a million chunks | ours | floor"])
def test_a_ratio_is_that_of_the_figures_beside_it(title):
    compared = [row for row in table(title) if row["ratio"]]
    assert len(compared) > 1
    for row in compared:
        _, ours, floor, ratio = row.values()
        (least, most), (low, high) = bounds(ours), bounds(floor)
        stated = bounds(ratio)
        assert least / high <= stated[1], row
        assert most / low >= stated[0], row


def test_shares_are_shares():
    for row in table("| ranking | in the default answer"):
        assert all(0 <= float(value) <= 1 for name, value in row.items() if name != "ranking")
        assert float(row["in the default answer"]) <= float(row["in 8,000 characters"]), row


def test_counts_and_times_of_the_benchmarks_are_in_their_order():
    text = BENCHMARKS.read_text("utf-8")
    counts = re.findall(r"([\d,]+) of ([\d,]+)", text)
    assert len(counts) > 9
    assert [pair for pair in counts if bounds(pair[0])[1] > bounds(pair[1])[1]] == []
    [(median, most, worst)] = re.findall(
        r"p50 ([\d.]+) ms, p99 ([\d.]+) ms, worst ([\d.]+) ms", text
    )
    assert float(median) <= float(most) <= float(worst)


def test_the_benchmark_of_the_core_prints_each_row_of_its_table():
    source = (ROOT / "tests/benchmarks/core.py").read_text("utf-8")
    labels = re.findall(r'(?:Row|_label)\(\s*f?"([^"]+)"', source)
    known = {label.replace("{name}", "p50") for label in labels}
    rows = {re.sub(r", [\d,]+ chunks$", "", row[""]) for row in table("| | ours")}
    assert rows - known == set()


def test_the_figures_of_masking_are_those_that_its_benchmark_prints():
    source = (ROOT / "tests/benchmarks/redaction.py").read_text("utf-8")
    before = ast.literal_eval(source.split("BEFORE = ")[1].split("}")[0] + "}")
    masked, touched = zip(*before.values(), strict=True)
    page = " ".join((ROOT / "docs/how-to/secrets.md").read_text("utf-8").split())
    shown = [f"{float(share.strip('%')):.0f}" for share in masked]
    assert "{}, {}, {}, {} and {} of 100 secrets".format(*shown[-5:]) in page
    assert "{}, {}, {} and {} of 100 were masked".format(*shown[-9:-5]) in page
    shown = [share.strip("%") for share in touched]
    assert "{}, {}, {}, {} and {} of 100 harmless texts".format(*shown[-5:]) in page
    lists = {path.stem for path in (ROOT / "tests/data/redaction").glob("round_*_secrets.txt")}
    assert lists == {f"round_{number}_secrets" for number in before}
    assert f"No list of forms is complete. {len(lists)} lists" in page


def test_each_of_the_other_figures_has_its_command():
    for row in table("| command | what it does"):
        assert re.match(r"`python tests/benchmarks/\w+\.py\b", row["command"]), row
