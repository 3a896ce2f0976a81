from __future__ import annotations

import asyncio
import json
import string

import pytest

pytest.importorskip("langchain", reason="LangChain is not installed")

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from langchain.agents import create_agent
from langchain_core.messages import ToolMessage

from commonplace import Memory
from commonplace.tools import (
    APPEND_TOOL,
    GET_TOOL,
    MEMORY_APPEND_SCHEMA,
    MEMORY_GET_SCHEMA,
    MEMORY_SEARCH_SCHEMA,
    SEARCH_TOOL,
    change_tools,
)
from langchain_commonplace import (
    MemoryAppendTool,
    MemoryCorrectTool,
    MemoryDeleteTool,
    MemoryEditTool,
    MemoryGetTool,
    MemorySearchTool,
    memory_tools,
)
from support.fakes import clock
from support.langchain_fakes import ScriptedChatModel, calling


def called(tool, /, **arguments):
    return tool.invoke({"type": "tool_call", "id": "1", "name": tool.name, "args": arguments})


async def acalled(tool, **arguments):
    call = {"type": "tool_call", "id": "1", "name": tool.name, "args": arguments}
    return await tool.ainvoke(call)


@pytest.fixture
def tools(memory):
    return {tool.name: tool for tool in memory_tools(memory, write=True)}


def test_reading_is_the_default_and_writing_is_asked_for(memory):
    assert [type(tool) for tool in memory_tools(memory)] == [MemorySearchTool, MemoryGetTool]
    assert [type(tool) for tool in memory_tools(memory, write=True)] == [
        MemorySearchTool,
        MemoryGetTool,
        MemoryAppendTool,
    ]
    assert [type(tool) for tool in memory_tools(memory, write="edit")] == [
        MemorySearchTool,
        MemoryGetTool,
        MemoryAppendTool,
        MemoryEditTool,
        MemoryCorrectTool,
        MemoryDeleteTool,
    ]
    with pytest.raises(ValueError, match="write is 'all'; it must be"):
        memory_tools(memory, write="all")


def test_the_model_is_shown_the_renderers_names_descriptions_and_schemas(memory):
    model = ScriptedChatModel(script=["done"])
    agent = create_agent(model, tools=memory_tools(memory, write="edit"))
    agent.invoke({"messages": [("user", "hi")]})
    shown = model.calls[0].tools
    for spec, schema in [
        (SEARCH_TOOL, MEMORY_SEARCH_SCHEMA),
        (GET_TOOL, MEMORY_GET_SCHEMA),
        (APPEND_TOOL, MEMORY_APPEND_SCHEMA),
        *((tool, tool.schema) for tool in change_tools()),
    ]:
        function = shown[spec.name]
        assert function["description"] == spec.description
        assert function["parameters"]["properties"] == schema["properties"]
        assert function["parameters"]["required"] == schema["required"]
    assert list(shown["memory_get"]["parameters"]["properties"]) == ["path", "from", "lines"]


def test_a_search_answers_json_and_keeps_the_results_as_artifact(tools):
    message = called(tools["memory_search"], query="which port does the VPN use?", minScore=0)
    answer = json.loads(message.content)
    assert message.status == "success"
    assert "51820" in answer["results"][0]["snippet"]
    assert answer["results"][0]["citation"].startswith("MEMORY.md#L")
    assert message.artifact == answer["results"]
    nothing = called(tools["memory_search"], query="zzzz qqqq", minScore=1)
    assert nothing.artifact == []


def test_a_file_is_read_by_lines(tools):
    message = called(tools["memory_get"], path="MEMORY.md", **{"from": 4, "lines": 1})
    answer = json.loads(message.content)
    assert answer["text"] == "- The VPN listens on port 51820."
    assert answer["nextFrom"] == 5
    assert message.artifact == answer


def test_a_note_is_written_to_today_or_for_long(tools, folder):
    assert json.loads(called(tools["memory_append"], text="- a").content) == {
        "path": "memory/2026-11-20.md"
    }
    called(tools["memory_append"], text="- Ben moved to Lyon", longTerm=True)
    assert (folder / "memory" / "2026-11-20.md").read_text().endswith("- a\n")
    assert "- Ben moved to Lyon" in (folder / "MEMORY.md").read_text()


@pytest.mark.parametrize(
    ("citations", "private", "cited"),
    [(None, True, True), (None, False, False), ("off", True, False), ("on", False, True)],
)
def test_citations_follow_the_call_the_settings_and_the_company(memory, citations, private, cited):
    tool = memory_tools(memory, citations=citations, private=private)[0]
    answer = json.loads(called(tool, query="VPN", minScore=0).content)
    assert ("citation" in answer["results"][0]) is cited


WRONG = [
    ("memory_search", {}, "query is missing"),
    ("memory_search", {"query": 7}, "must be a text"),
    ("memory_search", {"query": "a", "maxResults": "many"}, "a whole number"),
    ("memory_search", {"query": "a", "self": 1}, "unknown argument 'self'"),
    ("memory_search", {"query": "a", "config": {}}, "unknown argument 'config'"),
    ("memory_search", {"query": "a", "run_manager": 1}, "unknown argument 'run_manager'"),
    ("memory_search", {"query": "a", "memory": "x"}, "unknown argument 'memory'"),
    ("memory_get", {}, "path is missing"),
    ("memory_get", {"path": None}, "path is missing"),
    ("memory_get", {"path": "../../etc/passwd"}, "MEMORY.md"),
    ("memory_get", {"path": "/etc/passwd"}, "MEMORY.md"),
    ("memory_get", {"path": "memory/\x00.md"}, ""),
    ("memory_get", {"path": "\ud800.md"}, ""),
    ("memory_get", {"path": "MEMORY.md", "from": []}, "a whole number"),
    ("memory_append", {"text": "  "}, "text is empty"),
    ("memory_append", {"text": "a", "path": "../x.md"}, "unknown argument 'path'"),
    ("memory_append", {"text": "a", "longTerm": "perhaps"}, "true or false"),
]


@pytest.mark.parametrize(("name", "arguments", "told"), WRONG)
async def test_a_wrong_call_is_an_error_answer_and_never_an_exception(tools, name, arguments, told):
    for message in (called(tools[name], **arguments), await acalled(tools[name], **arguments)):
        assert isinstance(message, ToolMessage)
        assert message.status == "error"
        assert told in message.content


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=5,
)
NAMES = st.sampled_from(
    ["query", "maxResults", "minScore", "path", "from", "lines", "text", "longTerm", "self", "args"]
) | st.text(string.printable, max_size=5)


@pytest.mark.slow
@settings(
    max_examples=60,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@given(st.sampled_from(["memory_search", "memory_get"]), st.dictionaries(NAMES, JSON, max_size=4))
def test_no_arguments_break_a_tool(tools, name, arguments):
    message = called(tools[name], **arguments)
    assert isinstance(message, ToolMessage)
    if message.status == "success":
        json.loads(message.content)


def test_what_breaks_inside_is_told_to_the_model_and_logged(memory, caplog, monkeypatch):
    def broken(*_, **__):
        raise RuntimeError("the disk is on fire")

    monkeypatch.setattr(memory, "get", broken)
    message = called(MemoryGetTool(memory=memory), path="MEMORY.md")
    assert message.status == "error"
    assert "on fire" in message.content
    assert caplog.records[-1].exc_info


@pytest.mark.parametrize("name", ["memory_search", "memory_get"])
async def test_sync_and_async_answer_alike(tools, name):
    arguments = {"query": "VPN"} if name == "memory_search" else {"path": "MEMORY.md"}
    assert await acalled(tools[name], **arguments) == called(tools[name], **arguments)
    assert await tools[name].ainvoke(arguments) == tools[name].invoke(arguments)


def test_a_text_stands_for_the_first_argument(tools):
    assert "51820" in tools["memory_search"].invoke("VPN port 51820")
    assert "51820" in tools["memory_get"].invoke("MEMORY.md")


async def test_the_async_form_leaves_the_event_loop_alone(memory, monkeypatch):
    import threading

    release = threading.Event()
    get = memory.get

    def slow(*arguments, **options):
        release.wait(5)
        return get(*arguments, **options)

    monkeypatch.setattr(memory, "get", slow)
    call = asyncio.ensure_future(acalled(MemoryGetTool(memory=memory), path="MEMORY.md"))
    await asyncio.sleep(0.05)
    assert not call.done()
    release.set()
    assert (await call).status == "success"


def test_an_agent_searches_reads_and_answers(memory):
    model = ScriptedChatModel(
        script=[
            calling("memory_search", "1", query="which port does the VPN use?"),
            calling("memory_get", "2", path="MEMORY.md", **{"from": 4, "lines": 1}),
            "It listens on 51820.",
        ]
    )
    agent = create_agent(model, tools=memory_tools(memory))
    messages = agent.invoke({"messages": [("user", "Which port?")]})["messages"]
    answers = [message for message in messages if isinstance(message, ToolMessage)]
    assert [message.status for message in answers] == ["success", "success"]
    assert "51820" in answers[1].content
    assert messages[-1].text == "It listens on 51820."


@pytest.mark.parametrize("is_async", [False, True], ids=["sync", "async"])
async def test_an_agent_goes_on_after_wrong_calls(memory, is_async):
    script = [calling(name, str(n), **arguments) for n, (name, arguments, _) in enumerate(WRONG)]
    agent = create_agent(
        ScriptedChatModel(script=[*script, "sorry"]), tools=memory_tools(memory, write=True)
    )
    given_in, config = {"messages": [("user", "go")]}, {"recursion_limit": 100}
    out = await agent.ainvoke(given_in, config) if is_async else agent.invoke(given_in, config)
    answers = [message for message in out["messages"] if isinstance(message, ToolMessage)]
    assert len(answers) == len(WRONG)
    assert {message.status for message in answers} == {"error"}
    assert out["messages"][-1].text == "sorry"


@pytest.mark.parametrize("is_async", [False, True], ids=["sync", "async"])
async def test_an_agent_corrects_edits_and_deletes_and_the_user_takes_it_back(
    memory, folder, is_async
):
    script = [
        calling("memory_edit", "1", path="MEMORY.md", old="listens on port 1194", new="x"),
        calling("memory_edit", "2", path="MEMORY.md", old="- ", new="* "),
        calling("memory_edit", "3", path="MEMORY.md", old="prefers tea", new="prefers green tea"),
        calling("memory_correct", "4", citation="MEMORY.md#L4", text="The VPN listens on 51821"),
        calling("memory_search", "5", query="Which port does the VPN listen on?"),
        calling("memory_delete", "6", path="memory/2025-01-02.md"),
        "done",
    ]
    agent = create_agent(ScriptedChatModel(script=script), tools=memory_tools(memory, write="edit"))
    before = {file: file.read_bytes() for file in folder.rglob("*.md")}
    given_in, config = {"messages": [("user", "go")]}, {"recursion_limit": 100}
    out = await agent.ainvoke(given_in, config) if is_async else agent.invoke(given_in, config)
    answers = [message for message in out["messages"] if isinstance(message, ToolMessage)]
    assert [message.status for message in answers] == ["error", "error", *["success"] * 4]
    assert "MEMORY.md#L4: - The VPN listens on port 51820." in answers[0].content
    assert "old stands 4 times in MEMORY.md: MEMORY.md#L4, MEMORY.md#L5" in answers[1].content
    changes = [json.loads(answers[at].content) for at in (2, 3, 5)]
    assert [change["path"] for change in changes] == [
        "MEMORY.md",
        "MEMORY.md",
        "memory/2025-01-02.md",
    ]
    assert answers[2].artifact == changes[0]
    assert "51821" in json.loads(answers[4].content)["results"][0]["snippet"]
    assert "prefers green tea" in (folder / "MEMORY.md").read_text()
    assert not (folder / "memory/2025-01-02.md").exists()
    for change in reversed(changes):
        memory.undo(change["version"])
    assert {file: file.read_bytes() for file in folder.rglob("*.md")} == before


def test_the_artifact_is_the_same_plain_values_behind_a_checkpoint(memory, tmp_path):
    sqlite = pytest.importorskip("langgraph.checkpoint.sqlite", reason="no sqlite checkpointer")
    script = [calling("memory_search", query="VPN"), "done", "again"]
    model = ScriptedChatModel(script=script)
    config = {"configurable": {"thread_id": "1"}}
    artifacts = []
    for _ in range(2):
        with sqlite.SqliteSaver.from_conn_string(str(tmp_path / "graph.sqlite")) as saver:
            agent = create_agent(model, tools=memory_tools(memory), checkpointer=saver)
            state = agent.invoke({"messages": [("user", "VPN?")]}, config)
        artifacts += [m.artifact for m in state["messages"] if isinstance(m, ToolMessage)]
    first, restored = artifacts
    assert first == restored == json.loads(json.dumps(first))
    assert [result["path"] for result in first] == [r.path for r in memory.search("VPN")]


def test_two_memories_in_one_agent_have_tools_of_their_own(memory, tmp_path):
    (tmp_path / "team" / "memory").mkdir(parents=True)
    (tmp_path / "team" / "MEMORY.md").write_text("- The team's VPN listens on 1194.\n", "utf-8")
    with Memory.open(
        tmp_path / "team", embedder=None, index=tmp_path / "team.sqlite", now=clock()
    ) as team:
        script = [
            calling("memory_search", "1", query="VPN"),
            calling("team_memory_search", "2", query="VPN"),
            calling("team_memory_get", "3", path="MEMORY.md"),
            calling("team_memory_append", "4", text="- ours"),
            "done",
        ]
        tools = [*memory_tools(memory), *memory_tools(team, name="team", write=True)]
        model = ScriptedChatModel(script=script)
        agent = create_agent(model, tools=tools)
        messages = agent.invoke({"messages": [("user", "go")]})["messages"]
        own, theirs, read, written = (
            json.loads(m.content) for m in messages if isinstance(m, ToolMessage)
        )
        assert "memory" not in own["results"][0]
        assert {result["memory"] for result in theirs["results"]} == {"team"}
        assert "1194" in theirs["results"][0]["snippet"]
        assert read["memory"] == written["memory"] == "team"
        assert "- ours" in (tmp_path / "team" / written["path"]).read_text("utf-8")
    assert set(model.calls[0].tools) == {tool.name for tool in tools}
    assert "team_memory_search" in model.calls[0].tools["team_memory_get"]["description"]


def test_secrets_that_a_model_writes_are_masked_and_those_of_a_program_are_not(memory, folder):
    secret = "sk-proj-abcdefghijklmnopqrstuvwxyz0123456789"
    log = folder / "memory" / "2026-11-20.md"
    called(memory_tools(memory, write=True)[2], text=f"- The key is {secret}.")
    assert "- The key is " in log.read_text("utf-8")
    assert secret not in log.read_text("utf-8")
    called(memory_tools(memory, write=True, redact=False)[2], text=f"- It is {secret}.")
    assert f"- It is {secret}." in log.read_text("utf-8")
    memory.append(f"- As given: {secret}")
    assert f"- As given: {secret}" in log.read_text("utf-8")


def test_where_others_read_along_nothing_is_appended_for_long(memory, folder):
    append = memory_tools(memory, write=True, private=False)[2]
    before = (folder / "MEMORY.md").read_text("utf-8")
    refused = called(append, text="- for long", longTerm=True)
    assert refused.status == "error"
    assert "the user's alone" in refused.content
    assert (folder / "MEMORY.md").read_text("utf-8") == before
    assert called(append, text="- today").status == "success"
    model = ScriptedChatModel(script=["done"])
    create_agent(model, tools=[append]).invoke({"messages": [("user", "hi")]})
    shown = model.calls[0].tools["memory_append"]
    assert "longTerm" not in shown["parameters"]["properties"]


def test_where_others_read_along_the_long_term_file_is_left_out(memory):
    search, get = memory_tools(memory, private=False)
    answer = json.loads(called(search, query="VPN", minScore=0, maxResults=9).content)
    assert {hit["path"] for hit in answer["results"]} >= {"memory/2026-11-20.md"}
    assert "MEMORY.md" not in {hit["path"] for hit in answer["results"]}
    refused = called(get, path="MEMORY.md")
    assert refused.status == "error"
    assert "the user's alone" in refused.content
    assert called(get, path="memory/2026-11-20.md").status == "success"


def test_a_slip_in_what_is_masked_is_told_at_construction(memory):
    with pytest.raises(ValueError, match=r"^redact is 'persnal'; it takes True, False or"):
        memory_tools(memory, redact="persnal")
