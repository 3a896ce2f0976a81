"""Index runs in the background: what starts and ends them, and that no caller waits for them."""

import gc
import logging
import subprocess
import sys
import textwrap
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import pytest

from commonplace.errors import StoreError
from commonplace.indexing.background.file_backoff import FileBackoff
from commonplace.memory import Memory
from commonplace.settings import Settings, SyncSettings
from support.fakes import HashedWords, Raising, Slow
from support.notes import LINES, eventually, find, paths


@pytest.fixture(autouse=True)
def _no_thread_is_left():
    before = set(threading.enumerate())
    yield
    assert eventually(lambda: set(threading.enumerate()) <= before, deadline_s=5.0)


def synced(*, on_open=False, on_search=False, **sync):
    return Settings(sync=SyncSettings(on_open=on_open, on_search=on_search, **sync))


def indexed(notes, embedder=None):
    with notes.open(embedder, LINES) as memory:
        memory.index()
    return notes


def write_many(notes, count, *, lines=40):
    for number in range(count):
        text = "".join(f"- note {number} line {line}\n" for line in range(lines))
        notes.write(f"memory/{number}.md", text)


def finds(memory, word, path):
    return path in paths(find(memory, word))


# Opening.


def test_a_change_made_while_no_memory_was_open_is_indexed_after_opening(notes):
    indexed(notes).write("memory/new.md", "- the heron")
    with notes.open(None, synced(on_open=True), fresh=True) as memory:
        assert eventually(lambda: finds(memory, "heron", "memory/new.md"))
        assert memory.status().stale == ()


def test_opening_a_new_workspace_starts_and_creates_nothing(notes):
    before = set(threading.enumerate())
    with notes.open(HashedWords(), Settings(), fresh=True):
        assert set(threading.enumerate()) == before
    with notes.store() as store:
        assert not store.exists()


def test_closing_early_starts_no_index_run(notes):
    embedder = HashedWords()
    indexed(notes, embedder).write("memory/new.md", "- the heron")
    embedder.texts.clear()
    started = time.monotonic()
    with notes.open(embedder, Settings(), fresh=True) as memory:
        memory.get("MEMORY.md")
    assert time.monotonic() - started < 1.0
    assert embedder.texts == []


def test_a_run_at_once_does_what_opening_has_asked_for(notes):
    indexed(notes).write("memory/new.md", "- the heron")
    with notes.open(None, Settings(), fresh=True) as memory:
        assert memory.index().added == 1


def test_each_of_two_runs_at_once_reports_what_ran_in_the_background_meanwhile(notes, monkeypatch):
    notes.write("memory/new.md", "- the heron")
    begun, go_on = threading.Event(), threading.Event()
    with notes.open(None, LINES) as memory, ThreadPoolExecutor(1) as pool:
        scheduler, run = memory._background.scheduler, memory._index.run

        def waiting(**options):
            report = run(**options)
            if threading.current_thread() is not threading.main_thread():
                begun.set()
                assert go_on.wait(20)
            return report

        monkeypatch.setattr(memory._index, "run", waiting)
        first = pool.submit(scheduler.run_now)
        assert begun.wait(20)
        report = scheduler.run_now()
        scheduler._notify(replace(report, added=7))  # as a run in the background ends
        go_on.set()
        assert first.result(20).added >= 7


def test_opening_with_another_model_rebuilds_beside_the_old_index(notes):
    indexed(notes, HashedWords())
    other = HashedWords(48, model_id="another")
    with notes.open(other, synced(on_open=True), fresh=True) as memory:
        assert eventually(lambda: memory.search("printer").model == "another")


def test_a_model_that_auto_happens_to_find_replaces_no_vectors(notes):
    indexed(notes, HashedWords()).write("memory/new.md", "- the heron")
    with notes.open("auto", synced(on_open=True), fresh=True) as memory:
        assert eventually(lambda: finds(memory, "heron", "memory/new.md"))
        assert any("rebuild" in warning for warning in memory.status().warnings)
    with notes.open(HashedWords(), LINES) as memory:
        assert memory.search("printer").mode == "hybrid"


# Searching.


@pytest.mark.slow
def test_a_search_answers_from_what_is_there_and_the_next_ones_see_what_changed(notes):
    slow = Slow(1.0)
    indexed(notes, HashedWords())
    with notes.open(slow, synced(on_search=True), fresh=True) as memory:
        find(memory, "printer")
        assert eventually(lambda: not memory._background.scheduler.running)
        notes.write("memory/new.md", "- the heron")
        (notes.root / "MEMORY.md").unlink()
        took = []

        def sees():
            started = time.monotonic()
            found = paths(find(memory, "heron printer"))
            took.append(time.monotonic() - started)
            return "memory/new.md" in found and "MEMORY.md" not in found

        assert eventually(sees)
        assert max(took) < 0.9  # none waited for the embedder
        assert len(took) > 5


@pytest.mark.slow
def test_searches_look_at_the_disk_now_and_then_only(notes):
    indexed(notes)
    with notes.open(None, synced(on_search=True), fresh=True) as memory:
        looks = []
        scan = memory.workspace.scan
        memory.workspace.scan = lambda: looks.append(time.monotonic()) or scan()
        searches, until = 0, time.monotonic() + 30
        while len(looks) < 3 and time.monotonic() < until:
            find(memory, "printer")
            searches += 1
    first, second, third = looks[:3]
    assert min(second - first, third - second) > 0.5
    assert searches > 3


@pytest.mark.slow
def test_many_threads_that_search_have_what_changed_indexed_once(notes):
    embedder = HashedWords()
    indexed(notes, embedder)
    write_many(notes, 20)
    embedder.texts.clear()
    with notes.open(embedder, synced(on_search=True), fresh=True) as memory:
        with ThreadPoolExecutor(8) as pool:
            list(pool.map(lambda _: find(memory, "printer"), range(200)))
        assert eventually(lambda: memory.status().files == 22)
    assert len(embedder.texts) == len(set(embedder.texts))


# By the clock.


def test_an_interval_indexes_without_being_asked(notes):
    with notes.open(None, synced(interval_minutes=0.001), fresh=True) as memory:
        assert eventually(lambda: memory.status().files == 2)
        notes.write("memory/new.md", "- the heron")
        assert eventually(lambda: memory.status().files == 3)


# One at a time.


@pytest.mark.slow
def test_a_run_waits_for_one_in_the_background_and_reports_both(notes):
    indexed(notes, HashedWords())
    write_many(notes, 10)
    with notes.open(Slow(0.5), synced(on_open=True), fresh=True) as memory:
        assert eventually(lambda: memory._background.scheduler.running == ("open",))
        notes.write("memory/late.md", "- late")
        report = memory.index()
        assert (report.added, report.updated, report.removed, report.unchanged) == (11, 0, 0, 2)
        assert report.embedded > 400
        assert memory.index().added == 0


@pytest.mark.slow
def test_while_another_process_indexes_this_one_reads_on_and_looks_again_later(notes):
    indexed(notes)
    notes.write("memory/new.md", "- the heron")
    with notes.open(None, synced(on_open=True, on_search=True), fresh=True) as memory:
        with notes.store() as other, other.lease("run", timeout_s=0):
            started = time.monotonic()
            while time.monotonic() < started + 1.0:
                assert not finds(memory, "heron", "memory/new.md")
            assert memory.status().details["indexing"].startswith("now")
            assert memory.search("printer").warnings == ()
        assert eventually(lambda: finds(memory, "heron", "memory/new.md"))
        assert eventually(lambda: "indexing" not in memory.status().details)


# When something is wrong.


@pytest.mark.slow
def test_a_run_that_fails_is_told_once_and_tried_again(notes, caplog):
    indexed(notes)
    with notes.open(None, synced(on_search=True), fresh=True) as memory:
        notes.root.rename(notes.root.with_name("away"))
        assert eventually(lambda: "is gone" in "".join(memory.search("printer").warnings))
        assert paths(find(memory, "printer")) != []
        notes.root.with_name("away").rename(notes.root)
        notes.write("memory/new.md", "- the heron")
        assert eventually(lambda: finds(memory, "heron", "memory/new.md"))
        assert eventually(lambda: memory.search("printer").warnings == ())
    told = [record for record in caplog.records if record.levelno >= logging.WARNING]
    assert len(told) == 1


@pytest.mark.slow
def test_an_embedder_that_is_down_is_not_asked_at_every_look(notes):
    embedder = Raising()
    indexed(notes)
    write_many(notes, 3)
    with notes.open(embedder, synced(on_search=True), fresh=True) as memory:
        assert eventually(lambda: finds(memory, "note", "memory/1.md"))
        asked = embedder.calls
        notes.write("memory/new.md", "- the heron")
        assert eventually(lambda: finds(memory, "heron", "memory/new.md"))
        embedder.broken = False
        assert eventually(lambda: find(memory, "printer") and memory.status().stale == ())
    assert asked <= 30


@pytest.mark.slow
def test_an_unexpected_error_ends_no_thread(notes, caplog):
    indexed(notes)
    with notes.open(None, synced(on_search=True), fresh=True) as memory:
        scan = memory.workspace.scan
        memory.workspace.scan = lambda: 1 // 0
        assert eventually(lambda: "division" in "".join(memory.search("printer").warnings))
        memory.workspace.scan = scan
        notes.write("memory/new.md", "- the heron")
        assert eventually(lambda: finds(memory, "heron", "memory/new.md"))
    assert "ZeroDivisionError" in caplog.text


# The end.


def close_in_the_middle(notes, memory):
    assert eventually(lambda: memory._background.scheduler.running)
    time.sleep(0.3)
    started = time.monotonic()
    memory.close()
    return time.monotonic() - started


@pytest.mark.slow
def test_closing_ends_a_long_run_within_a_second_and_the_next_goes_on(notes):
    indexed(notes)
    write_many(notes, 300)
    before = set(threading.enumerate())
    memory = notes.open(Slow(0.2), synced(on_open=True, watch=True), fresh=True)
    assert close_in_the_middle(notes, memory) < 1.0
    assert set(threading.enumerate()) <= before
    with pytest.raises(StoreError, match="closed"):
        memory.index()
    with notes.open(HashedWords(), LINES) as memory:
        assert memory.index().failed == ()
        assert memory.status().stale == ()


@pytest.mark.slow
def test_closing_waits_for_no_embedder_that_hangs(notes):
    indexed(notes)
    write_many(notes, 3)
    memory = notes.open(Slow(3.0), synced(on_open=True), fresh=True)
    assert close_in_the_middle(notes, memory) < 1.2


@pytest.mark.slow
def test_a_memory_that_is_not_closed_ends_its_threads_when_it_is_collected(notes):
    before = set(threading.enumerate())

    def use():
        memory = notes.open(None, synced(interval_minutes=1.0, watch=True), fresh=True)
        assert eventually(lambda: memory.status().files == 2)
        assert len(threading.enumerate()) > len(before)

    use()
    gc.collect()
    assert eventually(lambda: set(threading.enumerate()) <= before)


@pytest.mark.slow
@pytest.mark.processes
@pytest.mark.sqlite("another process writes the index")
def test_a_process_that_closes_nothing_ends_quietly(notes):
    write_many(notes, 300)
    code = f"""
        import sys, time
        sys.path.insert(0, {str(Path(__file__).parents[1])!r})
        from commonplace import Memory, Settings
        from support.fakes import Slow
        settings = Settings.from_mapping({{"sync": {{"watch": True, "interval_minutes": 1}}}})
        memory = Memory.open({str(notes.root)!r}, settings=settings, embedder=Slow(0.2),
                             index={str(notes.index)!r})
        while not memory._background.scheduler.running:
            time.sleep(0.01)
        time.sleep(0.3)
        print(time.time())
        """
    command = [sys.executable, "-W", "error", "-c", textwrap.dedent(code)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    assert time.time() - float(done.stdout) < 10.0


@pytest.mark.processes
def test_importing_and_opening_start_no_thread(tmp_path):
    code = """
        import sys, threading
        from commonplace import Memory
        import commonplace.memory
        Memory.open(sys.argv[1], index=sys.argv[1] + "/index")
        print(threading.active_count())
        """
    command = [sys.executable, "-c", textwrap.dedent(code), str(tmp_path)]
    assert subprocess.run(command, capture_output=True, text=True, check=True).stdout == "1\n"


def test_the_command_line_does_nothing_behind_its_back(notes):
    from commonplace.cli.options import Options

    with Options(notes.root).open_memory() as memory:
        assert not memory.settings.sync.on_open
        assert not memory.settings.sync.on_search


@pytest.mark.slow
def test_a_memory_for_other_settings_of_a_search_shares_the_background(notes):
    indexed(notes)
    with notes.open(None, synced(on_search=True), fresh=True) as memory:
        other = memory.with_search_settings(decay=False)
        notes.write("memory/new.md", "- the heron")
        assert eventually(lambda: finds(other, "heron", "memory/new.md"))
        del memory
        gc.collect()
        assert finds(other, "heron", "memory/new.md")
        other.close()


def test_settings_of_the_reference_keep_it_fresh_as_well(notes):
    assert replace(Settings.openclaw().sync) == SyncSettings()
    assert isinstance(notes.open(fresh=True), Memory)


def test_a_search_before_a_run_by_hand_is_not_the_last_one_that_is_followed_by_a_look(notes):
    indexed(notes)
    with notes.open(None, synced(on_search=True), fresh=True) as memory:
        find(memory, "printer")
        memory.index()
        notes.write("memory/new.md", "- the heron")
        assert eventually(lambda: finds(memory, "heron", "memory/new.md"))


def test_what_a_failed_run_by_hand_was_to_serve_is_still_done(notes, monkeypatch):
    indexed(notes)
    with notes.open(None, synced(on_search=True), fresh=True) as memory:
        notes.write("memory/new.md", "- the heron")
        with monkeypatch.context() as patch:
            patch.setattr(memory._index, "run", fails)
            memory._background.scheduler.request("watch", delay_s=0.5)
            with pytest.raises(StoreError, match="no luck"):
                memory.index()
        assert eventually(lambda: finds(memory, "heron", "memory/new.md"))


def fails(**_options):
    raise StoreError("no luck")


def test_a_run_that_waits_for_another_process_ends_when_the_memory_is_closed(notes):
    indexed(notes)
    told = []
    with notes.store() as other, other.lease("run", timeout_s=1.0):
        memory = notes.open()

        def wait():
            with pytest.raises(StoreError, match="closed"):
                memory.index()
            told.append("ended")

        waiting = threading.Thread(target=wait)
        waiting.start()
        time.sleep(0.2)
        memory.close()
        waiting.join(2.0)
        assert told == ["ended"]


def test_a_run_that_was_asked_for_ends_the_backoff_of_files(notes):
    with notes.open(None) as memory:
        scheduler = memory._background.scheduler
        scheduler._file_backoff = backoff = FileBackoff()
        backoff.end(["MEMORY.md"])
        memory.index()
        assert scheduler._file_backoff is None
