"""Whatever fails: no fact is lost, none is doubled, and the user's turn goes on."""

import asyncio
import contextlib
import errno
import json
import os
import random
import sqlite3
import stat
import threading
import time
from dataclasses import replace

import pytest

from commonplace.errors import StateError
from commonplace.flush import CallableFlushModel, FlushReply, ToolCall
from commonplace.flush.journal import Journal
from support.silent import SILENT, Chat, FailingAt, Noting, Scripted, Slow, append, partly, said


@pytest.fixture
def chat(tmp_path):
    return Chat(tmp_path)


class Rewording(FailingAt):
    """Never says the same thing in the same words: a second answer would be a double."""

    def reply(self, request):
        reply = super().reply(request)
        calls = [
            ToolCall(
                call.name, {"text": f"{call.arguments['text']} ({len(self.requests)})"}, call.id
            )
            for call in reply.tool_calls
        ]
        return FlushReply(reply.text, tuple(calls))


def run(flusher, form, *args, **options):
    if form == "sync":
        return flusher.flush(*args, **options)
    return asyncio.run(flusher.aflush(*args, **options))


FORMS = pytest.mark.parametrize("form", ["sync", "async"])


@FORMS
@pytest.mark.parametrize("at", range(1, 5))
def test_a_model_that_raises_at_any_call_loses_and_doubles_nothing(chat, form, at):
    model = Rewording(at)
    flusher = chat.flusher(model)
    for turn in range(1, 5):
        report = run(flusher, form, said(*range(1, turn + 1)))
        assert report.safe
    flusher.process_pending()
    assert sorted(chat.noted()) == ["fact-1", "fact-2", "fact-3", "fact-4"]
    assert len([report for report in chat.reports if report.failed]) == 1


@FORMS
@pytest.mark.parametrize("at", [(1, 2), (2, 3), (1, 3), (2, 4), (1, 2, 4, 5)])
def test_a_model_that_raises_at_several_calls_loses_and_doubles_nothing(chat, form, at):
    flusher = chat.flusher(Rewording(*at))
    for turn in range(1, 5):
        run(flusher, form, said(*range(1, turn + 1)))
    while flusher.process_pending():
        pass
    assert sorted(chat.noted()) == ["fact-1", "fact-2", "fact-3", "fact-4"]


def test_a_failure_is_told_without_the_vendors_secrets(chat, caplog):
    report = chat.flusher(FailingAt(1)).flush(said(1))
    assert report.failed.startswith("ConnectionError: the provider is down, sk-abc…wxyz; attempt 1")
    assert report.safe
    assert "ghijk" not in caplog.text
    assert b"ghijk" not in (chat.state / "state.sqlite").read_bytes()


@FORMS
@pytest.mark.parametrize(
    "answer",
    [None, "text", 7, FlushReply(None), {"text": "x"}],
    ids=["none", "text", "number", "no text", "dict"],
)
def test_an_adapter_that_answers_nonsense_has_failed(chat, form, answer):
    report = run(chat.flusher(CallableFlushModel(lambda request: answer)), form, said(1))
    assert "not a FlushReply" in report.failed
    chat.flusher().flush(said(1))
    assert chat.noted() == ["fact-1"]


@pytest.mark.parametrize(
    "error", [ValueError(), StopIteration(), TimeoutError("x"), RecursionError(), AssertionError()]
)
@FORMS
def test_any_error_of_a_model_is_a_failure(chat, form, error):
    report = run(chat.flusher(Scripted(error)), form, said(1))
    assert report.failed
    assert report.safe


def test_an_interrupt_is_no_failure_and_goes_on(chat):
    with pytest.raises(KeyboardInterrupt):
        chat.flusher(Scripted(KeyboardInterrupt())).flush(said(1))
    (report,) = chat.flusher().process_pending()
    assert chat.noted() == ["fact-1"]
    assert report.failed is None


@FORMS
def test_garbage_calls_are_a_failure_until_a_good_one_comes(chat, form):
    garbage = FlushReply("", (ToolCall("memory_append", "not json"), ToolCall("rm", {"path": "/"})))
    corrected = Scripted(garbage, append("- fact-1"))
    report = run(chat.flusher(corrected), form, said(1))
    assert (report.failed, report.notes) == (None, ("- fact-1",))
    answers = [message.text for message in corrected.requests[1].messages[2:]]
    assert all(text.startswith("Error: ") for text in answers)
    report = run(chat.flusher(Scripted(garbage, garbage)), form, said(2))
    assert "could not be used" in report.failed
    report = run(chat.flusher(Scripted(partly("- fact-2"), garbage)), form, said(2))
    assert "could not be used" in report.failed
    report = run(chat.flusher(), form, said(2))
    assert report.failed is None


# Hanging.


@FORMS
def test_a_model_that_hangs_is_given_up_and_its_late_answer_lands_nowhere(tmp_path, form):
    chat = Chat(tmp_path, deadline_s=0.3)
    answering, answered = threading.Event(), threading.Event()

    def hang(request):
        answering.wait(20)
        answered.set()
        return append("- late fact-1")

    flusher = chat.flusher(CallableFlushModel(hang))
    begun = time.monotonic()

    async def flush():
        # In another thread: asyncio.run waits for the threads of its loop.
        return await flusher.aflush(said(1))

    if form == "sync":
        report = flusher.flush(said(1))
        waited = time.monotonic() - begun
    else:
        loop = asyncio.new_event_loop()
        report = loop.run_until_complete(flush())
        waited = time.monotonic() - begun
    assert waited < 5
    assert report.failed.startswith("the model did not answer within 0.")
    assert report.safe
    answering.set()
    assert answered.wait(20)
    if form == "async":
        loop.run_until_complete(loop.shutdown_default_executor())
        loop.close()
    assert chat.noted() == []
    chat.flush_settings["deadline_s"] = 20.0
    chat.flusher().process_pending()
    assert chat.noted() == ["fact-1"]


def test_an_async_model_that_heeds_no_cancellation_is_given_up(tmp_path):
    chat = Chat(tmp_path, deadline_s=0.2)

    async def main():
        release = asyncio.Event()

        async def stubborn(request):
            while not release.is_set():
                try:
                    await asyncio.wait_for(release.wait(), 5)
                except asyncio.CancelledError:
                    continue
            return append("- late fact-1")

        begun = time.monotonic()
        report = await chat.flusher(CallableFlushModel(lambda request: SILENT, stubborn)).aflush(
            said(1)
        )
        assert time.monotonic() - begun < 5
        assert "did not answer" in report.failed
        release.set()
        await asyncio.sleep(0.05)

    asyncio.run(main())
    assert chat.noted() == []


def test_the_event_loop_goes_on_during_a_flush(chat):
    async def main():
        ticks = 0

        async def tick():
            nonlocal ticks
            while True:
                ticks += 1
                await asyncio.sleep(0.01)

        ticking = asyncio.ensure_future(tick())
        await chat.flusher(CallableFlushModel(Slow(0.3).reply)).aflush(said(1))
        ticking.cancel()
        return ticks

    assert asyncio.run(main()) > 10
    assert chat.noted() == ["fact-1"]


@pytest.mark.parametrize("delay_s", [0.0, 0.002, 0.01, 0.03, 0.08])
def test_a_flush_that_is_cancelled_keeps_the_journal(chat, delay_s):
    async def main():
        flush = asyncio.ensure_future(
            chat.flusher(CallableFlushModel(Slow(0.3).reply)).aflush(said(1))
        )
        await asyncio.sleep(delay_s)
        flush.cancel()
        with pytest.raises(asyncio.CancelledError):
            await flush

    asyncio.run(main())
    chat.flusher().flush(said(1))
    assert chat.noted() == ["fact-1"]


@pytest.mark.slow
def test_the_deadline_is_for_the_whole_turn(tmp_path):
    chat = Chat(tmp_path, deadline_s=0.6)
    begun = time.monotonic()

    def slow(request):
        time.sleep(0.4)
        return partly("- Noted fact-1.")

    report = chat.flusher(CallableFlushModel(slow)).flush(said(1))
    assert time.monotonic() - begun < 5
    assert "did not answer" in report.failed
    assert report.notes == ("- Noted fact-1.",)
    assert chat.flusher().process_pending()[0].failed is None
    assert chat.noted() == ["fact-1"]


# Three failures.


@FORMS
def test_after_three_failures_the_messages_are_kept_as_a_session(chat, form):
    flusher = chat.flusher(FailingAt(*range(1, 99)))
    messages = [*said(1), *said(2)]
    messages[0] = messages[0].__class__("user", "fact-1, API_KEY=abcdefghijklmnopqrstuvwxyz")
    for attempt in (1, 2):
        report = run(flusher, form, messages, thread="chat/7")
        assert f"attempt {attempt} of 3" in report.failed
        assert report.transcript is None
    report = run(flusher, form, messages, thread="chat/7")
    assert "after 3 failures the messages are kept in" in report.failed
    assert report.safe
    (path,) = chat.sessions()
    assert report.transcript == str(path)
    records = [json.loads(line) for line in path.read_text().splitlines()]
    assert records[0]["type"] == "session"
    texts = [record["message"]["content"][0]["text"] for record in records[1:]]
    assert texts == ["fact-1, API_KEY=abcdef…wxyz", "ok", messages[2].text, "ok"]
    assert run(flusher, form, messages, thread="chat/7").skipped
    assert flusher.process_pending() == ()


@pytest.mark.parametrize("way", ["the next good flush", "retry", "aretry"])
def test_what_failed_for_good_is_written_down_when_the_model_is_well_again(chat, way):
    flusher = chat.flusher(FailingAt(1, 2, 3))
    for _ in range(3):
        assert flusher.flush(said(1, 2), thread="a").failed
    (session,) = chat.sessions()
    flusher.start_pending()
    assert flusher.wait(20)
    assert chat.noted() == []
    if way == "retry":
        reports = flusher.retry()
    elif way == "aretry":
        reports = asyncio.run(flusher.aretry())
    else:
        assert flusher.flush(said(3), thread="b").failed is None
        flusher.start_pending()
        assert flusher.wait(20)
        reports = [report for report in chat.reports if report.reason == "journal"]
    [report] = reports
    assert (report.failed, report.thread, report.messages) == (None, "a", 4)
    assert {"fact-1", "fact-2"} <= set(chat.noted())
    assert not session.exists()
    assert flusher.retry() == ()


def test_a_model_that_never_takes_some_messages_is_not_asked_about_them_for_ever(chat):
    class Picky(Noting):
        def reply(self, request):
            if "fact-1" in request.messages[0].text:
                self.requests.append(request)
                raise ConnectionError("refused")
            return super().reply(request)

    model = Picky()
    flusher = chat.flusher(model)
    for _ in range(3):
        flusher.flush(said(1), thread="a")
    for turn in range(2, 9):
        flusher.flush(said(turn), thread="b")
        flusher.start_pending()
        assert flusher.wait(20)
    asked = [request for request in model.requests if "fact-1" in request.messages[0].text]
    assert len(asked) == 6
    assert len(chat.sessions()) == 1
    assert len(chat.noted()) == 7
    [report] = flusher.retry()
    assert "after 7 failures" in report.failed


def test_a_poisoned_entry_does_not_keep_others_from_being_noted(chat):
    flusher = chat.flusher(FailingAt(1, 2, 3))
    for turn in range(1, 6):
        flusher.flush(said(turn), thread=f"t{turn}")
        flusher.start_pending()
        assert flusher.wait(20)
    assert chat.sessions() == []
    assert len(set(chat.noted())) == 5
    assert sorted(chat.noted()) == sorted(set(chat.noted()))


def test_messages_that_no_session_file_can_keep_stay_in_the_journal(chat):
    chat.state.mkdir()
    (chat.state / "sessions").write_text("in the way")
    flusher = chat.flusher(FailingAt(1, 2, 3, 4))
    for _ in range(4):
        report = flusher.flush(said(1))
    assert "no session file" in report.failed
    assert report.safe
    assert flusher.flush(said(1)).notes == ("- Noted fact-1.",)


# The disk.


class FullDisk:
    """Lets no more than some writes to logs through, until there is room again."""

    def __init__(self, monkeypatch, *, error=errno.ENOSPC, after=0):
        self.full, self.left = True, after
        write = os.write

        def limited(descriptor, data):
            is_log = len(data) > 12 and not data.startswith(b"SQLite")
            if self.full and is_log:
                if self.left <= 0:
                    os_error = OSError(error, os.strerror(error))
                    raise os_error
                self.left -= 1
            return write(descriptor, data)

        monkeypatch.setattr("commonplace.workspace.notes.os.write", limited)


@FORMS
@pytest.mark.parametrize("after", [0, 1])
def test_notes_that_find_no_room_are_written_when_there_is_some(chat, form, monkeypatch, after):
    disk = FullDisk(monkeypatch, after=after)
    model = Rewording()
    for _ in range(5):  # more often than a model may fail
        report = run(chat.flusher(model), form, said(1, 2))
        assert "No space left" in report.failed
        assert report.safe
    assert len(model.requests) == 1
    disk.full = False
    report = run(chat.flusher(model), form, said(1, 2))
    assert report.failed is None
    assert chat.noted() == ["fact-1", "fact-2"]
    assert chat.sessions() == []


@pytest.mark.parametrize("error", [errno.EROFS, errno.EACCES, errno.EPERM])
def test_a_log_that_may_not_be_written_is_skipped_and_the_notes_are_kept(chat, monkeypatch, error):
    disk = FullDisk(monkeypatch, error=error)
    report = chat.flusher().flush(said(1))
    assert report.failed is None
    assert "cannot append" in report.skipped
    assert report.safe
    disk.full = False
    chat.flusher().process_pending()
    assert chat.noted() == ["fact-1"]


def test_a_log_that_is_a_folder_is_a_failure(chat):
    (chat.root / "memory" / "2026-11-20.md").mkdir(parents=True)
    report = chat.flusher().flush(said(1))
    assert "is a folder" in report.failed
    (chat.root / "memory" / "2026-11-20.md").rmdir()
    chat.flusher().flush(said(1))
    assert chat.noted() == ["fact-1"]


@FORMS
def test_a_state_folder_that_cannot_be_written_does_not_stop_a_flush(chat, form, caplog):
    chat.state.write_text("a file where the folder should be")
    model = Noting()
    flusher = chat.flusher(model)
    report = run(flusher, form, said(1))
    assert report.notes == ("- Noted fact-1.",)
    assert "without a journal on the disk" in caplog.text
    run(flusher, form, said(1, 2))
    assert chat.noted() == ["fact-1", "fact-2"]
    assert len(model.requests) == 2


def test_a_failure_without_a_journal_is_not_safe_and_is_tried_again(chat):
    chat.state.write_text("a file where the folder should be")
    flusher = chat.flusher(FailingAt(1))
    report = flusher.flush(said(1))
    assert report.failed
    assert not report.safe
    report = flusher.flush(said(1))
    assert report.notes == ("- Noted fact-1.",)
    assert chat.noted() == ["fact-1"]


def test_what_only_memory_kept_is_written_down_when_the_state_is_back(chat):
    chat.state.write_text("a file where the folder should be")
    flusher = chat.flusher(FailingAt(1))
    assert flusher.flush(said(1), thread="a").failed
    chat.state.unlink()
    flusher.flush(said(2), thread="b")
    flusher.start_pending()
    assert flusher.wait(20)
    assert sorted(chat.noted()) == ["fact-1", "fact-2"]


@pytest.mark.parametrize("method", ["save_replies", "record_failure", "remove", "release"])
def test_a_state_file_that_fails_in_the_middle_loses_and_doubles_nothing(chat, monkeypatch, method):
    flusher = chat.flusher(FailingAt(2))

    def fail(*args, **options):
        raise StateError("the disk is full")

    with monkeypatch.context() as broken:
        broken.setattr(Journal, method, fail)
        assert flusher.flush(said(1)).safe
    flusher.flush(said(1))
    flusher.process_pending()
    assert chat.noted() == ["fact-1"]


def test_a_damaged_state_file_is_put_aside(chat, caplog):
    chat.flusher().flush(said(1))
    path = chat.state / "state.sqlite"
    path.write_bytes(b"no database at all" * 500)
    assert chat.flusher().flush(said(2)).notes == ("- Noted fact-2.",)
    assert "is damaged" in caplog.text
    assert len(list(chat.state.glob("state.sqlite.damaged-*"))) == 1
    assert chat.flusher().flush(said(2)).skipped


def damaged_entry(chat, sql):
    """Journal two conversations, and damage what the first one left, byte by byte."""
    assert chat.flusher(FailingAt(1)).flush(said(1)).failed
    with sqlite3.connect(chat.state / "state.sqlite") as connection:
        connection.execute(f"UPDATE flush_entries SET {sql}")
    connection.close()


@pytest.mark.parametrize(
    "messages",
    [
        "CAST(substr(CAST(messages AS BLOB), 1, 40) || x'ff' AS TEXT)",
        "'[1]'",
        "'{\"role\": 1}'",
        "x'00'",
    ],
)
def test_an_entry_that_cannot_be_read_is_kept_aside_and_blocks_no_other(chat, caplog, messages):
    damaged_entry(chat, f"messages = {messages}")
    flusher = chat.flusher()
    assert flusher.flush(said(2)).notes == ("- Noted fact-2.",)
    assert "entry 1 of the flush journal is damaged" in caplog.text
    assert "its messages are lost" in caplog.text
    (kept,) = chat.state.glob("state.sqlite.damaged-entry-1-*")
    assert stat.S_IMODE(kept.stat().st_mode) == 0o600
    assert b"compaction" in kept.read_bytes()
    with chat.memory() as memory:
        assert str(kept) in str(memory.status().warnings)
    assert flusher.process_pending() == ()
    assert chat.flusher().flush(said(3)).notes == ("- Noted fact-3.",)


@pytest.mark.parametrize(
    "sql",
    [
        "thread = CAST(x'61ff' AS TEXT)",
        "moment = 'yesterday'",
        "moment = CAST(x'ff' AS TEXT)",
        "reason = 'because'",
        "replies = '['",
        "replies = '[[[[3]]]]'",
        "tokens = 'many'",
        "attempts = x'ff'",
        "owner = CAST(x'ff2f' AS TEXT)",
    ],
)
def test_an_entry_is_written_down_as_far_as_it_can_be_read(chat, caplog, sql):
    damaged_entry(chat, sql)
    (report,) = chat.flusher().process_pending()
    assert chat.noted() == ["fact-1"]
    assert not report.failed
    assert ("what can be read is written down" in caplog.text) == (not sql.startswith("owner"))
    assert chat.flusher().process_pending() == ()


@pytest.mark.parametrize(
    "sql",
    [
        "messages = replace(messages, 'fact-2', 'fact-7')",
        "messages = CAST(replace(CAST(messages AS BLOB), CAST('fact-2' AS BLOB), x'ff') AS TEXT)",
        "messages = replace(messages, 'fact-2', 'fact\"2')",
    ],
)
def test_a_message_that_is_not_as_it_was_written_is_left_out_and_kept_aside(chat, caplog, sql):
    """No changed text becomes a note: each message, and each column, has a checksum."""
    assert chat.flusher(FailingAt(1)).flush([*said(1), *said(2), *said(3)]).failed
    path = chat.state / "state.sqlite"
    with contextlib.closing(sqlite3.connect(path)) as connection, connection:
        connection.execute(f"UPDATE flush_entries SET {sql}, thread = 'other'")
    (report,) = chat.flusher().process_pending()
    assert chat.noted() == ["fact-1", "fact-3"]
    assert not report.failed
    assert not report.thread
    assert "entry 1 of the flush journal is damaged" in caplog.text
    assert len(list(chat.state.glob("state.sqlite.damaged-entry-1-*"))) == 1


def test_after_the_third_failure_the_replies_in_the_journal_are_masked_too(chat):
    secret = "sk-proj-" + "aB3dE5gH7jK9mN1p" * 2
    calls = (ToolCall("write", {"text": f"- the key is {secret}"}, "c1"),)
    reply = FlushReply(f"I note the key {secret}", calls)
    rounds = [reply, ConnectionError("down")]
    flusher = chat.flusher(Scripted(*rounds, ConnectionError("down"), ConnectionError("down")))
    flusher.flush(said(1))
    journal = chat.state / "state.sqlite"
    assert secret.encode() in journal.read_bytes()
    for _ in range(2):
        flusher.process_pending()
    with contextlib.closing(sqlite3.connect(journal)) as connection:
        rows = connection.execute(
            "SELECT attempts, replies, messages FROM flush_entries"
        ).fetchall()
    ((attempts, replies, _),) = rows
    assert (attempts, secret in str(rows)) == (3, False)
    assert "I note the key" in replies


def test_a_damaged_entry_does_not_keep_new_messages_from_the_journal(chat):
    flusher = chat.flusher()
    flusher.enqueue(said(1))
    with sqlite3.connect(chat.state / "state.sqlite") as connection:
        connection.execute("UPDATE flush_entries SET messages = CAST(x'ff' AS TEXT)")
    connection.close()
    assert flusher.enqueue(said(2)).safe
    assert flusher.flush(said(3)).notes == ("- Noted fact-2.", "- Noted fact-3.")


@pytest.mark.parametrize("thread", ["a", "b"])
def test_messages_that_a_damaged_entry_lost_are_new_when_they_are_given_again(chat, thread):
    flusher = chat.flusher()
    flusher.flush(said(7), thread="a")
    flusher.enqueue([*said(7), *said(1), *said(2)], thread="a")
    with contextlib.closing(sqlite3.connect(chat.state / "state.sqlite")) as db, db:
        db.execute("UPDATE flush_entries SET messages = replace(messages, 'fact-1', 'fact-5')")
    flusher.flush(said(9), thread=thread)  # meets the damage, in its own thread or in another
    flusher.flush([*said(7), *said(1), *said(2), *said(3)], thread="a")
    assert sorted(chat.noted()) == ["fact-1", "fact-2", "fact-3", "fact-7", "fact-9"]


def test_a_flush_that_meets_the_damage_takes_what_it_is_given_again(chat):
    flusher = chat.flusher()
    flusher.enqueue(said(1))
    with contextlib.closing(sqlite3.connect(chat.state / "state.sqlite")) as db, db:
        db.execute("UPDATE flush_entries SET messages = CAST(x'ff' AS TEXT)")
    assert flusher.flush([*said(1), *said(2)]).safe
    assert sorted(chat.noted()) == ["fact-1", "fact-2"]


@pytest.mark.parametrize("page", [2, 3, 4])
def test_messages_of_a_page_that_is_gone_are_new_when_they_are_given_again(chat, page):
    flusher, path = chat.flusher(), chat.state / "state.sqlite"
    for number in range(4):
        flusher.enqueue(said(number), thread=f"{number}")
    with contextlib.closing(sqlite3.connect(path)) as db:
        db.execute("PRAGMA wal_checkpoint(truncate)")
    data = bytearray(path.read_bytes())
    data[(page - 1) * 4096 : page * 4096] = bytes(4096)
    path.write_bytes(data)
    for number in (1, 0, 2, 3):
        flusher.flush([*said(number), *said(10 + number)], thread=f"{number}")
    while flusher.process_pending():
        pass
    assert {f"fact-{n}" for n in (0, 1, 2, 3, 10, 11, 12, 13)} <= set(chat.noted())


@pytest.mark.parametrize("seed", range(3))
def test_pages_of_the_state_file_that_are_gone_cost_their_rows_only(chat, caplog, seed):
    flusher, path = chat.flusher(FailingAt(*range(1, 99))), chat.state / "state.sqlite"
    for number in range(1, 25):
        padded = [replace(one, text=one.text + " " * 900) for one in said(number)]
        assert flusher.flush(padded, thread=f"{number}").failed
    data = bytearray(path.read_bytes())
    pages = list(range(1, len(data) // 4096))
    for page in random.Random(seed).sample(pages, 2):
        data[page * 4096 : (page + 1) * 4096] = bytes(4096)
    path.write_bytes(data)
    for number in (97, 98, 99):
        chat.flusher().flush(said(number), thread="new")
    while chat.flusher().process_pending():
        pass
    noted = chat.noted()
    assert {"fact-97", "fact-98", "fact-99"} <= set(noted)
    assert len(noted) == len(set(noted)) > 8
    assert list(chat.state.glob("state.sqlite.damaged-*"))
    assert "is damaged" in caplog.text


def test_a_newer_state_file_is_left_alone(chat):
    chat.flusher().flush(said(1))
    path = chat.state / "state.sqlite"
    with sqlite3.connect(path) as connection:
        connection.execute("PRAGMA user_version = 99")
    connection.close()
    before = path.read_bytes()
    report = chat.flusher().flush(said(2))
    assert report.notes == ("- Noted fact-2.",)
    assert path.read_bytes() == before


def test_a_rebuild_of_the_index_leaves_the_journal_alone(chat):
    assert chat.flusher(FailingAt(1)).flush(said(1)).failed
    with chat.memory() as memory:
        memory.index(force=True)
        (chat.state / "index.sqlite").unlink()
        memory.index()
    chat.flusher().process_pending()
    assert chat.noted() == ["fact-1"]


def test_what_goes_wrong_in_the_core_is_told_and_not_raised(chat, monkeypatch, caplog):
    flusher = chat.flusher()

    def fail(*args, **options):
        raise ZeroDivisionError("a bug")

    monkeypatch.setattr(Journal, "pending", fail)
    report = flusher.flush(said(1))
    assert report.failed == "ZeroDivisionError: a bug"
    assert not report.safe
    assert flusher.process_pending() == ()
    assert "could not be worked off" in caplog.text
