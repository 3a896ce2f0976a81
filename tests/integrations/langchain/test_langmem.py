"""LangMem's tools run on `CommonplaceStore` as they are."""

from __future__ import annotations

import json

import pytest

pytest.importorskip("langmem", reason="LangMem is not installed")

from langchain.agents import create_agent
from langmem import create_manage_memory_tool, create_search_memory_tool

from langchain_commonplace import CommonplaceStore
from support.fakes import HashedWords
from support.langchain_fakes import ScriptedChatModel, calling


@pytest.fixture
def store(tmp_path):
    with CommonplaceStore(tmp_path / "store", embedder=HashedWords(512)) as store:
        yield store


NAMESPACE = ("memories", "{user_id}")
ANN = {"configurable": {"user_id": "ann"}}
BEN = {"configurable": {"user_id": "ben"}}


@pytest.mark.parametrize("is_async", [False, True], ids=["sync", "async"])
async def test_memories_are_created_found_changed_and_deleted(store, is_async):
    manage = create_manage_memory_tool(namespace=NAMESPACE, store=store)
    search = create_search_memory_tool(namespace=NAMESPACE, store=store)

    async def call(tool, arguments, config=ANN):
        return await tool.ainvoke(arguments, config) if is_async else tool.invoke(arguments, config)

    await call(manage, {"content": "User prefers green tea", "action": "create"})
    await call(manage, {"content": "User plays chess on Fridays", "action": "create"})
    await call(manage, {"content": "Ben likes coffee", "action": "create"}, BEN)
    folder = store.memory.workspace.root / "memory" / "memories" / "ann"
    files = sorted(folder.iterdir())
    assert len(files) == 2
    assert any(file.read_text("utf-8").endswith("User prefers green tea\n") for file in files)

    found = json.loads(await call(search, {"query": "which tea?"}))
    assert found[0]["value"]["content"] == "User prefers green tea"
    assert "coffee" not in str(found)

    memory_id = found[0]["key"]
    await call(manage, {"content": "User prefers mint tea", "action": "update", "id": memory_id})
    assert store.get(("memories", "ann"), memory_id).value["content"] == "User prefers mint tea"
    await call(manage, {"action": "delete", "id": memory_id})
    assert store.get(("memories", "ann"), memory_id) is None
    assert len(store.search(("memories",))) == 2


def test_an_agent_remembers_with_langmems_tools(store):
    def answer(call):
        if call.last.type != "human":
            return "ok"
        if "Remember" in call.last.text:
            return calling("manage_memory", content="Tea at four.", action="create")
        return calling("search_memory", query="when is tea")

    tools = [create_manage_memory_tool(("m",)), create_search_memory_tool(("m",))]
    agent = create_agent(ScriptedChatModel(script=answer), tools=tools, store=store)
    agent.invoke({"messages": [("user", "Remember: tea at four.")]})
    out = agent.invoke({"messages": [("user", "When is tea?")]})
    assert "Tea at four." in out["messages"][-2].text
