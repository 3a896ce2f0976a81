"""State folders: index, history and journal of a workspace, by its path; what becomes of old ones.

A workspace that takes the path of one that is gone is another: nothing of the old one is its own.
"""

from __future__ import annotations

import contextlib
import os
import shutil
from datetime import UTC, datetime
from pathlib import Path

from commonplace.errors import StateError
from commonplace.store.registry import default_index_path
from commonplace.system.files import make_private_folder
from commonplace.system.locks import FileLease

__all__ = ["PLACES", "remove_state", "set_state_aside", "state_folder"]

PLACES = "places"
"""Folder beside the state folders: a folder for each device and inode, with a file for each state
folder that a workspace of these has; it holds the path of the workspace."""


_LOCK_TIMEOUT_S = 30.0


def state_folder(root: Path) -> Path:
    """Return the folder of a workspace's state; neither it nor the workspace has to exist."""
    return default_index_path(Path(os.path.realpath(root))).parent


def set_state_aside(root: Path) -> Path | None:
    """Keep what was noted of a workspace that is gone under another name, and make its folder.

    Of several processes that make the folder at once, one does; the state of its first notes stays.

    Args:
        root: The folder; nothing happens where it exists.

    Returns:
        Where the state is now; None where there was none.

    Raises:
        StateError: It cannot be renamed, or the folder cannot be made; nothing was changed.
    """
    state = state_folder(root)
    try:
        make_private_folder(state.parent)
        with FileLease(state.with_name(f"{state.name}.lock")).held(timeout_s=_LOCK_TIMEOUT_S) as it:
            if not it:
                raise TimeoutError(0, "another process has locked it")
            if os.path.lexists(root):
                return None
            kept = state.with_name(f"{state.name}.former-{datetime.now(UTC):%Y%m%dT%H%M%S.%f}")
            with contextlib.suppress(FileNotFoundError):
                state.rename(kept)
            root.mkdir(mode=0o700)
    except OSError as error:
        raise StateError(
            f"the state {state} of an earlier workspace cannot be set aside "
            f"({error.strerror or error}). Give yourself write access to its folder, and to "
            f"{root.parent}."
        ) from error
    return kept if os.path.lexists(kept) else None


def remove_state(root: Path) -> None:
    """Remove what was noted of a workspace, and of earlier ones of its path.

    Raises:
        StateError: It cannot be removed, or not all of it.
    """
    state = state_folder(root)
    try:
        with os.scandir(state.parent) as entries:
            names = [one.name for one in entries if one.name.startswith(f"{state.name}.former-")]
        for name in (state.name, *names):
            with contextlib.suppress(FileNotFoundError):
                shutil.rmtree(state.with_name(name))
        state.with_name(f"{state.name}.lock").unlink(missing_ok=True)
        for place in (state.parent / PLACES).glob(f"*/{state.name}"):
            place.unlink()
    except FileNotFoundError:
        return
    except OSError as error:
        raise StateError(
            f"the state {state} cannot be removed ({error.strerror or error}). Give yourself write "
            "access to it, and remove it again."
        ) from error
