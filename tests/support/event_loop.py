"""Measures how long an event loop stands still, but for what the machine did to it."""

from __future__ import annotations

import asyncio
import contextlib
import gc
import threading
import time
from typing import Self

MAX_S = 0.05
"""How long the event loop may stand still."""
_BEAT_S = 0.001
_COUNTED = 1_000_000
_COUNTING_S = 0.04
"""Time to count to `_COUNTED` on a machine of the speed for which `MAX_S` was set."""


def slowness() -> float:
    """Return how many times slower this machine computes now, from 1."""
    taken = []
    for _ in range(3):
        began = time.perf_counter()
        total = 0
        for number in range(_COUNTED):
            total += number
        taken.append(time.perf_counter() - began)
    return max(1.0, min(taken) / _COUNTING_S)


class Meter:
    """Measures the longest time for which the loop stood still while the block ran.

    ::

        async with Meter() as meter:
            await method()
        assert meter.stood_still_s < MAX_S

    A gap between two turns of the loop counts as far as the process computed in it, and as far as
    another thread had its turns in it: the first is work in the loop's thread, or a call in any
    thread that lets no other one run; the second is waiting in the loop's thread. Where neither is
    the case, the machine was busy with something else.

    What is there already is no matter for the garbage collector: it would look through all of the
    frameworks' objects, whichever test made the last one.
    """

    def __init__(self) -> None:
        self.stood_still_s = 0.0
        self._other = _OtherThread()

    async def __aenter__(self) -> Self:
        gc.collect()
        gc.freeze()
        self._other.start()
        self._task = asyncio.create_task(self._turn())
        await asyncio.sleep(10 * _BEAT_S)
        self.stood_still_s = 0.0
        return self

    async def __aexit__(self, *_: object) -> None:
        await asyncio.sleep(2 * _BEAT_S)
        self._task.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await self._task
        self._other.stop()
        gc.unfreeze()

    async def _turn(self) -> None:
        last, computed = time.perf_counter(), time.process_time()
        while True:
            await asyncio.sleep(_BEAT_S)
            now, computed_now = time.perf_counter(), time.process_time()
            gap = now - last
            busy = min(gap, computed_now - computed)
            waiting = gap - self._other.longest_gap_s(until=now)
            self.stood_still_s = max(self.stood_still_s, busy, waiting)
            last, computed = now, computed_now


class _OtherThread(threading.Thread):
    """Takes turns, and knows the longest time between two of them."""

    def __init__(self) -> None:
        super().__init__(daemon=True)
        self._last = time.perf_counter()
        self._longest_s = 0.0
        self._over = threading.Event()

    def run(self) -> None:
        while not self._over.wait(_BEAT_S):
            now = time.perf_counter()
            self._longest_s, self._last = max(self._longest_s, now - self._last), now

    def longest_gap_s(self, *, until: float) -> float:
        """Return the longest gap since this was asked last, one that is not over included."""
        longest, self._longest_s = max(self._longest_s, until - self._last), 0.0
        return longest

    def stop(self) -> None:
        self._over.set()
        self.join()
