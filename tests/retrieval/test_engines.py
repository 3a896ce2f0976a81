"""The same question to both engines, and once more: the same answer."""

import contextlib

import pytest

from commonplace.demo import demo_questions, write_demo_workspace
from commonplace.embeddings.client import EmbeddingClient
from commonplace.memory import Memory
from commonplace.profiles import from_settings
from commonplace.retrieval.query import Query
from commonplace.settings import Settings
from commonplace.store.records import RowFilter
from support.fakes import NOON, HashedWords, clock
from support.sampling import sampled

SETTINGS = {"lines": Settings(), "chunks": Settings.openclaw()}
EMBEDDER = HashedWords(96)
QUERIES = [question.question for question in demo_questions(NOON.date())]
QUERIES += [
    "VPN port",
    "last week",
    "yesterday's standup",
    "数据库",
    "to be",
    "spaceship",
    "the budget",
]


@pytest.fixture(scope="module", params=SETTINGS)
def indexed(request, tmp_path_factory):
    """A ranker, and a snapshot of each engine."""
    folder = tmp_path_factory.mktemp("engines")
    root = write_demo_workspace(folder / "notes", today=NOON.date())
    (root / "MEMORY.md").write_text(
        "- 数据库备份在周五\n" + (root / "MEMORY.md").read_text("utf-8"), "utf-8"
    )
    settings = SETTINGS[request.param]
    with contextlib.ExitStack() as stack:
        snapshots = []
        for index in (folder / "index.sqlite", "memory://"):
            options = {"settings": settings, "embedder": EMBEDDER, "index": index, "now": clock()}
            memory = stack.enter_context(Memory.open(root, **options))
            memory.index()
            snapshots.append(stack.enter_context(memory.snapshot()))
        yield from_settings(settings).ranker(), *snapshots


def ask(snapshot, query, ranker, *, vector=True, limit=6, rows=RowFilter()):  # noqa: B008
    embedded = EmbeddingClient(EMBEDDER).embed_query(query) if vector else None
    asked = Query(query, embedded, NOON, limit=limit, min_score=0.0, rows=rows)
    return ranker.rank(snapshot, asked, explain=True).results


@pytest.mark.slow
@pytest.mark.parametrize("vector", [True, False], ids=["hybrid", "words"])
@pytest.mark.parametrize("limit", sampled([1, 6, 60], every=2))
def test_both_engines_give_the_same_answer(indexed, vector, limit):
    ranker, sqlite, plain = indexed
    for query in QUERIES:
        one = ask(sqlite, query, ranker, vector=vector, limit=limit)
        other = ask(plain, query, ranker, vector=vector, limit=limit)
        assert [place(hit) for hit in one] == [place(hit) for hit in other], query
        assert numbers(one) == pytest.approx(numbers(other), abs=1e-4), query


def test_both_engines_filter_alike(indexed):
    ranker, sqlite, plain = indexed
    today = NOON.date().toordinal()
    for rows in (
        RowFilter(after=today - 9),
        RowFilter(before=today - 9),
        RowFilter(sources=frozenset({"memory"}), after=today - 12, before=today - 5),
        RowFilter(sources=frozenset({"sessions"})),
    ):
        one = ask(sqlite, "what was decided about the release?", ranker, rows=rows)
        other = ask(plain, "what was decided about the release?", ranker, rows=rows)
        assert [place(hit) for hit in one] == [place(hit) for hit in other]
        assert bool(one) == (rows.sources != {"sessions"})


def test_the_same_question_has_the_same_answer(indexed):
    ranker, sqlite, _ = indexed
    for query in QUERIES:
        assert ask(sqlite, query, ranker) == ask(sqlite, query, ranker)


def place(hit):
    return hit.path, hit.start_line, hit.end_line, hit.snippet, hit.heading, hit.explanation.terms


def numbers(hits):
    return [
        number if number is not None else -9.0
        for hit in hits
        for number in (
            hit.score,
            hit.explanation.vector,
            hit.explanation.keyword,
            hit.explanation.fused,
            hit.explanation.decay,
            hit.explanation.mmr,
        )
    ]
