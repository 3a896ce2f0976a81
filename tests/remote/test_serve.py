"""``commonplace serve``: one host leads, others wait and take over."""

import contextlib
import os
import re
import signal
import socket
import subprocess
import sys
import threading
import time

import pytest

pytest.importorskip("psycopg")

from commonplace import Memory, Settings, SyncSettings
from commonplace.errors import StoreError
from commonplace.folder_host import FolderHost
from support import postgres
from support.python_path import environment
from support.waiting import wait_for

pytestmark = [
    pytest.mark.processes,
    pytest.mark.slow,
    pytest.mark.skipif(os.name == "nt", reason="POSIX signals"),
]

QUIET = Settings(sync=SyncSettings(on_open=False, on_search=False))


@pytest.fixture
def url(tmp_path):
    return postgres.url_of(tmp_path)


@pytest.fixture
def folder(tmp_path):
    return new_folder(tmp_path / "notes")


def new_folder(path, text="# Net\n- The VPN listens on port 51820.\n"):
    (path / "memory").mkdir(parents=True)
    (path / "MEMORY.md").write_text(text)
    return path


class Host:
    """A process that serves a memory, as a host of its own: its state folder is another."""

    def __init__(self, folder, url, state, program=("-m", "commonplace")):
        settings = state.with_suffix(".toml")
        settings.write_text("[sync]\ndebounce_ms = 50\n")
        line = ["-w", str(folder), "--embedder", "none", "--settings", str(settings), "serve"]
        self.process = subprocess.Popen(
            [sys.executable, *program, *line],
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            env={
                **environment(),
                "COMMONPLACE_STATE_DIR": str(state),
                "COMMONPLACE_INDEX": url,
            },
        )
        self.lines = []
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def _read(self):
        for line in self.process.stdout:
            self.lines.append(line)

    def said(self, pattern):
        return any(re.search(pattern, line) for line in tuple(self.lines))

    def end(self, sent=signal.SIGTERM):
        """Send a signal; return the exit status and the seconds that it took."""
        began = time.monotonic()
        self.process.send_signal(sent)
        status = self.process.wait(30)
        took = time.monotonic() - began
        self._reader.join(10)
        return status, took

    def close(self):
        self.process.kill()
        self.process.wait()
        self._reader.join(10)
        self.process.stdout.close()


@pytest.fixture
def host(tmp_path):
    with contextlib.ExitStack() as stack:

        def start(folder, url, name):
            return stack.enter_context(contextlib.closing(Host(folder, url, tmp_path / name)))

        yield start


@pytest.fixture
def reader(tmp_path, url):
    """Another host that searches; its own folder is empty, and it indexes nothing."""
    (tmp_path / "elsewhere").mkdir()
    with Memory.open(tmp_path / "elsewhere", index=url, settings=QUIET, embedder=None) as memory:
        yield memory


def found(memory, query, text):
    return any(text in hit.snippet for hit in memory.search(query))


@pytest.mark.parametrize("sent", [signal.SIGTERM, signal.SIGINT])
def test_it_indexes_what_changes_until_a_signal_ends_it(folder, url, host, reader, sent):
    secret = url.replace("//postgres:@", "//postgres:s3cret@", 1)
    serving = host(folder, secret, "one")
    wait_for(lambda: serving.said("leads: this host watches the files"))
    wait_for(lambda: serving.said(r"\d\d:\d\d:\d\d  1 added, 0 updated, 0 removed, [0-9.]+ s"))
    (folder / "memory" / "herons.md").write_text("- The heron nests in March.\n")
    wait_for(lambda: serving.said("1 added.*\n"))
    wait_for(lambda: found(reader, "heron", "nests in March"))
    assert reader.status().server.leader.startswith(f"process {serving.process.pid} on ")
    status, took = serving.end(sent)
    assert status == 0
    assert took < 20
    assert serving.lines[-1] == "stopped\n"
    assert "s3cret" not in "".join(serving.lines)
    assert reader.status().server.leader is None


def test_another_host_takes_over_within_ten_seconds_of_a_kill(folder, url, host, reader):
    first = host(folder, url, "one")
    wait_for(lambda: first.said("1 added"))
    second = host(folder, url, "two")
    name = f"process {first.process.pid} on {socket.gethostname()}"
    wait_for(lambda: second.said(f"waits: {name} leads"))
    first.process.kill()
    began = time.monotonic()
    (folder / "memory" / "herons.md").write_text("- The heron nests in March.\n")
    wait_for(lambda: second.said("leads: this host"))
    took_over = time.monotonic() - began
    wait_for(lambda: found(reader, "heron", "nests in March"))
    sys.stdout.write(f"\ntaken over after {took_over:.2f} s\n")
    assert took_over < 10
    assert second.end()[0] == 0, second.lines[-5:]


@pytest.mark.full
def test_a_host_that_waits_writes_nothing_from_its_folder(tmp_path, folder, url, host, reader):
    leader = host(folder, url, "one")
    wait_for(lambda: leader.said("1 added"))
    behind = new_folder(tmp_path / "behind", "# Net\n- The VPN listens on port 1194.\n")
    waiting = host(behind, url, "two")
    wait_for(lambda: waiting.said("waits"))
    (behind / "memory" / "stale.md").write_text("- What the other host has not.\n")
    time.sleep(2)
    assert not found(reader, "other host", "has not")
    assert found(reader, "VPN port", "51820")
    assert leader.end()[0] == 0, leader.lines[-5:]
    wait_for(lambda: found(reader, "other host", "has not"))  # it leads now
    assert waiting.end()[0] == 0, waiting.lines[-5:]


def test_the_leader_leads_again_after_its_connections_were_cut(folder, url, host, reader):
    serving = host(folder, f"{url}&application_name=cut", "one")
    wait_for(lambda: serving.said("1 added"))
    with contextlib.closing(postgres.connected(postgres.database())) as admin:
        admin.execute(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE "
            "application_name ~ '^(cut|commonplace lead)' AND datname = current_database()"
        )
    wait_for(lambda: serving.said("leads no longer"))
    wait_for(lambda: sum("leads: this host" in line for line in tuple(serving.lines)) == 2)
    (folder / "memory" / "herons.md").write_text("- The heron nests in March.\n")
    wait_for(lambda: found(reader, "heron", "nests in March"))
    assert serving.end()[0] == 0, serving.lines[-5:]


@pytest.mark.full
@pytest.mark.parametrize("mode", ["fast", "immediate"])
def test_the_leader_outlives_a_restart_of_the_server(tmp_path, folder, host, mode):
    with postgres.own_server() as server:
        url = server.get_uri().replace("/postgres?", "/notes?", 1)
        serving, waiting = (host(folder, url, name) for name in ("one", "two"))
        wait_for(lambda: serving.said("waits|1 added") and waiting.said("waits|1 added"))
        postgres.restart(server, mode)
        (folder / "memory" / "herons.md").write_text("- The heron nests in March.\n")
        with Memory.open(folder, index=url, settings=QUIET, embedder=None) as reader:
            wait_for(lambda: found(reader, "heron", "nests in March"))
            wait_for(lambda: reader.status().server.leader is not None)
        for one in (serving, waiting):
            status, took = one.end()
            assert (status, one.lines[-1]) == (0, "stopped\n"), one.lines
            assert took < 20


def test_a_signal_ends_it_while_the_server_is_away(folder, host):
    with postgres.own_server() as server:
        url = server.get_uri().replace("/postgres?", "/notes?", 1)
        serving = host(folder, url, "one")
        wait_for(lambda: serving.said("1 added"))
        postgres.restart(server, start=False)
        wait_for(lambda: serving.said("leads no longer"))
        wait_for(lambda: serving.said("cannot be reached"))
        status, took = serving.end()
        assert status == 0
        assert took < 20
        server.ensure_postgres_running()


STUCK = """
import time
from commonplace import Memory
from commonplace.cli.app import app
Memory.close = lambda self: time.sleep(60)
app()
"""


@pytest.mark.full
def test_a_signal_ends_it_although_a_connection_does_not_answer(tmp_path, folder, url):
    serving = Host(folder, url, tmp_path / "one", ("-c", STUCK))
    with contextlib.closing(serving):
        wait_for(lambda: serving.said("1 added"))
        status, took = serving.end()
        assert (status, serving.lines[-1]) == (0, "stopped\n")
        assert took < 20


def test_an_index_of_this_machine_is_refused_in_one_line(tmp_path, folder):
    serving = Host(folder, str(tmp_path / "index.sqlite"), tmp_path / "one")
    with contextlib.closing(serving):
        assert serving.process.wait(30) == 1
        serving._reader.join(10)
    (line,) = serving.lines
    assert "postgresql://" in line
    assert "commonplace watch" in line
    with (
        Memory.open(folder, index="memory://", embedder=None) as memory,
        pytest.raises(StoreError, match="an index on a server was expected"),
    ):
        FolderHost(memory)


def test_a_server_that_cannot_be_reached_is_an_error_in_one_line(tmp_path, folder):
    serving = Host(folder, f"postgresql://ann:s3cret@/x?host={tmp_path}", tmp_path / "one")
    with contextlib.closing(serving):
        assert serving.process.wait(30) == 1
        serving._reader.join(10)
    (line,) = serving.lines
    assert "cannot be reached" in line
    assert "s3cret" not in line


# -- hosts without the folder ----------------------------------------------------------------------


def test_the_leader_makes_the_changes_of_a_host_without_the_folder_at_once(folder, url, host):
    serving = host(folder, url, "one")
    wait_for(lambda: serving.said("1 added"))
    with Memory.connect(url, embedder=None, settings=QUIET) as memory:
        took = []
        for number in range(10):
            path = memory.append(f"- The heron number {number} nests in March.")
            began = time.monotonic()
            wait_for(lambda path=path, n=number: f"number {n} " in text_of(folder, path))
            took.append(time.monotonic() - began)
        sys.stdout.write(f"\nin the files after {max(took):.2f} s at worst\n")
        wait_for(lambda: serving.said("1 note changed by hosts without the folder"))
        wait_for(lambda: memory.status().server.waiting == 0)
        assert serving.end()[0] == 0, serving.lines[-5:]
        memory.append("- The otter sleeps.")
        status = memory.status().server
        assert status.leader is None
        assert status.waiting == 1
        assert abs(status.waiting_since.timestamp() - time.time()) < 60
        assert found(memory, "otter", "sleeps")


def text_of(folder, path):
    with contextlib.suppress(FileNotFoundError):
        return (folder / path).read_text()
    return ""


def test_a_memory_that_is_only_opened_leaves_the_inbox_to_the_leader(tmp_path, folder, url, host):
    serving = host(folder, url, "one")
    wait_for(lambda: serving.said("1 added"))
    copy = new_folder(tmp_path / "copy")
    with (
        Memory.open(copy, index=url, settings=QUIET, embedder=None) as opened,
        Memory.connect(url, embedder=None, settings=QUIET) as memory,
    ):
        for number in range(5):
            path = memory.append(f"- The heron number {number} nests in March.")
            assert opened.apply_inbox() == 0
        wait_for(lambda: "number 4 " in text_of(folder, path))
        assert text_of(copy, path) == ""


def test_a_host_without_the_folder_cannot_serve_it(folder, url):
    with Memory.open(folder, index=url, settings=QUIET, embedder=None) as memory:
        memory.index()
    serving = Host(url, "", folder.parent / "one")
    with contextlib.closing(serving):
        assert serving.process.wait(30) == 1
        serving._reader.join(10)
    (line,) = serving.lines
    assert "needs the folder of the notes" in line


def test_a_connected_memory_follows_while_it_watches(folder, url):
    with Memory.open(folder, index=url, settings=QUIET, embedder=None) as memory:
        memory.index()
    with Memory.connect(url, embedder=None, settings=QUIET) as memory, memory.watch():
        wait_for(lambda: memory.status().server.freshness == "notifications")


@pytest.mark.parametrize("more", ["", "- A line of an editor.\n"])
def test_what_a_killed_leader_has_written_is_not_written_again_by_the_next(folder, url, more):
    """The next leader has the same folder and a history of its own."""
    with Memory.open(folder, index=url, settings=QUIET, embedder=None) as home:
        home.index()
    with Memory.connect(url, embedder=None, settings=QUIET) as memory:
        log = memory.append("- The heron nests in March.")
        memory.append("- The otter sleeps.", path="MEMORY.md")
        texts = {path: memory.get(path).text + more for path in (log, "MEMORY.md")}
        for path, text in texts.items():
            (folder / path).write_text(text)  # as the killed leader, before it told the database
        with Memory.open(folder, index=url, settings=QUIET, embedder=None) as home:
            assert home.apply_inbox()
            assert {path: text_of(folder, path) for path in texts} == texts
            (warning,) = home.status().warnings
            assert "by keywords only" in warning
            memory.edit("MEMORY.md", "port 51820", "port 1194")
            edited = memory.get("MEMORY.md").text
            (folder / "MEMORY.md").write_text(edited + more)
            home.apply_inbox()
            assert text_of(folder, "MEMORY.md") == edited + more
            assert home.status().server.waiting == 0
            (warning,) = home.status().warnings
