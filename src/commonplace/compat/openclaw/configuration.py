"""Configuration of OpenClaw: its file with what it includes, its variables, and its agents.

Everything is read and nothing is written. Values may be secrets: no message shows one.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from commonplace.compat.openclaw.relaxed_json import parse
from commonplace.errors import SettingsError

__all__ = ["Agent", "Configuration", "load_configuration", "value_at"]

_FILES = ("openclaw.json", "clawdbot.json", "moldbot.json")
_MAX_BYTES = 32 * 1024 * 1024
_MAX_INCLUDES = 10
_INCLUDE = "$include"
_VARIABLE = re.compile(r"\$?\$\{([A-Z_][A-Z0-9_]*)\}")
_AGENT_ID = re.compile(r"[a-z0-9][a-z0-9_-]{0,63}")
_DOT_ENV = re.compile(
    r"^\s*(?:export\s+)?([A-Z_][A-Z0-9_]*)\s*=\s*(['\"]?)(.*?)\2\s*$", re.MULTILINE
)


@dataclass(frozen=True, slots=True)
class Agent:
    """Agent of OpenClaw: a workspace and session files of its own.

    Attributes:
        name: Its id.
        workspace: Folder of its notes.
        sessions: Folder of its transcripts.
        entry: What the configuration says of it alone.
    """

    name: str
    workspace: Path
    sessions: Path
    entry: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Configuration:
    """Configuration, as it was read.

    Attributes:
        path: File; None where there is none, and everything is OpenClaw's default.
        state: OpenClaw's folder, ``~/.openclaw``.
        root: Values, variables of the environment not replaced.
        variables: Variables that OpenClaw has besides those of the environment.
    """

    path: Path | None
    state: Path
    root: Mapping[str, Any]
    variables: Mapping[str, str]

    @property
    def agents(self) -> dict[str, Agent]:
        """Agents by id, the default one first."""
        entries = {agent_id(entry.get("id")): entry for entry in reversed(list(self._entries()))}
        entries = dict(reversed(entries.items())) or {"main": {}}
        default = next((name for name in entries if entries[name].get("default")), None)
        first = default or next(iter(entries))
        ordered = {first: entries[first], **entries}
        return {name: self._agent(name, ordered[name], name == first) for name in ordered}

    def agent(self, name: str | None) -> Agent:
        """Return an agent by id, by default the default one.

        Raises:
            SettingsError: There is none of that id.
        """
        agents = self.agents
        if name is None:
            return next(iter(agents.values()))
        if name not in agents:
            raise SettingsError(
                f"OpenClaw's configuration has no agent {name!r}; known: {', '.join(agents)}."
            )
        return agents[name]

    def text(self, value: str) -> tuple[str, str | None]:
        """Replace variables in a text; return it, and the name of one that is not set, or None."""
        missing: list[str] = []

        def replaced(found: re.Match[str]) -> str:
            if found[0].startswith("$$"):
                return found[0][1:]
            known = os.environ.get(found[1]) or self.variables.get(found[1])
            if not known:
                missing.append(found[1])
            return known or found[0]

        return _VARIABLE.sub(replaced, value), missing[0] if missing else None

    def _entries(self) -> Iterator[Mapping[str, Any]]:
        listed = value_at(self.root, "agents.list")
        for entry in listed if isinstance(listed, list) else []:
            if isinstance(entry, Mapping):
                yield entry

    def _agent(self, name: str, entry: Mapping[str, Any], is_default: bool) -> Agent:
        given = entry.get("workspace")
        if not given and is_default:
            given = value_at(self.root, "agents.defaults.workspace")
        if isinstance(given, str) and given.strip():
            workspace = Path(os.path.expanduser(self.text(given.strip())[0]))
            workspace = self.state / workspace
        elif is_default:
            profile = os.environ.get("OPENCLAW_PROFILE", "default")
            workspace = self.state / (
                "workspace" if profile == "default" else f"workspace-{profile}"
            )
        else:
            workspace = self.state / f"workspace-{name}"
        return Agent(name, workspace, self.state / "agents" / name / "sessions", entry)


def agent_id(value: object) -> str:
    """Return an agent's id as OpenClaw has it: what is no letter, digit, _ or - becomes a -."""
    lowered = str(value or "").strip().lower()
    if _AGENT_ID.fullmatch(lowered):
        return lowered
    return re.sub(r"[^a-z0-9_-]+", "-", lowered).strip("-")[:64] or "main"


def value_at(values: Any, path: str) -> Any:
    """Return the value at a dotted path; None where there is none."""
    for part in path.split("."):
        values = values.get(part) if isinstance(values, Mapping) else None
    return values


def load_configuration(path: str | os.PathLike[str]) -> Configuration:
    """Read a configuration: its file, or OpenClaw's folder.

    Raises:
        SettingsError: There is none, or it cannot be read.
    """
    given = Path(os.path.abspath(os.path.expanduser(path)))
    if given.is_dir():
        file = next((given / name for name in _FILES if (given / name).is_file()), None)
        if file is None and not any((given / name).is_dir() for name in ("workspace", "agents")):
            raise SettingsError(
                f"{given} holds no openclaw.json, no workspace and no agents; name OpenClaw's "
                "folder, usually ~/.openclaw, or its configuration file."
            )
        state = given
    else:
        file, state = given, given.parent
    root = _IncludedFiles(file).read(file) if file else {}
    if not isinstance(root, Mapping):
        raise SettingsError(f"{file} holds no object; expected is OpenClaw's configuration.")
    return Configuration(file, state, root, _variables(root, state))


class _IncludedFiles:
    """Files that a configuration is made of, all of them in its folder."""

    def __init__(self, file: Path) -> None:
        self._folder = Path(os.path.realpath(file.parent))

    def read(self, file: Path, above: tuple[Path, ...] = ()) -> Any:
        """Return what a file holds, with what it includes."""
        real = Path(os.path.realpath(file))
        if above and not real.is_relative_to(self._folder):
            raise SettingsError(
                f"{above[-1]} includes {file}, which is outside of {self._folder}; OpenClaw "
                "includes files of that folder alone."
            )
        if real in above or len(above) > _MAX_INCLUDES:
            raise SettingsError(f"{above[-1]} includes {file}, in a circle or too deep.")
        try:
            return self._with_includes(parse(_text(real)), real, (*above, real))
        except OSError as error:
            raise SettingsError(
                f"cannot read OpenClaw's configuration {file}: {error.strerror or error}; name its "
                "folder, usually ~/.openclaw, or its file."
            ) from error
        except ValueError as error:
            if isinstance(error, SettingsError):
                raise
            raise SettingsError(
                f"{file} is no JSON that OpenClaw reads: {error}. Mend it there; nothing was "
                "changed."
            ) from None  # the cause has the text, and with it secrets

    def _with_includes(self, value: Any, file: Path, above: tuple[Path, ...]) -> Any:
        if isinstance(value, list):
            return [self._with_includes(item, file, above) for item in value]
        if not isinstance(value, Mapping):
            return value
        own = {
            name: self._with_includes(item, file, above)
            for name, item in value.items()
            if name != _INCLUDE
        }
        if _INCLUDE not in value:
            return own
        names = value[_INCLUDE]
        names = [names] if isinstance(names, str) else names
        if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
            raise SettingsError(f"{file} has an $include that is no path and no list of paths.")
        merged: Any = {}
        for name in names:
            merged = _merged(merged, self.read(file.parent / name, above))
        return _merged(merged, own) if own else merged


def _text(file: Path) -> str:
    with open(file, "rb") as opened:
        data = opened.read(_MAX_BYTES + 1)
    if len(data) > _MAX_BYTES:
        raise SettingsError(
            f"{file} is larger than {_MAX_BYTES // 2**20} MiB; expected is a configuration."
        )
    return data.decode("utf-8-sig")


def _merged(below: Any, above: Any) -> Any:
    """Merge values as OpenClaw does: objects by name, lists one after the other."""
    if isinstance(below, list) and isinstance(above, list):
        return [*below, *above]
    if isinstance(below, Mapping) and isinstance(above, Mapping):
        return {
            **below,
            **{
                name: _merged(below[name], value) if name in below else value
                for name, value in above.items()
            },
        }
    return above


def _variables(root: Mapping[str, Any], state: Path) -> dict[str, str]:
    """Return the variables of ``.env`` in OpenClaw's folder, and those of the configuration."""
    found: dict[str, str] = {}
    try:
        text = (state / ".env").read_text(encoding="utf-8", errors="replace")
        found = {name: value for name, _, value in _DOT_ENV.findall(text)}
    except OSError:
        pass  # there is none
    for place in ("env", "env.vars"):
        values = value_at(root, place)
        for name, value in values.items() if isinstance(values, Mapping) else ():
            if isinstance(value, str):
                found[name] = value
    return found
