"""The ``completion`` command: shell completion of commands, options and notes."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from pathlib import Path

__all__ = ["complete_note", "completion"]

_VARIABLE = "_COMMONPLACE_COMPLETE"
"""Environment variable through which a shell asks click; its name is made of the program's."""
_SHELL_SAFE = re.compile(r"[\w@%+=:,./-]+")
"""Names without special characters: bash inserts a completion without quoting it."""


@click.command()
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
@click.pass_context
def completion(ctx: click.Context, shell: str) -> None:
    """Print what makes SHELL complete commands and notes."""
    from click.shell_completion import get_completion_class

    kind = get_completion_class(shell)
    assert kind is not None  # click knows the three
    click.echo(kind(ctx.find_root().command, {}, "commonplace", _VARIABLE).source())


def complete_note(ctx: click.Context, _option: click.Parameter, begun: str) -> list[str]:
    """Return the paths of notes in the workspace that begin with a text."""
    from commonplace.agents import load_agent
    from commonplace.errors import CommonplaceError
    from commonplace.settings import Settings
    from commonplace.workspace.discovery import Workspace

    given = ctx.find_root().params
    folder: Path = given["workspace"]
    try:
        settings_file = given.get("settings_file")
        if given.get("agent"):
            agent = load_agent(given["agent"], settings_file)
            folder, settings = agent.workspace, agent.settings
        else:
            settings = Settings.load(settings_file)
        found = Workspace(folder, settings).scan().files
    except (CommonplaceError, OSError):
        return []
    paths = (file.path for file in found)
    return [path for path in paths if path.startswith(begun) and _SHELL_SAFE.fullmatch(path)]
