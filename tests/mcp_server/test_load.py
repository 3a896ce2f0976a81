"""Many clients on one folder, some of them killed; and the time that the protocol takes."""

from __future__ import annotations

import asyncio
import contextlib
import os
import random
import signal
import statistics
import subprocess
import sys
import time

import pytest

mcp = pytest.importorskip("mcp", reason="commonplace[mcp] is missing")

from support.notes import LINES  # noqa: E402
from support.python_path import environment  # noqa: E402

NOTES_EACH = 4


async def start(notes):
    """Start a server process without the SDK's client, so that the test can kill it."""
    options = ["-w", str(notes.root), "--embedder", "none", "mcp", "--write", "append"]
    return await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "commonplace", *options),
        stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.DEVNULL, env=environment(),
    )  # fmt: skip


@pytest.mark.slow
@pytest.mark.full
@pytest.mark.processes
@pytest.mark.timeout(400)
@pytest.mark.skipif(os.name == "nt", reason="POSIX signals")
@pytest.mark.parametrize(
    ("clients", "killed"),
    [pytest.param(8, 2, id="8"), pytest.param(50, 10, id="50")],
)
async def test_many_clients_write_to_one_folder_and_kills_lose_nothing_that_was_answered(
    notes, started, clients, killed
):
    answered = []
    together = asyncio.Semaphore(10)  # interpreters that start at once

    async def talk(number):
        async with contextlib.AsyncExitStack() as stack:
            async with together:
                client = await stack.enter_async_context(started("--write", "append"))
            for note in range(NOTES_EACH):
                text = f"- heron {number} of day {note}"
                result = await client.call_tool("memory_append", {"text": text})
                assert not result.is_error, result.content
                answered.append(text)

    async def be_killed(number):
        async with together:
            server = await start(notes)
        hello = (
            '{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-06-18",'
            '"capabilities":{},"clientInfo":{"name":"test","version":"1"}}}\n'
            '{"jsonrpc":"2.0","method":"notifications/initialized"}\n'
        )
        call = (
            '{{"jsonrpc":"2.0","id":{0},"method":"tools/call","params":'
            '{{"name":"memory_append","arguments":{{"text":"- otter {1} of day {0}"}}}}}}\n'
        )
        calls = "".join(call.format(note, number) for note in range(1, 30))
        server.stdin.write((hello + calls).encode())
        await server.stdout.readline()
        await asyncio.sleep(random.Random(number).uniform(0, 0.3))
        server.send_signal(signal.SIGKILL)
        await server.wait()

    talks = [talk(number) for number in range(clients - killed)]
    await asyncio.gather(*talks, *(be_killed(number) for number in range(killed)))
    lines = [line for path in notes.root.rglob("*.md") for line in path.read_text().splitlines()]
    assert sorted(line for line in lines if "heron" in line) == sorted(answered)
    otters = [line for line in lines if "otter" in line]
    assert len(otters) == len(set(otters))
    assert all(line.startswith("- otter ") for line in otters)
    with notes.open(settings=LINES) as memory:
        assert not memory.index().failed
        assert memory.search("heron")


async def median_ms(ask, *, times=40):
    taken = []
    for _ in range(times):
        before = time.perf_counter()
        await ask()
        taken.append((time.perf_counter() - before) * 1000)
    return statistics.median(taken)


@pytest.mark.slow
@pytest.mark.timing
@pytest.mark.processes
async def test_a_warm_search_takes_little_longer_than_the_cores(notes, started):
    query = {"query": "VPN port"}
    with notes.open(settings=LINES) as memory:
        memory.index()

        async def of_core():
            memory.search(**query)

        core = await median_ms(of_core)
    async with started() as client:
        await client.call_tool("memory_search", query)
        served = await median_ms(lambda: client.call_tool("memory_search", query))
    assert served - core < 15, (served, core)


@pytest.mark.slow
@pytest.mark.timing
@pytest.mark.processes
async def test_the_first_answer_comes_within_a_second_and_a_half(notes, started):
    """Or, on a slow machine, within twice and a half the time to import the SDK's server alone."""
    with notes.open(settings=LINES) as memory:
        memory.index()
    taken, bare = [], []
    for _ in range(3):
        begun = time.perf_counter()
        async with started() as client:
            found = await client.call_tool("memory_search", {"query": "VPN port"})
            taken.append(time.perf_counter() - begun)
            assert found.structured_content["results"]
        begun = time.perf_counter()
        subprocess.run([sys.executable, "-c", "import mcp.server.stdio"], check=True)
        bare.append(time.perf_counter() - begun)
    assert min(taken) < max(1.5, 2.5 * min(bare)), (taken, bare)
