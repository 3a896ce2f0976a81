"""Runner of a flush: drives its steps in a thread or on an event loop.

A flush is a generator that yields a `ModelCall` wherever it needs the model, and the coroutine of
an async callback; the work between two of these is the same code for all. A call that exceeds its
deadline is abandoned: its thread is a daemon, its task is cancelled, and a late reply is discarded.
"""

from __future__ import annotations

import asyncio
import contextvars
import functools
import queue
import threading
from collections.abc import Awaitable, Callable, Coroutine, Generator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from commonplace.flush.protocol import FlushModel, FlushReply, FlushRequest
from commonplace.system.forks import renewed_in_child

if TYPE_CHECKING:
    from commonplace.indexing.slots import IndexSlot

__all__ = [
    "BackgroundTask",
    "DeadlineError",
    "FlushSteps",
    "ModelCall",
    "Pause",
    "run_async",
    "run_sync",
]

_T = TypeVar("_T")


class DeadlineError(Exception):
    """The model did not reply before its deadline."""


@dataclass(frozen=True, slots=True)
class ModelCall:
    """Request to the model with its timeout."""

    request: FlushRequest
    timeout_s: float


@dataclass(frozen=True, slots=True)
class Pause:
    """Awaitable that ends after some seconds; a cancelled flush may leave it unawaited."""

    seconds: float

    def __await__(self) -> Generator[Any, None, None]:
        """Sleep on the event loop."""
        return asyncio.sleep(self.seconds).__await__()


FlushSteps = Generator[ModelCall | Awaitable[object], Any, _T]
"""Generator that yields model calls, receives replies and returns the result of a flush."""


@dataclass(frozen=True, slots=True)
class _StepsResult(Generic[_T]):
    """Return value of finished steps."""

    value: _T


def run_sync(steps: FlushSteps[_T], model: FlushModel) -> _T:
    """Run the steps in this thread and return their result."""
    try:
        state = _advance(steps)
        while not isinstance(state, _StepsResult):
            try:
                reply = _answer(model, state)
            except Exception as error:  # noqa: BLE001 - the steps decide, whatever a model raises
                state = _advance(steps, error=error)
            else:
                state = _advance(steps, reply)
        return state.value
    finally:
        steps.close()


async def run_async(
    steps: FlushSteps[_T], model: FlushModel, *, slot: IndexSlot | None = None
) -> _T:
    """Run the steps in threads and the model calls on this event loop; return the result.

    Args:
        steps: The flush.
        model: The model.
        slot: Slot among the open memories of a pool. It is waited for behind a reply, which may
            have notes, and in no thread: other memories need those to end their leases.
    """
    threaded = _ThreadedSteps(steps)
    in_thread = asyncio.to_thread if slot is None else slot.call_async
    try:
        state = await asyncio.to_thread(threaded.advance)
        while not isinstance(state, _StepsResult):
            try:
                reply = await _aanswer(model, state)
            except Exception as error:  # noqa: BLE001 - the steps decide, whatever a model raises
                state = await asyncio.to_thread(threaded.advance, error=error)
            else:
                state = await in_thread(functools.partial(threaded.advance, reply))
        return state.value
    finally:
        threaded.cancel()


class _ThreadedSteps(Generic[_T]):
    """Steps that advance in threads and can be cancelled while a thread runs one of them."""

    def __init__(self, steps: FlushSteps[_T]) -> None:
        self._steps = steps
        self._lock = threading.Lock()
        self._running = self._cancelled = False

    def advance(
        self, reply: FlushReply | None = None, *, error: Exception | None = None
    ) -> ModelCall | Awaitable[object] | _StepsResult[_T]:
        """Run up to the next model call or the end; close the steps if they were cancelled."""
        with self._lock:
            if self._cancelled:
                raise asyncio.CancelledError
            self._running = True
        try:
            return _advance(self._steps, reply, error=error)
        finally:
            with self._lock:
                self._running = False
                if self._cancelled:
                    self._steps.close()

    def cancel(self) -> None:
        """Close the steps now, or at the end of the step that a thread is running."""
        with self._lock:
            self._cancelled = True
            if not self._running:
                self._steps.close()


def _advance(
    steps: FlushSteps[_T],
    reply: FlushReply | None = None,
    *,
    error: Exception | None = None,
) -> ModelCall | Awaitable[object] | _StepsResult[_T]:
    """Run the steps up to the next model call or awaitable, or to the end."""
    try:
        if error is not None:
            return steps.throw(error)
        return next(steps) if reply is None else steps.send(reply)
    except StopIteration as end:
        return _StepsResult(end.value)


def _answer(model: FlushModel, asked: ModelCall | Awaitable[object]) -> FlushReply | None:
    """Return the model's reply; run a coroutine on an event loop of its own, in its own thread."""
    if isinstance(asked, ModelCall):
        return _call_model(model, asked)
    result: queue.SimpleQueue[BaseException | None] = queue.SimpleQueue()

    def work() -> None:
        try:
            asyncio.run(_awaited(asked))
        except BaseException as error:  # noqa: BLE001 - raised by the waiting thread
            result.put(error)
        else:
            result.put(None)

    run = contextvars.copy_context().run
    threading.Thread(target=run, args=(work,), name="commonplace-on-flush", daemon=True).start()
    if (error := result.get()) is not None:
        raise error
    return None


async def _aanswer(model: FlushModel, asked: ModelCall | Awaitable[object]) -> FlushReply | None:
    """Return the model's reply; await a coroutine on this event loop."""
    if isinstance(asked, ModelCall):
        try:
            return await _acall_model(model, asked)
        except NotImplementedError:
            return await asyncio.to_thread(_call_model, model, asked)
    await asked
    return None


async def _awaited(asked: Awaitable[object]) -> None:
    await asked


def _call_model(model: FlushModel, call: ModelCall) -> FlushReply:
    """Call the model in a daemon thread and wait for its reply until the deadline."""
    replies: queue.SimpleQueue[FlushReply | BaseException] = queue.SimpleQueue()
    reply: Callable[[], FlushReply] = lambda: model.reply(call.request)  # noqa: E731
    context = contextvars.copy_context()

    def work() -> None:
        try:
            replies.put(context.run(reply))
        except BaseException as error:  # noqa: BLE001 - raised by the waiting thread
            replies.put(error)

    threading.Thread(target=work, name="commonplace-flush", daemon=True).start()
    try:
        answer = replies.get(timeout=max(call.timeout_s, 0.001))
    except queue.Empty:
        raise _deadline_error(call) from None
    if isinstance(answer, BaseException):
        raise answer
    return _checked(answer)


async def _acall_model(model: FlushModel, call: ModelCall) -> FlushReply:
    """Call the model in a task and wait for its reply until the deadline."""
    replying: Coroutine[Any, Any, FlushReply] = model.areply(call.request)
    task = asyncio.ensure_future(replying)
    try:
        done, _ = await asyncio.wait({task}, timeout=max(call.timeout_s, 0.001))
    except asyncio.CancelledError:
        task.cancel()
        raise
    if not done:
        task.cancel()
        task.add_done_callback(_discard_result)  # not awaited: a task may ignore cancellation
        raise _deadline_error(call)
    if task.cancelled():
        raise DeadlineError("the model's call was cancelled")
    return _checked(task.result())


def _discard_result(task: asyncio.Task[Any]) -> None:
    """Retrieve a task's exception, so that asyncio does not log it."""
    if not task.cancelled():
        task.exception()


def _deadline_error(call: ModelCall) -> DeadlineError:
    return DeadlineError(f"the model did not answer within {call.timeout_s:.3g} s")


def _checked(reply: object) -> FlushReply:
    if not isinstance(reply, FlushReply) or not isinstance(reply.text, str):
        raise TypeError(f"the model's adapter returned {type(reply).__name__}, not a FlushReply")
    return reply


class BackgroundTask:
    """Task that runs in a daemon thread, one run at a time; a start during a run adds one run.

    The thread has none of the caller's context variables.

    Args:
        task: What to run; it logs its errors.
    """

    def __init__(self, task: Callable[[], object]) -> None:
        self._task = task
        self.renew()
        renewed_in_child(self)

    def renew(self) -> None:
        """Begin without a run, as in a forked process, which has none of its parent's threads."""
        self._lock = threading.Lock()
        self._wanted = False
        self._thread: threading.Thread | None = None

    def start(self) -> None:
        """Start a run, or ask for one more after the present one."""
        with self._lock:
            self._wanted = True
            if self._thread is None:
                thread = threading.Thread(target=self._run, name="commonplace-pending", daemon=True)
                thread.start()
                self._thread = thread

    def wait(self, timeout_s: float | None = None) -> bool:
        """Wait for the end of all runs; return whether they ended in time."""
        thread = self._thread
        if thread is None:
            return True
        thread.join(timeout_s)
        return not thread.is_alive()

    def _run(self) -> None:
        while True:
            with self._lock:
                if not self._wanted:
                    self._thread = None
                    return
                self._wanted = False
            self._task()
