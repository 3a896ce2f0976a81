"""Deep agents compact by themselves, and keep what they compacted in their state."""

from __future__ import annotations

import pytest

pytest.importorskip("deepagents", reason="deepagents is not installed")

from deepagents import create_deep_agent
from langgraph.checkpoint.memory import InMemorySaver

from langchain_commonplace import MemoryContextMiddleware, MemoryFlushMiddleware, memory_tools
from support.langchain_fakes import Notetaker
from support.langchain_talk import TURNS, Conversation, logged, model_of


@pytest.mark.slow
@pytest.mark.parametrize("is_async", [False, True], ids=["sync", "async"])
async def test_a_deep_agent_flushes_once_a_compaction(memory, folder, is_async):
    script, reports = Notetaker(), []
    model = model_of(script, profile={"max_input_tokens": 14_000})
    agent = create_deep_agent(
        model,
        tools=memory_tools(memory),
        middleware=[
            MemoryContextMiddleware(memory=memory),
            MemoryFlushMiddleware(memory=memory, model=model, on_flush=reports.append),
        ],
        checkpointer=InMemorySaver(),
    )
    conversation = Conversation(agent, checkpointed=True, is_async=is_async)
    for turn in range(TURNS):
        await conversation.say(f"Here is fact-{turn} for you. " + "blah " * 400)
    assert script.kinds.count("S") >= 2, script.kinds
    assert script.kinds.count("F") == script.kinds.count("S")
    assert len(logged(folder)) == len(set(logged(folder)))
    shown = model.calls[-1].messages
    kept = {fact for fact in conversation.said if any(fact in m.text for m in shown[1:])}
    assert kept | set(logged(folder)) >= set(conversation.said)
