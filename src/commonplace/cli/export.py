"""The ``export`` command: a memory as files, with all that cannot be derived from them."""

from __future__ import annotations

import shlex
from pathlib import Path

import click

from commonplace.cli.options import Options, pass_options
from commonplace.cli.output import print_text

__all__ = ["export"]


@click.command()
@click.argument("path", type=click.Path(path_type=Path))
@pass_options
def export(options: Options, path: Path) -> None:
    """Write the notes, their history, origins and sessions to the folder PATH.

    PATH is new or empty. Notes are copied as they are; commonplace.json has what is not in them:
    the texts of before, where lines came from, what was not written down yet.
    """
    from commonplace.export import export_memory

    with options.open_memory() as memory:
        report = export_memory(memory, path)
    print_text(
        f"{report.notes:,} notes, {report.versions:,} versions, {report.sessions:,} sessions; "
        f"'commonplace -w FOLDER import commonplace {shlex.quote(str(path))}' brings them back"
    )
