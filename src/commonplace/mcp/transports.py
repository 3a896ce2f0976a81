"""Transports of the MCP server: standard input and output."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

from mcp.server.stdio import stdio_server

if TYPE_CHECKING:
    from mcp.server.lowlevel import Server

__all__ = ["serve_stdio"]


def serve_stdio(server: Server[Any]) -> None:
    """Serve one client on standard input and output, until it closes its end."""
    asyncio.run(_stdio(server))


async def _stdio(server: Server[Any]) -> None:
    async with stdio_server() as (received, sent):
        await server.run(received, sent, server.create_initialization_options())
