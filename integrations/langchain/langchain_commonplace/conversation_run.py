"""Conversation run: the conversation that the hooks of a middleware work on, one within another."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass

from langchain_core.messages import AnyMessage

from langchain_commonplace.flush_session import FlushSession

__all__ = ["ConversationRun", "current_run", "entered"]


@dataclass(frozen=True, slots=True)
class ConversationRun:
    """Conversation that the hooks work on, its thread id, and the flushes of its memory.

    Attributes:
        owner: The middleware. A summary may be another agent's work, with a memory of its own.
    """

    owner: object
    messages: Sequence[AnyMessage]
    thread: str
    session: FlushSession


_RUN: ContextVar[ConversationRun] = ContextVar("_RUN")


def current_run(owner: object) -> ConversationRun | None:
    """Return the run that a middleware's hooks are in; None outside of one of its own."""
    run = _RUN.get(None)
    return run if run is not None and run.owner is owner else None


@contextmanager
def entered(run: ConversationRun) -> Iterator[ConversationRun]:
    """Set the run for the hooks below while the block runs."""
    token = _RUN.set(run)
    try:
        yield run
    finally:
        _RUN.reset(token)
