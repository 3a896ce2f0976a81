"""Memories with a fixed clock and without background runs, for reproducible evaluation."""

from __future__ import annotations

import os
from dataclasses import replace
from datetime import date, datetime, time, timedelta
from typing import TYPE_CHECKING, Any, Literal
from zoneinfo import ZoneInfo

from commonplace.profiles import from_settings
from commonplace.settings import Settings, SyncSettings
from commonplace.workspace.discovery import Workspace

if TYPE_CHECKING:
    from commonplace.embeddings.base import Embedder
    from commonplace.memory import Memory

__all__ = ["Now", "asking_time", "open_at"]

Now = date | Literal["last"]
"""Day of the clock; ``last`` is the day after the newest dated log."""

_LAST_DAY = date.max - timedelta(days=3)
"""Last day that can be converted to every time zone."""


def open_at(
    workspace: str | os.PathLike[str],
    *,
    settings: Settings | None = None,
    embedder: str | Embedder | Any | None = "auto",
    index: str | os.PathLike[str] | None = None,
    now: Now = "last",
) -> Memory:
    """Open a memory whose clock shows noon of a day; only `Memory.index` indexes it.

    Args:
        workspace: Folder of notes.
        settings: As in `Memory.open`; those of `sync` are turned off.
        embedder: As in `Memory.open`.
        index: As in `Memory.open`.
        now: Day of the clock; ``last`` is the day after the newest dated log, else today.

    Raises:
        WorkspaceNotFoundError: The folder does not exist.
        SettingsError: The default settings file is invalid.
    """
    from commonplace.memory import Memory

    settings = settings or Settings.load()
    settings = replace(settings, sync=SyncSettings(on_open=False, on_search=False))
    space = Workspace(workspace, settings, from_settings(settings).discovery)
    noon = asking_time(space, now=now)
    return Memory.open(
        space.root,
        settings=settings,
        embedder=embedder,
        index=index,
        now=lambda: noon,
    )


def asking_time(workspace: Workspace, *, now: Now = "last") -> datetime:
    """Return noon of the day on which a workspace is evaluated; see `open_at`."""
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
