"""Change groups: changes in several steps that are one entry of the history, and of undo."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from commonplace.errors import ConflictError, PathNotAllowedError
from commonplace.history.retention import prune
from commonplace.memory import Memory
from commonplace.settings import HistorySettings, Settings, SyncSettings
from commonplace.types import Origin
from commonplace.workspace.replacement import FileChange

SETTINGS = Settings(sync=SyncSettings(on_open=False, on_search=False), timezone="UTC")
IMPORTER = Origin("tool", tool="import")


@pytest.fixture
def memory(notes):
    with opened(notes.root, notes.index) as memory:
        memory.index()
        yield memory


def opened(root, index):
    return Memory.open(root, settings=SETTINGS, embedder=None, index=index)


def disk(notes):
    return {
        path.relative_to(notes.root).as_posix(): path.read_bytes()
        for path in sorted(notes.root.rglob("*.md"))
    }


def imported(memory, *, steps=3, size=4):
    group = memory.change_group("import", origin=IMPORTER)
    for step in range(steps):
        texts = {
            f"memory/in/{step}-{number}.md": f"# {step}\n\n- said {number} of {step}\n"
            for number in range(size)
        }
        group.write(texts | {"MEMORY.md": f"# Now\n\n- after step {step}\n"})
    return group


def test_a_group_is_one_entry_of_the_history_and_each_step_is_one_of_its_notes(memory):
    group = memory.change_group("import", origin=IMPORTER)
    assert group.id is None
    versions = group.write({"memory/a.md": "- alpha\n", "memory/in/b.md": "- beta\n"})
    assert [one.path for one in versions] == ["memory/a.md", "memory/in/b.md"]
    group.write({"memory/in/c.md": "- gamma\n", "memory/a.md": "- alpha two\n"})
    later = memory.write("memory/d.md", "- delta\n")
    assert {one.id for one in versions} == {group.id}
    entries = memory.history(limit=2)
    assert [(one.id, one.change, one.path, one.notes) for one in entries] == [
        (later.id, "write", "memory/d.md", 1),
        (group.id, "import", "memory/a.md", 3),
    ]
    assert entries[1].origin == IMPORTER
    assert [one.id for one in memory.history("memory/a.md")] == [group.id, group.id]
    assert memory.blame("memory/in/c.md")[0].version.id == group.id
    assert memory.search("gamma")[0].origin == IMPORTER


def test_a_group_is_taken_back_as_a_whole_and_brought_back_as_a_whole(notes, memory):
    before = disk(notes)
    group = imported(memory)
    after = disk(notes)
    assert len(after) == len(before) + 12
    undone = memory.undo(group.id)
    assert disk(notes) == before
    assert (undone.change, undone.notes) == ("undo", 13)
    assert memory.search("said 2 of 1") == []
    assert [(one.change, one.notes) for one in memory.history(limit=2)] == [
        ("undo", 13),
        ("import", 13),
    ]
    memory.undo(undone.id)
    assert disk(notes) == after
    assert memory.search("said 2 of 1")[0].path == "memory/in/1-2.md"


@pytest.mark.skipif(os.name == "nt", reason="Windows has no such modes")
def test_an_undo_that_is_interrupted_brings_all_modes_back(notes, memory, monkeypatch):
    group = memory.change_group("import", origin=IMPORTER)
    group.write({f"memory/in/{number}.md": f"- {number}\n" for number in range(3)})
    files = [notes.root / f"memory/in/{number}.md" for number in range(3)]
    for file in files:
        file.chmod(0o640)
    undone = memory.undo(group.id)
    apply, calls = FileChange.apply, []

    def interrupted(change):
        calls.append(change)
        if len(calls) == 2:
            raise KeyboardInterrupt
        apply(change)

    monkeypatch.setattr(FileChange, "apply", interrupted)
    with pytest.raises(KeyboardInterrupt):
        memory.undo(undone.id)
    assert [file.stat().st_mode & 0o777 for file in files] == [0o640] * 3


def test_what_others_changed_between_the_steps_and_after_them_stays(notes, memory):
    group = memory.change_group("import")
    group.write({"memory/a.md": "one\ntwo\nthree\nfour\n"})
    memory.edit("memory/a.md", "two", "two, by hand")
    text = memory.get("memory/a.md").text
    group.write({"memory/a.md": f"{text}five\n"})
    with pytest.raises(ConflictError, match=r"memory/a\.md"):
        memory.undo(group.id)
    edit = memory.history("memory/a.md")[1]
    memory.undo(edit.id)
    memory.append("- by hand", path="memory/a.md")
    memory.undo(group.id)
    assert memory.get("memory/a.md").text.strip() == "- by hand"


def test_one_note_that_was_changed_since_leaves_the_whole_group_as_it_is(notes, memory):
    group = imported(memory)
    memory.edit("memory/in/1-2.md", "said 2", "heard 2")
    before = disk(notes)
    with pytest.raises(ConflictError, match=r"memory/in/1-2\.md#L3"):
        memory.undo(group.id)
    assert disk(notes) == before


@pytest.mark.parametrize(
    ("texts", "if_version", "error"),
    [
        ({"memory/a.md": "a", "../b.md": "b"}, {}, PathNotAllowedError),
        ({"memory/new/a.md": "a", "MEMORY.md": "b"}, {"MEMORY.md": ""}, ConflictError),
    ],
)
def test_a_step_is_made_as_a_whole_or_not_at_all(notes, memory, texts, if_version, error):
    before, group = sorted(notes.root.rglob("*")), memory.change_group("import")
    with pytest.raises(error):
        group.write(texts, if_version=if_version)
    assert sorted(notes.root.rglob("*")) == before
    assert group.id is None
    group.write({"memory/a.md": "a\n"})
    group.write({})
    assert [one.id for one in memory.history(limit=1)] == [group.id]


def test_a_text_that_is_there_already_is_not_of_the_group(memory):
    written = memory.write("memory/a.md", "a\n")
    group = memory.change_group("import")
    assert group.write({"memory/a.md": "a\n"})[0].id == written.id
    assert group.id is None
    group.write({"memory/a.md": "a\n", "memory/b.md": "b\n"})
    memory.undo(group.id)
    assert memory.paths("memory/a") == ["memory/a.md"]
    assert memory.paths("memory/b") == []


def test_a_group_of_which_texts_were_pruned_is_not_taken_back_in_part(notes, memory):
    group = imported(memory)
    for path in ("memory/in/0-0.md", "MEMORY.md"):
        memory.write(path, "later\n")
    log, now = memory._notes.log, memory.now()
    prune(log.file, HistorySettings(max_days=0, max_bytes=1), now)
    before = disk(notes)
    assert [one.notes for one in memory.history() if one.change == "import"] == [11]
    with pytest.raises(ConflictError, match="does not hold all of it"):
        memory.undo(group.id)
    assert disk(notes) == before


def test_what_is_left_of_a_group_after_a_note_was_forgotten_is_taken_back(notes, memory):
    before = disk(notes)
    group = imported(memory, steps=1)
    memory.forget(path="memory/in/0-1.md")
    memory.undo(group.id)
    assert disk(notes) == before
    assert memory.history()[1].notes == 4


KILLED = """
import os, signal, sys
sys.path.insert(0, sys.argv[3])
from history.test_groups import opened
from commonplace.workspace.replacement import FileChange
memory = opened(sys.argv[1], sys.argv[2])
group = memory.change_group("import")
group.write({"memory/in/0.md": "zero\\n", "memory/in/1.md": "one\\n"})
left, real = int(sys.argv[4]), FileChange.apply
def apply(change):
    global left
    if not left:
        os.kill(os.getpid(), signal.SIGKILL)
    left -= 1
    real(change)
FileChange.apply = apply
group.write({"memory/in/2.md": "two\\n", "memory/in/3.md": "three\\n"})
"""


@pytest.mark.slow
@pytest.mark.processes
@pytest.mark.skipif(os.name == "nt", reason="Windows has no SIGKILL")
@pytest.mark.parametrize(("steps", "left"), [(0, 2), (1, 4)])
def test_what_a_killed_process_made_of_a_group_is_taken_back(tmp_path, steps, left):
    root, index = tmp_path / "notes", tmp_path / "index.sqlite"
    (root / "memory").mkdir(parents=True)
    tests = Path(__file__).resolve().parents[1]
    command = [sys.executable, "-c", KILLED, root, index, tests, str(steps)]
    assert subprocess.run(command, check=False, timeout=60).returncode == -signal.SIGKILL
    with opened(root, index) as memory:
        assert len(memory.paths("memory/in")) == left
        (entry,) = memory.history()
        assert (entry.change, entry.notes) == ("import", left)
        memory.undo(entry.id)
        assert memory.paths() == []
