"""What is PostgreSQL's own: addresses, rights, connections, and a search from end to end."""

import contextlib
import random
import re
import subprocess
import sys
import threading
import time
from dataclasses import replace
from pathlib import Path

import pytest

pytest.importorskip("psycopg")

from commonplace import Memory, Settings, SyncSettings
from commonplace.errors import IndexReadOnlyError, StoreError
from commonplace.store.memory.store import MemoryStore
from commonplace.store.postgres.address import Address
from commonplace.store.postgres.terms import Phrase, term_vector
from commonplace.store.postgres.text_codec import escaped, restored
from commonplace.store.registry import open_store
from commonplace.text.analysis import Analyzer
from store.samples import IDENTITY, a_file, contents, filled, matching, nearest, vector_of
from support import postgres

SECRET = "s3cret/&"


@pytest.fixture
def url(tmp_path):
    return postgres.url_of(tmp_path)


@pytest.fixture
def store(url):
    made = open_store(url)
    yield made
    made.close()


@pytest.mark.parametrize(
    ("url", "location"),
    [
        ("postgresql://ann:s3cret%2F%26@db.example:5433/notes?name=team",
         "postgresql://ann@db.example:5433/notes?name=team"),
        ("postgres://db/notes?password=s3cret/%26", "postgresql://db/notes"),
        ("postgresql:///notes?host=/run/postgresql&sslmode=require&password=s3cret/%26",
         "postgresql:///notes?host=/run/postgresql"),
        ("postgresql:///?service=team&name=it's \"ours\"",
         "postgresql:///?service=team&name=it%27s%20%22ours%22"),
    ],
)  # fmt: skip
def test_a_location_is_the_url_without_credentials(url, location):
    store = open_store(url)
    assert store.location == location
    for said in (
        store.location,
        repr(store),
        repr(store._address),
        str(vars(store._address.__class__)),
    ):
        assert SECRET not in said
        assert "s3cret" not in said


@pytest.mark.parametrize(
    ("url", "said"),
    [
        ("postgresql://ann:s3cret@[h/db", "cannot be read"),
        ("postgresql://h/db?no_such=s3cret", "cannot be read"),
        ("postgresql://u:p/s3cret@host/db", "cannot be read"),
        ("postgresql://u:1/s3cret@host/db", "cannot be read"),
        ("postgresql://u:p@s3cret@host/db", "cannot be read"),
        ("postgresql://h/db?name=" + "x" * 60, "too long"),
    ],
)
def test_a_url_that_cannot_be_used_is_refused_without_its_password(url, said):
    with pytest.raises(StoreError, match=said) as caught:
        open_store(url)
    assert "s3cret" not in str(caught.value)
    assert caught.value.__cause__ is None


def test_memories_of_other_names_have_other_schemas_and_locks():
    one, two = (Address.from_url(f"postgresql://h/db?name={name}") for name in ("a", "b"))
    assert Address.from_url("postgresql://h/db").schema == "commonplace"
    assert (one.schema, two.schema) == ("commonplace_a", "commonplace_b")
    assert one.lock_key("run") != two.lock_key("run") != two.lock_key("swap")


@pytest.mark.parametrize("text", ["plain", "a\0b", "\udcff", "\ufdd0", "\ufdd00000\0", "日本 🎉"])
def test_any_text_survives_its_escape(text):
    safe = escaped(text)
    assert restored(safe) == text
    assert "\0" not in safe
    safe.encode()


def test_a_vector_stays_within_what_postgresql_holds():
    assert len(term_vector([f"term{n}" for n in range(60_000)], [], [])) < 2**20
    assert len(term_vector(["same"] * 100_000, [], [])) < 1024
    assert Phrase(()).possible is False


@pytest.mark.slow
def test_a_memory_over_postgresql_is_indexed_searched_read_and_appended_to(tmp_path, url):
    (tmp_path / "notes").mkdir()
    (tmp_path / "notes" / "MEMORY.md").write_text("# Net\n- The VPN listens on port 51820.\n")
    with Memory.open(tmp_path / "notes", index=url) as memory:
        assert memory.index().added == 1
        assert "51820" in memory.search("VPN port")[0].snippet
        memory.append("- The printer is called Gutenberg.")
        assert "Gutenberg" in memory.search("what is the printer called")[0].snippet
        assert "51820" in memory.get("MEMORY.md").text
        status = memory.status(deep=True)
        assert "pgvector" in status.vector_engine
        assert "PostgreSQL" in status.keyword_engine
    with Memory.open(tmp_path / "notes", index=url) as other:
        assert "Gutenberg" in other.search("printer")[0].snippet
        assert other.index().embedded == 0


# -- what the server may be like -------------------------------------------------------------------


@pytest.fixture
def admin():
    with contextlib.closing(postgres.connected(postgres.database())) as connection:
        connection.execute("CREATE EXTENSION IF NOT EXISTS vector")
        yield connection


def as_role(url, role):
    return url.replace("//postgres:@", f"//{role}@", 1)


def made_role(admin, name, *grants):
    role = f"{name}_{random.randrange(10**9)}"
    admin.execute(f"CREATE ROLE {role} LOGIN")
    for grant in grants:
        admin.execute(grant.format(role=role))
    return role


def said_by(call):
    with pytest.raises(StoreError) as caught:
        call()
    message = str(caught.value)
    assert "\n" not in message
    return message


@pytest.mark.slow
def test_a_role_of_one_memory_cannot_read_another(admin):
    stores = {}
    for name in ("ann", "bob"):
        role = made_role(admin, name)
        schema = f"commonplace_{role}"
        admin.execute(f"CREATE SCHEMA {schema} AUTHORIZATION {role}")
        url = as_role(f"{postgres.database()}&name={role}", role)
        stores[role] = filled(open_store(url), a_file("a.md", f"the secret of {name}"))
    (ann, hers), (bob, his) = stores.items()
    assert matching(hers, "secret") == ["the secret of ann"]
    assert matching(his, "secret") == ["the secret of bob"]
    with contextlib.closing(open_store(as_role(f"{postgres.database()}&name={ann}", bob))) as other:
        assert "refused the role" in said_by(lambda: matching(other, "secret"))
        said_by(lambda: other.write([], ["a.md"]))
    import psycopg

    with contextlib.closing(postgres.connected(as_role(postgres.database(), bob))) as direct:
        for table in ("chunks_1", "words_1", "vectors_1", "files_1", "vector_cache", "meta"):
            with pytest.raises(psycopg.errors.InsufficientPrivilege):
                direct.execute(f"SELECT * FROM commonplace_{ann}.{table}")
    for store in stores.values():
        store.close()


@pytest.mark.slow
def test_what_is_missing_is_said_with_the_statement_that_makes_it(admin):
    role = made_role(admin, "poor")
    url = as_role(f"{postgres.database()}&name={role}", role)
    with contextlib.closing(open_store(url)) as store:
        said = said_by(lambda: store.identity)
        assert re.search(rf'CREATE SCHEMA "commonplace_{role}" AUTHORIZATION "{role}";', said)
    bare = postgres.database(f"bare_{role}")
    with contextlib.closing(open_store(as_role(bare, role))) as store:
        assert "CREATE EXTENSION vector;" in said_by(lambda: store.identity)
    for encoding in ("LATIN1", "SQL_ASCII"):
        other = postgres.database(
            f"{encoding.lower()}_{role}",
            f"ENCODING '{encoding}' LC_COLLATE 'C' LC_CTYPE 'C' TEMPLATE template0",
        )
        with contextlib.closing(open_store(other)) as store:
            assert f"{encoding}; UTF8 was expected" in said_by(lambda: store.identity)


@pytest.mark.slow
def test_a_role_that_may_only_read_searches_and_says_why_it_does_not_write(admin, store, url):
    filled(store, a_file("a.md", "a word"))
    role = made_role(admin, "reader")
    schema = store._address.schema
    admin.execute(f"GRANT USAGE ON SCHEMA {schema} TO {role}")
    admin.execute(f"GRANT SELECT ON ALL TABLES IN SCHEMA {schema} TO {role}")
    replica = f"{url}&options=-c%20default_transaction_read_only%3Don"
    for reading, why in ((as_role(url, role), "may only read"), (replica, "read-only replica")):
        with contextlib.closing(open_store(reading)) as other:
            assert other.access == "read-only"
            assert matching(other, "word") == nearest(other, vector_of("q")) == ["a word"]
            with pytest.raises(IndexReadOnlyError, match=why):
                other.write([a_file("b.md", "more")])
            with pytest.raises(IndexReadOnlyError, match=why), other.lease("run", timeout_s=0):
                pass


@pytest.mark.slow
def test_tables_of_a_newer_version_are_left_alone(admin, store, url):
    filled(store, a_file("a.md", "a word"))
    admin.execute(f"UPDATE {store._address.schema}.meta SET value = '99' WHERE key = 'version'")
    with contextlib.closing(open_store(url)) as other:
        assert "newer version" in said_by(lambda: other.identity)


@pytest.mark.slow
def test_what_cannot_be_connected_to_is_one_line_without_the_password(admin, tmp_path, caplog):
    role = made_role(admin, "locked", "ALTER ROLE {role} PASSWORD 'right'")
    (hba,) = admin.execute("SHOW hba_file").fetchone()
    before = Path(hba).read_text("utf-8")
    try:
        Path(hba).write_text(f"local all {role} scram-sha-256\n{before}", "utf-8")
        admin.execute("SELECT pg_reload_conf()")
        time.sleep(0.5)
        base = postgres.database()
        wrong = {
            base.replace("//postgres:@", f"//{role}:s3cret@", 1): "Check user and password",
            base.replace("//postgres:@", f"//{role}@", 1): "Give a password",
            base.replace("/tests_", "/no_such_", 1): "does not exist",
            f"postgresql://ann:s3cret@/x?host={tmp_path}": "Check that the server runs",
            "postgresql://ann:s3cret@no.such.invalid/x": "Check the name of the host",
            "postgresql://ann:s3cret@127.0.0.1:1/x": "Check that the server runs",
        }
        for url, hint in wrong.items():
            with contextlib.closing(open_store(url)) as store:
                said = said_by(lambda store=store: store.identity)
                assert hint in said, said
                assert "s3cret" not in said + repr(store) + caplog.text
        right = base.replace("//postgres:@", f"//{role}:right@", 1)
        with contextlib.closing(open_store(right)) as store:
            assert "right" not in store.location
            assert not store.exists()
    finally:
        Path(hba).write_text(before, "utf-8")
        admin.execute("SELECT pg_reload_conf()")


@pytest.mark.slow
def test_a_name_may_have_quotes(tmp_path):
    url = f"{postgres.database()}&name=it%27s%20%22ours%22%3B--%20{tmp_path.name[-6:]}"
    with contextlib.closing(open_store(url)) as store:
        filled(store, a_file("it's.md", 'a "quoted" word'))
        with store.lease("run", timeout_s=1):
            assert store.lease_holder().startswith("process ")
        assert matching(store, "quoted") == ['a "quoted" word']


# -- what may happen meanwhile ---------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.full
def test_no_write_is_lost_or_doubled_while_backends_are_terminated(admin, store, url):
    filled(store)
    stop = threading.Event()

    def terminate():
        with contextlib.closing(postgres.connected(postgres.database())) as killer:
            while not stop.wait(random.uniform(0.02, 0.2)):
                killer.execute(
                    "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = "
                    "current_database() AND pid <> pg_backend_pid() AND application_name = 'hit'"
                )

    thread = threading.Thread(target=terminate)
    thread.start()
    written, lost, final = {}, 0, False
    with contextlib.closing(open_store(f"{url}&application_name=hit")) as hit:
        until = time.monotonic() + 6
        for version in range(1, 10_000):
            if time.monotonic() > until or final:
                break
            path = f"{version % 7}.md"
            file = a_file(path, f"word {version}", version=version, replaces=written.get(path))
            try:
                assert hit.write([file]) == (), path
                written[path] = version
                assert f"word {version}" in matching(hit, "word", limit=99)
            except StoreError as error:
                final = hit.recover(error, certain=False) is None
                with store.snapshot() as snapshot:  # either written or an error, never both
                    held = snapshot.file(path)
                now = held.indexed_ns if held else None
                lost += now not in (written.get(path), version)
                if now is not None:
                    written[path] = now
    stop.set()
    thread.join()
    assert len(written) == 7
    assert not lost
    assert not final
    with store.snapshot() as snapshot:
        assert {path: file.indexed_ns for path, file in snapshot.files().items()} == written
    found = contents(store)
    assert found["gone"] == []
    assert found["totals"][1] == len(found["nearest"]) == 7


@pytest.mark.slow
def test_a_search_outlives_a_lost_connection_and_a_dropped_schema(admin, tmp_path, url):
    (tmp_path / "notes").mkdir()
    (tmp_path / "notes" / "MEMORY.md").write_text("# Net\n- The VPN listens on port 51820.\n")
    quiet = Settings(sync=SyncSettings(on_open=False, on_search=False))
    where = f"{url}&application_name=one"
    with Memory.open(tmp_path / "notes", index=where, settings=quiet) as memory:
        assert memory.search("VPN port")
        admin.execute(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'one'"
        )
        assert memory.search("VPN port")
        admin.execute(f"DROP SCHEMA {Address.from_url(url).schema} CASCADE")
        assert memory.search("VPN port")


@pytest.mark.slow
def test_what_one_host_writes_the_others_find_at_once(store, url):
    filled(store, *(a_file(f"{n}.md", f"word {n}") for n in range(5)))
    for _ in range(2):
        nearest(store, vector_of("q"))  # from now on its vectors are resident
    with contextlib.closing(open_store(url)) as other:
        for number in range(5, 15):
            text = f"word {number}"
            other.write([a_file(f"{number}.md", text)], [f"{number - 5}.md"])
            began = time.monotonic()
            assert nearest(store, vector_of(text), limit=1) == [text]
            assert text in matching(store, str(number))
            assert time.monotonic() - began < 1
            assert len(nearest(store, vector_of("q"))) == 5


@pytest.mark.slow
def test_a_server_that_was_never_reached_is_not_waited_for(tmp_path):
    (tmp_path / "notes").mkdir()
    began = time.monotonic()
    with (
        pytest.raises(StoreError, match="cannot be reached"),
        Memory.open(tmp_path / "notes", index=f"postgresql:///x?host={tmp_path}") as memory,
    ):
        memory.search("VPN")
    assert time.monotonic() - began < 4


@pytest.mark.slow
def test_a_statement_that_takes_too_long_is_an_error_that_says_so(store, url):
    filled(store, a_file("a.md", "a word"))
    with contextlib.closing(open_store(f"{url}&options=-c%20statement_timeout%3D300")) as hasty:
        assert matching(hasty, "word") == ["a word"]
        with store.database.borrowed() as connection, connection.transaction():
            connection.execute(store.database.local)
            connection.execute("SELECT * FROM indexes FOR UPDATE")
            said = said_by(lambda: hasty.write([a_file("b.md", "more")]))
        assert "statement_timeout" in said
        assert hasty.write([a_file("b.md", "more")]) == ()


HOLDER = """
import sys, time
from commonplace.store.registry import open_store
with open_store(sys.argv[1]).lease("run", timeout_s=5):
    print("held", flush=True)
    time.sleep(60)
"""


@pytest.mark.slow
@pytest.mark.processes
def test_a_lease_ends_with_its_process_and_keeps_no_deleted_rows(admin, store, url):
    filled(store, a_file("a.md", "a word"))
    process = subprocess.Popen(
        [sys.executable, "-c", HOLDER, url], stdout=subprocess.PIPE, text=True
    )
    try:
        assert process.stdout.readline() == "held\n"
        assert store.lease_holder().startswith(f"process {process.pid} on ")
        (held,) = admin.execute(
            "SELECT count(*) FROM pg_stat_activity WHERE backend_xmin IS NOT NULL "
            "AND application_name LIKE 'commonplace run:%'"
        ).fetchone()
        assert held == 0
    finally:
        process.kill()
        process.wait()
        process.stdout.close()
    with store.lease("run", timeout_s=20):
        pass


@pytest.mark.slow
@pytest.mark.parametrize("at_once", [1, 3], ids=["begun by the third", "from the first"])
def test_a_load_in_bulk_ends_as_single_writes_do(tmp_path, store, at_once):
    texts = [f"word{n % 17} and common {n} ERR_{n % 5}_X 東京{n % 3}" for n in range(300)]
    files = [a_file(f"{n}.md", *texts[n::3], source=source)
             for n, source in enumerate(("memory", "sessions", "memory"))]  # fmt: skip
    with contextlib.closing(open_store(postgres.url_of(tmp_path, "single"))) as single:
        single.set_identity(IDENTITY)
        single.mark_complete()  # from now on nothing is loaded in bulk
        for file in files:
            assert single.write([file]) == ()
        store.set_identity(IDENTITY)
        for first in range(0, 3, at_once):
            assert store.write(files[first : first + at_once]) == ()
        with single.snapshot() as one, store.snapshot() as loaded:
            assert (one._state.loading, loaded._state.loading) == (False, True)
        sought = ("word3", "common", "ERR_2_X", "nothing")
        for _ in range(2):
            for word in sought:
                assert matching(store, word) == matching(single, word)
            store.write([], ["1.md"])
            single.write([], ["1.md"])
            store.mark_complete()  # what is derived is there from now on
        assert postgres_terms(store) == postgres_terms(single)
        assert contents(store)["totals"] == contents(single)["totals"]


@pytest.mark.slow
def test_parts_of_words_are_found_as_in_memory(store):
    identity = replace(IDENTITY, tokenizer="trigram")
    texts = ["#tag it's a 'quoted' \\ path", "ERR_CONN_4711 (東京都)", "a#tag, #tag", "err conn"]
    stores = [
        filled(it, a_file("a.md", *texts), identity=identity) for it in (store, MemoryStore())
    ]
    for sought in (
        "tag",
        "#ta",
        "it's a",
        "\\ p",
        "CONN_47",
        "東京都",
        "京都)",
        "(東",
        "conn",
        "' ",
    ):
        found = [matching(it, sought) for it in stores]
        assert found[0] == found[1], sought
        words = Analyzer("trigram").words(sought)
        snapshots = [it.snapshot() for it in stores]
        with snapshots[0] as mine, snapshots[1] as other:
            assert mine.frequencies(words) == other.frequencies(words)


def postgres_terms(store):
    with store.snapshot() as snapshot:
        found = snapshot._rows(f"SELECT term, source, n FROM {snapshot._tables.terms} WHERE n > 0")
    return {(term, source): n for term, source, n in found}
