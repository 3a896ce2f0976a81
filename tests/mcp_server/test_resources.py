"""Notes as resources, and notifications of their changes."""

from __future__ import annotations

import asyncio
import warnings

import pytest

mcp = pytest.importorskip("mcp", reason="commonplace[mcp] is missing")

from commonplace import Origin  # noqa: E402
from commonplace.mcp import resources  # noqa: E402
from commonplace.mcp.resources import note_uri  # noqa: E402
from commonplace.mcp.server import MemoryServer  # noqa: E402

LONG_TERM, LOG = "memory:///MEMORY.md", "memory:///memory/2026-11-20.md"


async def uris(client):
    found, cursor = [], None
    while True:
        page = await client.list_resources(cursor=cursor)
        found += [resource.uri for resource in page.resources]
        if (cursor := page.next_cursor) is None:
            return found


async def content(client, uri):
    (found,) = (await client.read_resource(uri)).contents
    return found.text


async def test_notes_are_listed_and_read_as_they_are(connected, memory):
    memory.write("memory/très long #1.md", "- naïve\n")
    async with connected() as client:
        odd = note_uri("memory/très long #1.md")
        assert await uris(client) == [LONG_TERM, LOG, odd]
        assert await content(client, LONG_TERM) == memory.get("MEMORY.md").text
        assert await content(client, odd) == "- naïve\n"


async def test_a_long_list_comes_in_pages(connected, memory, monkeypatch):
    monkeypatch.setattr(resources, "_PAGE", 2)
    for number in range(3):
        memory.write(f"memory/{number}.md", f"- heron {number}\n")
    async with connected() as client:
        found = await uris(client)
        assert found == sorted(found)
        assert len(found) == len(set(found)) == 5


async def test_where_others_read_along_memory_md_is_no_resource(connected):
    async with connected(private=False) as client:
        assert await uris(client) == [LOG]
        for uri in (LONG_TERM, "memory:///./MEMORY.md", "memory:///%4DEMORY.md"):
            with pytest.raises(mcp.MCPError):
                await client.read_resource(uri)


@pytest.mark.parametrize(
    "uri",
    [
        *("memory:///../secret.md", "memory:///..%2Fsecret.md", "memory:////etc/passwd", ""),
        *("file:///etc/passwd", "memory:///", "memory:///memory/gone.md"),
        *("memory:///%00", "x" * 9_999),
    ],
)  # fmt: skip
async def test_what_is_no_note_is_no_resource(connected, notes, uri):
    notes.write("../secret.md", "- the secret\n")
    async with connected() as client:
        with pytest.raises(mcp.MCPError):
            await client.read_resource(uri)


async def test_a_folder_that_is_gone_is_an_error_that_says_so(connected, notes):
    async with connected() as client:
        notes.root.rename(notes.root.with_name("elsewhere"))
        with pytest.raises(mcp.MCPError, match=str(notes.root)):
            await client.list_resources()
        answer = await client.call_tool("memory_get", {"path": "MEMORY.md"})
        assert answer.is_error or answer.structured_content["status"] == "not_found"
        notes.root.with_name("elsewhere").rename(notes.root)
        assert await uris(client) == [LONG_TERM, LOG]


async def test_untrusted_lines_of_a_resource_are_marked(connected, memory):
    stranger = Origin("untrusted", tool="web")
    memory.append("- The ferry leaves at noon.", path="memory/web.md", origin=stranger)
    async with connected(write="append") as client:
        assert "[untrusted]" in await content(client, "memory:///memory/web.md")
        written = await client.call_tool("memory_append", {"text": "- Emma takes the ferry."})
    lines = memory.blame(written.structured_content["path"])
    assert [line.origin.author for line in lines if "Emma" in line.text] == ["untrusted"]


@pytest.fixture
def server(memory):
    return MemoryServer(memory, write="edit").server()


async def test_a_stream_of_events_names_the_notes_that_change(server, notes):
    async with mcp.Client(server) as client:
        streams = {"resources_list_changed": True, "resource_subscriptions": [LONG_TERM]}
        async with client.listen(**streams) as events:
            seen = aiter(events)
            await client.call_tool("memory_append", {"text": "- the heron", "longTerm": True})
            event = await asyncio.wait_for(anext(seen), timeout=20)
            assert (type(event).__name__, event.uri) == ("ResourceUpdated", LONG_TERM)
            notes.write("memory/new.md", "- by another program\n")
            event = await asyncio.wait_for(anext(seen), timeout=20)
            assert type(event).__name__ == "ResourcesListChanged"


async def test_earlier_clients_subscribe_by_uri_until_they_unsubscribe(server):
    heard = asyncio.Queue()

    async def handler(message):
        heard.put_nowait(message)

    async with mcp.Client(server, mode="legacy", message_handler=handler) as client:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # later clients have streams
            await client.subscribe_resource(LONG_TERM)
            for text in ("- the heron", "- the otter"):
                await client.call_tool("memory_append", {"text": text, "longTerm": True})
                message = await asyncio.wait_for(heard.get(), timeout=20)
                assert str(message.params.uri) == LONG_TERM
            await client.unsubscribe_resource(LONG_TERM)
            await client.subscribe_resource(LOG)
        await client.call_tool("memory_append", {"text": "- the owl", "longTerm": True})
        await client.call_tool("memory_delete", {"path": "memory/2026-11-20.md"})
        message = await asyncio.wait_for(heard.get(), timeout=20)
        assert str(message.params.uri) == LOG
