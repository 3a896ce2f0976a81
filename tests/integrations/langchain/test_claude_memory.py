"""Anthropic's memory tool in LangChain: what its model is sent, and the calls of an agent."""

from __future__ import annotations

import pytest

pytest.importorskip("langchain_anthropic")

from langchain.agents import create_agent
from langchain_anthropic import ChatAnthropic
from langchain_core.language_models import GenericFakeChatModel
from langchain_core.messages import AIMessage

from commonplace import Memory, MemoryPool, Origin
from langchain_commonplace.claude_memory import ClaudeMemoryTool

CREATE = {"command": "create", "path": "/memories/vpn.md", "file_text": "- The port is 51820.\n"}


class Scripted(GenericFakeChatModel):
    def bind_tools(self, tools, **options):
        return self


def calls(*arguments):
    for number, given in enumerate(arguments):
        yield AIMessage("", tool_calls=[{"name": "memory", "args": given, "id": str(number)}])
    yield AIMessage("Done.")


@pytest.fixture
def memory(tmp_path):
    with Memory.open(tmp_path, embedder=None, index=tmp_path / "index.sqlite") as memory:
        yield memory


def test_the_model_is_sent_anthropics_own_tool(memory):
    model = ChatAnthropic(model="claude-sonnet-4-5", api_key="none")
    bound = model.bind_tools([ClaudeMemoryTool(memory=memory)])
    payload = bound._get_request_payload([("user", "Hello")], **bound.kwargs)
    assert payload["tools"] == [{"type": "memory_20250818", "name": "memory"}]
    assert "context-management-2025-06-27" in payload["betas"]


@pytest.mark.parametrize("is_async", [False, True])
async def test_an_agents_calls_are_run_with_the_origin_of_their_thread(memory, is_async):
    bad = {"command": "view", "path": "/etc/passwd"}
    model = Scripted(messages=calls(CREATE, bad, {"command": "create"}))
    agent = create_agent(model, tools=[ClaudeMemoryTool(memory=memory)])
    run, config = {"messages": [("user", "Note the port.")]}, {"configurable": {"thread_id": "t1"}}
    state = await agent.ainvoke(run, config) if is_async else agent.invoke(run, config)
    said = [one for one in state["messages"] if one.type == "tool"]
    assert said[0].content == "File created successfully at: /memories/vpn.md"
    assert [one.status for one in said] == ["success", "error", "error"]
    assert "must start with /memories" in said[1].content
    assert "file_text is wrong" in said[2].content
    assert memory.search("which port?")[0].origin == Origin("agent", session="t1", tool="memory")


def test_each_user_of_a_pool_has_files_of_their_own(tmp_path):
    with MemoryPool(tmp_path / "users", embedder=None) as pool:
        tool = ClaudeMemoryTool(memory=pool.resolver("user_id"))
        tool.invoke(CREATE, config={"configurable": {"user_id": "ann"}})
        with pool.memory("ann") as ann, pool.memory("bob") as bob:
            assert (ann.paths(), bob.paths()) == (["memory/vpn.md"], [])
