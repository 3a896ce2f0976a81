"""`MemoryFileBackend`: a memory's notes as files of a deep agent, for deepagents' file tools.

It needs the package deepagents, which nothing else of this package does::

    from deepagents import create_deep_agent
    from deepagents.backends import CompositeBackend, StateBackend
    from langchain_commonplace.file_backend import MemoryFileBackend

    backend = CompositeBackend(
        default=StateBackend(), routes={"/memories/": MemoryFileBackend(memory)}
    )
    agent = create_deep_agent(
        model,
        backend=backend,
        tools=memory_tools(memory),
        middleware=[MemoryContextMiddleware(memory=memory)],
    )

The middleware puts MEMORY.md into the prompt; it is not named in ``memory=`` of the agent, too.
"""

from __future__ import annotations

import contextlib
import posixpath
from collections.abc import Iterable, Iterator
from pathlib import Path

from deepagents.backends import FilesystemBackend
from deepagents.backends.protocol import (
    ContextLine,
    DeleteResult,
    EditResult,
    FileDownloadResponse,
    FileInfo,
    FileUploadResponse,
    GlobResult,
    GrepMatch,
    GrepResult,
    LsResult,
    ReadResult,
    WriteResult,
)
from deepagents.backends.utils import grep_matches_from_files, perform_string_replacement

from commonplace import CommonplaceError, Memory, Origin, PathNotAllowedError
from commonplace.text.redaction import Redaction, checked_redaction, redacted, redacted_replacement
from langchain_commonplace.memory_source import MemorySource, current_memory
from langchain_commonplace.message_conversion import current_thread

__all__ = ["MemoryFileBackend"]


class MemoryFileBackend(FilesystemBackend):
    """Backend of deepagents over a memory: MEMORY.md and ``memory/**/*.md``, as search names them.

    What the file tools write is checked, kept in the history, and found by the next search; secrets
    are masked. Other files of the folder are neither listed nor read nor written.
    """

    def __init__(self, memory: MemorySource, *, redact: Redaction = True) -> None:
        """Set up the files of an agent.

        Args:
            memory: The memory, or a function from a run's configuration to it, such as
                ``pool.resolver("user_id")``; it is not closed by the backend.
            redact: Whether keys, tokens and passwords in what is written are masked;
                with ``"personal"`` also numbers of cards, IBANs and US social security.
        """
        self._source = memory
        self.redact = checked_redaction(redact)
        super().__init__(virtual_mode=True)

    @property
    def memory(self) -> Memory:
        """The memory of the run in progress."""
        return current_memory(self._source)

    @property
    def cwd(self) -> Path:
        """The folder that paths are relative to: the workspace of the run in progress."""
        workspace = self.memory.workspace
        workspace.require("a file backend")
        return workspace.root

    @cwd.setter
    def cwd(self, folder: Path) -> None:
        """Ignore deepagents' default, the current folder."""

    def ls(self, path: str) -> LsResult:
        """List the notes of a folder, and its folders that hold some."""
        found = super().ls(path)
        if found.entries is None:
            return found
        return LsResult(entries=self._notes_among(found.entries))

    def glob(self, pattern: str, path: str | None = None) -> GlobResult:
        """Find the notes whose paths match a pattern."""
        found = super().glob(pattern, path)
        if found.matches is not None:
            found.matches = self._notes_among(found.matches)
        return found

    def read(self, file_path: str, offset: int = 0, limit: int = 2000) -> ReadResult:
        """Read lines of a note; a conversation that is shown untrusted ones is recorded."""
        memory = self.memory
        try:
            _check_note(memory, file_path)
        except CommonplaceError as error:
            return ReadResult(error=f"Error reading file '{file_path}': {error}")
        self._record_exposure([file_path])
        return super().read(file_path, offset, limit)

    def download_files(self, paths: list[str]) -> list[FileDownloadResponse]:
        """Read several notes; a conversation that is shown untrusted ones is recorded."""
        memory, responses = self.memory, []
        for path in paths:
            try:
                _check_note(memory, path)
            except CommonplaceError:
                responses.append(FileDownloadResponse(path=path, error="permission_denied"))
                continue
            self._record_exposure([path])
            responses += super().download_files([path])
        return responses

    def grep(
        self,
        pattern: str,
        path: str | None = None,
        glob: str | None = None,
        *,
        max_count: int | None = None,
        context_lines: int = 0,
    ) -> GrepResult:
        """Search the notes for a text; a conversation that is shown untrusted ones is recorded."""
        if context_lines < 0:
            raise ValueError("context_lines must be non-negative")
        # The notes and nothing else are read: a walk of the whole folder would name, in its
        # errors, what is not to be seen, and take its time for it.
        files = {f"/{note}": {"content": text} for note, text in self._texts()}
        folder = posixpath.normpath("/" + _note(path or ""))
        result = grep_matches_from_files(files, pattern, folder, glob)
        found = list(result.matches or ())
        matches = found if max_count is None else found[:max_count]
        for match in matches if context_lines else ():
            _add_context(match, files[match["path"]]["content"], pattern, context_lines)
        self._record_exposure(dict.fromkeys(match["path"] for match in matches))
        truncated = len(matches) < len(found)
        return GrepResult(error=result.error, matches=matches, truncated=truncated)

    def write(self, file_path: str, content: str) -> WriteResult:
        """Create a note, or replace it."""
        memory = self.memory  # a run that does not say whose is no model's mistake
        try:
            memory.write(_note(file_path), self._masked(content), origin=_origin("write_file"))
        except CommonplaceError as error:
            return WriteResult(error=f"Error writing file '{file_path}': {error}")
        return WriteResult(path=file_path)

    def edit(
        self,
        file_path: str,
        old_string: str,
        new_string: str,
        replace_all: bool = False,
    ) -> EditResult:
        """Replace a passage of a note."""
        memory = self.memory
        try:
            note = memory.get(_note(file_path))
            if note.status != "ok":
                return EditResult(error=f"Error: File '{file_path}' not found")
            personal = memory.settings.mask_personal
            new = redacted_replacement(
                note.text, old_string, new_string, self.redact, personal=personal
            )
            replaced = perform_string_replacement(
                _lines(note.text), _lines(old_string), _lines(new), replace_all
            )
            if isinstance(replaced, str):
                return EditResult(error=replaced)
            text, occurrences = replaced
            memory.write(note.path, text, if_version=note.version, origin=_origin("edit_file"))
        except CommonplaceError as error:
            return EditResult(error=f"Error editing file '{file_path}': {error}")
        return EditResult(path=file_path, occurrences=occurrences)

    def delete(self, file_path: str) -> DeleteResult:
        """Delete a note; its text stays in the history."""
        memory = self.memory
        try:
            memory.delete(_note(file_path), origin=_origin("delete"))
        except CommonplaceError as error:
            return DeleteResult(error=f"Error deleting '{file_path}': {error}")
        return DeleteResult(path=file_path)

    def upload_files(self, files: list[tuple[str, bytes]]) -> list[FileUploadResponse]:
        """Write several notes."""
        responses = []
        for path, content in files:
            try:
                written = self.write(path, content.decode("utf-8"))
            except UnicodeDecodeError:
                error: str | None = "a note is UTF-8 text, which these bytes are not"
            else:
                error = "permission_denied" if written.error else None
            responses.append(FileUploadResponse(path=path, error=error))
        return responses

    def _notes_among(self, found: Iterable[FileInfo]) -> list[FileInfo]:
        """Return the notes among files, and the folders that hold notes."""
        notes = [f"/{note}" for note in self.memory.paths()]
        names = set(notes)
        return [
            info
            for info in found
            if info["path"] in names
            or (info["path"].endswith("/") and any(note.startswith(info["path"]) for note in notes))
        ]

    def _texts(self) -> Iterator[tuple[str, str]]:
        """Yield the paths and texts of the notes that can be read."""
        root = self.cwd
        for note in self.memory.paths():
            with contextlib.suppress(OSError):
                yield note, (root / note).read_text("utf-8", "replace")

    def _record_exposure(self, file_paths: Iterable[str]) -> None:
        """Record that the conversation reads notes: what it writes is trusted no more than they."""
        memory = self.memory
        for file_path in file_paths:
            with contextlib.suppress(CommonplaceError):  # it is no note, or is not there
                if memory.get(_note(file_path)).untrusted:
                    memory.record_exposure(current_thread())

    def _masked(self, text: str) -> str:
        return redacted(text, self.redact, personal=self.memory.settings.mask_personal)


def _note(file_path: str) -> str:
    """Return the path of a note, as search names it."""
    return file_path.lstrip("/")


def _check_note(memory: Memory, file_path: str) -> None:
    """Check that a path is one that a note may have, by the rule of `memory_get`.

    Raises:
        PathNotAllowedError: It is not; a session file, which is elsewhere, has no path here either.
    """
    note, workspace = _note(file_path), memory.workspace
    if workspace.locate(note) != workspace.root / note:
        raise PathNotAllowedError(f"{file_path!r} is not the path of a note.")


def _add_context(match: GrepMatch, text: str, pattern: str, count: int) -> None:
    """Add the lines around a match, without those that match, too."""
    lines: list[ContextLine] = [
        {"line": number, "text": line} for number, line in enumerate(text.split("\n"), start=1)
    ]
    at = match["line"] - 1
    before, after = lines[max(0, at - count) : at], lines[at + 1 : at + 1 + count]
    match["context_before"] = [line for line in before if pattern not in line["text"]]
    match["context_after"] = [line for line in after if pattern not in line["text"]]


def _lines(text: str) -> str:
    """Return a text as the file tools show it; the endings of a file's lines stay as they are."""
    return text.replace("\r\n", "\n")


def _origin(tool: str) -> Origin:
    return Origin("agent", session=current_thread() or None, tool=tool)
