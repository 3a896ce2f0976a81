"""Paths of new notes: what the host with the folder would refuse is refused before it is promised.

These are the rules of `NoteService.note_path` that look at a folder, on the published notes.
"""

from __future__ import annotations

from collections.abc import Collection

from commonplace.errors import PathNotAllowedError
from commonplace.workspace.notes import check_spelling

__all__ = ["check_new_path"]

_MOST_BYTES = 255
"""Bytes of a name, as most disks take them."""


def check_new_path(path: str, known: Collection[str]) -> None:
    """Check the path of a note that is not there yet.

    Args:
        path: The path.
        known: Paths of the notes that are there.

    Raises:
        PathNotAllowedError: A name is too long, or differs from one that is there in case or
            Unicode form only; or the path is a folder.
    """
    parts = path.split("/")
    for part in parts:
        size = len(part.encode("utf-8", "surrogatepass"))
        if size > _MOST_BYTES:
            raise PathNotAllowedError(
                f"the name {part[:80]}… is too long: {size:,} bytes; most disks take "
                f"{_MOST_BYTES}. Choose a shorter one."
            )
    if any(other.startswith(f"{path}/") for other in known):
        raise PathNotAllowedError(f"{path} is a folder; a note is a file. Choose another path.")
    others = [other.split("/") for other in known]
    for depth, part in enumerate(parts):
        others = [other for other in others if len(other) > depth]
        names = {other[depth] for other in others}
        if part not in names:
            check_spelling(path, parts[:depth], part, names)
            return
        others = [other for other in others if other[depth] == part]
