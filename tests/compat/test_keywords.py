from typing import Any

import apsw
import pytest
from hypothesis import given
from hypothesis import strategies as st

from commonplace.compat.openclaw.keywords import (
    bm25_rank_to_score,
    extract_keywords,
    query_words,
)
from commonplace.text import stopwords
from support.reference import vectors


def all_of(query: str) -> str | None:
    """The reference's expression for a query."""
    return " AND ".join(f'"{word}"' for word in query_words(query)) or None


@pytest.mark.parametrize(("given_", "expected"), vectors("buildFtsQuery"))
def test_match_expressions_are_those_of_the_reference(given_: Any, expected: str | None) -> None:
    assert all_of(given_["query"]) == expected


@pytest.mark.parametrize(("given_", "expected"), vectors("bm25RankToScore"))
def test_ranks_become_the_scores_of_the_reference(given_: Any, expected: float) -> None:
    assert bm25_rank_to_score(float(given_["rank"])) == expected


@pytest.mark.parametrize(("given_", "expected"), vectors("extractKeywords"))
def test_keywords_are_those_of_the_reference(given_: Any, expected: list[str]) -> None:
    assert extract_keywords(given_["query"]) == expected


def test_marks_cut_words_as_in_the_reference() -> None:
    assert all_of("e\u0301clair") == '"e" AND "clair"'


@pytest.mark.slow
@given(st.text())
def test_any_text_is_a_valid_match(text: str) -> None:
    database = apsw.Connection(":memory:")
    database.execute("CREATE VIRTUAL TABLE notes USING fts5(text)")
    expression = all_of(text)
    if expression is not None:
        database.execute("SELECT * FROM notes WHERE notes MATCH ?", (expression,)).fetchall()


@pytest.mark.slow
@given(st.text())
def test_keywords_are_lower_case_and_different(text: str) -> None:
    keywords = extract_keywords(text)
    assert len(set(keywords)) == len(keywords)
    assert all(keyword and keyword.strip() == keyword for keyword in keywords)


def test_a_better_rank_is_a_better_score() -> None:
    scores = [bm25_rank_to_score(rank) for rank in (-9.0, -4.2, -1.0, -0.1)]
    assert scores == sorted(scores, reverse=True)
    assert all(0 < score < 1 for score in scores)


@pytest.mark.parametrize("word", ["the", "what", "did", "when", "about", "we"])
def test_function_words_are_in_the_english_list(word: str) -> None:
    assert word in stopwords.ENGLISH


@pytest.mark.parametrize("word", ["help", "find", "show", "today", "yesterday", "may", "port"])
def test_words_that_may_matter_are_not_in_the_english_list(word: str) -> None:
    assert word not in stopwords.ENGLISH


def test_request_words_are_dropped_from_keywords() -> None:
    assert extract_keywords("please help me find the thing from yesterday: router") == ["router"]
