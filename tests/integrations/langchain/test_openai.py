"""The real `langchain-openai` clients, against a server on the loopback interface."""

from __future__ import annotations

import json

import pytest

pytest.importorskip("langchain_openai", reason="langchain-openai is not installed")

from langchain.agents import create_agent
from langchain_core.callbacks import BaseCallbackHandler
from langchain_core.messages import ToolMessage
from langchain_openai import ChatOpenAI, OpenAIEmbeddings
from langgraph.checkpoint.memory import InMemorySaver

from commonplace import Settings
from langchain_commonplace import (
    ChatMemory,
    CommonplaceRetriever,
    MemoryContextMiddleware,
    memory_tools,
)
from support.langchain_talk import Conversation, facts, logged
from support.loopback_openai import LoopbackOpenAI, calling
from support.sampling import sampled

pytestmark = pytest.mark.vendors

QUESTION = "which port does the VPN listen on?"


def search_then_answer(body):
    last = body["messages"][-1]
    if last["role"] == "tool":
        found = json.loads(last["content"])["results"]
        return "51820" if any("51820" in hit["snippet"] for hit in found) else "unknown"
    return calling("memory_search", query=QUESTION)


@pytest.fixture
def server():
    with LoopbackOpenAI(search_then_answer) as server:
        yield server


def chat(server, **options):
    return ChatOpenAI(base_url=server.base_url, api_key="x", model="scripted", **options)


def embeddings(server, **options):
    return OpenAIEmbeddings(
        base_url=server.base_url,
        api_key="x",
        model="bag-of-words",
        check_embedding_ctx_length=False,
        **options,
    )


@pytest.mark.parametrize("streaming", [False, True], ids=["whole", "streamed"])
@pytest.mark.parametrize("is_async", [False, True], ids=["sync", "async"])
async def test_an_agent_calls_the_tools_over_the_wire(server, memory, streaming, is_async):
    agent = create_agent(
        chat(server, streaming=streaming),
        tools=memory_tools(memory, write=True),
        middleware=[MemoryContextMiddleware(memory=memory, recall=1)],
    )
    given = {"messages": [("user", QUESTION)]}
    out = await agent.ainvoke(given) if is_async else agent.invoke(given)
    assert out["messages"][-1].text.strip() == "51820"
    body = server.chats()[0]
    functions = {tool["function"]["name"]: tool["function"] for tool in body["tools"]}
    assert list(functions["memory_get"]["parameters"]["properties"]) == ["path", "from", "lines"]
    assert body["messages"][0]["role"] == "system"
    assert "51820" in body["messages"][-1]["content"]


def test_wrong_calls_over_the_wire_are_answered_with_errors(server, memory):
    server.answer = lambda body: (
        "sorry"
        if body["messages"][-1]["role"] == "tool"
        else calling("memory_get", path="../secrets.md", lines="all")
    )
    agent = create_agent(chat(server), tools=memory_tools(memory))
    messages = agent.invoke({"messages": [("user", "go")]})["messages"]
    answer = next(message for message in messages if isinstance(message, ToolMessage))
    assert answer.status == "error"
    assert messages[-1].text == "sorry"


@pytest.mark.parametrize("fault", [429, 500, "hangup"])
def test_a_failing_server_is_asked_again(server, memory, fault):
    server.fail_next(fault)
    agent = create_agent(chat(server, max_retries=2), tools=memory_tools(memory))
    assert agent.invoke({"messages": [("user", QUESTION)]})["messages"][-1].text == "51820"


def test_embeddings_over_the_wire_index_and_search(server, open_memory):
    memory = open_memory(embedder=embeddings(server))
    report = memory.index()
    assert report.embedded
    assert not report.failed
    retriever = CommonplaceRetriever(memory=memory, min_score=0)
    assert "51820" in retriever.invoke(QUESTION, k=1)[0].page_content
    assert memory.search(QUESTION).mode == "hybrid"
    assert {path for path, _ in server.requests} == {"/v1/embeddings"}


@pytest.mark.slow
@pytest.mark.parametrize("fault", sampled([500, "broken", "slow"], every=3))
def test_a_search_without_vectors_says_so_and_finds_by_words(server, open_memory, fault):
    server.slow_s = 5.0
    memory = open_memory(embedder=embeddings(server, max_retries=0, timeout=0.3))
    memory.index()
    server.fail_next(*[fault] * 8)  # the core tries a few times
    found = memory.search(QUESTION, min_score=0)
    assert found.mode == "keyword"
    assert found.fallback
    assert "51820" in found[0].snippet
    server.recover()  # this memory leaves the vendor alone for a while; another one asks at once
    another = open_memory(embedder=embeddings(server, max_retries=0))
    assert another.search("printer").mode == "hybrid"


def talk_and_note(body):
    """Answer as an agent does, and note facts in the silent turn."""
    system = body["messages"][0]["content"]
    last = body["messages"][-1]
    if "Pre-compaction memory flush turn" in system:
        if last["role"] == "tool":
            return "NO_REPLY"
        found = dict.fromkeys(facts(last["content"]))
        return calling("memory_append", text="\n".join(f"- {fact}" for fact in found))
    return "They talked." if "Context Extraction Assistant" in str(system) else "ok"


@pytest.mark.slow
@pytest.mark.parametrize(
    ("fault", "is_async"),
    [
        *((None, False), (500, True), ("hangup", True)),
        *(
            pytest.param(fault, is_async, marks=pytest.mark.full)
            for fault, is_async in [
                *((None, True), (429, True), (500, False), ("broken", True), ("slow", True)),
                *((429, False), ("broken", False), ("hangup", False), ("slow", False)),
            ]
        ),
    ],
)
async def test_a_conversation_is_flushed_over_the_wire(open_memory, folder, fault, is_async):
    deadline = {"deadline_s": 1.0}
    memory = open_memory(Settings.from_mapping({"timezone": "UTC", "flush": deadline}))
    reports = []
    with LoopbackOpenAI(talk_and_note, slow_s=2.0) as server:

        def answer(body):
            if fault and "memory_append" in str(body.get("tools")) and fault not in done:
                done.append(fault)
                server.fail_next(fault, fault, fault)  # this turn's second round, and its retries
                return calling("memory_append", note="- no text")
            return talk_and_note(body)

        done = []
        server.answer = answer
        model = chat(server, max_retries=1)
        memory_of_chat = ChatMemory(
            model,
            memory=memory,
            trigger=("messages", 8),
            keep=("messages", 3),
            flush_model=chat(server, max_retries=0),
            on_flush=reports.append,
        )
        agent = create_agent(model, middleware=[memory_of_chat], checkpointer=InMemorySaver())
        conversation = Conversation(agent, checkpointed=True, is_async=is_async)
        for turn in range(14):
            for _ in range(5):
                try:
                    await conversation.say(f"Here is fact-{turn} for you.")
                    break
                except Exception:  # noqa: BLE001 - whatever the client raises, a user tries again
                    assert fault
        end = memory_of_chat.aend_session("1") if is_async else None
        report = await end if end else memory_of_chat.end_session("1")
    assert report.failed is None
    assert sorted(logged(folder)) == sorted(set(conversation.said))
    offered = [
        body["tools"] for body in server.chats() if "memory_append" in str(body.get("tools"))
    ]
    function = offered[0][0]["function"]
    assert list(function["parameters"]["properties"]) == ["text"]
    if fault:
        assert any(report.failed for report in reports)


class Heard(BaseCallbackHandler):
    def __init__(self):
        self.tokens = []
        self.names = []

    def on_llm_new_token(self, token, **kwargs):
        self.tokens.append(token)

    def on_chat_model_start(self, serialized, messages, **kwargs):
        self.names.append(kwargs.get("name"))


@pytest.mark.slow
@pytest.mark.parametrize("is_async", [False, True], ids=["sync", "async"])
@pytest.mark.parametrize("flush", ["before", "background"])
async def test_a_streaming_client_shows_no_token_of_a_silent_turn(memory, folder, flush, is_async):
    heard = Heard()
    with LoopbackOpenAI(talk_and_note) as server:
        model = chat(server, streaming=True, callbacks=[heard])
        middleware = ChatMemory(
            model, memory=memory, trigger=("messages", 6), keep=("messages", 3), flush=flush
        )
        agent = create_agent(model, middleware=[middleware], checkpointer=InMemorySaver())
        config = {"configurable": {"thread_id": "1"}, "callbacks": [heard]}
        for turn in range(6):
            given = {"messages": [("user", f"Here is fact-{turn} for you.")]}
            if is_async:
                events = [event async for event in agent.astream_events(given, config)]
            else:
                events = list(agent.stream(given, config, stream_mode="messages"))
            assert "memory_append" not in repr(events)
        middleware.end_session("1")
        silent = [body for body in server.chats() if "memory_append" in str(body.get("tools"))]
    assert silent
    assert sorted(logged(folder)) == [f"fact-{turn}" for turn in range(6)]
    said = "".join(heard.tokens)
    assert "ok" in said
    assert "fact-" not in said
    assert "NO_REPLY" not in said
    assert "memory_flush" not in heard.names
