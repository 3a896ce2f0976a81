"""Vectors of the PostgreSQL engine: what stays on the server, and what readers follow."""

from __future__ import annotations

import contextlib
import threading

import numpy as np
import pytest

pytest.importorskip("psycopg")

from commonplace.errors import StoreError
from commonplace.store.postgres import writer as writer_module
from commonplace.store.records import FileFilter, RowFilter
from commonplace.store.registry import open_store
from store.samples import ALL, IDENTITY, a_file, filled, nearest, rebuilt, vector_of
from support import postgres

pytestmark = pytest.mark.slow

FILES, CHUNKS = 60, 50
SESSIONS = RowFilter(sources=frozenset({"sessions"}))


@pytest.fixture
def url(tmp_path):
    return postgres.url_of(tmp_path)


@pytest.fixture
def store(url):
    with contextlib.closing(open_store(f"{url}&resident_mb=0")) as made:
        yield made


def many(files=FILES, version=1):
    """Files of some chunks each, of consecutive days; every third is a session."""
    return [
        a_file(
            f"f{n}.md",
            *(f"text {n} {at} of {version}" for at in range(CHUNKS)),
            day=1000 + n,
            source="sessions" if n % 3 == 0 else "memory",
        )
        for n in range(files)
    ]


def found(store, query, *, exact=False, rows=ALL, files=None, limit=24):
    with store.snapshot() as snapshot:
        one = snapshot if files is None else snapshot.within(files)
        return one.nearest(query, limit, rows, exact=exact)


def uses_the_graph(store):
    """Return whether the server's planner takes the index for a query without a filter."""
    with store.snapshot() as snapshot:
        expression = snapshot.vector_search().indexed()
        rows = snapshot._connection.execute(
            f"EXPLAIN SELECT seq FROM {snapshot._tables.vectors} ORDER BY ({expression}) <#> "
            f"'{vector_of('q').tolist()}'::halfvec LIMIT 400"
        ).fetchall()
    return any("vectors_1_near" in line for (line,) in rows)


def recall(store, **options):
    shares = []
    for n in range(20):
        query = vector_of(f"question {n}")
        right = {seq for seq, _ in found(store, query, exact=True, **options)}
        near = found(store, query, **options)
        assert near == sorted(near, key=lambda hit: (-hit[1], hit[0]))
        assert len(near) == len(right)
        shares.append(len(right & {seq for seq, _ in near}) / len(right))
    return np.mean(shares)


def test_beyond_its_size_vectors_are_found_by_hnsw_and_rescored_exactly(store, url):
    filled(store, *many())
    assert store.engines["vectors"].startswith("one by one on the server")
    store.mark_complete()
    assert store.engines["vectors"].startswith("HNSW, pgvector")
    assert uses_the_graph(store)
    assert recall(store) > 0.95
    assert recall(store, rows=SESSIONS) > 0.95
    few = RowFilter(after=1003, before=1003)  # fewer than the graph passes on its way
    assert recall(store, rows=few) == 1
    assert recall(store, files=FileFilter(patterns=("f7.md", "f8.md"))) == 1
    assert recall(store, files=FileFilter(hidden=frozenset({"f9.md"}))) > 0.95
    exact = dict(found(store, vector_of("q"), exact=True))
    for seq, score in found(store, vector_of("q")):
        assert score == pytest.approx(exact.get(seq, score), abs=1e-7)
    assert store._cache._resident is None  # nothing of it is in memory
    with contextlib.closing(open_store(url)) as other:  # a reader with room for it
        assert other.engines["vectors"].startswith("numpy")
        query = vector_of("other")
        assert found(other, query, exact=True) == found(store, query, exact=True)


def test_the_graph_follows_writes_and_is_made_for_each_rebuild(store):
    filled(store, *many())
    store.mark_complete()
    assert found(store, vector_of("text 5 7 of 1"), limit=1)[0][1] == pytest.approx(1, abs=1e-5)
    store.write([a_file("new.md", "a new text")], ["f5.md"])
    assert nearest(store, vector_of("a new text"), limit=1) == ["a new text"]
    assert found(store, vector_of("text 5 7 of 1"), limit=1)[0][1] < 0.999
    rebuild = store.begin_rebuild(IDENTITY, restart=True, keep_cache=10)
    with contextlib.closing(rebuild):
        filled(rebuild.store, *many(version=2))
        rebuild.store.mark_complete()
        rebuild.commit(keep_cache=10)
    assert store.engines["vectors"].startswith("HNSW")
    assert recall(store) > 0.95
    rebuilt(store, *many(3))  # without a run's end, none is made
    assert store.engines["vectors"].startswith("one by one")
    assert recall(store) == 1


def test_what_a_crash_left_of_a_graph_is_made_again(store):
    filled(store, *many(10))
    store.mark_complete()
    schema = store.database.address.schema
    with store.database.borrowed() as connection:
        connection.execute(
            "UPDATE pg_index SET indisvalid = false WHERE indexrelid = "
            f"'\"{schema}\".vectors_1_near'::regclass"
        )
    store.write([a_file("another.md", "a text")])
    assert store.engines["vectors"].startswith("one by one")
    assert recall(store) == 1
    store.mark_complete()
    assert store.engines["vectors"].startswith("HNSW")


@pytest.mark.full
def test_others_write_while_the_graph_is_made(store, url):
    filled(store, *many(300))
    written = []

    def write():
        with contextlib.closing(open_store(url)) as other:
            while not done.is_set():
                number = len(written)
                written.append(other.write([a_file(f"w{number}.md", f"written {number}")]))

    done = threading.Event()
    thread = threading.Thread(target=write)
    thread.start()
    try:
        store.mark_complete()
    finally:
        done.set()
        thread.join(60)
    assert store.engines["vectors"].startswith("HNSW")
    assert len(written) > 3
    with store.snapshot() as snapshot:
        assert snapshot.totals().files == 300 + len(written)
    for number in range(len(written)):
        text = f"written {number}"
        assert nearest(store, vector_of(text), limit=1) == [text]


def test_a_graph_that_cannot_be_made_is_logged_and_searches_go_on(store, caplog):
    filled(store, *many(4))
    with store.database.borrowed() as connection:
        schema = store.database.address.schema
        connection.execute(f'CREATE TABLE "{schema}".vectors_1_near (n integer)')
    store.mark_complete()
    assert "no HNSW index was made" in caplog.text
    assert store.complete
    assert recall(store) == 1


@pytest.mark.parametrize("value", ["", "-1", "many", "1e3", "²"])
def test_a_size_that_is_no_number_is_refused(url, value):
    with pytest.raises(StoreError, match="a number of MiB was expected"):
        open_store(f"{url}&resident_mb={value}")


def test_the_list_of_deletions_is_bounded_and_a_reader_far_behind_reads_again(url, monkeypatch):
    monkeypatch.setattr(writer_module, "_MAX_DROPPED", 20)
    monkeypatch.setattr(writer_module, "_PRUNE_EVERY", 4)
    with contextlib.closing(open_store(url)) as one, contextlib.closing(open_store(url)) as other:
        filled(one, *(a_file(f"{n}.md", *(f"{n} {at} 0" for at in range(10))) for n in range(6)))
        for _ in range(2):
            nearest(other, vector_of("q"))  # its vectors are resident
        for version in range(2, 42):
            texts = [f"{version % 6} {at} {version}" for at in range(10)]
            file = a_file(
                f"{version % 6}.md", *texts, version=version, replaces=max(1, version - 6)
            )
            assert one.write([file]) == ()
            if version % 20 == 1:
                assert nearest(other, vector_of(texts[3]), limit=1) == [texts[3]]
                with other.snapshot() as snapshot:
                    seqs = [seq for seq, _ in snapshot.nearest(vector_of("q"), 100, ALL)]
                    assert len(snapshot.chunks(seqs)) == len(seqs) == 60
        assert other._cache._resident is not None
    ((rows, marks),) = postgres.rows(
        url, "SELECT count(*), count(*) FILTER (WHERE seq = 0) FROM {dropped}"
    )
    assert 0 < rows <= 20 + 4 * 10 + 1
    assert marks == 1
