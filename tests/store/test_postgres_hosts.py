"""Hosts that share an index in PostgreSQL: notices of writes, and the leadership."""

import contextlib
import socket
import subprocess
import sys
import threading
import time

import pytest

pytest.importorskip("psycopg")

from commonplace import Memory
from commonplace.errors import IndexReadOnlyError
from commonplace.store.registry import open_store
from store.samples import a_file, filled, nearest, vector_of
from support import postgres
from support.python_path import environment
from support.waiting import wait_for

HOST = socket.gethostname()
WRITES = 200


@pytest.fixture
def url(tmp_path):
    return postgres.url_of(tmp_path)


@pytest.fixture
def store(url):
    made = filled(open_store(url), *(a_file(f"{n}.md", f"word {n}") for n in range(5)))
    yield made
    made.close()


@pytest.fixture
def reader(store, url):
    """Store of another host, whose vectors are resident."""
    made = open_store(url)
    for _ in range(2):
        nearest(made, vector_of("q"))
    yield made
    made.close()


@pytest.fixture
def process():
    """Start a process that runs some code; it is killed in the end."""
    with contextlib.ExitStack() as stack:

        def start(code, *arguments):
            made = subprocess.Popen(
                [sys.executable, "-c", code, *arguments],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                text=True,
                env=environment(),
            )
            stack.enter_context(made)
            stack.callback(made.kill)
            return made

        yield start


def say(text):
    """Print a figure, for those who run a test with -s."""
    sys.stdout.write(f"\n{text}\n")


def terminate(url, application):
    """End the sessions of an application, as a failover does."""
    with contextlib.closing(postgres.connected(postgres.database())) as admin:
        admin.execute(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity "
            "WHERE starts_with(application_name, %s) AND pid <> pg_backend_pid() "
            "AND datname = current_database()",
            (application,),
        )


# -- notices ---------------------------------------------------------------------------------------

FOLLOWER = """
import sys, time
from commonplace.store.registry import open_store
from store.samples import nearest, vector_of
store = open_store(sys.argv[1])
for _ in range(2):
    nearest(store, vector_of("q"))
def changed():
    print(store._cache.held._moment.last_seq, time.time(), flush=True)
with store.hosts.followed(changed):
    sys.stdin.read()
store.close()
"""


@pytest.mark.slow
@pytest.mark.processes
def test_what_one_host_writes_another_ones_vectors_hold_within_a_second(store, url, process):
    follower = process(FOLLOWER, url)
    assert follower.stdout.readline().startswith("5 ")
    took = []
    for number in range(WRITES):
        store.write([a_file(f"new {number}.md", f"text {number}")])
        written = time.time()
        for line in follower.stdout:
            seq, at = line.split()
            if int(seq) >= 6 + number:
                break
        took.append(float(at) - written)
    follower.communicate("", timeout=20)
    say(f"worst of {WRITES}: {max(took) * 1000:.1f} ms")
    assert max(took) < 1


@pytest.mark.slow
def test_the_search_after_a_notice_has_nothing_to_read(store, reader, monkeypatch):
    heard = threading.Event()
    with reader.hosts.followed(heard.set):
        wait_for(heard.is_set)
        assert reader.hosts.freshness == "notifications"
        heard.clear()
        store.write([a_file("new.md", "text")], ["1.md"])
        wait_for(lambda: reader._cache.held._moment.last_seq == 6)
    monkeypatch.setattr("commonplace.store.postgres.vector_search.PostgresVectorTable.blocks", None)
    assert nearest(reader, vector_of("text"), limit=1) == ["text"]
    assert len(nearest(reader, vector_of("q"))) == 5
    assert reader.hosts.freshness == ""


@pytest.mark.slow
def test_a_rebuild_is_noticed(store, reader):
    heard = threading.Event()
    with reader.hosts.followed(heard.set):
        wait_for(heard.is_set)
        rebuild = store.begin_rebuild(store.identity, restart=True, keep_cache=9)
        rebuild.store.write([a_file("a.md", "rebuilt")])
        heard.clear()
        rebuild.commit(keep_cache=9)
        # While the matrix is read again, it has no moment.
        wait_for(lambda: (reader._cache.held._moment or ("",))[0] == "2")


def test_several_follow_over_one_connection(reader):
    one, two = [], []
    with reader.hosts.followed(lambda: one.append(1)):
        wait_for(lambda: one)
        listener = reader.hosts._notifications._listener
        with reader.hosts.followed(lambda: two.append(1)):
            wait_for(lambda: two)
            assert reader.hosts._notifications._listener is listener
        assert listener.is_alive()
    assert not listener.is_alive()


@pytest.mark.slow
def test_what_was_written_while_the_connection_was_cut_is_followed(store, url, caplog):
    heard = threading.Event()
    other = open_store(f"{url}&application_name=cut")
    with contextlib.closing(other), other.hosts.followed(heard.set):
        for number in range(3):
            wait_for(heard.is_set)
            heard.clear()
            terminate(url, "cut")
            store.write([a_file(f"new {number}.md", "text")])
            wait_for(heard.is_set)
            wait_for(lambda: other.hosts.freshness == "notifications")
    assert not caplog.records


@pytest.mark.slow
def test_where_notices_do_not_arrive_the_version_is_looked_at(store, reader, monkeypatch):
    """As behind a pooler in transaction mode, where LISTEN succeeds and goes elsewhere."""
    monkeypatch.setattr("commonplace.store.postgres.notifications._PROBE_S", 0.2)
    connect = reader.database.connect
    elsewhere = postgres.connected(postgres.server().get_uri())
    monkeypatch.setattr(
        reader.database, "connect", lambda *defaults: elsewhere if defaults else connect()
    )
    heard = threading.Event()
    with reader.hosts.followed(heard.set):
        wait_for(heard.is_set)
        assert reader.hosts.freshness == (
            "polling every 0.5 s: notices do not pass the connection pooler"
        )
        for number in range(2):
            heard.clear()
            store.write([a_file(f"new {number}.md", "text")])
            written = time.monotonic()
            wait_for(heard.is_set)
            assert time.monotonic() - written < 5
        heard.clear()
        assert not heard.wait(1.2)  # nothing was written


def test_idle_connections_that_the_server_has_ended_are_not_used(store, url):
    other = open_store(f"{url}&application_name=ended")
    with contextlib.closing(other):
        for _ in range(3):
            assert nearest(other, vector_of("word 1"), limit=1) == ["word 1"]
            terminate(url, "ended")
            time.sleep(0.1)


def test_a_memory_that_watches_its_files_follows_the_writes_of_others(tmp_path, url):
    (tmp_path / "notes" / "memory").mkdir(parents=True)
    with Memory.open(tmp_path / "notes", index=url, embedder=None) as memory:
        memory.index()
        assert memory.status().server.freshness == ""
        with memory.watch():
            wait_for(lambda: memory.status().server.freshness == "notifications")
        assert memory.status().server.freshness == ""
        with memory.watch():
            memory.close()
        assert not any(it.name == "commonplace-listen" for it in threading.enumerate())


def test_a_deep_status_tries_whether_notices_arrive(store):
    checks = {check.name: check.run() for check in store.health_checks()}
    assert checks["notices"] == "ok: notifications"


def test_what_a_follower_raises_ends_nothing(store, reader, caplog):
    heard = []

    def broken():
        heard.append(1)
        raise ValueError("broken")

    with reader.hosts.followed(broken):
        wait_for(lambda: heard)
        store.write([a_file("new.md", "text")])
        wait_for(lambda: len(heard) > 1)
    assert "could not be followed" in caplog.text


# -- leadership ------------------------------------------------------------------------------------

LEADER = """
import sys, threading, time
from commonplace.store.registry import open_store
store = open_store(sys.argv[1])
lost = threading.Event()
with store.hosts.leading(lost=lost.set):
    print("leads", time.time(), flush=True)
    lost.wait()
"""


@pytest.mark.slow
@pytest.mark.full
@pytest.mark.processes
def test_another_host_leads_after_the_leader_was_killed_or_cut_off(url, store, process):
    hosts = [process(LEADER, f"{url}&application_name=host")]
    assert hosts[0].stdout.readline().startswith("leads")
    took = []
    for cut in (False, True):
        hosts.append(process(LEADER, f"{url}&application_name=host"))
        wait_for(lambda: store.hosts.status().leader == f"process {hosts[0].pid} on {HOST}")
        time.sleep(1.5)  # the other one waits
        began = time.time()
        if cut:
            terminate(url, "commonplace lead")  # the one that waits, too, if it just looks
        else:
            hosts[0].kill()
        hosts.pop(0).wait(20)  # cut off, it ends with the error that says so
        line = hosts[0].stdout.readline()
        took.append(float(line.split()[1]) - began)
    say(f"taken over after {max(took):.2f} s at worst")
    assert max(took) < 10
    hosts[0].kill()
    wait_for(lambda: store.hosts.status().leader is None)


@pytest.mark.slow
def test_one_host_leads_and_says_since_when(store, reader):
    tried = []

    def look():
        tried.append(1)
        if len(tried) > 1:
            raise KeyboardInterrupt

    with store.hosts.leading():
        with pytest.raises(KeyboardInterrupt), reader.hosts.leading(check=look):
            pass
        status = reader.hosts.status()
        assert status.leader.startswith("process ")
        assert abs(status.leading_since.timestamp() - time.time()) < 20
    assert reader.hosts.status().leader is None


@pytest.mark.slow
def test_a_leader_that_was_cut_off_is_told_and_writes_no_more(store, url):
    lost = threading.Event()
    with store.hosts.leading(lost=lost.set):
        assert store.write([a_file("new.md", "text")]) == ()
        terminate(url, "commonplace lead")
        wait_for(lost.is_set)
        assert store.access == "read-only"
        with pytest.raises(IndexReadOnlyError, match="does not lead"):
            store.write([a_file("new.md", "more", replaces=1)])
    with pytest.raises(IndexReadOnlyError, match="does not lead"):
        store.write([], ["new.md"])
    with store.hosts.leading():
        assert store.write([], ["new.md"]) == ()


def test_a_role_that_may_only_read_does_not_lead(store, url):
    replica = open_store(f"{url}&options=-c%20default_transaction_read_only%3Don")
    with contextlib.closing(replica), pytest.raises(IndexReadOnlyError), replica.hosts.leading():
        pass


def test_the_leadership_holds_back_no_vacuum(store):
    with (
        store.hosts.leading(),
        contextlib.closing(postgres.connected(postgres.database())) as admin,
    ):
        found = admin.execute(
            "SELECT backend_xid, backend_xmin FROM pg_stat_activity "
            "WHERE starts_with(application_name, 'commonplace lead') "
            "AND datname = current_database()"
        ).fetchall()
    assert found == [(None, None)]


def test_the_server_says_what_the_memory_takes(store):
    status = store.hosts.status()
    assert status.leader is status.leading_since is None
    assert status.connections >= 1
    assert {"files", "chunks", "words", "vectors", "vector_cache"} <= status.table_bytes.keys()
    assert all(size > 0 for size in status.table_bytes.values())
