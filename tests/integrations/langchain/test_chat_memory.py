from __future__ import annotations

import asyncio
import threading
import time
from pathlib import Path

import pytest

pytest.importorskip("langchain", reason="LangChain is not installed")

from langchain.agents import create_agent
from langchain.agents.middleware import SummarizationMiddleware, before_model, summarization
from langchain_core.messages import (
    AIMessage,
    ChatMessage,
    FunctionMessage,
    HumanMessage,
    RemoveMessage,
    ToolMessage,
)
from langgraph.checkpoint.memory import InMemorySaver

from commonplace import Settings
from langchain_commonplace import (
    ChatMemory,
    MemoryContextMiddleware,
    MemoryFlushMiddleware,
    memory_tools,
)
from support.langchain_fakes import Notetaker, ScriptedChatModel, calling, kind_of
from support.langchain_talk import TURNS, Conversation, assert_nothing_lost, facts, logged, model_of
from support.sampling import sampled

KEEP = ("messages", 4)
CLAUSES = hasattr(summarization, "TriggerClause")
"""Whether this langchain knows triggers of several conditions."""
TRIGGERS = {
    "tokens": ("tokens", 200),
    "messages": ("messages", 12),
    "fraction": ("fraction", 0.1),
    "any of": [("messages", 14), ("tokens", 150)],
}
if CLAUSES:
    TRIGGERS["all of"] = {"tokens": 100, "messages": 10}
    TRIGGERS["any of all of"] = [("messages", 14), {"tokens": 150, "messages": 8}]


BOTH = pytest.mark.parametrize("is_async", [False, True], ids=["sync", "async"])
CHECKPOINTED = pytest.mark.parametrize(
    "checkpointed", [True, False], ids=["checkpointer", "no checkpointer"]
)


@BOTH
@pytest.mark.parametrize("trigger", sampled(TRIGGERS.values(), every=3), ids=TRIGGERS)
async def test_forty_turns_lose_nothing_and_flush_once_a_cycle(memory, folder, trigger, is_async):
    script, reports = Notetaker(), []
    model = model_of(script, profile={"max_input_tokens": 2_000})
    chat = ChatMemory(model, memory=memory, trigger=trigger, keep=KEEP, on_flush=reports.append)
    agent = create_agent(model, middleware=[chat], checkpointer=InMemorySaver())
    conversation = Conversation(agent, checkpointed=True, is_async=is_async)
    await conversation.talk()
    assert_nothing_lost(folder, conversation)
    assert script.kinds.count("a") == TURNS
    assert script.kinds.count("S") >= 3
    assert script.kinds.count("F") == script.kinds.count("S") == len(reports)
    assert "FS" in script.kinds
    assert "n" not in script.kinds  # a good note ends the silent turn
    assert {report.reason for report in reports} == {"compaction"}
    assert len(conversation.messages) < 25


@pytest.mark.slow
@BOTH
async def test_without_a_checkpointer_each_message_is_written_down_once(memory, folder, is_async):
    script, reports = Notetaker(), []
    model = model_of(script)
    chat = ChatMemory(
        model, memory=memory, trigger=("messages", 12), keep=KEEP, on_flush=reports.append
    )
    agent = create_agent(model, middleware=[chat])
    conversation = Conversation(agent, checkpointed=False, is_async=is_async)
    await conversation.talk()
    assert_nothing_lost(folder, conversation, conversation.messages[-4:])
    assert sum(report.messages for report in reports) <= 2 * TURNS


async def test_nothing_is_flushed_when_nothing_is_evicted(memory, folder):
    script = Notetaker()
    chat = ChatMemory(
        model_of(script), memory=memory, trigger=("messages", 6), keep=("messages", 100)
    )
    agent = create_agent(model_of(script), middleware=[chat], checkpointer=InMemorySaver())
    await Conversation(agent, checkpointed=True, is_async=False).talk(20)
    assert script.kinds == "a" * 20


@pytest.mark.parametrize("place", [0, 1, 2])
async def test_it_works_wherever_it_stands_in_the_list(memory, folder, place):
    @before_model
    def other(state, runtime):
        return None

    script = Notetaker()
    model = model_of(script)
    chat = ChatMemory(model, memory=memory, trigger=("messages", 10), keep=KEEP)
    middleware = [MemoryContextMiddleware(memory=memory), other]
    middleware.insert(place, chat)
    agent = create_agent(
        model, tools=memory_tools(memory), middleware=middleware, checkpointer=InMemorySaver()
    )
    conversation = Conversation(agent, checkpointed=True, is_async=False)
    await conversation.talk(20)
    assert_nothing_lost(folder, conversation)
    assert script.kinds.count("F") == script.kinds.count("S") > 1


@pytest.mark.slow
async def test_tool_calls_and_their_answers_are_flushed_and_stay_together(memory, folder):
    def answer(call):
        if call.last.type == "human":
            return calling("memory_search", f"id-{len(call.messages)}", query="VPN")
        return "ok"

    script = Notetaker(answer)
    model = model_of(script)
    chat = ChatMemory(model, memory=memory, trigger=("messages", 12), keep=("messages", 3))
    agent = create_agent(
        model, tools=memory_tools(memory), middleware=[chat], checkpointer=InMemorySaver()
    )
    conversation = Conversation(agent, checkpointed=True, is_async=False)
    await conversation.talk(20)
    assert_nothing_lost(folder, conversation)
    called = {c["id"] for m in conversation.messages if m.type == "ai" for c in m.tool_calls}
    assert {m.tool_call_id for m in conversation.messages if isinstance(m, ToolMessage)} <= called
    flushes = [call for call in model.calls if "Pre-compaction" in call.system]
    assert "[calls memory_search: " in flushes[0].last.text


@pytest.mark.slow
async def test_two_threads_do_not_mix(memory, folder):
    script, reports = Notetaker(), []
    model = model_of(script)
    chat = ChatMemory(
        model, memory=memory, trigger=("messages", 10), keep=KEEP, on_flush=reports.append
    )
    agent = create_agent(model, middleware=[chat], checkpointer=InMemorySaver())
    one, two = (Conversation(agent, checkpointed=True, is_async=True, thread=name) for name in "ab")
    await asyncio.gather(one.talk(), two.talk(start=1000))
    for conversation in (one, two):
        assert_nothing_lost(folder, conversation)
    assert {report.thread for report in reports} == {"a", "b"}
    for call in model.calls:
        if "Pre-compaction" in call.system and call.last.type == "human":
            numbers = {int(fact[5:]) >= 1000 for fact in facts(call.last.text)}
            assert len(numbers) == 1


@pytest.mark.slow
async def test_a_conversation_goes_on_after_a_restart(open_memory, folder, tmp_path):
    sqlite = pytest.importorskip("langgraph.checkpoint.sqlite", reason="no sqlite checkpointer")
    said = []
    for start in range(0, 40, 5):
        script = Notetaker()
        model = model_of(script)
        with sqlite.SqliteSaver.from_conn_string(str(tmp_path / "graph.sqlite")) as saver:
            chat = ChatMemory(model, memory=open_memory(), trigger=("messages", 12), keep=KEEP)
            agent = create_agent(model, middleware=[chat], checkpointer=saver)
            conversation = Conversation(agent, checkpointed=True, is_async=False)
            await conversation.talk(5, start=start)
            said += conversation.said
    conversation.said = said
    assert_nothing_lost(folder, conversation)
    assert len(logged(folder)) > 20


async def test_sub_agents_on_one_thread_flush_the_same_messages_once(memory, folder):
    script = Notetaker()
    model = model_of(script)
    chats = [
        ChatMemory(model, memory=memory, trigger=("messages", 8), keep=("messages", 2))
        for _ in range(2)
    ]
    history = [HumanMessage(f"Here is fact-{n} for you.") for n in range(10)]
    for chat in chats:
        agent = create_agent(model, middleware=[chat])
        agent.invoke({"messages": history}, {"configurable": {"thread_id": "shared"}})
    assert script.kinds.count("F") == 1
    assert len(logged(folder)) == len(set(logged(folder))) == 8


# -- limits ----------------------------------------------------------------------------------------


def small_window(**flush):
    return Settings.from_mapping({"timezone": "UTC", "flush": flush})


async def test_without_a_trigger_it_goes_by_the_window(open_memory, folder):
    memory = open_memory(
        small_window(context_window=400, reserve_tokens=100, soft_threshold_tokens=50)
    )
    script = Notetaker()
    chat = ChatMemory(model_of(script), memory=memory, keep=KEEP)
    assert chat.trigger == ("tokens", 250)
    profiled = model_of(script, profile={"max_input_tokens": 1_000})
    assert ChatMemory(profiled, memory=memory).trigger == ("tokens", 850)
    agent = create_agent(model_of(script), middleware=[chat], checkpointer=InMemorySaver())
    conversation = Conversation(agent, checkpointed=True, is_async=False)
    await conversation.talk()
    assert_nothing_lost(folder, conversation)
    assert script.kinds.count("F") == script.kinds.count("S") > 1


@pytest.mark.slow
async def test_an_early_flush_and_one_for_what_came_after_it(open_memory, folder):
    memory = open_memory(small_window(transcript_bytes=300))
    script, reports = Notetaker(), []
    model = model_of(script)
    chat = ChatMemory(
        model, memory=memory, trigger=("messages", 30), keep=KEEP, on_flush=reports.append
    )
    agent = create_agent(model, middleware=[chat], checkpointer=InMemorySaver())
    conversation = Conversation(agent, checkpointed=True, is_async=False)
    await conversation.talk()
    assert_nothing_lost(folder, conversation)
    cycles = script.kinds.split("S")
    assert len(cycles) > 2
    assert all(cycle.count("F") <= 2 for cycle in cycles)
    assert [report.reason for report in reports][:3] == ["transcript", "compaction", "transcript"]


def test_a_flush_never_comes_later_than_langchains_own_compaction(memory):
    usage = {"input_tokens": 4_990, "output_tokens": 10, "total_tokens": 5_000}
    answered = AIMessage(
        "ok", usage_metadata=usage, response_metadata={"model_provider": "scripted"}
    )
    model = model_of(Notetaker())
    for history in (
        [HumanMessage("hi"), answered, HumanMessage("and?")],
        [HumanMessage("word " * 4_000), AIMessage("ok"), HumanMessage("x")],
        [HumanMessage("日本語のとても長い文章です。" * 400), AIMessage("ok"), HumanMessage("x")],
        [
            HumanMessage("x"),
            AIMessage(
                "", tool_calls=[{"name": "f", "args": {"code": "def f(): pass\n" * 500}, "id": "1"}]
            ),
            ToolMessage("done", tool_call_id="1"),
            HumanMessage("x"),
        ],
    ):
        ours = ChatMemory(model, memory=memory, trigger=("tokens", 1)).token_counter(history)
        theirs = SummarizationMiddleware(model, trigger=("tokens", 1)).token_counter(history)
        assert ours >= theirs


@pytest.mark.parametrize("provider", ["scripted", None])
def test_reported_usage_triggers_an_early_flush(memory, folder, provider):
    script = Notetaker()
    usage = {"input_tokens": 180_000, "output_tokens": 10, "total_tokens": 180_010}
    told = {"model_provider": provider} if provider else {}
    answered = AIMessage("ok", usage_metadata=usage, response_metadata=told)
    chat = ChatMemory(model_of(script), memory=memory, trigger=("messages", 99))
    chat.compact([HumanMessage("fact-1"), answered, HumanMessage("and?")])
    assert script.kinds == "F"
    assert logged(folder) == ["fact-1"]


def test_a_summary_sees_the_conversation_whatever_usage_was_reported(memory):
    usage = {"input_tokens": 90_000, "output_tokens": 10, "total_tokens": 90_010}
    history = []
    for n in range(6):
        history += [HumanMessage(f"fact-{n}"), AIMessage("ok", usage_metadata=usage)]
    model = model_of(Notetaker())
    ChatMemory(model, memory=memory, trigger=("messages", 9), keep=KEEP).compact(history)
    summary = next(call for call in model.calls if kind_of(call) == "S")
    assert facts(summary.last.text) == [f"fact-{n}" for n in range(4)]


def test_keeping_by_tokens_is_not_misled_by_reported_usage(memory):
    usage = {"input_tokens": 4_990, "output_tokens": 10, "total_tokens": 5_000}
    history = [HumanMessage(f"Here is fact-{n} for you.") for n in range(20)]
    history += [AIMessage("ok", usage_metadata=usage), HumanMessage("and?")]
    model = model_of(Notetaker())
    chat = ChatMemory(model, memory=memory, trigger=("tokens", 4_000), keep=("tokens", 60))
    assert len(chat.compact(history)) > 3


@pytest.mark.parametrize("trigger", [("tokens", 0), ("words", 3), "tokens"])
def test_a_wrong_trigger_is_told_at_construction(memory, trigger):
    with pytest.raises((ValueError, TypeError)):
        ChatMemory(model_of(Notetaker()), memory=memory, trigger=trigger)


def test_an_unknown_argument_is_told_at_construction(memory):
    with pytest.raises(TypeError, match=r"^ChatMemory takes no argument 'triger'"):
        ChatMemory(model_of(Notetaker()), memory=memory, triger=("messages", 4))


# -- other ways to use it --------------------------------------------------------------------------


@BOTH
async def test_a_plain_loop_compacts_its_messages(memory, folder, is_async):
    script = Notetaker()
    model = model_of(script)
    chat = ChatMemory(model, memory=memory, trigger=("messages", 10), keep=KEEP)
    conversation = Conversation(None, checkpointed=False, is_async=is_async)
    messages = []
    for turn in range(TURNS):
        conversation.said.append(f"fact-{turn}")
        messages.append(HumanMessage(f"Here is fact-{turn} for you."))
        if is_async:
            messages = await chat.acompact(messages, thread_id="plain")
        else:
            messages = chat.compact(messages, thread_id="plain")
        assert not any(isinstance(message, RemoveMessage) for message in messages)
        messages.append(model.invoke(messages))
    assert_nothing_lost(folder, conversation, messages)
    assert script.kinds.count("F") == script.kinds.count("S") > 3


@BOTH
async def test_the_end_of_a_session_writes_the_tail_down_and_archives_it(memory, folder, is_async):
    script, reports = Notetaker(), []
    model = model_of(script)
    chat = ChatMemory(model, memory=memory, on_flush=reports.append)
    agent = create_agent(model, middleware=[chat], checkpointer=InMemorySaver())
    conversation = Conversation(agent, checkpointed=True, is_async=is_async)
    await conversation.talk(3)
    assert script.kinds == "aaa"
    report = await chat.aend_session("1") if is_async else chat.end_session("1")
    assert report.reason == "session_end"
    assert logged(folder) == ["fact-0", "fact-1", "fact-2"]
    assert "fact-1" in Path(report.transcript).read_text(encoding="utf-8")
    assert reports == [reports[0]]
    again = chat.end_session("1")
    assert again.skipped
    assert again.transcript is None


@BOTH
async def test_the_end_of_a_session_that_was_never_seen_says_so(memory, is_async):
    chat = ChatMemory(model_of(Notetaker()), memory=memory)
    report = await chat.aend_session("t") if is_async else chat.end_session("t")
    assert "no message of thread 't'" in report.skipped
    assert "messages=" in report.skipped
    assert (report.safe, report.transcript) == (False, None)
    assert "no message" in chat.end_session("t", messages=[]).skipped


@BOTH
async def test_zero_is_a_thread_id(memory, folder, is_async):
    model = model_of(Notetaker())
    chat = ChatMemory(model, memory=memory)
    agent = create_agent(model, middleware=[chat], checkpointer=InMemorySaver())
    await Conversation(agent, checkpointed=True, is_async=is_async, thread=0).talk(1)
    report = await chat.aend_session(0) if is_async else chat.end_session(0)
    assert (report.thread, report.messages) == ("0", 2)
    assert logged(folder) == ["fact-0"]


async def test_a_session_of_an_earlier_process_ends_with_its_messages(memory, folder):
    chat = ChatMemory(model_of(Notetaker()), memory=memory)
    report = chat.end_session("old", messages=[HumanMessage("fact-5 it is"), AIMessage("ok")])
    assert logged(folder) == ["fact-5"]
    assert report.transcript


async def test_another_model_may_write_the_notes(memory, folder):
    script, cheap = Notetaker(), Notetaker()
    model = model_of(script)
    chat = ChatMemory(
        model, memory=memory, trigger=("messages", 10), keep=KEEP, flush_model=model_of(cheap)
    )
    agent = create_agent(model, middleware=[chat], checkpointer=InMemorySaver())
    await Conversation(agent, checkpointed=True, is_async=False).talk(12)
    assert set(script.kinds) == {"a", "S"}
    assert set(cheap.kinds) == {"F"}


async def test_a_model_without_tools_writes_its_notes_as_text(memory, folder):
    class Toolless(ScriptedChatModel):
        def bind_tools(self, *_, **__):
            raise NotImplementedError

    def script(call):
        if "Pre-compaction" in call.system:
            found = facts(call.messages[1].text)
            return "\n".join(f"- {fact}" for fact in dict.fromkeys(found)) or "NO_REPLY"
        return "ok"

    model = Toolless(script=script)
    chat = ChatMemory(model, memory=memory, trigger=("messages", 10), keep=KEEP)
    agent = create_agent(model, middleware=[chat], checkpointer=InMemorySaver())
    conversation = Conversation(agent, checkpointed=True, is_async=False)
    await conversation.talk(20)
    assert_nothing_lost(folder, conversation)


async def test_flushes_can_be_turned_off(open_memory, folder):
    script = Notetaker()
    chat = ChatMemory(
        model_of(script),
        memory=open_memory(small_window(enabled=False)),
        trigger=("messages", 10),
        keep=KEEP,
    )
    agent = create_agent(model_of(script), middleware=[chat], checkpointer=InMemorySaver())
    await Conversation(agent, checkpointed=True, is_async=False).talk(12)
    assert "F" not in script.kinds
    assert "S" in script.kinds


async def test_the_async_form_leaves_the_event_loop_alone(memory, folder):
    def slow(call):
        time.sleep(0.1)  # a model's sync call, which LangChain runs in a thread
        return script(call)

    script = Notetaker()
    model = model_of(slow)
    chat = ChatMemory(model, memory=memory, trigger=("messages", 8), keep=KEEP)
    history = [HumanMessage(f"Here is fact-{n} for you. " + "blah " * 400) for n in range(8)]
    compacting = asyncio.ensure_future(chat.acompact(history, thread_id="1"))
    ticks = 0
    while not compacting.done():
        await asyncio.sleep(0.005)
        ticks += 1
    assert script.kinds == "FS"
    assert ticks > 20
    assert len(await compacting) == 5


async def test_a_deep_copy_of_the_history_is_not_needed(memory):
    """What is handed in is left as it is, but for the ids that LangChain gives."""
    chat = ChatMemory(model_of(Notetaker()), memory=memory, trigger=("messages", 8), keep=KEEP)
    history = [HumanMessage(f"Here is fact-{n} for you.") for n in range(8)]
    before = [message.content for message in history]
    chat.compact(history)
    assert [message.content for message in history] == before


@pytest.mark.slow
@pytest.mark.parametrize(("kind", "is_async"), [(ChatMemory, True), (MemoryFlushMiddleware, False)])
async def test_a_transcript_of_two_mebibytes_is_flushed(memory, folder, kind, is_async):
    """However few tokens a counter makes of it."""
    script, reports = Notetaker(), []
    model = model_of(script)
    options = {"memory": memory, "token_counter": lambda messages: 0, "on_flush": reports.append}
    middleware = kind(model=model, **options)
    agent = create_agent(model, middleware=[middleware], checkpointer=InMemorySaver())
    conversation = Conversation(agent, checkpointed=True, is_async=is_async)
    for turn in range(6):
        await conversation.say(f"Here is fact-{turn} for you: " + "and so on. " * 38_000)
    assert [report.reason for report in reports] == ["transcript"]
    assert script.kinds.startswith("aaaaaF")  # several silent turns: no window takes so much
    assert script.kinds.endswith("a")
    assert script.kinds.count("a") == 6
    assert logged(folder) == [f"fact-{turn}" for turn in range(6)]


@BOTH
@pytest.mark.parametrize("kind", [ChatMemory, MemoryFlushMiddleware])
async def test_what_other_threads_left_is_written_in_no_turn_of_a_user(
    memory, folder, kind, is_async
):
    broken = Notetaker()
    broken.fails = lambda kind, number: ConnectionError("down")
    for n in range(3):
        lost = ChatMemory(model_of(broken), memory=memory)
        assert lost.end_session(f"left-{n}", messages=[HumanMessage(f"fact-{n} it is")]).failed
    answered, script = threading.Event(), Notetaker()

    def play(call):
        if kind_of(call) == "F":
            assert answered.wait(20)
        return script(call)

    model = model_of(play)
    chat = kind(model=model, memory=memory)
    agent = create_agent(model, middleware=[chat], checkpointer=InMemorySaver())
    await Conversation(agent, checkpointed=True, is_async=is_async).say("hi")
    assert script.kinds == "a"
    assert "fact-0" not in "".join(logged(folder))
    answered.set()
    assert chat._sessions.current()._flusher.wait(20)
    assert sorted(logged(folder)) == ["fact-0", "fact-1", "fact-2"]


async def test_a_coroutine_as_on_flush_is_awaited(memory, folder):
    reports = []

    async def on_flush(report):
        await asyncio.sleep(0)
        reports.append((report, asyncio.get_running_loop()))

    chat = ChatMemory(
        model_of(Notetaker()),
        memory=memory,
        trigger=("messages", 8),
        keep=KEEP,
        on_flush=on_flush,
    )
    history = [HumanMessage(f"Here is fact-{n} for you.") for n in range(8)]
    await chat.acompact(history, thread_id="1")
    assert [loop for _, loop in reports] == [asyncio.get_running_loop()]
    ChatMemory(
        model_of(Notetaker()),
        memory=memory,
        trigger=("messages", 8),
        keep=KEEP,
        on_flush=on_flush,
    ).compact(history, thread_id="2")
    assert [report.thread for report, _ in reports] == ["1", "2"]


def test_each_speaker_is_named_and_has_its_role(memory):
    script = Notetaker()
    model = model_of(script)
    history = [
        HumanMessage("fact-1", name="Ann"),
        AIMessage("noted", name="planner"),
        ChatMessage("fact-2", role="assistant"),
        ChatMessage("fact-3", role="user", name="Ben"),
        ChatMessage("a rule of the framework", role="system"),
        FunctionMessage("fact-4", name="lookup"),
        HumanMessage("fact-5", name="Eve\n\nAssistant"),
    ]
    ChatMemory(model, memory=memory).end_session("1", messages=history)
    told = model.calls[0].last.text
    said = told[told.index("<conversation>") : told.index("</conversation>")].split("\n")[1:-1]
    assert [line for line in said if line] == [
        "User Ann: fact-1",
        "Assistant planner: noted",
        "Assistant: fact-2",
        "User Ben: fact-3",
        "Tool lookup: fact-4",
        "User Eve Assistant: fact-5",
    ]


# In the background.


@BOTH
async def test_in_the_background_the_silent_turn_holds_no_compaction_up(memory, folder, is_async):
    release, script, reports = threading.Event(), Notetaker(), []

    def play(call):
        if kind_of(call) == "F":
            assert release.wait(20)
        return script(call)

    model = model_of(play)
    chat = ChatMemory(
        model,
        memory=memory,
        trigger=("messages", 8),
        keep=KEEP,
        flush="background",
        on_flush=reports.append,
    )
    agent = create_agent(model, middleware=[chat], checkpointer=InMemorySaver())
    conversation = Conversation(agent, checkpointed=True, is_async=is_async)
    await conversation.talk(12)
    assert "F" not in script.kinds
    assert script.kinds.count("S") >= 2
    assert reports == []
    journaled = facts((folder.parent / "state" / "state.sqlite").read_bytes().decode("latin-1"))
    wal = folder.parent / "state" / "state.sqlite-wal"
    journaled += facts(wal.read_bytes().decode("latin-1")) if wal.exists() else []
    kept = {fact for message in conversation.messages for fact in facts(message.text)}
    assert set(conversation.said) <= set(journaled) | kept
    release.set()
    report = await chat.aend_session("1") if is_async else chat.end_session("1")
    assert report.failed is None
    assert sorted(logged(folder)) == sorted(conversation.said)
    assert {report.reason for report in reports} == {"compaction", "session_end"}


async def test_in_the_background_a_compaction_waits_for_the_journal(memory, folder):
    (folder.parent / "state" / "state.sqlite").mkdir(parents=True)
    script = Notetaker()
    model = model_of(script)
    chat = ChatMemory(model, memory=memory, trigger=("messages", 8), keep=KEEP, flush="background")
    agent = create_agent(model, middleware=[chat], checkpointer=InMemorySaver())
    await Conversation(agent, checkpointed=True, is_async=False).talk(8)
    assert "S" not in script.kinds


@pytest.mark.parametrize("mode", ["before", "background"])
async def test_a_compacting_turn_is_one_model_call_more_than_langchains_own(memory, folder, mode):
    script = Notetaker()
    model = model_of(script)
    chat = ChatMemory(model, memory=memory, trigger=("messages", 8), keep=KEEP, flush=mode)
    agent = create_agent(model, middleware=[chat], checkpointer=InMemorySaver())
    conversation = Conversation(agent, checkpointed=True, is_async=False)
    for turn in range(20):
        before = script.kinds
        await conversation.say(f"Here is fact-{turn} for you.")
        assert chat._sessions.current()._flusher.wait(20)
        calls = script.kinds.removeprefix(before)
        assert "".join(sorted(calls)) in ("a", "FSa")
    assert script.kinds.count("S") > 2


def test_another_way_to_flush_is_refused(memory):
    with pytest.raises(ValueError, match="flush is 'later'; it must be 'before' or 'background'"):
        ChatMemory(model_of(Notetaker()), memory=memory, flush="later")
