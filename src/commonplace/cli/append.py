"""The ``append`` command."""

from __future__ import annotations

import re

import click

from commonplace.cli.options import TEXT, Options, pass_options, text_or_stdin
from commonplace.cli.output import print_text
from commonplace.errors import CommonplaceError

__all__ = ["append"]


_OPTION = re.compile(r"-h|--[a-z][a-z-]*")


# Most notes are list items, "- Decided: ...": a text that begins with a dash is not an option.
@click.command(context_settings={"ignore_unknown_options": True, "help_option_names": ["--help"]})
@click.argument("text", type=TEXT)
@pass_options
def append(options: Options, text: str) -> None:
    """Add TEXT to today's log; "-" reads it from standard input."""
    if _OPTION.fullmatch(text):
        raise click.NoSuchOption(text)
    text = text_or_stdin(text)
    if not text.strip():
        raise CommonplaceError("there is nothing to append: the text is empty.")
    with options.open_memory() as memory:
        print_text(memory.append(text))
