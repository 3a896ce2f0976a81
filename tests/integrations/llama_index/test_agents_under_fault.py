"""Whatever goes wrong while an agent runs: no fact is lost or doubled, and the user goes on."""

from __future__ import annotations

import signal
import subprocess
import sys
from pathlib import Path

import pytest

from support.python_path import environment

pytest.importorskip("llama_index.core", reason="the extra llama-index is not installed")

from llama_index.core.agent.workflow import AgentWorkflow, FunctionAgent
from llama_index.core.workflow.errors import WorkflowCancelledByUser

from support.llama_index_talk import (
    FILLER,
    Hanging,
    Writer,
    called,
    fact,
    facts_in,
    log_of,
    lookup,
)
from support.sampling import sampled

TURNS = 10
SMALL = {"token_limit": 500, "token_flush_size": 100}
"""A turn takes about a hundred tokens: from the fourth one on, something leaves."""


def agent_of(llm, kind="agent"):
    if kind == "workflow":
        return AgentWorkflow.from_tools_or_functions([lookup], llm=llm)
    return FunctionAgent(llm=llm, tools=[lookup])


async def talk(agent, chat, turns=range(TURNS)):
    """Talk; a turn that fails is said again, as a user would. Return how many failed."""
    failed = 0
    for turn in turns:
        for _ in range(10):
            try:
                await agent.run(f"{fact(turn)} {FILLER}", memory=chat)
                break
            except ConnectionError:
                failed += 1
        else:
            raise AssertionError(f"turn {turn} never came to its end")
    return failed


async def all_is_written_once(chat, folder, turns=TURNS):
    """Check that each fact is in the log once when the session has ended."""
    report = await chat.aflush()
    if report.failed:  # it was this turn's turn to fail
        assert report.safe
        report = await chat.aflush()
    assert report.failed is None
    assert sorted(facts_in(log_of(folder))) == sorted(fact(turn) for turn in range(turns))


CALLS = 25


@pytest.mark.slow
async def test_a_talk_has_as_many_calls_as_are_broken_below(chat_with, folder):
    llm = Writer()
    chat = chat_with(llm, **SMALL)
    assert await talk(agent_of(llm), chat) == 0
    await all_is_written_once(chat, folder)
    kinds = "".join(llm.kinds)
    assert kinds.count("l") == kinds.count("a") == TURNS
    assert kinds.count("F") >= 3
    assert len(kinds) == CALLS


@pytest.mark.slow
@pytest.mark.parametrize("number", sampled(range(1, CALLS + 1), every=6))
async def test_a_model_that_raises_on_one_call_of_a_run(chat_with, folder, number):
    def fails(kind, n):
        if n == number:
            broken.append(kind)
            raise ConnectionError("the provider is down")

    broken, reports = [], []
    llm = Writer(fails=fails)
    chat = chat_with(llm, on_flush=reports.append, **SMALL)
    kind = "workflow" if number % 2 else "agent"
    failed = await talk(agent_of(llm, kind), chat)
    assert failed == (broken in (["l"], ["a"])), "only the answer itself may fail the turn"
    await all_is_written_once(chat, folder)
    assert broken
    assert all(report.safe for report in reports)
    assert sum(report.failed is not None for report in reports) == (broken == ["F"])


@pytest.mark.slow
@pytest.mark.full
@pytest.mark.parametrize("every", [3, 5, 7])
async def test_a_model_that_raises_again_and_again(chat_with, folder, open_folder, every):
    def fails(kind, n):
        if n % every == 0 and n < 30:
            raise ConnectionError("the provider is down")

    llm, memory = Writer(fails=fails), open_folder()
    chat = chat_with(llm, memory=memory, **SMALL)
    await talk(agent_of(llm), chat, range(16))
    assert (await chat.aflush()).failed is None
    logged = facts_in(log_of(folder))
    sessions = Path(memory.index_location).parent.rglob("*.jsonl")  # after three failures
    kept = {found for file in sessions for found in facts_in(file.read_text("utf-8"))}
    assert {*logged, *kept} == {fact(turn) for turn in range(16)}
    assert len(logged) == len(set(logged))
    assert len(logged) > 8


@pytest.mark.slow
async def test_a_silent_turn_that_hangs_does_not_hold_up_the_run(chat_with, folder, open_folder):
    def told(report):
        reports.append(report)
        object.__setattr__(llm, "hangs", False)

    llm, reports = Hanging(), []
    memory = open_folder(deadline_s=0.5)
    chat = chat_with(llm, memory=memory, on_flush=told, **SMALL)
    assert await talk(agent_of(llm), chat) == 0
    assert "did not answer" in reports[0].failed
    await all_is_written_once(chat, folder)


@pytest.mark.slow
async def test_a_turn_that_the_user_cancels_is_said_again(chat_with, folder):
    llm = Writer()
    chat, agent = chat_with(llm, **SMALL), agent_of(llm)
    for turn in range(TURNS):
        if turn % 3 == 1:
            handler = agent.run(f"{fact(turn)} {FILLER}", memory=chat)
            async for _ in handler.stream_events():
                await handler.cancel_run()
                break
            with pytest.raises(WorkflowCancelledByUser):
                await handler
        await agent.run(f"{fact(turn)} {FILLER}", memory=chat)
    await all_is_written_once(chat, folder)


GARBAGE = {
    "no text": called("memory_append", note="- x"),
    "a path": called("memory_append", text="- x", path="../../x.md"),
    "a number": called("memory_append", text=7),
}


@pytest.mark.slow
@pytest.mark.parametrize("garbage", GARBAGE.values(), ids=GARBAGE)
async def test_garbage_for_a_note_is_refused_and_the_run_goes_on(chat_with, folder, garbage):
    class Babbling(Writer):
        def _respond(self, messages, tools=None, **options):
            answer = super()._respond(messages, tools, **options)
            return garbage if self.kinds[-1] == "F" and self.kinds.count("F") == 1 else answer

    llm, reports = Babbling(), []
    chat = chat_with(llm, on_flush=reports.append, **SMALL)
    assert await talk(agent_of(llm), chat) == 0
    assert reports[0].failed
    assert {path.name for path in folder.parent.rglob("*.md")} == {"2026-11-20.md"}
    assert "- x" not in log_of(folder)
    await all_is_written_once(chat, folder)


CHILD = """
import asyncio, os, signal, sys
from pathlib import Path
from commonplace import Memory
from support.fakes import clock
from llama_index.core.agent.workflow import FunctionAgent
from llama_index_commonplace import ChatMemory
from support.llama_index_talk import FILLER, Writer, fact, lookup

folder, killed, times = Path(sys.argv[1]), sys.argv[2], int(sys.argv[3])

def kill(kind, number):
    if kind == killed and llm.kinds.count(kind) == times:
        os.kill(os.getpid(), signal.SIGKILL)

llm = Writer(fails=kill)

async def main():
    index = folder.parent / "state" / "index.sqlite"
    memory = Memory.open(folder, embedder=None, now=clock(), index=index)
    chat = ChatMemory.from_defaults(
        memory, llm=llm, token_limit=500, token_flush_size=100, session_id="chat",
        async_database_uri=f"sqlite+aiosqlite:///{folder.parent / 'chat.db'}",
    )
    agent = FunctionAgent(llm=llm, tools=[lookup])
    for turn in range(10):
        print(turn, flush=True)
        await agent.run(f"{fact(turn)} {FILLER}", memory=chat)

asyncio.run(main())
"""


@pytest.mark.slow
@pytest.mark.processes
@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="no SIGKILL here")
@pytest.mark.parametrize(
    ("kind", "times"),
    [
        pytest.param("l", 6, id="tool call", marks=pytest.mark.full),
        pytest.param("a", 6, id="answer", marks=pytest.mark.full),
        pytest.param("F", 1, id="flush"),
        pytest.param("F", 2, id="second flush", marks=pytest.mark.full),
    ],
)
async def test_a_process_that_is_killed_in_the_middle_of_a_run(
    chat_with, folder, tmp_path, kind, times
):
    pytest.importorskip("aiosqlite", reason="no database for conversations")
    killed = subprocess.run(
        [sys.executable, "-c", CHILD, str(folder), kind, str(times)],
        env=environment(),
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert killed.returncode == -signal.SIGKILL, killed.stderr
    turn = int(killed.stdout.split()[-1])
    assert 1 < turn < TURNS
    llm = Writer()
    uri = f"sqlite+aiosqlite:///{tmp_path / 'chat.db'}"
    chat = chat_with(llm, session_id="chat", async_database_uri=uri, **SMALL)
    assert await talk(agent_of(llm), chat, range(turn, TURNS)) == 0
    await all_is_written_once(chat, folder)
