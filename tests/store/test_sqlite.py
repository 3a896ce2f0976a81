import json
import os
import random
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import apsw
import numpy as np
import pytest

from commonplace.errors import (
    CommonplaceError,
    IndexDamagedError,
    IndexReadOnlyError,
    StoreError,
)
from commonplace.store import resident_vectors
from commonplace.store.base import Recovery
from commonplace.store.records import FileFilter, IndexedFile, RowFilter, Totals
from commonplace.store.sqlite import connection, schema, vector_extension, writer
from commonplace.store.sqlite import snapshot as snapshot_module
from commonplace.store.sqlite.recovery import check_pages, move_aside
from commonplace.store.sqlite.store import SqliteStore
from commonplace.store.sqlite.vector_extension import check_vec0
from commonplace.text.analysis import Term
from commonplace.types import Source
from commonplace.vectors.arrays import ChunkVectors, unpack
from commonplace.vectors.sign_sketch import SignSketch
from store.samples import (
    ALL,
    DIMENSION,
    IDENTITY,
    a_file,
    contents,
    filled,
    matching,
    nearest,
    rebuilt,
    unit_rows,
    vector_of,
    words,
)

WORKER = Path(__file__).with_name("worker.py")
PATHS = [str(WORKER.parent.parent), *filter(None, [os.environ.get("PYTHONPATH")])]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "index.sqlite"


@pytest.fixture
def opened(path: Path) -> Iterator[Callable[[], SqliteStore]]:
    """Open the index as often as a test likes; all of it is closed at the end."""
    stores: list[SqliteStore] = []

    def open_() -> SqliteStore:
        stores.append(SqliteStore(path))
        return stores[-1]

    yield open_
    for store in stores:
        store.close()


@pytest.fixture
def store(opened: Callable[[], SqliteStore]) -> SqliteStore:
    return opened()


Worker = Callable[..., subprocess.Popen[str]]


@pytest.fixture
def worker() -> Iterator[Worker]:
    """Start other processes; none of them outlives a test."""
    started: list[subprocess.Popen[str]] = []

    def start(task: str, *arguments: object) -> subprocess.Popen[str]:
        process = subprocess.Popen(
            [sys.executable, str(WORKER), task, *map(str, arguments)],
            env={**os.environ, "PYTHONPATH": os.pathsep.join(PATHS)},
            stdout=subprocess.PIPE,
            text=True,
        )
        started.append(process)
        return process

    yield start
    for process in started:
        process.kill()
        process.communicate()


def numbered(count: int, name: str = "a.md", **options: Any) -> IndexedFile:
    return a_file(name, *(f"word {number}" for number in range(count)), **options)


# -- tables ----------------------------------------------------------------------------------------


def test_a_new_file_has_the_newest_tables(store: SqliteStore) -> None:
    with store.writing() as connection_:
        assert connection_.pragma("user_version") == schema.SCHEMA_VERSION
        assert connection_.pragma("journal_mode") == "wal"


def test_an_identity_survives_reopening(opened: Callable[[], SqliteStore]) -> None:
    store = filled(opened(), numbered(3))
    store.mark_complete()
    expected = contents(store)
    store.close()
    again = opened()
    assert again.identity == again.cached_identity == IDENTITY
    assert again.complete
    assert contents(again) == expected


def test_no_query_looks_at_a_whole_table_for_some_rows(store: SqliteStore) -> None:
    """A filter over the words or a look for known texts must not grow with the index."""
    filled(store, numbered(50))
    plans: list[str] = []
    matching(store, "word")  # a process's first search compares the words with their checksums
    with store.snapshot() as snapshot:

        def explain(cursor: apsw.Cursor, sql: str, bindings: Any) -> bool:
            if not sql.startswith("EXPLAIN"):
                plan = apsw.Cursor(cursor.connection).execute(f"EXPLAIN QUERY PLAN {sql}", bindings)
                plans.extend(step[-1] for step in plan)
            return True

        snapshot._connection.exec_trace = explain
        snapshot.match(words("word"), every=False, limit=5, rows=RowFilter(after=1))
        snapshot.vectors_of(["0" * 64], IDENTITY)
        snapshot.chunks([1, 2, 3])
        snapshot.chunks_of("a.md")
        snapshot._connection.exec_trace = None
    scanned = [step for step in plans if step.startswith("SCAN") and "VIRTUAL" not in step]
    assert any(step.startswith("SEARCH chunk_places") for step in plans)
    assert scanned == []


def test_the_cache_takes_little_more_than_its_vectors(store: SqliteStore) -> None:
    filled(store, identity=replace(IDENTITY, dimension=1536))
    store.write([numbered(300, dimension=1536)])
    store.write([], ["a.md"])
    with store.writing() as connection_:
        count, vectors_bytes = connection_.execute(
            "SELECT count(*), sum(length(embedding) + length(lines)) FROM embedding_cache"
        ).get
        table = "SELECT sum(pgsize) FROM dbstat WHERE name = 'embedding_cache'"
        taken = connection_.execute(table).get
    assert count == 300
    assert taken < 1.5 * vectors_bytes


def test_a_file_of_another_version_that_cannot_be_changed_is_told(
    opened: Callable[[], SqliteStore], path: Path
) -> None:
    store = filled(opened(), numbered(3))
    with store.writing() as connection_:
        connection_.pragma("user_version", 3)
    store.close()
    store = SqliteStore(path, read_only=True)
    with pytest.raises(IndexReadOnlyError, match="another version of Commonplace and cannot be"):
        matching(store, "word")
    store.close()


def test_tables_that_cannot_be_created_leave_the_file_empty(
    opened: Callable[[], SqliteStore], monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patch:
        patch.setattr(schema, "SCHEMA", (*schema.SCHEMA, "CREATE TABLE files (x)"))
        with pytest.raises(StoreError):
            opened().complete  # noqa: B018
    assert len(matching(filled(opened(), numbered(3)), "word")) == 3


def test_an_index_of_an_earlier_version_is_moved_aside_as_what_it_is(
    opened: Callable[[], SqliteStore], path: Path
) -> None:
    store = filled(opened(), numbered(3))
    with store.writing() as connection_:
        connection_.pragma("user_version", schema.SCHEMA_VERSION - 1)
        connection_.execute("ALTER TABLE chunk_texts RENAME COLUMN units TO words")
    store.close()
    with pytest.raises(IndexDamagedError, match="earlier version") as caught:
        opened().complete  # noqa: B018
    store = opened()
    recovery = store.recover(caught.value, certain=False)
    assert recovery is not None
    warning = recovery.warning or ""
    assert "written by an earlier version" in warning
    assert "damaged" not in warning
    assert "the old file is kept as index.sqlite.earlier-" in warning
    assert store.identity is None
    assert list(path.parent.glob("index.sqlite.earlier-*"))
    assert store.recover(caught.value, certain=False) == Recovery(None)  # another one has done so
    store.purge()
    assert not list(path.parent.glob("index.sqlite.earlier-*"))


def test_an_index_of_a_newer_version_is_left_as_it_is(
    opened: Callable[[], SqliteStore], path: Path
) -> None:
    filled(opened()).close()
    other = apsw.Connection(str(path))
    other.pragma("user_version", 99)
    other.close()
    with pytest.raises(StoreError, match="newer version"):
        opened().complete  # noqa: B018


@pytest.mark.parametrize("version", [0, 1, 99])
def test_the_database_of_another_program_is_left_as_it_is(
    opened: Callable[[], SqliteStore], path: Path, version: int
) -> None:
    other = apsw.Connection(str(path))
    other.execute("CREATE TABLE bookmarks (url)")
    other.pragma("user_version", version)
    other.close()
    with pytest.raises(StoreError, match="another program"):
        opened().complete  # noqa: B018
    other = apsw.Connection(str(path))
    assert other.execute("SELECT name FROM sqlite_schema").get == "bookmarks"
    other.close()


def test_many_may_create_the_same_index_at_once(tmp_path: Path) -> None:
    with ThreadPoolExecutor(8) as pool:
        for round_ in range(15):
            start = threading.Barrier(8, timeout=30)

            def create(path: Path = tmp_path / f"{round_}", start: Any = start) -> SqliteStore:
                start.wait()
                return SqliteStore(path)

            for future in [pool.submit(create) for _ in range(8)]:
                future.result().close()


def test_a_closed_store_says_so(store: SqliteStore) -> None:
    filled(store, numbered(3))
    with store.snapshot() as snapshot:
        store.close()
        assert snapshot.totals() == Totals(1, 3, 3)  # who has begun may finish
    for call in (store.mark_complete, lambda: store.identity, lambda: contents(store)):
        with pytest.raises(StoreError, match="closed"):
            call()


# -- what is resident ------------------------------------------------------------------------------


def random_change(rng: random.Random, store: SqliteStore) -> None:
    """Do one of all the things that change an index."""
    with store.snapshot() as snapshot:
        versions = {path: record.indexed_ns for path, record in snapshot.files().items()}
    version = max(versions.values(), default=0) + 1
    kind = rng.random()
    if kind < 0.25 and versions:
        store.write([], rng.sample(sorted(versions), rng.randint(1, len(versions))))
    elif kind < 0.35:
        rebuilt(store, numbered(rng.randint(0, 20), "a.md", version=version), keep_cache=5)
    else:
        names = {f"{rng.choice('abcde')}.md" for _ in range(rng.randint(1, 3))}
        files = [
            a_file(
                name,
                *(f"{name} {version} {at}" for at in range(rng.randint(0, 9))),
                version=version,
                replaces=versions.get(name),
                vectors=rng.random() < 0.9,
                source=rng.choice(["memory", "sessions"]),
                day=rng.choice([None, 10, 20]),
            )
            for name in names
        ]
        assert store.write(files) == ()


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(6))
def test_stores_on_one_file_see_each_others_changes(
    opened: Callable[[], SqliteStore], seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(resident_vectors, "_MIN_TAIL", 16)
    monkeypatch.setattr(writer, "_MAX_DROPPED", 60)
    rng = random.Random(seed)
    stores = [opened(), opened()]
    stores[0].set_identity(IDENTITY)
    rows = RowFilter(frozenset({"memory"}), after=5, before=15)
    for _ in range(40):
        random_change(rng, rng.choice(stores))
        fresh = SqliteStore(stores[0].path)
        expected = contents(fresh)
        passing = nearest(fresh, vector_of("q"), rows=rows)
        fresh.close()
        assert expected["gone"] == []
        for store in rng.sample(stores, rng.randint(0, 2)):
            assert contents(store) == expected
            assert nearest(store, vector_of("q"), rows=rows) == passing
    check_pages(stores[0]._opened())


def test_the_first_scan_is_that_of_the_file_and_equals_the_later_ones(
    opened: Callable[[], SqliteStore],
) -> None:
    store = filled(opened(), numbered(500))
    query = 2 * vector_of("query")
    with store.snapshot() as snapshot:
        cold = snapshot.nearest(query, 50, ALL)
        assert store._opened()._resident is None
        warm = snapshot.nearest(query, 50, ALL)
        assert store._opened()._resident is not None
        plain = schema.nearest_by_scan(snapshot._connection, query, 50, where="", values=())
    assert [seq for seq, _ in cold] == [seq for seq, _ in warm] == [seq for seq, _ in plain]
    for other in (cold, plain):
        np.testing.assert_allclose([s for _, s in warm], [s for _, s in other], atol=1e-5)


def flipped(data: bytes, rng: random.Random) -> bytes:
    changed = bytearray(data)
    changed[rng.randrange(len(data))] ^= 1 << rng.randrange(8)
    return bytes(changed)


VEC0_BLOBS = {
    "vectors": ("chunks_vec_vector_chunks00", "vectors"),
    "seqs": ("chunks_vec_chunks", "rowids"),
    "places in use": ("chunks_vec_chunks", "validity"),
}


@pytest.mark.slow
@pytest.mark.parametrize(("table", "column"), VEC0_BLOBS.values(), ids=VEC0_BLOBS)
def test_a_bit_of_sqlite_vecs_table_that_flips_is_noticed_by_the_scan_and_by_the_check(
    opened: Callable[[], SqliteStore], table: str, column: str
) -> None:
    rng = random.Random(column)
    store = filled(opened(), numbered(1024))
    for _ in range(20):
        with store.writing() as connection_:
            key, sound = connection_.execute(f"SELECT rowid, {column} FROM {table}").fetchone()
            set_to = f"UPDATE {table} SET {column} = ? WHERE rowid = ?"
            connection_.execute(set_to, (flipped(sound, rng), key))
        cold = opened()
        with pytest.raises(IndexDamagedError, match="sqlite-vec's table is not as it was"):
            nearest(cold, vector_of("query"))
        with pytest.raises(IndexDamagedError, match="sqlite-vec's table is not as it was"):
            check_pages(cold._opened())
        with store.writing() as connection_:
            connection_.execute(set_to, (sound, key))
        check_pages(store._opened())


def test_a_part_of_sqlite_vecs_table_that_is_cut_or_lost_is_noticed(
    opened: Callable[[], SqliteStore],
) -> None:
    store = filled(opened(), numbered(1500))
    for change in (
        "UPDATE chunks_vec_vector_chunks00 SET vectors = substr(vectors, 1, 7)",
        "UPDATE chunks_vec_chunks SET rowids = substr(rowids, 9)",
        "UPDATE chunks_vec_chunks SET validity = substr(validity, 2)",
        "DELETE FROM chunks_vec_chunks WHERE chunk_id = 2",
        "UPDATE meta SET value = value + 1 WHERE key = 'vec0'",
    ):
        with store.writing() as connection_:
            connection_.execute("SAVEPOINT sound")
            connection_.execute(change)
            with pytest.raises(IndexDamagedError, match="sqlite-vec's table"):
                check_vec0(connection_)
            connection_.execute("ROLLBACK TO sound")
            connection_.execute("RELEASE sound")
            check_vec0(connection_)


def assert_words_are_damaged(store: SqliteStore) -> None:
    for look in (lambda: matching(store, "word", limit=9), lambda: check_pages(store._opened())):
        with pytest.raises(IndexDamagedError):
            look()


FTS5_ROWS = {
    "a page": "SELECT block FROM chunks_fts_data WHERE id > 10",
    "the counts": "SELECT block FROM chunks_fts_data WHERE id = 1",
    "the list of segments": "SELECT block FROM chunks_fts_data WHERE id = 10",
    "a row's tokens": "SELECT sz FROM chunks_fts_docsize WHERE id = 7",
}


@pytest.mark.parametrize("row", FTS5_ROWS.values(), ids=FTS5_ROWS)
def test_a_bit_of_the_words_that_flips_is_noticed_by_the_first_search_and_by_the_check(
    opened: Callable[[], SqliteStore], row: str
) -> None:
    rng = random.Random(row)
    column, table, where = row.split(maxsplit=5)[1::2]
    filled(opened(), numbered(300)).close()
    for _ in range(20):
        store = opened()
        with store.writing() as connection_:
            sound = connection_.execute(row).get
            change = f"UPDATE {table} SET {column} = ? WHERE {where}"
            connection_.execute(change, (flipped(sound, rng),))
        assert_words_are_damaged(store)
        with store.writing() as connection_:
            connection_.execute(change, (sound,))
        store.close()  # FTS5 reads its list of segments once a connection
        check_pages(opened()._opened())


@pytest.mark.parametrize(
    "change",
    [
        "DELETE FROM chunks_fts_docsize WHERE id = 7",
        "DELETE FROM chunks_fts_data WHERE id > 10",
        "UPDATE chunks_fts_data SET block = 'x' WHERE id > 10",
        "UPDATE chunks_fts_idx SET pgno = pgno + 2",
        "DELETE FROM word_segments WHERE segment = 0",
    ],
)
def test_words_that_are_lost_or_of_another_kind_are_noticed(
    store: SqliteStore, change: str
) -> None:
    filled(store, numbered(300))
    with store.writing() as connection_:
        connection_.execute(change)
    assert_words_are_damaged(store)


@pytest.mark.parametrize(
    "files", [FileFilter(), FileFilter(("b.md",)), FileFilter(hidden=frozenset(("b.md",)))]
)
@pytest.mark.parametrize("rows", [ALL, RowFilter(frozenset({"sessions"})), RowFilter(after=9)])
def test_a_lost_chunk_is_missed_by_every_search_for_it(
    store: SqliteStore, files: FileFilter, rows: RowFilter
) -> None:
    filled(store, numbered(3), numbered(3, "b.md"))
    with store.writing() as connection_:
        connection_.execute("DELETE FROM chunk_places WHERE seq = 2")
    with store.snapshot() as snapshot:
        within = snapshot.within(files)
        hits = within.match(words("1"), every=True, limit=5, rows=rows)
        with pytest.raises(IndexDamagedError, match="chunk 2 is missing"):
            within.chunks([seq for seq, _ in hits])


def test_a_write_to_words_of_another_kind_is_damage(opened: Callable[[], SqliteStore]) -> None:
    filled(opened(), numbered(300)).close()
    store = opened()
    with store.writing() as connection_:
        connection_.execute("UPDATE chunks_fts_data SET block = 'x' WHERE id > 10")
    with pytest.raises(IndexDamagedError):
        store.write([numbered(3, "b.md")])


@pytest.mark.slow
def test_the_words_keep_their_checksums_as_segments_are_merged(store: SqliteStore) -> None:
    rng, vocabulary = random.Random(7), [f"word{number}" for number in range(999)]
    store.set_identity(IDENTITY)
    counts = []
    for number in range(90):
        texts = [" ".join(rng.choices(vocabulary, k=99)) for _ in range(rng.choice([1, 9, 40]))]
        store.write([a_file(f"{rng.randrange(9)}.md", *texts)] if number % 7 else [], ["0.md"])
        if number == 9:
            store.mark_complete()
        with store.snapshot() as snapshot:
            schema.check_words(snapshot._connection)
            counts.append(snapshot._connection.execute("SELECT count(*) FROM word_segments").get)
    assert any(after < before for before, after in pairwise(counts[10:])), "segments were merged"


@pytest.mark.slow
def test_the_resident_matrix_stays_small(store: SqliteStore) -> None:
    identity = replace(IDENTITY, dimension=384)
    filled(store, identity=identity)
    for batch in range(25):
        store.write([numbered(200, f"{batch}.md", dimension=384)])
        nearest(store, unit_rows("q", 1, 384)[0], limit=3)
        if batch > 10:
            assert store._opened()._resident is not None
            assert store._opened()._resident.nbytes <= 1.5 * (batch + 1) * 200 * 384 * 4


@pytest.mark.parametrize("source", [None, "memory"])
def test_of_a_very_common_term_both_ends_of_the_index_tell_how_many_chunks_hold_it(
    store: SqliteStore, monkeypatch: pytest.MonkeyPatch, source: Source | None
) -> None:
    monkeypatch.setattr(snapshot_module, "_SAMPLED", 30)
    filled(
        store, *(a_file(f"{n}.md", f"tea {'milk' if n % 4 else 'lemon'} {n}") for n in range(240))
    )
    with store.snapshot() as snapshot:
        found = snapshot.frequencies(words("tea", "milk", "lemon", "7", "no"), source)
    tea, milk, lemon, seven, none = found.values()
    assert (tea, seven, none) == (240, 1, 0)
    assert abs(milk - 180) <= 8
    assert abs(lemon - 60) <= 8
    assert source is None or (milk, lemon) == (180, 60)


def test_a_term_of_one_end_of_the_index_is_counted(
    store: SqliteStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(snapshot_module, "_SAMPLED", 30)
    texts = ["tea" if n < 100 and n % 5 else "milk" for n in range(240)]
    filled(store, *(a_file(f"{n}.md", f"{text} {n}") for n, text in enumerate(texts)))
    with store.snapshot() as snapshot:
        [tea] = snapshot.frequencies(words("tea")).values()
    assert tea == 80


def test_a_reader_that_began_before_everything_was_read_anew_scans_the_file(
    store: SqliteStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(resident_vectors, "_MIN_TAIL", 4)
    filled(store, numbered(20))
    nearest(store, vector_of("q"))
    with store.snapshot() as snapshot:
        before = snapshot.nearest(vector_of("q"), 99, ALL)
        store.write([numbered(30, "b.md")], ["a.md"])
        assert len(nearest(store, vector_of("q"))) == 30
        after = snapshot.nearest(vector_of("q"), 99, ALL)
    assert len(before) == 20
    assert [seq for seq, _ in after] == [seq for seq, _ in before]
    assert dict(after) == pytest.approx(dict(before))


def clustered(count: int, *, seed: int) -> np.ndarray:
    """Vectors as models make them: what is about one thing lies close together."""
    rng = np.random.default_rng(seed)
    centers = np.random.default_rng(99).standard_normal((20, 256))
    rows = centers[rng.integers(0, 20, count)] + rng.standard_normal((count, 256))
    return (rows / np.linalg.norm(rows, axis=1, keepdims=True)).astype(np.float32)


def many(store: SqliteStore) -> SqliteStore:
    """5,000 chunks on ten days, every other day in a session."""
    files = []
    for day in range(1, 11):
        source: Source = "sessions" if day % 2 else "memory"
        file = a_file(f"{day}.md", *(f"{day} {n}" for n in range(500)), source=source)
        chunks = [
            replace(chunk, embedded=ChunkVectors(vector, None), day=day)
            for chunk, vector in zip(file.chunks or (), clustered(500, seed=day), strict=True)
        ]
        files.append(replace(file, chunks=chunks))
    filled(store, *files, identity=replace(IDENTITY, dimension=256))
    return store


def seqs_near(
    store: SqliteStore, query: Any, limit: int, *, exact: bool, rows: RowFilter = ALL
) -> list[int]:
    with store.snapshot() as snapshot:
        snapshot.nearest(query, 1, ALL)  # the first of a process scans the file
        return [seq for seq, _ in snapshot.nearest(query, limit, rows, exact=exact)]


@pytest.mark.slow
@pytest.mark.skipif(not SignSketch.can_be_made, reason="numpy 1 cannot count bits")
@pytest.mark.parametrize("rows", [ALL, RowFilter(frozenset({"memory"})), RowFilter(after=3)])
def test_of_many_vectors_a_sketch_chooses_those_that_are_compared(
    store: SqliteStore, monkeypatch: pytest.MonkeyPatch, rows: RowFilter
) -> None:
    monkeypatch.setattr(resident_vectors, "_SKETCHED_FROM", 2**20)
    many(store)
    compared: list[int] = []
    product = resident_vectors.row_products

    def counted(matrix: Any, vector: Any, *, out: Any = None) -> Any:
        compared.append(len(matrix))
        return product(matrix, vector, out=out)

    monkeypatch.setattr(resident_vectors, "row_products", counted)
    shared = 0
    for query in clustered(20, seed=0):
        right = seqs_near(store, query, 10, exact=True, rows=rows)
        found = seqs_near(store, query, 10, exact=False, rows=rows)
        assert compared[-1] < 300
        assert len(found) == 10
        assert found[0] == right[0]
        both = [seq for seq in right if seq in found]
        assert both == [seq for seq in found if seq in right]
        shared += len(set(found) & set(right))
    assert shared >= 20 * 9


@pytest.mark.parametrize("dimension", [1, 8, 256, 3072, 4096, 100_000])
@pytest.mark.parametrize("limit", [1, 24, 500])
def test_a_sketch_chooses_more_than_is_wanted(dimension: int, limit: int) -> None:
    assert resident_vectors._enough(limit, 0, dimension) >= 4 * limit


@pytest.mark.slow
def test_a_sketch_knows_what_was_dropped_and_what_came_later(
    store: SqliteStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(resident_vectors, "_SKETCHED_FROM", 2**20)
    many(store)
    query = clustered(1, seed=0)[0]
    first = seqs_near(store, query, 20, exact=False)
    near = ChunkVectors(query, None)
    more = a_file("more.md", "the nearest of all")
    more = replace(more, chunks=[replace(chunk, embedded=near) for chunk in more.chunks or ()])
    with store.snapshot() as before:
        store.write([more], ["1.md"])
        after = seqs_near(store, query, 20, exact=False)
        unchanged = [seq for seq, _ in before.nearest(query, 20, ALL, exact=False)]
    assert unchanged == first
    with store.snapshot() as snapshot:
        stored = snapshot.chunks([*first, *after])
    assert stored[after[0]].path == "more.md"
    kept = [seq for seq in first if seq in stored][:10]
    assert len(kept) == 10
    assert after[1:11] == kept


@pytest.mark.slow
def test_vectors_that_are_all_the_same_are_all_compared(
    store: SqliteStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(resident_vectors, "_SKETCHED_FROM", 2**10)
    monkeypatch.setattr(resident_vectors, "_COMPARED", 1)
    estimated: list[int] = []
    estimates = SignSketch.estimates

    def counted(sketch: SignSketch, query: Any) -> Any:
        found = estimates(sketch, query)
        estimated.append(len(found))
        return found

    monkeypatch.setattr(SignSketch, "estimates", counted)
    file = numbered(5000)
    chunks = [replace(c, embedded=ChunkVectors(vector_of("same"), None)) for c in file.chunks or ()]
    filled(store, replace(file, chunks=chunks))
    found = seqs_near(store, vector_of("query"), 5, exact=False)
    assert estimated == ([5000] if SignSketch.can_be_made else [])
    assert found == seqs_near(store, vector_of("query"), 5, exact=True) == [1, 2, 3, 4, 5]


# -- without sqlite-vec ----------------------------------------------------------------------------


def vec0_rows(store: SqliteStore) -> list[int]:
    with store.writing() as connection_:
        check_vec0(connection_)
        return [seq for (seq,) in connection_.execute("SELECT seq FROM chunks_vec ORDER BY seq")]


def vector_rows(store: SqliteStore) -> list[int]:
    with store.writing() as connection_:
        return [seq for (seq,) in connection_.execute("SELECT seq FROM vectors ORDER BY seq")]


@pytest.mark.parametrize("made_with", [True, False])
def test_a_process_without_sqlite_vec_works_and_the_next_one_repairs(
    opened: Callable[[], SqliteStore], monkeypatch: pytest.MonkeyPatch, *, made_with: bool
) -> None:
    if made_with:
        filled(opened(), numbered(10), numbered(5, "c.md")).close()
    with monkeypatch.context() as patch:
        patch.setattr(vector_extension, "load_vector_extension", lambda connection: False)
        store = opened()
        if not made_with:
            filled(store, numbered(10), numbered(5, "c.md"))
        store.write([numbered(7, "b.md")], ["c.md"])
        expected = contents(store)
        assert len(nearest(store, vector_of("q"), limit=30)) == 17
        check_pages(store._opened())
        store.close()
    store = opened()
    assert contents(store) == expected
    store.write([numbered(1, "d.md")])
    assert vec0_rows(store) == vector_rows(store)
    cold = opened()
    hits = nearest(cold, vector_of("q"), limit=30)
    assert cold._opened()._resident is None
    assert hits == nearest(cold, vector_of("q"), limit=30)
    assert len(hits) == 18


# -- damage ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "content", [b"# Note", b"# Notes\n" * 500, random.Random(7).randbytes(40_000), b"\0" * 5000]
)
def test_a_file_that_is_no_database_is_damaged(path: Path, content: bytes) -> None:
    path.write_bytes(content)
    with pytest.raises(IndexDamagedError, match="rebuilt from the Markdown"):
        SqliteStore(path).complete  # noqa: B018
    aside = move_aside(path, "damaged")
    assert aside.read_bytes() == content
    filled(SqliteStore(path)).close()


def test_an_empty_file_is_a_new_index(path: Path) -> None:
    path.touch()
    store = filled(SqliteStore(path), numbered(2))
    assert len(matching(store, "word")) == 2
    store.close()


def test_a_folder_that_is_missing_is_created(tmp_path: Path) -> None:
    filled(SqliteStore(tmp_path / "missing" / "index.sqlite")).close()
    assert (tmp_path / "missing" / "index.sqlite").exists()


def test_a_folder_in_the_place_of_the_index_is_no_damage(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match="is a folder") as caught:
        SqliteStore(tmp_path).complete  # noqa: B018
    assert not isinstance(caught.value, IndexDamagedError)


def test_an_index_that_is_deleted_while_it_is_open_is_begun_again(
    opened: Callable[[], SqliteStore], path: Path
) -> None:
    store = filled(opened(), numbered(3))
    store.mark_complete()
    assert store.complete
    recovery_of_a_write = None
    for name in ("", "-wal", "-shm"):
        Path(f"{path}{name}").unlink(missing_ok=True)
    assert store.identity is None
    assert not store.complete
    try:
        store.write([numbered(3)])
    except StoreError as error:
        recovery_of_a_write = store.recover(error, certain=False)
    assert recovery_of_a_write == Recovery(None)
    assert len(matching(filled(store, numbered(2)), "word")) == 2


def a_whole_index(path: Path) -> bytes:
    filled(SqliteStore(path), *(numbered(20, f"{n}.md") for n in range(20))).close()
    return path.read_bytes()


def use(path: Path) -> None:
    store = SqliteStore(path)
    try:
        check_pages(store._opened())
        contents(store)
        matching(store, "word")
    finally:
        store.close()


@pytest.mark.parametrize("share", [0.1, 0.5, 0.9])
def test_a_truncated_index_is_damaged(path: Path, share: float) -> None:
    whole = a_whole_index(path)
    path.write_bytes(whole[: int(share * len(whole))])
    with pytest.raises(IndexDamagedError):
        use(path)


def test_a_corrupt_page_is_damage_or_does_no_harm(path: Path) -> None:
    whole = a_whole_index(path)
    rng = random.Random(1)
    damaged = 0
    pages = len(whole) // connection._PAGE_BYTES
    for page in range(pages):
        start = page * connection._PAGE_BYTES + (100 if page == 0 else 0)
        spoiled = bytearray(whole)
        spoiled[start : start + 2000] = rng.randbytes(2000)
        path.write_bytes(spoiled)
        try:
            use(path)
        except IndexDamagedError:
            damaged += 1
    assert damaged > pages / 2


def test_an_identity_that_cannot_be_read_is_damage(
    opened: Callable[[], SqliteStore], path: Path
) -> None:
    filled(opened()).close()
    for text in ("{", "[]", '{"unknown": 1}'):
        other = apsw.Connection(str(path))
        other.execute("UPDATE meta SET value = ? WHERE key = 'identity'", (text,))
        other.close()
        with pytest.raises(IndexDamagedError, match="built with"):
            SqliteStore(path).identity  # noqa: B018


# -- what cannot be written ------------------------------------------------------------------------


@pytest.fixture
def open_folder() -> Iterator[Path]:
    """A folder that another user may look into; pytest's own are closed to all others."""
    with tempfile.TemporaryDirectory() as folder:
        Path(folder).chmod(0o755)
        yield Path(folder)
        Path(folder).chmod(0o755)


@pytest.fixture
def answer_of(worker: Worker) -> Callable[[Path], Any]:
    def answer(path: Path) -> Any:
        output, _ = worker("read_only", path).communicate(timeout=60)
        return json.loads(output)

    return answer


@pytest.mark.slow
@pytest.mark.processes
@pytest.mark.parametrize("file_mode", [0o644, 0o444])
@pytest.mark.parametrize("folder_mode", [0o555, 0o777])
def test_an_index_that_cannot_be_written_still_answers(
    open_folder: Path, answer_of: Callable[[Path], Any], file_mode: int, folder_mode: int
) -> None:
    path = open_folder / "index.sqlite"
    filled(SqliteStore(path), numbered(3)).close()
    path.chmod(file_mode)
    open_folder.chmod(folder_mode)
    if os.getuid() != 0 and (file_mode, folder_mode) == (0o644, 0o777):
        pytest.skip("the file's owner may write it")
    expected = [f"word {number}" for number in range(3)]
    assert answer_of(path) == {
        "writable": False,
        "identity": True,
        "words": expected,
        "vectors": [expected, expected],
        "error": "IndexReadOnlyError",
    }


@pytest.mark.processes
def test_an_index_that_others_write_is_read_as_it_is_now(
    open_folder: Path, answer_of: Callable[[Path], Any]
) -> None:
    path = open_folder / "index.sqlite"
    store = filled(SqliteStore(path), numbered(3))
    store.write([a_file("b.md", "word in the log")])
    for file in open_folder.iterdir():
        file.chmod(0o444)
    if os.getuid() != 0:
        open_folder.chmod(0o555)
    answer = answer_of(path)
    store.close()
    assert "word in the log" in answer["words"]
    assert answer["error"] == "IndexReadOnlyError"


@pytest.mark.processes
def test_an_empty_index_that_cannot_be_written_is_an_error_that_says_so(
    open_folder: Path, answer_of: Callable[[Path], Any]
) -> None:
    path = open_folder / "index.sqlite"
    path.touch()
    path.chmod(0o444)
    open_folder.chmod(0o555)
    answer = answer_of(path)
    assert answer == {"writable": False, "identity": False, "error": "IndexReadOnlyError"}


def test_a_store_for_reading_does_not_write(path: Path) -> None:
    filled(SqliteStore(path), numbered(3)).close()
    store = SqliteStore(path, read_only=True)
    assert store.access == "read-only"
    assert len(matching(store, "word")) == 3
    for call in (
        lambda: store.write([numbered(1, "b.md")]),
        lambda: store.set_identity(IDENTITY),
        store.mark_complete,
        lambda: store.trim_vector_cache(0),
    ):
        with pytest.raises(IndexReadOnlyError, match="COMMONPLACE_STATE_DIR"):
            call()
    store.close()


@pytest.mark.slow
def test_a_full_disk_leaves_the_old_rows(store: SqliteStore) -> None:
    filled(store, numbered(20))
    expected = contents(store)
    with store.writing() as connection_:
        limit = connection_.pragma("page_count")
        connection_.pragma("max_page_count", limit)
    with pytest.raises(StoreError, match="full"):
        store.write([numbered(3000, "b.md"), a_file("a.md", "new", version=2, replaces=1)])
    assert contents(store) == expected
    assert len(matching(store, "word")) == 20
    with store.writing() as connection_:
        connection_.pragma("max_page_count", 1_000_000)
    store.write([numbered(3, "b.md")])
    assert len(matching(store, "word")) == 23
    check_pages(store._opened())


def test_a_disk_that_fills_while_a_rebuild_is_committed_leaves_the_old_one(tmp_path: Path) -> None:
    disk = tmp_path / "disk"
    disk.mkdir()
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=3m", "tmpfs", str(disk)],
        capture_output=True,
        check=False,
    )
    if mounted.returncode:
        pytest.skip("a small disk can be mounted by root only")
    try:
        store = filled(SqliteStore(disk / "index.sqlite"), numbered(20))
        expected = contents(store)
        rebuild = store.begin_rebuild(IDENTITY, restart=True, keep_cache=0)
        rebuild.store.write([numbered(1500, "b.md")])
        with pytest.raises(StoreError, match="disk"):
            rebuild.commit(keep_cache=0)
        assert contents(store) == expected
        check_pages(store._opened())
        rebuild.close()
        store.close()
    finally:
        subprocess.run(["umount", str(disk)], check=False)


# -- many at once ----------------------------------------------------------------------------------


def both_sides(version: int, **options: Any) -> list[IndexedFile]:
    """Two files that only ever change together."""
    before = version - 1 or None
    return [
        a_file(
            f"{side}.md", *[f"version{version} {side} {at}" for at in range(version % 5 + 1)],
            version=version, replaces=before, **options,
        )
        for side in ("left", "right")
    ]  # fmt: skip


def check_snapshot(store: SqliteStore) -> int:
    """Look at one state from all sides; return its version."""
    with store.snapshot() as snapshot:
        version = snapshot.files()["left.md"].indexed_ns
        count = 2 * (version % 5 + 1)
        hits = snapshot.nearest(vector_of("q"), 99, ALL)
        assert (
            len(snapshot.match(words(f"version{version}"), every=True, limit=99, rows=ALL)) == count
        )
        found = snapshot.chunks([seq for seq, _ in hits])
        texts = [found[seq].text for seq, _ in hits]
        assert len(texts) == count
        assert all(text.startswith(f"version{version} ") for text in texts)
        assert snapshot.totals() == Totals(2, count, count)
    return version


def read_until(done: threading.Event, store: SqliteStore) -> set[int]:
    seen = set()
    while not done.is_set():
        seen.add(check_snapshot(store))
    return seen


@pytest.mark.slow
def test_eight_threads_read_while_one_writes(
    opened: Callable[[], SqliteStore], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(resident_vectors, "_MIN_TAIL", 16)
    stores = [filled(opened(), *both_sides(1)), opened()]
    done = threading.Event()
    with ThreadPoolExecutor(8) as pool:
        readers = [pool.submit(read_until, done, stores[n % 2]) for n in range(8)]
        try:
            for version in range(2, 60):
                assert stores[0].write(both_sides(version)) == ()
        finally:
            done.set()
        assert len(set().union(*(snapshot.result() for snapshot in readers))) > 5
    assert check_snapshot(stores[1]) == 59


@pytest.mark.slow
@pytest.mark.full
def test_threads_read_while_rebuilds_are_committed(opened: Callable[[], SqliteStore]) -> None:
    stores = [filled(opened(), *both_sides(1)), opened()]
    done = threading.Event()
    with ThreadPoolExecutor(4) as pool:
        readers = [pool.submit(read_until, done, stores[n % 2]) for n in range(4)]
        try:
            for version in range(2, 25):
                files = [replace(file, replaces=None) for file in both_sides(version)]
                identity = replace(IDENTITY, model=f"m{version}")
                rebuilt(stores[version % 2], *files, identity=identity, keep_cache=50)
        finally:
            done.set()
        assert len(set().union(*(snapshot.result() for snapshot in readers))) > 2
    for store in stores:
        assert check_snapshot(store) == 24
        check_pages(store._opened())


def test_vectors_of_a_model_that_was_replaced_meanwhile_are_left_alone(
    opened: Callable[[], SqliteStore],
) -> None:
    mine, theirs = filled(opened(), numbered(3)), opened()
    rebuilt(theirs, identity=replace(IDENTITY, model="next"), keep_cache=0)
    assert mine.write([a_file("b.md", "made by the old model")]) == ("b.md",)
    assert mine.write([a_file("b.md", "made by the new model")]) == ()


@pytest.mark.slow
@pytest.mark.processes
def test_two_processes_write_at_once(store: SqliteStore, path: Path, worker: Worker) -> None:
    store.set_identity(IDENTITY)
    processes = [worker("write_batches", path, name, 200) for name in ("left", "right")]
    for process in processes:
        process.communicate(timeout=120)
        assert process.returncode == 0
    with store.snapshot() as snapshot:
        assert snapshot.totals() == Totals(402, 802, 802)
        assert snapshot.chunk_count() == 802
        for name in ("left", "right"):
            assert [chunk.text for chunk, _ in snapshot.chunks_of(f"{name}.md")] == [f"{name} 200"]
    assert len(matching(store, "another", limit=999)) == 400
    assert vec0_rows(store) == vector_rows(store)
    check_pages(store._opened())


def test_threads_write_at_once(store: SqliteStore) -> None:
    store.set_identity(IDENTITY)

    def write(name: str) -> None:
        for number in range(25):
            assert store.write([numbered(2, f"{name}{number}.md")]) == ()

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(write, "abcdefgh"))
    with store.snapshot() as snapshot:
        assert snapshot.totals() == Totals(200, 400, 400)


def check_complete(store: SqliteStore) -> None:
    """Every file has all its chunks, of one version, and all tables tell the same."""
    check_pages(store._opened())
    with store.snapshot() as snapshot:
        files = snapshot.files()
        chunks = {path: snapshot.chunks_of(path) for path in files}
        total = sum(map(len, chunks.values()))
        assert snapshot.totals() == Totals(len(files), total, total)
        assert snapshot.chunk_count() == total
        for path, rows in chunks.items():
            texts = [chunk.text for chunk, _ in rows]
            assert a_file(path, *texts).record.hash == files[path].hash
        lines = [embedded.lines for rows in chunks.values() for _, embedded in rows if embedded]
        if lines:
            mean = unpack(b"".join(filter(None, lines)), DIMENSION).mean(axis=0)
            np.testing.assert_allclose(snapshot.mean_line(), mean, atol=1e-6)
    assert len(matching(store, "chunk", limit=9999)) == total
    assert vec0_rows(store) == vector_rows(store)
    with store.writing() as connection_:
        connection_.execute(
            "INSERT INTO chunks_fts (chunks_fts, rank) VALUES ('integrity-check', 1)"
        )


@pytest.mark.slow
@pytest.mark.processes
def test_a_writer_that_is_killed_leaves_whole_files(
    opened: Callable[[], SqliteStore], path: Path, worker: Worker
) -> None:
    opened().set_identity(IDENTITY)
    rng = random.Random(4)
    sizes = set()
    for _ in range(10):
        process = worker("write_on", path)
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
        time.sleep(rng.uniform(0.0, 0.12))  # how far it gets is what is tried
        process.send_signal(signal.SIGKILL)
        process.communicate(timeout=30)
        store = opened()
        check_complete(store)
        with store.snapshot() as snapshot:
            sizes.add(snapshot.totals())
        store.close()
    assert len(sizes) > 3


def test_errors_are_ours(path: Path) -> None:
    """Whatever is done to the file meanwhile, callers see errors of one family."""
    store = filled(SqliteStore(path), *(numbered(20, f"{n}.md") for n in range(20)))
    with store.writing() as connection_:
        connection_.wal_checkpoint(mode=apsw.SQLITE_CHECKPOINT_TRUNCATE)
    path.write_bytes(b"no database any more" * 5000)
    with suppress(CommonplaceError):
        contents(store)
    with suppress(CommonplaceError):
        store.write([numbered(3, "b.md")])
    store.close()


def test_selections_of_few_filters_are_cached(store: SqliteStore) -> None:
    filled(store, *(a_file(f"{number}.md", f"word {number}") for number in range(40)))
    for number in range(40):
        with store.snapshot() as snapshot:
            within = snapshot.within(FileFilter((f"{number}.md",)))
            assert within.frequencies(words("word")) == {Term("word", "word"): 1}
            assert len(store._opened().cached("within", snapshot._state)) <= 16
