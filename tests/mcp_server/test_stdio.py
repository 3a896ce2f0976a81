"""``commonplace mcp`` as a process that a client starts, loses and kills."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest
from click.testing import CliRunner

pytest.importorskip("mcp", reason="commonplace[mcp] is missing")

from commonplace.cli import mcp as command
from commonplace.cli.app import app
from support.notes import LINES
from support.python_path import environment
from support.waiting import wait_for

pytestmark = pytest.mark.processes


@pytest.mark.slow
async def test_a_client_starts_the_command_and_asks_it(started):
    async with started("--write", "append") as client:
        assert client.server_info.name == "commonplace"
        await client.call_tool("memory_append", {"text": "- The heron is called Otto."})
        found = await client.call_tool("memory_search", {"query": "heron"})
        assert "Otto" in found.content[0].text


@pytest.mark.slow
async def test_two_servers_on_one_folder_find_what_the_other_writes(started):
    async with started("--write", "append") as one, started() as other:
        await other.call_tool("memory_search", {"query": "printer"})
        await one.call_tool("memory_append", {"text": "- The heron is called Otto."})
        found = await other.call_tool("memory_search", {"query": "heron"})
        assert "Otto" in found.content[0].text


def process(notes):
    options = ["-w", str(notes.root), "--embedder", "none"]
    return subprocess.Popen(
        [sys.executable, "-m", "commonplace", *options, "mcp", "--write", "append"],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environment(),
    )  # fmt: skip


def request(number, method, **parameters):
    message = {"jsonrpc": "2.0", "id": number, "method": method, "params": parameters}
    return json.dumps(message).encode() + b"\n"


HELLO = request(
    0, "initialize", protocolVersion="2025-06-18", capabilities={},
    clientInfo={"name": "test", "version": "1"},
) + b'{"jsonrpc":"2.0","method":"notifications/initialized"}\n'  # fmt: skip


def append(number):
    arguments = {"text": f"- heron {number}"}
    return request(number, "tools/call", name="memory_append", arguments=arguments)


@pytest.mark.slow
def test_a_client_that_vanishes_ends_the_server_and_no_note_is_torn(notes):
    server = process(notes)
    server.stdin.write(HELLO + b"".join(append(number) for number in range(1, 40)))
    server.stdin.flush()
    server.stdout.readline()
    server.stdout.close()
    server.stdin.close()
    with server:
        assert server.wait(timeout=20) == 0
        assert server.stderr.read() == b""
    written = [path.read_text() for path in (notes.root / "memory").glob("*.md")]
    herons = [line for text in written for line in text.splitlines() if "heron" in line]
    assert len(herons) == len(set(herons))
    assert set(herons) <= {f"- heron {number}" for number in range(1, 40)}


@pytest.mark.slow
def test_what_is_no_message_is_refused_and_the_next_one_answered(notes):
    server = process(notes)
    hostile = b"\xff\xfe{\n[]\n{}\nnull\n" + b'{"jsonrpc":"2.0","id":7,"method":"no/such"}\n'
    hostile += b'{"jsonrpc":"2.0","id":8,"method":"tools/call","params":{"name":["x"]}}\n'
    hostile += b"[" * 100_000 + b"\n"
    server.stdin.write(HELLO + hostile + append(9))
    server.stdin.flush()
    answers = {}
    while 9 not in answers:
        answer = json.loads(server.stdout.readline())
        answers[answer.get("id")] = answer
    assert "error" in answers[7]
    assert "error" in answers[8]
    assert not answers[9]["result"]["isError"]
    server.communicate(timeout=20)
    assert server.returncode == 0


@pytest.mark.slow
def test_a_killed_server_leaves_whole_notes_behind(notes):
    server = process(notes)
    server.stdin.write(HELLO + b"".join(append(number) for number in range(1, 200)))
    server.stdin.flush()
    with server:
        wait_for(lambda: any("heron 5\n" in p.read_text() for p in notes.root.rglob("*.md")))
        server.kill()
    with notes.open(settings=LINES) as memory:
        assert not memory.index().failed
        assert any("heron 5" in hit.snippet for hit in memory.search("heron 5"))


def test_the_command_without_its_extra_says_what_to_install(notes, monkeypatch):
    monkeypatch.setattr(command, "find_spec", lambda name: None)
    result = CliRunner().invoke(app, ["-w", str(notes.root), "mcp"])
    assert result.exit_code == 1
    assert "pip install 'commonplace[mcp]'" in result.output


def test_the_command_line_does_not_load_the_sdk():
    code = "import sys, commonplace.cli.app; assert 'mcp' not in sys.modules"
    subprocess.run([sys.executable, "-c", code], check=True, env=environment())
