"""The ``import openclaw`` command: OpenClaw's configuration as a settings file."""

from __future__ import annotations

from pathlib import Path

from commonplace.cli.output import print_text
from commonplace.errors import SettingsError
from commonplace.settings import openclaw_migration

__all__ = ["take_over_openclaw"]


def _is_workspace(path: Path) -> bool:
    """Return whether a path is a folder of notes and not OpenClaw's own, which has settings."""
    if (path / "openclaw.json").is_file() or (path / "agents").is_dir():
        return False
    return any((path / name).exists() for name in ("MEMORY.md", "memory.md", "memory"))


def take_over_openclaw(path: Path | None, file: Path | None) -> None:
    """Print the settings for OpenClaw's agents, or write them and print the report alone.

    Args:
        path: OpenClaw's folder or configuration; None is ``~/.openclaw``.
        file: New file for the settings; None prints them.

    Raises:
        SettingsError: The configuration cannot be read, or the file is there already.
    """
    if path is not None and _is_workspace(path):
        raise SettingsError(
            f"{path} is a workspace of notes; OpenClaw's own folder, such as ~/.openclaw, was "
            f"expected. Notes are used where they are: commonplace -w {path} search ..."
        )
    text: str = openclaw_migration().settings_file(path or "~/.openclaw")
    if file is None:
        print_text(text)
        return
    file = file.expanduser()
    try:
        with open(file, "x", encoding="utf-8") as written:
            written.write(text)
    except FileExistsError as error:
        raise SettingsError(
            f"{file} is there already and was not changed; name a new file, or compare it with "
            "what 'commonplace import openclaw' prints."
        ) from error
    report = [line for line in text.splitlines() if line.startswith("#")]
    use = f"commonplace --settings {file} --agent NAME search ..."
    print_text("\n".join((*report, "#", f"# Written to {file}; use it with: {use}")))
