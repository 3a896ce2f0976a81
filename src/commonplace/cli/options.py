"""Options of the command line, and the memory that they open."""

from __future__ import annotations

import os
import re
import sys
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import click

from commonplace.errors import CommonplaceError

if TYPE_CHECKING:
    from pathlib import Path

    from commonplace.memory import Memory
    from commonplace.settings import Settings

__all__ = ["TEXT", "Options", "json_option", "pass_options", "text_or_stdin"]


@dataclass(frozen=True, slots=True)
class Options:
    """Global options, which precede the command.

    Attributes:
        workspace: Folder of notes.
        embedder: Name of the embedder, ``none`` for keyword search; None when it is not given.
        settings_file: Settings file; None when it is not given.
        agent: Agent of the settings file, whose workspace and index are used; None for none.
        index: Index of the command line, or of the agent; None is the workspace's.
        url: Memory whose folder another host has, in place of the workspace; None for none.
    """

    workspace: Path
    embedder: str | None = None
    settings_file: str | None = None
    agent: str | None = None
    index: Path | str | None = None
    url: str | None = None

    def settings(self) -> Settings:
        """Load the settings from the file of the options, else from the default one."""
        if self.agent is not None:
            from commonplace.agents import load_agent

            return load_agent(self.agent, self.settings_file).settings
        from commonplace.settings import Settings

        return Settings.load(self.settings_file)

    def open_memory(self, *, background: bool = False) -> Memory:
        """Open the memory.

        Args:
            background: Whether the settings decide on background runs; commands that end soon have
                none and index explicitly.

        Raises:
            EmbedderError: No embedder has that name.
        """
        from commonplace.memory import Memory

        settings = self.settings()
        if not background:
            sync = replace(
                settings.sync, on_open=False, on_search=False, watch=False, interval_minutes=0
            )
            settings = replace(settings, sync=sync)
        embedder = None if self.embedder == "none" else self.embedder or "auto"
        if self.url is not None:
            return Memory.connect(self.url, settings=settings, embedder=embedder)
        return Memory.open(self.workspace, settings=settings, embedder=embedder, index=self.index)


pass_options = click.make_pass_decorator(Options)

json_option = click.option("--json", "as_json", is_flag=True, help="Print one JSON document.")


_SURROGATE = re.compile("[\ud800-\udfff]")


class _Text(click.types.StringParamType):
    """Text of an argument, which is UTF-8 whatever the locale says.

    In the locale "C", Python reads an argument as ASCII, and other bytes as lone surrogates. Names
    of files stay so: by these, the file is found.
    """

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        """Return the text."""
        text = super().convert(value, param, ctx)
        try:
            return os.fsencode(text).decode() if _SURROGATE.search(text) else text
        except UnicodeError:
            raise _not_utf8(param.human_readable_name if param else "a text") from None


TEXT = _Text()


def text_or_stdin(text: str) -> str:
    """Return an argument; ``-`` is what standard input holds, in UTF-8 or UTF-16.

    Raises:
        CommonplaceError: It is in another encoding: a letter that is replaced would be lost.
    """
    from commonplace.workspace.file_text import utf16_encoding

    if text != "-":
        return text
    data = sys.stdin.buffer.read()
    try:
        decoded = data.decode("utf-16" if utf16_encoding(data) else "utf-8-sig")
    except UnicodeError:
        raise _not_utf8("standard input") from None
    return decoded.replace("\r\n", "\n")


def _not_utf8(what: str) -> CommonplaceError:
    return CommonplaceError(
        f"{what} is not UTF-8, so that not all of it can be read; give it in UTF-8."
    )
