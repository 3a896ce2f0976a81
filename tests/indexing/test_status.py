"""What a status tells: what is out of date, what goes on, and what is wrong with each part."""

import contextlib
import os
import re
import shutil
import sqlite3
import tempfile
from pathlib import Path

import pytest

from commonplace.settings import Settings
from commonplace.system.state import StateFile
from support.fakes import HashedWords, Raising
from support.notes import LINES, Notes, eventually, unprivileged

SQLITE = ["sqlite-vec", "words", "index file", "vector cache", "index folder"]


def deep(notes, embedder=None):
    with notes.open(embedder, LINES) as memory:
        return memory.status(deep=True)


def indexed(notes, embedder=None):
    with notes.open(embedder, LINES) as memory:
        memory.index()
    return notes


def test_a_deep_status_tries_each_part(notes):
    details = deep(indexed(notes, HashedWords()), HashedWords()).details
    with notes.store() as store:
        own = [check.name for check in store.health_checks()]
    assert list(details) == ["embedder", "vectors", *own, "state file"]
    assert all(told.startswith("ok") for told in details.values()), details
    if notes.engine == "sqlite":
        assert own == SQLITE
        assert details["index folder"] == "ok: writable, no process is indexing"


def test_before_the_first_run_nothing_is_wrong(notes):
    status = deep(notes, HashedWords())
    assert not [told for told in status.details.values() if told.startswith("failed")]
    assert any("run 'commonplace index'" in warning for warning in status.warnings)


def test_an_embedder_that_is_down_is_told_with_its_reason(notes):
    details = deep(indexed(notes), Raising()).details
    assert details["embedder"].startswith("failed: ")
    assert "the provider is down" in details["embedder"]


def test_files_that_wait_for_vectors_are_told(notes):
    indexed(notes, HashedWords())
    embedder = Raising()
    notes.write("memory/new.md", "- the heron")
    with notes.open(embedder, LINES) as memory:
        memory.index()
        embedder.broken = False
        told = memory.status(deep=True)
        assert told.details["vectors"].startswith("failed: 1 files wait for their vectors")
        assert "commonplace index" in told.details["vectors"]
        assert [path for path, _ in told.stale] == ["memory/new.md"]
        memory.index()
        assert memory.status(deep=True).details["vectors"].startswith("ok: ")


@pytest.mark.sqlite("the index of FTS5")
def test_words_that_differ_from_the_chunks_are_told(notes):
    indexed(notes)
    with contextlib.closing(sqlite3.connect(notes.index)) as db, db:
        db.execute("INSERT INTO chunks_fts (chunks_fts) VALUES ('delete-all')")
    told = deep(notes).details["words"]
    assert told.startswith("failed: ")
    assert "rebuilt from the Markdown" in told


@pytest.mark.skipif(os.name == "nt", reason="permissions of POSIX")
def test_an_index_that_cannot_be_written_is_told_with_what_to_do():
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        place.chmod(0o755)  # whoever is unprivileged may come in
        indexed(Notes(place)).index.chmod(0o444)
        with unprivileged():
            told = deep(Notes(place, create=False)).details["index folder"]
    assert told.startswith("failed: ")
    assert "COMMONPLACE_STATE_DIR" in told


@pytest.mark.sqlite("the disk of the file")
def test_a_disk_without_room_for_a_rebuild_is_told(notes, monkeypatch):
    indexed(notes)
    usage = shutil.disk_usage(notes.root)._replace(free=1000)
    monkeypatch.setattr("shutil.disk_usage", lambda _: usage)
    assert "make room" in deep(notes).details["index folder"]


def test_who_holds_the_index_is_told(notes):
    with indexed(notes).store() as other, other.lease("run", timeout_s=0):
        status = deep(notes)
    assert status.details["indexing"] == f"now, by process {os.getpid()}"
    if notes.engine == "sqlite":
        assert f"process {os.getpid()} is indexing" in status.details["index folder"]
    with notes.store() as other:
        assert other.lease_holder() is None


def test_a_state_file_is_looked_at(notes):
    assert deep(indexed(notes)).details["state file"] == "ok: there is none yet"
    with StateFile(notes.state).transaction():
        pass
    assert re.fullmatch(r"ok: [0-9.]+ MiB", deep(notes).details["state file"])


@pytest.mark.slow
def test_a_run_in_the_background_that_failed_is_a_warning_while_it_lasts(notes):
    settings = Settings.from_mapping({"sync": {"interval_minutes": 0.0005}})
    indexed(notes)
    with notes.open(None, settings) as memory:
        scan = memory.workspace.scan
        memory.workspace.scan = lambda: 1 // 0
        assert eventually(lambda: "division" in "".join(memory._index.warnings))
        memory.workspace.scan = scan
        assert eventually(lambda: not memory._index.warnings)
        assert memory.status().stale == ()
