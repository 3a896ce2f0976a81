"""Moved workspaces: the state of a folder that was renamed is found again, by the folder itself.

State is kept by the path of a workspace. Without it, untrusted lines would pass for a user's, and
nothing could be taken back.
"""

from __future__ import annotations

import contextlib
import logging
import os
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from commonplace.errors import StateError
from commonplace.history.database import HistoryFile
from commonplace.history.versions import VersionLog, content_hash
from commonplace.store.state_folders import PLACES
from commonplace.system.files import create_private, make_private_folder
from commonplace.system.state import StateFile
from commonplace.workspace.file_text import UnreadableFileError

if TYPE_CHECKING:
    from commonplace.workspace.discovery import Workspace

__all__ = ["adopt_state", "note_place"]

logger = logging.getLogger(__name__)


def note_place(state: Path, root: Path) -> None:
    """Note of a state folder that is there which folder its workspace is."""
    with contextlib.suppress(OSError):
        if os.path.isdir(state):
            place = _places(state.parent, root) / state.name
            if _path_in(place) != str(root):
                make_private_folder(place.parent)
                new = place.with_name(f"{place.name}.{os.getpid()}")
                create_private(new)
                new.write_bytes(os.fsencode(root))
                new.replace(place)


def adopt_state(state: Path, workspace: Workspace, *, is_user: bool) -> None:
    """Take over the state of the workspace's folder from where it was before, if it was renamed.

    A disk gives the number of a deleted folder to a new one: all notes that the history knows have
    to be there, most of them as it knows them.

    Args:
        state: The state folder of the workspace; nothing happens where it exists.
        workspace: The files.
        is_user: Whether its name is that of a user: one of another name is another user's.
    """
    if os.path.lexists(state):
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
    with contextlib.suppress(OSError):
        places = _places(folder, root)
        for name in sorted(os.listdir(places)):
            path = _path_in(places / name)
            if path is None or not os.path.isdir(folder / name):
                continue
            with contextlib.suppress(OSError, ValueError):
                if os.path.samestat(os.stat(path), os.stat(root)):
                    continue  # it is there under both names
            yield folder / name, path


def _places(folder: Path, root: Path) -> Path:
    """Return where the state folders of a workspace's folder are noted, whatever its path."""
    info = os.stat(root)
    return folder / PLACES / f"{info.st_dev}-{info.st_ino}"


def _path_in(place: Path) -> str | None:
    """Return the path of a workspace that is noted in a file; None where it is not there."""
    with contextlib.suppress(OSError):
        return os.fsdecode(place.read_bytes())
    return None


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
