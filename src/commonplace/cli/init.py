"""The ``init`` command: a workspace with a first note."""

from __future__ import annotations

from datetime import date, datetime
from typing import TYPE_CHECKING
from zoneinfo import ZoneInfo

import click

from commonplace.cli.options import Options, pass_options
from commonplace.cli.output import print_text, warn
from commonplace.errors import CommonplaceError, WorkspaceError, WorkspaceReadOnlyError
from commonplace.workspace.paths import log_path
from commonplace.workspace.unindexed_notes import unindexed_notes_hint

if TYPE_CHECKING:
    from pathlib import Path

__all__ = ["init"]

_LONG_TERM = """\
# Memory

What lasts: decisions, facts, preferences, people. An agent reads this file at the start of a
conversation, so keep it short, and correct it freely: these files are the memory, the index is
only made from them.

## Preferences

## Decisions

## People
"""

_FIRST_LOG = """\
# {day}

- This memory was set up today. A day's log is memory/YYYY-MM-DD.md; notes are added at its end.
- What should last belongs into MEMORY.md. Other Markdown files under memory/ are found as well.
- `commonplace append "- a note"` adds to today's log; `commonplace search "a question"` finds it.
"""


@click.command()
@pass_options
def init(options: Options) -> None:
    """Create the folder, MEMORY.md and memory/ with a first note. Nothing is overwritten."""
    from commonplace.workspace.discovery import Workspace

    if options.url is not None:
        raise CommonplaceError(
            "a folder is created where the notes are to be; a URL was given. Name a folder with -w."
        )
    settings = options.settings()
    zone = settings.timezone
    today = datetime.now(ZoneInfo(zone) if zone else None).date()
    for path, is_new in create_workspace(options.workspace, today=today):
        print_text(f"{'created' if is_new else 'kept'}  {path}\n")
    if hint := unindexed_notes_hint(Workspace(options.workspace, settings)):
        warn(hint)


def create_workspace(root: Path, *, today: date) -> list[tuple[str, bool]]:
    """Create the missing files of a workspace; return each file and whether it is new.

    Raises:
        WorkspaceError: A file has the path of a needed folder.
        WorkspaceReadOnlyError: A file or folder could not be written.
    """
    try:
        (root / "memory").mkdir(parents=True, exist_ok=True)
        kept = root / "memory.md"
        long_term = kept.name if kept.exists() else "MEMORY.md"
        files = [(long_term, _write_new(root / long_term, _LONG_TERM))]
        # The first log explains the layout; a memory with logs does not need it.
        if not any((root / "memory").rglob("*.md")):
            log = log_path(today)
            files.append((log, _write_new(root / log, _FIRST_LOG.format(day=today.isoformat()))))
    except (FileExistsError, NotADirectoryError) as error:
        raise WorkspaceError(
            f"{error.filename or root} is a file; a folder was expected there. "
            "Name another folder with -w."
        ) from error
    except OSError as error:
        raise WorkspaceReadOnlyError(
            f"cannot write {error.filename or root}: {error.strerror or error}. "
            "Name a folder that you may write with -w."
        ) from error
    return files


def _write_new(path: Path, text: str) -> bool:
    """Write a file unless its path exists; return whether it was written."""
    try:
        with path.open("x", encoding="utf-8", newline="\n") as file:
            file.write(text)
    except FileExistsError:
        return False
    return True
