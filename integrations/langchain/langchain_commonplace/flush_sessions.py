"""`FlushSessions`: the flush sessions of one middleware, one for each memory of its runs."""

from __future__ import annotations

from collections.abc import Callable

from langchain_core.runnables import RunnableConfig

from commonplace import Memory
from commonplace.flush import prepare_counting
from langchain_commonplace.flush_session import FlushSession
from langchain_commonplace.lru import LRUCache
from langchain_commonplace.memory_source import (
    MemorySource,
    acurrent_memory,
    current_memory,
    memory_key,
)

__all__ = ["FlushSessions"]


class FlushSessions:
    """Flush sessions of one middleware: one for each memory that its runs use.

    Args:
        source: The memory, or the function from a run to its memory.
        make: Makes the session of a memory.
    """

    def __init__(self, source: MemorySource, make: Callable[[Memory], FlushSession]) -> None:
        self._source = source
        self._make = make
        self._sessions: LRUCache[FlushSession] = LRUCache()
        # Sessions are made in runs: the vocabulary would be built while the event loop waits.
        prepare_counting()

    def current(self, config: RunnableConfig | None = None) -> FlushSession:
        """Return the session of a run's memory.

        Args:
            config: Configuration of the run; that of the run in progress by default.
        """
        return self._of(current_memory(self._source, config))

    async def acurrent(self, config: RunnableConfig | None = None) -> FlushSession:
        """Run `current` without blocking the event loop."""
        return self._of(await acurrent_memory(self._source, config))

    def _of(self, memory: Memory) -> FlushSession:
        key = memory_key(memory)
        session = self._sessions.get(key)
        if session is None or session.memory is not memory:
            session = self._make(memory)
            self._sessions.set(key, session)
        return session
