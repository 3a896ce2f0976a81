"""`Memory.verify`: what is wrong with the index, the journal or the history is found and mended."""

import asyncio
import contextlib
import os
import sqlite3

import pytest
from click.testing import CliRunner

from commonplace.cli.app import app
from commonplace.errors import CommonplaceError
from commonplace.flush import Flusher
from commonplace.types import FlushMessage
from support.fakes import HashedWords
from support.notes import LINES, Notes, find, paths
from support.sampling import sampled


@pytest.fixture
def notes(tmp_path):
    notes = Notes(tmp_path)
    notes.write(
        "memory/topics/birds.md", "---\ntags: [birds]\n---\n# Birds\n\n- the heron is grey\n"
    )
    notes.write("memory/long.md", "".join(f"- line {n} says {n * 7}\n\n" for n in range(2000)))
    with notes.open(HashedWords(), LINES) as memory:
        memory.index()
        memory.append("- appended, and indexed at once")
        memory.edit("memory/long.md", "line 1000 says", "line 1000 said")
    return notes


def execute(path, statement):
    with contextlib.closing(sqlite3.connect(path)) as db, db:
        db.execute(statement)


def opened(notes):
    return notes.open(HashedWords(), LINES)


def test_a_sound_memory_is_verified_without_a_change(notes):
    before = {path: path.read_bytes() for path in notes.root.rglob("*.md")}
    with opened(notes) as memory:
        report = memory.verify()
        assert report.ok, report
        assert (report.files, report.entries) == (4, 0)
        assert report.chunks > 50
        assert report.versions >= 5
        assert asyncio.run(memory.averify(repair=True)) == report
    assert before == {path: path.read_bytes() for path in notes.root.rglob("*.md")}


INDEX = {
    "a text": "UPDATE chunk_texts SET text = replace(text, 'heron', 'herom')",
    "units": "UPDATE chunk_texts SET units = substr(units, 1, 7)",
    "vectors": "UPDATE vectors SET embedding = zeroblob(length(embedding))",
    "sqlite-vec's": "UPDATE chunks_vec_vector_chunks00 SET vectors = zeroblob(length(vectors))",
    "a sum of vectors": "UPDATE line_sum SET n = n + 1",
    "words": "DELETE FROM chunks_fts_data WHERE id > 100",
    "a place": "UPDATE chunk_places SET start_line = start_line + 1 WHERE path = 'memory/long.md'",
    "a missing chunk": "DELETE FROM chunk_places WHERE seq = (SELECT max(seq) FROM chunk_places)",
    "a hash": "UPDATE files SET hash = 'abc' WHERE path = 'MEMORY.md'",
    "a day": "UPDATE files SET day = 7 WHERE path = 'MEMORY.md'",
    "an expiry": "UPDATE files SET expires_ms = 7 WHERE path = 'MEMORY.md'",
    "front matter": "UPDATE files SET metadata = '{' WHERE path = 'memory/topics/birds.md'",
    "a file": "INSERT INTO files SELECT 'memory/gone.md', source, hash, size, mtime_ns, "
    "indexed_ns, day, pending, note, progress, metadata, expires_ms, stamp FROM files LIMIT 1",
}


@pytest.mark.parametrize("damage", sampled(INDEX.values(), every=2), ids=INDEX)
def test_a_damaged_index_is_reported_and_mended(notes, damage):
    execute(notes.index, damage)
    with opened(notes) as memory:
        found = memory.verify()
        assert not found.ok
        assert memory.verify().problems == found.problems  # it is looked at, not mended
        mended = memory.verify(repair=True)
        assert mended.ok, mended
        assert mended.repaired == found.problems
        assert memory.verify().ok
        assert paths(find(memory, "heron grey"))[0] == "memory/topics/birds.md"


def test_a_long_line_that_repeats_itself_is_sound(notes):
    file = notes.root / "memory/long.md"
    file.write_text("# T\n\n" + "word number " * 1000 + "\n")
    with opened(notes) as memory:
        memory.index()
        assert memory.verify().ok
        file.write_text(file.read_text() + "- below\n\n" + "word number " * 2000 + "\n")
        memory.index()
        memory.append("word number " * 1000, path="memory/long.md")
        assert memory.verify().ok
        execute(notes.index, "UPDATE chunk_places SET start_line = 2 WHERE start_line = 3")
        assert not memory.verify().ok
        assert memory.verify(repair=True).ok


def test_an_edit_that_keeps_size_and_times_is_found(notes):
    file = notes.root / "memory/topics/birds.md"
    with opened(notes) as memory:
        memory.index()
        info = file.stat()
        file.write_text(file.read_text().replace("grey", "gray"))
        os.utime(file, ns=(info.st_atime_ns, info.st_mtime_ns))
        assert [path for path, _ in memory.verify().problems] == ["memory/topics/birds.md"]
        assert memory.verify(repair=True).ok
        assert find(memory, "heron")[0].snippet.endswith("gray")


def test_an_index_of_other_bytes_is_mended(notes):
    notes.index.write_bytes(b"this is no database\n" * 1000)
    with opened(notes) as memory:
        assert [part for part, _ in memory.verify().problems] == ["index"]
        assert memory.verify(repair=True).ok


def test_a_version_whose_text_is_lost_is_reported_and_removed(notes):
    with opened(notes) as memory:
        history = memory.state.history
        count = len(memory.history("memory/long.md"))
    execute(history, "UPDATE version SET body = x'01' WHERE id = (SELECT max(id) FROM version)")
    with opened(notes) as memory:
        assert [part for part, _ in memory.verify().problems] == ["history"]
        assert memory.verify(repair=True).ok
        assert len(memory.history("memory/long.md")) == count - 1
    assert len(list(history.parent.glob(f"{history.name}.damaged-*"))) == 1


def test_a_damaged_entry_of_the_journal_is_reported_and_kept_aside(notes):
    class Broken:
        def reply(self, *_, **__):
            raise CommonplaceError("no model")

    with opened(notes) as memory:
        Flusher(memory, Broken()).flush([FlushMessage("user", "the heron is grey")], thread="one")
        state = memory.state.database
        assert memory.verify().entries == 1
    execute(state, "UPDATE flush_entries SET messages = CAST(x'ff7b' AS TEXT)")
    with opened(notes) as memory:
        assert [part for part, _ in memory.verify().problems] == ["journal"]
        assert memory.verify(repair=True).ok


def test_the_command_line_says_what_is_wrong_by_its_exit_status(tmp_path):
    notes = Notes(tmp_path)
    base = ["-w", str(notes.root), "--embedder", "none"]

    def run(*words):
        return CliRunner().invoke(app, [*base, *words])

    assert run("verify").exit_code == 1
    assert run("index").exit_code == 0
    assert run("verify").exit_code == 0
    notes.write("MEMORY.md", "# Another\n")
    wrong = run("verify")
    assert (wrong.exit_code, wrong.output.splitlines()[0]) == (
        1,
        "wrong: MEMORY.md: it has changed since it was indexed",
    )
    assert run("verify", "--repair").exit_code == 0
    assert run("verify", "--json").output.count("problems") == 1


def test_a_file_that_cannot_be_read_is_not_called_changed(notes):
    notes.write("memory/large.md", "- small\n")
    large = notes.root / "memory/large.md"
    with opened(notes) as memory:
        memory.index()
        for is_indexed in (True, False):
            large.write_bytes(b"x" * ((32 << 20) + 1))
            (why,) = [why for part, why in memory.verify().problems if part == "memory/large.md"]
            assert why.startswith("it has 32 MiB"), is_indexed
            memory.index()


@pytest.mark.parametrize("size", [0, 5000])
@pytest.mark.parametrize("repair", [False, True])
def test_a_history_that_was_truncated_is_told_where_the_look_at_it_began_a_new_one(
    notes, size, repair
):
    with opened(notes) as memory:
        history = memory.state.history
    os.truncate(history, size)
    with opened(notes) as memory:
        report = memory.verify(repair=repair)
        told = report.repaired if repair else report.problems
        assert [why for part, why in told if part == "history" and "file was damaged" in why]
        assert report.ok == repair
        assert not [why for _, why in memory.verify().problems if "file was damaged" in why]


def test_what_no_repair_can_mend_is_left_to_a_person(tmp_path):
    notes = Notes(tmp_path)
    base = ["-w", str(notes.root), "--embedder", "none"]
    assert CliRunner().invoke(app, [*base, "index"]).exit_code == 0
    (notes.root / "memory" / "large.md").write_bytes(b"x" * ((32 << 20) + 1))
    for options, advice in [([], "--repair' mends it"), (["--repair"], "mend by hand")]:
        found = CliRunner().invoke(app, [*base, "verify", *options])
        assert found.exit_code == 1
        assert advice in found.output.splitlines()[-1]
