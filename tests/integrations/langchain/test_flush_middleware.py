from __future__ import annotations

import pickle
import warnings
from pathlib import Path

import pytest

pytest.importorskip("langchain", reason="LangChain is not installed")

from langchain.agents import create_agent
from langchain.agents.middleware import (
    SummarizationMiddleware,
    after_model,
    before_model,
    wrap_model_call,
)
from langchain_core.messages import HumanMessage, RemoveMessage
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph.message import REMOVE_ALL_MESSAGES

from commonplace import Settings
from langchain_commonplace import ChatMemory, MemoryFlushMiddleware
from support.langchain_fakes import Notetaker
from support.langchain_talk import (
    TURNS,
    Conversation,
    assert_nothing_lost,
    logged,
    model_of,
)
from support.sampling import sampled

KEEP = ("messages", 4)
BOTH = pytest.mark.parametrize("is_async", [False, True], ids=["sync", "async"])


def agent_of(model, *middleware, **options):
    return create_agent(model, middleware=middleware, **options)


@pytest.mark.slow
@BOTH
@pytest.mark.parametrize("checkpointed", [True, False], ids=["checkpointer", "no checkpointer"])
@pytest.mark.parametrize(
    "trigger",
    sampled([("messages", 12), ("tokens", 150), [("messages", 12), ("tokens", 150)]], every=2),
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


@pytest.mark.slow
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


@pytest.mark.slow
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


# What vanishes, whoever removed it.


@before_model
def trim_messages(state, runtime):
    """LangChain's documented recipe: the first message and the last few."""
    messages = state["messages"]
    if len(messages) <= 4:
        return None
    kept = [messages[0], *messages[-4:]]
    return {"messages": [RemoveMessage(REMOVE_ALL_MESSAGES), *kept]}


@after_model
def delete_old_messages(state, runtime):
    """LangChain's documented recipe: the oldest ones, after each answer."""
    if len(state["messages"]) <= 4:
        return None
    return {"messages": [RemoveMessage(message.id) for message in state["messages"][:2]]}


def whole(kind, memory, model, **options):
    if kind is ChatMemory:
        options["trigger"] = ("messages", 99)
    return kind(memory=memory, model=model, **options)


@pytest.mark.slow
@BOTH
@pytest.mark.parametrize("kind", [MemoryFlushMiddleware, ChatMemory])
@pytest.mark.parametrize("order", ["in front", "behind"])
@pytest.mark.parametrize("recipe", sampled([trim_messages, delete_old_messages], every=2))
async def test_what_other_middleware_removes_is_written_down(
    memory, folder, recipe, order, kind, is_async
):
    script, reports = Notetaker(), []
    model = model_of(script)
    flush = whole(kind, memory, model, on_flush=reports.append)
    middleware = [flush, recipe] if order == "in front" else [recipe, flush]
    agent = agent_of(model, *middleware, checkpointer=InMemorySaver())
    conversation = Conversation(agent, checkpointed=True, is_async=is_async)
    await conversation.talk(15)
    assert len(conversation.messages) <= 6
    assert_nothing_lost(folder, conversation)
    assert script.kinds.count("a") == 15
    assert script.kinds.count("F") <= 15


async def test_what_a_program_removes_between_two_turns_is_written_down(memory, folder):
    model = model_of(Notetaker())
    flush = MemoryFlushMiddleware(memory=memory, model=model)
    agent = agent_of(model, flush, checkpointer=InMemorySaver())
    conversation = Conversation(agent, checkpointed=True, is_async=False)
    await conversation.talk(4)
    gone = [RemoveMessage(message.id) for message in conversation.messages[:4]]
    agent.update_state(conversation.config, {"messages": gone})
    await conversation.say("Here is fact-77 for you.")
    assert_nothing_lost(folder, conversation)
    assert logged(folder) == ["fact-0", "fact-1"]


async def test_what_is_only_left_out_of_a_model_call_has_not_vanished(memory):
    @wrap_model_call
    def last_two(request, handler):
        return handler(request.override(messages=request.messages[-2:]))

    script = Notetaker()
    model = model_of(script)
    flush = MemoryFlushMiddleware(memory=memory, model=model)
    for thread, middleware in enumerate(([flush, last_two], [last_two, flush])):
        agent = agent_of(model, *middleware, checkpointer=InMemorySaver())
        talk = Conversation(agent, checkpointed=True, is_async=False, thread=str(thread))
        await talk.talk(6)
    assert script.kinds == "a" * 12


async def test_vanished_messages_that_nothing_could_keep_are_tried_again(memory, folder):
    (folder.parent / "state" / "state.sqlite").mkdir(parents=True)
    script = Notetaker()
    failures = iter([ConnectionError("down")] * 2)
    script.fails = lambda kind, number: next(failures, None) if kind == "F" else None
    model = model_of(script)
    flush = MemoryFlushMiddleware(memory=memory, model=model)
    agent = agent_of(model, flush, trim_messages, checkpointer=InMemorySaver())
    conversation = Conversation(agent, checkpointed=True, is_async=False)
    await conversation.talk(12)
    assert_nothing_lost(folder, conversation)


@BOTH
@pytest.mark.parametrize("kind", [MemoryFlushMiddleware, ChatMemory])
async def test_conversations_without_a_thread_id_are_all_written_down(
    open_memory, folder, kind, is_async
):
    memory = open_memory(
        Settings.from_mapping({"timezone": "UTC", "flush": {"transcript_bytes": 150}})
    )
    script = Notetaker()
    model = model_of(script)
    options = {"trigger": ("messages", 8)} if kind is MemoryFlushMiddleware else {}
    agent = agent_of(model, kind(memory=memory, model=model, **options))
    for start in (0, 100, 200):
        given = {"messages": [HumanMessage(f"Here is fact-{start + n} for you.") for n in range(8)]}
        await agent.ainvoke(given) if is_async else agent.invoke(given)
    assert len(logged(folder)) == len(set(logged(folder))) == 24
    assert script.kinds == "FaFaFa"


@BOTH
async def test_a_resent_conversation_without_a_thread_id_is_known_again(memory, folder, is_async):
    script = Notetaker()
    model = model_of(script)
    flush = MemoryFlushMiddleware(memory=memory, model=model, trigger=("messages", 6))
    conversation = Conversation(agent_of(model, flush), checkpointed=False, is_async=is_async)
    await conversation.talk(10)
    assert script.kinds.count("F") == 1  # once between two compactions, of which there is none


def test_messages_are_kept_as_text_only(memory):
    model = model_of(Notetaker())
    chat = ChatMemory(model, memory=memory)
    agent = agent_of(model, chat, checkpointer=InMemorySaver())
    picture = "data:image/png;base64," + "A" * 1_000_000
    for thread in range(20):
        blocks = [
            {"type": "text", "text": f"fact-{thread}"},
            {"type": "image_url", "image_url": {"url": picture + str(thread)}},
        ]
        config = {"configurable": {"thread_id": str(thread)}}
        agent.invoke({"messages": [HumanMessage(blocks)]}, config)
    view = chat._sessions.current()._view
    assert len(pickle.dumps(list(view._seen._items.values()))) < 20_000
    report = chat.end_session(7)  # a thread id may be a number, as in a configuration
    assert (report.thread, report.messages) == ("7", 2)
    assert "fact-7" in Path(report.transcript).read_text("utf-8")


@BOTH
async def test_a_failed_flush_is_not_tried_again_in_the_same_turn(memory, is_async):
    script = Notetaker()
    script.fails = lambda kind, number: ConnectionError("down") if kind == "F" else None
    model = model_of(script)
    compactor = SummarizationMiddleware(model, trigger=("messages", 8), keep=KEEP)
    flush = MemoryFlushMiddleware(memory=memory, model=model, before=compactor)
    agent = agent_of(model, flush, compactor, checkpointer=InMemorySaver())
    conversation = Conversation(agent, checkpointed=True, is_async=is_async)
    await conversation.talk(5)
    assert script.kinds == "aaaaFSa"
