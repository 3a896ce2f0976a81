"""deepagents' file tools over `CommonplaceStore`: files of an agent that last, as Markdown."""

from __future__ import annotations

import pytest

pytest.importorskip("deepagents", reason="deepagents is not installed")

from deepagents import create_deep_agent
from deepagents.backends import CompositeBackend, StateBackend, StoreBackend

from commonplace.items.layout import parse_item
from langchain_commonplace import CommonplaceStore
from support.fakes import HashedWords
from support.langchain_fakes import ScriptedChatModel, calling


@pytest.fixture
def store(tmp_path):
    with CommonplaceStore(tmp_path / "store", embedder=HashedWords(512)) as store:
        yield store


def files(store):
    found = store.memory.workspace.root.joinpath("memory", "agent").glob("*.md")
    return {parse_item(file.read_text("utf-8")).value["content"] for file in found}


NOTES = "# Notes\n\n## Tea\n\n- Ann: green\n- Ben: black\n"


async def test_its_store_backend_runs_on_it_as_it_is(store):
    backend = StoreBackend(store=store, namespace=lambda runtime: ("agent",))
    assert backend.write("/notes.md", NOTES).error is None
    assert (await backend.awrite("/Notes.md", "Other.\n")).error is None
    assert "- Ann: green" in backend.read("/notes.md").file_data["content"]
    edited = backend.edit("/notes.md", "Ann: green", "Ann: mint")
    assert (edited.error, edited.occurrences) == (None, 1)
    assert files(store) == {NOTES.replace("green", "mint"), "Other.\n"}
    assert [match["path"] for match in backend.grep("mint", path="/").matches] == ["/notes.md"]
    assert {entry["path"] for entry in backend.ls("/").entries} == {"/notes.md", "/Notes.md"}
    assert {info["path"] for info in backend.glob("*.md", path="/").matches} >= {"/notes.md"}


def test_more_files_than_a_page_of_a_search(store):
    backend = StoreBackend(store=store, namespace=lambda runtime: ("agent",))
    for number in range(120):
        file = store.memory.workspace.root / "memory" / "agent" / f"%2Fn{number:03}.md"
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text("---\nencoding: utf-8\ncreated_at: '2026-11-20T12:00:00'\n"
                        "modified_at: '2026-11-20T12:00:00'\n"
                        f"commonplace:\n  text: content\n---\nNumber {number}.\n")  # fmt: skip
    assert len(backend.ls("/").entries) == 120


def test_memories_of_a_deep_agent_are_files_that_the_next_search_finds(store):
    """The recipe: ``/memories/`` is the store, all else the agent's state."""

    def answer(call):
        if call.last.type == "tool":
            return "done"
        text = call.last.text
        if "Remember" in text:
            text = "- Tea is at four.\n"
            return calling("write_file", file_path="/memories/tea.md", content=text)
        if "Change" in text:
            return calling(
                "edit_file", file_path="/memories/tea.md", old_string="four", new_string="five"
            )
        return calling("read_file", file_path="/memories/tea.md")

    backend = CompositeBackend(
        default=StateBackend(),
        routes={"/memories/": StoreBackend(store=store, namespace=lambda runtime: ("agent",))},
    )
    agent = create_deep_agent(ScriptedChatModel(script=answer), backend=backend)
    agent.invoke({"messages": [("user", "Remember: tea is at four.")]})
    assert files(store) == {"- Tea is at four.\n"}
    assert "four" in store.search((), query="when is tea")[0].value["content"]
    agent.invoke({"messages": [("user", "Change it to five.")]})
    assert "five" in store.search((), query="when is tea")[0].value["content"]
    assert "five" in store.memory.search("when is tea")[0].snippet
    (file,) = store.memory.workspace.root.joinpath("memory", "agent").glob("*.md")
    file.write_text(file.read_text("utf-8").replace("five", "six"), "utf-8")  # a person's hand
    out = agent.invoke({"messages": [("user", "When is tea?")]})
    assert "six" in out["messages"][-2].text
