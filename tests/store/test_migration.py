"""An index migrated to another engine is the same index, and nothing was embedded for it."""

from __future__ import annotations

import contextlib
import itertools
import os
import sqlite3
import sys

import pytest
from click.testing import CliRunner

from commonplace.cli.app import app
from commonplace.errors import IndexBusyError, StoreError
from commonplace.memory import Memory
from commonplace.settings import Settings, SyncSettings
from commonplace.store.migration import migrate
from commonplace.store.registry import open_store
from store.samples import IDENTITY
from support import postgres
from support.fakes import HashedWords

SETTINGS = Settings(sync=SyncSettings(on_open=False, on_search=False))
QUESTIONS = ("the VPN port", "who likes tea", "Gutenberg", "what happened on 2026-11-21", "öäü")


@pytest.fixture
def notes(tmp_path):
    folder = tmp_path / "notes"
    (folder / "memory").mkdir(parents=True)
    (folder / "MEMORY.md").write_text("# Net\n- The VPN listens on port 51820.\n- Öl \0 öäü\n")
    (folder / "memory/empty.md").write_text("")
    for day in range(10, 30):
        lines = "".join(f"- x{day}y{n}: Ann likes tea, the printer Gutenberg.\n" for n in range(40))
        (folder / f"memory/2026-11-{day}.md").write_text(f"# Day {day}\n{lines}")
    (folder / "memory/tagged.md").write_text("---\ntags: [a, b]\nexpires: 2031-01-01\n---\n- x\n")
    for path in folder.rglob("*.md"):
        os.utime(path, (10**9, 10**9))  # what is older than the index is not read again
    return folder


def place(kind, folder, name):
    return postgres.url_of(folder, name) if kind == "server" else folder / name


def opened(notes, index):
    return Memory.open(notes, index=index, embedder=HashedWords(), settings=SETTINGS)


def indexed(notes, index):
    with opened(notes, index) as memory:
        memory.index()
        # Chunks that were moved and replaced in part.
        path = notes / "memory/2026-11-15.md"
        path.write_text(path.read_text().replace("x15y20: Ann", "x15y20: Bob\n- and Ann"))
        memory.index()


def answers(notes, index):
    """What a memory answers, and how many texts it embeds for an index run."""
    with opened(notes, index) as memory:
        report = memory.index()
        found = [[(it.citation, it.snippet) for it in memory.search(text)] for text in QUESTIONS]
    return report.embedded, (report.added, report.updated, report.removed), found


@pytest.mark.slow
@pytest.mark.parametrize(
    ("first", "second"),
    [
        pytest.param("file", "server", marks=pytest.mark.slow),
        ("file", "file"),
    ],
)
def test_an_index_goes_to_another_engine_and_back_and_nothing_is_embedded(
    notes, tmp_path, first, second
):
    here, there = place(first, tmp_path, "here.sqlite"), place(second, tmp_path, "there.sqlite")
    indexed(notes, here)
    before = answers(notes, here)
    assert before[:2] == (0, (0, 0, 0))
    report = migrate(here, there)
    assert report.vectors == report.chunks == report.copied > 20
    assert answers(notes, there) == before
    back = migrate(there, place(first, tmp_path, "back.sqlite"))
    assert (back.files, back.chunks) == (report.files, report.chunks)
    assert answers(notes, place(first, tmp_path, "back.sqlite")) == before
    assert answers(notes, here) == before  # the source is as it was


class Interrupted(BaseException):
    pass


def interrupting(after):
    calls = itertools.count(1)

    def progress(done, total, path):
        if next(calls) == after:
            raise Interrupted

    return progress


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["file", pytest.param("server", marks=pytest.mark.slow)])
def test_what_was_interrupted_goes_on_where_it_ended(notes, tmp_path, kind, monkeypatch):
    monkeypatch.setattr("commonplace.store.migration._WRITE_CHUNKS", 4)
    here, there = place("file", tmp_path, "here"), place(kind, tmp_path, "there")
    indexed(notes, here)
    for after in (10, 30):  # while it copies, and while it compares
        with pytest.raises(Interrupted):
            migrate(here, there, progress=interrupting(after))
        with contextlib.closing(open_store(there)) as store:
            assert store.identity is None  # nothing of it answers
    (notes / "memory/2026-11-12.md").unlink()
    (notes / "MEMORY.md").write_text("# Net\n- The VPN listens on port 1194.\n")
    with opened(notes, here) as memory:
        memory.index()
    report = migrate(here, there)
    assert 0 < report.copied < 4
    assert answers(notes, there) == answers(notes, here)


def said_by(*arguments, **options):
    with pytest.raises(StoreError) as caught:
        migrate(*arguments, **options)
    assert "\n" not in str(caught.value)
    return str(caught.value)


def test_what_cannot_be_migrated_is_one_line_and_changes_nothing(notes, tmp_path):
    here, there = tmp_path / "here.sqlite", tmp_path / "there.sqlite"
    assert "there is no index" in said_by(here, there)
    assert not here.exists()
    indexed(notes, here)
    assert "to itself" in said_by(here, here)
    assert "gone with its process" in said_by(here, "memory://")
    with Memory.open(notes, index=there, embedder=None, settings=SETTINGS) as other:
        other.index()
    said = said_by(here, there)
    assert "holds an index" in said
    assert "--replace" in said
    odd = tmp_path / "odd.sqlite"
    with contextlib.closing(open_store(odd)) as store:
        store.set_identity(IDENTITY)
    assert "model 'letters' (here 'hashed-words')" in said_by(here, odd)
    assert "was never completed" in said_by(odd, tmp_path / "new.sqlite")
    migrate(here, there, replace=True)
    assert answers(notes, there) == answers(notes, here)


_DAY = "UPDATE chunk_places SET day = 7 WHERE seq = 7"
_SUM = (
    "UPDATE chunk_places SET place_checksum = place_checksum + (8 - ifnull(day + 1, 0)) * 32452843"
)
DIFFERENCES = {
    "another day": (f"{_SUM} WHERE seq = 7; {_DAY}", "differs from its source"),
    "damage": (_DAY, "is not as it was written"),
}


@pytest.mark.parametrize(("change", "why"), DIFFERENCES.values(), ids=DIFFERENCES)
def test_a_copy_that_differs_is_not_put_in_place(notes, tmp_path, change, why):
    here, there = tmp_path / "here.sqlite", tmp_path / "there.sqlite"
    indexed(notes, here)
    with pytest.raises(Interrupted):
        migrate(here, there, progress=interrupting(30))  # while it compares
    with contextlib.closing(sqlite3.connect(f"{there}.rebuild")) as shadow:
        shadow.executescript(change)
    assert why in said_by(here, there)
    with contextlib.closing(open_store(there)) as store:
        assert store.identity is None
    assert migrate(here, there).copied > 20  # from the beginning


def test_an_engine_without_its_extra_names_the_command(notes, tmp_path, monkeypatch):
    indexed(notes, tmp_path / "here.sqlite")
    monkeypatch.setitem(sys.modules, "psycopg", None)
    said = said_by(tmp_path / "here.sqlite", "postgresql://ann:s3cret@db/notes")
    assert "pip install 'commonplace[postgres]'" in said
    assert "s3cret" not in said
    assert "no index engine is called 'mysql'" in said_by(tmp_path / "here.sqlite", "mysql://db/x")


def test_a_target_that_is_being_written_is_waited_for_and_then_named(notes, tmp_path, monkeypatch):
    monkeypatch.setattr("commonplace.store.migration._LEASE_S", 0.1)
    here, there = tmp_path / "here.sqlite", tmp_path / "there.sqlite"
    indexed(notes, here)
    with (
        contextlib.closing(open_store(there)) as store,
        store.lease("run", timeout_s=1),
        pytest.raises(IndexBusyError, match="has held the index"),
    ):
        migrate(here, there)


@pytest.mark.slow
def test_a_target_of_a_newer_version_is_left_alone(notes, tmp_path):
    here, there = tmp_path / "here.sqlite", postgres.url_of(tmp_path)
    indexed(notes, here)
    with contextlib.closing(open_store(there)) as store:
        assert store.identity is None
        with store.database.borrowed() as connection:
            meta = f'"{store.database.address.schema}".meta'
            connection.execute(f"UPDATE {meta} SET value = 99 WHERE key = 'version'")
    assert "newer version" in said_by(here, there)


def test_the_command_migrates_the_workspace_s_own_index_and_back(notes, tmp_path):
    def run(*arguments):
        return CliRunner().invoke(app, ["-w", str(notes), *arguments])

    there = str(tmp_path / "there.sqlite")
    assert run("index").exit_code == 0
    done = run("migrate", "--to", there)
    assert done.exit_code == 0, done.output
    assert "nothing was embedded" in done.stdout
    assert "holds an index" in run("migrate", "--from", there).stderr
    assert run("migrate", "--from", there, "--replace").exit_code == 0
    assert run("migrate").exit_code == 2


@pytest.mark.slow
def test_changes_that_only_a_database_has_are_not_left_behind(notes, tmp_path):
    url, there = postgres.url_of(tmp_path), tmp_path / "there.sqlite"
    indexed(notes, url)
    with Memory.connect(url, embedder=HashedWords(), settings=SETTINGS) as connected:
        connected.append("- Written by a host without the folder.")
    assert "1 changes of hosts without the folder wait" in said_by(url, there)
    with contextlib.closing(open_store(there)) as store:
        assert store.identity is None
    with opened(notes, url) as memory:
        memory.index()
    assert migrate(url, there).chunks > 20
    with opened(notes, there) as memory:
        assert "without the folder" in memory.search("host without the folder")[0].snippet


@pytest.mark.slow
def test_hosts_without_the_folder_read_what_was_migrated_after_one_run(notes, tmp_path):
    here, url = tmp_path / "here.sqlite", postgres.url_of(tmp_path)
    indexed(notes, here)
    migrate(here, url)
    assert answers(notes, url)[0] == 0  # its run publishes the notes, and embeds nothing
    with Memory.connect(url, embedder=HashedWords(), settings=SETTINGS) as connected:
        assert "51820" in connected.get("MEMORY.md").text
        assert "51820" in connected.search("VPN port")[0].snippet
