from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from commonplace.retrieval.mmr import (
    TokenSets,
    jaccard,
    mmr_order,
    mmr_value,
    tokenize,
    tokenize_all_scripts,
)
from support.reference import vectors

CANDIDATES = st.lists(
    st.tuples(
        st.sampled_from([0.0, 0.25, 0.5, 0.75, 1.0, -0.5]) | st.floats(-1, 1),
        st.frozensets(st.sampled_from("abcdef")),
    ),
    max_size=12,
)


def order(candidates: list[Any], **options: Any) -> list[int]:
    scores = [score for score, _ in candidates]
    tokens = [tokens for _, tokens in candidates]
    return [pick.candidate for pick in mmr_order(scores, tokens, **options)]


def plain_mmr(candidates: list[Any], lambda_: float) -> list[int]:
    """Pick as the reference describes it, comparing everything with everything each round."""
    scores = [score for score, _ in candidates]
    low, high = min(scores), max(scores)
    relevance = [(s - low) / (high - low) if high > low else 1.0 for s in scores]
    picked: list[int] = []
    left = list(range(len(candidates)))
    while left:

        def value(index: int) -> tuple[float, float]:
            similar = [jaccard(candidates[index][1], candidates[other][1]) for other in picked]
            return mmr_value(relevance[index], max(similar, default=0.0), lambda_), scores[index]

        best = max(left, key=value)
        left.remove(best)
        picked.append(best)
    return picked


@pytest.mark.parametrize(("given_", "expected"), vectors("mmr.tokenize"))
def test_words_are_those_of_the_reference(given_: Any, expected: list[str]) -> None:
    assert sorted(tokenize(given_["text"])) == sorted(expected)


@pytest.mark.parametrize(("given_", "expected"), vectors("textSimilarity"))
def test_similarity_is_that_of_the_reference(given_: Any, expected: float) -> None:
    assert jaccard(tokenize(given_["a"]), tokenize(given_["b"])) == expected


@pytest.mark.parametrize(("given_", "expected"), vectors("computeMMRScore"))
def test_the_value_is_that_of_the_reference(given_: Any, expected: float) -> None:
    value = mmr_value(given_["relevance"], given_["maxSimilarity"], given_["lambda"])
    assert value == expected


@pytest.mark.parametrize(("given_", "expected"), vectors("mmrRerank"))
def test_the_order_is_that_of_the_reference(given_: Any, expected: list[str]) -> None:
    items, config = given_["items"], given_["config"]
    if not config.get("enabled", False):
        pytest.skip("the pipeline does not call it when it is off")
    picks = mmr_order(
        [item["score"] for item in items],
        [tokenize(item["content"]) for item in items],
        lambda_=config.get("lambda", 0.7),
    )
    assert [items[pick.candidate]["id"] for pick in picks] == expected


@given(CANDIDATES.filter(bool), st.sampled_from([0.0, 0.3, 0.5, 0.7, 1.0]))
def test_the_short_cut_picks_what_the_long_way_picks(candidates: Any, lambda_: float) -> None:
    assert order(candidates, lambda_=lambda_) == plain_mmr(candidates, lambda_)


@given(CANDIDATES)
def test_lambda_one_is_the_plain_ranking(candidates: Any) -> None:
    plain = sorted(range(len(candidates)), key=lambda index: -candidates[index][0])
    assert order(candidates, lambda_=1.0) == plain
    assert order(candidates, lambda_=7.0) == plain


@given(CANDIDATES, st.floats(0, 1))
def test_every_candidate_is_picked_once(candidates: Any, lambda_: float) -> None:
    assert sorted(order(candidates, lambda_=lambda_)) == list(range(len(candidates)))


def test_a_pick_carries_the_value_that_won() -> None:
    tokens = [tokenize("apple banana"), tokenize("apple banana"), tokenize("fig")]
    picks = mmr_order([1.0, 0.9, 0.5], tokens, lambda_=0.5)
    assert [pick.candidate for pick in picks] == [0, 2, 1]
    assert [pick.value for pick in picks] == pytest.approx([0.5, 0.0, -0.1])


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("Hello wORLD_1!", {"hello", "world_1"}),
        ("naïve café", {"naïve", "café"}),
        ("nai\u0308ve", {"naïve"}),
        ("Привет, мир", {"привет", "мир"}),
        ("我喜欢hello你好", {"我", "喜", "欢", "我喜", "喜欢", "hello", "你", "好", "你好"}),
        ("한국어", {"한", "국", "어", "한국", "국어"}),
    ],
)
def test_our_words_are_of_every_script(text: str, words: set[str]) -> None:
    assert tokenize_all_scripts(text) == words


def test_token_sets_are_made_once_and_only_when_asked_for() -> None:
    seen: list[str] = []

    def spy(text: str) -> frozenset[str]:
        seen.append(text)
        return tokenize(text)

    sets = TokenSets(["a b", "c d"], spy)
    assert sets[1] == sets[1] == {"c", "d"}
    assert seen == ["c d"]
