"""Bounded waits: no writer waits longer than the bound for another, and no search for anyone."""

import contextlib
import functools
import os
import subprocess
import sys
import textwrap
import time

import pytest

from commonplace import Memory, Origin
from commonplace.errors import CommonplaceError, IndexBusyError
from commonplace.system import waits
from commonplace.system.locks import FileLease, lock_descriptor
from support.notes import LINES, Notes

AGENT = Origin("agent", session="s1")

HOLD = """
    import contextlib, os, sys, apsw
    from pathlib import Path
    from commonplace.system.locks import FileLease, lock_descriptor
    folder, log, *wanted = map(Path, sys.argv[1:])
    with contextlib.ExitStack() as stack:
        for one in map(str, wanted):
            place = folder / one
            if one.endswith(".sqlite"):
                connection = apsw.Connection(str(place))
                connection.execute("BEGIN IMMEDIATE")
            elif one == "log":
                stack.enter_context(lock_descriptor(os.open(log, os.O_RDWR)))
            else:
                stack.enter_context(FileLease(place).held(timeout_s=1))
        print("held", flush=True)
        sys.stdin.read()
    """


@contextlib.contextmanager
def held(notes, *wanted):
    """Have another process hold locks of a memory."""
    log = notes.root / "memory/2026-11-20.md"
    command = [sys.executable, "-c", textwrap.dedent(HOLD), str(notes.index.parent), str(log)]
    process = subprocess.Popen(
        [*command, *wanted], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    try:
        assert process.stdout.readline() == "held\n"
        yield
    finally:
        process.communicate("")


@pytest.fixture
def notes(tmp_path):
    notes = Notes(tmp_path)
    with opened(notes) as memory:
        memory.index()
        memory.append("- first", path="memory/2026-11-20.md", origin=AGENT)
        memory.write("memory/other.md", "- other\n")
    return notes


def opened(notes) -> Memory:
    return notes.open(None, LINES)


def locks(notes):
    """Return what a memory locks, as the names of files below the folder of its index."""
    with opened(notes) as memory:
        names = [memory.state.database, memory.state.history]
    history = f"{names[1]}.lock"
    return [
        *("index.sqlite", "index.sqlite.lock", "index.sqlite.swap", "log"),
        *(os.path.relpath(name, notes.index.parent) for name in (*names, history)),
    ]


@pytest.mark.processes
def test_a_search_waits_for_no_writer(notes):
    wanted = locks(notes)
    with opened(notes) as memory, held(notes, *wanted):
        began = time.monotonic()
        assert memory.search("VPN")[0].path
        assert memory.get("MEMORY.md").text
        assert time.monotonic() - began < waits.WRITER_WAIT_S / 3


@pytest.mark.processes
@pytest.mark.parametrize("last", ["log", "history.sqlite", "history.sqlite.lock"])
def test_all_waits_of_a_writer_together_are_bounded(notes, monkeypatch, last):
    wanted = [name for name in locks(notes) if name.endswith(last)]
    for module in [m for name, m in sys.modules.items() if name.startswith("commonplace")]:
        if hasattr(module, "WRITER_WAIT_S"):
            monkeypatch.setattr(module, "WRITER_WAIT_S", 0.3)
    monkeypatch.setattr(waits, "STEP_WAIT_S", 0.1)
    assert wanted
    text = (notes.root / "memory/2026-11-20.md").read_text()
    with opened(notes) as memory, held(notes, *wanted):
        change = functools.partial(memory.append, "- waits", path="memory/2026-11-20.md")
        if last != "log":
            change = functools.partial(memory.edit, "memory/2026-11-20.md", "- first", "- second")
        began = time.monotonic()
        with pytest.raises(CommonplaceError, match=r"[Tt]ry again|Check the disk") as caught:
            change()
        took = time.monotonic() - began
    assert "\n" not in str(caught.value)
    assert took < 5
    assert (notes.root / "memory/2026-11-20.md").read_text() == text


@pytest.mark.processes
def test_a_note_is_written_while_the_index_is_held_and_found_later(notes, monkeypatch):
    monkeypatch.setattr(waits, "WRITER_WAIT_S", 0.3)
    monkeypatch.setattr(waits, "STEP_WAIT_S", 0.1)
    with opened(notes) as memory:
        with held(notes, "index.sqlite", "index.sqlite.swap"):
            began = time.monotonic()
            memory.append("- The kiln is red", path="memory/2026-11-20.md")
            assert time.monotonic() - began < 5
        memory.index()
        assert "kiln" in memory.search("kiln")[0].snippet


@pytest.mark.slow
def test_locks_of_one_call_share_its_time(tmp_path, monkeypatch):
    monkeypatch.setattr(waits, "WRITER_WAIT_S", 0.2)
    monkeypatch.setattr(waits, "STEP_WAIT_S", 0.05)
    path = tmp_path / "log.md"
    path.write_text("")
    one, two = (os.open(path, os.O_RDWR) for _ in range(2))
    began = time.monotonic()
    with lock_descriptor(one), waits.bounded_waits():
        for _ in range(10):
            with pytest.raises(TimeoutError), lock_descriptor(two):
                pass
        with waits.bounded_waits():  # has the time of the outer one
            assert waits.seconds_to_wait(30) == 0.05
    assert 0.2 < time.monotonic() - began < 2
    for descriptor in (one, two):
        os.close(descriptor)


def test_a_search_of_a_new_workspace_answers_from_what_another_process_has_indexed(
    tmp_path, monkeypatch
):
    notes = Notes(tmp_path)
    from commonplace.indexing import service

    monkeypatch.setattr(service, "WRITER_WAIT_S", 0.05)
    with (
        opened(notes) as memory,
        FileLease(notes.index.with_name("index.sqlite.lock")).held(timeout_s=1),
    ):
        with pytest.raises(IndexBusyError, match="Wait for it"):
            memory.search("VPN")  # there is nothing yet
        runner = memory._index.runner
        memory._index.store.set_identity(runner.wanted_identity())
        memory._index.index_files(["MEMORY.md"])
        results = memory.search("VPN")
        assert "51820" in results[0].snippet
        assert "another process makes the first index" in results.warnings[-1].lower()
    with opened(notes) as memory:
        assert not memory.search("VPN").warnings
