"""Index of a memory whose text is forgotten: what holds it, and what no index run would remove."""

from __future__ import annotations

from typing import TYPE_CHECKING

from commonplace.errors import PathNotAllowedError
from commonplace.workspace.file_text import UnreadableFileError

if TYPE_CHECKING:
    from commonplace.history.forget_plan import ForgetPlan
    from commonplace.history.forgotten_text import ForgottenText
    from commonplace.store.base import Store
    from commonplace.workspace.discovery import Workspace

__all__ = ["chunk_count", "forget_unread_files"]


def chunk_count(store: Store, plan: ForgetPlan) -> int:
    """Return the number of chunks with lines that a plan removes from the notes."""
    if not store.exists():
        return 0
    with store.snapshot() as snapshot:
        return sum(
            any(line in chunk.text for line in edit.removed)
            for path, edit in plan.files.items()
            for chunk, _ in snapshot.chunks_of(path)
        )


def forget_unread_files(
    store: Store, workspace: Workspace, forgotten: ForgottenText, *, dry_run: bool
) -> int:
    """Remove files that cannot be read, and whose chunks hold forgotten text, from the index.

    An index run keeps the chunks of such files. Once they can be read, it indexes them again.

    Returns:
        The number of chunks that hold some of it.
    """
    if not store.exists() or store.access != "read-write":
        return 0
    with store.snapshot() as snapshot:
        held = {
            path: sum(forgotten.is_in(chunk.text) for chunk, _ in snapshot.chunks_of(path))
            for path in snapshot.files()
            if not _is_readable(workspace, path)
        }
    if not dry_run and (gone := [path for path, count in held.items() if count]):
        store.write((), gone)
    return sum(held.values())


def _is_readable(workspace: Workspace, path: str) -> bool:
    """Return whether a file can be read, or is gone: index runs see to it."""
    try:
        workspace.open(path).close()
    except (FileNotFoundError, PathNotAllowedError):
        return True
    except (OSError, UnreadableFileError):
        return False
    return True
