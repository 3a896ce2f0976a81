"""A flush from the messages to the log."""

import asyncio
import json
import logging
import os
import stat
import subprocess
import sys
from datetime import UTC, datetime, timedelta, timezone

import pytest

from commonplace.flush import CallableFlushModel, FlushMessage, FlushReply, FlushReport, ToolCall
from commonplace.settings import SessionsSettings
from commonplace.tools import FLUSH_APPEND_TOOL
from support.fakes import clock
from support.silent import SILENT, Chat, Noting, Scripted, append, facts_in, partly, said


@pytest.fixture
def chat(tmp_path):
    return Chat(tmp_path)


@pytest.fixture(params=["sync", "async"])
def flush(request):
    """Flush in the one form and in the other."""

    def run(flusher, messages, **options):
        if request.param == "sync":
            return flusher.flush(messages, **options)
        return asyncio.run(flusher.aflush(messages, **options))

    return run


def test_what_is_at_stake_is_in_the_log(chat, flush):
    model = Noting()
    report = flush(chat.flusher(model), said(1, 2), thread="t", reason="tokens")
    assert chat.log() == "# 2026-11-20\n\n- Noted fact-1.\n- Noted fact-2.\n"
    assert report.path == "memory/2026-11-20.md"
    assert report.notes == ("- Noted fact-1.", "- Noted fact-2.")
    assert (report.reason, report.thread, report.messages) == ("tokens", "t", 4)
    assert (report.skipped, report.failed, report.transcript, report.safe) == (None,) * 3 + (True,)
    assert report.tokens > 10
    assert 0 < report.seconds < 20
    assert chat.reports == [report]
    assert len(model.requests) == 1


def test_the_model_sees_the_messages_and_the_prompt_and_not_the_log(chat, flush):
    chat.memory().append("- An old note on fact-99.")
    model = Scripted(partly("- Noted fact-1."))
    system = FlushMessage("system", "You are a pirate.")
    flush(chat.flusher(model), [system, *said(1)])
    first, second = model.requests
    shown = first.system + "".join(message.text for message in first.messages)
    assert "fact-1" in shown
    assert "2026-11-20" in shown
    assert "fact-99" not in shown
    assert "pirate" not in shown
    assert first.tool is FLUSH_APPEND_TOOL
    roles = [message.role for message in second.messages]
    assert roles == ["user", "assistant", "tool", "tool"]
    assert json.loads(second.messages[2].text) == {"path": "memory/2026-11-20.md"}
    assert second.messages[3].text.startswith("Error: ")


def test_a_note_goes_to_the_log_and_nowhere_else(chat, flush):
    (chat.root / "MEMORY.md").write_text("- Long term.\n")
    other = ToolCall("memory_append", {"text": "- x", "path": "MEMORY.md"})
    longer = ToolCall("memory_append", {"text": "- x", "longTerm": True})
    write = ToolCall("write", {"path": "MEMORY.md", "content": "gone"})
    good = ToolCall("memory_append", {"text": "- kept"})
    flush(chat.flusher(Scripted(FlushReply("", (other, longer, write, good)))), said(1))
    assert (chat.root / "MEMORY.md").read_text() == "- Long term.\n"
    files = {str(path.relative_to(chat.root)) for path in chat.root.rglob("*") if path.is_file()}
    assert files == {"MEMORY.md", "memory/2026-11-20.md"}
    assert chat.log() == "# 2026-11-20\n\n- kept\n"


def test_a_note_can_be_found_at_once(chat):
    with chat.memory() as memory:
        memory.index()
        chat.flusher(memory=memory).flush(said(1))
        assert memory.search("fact-1")[0].path == "memory/2026-11-20.md"


# Nothing twice.


def test_the_same_messages_are_flushed_once(chat, flush):
    model = Noting()
    flusher = chat.flusher(model)
    flush(flusher, said(1, 2))
    again = flush(flusher, said(1, 2))
    assert again.skipped == "every message was written down before"
    assert len(model.requests) == 1
    assert len(chat.reports) == 1


def test_a_caller_that_resends_everything_flushes_what_is_new(chat, flush):
    for last in range(1, 6):
        model = Noting()
        flush(chat.flusher(model), said(*range(1, last + 1)))  # another process each time
        assert facts_in(model.requests[0].messages[0].text) == [f"fact-{last}"]
    assert chat.noted() == [f"fact-{number}" for number in range(1, 6)]


def test_agents_that_share_a_thread_share_its_flushes(chat, flush):
    one, other = Noting(), Noting()
    flush(chat.flusher(one), said(1), thread="shared")
    flush(chat.flusher(other), said(1), thread="shared")
    assert other.requests == []
    flush(chat.flusher(other), said(1), thread="of its own")
    assert len(other.requests) == 1
    assert chat.noted() == ["fact-1"]


def test_workspaces_that_share_a_state_file_do_not_share_a_journal(tmp_path):
    for name in ("a", "b"):
        (tmp_path / name).mkdir()
    one, other = Chat(tmp_path / "a"), Chat(tmp_path / "b")
    one.state = other.state = tmp_path / "state"
    failing = Scripted(ConnectionError("down"))
    assert one.flusher(failing).flush(said(1)).failed
    assert other.flusher().flush(said(2)).notes == ("- Noted fact-2.",)
    assert other.noted() == ["fact-2"]
    assert [r.notes for r in one.flusher().process_pending()] == [("- Noted fact-1.",)]


def test_what_the_log_holds_is_not_appended_again(chat, flush):
    chat.memory().append("- Noted fact-1.\n- Something else.")
    flush(chat.flusher(), said(1, 2))
    assert chat.log().count("fact-1") == 1
    assert chat.noted() == ["fact-1", "fact-2"]


def test_the_flushed_beginning_of_a_conversation_is_counted(chat):
    flusher = chat.flusher()
    assert flusher.flushed_count(said(1)) == 0
    assert not chat.state.exists()
    flusher.flush(said(1))
    assert flusher.flushed_count(said(1)) == 2
    assert flusher.flushed_count(said(1, 2)) == 2
    assert flusher.flushed_count([FlushMessage("system", "Hi"), *said(1, 2)]) == 3
    assert flusher.flushed_count(said(1), thread="other") == 0


def test_a_flush_without_messages_asks_no_model(chat, flush):
    model = Noting()
    report = flush(chat.flusher(model), [FlushMessage("system", "x"), FlushMessage("user", " ")])
    assert report.skipped
    assert report.safe
    assert model.requests == []
    assert chat.reports == []


# What a model may answer.


def test_a_model_with_nothing_to_say_is_asked_once(chat, flush):
    model = Scripted(SILENT)
    report = flush(chat.flusher(model), said(1))
    assert (report.notes, report.path, report.failed) == ((), None, None)
    assert len(model.requests) == 1
    assert not (chat.root / "memory").exists()
    assert flush(chat.flusher(model), said(1)).skipped


def test_a_model_without_tools_replies_with_the_note(chat, flush):
    asked = []

    def reply(request):
        asked.append(request.without_tool()[-1].text)
        return FlushReply("- Noted fact-1.\n- And more.", offered_tool=False)

    report = flush(chat.flusher(CallableFlushModel(reply)), said(1))
    assert report.notes == ("- Noted fact-1.\n- And more.",)
    assert chat.noted() == ["fact-1"]
    assert len(asked) == 1
    assert "reply with the note itself" in asked[0]


def test_a_model_is_asked_twice_at_most(chat, flush):
    model = Scripted(*(partly(f"- Note {number} on fact-{number}.") for number in range(1, 9)))
    flush(chat.flusher(model), said(1))
    assert len(model.requests) == 2
    assert chat.noted() == ["fact-1", "fact-2"]


def test_an_async_function_is_asked_on_the_loop(chat):
    async def areply(request):
        asyncio.get_running_loop()
        return await asyncio.sleep(0, append("- fact-1")) if len(request.messages) == 1 else SILENT

    def reply(request):
        raise AssertionError("the sync form was asked")

    asyncio.run(chat.flusher(CallableFlushModel(reply, areply)).aflush(said(1)))
    assert chat.noted() == ["fact-1"]


def test_another_model_may_be_named_for_one_flush(chat, flush):
    usual, other = Noting(), Noting()
    flush(chat.flusher(usual), said(1), model=other)
    assert (len(usual.requests), len(other.requests)) == (0, 1)


def test_secrets_are_masked_before_they_are_written(chat, flush):
    secret = "sk-abcdefghijklmnopqrstuvwxyz123456"
    model = Scripted(append(f"- The key is {secret}, the VPN password is hunter2!"))
    report = flush(chat.flusher(model), said(1))
    assert chat.log() == "# 2026-11-20\n\n- The key is sk-abc…3456, the VPN password is ***\n"
    assert report.notes == ("- The key is sk-abc…3456, the VPN password is ***",)


def test_a_secret_of_a_flush_is_masked_behind_the_line_of_the_log_that_names_it(chat, flush):
    chat.memory().append("- The password for the router is")
    report = flush(chat.flusher(Scripted(append("- hunter2-Xy9"))), said(1))
    assert chat.log().endswith("- The password for the router is\n- ***\n")
    assert report.notes == ("- ***",)


def test_what_no_window_can_take_is_flushed_in_several_turns(chat, flush):
    model = Noting()
    filler = " ".join(f"word{number}" for number in range(2000))
    messages = [
        FlushMessage("user", f"fact-{number} {filler}" if number == 3 else f"fact-{number}")
        for number in range(1, 6)
    ]
    report = flush(chat.flusher(model, context_window=4_000), messages)
    assert len(model.requests) >= 2
    assert len(chat.reports) == 1
    assert report.safe
    assert chat.noted() == [f"fact-{number}" for number in range(1, 6)]


# Days.


@pytest.mark.parametrize(
    ("moment", "zone", "day"),
    [
        ("2026-02-16T03:00:00+00:00", "America/New_York", "2026-02-15"),
        ("2026-02-16T15:00:00+00:00", "America/New_York", "2026-02-16"),
        ("2026-12-31T23:30:00+00:00", "Asia/Tokyo", "2027-01-01"),
        ("2026-12-31T23:59:59+00:00", "UTC", "2026-12-31"),
        ("2026-03-29T00:59:00+00:00", "Europe/Paris", "2026-03-29"),
        ("2026-10-25T22:59:59+00:00", "Europe/Paris", "2026-10-25"),
        ("2026-10-25T23:00:00+00:00", "Europe/Paris", "2026-10-26"),
        ("2026-06-01T10:00:00+00:00", "Pacific/Kiritimati", "2026-06-02"),
        ("2026-06-01T10:00:00+00:00", "Pacific/Pago_Pago", "2026-05-31"),
    ],
)
def test_notes_go_to_the_day_of_the_users_zone(chat, moment, zone, day):
    memory = chat.memory(now=clock(datetime.fromisoformat(moment)), timezone=zone)
    model = Noting()
    report = chat.flusher(model, memory=memory).flush(said(1))
    assert report.path == f"memory/{day}.md"
    assert "fact-1" in chat.log(day)
    (asked,) = model.requests[0].messages
    assert f"memory/{day}.md" in asked.text
    assert f"({zone})" in asked.text


def test_a_turn_over_midnight_stays_with_the_day_it_began(chat, flush):
    now = [datetime(2026, 11, 20, 23, 59, 59, tzinfo=UTC)]

    def slow(request):
        now[0] += timedelta(seconds=2)
        return partly("- fact-1") if len(request.messages) == 1 else append("- fact-2")

    flush(chat.flusher(CallableFlushModel(slow), memory=chat.memory(now=lambda: now[0])), said(1))
    assert chat.log() == "# 2026-11-20\n\n- fact-1\n- fact-2\n"
    assert chat.log("2026-11-21") == ""


def test_what_is_worked_off_later_goes_to_the_day_it_was_said(chat):
    model = Scripted(partly("- fact-1"), ConnectionError("down"))
    assert chat.flusher(model).flush(said(1)).failed
    tomorrow = chat.memory(now=clock(datetime(2026, 11, 21, 8, tzinfo=UTC)))
    later = Scripted(append("- fact-2"))
    (report,) = chat.flusher(later, memory=tomorrow).process_pending()
    assert report.reason == "journal"
    assert chat.log() == "# 2026-11-20\n\n- fact-1\n- fact-2\n"
    assert chat.log("2026-11-21") == ""
    assert "Friday, November 20th" in later.requests[0].messages[0].text


def test_a_memory_without_a_zone_uses_the_machines(chat):
    odd = timezone(timedelta(hours=5, minutes=45))
    now = datetime(2026, 11, 20, 12, 0, tzinfo=odd)
    memory = chat.memory(now=lambda: now, timezone=None)
    report = chat.flusher(memory=memory).flush(said(1))
    assert report.path == f"memory/{now.astimezone().date()}.md"


# What is skipped.


def test_a_flush_that_is_off_is_skipped(tmp_path, flush):
    chat = Chat(tmp_path, enabled=False)
    model = Noting()
    report = flush(chat.flusher(model), said(1))
    assert report.skipped == "flush.enabled is false"
    assert (report.messages, report.safe) == (2, False)
    assert model.requests == []
    assert not chat.state.exists()


def test_a_read_only_workspace_is_skipped_with_a_reason(chat, flush, monkeypatch):
    monkeypatch.setattr("commonplace.workspace.discovery.os.access", lambda path, mode: False)
    model = Noting()
    report = flush(chat.flusher(model), said(1))
    assert "read-only" in report.skipped
    assert report.failed is None
    assert model.requests == []
    assert chat.reports == [report]
    assert chat.flusher(model).process_pending() == ()


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() == 0, reason="root may do it all")
def test_a_folder_that_may_not_be_written_is_skipped(chat):
    chat.root.chmod(0o555)
    try:
        assert "read-only" in chat.flusher().flush(said(1)).skipped
    finally:
        chat.root.chmod(0o755)


def test_a_workspace_that_is_gone_is_skipped(chat):
    flusher = chat.flusher()
    chat.root.rmdir()
    assert "is gone" in flusher.flush(said(1)).skipped
    assert not chat.root.exists()


# What is told.


def test_one_line_is_logged_for_a_flush(chat, flush, caplog):
    caplog.set_level(logging.INFO, logger="commonplace.flush")
    flush(chat.flusher(), said(1), reason="transcript")
    (record,) = caplog.records
    assert record.levelname == "INFO"
    text = record.getMessage()
    assert text.startswith("flush (transcript): 1 note to memory/2026-11-20.md; 2 messages, ")
    assert text == str(chat.reports[0])


def test_a_callback_that_fails_is_logged_and_the_flush_goes_on(chat, flush, caplog):
    def fail(report):
        raise ValueError("not mine")

    report = flush(chat.flusher(on_flush=fail), said(1))
    assert report.notes
    assert "on_flush failed" in caplog.text
    assert chat.noted() == ["fact-1"]


def test_an_async_callback_is_awaited_before_the_flush_returns(chat, flush):
    told = []

    async def on_flush(report):
        await asyncio.sleep(0.01)
        told.append(report)

    report = flush(chat.flusher(on_flush=on_flush), said(1))
    assert told == [report]


def test_an_async_callback_runs_on_the_loop_of_the_flush(chat):
    loops = []

    async def on_flush(report):
        loops.append(asyncio.get_running_loop())

    async def main():
        await chat.flusher(on_flush=on_flush).aflush(said(1))
        assert loops == [asyncio.get_running_loop()]
        chat.flusher(on_flush=on_flush).flush(said(2))  # blocks the loop, and still works

    asyncio.run(main())
    assert len(loops) == 2


def test_an_async_callback_that_fails_is_logged(chat, flush, caplog):
    async def fail(report):
        raise ValueError("not mine")

    assert flush(chat.flusher(on_flush=fail), said(1)).notes
    assert "on_flush failed" in caplog.text


def test_a_report_reads_as_a_line():
    assert str(FlushReport("compaction", skipped="why")).startswith(
        "flush (compaction): skipped: why;"
    )
    assert str(FlushReport("tokens", failed="why")).startswith("flush (tokens): failed: why;")
    two = FlushReport("tokens", path="memory/x.md", notes=("a", "b"), seconds=1.26)
    assert str(two) == "flush (tokens): 2 notes to memory/x.md; 0 messages, 0 tokens, 1.3 s"


def test_only_its_owner_may_read_the_state_file(chat):
    chat.flusher(Scripted(ConnectionError("down"))).flush(said(1))
    assert stat.S_IMODE((chat.state / "state.sqlite").stat().st_mode) == 0o600
    assert stat.S_IMODE(chat.state.stat().st_mode) == 0o700


def test_nothing_of_a_conversation_stays_behind(chat):
    chat.flusher().flush(said(1))
    left = [path for path in chat.state.iterdir() if path.name.startswith("state")]
    assert left == [chat.state / "state.sqlite"]
    assert b"fact-1" not in left[0].read_bytes()


def test_a_session_can_be_archived(chat, tmp_path):
    path = chat.flusher().archive(said(1), thread="a/b")
    assert path.parent == chat.state / "sessions"
    assert path.name.startswith("2026-11-20-a-b-")
    memory = chat.memory(sessions=SessionsSettings(path=str(tmp_path / "elsewhere")))
    assert chat.flusher(memory=memory).archive(said(1)).parent == tmp_path / "elsewhere"
    memory = chat.memory(sessions=SessionsSettings(path="sessions"))
    assert chat.flusher(memory=memory).archive(said(1)).parent == chat.root / "sessions"


def test_the_public_names_are_these():
    import commonplace
    from commonplace import flush as package

    assert commonplace.FlushReport is FlushReport
    assert "FlushReport" in commonplace.__all__
    assert package.__all__ == sorted(package.__all__, key=lambda n: (not n.isupper(), n))
    assert all(hasattr(package, name) for name in package.__all__)


@pytest.mark.processes
def test_importing_the_flush_loads_no_numbers_and_no_framework():
    code = (
        "import sys, commonplace.flush; "
        "print([n for n in ('numpy', 'langchain_core', 'llama_index', 'tiktoken') "
        "if n in sys.modules])"
    )
    ended = subprocess.run([sys.executable, "-c", code], capture_output=True, check=True)
    assert ended.stdout.strip() == b"[]"
