"""The silent turn shows in no stream, in no event and in no list of messages; traces have it."""

from __future__ import annotations

import warnings

import pytest

pytest.importorskip("langchain", reason="LangChain is not installed")

from langchain.agents import create_agent
from langchain.agents.middleware import SummarizationMiddleware
from langchain_core.callbacks import BaseCallbackHandler
from langchain_core.messages import AIMessage, HumanMessage
from langchain_core.tracers import BaseTracer

from langchain_commonplace import ChatMemory, MemoryFlushMiddleware
from support.langchain_fakes import calling, kind_of
from support.langchain_talk import logged, model_of

GIVEN = {"messages": [HumanMessage(f"Here is fact-{n} for you.") for n in range(8)]}
LEAK = ("sesame", "NO_REPLY", "memory_append")
"""What only the silent turn says."""


def script(call):
    kind = kind_of(call)
    if kind == "F":
        call_it = calling("memory_append", text="- fact-1: open sesame")
        return AIMessage("open sesame", tool_calls=call_it.tool_calls)
    return {"n": "NO_REPLY", "S": "They talked.", "a": "a fine answer"}[kind]


def chat_memory(memory, model):
    return [ChatMemory(model, memory=memory, trigger=("messages", 8), keep=("messages", 2))]


def memory_flush(memory, model):
    compactor = SummarizationMiddleware(model, trigger=("messages", 8), keep=("messages", 2))
    return [MemoryFlushMiddleware(memory=memory, model=model, before=compactor), compactor]


@pytest.fixture(params=[chat_memory, memory_flush], ids=["ChatMemory", "MemoryFlushMiddleware"])
def agent(request, memory, folder):
    model = model_of(script)
    yield create_agent(model, middleware=request.param(memory, model))
    assert logged(folder) == ["fact-1"], "there was no flush, the test shows nothing"


def assert_silent(seen):
    shown = repr(seen)
    assert "fine" in shown
    assert [word for word in LEAK if word in shown] == []


MODES = ["messages", "updates", "values", "custom", "debug"]


@pytest.mark.parametrize("mode", MODES)
def test_a_stream_shows_nothing_of_it(agent, mode):
    seen = list(agent.stream(GIVEN, stream_mode=["messages", mode]))
    assert_silent(seen)


@pytest.mark.parametrize("mode", MODES)
async def test_an_async_stream_shows_nothing_of_it(agent, mode):
    assert_silent([part async for part in agent.astream(GIVEN, stream_mode=["messages", mode])])


async def test_the_events_of_version_2_show_nothing_of_it(agent):
    assert_silent([event async for event in agent.astream_events(GIVEN, version="v2")])


def test_the_messages_of_version_3_show_nothing_of_it(agent):
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="The v3 streaming protocol")
        try:
            run = agent.stream_events(GIVEN, version="v3")
        except (AttributeError, NotImplementedError):
            agent.invoke(GIVEN)
            pytest.skip("this langgraph has no version 3 of events")
        texts = [str(message.text) for message in run.messages]
    assert any("fine" in text for text in texts)
    assert_silent(texts)


def test_the_answer_holds_nothing_of_it(agent):
    out = agent.invoke(GIVEN)
    assert set(out) == {"messages"}
    assert_silent(out["messages"])


class Trace(BaseTracer):
    def __init__(self):
        super().__init__()
        self.starts = []

    def _persist_run(self, run):
        pass

    def on_chat_model_start(self, serialized, messages, *, tags=None, metadata=None, **kwargs):
        self.starts.append((kwargs.get("name"), tags, metadata, kwargs.get("parent_run_id")))
        return super().on_chat_model_start(
            serialized, messages, tags=tags, metadata=metadata, **kwargs
        )


@pytest.mark.parametrize("is_async", [False, True], ids=["sync", "async"])
async def test_traces_show_it_tagged_below_the_run_that_it_belongs_to(agent, is_async):
    trace = Trace()
    config = {"callbacks": [trace]}
    if is_async:
        await agent.ainvoke(GIVEN, config)
    else:
        agent.invoke(GIVEN, config)
    silent = [start for start in trace.starts if "memory_flush" in (start[1] or [])]
    assert len(silent) == 1
    for name, tags, metadata, parent in silent:
        assert name == "memory_flush"
        assert "nostream" in tags
        assert metadata["lc_source"] == "memory_flush"
        assert parent is not None


class Heard(BaseCallbackHandler):
    """Keeps all that it is called with, as a user interface would show it."""

    def __init__(self):
        self.seen = []

    def on_llm_new_token(self, token, **kwargs):
        self.seen.append(token)

    def on_chat_model_start(self, serialized, messages, **kwargs):
        self.seen.append(kwargs.get("name"))

    def on_llm_end(self, response, **kwargs):
        self.seen.append(response)


@pytest.mark.parametrize("is_async", [False, True], ids=["sync", "async"])
@pytest.mark.parametrize("where", ["run", "model", "both"])
@pytest.mark.parametrize("middleware", [chat_memory, memory_flush])
async def test_no_handler_of_the_user_is_called_for_it(memory, folder, middleware, where, is_async):
    heard = Heard()
    model = model_of(script, callbacks=[heard] if where != "run" else None)
    agent = create_agent(model, middleware=middleware(memory, model))
    config = {"callbacks": [heard]} if where != "model" else {}
    if is_async:
        async for _ in agent.astream(GIVEN, config, stream_mode="messages"):
            pass
    else:
        for _ in agent.stream(GIVEN, config, stream_mode="messages"):
            pass
    assert logged(folder) == ["fact-1"]
    assert "fine " in heard.seen  # the answer's tokens are heard
    assert_silent(heard.seen)
    assert "memory_flush" not in heard.seen
