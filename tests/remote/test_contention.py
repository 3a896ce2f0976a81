"""Many hosts without the folder that change one note at once."""

import re
import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack

import pytest

pytest.importorskip("psycopg")

from commonplace import Memory, Settings, SyncSettings
from commonplace.indexing import pipeline
from commonplace.store.postgres.hosts import PostgresHosts
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


@pytest.mark.parametrize("verb", ["edit", "append"])
def test_a_run_that_read_a_file_before_a_change_was_made_there_does_not_bring_it_back(
    tmp_path, monkeypatch, verb
):
    folder = tmp_path / "notes"
    (folder / "memory").mkdir(parents=True)
    (folder / "MEMORY.md").write_text("# Net\n- The VPN listens on port 51820.\n")
    url = postgres.url_of(tmp_path)
    leads = False
    monkeypatch.setattr(PostgresHosts, "is_led_by_another", lambda self: not leads)

    with ExitStack() as stack:
        leader, follower = (
            stack.enter_context(Memory.open(folder, index=url, settings=QUIET, embedder=None))
            for _ in range(2)
        )
        leader.index()
        client = stack.enter_context(Memory.connect(url, settings=QUIET, embedder=None))
        if verb == "edit":
            client.edit("MEMORY.md", "51820", "443")
        else:
            client.append("- The printer is called Gutenberg.", path="memory/printer.md")
        applied = threading.Event()

        def lead():
            nonlocal leads
            if not applied.is_set():
                applied.set()
                leads = True
                leader._publisher._applier.apply()  # as one that has not come to indexing it
                leads = False

        reader, run = pipeline.read_text, pipeline.IndexPipeline.run

        def read(place):
            text = reader(place)
            lead()
            return text

        def planned(self, plan, **options):
            lead()
            return run(self, plan, **options)

        with monkeypatch.context() as patch:
            if verb == "edit":
                patch.setattr(pipeline, "read_text", read)
            else:
                patch.setattr(pipeline.IndexPipeline, "run", planned)
            follower.index()
        assert applied.is_set()
        if verb == "edit":
            assert "443" in client.get("MEMORY.md").text
        else:
            assert "Gutenberg" in client.get("memory/printer.md").text
            assert client.search("printer")
