"""Answers of the tools that write notes: append, edit, correct and delete."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from commonplace.agent.visibility import AgentMemory, visible_memory
from commonplace.errors import CommonplaceError, EditError, ToolInputError
from commonplace.text.quotation import UNTRUSTED_MARK
from commonplace.text.redaction import Redaction, redacted_replacement
from commonplace.tools.additions import redacted_addition, redacted_correction
from commonplace.tools.answers import agent_origin, append_answer, masked_notice, of_memory
from commonplace.tools.arguments import ToolArguments
from commonplace.tools.schemas import APPEND_TOOL, CORRECT_TOOL, EDIT_TOOL, ToolSpec
from commonplace.workspace.paths import log_path

if TYPE_CHECKING:
    from collections.abc import Mapping

    from commonplace.types import Origin, Version

__all__ = ["write_answer"]


def write_answer(
    memory: AgentMemory,
    arguments: Mapping[str, object],
    *,
    tool: ToolSpec,
    private: bool = True,
    redact: Redaction = True,
    name: str | None = None,
    session: str | None = None,
    agent: str | None = None,
) -> dict[str, Any]:
    """Answer a call of one of the tools of `write_tools`.

    Args:
        memory: The memory to change.
        arguments: The model's arguments.
        tool: Which of them; ``memory_append`` is answered by `append_answer`.
        private: Whether the conversation has one user only; if not, MEMORY.md is refused.
        redact: Whether keys, tokens and passwords in what is written are masked;
            with ``"personal"`` also numbers of cards, IBANs and US social security.
        name: Name of the memory, where an agent has several; the answer then carries it.
        session: Conversation of the call; None if it is not known.
        agent: Name of the agent, where several share the memory; the origin then has it.

    Returns:
        The path of the note, and the number of the change, which `Memory.undo` takes; with
        ``masked``, a sentence for the model, where a secret was.

    Raises:
        ToolInputError: An argument is missing, unknown, of the wrong type, or empty.
        EditError: The passage stands nowhere, or in several places, which the message names.
        PathNotAllowedError: The note is none that may be changed; the message says which may.
        ConflictError: The note is gone, or was changed meanwhile.
    """
    if tool.name == APPEND_TOOL.name:
        return append_answer(
            memory, arguments, private=private, redact=redact, name=name, session=session,
            agent=agent,
        )  # fmt: skip
    values = ToolArguments(arguments, tool=tool.of_memory(name))
    origin = agent_origin(tool.name, session=session, agent=agent)
    target = visible_memory(memory, private=private)
    try:
        change = _Change(values, target, tool, origin, redact=redact)
        version = change.run()
    except EditError as error:  # it may quote lines of the note
        if session is not None and UNTRUSTED_MARK in str(error):
            memory.record_exposure(session)
        raise
    return of_memory(name, {"path": version.path, "version": version.id} | change.masked)


class _Change:
    """One call of a tool that changes a note.

    Attributes:
        masked: What the answer says of secrets in what was written.
    """

    def __init__(
        self,
        values: ToolArguments,
        memory: AgentMemory,
        tool: ToolSpec,
        origin: Origin,
        *,
        redact: Redaction,
    ) -> None:
        self._values, self._memory, self._tool = values, memory, tool
        self._origin, self._redact = origin, redact
        self.masked: dict[str, str] = {}

    def run(self) -> Version:
        """Change the note."""
        text, memory, origin = self._values.text, self._memory, self._origin
        if self._tool.name == EDIT_TOOL.name:
            old = self._filled("old", "the passage to replace")
            return memory.edit(text("path"), old, self._replacement(old), origin=origin)
        if self._tool.name == CORRECT_TOOL.name:
            self._filled("text", "what is right")
            return memory.correct(text("citation"), self._correction(), origin=origin)
        return memory.delete(text("path"), origin=origin)

    def _filled(self, name: str, what: str) -> str:
        text = self._values.text(name)
        if not text.strip():
            raise ToolInputError(f"{self._tool.name}: {name} is empty; it must hold {what}.")
        return text

    def _replacement(self, old: str) -> str:
        """Return what replaces a passage, masked as it is read in the note."""
        try:
            note = self._memory.get(self._values.text("path")).text
        except CommonplaceError:
            note = ""  # the edit says what is wrong
        personal = self._memory.settings.mask_personal
        new = self._values.text("new")
        written = redacted_replacement(note, old, new, self._redact, personal=personal)
        self.masked = masked_notice(new, written)
        return written

    def _correction(self) -> str:
        """Return what is right, masked as it is read in place of the lines, and in the log."""
        text = self._values.text("text")
        space, redact = self._memory.workspace, self._redact
        personal = self._memory.settings.mask_personal
        cited, log = self._values.text("citation"), log_path(self._memory.now().date())
        written = redacted_correction(space, cited, text, redact, personal=personal)
        written = redacted_addition(space, log, written, redact, personal=personal)
        self.masked = masked_notice(text, written)
        return written
