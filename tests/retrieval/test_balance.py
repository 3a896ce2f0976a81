"""Sessions beside the notes: the notes are ranked as if there were no sessions."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from commonplace.retrieval.pipeline import _by_source
from commonplace.retrieval.query import Query
from commonplace.retrieval.source_quota import merge_sources
from commonplace.store.records import RowFilter
from commonplace.types import SearchResult
from support.fakes import NOON, HashedWords
from transcripts.talk import Talk, user

FACTS = [
    f"- The {thing} is in the {place}."
    for thing in ("cat", "dog", "key", "ladder", "printer", "bicycle", "tent")
    for place in ("garden", "kitchen", "attic", "cellar")
]


@pytest.fixture(params=["vectors", "words"])
def embedder(request):
    return HashedWords(96) if request.param == "vectors" else None


def told(hits):
    return [(hit.path, hit.start_line, hit.end_line, hit.snippet, hit.score) for hit in hits]


def flooded(folder, lines, files=6):
    """Notes, and sessions that say something else about everything, again and again."""
    talk = Talk(folder)
    for number in range(0, len(FACTS), 4):
        text = "\n".join(["# Things", "", *FACTS[number : number + 4]])
        talk.write(f"memory/things-{number}.md", text + "\n")
    for number in range(files if lines else 0):
        talk.say(
            *(user(line.format(n=n)) for n in range(60) for line in lines), name=f"{number}.jsonl"
        )
    return talk


def test_notes_are_ranked_as_if_there_were_no_sessions(tmp_path, embedder):
    alone = flooded(tmp_path / "alone", [])
    with_sessions = flooded(
        tmp_path / "flood", ["Nobody knows where the {n} ladder is, cat or not."]
    )
    for options in ({"sources": ["memory"]}, {"sources": ["memory"], "max_results": 20}):
        answers = []
        for talk in (alone, with_sessions):
            with talk.open(embedder) as memory:
                memory.index()
                answers.append(
                    [
                        told(memory.search(q, **options))
                        for q in ("where is the cat?", "ladder attic")
                    ]
                )
        assert answers[0] == answers[1]


def test_a_flood_of_sessions_takes_a_third_of_the_places_at_most(tmp_path, embedder):
    talk = flooded(tmp_path, ["Where is the cat? The cat is where the cat is, {n}."])
    with talk.open(embedder) as memory:
        memory.index()
        alone = memory.search("where is the cat?", sources=["memory"])
        hits = memory.search("where is the cat?")
    notes = [hit for hit in hits if hit.source == "memory"]
    said = sum(len(hit.snippet) for hit in hits if hit.source == "sessions")
    left = 4_200 - sum(len(hit.snippet) for hit in alone)
    assert said <= max(1_400, left)
    assert len(notes) >= min(4, len(alone))
    assert told(notes) == told(alone[: len(notes)])
    assert {hit.source for hit in hits[: min(2, len(alone))]} == {"memory"}


def test_what_only_was_said_is_found(tmp_path, embedder):
    talk = flooded(tmp_path, ["We had soup on day {n}."])
    talk.say(user("The submarine costs four thousand florins."), name="deal.jsonl")
    with talk.open(embedder) as memory:
        memory.index()
        hit = memory.search("how many florins does the submarine cost?")[0]
        assert hit.path == "sessions/deal.jsonl"


def test_sessions_fill_the_places_that_notes_leave(tmp_path):
    talk = Talk(tmp_path)
    talk.say(*(user(f"Soup number {n}.") for n in range(9)))
    (talk.root / "memory/2026-11-20.md").unlink()
    (talk.root / "MEMORY.md").write_text("- Soup is good.\n")
    with talk.open() as memory:
        memory.index()
        hits = memory.search("soup")
        assert [hit.source for hit in hits] == ["memory", "sessions"]


# The sharing itself.


def results(source, scores):
    return [
        SearchResult(f"{source}.md", f"{n:700}", n, n, score, source)
        for n, score in enumerate(sorted(scores, reverse=True), 1)
    ]


def shared(notes, sessions, limit):
    found = {"memory": results("memory", notes), "sessions": results("sessions", sessions)}
    merged = merge_sources(
        found["memory"][:limit], found["sessions"][:limit], max_chars=700 * limit
    )
    return merged, found


scores = st.lists(st.floats(0.03, 1.0).map(lambda score: round(score, 3)), max_size=12)


@given(notes=scores, sessions=scores, limit=st.integers(1, 12))
def test_places_are_shared_as_promised(notes, sessions, limit):
    answer, found = shared(notes, sessions, limit)
    assert len(answer) == min(limit, len(notes) + len(sessions))
    assert [hit.score for hit in answer] == sorted((hit.score for hit in answer), reverse=True)
    of_notes = [hit for hit in answer if hit.source == "memory"]
    assert of_notes == found["memory"][: len(of_notes)]  # the best, as they are
    said = len(answer) - len(of_notes)
    if notes and sessions:
        left = max(0, limit - len(notes))
        worth = max(notes) / max(sessions)
        if worth >= 1:
            assert said <= left
        elif worth >= 0.5:
            assert said <= max(left, limit // 3)
        else:
            assert len(of_notes) >= min(limit // 3, len(notes))


def test_before_each_session_stand_two_notes():
    answer, _ = shared([0.8, 0.7, 0.6, 0.5, 0.4, 0.3, 0.2], [0.9, 0.89, 0.88, 0.87], 9)
    assert "".join(hit.source[0] for hit in answer) == "mmsmmsmms"


@pytest.mark.parametrize(
    ("notes", "sessions", "expected"),
    [
        ([0.8] * 6, [0.7] * 6, "mmmmmm"),
        ([0.8] * 2, [0.7] * 6, "mmssss"),
        ([0.1] * 6, [0.7] * 6, "ssssmm"),
        ([0.02] * 6, [0.7] * 6, "ssssss"),
        ([0.02] * 6, [0.7] * 4, "ssssmm"),
        ([0.1] * 3, [0.02] * 6, "mmmsss"),
        ([0.02] * 6, [0.01] * 6, "mmmmmm"),
        ([], [0.7] * 3, "sss"),
        ([0.1], [], "m"),
        ([], [], ""),
    ],
)
def test_examples(notes, sessions, expected):
    answer, _ = shared(notes, sessions, 6)
    assert "".join(hit.source[0] for hit in answer) == expected


class Chunks:
    """A snapshot with so many chunks of sessions."""

    def __init__(self, sessions):
        self.sessions = sessions

    def chunk_count(self, source):
        return self.sessions if source == "sessions" else 1


def asked_of(sources, *, sessions):
    rows = RowFilter(sources=None if sources is None else frozenset(sources))
    query = Query("q", None, NOON, 6, 0.0, rows)
    parts = _by_source(Chunks(sessions), query)
    assert parts == [replace(query, rows=part.rows) for part in parts]
    return [part.rows.sources and sorted(part.rows.sources) for part in parts]


def test_each_source_is_ranked_by_itself_where_there_are_sessions():
    assert asked_of(None, sessions=3) == [["memory"], ["sessions"]]
    assert asked_of(["memory", "sessions"], sessions=3) == [["memory"], ["sessions"]]
    assert asked_of(["sessions"], sessions=3) == [["sessions"]]


def test_without_sessions_one_ranking_without_a_filter_is_enough():
    assert asked_of(None, sessions=0) == [None]
    assert asked_of(["memory"], sessions=0) == [None]
    assert asked_of(["sessions"], sessions=0) == [["sessions"]]
