"""Hints about a memory without notes: what to do, and which folders are missing."""

from __future__ import annotations

from typing import TYPE_CHECKING

from commonplace.cli.output import warn
from commonplace.workspace.unindexed_notes import unindexed_notes_hint

if TYPE_CHECKING:
    from commonplace.workspace.discovery import Workspace

__all__ = ["empty_workspace_hint", "warn_missing_extra_paths"]


def empty_workspace_hint(workspace: Workspace) -> str:
    """Return what to do about a memory without a file, as a sentence without a full stop."""
    begin = f"{workspace.root} has no notes yet; 'commonplace init' writes the first"
    return unindexed_notes_hint(workspace) or begin


def warn_missing_extra_paths(workspace: Workspace) -> None:
    """Warn of each extra path of the settings that does not exist."""
    for given in workspace.missing_extra_paths:
        warn(f"the extra path {given} is not there; create it or drop the setting")
