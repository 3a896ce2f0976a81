"""What is kept in parts is written down at once, by the next flush of any process."""

from __future__ import annotations

import contextlib
import sqlite3
import threading
from datetime import timedelta

import pytest

from commonplace.flush import CallableFlushModel
from support.fakes import NOON, clock
from support.silent import Chat, FailingAt, Noting, append, facts_in, said


@pytest.fixture
def chat(tmp_path):
    return Chat(tmp_path)


def test_parts_that_were_kept_are_one_question(chat):
    model = Noting()
    flusher = chat.flusher(model)
    for number in (1, 2, 3):
        flusher.enqueue(said(number), thread="t")
    assert model.requests == []
    assert chat.noted() == []
    report = flusher.flush([], thread="t")
    assert chat.noted() == ["fact-1", "fact-2", "fact-3"]
    assert (report.messages, report.reason) == (6, "compaction")
    assert len(model.requests) == 1


def test_another_process_writes_down_what_was_kept(chat):
    chat.flusher().enqueue(said(1), thread="t")
    chat.flusher().enqueue(said(2), thread="t")
    [report] = chat.flusher().process_pending()
    assert report.messages == 4
    assert chat.noted() == ["fact-1", "fact-2"]


def test_what_was_kept_or_flushed_before_is_not_kept_again(chat):
    flusher = chat.flusher()
    flusher.flush(said(1), thread="t")
    flusher.enqueue(said(1, 2), thread="t")
    flusher.enqueue(said(1, 2), thread="t")
    assert flusher.flush([], thread="t").messages == 2
    assert chat.noted() == ["fact-1", "fact-2"]


def test_threads_and_days_are_not_joined(chat):
    chat.flusher().enqueue(said(1), thread="a")
    chat.flusher().enqueue(said(2), thread="b")
    tomorrow = chat.memory(clock(NOON + timedelta(days=1)))
    chat.flusher(memory=tomorrow).enqueue(said(3), thread="a")
    reports = chat.flusher(memory=tomorrow).process_pending()
    assert [report.messages for report in reports] == [2, 2, 2]
    assert "fact-1" in chat.log("2026-11-20")
    assert "fact-3" in chat.log("2026-11-21")


def test_what_was_begun_is_not_joined(chat):
    flusher = chat.flusher(FailingAt(1))
    assert flusher.flush(said(1), thread="t").failed
    flusher.enqueue(said(2), thread="t")
    assert flusher.flush([], thread="t").failed is None
    assert chat.noted() == ["fact-1", "fact-2"]


def test_more_than_a_window_is_several_questions(chat):
    flusher = chat.flusher(context_window=4_000)
    for number in range(6):
        flusher.enqueue([*said(number), *said(number)], thread="t")
    long = [message for number in range(10, 40) for message in said(number)]
    long = [type(m)(m.role, m.text + " and so on" * 60) for m in long]
    for at in range(0, len(long), 6):
        flusher.enqueue(long[at : at + 6], thread="t")
    report = flusher.flush([], thread="t")
    assert report.failed is None
    assert len(chat.noted()) == len(set(chat.noted())) == 36


def test_without_a_state_file_it_is_kept_in_memory(chat):
    chat.state.mkdir(exist_ok=True)
    (chat.state / "state.sqlite").mkdir()
    flusher = chat.flusher()
    flusher.enqueue(said(1), thread="t")
    flusher.flush([], thread="t")
    assert chat.noted() == ["fact-1"]


def test_nothing_is_kept_when_flushes_are_off(tmp_path):
    chat = Chat(tmp_path, enabled=False)
    chat.flusher().enqueue(said(1), thread="t")
    assert not (chat.state / "state.sqlite").exists()


# In the background.


def test_what_was_kept_is_written_down_in_the_background_with_its_reason(chat):
    model = Noting()
    flusher = chat.flusher(model)
    report = flusher.enqueue(said(1), thread="t", reason="compaction")
    assert (report.safe, report.failed, report.skipped) == (True, None, None)
    assert chat.reports == []
    flusher.start_pending()
    assert flusher.wait(20)
    assert chat.noted() == ["fact-1"]
    assert [(r.thread, r.reason) for r in chat.reports] == [("t", "compaction")]


def test_the_background_never_waits_for_a_flush_nor_a_flush_for_it(chat):
    asked, answer = threading.Event(), threading.Event()

    def reply(request):
        if request.thread == "slow":
            asked.set()
            assert answer.wait(20)
        return append(f"- Noted {facts_in(request.messages[0].text)[0]}.")

    flusher = chat.flusher(CallableFlushModel(reply))
    flusher.enqueue(said(1), thread="slow")
    flusher.start_pending()
    assert asked.wait(20)
    assert flusher.flush(said(2), thread="t").notes == ("- Noted fact-2.",)
    assert not flusher.wait(0.05)
    answer.set()
    assert flusher.wait(20)
    assert sorted(chat.noted()) == ["fact-1", "fact-2"]


def test_a_failure_in_the_background_is_not_tried_again_at_once(chat):
    model = FailingAt(1)
    flusher = chat.flusher(model)
    flusher.enqueue(said(1), thread="a")
    flusher.enqueue(said(2), thread="b")
    flusher.start_pending()
    assert flusher.wait(20)
    assert len(model.requests) == 1
    flusher.start_pending()
    assert flusher.wait(20)
    assert sorted(chat.noted()) == ["fact-1", "fact-2"]


def test_messages_that_are_in_no_journal_on_the_disk_are_not_safe(chat):
    chat.state.mkdir(exist_ok=True)
    (chat.state / "state.sqlite").mkdir()
    report = chat.flusher().enqueue(said(1), thread="t")
    assert not report.safe
    assert "in memory only" in report.failed


def test_hashes_of_messages_do_not_only_grow(chat):
    def marks(thread):
        with contextlib.closing(sqlite3.connect(chat.state / "state.sqlite")) as state:
            rows = state.execute("SELECT count(*) FROM flush_marks WHERE thread = ?", (thread,))
            return next(rows)[0]

    def flush(days, thread, *numbers):
        now = clock(NOON + timedelta(days=days))
        return chat.flusher(memory=chat.memory(now)).flush(said(*numbers), thread=thread)

    flush(0, "old", 1, 2)
    flush(0, "resent", 3, 4)
    flush(300, "resent", 3, 4, 5)
    kept = marks("resent")
    assert marks("old") > 0
    flush(410, "new", 6)
    assert (marks("old"), marks("resent")) == (0, kept)
    assert marks("new") > 0
    assert flush(411, "resent", 3, 4, 5).skipped
    assert flush(411, "new", 6).skipped
