"""Hosts and the server killed at random, while clients without the folder write and search."""

import contextlib
import json
import os
import random
import re
import signal
import subprocess
import sys
import threading
import time

import pytest

pytest.importorskip("psycopg")

from commonplace import Memory, Settings, SyncSettings
from support import postgres
from support.python_path import environment
from support.waiting import wait_for

pytestmark = [
    pytest.mark.processes,
    pytest.mark.slow,
    pytest.mark.skipif(os.name == "nt", reason="POSIX signals"),
]

QUIET = Settings(sync=SyncSettings(on_open=False, on_search=False))
AGAIN_S = 120
"""Seconds after which a client gives up on a change."""

CLIENT = """
import json, random, sys, threading, time
from commonplace import Memory
from commonplace.errors import ConflictError, StoreError

url, name = sys.argv[1:]
chance = random.Random(name)
counts = {"appended": 0, "edited": 0, "found": 0, "failed": 0}
path = f"memory/clients/{name}.md"

def persist(verb):
    \"\"\"Repeat a verb that failed: an error says that nothing was changed.\"\"\"
    give_up = time.time() + 120
    while True:
        try:
            return verb()
        except (StoreError, ConflictError) as error:
            if "made or not" in str(error) or time.time() > give_up:
                raise
            counts["failed"] += 1
            print(f"{name}: {error}", file=sys.stderr, flush=True)
            time.sleep(0.2)

memory = persist(lambda: Memory.connect(url, embedder=None))
persist(lambda: memory.append("- value: v0 end", path=path))
persist(lambda: memory.search("imports what a search needs"))
print("ready", flush=True)
until = float(sys.stdin.readline())
while time.time() < until:
    number = counts["appended"]
    persist(lambda: memory.append(f"- {name} wrote entry e{number} end"))
    counts["appended"] += 1
    kind = chance.random()
    if kind < 0.3:
        value = counts["edited"]
        persist(lambda: memory.edit(path, f"value: v{value} end", f"value: v{value + 1} end"))
        counts["edited"] += 1
    elif kind < 0.6:
        hits = persist(lambda: memory.search(f"{name} entry e{number}", max_results=20))
        wanted = f"{name} wrote entry e{number} end"
        counts["found"] += 1
        assert any(wanted in hit.snippet for hit in hits), (wanted, [h.snippet for h in hits])
    elif kind < 0.8:
        assert f"value: v{counts['edited']} end" in persist(lambda: memory.get(path)).text
print(json.dumps(counts), flush=True)
memory.close()
"""


class Supervised:
    """A host that serves the folder, started again whenever it ends, as under a supervisor."""

    def __init__(self, folder, url, state):
        settings = state.with_suffix(".toml")
        settings.write_text("[sync]\ndebounce_ms = 50\n")
        line = ["-w", str(folder), "--embedder", "none", "--settings", str(settings), "serve"]
        self._line = [sys.executable, "-m", "commonplace", *line]
        self._environment = {
            **environment(),
            "COMMONPLACE_STATE_DIR": str(state),
            "COMMONPLACE_INDEX": url,
        }
        self._log = state.with_suffix(".log")
        self._stopped = False
        self.starts = 0
        self._start()
        self._thread = threading.Thread(target=self._watch, daemon=True)
        self._thread.start()

    def _start(self):
        self.starts += 1
        with self._log.open("a") as log:
            self.process = subprocess.Popen(
                self._line, stdout=log, stderr=subprocess.STDOUT, env=self._environment
            )

    def _watch(self):
        while not self._stopped:
            self.process.wait()
            if not self._stopped:
                time.sleep(0.2)
                self._start()

    def log(self):
        return self._log.read_text()

    def close(self):
        self._stopped = True
        self.process.send_signal(signal.SIGTERM)
        try:
            self.process.wait(20)
        finally:
            self.process.kill()
            self._thread.join(10)


def disturb(server, hosts, until, chance, *, restarts):
    """Kill hosts and sessions at random, and restart the server, until a time."""
    counts = {"killed": 0, "cut": 0, "restarted": 0}
    every_s = max(6.0, (until - time.time()) / (restarts + 1))
    next_restart = time.time() + every_s
    while time.time() < until:
        time.sleep(chance.uniform(0.3, 2.0))
        if time.time() > next_restart and counts["restarted"] < restarts:
            postgres.restart(server, chance.choice(["fast", "immediate"]))
            counts["restarted"] += 1
            next_restart = time.time() + every_s
        elif chance.random() < 0.4:
            chance.choice(hosts).process.kill()
            counts["killed"] += 1
        else:
            with contextlib.closing(postgres.connected(server.get_uri())) as admin:
                admin.execute(
                    "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE "
                    "datname = 'notes' AND pid <> pg_backend_pid() AND random() < 0.3"
                )
            counts["cut"] += 1
    return counts


@pytest.mark.full
@pytest.mark.parametrize(
    ("clients", "seconds", "restarts"),
    [
        pytest.param(4, 15, 1, id="small", marks=pytest.mark.timeout(240)),
        pytest.param(16, 180, 12, id="long", marks=pytest.mark.timeout(900)),
    ],
)
def test_every_acknowledged_change_is_there_once_and_in_order(tmp_path, clients, seconds, restarts):
    folder = tmp_path / "notes"
    (folder / "memory").mkdir(parents=True)
    (folder / "MEMORY.md").write_text("# Net\n- The VPN listens on port 51820.\n")
    with postgres.own_server() as server, contextlib.ExitStack() as stack:
        url = server.get_uri().replace("/postgres?", "/notes?", 1)
        hosts = [
            stack.enter_context(contextlib.closing(Supervised(folder, url, tmp_path / name)))
            for name in ("one", "two")
        ]
        wait_for(lambda: any("1 added" in host.log() for host in hosts), deadline_s=60)
        names = [f"client{number:02}" for number in range(clients)]
        processes = [
            stack.enter_context(
                subprocess.Popen(
                    [sys.executable, "-c", CLIENT, url, name],
                    stdin=subprocess.PIPE,
                    stdout=subprocess.PIPE,
                    stderr=stack.enter_context((tmp_path / f"{name}.log").open("w")),
                    text=True,
                    env={**environment(), "COMMONPLACE_STATE_DIR": str(tmp_path / name)},
                )
            )
            for name in names
        ]
        for process in processes:
            stack.callback(process.kill)
        for process in processes:
            assert process.stdout.readline() == "ready\n"
        until = time.time() + seconds
        for process in processes:
            process.stdin.write(f"{until}\n")
            process.stdin.flush()
        done = disturb(server, hosts, until, random.Random(clients), restarts=restarts)
        acknowledged = {}
        for name, process in zip(names, processes, strict=True):
            line = process.stdout.readline()
            assert line, (tmp_path / f"{name}.log").read_text()
            acknowledged[name] = json.loads(line)
        with Memory.connect(url, embedder=None, settings=QUIET) as reader:
            wait_for(lambda: reader.status().server.waiting == 0, deadline_s=90)
            compare(folder, reader, acknowledged)
        with Memory.open(folder, index=url, settings=QUIET, embedder=None) as memory:
            assert memory.verify().problems == ()
        starts = sum(host.starts for host in hosts)
        kinds = acknowledged[names[0]]
        sums = {kind: sum(one[kind] for one in acknowledged.values()) for kind in kinds}
        sys.stdout.write(f"\n{sums}, {done}, hosts started {starts} times\n")


def compare(folder, reader, acknowledged):
    """Compare files, database and what was acknowledged."""
    files = {path.relative_to(folder).as_posix(): path.read_text() for path in folder.rglob("*.md")}
    log = "\n".join(text for path, text in sorted(files.items()) if "clients" not in path)
    for name, counts in acknowledged.items():
        entries = [int(number) for number in re.findall(rf"{name} wrote entry e(\d+) end", log)]
        assert entries == list(range(counts["appended"])), name
        own = files[f"memory/clients/{name}.md"]
        assert re.findall(r"value: v(\d+) end", own) == [str(counts["edited"])], name
        if not entries:
            continue
        last = f"{name} wrote entry e{counts['appended'] - 1} end"
        assert any(last in hit.snippet for hit in reader.search(last, max_results=20))
    (warning,) = reader.status().warnings  # no change was refused
    assert "by keywords only" in warning
    for path, text in files.items():
        assert reader.get(path).text == text, path
