"""Agents within agents, messages that are replaced, and histories that clients send again."""

from __future__ import annotations

import inspect
import operator
from itertools import pairwise
from pathlib import Path
from typing import Annotated, TypedDict

import pytest

pytest.importorskip("langchain", reason="LangChain is not installed")

from langchain.agents import create_agent
from langchain.agents.middleware import PIIMiddleware, SummarizationMiddleware
from langchain_core.messages import HumanMessage, RemoveMessage
from langchain_core.tools import tool
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import END, START, MessagesState, StateGraph
from langgraph.types import Command, Send, interrupt

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


TAKES_SUMMARIZER = "summarizer" in inspect.signature(SummarizationMiddleware).parameters
NEEDS_SUMMARIZER = pytest.mark.skipif(not TAKES_SUMMARIZER, reason="LangChain has no summarizer")


@pytest.mark.skipif(TAKES_SUMMARIZER, reason="LangChain has the option")
def test_an_option_that_langchain_does_not_have_is_refused(memory):
    with pytest.raises(TypeError, match="pip install --upgrade langchain"):
        ChatMemory(model_of(Notetaker()), memory=memory, summarizer=str)


@pytest.mark.parametrize("place", [pytest.param("summarizer", marks=NEEDS_SUMMARIZER), "on_flush"])
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


def agent_and_reports(memory):
    """Return an agent, the memory of its conversations, and the reports of their flushes."""
    reports = []
    model = ScriptedChatModel(script=lambda call: f"I have read {len(call.messages)} messages.")
    chat = ChatMemory(model, memory=memory, trigger=NEVER, on_flush=reports.append)
    return create_agent(model, middleware=[chat]), chat, reports


def graph_of(state, **nodes):
    """Return a graph that runs its nodes one after another."""
    graph = StateGraph(state)
    places = [START, *nodes, END]
    for name, node in nodes.items():
        graph.add_node(name, node)
    for place, behind in pairwise(places):
        graph.add_edge(place, behind)
    return graph.compile(checkpointer=InMemorySaver())


class Topics(TypedDict):
    topics: list[str]
    found: Annotated[list[str], operator.add]


@pytest.mark.parametrize("is_async", [False, True], ids=["sync", "async"])
async def test_agents_that_send_starts_have_conversations_of_their_own(memory, is_async):
    agent, _, reports = agent_and_reports(memory)

    def work(state):
        talk = {"messages": [("user", "Work on it."), ("user", state["topic"])]}
        return {"found": [agent.invoke(talk)["messages"][-1].text]}

    async def awork(state):
        talk = {"messages": [("user", "Work on it."), ("user", state["topic"])]}
        return {"found": [(await agent.ainvoke(talk))["messages"][-1].text]}

    def fan_out(state):
        return [Send("work", {"topic": topic}) for topic in state["topics"]]

    graph = StateGraph(Topics)
    graph.add_node("work", awork if is_async else work)
    graph.add_conditional_edges(START, fan_out, ["work"])
    app = graph.compile(checkpointer=InMemorySaver())
    for turn in range(3):
        given = {"topics": [f"{name} {turn}" for name in ("alpha", "beta", "gamma")]}
        config = on_thread("a")
        await app.ainvoke(given, config) if is_async else app.invoke(given, config)
    assert reports == []


@pytest.mark.parametrize("handed_over", ["new", "last"])
def test_an_agent_that_a_node_calls_has_a_conversation_of_its_own(memory, handed_over):
    agent, chat, reports = agent_and_reports(memory)

    def review(state):
        last = state["messages"][-1]
        talk = [last if handed_over == "last" else HumanMessage(f"Review: {last.text}")]
        return {"messages": [agent.invoke({"messages": talk})["messages"][-1]]}

    app = graph_of(MessagesState, answer=agent, review=review)
    for turn in range(3):
        app.invoke({"messages": [("user", f"question {turn}")]}, on_thread("a"))
    assert reports == []
    report = chat.end_session("a")
    assert "question 2" in Path(report.transcript).read_text("utf-8")
    assert report.messages == 8  # all but the last review, which the agents have not seen


def test_agents_that_are_nodes_share_the_conversation_of_their_graph(memory, folder):
    agent, chat, reports = agent_and_reports(memory)
    app = graph_of(MessagesState, first=agent, second=agent)
    for turn in range(3):
        app.invoke({"messages": [HumanMessage(f"fact-{turn}", id=f"q{turn}")]}, on_thread("a"))
    assert reports == []
    gone = [RemoveMessage("q0")]
    app.update_state(on_thread("a"), {"messages": gone})
    app.invoke({"messages": [("user", "Go on.")]}, on_thread("a"))
    assert [(report.reason, report.messages) for report in reports] == [("compaction", 1)]
    assert "fact-2" in Path(chat.end_session("a").transcript).read_text("utf-8")


@pytest.mark.parametrize("is_node", [True, False])
def test_an_agent_in_a_graph_goes_on_with_its_conversation_after_an_interrupt(memory, is_node):
    @tool
    def approve(what: str) -> str:
        """Ask a person."""
        return str(interrupt(what))

    def answer(call):
        return calling("approve", what="it") if call.last.type == "human" else "Done."

    reports = []
    model = ScriptedChatModel(script=answer)
    chat = ChatMemory(model, memory=memory, trigger=NEVER, on_flush=reports.append)
    agent = create_agent(model, [approve], middleware=[chat])

    def call(state):
        talk = [HumanMessage(f"Do {state['messages'][-1].text}")]
        return {"messages": [agent.invoke({"messages": talk})["messages"][-1]]}

    app = graph_of(MessagesState, work=agent if is_node else call)
    for turn in range(3):
        app.invoke({"messages": [("user", f"task {turn}")]}, on_thread("a"))
        out = app.invoke(Command(resume="yes"), on_thread("a"))
        assert out["messages"][-1].text == "Done."
    assert reports == []
