"""The ``mcp`` command: a Model Context Protocol server."""

from __future__ import annotations

import signal
from importlib.util import find_spec
from typing import Literal

import click

from commonplace.cli.options import Options, pass_options
from commonplace.errors import MissingExtraError

__all__ = ["mcp"]


@click.command()
@click.option(
    "--write",
    type=click.Choice(["append", "edit"]),
    help="What clients may write: new notes, or changes of notes, too. Default: nothing.",
)
@click.option(
    "--shared", is_flag=True, help="Others read along: MEMORY.md and sessions are left out."
)
@pass_options
def mcp(options: Options, *, write: Literal["append", "edit"] | None, shared: bool) -> None:
    """Serve the memory to editors and other clients over the Model Context Protocol.

    The client starts this command and talks to it on standard input and output.
    """
    if find_spec("mcp") is None:
        raise MissingExtraError("the server needs the package mcp: pip install 'commonplace[mcp]'")
    with options.open_memory(background=True) as memory, memory.watch():
        from commonplace.mcp.server import MemoryServer
        from commonplace.mcp.transports import serve_stdio

        server = MemoryServer(memory, write=write or False, private=not shared)
        # A thread waits for standard input and cannot be interrupted; a kill loses nothing.
        signal.signal(signal.SIGINT, signal.SIG_DFL)
        serve_stdio(server.server())
