"""The global options, and the memory that they open."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from pathlib import Path

    from commonplace.memory import Memory
    from commonplace.settings import Settings

__all__ = ["Options", "pass_options"]


@dataclass(frozen=True, slots=True)
class Options:
    """What stands before the command.

    Attributes:
        workspace: The folder of notes.
        embedder: Who makes the vectors, ``none`` for keyword search; None when it is not given.
        settings_file: The settings file; None when it is not given.
    """

    workspace: Path
    embedder: str | None = None
    settings_file: str | None = None

    def settings(self) -> Settings:
        """Load the settings from the file that was named, else from the default one."""
        from commonplace.settings import Settings

        return Settings.load(self.settings_file)

    def open_memory(self) -> Memory:
        """Open the memory. A command says itself when it indexes: nothing runs behind its back.

        Raises:
            EmbedderError: There is no embedder of that name: a slip is told, and not searched with.
        """
        from commonplace.memory import Memory

        if self.embedder is not None:
            from commonplace.embeddings.registry import check_name

            check_name(self.embedder)
        settings = self.settings()
        sync = replace(
            settings.sync, on_open=False, on_search=False, watch=False, interval_minutes=0
        )
        embedder = None if self.embedder == "none" else self.embedder or "auto"
        settings = replace(settings, sync=sync)
        return Memory.open(self.workspace, settings=settings, embedder=embedder)


pass_options = click.make_pass_decorator(Options)
