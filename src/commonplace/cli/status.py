"""The ``status`` command."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Any

import click

from commonplace.cli.empty_workspace import empty_workspace_hint
from commonplace.cli.index import run_index, warn_failures
from commonplace.cli.options import Options, json_option, pass_options
from commonplace.cli.output import on_terminal, print_json, print_rich, print_text, warn
from commonplace.display import plain_status, status_panel

if TYPE_CHECKING:
    from commonplace.types import Status

__all__ = ["status"]


@click.command()
@click.option("--deep", is_flag=True, help="Probe the embedder and the index as well.")
@click.option("--index", "index_first", is_flag=True, help="Bring the index up to date first.")
@json_option
@pass_options
def status(options: Options, *, deep: bool, index_first: bool, as_json: bool) -> None:
    """Show what is indexed, what is out of date, and why."""
    with options.open_memory() as memory:
        if index_first:
            warn_failures(run_index(memory))
        found = memory.status(deep=deep)
        if not (found.files or found.stale):
            warn(empty_workspace_hint(memory.workspace))
    if as_json:
        print_json(_payload(found))
    elif on_terminal():
        print_rich(status_panel(found))
    else:
        print_text(plain_status(found))


def _payload(found: Status) -> dict[str, Any]:
    """Return the fields of a status, with times as ISO texts; `server` only where there is one."""
    payload = dataclasses.asdict(found)
    if found.server is None:
        del payload["server"]
    else:
        times = {"leading_since": found.server.leading_since}
        times["waiting_since"] = found.server.waiting_since
        payload["server"] |= {name: at and at.isoformat() for name, at in times.items()}
    return payload
