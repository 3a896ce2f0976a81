"""The clients that people use, against a server on the loopback interface."""

from __future__ import annotations

import contextlib
import json
import re

import pytest

pytest.importorskip("llama_index.core", reason="the extra llama-index is not installed")
pytest.importorskip("llama_index.llms.openai", reason="llama-index-llms-openai is missing")
pytest.importorskip(
    "llama_index.embeddings.openai", reason="llama-index-embeddings-openai is missing"
)

import httpx
from llama_index.core.agent.workflow import FunctionAgent
from llama_index.core.base.llms.types import ChatMessage
from llama_index.core.query_engine import RetrieverQueryEngine
from llama_index.embeddings.openai import OpenAIEmbedding
from llama_index.llms.openai import OpenAI

from commonplace.tools import GET_TOOL, SEARCH_TOOL
from llama_index_commonplace import (
    ChatMemory,
    CommonplaceRetriever,
    CommonplaceToolSpec,
    LlamaIndexEmbedder,
)
from support.loopback_openai import LoopbackOpenAI, calling
from support.sampling import sampled

pytestmark = pytest.mark.vendors

QUESTION = "What was wrong in SLIP-431?"
FACT = re.compile(r"FACT-\d+\b")


@pytest.fixture
async def model():
    """Make a client of a server; its connections are closed after the test."""
    async with httpx.AsyncClient() as async_client, contextlib.AsyncExitStack() as stack:
        client = stack.enter_context(httpx.Client())

        def model(server, **options):
            return OpenAI(
                model="gpt-4o",
                api_base=server.base_url,
                api_key="x",
                http_client=client,
                async_http_client=async_client,
                **options,
            )

        yield model


def line_of(text, word):
    return next(line for line in text.split("\n") if word in line)


async def test_a_query_engine_answers(memory, model):
    with LoopbackOpenAI(
        lambda body: line_of(body["messages"][-1]["content"], "off-by-one")
    ) as server:
        llm = model(server)
        engine = RetrieverQueryEngine.from_args(CommonplaceRetriever(memory), llm=llm)
        assert "off-by-one" in str(engine.query(QUESTION))
        assert "off-by-one" in str(await engine.aquery(QUESTION))


async def test_an_agent_is_offered_the_contracts_tools_and_reads_json(memory, model):
    def answer(body):
        last = body["messages"][-1]
        if last["role"] == "user":
            return calling("memory_search", query=QUESTION)
        found = json.loads(last["content"])
        if "results" in found:
            hit = found["results"][0]
            return calling("memory_get", path=hit["path"], **{"from": hit["startLine"]})
        return line_of(found["text"], "off-by-one")

    with LoopbackOpenAI(answer) as server:
        tools = CommonplaceToolSpec(memory).to_tool_list()
        agent = FunctionAgent(tools=tools, llm=model(server))
        assert "off-by-one" in str(await agent.run(QUESTION))
        for tool, shown in zip((SEARCH_TOOL, GET_TOOL), server.chats()[0]["tools"], strict=True):
            assert shown["function"]["description"] == tool.description
            assert shown["function"]["parameters"] == tool.schema


def note_taker(body):
    """Note the facts of a silent turn; otherwise answer."""
    names = [tool["function"]["name"] for tool in body.get("tools") or []]
    if names != ["memory_append"] or body["messages"][-1]["role"] == "tool":
        return "NO_REPLY"
    told = body["messages"][1]["content"]
    facts = FACT.findall(told[: told.index("</conversation>")])
    return calling("memory_append", text="\n".join(f"- {fact}" for fact in facts))


@pytest.mark.slow
@pytest.mark.parametrize("form", ["async", "sync"])
@pytest.mark.parametrize(
    "faults", sampled([(429, 500), (), ("hangup", "hangup"), ("broken",)], every=2), ids=str
)
async def test_a_flush_survives_what_servers_do(notes, memory, model, form, faults):
    reports = []
    said = [f"FACT-{turn}" for turn in range(12)]
    with LoopbackOpenAI(note_taker) as server:
        chat = ChatMemory.from_defaults(
            memory,
            llm=model(server, max_retries=1, timeout=5.0),
            token_limit=300,
            token_flush_size=60,
            on_flush=reports.append,
        )
        server.fail_next(*faults)
        for fact in said:
            message = ChatMessage(role="user", content=f"{fact} {'and so on ' * 8}")
            if form == "async":
                await chat.aput(message)
            else:
                chat.put(message)
        await chat.aflush()
        await chat.sql_store._async_engine.dispose()
    log = (notes / "memory" / "2026-11-20.md").read_text("utf-8")
    assert sorted(FACT.findall(log)) == sorted(said)
    assert len(reports) > 1


@pytest.mark.slow
def test_its_embeddings_are_the_cores(open_memory):
    with LoopbackOpenAI() as server, httpx.Client() as client:
        embed_model = OpenAIEmbedding(
            model_name="any",
            api_base=server.base_url,
            api_key="sk-secret",
            embed_batch_size=16,
            http_client=client,
        )
        memory = open_memory(LlamaIndexEmbedder(embed_model))
        assert not memory.index().failed
        found = memory.search(QUESTION)
        sizes = [
            len(body["input"]) for path, body in server.requests if path.endswith("/embeddings")
        ]
    assert (found.mode, found.provider, found.model) == ("hybrid", "OpenAIEmbedding", "any")
    assert max(sizes) <= 16
    assert "sk-secret" not in repr(memory.status())
