"""Slots of open indexes: an LRU that bounds how many memories of a pool hold files and vectors."""

from __future__ import annotations

import contextlib
import contextvars
import functools
import logging
import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Iterator
from typing import TypeVar

from commonplace.errors import PoolExhaustedError, StoreError
from commonplace.indexing.waiting_line import PATIENCE_S, Waiter, WaitingLine
from commonplace.system.forks import renewed_in_child

__all__ = ["LEASE_TIMEOUT_S", "IndexSlot", "IndexSlots"]

logger = logging.getLogger(__name__)

LEASE_TIMEOUT_S = 30.0
"""How long a lease waits while all slots are in use, before that is an error."""
_CLOSED = "the pool is closed; open another MemoryPool."

_has_waited = contextvars.ContextVar("has_waited", default=False)
"""Whether a call has waited for its lease in vain: what it does without one waits no more."""
_T = TypeVar("_T")
_REMOVED = "the user of this memory was removed; pool.memory(...) opens another one."


class IndexSlots:
    """Slots of open indexes, leased by each verb; the least recently used idle one is suspended.

    Args:
        limit: How many indexes are open at most.

    Attributes:
        is_closed: Whether leases are refused.
    """

    def __init__(self, limit: int) -> None:
        self.limit = limit
        self.is_closed = False
        self.renew()
        renewed_in_child(self)

    def renew(self) -> None:
        """Begin without open indexes, as in a forked process."""
        self._open: OrderedDict[IndexSlot, int] = OrderedDict()
        """Slots in use and idle ones, least recently used first, and how many leases each has."""
        self._closing: set[IndexSlot] = set()
        """Slots that are being suspended: they are not free yet."""
        self._changed = threading.Condition()
        self._line = WaitingLine(self._open, self._closing, limit=self.limit)
        """Those who wait on an event loop; threads wait for `_changed`."""

    def __len__(self) -> int:
        """Return how many indexes are open."""
        return len(self._open) + len(self._closing)

    def __contains__(self, slot: object) -> bool:
        """Return whether an index is open."""
        return slot in self._open

    def acquire(self, slot: IndexSlot, *, timeout_s: float) -> bool:
        """Lease a slot, and suspend another for it; return whether one was free in time.

        Raises:
            StoreError: The slots are closed.
        """
        deadline = time.monotonic() + timeout_s
        while (victim := self._grant(slot, deadline)) is not slot:
            if victim is None:
                return False
            self._suspend(victim)
        return True

    def release(self, slot: IndexSlot) -> None:
        """End a lease."""
        with self._changed:
            if slot in self._open:
                self._open[slot] -= 1
            self._notify()

    @contextlib.contextmanager
    def in_line(self, slot: IndexSlot, wake: Callable[[], object]) -> Iterator[Callable[[], bool]]:
        """Wait in line for a lease, in no thread; yield what says whether it is the slot's turn.

        Args:
            slot: The slot.
            wake: Called from any thread when its turn may have come.
        """
        waiter = Waiter(slot, wake)
        with self._changed:
            self._line.add(waiter)
        try:
            yield functools.partial(self._is_turn, waiter)
        finally:
            with self._changed:
                self._line.remove(waiter)
                self._notify()  # there may be room for the one behind

    def retire(self, slot: IndexSlot, *, timeout_s: float) -> bool:
        """Close one index for good when its leases have ended; return whether that was in time.

        Args:
            slot: Its slot; later leases of it are refused.
            timeout_s: How long leases are waited for; 0 takes it from those who have one.
        """
        deadline = time.monotonic() + timeout_s
        with self._changed:
            while slot in self._closing or (timeout_s and self._open.get(slot)):
                if not self._changed.wait(deadline - time.monotonic()) and timeout_s:
                    return False
            slot.is_retired = True
            self._open.pop(slot, None)
            self._notify()
        slot.shut()
        return True

    def close(self) -> None:
        """Close all indexes; later leases are refused."""
        with self._changed:
            self.is_closed = True
            slots = list(self._open)
            self._open.clear()
            self._notify()
        for slot in slots:
            slot.shut()

    def _grant(self, slot: IndexSlot, deadline: float) -> IndexSlot | None:
        """Return the slot if it is leased now, else one to be suspended; None out of time."""
        with self._changed:
            while True:
                if slot.is_closed:
                    raise StoreError(_REMOVED if slot.is_retired else _CLOSED)
                if slot in self._open:
                    self._open[slot] += 1
                    self._open.move_to_end(slot)
                    return slot
                if slot not in self._closing and len(self) < self.limit:
                    self._open[slot] = 1
                    slot.resume()
                    return slot
                idle = next((other for other, leases in self._open.items() if not leases), None)
                if idle is not None and slot not in self._closing:
                    del self._open[idle]
                    self._closing.add(idle)
                    return idle
                if not self._changed.wait(deadline - time.monotonic()):
                    return None

    def _is_turn(self, waiter: Waiter) -> bool:
        with self._changed:
            return self._line.is_turn(waiter)

    def _notify(self) -> None:
        self._changed.notify_all()
        self._line.wake()

    def _suspend(self, victim: IndexSlot) -> None:
        """Suspend a slot, outside of the lock: closing a file takes milliseconds."""
        try:
            victim.suspend()
        except Exception:
            logger.exception("an index could not be closed; it is opened again when it is used")
        finally:
            with self._changed:
                self._closing.discard(victim)
                self._notify()


class IndexSlot:
    """Slot of one memory's index, which is open while it is leased, and until others need it.

    Args:
        slots: The slots that it competes for.
        resume: Called when the index may be opened.
        suspend: Closes the index; the next lease opens it again.
        shut: Closes the index for good.
    """

    def __init__(
        self,
        slots: IndexSlots,
        *,
        resume: Callable[[], object],
        suspend: Callable[[], object],
        shut: Callable[[], object],
    ) -> None:
        self._slots = slots
        self.resume = resume
        self.suspend = suspend
        self.shut = shut
        self.is_retired = False
        """Whether it was closed by itself, as its user is removed."""

    @property
    def is_open(self) -> bool:
        """Whether the index is open, or may be opened without a wait."""
        return self in self._slots

    @property
    def is_closed(self) -> bool:
        """Whether leases are refused."""
        return self.is_retired or self._slots.is_closed

    def acquire(self) -> None:
        """Lease the slot; it is not suspended until the lease is released.

        Raises:
            PoolExhaustedError: All slots stayed in use by others.
            StoreError: The pool is closed.
        """
        timeout_s = 0.0 if _has_waited.get() else LEASE_TIMEOUT_S
        if not self._slots.acquire(self, timeout_s=timeout_s):
            raise self._exhausted()

    def release(self) -> None:
        """End a lease."""
        self._slots.release(self)

    @contextlib.contextmanager
    def leased(self) -> Iterator[None]:
        """Hold a lease while the block runs; see `acquire`."""
        self.acquire()
        try:
            yield
        finally:
            self.release()

    async def call_async(self, call: Callable[[], _T]) -> _T:
        """Call what uses the index in a thread, with a lease.

        Where none is free in time, or the pool is closed, the call is made without, and tells what
        it can still do: a search raises, a note is written and indexed later.
        """
        import asyncio  # a caller that awaits has loaded it; others do not pay for it

        if self.is_closed:
            return await asyncio.to_thread(call)
        try:
            await self.acquire_async()
        except PoolExhaustedError:
            with _waits_over():
                return await asyncio.to_thread(call)
        try:
            return await asyncio.to_thread(call)
        finally:
            self.release()

    async def acquire_async(self) -> None:
        """Lease the slot; the event loop goes on while it waits.

        It waits in line, in no thread: that would take one from the memories which others wait for.

        Raises:
            PoolExhaustedError: All slots stayed in use by others.
            StoreError: The pool is closed.
        """
        import asyncio  # a caller that awaits has loaded it; others do not pay for it

        freed = asyncio.Event()
        wake = functools.partial(asyncio.get_running_loop().call_soon_threadsafe, freed.set)
        try:
            async with asyncio.timeout(LEASE_TIMEOUT_S):
                with self._slots.in_line(self, wake) as is_turn:
                    while not (is_turn() and await self._attempt()):
                        with contextlib.suppress(TimeoutError):
                            async with asyncio.timeout(PATIENCE_S):
                                await freed.wait()
                        freed.clear()
        except TimeoutError:
            raise self._exhausted() from None

    async def _attempt(self) -> bool:
        """Lease the slot in a thread, if it is free; a cancelled attempt keeps nothing."""
        import asyncio

        is_left = has_lease = False
        lock = threading.Lock()

        def attempt() -> bool:
            nonlocal has_lease
            if self._slots.acquire(self, timeout_s=0.0):
                with lock:
                    has_lease = not is_left
                if not has_lease:
                    self.release()
            return has_lease

        try:
            return await asyncio.to_thread(attempt)
        except asyncio.CancelledError:  # the thread goes on, even when the event loop has ended
            with lock:
                is_left = True
            if has_lease:
                self.release()
            raise

    def _exhausted(self) -> PoolExhaustedError:
        """Return the error for a lease that waited too long."""
        return PoolExhaustedError(
            f"all {self._slots.limit} open workspaces of the pool stayed in use for "
            f"{LEASE_TIMEOUT_S:g} s. Leave the blocks of pool.memory(...) sooner, or give the pool "
            "a higher max_open."
        )


@contextlib.contextmanager
def _waits_over() -> Iterator[None]:
    """Let no lease be waited for in a block, and in the threads that it starts."""
    token = _has_waited.set(True)
    try:
        yield
    finally:
        _has_waited.reset(token)
