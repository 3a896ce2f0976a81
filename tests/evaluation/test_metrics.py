from __future__ import annotations

import pytest

from commonplace.evaluation.metrics import are_shown, area_under_roc, first_rank, mean, within_chars
from commonplace.evaluation.questions import Evidence, LocatedEvidence, Question
from commonplace.evaluation.report import EvaluationReport, Figures, Outcome
from commonplace.types import SearchResult, SearchResults


def result(snippet, *, start=5, path="a.md", score=0.5):
    end = start + snippet.count("\n")
    return SearchResult(path, snippet, start, end, score)


FILE = "# Title\n\nfirst\nsecond line\nthird\n\nfirst\n"


def line(number, *, file=FILE, path="a.md"):
    return LocatedEvidence(Evidence(path, number), file.split("\n")[number - 1], file)


def passage(text, *, file=FILE, path="a.md"):
    return LocatedEvidence(Evidence(path, text=text), text, file)


@pytest.mark.parametrize(
    ("number", "expected"), [(3, True), (4, True), (5, False), (1, False), (7, False)]
)
def test_a_line_is_shown_when_all_of_it_stands_at_its_place(number, expected):
    results = [result("first\nsecond line\nthi", start=3)]
    assert bool(are_shown(results, [line(number)])) is expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("first", True),
        ("second line\nthi", True),
        ("second line\nthird", False),
        ("# Title", False),
        ("third", False),
        ("line", True),
    ],
)
def test_a_passage_is_shown_when_all_of_it_is(text, expected):
    results = [result("first\nsecond line\nthi", start=3)]
    assert bool(are_shown(results, [passage(text)])) is expected


def test_a_line_of_another_file_is_not_shown():
    assert not are_shown([result("first", start=3)], [line(3, path="b.md")])


def test_snippets_that_touch_count_as_one():
    long = "one two three four\n\nfive six"
    parts = [result("three four", start=1), result("one two ", start=1), result("five", start=3)]
    assert are_shown(parts, [passage("one two three four\n\nfive", file=long)])
    assert are_shown(parts, [line(1, file=long)])
    assert not are_shown(parts[1:], [line(1, file=long)])
    assert not are_shown(parts, [passage("four\n\nfive six", file=long)])
    assert first_rank(parts, [line(1, file=long)]) == 2


def test_a_text_that_stands_twice_is_shown_by_either_place():
    assert are_shown([result("first", start=7)], [passage("first")])
    assert not are_shown([result("first", start=7)], [line(3)])


def test_carriage_returns_make_no_difference():
    file = "one\ntwo\nthree"  # as evidence has it
    assert are_shown([result("one\r\ntwo\r", start=1)], [line(1, file=file), line(2, file=file)])
    assert are_shown([result("one\r\ntwo\r", start=1)], [passage("one\ntwo", file=file)])


def test_the_head_of_a_chunk_shows_its_first_lines_only():
    file = "one\ntwo\nthree"
    reference = SearchResult("a.md", "one\ntw", 1, 30, 0.4)
    found = are_shown([reference], [line(number, file=file) for number in (1, 2, 3)])
    assert found == (Evidence("a.md", 1),)


def test_the_first_rank_is_that_of_the_first_snippet_with_any_of_the_lines():
    file = "x\ny\nz"
    results = [result("x", start=1), result("y", start=2), result("z", start=3)]
    lines = [line(3, file=file), line(2, file=file)]
    assert first_rank(results, lines) == 2
    assert first_rank(results, [line(1, file="q")]) is None
    assert first_rank([], lines) is None


def test_snippets_are_taken_until_the_next_does_not_fit():
    results = [result("aaaa"), result("bbb"), result("cccc"), result("d")]
    assert within_chars(results, chars=7) == results[:2]
    assert within_chars(results, chars=8) == results[:2]  # the last would fit; it comes too late
    assert within_chars(results, chars=3) == []
    assert within_chars(results, chars=99) == results


@pytest.mark.parametrize(
    ("own", "foreign", "expected"),
    [
        ([0.9, 0.8], [0.1, 0.2], 1.0),
        ([0.1], [0.9], 0.0),
        ([0.5], [0.5], 0.5),
        ([0.9, 0.3], [0.5, 0.3], (2 + 0.5) / 4),
        ([], [0.5], 0.0),
        ([0.5], [], 0.0),
    ],
)
def test_auroc_counts_the_pairs_that_stand_in_the_right_order(own, foreign, expected):
    assert area_under_roc(own, foreign) == pytest.approx(expected)


def test_the_mean_of_nothing_is_zero():
    assert mean([]) == 0.0
    assert mean([1.0, 0.0]) == 0.5


def outcome(
    *, found=(), wide=(), rank=None, empty=False, best=0.5, ms=1.0, category=None, first=None
):
    places = (Evidence("a.md", 1), Evidence("a.md", 2))
    results = SearchResults([] if empty else [result("x")])
    question = Question("q", places, category, first=first is not None)
    return Outcome(
        question,
        results,
        tuple(places[i] for i in found),
        tuple(places[i] for i in wide),
        first_right=bool(first),
        rank=rank,
        chars=400 if found else 200,
        chars_in_8000=800,
        json_chars=600,
        best_score=best,
        milliseconds=ms,
    )


def test_figures_by_hand():
    outcomes = [
        outcome(found=[0, 1], wide=[0, 1], rank=1, best=0.9, ms=1.0, first=True),
        outcome(found=[1], wide=[0, 1], rank=4, best=0.6, ms=9.0, first=False),
        outcome(wide=[0], best=0.3, ms=2.0),
        outcome(empty=True, best=0.0, ms=3.0),
    ]
    figures = Figures.of(outcomes, foreign_scores=[0.3, 0.1])
    assert figures == Figures(
        questions=4,
        shown=(1 + 0.5) / 4,
        shown_in_8000=(1 + 1 + 0.5) / 4,
        hit_rate=0.5,
        mrr=(1 + 0.25) / 4,
        empty=0.25,
        first_right=0.5,
        chars=300,
        chars_in_8000=800,
        json_chars=600,
        ms_per_query=2.5,
        auroc=(2 + 2 + 1.5 + 0) / 8,
    )
    assert outcomes[1].missed == (Evidence("a.md", 1),)


def test_no_questions_give_zeros():
    report = EvaluationReport(())
    assert report.overall == Figures()
    assert report.by_category == {}
    assert EvaluationReport.pool([]).overall == Figures()
    assert EvaluationReport((), foreign_scores=()).overall == Figures(auroc=0.0)


def test_categories_are_any_values_and_come_in_natural_order():
    kinds = [10, 2, "multi", None, {"b": 1, "a": [2]}, 2]
    report = EvaluationReport(tuple(outcome(category=kind) for kind in kinds))
    assert list(report.by_category) == ["", "2", "10", "multi", '{"a": [2], "b": 1}']
    assert report.by_category["2"].questions == 2


def test_pooled_reports_are_means_over_questions_not_over_files():
    good = EvaluationReport((outcome(found=[0, 1], rank=1),) * 3, foreign_scores=(0.1,))
    bad = EvaluationReport((outcome(),), fallbacks=("slow",), failed=(("a.md", "b"),))
    pooled = EvaluationReport.pool([good, bad, bad])
    assert pooled.overall.shown == pytest.approx(3 / 5)
    assert pooled.foreign_scores == (0.1,)
    assert pooled.fallbacks == ("slow",)
    assert pooled.failed == (("a.md", "b"),)
