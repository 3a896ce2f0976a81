"""The ``import`` command: the memory of other tools as notes."""

from __future__ import annotations

from pathlib import Path

import click

from commonplace.cli.openclaw import take_over_openclaw
from commonplace.cli.options import Options, pass_options
from commonplace.cli.output import print_text, progress

__all__ = ["import_"]

_EXPORT = "commonplace"
_SOURCES = ("chatgpt", "claude", "claude-code", _EXPORT, "langmem", "mem0", "obsidian", "openclaw")


@click.command("import")
@click.argument("source", type=click.Choice(_SOURCES))
@click.argument("path", type=click.Path(path_type=Path), required=False)
@click.option("--dry-run", is_flag=True, help="Only count what would be written.")
@click.option(
    "--write-settings",
    "settings_file",
    type=click.Path(path_type=Path, dir_okay=False),
    metavar="FILE",
    help="openclaw: write the settings to a new FILE.",
)
@pass_options
def import_(
    options: Options,
    source: str,
    path: Path | None,
    *,
    dry_run: bool,
    settings_file: Path | None,
) -> None:
    """Import the memory of another tool from PATH, a file, folder or ZIP of SOURCE.

    PATH is the current folder by default, for claude-code its own. Notes go below
    memory/imports/SOURCE/, with their secrets masked. The same or a later export can be imported
    again: notes that you changed since stay as they are. What 'commonplace export' wrote comes back
    as it was, into a folder without notes.

    openclaw prints settings (TOML) for the agents of PATH, by default ~/.openclaw: its notes and
    transcripts are used where they are, with --agent NAME, and nothing is copied.
    """
    if source == "openclaw":
        take_over_openclaw(path, None if dry_run else settings_file)
        return
    if settings_file is not None:
        raise click.UsageError("--write-settings is for 'import openclaw'.")
    if source == _EXPORT:
        _restore(options, path or Path(), dry_run=dry_run)
        return
    from commonplace.importers import import_notes

    with options.open_memory() as memory, progress("importing") as bar:
        report = import_notes(memory, source, path, dry_run=dry_run, progress=bar)
    counts = [
        (report.added, "new"),
        (report.updated, "updated"),
        (report.unchanged, "unchanged"),
        (report.edited, "left as you changed them"),
        *((count, reason) for reason, count in sorted(report.skipped.items())),
    ]
    said = ", ".join(f"{count:,} {what}" for count, what in counts if count) or "nothing to import"
    undo = "" if report.id is None else f"; 'commonplace undo {report.id}' takes it back"
    print_text(f"{'would import: ' if dry_run else ''}{said}{undo}")


def _restore(options: Options, path: Path, *, dry_run: bool) -> None:
    from commonplace.export import EXPORT_FILE, restore_export

    if (path / EXPORT_FILE).is_file() and not dry_run and options.url is None:
        options.workspace.mkdir(parents=True, exist_ok=True)
    with options.open_memory() as memory:
        report = restore_export(memory, path, dry_run=dry_run)
    print_text(
        f"{'would import: ' if dry_run else ''}{report.notes:,} notes, "
        f"{report.versions:,} versions, {report.sessions:,} sessions"
    )
