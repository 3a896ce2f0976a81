from __future__ import annotations

import warnings

import pytest

pytest.importorskip("langchain", reason="LangChain is not installed")

from langchain.agents import create_agent
from langchain.agents.middleware import SummarizationMiddleware
from langchain_core.messages import HumanMessage
from langgraph.checkpoint.memory import InMemorySaver

from commonplace import Settings
from langchain_commonplace import MemoryFlushMiddleware
from support.langchain_fakes import Notetaker
from support.langchain_talk import TURNS, Conversation, assert_nothing_lost, model_of

KEEP = ("messages", 4)
BOTH = pytest.mark.parametrize("is_async", [False, True], ids=["sync", "async"])


def agent_of(model, *middleware, **options):
    return create_agent(model, middleware=middleware, **options)


@BOTH
@pytest.mark.parametrize("checkpointed", [True, False], ids=["checkpointer", "no checkpointer"])
@pytest.mark.parametrize(
    "trigger",
    [("messages", 12), ("tokens", 150), [("messages", 12), ("tokens", 150)]],
    ids=["messages", "tokens", "any of"],
)
async def test_it_flushes_right_before_the_summarization_that_it_was_given(
    memory, folder, trigger, checkpointed, is_async
):
    script, reports = Notetaker(), []
    model = model_of(script)
    compactor = SummarizationMiddleware(model, trigger=trigger, keep=KEEP)
    flush = MemoryFlushMiddleware(
        memory=memory, model=model, before=compactor, on_flush=reports.append
    )
    saver = InMemorySaver() if checkpointed else None
    agent = agent_of(model, flush, compactor, checkpointer=saver)
    conversation = Conversation(agent, checkpointed=checkpointed, is_async=is_async)
    await conversation.talk(TURNS if checkpointed else 12)
    left = conversation.messages if checkpointed else conversation.messages[-4:]
    assert_nothing_lost(folder, conversation, left)
    assert script.kinds.count("S") > 1
    if checkpointed:
        assert script.kinds.count("F") == script.kinds.count("S") == len(reports)
        assert script.kinds.replace("FS", "").count("S") == 0


@BOTH
async def test_the_same_trigger_as_the_compactors_does_as_well(memory, folder, is_async):
    script = Notetaker()
    model = model_of(script)
    compactor = SummarizationMiddleware(model, trigger=("messages", 12), keep=KEEP)
    flush = MemoryFlushMiddleware(memory=memory, model=model, trigger=("messages", 12))
    agent = agent_of(model, flush, compactor, checkpointer=InMemorySaver())
    conversation = Conversation(agent, checkpointed=True, is_async=is_async)
    await conversation.talk()
    assert_nothing_lost(folder, conversation)
    assert script.kinds.count("F") == script.kinds.count("S") > 3


@BOTH
@pytest.mark.parametrize("before", [True, False], ids=["before given", "before not given"])
async def test_after_an_early_flush_what_came_until_the_compaction_is_flushed(
    memory, folder, is_async, before
):
    script, reports = Notetaker(), []
    model = model_of(script)
    compactor = SummarizationMiddleware(model, trigger=("messages", 16), keep=("messages", 2))
    flush = MemoryFlushMiddleware(
        memory=memory,
        model=model,
        trigger=("messages", 9),
        before=compactor if before else None,
        on_flush=reports.append,
    )
    agent = agent_of(model, flush, compactor, checkpointer=InMemorySaver())
    conversation = Conversation(agent, checkpointed=True, is_async=is_async)
    await conversation.talk()
    assert_nothing_lost(folder, conversation)
    cycles = script.kinds.split("S")
    assert len(cycles) > 3
    assert {cycle.count("F") for cycle in cycles[1:-1]} == {2}
    assert [report.reason for report in reports][:2] == ["tokens", "compaction"]


async def test_nothing_is_flushed_when_the_compactor_takes_nothing_away(memory):
    script = Notetaker()
    model = model_of(script)
    compactor = SummarizationMiddleware(model, trigger=("messages", 4), keep=("messages", 90))
    flush = MemoryFlushMiddleware(memory=memory, model=model, before=compactor)
    agent = agent_of(model, flush, compactor, checkpointer=InMemorySaver())
    await Conversation(agent, checkpointed=True, is_async=False).talk(20)
    assert script.kinds == "a" * 20


@BOTH
@pytest.mark.parametrize("checkpointed", [True, False], ids=["checkpointer", "no checkpointer"])
async def test_behind_the_compactor_it_warns_once(memory, checkpointed, is_async):
    model = model_of(Notetaker())
    compactor = SummarizationMiddleware(model, trigger=("messages", 8), keep=("messages", 2))
    flush = MemoryFlushMiddleware(memory=memory, model=model, before=compactor)
    saver = InMemorySaver() if checkpointed else None
    agent = agent_of(model, compactor, flush, checkpointer=saver)
    conversation = Conversation(agent, checkpointed=checkpointed, is_async=is_async)
    with pytest.warns(UserWarning, match="listed behind") as caught:
        await conversation.talk(12)
    assert len(caught) == 1


async def test_in_front_of_the_compactor_it_never_warns_not_even_after_a_failed_turn(memory):
    script = Notetaker()
    failures = iter([ConnectionError("down")])
    script.fails = lambda kind, number: (
        next(failures, None) if kind == "a" and "S" in script.kinds else None
    )
    model = model_of(script)
    compactor = SummarizationMiddleware(model, trigger=("messages", 8), keep=("messages", 2))
    flush = MemoryFlushMiddleware(memory=memory, model=model, before=compactor)
    agent = agent_of(model, flush, compactor, checkpointer=InMemorySaver())
    conversation = Conversation(agent, checkpointed=True, is_async=False)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for turn in range(12):
            try:
                await conversation.say(f"Here is fact-{turn} for you.")
            except ConnectionError:
                continue
    assert script.kinds.count("S") > 1


async def test_without_any_trigger_it_goes_by_the_window(open_memory, folder):
    flush_settings = {"context_window": 400, "reserve_tokens": 100, "soft_threshold_tokens": 50}
    memory = open_memory(Settings.from_mapping({"timezone": "UTC", "flush": flush_settings}))
    script = Notetaker()
    model = model_of(script)
    compactor = SummarizationMiddleware(model, trigger=("tokens", 300), keep=KEEP)
    flush = MemoryFlushMiddleware(memory=memory, model=model)
    agent = agent_of(model, flush, compactor, checkpointer=InMemorySaver())
    conversation = Conversation(agent, checkpointed=True, is_async=False)
    await conversation.talk()
    assert_nothing_lost(folder, conversation)
    assert script.kinds.index("F") < script.kinds.index("S")


async def test_a_counter_of_ones_own_counts(memory):
    script = Notetaker()
    model = model_of(script)
    flush = MemoryFlushMiddleware(
        memory=memory, model=model, trigger=("tokens", 5), token_counter=lambda ms: len(list(ms))
    )
    agent = agent_of(model, flush)
    agent.invoke({"messages": [HumanMessage(f"fact-{n}") for n in range(4)]})
    assert script.kinds == "a"
    agent.invoke({"messages": [HumanMessage(f"fact-{n}") for n in range(5)]})
    assert script.kinds == "aFa"


@pytest.mark.parametrize(
    ("trigger", "told"),
    [
        (("tokens", 0), "above 0"),
        (("tokens", 1.5), "whole"),
        (("words", 3), "none of"),
        ("tokens", "none of"),
        ({}, "says nothing"),
        ({"messages": True}, "none of"),
        (("fraction", 0.5), "profile"),
        (("fraction", 2), "at most 1"),
    ],
)
def test_a_wrong_trigger_is_told_at_construction(memory, trigger, told):
    with pytest.raises(ValueError, match=told):
        MemoryFlushMiddleware(memory=memory, model=model_of(Notetaker()), trigger=trigger)


def test_a_conversation_without_messages_is_none_to_flush(memory):
    script = Notetaker()
    agent_of(model_of(script), MemoryFlushMiddleware(memory=memory, model=model_of(script))).invoke(
        {"messages": []}
    )
    assert script.kinds == "a"
