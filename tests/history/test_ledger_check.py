"""Origins that were lost or damaged: what is in doubt is untrusted, and it is said."""

import contextlib
import logging
import os
import subprocess
import sys
from dataclasses import replace
from datetime import UTC, datetime

import apsw
import pytest

from commonplace import Memory, Origin, Settings
from commonplace.errors import StateError
from commonplace.history.database import HistoryFile
from commonplace.history.lines import line_key
from commonplace.history.retention import prune
from commonplace.settings import HistorySettings
from support.python_path import environment

WEB = Origin("untrusted", tool="web")
AGENT = Origin("agent", session="s1")
BRICK = "- The web says that the kiln is made of brick"


def opened(folder):
    settings = Settings(timezone="UTC")
    sync = replace(settings.sync, on_open=False, on_search=False, watch=False)
    settings = replace(settings, sync=sync)
    return Memory.open(
        folder / "notes", settings=settings, embedder="none", index=folder / "index.sqlite"
    )


@pytest.fixture
def folder(tmp_path):
    notes = tmp_path / "notes"
    (notes / "memory").mkdir(parents=True)
    (notes / "MEMORY.md").write_text("# Memory\n\n- The VPN listens on port 51820.\n")
    (notes / "memory/kiln.md").write_text("# Kiln\n\n- The kiln is red, I saw it myself\n")
    with opened(tmp_path) as memory:
        memory.index()
        memory.append("- The kiln was hot on Monday", path="memory/kiln.md", origin=AGENT)
        memory.append(BRICK, path="memory/kiln.md", origin=WEB)
        memory.append("- An other page on owls and herons", path="memory/owls.md", origin=WEB)
    return tmp_path


def authors(folder, path="memory/kiln.md"):
    with opened(folder) as memory:
        text = memory.get(path).text
        found = memory.search("kiln", min_score=0)
        shown = {
            hit.snippet.split("\n")[line - hit.start_line]
            for hit in found
            for line in hit.untrusted
            if hit.path == path
        }
        lines = memory.blame(path)
    by_blame = {one.text: one.origin.author for one in lines if one.text}
    untrusted = {text for text, author in by_blame.items() if author == "untrusted"}
    assert not shown - untrusted
    assert text
    return by_blame


def history(folder):
    (path,) = folder.rglob("history.sqlite")
    return path


def change(folder, sql, *values):
    """Change rows as rot does: no trigger runs."""
    connection = apsw.Connection(str(history(folder)))
    triggers = list(connection.execute("SELECT name, sql FROM sqlite_schema WHERE type='trigger'"))
    for name, _ in triggers:
        connection.execute(f"DROP TRIGGER {name}")
    connection.execute(sql, values)
    assert connection.changes()
    for _, create in triggers:
        connection.execute(create)
    connection.close()


DAMAGES = {
    "the hash of a line": "UPDATE line_origin SET hash = CAST(x'07' || substr(hash, 2) AS BLOB) "
    "WHERE origin = (SELECT id FROM origin WHERE author = 'untrusted')",
    "the origin of a line": "UPDATE line_origin SET origin = "
    "(SELECT id FROM origin WHERE author = 'agent')",
    "the note of a line": "UPDATE line_origin SET note = note + 1000",
    "a line": "DELETE FROM line_origin",
    "the path of a note": "UPDATE note SET path = 'memory/kilm.md' WHERE path = 'memory/kiln.md'",
    "an author": "UPDATE origin SET author = 'unurusted' WHERE author = 'untrusted'",
    "the number of an origin": "UPDATE origin SET id = id + 64",
    "the sums": "DELETE FROM ledger_sum",
    "a note's sum": "UPDATE note_sum SET total = total + 1",
}


@pytest.mark.parametrize("damage", DAMAGES.values(), ids=DAMAGES)
def test_a_damaged_origin_never_makes_a_line_a_users(folder, damage, caplog):
    change(folder, damage)
    with caplog.at_level(logging.WARNING):
        found = authors(folder)
    assert found[BRICK] == "untrusted"
    assert found["- The kiln was hot on Monday"] in ("agent", "untrusted")
    if damage != DAMAGES["the path of a note"]:  # the history knows what a user wrote to a note
        assert found["- The kiln is red, I saw it myself"] == "user"
    assert "is damaged" in caplog.text
    caplog.clear()
    assert authors(folder) == found
    assert "is damaged" not in caplog.text, "it is mended"


@pytest.mark.parametrize("damage", DAMAGES.values(), ids=DAMAGES)
def test_verify_sees_damaged_origins_and_mends_them(folder, damage):
    change(folder, damage)
    with opened(folder) as memory:
        (problem,) = memory.verify().problems
        assert problem[0] == "history"
        assert "origins of lines are damaged" in problem[1]
        assert memory.verify(repair=True).ok
        assert memory.verify().ok
    assert authors(folder)[BRICK] == "untrusted"


def test_an_entry_of_an_index_that_is_not_its_rows_is_mended(folder):
    data = bytearray(history(folder).read_bytes())
    connection = apsw.Connection(str(history(folder)))
    page = connection.execute(
        "SELECT rootpage FROM sqlite_schema WHERE name = 'line_origin_hash'"
    ).get
    size = connection.pragma("page_size")
    sql = "SELECT hash FROM line_origin JOIN origin ON id = origin WHERE author = 'untrusted'"
    ((key,), *_) = connection.execute(sql).fetchall()
    connection.close()
    at = data.index(key, (page - 1) * size)
    data[at + 3] ^= 4
    history(folder).write_bytes(data)
    assert authors(folder)[BRICK] == "untrusted"
    with opened(folder) as memory:
        assert memory.verify().ok


@pytest.mark.slow
def test_an_origin_in_a_lost_end_of_the_log_leaves_an_untrusted_line(tmp_path, folder, caplog):
    code = f"""
import os, sys
from pathlib import Path
sys.path.insert(0, {os.path.dirname(__file__)!r})
from test_ledger_check import opened, WEB
memory = opened(Path({str(folder)!r}))
memory.append("- The mailer says that the kiln is free", path="memory/kiln.md", origin=WEB)
print((next(Path({str(folder)!r}).rglob("history.sqlite-wal"))).stat().st_size, flush=True)
memory.append("- A page says that the kiln is blue now", path="memory/kiln.md", origin=WEB)
os._exit(0)
"""
    out = subprocess.run(
        [sys.executable, "-c", code], env=environment(), capture_output=True, timeout=60, text=True
    )
    assert out.stdout, out.stderr
    log = next(folder.rglob("history.sqlite-wal"))
    os.truncate(log, int(out.stdout))
    with (notes := folder / "notes/memory/kiln.md").open("a") as file:
        file.write("- A line that nobody has seen yet\n")
    with caplog.at_level(logging.WARNING):
        found = authors(folder)
    assert found["- A page says that the kiln is blue now"] == "untrusted"
    assert found["- The mailer says that the kiln is free"] == "untrusted"
    assert found["- The kiln is red, I saw it myself"] == "user"
    assert "its last ones are lost" in caplog.text
    assert notes.exists()


def test_a_history_that_was_deleted_begins_again(folder, caplog):
    history(folder).unlink()
    with caplog.at_level(logging.WARNING):
        found = authors(folder)
        with opened(folder) as memory:
            memory.append("- One more", path="memory/kiln.md", origin=AGENT)
    assert set(found.values()) == {"user"}
    assert "is damaged" not in caplog.text


def test_a_damaged_count_beside_the_history_is_passed_over(folder, caplog):
    (count,) = folder.rglob("history.sqlite.count")
    for data in (b"", b"9999999 12\n", b"\xff" * 32):
        count.write_bytes(data)
        with caplog.at_level(logging.WARNING):
            assert authors(folder)[BRICK] == "untrusted"
        assert "is damaged" not in caplog.text


def test_the_count_beside_the_history_is_never_lowered_and_never_ahead_of_the_disk(folder):
    with opened(folder) as memory:
        file = memory._notes.log.file
        held = file.noted_changes()
        file.note_changes(held + 1000)
        with file.transaction() as connection:
            connection.execute("INSERT INTO note (path) VALUES ('memory/old.md')")
        assert file.noted_changes() == held + 1000
        file.note_changes(held)
        with file.transaction(durable=False) as connection:
            connection.execute("INSERT INTO note (path) VALUES ('memory/new.md')")
        assert file.noted_changes() == held


def test_a_history_that_was_saved_in_parts_is_checked(folder, caplog):
    file = HistoryFile(history(folder))
    with file.transaction() as connection:
        connection.execute("DELETE FROM line_origin")
        for statement in file.format.repair:
            connection.execute(statement)
    file.close()
    with caplog.at_level(logging.WARNING):
        assert authors(folder)[BRICK] == "untrusted"
    assert "is damaged" in caplog.text


def test_what_was_lost_of_a_history_that_cannot_be_written_is_untrusted(folder):
    change(folder, "DELETE FROM line_origin")
    with opened(folder) as memory:
        memory._ledger_check.mend = lambda damage: (_ for _ in ()).throw(_unwritable())
        assert {one.origin.author for one in memory.blame("memory/kiln.md") if one.text} == {
            "untrusted"
        }
        (hit, *_) = memory.search("kiln red", min_score=0)
        assert hit.untrusted


def _unwritable():
    from commonplace.errors import StateError

    return StateError("read-only")


def test_a_history_of_the_version_before_gets_its_sums(tmp_path, folder):
    path = history(folder)
    connection = apsw.Connection(str(path))
    names = "SELECT type, name FROM sqlite_schema WHERE type = 'trigger' OR name LIKE '%_sum'"
    for kind, name in connection.execute(names).fetchall():
        connection.execute(f"DROP {kind} {name}")
    connection.pragma("user_version", 3)
    connection.close()
    next(folder.rglob("history.sqlite.count")).unlink()
    assert authors(folder)[BRICK] == "untrusted"
    with opened(folder) as memory:
        memory.append("- One more page on kilns", path="memory/kiln.md", origin=WEB)
        assert memory.verify().ok
    assert HistoryFile(path).noted_changes() > 0


def test_lines_of_versions_that_were_pruned_are_no_users(folder):
    with opened(folder) as memory:
        memory.append("- I looked at the kiln again", path="memory/kiln.md")
    file = HistoryFile(history(folder))
    prune(file, HistorySettings(max_days=0, max_bytes=1), datetime.now(UTC))
    file.close()
    with opened(folder) as memory:
        (oldest,) = memory.history("memory/kiln.md")
        assert (oldest.change, oldest.origin.author) == ("found", "untrusted")
    change(folder, "DELETE FROM line_origin WHERE hash = ?", line_key(BRICK))
    assert authors(folder)[BRICK] == "untrusted"


def test_a_damaged_ledger_is_mended_before_a_copied_note_is_recorded(folder, caplog):
    change(folder, "DELETE FROM line_origin WHERE hash = ?", line_key(BRICK))
    copy = folder / "notes/memory/copy.md"
    copy.write_bytes((folder / "notes/memory/owls.md").read_bytes())
    with caplog.at_level(logging.WARNING), opened(folder) as memory:
        memory.index()
        assert memory.blame("memory/copy.md")[-1].origin.author == "untrusted"
    assert [
        each.message for each in caplog.records if "until it can be mended" in each.message
    ] == []


ALTERED = {
    "a time": "UPDATE version SET at = at + 65536 WHERE id = 2",
    "no time": "UPDATE version SET at = 1 << 61 WHERE id = 2",
    "another kind": "UPDATE version SET change = (change + 1) % 4 WHERE id = 2",
    "no kind": "UPDATE version SET change = 77 WHERE id = 2",
    "another author": "UPDATE version SET origin = ifnull(origin, 0) + 1 WHERE id = 2",
    "another step": "UPDATE version SET batch = batch + 1 WHERE id = 2",
    "another note": "UPDATE version SET note = 3 - note WHERE id = 2",
}


@pytest.mark.parametrize("damage", ALTERED.values(), ids=ALTERED)
def test_verify_sees_versions_of_other_times_or_kinds(folder, damage):
    change(folder, damage)
    with opened(folder) as memory:
        assert "are not as they were written" in str(memory.verify().problems)
        with contextlib.suppress(StateError):  # never an error that is not ours
            assert memory.history()
        assert memory.verify(repair=True).ok
        assert memory.history()
        memory.append("- The kiln is cold now", path="memory/kiln.md")
        assert memory.verify().ok


def test_a_history_without_sums_of_versions_gets_them(folder):
    connection = apsw.Connection(str(history(folder)))
    for verb in ("insert", "delete", "update"):
        connection.execute(f"DROP TRIGGER version_{verb}")
    connection.execute("DROP TABLE version_sum")
    connection.pragma("user_version", 6)
    connection.close()
    with opened(folder) as memory:
        memory.append("- The kiln is cold now", path="memory/kiln.md")
        assert memory.verify().ok
    change(folder, ALTERED["a time"])
    with opened(folder) as memory:
        assert not memory.verify().ok


def test_a_history_without_modes_of_deleted_files_gets_them(folder):
    connection = apsw.Connection(str(history(folder)))
    connection.execute("DROP TRIGGER deleted_mode_gone")
    connection.execute("DROP TABLE deleted_mode")
    connection.pragma("user_version", 7)
    connection.close()
    with opened(folder) as memory:
        (folder / "notes/memory/kiln.md").chmod(0o640)
        memory.undo(memory.delete("memory/kiln.md").id)
        assert memory.verify().ok
    if os.name != "nt":
        assert (folder / "notes/memory/kiln.md").stat().st_mode & 0o777 == 0o640
