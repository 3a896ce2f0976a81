"""Reader of exports: brings an export of a memory back, into a folder without notes."""

from __future__ import annotations

import os
import shutil
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import ijson

from commonplace.errors import ConflictError, ImportSourceError
from commonplace.export.service import EXPORT_FILE, FORMAT, SESSIONS, STATE_TABLES, ExportReport
from commonplace.history.database import HistoryFile
from commonplace.history.transfer import HISTORY_SECTIONS, is_from, restore_history
from commonplace.system.files import make_private_folder
from commonplace.system.state import StateFile
from commonplace.text.json_depth import ShallowJson
from commonplace.workspace.paths import crosses_link

if TYPE_CHECKING:
    from commonplace.memory import Memory

__all__ = ["restore_export"]


def restore_export(memory: Memory, folder: Path, *, dry_run: bool = False) -> ExportReport:
    """Bring an export back: its notes, their history and origins, its session files.

    It can be repeated: one that was interrupted is finished.

    Args:
        memory: A memory that has nothing yet, or a part of the same export.
        folder: The folder of the export.
        dry_run: Only check, and count.

    Raises:
        ImportSourceError: It is no export, or is damaged; nothing was written.
        ConflictError: The memory has notes, or a history, of its own; nothing was written.
    """
    lists = _Lists(folder / EXPORT_FILE)
    versions = sum(1 for _ in lists["versions"])
    notes = [
        path
        for path in sorted(folder.rglob("*.md"))
        if path.is_file() and not crosses_link(folder, path.relative_to(folder).parts)
    ]
    sessions = sorted(path for path in (folder / SESSIONS).glob("*.jsonl") if path.is_file())
    memory.workspace.require("an import of an export")
    root = memory.workspace.root
    targets = {path: memory.workspace.locate(path.relative_to(folder).as_posix()) for path in notes}
    history = HistoryFile(memory.state.history)
    known = {str(target) for target in targets.values()}
    own = [path for path in memory.paths() if str(root / path) not in known]
    own += [
        str(target)
        for path, target in targets.items()
        if target.exists() and target.read_bytes() != path.read_bytes()
    ]
    if own or not is_from(history, lists["versions"]):
        raise ConflictError(
            f"the memory has notes or a history of its own{': ' + own[0] if own else ''}; an "
            "export comes back into an empty folder. Nothing was written; name another one by -w.",
            version="",
        )
    if not dry_run:
        try:
            restore_history(history, {name: lists[name] for name in HISTORY_SECTIONS})
        except (KeyError, TypeError, ValueError) as error:
            if isinstance(error, ImportSourceError):
                raise
            raise ImportSourceError(
                f"{folder / EXPORT_FILE} is not as it was exported: {error}. Nothing was written; "
                "export the memory again."
            ) from error
        _restore_state(StateFile(memory.state.database), lists, str(root))
        for path, target in targets.items():
            target.parent.mkdir(parents=True, exist_ok=True)
            _copy(path, target)
        if sessions:
            make_private_folder(memory.state.sessions)
        for path in sessions:
            _copy(path, memory.state.sessions / path.name)
        memory.index()
    history.close()
    return ExportReport(len(notes), versions, len(sessions))


def _copy(source: Path, target: Path) -> None:
    """Copy a file; who may not read the export may not read the note either."""
    flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC
    with source.open("rb") as read:
        mode = stat.S_IMODE(os.fstat(read.fileno()).st_mode) & 0o666
        with open(os.open(target, flags, mode), "wb") as written:
            shutil.copyfileobj(read, written)


def _restore_state(state: StateFile, lists: _Lists, workspace: str) -> None:
    with state.transaction() as connection:
        for table, columns in STATE_TABLES.items():
            connection.execute(f"DELETE FROM {table} WHERE workspace = ?", (workspace,))
            names = ", ".join(("workspace", *columns))
            marks = ", ".join("?" * (len(columns) + 1))
            for one in lists[table]:
                row = [
                    bytes.fromhex(one[name]) if name == "hash" else one[name] for name in columns
                ]
                connection.execute(
                    f"INSERT INTO {table} ({names}) VALUES ({marks})", (workspace, *row)
                )
    state.close()


class _Lists:
    """Lists of an export's JSON, read an entry at a time."""

    def __init__(self, path: Path) -> None:
        self._path = path
        found = list(self._read("format")) if path.is_file() else []
        if found != [FORMAT]:
            raise ImportSourceError(
                f"{path} is not there, or is no export of this version; expected is the folder "
                "that 'commonplace export' wrote. Nothing was written."
            )

    def __getitem__(self, name: str) -> Iterator[dict[str, Any]]:
        return self._read(f"{name}.item")

    def _read(self, prefix: str) -> Iterator[Any]:
        try:
            with self._path.open("rb") as file:
                yield from ijson.items(ShallowJson(file), prefix, use_float=True)
        except (ijson.JSONError, ValueError) as error:
            reason = " ".join(str(error).split())
            raise ImportSourceError(
                f"{self._path} cannot be read: {reason}. Export the memory again."
            ) from error
