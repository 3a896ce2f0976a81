"""Notes of the demo: templates named by the age of their day, filled in for a given today."""

from __future__ import annotations

import re
import tempfile
from collections.abc import Iterator, Mapping
from datetime import date, timedelta
from importlib.resources import files
from importlib.resources.abc import Traversable
from pathlib import Path
from typing import TYPE_CHECKING

from commonplace.errors import WorkspaceError, WorkspaceNotFoundError, WorkspaceReadOnlyError

if TYPE_CHECKING:
    from commonplace.memory import Memory

__all__ = [
    "DEMO_DAY",
    "demo_files",
    "fill",
    "note_path",
    "open_demo",
    "write_demo_workspace",
    "write_new_files",
]

DEMO_DAY = date(2026, 11, 20)
"""Day of the demo where no other is given."""

_WEEKDAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
# Not strftime("%A"): its names depend on the machine's locale.

_DAY_NOTE = re.compile(r"day-(\d{2})(.*)")
_PLACEHOLDER = re.compile(r"\{(day|weekday):([+-]\d+)\}")


def write_demo_workspace(folder: Path, *, today: date) -> Path:
    """Write the demo's notes into a folder, which is created if it is missing, and return it.

    Raises:
        WorkspaceError: A file of the demo exists already; nothing is written.
    """
    return write_new_files(folder, demo_files(today))


def open_demo(*, today: date = DEMO_DAY) -> Memory:
    """Write the demo's notes into a temporary folder, and open them on a day.

    The vectors are the bundled ones. `memory.workspace.root` is the folder of the notes; the index
    is beside it.
    """
    from commonplace.evaluation import open_at

    folder = Path(tempfile.mkdtemp(prefix="commonplace-"))
    notes = write_demo_workspace(folder / "notes", today=today)
    return open_at(notes, now=today, embedder="bundled", index=folder / "index.sqlite")


def demo_files(today: date) -> dict[str, str]:
    """Return the text of each note of the demo, by its path in the workspace."""
    notes = dict(_walk(files("commonplace.demo") / "notes"))
    return {
        note_path(name, today): fill(text, today, of=note_date(name, today))
        for name, text in sorted(notes.items())
    }


def note_path(name: str, today: date) -> str:
    """Return the path of a template such as ``day-03`` or ``projects/billing``."""
    if name == "MEMORY":
        return "MEMORY.md"
    dated, match = note_date(name, today), _DAY_NOTE.fullmatch(name)
    if dated and match:
        return f"memory/{dated.isoformat()}{match[2]}.md"
    return f"memory/{name}.md"


def note_date(name: str, today: date) -> date | None:
    """Return the day of a template; None for an evergreen note."""
    match = _DAY_NOTE.fullmatch(name)
    return today - timedelta(days=int(match[1])) if match else None


def fill(text: str, today: date, *, of: date | None = None) -> str:
    """Fill in ``{date}``, the note's own day, and ``{day:-3}``, ``{weekday:-3}``, from today."""

    def replace(match: re.Match[str]) -> str:
        day = today + timedelta(days=int(match[2]))
        return day.isoformat() if match[1] == "day" else _WEEKDAYS[day.weekday()]

    text = _PLACEHOLDER.sub(replace, text)
    return text.replace("{date}", of.isoformat()) if of else text


def write_new_files(folder: Path, texts: Mapping[str, str]) -> Path:
    """Write new files: all of them or, when one exists already, none.

    Raises:
        WorkspaceError: A file exists already.
        WorkspaceNotFoundError: The folder, or one above it, is a file.
        WorkspaceReadOnlyError: A file or a folder cannot be written.
    """
    taken = [path for path in texts if (folder / path).exists()]
    if taken:
        raise WorkspaceError(
            f"{folder} already holds {taken[0]}"
            + (f" and {len(taken) - 1} more of these files" if taken[1:] else "")
            + "; nothing was written. Choose an empty folder."
        )
    try:
        for path, text in texts.items():
            target = folder / path
            target.parent.mkdir(parents=True, exist_ok=True)
            with target.open("x", encoding="utf-8", newline="\n") as file:
                file.write(text)
    except (FileExistsError, NotADirectoryError) as error:
        raise WorkspaceNotFoundError(
            f"{error.filename} is in the way; choose an empty folder, or a new one."
        ) from error
    except OSError as error:
        raise WorkspaceReadOnlyError(
            f"cannot write {error.filename or folder}: {error.strerror or error}. "
            "Choose a folder that you may write to."
        ) from error
    return folder


def _walk(folder: Traversable, prefix: str = "") -> Iterator[tuple[str, str]]:
    for entry in folder.iterdir():
        if entry.is_dir():
            yield from _walk(entry, f"{prefix}{entry.name}/")
        elif entry.name.endswith(".md"):
            yield prefix + entry.name.removesuffix(".md"), entry.read_text(encoding="utf-8")
