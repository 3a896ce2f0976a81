"""Agents within agents, messages that are replaced, and histories that clients send again."""

from __future__ import annotations

from pathlib import Path

import pytest

pytest.importorskip("langchain", reason="LangChain is not installed")

from langchain.agents import create_agent
from langchain.agents.middleware import PIIMiddleware
from langchain_core.messages import HumanMessage
from langchain_core.tools import tool
from langgraph.checkpoint.memory import InMemorySaver

from commonplace import Memory, Settings
from langchain_commonplace import ChatMemory
from support.fakes import NOON, HashedWords
from support.langchain_fakes import Notetaker, ScriptedChatModel, calling
from support.langchain_talk import logged, model_of

NEVER = ("messages", 1_000)


@pytest.fixture
def other(tmp_path):
    """Return the memory of another user."""
    folder = tmp_path / "other"
    folder.mkdir()
    settings = Settings(timezone="UTC")
    options = {"embedder": HashedWords(), "now": lambda: NOON, "index": "memory://"}
    with Memory.open(folder, settings=settings, **options) as memory:
        yield memory


def on_thread(name):
    return {"configurable": {"thread_id": name}}


def helper_of(memory, **options):
    """Return an agent that compacts each conversation, with a memory of its own."""
    model = model_of(Notetaker())
    chat = ChatMemory(
        model, memory=memory, trigger=("messages", 4), keep=("messages", 1), **options
    )
    return create_agent(model, middleware=[chat])


def helper_talk():
    return {"messages": [HumanMessage(f"Here is fact-{n} for you.") for n in range(90, 95)]}


@pytest.mark.parametrize("place", ["summarizer", "on_flush"])
def test_an_agent_within_a_flush_writes_to_its_own_memory(memory, folder, other, place):
    helper, reports = helper_of(other), []

    def ask_helper(_):
        helper.invoke(helper_talk())
        return "what was said"

    def on_flush(report):
        reports.append(report)
        if place == "on_flush":
            ask_helper(report)

    options = {"summarizer": ask_helper} if place == "summarizer" else {}
    model = model_of(Notetaker())
    chat = ChatMemory(
        model, memory=memory, trigger=("messages", 6), keep=("messages", 2), on_flush=on_flush,
        **options,
    )  # fmt: skip
    agent = create_agent(model, middleware=[chat], checkpointer=InMemorySaver())
    for turn in range(4):
        agent.invoke({"messages": [("user", f"Here is fact-{turn} for you.")]}, on_thread("a"))
    assert set(logged(folder)) <= {f"fact-{turn}" for turn in range(4)}
    assert "fact-90" in logged(other.workspace.root)
    assert len(reports) == 1


@pytest.mark.parametrize("comes_first", [True, False])
def test_what_was_redacted_is_neither_flushed_nor_archived(memory, comes_first):
    shown = []

    def note(call):
        shown.extend(message.text for message in call.messages)
        return "ok"

    chat = ChatMemory(ScriptedChatModel(script=note), memory=memory, trigger=NEVER)
    middleware = [PIIMiddleware("email", strategy="redact"), chat]
    if not comes_first:
        middleware.reverse()
    model = ScriptedChatModel(script=["fine"])
    agent = create_agent(model, middleware=middleware, checkpointer=InMemorySaver())
    text = "Write to ada.secret@example.com please."
    agent.invoke({"messages": [("user", text)]}, on_thread("a"))
    report = chat.end_session("a")
    archived = Path(report.transcript).read_text(encoding="utf-8")
    assert "REDACTED" in archived
    assert "ada.secret" not in archived + "".join(shown)


def test_a_corrected_message_is_flushed_as_it_is_now(memory):
    chat = ChatMemory(model_of(Notetaker()), memory=memory, trigger=NEVER)
    agent = create_agent(model_of(Notetaker()), middleware=[chat], checkpointer=InMemorySaver())
    agent.invoke({"messages": [HumanMessage("Here is fact-1.", id="one")]}, on_thread("a"))
    agent.update_state(on_thread("a"), {"messages": [HumanMessage("Here is fact-2.", id="one")]})
    agent.invoke({"messages": [HumanMessage("Thanks.")]}, on_thread("a"))
    chat.end_session("a")
    assert logged(memory.workspace.root) == ["fact-2"]


@pytest.mark.parametrize("compacts", [True, False])
def test_a_history_that_is_sent_again_has_not_vanished(memory, compacts):
    reports, history = [], []
    model = ScriptedChatModel(script=lambda call: f"Answer to {call.last.text}")
    chat = ChatMemory(model, memory=memory, trigger=NEVER, on_flush=reports.append)
    agent = create_agent(model, middleware=[chat])
    for turn in range(5):
        history.append({"role": "user", "content": f"question {turn}"})
        if compacts:
            messages = [HumanMessage(one["content"]) for one in history]
            chat.compact(messages, thread_id="web")
        else:
            answer = agent.invoke({"messages": history}, on_thread("web"))["messages"][-1]
            history.append({"role": "assistant", "content": answer.text})
    assert reports == []
    if compacts:  # one that is gone all the same is flushed
        chat.compact([HumanMessage("question 4")], thread_id="web")
        assert [report.messages for report in reports] == [4]


@pytest.mark.parametrize("is_shared", [True, False])
def test_an_agent_that_a_tool_calls_has_a_conversation_of_its_own(memory, is_shared):
    reports = []
    sub_model = ScriptedChatModel(script=["42"])
    chats = [ChatMemory(sub_model, memory=memory, trigger=NEVER, on_flush=reports.append)]
    chats.append(
        chats[0]
        if is_shared
        else ChatMemory(sub_model, memory=memory, trigger=NEVER, on_flush=reports.append)
    )
    sub_agent, asked = create_agent(sub_model, middleware=[chats[0]]), []

    @tool
    def ask(question: str) -> str:
        """Ask the other agent."""
        asked.append(question)
        talk = [("user", f"{question} {len(asked)}")]
        return sub_agent.invoke({"messages": talk})["messages"][-1].text

    def answer(call):
        is_asked = call.last.type == "human"
        return calling("ask", question="how many?") if is_asked else "It is 42."

    agent = create_agent(
        ScriptedChatModel(script=answer), [ask], middleware=[chats[1]],
        checkpointer=InMemorySaver(),
    )  # fmt: skip
    for turn in range(4):
        agent.invoke({"messages": [("user", f"question {turn}")]}, on_thread("a"))
    assert len(asked) == 4
    assert reports == []
