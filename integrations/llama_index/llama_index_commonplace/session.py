"""Session of a tool call: the conversation whose agent makes it."""

from __future__ import annotations

from llama_index.core.workflow import Context
from workflows.errors import WorkflowRuntimeError

__all__ = ["current_session"]


async def current_session() -> str | None:
    """Return the session id of the agent's memory, inside a step of its workflow.

    None where it is not known: outside of a step, or with a memory that has none, such as
    `ChatMemoryBuffer`.
    """
    try:
        context = Context.get_step_context()
    except (AttributeError, WorkflowRuntimeError):  # workflows did not have it before 2.18
        return None
    memory = await context.store.get("memory", default=None)
    session = getattr(memory, "session_id", None)
    return session if isinstance(session, str) else None
