"""A purge in PostgreSQL: no file of the tables holds what was deleted, whoever reads meanwhile."""

import contextlib
import threading
from pathlib import Path

import pytest

pytest.importorskip("psycopg")

from commonplace.store.postgres import maintenance
from commonplace.store.registry import open_store
from store.samples import a_file, filled
from support import postgres

WORD = "rumpelstilzchen"
SAMPLES = "concat(most_common_vals::text, histogram_bounds::text, most_common_elems::text)"


@pytest.fixture
def store(tmp_path):
    with contextlib.closing(open_store(postgres.url_of(tmp_path))) as made:
        yield made


@pytest.fixture
def admin():
    with contextlib.closing(postgres.connected(postgres.database())) as connection:
        yield connection


def purged(store, wait_s=60):
    """Whether a purge left nothing; other tests have transactions on the server, too."""
    with pytest.MonkeyPatch.context() as patch, store.lease("run", timeout_s=5):
        patch.setattr(maintenance, "_OLDER_SESSIONS_S", wait_s)
        return store.purge()


def holding(store, admin):
    """Tables and indexes of a memory whose files hold the word, and columns of which samples do."""
    schema = store.database.address.schema
    admin.execute("CHECKPOINT")
    ((folder,),) = admin.execute("SHOW data_directory")
    relations = admin.execute(
        "SELECT relname, pg_relation_filepath(c.oid) FROM pg_class c LEFT JOIN pg_namespace n "
        "ON n.oid = relnamespace WHERE (nspname = %s OR relkind = 't') "
        "AND pg_relation_filepath(c.oid) IS NOT NULL",
        [schema],
    ).fetchall()
    files = [(name, Path(folder, path)) for name, path in relations]
    sampled = admin.execute(
        f"SELECT tablename || '.' || attname FROM pg_stats WHERE schemaname = %s "
        f"AND {SAMPLES} LIKE %s",
        [schema, f"%{WORD}%"],
    ).fetchall()
    return {name for name, path in files if WORD.encode() in path.read_bytes()} | {
        column for (column,) in sampled
    }


def test_no_file_of_the_tables_holds_a_word_that_was_deleted(store, admin):
    filled(store, a_file("a.md", f"the {WORD}"), a_file("b.md", "another"))
    store.write([], ["a.md"])
    assert {"chunks_1", "words_1", "terms_1", "terms_1_pkey"} <= holding(store, admin)
    assert purged(store)
    assert not holding(store, admin)


def test_the_planner_samples_no_texts_and_forgets_the_paths_that_are_gone(store, admin):
    same = f"the {WORD}"
    files = [a_file(f"{WORD}/{n}.md", same, f"{same} {n}") for n in range(40)]
    filled(store, *files, a_file("b.md", "another"))
    schema = store.database.address.schema
    for table in ("files_1", "chunks_1", "words_1", "vectors_1", "terms_1"):
        admin.execute(f'ANALYZE "{schema}".{table}')
    sampled = {name for name in holding(store, admin) if "." in name}
    assert sampled
    assert {name.partition(".")[2] for name in sampled} == {"path"}
    store.write([], [file.record.path for file in files])
    assert purged(store)
    assert not holding(store, admin)


@contextlib.contextmanager
def older_reader():
    with contextlib.closing(postgres.connected(postgres.database())) as reader:
        reader.execute("BEGIN ISOLATION LEVEL REPEATABLE READ")
        reader.execute("SELECT 1")
        yield reader


@pytest.mark.slow
def test_a_reader_of_an_older_state_is_waited_for(store, admin):
    filled(store, a_file("a.md", f"the {WORD}"), a_file("b.md", "another"))
    with older_reader() as reader:
        store.write([], ["a.md"])
        end = threading.Timer(0.5, reader.execute, ["COMMIT"])
        end.start()
        try:
            assert purged(store)
        finally:
            end.join()
    assert not holding(store, admin)


def test_a_reader_that_stays_prevents_a_purge_and_a_later_one_does_not(store, admin):
    filled(store, a_file("a.md", f"the {WORD}"), a_file("b.md", "another"))
    with older_reader():
        store.write([], ["a.md"])
        assert not purged(store, wait_s=0.2)
        assert "terms_1" in holding(store, admin)
    assert purged(store)
    assert not holding(store, admin)


def test_a_transaction_of_another_database_that_writes_is_waited_for(store, admin):
    # Its number is the oldest that each new transaction of the server sees as running.
    filled(store, a_file("a.md", f"the {WORD}"), a_file("b.md", "another"))
    with contextlib.closing(postgres.connected(postgres.server().get_uri())) as writer:
        writer.execute("BEGIN")
        writer.execute("SELECT pg_current_xact_id()")
        store.write([], ["a.md"])
        assert not purged(store, wait_s=0.2)
        writer.execute("COMMIT")
    assert purged(store)
    assert not holding(store, admin)
