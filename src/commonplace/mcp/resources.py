"""Notes as resources of the protocol: list, contents, and notifications of changes."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any
from urllib.parse import quote, unquote

import anyio
from mcp import types
from mcp.server.subscriptions import (
    InMemorySubscriptionBus,
    ListenHandler,
    ResourcesListChanged,
    ResourceUpdated,
    ServerEvent,
)
from mcp.shared.exceptions import MCPError

from commonplace.errors import CommonplaceError
from commonplace.memory import Memory
from commonplace.text.quotation import quoted_lines
from commonplace.workspace.privacy import is_private

if TYPE_CHECKING:
    from mcp.server.context import ServerRequestContext
    from mcp.server.session import ServerSession

    from commonplace.types import IndexReport

__all__ = ["NoteResources", "connection_id", "note_uri"]

_SCHEME = "memory:///"
"""The authority is empty: clients change the case of one, and MEMORY.md is not memory.md."""
_PAGE = 500
_MOST_SUBSCRIPTIONS = 10_000
_SEND_S = 5.0
"""How long a client that does not read may keep the notifications of the others waiting."""

logger = logging.getLogger(__name__)


def note_uri(path: str) -> str:
    """Return the URI of a note; a path outside the workspace keeps its dots, escaped."""
    return _SCHEME + quote(path, safe="" if path.startswith("..") else "/")


class NoteResources:
    """Notes of a memory for clients of the protocol, and their subscriptions.

    Clients of the version of 2026-07-28 open a stream of events; earlier ones subscribe by URI.
    """

    def __init__(self, memory: Memory, *, private: bool) -> None:
        self._memory = memory
        self._private = private
        self._bus = InMemorySubscriptionBus()
        self._subscribers: dict[tuple[str, str], ServerSession] = {}
        self._known: dict[str, object] = {}
        self._wake = asyncio.Event()
        self.listen = ListenHandler(self._bus)

    # -- requests; they block, and belong into a thread ------------------------------------------

    def page(self, cursor: str | None) -> types.ListResourcesResult:
        """Return the notes behind a cursor, which is the last path of the page before."""
        paths = sorted(path for path in self._states() if path > (cursor or ""))
        shown = [path for path in paths if self._is_visible(path)]
        resources = [
            types.Resource(uri=note_uri(path), name=path, mime_type="text/markdown")
            for path in shown[:_PAGE]
        ]
        more = shown[_PAGE - 1] if len(shown) > _PAGE else None
        return types.ListResourcesResult(resources=resources, next_cursor=more)

    def contents(self, uri: str, *, session: str) -> types.ReadResourceResult:
        """Return the text of a note; untrusted lines are marked, as in every answer.

        Args:
            uri: URI of the note.
            session: Conversation that is shown the text.

        Raises:
            MCPError: The URI is none of a note that the client may read.
            PathNotAllowedError: It is none of a file of the memory.
        """
        path = unquote(uri.removeprefix(_SCHEME)) if uri.startswith(_SCHEME) else None
        if path is None or not self._is_visible(path):
            raise _not_found(uri)
        excerpt = self._memory.get(path)
        if excerpt.status != "ok":
            raise _not_found(uri)
        if excerpt.untrusted:
            self._memory.record_exposure(session)
        text = quoted_lines(excerpt.text, excerpt.from_line, excerpt.untrusted)
        text = text.encode("utf-8", "replace").decode("utf-8")
        content = types.TextResourceContents(uri=uri, mime_type="text/markdown", text=text)
        return types.ReadResourceResult(contents=[content])

    # -- subscriptions ---------------------------------------------------------------------------

    async def subscribe(
        self, context: ServerRequestContext[Any, Any], params: types.SubscribeRequestParams
    ) -> types.EmptyResult:
        """Subscribe a connection to a URI."""
        if len(self._subscribers) >= _MOST_SUBSCRIPTIONS:
            raise MCPError(
                types.INTERNAL_ERROR,
                f"there are {_MOST_SUBSCRIPTIONS} subscriptions already; end some of them first.",
            )
        self._subscribers[connection_id(context), params.uri] = context.session
        return types.EmptyResult()

    async def unsubscribe(
        self, context: ServerRequestContext[Any, Any], params: types.UnsubscribeRequestParams
    ) -> types.EmptyResult:
        """End a subscription."""
        self._subscribers.pop((connection_id(context), params.uri), None)
        return types.EmptyResult()

    @asynccontextmanager
    async def watched(self) -> AsyncIterator[None]:
        """Watch the files while the block runs, and notify subscribers of changes."""
        loop = asyncio.get_running_loop()

        def run_ended(_report: IndexReport) -> None:
            loop.call_soon_threadsafe(self._wake.set)

        self._known = await asyncio.to_thread(self._states)
        with self._memory.watch(on_run=run_ended):
            publisher = asyncio.create_task(self._publish())
            try:
                yield
            finally:
                publisher.cancel()
                await asyncio.gather(publisher, return_exceptions=True)

    def note_written(self) -> None:
        """Notify subscribers of what a tool has written, without the delay of the watcher."""
        self._wake.set()

    async def _publish(self) -> None:
        while True:
            await self._wake.wait()
            self._wake.clear()
            try:
                events = await asyncio.to_thread(self._changes)
            except CommonplaceError as error:  # the folder may be back at the next run
                logger.warning("subscribers were not notified: %s", error)
                continue
            for event in events:
                await self._bus.publish(event)
                if isinstance(event, ResourceUpdated):
                    await self._notify(event.uri)

    async def _notify(self, uri: str) -> None:
        for key, session in list(self._subscribers.items()):
            if key[1] != uri:
                continue
            with anyio.move_on_after(_SEND_S) as sending:
                await session.send_resource_updated(uri)
            if sending.cancelled_caught:
                self._subscribers.pop(key, None)

    def _changes(self) -> list[ServerEvent]:
        before, self._known = self._known, self._states()
        changed = {path for path, _ in before.items() ^ self._known.items()}
        visible = [path for path in sorted(changed) if self._is_visible(path)]
        events: list[ServerEvent] = [ResourceUpdated(note_uri(path)) for path in visible]
        if any((path in before) != (path in self._known) for path in visible):
            events.append(ResourcesListChanged())
        return events

    def _states(self) -> dict[str, object]:
        """Return what changes with each write of a note, by path."""
        return {
            file.path: (file.size, file.mtime_ns, file.stamp)
            for file in self._memory.workspace.scan().files
            if file.source == "memory"
        }

    def _is_visible(self, path: str) -> bool:
        return self._private or not is_private(self._memory.workspace, path)


def connection_id(context: ServerRequestContext[Any, Any]) -> str:
    """Return the connection of a request: over HTTP by its header, else empty for the only one."""
    return context.request.headers.get("mcp-session-id", "") if context.request else ""


def _not_found(uri: str) -> MCPError:
    return MCPError(
        types.INVALID_PARAMS,
        f"there is no note {uri[:200]!r}; resources/list has all URIs.",
    )
