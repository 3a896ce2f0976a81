"""What happens to the index file, and to the disks around it."""

import contextlib
import logging
import random
import shutil
import sqlite3
import subprocess
import sys
import tempfile
from datetime import date
from pathlib import Path

import pytest

from commonplace.errors import CommonplaceError, StoreError, WorkspaceReadOnlyError
from commonplace.indexing.runner import IndexRunner
from support.fakes import HashedWords
from support.notes import LINES, Notes, find, paths, unprivileged
from support.sampling import sampled

posix = pytest.mark.skipif(sys.platform == "win32", reason="open files are moved")


@pytest.fixture
def notes(tmp_path):
    notes = Notes(tmp_path)
    for number in range(100):
        notes.write(f"memory/{number}.md", f"- note {number} on the subject of {number * 7}\n" * 20)
    return notes


def markdown(notes):
    return {path: path.read_bytes() for path in sorted(notes.root.rglob("*")) if path.is_file()}


def overwrite(data):
    return lambda index: index.write_bytes(data)


def truncate(index):
    with index.open("r+b") as file:
        file.truncate(index.stat().st_size // 2)


def garble(index):
    chance = random.Random(3)
    data = bytearray(index.read_bytes())
    for at in range(4096 * 2, len(data), 4096):
        data[at : at + 200] = chance.randbytes(200)
    index.write_bytes(data)


DAMAGES = {
    "text": overwrite(b"this is no database\n" * 1000),
    "empty header": overwrite(b"\0" * 8192),
    "truncated": truncate,
    "garbled": garble,
}
DAMAGED = pytest.mark.parametrize("damage", DAMAGES.values(), ids=DAMAGES)


@pytest.mark.slow
@DAMAGED
@pytest.mark.parametrize("first", sampled(["search", "index", "status", "append"], every=2))
def test_a_damaged_index_is_moved_aside_and_rebuilt_with_one_warning(notes, caplog, damage, first):
    embedder = HashedWords()
    with notes.open(embedder, LINES) as memory:
        memory.index()
        before = notes.rows()
    with contextlib.closing(sqlite3.connect(notes.index)) as db:
        db.execute("PRAGMA journal_mode = delete")
    files = markdown(notes)
    damage(notes.index)
    with notes.open(embedder, LINES) as memory, caplog.at_level(logging.WARNING):
        if first == "append":
            memory.append("- appended to a damaged index")
        elif first != "search":
            getattr(memory, first)()
        assert "memory/42.md" in paths(find(memory, "note 42"))
        if first != "append":
            memory.index()
            assert notes.rows() == before
            assert markdown(notes) == files
        warnings = memory.status().warnings
        assert len([w for w in warnings if "was damaged and is rebuilt" in w]) == 1
        assert len([r for r in caplog.records if "was damaged" in r.message]) == 1
        assert warnings[0] in memory.search("note").warnings
    assert len(list(notes.index.parent.glob("index.sqlite.damaged-*"))) >= 1


COLUMNS = {
    "a bit of a text": "UPDATE chunk_texts SET text = replace(text, 'note 42', 'note 43')",
    "cut units": "UPDATE chunk_texts SET units = substr(units, 1, 7)",
    "units out of the text": "UPDATE chunk_texts SET units = zeroblob(3) || x'7f' || zeroblob(8)",
    "other lines": "UPDATE chunk_texts SET lines = zeroblob(length(lines))",
    "another heading": "UPDATE chunk_places SET heading = heading || '!'",
    "other lines of its file": "UPDATE chunk_places SET start_line = start_line + 4",
    "another file": "UPDATE chunk_places SET path = 'memory/b.md'",
    "another hash": "UPDATE chunk_places SET hash = 'f' || substr(hash, 2)",
    "another id": "UPDATE chunk_places SET id = 'x' || id",
    "another place in its file": "UPDATE chunk_places SET ordinal = ordinal + 64",
    "cut vectors": "UPDATE vectors SET embedding = substr(embedding, 1, 7)",
    "another sum of vectors": "UPDATE line_sum SET total = zeroblob(length(total))",
    "another count of lines": "UPDATE line_sum SET n = n + 1",
    "other vectors": "UPDATE vectors SET embedding = zeroblob(length(embedding))",
    "another source": "UPDATE vectors SET source = 'memoru'",
    "sqlite-vec's": "UPDATE chunks_vec_vector_chunks00 SET vectors = zeroblob(length(vectors))",
    "sqlite-vec's seqs": "UPDATE chunks_vec_chunks SET rowids = zeroblob(length(rowids))",
}


@pytest.mark.parametrize("damage", COLUMNS.values(), ids=COLUMNS)
def test_a_row_that_is_not_as_it_was_written_is_noticed_and_the_index_rebuilt(tmp_path, damage):
    notes, embedder = Notes(tmp_path), HashedWords()
    notes.write("memory/a.md", "# Subjects\n\n- note 42 on the heron\n- note 7 on the owl\n")
    with notes.open(embedder, LINES) as memory:
        memory.index()
        find(memory, "a process's first scan of the vectors is sqlite-vec's")
        before, rows = find(memory, "note on the heron"), notes.rows()
    with contextlib.closing(sqlite3.connect(notes.index)) as db, db:
        db.execute(damage)
    with notes.open(embedder, LINES) as memory:
        find(memory, "a process's first scan of the vectors is sqlite-vec's")
        assert find(memory, "note on the heron") == before
        assert len([w for w in memory.status().warnings if "was damaged and is rebuilt" in w]) == 1
    assert notes.rows() == rows


def test_a_move_of_chunks_does_not_hide_that_a_place_is_damaged(tmp_path):
    notes, embedder = Notes(tmp_path), HashedWords()
    parts = [f"## Day {n}\n\n{'- the heron sat on an owl ' * 40}{n}\n\n" for n in range(60)]
    notes.write("memory/long.md", "".join(parts))
    with notes.open(embedder, LINES) as memory:
        memory.index()
        more = "## More\n\n- a sentence more on kilns\n\n" * 40
        notes.write("memory/long.md", "".join([*parts[:9], more, *parts[9:]]))
        memory.index()
        assert memory.verify().ok, "chunks moved with their checksums"
        last = "WHERE seq = (SELECT seq FROM chunk_places ORDER BY ordinal DESC LIMIT 1)"
        with contextlib.closing(sqlite3.connect(notes.index)) as db, db:
            ((seq,),) = db.execute(f"SELECT seq FROM chunk_places {last}")
            db.execute(f"UPDATE chunk_places SET id = 'x' || id {last}")
        notes.write("memory/long.md", "".join([*parts[:9], more, more, *parts[9:]]))
        memory.index()
        with contextlib.closing(sqlite3.connect(notes.index)) as db:
            assert db.execute(f"SELECT seq FROM chunk_places {last}").fetchone() == (seq,), "moved"
        assert "the place of chunk" in str(memory.verify().problems)
        assert memory.verify(repair=True).ok


def test_a_damaged_vector_of_the_cache_is_made_again(tmp_path):
    notes, embedder = Notes(tmp_path), HashedWords()
    notes.write("memory/a.md", "# Birds\n\n- the heron stands in the reeds\n")
    with notes.open(embedder, LINES) as memory:
        memory.index()
        before = find(memory, "heron in the reeds")
        notes.write("memory/a.md", "# Birds\n\n- the owl sleeps\n")
        memory.index()
        with contextlib.closing(sqlite3.connect(notes.index)) as db, db:
            sql = "UPDATE embedding_cache SET embedding = zeroblob(length(embedding))"
            assert db.execute(sql).rowcount
        assert "cached vector" in str(memory.verify().problems)
        notes.write("memory/a.md", "# Birds\n\n- the heron stands in the reeds\n")
        made = len(embedder.texts)
        memory.index()
        assert len(embedder.texts) > made
        assert find(memory, "heron in the reeds") == before
        assert memory.verify(repair=True).ok


def test_a_damaged_vector_of_the_cache_alone_is_dropped(tmp_path):
    notes, embedder = Notes(tmp_path), HashedWords()
    with notes.open(embedder, LINES) as memory:
        for bird in ("owl", "heron", "ibis"):
            notes.write("memory/a.md", f"# Birds\n\n- the {bird} stands in the reeds\n")
            memory.index()

    def execute(sql):
        with contextlib.closing(sqlite3.connect(notes.index)) as db, db:
            return db.execute(sql).fetchall()

    one = "WHERE rowid = (SELECT min(rowid) FROM embedding_cache)"
    ((count,),) = execute("SELECT count(*) FROM embedding_cache")
    execute(f"UPDATE embedding_cache SET embedding = 7 {one}")
    with notes.open(embedder, LINES) as memory:
        found = memory.verify()
        assert "1 cached vectors are not as they were written" in str(found.problems)
        mended = memory.verify(repair=True)
        assert (mended.ok, mended.repaired) == (True, found.problems)
    assert [*notes.index.parent.glob("*.damaged-*")] == [], "nothing was rebuilt"
    assert execute("SELECT count(*) FROM embedding_cache") == [(count - 1,)]
    execute(f"UPDATE embedding_cache SET checksum = checksum + 1 {one}")
    with notes.open(embedder, LINES) as memory:
        memory.index(force=True)
        assert memory.verify().ok, "damage is not carried over"


@posix
@pytest.mark.parametrize("damage", [truncate, garble], ids=["truncated", "garbled"])
def test_an_index_that_is_damaged_while_it_is_open_is_rebuilt(notes, damage):
    with notes.open(HashedWords(), LINES) as memory, notes.open(HashedWords(), LINES) as other:
        memory.index()
        find(memory, "note 42")
        find(other, "note 42")
        for side in ("-wal", "-shm"):
            Path(f"{notes.index}{side}").unlink(missing_ok=True)
        damage(notes.index)
        for user in (memory, other):
            user.index()
            assert "memory/42.md" in paths(find(user, "note 42"))
            user.append("- a note by another of the two")
            assert user.status(deep=True).details["index file"].startswith("ok")


@posix
def test_an_index_that_is_deleted_while_it_is_open_is_made_again(notes):
    with notes.open() as memory, notes.open() as other:
        assert find(memory, "note 42")
        assert find(other, "note 42")
        for file in notes.index.parent.glob("index.sqlite*"):
            file.unlink()
        memory.append("- the heron is back")
        assert "memory/2026-11-20.md" in paths(find(memory, "heron"))
        assert "memory/2026-11-20.md" in paths(find(other, "heron"))
        other.append("- the kingfisher, too")
        assert "memory/2026-11-20.md" in paths(find(memory, "kingfisher"))


def test_what_a_killed_rebuild_left_is_used_or_cleared_away(notes):
    embedder = HashedWords()
    with notes.open(embedder) as memory:
        memory.index()
    beside = notes.index.with_name("index.sqlite.rebuild")
    other = HashedWords(32, model_id="other")
    with notes.open(other, index=beside) as memory:
        memory.index()
    other.texts.clear()
    with notes.open(other) as memory:  # the other model's rebuild was done but for its last step
        report = memory.index()
        assert (report.updated, report.added, report.embedded) == (102, 0, 0)
        assert memory.search("note").mode == "hybrid"
    assert not beside.exists()
    for left in (b"garbage" * 1000, b""):
        beside.write_bytes(left)
        with notes.open(embedder) as memory:
            assert memory.index(force=True).failed == ()
            assert memory.search("note").mode == "hybrid"
        assert not beside.exists()


# Disks that cannot be written. Root may do anything: it takes the identity of another user.


@pytest.fixture
def foreign(monkeypatch):
    """Notes of an unprivileged user."""
    folder = Path(tempfile.mkdtemp(dir="/tmp")).resolve()
    folder.chmod(0o777)
    with unprivileged():
        (folder / "state").mkdir()
        notes = Notes(folder)
        notes.index = folder / "state" / "index.sqlite"
        yield notes
    for path in folder.rglob("*"):
        path.chmod(0o777)
    shutil.rmtree(folder)


@posix
@pytest.mark.parametrize("file_too", [False, True])
def test_searches_answer_from_an_index_that_cannot_be_written(foreign, file_too):
    with foreign.open(HashedWords(), LINES) as memory:
        memory.index()
    if file_too:
        foreign.index.chmod(0o400)
    foreign.index.parent.chmod(0o500)
    with foreign.open(HashedWords(), LINES) as memory:
        assert find(memory, "Gutenberg")
        with pytest.raises(StoreError, match="COMMONPLACE_STATE_DIR"):
            memory.index()
        memory.append("- the note is written all the same")
        assert find(memory, "Gutenberg")
        assert any("cannot be written" in warning for warning in memory.status().warnings)
        assert memory.status().stale


@posix
def test_notes_that_cannot_be_read_are_not_read_again_by_each_search(foreign, monkeypatch):
    files = [*foreign.root.rglob("*.md")]
    for file in files:
        file.chmod(0)
    run, runs = IndexRunner.run, []
    monkeypatch.setattr(
        IndexRunner, "run", lambda *args, **options: (runs.append(1), run(*args, **options))[1]
    )
    with foreign.open(HashedWords(), LINES) as memory:
        for _ in range(3):
            assert find(memory, "Gutenberg") == []
        assert len(runs) <= 2
        for file in files:
            file.chmod(0o600)
        assert find(memory, "Gutenberg")


@posix
def test_a_search_answers_beside_a_history_of_earlier_tables_that_cannot_be_written(
    foreign, caplog
):
    with foreign.open(HashedWords(), LINES) as memory:
        memory.index()
        before = find(memory, "Gutenberg")
    (history,) = foreign.index.parent.rglob("history.sqlite")
    with contextlib.closing(sqlite3.connect(history)) as db, db:
        triggers = db.execute("SELECT name FROM sqlite_schema WHERE type = 'trigger'").fetchall()
        for (name,) in triggers:
            db.execute(f"DROP TRIGGER {name}")
        for table in ("note_sum", "ledger_sum", "applied", "published"):
            db.execute(f"DROP TABLE {table}")
        db.execute("PRAGMA user_version = 3")
    for path in (history, history.parent):
        path.chmod(path.stat().st_mode & 0o500)
    with foreign.open(HashedWords(), LINES) as memory:
        assert [hit.citation for hit in find(memory, "Gutenberg")] == [
            hit.citation for hit in before
        ]
        assert all(hit.untrusted for hit in find(memory, "Gutenberg"))
    said = [each for each in caplog.records if "where lines of notes come from" in each.message]
    assert len(said) == 1
    assert "another version" in said[0].message


@posix
def test_a_state_folder_without_an_index_that_cannot_be_written_is_told(foreign):
    foreign.index.parent.chmod(0o500)
    with foreign.open() as memory:
        for call in (memory.index, memory.status, lambda: memory.search("x")):
            with pytest.raises(StoreError, match="COMMONPLACE_STATE_DIR"):
                call()
        assert memory.append("- the note is written all the same")


@posix
def test_a_workspace_that_cannot_be_written_is_indexed_and_searched(foreign):
    (foreign.root / "memory").chmod(0o500)
    foreign.root.chmod(0o500)
    with foreign.open() as memory:
        assert find(memory, "Gutenberg")
        with pytest.raises(WorkspaceReadOnlyError, match="Nothing was changed"):
            memory.append("- a note", when=date(2027, 1, 1))


@posix
def test_rows_of_a_folder_that_cannot_be_read_stay(foreign):
    foreign.write("memory/locked/a.md", "- the kingfisher\n")
    with foreign.open() as memory:
        memory.index()
        (foreign.root / "memory" / "locked").chmod(0)
        report = memory.index()
        assert report.failed == (("memory/locked", "Permission denied"),)
        assert report.removed == 0
        assert paths(find(memory, "kingfisher")) == ["memory/locked/a.md"]
        assert any("memory/locked could not" in w for w in memory.status().warnings)
        assert memory.status().stale == ()
        for repair in (False, True):  # none of them is called gone
            report = memory.verify(repair=repair)
            assert report.problems == (("memory/locked", "Permission denied"),)
            assert paths(find(memory, "kingfisher")) == ["memory/locked/a.md"]


@pytest.mark.slow
@pytest.mark.processes
@pytest.mark.skipif(sys.platform != "linux", reason="mounts a small disk")
def test_a_full_disk_under_the_index_is_told_and_what_was_there_is_found(notes, tmp_path):
    disk = tmp_path / "disk"
    disk.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=8m", "tmpfs", str(disk)]
    if not shutil.which("mount") or subprocess.run(mount, capture_output=True).returncode:
        pytest.skip("a disk cannot be mounted here")
    try:
        (disk / "ballast").write_bytes(bytes(3 * 2**20))
        with notes.open(index=disk / "index.sqlite") as memory:
            memory.index()
            files = markdown(notes)
            for number in range(100):
                notes.write(f"memory/big-{number}.md", f"- big {number} " * 9000)
            with pytest.raises(StoreError, match=r"full|disk"):
                memory.index()
            assert paths(find(memory, "Gutenberg")) == ["MEMORY.md"]
            memory.append("- a note for a full disk")
            assert {path: markdown(notes)[path] for path in files if "2026" not in path.name} == {
                path: data for path, data in files.items() if "2026" not in path.name
            }
            for number in range(100):
                (notes.root / "memory" / f"big-{number}.md").unlink()
            (disk / "ballast").unlink()
            memory.index()
            assert paths(find(memory, "full disk")) == ["memory/2026-11-20.md"]
    finally:
        subprocess.run(["umount", str(disk)], check=True)


def test_every_error_is_one_line(notes, tmp_path):
    with notes.open(index=tmp_path) as memory, pytest.raises(CommonplaceError) as caught:
        memory.index()
    assert "\n" not in str(caught.value)


def test_damage_that_only_sqlite_vec_meets_is_mended(notes):
    apsw = pytest.importorskip("apsw")
    with notes.open(HashedWords(), LINES) as memory:
        memory.index()
    sql = "SELECT rootpage FROM sqlite_schema WHERE name = 'chunks_vec_vector_chunks00'"
    with contextlib.closing(apsw.Connection(str(notes.index))) as connection:
        connection.pragma("wal_checkpoint", "truncate")
        page, size = connection.execute(sql).get, connection.pragma("page_size")
    with notes.index.open("r+b") as file:
        file.seek((page - 1) * size)
        file.write(random.Random(1).randbytes(size))
    for expected in (1, 0):
        with notes.open(HashedWords(), LINES) as memory:
            hits = find(memory, "note 7 subject")
            assert hits.mode == "hybrid"
            assert len(hits.warnings) == expected


def test_a_note_is_not_written_where_the_workspace_was(notes):
    with notes.open() as memory:
        memory.index()
        away = notes.root.with_name("away")
        notes.root.rename(away)
        with pytest.raises(CommonplaceError, match="is gone"):
            memory.append("- a note")
        with pytest.raises(CommonplaceError, match="is gone"):
            memory.write_session_note([{"role": "user", "content": "hello"}])
        assert not notes.root.exists()
        away.rename(notes.root)
        assert memory.index().removed == 0
