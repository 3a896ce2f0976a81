"""The ``verify`` command."""

from __future__ import annotations

import dataclasses

import click

from commonplace.cli.options import Options, json_option, pass_options
from commonplace.cli.output import print_json, print_text
from commonplace.display import plain_verification

__all__ = ["verify"]


@click.command()
@click.option("--repair", is_flag=True, help="Mend what is wrong; no Markdown file is changed.")
@json_option
@pass_options
@click.pass_context
def verify(ctx: click.Context, options: Options, *, repair: bool, as_json: bool) -> None:
    """Compare the index with the files, and read the journal and the history."""
    with options.open_memory() as memory:
        report = memory.verify(repair=repair)
    if as_json:
        print_json(dataclasses.asdict(report))
    else:
        print_text(plain_verification(report, repair=repair))
    ctx.exit(0 if report.ok else 1)
