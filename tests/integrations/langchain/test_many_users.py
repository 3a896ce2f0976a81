"""`memory=` by run: one agent, many users, and no line of one that is shown to another."""

from __future__ import annotations

import asyncio
import re
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import pytest

pytest.importorskip("langchain", reason="LangChain is not installed")

from langchain.agents import create_agent
from langchain_core.messages import HumanMessage
from langchain_core.runnables import RunnableLambda
from langgraph.checkpoint.memory import InMemorySaver

from commonplace import MemoryPool, NamespaceError, Settings
from commonplace.indexing import slots
from langchain_commonplace import (
    ChatMemory,
    CommonplaceRetriever,
    MemoryContextMiddleware,
    MemoryFlushMiddleware,
    memory_tools,
)
from support.fakes import HashedWords
from support.langchain_fakes import Notetaker, ScriptedChatModel, calling, kind_of
from support.langchain_talk import facts


@pytest.fixture
def pool(tmp_path):
    with MemoryPool(
        tmp_path / "users", embedder=HashedWords(), settings=Settings(timezone="UTC"), max_open=4
    ) as pool:
        yield pool


def run_of(user, thread="1"):
    return {"configurable": {"user_id": user, "thread_id": thread}}


def users_in(text):
    return set(re.findall(r"user\d+", text))


def said_to_the_model(call):
    return "\n".join(str(message.content) for message in call.messages)


def all_notes(pool, user):
    files = (pool.root / user).rglob("*.md")
    return "\n".join(file.read_text("utf-8") for file in files)


def writes_then_searches(call):
    """Append what the user said, search for it, and answer with what was found."""
    if kind_of(call) == "S":
        return "They talked."
    if kind_of(call) != "a":
        return Notetaker()(call)
    done = [message for message in call.messages if message.type == "tool"]
    asked = [message for message in call.messages if message.type == "human"][-1].text
    since = len([m for m in call.messages[call.messages.index(call.last) :] if m.type == "tool"])
    if call.last.type == "human":
        return calling("memory_append", f"a{len(done)}", text=f"- {asked.splitlines()[0]}")
    if (
        call.last.type == "tool"
        and since
        and "path" in call.last.text
        and "results" not in (call.last.text)
    ):
        return calling("memory_search", f"s{len(done)}", query="who am I")
    return "ok"


def agent_of(model, pool, **options):
    resolve = pool.resolver("user_id")
    middleware = [
        MemoryContextMiddleware(memory=resolve, recall=2),
        ChatMemory(model, memory=resolve, trigger=("messages", 8), keep=("messages", 2)),
    ]
    tools = memory_tools(resolve, write=True)
    return create_agent(model, tools=tools, middleware=middleware, **options), middleware[1]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("users", "checkpointed"),
    [
        pytest.param(8, True, id="8-checkpointer"),
        pytest.param(8, False, marks=pytest.mark.full, id="8-no checkpointer"),
        pytest.param(24, False, marks=pytest.mark.full, id="24-no checkpointer"),
        pytest.param(
            *(200, True),
            marks=[pytest.mark.full, pytest.mark.timeout(240)],
            id="200-checkpointer",
        ),
    ],
)
async def test_many_users_at_once_see_their_own_lines_only(pool, users, checkpointed):
    model = ScriptedChatModel(script=writes_then_searches)
    saver = {"checkpointer": InMemorySaver()} if checkpointed else {}
    agent, chat = agent_of(model, pool, **saver)

    async def talk(user):
        history = []
        # Without a checkpointer all threads have one name: what is kept is told apart by memory.
        config = run_of(user, thread=user if checkpointed else "1")
        for turn in range(3):
            said = HumanMessage(f"I am {user}, and this is fact-{turn}.")
            given = [said] if checkpointed else [*history, said]
            out = await agent.ainvoke({"messages": given}, config)
            history = out["messages"]
            assert users_in(str(history)) == {user}
        report = await chat.aend_session(config["configurable"]["thread_id"], config=config)
        assert report.failed is None
        return report.transcript

    names = [f"user{number:03}" for number in range(users)]
    transcripts = await asyncio.gather(*map(talk, names))
    for call in model.calls:
        assert len(users_in(said_to_the_model(call))) <= 1
    assert any(len(users_in(call.system)) == 1 for call in model.calls)  # the context was there
    for name, transcript in zip(names, transcripts, strict=True):
        assert users_in(all_notes(pool, name)) == {name}
        with open(transcript, encoding="utf-8") as file:
            assert users_in(file.read()) == {name}
    assert pool.open_count <= 4


@dataclass
class Context:
    user_id: str


@pytest.mark.parametrize("is_async", [False, True], ids=["sync", "async"])
async def test_the_user_may_be_in_the_context_of_the_run(pool, is_async):
    model = ScriptedChatModel(script=writes_then_searches)
    agent, _ = agent_of(model, pool, context_schema=Context)
    for user in ("user1", "user2"):
        given = {"messages": [HumanMessage(f"I am {user}.")]}
        if is_async:
            out = await agent.ainvoke(given, context=Context(user))
        else:
            out = agent.invoke(given, context=Context(user))
        assert users_in(str(out["messages"])) == {user}
        assert users_in(all_notes(pool, user)) == {user}


@pytest.mark.parametrize("run", [{}, {"configurable": {"thread_id": "1"}}, run_of("../user2")])
def test_a_run_that_does_not_say_whose_it_is_fails(pool, run):
    resolve = pool.resolver("user_id")
    model = ScriptedChatModel(script=["hello"])
    given = {"messages": [HumanMessage("hi")]}
    for middleware in (
        MemoryContextMiddleware(memory=resolve),
        MemoryFlushMiddleware(memory=resolve, model=model),
        ChatMemory(model, memory=resolve),
    ):
        with pytest.raises(NamespaceError):
            create_agent(model, middleware=[middleware]).invoke(given, run)
    for tool in memory_tools(resolve, write=True):
        with pytest.raises(NamespaceError):
            tool.invoke({"query": "tea", "path": "MEMORY.md", "text": "tea"}, run)
    with pytest.raises(NamespaceError):
        CommonplaceRetriever(memory=resolve).invoke("tea", run)
    with pytest.raises(NamespaceError):
        ChatMemory(model, memory=resolve).compact([HumanMessage("hi")], config=run)
    assert not pool.root.exists()


def test_an_agent_whose_tool_finds_no_user_stops(pool):
    def answer(call):
        return calling("memory_search", query="tea") if call.last.type == "human" else "done"

    tools = memory_tools(pool.resolver("user_id"))
    agent = create_agent(ScriptedChatModel(script=answer), tools=tools)
    with pytest.raises(NamespaceError, match="user_id"):
        agent.invoke({"messages": [HumanMessage("hi")]})


async def test_a_retriever_searches_the_memory_of_the_call(pool):
    for user in ("user1", "user2"):
        with pool.memory(user) as memory:
            memory.append(f"- The tea of {user} is green.")
    retriever = CommonplaceRetriever(memory=pool.resolver("user_id"))
    chain = RunnableLambda(lambda question: question) | retriever
    for user in ("user1", "user2"):
        found = [
            retriever.invoke("tea", run_of(user)),
            await retriever.ainvoke("tea", run_of(user)),
            chain.invoke("tea", run_of(user)),
            await chain.ainvoke("tea", run_of(user)),
            *retriever.batch(["tea", "green"], run_of(user)),
        ]
        assert [users_in(str(documents)) for documents in found] == [{user}] * 6
    both = await asyncio.gather(
        *(retriever.ainvoke("tea", run_of(f"user{number % 2 + 1}")) for number in range(20))
    )
    assert [users_in(str(documents)) for documents in both] == [{"user1"}, {"user2"}] * 10


async def test_what_waits_for_a_place_in_the_pool_leaves_the_threads_to_those_that_have_one(
    tmp_path, monkeypatch
):
    monkeypatch.setattr(slots, "LEASE_TIMEOUT_S", 3.0)
    asyncio.get_running_loop().set_default_executor(ThreadPoolExecutor(2))
    with MemoryPool(tmp_path / "users", embedder=None, max_open=1) as pool:
        mine = pool.resolver("user_id")
        retriever, search = CommonplaceRetriever(memory=mine), memory_tools(mine)[0]
        context = MemoryContextMiddleware(memory=mine, recall=1)
        agent = create_agent(ScriptedChatModel(script=lambda _: "ok"), middleware=[context])

        async def leased():
            async with pool.memory("user0") as memory:
                await asyncio.sleep(0.3)
                await memory.aappend("- Tea.")

        holding = asyncio.create_task(leased())
        await asyncio.sleep(0.1)
        await asyncio.gather(
            *(retriever.ainvoke("tea", run_of(f"user{number}")) for number in (1, 2)),
            *(search.ainvoke({"query": "tea"}, run_of(f"user{number}")) for number in (3, 4)),
            *(
                agent.ainvoke({"messages": [HumanMessage("tea")]}, run_of(f"user{number}"))
                for number in (5, 6)
            ),
            holding,
        )
        assert "Tea" in all_notes(pool, "user0")


def test_a_function_of_ones_own_may_choose_the_memory(pool, memory):
    chosen = []

    def choose(config):
        chosen.append(config["configurable"]["team"])
        return memory

    retriever = CommonplaceRetriever(memory=choose)
    assert retriever.invoke("VPN", {"configurable": {"team": "ops"}})
    assert chosen == ["ops"]
    with pytest.raises(TypeError, match="must return its Memory"):
        CommonplaceRetriever(memory=lambda config: None).invoke("VPN")


def test_a_failed_flush_of_one_user_is_no_other_users_leftover(pool):
    script = Notetaker()
    script.fails = lambda kind, number: OSError("no network") if kind == "F" else None
    chat = ChatMemory(ScriptedChatModel(script=script), memory=pool.resolver("user_id"))
    said = [HumanMessage("I am user1 with fact-1.")]
    report = chat.end_session("1", messages=said, config=run_of("user1"))
    assert report.failed
    script.fails = lambda kind, number: None
    other = chat.end_session("1", messages=[HumanMessage("fact-2")], config=run_of("user2"))
    assert other.messages == 1
    assert facts(all_notes(pool, "user2")) == ["fact-2"]
    again = chat.end_session("1", messages=said, config=run_of("user1"))
    assert again.failed is None
    assert facts(all_notes(pool, "user1")) == ["fact-1"]


@pytest.mark.parametrize("is_async", [False, True], ids=["sync", "async"])
async def test_the_cycle_of_a_thread_is_each_memorys_own(pool, is_async):
    """Two users take turns in one thread: what one had flushed is new to the other's memory."""
    script = Notetaker()
    model = ScriptedChatModel(script=script)
    flush = MemoryFlushMiddleware(
        memory=pool.resolver("user_id"), model=model, trigger=("messages", 3)
    )
    agent = create_agent(model, middleware=[flush], checkpointer=InMemorySaver())
    for turn, user in enumerate(["user1", "user1", "user2", "user2", "user1"]):
        given = {"messages": [HumanMessage(f"Here is fact-{turn}.")]}
        if is_async:
            await agent.ainvoke(given, run_of(user))
        else:
            agent.invoke(given, run_of(user))
    assert set(facts(all_notes(pool, "user1"))) >= {"fact-0", "fact-1"}
    assert set(facts(all_notes(pool, "user2"))) >= {"fact-0", "fact-1", "fact-2"}


def test_messages_with_ids_of_the_users_own_are_not_mixed_up(pool):
    """Two users' clients number their messages alike; a compaction of one flushes its own."""
    script = Notetaker()
    model = ScriptedChatModel(script=script)
    from langchain.agents.middleware import SummarizationMiddleware

    flush = MemoryFlushMiddleware(memory=pool.resolver("user_id"), model=model)
    compaction = SummarizationMiddleware(model, trigger=("messages", 5), keep=("messages", 1))
    agent = create_agent(model, middleware=[flush, compaction])
    for user in ("user1", "user2"):
        said = [HumanMessage(f"I am {user} with fact-{n}.", id=f"m{n}") for n in range(6)]
        agent.invoke({"messages": said}, run_of(user))
    flushes = [call for call in model.calls if kind_of(call) == "F"]
    assert flushes
    assert all(len(users_in(said_to_the_model(call))) == 1 for call in flushes)


def test_the_default_trigger_comes_from_the_settings_of_the_pool(tmp_path):
    from commonplace import FlushSettings

    settings = Settings(flush=FlushSettings(context_window=50_000))
    with MemoryPool(tmp_path / "users", settings=settings, embedder=None) as pool:
        model = ScriptedChatModel(script=["ok"])
        chat = ChatMemory(model, memory=pool.resolver("user_id"))
        with pool.memory("user1") as memory:
            alone = ChatMemory(model, memory=memory)
        assert chat.trigger == alone.trigger != ChatMemory(model, memory=lambda run: memory).trigger
