"""`ChatMemory`: nothing is lost, nothing is written twice."""

from __future__ import annotations

import asyncio
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

pytest.importorskip("llama_index.core", reason="the extra llama-index is not installed")

from llama_index.core.agent.workflow import AgentWorkflow, FunctionAgent
from llama_index.core.base.llms.types import ChatMessage, LLMMetadata
from llama_index.core.chat_engine import SimpleChatEngine
from llama_index.core.memory import Memory as StockMemory

from llama_index_commonplace import ChatMemory, MemoryContextBlock
from support.llama_index_talk import (
    FILLER,
    TURNS,
    Hanging,
    Writer,
    agree,
    called,
    fact,
    facts_in,
    kept_in,
    log_of,
    lookup,
)
from support.sampling import sampled


@pytest.mark.slow
@pytest.mark.parametrize("kind", sampled(["agent", "workflow"], every=2))
async def test_in_forty_turns_nothing_is_lost_or_written_twice(chat_with, folder, kind):
    llm, reports = Writer(), []
    chat = chat_with(llm, on_flush=reports.append)
    agent = (
        FunctionAgent(llm=llm, tools=[lookup])
        if kind == "agent"
        else AgentWorkflow.from_tools_or_functions([lookup], llm=llm)
    )
    said = []
    for turn in range(TURNS):
        said.append(fact(turn))
        await agent.run(f"{fact(turn)} {FILLER}", memory=chat)
        await agree(chat, folder, said)
    logged = facts_in(log_of(folder))
    assert 10 < len(logged) < TURNS
    assert 1 < len(reports) < TURNS / 2
    assert all(report.failed is None and report.safe for report in reports)
    assert {report.thread for report in reports} == {chat.session_id}
    report = await chat.aflush()
    assert report.reason == "session_end"
    assert sorted(await agree(chat, folder, said)) == sorted(said)
    assert (await chat.aflush()).messages == 0


@pytest.mark.slow
def test_sync_puts_ask_the_sync_model(chat_with, folder):
    llm = Writer()
    chat = chat_with(llm)
    threads = []
    object.__setattr__(llm, "trouble", lambda _: threads.append(_running_loop()))
    engine = SimpleChatEngine.from_defaults(llm=llm, memory=chat)
    for turn in range(TURNS):
        engine.chat(f"{fact(turn)} {FILLER}")
    with pytest.raises(ValueError, match="the reason is 'manual'; known are tokens"):
        chat.flush(reason="manual")
    chat.flush()
    assert sorted(facts_in(log_of(folder))) == sorted(map(fact, range(TURNS)))
    assert threads
    assert not any(threads)


@pytest.mark.slow
async def test_sync_puts_work_where_a_loop_runs(chat_with, folder):
    llm = Writer()
    chat = chat_with(llm)
    for turn in range(TURNS):
        chat.put(ChatMessage(role="user", content=f"{fact(turn)} {FILLER}"))
    assert len(llm.silent) > 1
    await agree(chat, folder, [fact(turn) for turn in range(TURNS)])


def _running_loop():
    try:
        return asyncio.get_running_loop()
    except RuntimeError:
        return None


@pytest.mark.slow
@pytest.mark.parametrize("broken", sampled(range(1, 9), every=3))
async def test_a_model_that_fails_once_costs_nothing(chat_with, folder, broken):
    def trouble(number):
        if number == broken:
            raise ConnectionError("the provider is down")

    llm, reports = Writer(trouble), []
    chat = chat_with(llm, on_flush=reports.append)
    said = [fact(turn) for turn in range(TURNS)]
    for text in said:
        await chat.aput(ChatMessage(role="user", content=f"{text} {FILLER}"))
        await chat.aput(ChatMessage(role="assistant", content=FILLER))
    if (await chat.aflush()).failed:
        await chat.aflush()
    assert sorted(facts_in(log_of(folder))) == sorted(said)
    assert sum(report.failed is not None for report in reports) == (len(llm.silent) >= broken)


@pytest.mark.parametrize("way", ["next flush", "aretry", "retry"])
async def test_what_failed_flushes_left_becomes_notes_when_the_model_is_well(
    chat_with, folder, way
):
    llm = Writer(lambda number: 1 / 0 if number <= 3 else None)
    chat = chat_with(llm)
    said = [fact(turn) for turn in range(30)]
    failed = []
    for text in said:
        await chat.aput(ChatMessage(role="user", content=f"{text} {FILLER} {FILLER}"))
        if len(llm.silent) == 3 and not failed:
            failed = facts_in("\n".join(llm.silent))
            if way == "retry":
                await asyncio.to_thread(chat.retry)
            elif way == "aretry":
                await chat.aretry()
            if way != "next flush":
                assert set(failed) <= set(facts_in(log_of(folder)))
    await chat.aflush()
    assert chat._flusher.flusher.wait(20)
    assert len(set(failed)) > 1
    assert sorted(facts_in(log_of(folder))) == sorted(said)


async def test_a_model_that_always_fails_loses_nothing(chat_with, folder, open_folder):
    def trouble(_):
        raise ConnectionError("the provider is down")

    broken = Writer(trouble)
    memory = open_folder()
    chat = chat_with(broken, memory=memory, session_id="one")
    said = [fact(turn) for turn in range(10)]
    for text in said:
        await chat.aput(ChatMessage(role="user", content=f"{text} {FILLER} {FILLER}"))
    assert len(await kept_in(chat)) > 0
    assert facts_in(log_of(folder)) == []
    await chat.areset()
    whole = chat_with(Writer(), memory=memory, session_id="two")
    await whole.aput(ChatMessage(role="user", content="Hello"))
    assert whole._flusher.flusher.wait(20)
    files = "\n".join(
        file.read_text() for file in Path(memory.index_location).parent.rglob("*.jsonl")
    )
    assert set(facts_in(log_of(folder)) + facts_in(files)) == set(said)


@pytest.mark.slow
@pytest.mark.parametrize("form", ["async", "sync"])
async def test_a_model_that_hangs_is_left_alone_and_asked_again(
    chat_with, folder, open_folder, form
):
    llm, reports = Hanging(), []
    chat = chat_with(llm, memory=open_folder(deadline_s=1.0), on_flush=reports.append)
    said = [fact(turn) for turn in range(12)]
    for text in said:
        message = ChatMessage(role="user", content=f"{text} {FILLER} {FILLER}")
        if form == "async":
            await chat.aput(message)
        else:
            await asyncio.to_thread(chat.put, message)
        if reports:
            object.__setattr__(llm, "hangs", False)
            llm.over.set()
    assert "did not answer" in reports[0].failed
    await chat.aflush()
    assert sorted(facts_in(log_of(folder))) == sorted(said)


@pytest.mark.slow
async def test_after_a_restart_nothing_is_written_twice(chat_with, folder, tmp_path):
    options = {
        "session_id": "chat",
        "async_database_uri": f"sqlite+aiosqlite:///{tmp_path / 'chat.db'}",
    }
    said = []
    for turn in range(TURNS):
        chat = chat_with(Writer(), **options)
        said.append(fact(turn))
        await chat.aput(ChatMessage(role="user", content=f"{said[-1]} {FILLER}"))
        await chat.aput(ChatMessage(role="assistant", content=FILLER))
    await agree(chat, folder, said)
    await chat.aflush()
    assert sorted(facts_in(log_of(folder))) == sorted(said)


@pytest.mark.slow
@pytest.mark.processes
@pytest.mark.parametrize("killed_at", sampled([1, 2, 3], every=3))
async def test_a_killed_process_loses_nothing(chat_with, folder, tmp_path, killed_at):
    script = f"""
        import asyncio, os, sys
        sys.path[:0] = {sys.path!r}
        from commonplace import Memory
        from support.fakes import clock
        from llama_index.core.base.llms.types import ChatMessage
        from llama_index_commonplace import ChatMemory
        from support.llama_index_talk import FILLER, Writer, fact

        def trouble(number):
            if number == {killed_at}:
                os._exit(9)

        async def main():
            memory = Memory.open({str(folder)!r}, embedder=None, now=clock(),
                                 index={str(tmp_path / "state" / "index.sqlite")!r})
            chat = ChatMemory.from_defaults(
                memory, llm=Writer(trouble), token_limit=400, token_flush_size=60,
                session_id="chat", async_database_uri="sqlite+aiosqlite:///{tmp_path / "chat.db"}",
            )
            for turn in range({TURNS}):
                print(fact(turn), flush=True)
                await chat.aput(ChatMessage(role="user", content=f"{{fact(turn)}} {{FILLER}}"))
                await chat.aput(ChatMessage(role="assistant", content=FILLER))

        asyncio.run(main())
    """
    run = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(script)], capture_output=True, text=True, check=False
    )
    assert run.returncode == 9, run.stderr
    said = run.stdout.split()
    uri = f"sqlite+aiosqlite:///{tmp_path / 'chat.db'}"
    chat = chat_with(Writer(), session_id="chat", async_database_uri=uri)
    await chat.aput(ChatMessage(role="user", content=f"{said[-1]} {FILLER}"))  # said again
    await agree(chat, folder, said)
    await chat.aflush()
    assert sorted(facts_in(log_of(folder))) == sorted(said)


async def test_a_history_that_is_set_anew_flushes_what_it_drops(chat_with, folder):
    llm = Writer()
    chat = chat_with(llm, token_limit=30_000)
    history = [ChatMessage(role="user", content=f"{fact(turn)} {FILLER}") for turn in range(6)]
    await chat.aset(history[:4])
    await chat.aset(history)
    assert llm.silent == []
    await chat.aset(history[3:])
    assert {fact(0), fact(1), fact(2)} <= set(facts_in(log_of(folder)))
    assert len(llm.silent) <= 2
    await chat.aset(history[4:])
    await agree(chat, folder, [fact(turn) for turn in range(6)])


@pytest.mark.parametrize("form", ["async", "sync"])
async def test_a_reset_flushes_the_tail_and_archives_when_asked(
    chat_with, folder, open_folder, form
):
    memory = open_folder()
    chat = chat_with(Writer(), memory=memory, token_limit=30_000)
    for archive in (False, True):
        await chat.aput(ChatMessage(role="user", content=f"{fact(int(archive))} {FILLER}"))
        await chat.aput(ChatMessage(role="assistant", content="Noted."))
        if form == "async":
            await chat.areset(archive=archive)
        else:
            chat.reset(archive=archive)
        assert await chat.aget_all() == []
        archived = list(Path(memory.index_location).parent.rglob("*.jsonl"))
        assert len(archived) == archive
    assert "FACT-1" in archived[0].read_text()
    assert facts_in(log_of(folder)) == ["FACT-0", "FACT-1"]


@pytest.mark.parametrize("way", ["areset", "reset", "aset", "set"])
async def test_a_conversation_that_nothing_else_keeps_is_archived_before_it_is_deleted(
    chat_with, folder, open_folder, way
):
    memory = open_folder()
    chat = chat_with(Writer(), memory=memory)
    await chat.aput(ChatMessage(role="user", content=f"{fact(1)} {FILLER}"))
    folder.rename(folder.with_name("gone"))
    arguments = [[]] if way.endswith("set") and "re" not in way else []
    done = getattr(chat, way)(*arguments)
    if done is not None:
        await done
    assert await chat.aget_all() == []
    [archived] = Path(memory.index_location).parent.rglob("*.jsonl")
    assert "FACT-1" in archived.read_text()


@pytest.mark.parametrize("way", ["areset", "aset"])
async def test_what_can_be_kept_nowhere_stops_a_reset_but_no_turn(
    chat_with, folder, open_folder, way, caplog
):
    memory = open_folder()
    chat = chat_with(Writer(), memory=memory)
    await chat.aput(ChatMessage(role="user", content=f"{fact(1)} {FILLER}"))
    folder.rename(folder.with_name("gone"))
    (Path(memory.index_location).parent / "sessions").write_text("no folder")
    if way == "areset":
        with pytest.raises(OSError):
            await chat.areset()
        assert "FACT-1" in await kept_in(chat)
    else:
        await chat.aset([ChatMessage(role="user", content="Hello")])
        assert await kept_in(chat) == "Hello"
        assert "could be kept nowhere" in caplog.text


async def test_where_flushes_are_off_it_is_the_stock_memory(chat_with, folder, open_folder):
    llm, memory = Writer(), open_folder(enabled=False)
    chat = chat_with(llm, memory=memory)
    for turn in range(TURNS):
        await chat.aput(ChatMessage(role="user", content=f"{fact(turn)} {FILLER}"))
    await chat.areset()
    assert llm.silent == []
    assert (
        list(folder.rglob("*.md"))
        == list(Path(memory.index_location).parent.rglob("*.jsonl"))
        == []
    )


async def test_tool_calls_are_counted(chat_with):
    chat, stock = chat_with(Writer()), chat_with(None, kind=StockMemory)
    call = called("lookup", words=[FILLER] * 50)
    assert stock._estimate_token_count(call) == 0
    assert chat._estimate_token_count(call) > 500
    assert chat._estimate_token_count([call, call]) == 2 * chat._estimate_token_count(call)
    assert chat._estimate_token_count("a few words") < 20
    plain = ChatMessage(role="user", content=FILLER)
    assert chat._estimate_token_count(plain) == chat._estimate_token_count([plain]) > 10
    assert chat._estimate_token_count(ChatMessage(role="user", content=None)) == 0


async def test_one_put_is_one_flush_however_much_leaves(chat_with):
    llm, reports = Writer(), []
    chat = chat_with(llm, on_flush=reports.append)
    much = [ChatMessage(role="user", content=f"{fact(turn)} {FILLER}") for turn in range(30)]
    await chat.aput_messages(much)
    assert len(reports) == 1
    assert len(llm.silent) <= 2


async def test_a_model_without_functions_writes_in_words(chat_with, folder):
    class Words(Writer):
        @property
        def metadata(self):
            return LLMMetadata(is_chat_model=True, is_function_calling_model=False)

        def _respond(self, messages, tools=None, **_):
            self.silent.append(messages)
            return ChatMessage(
                role="assistant",
                content="\n".join(f"- {found}" for found in facts_in(messages[1].content)),
            )

    llm = Words()
    chat = chat_with(llm)
    for turn in range(TURNS):
        await chat.aput(ChatMessage(role="user", content=f"{fact(turn)} {FILLER}"))
    await chat.aflush()
    assert sorted(facts_in(log_of(folder))) == sorted(map(fact, range(TURNS)))
    assert len(llm.silent) > 1


@pytest.mark.slow
async def test_the_silent_turn_shows_in_no_stream(chat_with):
    llm, reports = Writer(), []
    agent = FunctionAgent(llm=llm)
    chat = chat_with(llm, on_flush=reports.append)
    streamed = ""
    for turn in range(20):
        handler = agent.run(f"{fact(turn)} {FILLER}", memory=chat)
        async for event in handler.stream_events():
            streamed += getattr(event, "delta", "")
        await handler
    assert reports
    assert streamed.count("Noted, ") == 20
    assert "NO_REPLY" not in streamed
    assert "The user said" not in streamed


async def test_it_takes_memory_blocks_and_a_history(chat_with, open_folder):
    memory = open_folder()
    memory.append("- The heron moved to rack 7.")
    chat = chat_with(
        Writer(),
        memory=memory,
        token_limit=30_000,
        memory_blocks=[MemoryContextBlock(memory=memory)],
        chat_history=[ChatMessage(role="user", content="Hello")],
    )
    first, second = await chat.aget()
    assert "rack 7" in first.content
    assert second.content == "Hello"


async def test_a_chat_memory_is_opened_with_a_memory():
    chat = ChatMemory(token_limit=100)
    with pytest.raises(ValueError, match="from_defaults"):
        await chat.aput(ChatMessage(role="user", content="Hello"))


@pytest.mark.slow
async def test_a_model_that_does_not_say_what_it_takes_is_not_asked_many_times(chat_with, folder):
    llm = Writer()
    assert llm.metadata.context_window < 4_000
    chat = chat_with(llm, token_limit=30_000)
    asked = []
    for turn in range(130):
        before = len(llm.silent)
        await chat.aput(ChatMessage(role="user", content=f"{fact(turn)} {'tea ' * 240}"))
        asked.append(len(llm.silent) - before)
    assert sum(asked) > 0
    assert max(asked) <= 2
