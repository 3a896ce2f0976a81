"""The power fails at any moment: what was acknowledged is there when the machine is back."""

import copy
import json
import os
import random
import shutil
import sys
import textwrap
from pathlib import Path

import pytest

from commonplace import Memory, Settings
from commonplace.flush import Flusher
from commonplace.settings import SyncSettings
from support.power_loss import Disk, record
from support.silent import Noting, facts_in

pytestmark = [
    pytest.mark.processes,
    pytest.mark.skipif(not shutil.which("strace"), reason="strace records the system calls"),
]

LOSSES = int(os.environ.get("POWER_LOSSES", "1"))
"""Power losses at each barrier, in the slow form of the test."""
SETTINGS = Settings(sync=SyncSettings(on_open=False, on_search=False, watch=False))
WORK = """
    import json, os, sys
    sys.path.insert(0, sys.argv[2])
    from pathlib import Path
    from commonplace import Memory, Settings
    from commonplace.flush import Flusher
    from commonplace.settings import SyncSettings
    from support.silent import Noting, said
    base = Path(sys.argv[1])
    quiet = Settings(sync=SyncSettings(on_open=False, on_search=False, watch=False))
    index = base / "state" / "index.sqlite"
    def done(kind, *what):
        os.write(1, json.dumps([kind, *what]).encode())
    with Memory.open(base / "notes", settings=quiet, embedder=None, index=index) as memory:
        flusher = Flusher(memory, Noting())
        memory.append("- note one")
        done("line", "- note one")
        memory.append("- note two", path="memory/deep/er/topic.md")
        done("line", "- note two")
        memory.write("memory/w.md", "first\\n")
        done("file", "memory/w.md", "first\\n")
        if flusher.enqueue(said(1)).safe:
            done("fact", "fact-1")
        memory.edit("memory/w.md", "first", "second")
        done("file", "memory/w.md", "second\\n")
        if flusher.flush(said(1, 2)).safe:
            done("fact", "fact-2")
        memory.append("- note three")
        done("line", "- note three")
        memory.move("memory/w.md", "memory/moved/w.md")
        done("file", "memory/w.md", None)
        done("file", "memory/moved/w.md", "second\\n")
        memory.index()
        if flusher.flush(said(3), thread="other").safe:
            done("fact", "fact-3")
        memory.delete("memory/moved/w.md")
        done("file", "memory/moved/w.md", None)
        memory.write_session_note([{"role": "user", "content": "Bring the ladder."}], slug="x")
        done("line", "user: Bring the ladder.")
        memory.write("MEMORY.md", "kept\\n")
        done("file", "MEMORY.md", "kept\\n")
    """


def opened(base):
    index = base / "state" / "index.sqlite"
    return Memory.open(base / "notes", settings=SETTINGS, embedder=None, index=index)


def check(base, acknowledged, begun):
    """Assert that all that was acknowledged is there; what comes next may be there, too."""
    with opened(base) as memory:
        flusher = Flusher(memory, Noting())
        while reports := flusher.process_pending():
            assert not any(report.failed for report in reports), reports
        texts = {path: memory.get(path).text for path in memory.paths()}
        facts = facts_in("".join(texts.values()))
        lines = "\n".join(texts.values()).split("\n")
        for kind, *what in acknowledged:
            if kind == "line":
                assert lines.count(what[0]) == 1, what
            elif kind == "fact":
                assert facts.count(what[0]) == 1, (what, facts)
        files = {what[0]: what[1] for kind, *what in acknowledged if kind == "file"}
        for path, text in files.items():
            later = [what[1] for kind, *what in begun if kind == "file" and what[0] == path]
            assert texts.get(path) in (text, *later), (path, texts.get(path), text, later)
        memory.write("memory/again.md", "works\n")
        memory.append("- works")
        memory.index()
        assert memory.search("works")


@pytest.fixture(scope="module")
def recorded(tmp_path_factory):
    """What a process does to a disk, and the disk as it was before and is now."""
    base = tmp_path_factory.mktemp("power")
    (base / "notes").mkdir()
    before = Disk.of(base)
    tests = str(Path(__file__).parent)
    command = [sys.executable, "-c", textwrap.dedent(WORK), str(base), tests]
    events = record(command, base, base.with_name("trace"))
    return base, before, events


@pytest.mark.slow
def test_the_record_is_what_happened(recorded):
    """The model of the disk, with nothing lost, is the disk that the process left."""
    base, disk, events = recorded
    left = {path: path.read_bytes() for path in base.rglob("*") if path.is_file()}
    disk = copy.deepcopy(disk)
    for number, event in enumerate(events):
        disk.apply(number, event)
    disk.after_power_loss(base, random.Random(1), share=1.0)
    made = {path: path.read_bytes() for path in base.rglob("*") if path.is_file()}
    assert {path: made.get(path) for path in left if kept(path)} == {
        path: text for path, text in left.items() if kept(path)
    }
    assert sum(event.kind == "sync" for event in events) > 30
    assert sum(event.kind == "said" for event in events) == 13


def kept(path):
    return not path.name.endswith((".lock", ".swap", "-shm"))


def moments(events, every):
    """Return the numbers of the events behind which the power fails: around each barrier."""
    near = [number for number, one in enumerate(events) if one.kind in ("sync", "said")]
    return sorted({at for number in near for at in (number - 1, number) if at >= 0})[::every]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("every", "tries"),
    [
        (5, 1),
        pytest.param(1, LOSSES, marks=[pytest.mark.full, pytest.mark.timeout(300 * LOSSES)]),
    ],
    ids=["some", "all"],
)
def test_what_was_acknowledged_survives_a_power_loss_at_any_barrier(recorded, every, tries):
    base, before, events = recorded
    said = [(at, json.loads(one.data)) for at, one in enumerate(events) if one.kind == "said"]
    disk, failed = copy.deepcopy(before), set(moments(events, every))
    for number, event in enumerate(events):
        disk.apply(number, event)
        for turn in range(tries if number in failed else 0):
            chance = random.Random(f"{number} {turn}")
            share = chance.choice((0.0, 0.3, 0.7, 0.95))
            disk.after_power_loss(base, chance, share=share)
            (base / "notes").mkdir(exist_ok=True)  # it was there before
            acknowledged = [what for at, what in said if at <= number]
            check(base, acknowledged, [what for at, what in said if at > number])
