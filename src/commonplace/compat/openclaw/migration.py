"""Migration from OpenClaw: its configuration as a settings file, with what was and was not taken.

The report is in comments of the file. Notes and transcripts stay where they are.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from commonplace.compat.openclaw.configuration import Agent, load_configuration
from commonplace.compat.openclaw.memory_settings import MemorySettings, memory_settings
from commonplace.settings import Settings, default_state_dir

__all__ = ["openclaw_settings", "settings_file"]

_BARE = re.compile(r"[A-Za-z0-9_-]+")


def openclaw_settings(path: str | os.PathLike[str], agent: str | None = None) -> Settings:
    """Return the settings of an agent of OpenClaw; see `Settings.from_openclaw`."""
    configuration = load_configuration(path)
    return memory_settings(configuration, configuration.agent(agent)).settings()


def settings_file(path: str | os.PathLike[str]) -> str:
    """Return a settings file for all agents of a configuration: comments, then TOML.

    Raises:
        SettingsError: There is no configuration, or it cannot be read.
    """
    configuration = load_configuration(path)
    agents = configuration.agents
    default = next(iter(agents.values()))
    common = Agent(default.name, default.workspace, default.sessions, {})
    found = {name: memory_settings(configuration, agent) for name, agent in agents.items()}
    base = memory_settings(configuration, common)
    for one in (base, *found.values()):
        one.settings()  # checked, before anything is printed
    shared = _shared(base.values, [one.values for one in found.values()])
    where = configuration.path or f"{configuration.state}, which has no openclaw.json"
    lines = [
        f"# From OpenClaw's configuration {_comment(where)}.",
        "# Notes and transcripts are used where they are, and nothing of the original is changed.",
        '# The profile "openclaw" ranks as OpenClaw 2026.3.24 does. For the ranking of',
        "# Commonplace, take the line `profile` and the tables [search] out.",
        "#",
        *_agents_report(agents, found),
        *_keys_report(found),
        "",
        *_toml(shared),
    ]
    places: dict[Path, str] = {}
    for name, agent in agents.items():
        table: dict[str, Any] = {"workspace": str(agent.workspace)}
        if places.setdefault(agent.workspace, name) != name:
            table["index"] = str(default_state_dir() / f"agent-{name}" / "index.sqlite")
        table |= _difference(found[name].values, shared)
        lines += ["", *_toml(table, f"agents.{_key(name)}", is_shown=True)]
    return "\n".join(lines) + "\n"


def _agents_report(
    agents: Mapping[str, Agent], found: Mapping[str, MemorySettings]
) -> Iterator[str]:
    for at, agent in enumerate(agents.values()):
        default = ", the default" if at == 0 else ""
        missing = "" if agent.workspace.is_dir() else " (not there)"
        yield f"# agent {agent.name}{default}: {_comment(agent.workspace)}{missing}"
        try:
            count = sum(name.endswith(".jsonl") for name in os.listdir(agent.sessions))
        except OSError:
            count = 0
        is_searched = found[agent.name].values.get("sessions", {}).get("enabled")
        how = "searched" if is_searched else "not searched, as in OpenClaw: sessions.enabled"
        yield f"#   {count:,} transcripts in {_comment(agent.sessions)}, {how}"


def _keys_report(found: Mapping[str, MemorySettings]) -> Iterator[str]:
    """Yield a line for each key: of all agents where they agree, else of those that have it."""
    said: dict[str, list[str]] = {}
    for name, one in found.items():
        for key, setting in dict(one.taken).items():
            said.setdefault(f"taken: {key} -> {setting}", []).append(name)
        for key, reason in dict(one.left).items():
            said.setdefault(f"not taken: {key}: {reason}", []).append(name)
    for line, names in said.items():
        of = "" if len(names) == len(found) else f" ({', '.join(names)})"
        yield f"# {_comment(line)}{of}"


def _shared(values: Mapping[str, Any], others: Iterable[Mapping[str, Any]]) -> dict[str, Any]:
    """Return the values and tables that stand for all agents, from which each differs.

    A table of which an agent lacks a value is each agent's own: TOML cannot take a value back.
    """
    return {
        name: value
        for name, value in values.items()
        if not isinstance(value, Mapping)
        or all(value.keys() <= other.get(name, {}).keys() for other in others)
    }


def _difference(values: Mapping[str, Any], base: Mapping[str, Any]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for name, value in values.items():
        below = base.get(name)
        if isinstance(value, Mapping):
            inner = _difference(value, below if isinstance(below, Mapping) else {})
            if inner:
                found[name] = inner
        elif value != below:
            found[name] = value
    return found


def _toml(values: Mapping[str, Any], table: str = "", *, is_shown: bool = False) -> Iterator[str]:
    plain = {name: value for name, value in values.items() if not isinstance(value, Mapping)}
    if table and (plain or is_shown):
        yield f"[{table}]"
    for name, value in plain.items():
        yield f"{_key(name)} = {_value(value)}"
    for name, value in values.items():
        if isinstance(value, Mapping) and value:
            inner = f"{table}.{_key(name)}" if table else _key(name)
            yield from ("", *_toml(value, inner))


def _value(value: Any) -> str:
    if isinstance(value, list):
        return f"[{', '.join(map(_value, value))}]"
    if isinstance(value, str):
        return _text(value)
    return json.dumps(value)


def _text(value: str) -> str:
    """Return a basic string of TOML, which has JSON's escapes, and DEL as one, too."""
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")


def _key(name: str) -> str:
    return name if _BARE.fullmatch(name) else _text(name)


def _comment(value: object) -> str:
    return re.sub(r"[\x00-\x1f\x7f\ud800-\udfff]", "?", str(value))
