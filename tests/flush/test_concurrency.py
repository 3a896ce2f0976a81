"""Several processes and threads at one workspace."""

import asyncio
import os
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from commonplace.flush import CallableFlushModel
from commonplace.flush.journal import Journal
from commonplace.flush.leases import OneTimeLeases
from support.fakes import NOON
from support.silent import Chat, FailingAt, Noting, Slow, append, said

WORKER = Path(__file__).with_name("worker.py")


UNIX = pytest.mark.skipif(os.name == "nt", reason="Windows cannot fork")


@pytest.fixture
def chat(tmp_path):
    return Chat(tmp_path)


def in_threads(*calls):
    begin = threading.Barrier(len(calls))
    errors = []

    def run(call):
        begin.wait(20)
        try:
            call()
        except Exception as error:  # noqa: BLE001 - shown at the end of the test
            errors.append(error)

    threads = [threading.Thread(target=run, args=(call,)) for call in calls]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert not any(thread.is_alive() for thread in threads)
    assert errors == []


@pytest.mark.slow
@pytest.mark.processes
@UNIX
def test_two_processes_flush_the_same_messages_once(chat, tmp_path):
    facts = ",".join(map(str, range(1, 21)))
    command = [sys.executable, str(WORKER), facts, str(tmp_path), "0"]
    processes = [subprocess.Popen(command, stdout=subprocess.DEVNULL) for _ in range(4)]
    assert [process.wait(60) for process in processes] == [0] * 4
    assert chat.noted() == [f"fact-{number}" for number in range(1, 21)]
    assert chat.flusher().process_pending() == ()


@pytest.mark.slow
def test_two_threads_flush_the_same_messages_once(chat):
    models = [Slow(0.05) for _ in range(6)]
    flushers = [chat.flusher(model) for model in models]
    in_threads(*(lambda f=flusher: f.flush(said(1, 2), thread="t") for flusher in flushers))
    assert chat.noted() == ["fact-1", "fact-2"]
    assert sum(len(model.requests) for model in models) == 1
    assert len([report for report in chat.reports if report.notes]) == 1


def test_one_flusher_serves_many_conversations_at_once(chat):
    flusher = chat.flusher(Slow(0.02))
    in_threads(*(lambda n=number: flusher.flush(said(n), thread=f"t{n}") for number in range(1, 9)))
    assert sorted(chat.noted()) == sorted(f"fact-{number}" for number in range(1, 9))
    assert {report.thread: report.notes for report in chat.reports} == {
        f"t{number}": (f"- Noted fact-{number}.",) for number in range(1, 9)
    }


def test_one_event_loop_serves_many_conversations_at_once(chat):
    async def slow(request):
        await asyncio.sleep(0.2)
        return Noting().reply(request)

    async def main():
        flusher = chat.flusher(CallableFlushModel(Noting().reply, slow))
        await asyncio.gather(*(flusher.aflush(said(n), thread=f"t{n}") for n in range(1, 7)))

    begun = time.monotonic()
    asyncio.run(main())
    assert time.monotonic() - begun < 6 * 0.4
    assert sorted(chat.noted()) == [f"fact-{number}" for number in range(1, 7)]


def test_what_another_is_at_is_left_to_it(chat):
    asked, go_on = threading.Event(), threading.Event()

    def reply(request):
        asked.set()
        go_on.wait(20)
        return append("- fact-1") if len(request.messages) == 1 else Noting().reply(request)

    flushing = threading.Thread(
        target=lambda: chat.flusher(CallableFlushModel(reply)).flush(said(1))
    )
    flushing.start()
    assert asked.wait(20)
    model = Noting()
    report = chat.flusher(model).flush(said(1))
    assert report.skipped == "another thread or process is writing these messages down"
    assert report.safe
    assert chat.flusher(model).process_pending() == ()
    other = chat.flusher(model).flush(said(1, 2))
    assert other.notes == ("- Noted fact-2.",)
    go_on.set()
    flushing.join(20)
    assert sorted(chat.noted()) == ["fact-1", "fact-2"]


def test_notes_of_a_thread_are_in_its_order(chat):
    asked, go_on = threading.Event(), threading.Event()

    def reply(request):
        asked.set()
        assert go_on.wait(20)
        return Noting().reply(request)

    def of_thread(number, model=None):
        return lambda: chat.flusher(model).flush(said(number), thread="t")

    memory = chat.memory()
    journal = Journal(memory.state.database, workspace=str(memory.workspace.root))
    first = threading.Thread(target=of_thread(1, CallableFlushModel(reply)))
    first.start()
    assert asked.wait(20)
    # What another flush has of the thread comes first, for the leftovers, too.
    waiting = [threading.Thread(target=of_thread(number)) for number in (2, 3)]
    for number, thread in enumerate(waiting, start=2):
        thread.start()
        deadline = time.monotonic() + 20
        while len(journal.pending()) < number:
            assert time.monotonic() < deadline
    assert chat.flusher().process_pending() == ()
    assert chat.flusher().flush(said(4), thread="other").notes == ("- Noted fact-4.",)
    go_on.set()
    for thread in (first, *waiting):
        thread.join(20)
    assert chat.noted() == ["fact-4", "fact-1", "fact-2", "fact-3"]


def test_a_flush_does_not_wait_longer_than_its_deadline(chat):
    asked, go_on = threading.Event(), threading.Event()

    def reply(request):
        asked.set()
        assert go_on.wait(20)
        return Noting().reply(request)

    model = CallableFlushModel(reply)
    first = threading.Thread(target=lambda: chat.flusher(model).flush(said(1), thread="t"))
    first.start()
    assert asked.wait(20)
    chat.flush_settings["deadline_s"] = 0.2
    report = asyncio.run(chat.flusher().aflush(said(2), thread="t"))
    assert report.skipped
    assert report.safe
    go_on.set()
    first.join(20)
    chat.flush_settings["deadline_s"] = 20.0
    chat.flusher().process_pending()
    assert chat.noted() == ["fact-1", "fact-2"]


def test_what_others_left_is_worked_off_behind_a_flush_and_told_apart(chat):
    for number in (1, 2):
        assert chat.flusher(FailingAt(1)).flush(said(number), thread=f"t{number}").failed
    chat.reports.clear()
    flusher = chat.flusher()
    report = flusher.flush(said(3), thread="t3", reason="tokens")
    assert report.notes == ("- Noted fact-3.",)
    flusher.start_pending()
    assert flusher.wait(20)
    assert [(r.reason, r.thread) for r in chat.reports] == [
        ("tokens", "t3"),
        ("journal", "t1"),
        ("journal", "t2"),
    ]
    assert sorted(chat.noted()) == ["fact-1", "fact-2", "fact-3"]


def test_after_a_failure_the_provider_is_left_in_peace(chat):
    for number in (1, 2, 3):
        chat.flusher(FailingAt(1)).flush(said(number), thread=f"t{number}")
    model = FailingAt(*range(1, 99))
    flusher = chat.flusher(model)
    flusher.flush(said(4), thread="t4")
    flusher.start_pending()
    assert flusher.wait(20)
    assert len(model.requests) == 1
    chat.flusher(model).process_pending()
    assert len(model.requests) == 2


@pytest.mark.slow
def test_working_off_stops_when_the_time_is_over(chat):
    for number in (1, 2, 3, 4):
        chat.flusher(FailingAt(1)).flush(said(number), thread=f"t{number}")
    chat.flush_settings["deadline_s"] = 0.5
    reports = chat.flusher(Slow(0.2)).process_pending()
    assert 1 <= len(reports) < 4
    chat.flush_settings["deadline_s"] = 20.0
    while chat.flusher().process_pending():
        pass
    assert sorted(chat.noted()) == [f"fact-{number}" for number in range(1, 5)]
    assert chat.sessions() == []


# Owners.


def test_an_owner_is_alive_as_long_as_its_block(tmp_path):
    here, there = OneTimeLeases(tmp_path / "state.sqlite"), OneTimeLeases(tmp_path / "state.sqlite")
    with here.acquire() as name:
        assert here.is_alive(name)
        assert there.is_alive(name)
    assert not here.is_alive(name)
    assert not there.is_alive(name)
    assert list(tmp_path.iterdir()) == []


def test_an_owner_that_left_its_lock_file_behind_is_dead(tmp_path):
    left = tmp_path / "state.sqlite.abc.lease"
    left.touch()
    assert not OneTimeLeases(tmp_path / "state.sqlite").is_alive("abc")
    assert not left.exists()


def test_old_lock_files_are_swept_and_young_ones_are_not(tmp_path):
    old, young = tmp_path / "state.sqlite.old.lease", tmp_path / "state.sqlite.young.lease"
    for path in (old, young):
        path.touch()
    os.utime(old, (1, 1))
    with OneTimeLeases(tmp_path / "state.sqlite").acquire():
        assert not old.exists()
        assert young.exists()


def test_a_journal_in_memory_knows_its_owners(tmp_path):
    journal = Journal(None, workspace="w")
    with journal.lease() as one, journal.lease() as other:
        (number,) = journal.add(
            "t", said(1), reason="tokens", moment=NOON, split=lambda m: [m], lease=one
        )
        assert journal.claim(number, lease=other) is None
        entry = journal.claim(number, lease=one)
        assert entry.messages == tuple(said(1))
    with journal.lease() as third:
        assert journal.claim(number, lease=third) == entry
        assert journal.claim(number + 1, lease=third) is None
        journal.remove(entry)
        assert journal.pending() == []
