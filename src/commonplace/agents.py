"""Agents of a settings file: a workspace, an index, sessions and settings for each.

::

    [agents.work]
    workspace = "~/work-notes"

    [agents.work.search]
    max_results = 8

A table of ``[agents]`` has its workspace, relative to the file; an index, where two agents share a
workspace, or one on a server has it; and settings that differ from those of the file.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from commonplace.errors import SettingsError
from commonplace.settings import Settings, file_values
from commonplace.types import is_url

__all__ = ["AgentMemory", "load_agent"]


@dataclass(frozen=True, slots=True)
class AgentMemory:
    """Memory of an agent, as `Memory.open` takes it.

    Attributes:
        workspace: Folder of its notes.
        settings: Settings of the file, with its own.
        index: Path or URL of its index; None is the workspace's.
    """

    workspace: Path
    settings: Settings
    index: Path | str | None


def load_agent(name: str, path: str | os.PathLike[str] | None = None) -> AgentMemory:
    """Load an agent from a settings file, by default from the default one.

    Raises:
        SettingsError: There is no such file, or no such agent in it, or a setting is wrong.
    """
    source, values = file_values(path)
    agents = values.pop("agents", {})
    table = agents.get(name) if isinstance(agents, Mapping) else None
    if source is None or not isinstance(table, Mapping):
        known = ", ".join(map(str, agents)) if source and agents else "none"
        raise SettingsError(
            f"there is no agent {name!r} in {source or 'a settings file'}; known: {known}. Write "
            "a table [agents.NAME] with a workspace; 'commonplace import openclaw "
            "--write-settings FILE' writes OpenClaw's."
        )
    own = dict(table)
    index = own.pop("index", None)
    if not (isinstance(index, str) and is_url(index)):
        index = _path(index, "index", name, source)
    given = own.pop("workspace", None)
    if isinstance(given, str) and is_url(given):
        raise SettingsError(
            f"{source}: agents.{name}.workspace is a URL; a folder was expected. The URL of an "
            "index is the agent's index; 'commonplace -w URL' uses notes of another host."
        )
    workspace = _path(given, "workspace", name, source)
    if workspace is None:
        raise SettingsError(f"{source}: agents.{name} has no workspace; name its folder of notes.")
    try:
        settings = Settings.from_mapping(_merged(values, own))
    except SettingsError as error:
        raise SettingsError(f"{source}, agent {name}: {error}") from error
    return AgentMemory(workspace, settings, index)


def _path(value: Any, key: str, name: str, source: Path) -> Path | None:
    if value is None:
        return None
    if not isinstance(value, str) or not value or "\0" in value:
        raise SettingsError(f"{source}: agents.{name}.{key} is {value!r}; it must be a path.")
    return Path(os.path.abspath(source.parent / os.path.expanduser(value)))


def _merged(below: Mapping[str, Any], above: Mapping[str, Any]) -> dict[str, Any]:
    merged = dict(below)
    for name, value in above.items():
        under = merged.get(name)
        both = isinstance(value, Mapping) and isinstance(under, Mapping)
        merged[name] = _merged(under, value) if both else value  # type: ignore[arg-type]
    return merged
