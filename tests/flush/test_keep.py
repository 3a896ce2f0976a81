"""What is kept in parts is written down at once, by the next flush of any process."""

from __future__ import annotations

from datetime import timedelta

import pytest

from support.fakes import NOON, clock
from support.silent import Chat, FailingAt, Noting, said


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
    assert len(model.requests) == 2


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
    flusher = chat.flusher(FailingAt(2))
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
