"""Runs a flush, which stops wherever it asks the model, in a thread or on an event loop.

The work between two questions is the same for both. A model that does not answer in time is left
alone: its thread is a daemon, its task is cancelled, and what it says later reaches nobody.
"""

from __future__ import annotations

import asyncio
import contextvars
import queue
import threading
from collections.abc import Callable, Coroutine, Generator
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from commonplace.flush.protocol import FlushModel, FlushReply, FlushRequest

__all__ = ["DeadlineError", "ModelCall", "run", "run_async"]

_T = TypeVar("_T")


class DeadlineError(Exception):
    """The model did not answer in time."""


@dataclass(frozen=True, slots=True)
class ModelCall:
    """A question to the model, and how long it may take."""

    request: FlushRequest
    timeout_s: float


@dataclass(frozen=True, slots=True)
class _Done(Generic[_T]):
    result: _T


def run(steps: Generator[ModelCall, FlushReply, _T], model: FlushModel) -> _T:
    """Run to the end in this thread."""
    try:
        state = _advance(steps)
        while isinstance(state, ModelCall):
            try:
                reply = _ask(model, state)
            except Exception as error:  # noqa: BLE001 - whatever a model raises, the turn decides
                state = _advance(steps, error=error)
            else:
                state = _advance(steps, reply)
        return state.result
    finally:
        steps.close()


async def run_async(steps: Generator[ModelCall, FlushReply, _T], model: FlushModel) -> _T:
    """Run to the end; the work between two questions is done in threads."""
    threaded = _Threaded(steps)
    try:
        state = await asyncio.to_thread(threaded.advance)
        while isinstance(state, ModelCall):
            try:
                reply = await _aask(model, state)
            except Exception as error:  # noqa: BLE001 - whatever a model raises, the turn decides
                state = await asyncio.to_thread(threaded.advance, error=error)
            else:
                state = await asyncio.to_thread(threaded.advance, reply)
        return state.result
    finally:
        threaded.leave()


class _Threaded(Generic[_T]):
    """Steps that are gone in threads, and may be left while a thread is in the middle of one."""

    def __init__(self, steps: Generator[ModelCall, FlushReply, _T]) -> None:
        self._steps = steps
        self._lock = threading.Lock()
        self._running = self._left = False

    def advance(
        self, reply: FlushReply | None = None, *, error: Exception | None = None
    ) -> ModelCall | _Done[_T]:
        """Go on to the next question, or to the end; close the steps if they were left."""
        with self._lock:
            if self._left:
                raise asyncio.CancelledError
            self._running = True
        try:
            return _advance(self._steps, reply, error=error)
        finally:
            with self._lock:
                self._running = False
                if self._left:
                    self._steps.close()

    def leave(self) -> None:
        """Close the steps now, or when the thread that goes them has gone the present one."""
        with self._lock:
            self._left = True
            if not self._running:
                self._steps.close()


def _advance(
    steps: Generator[ModelCall, FlushReply, _T],
    reply: FlushReply | None = None,
    *,
    error: Exception | None = None,
) -> ModelCall | _Done[_T]:
    """Go on to the next question, or to the end."""
    try:
        if error is not None:
            return steps.throw(error)
        return next(steps) if reply is None else steps.send(reply)
    except StopIteration as end:
        return _Done(end.value)


def _ask(model: FlushModel, ask: ModelCall) -> FlushReply:
    answers: queue.SimpleQueue[FlushReply | BaseException] = queue.SimpleQueue()
    call: Callable[[], FlushReply] = lambda: model.reply(ask.request)  # noqa: E731
    context = contextvars.copy_context()

    def work() -> None:
        try:
            answers.put(context.run(call))
        except BaseException as error:  # noqa: BLE001 - it is raised where the answer is awaited
            answers.put(error)

    threading.Thread(target=work, name="commonplace-flush", daemon=True).start()
    try:
        answer = answers.get(timeout=max(ask.timeout_s, 0.001))
    except queue.Empty:
        raise _late(ask) from None
    if isinstance(answer, BaseException):
        raise answer
    return _checked(answer)


async def _aask(model: FlushModel, ask: ModelCall) -> FlushReply:
    answering: Coroutine[Any, Any, FlushReply] = model.areply(ask.request)
    task = asyncio.ensure_future(answering)
    try:
        done, _ = await asyncio.wait({task}, timeout=max(ask.timeout_s, 0.001))
    except asyncio.CancelledError:
        task.cancel()
        raise
    if not done:
        task.cancel()
        task.add_done_callback(_forget)  # not awaited: it may not heed the cancellation
        raise _late(ask)
    if task.cancelled():
        raise DeadlineError("the model's call was cancelled")
    return _checked(task.result())


def _forget(task: asyncio.Task[Any]) -> None:
    if not task.cancelled():
        task.exception()


def _late(ask: ModelCall) -> DeadlineError:
    return DeadlineError(f"the model did not answer within {ask.timeout_s:.3g} s")


def _checked(reply: object) -> FlushReply:
    if not isinstance(reply, FlushReply) or not isinstance(reply.text, str):
        raise TypeError(f"the model's adapter returned {type(reply).__name__}, not a FlushReply")
    return reply
