"""`MemoryPool`: the memories of many users in one process, each in a folder of its own."""

from __future__ import annotations

import asyncio
import contextlib
import contextvars
import logging
import os
import shutil
import threading
import weakref
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from commonplace.errors import (
    EmbedderError,
    NamespaceError,
    PoolExhaustedError,
    SettingsError,
    StoreError,
    WorkspaceNotFoundError,
    WorkspaceReadOnlyError,
)
from commonplace.indexing.embedder_selector import EmbedderSelector
from commonplace.indexing.slots import LEASE_TIMEOUT_S, IndexSlot, IndexSlots
from commonplace.indexing.waiting_line import HELD_SLOTS
from commonplace.memory import Memory
from commonplace.settings import Settings
from commonplace.store.state_folders import remove_state, set_state_aside, state_folder
from commonplace.system.forks import renewed_in_child
from commonplace.types import is_url
from commonplace.workspace.namespaces import check_folder, check_namespace, namespace_folder

if TYPE_CHECKING:
    from commonplace.embeddings.base import Embedder

__all__ = ["MemoryPool"]

logger = logging.getLogger(__name__)

_RUNTIME_KEY = "__pregel_runtime"
"""Key of LangGraph's runtime, which has the run's context, among the values of a run."""


class MemoryPool:
    """Pool of memories: one workspace for each namespace, such as a user's id.

    A workspace is one circle of trust: all that it holds may be shown to each of its users. A pool
    keeps those of its users apart, each in a folder below `root`, made at its first use, with an
    index of its own. All share one embedder. At most `max_open` of them hold files and vectors;
    the one that was used least recently is closed for another, never while it is in use.

    ::

        with MemoryPool("users") as pool:
            with pool.memory("alice") as memory:
                memory.search("which port does the VPN use?")

    It may be shared by threads, and several processes may use one root.
    """

    def __init__(
        self,
        root: str | os.PathLike[str],
        *,
        settings: Settings | None = None,
        embedder: str | Embedder | Any | None = "auto",
        max_open: int = 64,
    ) -> None:
        """Open a pool; no workspace is opened yet.

        Args:
            root: The folder of the workspaces; it is made if it is missing.
            settings: Settings of every memory; the default settings file, else the defaults.
            embedder: As `Memory.open` takes it; the same for every memory.
            max_open: How many workspaces are open at once.

        Raises:
            ValueError: `max_open` is below 1.
            SettingsError: The settings name one folder for what each workspace has of its own.
            WorkspaceNotFoundError: The root is a URL.
        """
        if max_open < 1:
            raise ValueError(f"max_open is {max_open}; it must be at least 1.")
        self.settings = settings or Settings.load()
        _check_apart(self.settings)
        if is_url(root):
            raise WorkspaceNotFoundError("the root of a pool is a URL; a folder was expected.")
        self.root = Path(os.path.abspath(os.path.expanduser(root)))
        self._selector = EmbedderSelector(self.settings, embedder)
        self._slots = IndexSlots(max_open)
        self._memories: weakref.WeakValueDictionary[str, Memory] = weakref.WeakValueDictionary()
        """Memories that are open or referred to; an open one is kept by its slot."""
        self._is_closed = False
        self.renew()
        renewed_in_child(self)

    def renew(self) -> None:
        """Begin again in a forked process; its memories are opened again when they are used."""
        self._lock = threading.Condition()
        self._removing: set[str] = set()
        """Namespaces whose folders are being removed: who opens one of them waits."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"MemoryPool({str(self.root)!r})"

    @property
    def open_count(self) -> int:
        """How many workspaces are open."""
        return len(self._slots)

    def memory(self, namespace: str) -> MemoryLease:
        """Return the memory of a namespace, for a block: ``with pool.memory("alice") as memory``.

        The workspace is not closed while the block runs; ``async with`` waits without blocking the
        event loop.

        Args:
            namespace: A user's id, or another text that can name a folder.

        Raises:
            NamespaceError: The namespace is empty or unsafe.
            StoreError: The pool is closed.
        """
        memory = self._memory_of(namespace)
        assert memory.slot is not None  # it was opened with the pool's slots
        return MemoryLease(memory, memory.slot)

    def resolver(self, key: str) -> MemoryResolver:
        """Return a function from a run's configuration to the memory of its user.

        It is what ``memory=`` of the adapters for LangChain takes. Each verb of a memory that it
        returns keeps the workspace open for as long as it runs.

        Args:
            key: Name of the value in ``configurable``, or in the runtime's context, that is the
                namespace, such as ``user_id``. A run without it is a `NamespaceError`.
        """
        return MemoryResolver(self._memory_of, key, self.settings)

    def remove(self, namespace: str) -> None:
        """Remove a user for good: the folder with all notes, and its index, history and journal.

        Blocks and verbs that use the memory are waited for, while those of other users go on. A
        user of the same name waits, and begins without anything of this one. Nothing can be taken
        back: `Memory.forget` removes less.

        Args:
            namespace: As `memory` takes it; where it has no folder, what was noted of it goes.

        Raises:
            NamespaceError: The namespace is empty or unsafe, or its folder is a link.
            PoolExhaustedError: The memory stayed in use; nothing was removed.
            WorkspaceReadOnlyError: The folder cannot be removed, or not all of it.
            StateError: Its index or its history cannot be removed.
            StoreError: The pool is closed.
        """
        self._check_open()
        folder = self.root / check_namespace(namespace)
        while (slot := self._slot_to_retire(namespace)) is not None:
            if not self._slots.retire(slot, timeout_s=LEASE_TIMEOUT_S):
                raise PoolExhaustedError(
                    f"the memory of {namespace!r} stayed in use for {LEASE_TIMEOUT_S:g} s; nothing "
                    "was removed. Leave the blocks of pool.memory(...), and remove it again."
                )
        try:
            _remove(folder)  # outside of the lock: many notes take seconds
        finally:
            with self._lock:
                self._removing.discard(namespace)
                self._lock.notify_all()

    async def aremove(self, namespace: str) -> None:
        """`remove` in a thread."""
        await asyncio.to_thread(self.remove, namespace)

    def close(self) -> None:
        """Close all memories, as `Memory.close` does, and the embedder."""
        self._is_closed = True
        with self._lock:
            slots = [memory.slot for memory in self._memories.values() if memory.slot is not None]
        suspended = [slot for slot in slots if not slot.is_open]
        self._slots.close()
        for slot in suspended:
            slot.shut()
        self._selector.close()

    def _check_open(self) -> None:
        if self._is_closed:
            raise StoreError("the pool is closed; open another MemoryPool.")

    def _slot_to_retire(self, namespace: str) -> IndexSlot | None:
        """Return the slot of a user, if it is open; None once the folder is the caller's alone."""
        with self._lock:
            self._lock.wait_for(lambda: namespace not in self._removing)
            memory = self._memories.get(namespace)
            if memory is not None and memory.slot is not None and not memory.slot.is_closed:
                return memory.slot
            self._memories.pop(namespace, None)
            self._removing.add(namespace)
        return None

    def _memory_of(self, namespace: str) -> Memory:
        self._check_open()
        check_namespace(namespace)
        with self._lock:
            self._lock.wait_for(lambda: namespace not in self._removing)
            if not os.path.lexists(self.root / namespace):
                self._begin(namespace)
            folder = namespace_folder(self.root, namespace)
            memory = self._memories.get(namespace)
            if memory is None:
                # Before the first index has a say: the embedder is one for all.
                with contextlib.suppress(EmbedderError):
                    self._selector.select(None)
                memory = self._memories[namespace] = Memory.open(
                    folder, settings=self.settings, embedder=self._selector, slots=self._slots
                )
        return memory

    def _begin(self, namespace: str) -> None:
        """Set aside what an earlier user of the name left, whose folder is gone."""
        former = self._memories.pop(namespace, None)
        if former is not None and former.slot is not None:
            self._slots.retire(former.slot, timeout_s=0)
        folder = self.root / namespace
        if os.path.lexists(state_folder(folder)):
            self.root.mkdir(parents=True, exist_ok=True)
            if (kept := set_state_aside(folder)) is not None:
                logger.warning(
                    "the folder of %r is a new one; index and history of the earlier one of its "
                    "name are kept in %s. pool.remove(...) removes them, too",
                    namespace,
                    kept,
                )


class MemoryResolver:
    """Function from a run's configuration to its memory; see `MemoryPool.resolver`.

    Attributes:
        settings: Settings of every memory that it returns.
    """

    def __init__(self, memory_of: Callable[[str], Memory], key: str, settings: Settings) -> None:
        self._memory_of = memory_of
        self._key = key
        self.settings = settings

    def __call__(self, config: Mapping[str, Any]) -> Memory:
        return self._memory_of(_run_value(config, self._key))


class MemoryLease:
    """Lease of a pool's memory, for a block, sync or async; see `MemoryPool.memory`."""

    def __init__(self, memory: Memory, slot: IndexSlot) -> None:
        self._memory = memory
        self._slot = slot
        self._held: contextvars.Token[frozenset[IndexSlot]] | None = None

    def __enter__(self) -> Memory:
        self._slot.acquire()
        return self._entered()

    def __exit__(self, *_: object) -> None:
        with contextlib.suppress(RuntimeError, ValueError):  # begun twice, or in another context
            if self._held is not None:
                HELD_SLOTS.reset(self._held)
        self._slot.release()

    async def __aenter__(self) -> Memory:
        await self._slot.acquire_async()
        return self._entered()

    async def __aexit__(self, *_: object) -> None:
        self.__exit__()

    def _entered(self) -> Memory:
        self._held = HELD_SLOTS.set(HELD_SLOTS.get() | {self._slot})
        return self._memory


def _remove(folder: Path) -> None:
    """Remove a user's folder, where there is one, and all that was noted of it."""
    if os.path.lexists(folder):
        check_folder(folder.parent, folder.name)
        try:
            shutil.rmtree(folder)
        except OSError as error:
            raise WorkspaceReadOnlyError(
                f"{folder} cannot be removed, or not all of it ({error.strerror or error}). Give "
                "yourself write access to it, and remove it again."
            ) from error
    remove_state(folder)


def _run_value(config: Mapping[str, Any], key: str) -> Any:
    """Return a value of a run: of its configuration, or of the runtime's context.

    Raises:
        NamespaceError: It has none, or the two differ.
    """
    values: Mapping[str, Any] = config.get("configurable") or {}
    context = getattr(values.get(_RUNTIME_KEY), "context", None)
    of_run = context if isinstance(context, Mapping) else {key: getattr(context, key, None)}
    found = [value for value in (values.get(key), of_run.get(key)) if value is not None]
    if not found:
        raise NamespaceError(
            f"the run has no {key!r}, which says whose memory it uses: invoke the agent with "
            f"config={{'configurable': {{{key!r}: ...}}}}, or with a context that has it."
        )
    if found[0] != found[-1]:
        raise NamespaceError(
            f"the run has two values of {key!r}, {found[0]!r} in its configuration and "
            f"{found[1]!r} in its context: give one."
        )
    return found[0]


def _check_apart(settings: Settings) -> None:
    """Check that no setting puts the files of several workspaces in one folder."""
    path = settings.sessions.path
    if path is None:
        return
    place = os.path.normpath(os.path.expanduser(path))
    if os.path.isabs(place) or place.split(os.sep)[0] == os.pardir:
        raise SettingsError(
            f"sessions.path is {path!r}, one folder for the sessions of all users of the pool; "
            "give a path inside of each workspace, or none."
        )
