"""Memory source: a memory, or a function from a run's configuration to the memory of its user."""

from __future__ import annotations

import asyncio
import hashlib
import reprlib
from collections.abc import Callable
from typing import TypeVar

from langchain_core.runnables import RunnableConfig, ensure_config

from commonplace import Memory, Settings

__all__ = [
    "MemorySource",
    "acurrent_memory",
    "checked_source",
    "current_memory",
    "memory_key",
    "source_settings",
    "with_memory",
]

_T = TypeVar("_T")

MemorySource = Memory | Callable[[RunnableConfig], Memory]
"""A memory for all runs, or a function that returns the memory of one, such as the one that
`MemoryPool.resolver` returns."""


def checked_source(source: MemorySource) -> MemorySource:
    """Return a source.

    Raises:
        TypeError: It is neither a memory nor a function.
    """
    if isinstance(source, Memory) or callable(source):
        return source
    raise TypeError(
        f"memory is {reprlib.repr(source)}, of type {type(source).__name__}; it must be a Memory, "
        "such as Memory.open('notes'), or a function, such as pool.resolver('user_id')."
    )


def current_memory(source: MemorySource, config: RunnableConfig | None = None) -> Memory:
    """Return the memory of a run.

    Args:
        source: The memory, or the function that is asked.
        config: Configuration of the run; that of the run in progress by default.

    Raises:
        NamespaceError: The function is a pool's, and the run does not say whose memory it uses.
        TypeError: The function returned something else.
    """
    if isinstance(source, Memory):
        return source
    memory = source(ensure_config(config))
    if not isinstance(memory, Memory):
        raise TypeError(
            f"memory= returned {type(memory).__name__} for this run; it must return its Memory."
        )
    return memory


async def acurrent_memory(source: MemorySource, config: RunnableConfig | None = None) -> Memory:
    """Run `current_memory` without blocking the event loop: a folder may be made."""
    if isinstance(source, Memory):
        return source
    return await asyncio.to_thread(current_memory, source, config)


async def with_memory(
    source: MemorySource, call: Callable[[], _T], config: RunnableConfig | None = None
) -> _T:
    """Run a call that uses the memory of a run in a thread.

    A pool's memory is leased before: calls that waited for it in threads would leave none for those
    that have one.

    Args:
        source: The memory, or the function that is asked.
        call: What uses it.
        config: Configuration of the run; that of the run in progress by default.
    """
    slot = (await acurrent_memory(source, config)).slot
    return await (asyncio.to_thread(call) if slot is None else slot.call_async(call))


def memory_key(memory: Memory) -> str:
    """Return a key that tells a memory from all others of the process."""
    root = str(memory.workspace.root)
    return hashlib.sha256(root.encode("utf-8", "surrogatepass")).hexdigest()[:16]


def source_settings(source: MemorySource) -> Settings:
    """Return the settings that are known before a run: the memory's, or those of a pool.

    A function without ``settings`` has those of the default settings file.
    """
    source = checked_source(source)
    settings = source.settings if isinstance(source, Memory) else getattr(source, "settings", None)
    return settings if isinstance(settings, Settings) else Settings.load()
