"""Waiting line (FIFO): whose turn it is among the coroutines that wait for open indexes."""

from __future__ import annotations

import contextvars
import time
from collections.abc import Callable, Iterator, Mapping
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from commonplace.indexing.slots import IndexSlot

__all__ = ["HELD_SLOTS", "PATIENCE_S", "Waiter", "WaitingLine"]

PATIENCE_S = 1.0
"""How long one waits in line before others are held back for it, or passed over for not coming."""
HELD_SLOTS: contextvars.ContextVar[frozenset[IndexSlot]] = contextvars.ContextVar(
    "held_slots", default=frozenset()
)
"""Slots that the blocks around a call hold: what it does within them waits for no other one."""


@dataclass(eq=False, slots=True)
class Waiter:
    """Place in the line.

    Attributes:
        slot: What it waits for.
        wake: Called from any thread when its turn may have come.
        holds: Whether it waits within a block that holds the slot.
        since: When it came, by the monotonic clock.
        called_at: Since when it is its turn and it did not come; None before.
    """

    slot: IndexSlot
    wake: Callable[[], object]
    holds: bool = field(init=False)
    since: float = field(init=False)
    called_at: float | None = None

    def __post_init__(self) -> None:
        """Note who waits, and since when."""
        self.holds = self.slot in HELD_SLOTS.get()
        self.since = time.monotonic()

    def try_wake(self) -> bool:
        """Wake it; False where its event loop is closed."""
        try:
            self.wake()
        except RuntimeError:
            return False
        return True


class WaitingLine:
    """Line of coroutines that wait for slots, used under the lock of the slots.

    Args:
        open_slots: The open slots, and how many leases each has.
        closing: Those that are being suspended.
        limit: How many there are at most.
    """

    def __init__(
        self, open_slots: Mapping[IndexSlot, int], closing: AbstractSet[IndexSlot], *, limit: int
    ) -> None:
        self._open = open_slots
        self._closing = closing
        self._limit = limit
        self._waiters: dict[Waiter, None] = {}

    def __len__(self) -> int:
        """Return how many wait."""
        return len(self._waiters)

    def add(self, waiter: Waiter) -> None:
        """Put one at the end."""
        self._waiters[waiter] = None

    def remove(self, waiter: Waiter) -> None:
        """Take one out, wherever it stands."""
        self._waiters.pop(waiter, None)

    def is_turn(self, waiter: Waiter) -> bool:
        """Return whether it is the turn of one who asks."""
        waiter.called_at = None
        return waiter in self._turns()

    def wake(self) -> None:
        """Wake those whose turn it is, without those whose event loop is closed."""
        while gone := [waiter for waiter in tuple(self._turns()) if not waiter.try_wake()]:
            for waiter in gone:
                self.remove(waiter)

    def _turns(self) -> Iterator[Waiter]:
        """Yield the first one, if a slot is free for it, and those whose slot is leased anyway.

        These have a place. They are held back for a while when one before them waits for long: of a
        user who always has a call under way, the slot would never be free.
        """
        now = time.monotonic()
        is_free = len(self._open) + len(self._closing) < self._limit or 0 in self._open.values()
        is_waiting_long = False
        for waiter in self._waiters:
            is_late = now - waiter.since >= PATIENCE_S
            has_place = self._open.get(waiter.slot) or waiter.slot.is_closed
            if has_place and (waiter.holds or is_late or not is_waiting_long):
                yield waiter
                continue
            is_waiting_long |= is_late
            if is_free and waiter.slot not in self._closing:
                waiter.called_at = waiter.called_at or now
                # An event loop that does not run comes for nothing.
                is_free = now - waiter.called_at >= PATIENCE_S
                yield waiter
