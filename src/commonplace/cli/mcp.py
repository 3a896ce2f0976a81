"""The ``mcp`` command: a Model Context Protocol server."""

from __future__ import annotations

import os
import re
import secrets
import signal
import socket
from importlib.util import find_spec
from typing import Literal

import click

from commonplace.cli.options import Options, pass_options
from commonplace.cli.output import warn
from commonplace.cli.watch import until_signalled
from commonplace.errors import CommonplaceError, MissingExtraError

__all__ = ["mcp"]

_TOKEN = "COMMONPLACE_MCP_TOKEN"
_TOKEN_FORM = re.compile(r"[!-~]{16,}")
"""Shorter tokens can be guessed; other characters are not sent by every client."""
_ADDRESS = re.compile(r"(?:(?P<host>\[[0-9A-Fa-f:.]+\]|[^:\[\]]*):)?(?P<port>[0-9]{1,5})")
_MOST_PORT = 65_535


def _address(
    _context: click.Context, _option: click.Parameter, value: str | None
) -> tuple[str, int] | None:
    """Return host and port of ``HOST:PORT``; without a host, that of this machine alone."""
    if value is None:
        return None
    found = _ADDRESS.fullmatch(value)
    if found is None or int(found["port"]) > _MOST_PORT:
        raise click.BadParameter(f"{value!r} is no address; it must be HOST:PORT or PORT.")
    return (found["host"] or "127.0.0.1").strip("[]"), int(found["port"])


@click.command()
@click.option(
    "--write",
    type=click.Choice(["append", "edit"]),
    help="What clients may write: new notes, or changes of notes, too. Default: nothing.",
)
@click.option(
    "--shared", is_flag=True, help="Others read along: MEMORY.md and sessions are left out."
)
@click.option(
    "--http",
    callback=_address,
    metavar="HOST:PORT",
    help=f"Serve over HTTP, with a token: {_TOKEN}, else a new one, which is shown.",
)
@pass_options
def mcp(
    options: Options,
    *,
    write: Literal["append", "edit"] | None,
    shared: bool,
    http: tuple[str, int] | None,
) -> None:
    """Serve the memory to editors and other clients over the Model Context Protocol.

    The client starts this command and talks to it on standard input and output.
    """
    if find_spec("mcp") is None:
        raise MissingExtraError("the server needs the package mcp: pip install 'commonplace[mcp]'")
    with options.open_memory(background=True) as memory:
        from commonplace.mcp.server import MemoryServer
        from commonplace.mcp.transports import serve_http, serve_stdio

        server = MemoryServer(memory, write=write or False, private=not shared).server()
        if http is None:
            # A thread waits for standard input and cannot be interrupted; a kill loses nothing.
            signal.signal(signal.SIGINT, signal.SIG_DFL)
            serve_stdio(server)
            return
        host, port = http
        token = _token()
        family = socket.AF_INET6 if ":" in host else socket.AF_INET
        with until_signalled(), socket.create_server((host, port), family=family) as listener:
            name = f"[{host}]" if ":" in host else host
            click.echo(f"serving http://{name}:{listener.getsockname()[1]}/mcp", err=True)
            if host not in ("127.0.0.1", "localhost", "::1"):
                warn("notes and token are not encrypted on their way; put a proxy with TLS before")
            serve_http(server, listener, host=host, token=token)


def _token() -> str:
    """Return the token of the environment, else a new one, which is printed."""
    token = os.environ.get(_TOKEN)
    if token is None:
        token = secrets.token_urlsafe(32)
        click.echo(f"token {token}", err=True)
    elif not _TOKEN_FORM.fullmatch(token):
        raise CommonplaceError(
            f"{_TOKEN} is not safe to use; it must be 16 or more printable ASCII characters "
            "without spaces. Without the variable, a token is made."
        )
    return token
