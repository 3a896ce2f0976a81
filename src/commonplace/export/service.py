"""Export service: writes the notes, the session files and ``commonplace.json`` to a folder.

``commonplace.json`` is one object of lists, an entry a line: the versions of all notes with their
texts, the origins of lines, the flush journal. Deleting it leaves plain Markdown.
"""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

from commonplace.errors import WorkspaceError
from commonplace.history.database import HistoryFile
from commonplace.history.transfer import history_values
from commonplace.system.files import sync
from commonplace.system.state import StateFile
from commonplace.workspace.file_text import UnreadableFileError, open_file

if TYPE_CHECKING:
    from commonplace.memory import Memory

__all__ = ["EXPORT_FILE", "SESSIONS", "STATE_TABLES", "ExportReport", "export_memory"]

EXPORT_FILE = "commonplace.json"
FORMAT = "commonplace export 1"
SESSIONS = "sessions"
STATE_TABLES = {
    "flush_entries": ("thread", "reason", "moment", "tokens", "messages", "replies", "attempts"),
    "flush_marks": ("thread", "hash", "at"),
}
"""Columns of the state's tables that an export has; their workspace is the one that has them."""


@dataclass(frozen=True, slots=True)
class ExportReport:
    """Result of an export, or of its import: counts of notes, versions and session files."""

    notes: int
    versions: int
    sessions: int


def export_memory(memory: Memory, folder: Path) -> ExportReport:
    """Write all of a memory to a folder that is new or empty.

    Args:
        memory: The memory. Extra paths outside its folder are not exported.
        folder: The folder.

    Raises:
        WorkspaceError: The folder holds something, or is in the memory's own.
        OSError: It cannot be written.
    """
    memory.workspace.require("an export")
    root = memory.workspace.root
    if folder.resolve() == root or root in folder.resolve().parents:
        raise WorkspaceError(f"{folder} is in the memory's own folder; export to another place.")
    folder.mkdir(parents=True, exist_ok=True)
    if any(folder.iterdir()):
        raise WorkspaceError(
            f"{folder} is not empty; an export is written to a new folder, or an empty one."
        )
    try:
        return _write(memory, folder)
    except BaseException:  # a part of an export could be taken for a whole one
        for entry in folder.iterdir():
            shutil.rmtree(entry) if entry.is_dir() else entry.unlink()
        raise


def _write(memory: Memory, folder: Path) -> ExportReport:
    memory.index()  # the history meets what other programs wrote
    scan = memory.workspace.scan()
    for place, why in scan.problems:
        if not place.startswith(".."):  # what is in it would be missing
            raise _unexported(place, why)
    notes = [one for one in scan.files if one.source == "memory"]
    inside = [one for one in notes if not one.path.startswith("..")]
    for file in inside:
        _copy(file.absolute, folder / file.path)
    sessions = sorted(memory.state.sessions.glob("*.jsonl"))
    for path in sessions:
        if not path.is_symlink():
            _copy(path, folder / SESSIONS / path.name)
    return ExportReport(len(inside), _write_json(memory, folder), len(sessions))


def _write_json(memory: Memory, folder: Path) -> int:
    """Write what is not in the files, from one state of the history; return its versions."""
    beside = folder / f"{EXPORT_FILE}.tmp"
    counts: dict[str, int] = {}
    history, state = HistoryFile(memory.state.history), StateFile(memory.state.database)
    with (
        history.transaction() as connection,
        open(os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w", encoding="utf-8",
             newline="\n") as file,
    ):  # fmt: skip
        file.write(f'{{"format": {json.dumps(FORMAT)},\n')
        file.write(f'"exported": {json.dumps(memory.now().isoformat())}')
        for name, values in history_values(connection).items():
            counts[name] = _write_list(file, name, values)
        for table, columns in STATE_TABLES.items():
            _write_list(file, table, _rows(state, table, columns, str(memory.workspace.root)))
        file.write("}\n")
        file.flush()
        sync(file.fileno())
    history.close()
    state.close()
    os.replace(beside, folder / EXPORT_FILE)
    return counts["versions"]


def _write_list(file: IO[str], name: str, values: Iterable[Mapping[str, Any]]) -> int:
    count = 0
    file.write(f",\n{json.dumps(name)}: [")
    for value in values:
        file.write(f"{',' if count else ''}\n{json.dumps(value)}")
        count += 1
    file.write("]")
    return count


def _rows(
    state: StateFile, table: str, columns: tuple[str, ...], workspace: str
) -> Iterator[dict[str, Any]]:
    sql = f"SELECT {', '.join(columns)} FROM {table} WHERE workspace = ?"
    for row in state.rows(sql, (workspace,)):
        values = (one.hex() if isinstance(one, bytes) else one for one in row)
        yield dict(zip(columns, values, strict=True))


def _copy(source: Path, target: Path) -> None:
    """Copy a file, not through links; only its owner may read it."""
    target.parent.mkdir(parents=True, exist_ok=True)
    try:
        read = open_file(source)
    except UnreadableFileError as error:
        raise _unexported(source, error) from error
    with (
        read,
        open(os.open(target, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as written,
    ):
        shutil.copyfileobj(read, written)


def _unexported(path: str | Path, why: object) -> WorkspaceError:
    return WorkspaceError(
        f"{path} cannot be exported: {why}. Mend or move it, and export to an empty folder."
    )
