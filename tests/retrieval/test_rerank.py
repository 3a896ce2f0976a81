"""The reranking stage: what a reranker sees, what becomes of its scores, and how it fails."""

import threading
import time

import numpy as np
import pytest

from commonplace.memory import Memory
from commonplace.retrieval.pipeline import LineRanker
from commonplace.retrieval.query import Query
from commonplace.retrieval.rerank import MAX_PASSAGES, RerankClient
from commonplace.settings import Settings
from commonplace.store.records import RowFilter
from commonplace.tools import search_answer
from support.fakes import NOON, HashedWords, clock
from transcripts.talk import Talk, user

EMBEDDER = HashedWords(96)
QUERY = "where is the ladder?"
PLACES = ("garden", "kitchen", "attic", "cellar", "shed", "garage", "loft", "porch")


class Passages:
    """A reranker that keeps what it is asked and prefers passages with a word."""

    def __init__(self, word="attic"):
        self.word = word
        self.queries = []
        self.seen = []

    def __call__(self, query, passages):
        self.queries.append(query)
        self.seen += passages
        return [float(self.word in passage) for passage in passages]


@pytest.fixture(scope="module", params=["index.sqlite", "memory://"])
def snapshot(request, tmp_path_factory):
    folder = tmp_path_factory.mktemp("rerank")
    (folder / "notes/memory").mkdir(parents=True)
    for number, place in enumerate(PLACES):
        text = f"# {place}\n\n- The ladder is in the {place}, behind shelf {number}.\n"
        (folder / f"notes/memory/{place}.md").write_text(text)
    index = request.param if "://" in request.param else folder / request.param
    with Memory.open(folder / "notes", embedder=EMBEDDER, index=index, now=clock()) as memory:
        memory.index()
        with memory.snapshot() as snapshot:
            yield snapshot


def ask(
    snapshot,
    reranker=None,
    *,
    deadline_s=5.0,
    limit=6,
    min_score=0.0,
    rows=RowFilter(),  # noqa: B008
    max_chars=4_200,
):
    vector = np.asarray(EMBEDDER.embed_query(QUERY), np.float32)
    vector /= np.linalg.norm(vector)
    query = Query(QUERY, vector, NOON, limit, min_score, rows, max_chars)
    client = None if reranker is None else RerankClient(reranker, deadline_s=deadline_s)
    ranker = LineRanker(Settings().search, client)
    return ranker.rank(snapshot, query, explain=True)


def places(ranking):
    return [(result.path, result.start_line, result.snippet) for result in ranking.results]


def scores(ranking):
    return [result.score for result in ranking.results]


def test_results_are_in_the_order_of_the_scores(snapshot):
    plain = ask(snapshot)
    order = {}

    def reversed_order(query, passages):
        order.update({passage: float(at) for at, passage in enumerate(passages)})
        return list(order.values())

    reranked = ask(snapshot, reversed_order, limit=8)
    given = [order[result.snippet] for result in reranked.results]
    assert given == sorted(given, reverse=True)
    assert reranked.results[0].snippet == [*order][-1]
    assert scores(reranked) == sorted(scores(reranked), reverse=True)
    assert len(set(scores(reranked))) == len(reranked.results)
    assert reranked.results[0].score == plain.results[0].score  # the answer is worth as much
    assert reranked.fallback is None


def test_a_passage_from_behind_the_limit_can_come_first(snapshot):
    last = ask(snapshot, limit=8).results[-1]
    assert last.snippet not in [result.snippet for result in ask(snapshot, limit=3).results]
    first = ask(snapshot, Passages(last.snippet), limit=3).results[0]
    assert first.snippet == last.snippet


def test_equal_scores_keep_the_order(snapshot):
    plain = ask(snapshot)
    score = dict(zip(places(plain), scores(plain), strict=True))
    reranked = ask(snapshot, lambda query, passages: [0.0] * len(passages))
    kept = [score[place] for place in places(reranked)]  # two of one score may change places
    assert kept == sorted(score.values(), reverse=True)


def test_the_explanation_says_what_the_reranker_gave(snapshot):
    results = ask(snapshot, Passages(), limit=8).results
    assert [result.explanation.rerank for result in results] == [1.0] + [0.0] * (len(results) - 1)
    assert {result.explanation.rerank for result in ask(snapshot).results} == {None}


def test_the_reranker_gets_the_question_and_whole_snippets(snapshot):
    reranker = Passages()
    results = ask(snapshot, reranker, limit=8).results
    assert reranker.queries == [QUERY]
    assert {result.snippet for result in results} <= set(reranker.seen)


def test_at_most_fifty_passages_are_reranked(tmp_path):
    (tmp_path / "notes/memory").mkdir(parents=True)
    for number in range(120):
        text = f"# Ladder {number}\n\n" + f"The ladder {number} is in rack {number}. " * 18
        (tmp_path / f"notes/memory/{number}.md").write_text(text)
    reranker = Passages("rack 119")
    with Memory.open(
        tmp_path / "notes", embedder=EMBEDDER, index=tmp_path / "index.sqlite", now=clock()
    ) as memory:
        memory.index()
        with memory.snapshot() as snapshot:
            plain = ask(snapshot, limit=200, max_chars=100_000)
            reranked = ask(snapshot, reranker, limit=200, max_chars=100_000)
    assert len(reranker.seen) == MAX_PASSAGES
    assert len(plain.results) == len(reranked.results) > MAX_PASSAGES
    assert {*places(reranked)} == {*places(plain)}
    given = [result.explanation.rerank for result in reranked.results]
    assert [score is None for score in given[:MAX_PASSAGES]] == [False] * MAX_PASSAGES
    assert {*given[MAX_PASSAGES:]} == {None}
    assert scores(reranked) == sorted(scores(reranked), reverse=True)


@pytest.mark.slow
def test_notes_and_sessions_are_reranked_in_one_call(tmp_path):
    talk = Talk(tmp_path)
    for number in range(40):
        text = f"The ladder {number} is in rack {number}. " * 18
        talk.write(f"memory/rack-{number}.md", text)
    talk.say(*(user(f"The ladder {n} is behind door {n}. " * 18) for n in range(40)))
    reranker = Passages("nothing")
    with talk.open(EMBEDDER) as memory:
        memory.index()
        with memory.snapshot() as snapshot:
            ranking = ask(snapshot, reranker, limit=60, max_chars=42_000)
    assert reranker.queries == [QUERY]
    assert len(reranker.seen) == MAX_PASSAGES
    assert sum("door" in passage for passage in reranker.seen) == MAX_PASSAGES // 2
    assert {result.source for result in ranking.results} == {"memory", "sessions"}


def test_without_candidates_the_reranker_is_not_called(snapshot):
    reranker = Passages()
    assert ask(snapshot, reranker, rows=RowFilter(after=NOON.date().toordinal())).results == []
    assert reranker.queries == []


def failing(query, passages):
    raise ConnectionError("no answer from https://u:s3cr3t-of-mine@rerank.example, key sk-12345678")


@pytest.mark.parametrize(
    ("reranker", "reason"),
    [
        (failing, "ConnectionError: no answer from"),
        (lambda query, passages: [1.0], "it returned 1 scores for 8 passages"),
        (lambda query, passages: [1.0] * 9, "it returned 9 scores for 8 passages"),
        (lambda query, passages: [[1.0, 2.0]] * 8, "scores of shape (8, 2) for 8 passages"),
        (lambda query, passages: [float("nan")] * 8, "a score that is no finite number"),
        (lambda query, passages: [float("inf")] * 8, "a score that is no finite number"),
        (lambda query, passages: ["good"] * 8, "ValueError: could not convert"),
        (lambda query, passages: None, "TypeError"),
        (lambda query, passages: 1.0, "TypeError"),
        (lambda query: [], "TypeError"),
        (lambda query, passages: exec("raise SystemExit"), "SystemExit"),
    ],
)
def test_a_failure_keeps_the_order_and_is_reported(snapshot, reranker, reason):
    plain, ranking = ask(snapshot), ask(snapshot, reranker)
    assert places(ranking) == places(plain)
    assert scores(ranking) == scores(plain)
    assert ranking.fallback.startswith("the reranker failed: ")
    assert ranking.fallback.endswith("; results are in the order without it")
    assert reason in ranking.fallback
    assert "s3cr3t" not in ranking.fallback
    assert "sk-12345678" not in ranking.fallback


def test_a_reranker_that_hangs_costs_its_deadline_and_no_more(snapshot):
    release = threading.Event()

    def hanging(query, passages):
        release.wait(30)
        return [0.0] * len(passages)

    client = RerankClient(hanging, deadline_s=0.1)
    ranker = LineRanker(Settings().search, client)
    query = Query(QUERY, None, NOON, 6, 0.0)
    plain = LineRanker(Settings().search).rank(snapshot, query)
    started = time.monotonic()
    rankings = [ranker.rank(snapshot, query) for _ in range(8)]
    taken = time.monotonic() - started
    release.set()
    assert taken < 3
    assert [places(ranking) for ranking in rankings] == [places(plain)] * 8
    assert "it did not answer within 0.1 s" in rankings[0].fallback
    assert "4 earlier calls have not returned yet" in rankings[-1].fallback
    deadline = time.monotonic() + 10
    while ranker.rank(snapshot, query).fallback is not None:  # the calls have returned now
        assert time.monotonic() < deadline
        time.sleep(0.01)


@pytest.mark.parametrize(
    "given",
    [
        lambda scores: np.array(scores, np.float32),
        lambda scores: np.array(scores)[:, None],
        tuple,
        iter,
        lambda scores: [int(score) for score in scores],
    ],
    ids=["array", "column", "tuple", "iterator", "integers"],
)
def test_scores_may_be_any_sequence_of_numbers(snapshot, given):
    attic = Passages()
    ranking = ask(snapshot, lambda query, passages: given(attic(query, passages)))
    assert ranking.fallback is None
    assert "attic" in ranking.results[0].snippet


@pytest.mark.parametrize("method", ["predict", "score"])
def test_a_cross_encoder_is_asked_for_pairs(snapshot, method):
    class CrossEncoder:
        def __call__(self, tensors):
            raise AssertionError("a torch module runs its network when it is called")

    def scored(self, pairs):
        assert {query for query, _ in pairs} == {QUERY}
        return np.array([float("attic" in passage) for _, passage in pairs])

    setattr(CrossEncoder, method, scored)
    ranking = ask(snapshot, CrossEncoder())
    assert ranking.fallback is None
    assert "attic" in ranking.results[0].snippet


def test_anything_else_is_refused_at_once():
    with pytest.raises(TypeError, match="reranker is int; a callable"):
        RerankClient(3)


# Through `Memory` and the tools.


@pytest.fixture
def open_notes(tmp_path):
    (tmp_path / "notes/memory").mkdir(parents=True)
    for place in PLACES:
        (tmp_path / f"notes/memory/{place}.md").write_text(f"- The ladder is in the {place}.\n")

    def opened(reranker, embedder=EMBEDDER, **options):
        return Memory.open(
            tmp_path / "notes",
            embedder=embedder,
            reranker=reranker,
            index=tmp_path / "index.sqlite",
            now=clock(),
            **options,
        )

    return opened


def test_a_memory_takes_a_reranker(open_notes):
    reranker = Passages("porch")
    with open_notes(reranker) as memory:
        results = memory.search(QUERY, explain=True)
        assert results[0].path == "memory/porch.md"
        assert results[0].explanation.rerank == 1.0
        assert (results.mode, results.fallback) == ("hybrid", None)
        assert memory.with_search_settings(mmr=False).search(QUERY)[0].path == "memory/porch.md"
        assert len(reranker.queries) == 2
        assert memory.search("") == []
        assert len(reranker.queries) == 2


def test_the_tools_say_that_the_reranker_failed(open_notes):
    with open_notes(failing) as memory, open_notes(None) as plain:
        answer = search_answer(memory, {"query": QUERY})
        assert "the reranker failed: ConnectionError" in answer["fallback"]
        assert answer["mode"] == "hybrid"
        assert answer["results"] == search_answer(plain, {"query": QUERY})["results"]


def test_words_alone_are_reranked_too_and_both_reasons_are_given(open_notes):
    with open_notes(failing, embedder=None) as memory:
        fallback = memory.search(QUERY).fallback
    assert fallback.startswith("embedder=None: search by keywords; the reranker failed: ")
    with open_notes(Passages("porch"), embedder=None) as memory:
        assert memory.search(QUERY)[0].path == "memory/porch.md"


def test_what_is_no_reranker_is_refused_when_the_memory_opens(open_notes):
    with pytest.raises(TypeError, match="a callable"):
        open_notes("cohere")
