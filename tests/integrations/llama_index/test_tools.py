"""`CommonplaceToolSpec` and its tools."""

from __future__ import annotations

import contextlib
import io
import json
import logging
import re
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

pytest.importorskip("llama_index.core", reason="the extra llama-index is not installed")

from llama_index.core.agent.workflow import (
    AgentWorkflow,
    CodeActAgent,
    FunctionAgent,
    ReActAgent,
    ToolCallResult,
)
from llama_index.core.tools import FunctionTool, ToolMetadata
from llama_index.core.tools.calling import acall_tool, call_tool

from commonplace import Settings
from commonplace.errors import SettingsError, ToolInputError
from commonplace.tools import (
    APPEND_TOOL,
    GET_TOOL,
    SEARCH_TOOL,
    append_answer,
    change_tools,
    get_answer,
    search_answer,
)
from llama_index_commonplace import CommonplaceToolSpec, MemoryTool

GOLDEN = Path(__file__).parent / "golden"
QUESTION = "What was wrong in SLIP-431?"
TOOLS = [SEARCH_TOOL, GET_TOOL, APPEND_TOOL, *change_tools()]


@pytest.fixture
def tools(memory):
    return {
        tool.metadata.name: tool
        for tool in CommonplaceToolSpec(memory, write="edit").to_tool_list()
    }


def test_writing_is_a_tool_only_when_it_is_asked_for(memory):
    def names(**options):
        return [
            tool.metadata.name for tool in CommonplaceToolSpec(memory, **options).to_tool_list()
        ]

    assert names() == ["memory_search", "memory_get"]
    assert names(write=True) == ["memory_search", "memory_get", "memory_append"]
    assert names(write="append") == names(write=True)
    changing = ["memory_edit", "memory_correct", "memory_delete"]
    assert names(write="edit") == [*names(write=True), *changing]
    assert names(write="edit", name="team")[-1] == "team_memory_delete"
    with pytest.raises(ValueError, match="write is 'all'; it must be"):
        names(write="all")


async def test_some_of_the_tools_can_be_asked_for_and_described_otherwise(memory):
    spec = CommonplaceToolSpec(memory)
    assert len(await spec.to_tool_list_async()) == 2
    described = ToolMetadata("look it up", name="recall")
    [tool] = spec.to_tool_list([("memory_search", "")], {"memory_search": described})
    assert tool.metadata is described
    assert (await tool.acall(query="SLIP-431")).tool_name == "recall"
    with pytest.raises(ValueError, match="no tool 'memory_append'; it can be memory_search, "):
        spec.to_tool_list(["memory_append"])


@pytest.mark.parametrize("tool", TOOLS, ids=lambda tool: tool.name)
def test_a_model_is_shown_what_the_golden_file_shows(tools, tool):
    shown = tools[tool.name].metadata.to_openai_tool()
    golden = GOLDEN / f"{tool.name}.json"
    assert shown == json.loads(golden.read_text(encoding="utf-8"))
    assert shown["function"]["parameters"] == {
        name: part for name, part in tool.schema.items() if name != "additionalProperties"
    }
    assert shown["function"]["description"] == tool.description
    assert len(tool.description) <= 1024


@pytest.mark.parametrize("tool", TOOLS, ids=lambda tool: tool.name)
def test_the_schema_can_be_changed_by_a_provider_without_changing_the_next(tools, tool):
    schema = tools[tool.name].metadata.fn_schema
    assert list(schema.model_fields) == list(tool.schema["properties"])
    first = schema.model_json_schema()
    first["properties"].clear()
    assert schema.model_json_schema()["properties"] == tool.schema["properties"]
    assert tool.schema["properties"]


CALLS = [
    ("memory_search", {"query": QUESTION}, search_answer),
    ("memory_search", {"query": QUESTION, "maxResults": 2, "minScore": 0}, search_answer),
    ("memory_search", {"query": QUESTION, "maxResults": "2", "minScore": None}, search_answer),
    ("memory_search", {"query": "\ninput is tea\n"}, search_answer),
    ("memory_get", {"path": "MEMORY.md", "from": 3, "lines": 2}, get_answer),
    ("memory_get", {"path": "memory/none.md"}, get_answer),
]


@pytest.mark.parametrize(("name", "arguments", "renderer"), CALLS)
async def test_a_call_is_answered_as_the_renderer_answers(memory, tools, name, arguments, renderer):
    answer = renderer(memory, arguments)
    for output in (tools[name](**arguments), await tools[name].acall(**arguments)):
        assert json.loads(output.content) == output.raw_output == answer
        assert output.tool_name == name
        assert output.raw_input == {"args": (), "kwargs": arguments}
        assert not output.is_error
    assert tools[name].fn(**arguments) == await tools[name].async_fn(**arguments) == output.content


async def test_a_note_that_is_appended_is_found(memory, tools):
    output = await tools["memory_append"].acall(text="- The heron moved to rack 7.")
    assert output.raw_output == {"path": "memory/2026-11-20.md"}
    found = tools["memory_search"](query="heron rack").raw_output["results"]
    assert any("rack 7" in hit["snippet"] for hit in found)
    output = tools["memory_append"](text="- Rack 7 is ours.", longTerm=True)
    assert output.raw_output == append_answer(
        memory, {"text": "- Rack 7 is ours.", "longTerm": True}
    )


def test_arguments_without_a_name_are_taken_in_the_schemas_order(tools):
    by_place = tools["memory_get"]("MEMORY.md", 3, 2)
    assert (
        by_place.raw_output
        == tools["memory_get"](path="MEMORY.md", **{"from": 3}, lines=2).raw_output
    )
    assert tools["memory_get"](1, 2, 3, 4).is_error


WRONG = [
    ("memory_search", {}, "query is missing"),
    ("memory_search", {"query": 7}, "query is 7; it must be a text"),
    ("memory_search", {"query": "a", "max_results": 3}, "did you mean maxResults?"),
    ("memory_search", {"query": "a", "maxResults": 10**400}, "between 1 and 200"),
    ("memory_search", {"input": "a"}, "unknown argument 'input'"),
    ("memory_get", {"path": "MEMORY.md", "from_": 3}, "did you mean from?"),
    ("memory_get", {"path": "../../etc/passwd"}, "Allowed are MEMORY.md, memory/**/*.md"),
    ("memory_get", {"path": "/etc/passwd"}, "Allowed are"),
    ("memory_get", {"path": "a\0b"}, "Allowed are"),
    ("memory_append", {"text": "  "}, "text is empty"),
    ("memory_append", {"text": "a", "path": "MEMORY.md"}, "unknown argument 'path'"),
    *[
        ("memory_search", {"query": "a", name: 1}, f"unknown argument '{name}'")
        for name in ("self", "cls", "args", "kwargs", "func", "wrapped", "instance", "ctx", "input")
    ],
]


@pytest.mark.parametrize(("name", "arguments", "told"), WRONG)
async def test_a_wrong_call_is_an_output_that_is_an_error(tools, name, arguments, told):
    tool = tools[name]
    outputs = [tool(**arguments), tool.call(**arguments), await tool.acall(**arguments)]
    outputs += [call_tool(tool, arguments), await acall_tool(tool, arguments)]
    for output in outputs:
        assert output.is_error
        assert told in output.content
        assert not output.content.startswith("Encountered error")
        assert output.raw_output == {"error": output.content}
        assert isinstance(output.exception, ValueError)


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda values: st.lists(values, max_size=3) | st.dictionaries(st.text(), values, max_size=3),
    max_leaves=5,
)
names = st.sampled_from(
    ["query", "maxResults", "minScore", "path", "from", "lines", "self", "args", "kwargs", ""]
)


@settings(
    max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(arguments=st.dictionaries(names | st.text(max_size=8), json_values, max_size=4))
def test_no_arguments_raise(tools, arguments):
    for name in ("memory_search", "memory_get"):
        output = tools[name](**arguments)
        assert output.is_error or json.loads(output.content) == output.raw_output
        assert output.content


async def test_an_unexpected_exception_is_logged_and_returned_as_an_error(memory, caplog):
    def answer(arguments, *, session):
        raise RuntimeError("the roof\nis on fire")

    tool = MemoryTool(SEARCH_TOOL, answer)
    with caplog.at_level(logging.ERROR):
        for output in (tool(query="a"), await tool.acall(query="a")):
            assert output.is_error
            assert "RuntimeError" in output.content
    assert len(caplog.records) == 2
    assert caplog.records[0].exc_info


def test_search_that_cannot_run_says_so_and_is_no_error(open_memory, tools, tmp_path):
    class Gone:
        settings = Settings()

        def search(self, query, **_):
            from commonplace.errors import IndexBusyError

            raise IndexBusyError("another process holds the index")

    [search, _] = CommonplaceToolSpec(Gone()).to_tool_list()
    output = search(query="a")
    assert output.raw_output["unavailable"] is True
    assert not output.is_error


def test_citations_are_left_out_where_they_are_off(memory):
    def cited(**options):
        [search, _] = CommonplaceToolSpec(memory, **options).to_tool_list()
        return "citation" in search(query=QUESTION).raw_output["results"][0]

    assert cited()
    assert not cited(citations="off")
    assert not cited(private=False)
    assert cited(private=False, citations="on")
    with pytest.raises(SettingsError, match="'maybe'"):
        CommonplaceToolSpec(memory, citations="maybe")


async def test_an_agent_searches_reads_and_answers(memory, scripted, tool_call):
    def read(messages):
        [hit, *_] = json.loads(messages[-1].content)["results"]
        lines = hit["endLine"] - hit["startLine"] + 1
        return tool_call("memory_get", path=hit["path"], lines=lines, **{"from": hit["startLine"]})

    def answer(messages):
        lines = json.loads(messages[-1].content)["text"].split("\n")
        return next(line for line in lines if "off-by-one" in line)

    llm = scripted(tool_call("memory_search", query=QUESTION), read, answer)
    agent = FunctionAgent(tools=CommonplaceToolSpec(memory).to_tool_list(), llm=llm)
    response = await agent.run(QUESTION)
    assert "SLIP-431 was an off-by-one" in response.response.content
    assert [call.tool_name for call in response.tool_calls] == ["memory_search", "memory_get"]
    searched = response.tool_calls[0].tool_output
    assert searched.raw_input["kwargs"] == {"query": QUESTION}
    assert searched.raw_output == search_answer(memory, {"query": QUESTION})
    assert [tool.metadata.name for tool in llm.asked[0][1]] == ["memory_search", "memory_get"]


async def test_an_agent_goes_on_after_a_wrong_call(memory, scripted, tool_call):
    llm = scripted(
        tool_call("memory_get", path="../secrets.md", self=1),
        tool_call("memory_get", path="../secrets.md"),
        lambda messages: f"I may not: {messages[-1].content}",
    )
    tools = CommonplaceToolSpec(memory).to_tool_list()
    workflow = AgentWorkflow.from_tools_or_functions(tools, llm=llm)
    handler = workflow.run("read the secrets")
    results = [
        event async for event in handler.stream_events() if isinstance(event, ToolCallResult)
    ]
    assert [result.tool_output.is_error for result in results] == [True, True]
    assert "Allowed are MEMORY.md" in (await handler).response.content


async def test_an_agent_corrects_edits_and_deletes_and_the_user_takes_it_back(
    memory, notes, scripted, tool_call
):
    (notes / "memory/guest.md").write_text("- The guest code is 4711.\n- Tea.\n- Tea.\n")
    before = {file: file.read_bytes() for file in notes.rglob("*.md")}

    def edit(old, new):
        return tool_call("memory_edit", path="memory/guest.md", old=old, new=new)

    llm = scripted(
        edit("The guest code is 1234", "x"),
        edit("Tea", "Cake"),
        edit("code is 4711", "code is 4712"),
        tool_call("memory_correct", citation="memory/guest.md#L1", text="The guest code is 9999"),
        tool_call("memory_search", query="What is the guest code?"),
        tool_call("memory_delete", path="memory/guest.md"),
        "done",
    )
    agent = FunctionAgent(tools=CommonplaceToolSpec(memory, write="edit").to_tool_list(), llm=llm)
    response = await agent.run("go")
    outputs = [call.tool_output for call in response.tool_calls]
    assert [output.is_error for output in outputs] == [True, True, False, False, False, False]
    assert "memory/guest.md#L1: - The guest code is 4711." in outputs[0].content
    assert "old stands 2 times in memory/guest.md: memory/guest.md#L2" in outputs[1].content
    changes = [json.loads(outputs[at].content) for at in (2, 3, 5)]
    assert [change["path"] for change in changes] == ["memory/guest.md"] * 3
    assert outputs[2].raw_output == changes[0]
    assert "9999" in outputs[4].raw_output["results"][0]["snippet"]
    assert not (notes / "memory/guest.md").exists()
    for change in reversed(changes):
        memory.undo(change["version"])
    assert {file: file.read_bytes() for file in notes.rglob("*.md")} == before


async def test_a_model_without_tool_calls_uses_them_through_react(memory, scripted):
    action = {"query": QUESTION}
    llm = scripted(
        f"Thought: look it up\nAction: memory_search\nAction Input: {json.dumps(action)}\n",
        lambda messages: (
            "Thought: I can answer without using any more tools.\n"
            f"Answer: {'off-by-one' in messages[-1].content}"
        ),
    )
    agent = ReActAgent(tools=CommonplaceToolSpec(memory).to_tool_list(), llm=llm)
    assert (await agent.run(QUESTION)).response.content == "True"
    assert '"from"' in llm.asked[0][0][0].content


CODE_TOOLS = {
    "memory_search": "(query: str, maxResults: int | None = None, minScore: float | None = None)",
    "memory_get": "(path: str, from_line: int | None = None, lines: int | None = None)",
    "memory_append": "(text: str, longTerm: bool | None = None)",
}
CODE = """
import json
found = json.loads(memory_search("What was wrong in SLIP-431?", 3))
best = found["results"][0]
text = json.loads(memory_get(best["path"], from_line=best["startLine"], lines=2))
same = json.loads(memory_get(best["path"], best["startLine"], 2))
assert text == same and text["from"] == best["startLine"], (text, same)
memory_append(text="- The heron moved to rack 7.")
print([hit["path"] for hit in json.loads(memory_search("heron rack"))["results"]][0])
print("off-by-one" in best["snippet"])
try:
    memory_get("../secrets.md")
except ValueError as error:
    print(error)
"""


async def test_an_agent_that_writes_code_calls_functions_with_true_signatures(memory, scripted):
    tools = CommonplaceToolSpec(memory, write=True).to_tool_list()
    names = {tool.metadata.name: tool.real_fn for tool in tools}

    def execute(code: str) -> str:
        """Run code."""
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed):
            exec(code, dict(names))
        return printed.getvalue()

    llm = scripted(
        f"<execute>{CODE}</execute>", lambda messages: f"It printed: {messages[-1].content}"
    )
    agent = CodeActAgent(code_execute_fn=execute, tools=list(tools), llm=llm)
    answer = (await agent.run(QUESTION)).response.content
    assert "memory/2026-11-20.md\nTrue\n" in answer
    assert "Allowed are MEMORY.md" in answer
    prompt = llm.asked[0][0][0].content
    for name, signature in CODE_TOOLS.items():
        assert f"def {name}{signature} -> str:" in prompt
    assert "from_line: First line to read, from 1." in prompt


@pytest.mark.parametrize(
    ("name", "args", "arguments", "told"),
    [
        ("memory_get", ("MEMORY.md",), {"path": "MEMORY.md"}, "path is given twice"),
        ("memory_get", ("MEMORY.md", 3), {"from_line": 3}, "from is given twice"),
        ("memory_get", (1, 2, 3, 4), {}, "4 arguments; it takes path, from, lines"),
        ("memory_search", ("x",), {"max_results": 3}, "did you mean maxResults?"),
    ],
)
async def test_a_wrong_call_in_code_says_what_is_right(tools, name, args, arguments, told):
    with pytest.raises(ToolInputError, match=re.escape(told)):
        tools[name].real_fn(*args, **arguments)
    with pytest.raises(ToolInputError, match=re.escape(told)):
        await tools[name].async_fn(*args, **arguments)


def test_the_tools_are_function_tools(tools):
    assert all(isinstance(tool, FunctionTool) for tool in tools.values())


async def test_where_others_read_along_the_long_term_file_is_left_out(memory):
    search, get = CommonplaceToolSpec(memory, private=False).to_tool_list()
    found = search.call(query="SLIP-431", minScore=0, maxResults=20).raw_output["results"]
    assert found
    assert "MEMORY.md" not in {hit["path"] for hit in found}
    refused = await get.acall(path="MEMORY.md")
    assert refused.is_error
    assert "the user's alone" in refused.content
    assert not get.call(path=found[0]["path"]).is_error


def test_a_named_memory_masks_secrets_and_keeps_the_long_term_file_from_others(memory):
    secret = "sk-proj-abcdefghijklmnopqrstuvwxyz0123456789"
    spec = CommonplaceToolSpec(memory, write=True, private=False, name="team")
    search, get, append = spec.to_tool_list()
    names = [tool.metadata.name for tool in (search, get, append)]
    assert names == ["team_memory_search", "team_memory_get", "team_memory_append"]
    hits = search(query=QUESTION).raw_output["results"]
    assert {hit["memory"] for hit in hits} == {"team"}
    written = append(text=f"- The key is {secret}.")
    assert written.raw_output["memory"] == "team"
    assert secret not in memory.get(written.raw_output["path"]).text
    before = memory.get("MEMORY.md").text
    assert append(text="- x", longTerm=True).is_error
    assert memory.get("MEMORY.md").text == before


def test_a_slip_in_what_is_masked_is_told_at_construction(memory):
    with pytest.raises(ValueError, match=r"^redact is 'Personal'; it takes True, False or"):
        CommonplaceToolSpec(memory, write=True, redact="Personal")
