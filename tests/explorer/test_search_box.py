from __future__ import annotations

from dataclasses import replace
from datetime import date

import pytest

from commonplace import Explanation, Memory, explorer
from commonplace.explorer.comparison import compare_results
from commonplace.types import SearchResult, Supersession

pytest.importorskip("ipywidgets")

QUERY = "How much does a club pay for the hosted plan now?"


@pytest.fixture
def box(memory):
    return explorer.search_box(memory, QUERY)


def test_the_answer_is_that_of_the_memory_and_its_best_line_stands_out(memory, box):
    assert box.results == memory.search(QUERY, explain=True)
    shown = box._repr_html_()
    assert "cp-best" in shown.split("</style>")[-2]
    assert box.results[0].citation in shown


def test_what_is_typed_is_answered_at_once(box):
    box.query.value = "Which port does staging use?"
    assert "Which port does staging use?" in box._answer.value
    assert box._found[0].citation in box._answer.value
    box.query.value = "  "
    assert box._answer.value == ""
    assert box._why.value == ""


@pytest.mark.parametrize(
    ("slider", "value", "setting", "set_to"),
    [
        ("vectors", 0.25, "vector_weight", 0.25),
        ("vectors", 0.25, "text_weight", 0.75),
        ("half_life", "off", "decay", False),
        ("half_life", 7, "half_life_days", 7),
        ("mmr", "off", "mmr", False),
        ("mmr", 0.3, "mmr_lambda", 0.3),
        ("budget", 1_000, "max_chars", 1_000),
    ],
)
def test_a_slider_sets_one_setting_and_leaves_the_memory_alone(
    memory, box, slider, value, setting, set_to
):
    own = memory.settings
    getattr(box, slider).value = value
    tuned = box._tuned()
    assert getattr(tuned.settings.search, setting) == set_to
    assert box.results == tuned.search(QUERY, explain=True)
    assert box.results[0].citation in box._answer.value
    assert memory.settings is own


def test_the_days_narrow_the_answer_down(box):
    first, last = date(2026, 11, 12), date(2026, 11, 13)
    box.days.value = (first, last)
    assert {result.path for result in box.results} <= {
        "memory/2026-11-12.md",
        "memory/2026-11-13.md",
    }
    assert "memory/2026-11-06" not in box._answer.value


def test_over_all_days_files_without_a_date_count(box):
    assert any(result.path == "memory/projects/billing.md" for result in box.results)


def test_two_results_are_compared_also_one_that_is_behind_the_answer(box):
    box.budget.value = 1_000
    first, second = box._found[:2]
    assert first.citation in box._why.value
    assert second.citation in box._why.value
    behind = next(at for name, at in box.that.options if "(behind)" in name)
    box.that.value = behind
    assert box._found[behind].citation in box._why.value
    box.that.value = box.this.value
    assert box._why.value == ""


def test_a_page_without_a_kernel_shows_the_answer(box):
    bundle = box._repr_mimebundle_()
    assert "application/vnd.jupyter.widget-view+json" in bundle
    page = bundle["text/html"]
    for part in (QUERY, "half-life in days", box.results[0].citation):
        assert part in page
    assert "<script" not in page


def test_a_memory_without_notes_or_days_has_a_box_too(tmp_path):
    with Memory.open(tmp_path, embedder=None, index=tmp_path / "i.sqlite") as memory:
        box = explorer.search_box(memory)
        assert box.days is None
        box.query.value = "anything"
        assert "no results" in box._repr_html_()


# ---------------------------------------------------------------- why this, why not that

PLAIN = Explanation(
    vector=0.6, keyword=0.6, fused=0.6, age_days=4, decay=1.0, mmr=1.0, terms=("port",)
)
THIS = SearchResult("a.md", "the port is 51820", 1, 1, 0.6, explanation=PLAIN)


def that(score=0.5, **changes):
    return replace(THIS, path="b.md", score=score, explanation=replace(PLAIN, **changes))


@pytest.mark.parametrize(
    ("other", "reason"),
    [
        (that(vector=0.2, fused=0.5), "nearer to the question in meaning"),
        (that(keyword=0.1, fused=0.5), "more of the question's words"),
        (that(fused=0.5), "its lines around, headings and form fit better"),
        (that(decay=0.8), "the other one is older than a line that restates"),
        (that(mmr=0.5), "the other one repeats a better line"),
        (that(score=0.6), "Both fit as well"),
        (
            that(vector=0.1, supersessions=(Supersession("a.md#L1", "b.md#L1", "cue"),)),
            "b.md#L1 stands back for a.md#L1: corrected.",
        ),
    ],
)
def test_the_reason_is_what_made_the_greatest_difference(other, reason):
    for pair in ((THIS, other), (other, THIS)):
        comparison = compare_results(*pair)
        assert reason in comparison.reason
    assert comparison.this.score >= comparison.that.score


def test_facts_that_are_equal_are_left_out_of_a_comparison():
    rows = {name: values for name, *values in compare_results(THIS, that(mmr=None)).rows}
    assert rows == {
        "score": ["0.60", "0.50"],
        "repetition": ["1.00", "–"],
        "words found": ["port", "port"],
    }


def test_results_without_an_explanation_are_not_compared():
    with pytest.raises(ValueError, match="search with explain=True"):
        compare_results(THIS, replace(THIS, explanation=None))
