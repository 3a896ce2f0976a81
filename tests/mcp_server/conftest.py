"""A memory of a few notes, and the official client to its server."""

from __future__ import annotations

import contextlib
import os
import sys
from functools import partial

import pytest

from support.notes import LINES, Notes
from support.python_path import environment

mcp = pytest.importorskip("mcp", reason="commonplace[mcp] is missing")


@pytest.fixture
def notes(tmp_path):
    return Notes(tmp_path)


@pytest.fixture
def memory(notes):
    with notes.open(settings=LINES) as memory:
        memory.index()
        yield memory


@pytest.fixture(params=["legacy", "auto"])
def connected(request, memory):
    """Connect a client within the process, of both forms of the protocol."""
    from commonplace.mcp.server import MemoryServer

    def connected(**options):
        return mcp.Client(MemoryServer(memory, **options).server(), mode=request.param)

    return connected


@contextlib.asynccontextmanager
async def _started(notes, *options):
    from mcp.client.stdio import StdioServerParameters, stdio_client

    command = ["-m", "commonplace", "-w", str(notes.root), "--embedder", "none", "mcp", *options]
    server = StdioServerParameters(command=sys.executable, args=command, env=environment())
    with open(os.devnull, "w") as errors:
        async with mcp.Client(stdio_client(server, errlog=errors)) as client:
            yield client


@pytest.fixture
def started(notes):
    """Start ``commonplace mcp`` in a process of its own, and connect a client to it."""
    return partial(_started, notes)
