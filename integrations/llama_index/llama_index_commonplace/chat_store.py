"""`SerialChatStore`: LlamaIndex's chat store, one operation at a time; `ConversationLock`."""

from __future__ import annotations

import asyncio
import contextlib
import functools
import os
import threading
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextvars import ContextVar
from typing import Any, Self, TypeVar, cast
from weakref import WeakValueDictionary

from llama_index.core.bridge.pydantic import PrivateAttr
from llama_index.core.storage.chat_store.sql import SQLAlchemyChatStore
from sqlalchemy import Index, Table
from sqlalchemy.exc import DBAPIError
from sqlalchemy.ext.asyncio import AsyncEngine
from sqlalchemy.schema import CreateIndex

__all__ = ["ConversationLock", "SerialChatStore"]

_T = TypeVar("_T")


_LOOPS: dict[int, asyncio.AbstractEventLoop] = {}
"""Event loop of all stores by process: a fork has none of its parent's threads."""
_LOCKS: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()
_GUARD = threading.Lock()


def _store_loop() -> asyncio.AbstractEventLoop:
    """Return the event loop of all stores, in a thread of its own."""
    with _GUARD:
        loop = _LOOPS.get(os.getpid())
        if loop is None:
            loop = _LOOPS[os.getpid()] = asyncio.new_event_loop()
            run = loop.run_forever
            threading.Thread(target=run, name="commonplace-chats", daemon=True).start()
        return loop


def _lock_of(key: str | None) -> asyncio.Lock:
    """Return the lock of a key for the loop of the stores; without a key, a new one."""
    with _GUARD:
        lock = asyncio.Lock() if key is None else _LOCKS.get(key) or asyncio.Lock()
        if key is not None:
            _LOCKS[key] = lock
        return lock


def _serial(name: str) -> Callable[..., Any]:
    operation = getattr(SQLAlchemyChatStore, name)

    @functools.wraps(operation)
    async def run(self: SerialChatStore, *args: Any, **kwargs: Any) -> Any:
        return await self._serially(lambda: operation(self, *args, **kwargs))

    return run


class SerialChatStore(SQLAlchemyChatStore):
    """Chat store whose operations run one at a time, on an event loop of their own.

    Concurrent sessions of an in-memory database share one connection, so that the rollback of one
    undoes the other; and the first two operations make the table at once. One lock for a database
    prevents both. The own loop reads and validates long conversations while the caller's loop goes
    on, and an operation whose caller is cancelled comes to its end.

    An engine that the caller made stays on the caller's loop, to which its driver may be bound.
    """

    _lock: asyncio.Lock = PrivateAttr()
    _is_own: bool = PrivateAttr(default=True)
    _is_engine_own: bool = PrivateAttr(default=True)

    def __init__(self, table_name: str, **options: Any) -> None:
        """Make the store; the options are those of `SQLAlchemyChatStore`."""
        super().__init__(table_name, **options)
        engine = options.get("async_engine")
        self._is_own = engine is None or engine.dialect.driver == "aiosqlite"
        self._is_engine_own = engine is None
        is_file = self.is_durable and engine is None
        self._lock = _lock_of(self.async_database_uri if is_file else None)

    @classmethod
    def like(cls, store: SQLAlchemyChatStore, engine: AsyncEngine | None) -> Self:
        """Return a store of the same table as one that was not used yet."""
        return cls(
            store.table_name,
            async_database_uri=store.async_database_uri,
            async_engine=engine,
            db_schema=store.db_schema,
        )

    async def aclose(self) -> None:
        """Close the connections, but not those of an engine that the caller made."""
        engine = self._async_engine
        if engine is not None and self._is_engine_own:
            await self._serially(engine.dispose)

    @property
    def is_durable(self) -> bool:
        """Whether the conversations outlive the process."""
        return not self._is_in_memory_uri(self.async_database_uri)

    get_messages = _serial("get_messages")
    count_messages = _serial("count_messages")
    add_message = _serial("add_message")
    add_messages = _serial("add_messages")
    set_messages = _serial("set_messages")
    delete_message = _serial("delete_message")
    delete_messages = _serial("delete_messages")
    delete_oldest_messages = _serial("delete_oldest_messages")
    archive_oldest_messages = _serial("archive_oldest_messages")
    get_keys = _serial("get_keys")
    _dump_db_data = _serial("_dump_db_data")

    async def _setup_tables(self, async_engine: AsyncEngine) -> Table:
        """Make the table; in SQLite with an index of the queue, whose read ignores what left it."""
        try:
            table = await super()._setup_tables(async_engine)
        except DBAPIError:  # another process has made it since it was looked for
            async with async_engine.begin() as connection:
                await connection.run_sync(self._metadata.create_all)
            table = cast("Table", self._table)
        if self._is_sqlite_database():
            columns = (table.c.key, table.c.status, table.c.timestamp, table.c.id)
            index = Index(f"ix_{self.table_name}_queue", *columns)
            async with async_engine.begin() as connection:
                await connection.execute(CreateIndex(index, if_not_exists=True))
        return table

    async def _serially(self, operation: Callable[[], Awaitable[_T]]) -> _T:
        loop = _store_loop()
        if not self._is_own or asyncio.get_running_loop() is loop:  # a part of another operation
            return await operation()

        async def run() -> _T:
            async with self._lock:
                return await operation()

        running = asyncio.run_coroutine_threadsafe(run(), loop)
        return await asyncio.shield(asyncio.wrap_future(running))


_WAIT_S = 10.0
"""How long a thread waits for a conversation's lock."""

_HELD: ContextVar[frozenset[int]] = ContextVar("_HELD", default=frozenset())


class ConversationLock:
    """Lock of one conversation among coroutines of any event loop, and threads.

    It is reentrant for what its holder calls, such as `on_flush`.

    Args:
        key: Key that objects of one conversation share; None for an object of its own.
    """

    def __init__(self, key: str | None) -> None:
        self._lock = _lock_of(key)

    @contextlib.asynccontextmanager
    async def held(self) -> AsyncIterator[bool]:
        """Hold the lock in a coroutine; yield whether it is held for this block alone."""
        if id(self._lock) in _HELD.get():
            yield False
            return
        acquired = asyncio.run_coroutine_threadsafe(self._lock.acquire(), self._loop)
        try:
            await asyncio.shield(asyncio.wrap_future(acquired))
        except asyncio.CancelledError:
            acquired.add_done_callback(lambda _: self._release())
            raise
        with self._marked():
            yield True

    @contextlib.contextmanager
    def held_by_thread(self) -> Iterator[bool]:
        """Hold the lock in a thread, or continue without it after a while; yield which it is.

        A coroutine that holds it may need the thread: its own loop runs in it, which is not waited
        for, or all threads of its executor wait here. What a conversation then loses is order.
        """
        if id(self._lock) in _HELD.get():
            yield False
            return
        wait_s = 0.0 if _has_running_loop() else _WAIT_S
        if asyncio.run_coroutine_threadsafe(self._acquired_within(wait_s), self._loop).result():
            with self._marked():
                yield True
        else:
            yield False

    async def _acquired_within(self, wait_s: float) -> bool:
        if not wait_s:
            return not self._lock.locked() and await self._lock.acquire()
        try:
            return await asyncio.wait_for(self._lock.acquire(), wait_s)
        except TimeoutError:
            return False

    @property
    def _loop(self) -> asyncio.AbstractEventLoop:
        return _store_loop()

    @contextlib.contextmanager
    def _marked(self) -> Iterator[None]:
        """Mark the lock as held for all that is called meanwhile; release it at the end."""
        token = _HELD.set(_HELD.get() | {id(self._lock)})
        try:
            yield
        finally:
            _HELD.reset(token)
            self._release()

    def _release(self) -> None:
        self._loop.call_soon_threadsafe(self._lock.release)


def _has_running_loop() -> bool:
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return False
    return True
