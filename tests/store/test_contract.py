from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from itertools import count
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from commonplace.errors import IndexBusyError, StoreError
from commonplace.store.base import Store
from commonplace.store.memory.store import MemoryStore
from commonplace.store.records import ChunkWindow, FileFilter, RowFilter, StoredChunk, Totals
from commonplace.text.analysis import Analyzer, Term
from commonplace.text.unspaced_scripts import glued_words, grams_text
from commonplace.vectors.arrays import unpack
from store.samples import (
    ALL,
    DIMENSION,
    IDENTITY,
    a_file,
    contents,
    embedded,
    filled,
    matching,
    nearest,
    rebuilt,
    record_only,
    sha256,
    unit_rows,
    vector_of,
    words,
)
from store.toy_store import ToyStore
from support.engines import ENGINES as BUILT_IN

ENGINES = BUILT_IN | {"toy": lambda folder: ToyStore(folder / "toy.db")}
COMPARED = pytest.mark.parametrize("compared", ["toy", "postgresql"])
"""What is compared with the engines of SQLite and of memory."""


def engines_with(compared: str) -> dict[str, Any]:
    return {name: ENGINES[name] for name in ("sqlite", "memory", compared)}


@pytest.fixture(params=ENGINES)
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Store]:
    store = ENGINES[request.param](tmp_path)
    yield store
    store.close()


# -- what is there ---------------------------------------------------------------------------------


def test_an_empty_store_answers_everything_with_nothing(store: Store) -> None:
    assert store.identity is None
    assert not store.complete
    with store.snapshot() as snapshot:
        assert snapshot.identity is None
        assert snapshot.files() == {}
        assert snapshot.file("MEMORY.md") is None
        assert snapshot.totals() == Totals(0, 0, 0)
        assert snapshot.chunk_count() == 0
        assert snapshot.frequencies(words("word")) == {Term("word", "word"): 0}
        assert snapshot.match(words("word"), every=False, limit=5, rows=ALL) == []
        assert snapshot.nearest(vector_of("query"), 5, ALL) == []
        assert snapshot.mean_line() is None
        assert snapshot.chunks([1, 2]) == {}
        assert snapshot.chunks_of("MEMORY.md") == []
        assert snapshot.vectors_of([sha256("text")], IDENTITY) == {}


def test_the_end_of_a_file_is_replaced_and_its_beginning_stays(store: Store) -> None:
    log = a_file("a.jsonl", "one", "two", "three", source="sessions")
    other = a_file("b.md", "one")
    filled(store, log, other)
    assert log.chunks is not None
    with store.snapshot() as snapshot:
        before = snapshot.nearest(vector_of("one"), 9, ALL)
    grown = a_file("a.jsonl", "one", "two", "3", "4", source="sessions", version=2, replaces=1)
    assert grown.chunks is not None
    assert store.write([replace(grown, chunks=grown.chunks[2:], keep_before=3)]) == ()
    with store.snapshot() as snapshot:
        assert [chunk.text for chunk, _ in snapshot.chunks_of("a.jsonl")] == [
            "one",
            "two",
            "3",
            "4",
        ]
        assert [chunk.text for chunk, _ in snapshot.chunks_of("a.jsonl", from_line=4)] == ["4"]
        assert snapshot.totals() == Totals(2, 5, 5)
        assert snapshot.file("a.jsonl") == grown.record
        assert snapshot.vectors_of([sha256("three")], IDENTITY)  # from the cache
        kept = {seq for seq, _ in snapshot.nearest(vector_of("one"), 9, ALL)}
        assert len(kept & {seq for seq, _ in before}) == 3
    assert matching(store, "three") == []


@pytest.mark.parametrize(
    ("first", "after", "texts"),
    [
        (1, 3, ("one", "2", "four", "five")),
        (0, 1, ("a", "b", "one again", "two", "three", "four", "five")),
        (3, 5, ("one", "two", "three", "4")),
        (2, 2, ("one", "two", "new", "three", "four", "five")),
        (1, 4, ("one", "five")),
        (1, 2, ("one", "2", "three", "four", "five")),
    ],
    ids=["fewer", "at the beginning", "at the end", "only new", "only gone", "as many"],
)
def test_a_window_of_a_file_is_replaced_and_what_is_behind_it_moves(
    store: Store, first: int, after: int, texts: tuple[str, ...]
) -> None:
    if "windows" not in store.capabilities:
        pytest.skip("this engine writes whole files")
    old = ("one", "two", "three", "four", "five")
    filled(store, a_file("a.md", *old), a_file("b.md", "two", "six"))
    new = a_file("a.md", *texts, version=2, replaces=1)
    assert new.chunks is not None
    lines = len(texts) - len(old)
    ids = [item.id for item in new.chunks[after + lines :]] if lines else []
    window = ChunkWindow(first, after, lines, ids)
    stale = replace(new, chunks=[], window=window, replaces=7)
    assert store.write([stale]) == ("a.md",)
    chunks = new.chunks[first : after + lines]
    assert store.write([replace(new, chunks=chunks, window=window)]) == ()
    other = a_file("b.md", "two", "six")
    fresh = filled(MemoryStore(), replace(new, replaces=None), other)
    assert contents(store) == contents(fresh)
    assert rows_in_order(store) == rows_in_order(fresh)
    for text in (*old, *texts):
        assert sorted(matching(store, text)) == sorted(matching(fresh, text))
    with store.snapshot() as snapshot, fresh.snapshot() as whole:
        places, again = snapshot.places("a.md"), whole.places("a.md")
        assert [it[:-1] for it in places] == [it[:-1] for it in again]
        stands = snapshot.chunks([it.seq for it in places])
        assert [stands[it.seq].start_line for it in places] == [it.start_line for it in places]
        assert np.allclose(snapshot.mean_line(), whole.mean_line(), atol=1e-5)
        assert snapshot.vectors_of([sha256(text) for text in old], IDENTITY).keys() == {
            sha256(text) for text in old
        }


def rows_in_order(store: Store) -> list[StoredChunk]:
    rows = sorted(stored(store), key=lambda row: (row.path, row.ordinal))
    return [row._replace(seq=0) for row in rows]


def test_each_source_has_books_of_its_own(store: Store) -> None:
    notes = a_file("a.md", "tea and milk", "milk")
    said = a_file("b.jsonl", "tea", "tea", "more tea", source="sessions")
    filled(store, notes)
    with store.snapshot() as snapshot:
        assert (snapshot.chunk_count("memory"), snapshot.chunk_count("sessions")) == (2, 0)
        of_notes = snapshot.mean_line()
    store.write([said])
    with store.snapshot() as snapshot:
        counts = [snapshot.chunk_count(source) for source in (None, "memory", "sessions")]
        assert counts == [5, 2, 3]
        tea = words("tea")
        held = [
            snapshot.frequencies(tea, source)[tea[0]] for source in (None, "memory", "sessions")
        ]
        assert held == [4, 1, 3]
        assert of_notes is not None
        np.testing.assert_allclose(snapshot.mean_line("memory"), of_notes, atol=1e-6)
        of_all, of_said = snapshot.mean_line(), snapshot.mean_line("sessions")
        assert of_all is not None
        assert of_said is not None
        np.testing.assert_allclose(of_all, (2 * of_notes + 3 * of_said) / 5, atol=1e-6)
    store.write([], ["b.jsonl"])
    with store.snapshot() as snapshot:
        assert snapshot.chunk_count("sessions") == 0
        assert snapshot.mean_line("sessions") is None
        assert snapshot.frequencies(tea, "memory")[tea[0]] == 1


def test_an_identity_without_files_answers_with_nothing(store: Store) -> None:
    filled(store)
    assert matching(store, "word") == []
    assert nearest(store, vector_of("query")) == []


def test_nothing_is_written_before_the_identity_is_known(store: Store) -> None:
    with pytest.raises(StoreError, match="set_identity"):
        store.write([a_file("MEMORY.md", "text")])


def test_engines_are_named(store: Store) -> None:
    assert set(store.engines) == {"vectors", "words"}


def test_a_run_that_came_to_its_end_is_remembered(store: Store) -> None:
    store.set_identity(IDENTITY)
    store.mark_complete()
    assert store.complete


def test_what_was_open_in_an_identity_is_completed(store: Store) -> None:
    store.set_identity(replace(IDENTITY, provider=None, model=None, dimension=None))
    store.write([a_file("a.md", "without vectors", vectors=False)])
    store.set_identity(IDENTITY)
    store.write([a_file("b.md", "with vectors")])
    assert store.identity == IDENTITY
    assert nearest(store, vector_of("query")) == ["with vectors"]
    assert set(matching(store, "vectors")) == {"without vectors", "with vectors"}


@pytest.mark.parametrize(
    "change", [{"tokenizer": "unicode61"}, {"model": "other"}, {"dimension": 3}, {"chunking": "x"}]
)
def test_an_index_does_not_change_its_identity(store: Store, change: dict[str, Any]) -> None:
    filled(store, a_file("a.md", "text"))
    with pytest.raises(StoreError):
        store.set_identity(replace(IDENTITY, **change))
    assert store.identity == IDENTITY


def test_files_come_back_as_they_were_written(store: Store) -> None:
    note = a_file("MEMORY.md", "one\ntwo", "three")
    log = a_file("memory/2024-01-02.md", "four", day=738887, source="sessions")
    filled(store, note, log)
    with store.snapshot() as snapshot:
        assert snapshot.files() == {file.record.path: file.record for file in (note, log)}
        assert snapshot.file("MEMORY.md") == note.record
        assert snapshot.totals() == Totals(2, 3, 3)
        assert snapshot.chunk_count() == 3


@pytest.mark.parametrize(
    "text", ["plain", "", " ", "NUL \0 inside", "line\nline", "\x01\x02", "日本語 🎉", "'\"; --"]
)
def test_chunks_come_back_as_they_were_written(store: Store, text: str) -> None:
    file = a_file("memory/x.md", "another", text, day=700_000, source="sessions")
    filled(store, file)
    assert file.chunks is not None
    with store.snapshot() as snapshot:
        (_, other), (chunk, vectors) = snapshot.chunks_of("memory/x.md")
        assert chunk == file.chunks[1].chunk
        assert vectors is not None
        assert other is not None
        np.testing.assert_array_equal(vectors.vector, vector_of(text))
        assert vectors.lines == embedded(text).lines
        ((first, _),) = snapshot.nearest(vector_of(text), 1, ALL)
        stored = snapshot.chunks([first, first + 12345])[first]
    assert (stored.seq, stored.id, stored.path) == (first, file.chunks[1].id, "memory/x.md")
    assert (stored.text, stored.hash, stored.heading) == (text, sha256(text), "Top > Sub")
    assert (stored.start_line, stored.end_line) == (2, 2 + text.count("\n"))
    assert (stored.source, stored.day) == ("sessions", 700_000)
    assert stored.units == file.chunks[1].units
    assert stored.lines == embedded(text).lines
    assert stored.lines is not None
    given = unit_rows("lines" + text, text.count("\n") + 1)
    np.testing.assert_allclose(unpack(stored.lines, DIMENSION), given, atol=0.005)


def test_a_chunk_without_vectors_is_found_by_its_words_only(store: Store) -> None:
    filled(store, a_file("a.md", "bare words", vectors=False), a_file("b.md", "bare vectors"))
    assert matching(store, "words") == ["bare words"]
    assert nearest(store, vector_of("query")) == ["bare vectors"]
    with store.snapshot() as snapshot:
        assert snapshot.totals() == Totals(2, 2, 1)
        assert snapshot.chunks_of("a.md")[0][1] is None


# -- words -----------------------------------------------------------------------------------------


def test_any_word_or_every_word(store: Store) -> None:
    filled(store, a_file("a.md", "red apple", "green apple", "red pear"))
    assert set(matching(store, "red", "apple")) == {"red apple", "green apple", "red pear"}
    assert matching(store, "red", "apple", every=True) == ["red apple"]
    assert matching(store, "red", "plum", every=True) == []
    assert matching(store) == matching(store, every=True) == []
    assert len(matching(store, "apple", limit=1)) == 1
    assert matching(store, "apple", limit=0) == []


def test_words_are_stemmed_and_folded(store: Store) -> None:
    filled(store, a_file("a.md", "She was RUNNING to the Café"))
    assert matching(store, "runs", "cafe", every=True)


def test_a_word_that_the_tokenizer_cuts_is_a_phrase(store: Store) -> None:
    filled(store, a_file("a.md", "see ERR_CONN_4711 here", "4711 conn err", "err conn 4712"))
    assert matching(store, "ERR_CONN_4711") == ["see ERR_CONN_4711 here"]
    with store.snapshot() as snapshot:
        assert list(snapshot.frequencies(words("ERR_CONN_4711", "conn")).values()) == [1, 3]


def test_an_initial_term_is_in_the_chunks_that_begin_with_it(store: Store) -> None:
    texts = ["# Lake District\n\nfells", "the Lake District", "# Lake Como, Lake District", "lakes"]
    filled(store, a_file("a.md", *texts))
    district, lake, signs = (Term(it, it, initial=True) for it in ("Lake District", "Lake", "-"))
    district_anywhere = Term("District", "District")
    with store.snapshot() as snapshot:
        found = {
            key: {snapshot.chunks([seq])[seq].text for seq, _ in hits}
            for key, hits in {
                "one": snapshot.match([district], every=False, limit=9, rows=ALL),
                "every": snapshot.match([lake, district_anywhere], every=True, limit=9, rows=ALL),
                "any": snapshot.match([district, lake], every=False, limit=9, rows=ALL),
                "signs": snapshot.match([signs], every=False, limit=9, rows=ALL),
                "none of this day": snapshot.match(
                    [lake], every=False, limit=9, rows=RowFilter(after=1)
                ),
            }.items()
        }
        counts = snapshot.frequencies([district, lake, signs, Term("Lake", "Lake")])
    assert found == {
        "one": {texts[0]},
        "every": {texts[0], texts[2]},
        "any": {texts[0], texts[2], texts[3]},
        "signs": set(),
        "none of this day": set(),
    }
    assert list(counts.values()) == [1, 3, 0, 4]


def test_a_prefix_is_in_the_chunks_with_a_word_that_begins_with_it(store: Store) -> None:
    texts = ["Bredbandet är nere", "bredband: 399 kr, bredbandets avtal", "bred gata", "avtal"]
    filled(store, a_file("a.md", *texts))
    prefix = Term("bredbandens", "bredband", prefix=True)
    with store.snapshot() as snapshot:
        found = [
            [snapshot.chunks([seq])[seq].text for seq, _ in hits]
            for hits in (
                snapshot.match([prefix], every=False, limit=9, rows=ALL),
                snapshot.match([prefix, Term("avtal", "avtal")], every=True, limit=9, rows=ALL),
            )
        ]
        counts = snapshot.frequencies([prefix, Term("bredbandens", "bredbandens")])
    assert found == [[texts[1], texts[0]], [texts[1]]]
    assert list(counts.values()) == [2, 0]


def test_a_number_is_in_the_chunks_with_its_parts_in_a_row(store: Store) -> None:
    texts = ["from 1.5.0 on", "since v1.5.0", "1 and 5 and 0", "11.5.0"]
    filled(store, a_file("a.md", *texts))
    bare, behind_v = (Term(text, "1.5.0", number=True) for text in ("1.5.0", "v1.5.0"))
    with store.snapshot() as snapshot:
        counts = snapshot.frequencies([bare, behind_v])
        [(seq, _)] = snapshot.match([bare], every=False, limit=9, rows=ALL)
        assert snapshot.chunks([seq])[seq].text == texts[0]
    assert list(counts.values()) == [1, 1]


def test_a_prefix_counts_all_of_many_forms(store: Store) -> None:
    forms = [f"räkning{ending}" for ending in "abcdefghijklmnopqrstuvwxyz"]
    filled(store, a_file("a.md", " ".join(forms), f"{forms[0]} {forms[1]} och sedan inget", "rät"))
    with store.snapshot() as snapshot:
        prefix = Term("räkningen", "räknin", prefix=True)
        hits = snapshot.match([prefix, Term("inget", "inget")], every=False, limit=9, rows=ALL)
        found = [snapshot.chunks([seq])[seq].text[:12] for seq, _ in hits]
        none = snapshot.match([Term("zebror", "zebr", prefix=True)], every=True, limit=9, rows=ALL)
        counts = snapshot.frequencies([prefix])
    assert sorted(found) == ["räkninga räk"] * 2
    assert none == []
    assert counts == {prefix: 2}


def test_a_word_of_signs_only_is_in_no_chunk(store: Store) -> None:
    filled(store, a_file("a.md", "well - well"))
    assert matching(store, "-", "well") == ["well - well"]
    assert matching(store, "-", "well", every=True) == []
    assert matching(store, " ", "well", every=True) == ["well - well"]


@pytest.mark.parametrize(
    ("query", "found"),
    [
        ("東京", [True, False, True, False]),
        ("京", [True, True, True, False]),
        ("都", [True, False, False, False]),
        ("ประตู", [False, False, False, True]),
        ("รหัสผ่าน", [False, False, False, True]),
        ("ประตูหน้าต่าง", [False, False, False, False]),
        ("านค", [False, False, False, False]),  # each pair is there, not one behind the other
        ("ต", [False, False, False, True]),
    ],
)
def test_text_without_spaces_is_found_by_its_characters(
    store: Store, query: str, found: list[bool]
) -> None:
    texts = ["東京都に住む", "京", "the 東京 tower", "รหัสผ่านของประตูคือ 4711 นคร"]
    filled(store, a_file("a.md", *texts))
    grams = Analyzer("porter").words(query)
    with store.snapshot() as snapshot:
        hits = snapshot.match(grams, every=True, limit=10, rows=ALL)
        hit_texts = [chunk.text for chunk in snapshot.chunks([seq for seq, _ in hits]).values()]
        assert sorted(hit_texts) == sorted(
            t for t, is_in in zip(texts, found, strict=True) if is_in
        )
        if len(grams) == 1:
            assert snapshot.frequencies(grams)[grams[0]] == sum(found)


@pytest.mark.parametrize(
    ("query", "found"),
    [
        ("Java", {"本番はJava 17", "서버는Java로", "Java で"}),
        ("Java 17", {"本番はJava 17"}),
        ("3.11", {"版は3.11です", "Python 3.11"}),
        ("1.5", set()),
        ("nas", {"脚本在nas上"}),
        ("NET", {"使用.NETで"}),
    ],
)
def test_words_beside_a_script_without_spaces_are_found(
    store: Store, query: str, found: set[str]
) -> None:
    texts = [
        "本番はJava 17",
        "서버는Java로",
        "Java で",
        "版は3.11です",
        "Python 3.11",
        "脚本在nas上",
        "使用.NETで",
        "价格是1元，共5个",
        "Javanese",
    ]
    filled(store, a_file("a.md", *texts))
    words = Analyzer("porter").words(query)
    with store.snapshot() as snapshot:
        hits = snapshot.match(words, every=True, limit=10, rows=ALL)
        chunks = snapshot.chunks([seq for seq, _ in hits]).values()
        assert {chunk.text for chunk in chunks} == found
        if len(words) == 1:
            assert snapshot.frequencies(words)[words[0]] == len(found)


def test_a_whole_word_of_an_unspaced_script_is_no_gram(store: Store) -> None:
    filled(store, a_file("a.md", "会议 改到15时", "项目会议纪要"))
    word = Term("会议", "会议")
    with store.snapshot() as snapshot:
        assert snapshot.frequencies([word])[word] == 1


def test_the_reference_tokenizer_has_no_grams_and_no_stems(store: Store) -> None:
    filled(
        store, a_file("a.md", "running 東京都"), identity=replace(IDENTITY, tokenizer="unicode61")
    )
    assert matching(store, "run") == []
    assert matching(store, "running") == ["running 東京都"]
    with store.snapshot() as snapshot:
        assert (
            snapshot.match([Term("東京", "東京", gram=True)], every=False, limit=5, rows=ALL) == []
        )


def test_equal_hits_go_by_seq(store: Store) -> None:
    filled(store, a_file("a.md", *["same text"] * 30))
    with store.snapshot() as snapshot:
        by_word = snapshot.match(words("text"), every=False, limit=20, rows=ALL)
        everything = snapshot.match(words("text"), every=False, limit=99, rows=ALL)
    assert [seq for seq, _ in by_word] == sorted(seq for seq, _ in everything)[:20]


def test_a_count_follows_the_index(store: Store) -> None:
    filled(store, a_file("a.md", *["common"] * 30))
    with store.snapshot() as snapshot:
        assert snapshot.frequencies(words("new", "common")) == dict(
            zip(words("new", "common"), (0, 30), strict=True)
        )
    store.write([a_file("b.md", "new")])
    with store.snapshot() as snapshot:
        assert snapshot.frequencies(words("new"))[words("new")[0]] == 1


AWKWARD = [
    "", " ", '"', '""', "don't", "a:b", "text:alpha", "{text} : x", "*", "alpha*", "^alpha",
    "NEAR(", "%", "--", "; DROP",
    "NEAR(a b, 2)", "alpha AND", "OR", "NOT alpha", "(", ")", "-", "+",
    "🎉", "👩‍👩‍👧", "\0", "a\0b",
    "\x01\x1f\x7f", "\ud800", "a\udcffb",
    "日本", "ー", "กี", "ี่", "e\u0301", "\u200b",
]  # fmt: skip


@pytest.mark.parametrize("every", [True, False])
def test_awkward_words_are_only_words(store: Store, *, every: bool) -> None:
    filled(store, a_file("a.md", "alpha or near text: not and"))
    for text in AWKWARD:
        for gram in (True, False):
            word = Term(text, text, gram)
            with store.snapshot() as snapshot:
                snapshot.match([word], every=every, limit=5, rows=ALL)
                snapshot.match([word, *words("alpha")], every=every, limit=5, rows=ALL)
                assert snapshot.frequencies([word])[word] in (0, 1)
    assert matching(store, *AWKWARD, "alpha") == ["alpha or near text: not and"]


@pytest.mark.slow
@COMPARED
@settings(deadline=None, max_examples=60)
@given(st.lists(st.tuples(st.text(max_size=20), st.booleans()), max_size=5), st.booleans())
def test_any_text_is_a_valid_match(
    compared: str, tried: list[tuple[str, bool]], every: bool
) -> None:
    with TemporaryDirectory() as folder:
        for make in engines_with(compared).values():
            store = filled(
                make(Path(folder)), a_file("a.md", "alpha", *(text for text, _ in tried))
            )
            with store.snapshot() as snapshot:
                some = [Term(text, text, gram) for text, gram in tried]
                snapshot.match(some, every=every, limit=5, rows=ALL)
                snapshot.frequencies(some)
            store.close()


def test_a_megabyte_and_thousands_of_words_are_a_valid_match(store: Store) -> None:
    filled(store, a_file("a.md", "alpha beta", "alpha"))
    million = 1_000_000
    assert matching(store, "a" * million, "alpha") != []
    assert matching(store, "alpha beta " * (million // 11)) == []
    assert matching(store, '" OR ' * (million // 5)) == []
    many = [f"w{number}" for number in range(5000)]
    assert len(matching(store, *many, "alpha")) == 2
    assert matching(store, *many, "alpha", every=True) == []


# -- vectors ---------------------------------------------------------------------------------------


def test_the_nearest_are_those_of_the_largest_product(store: Store) -> None:
    texts = [f"text {number}" for number in range(300)]
    filled(store, a_file("a.md", *texts))
    for seed in range(5):
        query = 3 * vector_of(f"query {seed}")
        expected = sorted(texts, key=lambda text: -float(vector_of(text) @ query))
        assert nearest(store, query, limit=40) == expected[:40]
        with store.snapshot() as snapshot:
            scores = [score for _, score in snapshot.nearest(query, 40, ALL)]
        products = [vector_of(text) @ query for text in expected[:40]]
        np.testing.assert_allclose(scores, products, atol=1e-5)


def test_a_query_of_zeros_is_near_nothing_and_no_error(store: Store) -> None:
    filled(store, a_file("a.md", "one", "two"))
    zeros = np.zeros(DIMENSION, dtype=np.float32)
    with store.snapshot() as snapshot:
        assert [score for _, score in snapshot.nearest(zeros, 5, ALL)] == [0, 0]


def test_a_query_of_another_length_finds_nothing(store: Store) -> None:
    filled(store, a_file("a.md", "one"))
    assert nearest(store, vector_of("query", 5)) == []


def test_the_limit_may_be_anything(store: Store) -> None:
    filled(store, a_file("a.md", "one", "two"))
    assert [len(nearest(store, vector_of("q"), limit=n)) for n in (0, 1, 2, 9, 99_999)] == [
        0, 1, 2, 2, 2,
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("rows", "expected"),
    [
        (ALL, "abcd"),
        (RowFilter(frozenset({"memory"})), "acd"),
        (RowFilter(frozenset({"sessions"})), "b"),
        (RowFilter(frozenset({"sessions", "memory"})), "abcd"),
        (RowFilter(frozenset()), ""),
        (RowFilter(after=20), "bc"),
        (RowFilter(before=20), "ab"),
        (RowFilter(after=20, before=20), "b"),
        (RowFilter(after=10, before=30), "abc"),
        (RowFilter(frozenset({"memory"}), after=11), "c"),
        (RowFilter(after=31), ""),
    ],
)
def test_filters_hold_for_words_and_vectors(store: Store, rows: RowFilter, expected: str) -> None:
    filled(
        store,
        a_file("a.md", "word a", day=10),
        a_file("b.md", "word b", day=20, source="sessions"),
        a_file("c.md", "word c", day=30),
        a_file("d.md", "word d"),
    )
    texts = [f"word {letter}" for letter in expected]
    for _ in range(2):  # the first scan of a process may be another one than those that follow
        assert sorted(nearest(store, vector_of("query"), rows=rows)) == texts
    assert sorted(matching(store, "word", rows=rows)) == texts
    assert matching(store, "word", rows=rows, limit=1) == texts[:1]


def seqs(store: Store) -> list[int]:
    with store.snapshot() as snapshot:
        return [seq for seq, _ in snapshot.nearest(vector_of("query"), 999, ALL)]


# -- changes ---------------------------------------------------------------------------------------


def test_what_is_replaced_or_removed_disappears(store: Store) -> None:
    filled(store, a_file("a.md", "old word\nline"), a_file("b.md", "removed word"))
    assert len(nearest(store, vector_of("query"))) == 2
    before = seqs(store)
    new = a_file("a.md", "new word", version=2, replaces=1)
    assert store.write([new], ["b.md", "never.md"]) == ()
    assert matching(store, "word") == ["new word"]
    assert matching(store, "old") == matching(store, "removed") == []
    for _ in range(2):
        assert nearest(store, vector_of("query")) == ["new word"]
    with store.snapshot() as snapshot:
        assert snapshot.files() == {"a.md": new.record}
        assert snapshot.totals() == Totals(1, 1, 1)
        assert snapshot.chunk_count() == 1
        assert snapshot.chunks_of("b.md") == []
        assert snapshot.frequencies(words("old", "new")) == dict(
            zip(words("old", "new"), (0, 1), strict=True)
        )
        found = snapshot.chunks([*before, *seqs(store)])
        assert [chunk.text for chunk in found.values()] == ["new word"]


def test_a_record_alone_leaves_the_chunks(store: Store) -> None:
    file = a_file("a.md", "text")
    filled(store, file)
    touched = record_only(file, version=2, replaces=1)
    assert store.write([touched]) == ()
    assert matching(store, "text") == nearest(store, vector_of("q")) == ["text"]
    with store.snapshot() as snapshot:
        assert snapshot.file("a.md") == touched.record


@pytest.mark.parametrize("replaces", [None, 1, 99])
def test_a_file_that_another_writer_replaced_meanwhile_is_skipped(
    store: Store, replaces: int | None
) -> None:
    theirs = a_file("a.md", "theirs", version=2)
    filled(store, theirs)
    mine = a_file("a.md", "mine", version=3, replaces=replaces)
    assert store.write([mine, a_file("b.md", "new")]) == ("a.md",)
    assert sorted(nearest(store, vector_of("q"))) == ["new", "theirs"]
    with store.snapshot() as snapshot:
        assert snapshot.file("a.md") == theirs.record


def test_a_file_that_another_writer_removed_meanwhile_is_skipped(store: Store) -> None:
    filled(store)
    assert store.write([a_file("a.md", "mine", version=2, replaces=1)]) == ("a.md",)
    assert matching(store, "mine") == []


def test_vectors_that_do_not_fit_the_index_are_left_alone(store: Store) -> None:
    filled(store)
    assert store.write([a_file("a.md", "odd", dimension=5), a_file("b.md", "even")]) == ("a.md",)
    assert matching(store, "odd", "even") == ["even"]


def test_a_reader_stays_with_the_state_it_began_with(store: Store) -> None:
    filled(store, a_file("a.md", "old word"), a_file("b.md", "kept word"))
    nearest(store, vector_of("query"))
    with store.snapshot() as snapshot:
        before = snapshot.nearest(vector_of("query"), 9, ALL)
        store.write([a_file("a.md", "new word", version=2, replaces=1), a_file("c.md", "more")])
        assert len(nearest(store, vector_of("query"))) == 3
        after = snapshot.nearest(vector_of("query"), 9, ALL)
        assert [seq for seq, _ in after] == [seq for seq, _ in before]
        assert dict(after) == pytest.approx(dict(before))
        assert len(snapshot.match(words("word"), every=False, limit=9, rows=ALL)) == 2
        assert [chunk.text for chunk, _ in snapshot.chunks_of("a.md")] == ["old word"]
        assert snapshot.totals() == Totals(2, 2, 2)


# -- the cache -------------------------------------------------------------------------------------


def cached(store: Store, *texts: str, **changes: Any) -> set[str]:
    """Which texts' vectors are known for an identity, and that they are the right ones."""
    with store.snapshot() as snapshot:
        found = snapshot.vectors_of([sha256(text) for text in texts], replace(IDENTITY, **changes))
    known = {text for text in texts if sha256(text) in found}
    for text in known:
        np.testing.assert_array_equal(found[sha256(text)].vector, vector_of(text))
        assert found[sha256(text)].lines == embedded(text).lines
    return known


def test_vectors_are_found_while_their_text_is_indexed_and_when_it_has_left(store: Store) -> None:
    filled(store, a_file("a.md", "one\ntwo", "three"), a_file("b.md", "three", "four"))
    assert cached(store, "one\ntwo", "three", "four", "five") == {"one\ntwo", "three", "four"}
    store.write([a_file("a.md", "five", version=2, replaces=1)], ["b.md"])
    texts = ("one\ntwo", "three", "four", "five")
    assert cached(store, *texts) == set(texts)


@pytest.mark.parametrize(
    "change",
    [
        {"model": "other"},
        {"provider": "other"},
        {"endpoint": "elsewhere"},
        {"unit": "chunk"},
        {"dimension": 5},
        {"dimension": None},
        {"model": None},
    ],
)
def test_vectors_are_not_found_under_another_identity(store: Store, change: Any) -> None:
    filled(store, a_file("a.md", "indexed"), a_file("b.md", "left"))
    store.write([], ["b.md"])
    assert cached(store, "indexed", "left") == {"indexed", "left"}
    assert cached(store, "indexed", "left", **change) == set()


def test_a_chunk_without_lines_comes_back_without_lines(store: Store) -> None:
    file = a_file("a.md", "text")
    assert file.chunks is not None
    chunk = replace(file.chunks[0], embedded=replace(embedded("text"), lines=None))
    filled(store, replace(file, chunks=[chunk]))
    for _ in range(2):
        with store.snapshot() as snapshot:
            assert snapshot.vectors_of([sha256("text")], IDENTITY)[sha256("text")].lines is None
            assert snapshot.mean_line() is None
        store.write([], ["a.md"])


def test_vectors_are_kept_before_their_text_is_indexed_and_dropped_afterwards(
    store: Store,
) -> None:
    store.cache_vectors({sha256("early"): embedded("early")})  # no identity: whose would they be?
    filled(store, a_file("a.md", "indexed"))
    store.cache_vectors({sha256(text): embedded(text) for text in ("one", "two\nlines")})
    assert cached(store, "one", "two\nlines", "early") == {"one", "two\nlines"}
    short = replace(embedded("short"), vector=vector_of("short")[:2])
    store.cache_vectors({sha256("short"): short}, drop=[sha256("one"), sha256("nobody's")])
    assert cached(store, "one", "two\nlines", "short", "indexed") == {"two\nlines", "indexed"}
    store.cache_vectors({}, drop=[sha256("two\nlines")])
    assert cached(store, "two\nlines") == set()


def test_the_oldest_cached_vectors_are_dropped(store: Store) -> None:
    filled(store, *(a_file(f"{name}.md", name) for name in "abcde"))
    for name in "cadbe":
        store.write([], [f"{name}.md"])
    store.trim_vector_cache(9)
    assert cached(store, *"abcde") == set("abcde")
    store.trim_vector_cache(3)
    assert cached(store, *"abcde") == set("dbe")
    store.trim_vector_cache(0)
    assert cached(store, *"abcde") == set()


def test_purging_drops_cached_vectors_and_nothing_that_is_found(store: Store) -> None:
    filled(store, *(a_file(f"{name}.md", name) for name in "abc"))
    store.write([], ["a.md"])
    with store.lease("run", timeout_s=1):
        assert store.purge()
    assert cached(store, *"abc") == set("bc")
    with store.snapshot() as snapshot:
        assert snapshot.totals().chunks == 2
        assert len(snapshot.match([Term("b", "b")], every=True, limit=9, rows=RowFilter())) == 1


# -- rebuilds --------------------------------------------------------------------------------------


def test_a_rebuild_takes_the_place_of_the_index_when_it_is_committed(store: Store) -> None:
    filled(store, a_file("a.md", "old"), a_file("b.md", "removed"))
    nearest(store, vector_of("query"))
    store.write([], ["b.md"])
    identity = replace(IDENTITY, model="next", dimension=5, tokenizer="unicode61")
    rebuild = store.begin_rebuild(identity, restart=False, keep_cache=10)
    rebuild.store.write([a_file("a.md", "new", dimension=5, version=2)])
    rebuild.store.mark_complete()
    assert store.identity == IDENTITY
    assert matching(store, "new", "old") == ["old"]
    rebuild.commit(keep_cache=10)
    rebuild.close()
    assert store.cached_identity == identity
    assert store.identity == identity
    assert store.complete
    assert nearest(store, vector_of("query", 5)) == matching(store, "new", "old") == ["new"]
    assert cached(store, "old", "removed") == {"old", "removed"}
    store.write([a_file("c.md", "more", dimension=5)])
    assert sorted(nearest(store, vector_of("query", 5))) == ["more", "new"]


@pytest.mark.parametrize("keep", [0, 1, 2, 3])
def test_the_cache_stays_bounded_when_a_rebuild_is_committed(store: Store, keep: int) -> None:
    filled(store, a_file("a.md", "first", "second", "third"))
    identity = replace(IDENTITY, model="next")
    rebuilt(store, a_file("z.md", "new"), identity=identity, keep_cache=keep)
    assert len(cached(store, "first", "second", "third")) == keep


def test_a_reader_stays_with_its_state_when_a_rebuild_is_committed(store: Store) -> None:
    filled(store, a_file("a.md", *[f"old {n}" for n in range(50)]))
    nearest(store, vector_of("query"))
    with store.snapshot() as snapshot:
        before = snapshot.nearest(vector_of("query"), 9, ALL)
        rebuilt(store, a_file("a.md", *[f"new {n}" for n in range(50)], version=2))
        assert nearest(store, vector_of("query"))[0].startswith("new")
        assert dict(snapshot.nearest(vector_of("query"), 9, ALL)) == pytest.approx(dict(before))
        assert snapshot.totals() == Totals(1, 50, 50)
        assert len(snapshot.match(words("old"), every=False, limit=99, rows=ALL)) == 50
    assert matching(store, "old") == []


@pytest.mark.parametrize(
    ("changes", "restart", "resumed"),
    [({}, False, True), ({}, True, False), ({"model": "third"}, False, False)],
    ids=["fits", "restart", "another model"],
)
def test_a_rebuild_that_was_left_is_resumed_if_it_fits(
    store: Store, changes: dict[str, Any], restart: bool, resumed: bool
) -> None:
    filled(store, a_file("a.md", "old"))
    identity = replace(IDENTITY, model="next")
    left = store.begin_rebuild(identity, restart=False, keep_cache=10)
    left.store.write([a_file("a.md", "half", version=2)])
    left.close()
    again = store.begin_rebuild(replace(identity, **changes), restart=restart, keep_cache=10)
    assert matching(again.store, "half") == (["half"] if resumed else [])
    assert cached(store, "half", model="next") == (set() if resumed else {"half"})
    again.abandon(keep_cache=10)
    again.close()
    assert matching(store, "old", "half") == ["old"]
    assert cached(store, "half", model="next") == {"half"}


# -- coordination ----------------------------------------------------------------------------------


def test_a_lease_has_one_holder_at_a_time(store: Store) -> None:
    assert store.lease_holder() is None
    with store.lease("run", timeout_s=1):
        assert store.lease_holder()
        with store.lease("swap", timeout_s=1):
            pass  # the two are independent
        with ThreadPoolExecutor(1) as pool:
            refused = pool.submit(acquire, store, 0.05)
            assert isinstance(refused.exception(), IndexBusyError)
    assert store.lease_holder() is None
    acquire(store, 0.0)


def acquire(store: Store, timeout_s: float) -> None:
    with store.lease("run", timeout_s=timeout_s):
        pass


def test_a_wait_for_a_lease_can_be_cancelled(store: Store) -> None:
    def cancel() -> None:
        raise ZeroDivisionError

    def wait() -> None:
        with store.lease("run", timeout_s=30, check=cancel):
            pass

    with store.lease("run", timeout_s=1), ThreadPoolExecutor(1) as pool:
        assert isinstance(pool.submit(wait).exception(), ZeroDivisionError)


def test_a_lease_is_released_when_its_block_raises(store: Store) -> None:
    with pytest.raises(ZeroDivisionError), store.lease("run", timeout_s=1):
        raise ZeroDivisionError
    acquire(store, 0.0)


# -- what the engine says of itself ----------------------------------------------------------------


def test_an_index_exists_once_it_has_an_identity(store: Store) -> None:
    assert not store.exists()
    filled(store)
    assert store.exists()


def test_an_engine_describes_itself(store: Store) -> None:
    filled(store, a_file("a.md", "word"))
    assert store.location
    assert store.access == "read-write"
    assert set(store.engines) == {"vectors", "words"}
    assert store.capabilities <= {"exact-fts5-bm25", "hosts", "publication", "windows"}
    for check in store.health_checks():
        assert check.run().startswith(("ok", "not tried"))


def test_an_error_that_is_no_damage_is_not_recovered_from(store: Store) -> None:
    filled(store)
    assert store.recover(StoreError("no space left"), certain=False) is None
    assert store.recover(StoreError("no space left"), certain=True) is None


def test_a_closed_store_refuses_everything(store: Store) -> None:
    filled(store)
    store.close()
    with pytest.raises(StoreError, match="closed"), store.snapshot():
        pass
    with pytest.raises(StoreError, match="closed"):
        store.write([], ["a.md"])
    store.close()  # twice is once


# -- order -----------------------------------------------------------------------------------------


def test_ordinals_count_the_chunks_of_a_file(store: Store) -> None:
    filled(store, a_file("a.md", "a0", "a1", "a2"), a_file("b.md", "b0"))
    assert ordinals(store) == {"a0": 0, "a1": 1, "a2": 2, "b0": 0}
    end = a_file("a.md", "a1 again", "a2 again", version=2, replaces=1)
    chunks = [
        replace(item, chunk=replace(item.chunk, start_line=line, end_line=line))
        for item, line in zip(end.chunks or (), (2, 3), strict=True)
    ]
    assert store.write([replace(end, chunks=chunks, keep_before=2)]) == ()
    assert ordinals(store) == {"a0": 0, "a1 again": 1, "a2 again": 2, "b0": 0}


def test_what_is_written_later_has_a_greater_version(store: Store) -> None:
    filled(store, a_file("a.md", "first"))
    store.write([a_file("b.md", "second")])
    store.write([a_file("a.md", "third", version=2, replaces=1)])
    chunks = {chunk.text: chunk.seq for chunk in stored(store)}
    with store.snapshot() as snapshot:
        known = snapshot.versions([*chunks.values()])
    versions = {text: known[seq] for text, seq in chunks.items()}
    assert versions["second"] < versions["third"]


def ordinals(store: Store) -> dict[str, int]:
    return {chunk.text: chunk.ordinal for chunk in stored(store)}


def stored(store: Store) -> list[StoredChunk]:
    with store.snapshot() as snapshot:
        found = snapshot.nearest(vector_of("q"), 99, ALL)
        return list(snapshot.chunks([seq for seq, _ in found]).values())


# -- some of the files -----------------------------------------------------------------------------

SHARED = [
    a_file("MEMORY.md", "alpha beta", "gamma"),
    a_file("memory/2026-11-20.md", "alpha alpha delta", day=20),
    a_file("memory/work/vpn.md", "alpha port", "delta port"),
    a_file("memory/work/old/vpn.md", "beta port", vectors=False),
    a_file("memory/workshop.md", "delta gamma"),
    a_file("sessions/one.jsonl", "alpha session", source="sessions", day=21),
]


@pytest.mark.parametrize(
    ("files", "expected"),
    [
        (FileFilter(), {0, 1, 2, 3, 4, 5}),
        (FileFilter(("memory/work",)), {2, 3}),
        (FileFilter(("memory/work/",)), {2, 3}),
        (FileFilter(("MEMORY.md", "sessions/")), {0, 5}),
        (FileFilter(("memory/*.md",)), {1, 4}),
        (FileFilter(("memory/**",)), {1, 2, 3, 4}),
        (FileFilter(("memory/**/*.md",)), {1, 2, 3, 4}),
        (FileFilter(("memory/work/**/vpn.md",)), {2, 3}),
        (FileFilter(("memory/????-??-[0-9]?.md",)), {1}),
        (FileFilter(("memory/[!0-9]*.md",)), {4}),
        (FileFilter(()), set()),
        (FileFilter(("nowhere/",)), set()),
        (FileFilter(hidden=frozenset({"MEMORY.md", "memory/work/vpn.md"})), {1, 3, 4, 5}),
        (FileFilter(("memory/",), frozenset({"memory/workshop.md"})), {1, 2, 3}),
    ],
)
def test_a_snapshot_within_some_files_counts_and_finds_nothing_of_the_others(
    store: Store, tmp_path: Path, files: FileFilter, expected: set[int]
) -> None:
    filled(store, *SHARED)
    inside = [SHARED[number] for number in sorted(expected)]
    alone = filled(MemoryStore(), *inside)
    with store.snapshot() as snapshot, alone.snapshot() as other:
        for _ in range(2):  # what is looked up once is cached
            within = snapshot.within(files)
            _assert_alike(within, other)
        assert within.identity == IDENTITY
        everything = [seq for seq, _ in snapshot.nearest(vector_of("q"), 100, ALL)]
        shown = {chunk.path for chunk in within.chunks(everything).values()}
        assert shown <= {file.record.path for file in inside}
        for file in SHARED:
            assert within.chunks_of(file.record.path)[:1] == [] or file in inside


def _assert_alike(within: Any, other: Any) -> None:
    """Compare a snapshot within some files with one of an index that has no others."""
    assert within.files() == other.files()
    assert within.totals() == other.totals()
    terms = words("alpha", "beta", "gamma", "delta", "port", "session", "nothing")
    for source in (None, "memory", "sessions"):
        assert within.chunk_count(source) == other.chunk_count(source)
        assert within.frequencies(terms, source) == other.frequencies(terms, source)
        mean, wanted = within.mean_line(source), other.mean_line(source)
        assert (mean is None) == (wanted is None)
        if mean is not None:
            np.testing.assert_allclose(mean, wanted, atol=1e-6)
    for rows in (ALL, RowFilter(frozenset({"memory"})), RowFilter(after=20)):
        found = dict(_by_name(within, within.nearest(vector_of("q"), 100, rows)))
        assert found == pytest.approx(
            dict(_by_name(other, other.nearest(vector_of("q"), 100, rows))), abs=1e-6
        )
        for every in (True, False):
            some = terms[:2] if every else terms
            hits = [
                {name for name, _ in _by_name(it, it.match(some, every=every, limit=9, rows=rows))}
                for it in (within, other)
            ]
            assert hits[0] == hits[1]


def test_a_snapshot_knows_the_files_that_are_expired(store: Store) -> None:
    kept = a_file("a.md", "one")
    expiring = [
        replace(file, record=replace(file.record, expires_ms=at_ms, metadata='{"a": 1}'))
        for file, at_ms in ((a_file("b.md", "two"), 1_000), (a_file("c.md", "three"), 2_000))
    ]
    filled(store, kept, *expiring)
    with store.snapshot() as snapshot:
        assert snapshot.expired(999) == set()
        assert snapshot.expired(1_000) == {"b.md"}
        assert snapshot.expired(9_000) == {"b.md", "c.md"}
        assert snapshot.within(FileFilter(("c.md",))).expired(9_000) == {"c.md"}
        assert snapshot.file("b.md") == expiring[0].record
        assert snapshot.metadata([]) == {}
        assert snapshot.metadata(["a.md", "b.md", "c.md", "no.md"]) == dict.fromkeys(
            ("b.md", "c.md"), '{"a": 1}'
        )
        assert snapshot.within(FileFilter(("c.md",))).metadata(["b.md", "c.md"]) == {
            "c.md": '{"a": 1}'
        }
    changed = replace(a_file("c.md", "three"), replaces=expiring[1].record.indexed_ns)
    store.write([changed], ["b.md"])
    with store.snapshot() as snapshot:
        assert snapshot.expired(9_000) == set()
        assert snapshot.metadata(["b.md", "c.md"]) == {}


# -- properties ------------------------------------------------------------------------------------

PIECES = st.sampled_from(
    ["alpha", "Beta", "beta-gamma", "running", "run", "runs", "don't", "ERR_CONN_4711", "conn",
     "日本", "日本語", "本", "東京都に住む", "カタカナ", "한국어", "한국",
     "ภาษาไทย", "Café", "cafe", "🎉", "x", ". "]
)  # fmt: skip
TEXTS = st.lists(st.tuples(PIECES, st.sampled_from(["", " ", "\n"])), max_size=12).map(
    lambda pairs: "".join(piece + gap for piece, gap in pairs)
)
FILTERS = st.sampled_from(
    [ALL, RowFilter(frozenset({"memory"})), RowFilter(after=3), RowFilter(after=2, before=4)]
)


@st.composite
def corpora(draw: st.DrawFn) -> list[Any]:
    found = draw(st.lists(st.lists(TEXTS, max_size=4), min_size=1, max_size=6))
    return [
        a_file(
            f"{number}.md",
            *texts,
            source=draw(st.sampled_from(["memory", "sessions"])),
            day=draw(st.none() | st.integers(1, 5)),
        )
        for number, texts in enumerate(found)
    ]


TOKENIZERS = st.sampled_from(["porter", "unicode61"])


@pytest.mark.slow
@COMPARED
@settings(deadline=None, max_examples=60)
@given(corpora(), st.lists(TEXTS | PIECES, min_size=1, max_size=4), FILTERS, st.data())
def test_all_engines_find_the_same_and_the_exact_ones_score_it_alike(
    compared: str, files: list[Any], queries: list[str], rows: RowFilter, data: st.DataObject
) -> None:
    tokenizer = data.draw(TOKENIZERS)
    removed = [file.record.path for file in files if data.draw(st.booleans())]
    analyzer = Analyzer(tokenizer)
    answers = {}
    exact = []
    with TemporaryDirectory() as folder:
        for name, make in engines_with(compared).items():
            identity = replace(IDENTITY, tokenizer=tokenizer)
            store = filled(make(Path(folder)), *files, identity=identity)
            store.write([], removed)
            with store.snapshot() as snapshot:
                answers[name] = [_answers(snapshot, analyzer, query, rows) for query in queries]
            if "exact-fts5-bm25" in store.capabilities:
                exact.append(name)
            store.close()
    assert set(exact) >= {"sqlite", "memory"}
    for name, theirs in answers.items():
        for mine, other in zip(answers["memory"], theirs, strict=True):
            assert other["frequencies"] == mine["frequencies"]
            assert dict(other["nearest"]) == pytest.approx(dict(mine["nearest"]), abs=1e-6)
            for hits, theirs_hits in zip(mine["matches"], other["matches"], strict=True):
                assert len(theirs_hits) == len(hits)
                if name in exact:
                    assert [key for key, _ in theirs_hits] == [key for key, _ in hits]
                    values = [[score for _, score in some] for some in (theirs_hits, hits)]
                    np.testing.assert_allclose(*values, atol=1e-6)
            for hits, theirs_hits in zip(mine["all"], other["all"], strict=True):
                assert {key for key, _ in theirs_hits} == {key for key, _ in hits}


def _answers(snapshot: Any, analyzer: Analyzer, query: str, rows: RowFilter) -> Any:
    cut = analyzer.words(query)
    some = [*cut, *filter(None, map(analyzer.other_form, cut)), *words(*query.split())]
    found = {
        (every, limit): snapshot.match(some, every=every, limit=limit, rows=rows)
        for every in (True, False)
        for limit in (3, 100)
    }
    for (every, limit), hits in found.items():
        assert hits == sorted(hits, key=lambda hit: (-hit[1], hit[0]))
        assert hits == snapshot.match(some, every=every, limit=limit, rows=rows)
        assert hits == found[every, 100][:limit]
    named = [_by_name(snapshot, hits) for hits in found.values()]
    return {
        "frequencies": snapshot.frequencies(some),
        "matches": named,
        "all": named[1::2],
        "nearest": _by_name(snapshot, snapshot.nearest(vector_of(query), 100, rows)),
    }


def _by_name(snapshot: Any, hits: list[tuple[int, float]]) -> list[tuple[str, float]]:
    """Numbers are an engine's own affair."""
    chunks = snapshot.chunks([seq for seq, _ in hits])
    return [(chunks[seq].id, score) for seq, score in hits]


@pytest.mark.slow
@COMPARED
@settings(deadline=None, max_examples=60)
@given(st.lists(TEXTS | st.text(max_size=30), min_size=1, max_size=5), TOKENIZERS, st.data())
def test_the_terms_of_every_engine_are_those_of_the_analyzer(
    compared: str, texts: list[str], tokenizer: str, data: st.DataObject
) -> None:
    query = data.draw(st.sampled_from(texts) | TEXTS | st.text(max_size=10))
    analyzer = Analyzer(tokenizer)
    terms = list(dict.fromkeys([*analyzer.words(query), *words(*query.split())]))
    held = {term: {t for t in texts if _holds(analyzer, t, term)} for term in terms}
    with TemporaryDirectory() as folder:
        for make in engines_with(compared).values():
            identity = replace(IDENTITY, tokenizer=tokenizer)
            store = filled(make(Path(folder)), a_file("a.md", *texts), identity=identity)
            with store.snapshot() as snapshot:
                counts = snapshot.frequencies(terms)
                for term in terms:
                    assert counts[term] == sum(text in held[term] for text in texts)
                    hits = snapshot.match([term], every=True, limit=99, rows=ALL)
                    found = snapshot.chunks([seq for seq, _ in hits])
                    assert {chunk.text for chunk in found.values()} == held[term]
            store.close()


def _holds(analyzer: Analyzer, text: str, term: Term) -> bool:
    """Whether a text holds a term, by the words of `Snapshot.match`."""
    phrase = analyzer.terms(term.text)
    name = analyzer.tokenizer
    texts = [grams_text(text, name)] if term.gram else [text, glued_words(text, name)]
    held = [*map(analyzer.terms, texts)]
    if term.gram and len(term.text) == 1:
        return bool(phrase) and any(gram.startswith(phrase[0]) for gram in held[0])
    return bool(phrase) and any(
        some[at : at + len(phrase)] == phrase
        for some in held
        for at in range(len(some) - len(phrase) + 1)
    )


@pytest.mark.parametrize("seed", range(3))
def test_the_mean_line_follows_every_change(store: Store, seed: int) -> None:
    rng = np.random.default_rng(seed)
    filled(store)
    versions: dict[str, int] = {}
    numbers = count(1)
    for _ in range(30):
        path, version = f"{rng.integers(5)}.md", next(numbers)
        if rng.random() < 0.3:
            store.write([], [path])
            versions.pop(path, None)
        else:
            texts = [f"{version}-{at}" + "\n" * int(rng.integers(4)) for at in range(3)]
            file = a_file(path, *texts, version=version, replaces=versions.get(path))
            assert store.write([file]) == ()
            versions[path] = version
        with store.snapshot() as snapshot:
            lines = [e.lines for path in versions for _, e in snapshot.chunks_of(path) if e]
            mean = snapshot.mean_line()
            if versions:
                expected = unpack(b"".join(filter(None, lines)), DIMENSION).mean(axis=0)
                np.testing.assert_allclose(mean, expected, atol=1e-6)
            else:
                assert mean is None
