from dataclasses import replace
from pathlib import Path

from commonplace.indexing.planner import plan_index
from commonplace.store.records import FileRecord
from commonplace.types import MemoryFile
from commonplace.workspace.discovery import Scan

DAY = 24 * 3600 * 10**9
FILE = MemoryFile("memory/a.md", Path("/x/memory/a.md"), "memory", 10, 100 * DAY, None)
RECORD = FileRecord("memory/a.md", "memory", "hash", 10, 100 * DAY, 101 * DAY)


def reasons(file=FILE, record=RECORD, *, embeds=True):
    known = {} if record is None else {record.path: record}
    return [why for _, _, why in plan_index(Scan((file,), ()), known, embeds=embeds).read]


def test_a_file_that_looks_as_it_did_is_not_read():
    plan = plan_index(Scan((FILE,), ()), {RECORD.path: RECORD})
    assert (plan.read, plan.removed, plan.unchanged) == ((), (), 1)


def test_new_and_changed_files_are_read():
    assert reasons(record=None) == ["new"]
    assert reasons(replace(FILE, size=11)) == ["changed on disk"]
    assert reasons(replace(FILE, mtime_ns=99 * DAY)) == ["changed on disk"]
    assert reasons(replace(FILE, stamp="another file's")) == ["changed on disk"]


def test_a_file_without_vectors_is_read_when_there_is_an_embedder():
    pending = replace(RECORD, pending="has no vectors yet")
    assert reasons(record=pending) == ["has no vectors yet"]
    assert reasons(record=pending, embeds=False) == []


def test_a_file_that_was_read_in_the_moment_of_its_change_is_read_again():
    just_changed = replace(RECORD, indexed_ns=RECORD.mtime_ns + 10**9)
    assert reasons(record=just_changed) == ["changed shortly before it was read"]


def test_a_file_from_the_future_is_not_read_again_and_again():
    assert reasons(record=replace(RECORD, indexed_ns=RECORD.mtime_ns - DAY)) == []


def test_what_is_gone_is_removed_but_for_what_could_not_be_looked_at():
    known = {
        path: replace(RECORD, path=path)
        for path in ("memory/a.md", "memory/locked/b.md", "memory/lockedout.md", "MEMORY.md")
    }
    plan = plan_index(Scan((FILE,), (("memory/locked", "Permission denied"),)), known)
    assert [one.path for one in plan.removed] == ["memory/lockedout.md", "MEMORY.md"]
