"""PostgreSQL behind PgBouncer in transaction mode: nothing depends on a session."""

import contextlib
import os
import shutil
import socket
import subprocess
import tempfile
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

pytest.importorskip("psycopg")

from commonplace import Memory, Settings, SyncSettings
from commonplace.errors import IndexBusyError
from commonplace.folder_host import FolderHost
from commonplace.store.registry import open_store
from store.samples import a_file, filled, matching
from support import postgres
from support.waiting import wait_for

pytestmark = [pytest.mark.slow, pytest.mark.processes]

QUIET = Settings(sync=SyncSettings(on_open=False, on_search=False))
NOTE = "# Net\n- The VPN listens on port 51820.\n"


@pytest.fixture
def pooled():
    """Start PgBouncer in transaction mode, with so many connections; return the database's URL."""
    program = shutil.which("pgbouncer")
    if program is None:
        pytest.skip("PgBouncer is not installed")
    base = postgres.database()
    place = base.partition("host=")[2]
    folder = Path(tempfile.mkdtemp(prefix="bouncer-", dir="/tmp"))
    folder.chmod(0o777)
    (folder / "users.txt").write_text('"postgres" ""\n')
    user = ["-u", postgres.server().system_user] if os.geteuid() == 0 else []
    with contextlib.ExitStack() as stack:
        stack.callback(shutil.rmtree, folder)

        def start(connections):
            with socket.socket() as free:
                free.bind(("127.0.0.1", 0))
                port = free.getsockname()[1]
            (folder / "pgbouncer.ini").write_text(
                f"[databases]\n* = host={place}\n[pgbouncer]\nlisten_port = {port}\n"
                f"unix_socket_dir = {folder}\nauth_type = trust\nauth_file = {folder}/users.txt\n"
                f"pool_mode = transaction\ndefault_pool_size = {connections}\n"
                "query_wait_timeout = 20\n"
            )
            line = [program, "-q", *user, str(folder / "pgbouncer.ini")]
            process = stack.enter_context(subprocess.Popen(line))
            stack.callback(process.terminate)
            wait_for((folder / f".s.PGSQL.{port}").exists)
            return base.replace(place, f"{folder}&port={port}")

        yield start


@pytest.fixture
def notes(tmp_path):
    (tmp_path / "notes" / "memory").mkdir(parents=True)
    (tmp_path / "notes" / "MEMORY.md").write_text(NOTE)
    return tmp_path / "notes"


def name_of(tmp_path):
    return postgres.url_of(tmp_path).rpartition("name=")[2]


def found(memory, query, text):
    return any(text in hit.snippet for hit in memory.search(query))


def test_a_memory_needs_three_connections_whatever_it_does(pooled, notes, tmp_path):
    """Threads that hold a connection and wait for another one would wait for each other."""
    index = f"{pooled(3)}&name={name_of(tmp_path)}"
    with contextlib.ExitStack() as stack:
        memories = [stack.enter_context(Memory.open(notes, index=index)) for _ in range(4)]
        memories[0].index()
        with ThreadPoolExecutor(8) as pool:
            for number in range(4):
                memories[number].append(f"- The printer number {number} is called Gutenberg.")
            hits = list(pool.map(lambda n: memories[n % 4].search("VPN port"), range(32)))
        assert all("51820" in each[0].snippet for each in hits)
        assert memories[3].search("printer number 0")
        assert memories[0].index(force=True).chunks


def test_hosts_write_and_find_behind_a_pool(pooled, notes, tmp_path):
    url = f"{pooled(5)}&name={name_of(tmp_path)}"
    with Memory.open(notes, index=url, settings=QUIET, embedder=None) as home:
        said = []
        host = FolderHost(home, say=said.append)
        serving = threading.Thread(target=host.run, daemon=True)
        serving.start()
        try:
            wait_for(lambda: "leads: this host watches the files" in said)
            wait_for(lambda: home.status().server.freshness.startswith("polling"))
            with (
                Memory.connect(url, settings=QUIET, embedder=None) as far,
                Memory.connect(url, settings=QUIET, embedder=None) as other,
                far.watch(),
            ):
                wait_for(lambda: "connection pooler" in far.status().server.freshness)
                assert far.status().server.leader.startswith(f"process {os.getpid()} on ")
                log = far.append("- The heron nests in March.")
                assert found(other, "heron", "nests in March")
                far.edit("MEMORY.md", "51820", "443")

                def write(number):
                    other.append(f"- Writer {number} is here.")
                    return found(far, f"Writer {number}", f"Writer {number} is here")

                with ThreadPoolExecutor(6) as threads:
                    assert all(threads.map(write, range(12)))
                written = time.monotonic()
                wait_for(lambda: far.status().server.waiting == 0)
                assert time.monotonic() - written < 8  # the leader looks at the version
                assert (notes / "MEMORY.md").read_text() == NOTE.replace("51820", "443")
                lines = (notes / log).read_text().split("\n")
                assert sorted(line for line in lines if "Writer" in line) == sorted(
                    f"- Writer {number} is here." for number in range(12)
                )
                (notes / "memory" / "otters.md").write_text("- The otter sleeps.\n")
                wait_for(lambda: found(other, "otter", "sleeps"))
                assert far.get(log).text == (notes / log).read_text()
        finally:
            host.stop()
            serving.join(20)
        assert not serving.is_alive()


def test_leases_of_a_thread_need_one_connection_and_end_one_by_one(pooled, tmp_path):
    url = f"{pooled(2)}&name={name_of(tmp_path)}"
    with (
        contextlib.closing(open_store(url)) as store,
        contextlib.closing(open_store(url)) as other,
    ):
        filled(store, a_file("a.md", "a word"))

        def is_free(name):
            try:
                with other.lease(name, timeout_s=0):
                    return True
            except IndexBusyError:
                return False

        with store.lease("run", timeout_s=5):
            with store.lease("swap", timeout_s=5):
                with store.lease("inbox", timeout_s=5):
                    assert matching(store, "word") == ["a word"]
                    assert not any(map(is_free, ("run", "swap", "inbox")))
                assert is_free("inbox")
                assert not is_free("swap")
                with pytest.raises(ZeroDivisionError), store.lease("inbox", timeout_s=5):
                    raise ZeroDivisionError
                assert is_free("inbox")
            assert is_free("swap")
            with pytest.raises(IndexBusyError), store.lease("run", timeout_s=0):
                pass
            assert not is_free("run")
        assert is_free("run")
