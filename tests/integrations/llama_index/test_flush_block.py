"""`FlushMemoryBlock`: what leaves a stock memory is written down, once, whatever goes wrong."""

from __future__ import annotations

import signal
import subprocess
import sys

import pytest

from support.python_path import environment

pytest.importorskip("llama_index.core", reason="the extra llama-index is not installed")

from llama_index.core.agent.workflow import AgentWorkflow, FunctionAgent
from llama_index.core.base.llms.types import ChatMessage
from llama_index.core.memory import Memory as StockMemory

from llama_index_commonplace import FlushMemoryBlock
from support.llama_index_talk import (
    FILLER,
    TURNS,
    Hanging,
    Writer,
    agree,
    fact,
    facts_in,
    log_of,
    lookup,
)
from support.sampling import sampled

KILLED_TURNS = 14
SMALL = {"token_limit": 400, "token_flush_size": 60}


@pytest.fixture
def stock(chat_with):
    """Open a stock memory with a block."""

    def stock(block, **options):
        return chat_with(None, kind=StockMemory, memory_blocks=[block], **options)

    return stock


def agent_of(kind, llm):
    if kind == "workflow":
        return AgentWorkflow.from_tools_or_functions([lookup], llm=llm)
    return FunctionAgent(llm=llm, tools=[lookup])


def message(turn, role="user"):
    return ChatMessage(role=role, content=f"{fact(turn)} {FILLER}")


@pytest.mark.slow
@pytest.mark.parametrize("kind", sampled(["agent", "workflow"], every=2))
async def test_in_forty_turns_nothing_is_lost_or_written_twice(stock, folder, open_folder, kind):
    llm, reports, said = Writer(), [], []
    chat = stock(FlushMemoryBlock(memory=open_folder(), llm=llm, on_flush=reports.append))
    agent = agent_of(kind, llm)
    for turn in range(TURNS):
        said.append(fact(turn))
        await agent.run(f"{fact(turn)} {FILLER}", memory=chat)
        await agree(chat, folder, said)
    assert len(facts_in(log_of(folder))) > TURNS / 2
    assert all(report.failed is None and report.safe for report in reports)
    assert {report.thread for report in reports} == {chat.session_id}
    assert not [found for found in await chat.aget() if found.role == "system"]


async def test_what_leaves_in_one_put_is_one_silent_turn(stock, folder, open_folder):
    llm, reports = Writer(), []
    block = FlushMemoryBlock(memory=open_folder(), llm=llm, on_flush=reports.append)
    chat = stock(block, session_id="chat")
    await chat.aput_messages([message(turn) for turn in range(TURNS)])
    assert llm.kinds == []
    await chat.aget()
    assert llm.kinds == ["F"]
    [report] = reports
    assert (report.thread, report.reason) == ("chat", "compaction")
    assert report.messages == len(facts_in(log_of(folder))) > TURNS / 2


async def test_the_block_writes_down_when_asked(stock, folder, open_folder):
    block = FlushMemoryBlock(memory=open_folder(), llm=Writer())
    chat = stock(block)
    await chat.aput_messages([message(turn) for turn in range(TURNS)])
    await block.aflush()
    first = facts_in(log_of(folder))
    assert len(first) > TURNS / 2
    await chat.aput_messages([message(turn) for turn in range(TURNS, 2 * TURNS)])
    block.flush()
    assert len(facts_in(log_of(folder))) == len(set(facts_in(log_of(folder)))) > len(first)


def test_a_sync_conversation_is_written_down(stock, folder, open_folder):
    chat = stock(FlushMemoryBlock(memory=open_folder(), llm=Writer()))
    for turn in range(TURNS):
        chat.put(message(turn))
    assert facts_in(log_of(folder)) == []
    kept = {found for text in chat.get() for found in facts_in(text.content)}
    assert {*facts_in(log_of(folder)), *kept} == {fact(turn) for turn in range(TURNS)}


@pytest.mark.parametrize("broken", range(1, 6))
async def test_a_failing_model_costs_nothing(stock, folder, open_folder, broken):
    def trouble(number):
        if number == broken:
            raise ConnectionError("the provider is down")

    chat = stock(FlushMemoryBlock(memory=open_folder(), llm=Writer(trouble)))
    said = [fact(turn) for turn in range(TURNS)]
    for turn in range(TURNS):
        await chat.aput(message(turn))
        await chat.aget()
    await agree(chat, folder, said)


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["agent", "workflow"])
async def test_a_model_that_hangs_costs_nothing(stock, folder, open_folder, kind):
    def told(report):
        reports.append(report)
        object.__setattr__(llm, "hangs", False)

    llm, reports, said = Hanging(), [], []
    memory = open_folder(deadline_s=0.5)
    chat = stock(FlushMemoryBlock(memory=memory, llm=llm, on_flush=told))
    agent = agent_of(kind, llm)
    for turn in range(10):
        said.append(fact(turn))
        await agent.run(f"{fact(turn)} {FILLER}", memory=chat)
    assert "did not answer" in reports[0].failed
    await agree(chat, folder, said)
    assert len(facts_in(log_of(folder))) > 2


async def test_what_failed_for_good_is_written_down_by_retry(folder, open_folder):
    block = FlushMemoryBlock(memory=open_folder(), llm=Writer(lambda number: 1 / (number > 3)))
    await block.aput([message(1)], session_id="a")
    for _ in range(3):
        await block.aflush()
    assert facts_in(log_of(folder)) == []
    assert [report.failed for report in await block.aretry()] == [None]
    assert facts_in(log_of(folder)) == [fact(1)]
    assert block.retry() == ()


async def test_what_could_not_be_written_anywhere_is_kept(folder, open_folder):
    block = FlushMemoryBlock(memory=open_folder(), llm=Writer())
    away = folder.with_name("away")
    folder.rename(away)
    await block.aput([message(1)], session_id="a")
    await block.aflush()
    away.rename(folder)
    await block.aput([message(2)], session_id="a")
    await block.aflush()
    assert facts_in(log_of(folder)) == [fact(1), fact(2)]
    assert "memory" not in block.model_dump()


async def test_sessions_are_kept_apart(folder, open_folder):
    reports = []
    block = FlushMemoryBlock(memory=open_folder(), llm=Writer(), on_flush=reports.append)
    for turn, session in enumerate("abab"):
        await block.aput([message(turn)], session_id=session)
    await block.aflush()
    assert {(report.thread, report.messages) for report in reports} == {("a", 2), ("b", 2)}
    assert sorted(facts_in(log_of(folder))) == [fact(turn) for turn in range(4)]


CHILD = """
import asyncio, os, signal, sys
from pathlib import Path
from commonplace import Memory
from support.fakes import clock
from llama_index.core.agent.workflow import FunctionAgent
from llama_index.core.memory import Memory as StockMemory
from llama_index_commonplace import FlushMemoryBlock
from support.llama_index_talk import FILLER, Writer, fact, lookup

folder, killed, times = Path(sys.argv[1]), sys.argv[2], int(sys.argv[3])

def kill(kind, number):
    if kind == killed and llm.kinds.count(kind) == times:
        os.kill(os.getpid(), signal.SIGKILL)

llm = Writer(fails=kill)

async def main():
    index = folder.parent / "state" / "index.sqlite"
    memory = Memory.open(folder, embedder=None, now=clock(), index=index)
    chat = StockMemory.from_defaults(
        token_limit=400, token_flush_size=60, session_id="chat", tokenizer_fn=str.split,
        memory_blocks=[FlushMemoryBlock(memory=memory, llm=llm)],
        async_database_uri=f"sqlite+aiosqlite:///{folder.parent / 'chat.db'}",
    )
    agent = FunctionAgent(llm=llm, tools=[lookup])
    for turn in range(14):
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
        pytest.param("l", 11, id="tool call", marks=pytest.mark.full),
        pytest.param("a", 10, id="answer", marks=pytest.mark.full),
        pytest.param("F", 1, id="flush"),
        pytest.param("F", 3, id="third flush", marks=pytest.mark.full),
    ],
)
async def test_a_process_that_is_killed_loses_nothing(
    stock, folder, open_folder, tmp_path, kind, times
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
    assert 1 < turn < KILLED_TURNS
    llm = Writer()
    uri = f"sqlite+aiosqlite:///{tmp_path / 'chat.db'}"
    block = FlushMemoryBlock(memory=open_folder(), llm=llm)
    chat = stock(block, session_id="chat", async_database_uri=uri)
    await chat.aget()
    assert block._flusher.wait(20)
    await agree(chat, folder, [fact(number) for number in range(turn)])
    for number in range(turn, KILLED_TURNS):
        await agent_of("agent", llm).run(f"{fact(number)} {FILLER}", memory=chat)
    await agree(chat, folder, [fact(number) for number in range(KILLED_TURNS)])
