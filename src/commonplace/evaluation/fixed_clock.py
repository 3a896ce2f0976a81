"""Opens a memory to be measured: its time stands still, and nothing runs behind its back."""

from __future__ import annotations

import os
from dataclasses import replace
from datetime import date, datetime, time, timedelta
from typing import TYPE_CHECKING, Any, Literal
from zoneinfo import ZoneInfo

from commonplace.settings import Settings, SyncSettings
from commonplace.workspace.discovery import Workspace

if TYPE_CHECKING:
    from commonplace.embeddings.base import Embedder
    from commonplace.memory import Memory

__all__ = ["Now", "asking_time", "open_at"]

Now = date | Literal["last"]
"""A day, or ``last``: the day after the newest dated log."""

_LAST_DAY = date.max - timedelta(days=3)
"""Days beyond cannot be taken to every time zone."""


def open_at(
    workspace: str | os.PathLike[str],
    *,
    settings: Settings | None = None,
    embedder: str | Embedder | Any | None = "auto",
    index_path: str | os.PathLike[str] | None = None,
    now: Now = "last",
) -> Memory:
    """Open a memory at noon of a day; it is indexed when it is told to.

    Args:
        workspace: The folder.
        settings: As `Memory.open` takes them; those of `sync` are turned off.
        embedder: As `Memory.open` takes it.
        index_path: As `Memory.open` takes it.
        now: The day; ``last`` is the day after the newest dated log, today where there is none.

    Raises:
        WorkspaceNotFoundError: There is no such folder.
        SettingsError: The default settings file is wrong.
    """
    from commonplace.memory import Memory

    settings = settings or Settings.load()
    settings = replace(settings, sync=SyncSettings(on_open=False, on_search=False))
    space = Workspace(workspace, settings)
    noon = asking_time(space, now=now)
    return Memory.open(
        space.root,
        settings=settings,
        embedder=embedder,
        index_path=index_path,
        now=lambda: noon,
    )


def asking_time(workspace: Workspace, *, now: Now = "last") -> datetime:
    """Return noon of the day on which a workspace is asked; see `open_at`."""
    name = workspace.settings.timezone
    zone = ZoneInfo(name) if name else None
    day = _day_after_last_log(workspace) if now == "last" else now
    return _noon(day or datetime.now(zone).date(), zone)


def _day_after_last_log(workspace: Workspace) -> date | None:
    days = [file.date for file in workspace.scan().files if file.date]
    return min(max(days), _LAST_DAY) + timedelta(days=1) if days else None


def _noon(day: date, zone: ZoneInfo | None) -> datetime:
    noon = datetime.combine(min(day, _LAST_DAY), time(12))
    return noon.replace(tzinfo=zone) if zone else noon.astimezone()
