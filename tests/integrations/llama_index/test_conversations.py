"""Conversations of `ChatMemory` at once, long ones, and those of sync models."""

from __future__ import annotations

import asyncio
import contextlib
import inspect
import sqlite3
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import pytest

pytest.importorskip("llama_index.core", reason="the extra llama-index is not installed")

from llama_index.core.base.llms.types import ChatMessage, CompletionResponse, LLMMetadata
from llama_index.core.llms import CustomLLM
from llama_index.core.memory import Memory as StockMemory
from llama_index.core.storage.chat_store.sql import SQLAlchemyChatStore
from sqlalchemy import event
from sqlalchemy.ext.asyncio import create_async_engine
from sqlalchemy.pool import Pool

from llama_index_commonplace import ChatMemory, chat_store
from support.llama_index_talk import FILLER, Writer, agree, fact, facts_in, log_of


def said(turn):
    return ChatMessage(role="user", content=f"{fact(turn)} {FILLER}")


def uri_of(tmp_path):
    return f"sqlite+aiosqlite:///{tmp_path / 'chat.db'}"


async def test_stores_of_all_threads_have_one_loop(monkeypatch):
    monkeypatch.setattr(chat_store, "_LOOPS", {})
    found = await asyncio.gather(*(asyncio.to_thread(chat_store._store_loop) for _ in range(20)))
    assert len(set(found)) == 1
    found[0].call_soon_threadsafe(found[0].stop)
    await asyncio.to_thread(
        lambda: [time.sleep(0.001) for _ in range(999) if found[0].is_running()]
    )
    found[0].close()


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["memory", "file", "engine"])
async def test_sixty_puts_at_once_are_all_kept(chat_with, folder, tmp_path, kind):
    options = {"file": {"async_database_uri": uri_of(tmp_path)}}.get(kind, {})
    if kind == "engine":
        options = {"async_engine": create_async_engine(uri_of(tmp_path))}
    chat = chat_with(Writer(), token_limit=30_000, **options)
    reading = [asyncio.create_task(chat.aget_all()) for _ in range(20)]
    await asyncio.gather(*(chat.aput(said(turn)) for turn in range(60)), *reading)
    found = [facts_in(message.content)[0] for message in await chat.aget_all()]
    assert found == [fact(turn) for turn in range(60)]


@pytest.fixture
def listen():
    """Return a function that listens to the events of all pools of connections."""
    heard = []

    def listen(name, hear):
        event.listen(Pool, name, hear)
        heard.append((Pool, name, hear))

    yield listen
    for each in heard:
        event.remove(*each)


@pytest.mark.parametrize("kind", ["memory", "file", "engine"])
async def test_the_connections_are_closed_but_for_those_of_an_engine_of_the_caller(
    chat_with, tmp_path, listen, kind
):
    options = {"file": {"async_database_uri": uri_of(tmp_path)}}.get(kind, {})
    if kind == "engine":
        options = {"async_engine": create_async_engine(uri_of(tmp_path))}
    opened, closed = [], []
    listen("connect", lambda connection, _: opened.append(connection))
    listen("close", lambda connection, _: closed.append(connection))
    async with chat_with(Writer(), token_limit=30_000, session_id="a", **options) as chat:
        await chat.aclose()  # nothing is open yet
        await asyncio.gather(*(chat.aput(said(turn)) for turn in range(3)))
    assert opened
    assert closed == ([] if kind == "engine" else opened)
    if kind != "memory":
        assert len(await chat.aget_all()) == 3  # it opens what it needs again


@pytest.mark.slow
async def test_puts_at_once_that_evict_lose_and_double_nothing(chat_with, folder):
    chat = chat_with(Writer())
    await asyncio.gather(*(chat.aput(said(turn)) for turn in range(60)))
    await agree(chat, folder, [fact(turn) for turn in range(60)])
    assert len(await chat.aget_all()) == 60


@pytest.mark.slow
async def test_objects_and_threads_of_one_conversation_wait_for_one_another(
    chat_with, folder, tmp_path, open_folder
):
    memory = open_folder()
    options = {"session_id": "one", "async_database_uri": uri_of(tmp_path), "memory": memory}
    chats = [chat_with(Writer(), **options) for _ in range(4)]
    puts = [chats[turn % 4].aput(said(turn)) for turn in range(20)]

    def put(part):
        for turn in range(20 + part, 40, 2):
            chats[turn % 4].put(said(turn))

    await asyncio.gather(*puts, *(asyncio.to_thread(put, part) for part in range(2)))
    await agree(chats[0], folder, [fact(turn) for turn in range(40)])
    assert len(await chats[1].aget_all()) == 40


async def test_first_puts_of_many_sessions_make_one_table(chat_with, open_folder, tmp_path):
    memory = open_folder()
    chats = [
        chat_with(
            Writer(), memory=memory, session_id=str(turn), async_database_uri=uri_of(tmp_path)
        )
        for turn in range(20)
    ]
    await asyncio.gather(*(chat.aput(said(turn)) for turn, chat in enumerate(chats)))
    found = await asyncio.gather(*(chat.aget_all() for chat in chats))
    assert [len(messages) for messages in found] == [1] * 20


async def test_a_sync_put_beside_a_coroutine_of_the_same_loop_comes_to_an_end(chat_with):
    chat = chat_with(Writer(), token_limit=30_000)
    putting = [asyncio.create_task(chat.aput(said(turn))) for turn in range(5)]
    await asyncio.sleep(0)
    chat.put(said(5))
    await asyncio.gather(*putting)
    assert len(await chat.aget_all()) == 6


async def test_threads_that_take_all_of_a_loops_executor_do_not_wait_for_ever(
    chat_with, monkeypatch
):
    monkeypatch.setattr("llama_index_commonplace.chat_store._WAIT_S", 0.2)
    asyncio.get_running_loop().set_default_executor(ThreadPoolExecutor(2))
    chat = chat_with(Writer(), token_limit=30_000)
    puts = [asyncio.to_thread(chat.put, said(turn)) for turn in range(4)]
    await asyncio.gather(chat.aput(said(4)), *puts)
    assert len(await chat.aget_all()) == 5


async def test_the_queue_is_read_without_the_messages_that_left_it(chat_with, tmp_path):
    chat = chat_with(Writer(), session_id="one", async_database_uri=uri_of(tmp_path))
    for turn in range(30):
        await chat.aput(said(turn))
    with contextlib.closing(sqlite3.connect(tmp_path / "chat.db")) as database:
        [(*_, plan)] = database.execute(
            f"EXPLAIN QUERY PLAN SELECT * FROM {chat.sql_store.table_name}"
            " WHERE key = 'one' AND status = 'active' ORDER BY timestamp, id"
        )
    assert "_queue (key=? AND status=?)" in plan


@pytest.mark.slow
@pytest.mark.parametrize("database", ["in memory", "a file"])
async def test_puts_that_do_not_get_the_lock_lose_nothing(
    chat_with, folder, monkeypatch, tmp_path, database
):
    monkeypatch.setattr("llama_index_commonplace.chat_store._WAIT_S", 0.01)
    options = {"session_id": "one", "async_database_uri": uri_of(tmp_path)}
    chat = chat_with(
        Writer(lambda _: time.sleep(0.05)), **(options if database == "a file" else {})
    )

    def put(turns):
        for turn in turns:
            chat.put(said(turn))

    async def aput(turns):
        for turn in turns:
            await chat.aput(said(turn))

    threads = [asyncio.to_thread(put, range(first, first + 15)) for first in (100, 200, 300)]
    await asyncio.gather(aput(range(15)), *threads)
    await chat.aflush()
    facts = [fact(first + turn) for first in (0, 100, 200, 300) for turn in range(15)]
    kept = [found for message in await chat.aget_all() for found in facts_in(message.content)]
    assert sorted(kept) == sorted(facts)
    assert set(facts_in(log_of(folder))) == set(facts)


@pytest.mark.parametrize("form", ["async", "sync"])
async def test_what_on_flush_puts_does_not_wait_for_its_own_flush(chat_with, form):
    async def note(_):
        told.append(1)
        if len(told) > 1:
            return
        if form == "async":
            await chat.aput(ChatMessage(role="assistant", content="I took notes."))
        else:
            chat.put(ChatMessage(role="assistant", content="I took notes."))

    told = []
    chat = chat_with(Writer(), on_flush=note)
    for turn in range(30):
        if form == "async":
            await chat.aput(said(turn))
        else:
            await asyncio.to_thread(chat.put, said(turn))
    assert "I took notes." in [message.content for message in await chat.aget_all()]


async def test_a_put_that_is_cancelled_leaves_the_conversation_to_the_next(chat_with, folder):
    chat = chat_with(Writer(), token_limit=30_000)
    puts = [asyncio.create_task(chat.aput(said(turn))) for turn in range(10)]
    await asyncio.sleep(0.002)
    for put in puts[::2]:
        put.cancel()
    await asyncio.gather(*puts, return_exceptions=True)
    await asyncio.wait_for(chat.aput(said(10)), 10)
    kept = {found for message in await chat.aget_all() for found in facts_in(message.content)}
    assert {fact(turn) for turn in (1, 3, 5, 7, 9, 10)} <= kept


async def test_a_store_of_the_users_own_is_used_as_it_is(chat_with, folder):
    if "chat_store" not in inspect.signature(StockMemory.from_defaults).parameters:
        pytest.skip("LlamaIndex before 0.14.24 takes no store")
    store = SQLAlchemyChatStore("talks")
    chat = chat_with(Writer(), chat_store=store)
    assert chat.sql_store is store
    for turn in range(30):
        await chat.aput(said(turn))
    await agree(chat, folder, [fact(turn) for turn in range(30)])


@pytest.mark.slow
async def test_a_flush_reads_what_is_new_and_not_what_was_archived(chat_with, folder):
    chat = chat_with(Writer())
    store, read = type(chat.sql_store), []

    class Counting(store):
        async def get_messages(self, key, **options):
            found = await store.get_messages(self, key, **options)
            read.append(len(found))
            return found

    chat.sql_store.__class__ = Counting
    for turn in range(30):
        await chat.aput(said(turn))
    first = max(read)
    read.clear()
    for turn in range(30, 80):
        await chat.aput(said(turn))
    assert max(read) <= first
    await agree(chat, folder, [fact(turn) for turn in range(80)])


@pytest.mark.slow
async def test_an_exchange_that_is_repeated_much_later_is_written_down_again(chat_with, folder):
    chat = chat_with(Writer())
    for turn in (*range(15), *range(3), *range(15, 30), *range(3)):
        await chat.aput(said(turn))
        await chat.aput(ChatMessage(role="assistant", content="Noted."))
    await chat.aflush()
    told = "\n".join(chat._flusher.flusher._model.llm.silent)
    assert told.count(f"User: {fact(1)} ") == 3


@pytest.mark.slow
@pytest.mark.parametrize("change", ["another object", "the stock memory"])
async def test_what_something_else_put_into_the_conversation_is_written_down(
    chat_with, folder, tmp_path, open_folder, change
):
    options = {"session_id": "one", "async_database_uri": uri_of(tmp_path)}
    memory = open_folder()
    chat = chat_with(Writer(), memory=memory, **options)
    kind = ChatMemory if change == "another object" else StockMemory
    other = chat_with(Writer(), memory=memory, kind=kind, token_limit=30_000, **options)
    for turn in range(40):
        await (other if turn % 3 == 1 else chat).aput(said(turn))
    await agree(chat, folder, [fact(turn) for turn in range(40)])


class SyncModel(CustomLLM):
    """Writes a note without tools, and has no async method of its own."""

    waits: float = 0.0

    @property
    def metadata(self):
        return LLMMetadata(is_chat_model=False)

    def complete(self, prompt, formatted=False, **_):
        assert threading.current_thread() is not threading.main_thread()
        time.sleep(self.waits)
        return CompletionResponse(text="\n".join(f"- {found}" for found in facts_in(prompt)))

    def stream_complete(self, prompt, formatted=False, **_):
        yield self.complete(prompt)


@pytest.mark.slow
async def test_a_sync_model_is_called_in_a_thread_and_keeps_its_deadline(
    chat_with, open_folder, folder, ticks
):
    reports = []
    chat = chat_with(
        SyncModel(waits=1.5), memory=open_folder(deadline_s=0.3), on_flush=reports.append
    )
    async with ticks:
        before = time.monotonic()
        for turn in range(40):
            await chat.aput(said(turn))
            if reports:
                break
        assert time.monotonic() - before < 1.4
    assert ticks.count > 20
    assert "did not answer within" in reports[0].failed
    quick = chat_with(SyncModel(), session_id="quick")
    for turn in range(100, 130):
        await quick.aput(said(turn))
    assert fact(100) in facts_in(log_of(folder))


@pytest.mark.slow
async def test_what_a_process_left_is_written_before_its_messages_leave(
    chat_with, folder, open_folder, tmp_path
):
    options = {"session_id": "one", "async_database_uri": uri_of(tmp_path), "token_limit": 2_000}
    memory = open_folder()
    chat = chat_with(Writer(), memory=memory, **options)
    for turn in range(40):
        await chat.aput(said(turn))
    rest = await chat._flusher.rest(await chat.aget_all())
    report = chat._flusher.flusher.enqueue(rest.messages, thread="one")  # and it is killed
    assert report.safe
    llm = Writer()
    restarted = chat_with(llm, memory=memory, **{**options, "token_limit": 400})
    await restarted.aput(said(40))
    logged = facts_in(log_of(folder))
    assert sorted(logged) == sorted(fact(turn) for turn in range(40))
    assert len(await restarted.aget()) < 40


async def test_a_flush_in_the_background_keeps_no_put_waiting(chat_with, folder):
    begun, goes_on = threading.Event(), threading.Event()

    def trouble(_):
        begun.set()
        goes_on.wait(10)

    reports = []
    chat = chat_with(Writer(trouble), flush="background", on_flush=reports.append)
    for turn in range(20):
        await chat.aput(said(turn))
    assert await asyncio.to_thread(begun.wait, 10)
    assert reports == []
    goes_on.set()
    assert (await chat.aflush()).safe
    assert chat._flusher.flusher.wait(20)
    assert sorted(facts_in(log_of(folder))) == sorted(fact(turn) for turn in range(20))
    with pytest.raises(ValueError, match="flush is 'later'; it must be"):
        chat_with(Writer(), flush="later")
