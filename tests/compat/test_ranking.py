"""`Settings.openclaw()` answers as the reference does: `reference_search` is asked the same."""

import contextlib
import functools
import os
import random
import sqlite3
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import numpy as np
import pytest

from commonplace.compat.openclaw.log_dates import openclaw_log_date
from commonplace.compat.openclaw.ranking import ChunkRanker
from commonplace.memory import Memory
from commonplace.retrieval.query import Query
from commonplace.settings import Settings
from commonplace.store.records import FileRecord, StoredChunk
from compat.reference_search import Options, ReferenceSearch, snippet
from support.fakes import NOON, HashedWords, clock
from support.reference import vectors
from support.sampling import sampled

VOCABULARY = """
    port vpn printer ann decided budget router server deploy meeting tea invoice garden cable lamp
    kernel release plan review token secret backup disk query index chunk vector note log march bug
    fix test pilot FOO_bar v2 51820 4711
"""
WORDS = VOCABULARY.split()
SENTENCES = ["金银价格昨天上涨", "昨日話したAPIのバグ", "한국어 메모리 테스트", "数据库备份"]
QUERIES = [
    "vpn port",
    "Which port does the VPN use?",
    "金银价格",
    "金",
    "昨日話したAPIのバグ",
    "한국어",
    "😀",
    "FOO_bar",
    '"vpn" AND (printer) NEAR/2 *',
    "don't",
    "a:b",
    "the",
    "?!",
    "  budget   ",
    "vpn vpn vpn",
    "ERR_CONN_4711 on port 18789",
    "e\u0301clair",
    " ".join(WORDS),
    " ".join(WORDS * 12),
    "kernel release plan",
    "",
]
LIMITS = [
    Options(),
    Options(max_results=1, min_score=0.0),
    Options(max_results=12, min_score=0.0),
    Options(max_results=3, min_score=0.2),
]
RANKINGS = {
    "plain": {},
    "decay": {"decay": True},
    "mmr": {"mmr": True},
    "both": {"decay": True, "half_life_days": 10.0, "mmr": True, "mmr_lambda": 0.4},
    "lambda 1": {"mmr": True, "mmr_lambda": 1.0},
    "words first": {"vector_weight": 0.2, "text_weight": 0.9},
}


def line(chance):
    kind = chance.random()
    if kind < 0.08:
        return ""
    if kind < 0.14:
        return "## " + " ".join(chance.choices(WORDS, k=3))
    if kind < 0.2:
        return chance.choice(SENTENCES) * chance.randint(1, 4)
    if kind < 0.24:
        return "😀🎉" * chance.randint(1, 400) + chance.choice(WORDS)
    if kind < 0.27:
        return " ".join(chance.choices(WORDS, k=chance.randint(200, 700)))
    if kind < 0.28:
        return "数据库备份" * chance.randint(200, 800)  # more bytes than are embedded at once
    ending = "\r" * (chance.random() < 0.05)
    return "- " + " ".join(chance.choices(WORDS, k=chance.randint(2, 25))) + ending


def write_workspace(root, seed):
    """Write a workspace; return its files in the order in which the reference reads them."""
    chance = random.Random(seed)
    days = [f"2026-{chance.randint(1, 12):02}-{chance.randint(1, 28):02}" for _ in range(12)]
    own = [f"memory/{day}.md" for day in {*days, "2026-02-30", "2026-03-03-slug"}]
    own += ["memory/deep/2026-03-03.md", "memory/projects.md", "memory/empty.md"]
    extra = ["docs/a.md", "docs/memory/2026-05-05.md"]
    paths = ["MEMORY.md", "memory.md", *sorted(own), *extra]
    for path in paths:
        count = 0 if "empty" in path else 40 if path == "MEMORY.md" else chance.randint(1, 30)
        text = "\n".join(line(chance) for _ in range(count)) + "\n" * (chance.random() < 0.8)
        file = root / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(text.encode())
        then = (NOON - timedelta(days=chance.uniform(0, 100))).timestamp()
        os.utime(file, (then, then))
    return paths


def settings_of(ranking):
    base = Settings.openclaw()
    return replace(base, search=replace(base.search, **ranking), extra_paths=("docs",))


def options_of(limits, search):
    return replace(
        limits,
        weights=(search.vector_weight, search.text_weight),
        half_life_days=search.half_life_days if search.decay else None,
        mmr_lambda=search.mmr_lambda if search.mmr else None,
    )


@pytest.fixture(scope="module", params=[0, 1])
def workspace(request, tmp_path_factory):
    root = tmp_path_factory.mktemp("openclaw") / "notes"
    return root, write_workspace(root, request.param)


def open_memory(root, embedder, settings, index=None):
    index = index or root.parent / f"{'words' if embedder is None else 'hybrid'}.sqlite"
    return Memory.open(root, settings=settings, embedder=embedder, index=index, now=clock())


@functools.cache
def _reference(root, paths, embedder):
    embed = embedder.embed_query if embedder else None
    return ReferenceSearch(root, paths, embed=embed, model=HashedWords.model_id, now=NOON)


def reference(root, paths, embedder):
    return _reference(root, tuple(paths), embedder)


EMBEDDERS = {"hybrid": HashedWords(), "words": None}


@pytest.mark.parametrize("embedder", EMBEDDERS)
def test_chunks_hashes_and_ids_are_those_of_the_reference(workspace, embedder):
    root, paths = workspace
    with open_memory(root, EMBEDDERS[embedder], settings_of({})) as memory:
        memory.index()
        with contextlib.closing(sqlite3.connect(memory.index_location)) as db:
            rows = db.execute(
                "SELECT id, path, source, start_line, end_line, hash, text FROM chunks"
            )
            stored = sorted(rows)
    expected = reference(root, paths, EMBEDDERS[embedder]).rows
    plain = [(r.id, r.path, r.source, r.start, r.end, r.hash, r.text) for r in expected]
    assert stored == sorted(set(plain))


@pytest.mark.slow
@pytest.mark.parametrize(
    "index",
    [None, pytest.param("memory://", marks=pytest.mark.full)],
    ids=["sqlite", "memory"],
)
@pytest.mark.parametrize("ranking", sampled(RANKINGS, every=6))
@pytest.mark.parametrize("embedder", EMBEDDERS)
def test_every_search_agrees_with_the_reference(workspace, embedder, ranking, index):
    root, paths = workspace
    settings = settings_of(RANKINGS[ranking])
    expected = reference(root, paths, EMBEDDERS[embedder])
    found = 0
    with open_memory(root, EMBEDDERS[embedder], settings, index) as memory:
        memory.index()
        for query in QUERIES:
            for limits in LIMITS:
                hits = memory.search(
                    query, max_results=limits.max_results, min_score=limits.min_score
                )
                wanted = expected.search(query, options_of(limits, settings.search))
                assert places(hits) == places_wanted(wanted), query
                scores = [hit.score for hit in wanted]
                assert [hit.score for hit in hits] == pytest.approx(scores, abs=1e-6), query
                found += len(hits)
    assert found > 100


def places(hits):
    return [(hit.path, hit.start_line, hit.end_line, hit.snippet) for hit in hits]


def places_wanted(hits):
    return [(*hit.place, snippet(hit.row.text)) for hit in hits]


@pytest.mark.parametrize("sources", [["memory"], ["sessions"], ["memory", "sessions"], []])
def test_sources_are_filtered_before_the_merge(workspace, sources):
    root, paths = workspace
    expected = reference(root, paths, EMBEDDERS["hybrid"])
    with open_memory(root, EMBEDDERS["hybrid"], settings_of({})) as memory:
        hits = memory.search("vpn port", sources=sources, min_score=0)
    options = Options(sources=sources, min_score=0.0)
    wanted = expected.search("vpn port", options) if sources else []
    assert places(hits) == places_wanted(wanted)
    assert bool(hits) == ("memory" in sources)


def test_what_only_words_found_is_kept_with_a_lower_bar(tmp_path):
    """The words' weight is the bar, for chunks of the lines where words were found."""
    (tmp_path / "notes/memory").mkdir(parents=True)
    (tmp_path / "notes/MEMORY.md").write_text("vpn port " * 3 + "and much else besides of it\n")
    for number in range(30):
        (tmp_path / f"notes/memory/{number:02}.md").write_text(f"nothing {number} of the sort\n")
    paths = ["MEMORY.md", *(f"memory/{number:02}.md" for number in range(30))]
    root, embedder = tmp_path / "notes", HashedWords(256)
    options = Options(min_score=0.9, weights=(0.5, 0.5))
    wanted = reference(root, paths, embedder).search("vpn port", options)
    settings = settings_of({"vector_weight": 0.5, "text_weight": 0.5})
    with open_memory(root, embedder, settings) as memory:
        hits = memory.search("vpn port", min_score=0.9)
    assert places(hits) == places_wanted(wanted)
    assert [hit.path for hit in hits] == ["MEMORY.md"]
    assert 0.5 <= hits[0].score < 0.9


def test_a_snippet_ends_before_the_pair_that_700_units_would_cut(tmp_path):
    (tmp_path / "notes").mkdir()
    (tmp_path / "notes/MEMORY.md").write_text("vpn" + "😀" * 400, encoding="utf-8")
    with open_memory(tmp_path / "notes", HashedWords(), settings_of({})) as memory:
        (hit,) = memory.search("vpn", min_score=0)
    assert hit.snippet == "vpn" + "😀" * 348


def test_equal_scores_go_by_path_then_line(tmp_path):
    (tmp_path / "notes/memory").mkdir(parents=True)
    for number in range(9, -1, -1):
        (tmp_path / f"notes/memory/{number}.md").write_text("the vpn listens on port 51820\n")
    with open_memory(tmp_path / "notes", HashedWords(), settings_of({})) as memory:
        hits = memory.search("vpn port", max_results=4)
    assert [hit.path for hit in hits] == [f"memory/{number}.md" for number in range(4)]
    assert len({hit.score for hit in hits}) == 1


def test_no_score_is_above_one(tmp_path):
    (tmp_path / "notes/memory").mkdir(parents=True)
    texts = [" ".join(WORDS[:count]) for count in range(1, 39)]
    for number, text in enumerate(texts):
        (tmp_path / f"notes/memory/{number}.md").write_text(text)
    settings = settings_of({"vector_weight": 1.0, "text_weight": 0.0})
    with open_memory(tmp_path / "notes", HashedWords(), settings) as memory:
        best = [memory.search(text)[0].score for text in texts]
    assert best == pytest.approx([1.0] * len(texts))
    assert max(best) <= 1


# The reference's own vectors, through the pipeline, with an index that says what it is told.


class Found:
    """An index that finds what it is told to find."""

    def __init__(self, entries, *, vector, keyword, mtime):
        self.entries, self.vector, self.keyword, self.mtime = entries, vector, keyword, mtime

    def nearest(self, query, limit, rows):
        return self.vector

    def match(self, words, *, every, limit, rows):
        return [
            (seq, min(score / (1 - min(score, 1 - 1e-12)), 1e12)) for seq, score in self.keyword
        ]

    def file(self, path):
        times = {"size": 0, "mtime_ns": int(self.mtime.timestamp() * 1e9), "indexed_ns": 0}
        return FileRecord(path=path, source="memory", hash="", **times)

    def chunks(self, seqs):
        return {seq: self._chunk(seq) for seq in seqs}

    def _chunk(self, seq):
        entry = self.entries[seq]
        day = openclaw_log_date(entry["path"])
        return StoredChunk(
            seq=seq,
            id=str(seq),
            path=entry["path"],
            source=entry["source"],
            start_line=1,
            end_line=2,
            hash="",
            text=entry.get("snippet", ""),
            heading="",
            context="",
            day=day and day.toordinal(),
            units=b"",
            lines=None,
            ordinal=0,
        )


def ranked(found, now, **ranking):
    search = replace(Settings.openclaw().search, min_score=0.0, **ranking)
    query = Query("words", np.ones(1, np.float32), now, limit=50, min_score=0.0)
    return ChunkRanker(search).rank(found, query).results


@pytest.mark.parametrize(("given_", "expected"), vectors("mergeHybridResults"))
def test_lists_are_merged_as_the_reference_does(given_, expected):
    entries = [*given_["vector"], *given_["keyword"]]
    known = [entry["id"] for entry in entries]
    now = datetime.fromtimestamp(given_.get("nowMs", 0) / 1000, UTC)
    found = Found(
        entries,
        vector=[(known.index(entry["id"]), entry["vectorScore"]) for entry in given_["vector"]],
        keyword=[(known.index(entry["id"]), entry["textScore"]) for entry in given_["keyword"]],
        mtime=now,
    )
    hits = ranked(
        found,
        now,
        vector_weight=float(given_["vectorWeight"]),
        text_weight=float(given_["textWeight"]),
        decay=given_.get("temporalDecay", {}).get("enabled", False),
    )
    # Equal scores come in any order there, by path here.
    expected = sorted(expected, key=lambda result: (-result["score"], result["path"]))
    assert [(hit.path, hit.snippet) for hit in hits] == [
        (e["path"], e["snippet"]) for e in expected
    ]
    scores = [result["score"] for result in expected]
    assert [hit.score for hit in hits] == pytest.approx(scores, abs=1e-6)


@pytest.mark.parametrize(("given_", "expected"), vectors("temporalDecay.fs"))
def test_what_bears_no_day_fades_by_its_last_change(given_, expected):
    now = datetime.fromtimestamp(given_["nowMs"] / 1000, UTC)
    entries = [e for e in given_["results"] if e["path"] != "missing.md"]  # an index has none
    found = Found(
        entries,
        vector=[(seq, entry["score"]) for seq, entry in enumerate(entries)],
        keyword=[],
        mtime=now - timedelta(days=given_["mtimeDaysAgo"]),
    )
    hits = ranked(found, now, vector_weight=1.0, text_weight=0.0, decay=True)
    scores = {(hit.path, hit.source): hit.score for hit in hits}
    wanted = {(e["path"], e["source"]): e["score"] for e in expected if e["path"] != "missing.md"}
    assert scores == pytest.approx(wanted, abs=1e-6)
