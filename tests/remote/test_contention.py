"""Many hosts without the folder that change one note at once."""

import re
import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack

import pytest

pytest.importorskip("psycopg")

from commonplace import Memory, Settings, SyncSettings
from support import postgres

pytestmark = pytest.mark.slow

QUIET = Settings(sync=SyncSettings(on_open=False, on_search=False))
HOSTS, NOTES = 12, 5


def test_many_hosts_that_append_to_one_note_take_turns(tmp_path, monkeypatch):
    # Without turns, some host is overtaken this often: threads contend less than hosts do.
    monkeypatch.setattr("commonplace.remote.mutator._TRIES", 12)
    folder = tmp_path / "notes"
    (folder / "memory").mkdir(parents=True)
    url = postgres.url_of(tmp_path)
    began = threading.Barrier(HOSTS)

    def write(number, memory):
        began.wait(30)
        for note in range(NOTES):
            memory.append(f"- host {number} wrote note {note}")

    with ExitStack() as stack:
        home = stack.enter_context(Memory.open(folder, index=url, settings=QUIET, embedder=None))
        home.index()
        memories = [
            stack.enter_context(Memory.connect(url, settings=QUIET, embedder=None))
            for _ in range(HOSTS)
        ]
        with ThreadPoolExecutor(HOSTS) as pool:
            list(pool.map(write, range(HOSTS), memories))
        home.apply_inbox()
    (log,) = (folder / "memory").glob("*.md")
    for number in range(HOSTS):
        found = re.findall(rf"host {number} wrote note (\d+)", log.read_text())
        assert found == [str(note) for note in range(NOTES)]
