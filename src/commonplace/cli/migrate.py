"""The ``migrate`` command: the index in another engine, without embedding again."""

from __future__ import annotations

import click

from commonplace.cli.options import Options, pass_options
from commonplace.cli.output import print_text, progress

__all__ = ["migrate"]


@click.command()
@click.option("--to", "target", metavar="URL", help="The new index; default: the workspace's own.")
@click.option(
    "--from", "source", metavar="URL", help="The index that is read; default: the workspace's own."
)
@click.option("--replace", is_flag=True, help="Replace the index that the target holds.")
@pass_options
def migrate(options: Options, target: str | None, source: str | None, *, replace: bool) -> None:
    """Copy the index to another engine, without embedding again.

    URL is postgresql://HOST/DATABASE?name=NAME, sqlite:///PATH or the path of a file. The copy is
    compared with its source before it takes its place; the source, the notes and their history stay
    as they are. What was interrupted goes on when it is run again.
    """
    if target is None and source is None:
        raise click.UsageError("--to URL is missing (or --from URL, to come back from there).")
    from commonplace.store.migration import migrate as migrate_index

    with options.open_memory() as memory:
        own, entries = memory.index_location, memory.settings.cache.max_entries
    with progress("migrating") as bar:
        report = migrate_index(
            source or own, target or own, replace=replace, keep_cache=entries, progress=bar
        )
    print_text(
        f"{report.files:,} files, {report.chunks:,} chunks and {report.vectors:,} vectors are in "
        f"{report.target}, compared with {report.source}, in {report.seconds:.1f} s; nothing was "
        "embedded"
    )
