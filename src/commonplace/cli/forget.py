"""The ``forget`` command: texts go from notes, history, index and all else, for good."""

from __future__ import annotations

import dataclasses
import sys
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import click

from commonplace.cli.completion import complete_note
from commonplace.cli.options import TEXT, Options, json_option, pass_options
from commonplace.cli.output import print_json, print_text, warn
from commonplace.display import one_line
from commonplace.errors import CommonplaceError

if TYPE_CHECKING:
    from commonplace.types import ForgetReceipt

__all__ = ["forget"]

_WHAT = ("path", "citation", "text", "session")


@click.command()
@click.option("--path", metavar="PATH", shell_complete=complete_note, help="A whole note.")
@click.option("--citation", metavar="PATH#L3-L4", help="Lines of a note, as search cites them.")
@click.option("--text", type=TEXT, metavar="TEXT", help="Each line that holds this text.")
@click.option("--session", metavar="ID", help="What came from a conversation.")
@click.option("--dry-run", is_flag=True, help="Show what would go, and leave it.")
@click.option("--yes", is_flag=True, help="Do not ask.")
@json_option
@pass_options
def forget(
    options: Options,
    *,
    path: str | None,
    citation: str | None,
    text: str | None,
    session: str | None,
    dry_run: bool,
    yes: bool,
    as_json: bool,
) -> None:
    """Forget a note, lines or a conversation for good.

    They go from the notes and their history, the index, its caches, and kept conversations. This
    cannot be undone; 'commonplace rm' and 'correct' can.
    """
    given = dict(zip(_WHAT, (path, citation, text, session), strict=True))
    wanted: dict[str, Any] = {name: value for name, value in given.items() if value is not None}
    if len(wanted) != 1:
        names = ", ".join(f"--{name}" for name in _WHAT)
        raise click.UsageError(f"give one of {names}.")
    with options.open_memory() as memory:
        if dry_run or not yes:
            receipt = _checked(lambda: memory.forget(**wanted, dry_run=True))
        if not dry_run:
            if not yes:
                _confirm(receipt)
            receipt = _checked(lambda: memory.forget(**wanted))
    if as_json:
        print_json(dataclasses.asdict(receipt))
    else:
        _show(receipt)


def _checked(forget: Callable[[], ForgetReceipt]) -> ForgetReceipt:
    """Return a receipt; a wrong argument is an error in one line."""
    try:
        return forget()
    except CommonplaceError:
        raise
    except ValueError as error:
        raise CommonplaceError(str(error)) from error


def _confirm(receipt: ForgetReceipt) -> None:
    if not sys.stdin.isatty():
        raise CommonplaceError(
            "nothing was forgotten: give --yes to forget without being asked, or --dry-run to see "
            "what would go."
        )
    for line in _lines(receipt):
        click.echo(line, err=True)
    click.confirm("Forget this for good?", abort=True, err=True)


def _show(receipt: ForgetReceipt) -> None:
    """Print what went, or would go, and what cannot be reached."""
    lines = _lines(receipt)
    if lines:
        print_text("\n".join(lines))
    if not any(receipt.removed.values()):
        warn("nothing was found to forget")


def _lines(receipt: ForgetReceipt) -> list[str]:
    would = "would go" if receipt.dry_run else "forgotten"
    lines = [f"{kind} {would}: {count}" for kind, count in receipt.removed.items() if count]
    lines += [f"  {one_line(place)}" for place in receipt.places]
    return lines + [f"not reached: {one_line(where)}" for where in receipt.unreachable]
