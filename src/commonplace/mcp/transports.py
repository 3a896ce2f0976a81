"""Transports of the MCP server: standard input and output, and HTTP with a bearer token."""

from __future__ import annotations

import asyncio
import hmac
import socket
import sys
from typing import TYPE_CHECKING, Any

from mcp.server.stdio import stdio_server

if TYPE_CHECKING:
    from mcp.server.auth.provider import AccessToken
    from mcp.server.lowlevel import Server
    from mcp.server.transport_security import TransportSecuritySettings
    from starlette.applications import Starlette

__all__ = ["http_app", "serve_http", "serve_stdio"]

_LOOPBACK = ("127.0.0.1", "localhost", "::1")
_ANY_ADDRESS = ("", "0.0.0.0", "::")
_MOST_CONNECTIONS = 512
"""Connections at once; further ones are answered with status 503."""
_CLOSE_S = 3
"""How long open streams may delay the end of the server."""


def serve_stdio(server: Server[Any]) -> None:
    """Serve one client on standard input and output, until it closes its end or is gone."""
    try:
        asyncio.run(_stdio(server))
    except* (BrokenPipeError, ConnectionResetError):
        # The client ended before it had read its answers. The SDK's writer still holds one, which
        # Python reports, from 3.13 on, when it frees the writer.
        sys.unraisablehook = _report_unless_client_is_gone


def _report_unless_client_is_gone(error: sys.UnraisableHookArgs) -> None:
    if not isinstance(error.exc_value, BrokenPipeError | ConnectionResetError):
        sys.__unraisablehook__(error)


async def _stdio(server: Server[Any]) -> None:
    async with stdio_server() as (received, sent):
        await server.run(received, sent, server.create_initialization_options())


def serve_http(server: Server[Any], listener: socket.socket, *, host: str, token: str) -> None:
    """Serve clients that have the token over HTTP, until a signal ends the process.

    Args:
        server: The server.
        listener: Socket that listens.
        host: Name by which clients reach it.
        token: Bearer token of all requests.
    """
    import uvicorn

    config = uvicorn.Config(
        http_app(server, host=host, token=token),
        log_config=None,
        access_log=False,
        ws="none",
        limit_concurrency=_MOST_CONNECTIONS,
        timeout_graceful_shutdown=_CLOSE_S,
    )
    uvicorn.Server(config).run(sockets=[listener])


def http_app(server: Server[Any], *, host: str, token: str) -> Starlette:
    """Return the server as a web application at ``/mcp``, behind a bearer token.

    Requests for another host, or from a page of another site, are refused (DNS rebinding).
    """
    from mcp.server.auth.middleware.bearer_auth import BearerAuthBackend
    from starlette.middleware.authentication import AuthenticationMiddleware

    verifier = _OneToken(token)
    app = server.streamable_http_app(
        host=host, token_verifier=verifier, transport_security=_security(host)
    )
    app.add_middleware(AuthenticationMiddleware, backend=BearerAuthBackend(verifier))
    return app


class _OneToken:
    """Verifier of the one token that all clients have."""

    def __init__(self, token: str) -> None:
        self._token = token.encode()

    async def verify_token(self, token: str) -> AccessToken | None:
        from mcp.server.auth.provider import AccessToken

        if not hmac.compare_digest(token.encode("utf-8", "replace"), self._token):
            return None
        return AccessToken(token=token, client_id="commonplace", scopes=[])


def _security(host: str) -> TransportSecuritySettings | None:
    """Return which hosts and origins are served; None where the SDK's own rule for loopback is."""
    from mcp.server.transport_security import TransportSecuritySettings

    if host in _LOOPBACK:
        return None
    if host in _ANY_ADDRESS:  # its names are not known; a page of another site has no token
        return TransportSecuritySettings(enable_dns_rebinding_protection=False)
    name = f"[{host}]" if ":" in host else host
    origins = [f"{scheme}://{name}" for scheme in ("http", "https")]
    return TransportSecuritySettings(
        allowed_hosts=[name, f"{name}:*"],
        allowed_origins=[*origins, *(f"{origin}:*" for origin in origins)],
    )
