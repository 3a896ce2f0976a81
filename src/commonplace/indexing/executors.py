"""Executors of writes: a thread of its own, or none where there is nothing to do meanwhile."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Executor, Future, ThreadPoolExecutor
from typing import ParamSpec, TypeVar

__all__ = ["executor_for"]

_P = ParamSpec("_P")
_T = TypeVar("_T")


class _SameThreadExecutor(Executor):
    """Executor that calls at once, in the thread that submits."""

    def submit(self, fn: Callable[_P, _T], /, *args: _P.args, **kwargs: _P.kwargs) -> Future[_T]:
        future: Future[_T] = Future()
        future.set_result(fn(*args, **kwargs))  # what it raises ends the run here
        return future


def executor_for(files: int) -> Executor:
    """Return the executor that writes a number of files; starting a thread takes as long as one."""
    return _SameThreadExecutor() if files == 1 else ThreadPoolExecutor(max_workers=1)
