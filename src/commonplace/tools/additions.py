"""Redaction of additions: what a model writes is masked as it will be read in its note.

The lines above may name a secret that stands on a line of its own: "the password is", then a value.
"""

from __future__ import annotations

import contextlib
import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from commonplace.errors import CommonplaceError
from commonplace.history.citations import cited_lines
from commonplace.text.redaction import (
    Redaction,
    checked_redaction,
    redacted_behind,
    redacted_between,
)
from commonplace.workspace.file_text import UnreadableFileError

if TYPE_CHECKING:
    from commonplace.workspace.discovery import Workspace

__all__ = ["redacted_addition", "redacted_correction"]

_MOST_LINES = 20
"""Cited lines whose values a correction is read as, at most."""
_NAMED = re.compile(r".*[:=|][ \t]*")
"""Beginning of a line, through the last mark that may stand behind a name."""


def redacted_addition(
    workspace: Workspace, path: str, text: str, redaction: Redaction, *, personal: bool
) -> str:
    """Mask what a model appends to a note.

    Args:
        workspace: The notes.
        path: The note; it may not exist yet.
        text: What is appended.
        redaction: What is masked.
        personal: Whether numbers of persons are masked in any case.
    """
    if not checked_redaction(redaction):
        return text
    return redacted_behind(_text_of(workspace, path), text, redaction, personal=personal)


def redacted_correction(
    workspace: Workspace, citation: str, text: str, redaction: Redaction, *, personal: bool
) -> str:
    """Mask what a model writes in place of cited lines: all of them, or the value of one.

    Args:
        workspace: The notes.
        citation: The lines.
        text: What is right.
        redaction: What is masked.
        personal: Whether numbers of persons are masked in any case.
    """
    path, first, count = cited_lines(citation, None, None)
    if not checked_redaction(redaction) or first is None or count is None:
        return text  # of what is no citation, the correction says so
    lines = _text_of(workspace, path).split("\n")
    for at in range(first - 1, min(first - 1 + min(count, _MOST_LINES), len(lines))):
        for beginning in _beginnings(lines[at]):
            above = "\n".join((*lines[:at], beginning))
            text = redacted_between(above, text, "", redaction, personal=personal)
    return text


def _beginnings(line: str) -> Iterator[str]:
    """Yield what of a line may stay where its value is another: none of it, or a name."""
    yield ""
    line = line.rstrip(" \t\r|")
    if named := _NAMED.match(line):
        yield named[0]
    yield line[: line.rfind(" ") + 1]


def _text_of(workspace: Workspace, path: str) -> str:
    """Return the text of a note; none where it cannot be read: the writing verb tells why."""
    with contextlib.suppress(CommonplaceError, UnreadableFileError, OSError):
        return workspace.read(workspace.long_term_path if path == "MEMORY.md" else path).text
    return ""
