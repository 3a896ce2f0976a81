"""Commands of Anthropic's memory tool, as changes of notes."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from anthropic.tools import BetaAbstractMemoryTool, BetaAsyncAbstractMemoryTool, ToolError
from anthropic.types.beta import (
    BetaMemoryTool20250818CreateCommand,
    BetaMemoryTool20250818DeleteCommand,
    BetaMemoryTool20250818InsertCommand,
    BetaMemoryTool20250818RenameCommand,
    BetaMemoryTool20250818StrReplaceCommand,
    BetaMemoryTool20250818ViewCommand,
)
from pydantic import BaseModel, ValidationError

from commonplace.anthropic.folder import FOLDER, ROOT, NoteFolder, note_name
from commonplace.errors import CommonplaceError, ConflictError
from commonplace.history.edits import occurrences
from commonplace.renderers import brief
from commonplace.text.quotation import quoted_lines
from commonplace.text.redaction import (
    Redaction,
    checked_redaction,
    redacted,
    redacted_between,
    redacted_replacement,
)
from commonplace.tools.answers import agent_origin

if TYPE_CHECKING:
    from anthropic.types.beta import BetaCacheControlEphemeralParam

    from commonplace.memory import Memory
    from commonplace.types import Excerpt

__all__ = ["AsyncMemoryTool", "MemoryTool"]

_COMMANDS: Mapping[str, type[BaseModel]] = {
    "view": BetaMemoryTool20250818ViewCommand,
    "create": BetaMemoryTool20250818CreateCommand,
    "str_replace": BetaMemoryTool20250818StrReplaceCommand,
    "insert": BetaMemoryTool20250818InsertCommand,
    "delete": BetaMemoryTool20250818DeleteCommand,
    "rename": BetaMemoryTool20250818RenameCommand,
}
_MAX_LINES = 999_999
_AROUND = 2
"""Lines that are shown on each side of a change."""


class MemoryTool(BetaAbstractMemoryTool):
    """Anthropic's memory tool over a memory's notes, for ``tool_runner`` of the SDK's client.

    Args:
        memory: The memory; it is not closed by the tool.
        session: Conversation, for the origin of what is written; None if it is not known.
        redact: Whether keys, tokens and passwords in what is written are masked;
            with ``"personal"`` also numbers of cards, IBANs and US social security.
        cache_control: Of the SDK, for its prompt cache.
    """

    def __init__(
        self,
        memory: Memory,
        *,
        session: str | None = None,
        redact: Redaction = True,
        cache_control: BetaCacheControlEphemeralParam | None = None,
    ) -> None:
        super().__init__(cache_control=cache_control)
        self._memory = memory
        self._session = session
        self._redact = checked_redaction(redact)
        memory.workspace.require("Anthropic's memory tool")
        self._folder = NoteFolder(memory.workspace)
        self._origin = agent_origin("memory", session=session, agent=None)

    def call(self, input: object) -> Any:  # noqa: A002 - the base class's name
        """Run a command as the model sent it; see `execute`."""
        return self.execute(_command(input))

    def execute(self, command: Any) -> Any:
        """Run a command of the model.

        Raises:
            ToolError: It cannot be done; the message is for the model.
        """
        try:
            return super().execute(command)
        except (CommonplaceError, OSError) as error:
            raise ToolError(str(error)) from error

    def view(self, command: BetaMemoryTool20250818ViewCommand) -> str:
        """Return the lines of a note with their numbers, or the files of a folder."""
        name = note_name(command.path)
        if self._folder.is_folder(name):
            return self._folder.listing(name, command.path)
        note = self._note(name, command.path)
        lines = quoted_lines(note.text, 1, note.untrusted).split("\n")
        if len(lines) > _MAX_LINES:
            raise ToolError(f"File {command.path} exceeds maximum line limit of 999,999 lines.")
        first, end = 0, len(lines)
        if command.view_range and len(command.view_range) == 2:
            first = max(1, command.view_range[0]) - 1
            end = len(lines) if command.view_range[1] == -1 else command.view_range[1]
        shown = _numbered(lines[first:end], first + 1)
        return f"Here's the content of {command.path} with line numbers:\n{shown}"

    def create(self, command: BetaMemoryTool20250818CreateCommand) -> str:
        """Create a note; one that is there stays."""
        name = note_name(command.path)
        if self._folder.is_folder(name):
            raise ToolError(f"File {command.path} already exists")
        _check_suffix(name, command.path)
        try:
            personal = self._memory.settings.mask_personal
            text = redacted(command.file_text, self._redact, personal=personal)
            self._memory.write(name, text, if_version="", origin=self._origin)
        except ConflictError as error:
            raise ToolError(f"File {command.path} already exists") from error
        return f"File created successfully at: {command.path}"

    def str_replace(self, command: BetaMemoryTool20250818StrReplaceCommand) -> str:
        """Replace the one place of a passage in a note."""
        note = self._changed_note(command.path)
        text, old = note.text, command.old_str
        count = text.count(old)
        if count == 0:
            raise ToolError(
                f"No replacement was performed, old_str `{old}` did not appear verbatim in "
                f"{command.path}."
            )
        if count > 1:
            lines = ", ".join(str(text.count("\n", 0, at) + 1) for at in occurrences(text, old))
            raise ToolError(
                f"No replacement was performed. Multiple occurrences of old_str `{old}` in lines: "
                f"{lines}. Please ensure it is unique"
            )
        line = text.count("\n", 0, text.find(old))
        personal = self._memory.settings.mask_personal
        new = redacted_replacement(text, old, command.new_str, self._redact, personal=personal)
        self._write(note, text.replace(old, new))
        note = self._memory.get(note.path)
        first = max(0, line - _AROUND)
        changed = quoted_lines(note.text, 1, note.untrusted).split("\n")
        return (
            "The memory file has been edited. Here is the snippet showing the change (with line "
            f"numbers):\n{_numbered(changed[first : line + _AROUND + 1], first + 1)}"
        )

    def insert(self, command: BetaMemoryTool20250818InsertCommand) -> str:
        """Insert a text behind a line of a note, 0 for its beginning."""
        note = self._changed_note(command.path)
        lines = note.text.removesuffix("\n").split("\n") if note.text else []
        if not 0 <= command.insert_line <= len(lines):
            raise ToolError(
                f"Invalid `insert_line` parameter: {command.insert_line}. "
                f"It should be within the range [0, {len(lines)}]."
            )
        above = "".join(f"{line}\n" for line in lines[: command.insert_line])
        below = "".join(f"\n{line}" for line in lines[command.insert_line :])
        new, personal = command.insert_text.rstrip("\n"), self._memory.settings.mask_personal
        new = redacted_between(above, new, below, self._redact, personal=personal)
        lines.insert(command.insert_line, new)
        text = "\n".join(lines)
        self._write(note, text if text.endswith("\n") else f"{text}\n")
        return f"The file {command.path} has been edited."

    def delete(self, command: BetaMemoryTool20250818DeleteCommand) -> str:
        """Delete a note, or each note of a folder; their texts stay in the history."""
        name = note_name(command.path)
        if name == FOLDER:
            raise ToolError(f"Cannot delete the {ROOT} directory itself")
        if self._folder.is_folder(name):
            for note in self._folder.notes_of(name, command.path):
                self._memory.delete(note, origin=self._origin)
            self._folder.remove_folders(name)
        elif self._folder.is_note(name):
            self._memory.delete(name, origin=self._origin)
        else:
            raise ToolError(f"The path {command.path} does not exist")
        return f"Successfully deleted {command.path}"

    def rename(self, command: BetaMemoryTool20250818RenameCommand) -> str:
        """Move a note, or each note of a folder, to a path where there is nothing."""
        name, to = note_name(command.old_path), note_name(command.new_path)
        if name == FOLDER:
            raise ToolError(f"Cannot rename the {ROOT} directory itself")
        if os.path.lexists(self._folder.place(to)):
            raise ToolError(f"The destination {command.new_path} already exists")
        if self._folder.is_folder(name):
            if to.startswith(f"{name}/"):
                raise ToolError(f"{command.new_path} is within {command.old_path}")
            for note in self._folder.notes_of(name, command.old_path):
                target = to + note.removeprefix(name)
                self._memory.move(note, target, origin=self._origin)
            self._folder.remove_folders(name, to=to)
        elif self._folder.is_note(name):
            _check_suffix(to, command.new_path)
            self._memory.move(name, to, origin=self._origin)
        else:
            raise ToolError(f"The path {command.old_path} does not exist")
        return f"Successfully renamed {command.old_path} to {command.new_path}"

    # -- files -----------------------------------------------------------------------------------

    def _note(self, name: str, path: str) -> Excerpt:
        """Read a note; a conversation that is shown untrusted lines is recorded."""
        note = self._memory.get(name) if self._folder.is_note(name) else None
        if note is None or note.status != "ok":
            raise ToolError(f"The path {path} does not exist. Please provide a valid path.")
        if note.untrusted:
            self._memory.record_exposure(self._session)
        return note

    def _changed_note(self, path: str) -> Excerpt:
        """Read a note that is about to be changed."""
        name = note_name(path)
        if self._folder.place(name).is_dir():
            raise ToolError(f"The path {path} is not a file.")
        return self._note(name, path)

    def _write(self, note: Excerpt, text: str) -> None:
        self._memory.write(note.path, text, if_version=note.version, origin=self._origin)


class AsyncMemoryTool(BetaAsyncAbstractMemoryTool):
    """Anthropic's memory tool for ``tool_runner`` of the SDK's asynchronous client.

    Args:
        memory: The memory.
        options: As `MemoryTool` takes them.
    """

    def __init__(self, memory: Memory, **options: Any) -> None:
        super().__init__(cache_control=options.get("cache_control"))
        self._tool = MemoryTool(memory, **options)

    async def call(self, input: object) -> Any:  # noqa: A002 - the base class's name
        """Run a command as the model sent it; see `execute`."""
        return await self.execute(_command(input))

    async def execute(self, command: Any) -> Any:
        """Run a command of the model in another thread; see `MemoryTool.execute`."""
        return await asyncio.to_thread(self._tool.execute, command)

    view = create = str_replace = insert = delete = rename = execute


def _command(given: object) -> BaseModel:
    """Return a command whose arguments are there, and of their types."""
    name = given.get("command") if isinstance(given, dict) else None
    model = _COMMANDS.get(name) if isinstance(name, str) else None
    if model is None:
        raise ToolError(f"command is {brief.repr(name)}; expected is one of {', '.join(_COMMANDS)}")
    try:
        return model.model_validate(given)
    except ValidationError as error:
        wrong = error.errors()[0]
        where = ".".join(map(str, wrong["loc"]))
        raise ToolError(f"{name}: {where} is wrong: {wrong['msg']}") from error


def _check_suffix(name: str, path: str) -> None:
    if not name.endswith(".md"):
        raise ToolError(f"{path}: memories are Markdown files; end the path with .md")


def _numbered(lines: list[str], first: int) -> str:
    return "\n".join(f"{number:6}\t{line}" for number, line in enumerate(lines, first))
