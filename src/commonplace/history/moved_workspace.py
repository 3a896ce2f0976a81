"""Moved workspaces: the state of a folder that was renamed is found again, by the folder itself.

State is kept by the path of a workspace. Without it, untrusted lines would pass for a user's, and
nothing could be taken back.
"""

from __future__ import annotations

import contextlib
import json
import logging
import os
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from commonplace.errors import StateError
from commonplace.history.database import HistoryFile
from commonplace.history.versions import VersionLog, content_hash
from commonplace.system.files import create_private
from commonplace.system.state import StateFile
from commonplace.workspace.file_text import UnreadableFileError

if TYPE_CHECKING:
    from commonplace.workspace.discovery import Workspace

__all__ = ["adopt_state", "note_place"]

logger = logging.getLogger(__name__)

_PLACE = "workspace.json"
"""File of a state folder that says where its workspace is, and which folder that is."""


def note_place(state: Path, root: Path) -> None:
    """Note in a state folder that is there which folder its workspace is."""
    with contextlib.suppress(OSError):
        if os.path.isdir(state):
            info = os.stat(root)
            place = {"path": str(root), "device": info.st_dev, "inode": info.st_ino}
            if place != _place(state):
                new = state / f"{_PLACE}.{os.getpid()}"
                create_private(new)
                new.write_text(json.dumps(place), "ascii")
                new.replace(state / _PLACE)


def adopt_state(state: Path, workspace: Workspace, *, is_user: bool) -> None:
    """Take over the state of the workspace's folder from where it was before, if it was renamed.

    A disk gives the number of a deleted folder to a new one: all notes that the history knows have
    to be there, most of them as it knows them.

    Args:
        state: The state folder of the workspace; nothing happens where it exists.
        workspace: The files.
        is_user: Whether its name is that of a user: one of another name is another user's.
    """
    if os.path.lexists(state) or not workspace.scan().files:
        return
    for former, path in _former_states(state.parent, workspace.root):
        try:
            if is_user and os.path.basename(path) != workspace.root.name:
                continue
            if not _is_of(former, workspace):
                continue
            former.rename(state)
            with StateFile(state / "state.sqlite").transaction() as connection:
                for table in ("flush_entries", "flush_marks"):
                    sql = f"UPDATE OR REPLACE {table} SET workspace = ? WHERE workspace = ?"
                    connection.execute(sql, (str(workspace.root), path))
        except (OSError, StateError) as error:
            logger.warning(
                "%s was %s before, and its history was not brought along, or not all of it (%s): "
                "untrusted lines may pass for the user's. Close it, and rename the folder %s to %s",
                *(workspace.root, path, error, former, state),
            )
        else:
            logger.info("%s was %s before; its history comes along", workspace.root, path)
        return


def _former_states(folder: Path, root: Path) -> Iterator[tuple[Path, str]]:
    """Yield the state folders of a workspace's folder, and the path that it had."""
    info = os.stat(root)
    with contextlib.suppress(OSError):
        for name in sorted(os.listdir(folder)):
            place = _place(folder / name)
            if place.get("device") == info.st_dev and place.get("inode") == info.st_ino:
                path = str(place.get("path"))
                with contextlib.suppress(OSError, ValueError):
                    if os.path.samestat(os.stat(path), info):
                        continue  # it is there under both names
                yield folder / name, path


def _place(state: Path) -> dict[str, object]:
    """Return what a state folder notes of its workspace; nothing where it notes nothing."""
    with contextlib.suppress(OSError, ValueError):
        place = json.loads((state / _PLACE).read_text("ascii"))
        if isinstance(place, dict):
            return place
    return {}


def _is_of(state: Path, workspace: Workspace) -> bool:
    """Return whether a workspace has all notes of a state, most of them as its history does."""
    log = VersionLog(HistoryFile(state / "history.sqlite"))
    known = {path: held for path, held in log.hashes().items() if held}
    found = {}
    for file in workspace.scan().files:
        with contextlib.suppress(OSError, UnreadableFileError):
            found[file.path] = content_hash(workspace.read(file.path).data)
    same = sum(known.get(path) == held for path, held in found.items())
    return known.keys() <= found.keys() and 2 * same > len(found)
