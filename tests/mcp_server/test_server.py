"""The server's tools and prompt, asked by the official client within the process."""

from __future__ import annotations

import asyncio
import json

import jsonschema
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

mcp = pytest.importorskip("mcp", reason="commonplace[mcp] is missing")

from commonplace import Origin  # noqa: E402
from commonplace.mcp.server import MemoryServer  # noqa: E402
from commonplace.tools import get_answer, search_answer, unavailable_answer  # noqa: E402

READS = {"memory_search", "memory_get"}
CHANGES = {"memory_edit", "memory_correct", "memory_delete"}
QUERY = {"query": "VPN port"}


def text(result):
    (content,) = result.content
    return content.text


@pytest.mark.parametrize(
    ("write", "names"),
    [
        (False, READS),
        ("append", READS | {"memory_append"}),
        ("edit", READS | {"memory_append"} | CHANGES),
    ],
)
async def test_a_server_only_reads_unless_it_is_asked_to_write(connected, write, names):
    async with connected(write=write) as client:
        tools = {tool.name: tool.annotations for tool in (await client.list_tools()).tools}
        assert set(tools) == names
        assert {name for name in names if tools[name].read_only_hint} == READS
        destructive = {name for name in names if tools[name].destructive_hint}
        assert destructive == names & {"memory_edit", "memory_delete"}
        for name in {"memory_append", *CHANGES} - names:
            with pytest.raises(mcp.MCPError, match=f"no tool '{name}'"):
                await client.call_tool(name, {"text": "- the heron"})


async def test_answers_are_those_of_the_one_renderer_as_text_and_as_structure(connected, memory):
    async with connected() as client:
        found = await client.call_tool("memory_search", QUERY)
        assert found.structured_content == search_answer(memory, QUERY) == json.loads(text(found))
        assert "51820" in text(found)
        lines = {"path": "MEMORY.md", "from": 4, "lines": 1}
        read = await client.call_tool("memory_get", lines)
        assert read.structured_content == get_answer(memory, lines)


async def test_structured_content_is_as_the_output_schemas_say(connected, memory):
    async with connected(write="edit") as client:
        tools = {tool.name: tool.output_schema for tool in (await client.list_tools()).tools}
        calls = [
            ("memory_search", QUERY),
            ("memory_get", {"path": "MEMORY.md"}),
            ("memory_get", {"path": "memory/missing.md"}),
            ("memory_append", {"text": "- The heron is called Otto.", "longTerm": True}),
            ("memory_edit", {"path": "MEMORY.md", "old": "Otto", "new": "Emma"}),
            ("memory_correct", {"citation": "MEMORY.md#L1", "text": "- The heron is Ida."}),
            ("memory_delete", {"path": "memory/2026-11-20.md"}),
        ]
        assert set(tools) == {name for name, _ in calls}
        for name, arguments in calls:
            answer = await client.call_tool(name, arguments)  # which checks it, too
            assert not answer.is_error, text(answer)
            jsonschema.validate(answer.structured_content, tools[name])
        disabled = unavailable_answer("quota")
        jsonschema.validate(disabled, tools["memory_search"])


async def test_what_a_client_writes_is_found_at_once_and_has_its_tool_as_origin(connected, memory):
    async with connected(write="edit") as client:
        written = await client.call_tool("memory_append", {"text": "- The heron is called Otto."})
        path = written.structured_content["path"]
        found = await client.call_tool("memory_search", {"query": "heron"})
        assert "Otto" in text(found)
        arguments = {"path": path, "old": "Otto", "new": "Emma"}
        edited = await client.call_tool("memory_edit", arguments)
        line = next(line for line in memory.blame(path) if "heron" in line.text)
        assert (line.text, line.origin.author) == ("- The heron is called Emma.", "agent")
        assert (line.origin.tool, line.origin.session[:4]) == ("memory_edit", "mcp-")
        memory.undo(edited.structured_content["version"])
        assert "Otto" in memory.get(path).text


async def test_secrets_are_masked_before_they_are_written(connected, memory):
    key = "sk-proj-" + "a1B2" * 12
    async with connected(write="append") as client:
        await client.list_tools()  # with their output schemas, by which the client checks answers
        written = await client.call_tool("memory_append", {"text": f"- The key is {key}."})
    assert "tell the user" in written.structured_content["masked"]
    assert key not in memory.get(written.structured_content["path"]).text


async def test_where_others_read_along_memory_md_is_left_out(connected, memory):
    async with connected(write="edit", private=False) as client:
        found = await client.call_tool("memory_search", QUERY)
        assert {hit["path"] for hit in found.structured_content["results"]} == {
            "memory/2026-11-20.md"
        }
        for name, arguments in [
            ("memory_get", {"path": "MEMORY.md"}),
            ("memory_append", {"text": "- the heron", "longTerm": True}),
            ("memory_edit", {"path": "MEMORY.md", "old": "tea", "new": "coffee"}),
            ("memory_delete", {"path": "./MEMORY.md"}),
        ]:
            refused = await client.call_tool(name, arguments)
            assert refused.is_error, name
    assert "tea" in memory.get("MEMORY.md").text


@pytest.mark.parametrize(
    ("name", "arguments", "said"),
    [
        ("memory_search", {}, "query is missing"),
        ("memory_search", {"query": 5}, "query"),
        ("memory_search", {"query": "x", "limit": 3}, "unknown argument"),
        ("memory_get", {"path": "../secret.md"}, "Allowed are"),
        ("memory_get", {"path": "/etc/passwd"}, "Allowed are"),
        ("memory_append", {"text": "  \n"}, "text is empty"),
        ("memory_edit", {"path": "MEMORY.md", "old": "heron", "new": ""}, "does not stand"),
    ],
)
async def test_a_wrong_call_is_a_tool_error_that_says_what_to_do(connected, name, arguments, said):
    async with connected(write="edit") as client:
        answer = await client.call_tool(name, arguments)
        assert answer.is_error
        assert said in text(answer)


async def test_what_is_written_after_untrusted_lines_were_read_is_untrusted(connected, memory):
    stranger = Origin("untrusted", tool="web")
    memory.append("- The ferry leaves at noon.", path="memory/web.md", origin=stranger)
    async with connected(write="append") as client:
        before = await client.call_tool("memory_append", {"text": "- The heron is called Otto."})
        assert "[untrusted]" in text(
            await client.call_tool("memory_get", {"path": "memory/web.md"})
        )
        await client.call_tool("memory_append", {"text": "- Emma takes the ferry."})
    lines = memory.blame(before.structured_content["path"])
    authors = {line.text: line.origin.author for line in lines if line.text.startswith("-")}
    assert authors["- The heron is called Otto."] == "agent"
    assert authors["- Emma takes the ferry."] == "untrusted"


async def test_the_recall_instructions_are_a_prompt_and_the_servers_own(connected, memory):
    async with connected() as client:
        (prompt,) = (await client.list_prompts()).prompts
        (message,) = (await client.get_prompt(prompt.name)).messages
        assert message.content.text == client.instructions
        assert "memory_search" in message.content.text
        with pytest.raises(mcp.MCPError, match="no prompt 'other'"):
            await client.get_prompt("other")


@pytest.mark.slow
async def test_a_flood_of_calls_is_refused_in_part_and_does_no_harm(connected):
    async with connected() as client:
        calls = [client.call_tool("memory_get", {"path": "MEMORY.md"}) for _ in range(600)]
        answers = await asyncio.gather(*calls)
        refused = [answer for answer in answers if answer.is_error]
        assert all("try again later" in text(answer) for answer in refused)
        assert len(answers) - len(refused) >= 256
        assert not (await client.call_tool("memory_get", {"path": "MEMORY.md"})).is_error


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=40),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner),
    max_leaves=5,
)
NAMES = ["query", "maxResults", "minScore", "path", "from", "lines", "text", "longTerm"]
ARGUMENTS = st.dictionaries(
    st.sampled_from([*NAMES, "old", "new", "citation", "x"]), VALUES, max_size=4
)


@pytest.mark.slow
@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(calls=st.lists(st.tuples(st.sampled_from(sorted(READS | CHANGES)), ARGUMENTS), max_size=6))
def test_no_argument_is_more_than_a_tool_error(memory, calls):
    async def ask():
        async with mcp.Client(MemoryServer(memory, write="edit").server()) as client:
            for name, arguments in calls:
                answer = await client.call_tool(name, arguments)
                assert answer.is_error or answer.structured_content is not None
                assert "failed:" not in text(answer), "an error that was not foreseen"

    asyncio.run(ask())
