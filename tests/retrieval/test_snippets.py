"""Snippets are pieces of the files, whatever the files and the query are."""

import tempfile
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from commonplace.memory import Memory
from commonplace.retrieval.snippets import pack_windows
from commonplace.settings import ChunkingSettings, Settings
from support.engines import ENGINES
from support.fakes import HashedWords, clock

WORDS = ["port", "vpn", "Ann", "decided", "budget", "router", "backup", "Gutenberg", "51820", "tea"]
ODD = ["# Title", "## The vpn", "", " ", "---", "```", "~~~sh", "| port | vpn |", "|---|---|", "- "]
ODD += [
    "> quoted port",
    "#tag port",
    "1. first vpn",
    "日本語のメモ",
    "数据库备份端口",
    "😀🎉",
    "\ufeff",
    "\x0b",
]
ODD += ["e\u0301te\u0301", "İstanbul ß ﬁ", "a\u2028b", "-- -- -- --", "\x00", "\x1c"]

# Longer than a snippet or a chunk, and no two places of one alike.
LONG = ["".join(f"x{at}" for at in range(300)), "".join(f"={at % 7}{'-' * at}" for at in range(45))]
LONG += ["".join(chr(0x4E00 + at) for at in range(1200)), "= " * 400 + "-" * 400]
LONG += ["".join(f"{chr(0x1F600 + at % 80)}{chr(0x3042 + at // 80)}" for at in range(700))]

sentence = st.lists(st.sampled_from(WORDS), min_size=1, max_size=9).map(
    lambda words: " ".join(words) + "."
)
line = st.one_of(
    sentence,
    sentence.map("- {}".format),
    st.sampled_from(ODD),
    st.text(max_size=30).map(lambda text: text.replace("\r", " ")),
    st.lists(sentence, min_size=5, max_size=60).map(" ".join),  # a long line
    st.sampled_from(LONG),
)
wrapped = st.lists(sentence, min_size=10, max_size=40).map(
    lambda sentences: "\n".join(
        text[at : at + 70] for text in [" ".join(sentences)] for at in range(0, len(text), 70)
    )
)
markdown = st.tuples(
    st.lists(st.one_of(line, line, line, wrapped), max_size=25),
    st.sampled_from(["\n", "\n", "\r\n", "\n\n"]),
    st.sampled_from(["", "\n", "\n\n"]),
).map(lambda parts: parts[1].join(parts[0]) + parts[2])
query = st.one_of(
    st.lists(st.sampled_from(WORDS), min_size=1, max_size=5).map(" ".join),
    st.sampled_from(
        ["what did Ann decide?", "数据库", "库", "😀", "# -- |", "last week", "5 May 2023"]
    ),
    st.text(max_size=40),
)


def shown(text, hit):
    """The lines of a file that a hit claims to show."""
    return "\n".join(text.split("\n")[hit.start_line - 1 : hit.end_line])


def check(files, hits, *, limit):
    assert len(hits) <= limit
    assert hits == sorted(hits, key=lambda hit: (-hit.score, hit.path, hit.start_line))
    taken = {path: [] for path in files}
    for hit in hits:
        text, snippet = files[hit.path], hit.snippet
        assert 0 < len(snippet) <= 700
        assert 0 <= hit.score <= 1
        lines = shown(text, hit)
        assert snippet.count("\n") == hit.end_line - hit.start_line
        assert hit.start_line <= hit.best_line <= hit.end_line
        assert snippet in lines
        # Whole lines but for the first and the last: it begins in the first, ends in the last.
        first, *_, last = snippet.split("\n") * 2
        assert (
            text.split("\n")[hit.start_line - 1].endswith(first) or hit.start_line == hit.end_line
        )
        assert text.split("\n")[hit.end_line - 1].startswith(last) or hit.start_line == hit.end_line
        assert hit.start_line == hit.end_line or (first.strip() and last.strip())
        taken[hit.path].append(hit)
    for path, some in taken.items():
        assert can_be_apart(files[path], some)


def can_be_apart(text, hits):
    """Tell whether snippets can stand in a file without overlapping, each at its lines."""
    starts = [0]
    for part in text.split("\n"):
        starts.append(starts[-1] + len(part) + 1)
    places = []
    for hit in hits:
        first, end = starts[hit.start_line - 1], starts[hit.end_line]
        found, at = [], text.find(hit.snippet, first)
        while at >= 0 and at + len(hit.snippet) <= end:
            found.append((at, at + len(hit.snippet)))
            at = text.find(hit.snippet, at + 1)
        places.append(found)
    return fits(sorted(places, key=len), [])


def fits(places, used):
    if not places:
        return True
    return any(
        fits(places[1:], [*used, (start, end)])
        for start, end in places[0]
        if all(end <= other or start >= behind for other, behind in used)
    )


EMBEDDERS = {"hashed words": HashedWords(), "no embedder": None}
CUTS = {
    "default": ChunkingSettings(),
    "small": ChunkingSettings(tokens=40, overlap=10),
    "no overlap": ChunkingSettings(tokens=30, overlap=0),
}


@pytest.mark.slow
@pytest.mark.full
@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("cut", CUTS)
@pytest.mark.parametrize("embedder", EMBEDDERS)
@settings(max_examples=20, suppress_health_check=[HealthCheck.too_slow])
@given(
    texts=st.lists(markdown, min_size=1, max_size=4),
    queries=st.lists(query, min_size=1, max_size=4),
    limit=st.integers(1, 12),
    chars=st.one_of(st.just(4_200), st.integers(1, 6_000)),
)
def test_snippets_are_verbatim_and_where_they_say(
    engine, cut, embedder, texts, queries, limit, chars
):
    days = ["MEMORY.md", "memory/2026-11-18.md", "memory/2026-11-19-notes.md", "memory/plan.md"]
    files = {path: text.replace("\0", " ") for path, text in zip(days, texts, strict=False)}
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder) / "notes"
        (root / "memory").mkdir(parents=True)
        for path, text in files.items():
            (root / path).write_bytes(text.encode())
        with Memory.open(
            root,
            settings=Settings(chunking=CUTS[cut]),
            embedder=EMBEDDERS[embedder],
            index="memory://" if engine == "memory" else Path(folder) / "index.sqlite",
            now=clock(),
        ) as memory:
            memory.index()
            for asked in queries:
                memory.search(asked)  # the vectors are in memory from here on
                hits = memory.search(asked, max_chars=chars, min_score=0)
                check(files, hits, limit=len(hits))
                assert sum(len(hit.snippet) for hit in hits) <= chars
                first = memory.search(asked, max_chars=chars, max_results=limit, min_score=0)
                assert first == hits[:limit]


def windows_of(shares, lengths, passages=None, *, max_chars=4_200):
    ends = np.cumsum(np.array(lengths) + 1) - 1
    packed = pack_windows(
        np.array(shares, dtype=np.float64),
        ends - lengths,
        ends,
        np.array(passages or [0] * len(shares)),
        max_chars=max_chars,
    )
    return [(window.first, window.last) for window in packed]


def test_the_first_windows_are_long_and_the_others_short():
    shares = [0.3 if at % 20 == 10 else 0.01 for at in range(200)]
    packed = windows_of(shares, [100] * 200)
    chars = [101 * (last - first + 1) - 1 for first, last in packed]
    assert sorted(chars, reverse=True)[:3] == [605, 605, 605]
    assert sum(length <= 250 for length in chars) >= 5
    assert 3_900 < sum(chars) <= 4_200
    shown = {at for first, last in packed for at in range(first, last + 1)}
    assert {at for at in range(200) if at % 20 == 10} <= shown


def test_windows_that_touch_are_one_snippet_up_to_its_length():
    assert windows_of([0.1] * 6, [100] * 6) == [(0, 5)]
    assert windows_of([0.1] * 6, [100] * 6, [0, 0, 0, 1, 1, 1]) == [(0, 2), (3, 5)]
    packed = windows_of([0.2] * 20, [100] * 20)
    assert all(101 * (last - first + 1) - 1 <= 700 for first, last in packed)


def test_the_frames_of_results_count():
    packed = windows_of([1 / at for at in range(1, 101)], [20] * 100, [*range(100)])
    assert len(packed) * (20 + 165) <= 4_200 * 1.45
    assert len(packed) > 20


def test_a_line_that_is_longer_than_the_answer_is_cut():
    assert windows_of([0.5], [900], max_chars=100) == [(0, 0)]
