"""Whatever goes wrong in a silent turn: no fact is lost or doubled, and the user goes on."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from support.python_path import environment

pytest.importorskip("langchain", reason="LangChain is not installed")

from langchain.agents import create_agent
from langchain.agents.middleware import SummarizationMiddleware
from langchain_core.messages import AIMessage
from langgraph.checkpoint.memory import InMemorySaver

from commonplace import Settings
from commonplace.errors import WorkspaceReadOnlyError
from langchain_commonplace import ChatMemory, MemoryFlushMiddleware
from support.langchain_fakes import Notetaker, calling, kind_of
from support.langchain_talk import Conversation, assert_nothing_lost, facts, logged, model_of
from support.sampling import sampled

TRIGGER, KEEP = ("messages", 8), ("messages", 3)
TURNS = 12
BOTH = pytest.mark.parametrize("is_async", [False, True], ids=["sync", "async"])


def chat_memory(model, memory, **options):
    chat = ChatMemory(model, memory=memory, trigger=TRIGGER, keep=KEEP, **options)
    return [chat]


def memory_flush(model, memory, **options):
    compactor = SummarizationMiddleware(model, trigger=TRIGGER, keep=KEEP)
    return [
        MemoryFlushMiddleware(memory=memory, model=model, before=compactor, **options),
        compactor,
    ]


def conversation_of(model, middleware, *, is_async=False):
    agent = create_agent(model, middleware=middleware, checkpointer=InMemorySaver())
    return Conversation(agent, checkpointed=True, is_async=is_async)


async def talk(conversation, turns=TURNS):
    """Talk; a turn that fails is tried again, as a user would."""
    failed = 0
    for turn in range(turns):
        for _ in range(10):
            try:
                await conversation.say(f"Here is fact-{turn} for you.")
                break
            except ConnectionError:
                failed += 1
    return failed


def end(model, memory, conversation):
    """End the session, as another process would."""
    ChatMemory(model, memory=memory).end_session("1", messages=conversation.messages)


@pytest.mark.slow
@pytest.mark.parametrize("number", sampled(range(1, 21), every=5))
@pytest.mark.parametrize("middleware", [chat_memory, memory_flush])
async def test_a_model_that_raises_on_one_call(memory, folder, middleware, number):
    script = Notetaker()
    script.fails = lambda kind, n: ConnectionError("down") if n == number else None
    model = model_of(script)
    is_async = bool(number % 2)
    conversation = conversation_of(model, middleware(model, memory), is_async=is_async)
    failed = await talk(conversation)
    assert failed == (script.kinds[number - 1] == "a"), "only the answer itself may fail the turn"
    end(model, memory, conversation)
    assert sorted(set(conversation.said)) == sorted(logged(folder))


@pytest.mark.slow
@BOTH
@pytest.mark.parametrize("middleware", [chat_memory, memory_flush])
@pytest.mark.parametrize("kinds", sampled(["F", "FS"], every=2))
async def test_a_silent_turn_that_fails_for_a_while(memory, folder, middleware, kinds, is_async):
    script, reports = Notetaker(), []
    failures = iter([ConnectionError("down")] * 2)
    script.fails = lambda kind, n: next(failures, None) if kind in kinds else None
    model = model_of(script)
    chat = middleware(model, memory, on_flush=reports.append)
    conversation = conversation_of(model, chat, is_async=is_async)
    assert await talk(conversation, 20) == 0
    assert_nothing_lost(folder, conversation)
    assert any(report.failed for report in reports)
    assert all(report.safe for report in reports)


async def test_a_silent_turn_that_always_fails_leaves_the_messages_in_session_files(memory, folder):
    script, reports = Notetaker(), []
    script.fails = lambda kind, n: ConnectionError("down") if kind == "F" else None
    model = model_of(script)
    conversation = conversation_of(model, chat_memory(model, memory, on_flush=reports.append))
    await talk(conversation, 30)
    kept = [Path(report.transcript) for report in reports if report.transcript]
    assert kept
    assert logged(folder) == []
    transcripts = facts("".join(path.read_text(encoding="utf-8") for path in kept))
    assert "fact-0" in transcripts
    assert len(transcripts) == len(set(transcripts))


GARBAGE = {
    "another tool": calling("shell", command="rm -rf /"),
    "no text": calling("memory_append", note="- x"),
    "a path": calling("memory_append", text="- x", path="../../x.md"),
    "a number": calling("memory_append", text=7),
    "no JSON": AIMessage(
        "",
        invalid_tool_calls=[{"name": "memory_append", "args": '{"te', "id": "1", "error": None}],
    ),
    "nothing": AIMessage(""),
}


@pytest.mark.parametrize("garbage", GARBAGE.values(), ids=GARBAGE)
async def test_garbage_for_a_note_is_answered_and_tried_again(memory, folder, garbage):
    script = Notetaker()
    left = iter([garbage])

    def play(call):
        if kind_of(call) == "F":
            wrong = next(left, None)
            if wrong is not None:
                script.kinds += "F"
                return wrong
        return script(call)

    model = model_of(play)
    conversation = conversation_of(model, chat_memory(model, memory))
    await talk(conversation)
    written = {path.name for path in folder.rglob("*.md")}
    assert written == {"MEMORY.md", "2025-01-02.md", "2026-11-19.md", "2026-11-20.md"}
    assert not (folder.parent / "x.md").exists()
    assert "- x" not in (folder / "memory" / "2026-11-20.md").read_text(encoding="utf-8")
    noted = logged(folder)
    assert len(noted) == len(set(noted))
    if garbage is not GARBAGE["nothing"]:
        # An empty reply says that there is nothing to note; so does NO_REPLY after a refused call.
        assert_nothing_lost(folder, conversation)


@pytest.mark.slow
@BOTH
@pytest.mark.parametrize("middleware", [chat_memory, memory_flush])
async def test_a_silent_turn_that_hangs_is_given_up(open_memory, folder, middleware, is_async):
    flush = {"deadline_s": 0.3}
    memory = open_memory(Settings.from_mapping({"timezone": "UTC", "flush": flush}))
    script, reports = Notetaker(), []
    hangs = iter([True])

    def play(call):
        if kind_of(call) == "F" and next(hangs, False):
            time.sleep(2)
        return script(call)

    model = model_of(play)
    chat = middleware(model, memory, on_flush=reports.append)
    conversation = conversation_of(model, chat, is_async=is_async)
    begun = time.monotonic()
    await talk(conversation)
    assert "did not answer" in reports[0].failed
    assert_nothing_lost(folder, conversation)
    assert time.monotonic() - begun < 60


async def test_a_log_that_cannot_be_written_for_a_while(memory, folder, monkeypatch):
    append, script, reports = memory.append, Notetaker(), []
    full = iter([True] * 2)

    def full_disk(text, **options):
        if next(full, False):
            raise WorkspaceReadOnlyError("no space left on device")
        return append(text, **options)

    monkeypatch.setattr(memory, "append", full_disk)
    model = model_of(script)
    conversation = conversation_of(model, chat_memory(model, memory, on_flush=reports.append))
    await talk(conversation, 20)
    assert_nothing_lost(folder, conversation)
    assert any(report.failed or report.skipped for report in reports)


async def test_an_on_flush_that_raises_does_not_stop_the_turn(memory, folder):
    def broken(report):
        raise ValueError("mine")

    model = model_of(Notetaker())
    conversation = conversation_of(model, chat_memory(model, memory, on_flush=broken))
    assert await talk(conversation) == 0
    assert_nothing_lost(folder, conversation)


def without_a_state_file(folder):
    """Put something in the way of the state file, so that no journal outlives the process."""
    (folder.parent / "state" / "state.sqlite").mkdir(parents=True)


@BOTH
async def test_a_compaction_is_put_off_while_nothing_can_keep_the_messages(
    memory, folder, is_async
):
    without_a_state_file(folder)
    script, reports, broken = Notetaker(), [], [True]
    script.fails = lambda kind, n: ConnectionError("down") if kind == "F" and broken else None
    model = model_of(script)
    chat = chat_memory(model, memory, on_flush=reports.append)
    conversation = conversation_of(model, chat, is_async=is_async)
    await talk(conversation, 5)
    assert reports
    assert not any(report.safe for report in reports)
    assert "S" not in script.kinds
    assert len(conversation.messages) == 10
    broken.clear()
    await conversation.say("Here is fact-99 for you.")
    assert "S" in script.kinds
    assert len(conversation.messages) < 10
    assert_nothing_lost(folder, conversation)


@BOTH
async def test_a_compaction_is_not_put_off_until_the_window_is_full(open_memory, folder, is_async):
    """The user's turn goes on: the messages that go are in this process's memory, and no more."""
    flush = {"context_window": 60}
    memory = open_memory(Settings.from_mapping({"timezone": "UTC", "flush": flush}))
    without_a_state_file(folder)
    script = Notetaker()
    script.fails = lambda kind, n: ConnectionError("down") if kind == "F" else None
    model = model_of(script)
    conversation = conversation_of(model, chat_memory(model, memory), is_async=is_async)
    assert await talk(conversation, 6) == 0
    assert "S" in script.kinds


@BOTH
async def test_a_langchain_without_its_hook_is_flushed_after_its_summary(
    memory, folder, monkeypatch, is_async
):
    monkeypatch.setattr("langchain_commonplace.chat_memory._HAS_SUMMARY_HOOK", False)
    monkeypatch.delattr(ChatMemory, "_create_summary")
    monkeypatch.delattr(ChatMemory, "_acreate_summary")
    script, reports = Notetaker(), []
    model = model_of(script)
    chat = chat_memory(model, memory, on_flush=reports.append)
    conversation = conversation_of(model, chat, is_async=is_async)
    assert await talk(conversation, 20) == 0
    assert_nothing_lost(folder, conversation)
    assert "SF" in script.kinds
    assert script.kinds.count("F") == script.kinds.count("S") == len(reports)
    assert {report.reason for report in reports} == {"compaction"}


WORKER = Path(__file__).with_name("worker.py")
WORKER_TURNS = 6
STEPS = {"chat": 46, "flush": 46}
"""Steps of a talk with one compaction; the first test counts them."""

FAILED = 255
"""Exit status of a talk that raised an error."""

needs_processes = pytest.mark.skipif(not hasattr(os, "fork"), reason="no SIGKILL here")


def ended(kind, *runs):
    """Talk in processes that are killed, each in its folder at its step; tell how each ended."""
    pytest.importorskip("langgraph.checkpoint.sqlite", reason="no sqlite checkpointer")
    run = subprocess.run(
        [sys.executable, WORKER, kind, *(str(part) for run in runs for part in run)],
        env=environment(),
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert run.returncode == 0, run.stderr
    how = [int(line) for line in run.stdout.split()]
    assert FAILED not in how, run.stderr
    return how


@pytest.mark.slow
@pytest.mark.processes
@needs_processes
@pytest.mark.parametrize("kind", sampled(STEPS, every=2))
def test_a_talk_has_as_many_steps_as_are_tried(tmp_path, kind):
    assert ended(kind, (tmp_path, 0)) == [STEPS[kind]]
    assert logged(tmp_path / "notes") == [f"fact-{turn}" for turn in range(WORKER_TURNS)]


@pytest.mark.slow
@pytest.mark.processes
@needs_processes
@pytest.mark.parametrize("every", [9, pytest.param(3, marks=pytest.mark.full)])
@pytest.mark.parametrize("kind", sampled(STEPS, every=2))
def test_a_process_that_is_killed_at_any_step_loses_nothing(tmp_path, kind, every):
    # In turn before a call and behind one, which is before the next: an odd number of steps.
    steps = range(1, STEPS[kind], every)
    runs = [(tmp_path / str(step), at) for step in steps for at in (step, 0)]
    how = ended(kind, *runs)
    assert set(how[::2]) == {-signal.SIGKILL}
    assert all(status >= 0 for status in how[1::2])
    found = {step: sorted(logged(tmp_path / str(step) / "notes")) for step in steps}
    assert found == {step: [f"fact-{turn}" for turn in range(WORKER_TURNS)] for step in steps}


@pytest.mark.slow
@pytest.mark.full
@pytest.mark.processes
@needs_processes
def test_a_process_that_is_killed_beside_a_background_flush_loses_nothing(tmp_path):
    # Two threads take their steps in any order, so that a process may end before its last one.
    steps = range(2, 64, 7)
    runs = [(tmp_path / str(step), at) for step in steps for at in (step, 0)]
    how = ended("background", *runs)
    killed = [status for status in how[::2] if status == -signal.SIGKILL]
    assert len(killed) > len(steps) // 2
    assert all(status >= 0 for status in how[1::2])
    found = {step: sorted(logged(tmp_path / str(step) / "notes")) for step in steps}
    assert found == {step: [f"fact-{turn}" for turn in range(WORKER_TURNS)] for step in steps}
