"""What a server does to its clients: it restarts, times out, and runs out of room."""

import contextlib
import os
import subprocess
import tempfile
from pathlib import Path

import pytest

pytest.importorskip("psycopg")

from commonplace import Memory, Settings, SyncSettings
from commonplace.errors import StoreError
from commonplace.store.registry import open_store
from store.samples import a_file, contents, filled, matching
from support import postgres
from support.waiting import wait_for

pytestmark = pytest.mark.slow

QUIET = Settings(sync=SyncSettings(on_open=False, on_search=False))


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "notes" / "memory").mkdir(parents=True)
    (tmp_path / "notes" / "MEMORY.md").write_text("# Net\n- The VPN listens on port 51820.\n")
    return tmp_path / "notes"


def opened(folder, url):
    return Memory.open(folder, index=url, settings=QUIET, embedder=None)


def found(memory, query, text):
    return any(text in hit.snippet for hit in memory.search(query))


@pytest.mark.full
@pytest.mark.parametrize("mode", ["fast", "immediate"])
def test_a_memory_outlives_a_restart_of_the_server(folder, tmp_path, mode):
    (tmp_path / "elsewhere").mkdir()
    with postgres.own_server() as server:
        url = server.get_uri().replace("/postgres?", "/notes?", 1)
        with opened(folder, url) as memory, opened(tmp_path / "elsewhere", url) as other:
            memory.index()
            assert found(other, "VPN port", "51820")
            with other.hosts.followed():
                wait_for(lambda: other.status().server.freshness == "notifications")
                postgres.restart(server, mode)
                memory.append("- The printer is called Gutenberg.")
                assert found(other, "printer", "Gutenberg")
                wait_for(lambda: other.status().server.freshness == "notifications")
                postgres.restart(server, mode, start=False)
                path = memory.append("- The scanner is called Aldus.")  # the file has it
                assert "Aldus" in (folder / path).read_text()
                with pytest.raises(StoreError, match="cannot be reached"):
                    other.search("scanner")
                server.ensure_postgres_running()
                memory.index()
                assert found(other, "scanner", "Aldus")


def test_a_search_that_takes_too_long_is_an_error_that_says_so(folder, tmp_path):
    url = postgres.url_of(tmp_path)
    with (
        opened(folder, url) as memory,
        opened(folder, f"{url}&options=-c%20statement_timeout%3D300") as hasty,
    ):
        memory.index()
        assert found(hasty, "VPN port", "51820")
        store = open_store(url)
        with (
            contextlib.closing(store),
            store.database.borrowed() as connection,
            connection.transaction(),
        ):
            connection.execute(store.database.local)
            connection.execute("LOCK TABLE words_1 IN ACCESS EXCLUSIVE MODE")
            with pytest.raises(StoreError, match="statement_timeout"):
                hasty.search("VPN port")
        assert found(hasty, "VPN port", "51820")


@pytest.fixture
def small_disk():
    """A tablespace of 24 MB, on a file system of its own."""
    if os.name == "nt" or os.geteuid():
        pytest.skip("mounting needs root")
    server = postgres.server()
    with contextlib.ExitStack() as stack:
        place = Path(tempfile.mkdtemp(prefix="commonplace-small-", dir="/tmp"))
        stack.callback(place.rmdir)
        mounted = subprocess.run(
            ["mount", "-t", "tmpfs", "-o", "size=24m", "tmpfs", str(place)], capture_output=True
        )
        if mounted.returncode:
            pytest.skip("this machine mounts nothing")
        stack.callback(subprocess.run, ["umount", "-l", str(place)], check=True)
        data = place / "data"
        data.mkdir(mode=0o700)
        subprocess.run(["chown", server.system_user or "postgres", str(data)], check=True)
        admin = stack.enter_context(contextlib.closing(postgres.connected(postgres.database())))
        admin.execute(f"CREATE TABLESPACE small LOCATION '{data}'")
        stack.callback(admin.execute, "DROP TABLESPACE small")
        yield place, admin


def test_a_full_disk_of_the_server_is_an_error_and_nothing_is_half_written(small_disk, tmp_path):
    place, admin = small_disk
    url = f"{postgres.url_of(tmp_path)}&options=-c%20default_tablespace%3Dsmall"
    store = filled(open_store(url), a_file("first.md", "a word"))
    written = {"first.md"}
    try:
        with pytest.raises(StoreError, match="no room left") as caught:  # noqa: PT012 - until it is full
            for number in range(200):
                chunks = [f"{at} {number} {os.urandom(2000).hex()}" for at in range(100)]
                store.write([a_file(f"{number}.md", *chunks)])
                written.add(f"{number}.md")
        assert "\n" not in str(caught.value)
        assert len(written) > 1
        assert "a word" in matching(store, "word")
        with store.snapshot() as snapshot:
            assert set(snapshot.files()) == written
        found = contents(store)
        assert found["totals"][1] == 1 + 100 * (len(written) - 1)
        subprocess.run(["mount", "-o", "remount,size=96m", str(place)], check=True)
        assert store.write([a_file("more.md", "there is room")]) == ()
        assert matching(store, "room") == ["there is room"]
    finally:
        store.close()
        admin.execute(f'DROP SCHEMA "{store._address.schema}" CASCADE')
