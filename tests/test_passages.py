"""Passages of several answers, merged where they share lines."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from commonplace.tools import Passage, merge_passages

LINES = [f"- line {number}" for number in range(1, 31)]


def passage(start, end, path="a.md"):
    return Passage(path, start, "\n".join(LINES[start - 1 : end]))


def shown(merged):
    return [(one.citation, one.members) for one in merged]


def test_passages_that_share_lines_become_one_at_the_place_of_the_best():
    found = [passage(20, 22), passage(3, 6), passage(9, 9), passage(5, 8), passage(1, 3, "b.md")]
    merged = merge_passages(found)
    assert shown(merged) == [
        ("a.md#L20-L22", [0]),
        ("a.md#L3-L8", [1, 3]),
        ("a.md#L9", [2]),
        ("b.md#L1-L3", [4]),
    ]
    assert merged[1].text == "\n".join(LINES[2:8])


def test_a_passage_that_joins_two_others_makes_one_of_the_three():
    merged = merge_passages([passage(1, 3), passage(6, 8), passage(3, 6)])
    assert shown(merged) == [("a.md#L1-L8", [0, 1, 2])]


def test_of_a_line_that_is_cut_the_longer_text_stays():
    cut = Passage("a.md", 4, "- li")
    [merged] = merge_passages([cut, passage(4, 5)])
    assert merged.text == "- line 4\n- line 5"


@pytest.mark.parametrize("other", ["another part of the line", "- lime 4"])
def test_parts_of_one_line_without_a_text_in_common_stay_apart(other):
    assert len(merge_passages([passage(4, 4), Passage("a.md", 4, other)])) == 2


ranges = st.tuples(st.integers(1, 30), st.integers(0, 8)).map(
    lambda pair: (pair[0], min(30, pair[0] + pair[1]))
)


@given(st.lists(ranges, max_size=12))
def test_each_line_that_was_found_is_shown_once(found):
    merged = merge_passages([passage(*one) for one in found])
    numbers = [number for one in merged for number in one.lines]
    assert sorted(numbers) == sorted({n for start, end in found for n in range(start, end + 1)})
    assert sorted(member for one in merged for member in one.members) == list(range(len(found)))
    for one in merged:
        assert one.text.split("\n") == [LINES[number - 1] for number in sorted(one.lines)]
