"""``commonplace mcp --http``: who has the token is served, and no page of another site is."""

from __future__ import annotations

import asyncio
import contextlib
import os
import re
import signal
import subprocess
import sys

import pytest
from click.testing import CliRunner

mcp = pytest.importorskip("mcp", reason="commonplace[mcp] is missing")

import httpx2  # noqa: E402
from mcp.client.streamable_http import streamable_http_client  # noqa: E402

from commonplace import Memory, Origin  # noqa: E402
from commonplace.cli.app import app  # noqa: E402
from support.python_path import environment  # noqa: E402

pytestmark = pytest.mark.processes

TOKEN = "a-token-of-the-tests-0123456789"


@contextlib.contextmanager
def serving(notes, *options, token=TOKEN):
    """Start the server on a free port; yield the process, its address and its token."""
    command = ["-m", "commonplace", "-w", str(notes.root), "--embedder", "none", "mcp"]
    variables = environment() | ({"COMMONPLACE_MCP_TOKEN": token} if token else {})
    process = subprocess.Popen(
        [sys.executable, *command, "--http", "0", *options],
        stderr=subprocess.PIPE, text=True, env=variables,
    )  # fmt: skip
    try:
        line = process.stderr.readline()
        if line.startswith("token "):
            token, line = line.split()[1], process.stderr.readline()
        yield process, re.fullmatch(r"serving (http://127\.0\.0\.1:\d+/mcp)\n", line)[1], token
    finally:
        process.kill()
        process.communicate()


@contextlib.asynccontextmanager
async def client(url, token=TOKEN, **options):
    headers = {"Authorization": f"Bearer {token}"}
    async with (
        httpx2.AsyncClient(headers=headers, timeout=30) as http,
        mcp.Client(streamable_http_client(url, http_client=http), **options) as connected,
    ):
        yield connected


@pytest.mark.slow
@pytest.mark.parametrize("mode", ["legacy", "auto"])
async def test_clients_with_the_token_share_the_memory(notes, mode):
    with serving(notes, "--write", "append", token=None) as (_, url, token):
        assert len(token) >= 40
        async with client(url, token, mode=mode) as one, client(url, token, mode=mode) as other:
            await one.call_tool("memory_append", {"text": "- The heron is called Otto."})
            found = await other.call_tool("memory_search", {"query": "heron"})
            assert "Otto" in found.content[0].text
            assert "51820" in (await other.read_resource("memory:///MEMORY.md")).contents[0].text


@pytest.mark.slow
@pytest.mark.parametrize(("mode", "author"), [("legacy", "agent"), ("auto", "untrusted")])
async def test_what_one_client_was_shown_taints_its_own_connection(notes, mode, author):
    """The newest form of the protocol has no connections: its clients cannot be told apart."""
    stranger = Origin("untrusted", tool="web")
    with Memory.open(notes.root, embedder=None) as memory:
        memory.append("- The ferry leaves at noon.", path="memory/web.md", origin=stranger)
    with serving(notes, "--write", "append") as (_, url, _):
        async with client(url, mode=mode) as one, client(url, mode=mode) as other:
            await one.read_resource("memory:///memory/web.md")
            await one.call_tool("memory_append", {"text": "- Emma takes the ferry."})
            written = await other.call_tool("memory_append", {"text": "- The heron is Otto."})
    with Memory.open(notes.root, embedder=None) as memory:
        lines = memory.blame(written.structured_content["path"])
    origins = {line.text: line.origin for line in lines if line.text.startswith("-")}
    tainted, clean = origins["- Emma takes the ferry."], origins["- The heron is Otto."]
    assert (tainted.author, clean.author) == ("untrusted", author)
    assert (tainted.session != clean.session) == (mode == "legacy")


def post(url, **headers):
    body = {"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": {}}
    accept = {"Accept": "application/json, text/event-stream"}
    return httpx2.post(url, json=body, headers=accept | headers, timeout=30)


@pytest.mark.slow
def test_who_has_no_token_or_comes_from_another_site_is_refused(notes):
    right = {"Authorization": f"Bearer {TOKEN}"}
    with serving(notes) as (process, url, _):
        for wrong in ("", "Bearer", "Bearer x", f"Bearer {TOKEN}x", f"Basic {TOKEN}", "Bearer é"):
            refused = post(url, **({"Authorization": wrong.encode()} if wrong else {}))
            assert refused.status_code == 401, wrong
            assert "51820" not in refused.text
        assert post(url, **right, Host="evil.example").status_code == 421
        assert post(url, **right, Origin="https://evil.example").status_code == 403
        huge = httpx2.post(url, content=b"x" * 5_000_000, headers=right, timeout=30)
        assert huge.status_code == 413
        assert post(url, **right).status_code == 400  # what has no session
        process.send_signal(signal.SIGTERM)
        assert TOKEN not in process.stderr.read()


@pytest.mark.slow
@pytest.mark.full
@pytest.mark.parametrize("mode", ["legacy", "auto"])
async def test_fifty_clients_of_one_server_write_and_find_at_once(notes, mode):
    async def talk(url, number):
        async with client(url, mode=mode) as connected:
            text = f"- heron {number} of the lake"
            assert not (await connected.call_tool("memory_append", {"text": text})).is_error
            found = await connected.call_tool("memory_search", {"query": "heron lake"})
            assert "heron" in found.content[0].text

    with serving(notes, "--write", "append") as (_, url, _):
        await asyncio.gather(*(talk(url, number) for number in range(50)))
    lines = [line for path in notes.root.rglob("*.md") for line in path.read_text().splitlines()]
    herons = [line for line in lines if "heron" in line]
    assert sorted(herons) == sorted(f"- heron {number} of the lake" for number in range(50))


@pytest.mark.slow
@pytest.mark.skipif(os.name == "nt", reason="POSIX signals")
@pytest.mark.parametrize(
    "stop", [signal.SIGINT, pytest.param(signal.SIGTERM, marks=pytest.mark.full)]
)
async def test_a_signal_ends_the_server_in_good_order_while_a_client_listens(notes, stop):
    with serving(notes) as (process, url, _):
        with contextlib.suppress(Exception):  # the client's stream ends with the server
            async with client(url) as connected, connected.listen(resources_list_changed=True):
                process.send_signal(stop)
                await asyncio.to_thread(process.wait, 20)
        assert process.wait(20) == 0
        assert process.stderr.read().endswith("stopped\n")


@pytest.mark.parametrize("address", ["", "host", "1:2:3", "127.0.0.1:70000", "[::1", ":-1"])
def test_what_is_no_address_is_wrong_usage(notes, address):
    result = CliRunner().invoke(app, ["-w", str(notes.root), "mcp", "--http", address])
    assert result.exit_code == 2


@pytest.mark.parametrize("token", ["", "short", "with a space in the middle of it", "é" * 20])
def test_a_token_that_can_be_guessed_or_not_be_sent_is_refused(notes, monkeypatch, token):
    monkeypatch.setenv("COMMONPLACE_MCP_TOKEN", token)
    result = CliRunner().invoke(app, ["-w", str(notes.root), "mcp", "--http", "0"])
    assert result.exit_code == 1
    assert "COMMONPLACE_MCP_TOKEN" in result.output
